/* Gradients of functions over trees: closed forms, differences, and refused calls. */
#include "derive_test.h"

/* ---- Functions ---- */

/* The sum of sin(x) x^2. */
static const pith_array *wave(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_expression(in, "sin(x) * x * x", PITH_BIND({"x", x})),
                    PITH_ALL_AXES);
}
PITH_FUNCTION1(wave_of, wave, pith_array, pith_array)

/* The energy of springs of stiffness k between neighbours of a chain, and of a well. */
static const pith_array *
chain(pith_scope *in, const pith_array *x, const pith_array *k, const pith_array *steps) {
    const pith_array *gap =
        pith_sub(in, pith_slice_array(in, x, 1, &PITH_SLICE(1, INT64_MAX, 1)),
                 pith_slice_array(in, x, 1, &PITH_SLICE(0, -1, 1)));
    const pith_array *springs = pith_sum(in, pith_mul(in, gap, gap), PITH_ALL_AXES),
                     *well = pith_sum(in, pith_mul(in, x, x), PITH_ALL_AXES);
    for (int64_t i = pith_read_i64(in, steps); i > 0; i--)
        well = pith_mul(in, well, pith_f64(in, 0.5));
    return pith_add(in, pith_mul(in, k, springs), well);
}
PITH_FUNCTION3(chain_energy, chain, pith_array, pith_array, pith_array, pith_array)

/* The energy of ions in a trap; kinds are weights. */
static const pith_array *trap(pith_scope *in, const Ions *ions) {
    const pith_array *e = pith_mul(in, ions->position, ions->position);
    if (ions->charge)
        e = pith_mul(in, e, ions->charge);
    if (ions->kind)
        e = pith_mul(in, e, pith_cast(in, ions->kind, PITH_F64));
    return pith_mul(in, pith_sum(in, e, PITH_ALL_AXES),
                    pith_f64(in, (double)ions->width));
}
PITH_FUNCTION1(trap_energy, trap, pith_array, Ions)

static const pith_array *some_x(void) {
    return PITH_VECTOR(s, f64, 0.5, -1.25, 2, 3.5);
}

/* ---- Values ---- */

Test(derive, gradients_have_closed_forms, .init = open_scope) {
    const pith_function *g = pith_grad(s, &wave_of, NULL);
    pt_ok(s, g);
    const double x[] = {0.5, -1.25, 2, 3.5};
    for (int k = 0; k < 3; k++) {
        const pith_array *d = pith_call(s, g, PITH_ITEMS(some_x()));
        pt_ok(s, d);
        for (int i = 0; i < 4; i++)
            near(d, i, cos(x[i]) * x[i] * x[i] + 2 * sin(x[i]) * x[i]);
    }
    const pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.misses == 1 && info.hits == 2);
    close_scope();
}

Test(derive, values_come_with_their_gradients, .init = open_scope) {
    const pith_function *g = pith_value_and_grad(s, &wave_of, NULL);
    const void *both = pith_call(s, g, PITH_ITEMS(some_x()));
    const pith_array *value = item(both, 0), *d = item(both, 1);
    cr_assert(pith_child_count(both) == 2);
    cr_assert(at(value, 0) == at(wave(s, some_x()), 0));
    cr_assert(pith_tree_equal(
        s, d, pith_call(s, pith_grad(s, &wave_of, NULL), PITH_ITEMS(some_x()))));
    for (int i = 0; i < 4; i++)
        close_to(d, i, slope(&wave_of, some_x(), i, 1));
    close_scope();
}

Test(derive, gradients_are_derived_again, .init = open_scope) {
    const double x = 0.7;
    const pith_function *g = pith_grad(s, &wave_of, NULL), *gg = pith_grad(s, g, NULL),
                        *ggg = pith_grad(s, gg, NULL);
    const pith_array *at_x = pith_f64(s, x);
    pt_ok(s, ggg);
    near(pith_call(s, g, PITH_ITEMS(at_x)), 0, cos(x) * x * x + 2 * sin(x) * x);
    near(pith_call(s, gg, PITH_ITEMS(at_x)), 0,
         -sin(x) * x * x + 4 * cos(x) * x + 2 * sin(x));
    near(pith_call(s, ggg, PITH_ITEMS(at_x)), 0,
         -cos(x) * x * x - 6 * sin(x) * x + 6 * cos(x));
    close_scope();
}

