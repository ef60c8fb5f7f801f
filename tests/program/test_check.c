/* The conjunction of checks: host loops and the kernel for CUDA, run on the host, agree
 * with the plainest loop. */
#include "cuda_target.h"
#include "pith_test.h"
#include "program/exec/predicate_all.h"
#include "program/source/args/library.h"

enum { CHECKS = 200, MOST = 5000 };

typedef struct {
    pithp_predicate list[CHECKS];
    pith_report reports[CHECKS], flag;
    uint64_t first[CHECKS]; /* expected */
    uint64_t data[MOST];
} Work;

static uint64_t draw(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Predicates that mostly pass, of every width and many lengths, and reports of launches.
 */
static void make(Work *w, uint64_t seed) {
    memset(w, 0, sizeof *w);
    memset(w->data, 1, sizeof w->data);
    for (int k = 0; k < 12; k++)
        w->data[draw(&seed) % MOST] = 0;
    for (int i = 0; i < CHECKS; i++) {
        const int32_t width = i % 9 == 8 ? 0 : 1 << draw(&seed) % 4;
        const int64_t count = (int64_t)(draw(&seed) % (i % 3 ? 600 : 4));
        const char *data = (const char *)&w->data[draw(&seed) % 4000];
        w->list[i] = (pithp_predicate){data, count, &w->reports[i], width, 0};
        if (width == 0)
            w->first[i] = w->reports[i].first = draw(&seed) % 20 == 0 ? 77 : 0;
        for (int64_t k = 0; k < count && width && !w->first[i]; k++)
            if (data[k * width] == 0)
                w->first[i] = ~(uint64_t)k;
    }
}

static void compare(const Work *w, int64_t base) {
    uint64_t flag = 0;
    for (int i = 0; i < CHECKS; i++) {
        cr_assert(w->reports[i].first == w->first[i], "check %d", i);
        if (w->first[i] && !flag)
            flag = ~(uint64_t)(base + i);
    }
    cr_assert(w->flag.first == flag);
}

static void on_host(const char *async) {
    static Work w;
    setenv("PITH_HOST_ASYNC", async, 1);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (uint64_t seed = 0; seed < 20; seed++) {
        pithp_error e;
        make(&w, seed);
        cr_assert(pithp_check_evaluate(pithp_scope_stream(s), w.list, CHECKS, &w.flag, 5,
                                       &e) == PITH_OK);
        pith_wait(s);
        compare(&w, 5);
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(program_check, the_host_conjoins) {
    on_host("0");
}
Test(program_check, the_host_conjoins_deferred) {
    on_host("1");
}

Test(program_check, the_cuda_kernel_conjoins) {
    static Work w;
    pithp_launch launch = {.loops = NULL};
    cr_assert(call_cuda_target.builtin(NULL, PITHP_CUDA_conjunction, &launch) == PITH_OK);
    for (uint64_t seed = 0; seed < 20; seed++)
        for (int64_t shift = 0; shift < 12; shift += 3) {
            make(&w, seed);
            for (int64_t at = 0; at < CHECKS; at += PITHP_CUDA_PREDICATES) {
                const int64_t n = CHECKS - at < PITHP_CUDA_PREDICATES
                                      ? CHECKS - at
                                      : PITHP_CUDA_PREDICATES;
                pithp_cuda_conjunction_args args = {
                    .flag = (void *)&w.flag, .base = at, .items = n, .shift = shift};
                memcpy(args.list, w.list + at, (size_t)n * sizeof *w.list);
                /* a few threads more, as a device has */
                launch.loops[0](&args, 0, (n << shift) + 100);
            }
            compare(&w, 0);
        }
}
