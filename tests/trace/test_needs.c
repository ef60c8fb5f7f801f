/* Which needs of capacities in loops count. A need that depends on the carry counts up to
 * and including the first iteration that failed, as later ones run on a state that lost
 * data; a need of the row and of constants alone counts over all iterations. Call by call
 * those of the first iteration that failed count. */
#include "pith/pith.h"

#include "both.h"

#ifndef PT_USUAL_DEVICE /* kernels run on the host here */
#    define WITH_KERNELS 1
#    include "kernels.h"
#endif

enum { TIMES = 200, INNER = 20, MOST_REPAIRS = 32 };
#include "needs_set.h"

/* ---- Loops over i = 0, 1, ... TIMES - 1 ---- */

static const Set *in_fori(pith_scope *s, const Set *in) {
    return pith_fori(s, 0, TIMES, &insert_body, in);
}

static const Set *in_between(pith_scope *s, const Set *in) {
    const pith_array *none = pith_sub(s, in->n, in->n);
    return pith_fori_between(s, none, pith_add(s, none, pith_i64(s, TIMES)), &insert_body,
                             in);
}

static const Set *in_while(pith_scope *s, const Set *in) {
    return while_from(s, &is_below_test, &count_on_body, in);
}

static const Counted *count_bare(pith_scope *s, const Counted *c) {
    const Set set = inserted(s, c->i, c->set);
    const Counted next = {.i = pith_add(s, c->i, pith_i64(s, 1)),
                          .set = pith_freeze(s, Set, &set)};
    return pith_freeze(s, Counted, &next);
}
PITH_FUNCTION1(count_bare_body, count_bare, Counted, Counted)
static const Set *in_condition(pith_scope *s, const Set *in) {
    return while_from(s, &fits_test, &count_bare_body, in);
}
/* Both make it. */
static const Set *in_both(pith_scope *s, const Set *in) {
    return while_from(s, &fits_test, &count_on_body, in);
}

/* Ten times twenty. */
static const Set *
insert_later(pith_scope *s, const pith_array *i, const Set *in, const pith_array *from) {
    return insert(s, pith_add(s, i, from), in);
}
PITH_FUNCTION3(insert_later_body, insert_later, Set, pith_array, Set, pith_array)
static const Set *twenty(pith_scope *s, const pith_array *i, const Set *in) {
    const pith_array *from = pith_mul(s, i, pith_i64(s, INNER));
    return pith_fori(s, 0, INNER, pith_partial(s, &insert_later_body, from), in);
}
PITH_FUNCTION2(twenty_body, twenty, Set, pith_array, Set)
static const Set *in_nested(pith_scope *s, const Set *in) {
    return pith_fori(s, 0, TIMES / INNER, &twenty_body, in);
}

/* Only where the number is new, in a branch and in a compiled function. */
static const Set *insert_new(pith_scope *s, const Counted *c) {
    return insert(s, c->i, c->set);
}
static const Set *leave(pith_scope *s, const Counted *c) {
    (void)s;
    return c->set;
}
PITH_FUNCTION1(insert_new_function, insert_new, Set, Counted)
PITH_FUNCTION1(leave_function, leave, Set, Counted)
static const Set *perhaps(pith_scope *s, const pith_array *i, const Set *in) {
    const pith_array *value = pith_remainder(s, i, pith_i64(s, MOST));
    const pith_array *known = pith_any(s, pith_equal(s, in->x, value), PITH_ALL_AXES);
    const Counted c = {.i = i, .set = in};
    const pith_function *compiled = pith_jit(s, &insert_new_function, NULL);
    return pith_cond(s, known, &leave_function, compiled, pith_freeze(s, Counted, &c));
}
PITH_FUNCTION2(perhaps_body, perhaps, Set, pith_array, Set)
static const Set *in_branch(pith_scope *s, const Set *in) {
    return pith_fori(s, 0, TIMES, &perhaps_body, in);
}

