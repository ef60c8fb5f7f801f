/* Products of matrices in GFLOP/s, on one and two threads: square ones of f64 and f32,
 * batches of small ones, an Einstein sum. Peers: OpenBLAS ("openblas"), if it is
 * installed, and plain loops ("c"), except for large matrices, whose time is that of
 * memory. */
#include "bench.h"

#include <dlfcn.h>

typedef struct {
    pith_scope *s;
    const pith_array *a, *b;
    const char *subscripts; /* NULL: a matrix product */
    int64_t batch, n;
    bool single;
    void *x, *y, *z; /* the same elements for the peers */
} Work;

static volatile intptr_t sink;

static void multiply(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    sink = (intptr_t)(w->subscripts ? pith_einsum(s, w->subscripts, 2,
                                                  (const pith_array *[]){w->a, w->b})
                                    : pith_matmul(s, w->a, w->b));
    pith_wait(s);
    pith_scope_close(s);
}

/* ---- Plain loops: rows of b times elements of a ---- */

#define PLAIN(name, T)                                                                   \
    static void name(const T *restrict x, const T *restrict y, T *restrict z,            \
                     int64_t n) {                                                        \
        for (int64_t i = 0; i < n; i++) {                                                \
            for (int64_t j = 0; j < n; j++)                                              \
                z[i * n + j] = 0;                                                        \
            for (int64_t k = 0; k < n; k++)                                              \
                for (int64_t j = 0; j < n; j++)                                          \
                    z[i * n + j] += x[i * n + k] * y[k * n + j];                         \
        }                                                                                \
    }
PLAIN(plain_f64, double)
PLAIN(plain_f32, float)

static void multiply_c(void *closure) {
    const Work *w = closure;
    for (int64_t i = 0; i < w->batch; i++) {
        const int64_t at = i * w->n * w->n;
        if (w->single)
            plain_f32((float *)w->x + at, (float *)w->y + at, (float *)w->z + at, w->n);
        else
            plain_f64((double *)w->x + at, (double *)w->y + at, (double *)w->z + at,
                      w->n);
    }
}

/* ---- OpenBLAS, opened where it is ---- */

enum { ROW_MAJOR = 101, AS_IT_LIES = 111 };

static struct {
    void (*threads)(int);
    void (*f64)(int,
                int,
                int,
                int,
                int,
                int,
                double,
                const double *,
                int,
                const double *,
                int,
                double,
                double *,
                int);
    void (*f32)(int,
                int,
                int,
                int,
                int,
                int,
                float,
                const float *,
                int,
                const float *,
                int,
                float,
                float *,
                int);
} blas;

static bool open_blas(void) {
    /* Old releases take the plainest code on processors that they do not know. */
    if (__builtin_cpu_supports("avx512f"))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    void *library = dlopen("libopenblas.so.0", RTLD_NOW);
    if (!library)
        return false;
    *(void **)&blas.threads = dlsym(library, "openblas_set_num_threads");
    *(void **)&blas.f64 = dlsym(library, "cblas_dgemm");
    *(void **)&blas.f32 = dlsym(library, "cblas_sgemm");
    return blas.threads && blas.f64 && blas.f32;
}

static void multiply_blas(void *closure) {
    const Work *w = closure;
    const int n = (int)w->n;
    for (int64_t i = 0; i < w->batch; i++) {
        const int64_t at = i * w->n * w->n;
        if (w->single)
            blas.f32(ROW_MAJOR, AS_IT_LIES, AS_IT_LIES, n, n, n, 1, (float *)w->x + at, n,
                     (float *)w->y + at, n, 0, (float *)w->z + at, n);
        else
            blas.f64(ROW_MAJOR, AS_IT_LIES, AS_IT_LIES, n, n, n, 1, (double *)w->x + at,
                     n, (double *)w->y + at, n, 0, (double *)w->z + at, n);
    }
}

/* ---- Rows ---- */

static void
measure(const char *row, Work *w, int threads, bool has_blas, const char *only) {
    if (!bench_wanted(row, only))
        return;
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = bench_device(), .threads = threads});
    w->s = pith_scope_open(rt);
    const pith_dtype dtype = w->single ? PITH_F32 : PITH_F64;
    const size_t count = (size_t)(w->batch * w->n * w->n),
                 bytes = count * pith_dtype_size(dtype);
    w->x = malloc(bytes), w->y = malloc(bytes), w->z = malloc(bytes);
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 2; k++) {
            const double value = (double)((i * 7 + (size_t)k) % 13) / 13 - 0.5;
            if (w->single)
                ((float *)(k ? w->y : w->x))[i] = (float)value;
            else
                ((double *)(k ? w->y : w->x))[i] = value;
        }
    const pith_shape shape =
        w->batch > 1 ? PITH_SHAPE(w->batch, w->n, w->n) : PITH_SHAPE(w->n, w->n);
    w->a = pith_array_copy(w->s, dtype, shape, w->x);
    w->b = pith_array_copy(w->s, dtype, shape, w->y);
    bench_check(w->s);
    bench_entry entries[3] = {{"pith", multiply, w}};
    int entry = 1;
    if (has_blas) {
        blas.threads(threads);
        entries[entry++] = (bench_entry){"openblas", multiply_blas, w};
    }
    if (threads == 1 && w->n <= 256)
        entries[entry++] = (bench_entry){"c", multiply_c, w};
    bench_row(row, "GFLOP/s", -2e-9 * (double)(w->batch * w->n * w->n * w->n), entry,
              entries);
    bench_check(w->s);
    free(w->x), free(w->y), free(w->z);
    pith_scope_close(w->s);
    pith_close(rt);
}

int main(int argc, char **argv) {
    static const int64_t sizes[] = {64, 128, 256, 512, 1024, 2048};
    static const int64_t batches[][2] = {{100000, 3}, {100000, 4}, {10000, 16}};
    const char *only = bench_only(argc, argv);
    const bool has_blas = open_blas();
    char row[64];
    for (int single = 0; single < 2; single++) {
        const char *dtype = single ? "f32" : "f64";
        for (int i = 0; i < 6; i++)
            for (int threads = 1; threads <= 2; threads++) {
                Work w = {.batch = 1, .n = sizes[i], .single = single};
                snprintf(row, sizeof row, "product/matmul/%s/%lld/%d", dtype,
                         (long long)w.n, threads);
                measure(row, &w, threads, has_blas, only);
            }
        for (int i = 0; i < 3; i++) {
            Work w = {.batch = batches[i][0], .n = batches[i][1], .single = single};
            snprintf(row, sizeof row, "product/batch/%s/%lldx%lld", dtype,
                     (long long)w.batch, (long long)w.n);
            measure(row, &w, 1, has_blas, only);
        }
    }
    Work w = {.batch = 64, .n = 64, .subscripts = "bij,bjk->bik"};
    measure("product/einsum/f64/64x64", &w, 1, has_blas, only);
    return EXIT_SUCCESS;
}
