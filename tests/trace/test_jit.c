/* Compiled functions: when they are traced, what their programs give, and what they may
 * not do. */
#include "jit_test.h"

Test(jit, runs_once_and_is_replayed, .init = open_scope) {
    const Sim *sim = some_sim(4);
    const pith_function *step = pith_jit(s, &drift_step, NULL);
    pt_ok(s, step && step->arity == 1 && !strcmp(step->name, "drift"));
    const Sim *fast = sim, *slow = sim;
    for (int k = 0; k < 5; k++) {
        fast = pith_apply(s, step, fast);
        pt_ok(s, fast);
        cr_assert(runs == 1 + k);
        slow = pith_apply(s, &drift_step, slow);
        pt_ok(s, pith_tree_equal(s, fast, slow));
    }
    cr_assert(pith_read_i64(s, fast->count) == 5);
    cr_assert(fast->atoms->velocity == sim->atoms->velocity, "what did not change");
    cr_assert(fast->width == 4 && fast->cutoff == 2.5);
    const pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.misses == 1 && info.hits == 4 && info.programs == 1 && info.bytes > 0);
    close_scope();
}

Test(jit, traces_again_where_the_structure_differs, .init = open_scope) {
    const Sim *sim = some_sim(4);
    const pith_function *step = pith_jit(s, &drift_step, NULL);
    pith_apply(s, step, sim);
    pith_apply(s, step, with_width(sim, 4));
    cr_assert(runs == 1, "equal statics");
    const Sim *wide = pith_apply(s, step, with_width(sim, 8));
    cr_assert(runs == 2 && wide->width == 8 && element(wide->atoms->position, 0) == 4);
    const Sim *large = pith_apply(s, step, some_sim(5));
    cr_assert(runs == 3 && pith_array_spec(large->atoms->position)->shape[0] == 5);
    const Sim *again = pith_apply(s, step, sim);
    cr_assert(runs == 3 && element(again->atoms->position, 0) == 2);
    const pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.programs == 3 && info.misses == 3 && info.hits == 2);
    close_scope();
}

static const Sim *with_cutoff(const Sim *sim, double cutoff, const char *name) {
    Sim next = *sim;
    next.cutoff = cutoff;
    next.name = name;
    return pith_freeze(s, Sim, &next);
}
static const pith_array *cutoff_of(pith_scope *in, const Sim *sim) {
    runs++;
    return pith_mul(in, pith_sum(in, sim->atoms->velocity, PITH_ALL_AXES),
                    pith_f64(in, sim->name ? (double)strlen(sim->name) : sim->cutoff));
}
PITH_FUNCTION1(cutoff_function, cutoff_of, pith_array, Sim)

static void statics_are_told_apart(void) {
    const pith_function *f = pith_jit(s, &cutoff_function, NULL);
    const Sim *sim = some_sim(2);
    char name[] = "four";
    const double values[] = {1, -1, 0.0, -0.0, 1e300};
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < 5; k++) {
            const pith_array *y = pith_apply(s, f, with_cutoff(sim, values[k], NULL));
            cr_assert(pith_read_f64(s, y) == 3 * values[k]);
            cr_assert(signbit(pith_read_f64(s, y)) == signbit(values[k]));
        }
        cr_assert(isnan(
            pith_read_f64(s, pith_apply(s, f, with_cutoff(sim, (double)NAN, NULL)))));
        cr_assert(isnan(
            pith_read_f64(s, pith_apply(s, f, with_cutoff(sim, -(double)NAN, NULL)))));
        cr_assert(pith_read_f64(s, pith_apply(s, f, with_cutoff(sim, 1, "four"))) == 12);
        cr_assert(pith_read_f64(s, pith_apply(s, f, with_cutoff(sim, 1, name))) == 12);
        cr_assert(pith_read_f64(s, pith_apply(s, f, with_cutoff(sim, 1, "seventh"))) ==
                  21);
        cr_assert(runs == 8, "%d", runs);
    }
}

Test(jit, equal_statics_hit_and_unequal_ones_never_share, .init = open_scope) {
    statics_are_told_apart();
    close_scope();
}

