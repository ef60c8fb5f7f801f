/* Kernels in batches: results are those of calls, and a report names the entry. */
#include "kernels.h"
#include "vmap_test.h"

static const pith_array *limit(pith_scope *in, const pith_array *x) {
    return pith_launch(in, bound, x, 10.0).next;
}
PITH_FUNCTION1(limit_of, limit, pith_array, pith_array)

Test(vmap_kernels, entries_are_launches_and_reports_name_them, .init = open_scope) {
    const pith_function *all = pith_vmap(s, &limit_of, NULL);
    const pith_array *x = numbers(PITH_SHAPE(4, 2));
    const pith_array *y = pith_apply(s, all, x);
    pith_wait(s);
    pt_ok(s, y);
    for (int64_t i = 0; i < 4; i++)
        same_bits(entry_of(y, i, 0), limit(s, entry_of(x, i, 0)));
    for (int64_t chunk = 0; chunk < 4; chunk++) {
        all = pith_vmap(s, &limit_of, &(pith_vmap_options){.chunk = chunk});
        pith_apply(s, all, pith_mul(s, x, 2.0)); /* ..., [9, 11], [13, 15] */
        pt_fails(PITH_E_CHECK, s, pith_wait(s));
        pt_says("bound: the check at kernels.h:");
        pt_says("first at index 0, greatest need 15"); /* the least index of all */
        pt_says("(entry [3] of a batch)");
    }
    close_scope();
}

/* ---- A capacity that a kernel finds too small ---- */

typedef struct {
    const pith_array *x;
    int64_t room;
} Rows;
PITH_NODE(Rows, PITH_LEAF(x, "i64[n]"), PITH_STATIC(room, .initial = 2))

static const Rows *fill(pith_scope *in, const Rows *rows, const pith_array *shift) {
    pith_capacity_guard(in, pith_lens_capacity(in, PITH_LENS(Rows, room), rows->room, 1),
                        "room");
    const pith_array *made =
        pith_launch(in, rows_of, pith_add(in, rows->x, shift), rows->room).y;
    Rows next = *rows;
    next.x = pith_add(
        in, rows->x,
        pith_mul(in, pith_sum(in, pith_cast(in, made, PITH_I64), PITH_ALL_AXES), 0));
    return pith_freeze(in, Rows, &next);
}
PITH_FUNCTION2(fill_of, fill, Rows, Rows, pith_array)

Test(vmap_kernels, guards_grow_once_for_all_entries, .init = open_scope) {
    const pith_array *x = pith_reshape(s, pith_arange(s, PITH_I64, 6), PITH_SHAPE(3, 2));
    const Rows *from = pith_record(s, Rows, .x = x, .room = 2);
    const pith_function *step =
        pith_partial(s, pith_vmap(s, &fill_of, NULL), PITH_VECTOR(s, i64, 1, 20, 3));
    const Rows *done =
        pith_propagate(s, Rows, step, from, &(pith_propagate_options){.max_tries = 2});
    pt_ok(s, done);
    cr_assert(done->room == 23, "%d", (int)done->room);
    same_bits(done->x, x);
    close_scope();
}
