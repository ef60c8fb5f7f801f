/* Derivatives as simulations use them: rows of a Hessian from the map of a function that
 * derives itself, with aux through both; marks that refuse derivatives, around and inside
 * loops and branches; maps as functions like others; trees with hooks; and rules with
 * recomputation. */
#include "derive_modes.h"

typedef struct {
    const void *value, *aux;
} Valued;
PITH_NODE(Valued, PITH_TREE(value), PITH_TREE(aux))
typedef struct {
    const void *carry, *out;
} Step;
PITH_NODE(Step, PITH_TREE(carry), PITH_TREE(out))

/* ---- linearize of a function that calls vjp, with aux through both ---- */

FUNCTION(wave, total(in, IN("sin(x) * x * x", {"x", x})))
FUNCTION(bump, IN("x * exp(-x * x)", {"x", x}))
static const pith_derive_options with_aux = {.aux = true};

static const Valued *energy(pith_scope *in, const pith_array *x) {
    return pith_record(in, Valued, .value = wave(in, x),
                       .aux =
                           pith_tuple_make(in, PITH_ITEMS(bump(in, x), pith_i64(in, 7))));
}
PITH_FUNCTION1(energy_of, energy, Valued, pith_array)
static const Valued *forces(pith_scope *in, const pith_array *x) {
    const pith_linearized v = pith_vjp(in, &energy_of, PITH_ITEMS(x), &with_aux);
    const pith_array *g = pith_call(in, v.map, PITH_ITEMS(pith_f64(in, 1)));
    return pith_record(in, Valued, .value = g,
                       .aux = pith_tuple_make(in, PITH_ITEMS(v.value, v.aux)));
}
PITH_FUNCTION1(forces_of, forces, Valued, pith_array)

static const pith_array *one_hot(pith_scope *in, const pith_array *i) {
    return pith_cast(in, pith_equal(in, pith_arange(in, PITH_I64, 4), i), PITH_F64);
}
static const Step *
row_step(pith_scope *in, const void *none, const pith_array *i, const pith_array *x) {
    const pith_linearized l = pith_linearize(in, &forces_of, PITH_ITEMS(x), &with_aux);
    return pith_record(in, Step, .carry = none,
                       .out = pith_call(in, l.map, PITH_ITEMS(one_hot(in, i))));
}
PITH_FUNCTION3(row_step_of, row_step, Step, void, pith_array, pith_array)
static const pith_array *hessian(pith_scope *in, const pith_array *x) {
    const void *rows;
    pith_scan(in, pith_partial(in, &row_step_of, x), pith_none_make(in),
              pith_arange(in, PITH_I64, 4), &rows, NULL);
    return rows;
}
PITH_FUNCTION1(hessian_of, hessian, pith_array, pith_array)
FUNCTION(hessian_norm, total(in, pith_square(in, hessian(in, x))))

Test(derive_uses, rows_of_a_hessian, .init = open_scope) {
    const pith_array *x = some_x(), *h = hessian(s, x);
    const pith_linearized l = pith_linearize(s, &forces_of, PITH_ITEMS(x), &with_aux);
    pt_ok(s, h && l.map);
    near(item(l.aux, 0), 0, at(wave(s, x), 0));
    cr_assert(pith_read_i64(s, item(item(l.aux, 1), 1)) == 7);
    cr_assert(pith_tree_equal(s, item(item(l.aux, 1), 0), bump(s, x)));
    const pith_array *compiled =
        pith_call(s, pith_jit(s, &hessian_of, NULL), PITH_ITEMS(x));
    for (int i = 0; i < 4; i++) {
        const double v = at(x, i);
        const pith_array *row =
            pith_call(s, l.map, PITH_ITEMS(one_hot(s, pith_i64(s, i))));
        for (int k = 0; k < 4; k++) {
            near(h, 4 * i + k, i == k ? 2 * sin(v) + 4 * v * cos(v) - v * v * sin(v) : 0);
            near(row, k, at(h, 4 * i + k));
            near(compiled, 4 * i + k, at(h, 4 * i + k));
        }
    }
    in_every_mode(&hessian_norm_of, x);
    close_scope();
}

/* ---- What must not be differentiated ---- */

typedef struct {
    const pith_array *x, *fixed, *count;
} Mixed;
PITH_NODE(Mixed,
          PITH_LEAF(x, "f64[n]"),
          PITH_LEAF(fixed, "f64[n]"),
          PITH_LEAF(count, "i64[]"))