Test(jit, unequal_statics_never_share_where_all_hashes_collide, .init = open_scope) {
    pithp_jit_hash_mask = 0;
    pithp_node_def_hash_mask = 0;
    statics_are_told_apart();
    const pith_function *step = pith_jit(s, &drift_step, NULL);
    for (int64_t n = 1; n < 6; n++)
        for (int64_t width = 1; width < 4; width++) {
            const Sim *next = pith_apply(s, step, with_width(some_sim(n), width));
            cr_assert(element(next->atoms->position, 0) == 0.5 * (double)width);
        }
    close_scope();
}

/* ---- Results ---- */

static const pith_list *mixed(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_array *sum = pith_add(in, x, y);
    return pith_list_make(
        in, PITH_ITEMS(x, sum, sum, pith_reshape(in, x, PITH_SHAPE(2, 2)),
                       pith_f64(in, 7), pith_reshape(in, sum, PITH_SHAPE(4, 1)),
                       pith_zeros(in, PITH_I8, PITH_SHAPE(3)),
                       pith_arange(in, PITH_F64, 1000), y));
}
static const void *mixed_tree(pith_scope *in, const pith_array *x, const pith_array *y) {
    return mixed(in, x, y);
}
PITH_FUNCTION2(mixed_function, mixed_tree, void, pith_array, pith_array)

Test(jit, results_share_inputs_and_constants, .init = open_scope) {
    const pith_array *x = pith_arange(s, PITH_F64, 4), *y = pith_f64(s, 10);
    const pith_function *f = pith_jit(s, &mixed_function, NULL);
    for (int k = 0; k < 3; k++) {
        const pith_list *got = pith_apply(s, f, x, y),
                        *want = pith_apply(s, &mixed_function, x, y);
        pt_ok(s, got);
        pt_ok(s, pith_tree_equal(s, got, want));
        cr_assert(pith_child(got, 0) == x && pith_child(got, 8) == y);
        const pith_array *sum = pith_child(got, 1), *shaped = pith_child(got, 3);
        cr_assert(pith_child(got, 2) == sum);
        cr_assert(shaped->data == x->data, "a view of the input");
        const pith_array *column = pith_child(got, 5);
        cr_assert(column->data == sum->data);
    }
    close_scope();
}

Test(jit, results_outlive_their_program, .init = open_scope) {
    const pith_array *x = pith_arange(s, PITH_F64, 4), *y = pith_f64(s, 10);
    pith_scope *inner = pith_scope_open_in(s);
    const pith_function *f = pith_jit(inner, &mixed_function, NULL);
    const pith_list *got = pith_apply(inner, f, x, y);
    pt_ok(inner, got);
    got = pith_keep(s, got);
    pith_scope_close(inner);
    pith_jit_clear(rt);
    cr_assert(pith_jit_about(rt).programs == 0);
    cr_assert(pith_read_f64(s, pith_child(got, 4)) == 7);
    cr_assert(pith_array_spec(pith_child(got, 7))->count == 1000);
    cr_assert(pith_read_f64(s, pith_sum(s, pith_child(got, 7), PITH_ALL_AXES)) == 499500);
    close_scope();
}

static const Sim *same(pith_scope *in, const Sim *sim) {
    (void)in;
    runs++;
    return sim;
}
PITH_FUNCTION1(same_step, same, Sim, Sim)

Test(jit, trees_without_work_pass_through, .init = open_scope) {
    const Sim *sim = some_sim(3);
    const pith_function *f = pith_jit(s, &same_step, NULL);
    for (int k = 0; k < 2; k++) {
        const Sim *got = pith_apply(s, f, sim);
        pt_ok(s, got);
        cr_assert(got->atoms->position == sim->atoms->position && runs == 1);
    }
    const pith_function *none = pith_jit(s, &none_function, NULL);
    cr_assert(pith_kind(pith_apply(s, none, sim)) == PITH_NODE_TUPLE);
    cr_assert(pith_kind(pith_apply(s, none, pith_apply(s, none, sim))) ==
              PITH_NODE_TUPLE);
    close_scope();
}

/* ---- Bound trees, other compiled functions ---- */

static const pith_array *
scaled(pith_scope *in, const Sim *sim, const pith_array *by, const Sim *other) {
    runs++;
    return pith_mul(in, pith_mul(in, sim->atoms->position, by),
                    pith_f64(in, (double)other->width));
}
PITH_FUNCTION3(scaled_function, scaled, pith_array, Sim, pith_array, Sim)