/* ---- Selection ---- */

Test(derive, arguments_are_selected, .init = open_scope) {
    const pith_function *energy = pith_jit(
        s, &chain_energy, &(pith_jit_options){.static_arguments = PITH_ARGUMENT(2)});
    const pith_function *both = pith_grad(
        s, energy,
        &(pith_derive_options){.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1)});
    const pith_array *x = some_x(), *k = pith_f64(s, 3), *steps = pith_i64(s, 2);
    const void *d = pith_call(s, both, PITH_ITEMS(x, k, steps));
    const pith_array *dx = item(d, 0), *dk = item(d, 1);
    for (int i = 0; i < 4; i++)
        close_to(dx, i, slope(&chain_energy, x, i, 3, k, steps));
    near(dk, 0, 1.75 * 1.75 + 3.25 * 3.25 + 1.5 * 1.5);
    const pith_function *one =
        pith_grad(s, energy, &(pith_derive_options){.arguments = PITH_ARGUMENT(1)});
    cr_assert(pith_tree_equal(s, dk, pith_call(s, one, PITH_ITEMS(x, k, steps))));
    close_scope();
}

Test(derive, gradients_have_the_structure_of_their_argument, .init = open_scope) {
    Ions ions = pith_initial(Ions);
    ions.position = some_x();
    ions.width = 5;
    const pith_function *g = pith_grad(s, &trap_energy, NULL);
    const Ions *d = pith_call(s, g, PITH_ITEMS(pith_freeze(s, Ions, &ions)));
    pt_ok(s, d);
    cr_assert(d->width == 5 && !d->charge && !d->kind);
    near(d->position, 3, 2 * 5 * 3.5);
    ions.charge = PITH_VECTOR(s, f64, 1, 2, 3, 4);
    d = pith_call(s, g, PITH_ITEMS(pith_freeze(s, Ions, &ions)));
    near(d->position, 1, -2 * 5 * 1.25 * 2);
    near(d->charge, 2, 5 * 4);
    close_scope();
}

Test(derive, integer_leaves_are_refused_or_have_zeros, .init = open_scope) {
    Ions ions = pith_initial(Ions);
    ions.position = some_x();
    ions.kind = PITH_VECTOR(s, i64, 1, 2, 3, 4);
    const Ions *frozen = pith_freeze(s, Ions, &ions);
    pt_fails(PITH_E_DTYPE, s,
             pith_call(s, pith_grad(s, &trap_energy, NULL), PITH_ITEMS(frozen)));
    cr_assert_str_eq(pt_error.path, "[0].kind");
    const pith_function *g =
        pith_grad(s, &trap_energy, &(pith_derive_options){.skip_integers = true});
    const Ions *d = pith_call(s, g, PITH_ITEMS(frozen));
    pt_ok(s, d);
    near(d->position, 2, 2 * 2 * 2 * 3);
    cr_assert(pith_array_spec(d->kind) == pith_array_spec(ions.kind));
    cr_assert(!pith_read_bool(s, pith_any(s, d->kind, PITH_ALL_AXES)));
    close_scope();
}

/* ---- Composition ---- */

/* The gradient with respect to x of x * bound, which is the bound tree. */
static const pith_array *
product(pith_scope *in, const pith_array *x, const pith_array *y) {
    return pith_mul(in, x, y);
}
PITH_FUNCTION2(product_of, product, pith_array, pith_array, pith_array)
static const pith_array *confused(pith_scope *in, const pith_array *x) {
    const pith_function *f = pith_partial(in, &product_of, x);
    return pith_mul(in, x,
                    pith_call(in, pith_grad(in, f, NULL), PITH_ITEMS(pith_f64(in, 1))));
}
PITH_FUNCTION1(confusing, confused, pith_array, pith_array)

