/* Guards: what kernels find too small repairs itself. */
#include "capacity_test.h"
#include "kernels.h"

typedef struct {
    const pith_array *x, *rows;
    int64_t room;
} Table;
PITH_NODE(Table,
          PITH_LEAF(x, "i64[n]"),
          PITH_LEAF(rows, "i32[n,room]"),
          PITH_STATIC(room, .initial = 2))

static const Table *table(void) {
    Table t = pith_initial(Table);
    t.x = I64S(1, 5, 3);
    return pith_make(s, Table, &t, NULL);
}

static const pith_capacity *of_room(pith_scope *in, const Table *t) {
    return pith_lens_capacity(in, PITH_LENS(Table, room), t->room, 2);
}

static const Table *launch(pith_scope *in, const Table *t) {
    Table next = *t;
    next.rows = pith_launch(in, rows_of, t->x, t->room).y;
    return pith_freeze(in, Table, &next);
}
static const Table *fill_rows(pith_scope *in, const Table *t) {
    pith_capacity_guard(in, of_room(in, t), "room");
    return launch(in, t);
}
PITH_FUNCTION1(guarded_step, fill_rows, Table, Table)
PITH_FUNCTION1(bare_step, launch, Table, Table)

static const pith_result *collect(const pith_function *f, const void *state) {
    const pith_result *r = pith_as_result(s, f, PITH_ITEMS(state));
    pt_ok(s, r);
    return r;
}

Test(guard, repairs_what_a_kernel_finds_too_small) {
    open_all();
    const Table *in = table();
    const pith_result *r = collect(&guarded_step, in);
    cr_assert(pith_result_failed(s, r) == 1);
    const pith_assertion *a = pith_result_get_failed(s, r, 0);
    cr_assert(pith_assertion_code(a) == PITH_E_CAPACITY && pith_assertion_fixable(a));
    cr_assert_str_eq(pith_assertion_path(a), ".room");
    const char *text = pith_assertion_message(s, a);
    cr_assert(strstr(text, "rows_of: room of y[n,room] is too small: have 2, need 5"),
              "%s", text);
    const Table *out = pith_result_fix_or_raise(s, r, in);
    pt_ok(s, out);
    cr_assert(out->room == 8 && pith_array_spec(out->rows)->shape[1] == 8);
    const pith_result *again = collect(&guarded_step, out);
    cr_assert(pith_result_all_pass(s, again));
    const Table *done = pith_result_value(again);
    int32_t rows[24];
    cr_assert(pith_read(s, done->rows, rows, sizeof rows) && rows[0] == 1 &&
              rows[1] == 0 && rows[12] == 1 && rows[13] == 0);
    pt_fails(PITH_E_CAPACITY, s, pith_result_raise(s, r));
    cr_assert_str_eq(pt_error.path, ".room");
    pt_ok(s);
    close_all();
}

Test(guard, repairs_compiled_functions_too) {
    open_all();
    const Table *in = table();
    const pith_function *f = pith_jit(s, &guarded_step, NULL);
    for (int k = 0; k < 2; k++) { /* the second one is replayed */
        const pith_result *want = collect(&guarded_step, in), *got = collect(f, in);
        cr_assert(pith_result_count(s, got) == pith_result_count(s, want));
        const pith_assertion *a = pith_result_get_failed(s, want, 0),
                             *b = pith_result_get_failed(s, got, 0);
        cr_assert_str_eq(pith_assertion_message(s, a), pith_assertion_message(s, b));
        cr_assert_str_eq(pith_assertion_path(b), ".room");
        const Table *out = pith_result_fix_or_raise(s, got, in);
        pt_ok(s, out);
        cr_assert(out->room == 8);
    }
    const Table *done = pith_propagate(s, Table, f, in, NULL);
    const Table *same = pith_propagate(s, Table, &guarded_step, in, NULL);
    pt_ok(s, done);
    cr_assert(done->room == 8 && pith_tree_equal(s, done, same));
    pt_fails(PITH_E_CAPACITY, s, (pith_apply(s, f, in), pith_wait(s)));
    close_all();
}

typedef struct {
    const Table *left, *right;
} Whole;
PITH_NODE(Whole, PITH_CHILD(left, Table), PITH_CHILD(right, Table))

static const Table *require_six(pith_scope *in, const Table *t) {
    pith_capacity_require(in, of_room(in, t), pith_max(in, t->x, PITH_ALL_AXES));
    return fill_rows(in, t);
}
PITH_FUNCTION1(require_step, require_six, Table, Table)

