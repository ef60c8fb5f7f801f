/* Jacobians and Hessians against those by JAX (jax_jacobians.py), in both modes and in
 * chunks, of functions with products, loops, branches and moves. */
#include "derive_test.h"

/* ---- Functions: the same are in jax_jacobians.py ---- */

static const pith_array *mixed(pith_scope *in, const pith_array *x) {
    return pith_add(in, pith_mul(in, pith_sin(in, x), pith_sum(in, x, PITH_ALL_AXES)),
                    pith_flip(in, pith_mul(in, x, x), PITH_ALL_AXES));
}
static const pith_array *products(pith_scope *in, const pith_array *x) {
    return pith_matmul(in, pith_tanh(in, x), pith_transpose(in, x, NULL));
}

typedef struct {
    const pith_array *carry, *out;
} Step;
PITH_NODE(Step, PITH_LEAF(carry, "f64[]"), PITH_LEAF(out, "f64[]"))
static const Step *turn(pith_scope *in, const pith_array *c, const pith_array *t) {
    const pith_array *next = pith_add(in, pith_mul(in, pith_cos(in, c), t), c);
    return pith_record(in, Step, .carry = next, .out = next);
}
PITH_FUNCTION2(turn_of, turn, Step, pith_array, pith_array)
static const pith_array *recurrence(pith_scope *in, const pith_array *x) {
    const void *all = NULL;
    pith_scan(in, &turn_of, pith_f64(in, 0.5), x, &all, NULL);
    return all;
}

static const pith_array *is_small(pith_scope *in, const pith_array *y) {
    return pith_less(in, pith_sum(in, pith_mul(in, y, y), PITH_ALL_AXES), 40);
}
static const pith_array *doubled(pith_scope *in, const pith_array *y) {
    return pith_add(in, pith_mul(in, y, 2), pith_sin(in, y));
}
PITH_FUNCTION1(is_small_test, is_small, pith_array, pith_array)
PITH_FUNCTION1(doubled_of, doubled, pith_array, pith_array)
static const pith_array *below(pith_scope *in, const pith_array *x) {
    return pith_while_recorded(in, &is_small_test, &doubled_of, x,
                               &(pith_record_options){.most = 8});
}

static const pith_array *cubed(pith_scope *in, const pith_array *y) {
    return pith_mul(in, pith_mul(in, y, y), y);
}
static const pith_array *grown(pith_scope *in, const pith_array *y) {
    return pith_exp(in, y);
}
PITH_FUNCTION1(cubed_of, cubed, pith_array, pith_array)
PITH_FUNCTION1(grown_of, grown, pith_array, pith_array)
static const pith_array *chosen(pith_scope *in, const pith_array *x) {
    const pith_array *first = pith_slice_at(in, x, 0, 0);
    const pith_array *y =
        pith_cond(in, pith_greater(in, first, 0), &grown_of, &cubed_of, x);
    return pith_add(in, y, pith_where(in, pith_greater(in, x, 0.25), x, 0.0));
}

static const pith_array *moved(pith_scope *in, const pith_array *x) {
    const pith_array *sums =
        pith_slice_array(in, pith_cumsum(in, x, 0, NULL), 1, &PITH_SLICE(0, 2, 1));
    const pith_array *set = pith_scatter_set(
        in, x, pith_i64(in, 1),
        pith_mul(in, pith_slice_at(in, x, 0, 0), pith_slice_at(in, x, 0, 2)), NULL);
    const pith_array *parts[] = {pith_sort(in, x, 0, NULL),
                                 pith_mul(in, sums, pith_max(in, x, PITH_ALL_AXES)), set};
    return pith_concatenate(in, 3, parts, 0);
}
static const pith_array *norms(pith_scope *in, const pith_array *x) {
    return pith_log(in, pith_sum(in, pith_exp(in, pith_mul(in, x, x)), PITH_ALL_AXES));
}
static const pith_array *volume(pith_scope *in, const pith_array *x) {
    const pith_array *a = pith_slice_array(in, x, 1, &PITH_SLICE(0, -1, 1)),
                     *b = pith_slice_array(in, x, 1, &PITH_SLICE(1, INT64_MAX, 1));
    return pith_add(in, pith_prod(in, x, PITH_ALL_AXES),
                    pith_sum(in, pith_mul(in, a, pith_sin(in, b)), PITH_ALL_AXES));
}
#define FUNCTION(f) PITH_FUNCTION1(f##_of, f, pith_array, pith_array)
FUNCTION(mixed)
FUNCTION(products)
FUNCTION(recurrence)
FUNCTION(below)
FUNCTION(chosen)
FUNCTION(moved)
FUNCTION(norms)
FUNCTION(volume)

/* ---- Cases ---- */

#define S(...)                                                                           \
    {                                                                                    \
        .rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .extents = {  \
            __VA_ARGS__                                                                  \
        }                                                                                \
    }
#define N(count, ...) (const double[]){__VA_ARGS__}, count

static const struct {
    const char *kind;
    const pith_function *f;
    pith_shape shape;
    const double *wanted;
    int count;
} cases[] = {
#define CASE(kind, f, shape, ...) {kind, &f##_of, shape, __VA_ARGS__},
#include "jax_jacobians.def"
};

static const pith_array *operand(pith_shape shape) {
    double x[DERIVE_MOST];
    int64_t count = 1;
    for (int k = 0; k < shape.rank; k++)
        count *= shape.extents[k];
    for (int64_t i = 0; i < count; i++)
        x[i] = (double)((i * 7 + 3) % 11 - 5) / 4 + 0.0625;
    return pith_array_copy(s, PITH_F64, shape, x);
}

Test(jacobian_jax, derivatives_agree, .init = open_scope) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int64_t chunk = 0; chunk < 3; chunk++)
            for (int mode = 0; mode < 2; mode++) {
                const pith_derive_options o = {.chunk = chunk};
                const pith_function *f =
                    !strcmp(cases[k].kind, "hessian") ? pith_hessian(s, cases[k].f, &o)
                    : mode ? pith_jacobian_reverse(s, cases[k].f, &o)
                           : pith_jacobian_forward(s, cases[k].f, &o);
                const pith_array *got = pith_apply(s, f, operand(cases[k].shape));
                pt_ok(s, got);
                cr_assert(pith_array_spec(got)->count == cases[k].count, "%s: %d, not %d",
                          cases[k].f->name, (int)pith_array_spec(got)->count,
                          cases[k].count);
                for (int i = 0; i < cases[k].count; i++)
                    near(got, i, cases[k].wanted[i]);
            }
    close_scope();
}