/* d/dx (x d/dy (x y)) = 2 x: the inner derivation does not move x. */
Test(derive, perturbations_are_not_confused, .init = open_scope) {
    near(pith_call(s, pith_grad(s, &confusing, NULL), PITH_ITEMS(pith_f64(s, 3))), 0, 6);
    near(pith_call(s, pith_jit(s, &confusing, NULL), PITH_ITEMS(pith_f64(s, 3))), 0, 9);
    close_scope();
}

typedef struct {
    const pith_array *value, *aux;
} Scored;
PITH_NODE(Scored, PITH_LEAF(value, "f64[]"), PITH_LEAF(aux, "i64[]"))
static const Scored *score(pith_scope *in, const pith_array *x) {
    return pith_record(
        in, Scored, .value = wave(in, x),
        .aux = pith_add(in, pith_i64(in, 3),
                        pith_cast(in, pith_sum(in, x, PITH_ALL_AXES), PITH_I64)));
}
PITH_FUNCTION1(score_of, score, Scored, pith_array)

Test(derive, aux_is_returned_unchanged, .init = open_scope) {
    const pith_derive_options aux = {.aux = true};
    const pith_array *x = some_x();
    const void *d = pith_call(s, pith_grad(s, &score_of, &aux), PITH_ITEMS(x));
    const void *all =
        pith_call(s, pith_value_and_grad(s, &score_of, &aux), PITH_ITEMS(x));
    cr_assert(pith_child_count(d) == 2 && pith_child_count(all) == 3);
    cr_assert(pith_read_i64(s, item(d, 1)) == 7 && pith_read_i64(s, item(all, 2)) == 7);
    cr_assert(pith_tree_equal(s, item(d, 0), item(all, 1)));
    cr_assert(at(item(all, 0), 0) == at(wave(s, x), 0));
    close_scope();
}

/* Half of the squared gradient, so that its own gradient is H g. */
static const pith_array *steepness(pith_scope *in, const pith_array *x) {
    const pith_array *g = pith_call(in, pith_grad(in, &wave_of, NULL), PITH_ITEMS(x));
    return pith_mul(in, pith_sum(in, pith_mul(in, g, g), PITH_ALL_AXES),
                    pith_f64(in, 0.5));
}
PITH_FUNCTION1(steepness_of, steepness, pith_array, pith_array)

Test(derive, gradients_are_derived_inside_functions, .init = open_scope) {
    const pith_array *x = some_x();
    const pith_array *d = pith_call(s, pith_grad(s, &steepness_of, NULL), PITH_ITEMS(x));
    for (int i = 0; i < 4; i++)
        close_to(d, i, slope(&steepness_of, x, i, 1));
    const pith_array *jitted = pith_call(
        s, pith_jit(s, pith_grad(s, pith_jit(s, &steepness_of, NULL), NULL), NULL),
        PITH_ITEMS(x));
    cr_assert(pith_tree_equal(s, d, jitted));
    close_scope();
}

/* ---- Checks ---- */

static const pith_array *rooted(pith_scope *in, const pith_array *x) {
    pith_check(in, pith_greater_equal(in, x, pith_f64(in, 0)), "x is negative");
    return pith_sum(in, pith_sqrt(in, x), PITH_ALL_AXES);
}
PITH_FUNCTION1(root_of, rooted, pith_array, pith_array)

Test(derive, checks_are_made_once, .init = open_scope) {
    const pith_function *g = pith_grad(s, pith_grad(s, &root_of, NULL), NULL);
    near(pith_call(s, g, PITH_ITEMS(pith_f64(s, 4))), 0, -0.25 / 8);
    pith_collect_begin(s);
    const pith_array *d = pith_call(s, g, PITH_ITEMS(pith_f64(s, -4)));
    const pith_result *all = pith_collect_end(s, d);
    cr_assert(pith_result_count(s, all) == 1 && pith_result_failed(s, all) == 1);
    close_scope();
}

/* ---- Refused calls ---- */

