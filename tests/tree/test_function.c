/* Typed functions: calls check their arguments and results. */
#include "nodes.h"
#include "pith_test.h"
#include "tree/tree_internal.h"

#include <pith/tree.h>

static pith_runtime *rt;
static pith_scope *s;
static void open_scope(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void close_scope(void) {
    pith_scope_close(s);
    pt_close(rt);
}

static const Atoms *drift(pith_scope *in, const Atoms *atoms) {
    Atoms next = *atoms;
    next.position = pith_add(in, atoms->position, atoms->velocity);
    return pith_freeze(in, Atoms, &next);
}
PITH_FUNCTION1(drift_step, drift, Atoms, Atoms)

static const pith_array *
scaled(pith_scope *in, const Atoms *atoms, const pith_array *factor) {
    return pith_mul(in, atoms->position, factor);
}
PITH_FUNCTION2(scaled_step, scaled, pith_array, Atoms, pith_array)

static const void *
chosen(pith_scope *in, const pith_array *which, const void *a, const void *b) {
    return pith_read_bool(in, which) ? a : b;
}
PITH_FUNCTION3(chosen_step, chosen, void, pith_array, void, void)

static const pith_list *
gathered(pith_scope *in, const void *a, const void *b, const void *c, const void *d) {
    pith_scope *inner = pith_scope_open_in(in);
    const pith_list *list = pith_list_make(inner, PITH_ITEMS(a, b, c, d));
    const pith_list *kept = pith_keep(in, list);
    pith_scope_close(inner);
    return kept;
}
static const void *gathered_tree(pith_scope *in,
                                 const void *a,
                                 const void *b,
                                 const void *c,
                                 const void *d) {
    return gathered(in, a, b, c, d);
}
PITH_FUNCTION4(gathered_step, gathered_tree, void, void, void, void, void)

static const Atoms *liar(pith_scope *in, const Atoms *atoms) {
    (void)in;
    return (const Atoms *)(const void *)atoms->position;
}
PITH_FUNCTION1(liar_step, liar, Atoms, Atoms)
static const Atoms *mute(pith_scope *in, const Atoms *atoms) {
    (void)in, (void)atoms;
    return NULL;
}
PITH_FUNCTION1(mute_step, mute, Atoms, Atoms)
static pith_scope *elsewhere;
static const Atoms *inward(pith_scope *in, const Atoms *atoms) {
    (void)in;
    elsewhere = pith_scope_open_in(in);
    return drift(elsewhere, atoms);
}
PITH_FUNCTION1(inward_step, inward, Atoms, Atoms)

static const Atoms *some_atoms(void) {
    const Atoms *atoms = pith_make(s, Atoms, NULL, PITH_EXTENTS({"n", 4}));
    Atoms v = *atoms;
    v.velocity = pith_ones(s, PITH_F64, PITH_SHAPE(4, 3));
    return pith_freeze(s, Atoms, &v);
}
Test(function, calls_are_typed, .init = open_scope) {
    const Atoms *atoms = some_atoms(), *next = pith_apply(s, &drift_step, atoms);
    pt_ok(s, next && next != atoms && next->velocity == atoms->velocity);
    double x[12];
    pt_ok(s, pith_read(s, next->position, x, sizeof x) && x[11] > 0.5);
    const pith_array *twice = pith_apply(s, &scaled_step, next, pith_f64(s, 2));
    pt_ok(s, pith_read(s, twice, x, sizeof x) && x[0] > 1.5);
    cr_assert(pith_apply(s, &chosen_step, pith_bool(s, true), atoms, twice) == atoms);
    cr_assert(pith_apply(s, &chosen_step, pith_bool(s, false), atoms, twice) == twice);
    const pith_list *list = pith_apply(s, &gathered_step, atoms, twice, next, atoms);
    pt_ok(s, list && pith_child(list, 2) == next);
    cr_assert_str_eq(drift_step.name, "drift");
    close_scope();
}

Test(function, what_does_not_fit_is_named, .init = open_scope) {
    const Atoms *atoms = some_atoms(), *nil = NULL;
    pt_fails(PITH_E_TYPE, s, nil = pith_apply(s, &drift_step, atoms->position));
    pt_says("drift: argument 1: expected Atoms, got an array");
    cr_assert(nil && !nil->position, "the nil record of the result");
    pt_fails(PITH_E_TYPE, s, pith_apply(s, &scaled_step, atoms, atoms));
    pt_says("scaled: argument 2: expected an array, got a record of Atoms");
    pt_fails(PITH_E_TYPE, s,
             pith_apply(s, &scaled_step,
                        pith_freeze(s, Config, &(Config){.tolerance = 1}),
                        atoms->position));
    pt_says("scaled: argument 1: expected Atoms, got a record of Config");
    pt_fails(PITH_E_ARG, s, pith_apply(s, &drift_step, atoms, atoms));
    pt_says("drift: expected 1 argument, got 2");
    pt_fails(PITH_E_ARG, s, pith_apply(s, &drift_step, &nil));
    pt_says("drift: argument 1: expected a tree");
    pt_fails(PITH_E_TYPE, s, pith_apply(s, &liar_step, atoms));
    pt_says("liar: result: expected Atoms, got an array");
    pt_fails(PITH_E_ARG, s, pith_apply(s, &mute_step, atoms));
    pt_says("mute: result: expected a tree, got NULL");
    pt_fails(PITH_E_ARG, s, pith_apply(s, NULL, atoms));
    pt_fails(PITH_E_ARG, s, pith_call(s, &drift_step, 1, NULL));
    const pith_function empty = {"empty", NULL, 1, NULL, {NULL, NULL, NULL, NULL}, NULL};
    pt_fails(PITH_E_ARG, s, pith_apply(s, &empty, atoms));
    close_scope();
}

Test(function, a_result_of_an_inner_scope_is_kept, .init = open_scope) {
    const Atoms *next = pith_apply(s, &inward_step, some_atoms());
    pt_ok(s, next);
    pith_scope_close(elsewhere);
    double x[12];
    pt_ok(s, pith_read(s, next->position, x, sizeof x) && x[11] > 0.5);
    close_scope();
}

/* ---- Partial application ---- */

static const Atoms *
kicked(pith_scope *in, const Atoms *atoms, const Config *config, const void *by) {
    Atoms next = *atoms;
    next.velocity =
        pith_mul(in, pith_mul(in, atoms->velocity, by), pith_f64(in, config->tolerance));
    return pith_freeze(in, Atoms, &next);
}
PITH_FUNCTION3(kicked_step, kicked, Atoms, Atoms, Config, void)

static double first_velocity(const Atoms *atoms) {
    double x[12] = {0};
    pt_ok(s, pith_read(s, atoms->velocity, x, sizeof x));
    return x[0];
}

Test(function, last_parameters_are_bound, .init = open_scope) {
    const Atoms *atoms = some_atoms();
    pith_scope *inner = pith_scope_open_in(s);
    const Config *config = pith_freeze(inner, Config, &(Config){.tolerance = 3});
    const pith_function *by = pith_partial(inner, &kicked_step, pith_f64(inner, 2));
    pt_ok(inner, by && by->arity == 2 && !strcmp(by->name, "kicked"));
    const pith_function *step = pith_partial(inner, by, config);
    pt_ok(inner, step && step->arity == 1);
    cr_assert(first_velocity(pith_apply(inner, step, atoms)) == 6);
    const pith_function *kept = pith_keep(s, step);
    pt_ok(s, kept && kept != step && pith_keep(s, kept) == kept);
    pith_scope_close(inner);
    cr_assert(first_velocity(pith_apply(s, kept, atoms)) == 6);
    pt_fails(PITH_E_SCOPE, s, pith_apply(s, step, atoms));
    pt_says("the scope of the function is closed");
    close_scope();
}

Test(function, bound_trees_can_be_exchanged, .init = open_scope) {
    const Atoms *atoms = some_atoms();
    const Config *config = pith_freeze(s, Config, &(Config){.tolerance = 3});
    const pith_array *two = pith_f64(s, 2);
    const pith_function *step =
        pith_partial(s, pith_partial(s, &kicked_step, two), config);
    const void *bound[3] = {NULL};
    cr_assert(pithp_function_bound(step, 3, bound) == 2);
    cr_assert(bound[0] == config && bound[1] == two);
    cr_assert(pithp_function_bound(&kicked_step, 3, bound) == 0);
    bound[1] = pith_f64(s, 5);
    const pith_function *other = pithp_function_rebind(s, step, bound);
    cr_assert(first_velocity(pith_apply(s, other, atoms)) == 15);
    cr_assert(first_velocity(pith_apply(s, step, atoms)) == 6);
    cr_assert(pithp_function_rebind(s, &kicked_step, NULL) == &kicked_step);
    close_scope();
}

Test(function, what_cannot_be_bound_is_refused, .init = open_scope) {
    const Atoms *atoms = some_atoms();
    pt_fails(PITH_E_ARG, s, pith_partial(s, NULL, atoms));
    pt_fails(PITH_E_ARG, s, pith_partial(s, &drift_step, atoms));
    pt_says("pith_partial: drift has only one parameter");
    pt_fails(PITH_E_TYPE, s, pith_partial(s, &scaled_step, atoms));
    pt_says("scaled: argument 2: expected an array, got a record of Atoms");
    pt_fails(PITH_E_ARG, s, pith_partial(s, &scaled_step, NULL));
    pith_runtime *others = pt_open();
    pith_scope *there = pith_scope_open(others);
    const pith_function *theirs = pith_partial(there, &scaled_step, pith_f64(there, 2));
    pt_ok(there, theirs);
    pt_fails(PITH_E_ARG, s, pith_apply(s, theirs, atoms));
    pt_says("belongs to another runtime");
    pith_scope_close(there);
    pt_close(others);
    close_scope();
}

Test(function, every_failure_of_memory_leaves_no_function, .init = open_scope) {
    const Config *config = pith_freeze(s, Config, &(Config){.tolerance = 3});
    bool failed = true;
    for (long long at = 1; failed; at++) {
        pith_scope *inner = pith_scope_open_in(s);
        pith_scope *there = pith_scope_open_in(inner);
        atomic_store(&pt_default_heap.fail_at,
                     atomic_load(&pt_default_heap.allocations) + at);
        const pith_function *f = pith_partial(there, &kicked_step, pith_f64(there, 2));
        for (int k = 0; k < 200 && f; k++) {
            f = pith_partial(there, f, config);
            f = f ? pith_keep(inner, f) : NULL;
            f = f ? pith_partial(there, &kicked_step, pith_f64(inner, 2)) : NULL;
        }
        failed = pith_failed(there) || pith_failed(inner);
        cr_assert(failed == !f);
        atomic_store(&pt_default_heap.fail_at, 0);
        pith_clear(there);
        pith_clear(inner);
        pith_scope_close(inner);
        failed |= pith_failed(s);
        pith_clear(s);
    }
    close_scope();
}