Test(jit, bound_trees_are_inputs_and_structure, .init = open_scope) {
    const Sim *sim = some_sim(2);
    for (int k = 1; k < 4; k++) {
        const pith_function *by = pith_partial(s, &scaled_function, with_width(sim, 2));
        const pith_function *f = pith_jit(s, pith_partial(s, by, pith_f64(s, k)), NULL);
        cr_assert(element(pith_apply(s, f, sim), 1) == 2 * k);
    }
    cr_assert(runs == 1, "other leaves are the same program");
    const pith_function *by = pith_partial(s, &scaled_function, with_width(sim, 3));
    const pith_function *f = pith_jit(s, pith_partial(s, by, pith_f64(s, 1)), NULL);
    cr_assert(element(pith_apply(s, f, sim), 1) == 3 && runs == 2);
    const pith_function *two = pith_jit(s, by, NULL);
    cr_assert(element(pith_apply(s, two, sim, pith_f64(s, 5)), 1) == 15 && runs == 3);
    cr_assert(element(pith_apply(s, pith_partial(s, two, pith_f64(s, 6)), sim), 1) ==
                  18 &&
              runs == 3);
    close_scope();
}

static const pith_function *inner_step;
static const Sim *twice(pith_scope *in, const Sim *sim) {
    runs += 100;
    const Sim *once = pith_apply(in, inner_step, sim);
    return pith_apply(in, inner_step, once);
}
PITH_FUNCTION1(twice_step, twice, Sim, Sim)

Test(jit, compiled_functions_inside_become_a_part, .init = open_scope) {
    const Sim *sim = some_sim(2);
    inner_step = pith_jit(s, &drift_step, NULL);
    const pith_function *f = pith_jit(s, &twice_step, NULL);
    for (int k = 0; k < 3; k++) {
        const Sim *got = pith_apply(s, f, sim);
        pt_ok(s, got);
        cr_assert(element(got->atoms->position, 0) == 4 &&
                  pith_read_i64(s, got->count) == 2);
    }
    cr_assert(runs == 101, "the inner one once: both of its calls are alike");
    cr_assert(pith_jit_about(rt).programs == 1 && pith_jit_about(rt).parts == 1);
    const pith_function *again = pith_jit(s, pith_jit(s, &drift_step, NULL), NULL);
    cr_assert(element(((const Sim *)pith_apply(s, again, sim))->atoms->position, 0) == 2);
    close_scope();
}

Test(jit, the_same_function_shares_its_programs, .init = open_scope) {
    const Sim *sim = some_sim(2);
    for (int k = 0; k < 4; k++) {
        pith_scope *inner = pith_scope_open_in(s);
        const pith_function *f = pith_jit(inner, &drift_step, NULL);
        pith_apply(inner, f, sim);
        pt_ok(inner);
        pith_scope_close(inner);
    }
    cr_assert(runs == 1);
    const pith_function *other = pith_jit(s, &same_step, NULL);
    pith_apply(s, other, sim);
    cr_assert(runs == 2 && pith_jit_about(rt).programs == 2);
    close_scope();
}

/* ---- Static arguments ---- */

Test(jit, static_arguments_may_be_read, .init = open_scope) {
    const pith_function *f = pith_jit(
        s, &power_function, &(pith_jit_options){.static_arguments = PITH_ARGUMENT(1)});
    const pith_array *x = pith_f64(s, 3);
    cr_assert(pith_read_f64(s, pith_apply(s, f, x, pith_i64(s, 2))) == 9 && runs == 1);
    cr_assert(pith_read_f64(s, pith_apply(s, f, x, pith_i64(s, 2))) == 9 && runs == 1);
    cr_assert(pith_read_f64(s, pith_apply(s, f, x, pith_i64(s, 3))) == 27 && runs == 2);
    cr_assert(pith_read_f64(s, pith_apply(s, f, pith_f64(s, 2), pith_i64(s, 3))) == 8 &&
              runs == 2);
    const pith_function *plain = pith_jit(s, &power_function, NULL);
    pt_fails(PITH_E_TRACED, s, pith_apply(s, plain, x, pith_i64(s, 2)));
    pt_says("test_jit.c:");
    pt_says("has no value yet");
    const pith_function *named = pith_jit(
        s, &power_function, &(pith_jit_options){.static_paths = PITH_PATHS("[1]")});
    cr_assert(pith_read_f64(s, pith_apply(s, named, x, pith_i64(s, 2))) == 9);
    cr_assert(pith_read_f64(s, pith_apply(s, named, x, pith_i64(s, 4))) == 81);
    close_scope();
}