static const pith_array *vector(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, x);
}
static const pith_array *counted(pith_scope *in, const pith_array *x) {
    return pith_cast(in, wave(in, x), PITH_I64);
}
static const void *pair(pith_scope *in, const pith_array *x) {
    return pith_tuple_make(in, PITH_ITEMS(x));
}
static const pith_array *reader(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, pith_f64(in, pith_read_f64(in, x)));
}
PITH_FUNCTION1(vector_of, vector, pith_array, pith_array)
PITH_FUNCTION1(count_of, counted, pith_array, pith_array)
PITH_FUNCTION1(pair_of, pair, void, pith_array)
PITH_FUNCTION1(reader_of, reader, pith_array, pith_array)

Test(derive, values_are_floats_of_rank_0, .init = open_scope) {
    const pith_array *x = some_x();
    pt_fails(PITH_E_SHAPE, s,
             pith_call(s, pith_grad(s, &vector_of, NULL), PITH_ITEMS(x)));
    pt_says("pith_grad: vector: expected a value of rank 0, got f64[4]");
    pt_fails(PITH_E_DTYPE, s, pith_call(s, pith_grad(s, &count_of, NULL), PITH_ITEMS(x)));
    pt_says("expected a value of a float dtype, got i64");
    pt_fails(PITH_E_STRUCTURE, s,
             pith_call(s, pith_grad(s, &pair_of, NULL), PITH_ITEMS(x)));
    pt_fails(PITH_E_TRACED, s,
             pith_call(s, pith_grad(s, &reader_of, NULL), PITH_ITEMS(pith_f64(s, 1))));
    pt_fails(PITH_E_TYPE, s,
             pith_call(s, pith_grad(s, &wave_of, &(pith_derive_options){.aux = true}),
                       PITH_ITEMS(x)));
    pt_says("expected a record with the members value and aux, got another tree");
    close_scope();
}

Test(derive, wrong_selections_are_refused, .init = open_scope) {
    pt_fails(PITH_E_ARG, s, pith_grad(s, NULL, NULL));
    pt_fails(
        PITH_E_ARG, s,
        pith_grad(s, &wave_of, &(pith_derive_options){.arguments = PITH_ARGUMENT(1)}));
    pt_says("select argument [1]: expected [0] to [0]");
    pt_fails(PITH_E_ARG, s,
             pith_grad(s, &trap_energy,
                       &(pith_derive_options){.paths = (const char *[]){NULL}}));
    pt_fails(
        PITH_E_PATH, s,
        pith_grad(s, &trap_energy, &(pith_derive_options){.paths = PITH_PATHS("[1]")}));
    pt_fails(PITH_E_ARG, s,
             pith_grad(s, &trap_energy,
                       &(pith_derive_options){.paths = PITH_PATHS("[0].charge", "[0]")}));
    pt_says("select a part twice");
    pt_fails(
        PITH_E_ARG, s,
        pith_grad(s, &trap_energy,
                  &(pith_derive_options){.arguments = 1, .paths = PITH_PATHS("[0]")}));
    close_scope();
}

/* ---- Forward mode ---- */

static const pith_array *along(void) {
    return PITH_VECTOR(s, f64, 1, -0.5, 0.25, 2);
}

Test(derive, tangents_agree_with_gradients, .init = open_scope) {
    const pith_array *x = some_x(), *t = along();
    const pith_array *d = pith_call(s, pith_grad(s, &wave_of, NULL), PITH_ITEMS(x));
    for (int k = 0; k < 3; k++) {
        const pith_pushed y = pith_jvp(s, &wave_of, PITH_ITEMS(x), t, NULL);
        pt_ok(s, y.tangent);
        cr_assert(!y.aux && at(y.value, 0) == at(wave(s, x), 0));
        near(y.tangent, 0,
             pith_read_f64(s, pith_sum(s, pith_mul(s, d, t), PITH_ALL_AXES)));
    }
    const pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.misses == 2 && info.hits == 2);
    close_scope();
}

