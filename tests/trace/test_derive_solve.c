/* Derivatives of Cholesky factors and triangular solves: against JAX (solve.def, made by
 * solve.py), closed forms, differences, and themselves in the other mode. */
#include "derive_test.h"
#include "fail_allocator.h"

typedef enum { FACTOR, SOLVE, BOTH } operation;

typedef struct {
    const pith_array *a, *b, *weight;
    int64_t op, upper, transpose, unit, dtype;
} System;
PITH_NODE(System,
          PITH_LEAF(a, "f64[...]"),
          PITH_LEAF(b, "f64[...]"),
          PITH_LEAF(weight, "f64[...]"),
          PITH_STATIC(op),
          PITH_STATIC(upper),
          PITH_STATIC(transpose),
          PITH_STATIC(unit),
          PITH_STATIC(dtype))

static const pith_array *result_of(pith_scope *in, const System *y) {
    const pith_array *a = pith_cast(in, y->a, (pith_dtype)y->dtype),
                     *b = pith_cast(in, y->b, (pith_dtype)y->dtype);
    const pith_triangular_options o = {
        .upper = y->upper, .transpose = y->transpose, .unit_diagonal = y->unit};
    return pith_cast(in,
                     y->op == FACTOR  ? pith_cholesky(in, a, y->upper)
                     : y->op == SOLVE ? pith_solve_triangular(in, a, b, &o)
                                      : pith_cholesky_solve(in, a, b, y->upper),
                     PITH_F64);
}
PITH_FUNCTION1(result, result_of, pith_array, System)

static const pith_array *weigh(pith_scope *in, const System *y) {
    return pith_sum(in, pith_mul(in, result_of(in, y), y->weight), PITH_ALL_AXES);
}
PITH_FUNCTION1(weighed, weigh, pith_array, System)

/* The elements of solve.py. */
static const pith_array *elements(pith_shape shape, int64_t seed) {
    double values[DERIVE_MOST];
    int64_t count = 1;
    for (int d = 0; d < shape.rank; d++)
        count *= shape.extents[d];
    cr_assert(count <= DERIVE_MOST);
    for (int64_t i = 0; i < count; i++)
        values[i] = (double)((i * i * 7 + i * 11 + seed * 13) % 31) / 16 - 1;
    return pith_array_copy(s, PITH_F64, shape, values);
}

static const pith_array *matrix(pith_shape shape, int64_t seed) {
    const int64_t n = shape.extents[shape.rank - 1];
    const pith_array *eye = pith_eye(s, PITH_F64, n, n, 0);
    return pith_add(s, pith_div(s, elements(shape, seed), 2.0), pith_mul(s, eye, 4.0));
}

static pith_shape shape_of(const pith_array *a) {
    pith_shape shape = {.rank = pith_array_spec(a)->rank};
    memcpy(shape.extents, pith_array_spec(a)->shape, sizeof shape.extents);
    return shape;
}

static const System *system_of(const System *like, pith_shape a, pith_shape b) {
    System y = *like;
    y.a = matrix(a, 1);
    y.b = elements(b, 2);
    y.weight = y.a; /* for the shape of the result */
    y.weight = elements(shape_of(result_of(s, pith_freeze(s, System, &y))), 5);
    return pith_freeze(s, System, &y);
}

static const pith_derive_options by_both = {.paths = PITH_PATHS("[0].a", "[0].b")};

/* ---- JAX ---- */

typedef struct {
    int op, upper, transpose, unit, ranks[2];
    int64_t shapes[2][4];
    const double *gradients[2], *tangent, *products[2];
} known_case;

static const known_case cases[] = {
#define SHAPE(...)                                                                       \
    { __VA_ARGS__ }
#define NUMBERS(...)                                                                     \
    (const double[]) {                                                                   \
        __VA_ARGS__                                                                      \
    }
#define CASE(op, upper, transpose, unit, rank_a, a, rank_b, b, ga, gb, t, ha, hb)        \
    {op, upper, transpose, unit, {rank_a, rank_b}, {a, b}, {ga, gb}, t, {ha, hb}},
#include "solve.def"
#undef CASE
#undef NUMBERS
#undef SHAPE
};

