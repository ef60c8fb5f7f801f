/* Checks of batches: one assertion each, whose first failing index tells the entry, with
 * the arguments of that entry, and needs that one retry repairs. */
#include "fail_allocator.h"
#include "vmap_test.h"

/* ---- Values of entries ---- */

static const pith_array *root(pith_scope *in, const pith_array *x, const pith_array *id) {
    pith_check(in, pith_greater_equal(in, x, 0), "entry {id} has {x}",
               .args = {{"id", id}, {"x", x}}, .level = PITH_CHECK_ALWAYS);
    return pith_sqrt(in, pith_abs(in, x));
}
PITH_FUNCTION2(root_of, root, pith_array, pith_array, pith_array)

static const pith_result *
collect(const pith_function *f, const pith_array *x, const pith_array *y) {
    const pith_result *r = pith_as_result(s, f, PITH_ITEMS(x, y));
    pt_ok(s, r);
    return r;
}

static int64_t first_extent(const pith_array *a) {
    return pith_array_spec(a)->rank ? pith_array_spec(a)->shape[0] : -1;
}

Test(vmap_checks, are_one_with_the_first_failing_entry, .init = open_scope) {
    const pith_function *all = pith_vmap(s, &root_of, NULL);
    const pith_array *id = PITH_VECTOR(s, i64, 10, 11, 12, 13);
    for (int again = 0; again < 2; again++) {
        const pith_result *r = collect(all, PITH_VECTOR(s, f64, 1, 2, -3, -4), id);
        cr_assert(pith_result_count(s, r) == 1 && pith_result_failed(s, r) == 1);
        const pith_assertion *a = pith_result_get_failed(s, r, 0);
        cr_assert(pith_assertion_first(a) == 2);
        cr_assert_str_eq(pith_assertion_message(s, a),
                         "entry 12 has -3.0 (first failing index [2])");
        cr_assert(first_extent(pith_assertion_predicate(s, a)) == 4);
        cr_assert(pith_read_i64(s, pith_assertion_arg(s, a, "id")) == 12);

        r = collect(all, PITH_VECTOR(s, f64, 1, 2, 3, 4), id); /* another run passes */
        cr_assert(pith_result_all_pass(s, r) && pith_result_count(s, r) == 1);
        a = pith_result_get(s, r, 0);
        cr_assert(pith_assertion_passed(a) && pith_assertion_first(a) == -1);
        cr_assert(first_extent(pith_assertion_predicate(s, a)) == 4);
    }
    close_scope();
}

Test(vmap_checks, without_a_collector_are_errors, .init = open_scope) {
    const pith_function *all = pith_vmap(s, &root_of, NULL);
    const pith_array *id = PITH_VECTOR(s, i64, 7, 8);
    pt_ok(s, pith_apply(s, all, PITH_VECTOR(s, f64, 1, 2), id));
    pith_apply(s, all, PITH_VECTOR(s, f64, 1, -2), id);
    pt_fails(PITH_E_CHECK, s, pith_wait(s));
    pt_says("entry 8 has -2.0 (first failing index [1])");
    pt_says("test_vmap_checks.c:");
    close_scope();
}

Test(vmap_checks, predicates_of_shared_values_are_as_alone, .init = open_scope) {
    const pith_vmap_options o = {.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED})};
    const pith_result *r =
        collect(pith_vmap(s, &root_of, &o), pith_f64(s, -5), PITH_VECTOR(s, i64, 3, 4));
    cr_assert_str_eq(pith_assertion_message(s, pith_result_get_failed(s, r, 0)),
                     "entry 3 has -5.0");
    close_scope();
}

Test(vmap_checks, of_no_entries_pass, .init = open_scope) {
    const pith_array *none = pith_zeros(s, PITH_F64, PITH_SHAPE(0));
    const pith_function *all = pith_vmap(s, &root_of, NULL);
    const pith_result *r = collect(all, none, none);
    cr_assert(pith_result_all_pass(s, r) && pith_result_count(s, r) == 1);
    const pith_array *one = pith_zeros(s, PITH_F64, PITH_SHAPE(1));
    cr_assert(pith_result_all_pass(s, collect(all, one, one)));
    r = collect(all, pith_sub(s, one, 1.0), one);
    cr_assert_str_eq(pith_assertion_message(s, pith_result_get_failed(s, r, 0)),
                     "entry 0.0 has -1.0");
    close_scope();
}