#ifdef WITH_KERNELS
/* A kernel finds the need. */
static const Set *launch(pith_scope *s, const pith_array *i, const Set *in) {
    Set next = inserted(s, i, in);
    pith_capacity_guard(s, room_of(s, in), "room");
    const pith_array *rows =
        pith_launch(s, rows_of, pith_reshape(s, next.n, PITH_SHAPE(1)), in->room).y;
    const pith_array *sum = pith_sum(s, pith_cast(s, rows, PITH_I64), PITH_ALL_AXES);
    next.n = pith_maximum(s, next.n, sum);
    return pith_freeze(s, Set, &next);
}
PITH_FUNCTION2(launch_body, launch, Set, pith_array, Set)
static const Set *in_kernel(pith_scope *s, const Set *in) {
    return pith_fori(s, 0, TIMES, &launch_body, in);
}
PITH_FUNCTION1(in_kernel_step, in_kernel, Set, Set)
#endif

PITH_FUNCTION1(in_fori_step, in_fori, Set, Set)
PITH_FUNCTION1(in_between_step, in_between, Set, Set)
PITH_FUNCTION1(in_while_step, in_while, Set, Set)
PITH_FUNCTION1(in_condition_step, in_condition, Set, Set)
PITH_FUNCTION1(in_both_step, in_both, Set, Set)
PITH_FUNCTION1(in_nested_step, in_nested, Set, Set)
PITH_FUNCTION1(in_branch_step, in_branch, Set, Set)

/* ---- What is expected ---- */

typedef struct {
    int count;
    char text[MOST_REPAIRS][100];
} repairs;

static void add_repair(repairs *r, int64_t have, int64_t need, int64_t grown) {
    cr_assert(r->count < MOST_REPAIRS);
    snprintf(r->text[r->count++], sizeof r->text[0], "have %lld, need %lld, new %lld",
             (long long)have, (long long)need, (long long)grown);
}

/* The smallest power of base that suffices, or what is needed. */
static int64_t grown(int64_t need, int64_t base) {
    int64_t size = 1;
    while (base > 1 && size < need)
        size *= base;
    return base > 1 ? size : need;
}

/* Numbers that are inserted until the set has no room; 0: all fit. */
static int64_t need_of(int64_t room) {
    bool known[MOST] = {false};
    int64_t n = 0;
    for (int i = 0; i < TIMES && n <= room; i++) {
        n += !known[i % MOST];
        known[i % MOST] = true;
    }
    return n > room ? n : 0;
}

static repairs expected_of(int64_t room, int64_t base) {
    repairs r = {0};
    for (int64_t need; (need = need_of(room)); room = grown(need, base))
        add_repair(&r, room, need, grown(need, base));
    return r;
}

static void note(pith_scope *s, const pith_repair *repair, void *closure) {
    const char *text = pith_assertion_message(s, repair->assertion);
    long long have, need, size = 0;
    const char *at = strstr(text, "have ");
    cr_assert(at && sscanf(at, "have %lld, need %lld", &have, &need) == 2, "%s", text);
    const Set *after = repair->after;
    size = !strcmp(pith_assertion_path(repair->assertion), ".width") ? after->width
                                                                     : after->room;
    add_repair(closure, have, need, size);
}

static void compare(const repairs *got, const repairs *want, const char *how) {
    for (int k = 0; k < got->count && k < want->count; k++)
        cr_assert_str_eq(got->text[k], want->text[k], "%s, repair %d: %s, expected %s",
                         how, k, got->text[k], want->text[k]);
    cr_assert(got->count == want->count, "%s: %d repairs, expected %d", how, got->count,
              want->count);
}

static const Set *start(pith_scope *s, int64_t room, int64_t width, int64_t base) {
    Set set = pith_initial(Set);
    set.room = room;
    set.width = width;
    set.base = base;
    return pith_make(s, Set, &set, NULL);
}

