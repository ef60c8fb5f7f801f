/* Cases of tables by JAX: operands, the function that a case names, and comparison. */
#ifndef PITH_TESTS_JAX_CASE_H
#define PITH_TESTS_JAX_CASE_H

#include "derive_test.h"
#include "jax_batched.h"

typedef struct {
    int count;
    const double *at;
} numbers;

/* A function and its operands. */
typedef struct jax_point {
    const char *function, *parameters, *shapes, *kind;
    numbers operands; /* of kind "given" */
} jax_point;

#define N(count, ...)                                                                    \
    {                                                                                    \
        count, (const double[]) {                                                        \
            __VA_ARGS__                                                                  \
        }                                                                                \
    }
enum { MOST = 1024 };

/* clang-format off */
#define OTHERS(X) \
    X(clip) X(where) X(mul_sum) X(div_all) X(var) X(std) X(norm) X(sort) X(top_k) \
    X(take) X(take_along) X(dynamic_slice) X(dynamic_update) X(slice) X(pad) X(flip) \
    X(transpose) X(reshape) X(broadcast) X(concatenate) X(stack) X(roll) X(tile) \
    X(repeat) X(diff) X(tril) X(dot_general) X(cholesky) X(solve_triangular) X(chosen) \
    X(safe) X(nested) X(switched) X(scan_sum) X(scan_constant) X(scan_fixpoint) \
    X(scan_forward) X(scan_scan) X(scan_cond) X(scan_gradient) X(counted) \
    X(while_newton) X(while_growing) X(while_until) X(rule_loop) X(rule_branch) \
    X(rule_clip) X(remat_loop) X(remat_rule) X(taken_at) X(added_at) X(set_at) \
    X(sliced_at) X(updated_at) X(segments_at) X(searched) X(chosen_by) X(rooted) \
    X(switched_by) X(counted_by) X(halved) X(loop_in_branch) X(branch_in_loop) \
    X(summed_rows) X(gradient_of)
/* clang-format on */
#define FUNCTION(name) {#name, name##_jax},
static const struct {
    const char *name;
    const pith_array *(*run)(pith_scope *in, const jax_call *c);
    /* clang-format off */
} functions[] = {
    JAX_UNARY(FUNCTION) JAX_BINARY(FUNCTION) JAX_REDUCTIONS(FUNCTION)
    JAX_CUMULATIVE(FUNCTION) JAX_SCATTERS(FUNCTION) JAX_SEGMENTS(FUNCTION) OTHERS(FUNCTION)
};
/* clang-format on */
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* ---- The function of a case ---- */

typedef struct {
    const char *function, *parameters;
    const void *operands;
} Point;
PITH_NODE(Point, PITH_STATIC(function), PITH_STATIC(parameters), PITH_TREE(operands))

static const pith_array *value(pith_scope *in, const Point *point) {
    const void *of = point->operands;
    const int64_t count = pith_child_count(of);
    jax_call c = {.x = pith_child(of, 0),
                  .y = count > 1 ? pith_child(of, 1) : NULL,
                  .z = count > 2 ? pith_child(of, 2) : NULL};
    char *end;
    for (const char *at = point->parameters; *at; at = end)
        c.p[c.count++] = (int)strtol(at, &end, 10);
    for (int k = 0; k < FUNCTIONS; k++)
        if (!strcmp(functions[k].name, point->function))
            return functions[k].run(in, &c);
    cr_assert_fail("no function %s", point->function);
    return NULL;
}
PITH_FUNCTION1(value_of, value, pith_array, Point)

static const pith_derive_options operands = {.paths = PITH_PATHS("[0].operands"),
                                             .cuts = PITH_CUTS_ARE_ZERO};

/* ---- Operands, tangents and cotangents: the same rules are in jax_derivatives.py ----
 */

static double element_of(const jax_point *c, int i, int k) {
    return !strcmp(c->kind, "ties")       ? ((i * 7 + 3 + 2 * k) % 11 - 5) / 4.
           : !strcmp(c->kind, "positive") ? (1 + (i * 3 + k) % 5) / 2.
                                          : ((i * 37 + 11 * k) % 101 - 50.5) / 16;
}
static const pith_array *cast_copy(const double *x, pith_shape shape, pith_dtype dtype) {
    return pith_cast(s, pith_array_copy(s, PITH_F64, shape, x), dtype);
}

