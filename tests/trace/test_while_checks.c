/* Checks that the condition of a while makes, and whiles that end where a check fails:
 * call by call, compiled, and compiled within other loops. */
#include "pith/pith.h"

#include "both.h"

/* x counts to 20; checks fail from bounds on. */
typedef struct {
    const pith_array *x, *in_cond, *in_body;
    bool always; /* of level always */
    bool ends;   /* where a check fails */
} Count;
PITH_NODE(Count,
          PITH_LEAF(x, "i64[]"),
          PITH_LEAF(in_cond, "i64[]"),
          PITH_LEAF(in_body, "i64[]"),
          PITH_STATIC(always),
          PITH_STATIC(ends))

enum { LAST = 20, NEVER = 1000 };

static pith_check_level level_of(const Count *c) {
    return c->always ? PITH_CHECK_ALWAYS : PITH_CHECK_DEBUG;
}

static const pith_array *goes_on(pith_scope *s, const Count *c) {
    pith_check(s, pith_less(s, c->x, c->in_cond), "condition at {x}",
               .args = {{"x", c->x}}, .level = level_of(c));
    return pith_less(s, c->x, pith_i64(s, LAST));
}
static const Count *count_on(pith_scope *s, const Count *c) {
    Count next = *c;
    pith_check(s, pith_less(s, c->x, c->in_body), "body at {x}", .args = {{"x", c->x}},
               .level = level_of(c));
    next.x = pith_add(s, c->x, pith_i64(s, 1));
    return pith_freeze(s, Count, &next);
}
PITH_FUNCTION1(goes_on_test, goes_on, pith_array, Count)
PITH_FUNCTION1(count_on_step, count_on, Count, Count)

static const Count *count(pith_scope *s, const Count *c) {
    return c->ends ? pith_while_passing(s, &goes_on_test, &count_on_step, c)
                   : pith_while(s, &goes_on_test, &count_on_step, c);
}
PITH_FUNCTION1(count_function, count, Count, Count)

/* The same from within a scan of one iteration, in a branch. */
static const Count *leave(pith_scope *s, const Count *c) {
    (void)s;
    return c;
}
PITH_FUNCTION1(leave_function, leave, Count, Count)
static const Count *perhaps(pith_scope *s, const pith_array *i, const Count *c) {
    return pith_cond(s, pith_equal(s, i, pith_i64(s, 3)), &count_function,
                     &leave_function, c);
}
PITH_FUNCTION2(perhaps_step, perhaps, Count, pith_array, Count)
static const Count *within(pith_scope *s, const Count *c) {
    return pith_fori(s, 2, 5, &perhaps_step, c);
}
PITH_FUNCTION1(within_function, within, Count, Count)

static const Count *
start(pith_scope *s, int64_t x, int64_t cond, int64_t body, bool ends) {
    return pith_freeze(s, Count,
                       &(Count){.x = pith_i64(s, x),
                                .in_cond = pith_i64(s, cond),
                                .in_body = pith_i64(s, body),
                                .ends = ends});
}

typedef struct {
    int64_t x, cond, body; /* where it starts, and checks fail from there on */
    int64_t all, ended;    /* the last x, and that of a loop that ends where one fails */
    const char *first;     /* what fails first; NULL: nothing */
} row;
static const row rows[] = {
    {0, NEVER, NEVER, 20, 20, NULL},
    {0, NEVER, 7, 20, 8, "body at 7"},
    {0, 7, NEVER, 20, 7, "condition at 7"},
    {0, 8, 7, 20, 8, "body at 7"},
    {0, 7, 7, 20, 7, "condition at 7"},
    {3, 3, NEVER, 20, 3, "condition at 3"},
    {0, 20, NEVER, 20, 20, "condition at 20"},
    {0, NEVER, 19, 20, 20, "body at 19"},
    {25, NEVER, 7, 25, 25, NULL},
    {25, 7, 7, 25, 25, "condition at 25"},
};

/* The message of what failed first: in the order of time; of a compiled loop's checks,
 * which are one each, the one that names the least x, and the condition's before. */
static const char *first_failure(pith_scope *s, const pith_result *r) {
    const char *first = NULL;
    int64_t least = INT64_MAX;
    for (int64_t k = 0; k < pith_result_failed(s, r); k++) {
        const char *text = pith_assertion_message(s, pith_result_get_failed(s, r, k));
        const int64_t x = 2 * atoll(strrchr(text, ' ') + 1) + (*text == 'b');
        first = x < least ? text : first;
        least = x < least ? x : least;
    }
    return first;
}

