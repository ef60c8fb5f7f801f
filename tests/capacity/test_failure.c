/* Capacities where memory is short, anywhere. */
#include "fail_allocator.h"
#include "kernels.h"
#include "pith_test.h"

#include <pith/pith.h>

typedef struct {
    const pith_array *x, *rows, *wide;
    int64_t room, width;
} Table;
PITH_NODE(Table,
          PITH_LEAF(x, "i64[n]"),
          PITH_LEAF(rows, "i32[n,room]"),
          PITH_LEAF(wide, "f32[width]"),
          PITH_STATIC(room, .initial = 2),
          PITH_STATIC(width, .initial = 3))

static const Table *step(pith_scope *s, const Table *t) {
    pith_scope *child = pith_scope_open_in(s);
    if (pith_failed(child)) /* no memory for a child: otherwise unreported */
        pith_fail(s, pith_code(child), NULL, "no scope");
    const pith_lens *both = pith_lens_merge(
        child, PITH_LENSES(PITH_LENS(Table, room), PITH_LENS(Table, width)));
    const pith_capacity *sizes =
        pith_capacity_make(child, &(pith_capacity_options){PITH_SIZES(t->room, t->width),
                                                           .lens = both, .base = 2});
    pith_capacity_require(
        child,
        pith_capacity_make(child, &(pith_capacity_options){.from = sizes, .factor = 2}),
        t->x);
    pith_capacity_guard(
        child, pith_lens_capacity(child, PITH_LENS(Table, room), t->room, 2), "room");
    pith_scope_close(child); /* before anybody asks what was wrong */
    Table next = *t;
    next.rows = pith_launch(s, rows_of, t->x, t->room).y;
    return pith_freeze(s, Table, &next);
}
PITH_FUNCTION1(table_step, step, Table, Table)

static const Table *make(pith_scope *s) {
    const int64_t needs[] = {9, 10};
    Table t = pith_initial(Table);
    t.x = pith_array_copy(s, PITH_I64, PITH_SHAPE(2), needs);
    return pith_failed(s) ? NULL : pith_make(s, Table, &t, NULL);
}

static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    const Table *in = NULL, *out = NULL;
    const pith_result *r = NULL;
    const pith_capacity *c = NULL;
    pt_again(s, (in = make(s)) && pith_is(Table, in));
    if (!pith_failed(s))
        pt_again(s, r = pith_as_result(s, &table_step, PITH_ITEMS(in)));
    if (!pith_failed(s))
        pt_again(s, pith_result_failed(s, r) == 2);
    if (!pith_failed(s))
        pt_again(s, pith_assertion_message(s, pith_result_get_failed(s, r, 0)));
    if (!pith_failed(s))
        pt_again(s, pith_is(Table, out = pith_result_fix_or_raise(s, r, in)));
    if (!pith_failed(s))
        cr_assert(out->room == 16 && out->width == 8);
    if (!pith_failed(s))
        pt_again(s, c = pith_capacity_make(s, &(pith_capacity_options){
                                                  PITH_SIZES(1, 2), .message = "text"}));
    if (!pith_failed(s)) {
        pith_capacity_require(s, c, in->x);
        if (!pith_failed(s))
            pith_wait(s);
        cr_assert(pith_code(s) == PITH_E_CAPACITY || pith_code(s) == PITH_E_MEMORY);
        if (pith_code(s) == PITH_E_CAPACITY)
            pith_clear(s);
    }
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(capacity_failure, memory_may_be_short_anywhere) {
    const pt_failures f = pt_fail_each(scenario);
    cr_assert(f.allocations > 5 && f.errors > 0, "%d, %d", f.allocations, f.errors);
}

Test(capacity_failure, memory_may_be_short_anywhere_deferred) {
    setenv("PITH_HOST_ASYNC", "1", 1);
    const pt_failures f = pt_fail_each(scenario);
    cr_assert(f.allocations > 5 && f.errors > 0, "%d, %d", f.allocations, f.errors);
}
