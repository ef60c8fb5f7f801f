/* Steps that repair themselves through pith_propagate. */
#include "capacity_test.h"
#include "kernels.h"

typedef struct {
    const pith_array *x, *rows, *edges, *other;
    int64_t room, max_edges;
} State;
PITH_NODE(State,
          PITH_LEAF(x, "i64[n]"),
          PITH_LEAF(rows, "i32[n,room]"),
          PITH_LEAF(edges, "f64[max_edges]", .fill = 2),
          PITH_LEAF(other, "f64[n]"),
          PITH_STATIC(room, .initial = 2),
          PITH_STATIC(max_edges, .initial = 10))

static int calls;

/* Needs three sizes of edges at once, and rows as wide as x says. */
static const State *grow(pith_scope *in, const State *state) {
    calls++;
    const pith_capacity *edges =
        pith_lens_capacity(in, PITH_LENS(State, max_edges), state->max_edges, 2);
    const int64_t needs[] = {50, 1000, 60};
    for (int i = 0; i < 3; i++)
        pith_capacity_require(in, edges, pith_i64(in, needs[i]));
    pith_capacity_guard(
        in, pith_lens_capacity(in, PITH_LENS(State, room), state->room, 2), "room");
    State next = *state;
    next.rows = pith_launch(in, rows_of, state->x, state->room).y;
    next.edges = pith_cumsum(in, state->edges, 0, NULL);
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION1(grow_step, grow, State, State)

static const State *make(int64_t room, int64_t max_edges) {
    State state = pith_initial(State);
    state.x = I64S(1, 5, 3);
    state.room = room;
    state.max_edges = max_edges;
    return pith_make(s, State, &state, NULL);
}

Test(retry, one_repeat_repairs_all_that_failed) {
    open_all();
    const State *in = make(2, 10);
    calls = 0;
    const State *out = pith_propagate(s, State, &grow_step, in, NULL);
    pt_ok(s, out);
    cr_assert(calls == 2, "%d calls", calls);
    cr_assert(out->room == 8 && out->max_edges == 1024);
    cr_assert(in->room == 2 && in->max_edges == 10, "the input is as it was");
    cr_assert(out->other == in->other && out->x == in->x,
              "what is not concerned is shared");
    const State *ample = pith_propagate(s, State, &grow_step, make(8, 1024), NULL);
    pt_ok(s, ample);
    cr_assert(calls == 3 && pith_tree_equal(s, out, ample),
              "the same bits as with room from the start");
    pt_ok(s);
    close_all();
}

static const State *never(pith_scope *in, const State *state) {
    pith_capacity_require(in,
                          pith_lens_capacity(in, PITH_LENS(State, room), state->room, 2),
                          pith_i64(in, 100));
    pith_capacity_require(
        in,
        pith_capacity_make(in,
                           &(pith_capacity_options){.size = 3, .message = "by design"}),
        pith_i64(in, 4));
    return state;
}
PITH_FUNCTION1(never_step, never, State, State)

Test(retry, a_fixed_one_fails_cleanly) {
    open_all();
    const State *in = make(2, 10), *out = in;
    pt_fails(PITH_E_CAPACITY, s, out = pith_propagate(s, State, &never_step, in, NULL));
    pt_says("fixed capacity is too small: have 3, need 4; by design");
    cr_assert(!pith_is(State, out) && in->room == 2);
    pt_ok(s);
    close_all();
}