static void
same(const char *what, const pith_array *a, const double *wanted, double tol) {
    pt_ok(s, a);
    double greatest = 0;
    for (int64_t i = 0; i < pith_array_spec(a)->count; i++)
        greatest = fmax(greatest, fabs(wanted[i]));
    for (int64_t i = 0; i < pith_array_spec(a)->count; i++)
        cr_assert(fabs(at(a, i) - wanted[i]) <= tol * (greatest + 1e-3),
                  "%s, element %d: got %.17g, expected %.17g", what, (int)i, at(a, i),
                  wanted[i]);
}

static void follows_jax(const known_case *k, pith_dtype dtype, double tol) {
    pith_shape shapes[2] = {{.rank = k->ranks[0]}, {.rank = k->ranks[1]}};
    for (int n = 0; n < 2; n++)
        memcpy(shapes[n].extents, k->shapes[n], sizeof k->shapes[n]);
    const System *y = system_of(&(System){.op = k->op,
                                          .upper = k->upper,
                                          .transpose = k->transpose,
                                          .unit = k->unit,
                                          .dtype = dtype},
                                shapes[0], shapes[1]);
    const pith_tuple *along =
        pith_tuple_make(s, PITH_ITEMS(elements(shapes[0], 3), elements(shapes[1], 4)));
    const pith_tuple *both =
        pith_call(s, pith_value_and_grad(s, &weighed, &by_both), PITH_ITEMS(y));
    pt_ok(s, both);
    cr_assert(pith_tree_equal(s, item(both, 0), weigh(s, y)), "the value has other bits");
    const pith_pushed moved = pith_jvp(s, &weighed, PITH_ITEMS(y), along, &by_both);
    const pith_linearized map = pith_linearize(s, &weighed, PITH_ITEMS(y), &by_both);
    pt_ok(s, moved.tangent && map.map);
    same("tangent", moved.tangent, k->tangent, tol);
    same("map", pith_call(s, map.map, PITH_ITEMS(along)), k->tangent, tol);
    const pith_tuple *second =
        pith_call(s, pith_hessian_product(s, &weighed, &by_both), PITH_ITEMS(y, along));
    for (int n = 0; n < 2; n++) {
        same("gradient", item(item(both, 1), n), k->gradients[n], tol);
        same("product", item(item(second, 1), n), k->products[n], tol);
    }
}

Test(derive_solve, derivatives_follow_jax, .init = open_scope) {
    for (int k = 0; k < (int)(sizeof cases / sizeof *cases); k++) {
        follows_jax(&cases[k], PITH_F64, 1e-12);
        follows_jax(&cases[k], PITH_F32, 1e-4);
    }
    close_scope();
}

/* ---- Closed forms ---- */

/* The logarithm of the determinant of the symmetric matrix with this lower triangle. */
static const pith_array *log_determinant(pith_scope *in, const pith_array *a) {
    const pith_array *pivots = pith_diagonal(in, pith_cholesky(in, a, false), 0);
    return pith_mul(in, pith_sum(in, pith_log(in, pivots), PITH_ALL_AXES), 2.0);
}
PITH_FUNCTION1(log_determinant_of, log_determinant, pith_array, pith_array)

/* The derivative by an element is that of the inverse, twice if it stands for two. The
 * other triangle is not read: its derivative is 0. */
Test(derive_solve, a_determinant_has_the_gradient_of_the_inverse, .init = open_scope) {
    enum { N = 5 };
    const pith_array *half = pith_tril(s, matrix(PITH_SHAPE(N, N), 1), -1);
    const pith_array *a = pith_add(s, pith_add(s, half, pith_swapaxes(s, half, 0, 1)),
                                   pith_mul(s, pith_eye(s, PITH_F64, N, N, 0), 5.0));
    const pith_array *g =
        pith_call(s, pith_grad(s, &log_determinant_of, NULL), PITH_ITEMS(a));
    const pith_array *inverse = pith_cholesky_solve(
        s, pith_cholesky(s, a, false), pith_eye(s, PITH_F64, N, N, 0), false);
    pt_ok(s, g && inverse);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            const double of = at(inverse, i * N + j);
            if (j <= i)
                near(g, i * N + j, i == j ? of : 2 * of);
            else
                cr_assert(at(g, i * N + j) == 0);
        }
    close_scope();
}

static const pith_array *root_of_matrix(pith_scope *in, const pith_array *a) {
    return pith_sum(in, pith_cholesky(in, a, true), PITH_ALL_AXES);
}
PITH_FUNCTION1(root, root_of_matrix, pith_array, pith_array)

