/* Memory: a block that an instance is given and gives back, with its entry in the ledger,
 * beside malloc and mimalloc (where it is installed); and page faults of a step that
 * makes a leaf of 64 MiB. Blocks are not touched, leaves are. */
#include "bench.h"

#include <dlfcn.h>
#include <sys/resource.h>

typedef struct {
    pith_scope *s;
    pith_instance *instance;
    pith_request request;
    size_t bytes;
    void *(*allocate)(size_t bytes);
    void (*release)(void *data);
} work;

static void run_pith(void *closure) {
    work *w = closure;
    pith_instance_allocate(w->s, w->instance, &w->request);
    pith_instance_free(w->s, w->instance, "block");
}

static void run_peer(void *closure) {
    work *w = closure;
    void *volatile data = w->allocate(w->bytes);
    w->release(data);
}

static void measure_blocks(pith_scope *s, const char *only) {
    pith_instance *instance = pith_instance_open(s, "bench", NULL);
    void *library = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL);
    work pith = {.s = s, .instance = instance}, c = {.allocate = malloc, .release = free},
         mimalloc = {0};
    if (library) {
        *(void **)&mimalloc.allocate = dlsym(library, "mi_malloc");
        *(void **)&mimalloc.release = dlsym(library, "mi_free");
    }
    for (size_t bytes = 64; bytes <= (size_t)64 << 20; bytes *= 4) {
        char row[64];
        snprintf(row, sizeof row, "memory/block/%zu", bytes);
        if (!bench_wanted(row, only))
            continue;
        pith.request = (pith_request){
            .label = "block", .dtype = PITH_U8, .shape = PITH_SHAPE((int64_t)bytes)};
        c.bytes = mimalloc.bytes = bytes;
        const bench_entry entries[] = {{"pith", run_pith, &pith},
                                       {"malloc", run_peer, &c},
                                       {"mimalloc", run_peer, &mimalloc}};
        bench_row(row, "ns", 1e9, mimalloc.allocate ? 3 : 2, entries);
        bench_check(s);
    }
}

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* A step that makes a leaf anew, once the first ones have been made. */
static void measure_faults(pith_scope *s, const char *only) {
    enum { STEPS = 20 };
    const pith_shape shape = PITH_SHAPE(8 << 20);
    const char *row = "memory/faults/64MiB";
    long start = 0;
    if (!bench_wanted(row, only))
        return;
    for (int step = -2; step < STEPS; step++) {
        if (step == 0)
            start = faults();
        pith_drop(s, pith_ones(s, PITH_F64, shape));
    }
    const long pith = faults() - start;
    bench_check(s);
    start = faults();
    for (int step = 0; step < STEPS; step++) {
        char *data = malloc((size_t)64 << 20);
        memset(data, step, (size_t)64 << 20);
        __asm__ volatile("" : : "r"(data) : "memory");
        free(data);
    }
    const bench_entry entries[] = {{.name = "pith"}, {.name = "malloc"}};
    const double values[] = {(double)pith / STEPS, (double)(faults() - start) / STEPS};
    bench_print(row, "faults a step", 2, entries, values);
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    pith_runtime *rt = pith_open(NULL);
    pith_scope *s = pith_scope_open(rt);
    bench_check(s);
    measure_blocks(s, only);
    measure_faults(s, only);
    pith_scope_close(s);
    pith_close(rt);
    return EXIT_SUCCESS;
}
