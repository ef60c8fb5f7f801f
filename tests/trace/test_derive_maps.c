/* Linear maps of pith_linearize and pith_vjp: against forward mode and gradients, their
 * residuals, scopes and second derivatives. */
#include "derive_test.h"

typedef struct {
    const pith_array *sum, *waves, *count;
} Parts;
PITH_NODE(Parts,
          PITH_LEAF(sum, "f64[]"),
          PITH_LEAF(waves, "f64[n]"),
          PITH_LEAF(count, "i64[]"))

/* Parts of x scaled by a, which is a float of rank 0. */
static const Parts *split(pith_scope *in, const pith_array *x, const pith_array *a) {
    const pith_array *waves =
        pith_expression(in, "sin(a * x) * x", PITH_BIND({"x", x}, {"a", a}));
    return pith_record(in, Parts, .sum = pith_sum(in, waves, PITH_ALL_AXES),
                       .waves = waves, .count = pith_i64(in, 4));
}
PITH_FUNCTION2(split_of, split, Parts, pith_array, pith_array)

static const pith_array *
product(pith_scope *in, const pith_array *x, const pith_array *y) {
    return pith_sum(in, pith_mul(in, x, y), PITH_ALL_AXES);
}
PITH_FUNCTION2(product_of, product, pith_array, pith_array, pith_array)

static const pith_array *some_x(void) {
    return PITH_VECTOR(s, f64, 0.5, -1.25, 2, 3.5);
}
static const pith_array *some_t(void) {
    return PITH_VECTOR(s, f64, 1, -0.5, 0.25, 2);
}
static double dot(const pith_array *a, const pith_array *b) {
    return pith_read_f64(s, pith_sum(s, pith_mul(s, a, b), PITH_ALL_AXES));
}
static const Parts *cotangent(void) {
    return pith_record(s, Parts, .sum = pith_f64(s, 0.5),
                       .waves = PITH_VECTOR(s, f64, 1, 2, -1, 0.5),
                       .count = pith_i64(s, 77));
}
static const pith_derive_options both_options = {.arguments =
                                                     PITH_ARGUMENT(0) | PITH_ARGUMENT(1)};

Test(derive_maps, maps_agree_with_forward_mode, .init = open_scope) {
    const pith_array *x = some_x(), *a = pith_f64(s, 1.5);
    for (int k = 0; k < 3; k++) {
        const pith_linearized l = pith_linearize(s, &split_of, PITH_ITEMS(x, a), NULL);
        pt_ok(s, l.map);
        cr_assert(pith_tree_equal(s, l.value, split(s, x, a)));
        const Parts *t = pith_call(s, l.map, PITH_ITEMS(some_t()));
        const pith_pushed y = pith_jvp(s, &split_of, PITH_ITEMS(x, a), some_t(), NULL);
        pt_ok(s, t);
        cr_assert(pith_tree_equal(s, t, y.tangent));
        cr_assert(pith_read_i64(s, t->count) == 0);
        const Parts *twice =
            pith_call(s, l.map, PITH_ITEMS(pith_add(s, some_t(), some_t())));
        near(twice->sum, 0, 2 * at(t->sum, 0));
    }
    /* Three programs: the value, the map and the pair. */
    cr_assert(pith_jit_about(rt).misses == 3);
    close_scope();
}

Test(derive_maps, reverse_is_the_transpose_of_forward, .init = open_scope) {
    const pith_array *x = some_x(), *a = pith_f64(s, 1.5), *da = pith_f64(s, -0.75);
    const Parts *ct = cotangent();
    const pith_linearized l = pith_linearize(s, &split_of, PITH_ITEMS(x, a),
                                             &both_options),
                          v = pith_vjp(s, &split_of, PITH_ITEMS(x, a), &both_options);
    pt_ok(s, l.map && v.map);
    cr_assert(pith_tree_equal(s, l.value, v.value));
    const Parts *t =
        pith_call(s, l.map, PITH_ITEMS(pith_tuple_make(s, PITH_ITEMS(some_t(), da))));
    const void *g = pith_call(s, v.map, PITH_ITEMS(ct));
    pt_ok(s, t && g);
    const double forward = dot(t->sum, ct->sum) + dot(t->waves, ct->waves),
                 reverse = dot(item(g, 0), some_t()) + dot(item(g, 1), da);
    cr_assert(fabs(forward - reverse) <= 1e-14 * fabs(forward), "%.17g %.17g", forward,
              reverse);
    close_scope();
}