Test(derive, tangents_have_the_structure_of_the_value, .init = open_scope) {
    const pith_array *x = some_x(), *t = along();
    const pith_pushed y = pith_jvp(s, &pair_of, PITH_ITEMS(x), t, NULL);
    cr_assert(pith_tree_equal(s, item(y.value, 0), x));
    cr_assert(pith_tree_equal(s, item(y.tangent, 0), t));
    const pith_pushed z =
        pith_jvp(s, &score_of, PITH_ITEMS(x), t, &(pith_derive_options){.aux = true});
    cr_assert(pith_read_i64(s, z.aux) == 7);
    const pith_pushed n = pith_jvp(s, &score_of, PITH_ITEMS(x), t, NULL);
    const Scored *scored = n.tangent;
    near(scored->value, 0, at(z.tangent, 0));
    cr_assert(pith_read_i64(s, scored->aux) == 0);
    close_scope();
}

Test(derive, several_tangents_are_a_tuple, .init = open_scope) {
    const pith_function *energy = pith_jit(
        s, &chain_energy, &(pith_jit_options){.static_arguments = PITH_ARGUMENT(2)});
    const pith_array *x = some_x(), *k = pith_f64(s, 3), *steps = pith_i64(s, 2),
                     *dk = pith_f64(s, 0.5);
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1)};
    const void *t = pith_tuple_make(s, PITH_ITEMS(along(), dk));
    const pith_pushed y = pith_jvp(s, energy, PITH_ITEMS(x, k, steps), t, &both);
    const void *d = pith_call(s, pith_grad(s, energy, &both), PITH_ITEMS(x, k, steps));
    near(y.tangent, 0,
         pith_read_f64(s, pith_sum(s, pith_mul(s, item(d, 0), along()), PITH_ALL_AXES)) +
             0.5 * at(item(d, 1), 0));
    pt_fails(PITH_E_STRUCTURE, s,
             pith_jvp(s, energy, PITH_ITEMS(x, k, steps), dk, &both));
    pt_says("expected a tuple of 2");
    pt_fails(PITH_E_SHAPE, s, pith_jvp(s, energy, PITH_ITEMS(x, k, steps), dk, NULL));
    pt_says("function chain's tangent: expected f64[4], got f64[]");
    pt_fails(PITH_E_ARG, s, pith_jvp(s, energy, PITH_ITEMS(x, k), dk, NULL));
    close_scope();
}

/* A jvp inside a function that is derived. */
static const pith_array *pushed(pith_scope *in, const pith_array *x) {
    return pith_jvp(in, &wave_of, PITH_ITEMS(x), pith_ones(in, PITH_F64, PITH_SHAPE(4)),
                    NULL)
        .tangent;
}
PITH_FUNCTION1(pushed_of, pushed, pith_array, pith_array)

Test(derive, hessian_products_are_symmetric, .init = open_scope) {
    const pith_array *x = some_x(), *ones = pith_ones(s, PITH_F64, PITH_SHAPE(4));
    const pith_function *h = pith_hessian_product(s, &wave_of, NULL);
    const void *both = pith_call(s, h, PITH_ITEMS(x, along()));
    const pith_array *product = item(both, 1);
    cr_assert(pith_tree_equal(s, item(both, 0),
                              pith_call(s, pith_grad(s, &wave_of, NULL), PITH_ITEMS(x))));
    for (int i = 0; i < 4; i++) {
        const double at_x = at(x, i);
        near(product, i,
             at(along(), i) *
                 (-sin(at_x) * at_x * at_x + 4 * cos(at_x) * at_x + 2 * sin(at_x)));
    }
    const pith_array *row = item(pith_call(s, h, PITH_ITEMS(x, ones)), 1);
    const pith_array *of_pushed =
        pith_call(s, pith_grad(s, &pushed_of, NULL), PITH_ITEMS(x));
    for (int i = 0; i < 4; i++)
        near(of_pushed, i, at(row, i));
    pt_fails(PITH_E_SHAPE, s, pith_call(s, h, PITH_ITEMS(x, pith_f64(s, 1))));
    close_scope();
}

/* ---- Parts by path ---- */

