/* Closing a runtime beside calls: one that is under way keeps it open, one that comes
 * later finds its scope closed. */
#include "pith/pith.h"

#include "pith_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pith_runtime *rt;
static char said[512];
static atomic_int times_said, inside, leave;

static void hear(pith_log_level level, const char *message, void *closure) {
    (void)closure;
    if (level != PITH_LOG_ERROR)
        return;
    snprintf(said, sizeof said, "%s", message);
    atomic_fetch_add(&times_said, 1);
}

static void open_runtime(void) {
    atomic_store(&times_said, 0);
    rt = pt_open();
    pith_set_log_hook(rt, hear, NULL);
}

static const pith_array *twice(pith_scope *s, const pith_array *x) {
    return pith_mul(s, x, pith_f64(s, 2));
}
PITH_FUNCTION1(twice_function, twice, pith_array, pith_array)

/* A call that ends on request only. */
static const pith_array *linger(pith_scope *s, const pith_array *x) {
    atomic_store(&inside, 1);
    while (!atomic_load(&leave))
        usleep(100);
    return pith_add(s, x, x);
}
PITH_FUNCTION1(linger_function, linger, pith_array, pith_array)

static void *call_linger(void *closure) {
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_f64(s, 3);
    const pith_array *y = pith_apply(s, &linger_function, x);
    *(double *)closure = pith_read_f64(s, y);
    pith_scope_close(s);
    return NULL;
}

Test(close, a_call_of_another_thread_keeps_the_runtime_open) {
    pthread_t thread;
    double result = 0;
    open_runtime();
    cr_assert(pthread_create(&thread, NULL, call_linger, &result) == 0);
    while (!atomic_load(&inside))
        usleep(100);
    pith_close(rt);
    cr_assert(atomic_load(&times_said) == 1 && strstr(said, "in pith_call"), "%s", said);
    cr_assert(pith_runtime_code(rt) == PITH_OK);
    pith_scope *s = pith_scope_open(rt); /* it is as it was */
    cr_assert(pith_read_f64(s, pith_add(s, pith_f64(s, 1), pith_f64(s, 2))) == 3);
    pith_scope_close(s);
    atomic_store(&leave, 1);
    pthread_join(thread, NULL);
    cr_assert(result == 6);
    pt_close(rt);
    cr_assert(atomic_load(&times_said) == 1);
}

static const pith_array *close_own(pith_scope *s, const pith_array *x) {
    pith_close(pith_scope_runtime(s));
    return pith_add(s, x, x);
}
PITH_FUNCTION1(close_own_function, close_own, pith_array, pith_array)

Test(close, a_function_cannot_close_its_own_runtime) {
    open_runtime();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_f64(s, 2);
    const pith_array *y = pith_apply(s, &close_own_function, x);
    cr_assert(pith_read_f64(s, y) == 4 && atomic_load(&times_said) == 1);
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

static const pith_array *close_other(pith_scope *s, const pith_array *x) {
    pith_runtime *other = pt_open();
    pith_scope *t = pith_scope_open(other);
    const double three = pith_read_f64(t, pith_f64(t, 3));
    pt_close(other);
    return pith_add(s, x, pith_f64(s, three));
}
PITH_FUNCTION1(close_other_function, close_other, pith_array, pith_array)

Test(close, a_function_may_close_another_one) {
    open_runtime();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_f64(s, 2);
    const pith_array *y = pith_apply(s, &close_other_function, x);
    cr_assert(pith_read_f64(s, y) == 5 && atomic_load(&times_said) == 0);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Calls without end beside it ---- */

enum { THREADS = 3, MOST_CALLS = 1000, ROUNDS = 8 };
typedef struct {
    pith_scope *s;
    const pith_function *f;
    const pith_array *x;
    int calls;
    bool wrong;
} caller;

/* Until the runtime is gone; only the function looks at a scope that may be closed. */
static void *call_on(void *closure) {
    caller *c = closure;
    const pith_array *y = c->x;
    for (; c->calls < MOST_CALLS && y; c->calls++) {
        y = (pith_call)(c->s, c->f, PITH_ITEMS(c->x));
        usleep(100); /* at times none is in a call */
    }
    c->wrong = c->calls < MOST_CALLS && y;
    return NULL;
}

static void close_beside_calls(bool compiled) {
    caller callers[THREADS];
    pthread_t threads[THREADS];
    open_runtime();
    pith_scope *s = pith_scope_open(rt);
    const pith_function *f =
        compiled ? pith_jit(s, &twice_function, NULL) : &twice_function;
    for (int k = 0; k < THREADS; k++) {
        callers[k] = (caller){.s = pith_scope_open(rt), .f = f};
        callers[k].x = pith_f64(callers[k].s, k);
        pt_ok(callers[k].s, callers[k].x);
    }
    for (int k = 0; k < THREADS; k++)
        cr_assert(pthread_create(&threads[k], NULL, call_on, &callers[k]) == 0);
    usleep(2000);
    int refused = -1;
    for (int tries = 0; atomic_load(&times_said) > refused; tries++) {
        refused = atomic_load(&times_said);
        pith_close(rt);
        usleep(20);
        cr_assert(tries < 10000000);
    }
    cr_assert(pith_runtime_code(rt) == PITH_E_ARG, "closed");
    for (int k = 0; k < THREADS; k++) {
        pthread_join(threads[k], NULL);
        cr_assert(!callers[k].wrong);
    }
    pt_open_runtimes = 0;
    pt_no_leak(&pt_default_heap);
}

Test(close, compiled_calls_are_before_or_after_it, .timeout = 100) {
    setenv("PITH_JIT", "wait", 1);
    for (int again = 0; again < ROUNDS; again++)
        close_beside_calls(true);
}

Test(close, interpreted_calls_are_before_or_after_it, .timeout = 100) {
    setenv("PITH_JIT", "off", 1);
    for (int again = 0; again < ROUNDS; again++)
        close_beside_calls(true);
}

Test(close, eager_calls_are_before_or_after_it, .timeout = 100) {
    for (int again = 0; again < ROUNDS; again++)
        close_beside_calls(false);
}
