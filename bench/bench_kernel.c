/* Cost of checks in kernels of one line: 100,000 elements, one thread, in ns per element.
 * The peer "plain" is the kernel without a check, "c" its loop. Rows: kernel/...
 */
#include "bench.h"
#include "bench_kernel_kernels.h"

enum { N = 100000 };

static pith_scope *outer;
static const pith_array *x, *y;
static double a[N], b[N], c[N];

#define RUN(kernel)                                                                      \
    static void run_##kernel(void *closure) {                                            \
        (void)closure;                                                                   \
        pith_scope *s = pith_scope_open_in(outer);                                       \
        pith_launch(s, kernel, x, y);                                                    \
        pith_wait(s);                                                                    \
        bench_check(s);                                                                  \
        pith_scope_close(s);                                                             \
    }
RUN(plain)
RUN(flagged)
RUN(required)
RUN(safe)
RUN(stored)

static void run_c(void *closure) {
    (void)closure;
    for (int i = 0; i < N; i++)
        c[i] = 2 * a[i] + b[i];
    __asm__ volatile("" : : "r"(c) : "memory");
}

int main(int argc, char **argv) {
    static const struct {
        const char *row;
        void (*run)(void *);
    } rows[] = {{"kernel/plain", run_plain},
                {"kernel/bool out", run_flagged},
                {"kernel/require", run_required},
                {"kernel/require after a safe store", run_safe},
                {"kernel/require after the store", run_stored}};
    const char *only = bench_only(argc, argv);
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    outer = pith_scope_open(rt);
    for (int i = 0; i < N; i++)
        a[i] = i, b[i] = 1;
    x = pith_array_copy(outer, PITH_F64, PITH_SHAPE(N), a);
    y = pith_array_copy(outer, PITH_F64, PITH_SHAPE(N), b);
    bench_check(outer);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (bench_wanted(rows[k].row, only))
            bench_row(rows[k].row, "ns", 1e9 / N, 3,
                      (bench_entry[]){{"pith", rows[k].run, NULL},
                                      {"plain", run_plain, NULL},
                                      {"c", run_c, NULL}});
    pith_scope_close(outer);
    pith_close(rt);
    return 0;
}
