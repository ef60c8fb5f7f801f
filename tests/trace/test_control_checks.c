/* Checks in loops of compiled functions: of all iterations the first one that failed is
 * kept, and of needs the greatest. */
#include "pith/pith.h"

#include "both.h"

#define RUNTIME                                                                          \
    pith_runtime *rt = pt_open();                                                        \
    pith_scope *s = pith_scope_open(rt)
#define CLOSE                                                                            \
    pt_ok(s);                                                                            \
    pith_scope_close(s);                                                                 \
    pt_close(rt)

static const pith_array *
checked(pith_scope *s, const pith_array *i, const pith_array *x) {
    const pith_array *y = pith_mul(s, i, x);
    pith_check(s, pith_less(s, y, pith_i64(s, 50)), "{y} of iteration {i}",
               .args = {{"y", y}, {"i", i}}, .code = PITH_E_OVERFLOW);
    return x;
}
PITH_FUNCTION2(checked_body, checked, pith_array, pith_array, pith_array)

static const pith_array *over_ten(pith_scope *s, const pith_array *x) {
    pith_check(s, pith_greater(s, x, pith_i64(s, 0)), "before {x}", .args = {{"x", x}});
    x = pith_fori(s, 0, 10, &checked_body, x);
    pith_check(s, pith_greater(s, x, pith_i64(s, 0)), "behind {x}", .args = {{"x", x}});
    return x;
}
PITH_FUNCTION1(over_ten_function, over_ten, pith_array, pith_array)

static const pith_array *up_to(pith_scope *s, const pith_array *x) {
    return pith_fori_between(s, pith_i64(s, 0), x, &checked_body, x);
}
PITH_FUNCTION1(up_to_function, up_to, pith_array, pith_array)

static const pith_result *run(pith_scope *s, const pith_function *f, int64_t x) {
    const pith_result *r = pith_as_result(s, f, PITH_ITEMS(pith_i64(s, x)));
    pt_ok(s, r);
    return r;
}

static void expect(pith_scope *s, const pith_result *r, int64_t i, const char *text) {
    const char *got = pith_assertion_message(s, pith_result_get(s, r, i));
    cr_assert_str_eq(got, text);
}

BOTH(control_checks, of_iterations_the_first_that_failed_is_kept) {
    RUNTIME;
    const pith_function *f = pith_jit(s, &over_ten_function, NULL);
    const pith_result *r = run(s, f, 5);
    cr_assert(pith_result_all_pass(s, r) && pith_result_count(s, r) == 3);
    expect(s, r, 1, "45 of iteration 9");
    r = run(s, f, 20);
    cr_assert(pith_result_failed(s, r) == 1 && pith_result_count(s, r) == 3);
    expect(s, r, 0, "before 20");
    expect(s, r, 1, "60 of iteration 3");
    expect(s, r, 2, "behind 20");
    cr_assert(pith_assertion_code(pith_result_get(s, r, 1)) == PITH_E_OVERFLOW);
    CLOSE;
}

BOTH(control_checks, loops_with_traced_bounds_carry_them_too) {
    RUNTIME;
    const pith_function *f = pith_jit(s, &up_to_function, NULL);
    cr_assert(pith_result_all_pass(s, run(s, f, 0)), "no iteration");
    cr_assert(pith_result_all_pass(s, run(s, f, 7)));
    const pith_result *r = run(s, f, 9);
    cr_assert(pith_result_failed(s, r) == 1);
    expect(s, r, 0, "54 of iteration 6");
    cr_assert(pith_read_i64(s, pith_result_value(r)) == 9);
    CLOSE;
}

/* ---- Scans, with branches inside ---- */

typedef struct {
    const pith_array *carry, *out;
} Step;
PITH_NODE(Step, PITH_LEAF(carry, "i64"), PITH_LEAF(out, "i64"))

static const pith_array *odd(pith_scope *s, const pith_array *x) {
    pith_check(s, pith_less(s, x, pith_i64(s, 6)), "odd {x}", .args = {{"x", x}});
    return pith_add(s, x, x);
}
PITH_FUNCTION1(odd_function, odd, pith_array, pith_array)

static const pith_array *even(pith_scope *s, const pith_array *x) {
    pith_check(s, pith_less(s, x, pith_i64(s, 100)), "even {x}", .args = {{"x", x}});
    return x;
}
PITH_FUNCTION1(even_function, even, pith_array, pith_array)

static const Step *add_row(pith_scope *s, const pith_array *sum, const pith_array *row) {
    const pith_array *bit = pith_bitwise_and(s, row, pith_i64(s, 1));
    const pith_array *y =
        pith_cond(s, pith_cast(s, bit, PITH_BOOL), &odd_function, &even_function, row);
    sum = pith_add(s, sum, y);
    pith_check(s, pith_less(s, sum, pith_i64(s, 60)), "sum {sum}",
               .args = {{"sum", sum}});
    const Step step = {.carry = sum, .out = y};
    return pith_freeze(s, Step, &step);
}
PITH_FUNCTION2(add_row_step, add_row, Step, pith_array, pith_array)

static const pith_array *scan_rows(pith_scope *s, const pith_array *rows) {
    const void *outs;
    pith_scan(s, &add_row_step, pith_i64(s, 0), rows, &outs, NULL);
    return outs;
}
PITH_FUNCTION1(scan_function, scan_rows, pith_array, pith_array)