typedef struct {
    const Ions *ions;
    const pith_array *scale;
} Box;
PITH_NODE(Box, PITH_CHILD(ions, Ions), PITH_LEAF(scale, "f64[]"))
static const pith_array *boxed(pith_scope *in, const pith_array *by, const Box *box) {
    return pith_mul(in, pith_mul(in, by, box->scale), trap(in, box->ions));
}
PITH_FUNCTION2(boxed_of, boxed, pith_array, pith_array, Box)

static const Box *some_box(void) {
    Ions ions = pith_initial(Ions);
    ions.position = some_x();
    ions.charge = PITH_VECTOR(s, f64, 1, 2, 3, 4);
    ions.kind = PITH_VECTOR(s, i64, 1, 1, 2, 1);
    return pith_record(s, Box, .ions = pith_freeze(s, Ions, &ions),
                       .scale = pith_f64(s, 0.5));
}

Test(derive, parts_are_selected_by_path, .init = open_scope) {
    const Box *box = some_box();
    const pith_array *by = pith_f64(s, 3);
    const pith_derive_options charge = {.paths = PITH_PATHS("[1].ions.charge")},
                              several = {.paths = PITH_PATHS("[1].ions.charge", "[0]",
                                                             "[1].scale")},
                              child = {.paths = PITH_PATHS("[1].ions"),
                                       .skip_integers = true};
    const pith_array *d =
        pith_call(s, pith_grad(s, &boxed_of, &charge), PITH_ITEMS(by, box));
    near(d, 2, 3 * 0.5 * 2 * 4 * 2);
    const void *all =
        pith_call(s, pith_grad(s, &boxed_of, &several), PITH_ITEMS(by, box));
    cr_assert(pith_tree_equal(s, item(all, 0), d));
    const double energy = at(boxed(s, by, box), 0);
    near(item(all, 1), 0, energy / 3);
    near(item(all, 2), 0, energy / 0.5);
    const Ions *ions = pith_call(s, pith_grad(s, &boxed_of, &child), PITH_ITEMS(by, box));
    cr_assert(pith_tree_equal(s, ions->charge, d) && ions->width == 2);
    /* Tangents are in the order of the paths, too. */
    const void *t =
        pith_tuple_make(s, PITH_ITEMS(along(), pith_f64(s, 2), pith_f64(s, -1)));
    const pith_pushed y = pith_jvp(s, &boxed_of, PITH_ITEMS(by, box), t, &several);
    near(y.tangent, 0,
         pith_read_f64(s, pith_sum(s, pith_mul(s, d, along()), PITH_ALL_AXES)) +
             2 * energy / 3 - energy / 0.5);
    pt_fails(PITH_E_DTYPE, s,
             pith_call(s,
                       pith_grad(s, &boxed_of,
                                 &(pith_derive_options){.paths = PITH_PATHS("[1].ions")}),
                       PITH_ITEMS(by, box)));
    cr_assert_str_eq(pt_error.path, "[1].ions.kind");
    pt_fails(
        PITH_E_PATH, s,
        pith_call(s,
                  pith_grad(s, &boxed_of,
                            &(pith_derive_options){.paths = PITH_PATHS("[1].atoms")}),
                  PITH_ITEMS(by, box)));
    close_scope();
}

/* ---- Inspection ---- */

Test(derive, traces_of_gradients_are_explained, .init = open_scope) {
    const pith_function *g = pith_grad(s, &wave_of, NULL);
    pt_ok(s, pith_call(s, g, PITH_ITEMS(some_x())));
    pt_ok(s, pith_call(s, g, PITH_ITEMS(pith_f64(s, 1))));
    const char *why = pith_explain_miss(s, g);
    pt_ok(s, why);
    cr_assert(strstr(why, "[0]: was f64[4], is f64[]"), "%s", why);
    cr_assert(pith_program_text(s, g, PITH_ITEMS(some_x())));
    cr_assert(pith_treedef_num_leaves(pith_eval_shape(s, g, PITH_ITEMS(some_x()))) == 1);
    close_scope();
}