Test(derive_maps, residuals_share_the_leaves_of_arguments, .init = open_scope) {
    const pith_array *x = some_x(), *y = some_t();
    pith_linearized v = pith_vjp(s, &product_of, PITH_ITEMS(x, y), NULL);
    const pith_array *g = pith_call(s, v.map, PITH_ITEMS(pith_f64(s, 2)));
    near(g, 3, 4);
    /* y is a residual: it is not donated. */
    const pith_function *take = pith_jit(
        s, &product_of, &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(1)});
    pt_ok(s, pith_call(s, take, PITH_ITEMS(x, y)));
    const pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.donated == 0 && info.refused == 1);
    near(pith_call(s, v.map, PITH_ITEMS(pith_f64(s, 2))), 3, 4);
    close_scope();
}

Test(derive_maps, maps_are_kept_to_outer_scopes, .init = open_scope) {
    const pith_function *map;
    pith_scope *inner = pith_scope_open_in(s);
    {
        const pith_array *x = PITH_VECTOR(inner, f64, 1, 2, 3),
                         *y = PITH_VECTOR(inner, f64, 4, 5, 6);
        map = pith_keep(
            s, pith_vjp(inner, &product_of, PITH_ITEMS(x, y), &both_options).map);
        pt_ok(inner, map);
    }
    pith_scope_close(inner);
    const void *g = pith_call(s, map, PITH_ITEMS(pith_f64(s, 1)));
    near(item(g, 0), 1, 5);
    near(item(g, 1), 2, 3);
    pith_jit_clear(rt);
    near(item(pith_call(s, map, PITH_ITEMS(pith_f64(s, 3))), 0), 1, 15);
    close_scope();
}

Test(derive_maps, arguments_of_maps_are_checked, .init = open_scope) {
    const pith_array *x = some_x(), *a = pith_f64(s, 1.5);
    const pith_linearized l = pith_linearize(s, &split_of, PITH_ITEMS(x, a), NULL),
                          v = pith_vjp(s, &split_of, PITH_ITEMS(x, a), NULL);
    pt_fails(PITH_E_SHAPE, s, pith_call(s, l.map, PITH_ITEMS(a)));
    pt_says("pith_linearize: map of split's argument: expected f64[4], got f64[]");
    pt_fails(PITH_E_STRUCTURE, s, pith_call(s, v.map, PITH_ITEMS(x)));
    pt_fails(PITH_E_ARG, s, pith_vjp(s, &split_of, PITH_ITEMS(x), NULL));
    pt_fails(PITH_E_ARG, s, pith_linearize(s, NULL, PITH_ITEMS(x), NULL));
    close_scope();
}

/* ---- Maps in traces ---- */

/* The sum of the squares of the rows of the Jacobian along t, by a map of a map. */
static const pith_array *norm(pith_scope *in, const pith_array *x) {
    const pith_array *a = pith_f64(in, 1.5);
    const pith_linearized l = pith_linearize(in, &split_of, PITH_ITEMS(x, a), NULL);
    const pith_array *t = pith_ones(in, PITH_F64, PITH_SHAPE(4));
    const Parts *y = pith_call(in, l.map, PITH_ITEMS(t));
    return pith_sum(in, pith_mul(in, y->waves, y->waves), PITH_ALL_AXES);
}
PITH_FUNCTION1(norm_of, norm, pith_array, pith_array)
/* The gradient of product along x, by the map of a vjp. */
static const pith_array *pulled(pith_scope *in, const pith_array *x) {
    const pith_array *a = pith_f64(in, 1.5);
    const pith_linearized v = pith_vjp(in, &split_of, PITH_ITEMS(x, a), NULL);
    const Parts *value = v.value;
    return pith_call(in, v.map, PITH_ITEMS(value));
}
PITH_FUNCTION1(pulled_of, pulled, pith_array, pith_array)
static const pith_array *pulled_sum(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pulled(in, x), PITH_ALL_AXES);
}
PITH_FUNCTION1(pulled_sum_of, pulled_sum, pith_array, pith_array)