static const pith_array *guarded(pith_scope *in, const Mixed *m) {
    const Mixed *barred = pith_non_differentiable(in, m);
    return total(in, pith_mul(in, barred->fixed, pith_cast(in, barred->count, PITH_F64)));
}
static const pith_array *beside(pith_scope *in, const Mixed *m) {
    const pith_array *fixed = pith_non_differentiable(in, m->fixed);
    return total(in, IN("x * x * f", {"x", m->x}, {"f", fixed}));
}
static const pith_array *stopped(pith_scope *in, const Mixed *m) {
    const pith_array *fixed =
        pith_non_differentiable(in, pith_stop_gradient(in, m->fixed));
    return total(in, IN("x * x * f", {"x", m->x}, {"f", fixed}));
}
PITH_FUNCTION1(guarded_of, guarded, pith_array, Mixed)
PITH_FUNCTION1(beside_of, beside, pith_array, Mixed)
PITH_FUNCTION1(stopped_of, stopped, pith_array, Mixed)

FUNCTION(barred, pith_sin(in, pith_non_differentiable(in, x)))
FUNCTION(free_branch, pith_sin(in, x))
static const pith_array *
barred_step(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return barred(in, x);
}
PITH_FUNCTION2(barred_step_of, barred_step, pith_array, pith_array, pith_array)
FUNCTION(barred_loop, total(in, pith_fori(in, 0, 3, &barred_step_of, x)))
FUNCTION(barred_branch,
         total(in,
               pith_cond(in,
                         pith_greater(in, total(in, x), 0.0),
                         &free_branch_of,
                         &barred_of,
                         x)))
FUNCTION(barred_compiled,
         total(in, pith_call(in, pith_jit(in, &barred_of, NULL), PITH_ITEMS(x))))
FUNCTION(barred_again,
         total(in, pith_call(in, pith_recompute(in, &barred_of, NULL), PITH_ITEMS(x))))

Test(derive_uses, marks_refuse_what_moves, .init = open_scope) {
    const Mixed *m =
        pith_record(s, Mixed, .x = some_x(), .fixed = some_x(), .count = pith_i64(s, 2));
    const pith_derive_options all = {.skip_integers = true},
                              x = {.paths = PITH_PATHS("[0].x")};
    const pith_array *value = pith_call(s, pith_jit(s, &guarded_of, NULL), PITH_ITEMS(m));
    near(value, 0, 2 * at(total(s, m->fixed), 0));
    const pith_function *const functions[] = {&guarded_of, &beside_of};
    for (int k = 0; k < 2; k++) {
        pt_fails(PITH_E_DERIVATIVE, s,
                 pith_call(s, pith_grad(s, functions[k], &all), PITH_ITEMS(m)));
        pt_says("a tangent reaches a value that is marked as non-differentiable");
        pt_fails(PITH_E_DERIVATIVE, s, pith_jvp(s, functions[k], PITH_ITEMS(m), m, &all));
        pt_says("test_derive_uses.c:");
    }
    near(pith_call(s, pith_grad(s, &beside_of, &x), PITH_ITEMS(m)), 1, 2 * 1.25 * 1.25);
    const Mixed *g = pith_call(s, pith_grad(s, &stopped_of, &all), PITH_ITEMS(m));
    pt_ok(s, g);
    near(g->x, 1, 2 * 1.25 * 1.25);
    near(g->fixed, 1, 0);
    close_scope();
}

Test(derive_uses, marks_refuse_inside_of_others, .init = open_scope) {
    const pith_function *const functions[] = {&barred_loop_of, &barred_branch_of,
                                              &barred_compiled_of, &barred_again_of};
    for (int k = 0; k < 4; k++) {
        const pith_array *x = some_x();
        pt_ok(s, pith_call(s, pith_jit(s, functions[k], NULL), PITH_ITEMS(x)));
        pt_fails(PITH_E_DERIVATIVE, s,
                 pith_call(s, pith_grad(s, functions[k], NULL), PITH_ITEMS(x)));
        pt_fails(PITH_E_DERIVATIVE, s, pith_jvp(s, functions[k], PITH_ITEMS(x), x, NULL));
        pt_fails(PITH_E_DERIVATIVE, s,
                 pith_linearize(s, functions[k], PITH_ITEMS(x), NULL));
        pt_says("test_derive_uses.c:");
    }
    close_scope();
}

/* ---- Maps are functions like others ---- */

