/* Operations on one large array of a million and of ten million elements, on one thread
 * and on two, in ns an element. The peer "c" is peers/loops.c: it writes into memory that
 * it has already, where pith makes its results. */
#include "bench.h"
#include "peers/loops.h"

enum { COLUMNS = 1000 };

typedef struct {
    pith_scope *s;
    pith_dtype dtype;
    int64_t n;
    int threads;
    const pith_array *a, *b, *grid; /* a and b [n], grid [n / 1000, 1000] */
    void *c_a, *c_b, *c_to;
} Work;

static volatile intptr_t sink;

#define PITH_ROW(name, expression)                                                       \
    static void name##_pith(void *closure) {                                             \
        const Work *w = closure;                                                         \
        pith_scope *s = pith_scope_open_in(w->s);                                        \
        sink = (intptr_t)(expression);                                                   \
        pith_wait(s);                                                                    \
        pith_scope_close(s);                                                             \
    }
#define C_ROW(name, f32_call, f64_call)                                                  \
    static void name##_c(void *closure) {                                                \
        const Work *w = closure;                                                         \
        if (w->dtype == PITH_F32) {                                                      \
            float *to = w->c_to;                                                         \
            const float *a = w->c_a, *b = w->c_b;                                        \
            (void)to, (void)b;                                                           \
            f32_call;                                                                    \
        } else {                                                                         \
            double *to = w->c_to;                                                        \
            const double *a = w->c_a, *b = w->c_b;                                       \
            (void)to, (void)b;                                                           \
            f64_call;                                                                    \
        }                                                                                \
        __asm__ volatile("" ::: "memory");                                               \
    }
#define ROW1(name, function)                                                             \
    PITH_ROW(name, function(s, w->a))                                                    \
    C_ROW(name, name##_f32(to, a, w->n, w->threads), name##_f64(to, a, w->n, w->threads))
#define ROW2(name, function)                                                             \
    PITH_ROW(name, function(s, w->a, w->b))                                              \
    C_ROW(name, name##_f32(to, a, b, w->n, w->threads),                                  \
          name##_f64(to, a, b, w->n, w->threads))
#define ROW_SUM(name, axes)                                                              \
    PITH_ROW(name, pith_sum(s, w->grid, axes))                                           \
    C_ROW(name, name##_f32(to, a, w->n / COLUMNS, COLUMNS, w->threads),                  \
          name##_f64(to, a, w->n / COLUMNS, COLUMNS, w->threads))

ROW2(add, pith_add)
ROW1(exp, pith_exp)
ROW1(sin, pith_sin)
ROW1(tanh, pith_tanh)
ROW2(pow, pith_pow)
ROW_SUM(sum, PITH_ALL_AXES)
ROW_SUM(sum_rows, PITH_AXES(0))
ROW_SUM(sum_columns, PITH_AXES(1))
PITH_ROW(argmax, pith_argmax(s, w->a, PITH_ALL_AXES))
C_ROW(argmax,
      sink = argmax_f32(a, w->n, w->threads),
      sink = argmax_f64(a, w->n, w->threads))
PITH_ROW(stencil,
         pith_mul(s,
                  pith_add(s,
                           pith_slice_array(s, w->a, 1, &PITH_SLICE(0, -2, 1)),
                           pith_slice_array(s, w->a, 1, &PITH_SLICE(2, INT64_MAX, 1))),
                  pith_like(s, w->a, 0.5)))
C_ROW(stencil, stencil_f32(to, a, w->n, w->threads), stencil_f64(to, a, w->n, w->threads))

static const struct {
    const char *name;
    void (*pith)(void *), (*c)(void *);
} rows[] = {
    {"add", add_pith, add_c},
    {"exp", exp_pith, exp_c},
    {"sin", sin_pith, sin_c},
    {"tanh", tanh_pith, tanh_c},
    {"pow", pow_pith, pow_c},
    {"sum", sum_pith, sum_c},
    {"sum_rows", sum_rows_pith, sum_rows_c},
    {"sum_columns", sum_columns_pith, sum_columns_c},
    {"argmax", argmax_pith, argmax_c},
    {"stencil", stencil_pith, stencil_c},
};

/* Whether any row of this size is wanted, so that arrays are made for it. */
static bool row_name(char text[64], const Work *w, size_t row, const char *only) {
    snprintf(text, 64, "array/%s/%s/%lld/%d", rows[row].name, pith_dtype_name(w->dtype),
             (long long)w->n, w->threads);
    return bench_wanted(text, only);
}

static void measure(Work *w, const char *only) {
    char text[64];
    bool any = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        any |= row_name(text, w, i, only);
    if (!any)
        return;
    const size_t bytes = (size_t)w->n * pith_dtype_size(w->dtype);
    w->c_a = malloc(bytes), w->c_b = malloc(bytes), w->c_to = malloc(bytes);
    for (int64_t i = 0; i < w->n; i++) {
        const double x = 0.25 + (double)(i * 7919 % 4096) / 2048,
                     y = 0.5 + (double)(i * 104729 % 1024) / 512;
        if (w->dtype == PITH_F32)
            ((float *)w->c_a)[i] = (float)x, ((float *)w->c_b)[i] = (float)y;
        else
            ((double *)w->c_a)[i] = x, ((double *)w->c_b)[i] = y;
    }
    memset(w->c_to, 0, bytes);
    w->a = pith_array_copy(w->s, w->dtype, PITH_SHAPE(w->n), w->c_a);
    w->b = pith_array_copy(w->s, w->dtype, PITH_SHAPE(w->n), w->c_b);
    w->grid = pith_reshape(w->s, w->a, PITH_SHAPE(-1, COLUMNS));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (row_name(text, w, i, only))
            bench_row(
                text, "ns/element", 1e9 / (double)w->n, 2,
                (const bench_entry[]){{"pith", rows[i].pith, w}, {"c", rows[i].c, w}});
    bench_check(w->s);
    free(w->c_a), free(w->c_b), free(w->c_to);
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    for (int threads = 1; threads <= 2; threads++) {
        pith_runtime *rt =
            pith_open(&(pith_open_options){.device = "host", .threads = threads});
        for (int64_t n = 1000000; n <= 10000000; n *= 10)
            for (int k = 0; k < 2; k++) {
                pith_scope *s = pith_scope_open(rt);
                Work w = {
                    .s = s, .dtype = k ? PITH_F64 : PITH_F32, .n = n, .threads = threads};
                measure(&w, only);
                pith_scope_close(s);
            }
        pith_close(rt);
    }
    return EXIT_SUCCESS;
}