Test(derive_maps, maps_are_derived_again, .init = open_scope) {
    const pith_array *x = some_x();
    const pith_array *g = pith_call(s, pith_grad(s, &norm_of, NULL), PITH_ITEMS(x)),
                     *h = pith_call(s, pith_grad(s, &pulled_sum_of, NULL), PITH_ITEMS(x));
    for (int i = 0; i < 4; i++) {
        close_to(g, i, slope(&norm_of, x, i, 1));
        close_to(h, i, slope(&pulled_sum_of, x, i, 1));
    }
    /* Forward over reverse, by both maps. */
    const pith_linearized l = pith_linearize(s, &pulled_of, PITH_ITEMS(x), NULL);
    const pith_linearized v = pith_vjp(s, &pulled_of, PITH_ITEMS(x), NULL);
    const pith_array *row = pith_call(s, l.map, PITH_ITEMS(some_t())),
                     *column = pith_call(s, v.map, PITH_ITEMS(some_t()));
    for (int i = 0; i < 4; i++) {
        const pith_array *unit = pith_cast(
            s, pith_equal(s, pith_arange(s, PITH_F64, 4), pith_f64(s, i)), PITH_F64);
        near(column, i, dot(some_t(), pith_call(s, l.map, PITH_ITEMS(unit))));
        near(row, i, dot(unit, row));
    }
    close_scope();
}

/* Apply a map, bound, in every iteration of a loop. */
typedef struct {
    const pith_array *x;
} Carry;
PITH_NODE(Carry, PITH_LEAF(x, "f64[n]"))
static const Parts *lone(pith_scope *in, const pith_array *x) {
    return split(in, x, pith_f64(in, 0.1));
}
PITH_FUNCTION1(lone_of, lone, Parts, pith_array)
static const pith_array *step(pith_scope *in, const pith_array *i, const pith_array *x) {
    const pith_linearized l = pith_linearize(in, &lone_of, PITH_ITEMS(x), NULL);
    const Parts *t = pith_call(in, l.map, PITH_ITEMS(x));
    (void)i;
    return t->waves;
}
PITH_FUNCTION2(step_of, step, pith_array, pith_array, pith_array)
static const pith_array *looped(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_fori(in, 0, 3, &step_of, x), PITH_ALL_AXES);
}
PITH_FUNCTION1(looped_of, looped, pith_array, pith_array)

Test(derive_maps, maps_work_in_loops, .init = open_scope) {
    const pith_array *x = some_x();
    const double eager = at(looped(s, x), 0);
    near(pith_call(s, pith_jit(s, &looped_of, NULL), PITH_ITEMS(x)), 0, eager);
    const pith_array *g = pith_call(s, pith_grad(s, &looped_of, NULL), PITH_ITEMS(x));
    for (int i = 0; i < 4; i++)
        close_to(g, i, slope(&looped_of, x, i, 1));
    close_scope();
}

/* A map that leaves its trace cannot be used. */
static const pith_function *leaked;
static const pith_array *leaking(pith_scope *in, const pith_array *x) {
    leaked = pith_keep(s, pith_vjp(in, &lone_of, PITH_ITEMS(x), NULL).map);
    return x;
}
PITH_FUNCTION1(leaking_of, leaking, pith_array, pith_array)

