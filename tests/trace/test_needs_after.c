/* What checks find in results of a loop or a branch of which a need failed does not
 * count: a second loop over one set starts from what the first one lost. */
#include "pith/pith.h"

#include "both.h"

enum { TIMES = 40 };
#include "needs_set.h"

static void need_room(pith_scope *s, const Set *in, const pith_array *n) {
    pith_capacity_require(s, room_of(s, in), n);
}
static void need_width(pith_scope *s, const Set *in, const pith_array *n) {
    pith_capacity_require(s, pith_lens_capacity(s, PITH_LENS(Set, width), in->width, 2),
                          n);
}

static const Set *fill(pith_scope *s, const Set *in) {
    return pith_fori(s, 0, TIMES, &insert_body, in);
}
PITH_FUNCTION1(fill_function, fill, Set, Set)

static const Set *leave(pith_scope *s, const Set *in) {
    (void)s;
    return in;
}
PITH_FUNCTION1(leave_function, leave, Set, Set)

typedef struct {
    const Set *carry;
    const pith_array *out;
} Row;
PITH_NODE(Row, PITH_CHILD(carry, Set), PITH_LEAF(out, "i64[]"))
static const Row *insert_row(pith_scope *s, const Set *in, const pith_array *i) {
    const Row row = {.carry = insert(s, i, in), .out = i};
    return pith_freeze(s, Row, &row);
}
PITH_FUNCTION2(insert_row_body, insert_row, Row, Set, pith_array)
static const Set *fill_by_scan(pith_scope *s, const Set *in) {
    return pith_scan(s, &insert_row_body, in, pith_arange(s, PITH_I64, TIMES), NULL,
                     NULL);
}

static const Set *fill_by_while(pith_scope *s, const pith_function *cond, const Set *in) {
    return while_from(s, cond, &count_on_body, in);
}

/* ---- Steps: each needs room for MOST numbers, and begins with less ---- */

static const Set *two_foris(pith_scope *s, const Set *in) {
    return fill(s, fill(s, in));
}
static const Set *two_scans(pith_scope *s, const Set *in) {
    return fill_by_scan(s, fill_by_scan(s, in));
}
static const Set *two_whiles(pith_scope *s, const Set *in) {
    return fill_by_while(s, &fits_test, fill_by_while(s, &is_below_test, in));
}
static const Set *three_loops(pith_scope *s, const Set *in) {
    return fill(s, fill_by_scan(s, fill_by_while(s, &fits_test, in)));
}

/* In the straight, of what a loop gave: twice what is in the set, less MOST. */
static const Set *then_straight(pith_scope *s, const Set *in) {
    const Set *next = fill(s, in);
    need_room(s, in, pith_sub(s, pith_add(s, next->n, next->n), pith_i64(s, MOST)));
    return next;
}

static const Set *branch_then_loop(pith_scope *s, const Set *in) {
    const pith_array *yes = pith_less_equal(s, in->n, pith_i64(s, MOST));
    return fill(s, pith_cond(s, yes, &fill_function, &leave_function, in));
}

/* Both loops in each iteration of a third one. */
static const Set *twice(pith_scope *s, const pith_array *i, const Set *in) {
    (void)i;
    return two_foris(s, in);
}
PITH_FUNCTION2(twice_body, twice, Set, pith_array, Set)
static const Set *nested(pith_scope *s, const Set *in) {
    return pith_fori(s, 0, 3, &twice_body, in);
}

/* Compiled functions in a step that runs call by call, and in one that is compiled. */
static const Set *two_compiled(pith_scope *s, const Set *in) {
    const pith_function *compiled = pith_jit(s, &fill_function, NULL);
    return pith_call(s, compiled, PITH_ITEMS(pith_call(s, compiled, PITH_ITEMS(in))));
}

/* A check without a fix that only a set which lost data fails: behind the loop, in a
 * second one, and in the loop itself. */
static void is_small(pith_scope *s, const Set *set) {
    pith_check(s, pith_less_equal(s, set->n, pith_i64(s, MOST)), "there are {n} numbers",
               .args = {{"n", set->n}});
}
static const Set *checked_behind(pith_scope *s, const Set *in) {
    const Set *next = fill(s, in);
    is_small(s, next);
    return next;
}
static const Set *insert_checked(pith_scope *s, const pith_array *i, const Set *in) {
    const Set *next = insert(s, i, in);
    is_small(s, next);
    return next;
}
PITH_FUNCTION2(insert_checked_body, insert_checked, Set, pith_array, Set)
static const Set *checked_inside(pith_scope *s, const Set *in) {
    return pith_fori(s, 0, TIMES, &insert_checked_body, in);
}
static const Set *checked_second(pith_scope *s, const Set *in) {
    return checked_inside(s, fill(s, in));
}

#define STEP(name) PITH_FUNCTION1(name##_step, name, Set, Set)
STEP(two_foris)
STEP(two_scans)
STEP(two_whiles)
STEP(three_loops)
STEP(then_straight)
STEP(branch_then_loop)
STEP(nested)
STEP(two_compiled)
STEP(checked_behind)
STEP(checked_inside)
STEP(checked_second)

/* ---- What is repaired ---- */

typedef struct {
    char text[400];
} repairs;

static void note(pith_scope *s, const pith_repair *repair, void *closure) {
    repairs *r = closure;
    const size_t at = strlen(r->text);
    const char *text = pith_assertion_message(s, repair->assertion);
    snprintf(r->text + at, sizeof r->text - at, "%d%s %s; ", (int)repair->repeat,
             pith_assertion_path(repair->assertion), strstr(text, "have"));
}

