/* Products, eager and compiled, alone and in loops and branches: within the bound of
 * array_product.h against sums written out, and the same bits in every way to run them.
 * On a device with cuBLAS large ones are its own. */
#include "pith/pith.h"

#include "pith_test.h"

#include <math.h>

typedef struct {
    const pith_array *a, *b, *c; /* c: products so far */
} Factors;
PITH_NODE(Factors,
          PITH_LEAF(a, "float[batch,m,k]"),
          PITH_LEAF(b, "float[batch,k,n]"),
          PITH_LEAF(c, "float[batch,m,n]"))

static const Factors *multiply(pith_scope *in, const Factors *f) {
    Factors next = *f;
    next.c = pith_matmul(in, f->a, f->b);
    return pith_freeze(in, Factors, &next);
}
static const Factors *negate(pith_scope *in, const Factors *f) {
    Factors next = *f;
    next.c = pith_neg(in, f->c);
    return pith_freeze(in, Factors, &next);
}
PITH_FUNCTION1(multiply_step, multiply, Factors, Factors)
PITH_FUNCTION1(negate_step, negate, Factors, Factors)

/* Odd iterations multiply, so that the last does; the others turn the sign. */
static const Factors *alternate(pith_scope *in, const pith_array *i, const Factors *f) {
    const pith_array *odd =
        pith_equal(in, pith_remainder(in, pith_cast(in, i, PITH_I64), pith_i64(in, 2)),
                   pith_i64(in, 1));
    return pith_cond(in, odd, &multiply_step, &negate_step, f);
}
PITH_FUNCTION2(alternate_step, alternate, Factors, pith_array, Factors)
static const Factors *in_a_loop(pith_scope *in, const Factors *f) {
    return pith_fori(in, 0, 4, &alternate_step, f);
}
PITH_FUNCTION1(loop_step, in_a_loop, Factors, Factors)

enum { MOST = 200000 };
static double a[MOST], b[MOST];

static uint64_t state = 5;
static double noise(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ldexp((double)(int64_t)state, -63);
}

static const Factors *
factors(pith_scope *s, pith_dtype dtype, int64_t batch, int64_t m, int64_t k, int64_t n) {
    Factors f;
    const pith_shape first = PITH_SHAPE(batch, m, k), second = PITH_SHAPE(batch, k, n);
    f.a = pith_cast(s, pith_array_copy(s, PITH_F64, first, a), dtype);
    f.b = pith_cast(s, pith_array_copy(s, PITH_F64, second, b), dtype);
    f.c = pith_zeros(s, dtype, PITH_SHAPE(batch, m, n));
    return pith_freeze(s, Factors, &f);
}

/* In f64: of what the dtype made of them. */
static double *read_all(pith_scope *s, const pith_array *x) {
    const size_t bytes = (size_t)pith_array_spec(x)->count * sizeof(double);
    double *all = malloc(bytes);
    cr_assert(pith_read(s, pith_cast(s, x, PITH_F64), all, bytes), "%s", pith_message(s));
    return all;
}

static void check_bound(pith_scope *s, const Factors *f, const double *c) {
    const pith_spec *x = pith_array_spec(f->a), *y = pith_array_spec(f->b);
    const int64_t batch = x->shape[0], m = x->shape[1], k = x->shape[2], n = y->shape[2];
    const double u = x->dtype == PITH_F64 ? 0x1p-53 : 0x1p-24;
    const double rounded = x->dtype == PITH_F16    ? 0x1p-11
                           : x->dtype == PITH_BF16 ? 0x1p-8
                                                   : 0;
    double *p = read_all(s, f->a), *q = read_all(s, f->b);
    for (int64_t i = 0; i < batch * m * n; i++) {
        const double *row = p + i / n * k, *column = q + i / n / m * k * n + i % n;
        long double sum = 0, size = 0;
        for (int64_t t = 0; t < k; t++) {
            const long double term = (long double)row[t] * column[t * n];
            sum += term;
            size += fabsl(term);
        }
        const long double bound =
            (256 + (long double)k / 256) * u * size + rounded * (fabsl(sum) + 0x1p-14L);
        cr_assert(fabsl(c[i] - sum) <= bound * 1.01L, "element %lld of %s: %g, not %Lg",
                  (long long)i, pith_dtype_name(x->dtype), c[i], sum);
    }
    free(p);
    free(q);
}

/* The bits of f(x), called `calls` times. */
static void check_alike(pith_scope *s,
                        const pith_function *f,
                        const Factors *x,
                        const double *want,
                        int calls) {
    for (int k = 0; k < calls; k++) {
        const Factors *y = pith_apply(s, f, x);
        pt_ok(s, y);
        double *c = read_all(s, y->c);
        cr_assert(memcmp(c, want, (size_t)pith_array_spec(y->c)->count * sizeof *c) == 0);
        free(c);
    }
}

static void check_shapes(const int64_t (*shapes)[4], int count) {
    static const pith_dtype dtypes[] = {PITH_F64, PITH_F32, PITH_F16, PITH_BF16};
    pith_runtime *rt = pt_open();
    for (int k = 0; k < count; k++)
        for (int d = 0; d < (int)(sizeof dtypes / sizeof *dtypes); d++) {
            pith_scope *s = pith_scope_open(rt);
            const Factors *x = factors(s, dtypes[d], shapes[k][0], shapes[k][1],
                                       shapes[k][2], shapes[k][3]);
            pt_ok(s, x);
            double *c = read_all(s, multiply(s, x)->c);
            check_bound(s, x, c);
            check_alike(s, &multiply_step, x, c, 1);
            check_alike(s, pith_jit(s, &multiply_step, NULL), x, c, 3);
            check_alike(s, &loop_step, x, c, 1);
            check_alike(s, pith_jit(s, &loop_step, NULL), x, c, 3);
            free(c);
            pith_scope_close(s);
        }
    pt_close(rt);
}

/* Small, and at the sizes from which on a library multiplies. */
Test(products, of_all_sizes_keep_the_bound, .timeout = 300) {
    static const int64_t shapes[][4] = {
        {1, 3, 5, 4},      {3, 7, 300, 2},   {1, 128, 128, 128}, {1, 1, 3000, 1},
        {1, 130, 260, 65}, {40, 30, 50, 37}, {1, 2, 70000, 2}};
    for (int i = 0; i < MOST; i++) {
        a[i] = noise();
        b[i] = noise();
    }
    check_shapes(shapes, (int)(sizeof shapes / sizeof *shapes));
}

/* Terms of one sign, of which plain sums in f32 lose hundreds of units. */
Test(products, of_one_sign_keep_it_too, .timeout = 300) {
    static const int64_t shapes[][4] = {{1, 1, 180000, 1}, {1, 3, 60000, 3}};
    for (int i = 0; i < MOST; i++)
        a[i] = b[i] = 0.1;
    check_shapes(shapes, (int)(sizeof shapes / sizeof *shapes));
}