/* ---- Elements of entries, and batches in batches ---- */

static const pith_array *
positive(pith_scope *in, const pith_array *x, const pith_array *id) {
    pith_check(in, pith_greater(in, x, 0), "entry {id}", .args = {{"id", id}});
    return x;
}
PITH_FUNCTION2(positive_of, positive, pith_array, pith_array, pith_array)

Test(vmap_checks, the_index_tells_entry_and_element, .init = open_scope) {
    const pith_array *x =
        pith_reshape(s, PITH_VECTOR(s, f64, 1, 2, 3, 4, -5, -6), PITH_SHAPE(2, 3));
    const pith_array *id = PITH_VECTOR(s, i64, 7, 8);
    const pith_result *r = collect(pith_vmap(s, &positive_of, NULL), x, id);
    cr_assert_str_eq(pith_assertion_message(s, pith_result_get_failed(s, r, 0)),
                     "entry 8 (first failing index [1, 1])");
    /* entries of entries */
    const pith_function *twice = pith_vmap(s, pith_vmap(s, &positive_of, NULL), NULL);
    const pith_array *ids =
        pith_reshape(s, pith_arange(s, PITH_I64, 6), PITH_SHAPE(2, 3));
    r = collect(twice, x, ids);
    cr_assert(pith_result_count(s, r) == 1);
    cr_assert_str_eq(pith_assertion_message(s, pith_result_get_failed(s, r, 0)),
                     "entry 4 (first failing index [1, 1])");
    r = collect(twice, pith_neg(s, x), ids);
    cr_assert_str_eq(pith_assertion_message(s, pith_result_get_failed(s, r, 0)),
                     "entry 0 (first failing index [0, 0])");
    cr_assert(pith_result_all_pass(s, collect(twice, pith_abs(s, x), ids)));
    close_scope();
}

/* ---- Needs ---- */

typedef struct {
    const pith_array *x;
    int64_t room, other;
} Buffer;
PITH_NODE(Buffer,
          PITH_LEAF(x, "f64[room]"),
          PITH_STATIC(room, .initial = 2),
          PITH_STATIC(other, .initial = 2))

/* The needs of an entry are its n, and n + 1. */
static const Buffer *demand(pith_scope *in, const Buffer *buffer, const pith_array *n) {
    pith_capacity_require(
        in, pith_lens_capacity(in, PITH_LENS(Buffer, room), buffer->room, 1), n);
    pith_capacity_require(
        in, pith_lens_capacity(in, PITH_LENS(Buffer, other), buffer->other, 2),
        pith_add(in, n, 1));
    return buffer;
}
PITH_FUNCTION2(demand_of, demand, Buffer, Buffer, pith_array)

static int repairs;
static void count_repair(pith_scope *in, const pith_repair *repair, void *closure) {
    (void)in, (void)repair, (void)closure;
    repairs++;
}

Test(vmap_checks, needs_of_all_entries_are_repaired_by_one_retry, .init = open_scope) {
    const pith_array *needs = PITH_VECTOR(s, i64, 1, 50, 1000, 60);
    const pith_vmap_options o = {.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED}),
                                 .out = PITH_MAPPED({"", PITH_NOT_MAPPED})};
    const pith_function *step = pith_partial(s, pith_vmap(s, &demand_of, &o), needs);
    const Buffer initial = pith_initial(Buffer);
    const Buffer *from = pith_make(s, Buffer, &initial, NULL);
    const pith_propagate_options retry = {.repaired = count_repair, .max_tries = 2};
    const Buffer *done = pith_propagate(s, Buffer, step, from, &retry);
    pt_ok(s, done);
    cr_assert(done->room == 1000 && done->other == 1024, "%d, %d", (int)done->room,
              (int)done->other);
    cr_assert(repairs == 2, "%d", repairs);
    close_scope();
}

