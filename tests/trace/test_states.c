/* A state that a compiled step replaces again and again, each in a scope of its own: what
 * the result returns of its argument, and what becomes of memory, also where some of it
 * fails. */
#include "array/array_internal.h"
#include "fail_allocator.h"
#include "pith_test.h"

#include <pith/pith.h>
#include <stdlib.h>

typedef struct {
    const void *x, *v; /* lists of one structure */
    const void *fixed; /* returned as it is */
    const pith_array *count;
} Bodies;
PITH_NODE(Bodies, PITH_TREE(x), PITH_TREE(v), PITH_TREE(fixed), PITH_LEAF(count, "i64"))

enum { MANY = 100, SMALL = 8 };

static const pith_array *
sum(pith_scope *in, const pith_array *const *leaves, void *closure) {
    (void)closure;
    return pith_add(in, leaves[0], leaves[1]);
}
static const Bodies *move(pith_scope *in, const Bodies *b) {
    Bodies next = *b;
    next.x = pith_tree_map(in, sum, NULL, PITH_ITEMS(b->x, b->v), NULL);
    next.count = pith_add(in, b->count, pith_i64(in, 1));
    return pith_freeze(in, Bodies, &next);
}
PITH_FUNCTION1(move_step, move, Bodies, Bodies)

static const pith_list *
list_of(pith_scope *in, int64_t leaves, int64_t elements, double first) {
    const void *items[MANY];
    for (int64_t k = 0; k < leaves; k++)
        items[k] =
            pith_full(in, PITH_F64, PITH_SHAPE(elements + k % 2), first + (double)k);
    return pith_list_make(in, leaves, items);
}
/* twice: v and fixed have the same leaves. */
static const Bodies *
bodies_of(pith_scope *in, int64_t leaves, int64_t elements, bool twice) {
    const pith_list *v = list_of(in, leaves, elements, 1);
    const Bodies b = {.x = list_of(in, leaves, elements, 0),
                      .v = v,
                      .fixed = twice ? v : list_of(in, leaves, elements, 1),
                      .count = pith_i64(in, 0)};
    return pith_freeze(in, Bodies, &b);
}
static double first_of(pith_scope *in, const void *list, int64_t leaf) {
    static double values[10001];
    const pith_array *a = pith_child(list, leaf);
    const pith_spec *spec = a ? pith_array_spec(a) : NULL;
    return spec && pith_read(in, a, values, spec->bytes) ? values[spec->count - 1] : -1;
}
static bool is_right(pith_scope *in, const Bodies *b, int64_t leaves, int64_t steps) {
    bool right = b->count && pith_read_f64(in, b->count) == (double)steps;
    for (int64_t k = 0; k < leaves && right; k++)
        right = first_of(in, b->x, k) == (double)(k + steps * (k + 1)) &&
                first_of(in, b->v, k) == (double)(k + 1) &&
                first_of(in, b->fixed, k) == (double)(k + 1);
    return right;
}