static const Set *
propagate(pith_scope *s, const pith_function *f, const Set *from, repairs *got) {
    *got = (repairs){0};
    const Set *done =
        pith_propagate(s, Set, f, from,
                       &(pith_propagate_options){
                           .repaired = note, .closure = got, .max_tries = MOST_REPAIRS});
    pt_ok(s, done);
    return done;
}

/* ---- Needs that depend on the carry ---- */

static void
grows_to_fit(pith_scope *s, const pith_function *f, bool any_base, const char *how) {
    const int64_t first_base = any_base ? 1 : 2, last_base = any_base ? 3 : 2;
    for (int64_t base = first_base; base <= last_base; base++) {
        repairs got;
        const repairs want = expected_of(4, base);
        const Set *done = propagate(s, f, start(s, 4, 10, base), &got);
        compare(&got, &want, how);
        cr_assert(pith_read_i64(s, done->n) == MOST);
        const Set *ample = propagate(s, f, start(s, done->room, 10, base), &got);
        cr_assert(got.count == 0 && pith_tree_equal(s, done, ample),
                  "%s: the same as with room from the start", how);
    }
}

BOTH(needs, of_a_carry_count_up_to_the_first_iteration_that_failed) {
    static const struct {
        const char *name;
        const pith_function *step;
    } loops[] = {
        {"fori", &in_fori_step},     {"fori_between", &in_between_step},
        {"while", &in_while_step},   {"condition", &in_condition_step},
        {"both", &in_both_step},     {"nested", &in_nested_step},
        {"branch", &in_branch_step},
#ifdef WITH_KERNELS
        {"kernel", &in_kernel_step},
#endif
    };
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
        char how[64];
        snprintf(how, sizeof how, "%s, call by call", loops[k].name);
        grows_to_fit(s, loops[k].step, k == 0, how);
        snprintf(how, sizeof how, "%s, compiled", loops[k].name);
        grows_to_fit(s, pith_jit(s, loops[k].step, NULL), k == 0, how);
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Needs of rows ---- */

/* A need of the row alone: 40, 990 and 60 for three rows, and 10 else. */
static void need_width(pith_scope *s, const pith_array *i, const Set *in) {
    const pith_array *needs =
        pith_array_copy(s, PITH_I64, PITH_SHAPE(3), (const int64_t[]){30, 980, 50});
    const pith_array *is = pith_equal(
        s, i,
        pith_array_copy(s, PITH_I64, PITH_SHAPE(3), (const int64_t[]){2, 100, 180}));
    const pith_array *need =
        pith_sum(s, pith_mul(s, needs, pith_cast(s, is, PITH_I64)), PITH_ALL_AXES);
    pith_capacity_require(
        s, pith_lens_capacity(s, PITH_LENS(Set, width), in->width, (double)in->base),
        pith_add(s, need, pith_i64(s, 10)));
}

static const Set *need_both(pith_scope *s, const pith_array *i, const Set *in) {
    need_width(s, i, in);
    return insert(s, i, in);
}
PITH_FUNCTION2(need_both_body, need_both, Set, pith_array, Set)

typedef struct {
    const Set *carry;
    const pith_array *out;
} Row;
PITH_NODE(Row, PITH_CHILD(carry, Set), PITH_LEAF(out, "i64[]"))
static const Row *need_row(pith_scope *s, const Set *in, const pith_array *i) {
    const Row row = {.carry = need_both(s, i, in), .out = i};
    return pith_freeze(s, Row, &row);
}
PITH_FUNCTION2(need_row_body, need_row, Row, Set, pith_array)

static const Set *rows_of_fori(pith_scope *s, const Set *in) {
    return pith_fori(s, 0, TIMES, &need_both_body, in);
}
static const Set *rows_between(pith_scope *s, const Set *in) {
    const pith_array *none = pith_sub(s, in->n, in->n);
    return pith_fori_between(s, none, pith_add(s, none, pith_i64(s, TIMES)),
                             &need_both_body, in);
}
static const Set *rows_of_scan(pith_scope *s, const Set *in) {
    return pith_scan(s, &need_row_body, in, pith_arange(s, PITH_I64, TIMES), NULL, NULL);
}

/* An inner loop asks for the rows, in a branch that is taken where i is even. */
static const Set *
need_inner(pith_scope *s, const pith_array *j, const Set *in, const pith_array *from) {
    return need_both(s, pith_add(s, j, from), in);
}
PITH_FUNCTION3(need_inner_body, need_inner, Set, pith_array, Set, pith_array)
static const Set *need_twenty(pith_scope *s, const Counted *c) {
    const pith_array *from = pith_mul(s, c->i, pith_i64(s, INNER));
    return pith_fori(s, 0, INNER, pith_partial(s, &need_inner_body, from), c->set);
}
PITH_FUNCTION1(need_twenty_function, need_twenty, Set, Counted)
static const Set *need_outer(pith_scope *s, const pith_array *i, const Set *in) {
    const Counted c = {.i = i, .set = in};
    return pith_cond(s, pith_less(s, i, pith_i64(s, 10)), &need_twenty_function,
                     &leave_function, pith_freeze(s, Counted, &c));
}
PITH_FUNCTION2(need_outer_body, need_outer, Set, pith_array, Set)
static const Set *rows_of_nested(pith_scope *s, const Set *in) {
    return pith_fori(s, 0, 12, &need_outer_body, in);
}

PITH_FUNCTION1(rows_of_fori_step, rows_of_fori, Set, Set)
PITH_FUNCTION1(rows_between_step, rows_between, Set, Set)
PITH_FUNCTION1(rows_of_scan_step, rows_of_scan, Set, Set)
PITH_FUNCTION1(rows_of_nested_step, rows_of_nested, Set, Set)

/* Compiled, the greatest need of all rows is repaired at once; that of the set is not
 * seen before, as the carry counts up to the first row that failed. Call by call each
 * repair is that of the first iteration that failed. */
BOTH(needs, of_rows_count_over_all_iterations) {
    static const pith_function *const steps[] = {
        &rows_of_fori_step, &rows_between_step, &rows_of_scan_step, &rows_of_nested_step};
    repairs compiled = {0}, eager = {0}, got;
    add_repair(&compiled, 10, 990, 1024);
    add_repair(&compiled, 4, 5, 8);
    add_repair(&eager, 10, 40, 64);
    add_repair(&eager, 4, 5, 8);
    add_repair(&eager, 64, 990, 1024);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        const Set *from = start(s, 4, 10, 2);
        const Set *a = propagate(s, steps[k], from, &got);
        compare(&got, &eager, steps[k]->name);
        const Set *b = propagate(s, pith_jit(s, steps[k], NULL), from, &got);
        compare(&got, &compiled, steps[k]->name);
        cr_assert(a->room == MOST && a->width == 1024 && pith_tree_equal(s, a, b));
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- What follows from a failure ---- */

/* More than 20 numbers are an error, and no capacity grows. */
static const Set *insert_few(pith_scope *s, const pith_array *i, const Set *in) {
    const Set *next = insert(s, i, in);
    pith_capacity_require(
        s,
        pith_capacity_make(
            s, &(pith_capacity_options){.size = 20, .message = "the set is small"}),
        next->n);
    return next;
}
PITH_FUNCTION2(insert_few_body, insert_few, Set, pith_array, Set)
static const Set *few(pith_scope *s, const Set *in) {
    return pith_fori(s, 0, TIMES, &insert_few_body, in);
}
PITH_FUNCTION1(few_step, few, Set, Set)

BOTH(needs, that_do_not_count_do_not_fail) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int way = 0; way < 2; way++) {
        repairs got;
        const repairs want = expected_of(4, 2);
        const pith_function *f = way ? pith_jit(s, &few_step, NULL) : &few_step;
        const Set *done = propagate(s, f, start(s, 4, 10, 2), &got);
        compare(&got, &want, way ? "compiled" : "call by call");
        cr_assert(done->room == MOST);
        const Set *full = start(s, 4, 10, 2);
        Set many = *full;
        many.n = pith_i64(s, 30);
        const void *const given[] = {pith_freeze(s, Set, &many)};
        pt_fails(PITH_E_CAPACITY, s,
                 pith_result_fix_or_raise(s, pith_as_result(s, f, 1, given), full));
        pt_says("fixed capacity is too small: have 20, need 31; the set is small");
    }
    pith_scope_close(s);
    pt_close(rt);
}