/* Lists of operands and of their tangents. */
static void
read_operands(const jax_point *c, pith_dtype dtype, const void **xs, const void **ts) {
    const void *x[JAX_OPERANDS], *t[JAX_OPERANDS];
    int count = 0, given = 0;
    const char *at = c->shapes;
    do {
        double numbers_x[MOST], numbers_t[MOST];
        pith_shape shape = {0};
        int64_t n = 1;
        while (*at && *at != ';') {
            char *end;
            n *= shape.extents[shape.rank++] = strtol(at, &end, 10);
            at = *end == ',' ? end + 1 : end;
        }
        for (int i = 0; i < n; i++) {
            numbers_x[i] =
                c->operands.count ? c->operands.at[given++] : element_of(c, i, count);
            numbers_t[i] = ((i * 5 + 1 + count) % 7 - 3.5) / 2;
        }
        x[count] = cast_copy(numbers_x, shape, dtype);
        t[count++] = cast_copy(numbers_t, shape, dtype);
    } while (*at++ == ';');
    *xs = pith_list_make(s, count, x);
    *ts = pith_list_make(s, count, t);
}

static const pith_array *cotangent_like(const pith_array *y) {
    const pith_spec *spec = pith_array_spec(y);
    double ct[MOST];
    pith_shape shape = {.rank = spec->rank};
    memcpy(shape.extents, spec->shape, sizeof shape.extents);
    for (int i = 0; i < spec->count; i++)
        ct[i] = ((i * 3 + 2) % 9 - 4.5) / 4;
    return cast_copy(ct, shape, spec->dtype);
}

/* ---- Comparison ---- */

static int wrong; /* numbers that differ */

/* The arrays of a tree against numbers, relative to the largest of them. */
static void compare(const jax_point *c,
                    pith_dtype dtype,
                    const char *what,
                    const void *tree,
                    const numbers *wanted,
                    double bound) {
    double largest = 0;
    int n = 0;
    cr_assert(tree, "%s %s: %s: %s", c->function, c->parameters, what, pith_message(s));
    for (int k = 0; k < wanted->count; k++)
        if (isfinite(wanted->at[k]))
            largest = fmax(largest, fabs(wanted->at[k]));
    const int64_t count = pith_kind(tree) == PITH_NODE_LIST ? pith_child_count(tree) : 1;
    for (int64_t k = 0; k < count; k++) {
        const pith_array *a =
            pith_kind(tree) == PITH_NODE_LIST ? pith_child(tree, k) : tree;
        double got[MOST];
        cr_assert(pith_array_spec(a)->dtype == dtype);
        const int64_t of = pith_array_spec(a)->count;
        pt_ok(s, pith_read(s, pith_cast(s, a, PITH_F64), got, (size_t)of * sizeof *got));
        for (int64_t i = 0; i < of; i++, n++) {
            const double w = wanted->at[n], d = fabs(got[i] - w);
            const bool fine = got[i] == w || (isnan(got[i]) && isnan(w)) ||
                              d <= bound * (fabs(w) + largest);
            if (!fine) {
                wrong++;
                fprintf(stderr, "%s(%s) of %s %s, %s, %d: %.17g, JAX has %.17g\n",
                        c->function, c->parameters, pith_dtype_name(dtype), c->shapes,
                        what, n, got[i], w);
            }
        }
    }
    cr_assert(n == wanted->count, "%s(%s), %s: %d numbers, JAX has %d", c->function,
              c->parameters, what, n, wanted->count);
}

/* Run a case in a scope of its own. */
static void
run_in_scope(const jax_point *c,
             pith_dtype dtype,
             double bound,
             void (*run)(const jax_point *c, pith_dtype dtype, double bound)) {
    static int cases;
    pith_scope *outer = s;
    s = pith_scope_open_in(outer);
    run(c, dtype, bound);
    if (pith_failed(s)) {
        wrong++;
        fprintf(stderr, "%s(%s) of %s %s: %s\n", c->function, c->parameters,
                pith_dtype_name(dtype), c->shapes, pith_message(s));
        pith_clear(s);
    }
    pith_scope_close(s);
    s = outer;
    if (cases++ % 64 == 0)
        pith_jit_clear(rt);
}

#endif