static pith_runtime *rt;
static pith_scope *s;
static void begin(void) {
    setenv("PITH_JIT", "wait", 1);
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void end(void) {
    pt_ok(s);
    pith_scope_close(s);
    pith_jit_clear(rt);
    cr_assert(pith_memory_about(rt).live == 0);
    pt_close(rt);
}

/* A number of steps; each state outlives the one before. */
static const Bodies *
run(const pith_function *f, const Bodies *b, pith_scope **state, int64_t steps) {
    for (int64_t k = 0; k < steps; k++) {
        pith_scope *next = pith_scope_open_in(s);
        b = pith_apply(next, f, b);
        pt_ok(next, b);
        pith_scope_close(*state);
        *state = next;
    }
    return b;
}

static void check_states(const pith_function *f, int64_t leaves, int64_t elements) {
    pith_scope *state = pith_scope_open_in(s);
    const Bodies *b = run(f, bodies_of(state, leaves, elements, true), &state, 3);
    const size_t live = pith_memory_about(rt).live;
    b = run(f, b, &state, 20);
    cr_assert(is_right(state, b, leaves, 23));
    cr_assert(pith_memory_about(rt).live == live,
              "a step keeps nothing of those before it");
    for (int64_t k = 0; k < leaves; k++)
        cr_assert(pith_child(b->v, k) == pith_child(b->fixed, k),
                  "what was one array stays one");
    pith_scope_close(state);
}

Test(states, what_is_returned_outlives_its_scope, .init = begin) {
    const pith_function *f = pith_jit(s, &move_step, NULL);
    const int64_t sizes[] = {SMALL, 600, 10000}; /* a block, many, one each */
    for (int k = 0; k < PITHP_COUNT(sizes); k++) {
        check_states(f, 1, sizes[k]);
        check_states(f, sizes[k] == 10000 ? 40 : MANY, sizes[k]);
    }
    end();
}

Test(states, a_small_part_that_is_returned_holds_no_large_block, .init = begin) {
    const pith_function *f = pith_jit(s, &move_step, NULL);
    pith_scope *state = pith_scope_open_in(s);
    const void *all[MANY];
    const pith_list *stacked = list_of(state, MANY, 500, 1);
    for (int k = 0; k < MANY; k++)
        all[k] = pith_child(stacked, k);
    Bodies b = {.x = pith_list_make(state, 2, all),
                .v = pith_list_make(state, 2, all + 2),
                .fixed = pith_list_make(state, 1, all + 7),
                .count = pith_i64(state, 0)};
    const Bodies *made = pith_freeze(state, Bodies, &b);
    made = run(f, made, &state, 2);
    cr_assert(first_of(state, made->fixed, 0) == 8);
    cr_assert(pith_memory_about(rt).live < 3 * 65536, "%zu", pith_memory_about(rt).live);
    pith_scope_close(state);
    end();
}

/* Steps that donate their argument; v and fixed are returned. */
static void check_donated(const pith_function *f, int64_t leaves, int64_t n, bool twice) {
    pith_scope *state = pith_scope_open_in(s);
    const Bodies *b = run(f, bodies_of(state, leaves, n, twice), &state, 2);
    const void *data = pithp_array_buffer(pith_child(b->x, 0))->data;
    const size_t live = pith_memory_about(rt).live;
    for (int i = 0; i < 10; i++) {
        const Bodies *given = b;
        const pith_jit_info before = pith_jit_about(rt);
        pith_scope *next = pith_scope_open_in(s);
        b = pith_apply(next, f, b);
        pt_ok(next, b);
        pith_scope *tried = pith_scope_open_in(next);
        const pith_array *x = pith_child(given->x, leaves - 1);
        pt_fails(PITH_E_DONATED, tried, pith_neg(tried, x));
        pt_fails(PITH_E_DONATED, tried, pith_neg(tried, given->count));
        pt_ok(tried, pith_neg(tried, pith_child(given->v, 0)));
        pith_scope_close(tried);
        const pith_jit_info info = pith_jit_about(rt);
        cr_assert(info.written - before.written == leaves + 1);
        cr_assert(info.donated - before.donated == leaves + 1);
        cr_assert(info.refused - before.refused == 2 * leaves);
        pith_scope_close(state);
        state = next;
    }
    cr_assert(pithp_array_buffer(pith_child(b->x, 0))->data == data);
    cr_assert(is_right(state, b, leaves, 12));
    cr_assert(pith_memory_about(rt).live == live);
    pith_scope_close(state);
}

static const pith_jit_options donating = {.donate_arguments = PITH_ARGUMENT(0)};

Test(states, donated_states_are_written_in_place, .init = begin) {
    const pith_function *f = pith_jit(s, &move_step, &donating);
    for (int twice = 0; twice < 2; twice++) {
        check_donated(f, MANY, SMALL, twice);
        check_donated(f, 10, 10000, twice);
    }
    end();
}

Test(states, what_another_scope_keeps_is_not_written, .init = begin) {
    const pith_function *f = pith_jit(s, &move_step, &donating);
    const int64_t n = 10000; /* a buffer each */
    pith_scope *state = pith_scope_open_in(s);
    const Bodies *b = run(f, bodies_of(state, 6, n, false), &state, 2);
    const pith_array *kept = pith_keep(s, (const pith_array *)pith_child(b->x, 3));
    const pith_jit_info before = pith_jit_about(rt);
    const Bodies *given = b;
    b = pith_apply(state, f, b);
    pt_ok(state, b);
    const pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.written - before.written == 6); /* five of x, and the count */
    pt_ok(state, pith_neg(state, pith_child(given->x, 3)));
    cr_assert(is_right(state, b, 6, 3));
    static double values[10001];
    pt_ok(s, pith_read(s, kept, values, pith_array_spec(kept)->bytes));
    cr_assert(values[0] == 3 + 2 * 4);
    pith_scope_close(state);
    end();
}

/* ---- Memory that fails ---- */

static bool is_step_right(pith_scope *in, const Bodies *b, int64_t steps) {
    return b && b->count && is_right(in, b, 6, steps);
}

/* Three steps, each of which may be tried again from the state that the first try left.
 */
static pith_status some_steps(const pith_open_options *options, bool donate, int64_t n) {
    pith_runtime *own = pith_open(options);
    pith_scope *in = pith_scope_open(own);
    const pith_function *f = NULL;
    const Bodies *b = NULL;
    pith_status code;
    pt_again(in, (f = pith_jit(in, &move_step, donate ? &donating : NULL)) != NULL);
    pt_again(in, (b = bodies_of(in, 6, n, !donate))->count != NULL);
    for (int k = 0; k < 3 && !pith_failed(in); k++) {
        const Bodies *given = b;
        pt_again(in, (b = pith_apply(in, f, given))->count != NULL);
        bool right = false;
        if (!pith_failed(in))
            pt_again(in, (right = is_step_right(in, b, k + 1)));
    }
    code = pith_code(in);
    pith_scope_close(in);
    pith_close(own);
    return code;
}
static pith_status small_steps(const pith_open_options *options) {
    return some_steps(options, false, SMALL);
}
static pith_status small_donating_steps(const pith_open_options *options) {
    return some_steps(options, true, SMALL);
}
static pith_status large_donating_steps(const pith_open_options *options) {
    return some_steps(options, true, 10000);
}

Test(states, a_step_that_fails_leaves_its_state_as_it_was) {
    setenv("PITH_JIT", "off", 1);
    const pt_scenario scenarios[] = {small_steps, small_donating_steps,
                                     large_donating_steps};
    for (int k = 0; k < PITHP_COUNT(scenarios); k++) {
        const pt_failures f = pt_fail_each(scenarios[k]);
        cr_assert(f.allocations > 20, "%d", f.allocations);
    }
}