static const Set *propagate(pith_scope *s, const pith_function *f, repairs *got) {
    *got = (repairs){""};
    const Set *done =
        pith_propagate(s, Set, f, pith_make(s, Set, NULL, NULL),
                       &(pith_propagate_options){.repaired = note, .closure = got});
    pt_ok(s, done);
    return done;
}

BOTH(needs_after, a_loop_or_branch_that_failed_do_not_count) {
    static const pith_function *const steps[] = {
        &two_foris_step,      &two_scans_step,      &two_whiles_step,
        &three_loops_step,    &then_straight_step,  &branch_then_loop_step,
        &nested_step,         &two_compiled_step,   &checked_behind_step,
        &checked_inside_step, &checked_second_step,
    };
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        const Set *done[2];
        for (int way = 0; way < 2; way++) {
            repairs got;
            done[way] = propagate(s, way ? pith_jit(s, steps[k], NULL) : steps[k], &got);
            cr_assert_str_eq(got.text, "1.room have 4, need 5, new 8; ", "%s%s: %s",
                             steps[k]->name, way ? ", compiled" : "", got.text);
            cr_assert(done[way]->room == MOST && done[way]->width == 10 &&
                      pith_read_i64(s, done[way]->n) == MOST);
        }
        cr_assert(pith_tree_equal(s, done[0], done[1]), "%s", steps[k]->name);
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* The table has to do with the set only once its needs are met. */
static const Set *of_both(pith_scope *s, const Set *in) {
    const Set *next = fill(s, in);
    need_width(s, in, pith_add(s, next->n, pith_i64(s, 20)));
    return next;
}
STEP(of_both)
/* Nothing to do with it at all. */
static const Set *of_neither(pith_scope *s, const Set *in) {
    const Set *next = fill(s, in);
    need_width(s, in, pith_i64(s, 100));
    return next;
}
STEP(of_neither)
/* Of what the loop carries and hands on. */
static const Set *of_handed_on(pith_scope *s, const Set *in) {
    const Set *next = fill(s, in);
    const pith_array *sum =
        pith_sum(s, pith_cast(s, next->table, PITH_I64), PITH_ALL_AXES);
    need_width(s, in, pith_add(s, sum, pith_i64(s, 100)));
    return next;
}
STEP(of_handed_on)

/* Call by call nothing is known of what depends on what: what comes behind a loop that
 * failed is repaired after it. */
BOTH(needs_after, of_other_capacities_count_where_they_do_not_depend_on_it) {
    static const struct {
        const pith_function *step;
        const char *eager, *compiled;
    } steps[] = {{&of_both_step,
                  "1.room have 4, need 5, new 8; 2.width have 10, need 28, new 32; ",
                  "1.room have 4, need 5, new 8; 2.width have 10, need 28, new 32; "},
                 {&of_neither_step,
                  "1.room have 4, need 5, new 8; 2.width have 10, need 100, new 128; ",
                  "1.room have 4, need 5, new 8; 1.width have 10, need 100, new 128; "},
                 {&of_handed_on_step,
                  "1.room have 4, need 5, new 8; 2.width have 10, need 100, new 128; ",
                  "1.room have 4, need 5, new 8; 1.width have 10, need 100, new 128; "}};
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        repairs got;
        const Set *a = propagate(s, steps[k].step, &got);
        cr_assert_str_eq(got.text, steps[k].eager, "%s", got.text);
        const Set *b = propagate(s, pith_jit(s, steps[k].step, NULL), &got);
        cr_assert_str_eq(got.text, steps[k].compiled, "%s", got.text);
        cr_assert(pith_tree_equal(s, a, b));
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* Many loops in one step, each over a set of its own. */
enum { SETS = 70 };
static const void *many(pith_scope *s, const void *sets) {
    const void *next[SETS];
    for (int k = 0; k < SETS; k++)
        next[k] = fill(s, fill(s, pith_child(sets, k)));
    return pith_tuple_make(s, SETS, next);
}
PITH_FUNCTION1(many_function, many, void, void)

Test(needs_after, of_many_loops_are_those_of_each) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *sets[SETS];
    for (int k = 0; k < SETS; k++)
        sets[k] = pith_make(s, Set, NULL, NULL);
    const void *all = pith_tuple_make(s, SETS, sets);
    const pith_result *r = pith_as_result(s, pith_jit(s, &many_function, NULL), 1, &all);
    pt_ok(s, r);
    cr_assert(pith_result_count(s, r) == 2 * SETS && pith_result_failed(s, r) == SETS,
              "%lld fail", (long long)pith_result_failed(s, r));
    pith_scope_close(s);
    pt_close(rt);
}

Test(needs_after, every_failure_of_memory_is_survived) {
    setenv("PITH_JIT", "off", 1); /* a compiler in the background allocates, too */
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    bool failed = true;
    for (long long at = 1; failed; at += 7) {
        pith_scope *inner = pith_scope_open_in(s);
        const Set *in = pith_make(inner, Set, NULL, NULL), *out = NULL;
        pith_jit_clear(rt);
        atomic_store(&pt_default_heap.fail_at,
                     atomic_load(&pt_default_heap.allocations) + at);
        const pith_function *f = pith_jit(inner, &nested_step, NULL);
        const pith_result *r = f ? pith_as_result(inner, f, PITH_ITEMS(in)) : NULL;
        if (r)
            out = pith_result_fix_or_raise(inner, r, in);
        failed = pith_failed(inner);
        cr_assert(failed ? pith_code(inner) == PITH_E_MEMORY : out->room == MOST,
                  "%lld: %s", at, pith_message(inner));
        atomic_store(&pt_default_heap.fail_at, 0);
        pith_clear(inner);
        pith_scope_close(inner);
        pith_clear(s);
    }
    pith_scope_close(s);
    pt_close(rt);
}