/* These give no function that the caller could ask about. */
Test(derive, traces_of_calls_are_explained, .init = open_scope) {
    pt_fails(PITH_E_ARG, s, pith_explain_miss(s, &wave_of));
    pt_says("pith_jvp and its like were not called with it");
    const pith_array *x = some_x(), *number = pith_f64(s, 1);
    const pith_derive_options zero = {.strong_zero = true};
    pt_ok(s, pith_jvp(s, &wave_of, PITH_ITEMS(x), x, NULL).value);
    cr_assert_str_eq(pith_explain_miss(s, &wave_of),
                     "pith_jvp: wave: no program was cached");
    pt_ok(s, pith_jvp(s, &wave_of, PITH_ITEMS(number), number, NULL).value);
    cr_assert_str_eq(pith_explain_miss(s, &wave_of),
                     "pith_jvp: [0]: was f64[4], is f64[]\n"
                     "pith_jvp: bound tree 0: was f64[4], is f64[]"); /* the tangent */
    pt_ok(s, pith_vjp(s, &wave_of, PITH_ITEMS(x), NULL).value);
    pt_ok(s, pith_vjp(s, &wave_of, PITH_ITEMS(number), NULL).value);
    pt_ok(s, pith_linearize(s, &wave_of, PITH_ITEMS(x), NULL).value);
    pt_ok(s, pith_vjp(s, &wave_of, PITH_ITEMS(x), NULL).value); /* is cached */
    pt_ok(s, pith_jvp(s, &wave_of, PITH_ITEMS(x), x, &zero).value);
    cr_assert_str_eq(pith_explain_miss(s, &wave_of),
                     "pith_jvp: wave: no program was cached\n"
                     "pith_linearize: wave: no program was cached\n"
                     "pith_vjp: [0]: was f64[4], is f64[]");
    const pith_function *f = pith_jit(s, &wave_of, NULL);
    cr_assert_str_eq(pith_explain_miss(s, f), "");
    pt_ok(s, pith_jvp(s, f, PITH_ITEMS(x), x, NULL).value);
    cr_assert_str_eq(pith_explain_miss(s, f), "wave: no part was cached\n"
                                              "pith_jvp: wave: no program was cached");
    pt_ok(s, pith_call(s, f, PITH_ITEMS(x)));
    cr_assert_str_eq(pith_explain_miss(s, f), "wave: no program was cached\n"
                                              "pith_jvp: wave: no program was cached");
    close_scope();
}

/* ---- Cuts ---- */

static const pith_array *stepped(pith_scope *in, const Ions *ions) {
    return pith_add(
        in, pith_sum(in, pith_floor(in, ions->position), PITH_ALL_AXES),
        pith_sum(in, pith_mul(in, ions->charge, ions->charge), PITH_ALL_AXES));
}
PITH_FUNCTION1(step_of, stepped, pith_array, Ions)

Test(derive, cut_leaves_are_refused_with_their_paths, .init = open_scope) {
    Ions ions = pith_initial(Ions);
    ions.position = some_x();
    ions.charge = PITH_VECTOR(s, f64, 1, 2, 3, 4);
    const Ions *frozen = pith_freeze(s, Ions, &ions);
    pt_fails(PITH_E_DERIVATIVE, s,
             pith_call(s, pith_grad(s, &step_of, NULL), PITH_ITEMS(frozen)));
    pt_says(
        "[0].position: pith_grad: stepped: every path to the result is cut, by floor at test_derive.c:");
    pt_fails(PITH_E_DERIVATIVE, s, pith_vjp(s, &step_of, PITH_ITEMS(frozen), NULL));
    pt_fails(PITH_E_DERIVATIVE, s,
             pith_jvp(s, &step_of, PITH_ITEMS(frozen), frozen, NULL));
    const pith_derive_options zero = {.cuts = PITH_CUTS_ARE_ZERO};
    const Ions *g = pith_call(s, pith_grad(s, &step_of, &zero), PITH_ITEMS(frozen));
    pt_ok(s, g);
    near(g->position, 1, 0);
    near(g->charge, 1, 4);
    /* Parts that are not selected may be cut. */
    const pith_derive_options charge = {.paths = PITH_PATHS("[0].charge")};
    near(pith_call(s, pith_grad(s, &step_of, &charge), PITH_ITEMS(frozen)), 3, 8);
    close_scope();
}