/* A fix that asks for the first failure gets that of the first failing entry. */
static const Buffer *
set_other(pith_scope *in, const Buffer *buffer, const pith_array *n) {
    Buffer next = *buffer;
    next.other = pith_read_i64(in, n);
    return pith_freeze(in, Buffer, &next);
}
PITH_FUNCTION2(set_other_of, set_other, Buffer, Buffer, pith_array)
static const Buffer *wish(pith_scope *in, const Buffer *buffer, const pith_array *n) {
    pith_check(in, pith_less_equal(in, n, buffer->other), "{n} is too much",
               .args = {{"n", n}}, .fix = &set_other_of, .fix_args = n);
    return buffer;
}
PITH_FUNCTION2(wish_of, wish, Buffer, Buffer, pith_array)

Test(vmap_checks, fixes_get_what_the_first_failing_entry_has, .init = open_scope) {
    const pith_vmap_options o = {.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED}),
                                 .out = PITH_MAPPED({"", PITH_NOT_MAPPED})};
    const pith_function *step =
        pith_partial(s, pith_vmap(s, &wish_of, &o), PITH_VECTOR(s, i64, 1, 5, 3, 9));
    const Buffer initial = pith_initial(Buffer);
    const Buffer *from = pith_make(s, Buffer, &initial, NULL);
    const pith_result *r = pith_as_result(s, step, PITH_ITEMS(from));
    const Buffer *fixed = pith_result_fix_or_raise(s, r, from);
    pt_ok(s, fixed);
    cr_assert(fixed->other == 5, "%d", (int)fixed->other);
    const Buffer *done = pith_propagate(s, Buffer, step, from, NULL);
    pt_ok(s, done);
    cr_assert(done->other == 9);
    close_scope();
}

static const pith_array *
guarded(pith_scope *in, const pith_array *x, const pith_array *id) {
    const pith_array *same = positive(in, x, id);
    return pith_where(in, pith_check_all(in), same, -1.0);
}
PITH_FUNCTION2(guarded_of, guarded, pith_array, pith_array, pith_array)

Test(vmap_checks, the_conjunction_is_that_of_the_entry, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 5, -6, 7),
                     *id = PITH_VECTOR(s, i64, 1, 2, 3);
    const pith_result *r = collect(pith_vmap(s, &guarded_of, NULL), x, id);
    same_bits(pith_result_value(r), PITH_VECTOR(s, f64, 5, -1, 7));
    cr_assert(pith_result_failed(s, r) == 1);
    close_scope();
}

/* ---- In branches and loops ---- */

static const pith_array *negated(pith_scope *in, const pith_array *x) {
    pith_check(in, pith_less(in, x, 5.0), "{x} is large", .args = {{"x", x}});
    return pith_neg(in, x);
}
static const pith_array *kept(pith_scope *in, const pith_array *x) {
    pith_check(in, pith_less(in, x, 100.0), "{x} is very large", .args = {{"x", x}});
    return x;
}
PITH_FUNCTION1(negated_of, negated, pith_array, pith_array)
PITH_FUNCTION1(kept_of, kept, pith_array, pith_array)
static const pith_array *
choose(pith_scope *in, const pith_array *x, const pith_array *flag) {
    return pith_cond(in, flag, &negated_of, &kept_of, x);
}
PITH_FUNCTION2(choose_of, choose, pith_array, pith_array, pith_array)

Test(vmap_checks, branches_that_an_entry_does_not_take_pass, .init = open_scope) {
    const pith_function *all = pith_vmap(s, &choose_of, NULL);
    const pith_array *flags = PITH_VECTOR(s, bool, true, false, true);
    const pith_result *r = collect(all, PITH_VECTOR(s, f64, 1, 50, 2), flags);
    cr_assert(pith_result_all_pass(s, r) && pith_result_count(s, r) == 2);
    r = collect(all, PITH_VECTOR(s, f64, 1, 500, 20), flags);
    cr_assert(pith_result_failed(s, r) == 2, "%d", (int)pith_result_failed(s, r));
    static const char *const texts[] = {"500.0 is very large (first failing index [1])",
                                        "20.0 is large (first failing index [2])"};
    for (int k = 0; k < 2; k++)
        cr_assert_str_eq(pith_assertion_message(s, pith_result_get_failed(s, r, k)),
                         texts[k]);
    close_scope();
}