static const pith_array *counted(pith_scope *in, const Sim *sim) {
    runs++;
    const int64_t n = pith_read_i64(in, sim->count);
    return pith_mul(in, sim->atoms->position, pith_f64(in, (double)n));
}
PITH_FUNCTION1(counted_function, counted, pith_array, Sim)

Test(jit, static_parts_are_named_by_paths, .init = open_scope) {
    const pith_function *f =
        pith_jit(s, &counted_function,
                 &(pith_jit_options){.static_paths = PITH_PATHS("[0].count")});
    const Sim *sim = some_sim(2);
    Sim next = *sim;
    next.count = pith_i32(s, 5);
    cr_assert(element(pith_apply(s, f, sim), 1) == 0);
    cr_assert(element(pith_apply(s, f, pith_freeze(s, Sim, &next)), 1) == 5 && runs == 2);
    cr_assert(element(pith_apply(s, f, sim), 1) == 0 && runs == 2);
    const pith_function *bad = pith_jit(
        s, &counted_function, &(pith_jit_options){.static_paths = PITH_PATHS("[0].no")});
    pt_fails(PITH_E_PATH, s, pith_apply(s, bad, sim));
    pt_says("[0].no: Sim has no field 'no'");
    pt_fails(PITH_E_PATH, s,
             pith_jit(s, &counted_function,
                      &(pith_jit_options){.static_paths = PITH_PATHS("count")}));
    pt_says("counted: the path 'count' names no argument: expected [0] to [0]");
    pt_fails(PITH_E_PATH, s,
             pith_jit(s, &counted_function,
                      &(pith_jit_options){.donate_paths = PITH_PATHS("[0]", "[1].x")}));
    pt_says("counted: the path '[1].x' names no argument: expected [0] to [0]");
    static const char *const none[] = {"",     "[",    "[]",    "[ 0]",
                                       "[+0]", "[-0]", "[0x0]", "[0"};
    for (int i = 0; i < PITHP_COUNT(none); i++)
        pt_fails(PITH_E_PATH, s,
                 pith_jit(s, &counted_function,
                          &(pith_jit_options){.static_paths = PITH_PATHS(none[i])}));
    close_scope();
}