static void expect(pith_scope *s, const pith_function *f, const char *how) {
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (int ends = 0; ends < 2; ends++) {
            const row *w = &rows[k];
            const Count *c = start(s, w->x, w->cond, w->body, ends);
            const pith_result *r = pith_as_result(s, f, PITH_ITEMS(c));
            pt_ok(s, r);
            const Count *last = pith_result_value(r);
            const int64_t x = pith_read_i64(s, last->x);
            const char *first = first_failure(s, r);
            cr_assert(x == (ends ? w->ended : w->all), "%s, row %d, %s: %lld", how,
                      (int)k, ends ? "ends" : "all", (long long)x);
            cr_assert(pith_result_all_pass(s, r) == !w->first);
            cr_assert(!ends || pith_result_failed(s, r) == (w->first != NULL),
                      "%s, row %d: consequences are no failures", how, (int)k);
            cr_assert(!w->first == !first && (!first || !strcmp(first, w->first)),
                      "%s, row %d: %s", how, (int)k, first ? first : "all pass");
        }
}

BOTH(while_checks, all_ways_are_the_same) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    expect(s, &count_function, "eager");
    expect(s, &within_function, "eager, within");
    for (int again = 0; again < 2; again++) {
        expect(s, pith_jit(s, &count_function, NULL), "compiled");
        expect(s, pith_jit(s, &within_function, NULL), "compiled, within");
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* Both fail in one iteration, whose condition was looked at first. */
BOTH(while_checks, those_of_the_condition_come_before_those_of_the_body) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    Count c = *start(s, 0, 7, 7, false);
    c.always = true;
    const void *const arguments[] = {pith_freeze(s, Count, &c)};
    for (int way = 0; way < 2; way++) {
        const pith_function *f =
            way ? pith_jit(s, &count_function, NULL) : &count_function;
        const pith_result *r = pith_as_result(s, f, 1, arguments);
        pt_ok(s, r);
        pt_fails(PITH_E_CHECK, s, pith_result_raise(s, r));
        pt_says("condition at 7");
        pt_fails(PITH_E_CHECK, s, (pith_call(s, f, 1, arguments), pith_wait(s)));
        pt_says("condition at 7");
    }
    pith_scope_close(s);
    pt_close(rt);
}

/* A collector around counts what failed before the loop, which ends none. */
BOTH(while_checks, a_loop_ends_for_its_own_checks_alone) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int way = 0; way < 2; way++) {
        const pith_function *f =
            way ? pith_jit(s, &count_function, NULL) : &count_function;
        pith_collect_begin(s);
        pith_check(s, pith_bool(s, false), "before");
        const Count *c = pith_call(s, f, PITH_ITEMS(start(s, 0, NEVER, NEVER, true)));
        pt_ok(s, c);
        const int64_t x = pith_read_i64(s, c->x);
        pith_check(s, pith_bool(s, false), "behind");
        const pith_result *r = pith_collect_end(s, NULL);
        cr_assert(x == LAST, "way %d: %lld", way, (long long)x);
        cr_assert(pith_result_failed(s, r) == 2, "what follows is collected too");
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* Without a collector: nothing, or the error of a check of level always. */
BOTH(while_checks, without_a_collector_checks_of_level_always_count) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int way = 0; way < 4; way++) {
        const pith_function *f =
            way & 1 ? pith_jit(s, &count_function, NULL) : &count_function;
        Count c = *start(s, 0, NEVER, 7, true);
        if (way & 2)
            c.always = true;
        const void *const arguments[] = {pith_freeze(s, Count, &c)};
        if (way & 2) {
            pt_fails(PITH_E_CHECK, s, (pith_call(s, f, 1, arguments), pith_wait(s)));
            pt_says("body at 7");
        } else {
            const Count *last = pith_call(s, f, 1, arguments);
            pt_ok(s, last);
            cr_assert(pith_read_i64(s, last->x) == LAST);
        }
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(while_checks, every_failure_of_memory_is_survived) {
    setenv("PITH_JIT", "off", 1); /* a compiler in the background allocates, too */
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int way = 0; way < 2; way++) {
        bool failed = true;
        long long at = 1;
        for (; failed && at < 5000; at++) {
            pith_scope *inner = pith_scope_open_in(s);
            const Count *c = start(inner, 0, 30, 7, true);
            pith_jit_clear(rt);
            atomic_store(&pt_default_heap.fail_at,
                         atomic_load(&pt_default_heap.allocations) + at);
            const pith_function *f =
                way ? pith_jit(inner, &count_function, NULL) : &count_function;
            const pith_result *r = f ? pith_as_result(inner, f, PITH_ITEMS(c)) : NULL;
            const int64_t x =
                r && !pith_failed(inner)
                    ? pith_read_i64(inner, ((const Count *)pith_result_value(r))->x)
                    : -1;
            failed = pith_failed(inner);
            cr_assert(failed ? pith_code(inner) == PITH_E_MEMORY : x == 8, "%lld: %s", at,
                      pith_message(inner));
            atomic_store(&pt_default_heap.fail_at, 0);
            pith_clear(inner);
            pith_scope_close(inner);
            pith_clear(s);
        }
        cr_assert(!failed);
    }
    pith_scope_close(s);
    pt_close(rt);
}