/* A caller repairs within the iterations of a loop: what counts is what was collected. */
static const Set *repair_one(pith_scope *s, const pith_array *i, const Set *in) {
    (void)i;
    const Set *small = start(s, 4, 10, 2);
    const pith_result *r = pith_as_result(s, &in_fori_step, PITH_ITEMS(small));
    const Set *fixed = pith_result_fix_or_raise(s, r, small);
    cr_assert(fixed->room == MOST, "%lld", (long long)fixed->room);
    Set next = *in;
    next.n = pith_add(s, in->n, pith_i64(s, 1));
    return pith_freeze(s, Set, &next);
}
PITH_FUNCTION2(repair_one_body, repair_one, Set, pith_array, Set)
static const Set *repair_each(pith_scope *s, const Set *in) {
    return pith_fori(s, 0, 3, &repair_one_body, in);
}
PITH_FUNCTION1(repair_each_step, repair_each, Set, Set)

BOTH(needs, of_loops_around_a_collector_do_not_matter_to_it) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const Set *from = start(s, 4, 10, 2);
    const Set *alone = pith_call(s, &repair_each_step, PITH_ITEMS(from));
    pt_ok(s, alone);
    cr_assert(pith_read_i64(s, alone->n) == 3);
    const pith_result *r = pith_as_result(s, &repair_each_step, PITH_ITEMS(from));
    pt_ok(s, r);
    const Set *fixed = pith_result_fix_or_raise(s, r, from);
    cr_assert(fixed->room == MOST, "%lld", (long long)fixed->room);
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* Steps of a run in loops that pith builds. */
BOTH(needs, of_runs_are_the_same_in_one_launch) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int64_t steps = 1; steps <= 4; steps *= 2) {
        repairs got = {0};
        const repairs want = expected_of(4, 2);
        const Set *done =
            pith_run(s, Set, pith_jit(s, &in_fori_step, NULL), start(s, 4, 10, 2),
                     &(pith_run_options){.steps = 8,
                                         .steps_per_launch = steps,
                                         .repaired = note,
                                         .closure = &got});
        pt_ok(s, done);
        compare(&got, &want, "run");
        cr_assert(done->room == MOST && pith_read_i64(s, done->n) == MOST);
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

Test(needs, every_failure_of_memory_is_survived) {
    setenv("PITH_JIT", "off", 1); /* a compiler in the background allocates, too */
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int way = 0; way < 4; way++) {
        const pith_function *step = way & 2 ? &in_both_step : &in_fori_step;
        bool failed = true;
        for (long long at = 1; failed; at += way & 1 ? 7 : 211) {
            pith_scope *inner = pith_scope_open_in(s);
            const Set *in = start(inner, 4, 10, 2), *out = NULL;
            pith_jit_clear(rt);
            atomic_store(&pt_default_heap.fail_at,
                         atomic_load(&pt_default_heap.allocations) + at);
            const pith_function *f = way & 1 ? pith_jit(inner, step, NULL) : step;
            const pith_result *r = f ? pith_as_result(inner, f, PITH_ITEMS(in)) : NULL;
            if (r)
                out = pith_result_fix_or_raise(inner, r, in);
            failed = pith_failed(inner);
            cr_assert(failed ? pith_code(inner) == PITH_E_MEMORY : out->room == MOST,
                      "way %d, %lld: %s", way, at, pith_message(inner));
            atomic_store(&pt_default_heap.fail_at, 0);
            pith_clear(inner);
            pith_scope_close(inner);
            pith_clear(s);
        }
    }
    pith_scope_close(s);
    pt_close(rt);
}
