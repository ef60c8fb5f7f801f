/* One compiled function called by several threads, and by turns with others, while its
 * programs come and go. */
#include "base/base_internal.h"
#include "pith_test.h"

#include <pith/pith.h>
#include <stdlib.h>

static pith_runtime *rt;
static pith_scope *s;
static void begin(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void end(void) {
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

static const pith_array *twice(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, pith_f64(in, 2));
}
PITH_FUNCTION1(twice_function, twice, pith_array, pith_array)
static const pith_array *square(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, x);
}
PITH_FUNCTION1(square_function, square, pith_array, pith_array)

enum { THREADS = 4, CALLS = 1500 };
typedef struct {
    const pith_function *f;
    int k;
    int64_t calls;
    bool good;
} worker;

/* Calls with one structure most of the time, and with others. */
static void *work(void *closure) {
    worker *w = closure;
    pith_scope *own = pith_scope_open(rt);
    w->good = true;
    for (int i = 0; i < CALLS && w->good; i++, w->calls++) {
        pith_scope *in = pith_scope_open_in(own);
        const int64_t n = i % 10 == w->k ? 1 + i % 3 : 4;
        const pith_array *x = pith_full(in, PITH_F64, PITH_SHAPE(n), (double)i);
        const pith_array *y = pith_apply(in, w->f, x);
        double values[4] = {0};
        w->good = y && pith_read(in, y, values, (size_t)n * sizeof *values) &&
                  values[n - 1] == 2.0 * i;
        if (w->k == 0 && i % 100 == 50)
            pith_jit_clear(rt);
        if (w->k == 1 && i % 100 == 50)
            w->good &= pith_explain_miss(in, w->f) && pith_jit_about(rt).hits >= 0;
        if (w->k == 2 && i % 200 == 50)
            pith_jit_set_limits(rt, 1 + i % 3, 0);
        w->good &= !pith_failed(in);
        pith_scope_close(in);
    }
    pith_scope_close(own);
    return NULL;
}

Test(shared_calls, threads_call_one_function, .init = begin) {
    const pith_function *f = pith_jit(s, &twice_function, NULL);
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (int k = 0; k < THREADS; k++) {
        workers[k] = (worker){.f = f, .k = k};
        cr_assert(pthread_create(&threads[k], NULL, work, &workers[k]) == 0);
    }
    int64_t calls = 0;
    for (int k = 0; k < THREADS; k++) {
        pthread_join(threads[k], NULL);
        cr_assert(workers[k].good);
        calls += workers[k].calls;
    }
    const pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.hits + info.misses == calls, "each call counts once: %d and %d of %d",
              (int)info.hits, (int)info.misses, (int)calls);
    cr_assert(info.misses > 3 && info.hits > CALLS);
    end();
}

static double call(const pith_function *f, double x) {
    pith_scope *in = pith_scope_open_in(s);
    const double y = pith_read_f64(in, pith_apply(in, f, pith_f64(in, x)));
    pith_scope_close(in);
    return y;
}

Test(shared_calls, a_program_goes_at_once_though_its_function_may_call_it) {
    setenv("PITH_JIT", "off", 1); /* no other thread allocates */
    begin();
    const pith_function *f = pith_jit(s, &twice_function, NULL);
    for (int k = 0; k < 300; k++) { /* what a runtime keeps is there */
        cr_assert(call(f, k) == 2 * k && call(f, 4) == 8);
        pith_jit_clear(rt);
    }
    const size_t without = pithp_bytes_allocated(rt);
    cr_assert(call(f, 3) == 6 && call(f, 4) == 8);
    cr_assert(pithp_bytes_allocated(rt) > without);
    pith_jit_clear(rt);
    cr_assert(pithp_bytes_allocated(rt) == without, "%zu, %zu before",
              pithp_bytes_allocated(rt), without);
    cr_assert(call(f, 5) == 10);
    cr_assert(pith_jit_about(rt).misses == 302);
    end();
}

Test(shared_calls, functions_that_take_turns_are_used_in_that_order, .init = begin) {
    const pith_function *f = pith_jit(s, &twice_function, NULL),
                        *g = pith_jit(s, &square_function, NULL);
    pith_jit_set_limits(rt, 2, 0);
    for (int k = 0; k < 20; k++)
        cr_assert(call(f, k) == 2 * k && call(g, k) == k * k);
    pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.misses == 2 && info.hits == 38 && info.evictions == 0);
    call(f, 1); /* that of g is the one that was used longest ago */
    call(f, 1);
    const pith_array *x = pith_ones(s, PITH_F64, PITH_SHAPE(3));
    pt_ok(s, pith_apply(s, f, x));
    call(f, 1);
    info = pith_jit_about(rt);
    cr_assert(info.misses == 3 && info.evictions == 1);
    call(g, 1);
    cr_assert(pith_jit_about(rt).misses == 4);
    end();
}

Test(shared_calls, hits_stay_counted_when_a_function_goes, .init = begin) {
    pith_scope *in = pith_scope_open_in(s);
    const pith_function *f = pith_jit(in, &twice_function, NULL);
    for (int k = 0; k < 10; k++)
        call(f, k);
    pith_scope_close(in);
    const pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.hits == 9 && info.misses == 1 && info.programs == 1);
    end();
}
