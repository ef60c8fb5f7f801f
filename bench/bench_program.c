/* Compiled functions over one array of f64, in ns per element: the emitted code ("pith"),
 * the interpreter ("tier0"), and a plain C loop for the same work, into existing memory
 * ("c") and into fresh memory ("c_fresh"). The results of pith are fresh arrays. */
#include "bench.h"
#include "peers/fused.h"

static const pith_array *number(pith_scope *s, const pith_array *like, double value) {
    return pith_like(s, like, value);
}

static const pith_array *poly(pith_scope *s, const pith_array *x) {
    static const double coefficients[] = {1.5, -2, 0.25, -1, 3};
    const pith_array *y = number(s, x, 0.5);
    for (int k = 0; k < 5; k++)
        y = pith_add(s, pith_mul(s, y, x), number(s, x, coefficients[k]));
    return y;
}

static const pith_array *where_sqrt(pith_scope *s, const pith_array *x) {
    return pith_where(s, pith_greater(s, x, number(s, x, 1)), pith_sqrt(s, x),
                      pith_mul(s, number(s, x, 2), x));
}

static const pith_array *where_exp(pith_scope *s, const pith_array *x) {
    return pith_where(s, pith_greater(s, x, number(s, x, 1)), pith_sqrt(s, x),
                      pith_exp(s, x));
}

PITH_FUNCTION1(poly_step, poly, pith_array, pith_array)
PITH_FUNCTION1(where_sqrt_step, where_sqrt, pith_array, pith_array)
PITH_FUNCTION1(where_exp_step, where_exp, pith_array, pith_array)

static const struct {
    const char *name;
    const pith_function *step;
    fused_loop loop;
} rows[] = {
    {"poly", &poly_step, fused_poly},
    {"where_sqrt", &where_sqrt_step, fused_where_sqrt},
    {"where_exp", &where_exp_step, fused_where_exp},
};

typedef struct {
    pith_scope *s;
    const pith_function *compiled;
    const pith_array *x;
    fused_loop loop;
    const double *from;
    double *to;
    int64_t n;
    int threads;
} Work;

static void run_pith(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_apply(s, w->compiled, w->x);
    pith_wait(s);
    pith_scope_close(s);
}

static void run_c(void *closure) {
    const Work *w = closure;
    w->loop(w->to, w->from, w->n, w->threads);
    __asm__ volatile("" ::: "memory");
}

static void run_c_fresh(void *closure) {
    const Work *w = closure;
    double *to = malloc((size_t)w->n * sizeof *to);
    w->loop(to, w->from, w->n, w->threads);
    __asm__ volatile("" ::"r"(to) : "memory");
    free(to);
}

/* A function that was called once, while the environment says when code is compiled. */
static Work prepare(pith_runtime *rt, const char *when, size_t row, const Work *c) {
    Work w = *c;
    setenv("PITH_JIT", when, 1);
    w.s = pith_scope_open(rt);
    w.compiled = pith_jit(w.s, rows[row].step, NULL);
    w.x = pith_array_copy(w.s, PITH_F64, PITH_SHAPE(w.n), w.from);
    run_pith(&w);
    bench_check(w.s);
    return w;
}

static void measure(const char *text, size_t row, int64_t n, int threads) {
    double *from = malloc((size_t)n * sizeof *from), *to = malloc((size_t)n * sizeof *to);
    for (int64_t i = 0; i < n; i++) {
        from[i] = 0.25 + (double)(i * 7919 % 4096) / 2048;
        to[i] = 0;
    }
    const pith_open_options host = {.device = bench_device(), .threads = threads};
    pith_runtime *compiling = pith_open(&host), *interpreting = pith_open(&host);
    Work c = {.loop = rows[row].loop, .from = from, .to = to, .n = n, .threads = threads};
    Work compiled = prepare(compiling, "wait", row, &c),
         interpreted = prepare(interpreting, "off", row, &c);
    bench_rest_ms = threads > 1 ? 20 : 0;
    bench_row(text, "ns/element", 1e9 / (double)n, 4,
              (const bench_entry[]){{"pith", run_pith, &compiled},
                                    {"tier0", run_pith, &interpreted},
                                    {"c", run_c, &c},
                                    {"c_fresh", run_c_fresh, &c}});
    bench_check(compiled.s);
    bench_check(interpreted.s);
    pith_scope_close(compiled.s);
    pith_scope_close(interpreted.s);
    pith_close(compiling);
    pith_close(interpreting);
    free(from);
    free(to);
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    for (int threads = 1; threads <= 2; threads++)
        for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
            for (int64_t n = 1000; n <= 100000000; n *= 10) {
                char text[64];
                snprintf(text, sizeof text, "program/%s/%lld/%d", rows[row].name,
                         (long long)n, threads);
                if (bench_wanted(text, only))
                    measure(text, row, n, threads);
            }
    return EXIT_SUCCESS;
}