BOTH(control_checks, of_branches_in_scans_are_those_of_what_was_taken) {
    RUNTIME;
    const pith_function *f = pith_jit(s, &scan_function, NULL);
    const int64_t rows[] = {1, 2, 7, 200, 9, 4};
    const pith_array *x = pith_array_copy(s, PITH_I64, PITH_SHAPE(6), rows);
    const pith_result *r = pith_as_result(s, f, PITH_ITEMS(x));
    pt_ok(s, r);
    cr_assert(pith_result_count(s, r) == 3 && pith_result_failed(s, r) == 3);
    const char *texts[3];
    for (int i = 0; i < 3; i++)
        texts[i] = pith_assertion_message(s, pith_result_get(s, r, i));
    int found = 0;
    for (int i = 0; i < 3; i++)
        found |= !strcmp(texts[i], "odd 7")      ? 1
                 : !strcmp(texts[i], "even 200") ? 2
                 : !strcmp(texts[i], "sum 218")  ? 4
                                                 : 8;
    cr_assert(found == 7, "%s, %s, %s", texts[0], texts[1], texts[2]);
    int64_t outs[6];
    cr_assert(pith_read(s, pith_result_value(r), outs, sizeof outs));
    cr_assert(outs[0] == 2 && outs[2] == 14 && outs[3] == 200 && outs[5] == 4);
    CLOSE;
}

/* ---- Predicates of any spec ---- */

static const pith_array *four_words(pith_scope *s, const pith_array *x) {
    const pith_array *words = pith_cast(s, pith_arange(s, PITH_I64, 4), PITH_U64);
    pith_check(s, pith_add(s, words, pith_cast(s, x, PITH_U64)), "a zero");
    return x;
}
PITH_FUNCTION1(four_words_function, four_words, pith_array, pith_array)

static const pith_array *perhaps(pith_scope *s, const pith_array *x) {
    return pith_cond(s, pith_greater(s, x, pith_i64(s, 3)), &four_words_function,
                     &even_function, x);
}
PITH_FUNCTION1(perhaps_function, perhaps, pith_array, pith_array)

BOTH(control_checks, a_predicate_that_looks_like_a_report_passes_where_it_is_not_taken) {
    RUNTIME;
    const pith_function *f = pith_jit(s, &perhaps_function, NULL);
    cr_assert(pith_result_all_pass(s, run(s, f, 2)));
    cr_assert(pith_result_all_pass(s, run(s, f, 5)));
    CLOSE;
}

/* ---- Capacities ---- */

typedef struct {
    const pith_array *rows, *sum;
    int64_t room;
} Table;
PITH_NODE(Table,
          PITH_LEAF(rows, "f32[room]"),
          PITH_LEAF(sum, "i64"),
          PITH_STATIC(room, .initial = 10))

static const Table *need_some(pith_scope *s, const pith_array *i, const Table *t) {
    const pith_array *needs =
        pith_array_copy(s, PITH_I64, PITH_SHAPE(3), (const int64_t[]){50, 1000, 60});
    const pith_array *need = pith_take(s, needs, i, NULL);
    pith_capacity_require(s, pith_lens_capacity(s, PITH_LENS(Table, room), t->room, 2),
                          need);
    Table next = *t;
    next.sum = pith_add(s, t->sum, need);
    return pith_freeze(s, Table, &next);
}
PITH_FUNCTION2(need_body, need_some, Table, pith_array, Table)

static const Table *three_needs(pith_scope *s, const Table *t) {
    return pith_fori(s, 0, 3, &need_body, t);
}
PITH_FUNCTION1(needs_step, three_needs, Table, Table)

static int repairs;
static void count_repairs(pith_scope *s, const pith_repair *repair, void *closure) {
    (void)closure;
    repairs++;
    cr_assert_str_eq(pith_assertion_message(s, repair->assertion),
                     "capacity is too small: have 10, need 1000, new 1024");
}

BOTH(control_checks, needs_of_all_iterations_are_repaired_at_once) {
    RUNTIME;
    const pith_function *f = pith_jit(s, &needs_step, NULL);
    const Table *t = pith_make(s, Table, NULL, NULL);
    repairs = 0;
    const Table *done = pith_propagate(
        s, Table, f, t, &(pith_propagate_options){.repaired = count_repairs});
    pt_ok(s, done);
    cr_assert(done->room == 1024 && repairs == 1, "%lld after %d repairs",
              (long long)done->room, repairs);
    cr_assert(pith_read_i64(s, done->sum) == 1110);
    pt_fails(PITH_E_CAPACITY, s, (pith_apply(s, f, t), pith_wait(s)));
    pt_says(".room: capacity is too small: have 10, need 50, new 64");
    CLOSE;
}

Test(control_checks, every_failure_of_memory_is_survived) {
    setenv("PITH_JIT", "off", 0); /* a compiler in the background allocates, too */
    RUNTIME;
    bool failed = true;
    for (long long at = 1; failed && at < 3000; at++) {
        pith_scope *inner = pith_scope_open_in(s);
        const pith_array *x = pith_i64(inner, 20);
        pith_jit_clear(rt);
        const long long now = atomic_load(&pt_default_heap.allocations);
        atomic_store(&pt_default_heap.fail_at, now + at);
        const pith_function *f = pith_jit(inner, &over_ten_function, NULL);
        const pith_result *r = f ? pith_as_result(inner, f, PITH_ITEMS(x)) : NULL;
        const int64_t count = r ? pith_result_count(inner, r) : -1;
        failed = pith_failed(inner);
        cr_assert(failed || (count == 3 && !pith_result_all_pass(inner, r)));
        atomic_store(&pt_default_heap.fail_at, 0);
        pith_clear(inner);
        pith_scope_close(inner);
        pith_clear(s);
    }
    cr_assert(!failed);
    CLOSE;
}
