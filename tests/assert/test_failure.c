/* Assertions where memory is short, and in several threads. */
#include "assert_test.h"
#include "fail_allocator.h"

#include <pthread.h>

static const pith_array *many_checks(pith_scope *s, const pith_array *x) {
    pith_scope *child = pith_scope_open_in(s);
    if (pith_failed(child)) /* otherwise unreported */
        pith_fail(s, pith_code(child), NULL, "%s", pith_message(child));
    for (int i = 0; i < 40; i++)
        pith_check(child, not_negative(child, x), "{x} {t}", .args = {{"x", x}},
                   .info = {{"t", "a text"}}, .fix = &sqrt_step,
                   .fix_args = i % 7 ? NULL : pith_i64(child, i));
    pith_scope_close(child);
    return pith_check_all(s);
}
PITH_FUNCTION1(many_step, many_checks, pith_array, pith_array)

static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = NULL, *wide = NULL;
    const pith_result *r = NULL, *outer = NULL;
    pt_again(s, x = pith_f64(s, -4));
    pt_again(s, wide = pith_full(s, PITH_F64, PITH_SHAPE(20), -1));
    if (x && wide) {
        pith_check(s, not_negative(s, wide), "{x}", .args = {{"x", wide}},
                   .level = PITH_CHECK_ALWAYS);
        if (!pith_failed(s)) {
            pith_wait(s);
            cr_assert(pith_code(s) == PITH_E_CHECK || pith_code(s) == PITH_E_MEMORY);
            if (pith_code(s) == PITH_E_CHECK)
                pith_clear(s);
        }
        if (!pith_failed(s)) {
            pith_collect_begin(s);
            pt_again(s, r = pith_as_result(s, &many_step, ARGS(x)));
            pt_again(s, outer = pith_collect_end(s, NULL));
        }
        if (r && !pith_failed(s)) {
            int64_t failed = 0;
            pt_again(s, (failed = pith_result_failed(s, r)) >= 0);
            cr_assert(failed == 40 || pith_failed(s), "%lld", (long long)failed);
            pt_again(s, pith_assertion_message(s, pith_result_get(s, r, 39)));
        }
    }
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(assert_failure, memory_may_be_short_anywhere) {
    const pt_failures f = pt_fail_each(scenario);
    cr_assert(f.allocations > 5 && f.errors > 0, "%d, %d", f.allocations, f.errors);
}

Test(assert_failure, memory_may_be_short_anywhere_deferred) {
    setenv("PITH_HOST_ASYNC", "1", 1);
    const pt_failures f = pt_fail_each(scenario);
    cr_assert(f.allocations > 5 && f.errors > 0, "%d, %d", f.allocations, f.errors);
}

enum { THREADS = 4, ROUNDS = 200 };

static void *work(void *closure) {
    pith_runtime *rt = closure;
    for (int i = 0; i < ROUNDS; i++) {
        pith_scope *s = pith_scope_open(rt);
        const pith_array *x = pith_f64(s, i % 2 ? -1 : 1);
        const pith_result *r = pith_as_result(s, &sqrt_step, ARGS(x));
        pt_ok(s, r);
        cr_assert(pith_result_all_pass(s, r) == (i % 2 == 0));
        cr_assert(pith_result_failed(s, r) == i % 2);
        if (i % 2)
            cr_assert_str_eq(pith_assertion_message(s, pith_result_get(s, r, 0)),
                             "cannot take the root of -1.0");
        pith_scope_close(s);
    }
    return NULL;
}

BOTH(assert_failure, threads_collect_in_scopes_of_their_own) {
    pith_runtime *rt = pt_open();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert(pthread_create(&threads[i], NULL, work, rt) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pt_close(rt);
}