Test(derive_solve, a_matrix_of_one_row_has_a_root, .init = open_scope) {
    const pith_array *a =
        pith_array_copy(s, PITH_F64, PITH_SHAPE(3, 1, 1), (const double[]){4, 9, -1});
    const pith_function *g = pith_grad(s, &root, NULL);
    const pith_array *slope = pith_call(s, g, PITH_ITEMS(a));
    near(slope, 0, 0.25);
    near(slope, 1, 1.0 / 6);
    cr_assert(isnan(at(slope, 2)), "no factor, and no derivative");
    close_scope();
}

/* A right side of a unit triangle of zeros is the solution. */
Test(derive_solve, what_is_not_read_has_gradient_zero, .init = open_scope) {
    const System *y = system_of(&(System){.op = SOLVE, .unit = true, .dtype = PITH_F64},
                                PITH_SHAPE(4, 4), PITH_SHAPE(4, 2));
    const pith_tuple *g = pith_call(s, pith_grad(s, &weighed, &by_both), PITH_ITEMS(y));
    for (int i = 0; i < 4; i++)
        for (int j = i; j < 4; j++)
            cr_assert(at(item(g, 0), i * 4 + j) == 0);
    close_scope();
}

/* ---- Differences, and one mode against the other ---- */

static bool passes(const System *y, int order) {
    return pith_check_gradient(
        s, &result, PITH_ITEMS(y),
        &(pith_gradient_check){
            .order = order,
            .derive = &(pith_derive_options){.paths = PITH_PATHS("[0].a", "[0].b")}});
}

Test(derive_solve, derivatives_agree_with_differences, .init = open_scope) {
    for (int op = FACTOR; op <= BOTH; op++)
        for (int flags = 0; flags < (op == SOLVE ? 8 : 2); flags++) {
            const System *y = system_of(&(System){.op = op,
                                                  .upper = flags & 1,
                                                  .transpose = flags >> 1 & 1,
                                                  .unit = flags >> 2,
                                                  .dtype = PITH_F64},
                                        PITH_SHAPE(2, 5, 5), PITH_SHAPE(2, 5, 2));
            cr_assert(passes(y, 1), "%s", pith_message(s));
        }
    close_scope();
}

/* A step of a loop solves with the state of the step before. */
static const pith_array *
relax(pith_scope *in, const pith_array *step, const pith_array *x, const pith_array *a) {
    (void)step;
    const pith_array *l = pith_cholesky(in, pith_add(in, a, pith_sin(in, x)), false);
    return pith_solve_triangular(in, l, x, NULL);
}
PITH_FUNCTION3(relax_once, relax, pith_array, pith_array, pith_array, pith_array)
static const pith_array *
relaxed(pith_scope *in, const pith_array *x, const pith_array *a) {
    return pith_fori(in, 0, 3, pith_partial(in, &relax_once, a), x);
}
PITH_FUNCTION2(relaxed_of, relaxed, pith_array, pith_array, pith_array)

Test(derive_solve, loops_of_solves_agree_with_differences, .init = open_scope) {
    const pith_array *x = elements(PITH_SHAPE(3, 3), 2), *a = matrix(PITH_SHAPE(3, 3), 1);
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1)};
    cr_assert(pith_check_gradient(s, &relaxed_of, PITH_ITEMS(x, a),
                                  &(pith_gradient_check){.order = 2, .derive = &both}),
              "%s", pith_message(s));
    close_scope();
}

/* ---- Rules of a user that solve for tangents ---- */

typedef struct {
    const pith_array *value, *tangent;
} Pushed;
PITH_NODE(Pushed, PITH_LEAF(value, "f64[...]"), PITH_LEAF(tangent, "f64[...]"))

/* x = l^-1 b of a constant l, with a rule that solves for the tangent. */
static const pith_array *constant_triangle(pith_scope *in) {
    return pith_reshape(in, PITH_VECTOR(in, f64, 2, 0, 1, 4), PITH_SHAPE(2, 2));
}
static const pith_array *solved(pith_scope *in, const pith_array *b) {
    return pith_solve_triangular(in, constant_triangle(in), b, NULL);
}
PITH_FUNCTION1(solved_of, solved, pith_array, pith_array)
static const Pushed *
push_solved(pith_scope *in, const pith_array *b, const pith_array *t) {
    return pith_record(in, Pushed, .value = solved(in, b), .tangent = solved(in, t));
}
PITH_FUNCTION2(push_of, push_solved, Pushed, pith_array, pith_array)
/* The same, where the tangent calls the function with its rule. */
static const Pushed *
push_again(pith_scope *in, const pith_array *b, const pith_array *t) {
    const pith_function *f = pith_custom_jvp(in, &solved_of, &push_of);
    return pith_record(in, Pushed, .value = solved(in, b),
                       .tangent = pith_call(in, f, PITH_ITEMS(t)));
}
PITH_FUNCTION2(again_of, push_again, Pushed, pith_array, pith_array)
/* Not linear: a square root of the tangent. */
static const Pushed *push_root(pith_scope *in, const pith_array *b, const pith_array *t) {
    return pith_record(in, Pushed, .value = solved(in, b),
                       .tangent = pith_mul(in, pith_norm(in, t, 2, PITH_ALL_AXES), t));
}
PITH_FUNCTION2(wrong_of, push_root, Pushed, pith_array, pith_array)

