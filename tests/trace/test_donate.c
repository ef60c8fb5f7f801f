/* Donated arguments: what is granted, what is refused, and what their handles answer. */
#include "pith/pith.h"

#include "array/array_internal.h"
#include "gpu/memory/ledger.h"
#include "pith_test.h"

typedef struct {
    const pith_array *x, *y, *count;
} State;
PITH_NODE(State,
          PITH_LEAF(x, "f64[n]"),
          PITH_LEAF(y, "f64[n]"),
          PITH_LEAF(count, "i64[]"))

enum { LARGE = 20000 };

static pith_runtime *rt;
static pith_scope *s;
static const pith_function *step;

static const State *advance(pith_scope *in, const State *state) {
    State next = *state;
    next.x = pith_add(in, state->x, state->y);
    next.count = pith_add(in, state->count, pith_i64(in, 1));
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION1(advance_step, advance, State, State)

static void begin(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
    step = pith_jit(s, &advance_step,
                    &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
    pt_ok(s, step);
}
static void end(void) {
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}
static const State *make(pith_scope *in, int64_t n) {
    State state = {.x = pith_zeros(in, PITH_F64, PITH_SHAPE(n)),
                   .y = pith_ones(in, PITH_F64, PITH_SHAPE(n)),
                   .count = pith_zeros(in, PITH_I64, PITH_SCALAR)};
    return pith_freeze(in, State, &state);
}
static const State *call(const State *state) {
    return pith_apply(s, step, state);
}
static size_t owned(void) {
    return pithp_ledger_read(pithp_runtime_device(rt)).owned;
}

Test(donate, memory_of_the_last_reference_is_given_back, .init = begin) {
    const State *state = call(make(s, LARGE));
    pt_ok(s, state);
    const size_t before = owned();
    for (int k = 0; k < 20; k++) {
        const State *next = call(state);
        pt_ok(s, next);
        pt_fails(PITH_E_DONATED, s, pith_neg(s, state->x));
        cr_assert(next->y == state->y, "shared by the result");
        pt_ok(s, pith_sum(s, next->y, PITH_ALL_AXES));
        state = next;
    }
    cr_assert(owned() < before + LARGE * sizeof(double), "20 steps take no more");
    cr_assert(pith_read_f64(s, pith_max(s, state->x, PITH_ALL_AXES)) == 21);
    cr_assert(pith_read_i64(s, state->count) == 21);
    const pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.donated >= 40 && info.donated + info.refused == 3 * 21);
    cr_assert(info.refused >= 21, "what the result shares");
    end();
}

/* (state): x grows while the count is below 3, else the state stays as it is. */
static const State *as_it_is(pith_scope *in, const State *state) {
    (void)in;
    return state;
}
PITH_FUNCTION1(stay_step, as_it_is, State, State)
static const State *grow(pith_scope *in, const State *state) {
    return pith_cond(in, pith_less(in, state->count, pith_i64(in, 3)), &advance_step,
                     &stay_step, state);
}
PITH_FUNCTION1(grow_step, grow, State, State)

Test(donate, what_a_branch_hands_on_is_the_argument_and_is_kept, .init = begin) {
    const State *state = make(s, LARGE);
    const pith_function *plain = pith_jit(s, &grow_step, NULL);
    step = pith_jit(s, &grow_step,
                    &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
    for (int k = 0; k < 6; k++) {
        const State *next = k < 3 ? call(state) : pith_call(s, plain, PITH_ITEMS(state));
        pt_ok(s, next);
        if (pithp_scope_device(s)->backend->addressable) {
            cr_assert((next->x == state->x) == (k >= 3), "call %d", k);
            cr_assert(next->y == state->y, "the same in both branches");
        }
        state = next;
    }
    const State *next = call(state); /* nothing is given back that the result shares */
    pt_ok(s, next);
    cr_assert(pith_read_f64(s, pith_max(s, next->x, PITH_ALL_AXES)) == 3);
    cr_assert(pith_read_i64(s, next->count) == 3);
    end();
}

/* One element grows. */
static const State *bump(pith_scope *in, const State *state) {
    State next = *state;
    const pith_array *at = pith_reshape(in, state->count, PITH_SHAPE(1));
    next.x =
        pith_scatter_add(in, state->x, at, pith_ones(in, PITH_F64, PITH_SHAPE(1)), NULL);
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION1(bump_step, bump, State, State)

Test(donate, an_update_of_what_is_donated_is_made_in_place, .init = begin) {
    const State *state = make(s, LARGE);
    step = pith_jit(s, &bump_step,
                    &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
    for (int k = 0; k < 6; k++) {
        const void *at = state->x->data;
        state = call(state);
        pt_ok(s, state);
        if (pithp_scope_device(s)->backend->addressable)
            cr_assert(state->x->data == at, "call %d", k);
    }
    cr_assert(pith_read_f64(s, pith_max(s, state->x, PITH_ALL_AXES)) == 6);
    cr_assert(pith_read_f64(s, pith_sum(s, state->x, PITH_ALL_AXES)) == 6);
    end();
}

Test(donate, handles_say_so_everywhere, .init = begin) {
    const State *state = call(make(s, LARGE));
    call(state);
    pt_fails(PITH_E_DONATED, s, pith_save(s, state, "/nonexistent/never.json", NULL));
    pt_says(".x");
    pt_fails(PITH_E_DONATED, s, call(state));
    pt_says(".x: advance: argument 1: the array was donated");
    double x[3];
    pt_fails(PITH_E_DONATED, s, pith_read(s, state->x, x, sizeof x));
    pith_scope *inner = pith_scope_open(rt);
    pt_fails(PITH_E_DONATED, inner, pith_keep(inner, state));
    pith_scope_close(inner);
    State next = *state;
    pt_fails(PITH_E_DONATED, s, pith_freeze(s, State, &next));
    const char *text = pith_tree_text(s, state, NULL);
    pt_ok(s, text && strstr(text, "f64[20000]"));
    pith_tree_bytes(state);
    pith_drop(s, state->x);
    pt_fails(PITH_E_ARG, s, pith_neg(s, state->x));
    end();
}

Test(donate, what_others_hold_is_refused, .init = begin) {
    const State *state = call(make(s, LARGE));
    pith_scope *other = pith_scope_open(rt);
    const State *kept = pith_keep(other, state);
    pt_ok(other, kept);
    const State *next = call(state);
    pt_ok(s, next);
    pt_ok(s, pith_neg(s, state->x));
    cr_assert(pith_read_f64(other, pith_max(other, kept->x, PITH_ALL_AXES)) == 1);
    pith_scope_close(other);
    double *mine = calloc(LARGE, sizeof *mine);
    State borrowed = *next;
    borrowed.x = pith_array_borrow(s, PITH_F64, PITH_SHAPE(LARGE), mine);
    const State *last = call(pith_freeze(s, State, &borrowed));
    pt_ok(s, last);
    if (pithp_scope_device(s)->backend->addressable) /* else it is a copy */
        pt_ok(s, pith_neg(s, borrowed.x));
    State twice = *last; /* the same array in two places is donated once */
    twice.y = last->x;
    const State *doubled = call(pith_freeze(s, State, &twice));
    pt_ok(s, doubled);
    cr_assert(doubled->y == last->x &&
              pith_read_f64(s, pith_sum(s, last->x, PITH_ALL_AXES)) > 0);
    free(mine);
    end();
}

Test(donate, a_call_that_fails_donates_nothing, .init = begin) {
    setenv("PITH_JIT", "off", 0); /* a compiler in the background allocates, too */
    const State *state = call(make(s, LARGE));
    pith_scope *inner = pith_scope_open_in(s);
    pith_fail(inner, PITH_E_ARG, NULL, "before");
    pith_apply(inner, step, state);
    pith_clear(inner);
    for (long long at = 1; at < 12; at++) {
        atomic_store(&pt_default_heap.fail_at,
                     atomic_load(&pt_default_heap.allocations) + at);
        pith_apply(inner, step, state);
        atomic_store(&pt_default_heap.fail_at, 0);
        if (!pith_failed(inner))
            break;
        pith_clear(inner);
        pt_ok(s, pith_neg(s, state->x));
    }
    pith_scope_close(inner);
    end();
}

static const pith_array *add_two(pith_scope *in, const State *a, const pith_array *b) {
    return pith_add(in, a->x, b);
}
PITH_FUNCTION2(add_function, add_two, pith_array, State, pith_array)

Test(donate, parts_are_named_by_paths, .init = begin) {
    const pith_function *f =
        pith_jit(s, &add_function,
                 &(pith_jit_options){.donate_paths = PITH_PATHS("[0].x", "[1]")});
    const State *state = call(make(s, LARGE));
    const pith_array *b = pith_full(s, PITH_F64, PITH_SHAPE(LARGE), 2);
    const pith_array *sum = pith_apply(s, f, state, b);
    pt_ok(s, sum);
    cr_assert(pith_read_f64(s, pith_max(s, sum, PITH_ALL_AXES)) == 3);
    pt_fails(PITH_E_DONATED, s, pith_neg(s, state->x));
    pt_fails(PITH_E_DONATED, s, pith_neg(s, b));
    pt_ok(s, pith_neg(s, state->y));
    pt_ok(s, pith_neg(s, state->count));
    end();
}

Test(donate, static_parts_of_what_is_donated_stay, .init = begin) {
    const pith_function *f =
        pith_jit(s, &advance_step,
                 &(pith_jit_options){.static_paths = PITH_PATHS("[0].count"),
                                     .donate_arguments = PITH_ARGUMENT(0)});
    const State *state = make(s, LARGE);
    const State *next = pith_call(s, f, PITH_ITEMS(state));
    pt_ok(s, next);
    cr_assert(pith_read_i64(s, next->count) == 1 && pith_read_i64(s, state->count) == 0);
    pt_fails(PITH_E_DONATED, s, pith_neg(s, state->x));
    end();
}

static const pith_array *first_and_last(pith_scope *in, const void *pair) {
    const State *first = pith_child(pair, 0), *last = pith_child(pair, 1);
    return pith_add(in, first->x, last->x);
}
PITH_FUNCTION1(pair_function, first_and_last, pith_array, void)

/* A path names a place: where the same array, or the same node, is at another one, too,
 * that one is not meant, in this call and in later ones. */
Test(donate, a_path_names_one_of_the_places_of_an_array, .init = begin) {
    const pith_function *list = pith_jit(
        s, &pair_function, &(pith_jit_options){.donate_paths = PITH_PATHS("[0][1]")});
    const State *one = make(s, LARGE), *other = make(s, LARGE);
    pt_ok(s, pith_call(s, list, PITH_ITEMS(pith_list_make(s, PITH_ITEMS(one, one)))));
    pt_ok(s, pith_neg(s, one->x));
    cr_assert(pith_jit_about(rt).donated == 0, "it is not donated at [0][0]");
    pt_ok(s, pith_call(s, list, PITH_ITEMS(pith_list_make(s, PITH_ITEMS(one, other)))));
    pt_ok(s, pith_neg(s, one->x));
    pt_fails(PITH_E_DONATED, s, pith_neg(s, other->x));
    cr_assert(pith_jit_about(rt).misses == 1);
    end();
}

Test(donate, small_leaves_of_one_block_go_together, .init = begin) {
    const State *state = call(make(s, 4));
    const pith_jit_info before = pith_jit_about(rt);
    const State *next = call(state); /* x and count lie in one block */
    pt_ok(s, next);
    pt_fails(PITH_E_DONATED, s, pith_neg(s, state->x));
    pt_fails(PITH_E_DONATED, s, pith_neg(s, state->count));
    cr_assert(pith_jit_about(rt).donated == before.donated + 2);
    State half = *next;
    half.count = pith_i64(s, 0);
    call(pith_freeze(s, State, &half)); /* count of next still lies beside x */
    pt_ok(s, pith_neg(s, next->x));
    end();
}

static const State *bounded(pith_scope *in, const State *state) {
    const State *next = pith_apply(in, step, state);
    pith_check(in, pith_less(in, next->count, pith_i64(in, 5)), "too far");
    return next;
}
PITH_FUNCTION1(bounded_step, bounded, State, State)
static const State *strict(pith_scope *in, const State *state) {
    pith_check(in, pith_less(in, state->count, pith_i64(in, 5)), "too far",
               .level = PITH_CHECK_ALWAYS);
    return advance(in, state);
}
PITH_FUNCTION1(strict_step, strict, State, State)

Test(donate, states_that_a_step_may_be_repeated_from_stay, .init = begin) {
    const State *first = make(s, LARGE);
    const State *last = pith_run(s, State, step, first, &(pith_run_options){.steps = 4});
    pt_ok(s, last);
    cr_assert(pith_read_f64(s, pith_max(s, last->x, PITH_ALL_AXES)) == 4);
    pt_fails(PITH_E_CHECK, s, pith_propagate(s, State, &bounded_step, last, NULL));
    pt_ok(s, pith_neg(s, last->x));
    cr_assert(pith_jit_about(rt).donated == 0);
    const pith_function *f = pith_jit(
        s, &strict_step, &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
    pt_ok(s, pith_apply(s, f, last));
    pt_ok(s, pith_neg(s, last->x));
    end();
}

/* ---- However leaves lie ---- */

enum { LEAVES = 100 };

static const pith_array *plus(pith_scope *in, const pith_array *const *leaf, void *by) {
    return pith_add(in, leaf[0], by);
}
static const void *shift(pith_scope *in, const void *list, const pith_array *by) {
    return pith_tree_map(in, plus, (void *)(uintptr_t)by, 1, &list, NULL);
}
PITH_FUNCTION2(shift_step, shift, void, void, pith_array)

/* Donate a list of leaves k, k + stride, ... with values k, and then, made of what the
 * call returned, the next one. How many of one of these were made in the memory of the
 * last. */
static int64_t shifted(int64_t elements, int64_t stride) {
    const pith_function *f = pith_jit(
        s, &shift_step, &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
    const pith_array *by = pith_f64(s, 0.5);
    const void *leaves[LEAVES], *given[LEAVES];
    double value[LEAVES], before[LEAVES];
    pith_jit_info info = {0}, last = {0};
    for (int64_t k = 0; k < LEAVES; k++) {
        leaves[k] = pith_full(s, PITH_F64, PITH_SHAPE(elements), (double)k);
        value[k] = (double)k;
    }
    for (int round = 0; round < 3; round++) {
        memcpy(before, value, sizeof value);
        for (int64_t k = 0; k < LEAVES; k++) {
            given[k] = leaves[k * stride % LEAVES];
            value[k] = before[k * stride % LEAVES] + 0.5;
        }
        const void *list = pith_list_make(s, LEAVES, given);
        last = pith_jit_about(rt);
        const void *next = pith_apply(s, f, list, by);
        info = pith_jit_about(rt);
        pt_ok(s, next);
        for (int64_t k = 0; k < LEAVES; k++) {
            leaves[k] = pith_child(next, k);
            cr_assert(pith_read_f64(s, pith_max(s, leaves[k], PITH_ALL_AXES)) ==
                      value[k]);
        }
    }
    cr_assert_eq(info.donated - last.donated, LEAVES);
    pt_fails(PITH_E_DONATED, s, pith_neg(s, given[0]));
    pt_fails(PITH_E_DONATED, s, pith_neg(s, given[LEAVES - 1]));
    return info.written - last.written;
}

Test(donate, leaves_side_by_side_are_written, .init = begin) {
    cr_assert_eq(shifted(8, 1), LEAVES);
    end();
}
Test(donate, leaves_of_one_block_in_any_order_are_given_back, .init = begin) {
    cr_assert_eq(shifted(8, 37), 0);
    end();
}
Test(donate, leaves_with_memory_of_their_own_are_written, .init = begin) {
    cr_assert_eq(shifted(LARGE, 1), LEAVES);
    cr_assert_eq(shifted(LARGE, 37), LEAVES);
    end();
}

Test(donate, a_block_that_is_also_given_elsewhere_is_not_written, .init = begin) {
    const pith_function *f = pith_jit(
        s, &shift_step, &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
    for (int round = 0; round < 2; round++) { /* recorded, and replayed */
        const void *items[] = {pith_f64(s, 1), pith_f64(s, 2)}; /* in one block */
        const pith_jit_info before = pith_jit_about(rt);
        const void *next = pith_apply(s, f, pith_list_make(s, 2, items), items[1]);
        pt_ok(s, next);
        cr_assert_eq(pith_jit_about(rt).donated, before.donated);
        cr_assert(pith_read_f64(s, pith_child(next, 0)) == 3 &&
                  pith_read_f64(s, pith_child(next, 1)) == 4 &&
                  pith_read_f64(s, items[0]) == 1);
    }
    end();
}
