/* Operations on one array of a million and of ten million elements, on one and two
 * threads, in ns per element. Rows that end in "/jit" run them as a compiled function,
 * rows in "/fast" with fast_math, all others call by call. The peer "c" is peers/loops.c.
 * It writes to existing memory, and pith makes its results. "c_calls" is one loop per
 * call, each with its own result: the least that separate calls write. */
#include "bench.h"
#include "peers/loops.h"

enum { COLUMNS = 1000 };

typedef struct {
    const pith_array *a, *b, *grid;
} Arrays;
PITH_NODE(Arrays,
          PITH_LEAF(a, "float[n]"),
          PITH_LEAF(b, "float[n]"),
          PITH_LEAF(grid, "float[rows,columns]"))

typedef struct {
    pith_scope *s;
    pith_dtype dtype;
    int64_t n;
    int threads;
    const Arrays *arrays;
    const pith_function *work; /* the row's, compiled or not */
    void *c_a, *c_b, *c_to, *c_sum;
} Work;

static volatile intptr_t sink;

static void run_pith(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    sink = (intptr_t)pith_apply(s, w->work, w->arrays);
    pith_wait(s);
    pith_scope_close(s);
}

#define PITH_ROW(name, expression)                                                       \
    static const pith_array *name##_pith(pith_scope *s, const Arrays *in) {              \
        return expression;                                                               \
    }                                                                                    \
    PITH_FUNCTION1(name##_work, name##_pith, pith_array, Arrays)
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
    PITH_ROW(name, function(s, in->a))                                                   \
    C_ROW(name, name##_f32(to, a, w->n, w->threads), name##_f64(to, a, w->n, w->threads))
#define ROW2(name, function)                                                             \
    PITH_ROW(name, function(s, in->a, in->b))                                            \
    C_ROW(name, name##_f32(to, a, b, w->n, w->threads),                                  \
          name##_f64(to, a, b, w->n, w->threads))
#define ROW_SUM(name, axes)                                                              \
    PITH_ROW(name, pith_sum(s, in->grid, axes))                                          \
    C_ROW(name, name##_f32(to, a, w->n / COLUMNS, COLUMNS, w->threads),                  \
          name##_f64(to, a, w->n / COLUMNS, COLUMNS, w->threads))

ROW2(add, pith_add)
ROW1(exp, pith_exp)
ROW1(log, pith_log)
ROW1(sin, pith_sin)
ROW1(cos, pith_cos)
ROW1(tanh, pith_tanh)
ROW2(pow, pith_pow)
ROW_SUM(sum, PITH_ALL_AXES)
ROW_SUM(sum_rows, PITH_AXES(0))
ROW_SUM(sum_columns, PITH_AXES(1))
PITH_ROW(argmax, pith_argmax(s, in->a, PITH_ALL_AXES))
C_ROW(argmax,
      sink = argmax_f32(a, w->n, w->threads),
      sink = argmax_f64(a, w->n, w->threads))
PITH_ROW(stencil,
         pith_mul(s,
                  pith_add(s,
                           pith_slice_array(s, in->a, 1, &PITH_SLICE(0, -2, 1)),
                           pith_slice_array(s, in->a, 1, &PITH_SLICE(2, INT64_MAX, 1))),
                  pith_like(s, in->a, 0.5)))
C_ROW(stencil, stencil_f32(to, a, w->n, w->threads), stencil_f64(to, a, w->n, w->threads))
C_ROW(stencil_calls,
      stencil_calls_f32(to, w->c_sum, a, w->n, w->threads),
      stencil_calls_f64(to, w->c_sum, a, w->n, w->threads))

static const struct {
    const char *name;
    const pith_function *pith;
    void (*c)(void *);
    bool has_fast;           /* fast_math takes another form of its function */
    void (*c_calls)(void *); /* NULL where pith makes one call */
} rows[] = {
    {"add", &add_work, add_c, false, NULL},
    {"exp", &exp_work, exp_c, false, NULL},
    {"log", &log_work, log_c, true, NULL},
    {"sin", &sin_work, sin_c, true, NULL},
    {"cos", &cos_work, cos_c, true, NULL},
    {"tanh", &tanh_work, tanh_c, true, NULL},
    {"pow", &pow_work, pow_c, true, NULL},
    {"sum", &sum_work, sum_c, false, NULL},
    {"sum_rows", &sum_rows_work, sum_rows_c, false, NULL},
    {"sum_columns", &sum_columns_work, sum_columns_c, false, NULL},
    {"argmax", &argmax_work, argmax_c, false, NULL},
    {"stencil", &stencil_work, stencil_c, false, stencil_calls_c},
};

enum { ROWS = sizeof rows / sizeof *rows };

typedef enum way { CALLED, COMPILED, FAST, WAYS } way;

/* Whether the row of this size, run in this way, is wanted. */
static bool
row_name(char text[64], const Work *w, size_t row, way how, const char *only) {
    static const char *const ends[WAYS] = {"", "/jit", "/fast"};
    snprintf(text, 64, "array/%s/%s/%lld/%d%s", rows[row].name, pith_dtype_name(w->dtype),
             (long long)w->n, w->threads, ends[how]);
    return (how != FAST || rows[row].has_fast) && bench_wanted(text, only);
}

static void fill(Work *w) {
    const size_t bytes = (size_t)w->n * pith_dtype_size(w->dtype);
    w->c_a = malloc(bytes), w->c_b = malloc(bytes), w->c_to = malloc(bytes);
    w->c_sum = malloc(bytes);
    for (int64_t i = 0; i < w->n; i++) {
        const double x = 0.25 + (double)(i * 7919 % 4096) / 2048,
                     y = 0.5 + (double)(i * 104729 % 1024) / 512;
        if (w->dtype == PITH_F32)
            ((float *)w->c_a)[i] = (float)x, ((float *)w->c_b)[i] = (float)y;
        else
            ((double *)w->c_a)[i] = x, ((double *)w->c_b)[i] = y;
    }
    memset(w->c_to, 0, bytes), memset(w->c_sum, 0, bytes);
    Arrays in = {.a = pith_array_copy(w->s, w->dtype, PITH_SHAPE(w->n), w->c_a),
                 .b = pith_array_copy(w->s, w->dtype, PITH_SHAPE(w->n), w->c_b)};
    in.grid = pith_reshape(w->s, in.a, PITH_SHAPE(-1, COLUMNS));
    w->arrays = pith_freeze(w->s, Arrays, &in);
}

static void measure_row(Work *w, const char *text, size_t row, way how) {
    const pith_jit_options options = {.fast_math = how == FAST};
    w->work = how == CALLED ? rows[row].pith : pith_jit(w->s, rows[row].pith, &options);
    run_pith(w); /* records it */
    bench_check(w->s);
    const int entries = rows[row].c_calls && how == CALLED ? 3 : 2;
    bench_row(text, "ns/element", 1e9 / (double)w->n, entries,
              (const bench_entry[]){{"pith", run_pith, w},
                                    {"c", rows[row].c, w},
                                    {"c_calls", rows[row].c_calls, w}});
    bench_check(w->s);
}

static void measure(Work *w, const char *only) {
    char text[64];
    for (size_t i = 0; i < WAYS * ROWS; i++) {
        const way how = (way)(i / ROWS);
        if (!row_name(text, w, i % ROWS, how, only))
            continue;
        if (!w->arrays)
            fill(w);
        measure_row(w, text, i % ROWS, how);
    }
    free(w->c_a), free(w->c_b), free(w->c_to), free(w->c_sum);
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    setenv("PITH_JIT", "wait", 1);
    for (int threads = 1; threads <= (bench_on_host() ? 2 : 1); threads++) {
        bench_rest_ms = threads > 1 ? 20 : 0;
        pith_runtime *rt =
            pith_open(&(pith_open_options){.device = bench_device(), .threads = threads});
        for (int64_t n = 1000000 * bench_scale(); n <= 10000000 * bench_scale(); n *= 10)
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