/* x doubles until it passes the limit; no iteration should exceed 10. */
static const pith_array *
is_low(pith_scope *in, const pith_array *x, const pith_array *limit) {
    return pith_less(in, x, limit);
}
PITH_FUNCTION2(is_low_of, is_low, pith_array, pith_array, pith_array)
static const pith_array *rise(pith_scope *in, const pith_array *x) {
    const pith_array *next = pith_mul(in, x, 2.0);
    pith_check(in, pith_less(in, next, 10.0), "x becomes {x}", .args = {{"x", next}});
    return next;
}
PITH_FUNCTION1(rise_of, rise, pith_array, pith_array)
static const pith_array *
climb(pith_scope *in, const pith_array *x, const pith_array *limit) {
    return pith_while(in, pith_partial(in, &is_low_of, limit), &rise_of, x);
}
PITH_FUNCTION2(climb_of, climb, pith_array, pith_array, pith_array)

Test(vmap_checks, iterations_after_an_entry_ended_pass, .init = open_scope) {
    const pith_function *all = pith_vmap(s, &climb_of, NULL);
    const pith_array *x = PITH_VECTOR(s, f64, 3, 6, 0.001);
    /* entries 0 and 1 end long before the last one */
    const pith_result *r = collect(all, x, PITH_VECTOR(s, f64, 4, 5, 4));
    cr_assert(pith_result_all_pass(s, r) && pith_result_count(s, r) == 1);
    /* the first failure of the first entry that fails */
    r = collect(all, x, PITH_VECTOR(s, f64, 4, 100, 9));
    cr_assert_str_eq(pith_assertion_message(s, pith_result_get_failed(s, r, 0)),
                     "x becomes 12.0 (first failing index [1])");
    close_scope();
}

/* A loop in which needs grow: 1, 2, ... n. */
static const pith_array *
need(pith_scope *in, const pith_array *i, const pith_array *sum, const Buffer *buffer) {
    const pith_array *n = pith_add(in, i, 1);
    pith_capacity_require(
        in, pith_lens_capacity(in, PITH_LENS(Buffer, room), buffer->room, 1), n);
    return pith_add(in, sum, n);
}
PITH_FUNCTION3(need_of, need, pith_array, pith_array, pith_array, Buffer)
static const Buffer *count_up(pith_scope *in, const Buffer *buffer, const pith_array *n) {
    const pith_array *zero = pith_i64(in, 0);
    const pith_array *sum =
        pith_fori_between(in, zero, n, pith_partial(in, &need_of, buffer), zero);
    pith_check(in, pith_less(in, sum, 1000), "a consequence: {sum}",
               .args = {{"sum", sum}});
    return buffer;
}
PITH_FUNCTION2(count_up_of, count_up, Buffer, Buffer, pith_array)

Test(vmap_checks, needs_of_loops_are_the_greatest_over_entries, .init = open_scope) {
    const pith_vmap_options o = {.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED}),
                                 .out = PITH_MAPPED({"", PITH_NOT_MAPPED})};
    const Buffer initial = pith_initial(Buffer);
    const Buffer *from = pith_make(s, Buffer, &initial, NULL);
    const pith_function *step =
        pith_partial(s, pith_vmap(s, &count_up_of, &o), PITH_VECTOR(s, i64, 1, 7, 30, 4));
    repairs = 0;
    const Buffer *done = pith_propagate(
        s, Buffer, step, from, &(pith_propagate_options){.repaired = count_repair});
    pt_ok(s, done);
    cr_assert(done->room == 30 && repairs == 1, "%d, %d", (int)done->room, repairs);
    close_scope();
}

/* Later results of a loop that ran out of room are consequences, also outside of the
 * batch: they are no errors, and the step is repaired. */