Test(derive_maps, maps_stay_in_their_trace, .init = open_scope) {
    leaked = NULL;
    (void)pith_call(s, pith_jit(s, &leaking_of, NULL), PITH_ITEMS(some_x()));
    cr_assert(pith_failed(s) || leaked);
    pith_clear(s);
    if (leaked) {
        pt_fails(PITH_E_TRACED, s, pith_call(s, leaked, PITH_ITEMS(cotangent())));
    }
    close_scope();
}

/* ---- Transposes of linear functions ---- */

/* Differences of neighbours, weighted by y. */
static const pith_array *
differences(pith_scope *in, const pith_array *x, const pith_array *y) {
    return pith_mul(in, y,
                    pith_sub(in, pith_slice_array(in, x, 1, &PITH_SLICE(1, INT64_MAX, 1)),
                             pith_slice_array(in, x, 1, &PITH_SLICE(0, -1, 1))));
}
PITH_FUNCTION2(differences_of, differences, pith_array, pith_array, pith_array)
static const pith_array *square(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, x);
}
PITH_FUNCTION1(square_of, square, pith_array, pith_array)
/* The transpose inside a function, of one whose bound tree moves. */
static const pith_array *adjoint(pith_scope *in, const pith_array *y) {
    const pith_function *f = pith_partial(in, &differences_of, y);
    const pith_function *t =
        pith_linear_transpose(in, f, pith_zeros(in, PITH_F64, PITH_SHAPE(4)));
    const pith_array *x = pith_call(in, t, PITH_ITEMS(y));
    return pith_sum(in, pith_mul(in, x, pith_arange(in, PITH_F64, 4)), PITH_ALL_AXES);
}
PITH_FUNCTION1(adjoint_of, adjoint, pith_array, pith_array)

Test(derive_maps, linear_functions_are_transposed, .init = open_scope) {
    const pith_array *y = PITH_VECTOR(s, f64, 2, 3, 5),
                     *c = PITH_VECTOR(s, f64, 1, -1, 2);
    const pith_function *f = pith_partial(s, &differences_of, y);
    const pith_treedef *like = pith_tree_structure(s, some_x());
    for (int k = 0; k < 2; k++) {
        const pith_function *t =
            pith_linear_transpose(s, f, k ? (const void *)like : some_x());
        const pith_array *x = pith_call(s, t, PITH_ITEMS(c));
        near(x, 0, -2);
        near(x, 1, 2 + 3);
        near(x, 2, -3 - 10);
        near(x, 3, 10);
    }
    pt_fails(PITH_E_ARG, s, pith_linear_transpose(s, &square_of, some_x()));
    pt_says("pith_linear_transpose: square: the function is not linear");
    cr_assert(strstr(pt_error.site, "test_derive_maps.c:"), "%s", pt_error.site);
    pt_fails(PITH_E_ARG, s, pith_linear_transpose(s, &differences_of, some_x()));
    const pith_array *g = pith_call(s, pith_grad(s, &adjoint_of, NULL), PITH_ITEMS(y));
    for (int i = 0; i < 3; i++)
        close_to(g, i, slope(&adjoint_of, y, i, 1));
    close_scope();
}

/* A call at which a tangent ends makes a function that is not linear, also where others
 * go on. */
static int end;
static const pith_array *with_end(pith_scope *in, const pith_array *x) {
    switch (end) {
        case 0:
            return pith_add(in, x, pith_floor(in, x));
        case 1:
            return pith_where(in, pith_greater(in, x, 0.0), x, 0.0);
        default:
            return pith_add(in, x, pith_cast(in, pith_cast(in, x, PITH_I64), PITH_F64));
    }
}
PITH_FUNCTION1(with_end_of, with_end, pith_array, pith_array)
static const pith_array *
floors(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return pith_floor(in, x);
}
PITH_FUNCTION2(floors_of, floors, pith_array, pith_array, pith_array)
static const pith_array *ending_loop(pith_scope *in, const pith_array *x) {
    return pith_add(in, x, pith_fori(in, 0, 3, &floors_of, x));
}
PITH_FUNCTION1(ending_loop_of, ending_loop, pith_array, pith_array)