static const Whole *on_right(pith_scope *in, const Whole *w) {
    return pith_at_lens(in, PITH_LENS(Whole, right), &require_step, w);
}
PITH_FUNCTION1(on_right_step, on_right, Whole, Whole)

Test(guard, of_a_part_repairs_the_whole_of_compiled_functions) {
    open_all();
    const Whole both = {.left = table(), .right = table()};
    const Whole *w = pith_freeze(s, Whole, &both);
    const pith_function *f = pith_jit(s, &on_right_step, NULL);
    const pith_result *want = collect(&on_right_step, w), *got = collect(f, w);
    cr_assert(pith_result_failed(s, want) == 2 && pith_result_failed(s, got) == 2);
    for (int64_t i = 0; i < 2; i++) {
        const pith_assertion *a = pith_result_get_failed(s, want, i),
                             *b = pith_result_get_failed(s, got, i);
        cr_assert_str_eq(pith_assertion_message(s, b), pith_assertion_message(s, a));
        cr_assert_str_eq(pith_assertion_path(b), pith_assertion_path(a));
        cr_assert_str_eq(pith_assertion_path(b), ".right.room");
    }
    const Whole *fixed = pith_result_fix_or_raise(s, got, w);
    pt_ok(s, fixed);
    cr_assert(fixed->left == w->left && fixed->right->room == 8);
    const Whole *done = pith_propagate(s, Whole, f, w, NULL);
    pt_ok(s, done);
    cr_assert(done->right->room == 8 && done->left->room == 2);
    close_all();
}

Test(guard, without_one_there_is_no_fix) {
    open_all();
    const Table *in = table();
    const pith_result *r = collect(&bare_step, in);
    cr_assert(pith_result_failed(s, r) == 1 &&
              !pith_assertion_fixable(pith_result_get_failed(s, r, 0)));
    pt_fails(PITH_E_CAPACITY, s, pith_result_fix_or_raise(s, r, in));
    close_all();
}

static const Table *guard_others(pith_scope *in, const Table *t) {
    pith_capacity_guard(in, pith_lens_capacity(in, PITH_LENS(Table, room), t->room, 10),
                        "room");
    pith_capacity_guard(in, of_room(in, t), "width");
    return launch(in, t);
}
PITH_FUNCTION1(other_step, guard_others, Table, Table)
static const Table *guard_fixed(pith_scope *in, const Table *t) {
    pith_capacity_guard(in, of_room(in, t), "room");
    pith_capacity_guard(
        in, pith_capacity_make(in, &(pith_capacity_options){.size = t->room}), "room");
    return launch(in, t);
}
PITH_FUNCTION1(fixed_step, guard_fixed, Table, Table)

Test(guard, the_latest_of_a_name_counts) {
    open_all();
    const Table *in = table();
    const Table *out = pith_result_fix_or_raise(s, collect(&other_step, in), in);
    pt_ok(s, out);
    cr_assert(out->room == 10, "by its own base");
    pt_fails(PITH_E_CAPACITY, s,
             pith_result_fix_or_raise(s, collect(&fixed_step, in), in));
    close_all();
}

Test(guard, ends_with_its_collection) {
    open_all();
    const Table *in = table();
    pith_collect_begin(s);
    pith_capacity_guard(s, of_room(s, in), "room");
    pith_collect_end(s, NULL);
    const pith_result *r = collect(&bare_step, in);
    cr_assert(!pith_assertion_fixable(pith_result_get_failed(s, r, 0)));
    pith_capacity_guard(s, of_room(s, in), "room"); /* no collector */
    pith_launch(s, rows_of, in->x, in->room);
    pt_fails(PITH_E_CAPACITY, s, pith_wait(s));
    pt_says("rows_of: room of y[n,room] is too small: have 2, need 5");
    pt_fails(PITH_E_ARG, s, pith_capacity_guard(s, of_room(s, in), NULL));
    pt_fails(PITH_E_ARG, s,
             pith_capacity_guard(
                 s, pith_capacity_make(s, &(pith_capacity_options){PITH_SIZES(1, 2)}),
                 "room"));
    close_all();
}

Test(guard, counts_in_the_audit) {
    open_all();
    Table t = *table();
    t.x = I64S(1, 1, 1);
    const Table *in = pith_freeze(s, Table, &t); /* nothing fails */
    int64_t count = -1;
    pt_ok(s, pith_capacity_audit(s, &guarded_step, in, &count));
    cr_assert(count == 0);
    pt_ok(s, pith_capacity_audit(s, &bare_step, in, &count));
    cr_assert(count == 1);
    close_all();
}