Test(jit, what_cannot_be_compiled_is_refused, .init = open_scope) {
    pt_fails(PITH_E_ARG, s, pith_jit(s, NULL, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_jit(s, &drift_step,
                      &(pith_jit_options){.static_arguments = PITH_ARGUMENT(1)}));
    pt_says("drift: the options name argument [1]: expected [0] to [0]");
    pt_fails(PITH_E_ARG, s,
             pith_jit(s, &drift_step,
                      &(pith_jit_options){.static_arguments = PITH_ARGUMENT(0),
                                          .donate_arguments = PITH_ARGUMENT(0)}));
    pt_says("drift: [0] is static and donated");
    pt_fails(PITH_E_ARG, s,
             pith_jit(s, &drift_step,
                      &(pith_jit_options){.static_paths = PITH_PATHS("[0].rate"),
                                          .donate_paths = PITH_PATHS("[0].rate[1]")}));
    pt_says("drift: [0].rate[1] is static and donated");
    pt_ok(s, pith_jit(s, &drift_step,
                      &(pith_jit_options){.static_paths = PITH_PATHS("[0].rate"),
                                          .donate_paths = PITH_PATHS("[0].rates")}));
    pt_fails(PITH_E_UNSUPPORTED, s,
             pith_jit(s, &drift_step, &(pith_jit_options){.device = "abacus"}));
    const pith_array *x = pith_f64(s, 2);
    pt_fails(PITH_E_TYPE, s, pith_apply(s, pith_jit(s, &drift_step, NULL), x));
    pt_says("drift: argument 1: expected Sim");
    close_scope();
}

/* ---- Errors ---- */

static const pith_array *kept_outside;
static const pith_array *leaks(pith_scope *in, const pith_array *x) {
    kept_outside = pith_neg(in, x);
    return x;
}
PITH_FUNCTION1(leaks_function, leaks, pith_array, pith_array)
static const pith_array *returns_leak(pith_scope *in, const pith_array *x) {
    (void)in, (void)x;
    return kept_outside;
}
PITH_FUNCTION1(returns_leak_function, returns_leak, pith_array, pith_array)
static const Sim *wrong_shape(pith_scope *in, const Sim *sim) {
    Atoms atoms = *sim->atoms;
    atoms.position = pith_zeros(in, PITH_F64, PITH_SHAPE(1, 2));
    Sim next = *sim;
    next.atoms = pith_freeze(in, Atoms, &atoms);
    return pith_freeze(in, Sim, &next);
}
PITH_FUNCTION1(wrong_shape_step, wrong_shape, Sim, Sim)

Test(jit, errors_of_the_function_are_those_of_the_call, .init = open_scope) {
    const pith_array *x = pith_f64(s, 2);
    const pith_function *f = pith_jit(s, &leaks_function, NULL);
    cr_assert(pith_apply(s, f, x) == x);
    pt_fails(PITH_E_TRACED, s, pith_add(s, kept_outside, x));
    pt_says("its trace has ended");
    pt_fails(PITH_E_TRACED, s,
             pith_apply(s, pith_jit(s, &returns_leak_function, NULL), x));
    pt_says("test_jit.c:");
    pt_fails(PITH_E_TRACED, s, pith_apply(s, f, kept_outside));
    pt_says("leaks: argument 1");
    pt_fails(PITH_E_SHAPE, s,
             pith_apply(s, pith_jit(s, &wrong_shape_step, NULL), some_sim(2)));
    pt_says(".position: expected f64[n=1,3], got f64[1,2] (test_jit.c:");
    cr_assert(pith_jit_about(rt).programs == 1, "nothing is kept of what failed");
    close_scope();
}

static const pith_array *
first_of(pith_scope *in, const pith_array *x, const pith_array *y) {
    (void)y;
    return pith_neg(in, x);
}
PITH_FUNCTION2(first_function, first_of, pith_array, pith_array, pith_array)

Test(jit, leaves_that_are_not_read_are_not_awaited, .init = open_scope) {
    const pith_function *lazy = pith_jit(s, &first_function, NULL),
                        *eager = pith_jit(s, &first_function,
                                          &(pith_jit_options){.keep_unused = true});
    pith_scope *other = pith_scope_open(rt); /* with a stream of its own */
    const pith_array *x = pith_f64(s, 2), *y = pith_f64(other, 3);
    cr_assert(pith_read_f64(s, pith_apply(s, lazy, x, y)) == -2);
    cr_assert(pith_read_f64(s, pith_apply(s, lazy, y, x)) == -3);
    cr_assert(pith_read_f64(s, pith_apply(s, eager, x, y)) == -2);
    cr_assert(pith_jit_about(rt).programs == 2, "two options, two programs");
    pith_scope_close(other);
    close_scope();
}

/* What a trace records belongs to it, whatever the function gives back. */
static const pith_array *gives_back(pith_scope *in, const pith_array *x) {
    pith_scope *inner = pith_scope_open_in(in);
    const pith_array *closed = pith_add(inner, x, x);
    pith_scope_close(inner);
    const pith_array *dropped = pith_add(in, closed, x);
    pith_drop(in, dropped);
    return pith_add(in, dropped, x);
}
PITH_FUNCTION1(gives_back_function, gives_back, pith_array, pith_array)

Test(jit, what_is_given_back_stays_in_its_trace, .init = open_scope) {
    const pith_array *x = pith_f64(s, 3);
    pt_fails(PITH_E_ARG, s, pith_apply(s, &gives_back_function, x));
    const pith_function *f = pith_jit(s, &gives_back_function, NULL);
    for (int call = 0; call < 2; call++)
        cr_assert(pith_read_f64(s, pith_apply(s, f, x)) == 12);
    close_scope();
}