Test(derive_uses, maps_are_called_as_others_are, .init = open_scope) {
    const pith_array *x = some_x();
    const pith_linearized l = pith_linearize(s, &bump_of, PITH_ITEMS(x), NULL);
    const pith_array *y = pith_call(s, l.map, PITH_ITEMS(x));
    pt_ok(s, y);
    const pith_function *once = pith_linear_transpose(s, l.map, x),
                        *twice = pith_linear_transpose(s, once, x);
    const pith_function *const same[] = {
        pith_jit(s, l.map, NULL), pith_recompute(s, l.map, NULL), twice,
        pith_linearize(s, l.map, PITH_ITEMS(x), NULL).map};
    for (int k = 0; k < 4; k++)
        cr_assert(pith_tree_equal(s, pith_call(s, same[k], PITH_ITEMS(x)), y), "%d", k);
    cr_assert(
        pith_tree_equal(s, pith_cond(s, pith_bool(s, true), l.map, &bump_of, x), y));
    const pith_pushed p = pith_jvp(s, l.map, PITH_ITEMS(x), x, NULL);
    cr_assert(pith_tree_equal(s, p.value, y) && pith_tree_equal(s, p.tangent, y));
    pt_ok(s, pith_program_text(s, l.map, PITH_ITEMS(x)));
    pt_ok(s, pith_eval_shape(s, once, PITH_ITEMS(x)));
    cr_assert(pith_program_cost(s, l.map, PITH_ITEMS(x)).instructions > 0);
    close_scope();
}

/* Maps of one program over other residuals, in a cache that is too small for them. */
Test(derive_uses, maps_survive_the_cache, .init = open_scope) {
    enum { MAPS = 5 };
    const pith_function *maps[MAPS];
    for (int k = 0; k < MAPS; k++) {
        pith_scope *in = pith_scope_open_in(s);
        const pith_array *x = pith_full(in, PITH_F64, PITH_SHAPE(3), k);
        maps[k] = pith_keep(s, pith_linearize(in, &bump_of, PITH_ITEMS(x), NULL).map);
        pith_scope_close(in);
    }
    pith_jit_set_limits(rt, 1, 1 << 20);
    const pith_array *t = pith_ones(s, PITH_F64, PITH_SHAPE(3));
    for (int k = 0; k < 3 * MAPS; k++) {
        const double x = k % MAPS;
        near(pith_call(s, maps[k % MAPS], PITH_ITEMS(t)), 1,
             exp(-x * x) * (1 - 2 * x * x));
    }
    close_scope();
}

/* ---- Donated arguments ---- */

Test(derive_uses, donated_arguments_of_gradients, .init = open_scope) {
    const pith_jit_options donate = {.donate_arguments = PITH_ARGUMENT(0)};
    const pith_array *wanted =
        pith_call(s, pith_grad(s, &wave_of, NULL), PITH_ITEMS(some_x()));
    const pith_function *donating = pith_jit(s, &wave_of, &donate),
                        *g = pith_jit(s, pith_grad(s, donating, NULL), &donate);
    for (int k = 0; k < 3; k++)
        cr_assert(pith_tree_equal(s, pith_call(s, g, PITH_ITEMS(some_x())), wanted));
    /* A derived function does not donate what the function itself would. */
    const pith_array *x = some_x();
    cr_assert(pith_tree_equal(
        s, pith_call(s, pith_grad(s, donating, NULL), PITH_ITEMS(x)), wanted));
    const pith_linearized v = pith_vjp(s, donating, PITH_ITEMS(x), NULL);
    pt_ok(s, v.map && pith_jvp(s, donating, PITH_ITEMS(x), x, NULL).tangent);
    cr_assert(
        pith_tree_equal(s, pith_call(s, v.map, PITH_ITEMS(pith_f64(s, 1))), wanted));
    near(x, 0, 0.5);
    close_scope();
}

/* ---- Trees with hooks ---- */

typedef struct Body Body;
struct Body {
    const pith_array *mass, *kind;
    const void *extra;
    int64_t tag;
    int note;
};
static int hooks;
static void validate(pith_scope *in, const Body *body) {
    hooks++;
    pith_check(in, pith_greater(in, body->mass, 0.0), "a mass is not positive",
               .level = PITH_CHECK_ALWAYS);
}
PITH_NODE(Body,
          PITH_LEAF(mass, "f64[n]"),
          PITH_LEAF(kind, "i32[n]", .optional = true),
          PITH_TREE(extra),
          PITH_STATIC(tag),
          PITH_IGNORE(note),
          PITH_VALIDATE(validate))