static const pith_array *
fill_up(pith_scope *in, const Buffer *buffer, const pith_array *n) {
    const pith_array *zero = pith_i64(in, 0);
    return pith_fori_between(in, zero, n, pith_partial(in, &need_of, buffer), zero);
}
PITH_FUNCTION2(fill_up_of, fill_up, pith_array, Buffer, pith_array)
static int64_t chunk_of_fills;
static const Buffer *
fill_all(pith_scope *in, const Buffer *buffer, const pith_array *needs) {
    const pith_vmap_options o = {.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED}),
                                 .chunk = chunk_of_fills};
    const pith_array *sums =
        pith_call(in, pith_vmap(in, &fill_up_of, &o), PITH_ITEMS(buffer, needs));
    pith_check(in, pith_less(in, sums, buffer->room * buffer->room),
               "a consequence: {sums}", .args = {{"sums", sums}});
    return buffer;
}
PITH_FUNCTION2(fill_all_of, fill_all, Buffer, Buffer, pith_array)

Test(vmap_checks, consequences_outside_of_the_batch_are_no_errors, .init = open_scope) {
    for (chunk_of_fills = 0; chunk_of_fills < 4; chunk_of_fills++) {
        const Buffer initial = pith_initial(Buffer);
        const Buffer *from = pith_make(s, Buffer, &initial, NULL);
        const pith_function *step =
            pith_partial(s, &fill_all_of, PITH_VECTOR(s, i64, 1, 7, 30, 4));
        const Buffer *done =
            pith_propagate(s, Buffer, pith_jit(s, step, NULL), from, NULL);
        pt_ok(s, done);
        cr_assert(done->room == 30, "%d", (int)done->room);
        close_scope(); /* the bound is part of the program */
        open_scope();
    }
    close_scope();
}

/* ---- Reports ---- */

static const pith_array *
pick(pith_scope *in, const pith_array *x, const pith_array *index) {
    return pith_take(in, x, index, &(pith_take_options){.mode = PITH_INDEX_ERROR});
}
PITH_FUNCTION2(pick_of, pick, pith_array, pith_array, pith_array)

Test(vmap_checks, reports_of_indices_name_the_entry, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3, 4));
    const pith_array *index =
        pith_reshape(s, PITH_VECTOR(s, i64, 0, 3, 1, 2, 7, 9), PITH_SHAPE(3, 2));
    const pith_function *all = pith_vmap(s, &pick_of, NULL);
    const pith_array *fine = pith_remainder(s, index, 4);
    const pith_array *y = pith_apply(s, all, x, fine);
    pith_wait(s);
    pt_ok(s);
    for (int64_t i = 0; i < 3; i++)
        same_bits(entry_of(y, i, 0), pick(s, entry_of(x, i, 0), entry_of(fine, i, 0)));
    pith_apply(s, all, x, index);
    pt_fails(PITH_E_INDEX, s, pith_wait(s));
    pt_says("7");
    pt_says("(entry [2] of a batch)");
    /* collected, and of a batch of batches */
    const pith_function *twice = pith_vmap(
        s, all, &(pith_vmap_options){.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED})});
    const pith_array *both[] = {fine, index};
    const pith_result *r = collect(twice, x, pith_stack(s, 2, both, 0));
    cr_assert(pith_result_failed(s, r) == 1);
    const char *text = pith_assertion_message(s, pith_result_get_failed(s, r, 0));
    cr_assert(strstr(text, "(entry [1, 2] of a batch)"), "%s", text);
    close_scope();
}

/* ---- Memory ---- */

static pith_status scenario(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_function *all = NULL;
    if (!pith_failed(s))
        pt_again(s, (all = pith_vmap(s, &positive_of, NULL)) != NULL);
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, -3),
                     *id = PITH_VECTOR(s, i64, 4, 5, 6);
    const pith_result *r = NULL;
    if (!pith_failed(s) && all)
        pt_again(s, (r = pith_as_result(s, all, PITH_ITEMS(x, id))) != NULL);
    if (!pith_failed(s) && r) {
        const pith_assertion *a = pith_result_get_failed(s, r, 0);
        if (!pith_failed(s))
            cr_assert(pith_assertion_first(a) == 2);
    }
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(vmap_checks, every_allocation_may_fail) {
    const pt_failures f = pt_fail_each(scenario);
    cr_assert(f.allocations > 20 && f.errors > 10, "%d of %d", f.errors, f.allocations);
}