static const pith_function *rule_used;
static const pith_array *with_rule(pith_scope *in, const pith_array *b) {
    const pith_function *f = pith_custom_jvp(in, &solved_of, rule_used);
    const pith_array *x = pith_call(in, f, PITH_ITEMS(b));
    return pith_sum(in, pith_mul(in, x, x), PITH_ALL_AXES);
}
PITH_FUNCTION1(with_rule_of, with_rule, pith_array, pith_array)

Test(derive_solve, rules_solve_for_tangents, .init = open_scope) {
    const pith_array *b = pith_reshape(s, PITH_VECTOR(s, f64, 3, 5), PITH_SHAPE(2, 1));
    const pith_function *const rules[] = {&push_of, &again_of};
    for (int k = 0; k < 2; k++) {
        rule_used = rules[k];
        cr_assert(pith_check_gradient(s, &with_rule_of, PITH_ITEMS(b),
                                      &(pith_gradient_check){.order = 2}),
                  "rule %d: %s", k, pith_message(s));
    }
    rule_used = &wrong_of;
    pt_fails(PITH_E_DERIVATIVE, s,
             pith_call(s, pith_grad(s, &with_rule_of, NULL), PITH_ITEMS(b)));
    pt_says("the tangent of a rule is not linear");
    close_scope();
}

/* ---- Sizes ---- */

static double length_of(const pith_function *f, const pith_array *a) {
    const pith_program_costs cost = pith_program_cost(s, f, PITH_ITEMS(a));
    pt_ok(s);
    return (double)cost.instructions;
}

/* The length of the gradient of a factor, in calls. */
Test(derive_solve, gradients_of_factors_are_as_short_as_factors, .init = open_scope) {
    const pith_array *a = matrix(PITH_SHAPE(17, 17), 1);
    const double factor = length_of(pith_jit(s, &root, NULL), a),
                 gradient = length_of(pith_grad(s, &root, NULL), a);
    cr_assert(factor > 17 && gradient < 4 * factor, "%g calls, %g", factor, gradient);
    close_scope();
}

Test(derive_solve, small_dtypes_and_nothing, .init = open_scope) {
    for (int op = FACTOR; op <= BOTH; op++)
        for (int dtype = PITH_F16; dtype < PITH_F64; dtype++)
            for (int n = 0; n < 3; n += 2) {
                const System *y = system_of(&(System){.op = op, .dtype = dtype},
                                            PITH_SHAPE(n, n), PITH_SHAPE(n, 2 - n));
                pt_ok(s, pith_call(s, pith_grad(s, &weighed, &by_both), PITH_ITEMS(y)));
                pt_ok(s, pith_jvp(s, &weighed, PITH_ITEMS(y),
                                  pith_tuple_make(s, PITH_ITEMS(y->a, y->b)), &by_both)
                             .tangent);
            }
    close_scope();
}

/* ---- Memory ---- */

static pith_status derive(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_array *b = pith_reshape(s, PITH_VECTOR(s, f64, 3, 5), PITH_SHAPE(2, 1));
    rule_used = &again_of;
    if (!pith_failed(s))
        pt_again(s, pith_call(s, pith_grad(s, &with_rule_of, NULL), PITH_ITEMS(b)));
    if (!pith_failed(s))
        pt_again(s, pith_jvp(s, &root, PITH_ITEMS(constant_triangle(s)),
                             constant_triangle(s), NULL)
                        .tangent);
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(derive_solve, every_failure_is_survived) {
    const pt_failures failures = pt_fail_each(derive);
    cr_assert(failures.allocations > 50, "%d allocations, %d errors",
              failures.allocations, failures.errors);
}