static const Body *scaled(pith_scope *in, const Body *body, const pith_array *by) {
    Body next = *body;
    next.mass = pith_mul(in, body->mass, by);
    return pith_freeze(in, Body, &next);
}
PITH_FUNCTION2(scaled_of, scaled, Body, Body, pith_array)

Test(derive_uses, hooks_are_for_values, .init = open_scope) {
    Body parts = {.mass = PITH_VECTOR(s, f64, 1, 2, 3),
                  .tag = 7,
                  .note = 3,
                  .kind = pith_ones(s, PITH_I32, PITH_SHAPE(3)),
                  .extra =
                      pith_list_make(s, PITH_ITEMS(pith_f64(s, 2), pith_none_make(s)))};
    const Body *body = pith_freeze(s, Body, &parts);
    const pith_array *by = pith_f64(s, 2);
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1),
                                      .skip_integers = true};
    const pith_linearized v = pith_vjp(s, &scaled_of, PITH_ITEMS(body, by), &both);
    pt_ok(s, v.map);
    const void *g = pith_call(s, v.map, PITH_ITEMS(v.value));
    const Body *of_body = item(g, 0);
    cr_assert(of_body->tag == 7 && of_body->note == 0);
    near(of_body->mass, 1, 8);
    near(pith_child(of_body->extra, 0), 0, 2);
    near(item(g, 1), 0, 2 * 14);
    /* Masses of tangents may be negative, those of values may not. */
    const void *t = pith_tuple_make(s, PITH_ITEMS(of_body, pith_f64(s, -100)));
    const pith_pushed y = pith_jvp(s, &scaled_of, PITH_ITEMS(body, by), t, &both);
    pith_wait(s);
    pt_ok(s, y.tangent && hooks > 0);
    cr_assert(at(((const Body *)y.tangent)->mass, 0) < 0);
    (void)pith_jvp(s, &scaled_of, PITH_ITEMS(body, pith_f64(s, -2)), t, &both);
    pt_fails(PITH_E_CHECK, s, pith_wait(s));
    pt_says("a mass is not positive");
    close_scope();
}

/* ---- Rules and recomputation ---- */

typedef struct {
    const void *value, *tangent;
} Pushed;
PITH_NODE(Pushed, PITH_TREE(value), PITH_TREE(tangent))

/* The right rule of bump, by the function itself. */
static const pith_function *ruled(pith_scope *in);
static const Pushed *push(pith_scope *in, const pith_array *x, const pith_array *t) {
    const pith_array *y = pith_call(in, ruled(in), PITH_ITEMS(x));
    return pith_record(
        in, Pushed, .value = y,
        .tangent = IN("t * (exp(-x * x) - 2 * x * y)", {"t", t}, {"x", x}, {"y", y}));
}
PITH_FUNCTION2(push_of, push, Pushed, pith_array, pith_array)
static const pith_function *ruled(pith_scope *in) {
    return pith_custom_jvp(in, &bump_of, &push_of);
}
FUNCTION(with_rule, pith_call(in, ruled(in), PITH_ITEMS(x)))
static const pith_array *
rule_step(pith_scope *in, const pith_array *i, const pith_array *x) {
    const pith_function *f = pith_recompute(in, &with_rule_of, NULL);
    const pith_array *n = pith_cast(in, i, PITH_F64);
    return IN("a + b * x", {"a", pith_call(in, f, PITH_ITEMS(x))},
              {"b", with_rule(in, pith_add(in, x, n))}, {"x", x});
}
PITH_FUNCTION2(rule_step_of, rule_step, pith_array, pith_array, pith_array)
FUNCTION(rule_loop, total(in, pith_fori(in, 0, 3, &rule_step_of, x)))
FUNCTION(rule_branch,
         pith_cond(in, pith_less(in, total(in, x), 50.0), &rule_loop_of, &wave_of, x))
FUNCTION(rule_slope,
         total(in,
               pith_square(
                   in,
                   pith_call(in, pith_grad(in, &rule_branch_of, NULL), PITH_ITEMS(x)))))
FUNCTION(rule_again,
         pith_call(in,
                   pith_recompute(in, pith_recompute(in, &rule_branch_of, NULL), NULL),
                   PITH_ITEMS(x)))

Test(derive_uses, rules_are_computed_again, .init = open_scope) {
    in_every_mode(&rule_branch_of, some_x());
    in_every_mode(&rule_slope_of, some_x());
    in_every_mode(&rule_again_of, some_x());
    close_scope();
}