Test(derive_maps, functions_with_cuts_are_not_linear, .init = open_scope) {
    for (end = 0; end < 4; end++) {
        const pith_function *f = end < 3 ? &with_end_of : &ending_loop_of;
        pith_jit_clear(rt);
        pt_fails(PITH_E_ARG, s, pith_linear_transpose(s, f, some_x()));
        pt_says("pith_linear_transpose: ");
        pt_says(": the function is not linear: ");
        pt_says("test_derive_maps.c:");
    }
    end = 0;
    close_scope();
}

/* Three times x, with a rule whose gradient is ten times as large. */
typedef struct {
    const pith_array *value;
    const void *residual;
} Kept;
PITH_NODE(Kept, PITH_LEAF(value, "f64[...]"), PITH_TREE(residual))
static const pith_array *triple(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, 3.0);
}
PITH_FUNCTION1(triple_of, triple, pith_array, pith_array)
static const Kept *keep_nothing(pith_scope *in, const pith_array *x) {
    return pith_record(in, Kept, .value = triple(in, x), .residual = pith_none_make(in));
}
PITH_FUNCTION1(keep_of, keep_nothing, Kept, pith_array)
static const pith_array *
pull_triple(pith_scope *in, const void *nothing, const pith_array *ct) {
    (void)nothing;
    return pith_mul(in, ct, 30.0);
}
PITH_FUNCTION2(pull_of, pull_triple, pith_array, void, pith_array)
static const pith_array *ruled(pith_scope *in, const pith_array *x) {
    const pith_function *f = pith_custom_vjp(in, &triple_of, &keep_of, &pull_of);
    return pith_add(in, x, pith_call(in, f, PITH_ITEMS(x)));
}
PITH_FUNCTION1(ruled_of, ruled, pith_array, pith_array)

Test(derive_maps, linear_functions_with_rules_are_transposed, .init = open_scope) {
    const pith_function *t = pith_linear_transpose(s, &ruled_of, some_x());
    pt_ok(s, t);
    const pith_array *x = pith_call(s, t, PITH_ITEMS(PITH_VECTOR(s, f64, 1, 2, 3, 4)));
    for (int i = 0; i < 4; i++)
        near(x, i, 31 * (i + 1));
    close_scope();
}

/* ---- Aux, and memory ---- */

typedef struct {
    const Parts *value;
    const pith_array *aux;
} Scored;
PITH_NODE(Scored, PITH_CHILD(value, Parts), PITH_LEAF(aux, "f64[]"))
static const Scored *scored(pith_scope *in, const pith_array *x) {
    const Parts *value = lone(in, x);
    return pith_record(in, Scored, .value = value, .aux = pith_max(in, x, PITH_ALL_AXES));
}
PITH_FUNCTION1(scored_of, scored, Scored, pith_array)

Test(derive_maps, aux_comes_with_the_map, .init = open_scope) {
    const pith_derive_options aux = {.aux = true};
    const pith_array *x = some_x();
    for (int k = 0; k < 2; k++) {
        const pith_linearized l = pith_linearize(s, &scored_of, PITH_ITEMS(x), &aux),
                              v = pith_vjp(s, &scored_of, PITH_ITEMS(x), &aux),
                              plain = pith_vjp(s, &lone_of, PITH_ITEMS(x), NULL);
        pt_ok(s, l.map && v.map && plain.map && !plain.aux);
        cr_assert(at(l.aux, 0) == 3.5 && at(v.aux, 0) == 3.5);
        cr_assert(pith_tree_equal(s, v.value, plain.value));
        cr_assert(pith_tree_equal(s, pith_call(s, v.map, PITH_ITEMS(cotangent())),
                                  pith_call(s, plain.map, PITH_ITEMS(cotangent()))));
        pt_ok(s, pith_call(s, l.map, PITH_ITEMS(some_t())));
    }
    close_scope();
}