/* ---- Marks and strong zeros ---- */

static const pith_array *halted(pith_scope *in, const Ions *ions) {
    const Ions *fixed = pith_stop_gradient(in, ions);
    return pith_sum(in, pith_mul(in, ions->position, fixed->position), PITH_ALL_AXES);
}
static const pith_array *forbidden(pith_scope *in, const Ions *ions) {
    const pith_array *x = pith_non_differentiable(in, ions->position);
    (void)x; /* used or not */
    return pith_sum(in, ions->charge, PITH_ALL_AXES);
}
/* Infinite slopes where the root is not taken. */
static const pith_array *guarded(pith_scope *in, const pith_array *x) {
    const pith_array *zero = pith_f64(in, 0);
    return pith_sum(in, pith_where(in, pith_greater(in, x, zero), pith_sqrt(in, x), zero),
                    PITH_ALL_AXES);
}
PITH_FUNCTION1(halted_of, halted, pith_array, Ions)
PITH_FUNCTION1(forbidden_of, forbidden, pith_array, Ions)
PITH_FUNCTION1(guarded_of, guarded, pith_array, pith_array)

Test(derive, marked_trees_have_no_tangents, .init = open_scope) {
    Ions ions = pith_initial(Ions);
    ions.position = some_x();
    ions.charge = PITH_VECTOR(s, f64, 1, 2, 3, 4);
    const Ions *frozen = pith_freeze(s, Ions, &ions);
    cr_assert(pith_stop_gradient(s, frozen) == frozen);
    const Ions *g = pith_call(s, pith_grad(s, &halted_of, NULL), PITH_ITEMS(frozen));
    pt_ok(s, g);
    cr_assert(pith_tree_equal(s, g->position, ions.position));
    near(g->charge, 0, 0);
    pt_ok(s, pith_call(s, pith_jit(s, &forbidden_of, NULL), PITH_ITEMS(frozen)));
    pt_fails(PITH_E_DERIVATIVE, s,
             pith_call(s, pith_grad(s, &forbidden_of, NULL), PITH_ITEMS(frozen)));
    pt_says("test_derive.c:");
    pt_fails(PITH_E_DERIVATIVE, s,
             pith_jvp(s, &forbidden_of, PITH_ITEMS(frozen), frozen, NULL));
    const pith_derive_options charge = {.paths = PITH_PATHS("[0].charge")};
    near(pith_call(s, pith_grad(s, &forbidden_of, &charge), PITH_ITEMS(frozen)), 0, 1);
    close_scope();
}

Test(derive, zeros_are_strong_if_asked, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 0, 4);
    const pith_derive_options strong = {.strong_zero = true};
    cr_assert(isnan(at(pith_call(s, pith_grad(s, &guarded_of, NULL), PITH_ITEMS(x)), 0)));
    for (int k = 0; k < 2; k++) {
        const pith_array *g =
            pith_call(s, pith_grad(s, &guarded_of, &strong), PITH_ITEMS(x));
        near(g, 0, 0);
        near(g, 1, 0.25);
    }
    close_scope();
}

/* The sum of the entries of a product of three matrices. */
static const pith_array *products(pith_scope *in, const pith_array *x) {
    const pith_array *y = pith_matmul(in, pith_matmul(in, x, x), x);
    return pith_sum(in, pith_square(in, y), PITH_ALL_AXES);
}
PITH_FUNCTION1(products_of, products, pith_array, pith_array)

Test(derive, gradients_of_products_move_no_matrix, .init = open_scope) {
    const pith_array *x = pith_ones(s, PITH_F64, PITH_SHAPE(5, 5));
    const void *given[] = {x};
    const char *text = pith_program_text(s, pith_grad(s, &products_of, NULL), 1, given);
    pt_ok(s, text);
    cr_assert(strstr(text, "dot_general") && !strstr(text, "transpose"), "%s", text);
    close_scope();
}
