/* Batches from several threads at once, with a scope for each: of one function that all
 * of them call, and of functions of their own, some while programs are dropped. */
#include "vmap_test.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 10, ENTRIES = 6 };

static const pith_array *
turn(pith_scope *in, const pith_array *i, const pith_array *x, const pith_array *a) {
    const pith_array *y = pith_sin(in, pith_mul(in, x, a));
    return pith_add(in, x, pith_mul(in, y, pith_cast(in, i, PITH_F64)));
}
PITH_FUNCTION3(turn_of, turn, pith_array, pith_array, pith_array, pith_array)

static const pith_array *run(pith_scope *in, const pith_array *x, const pith_array *a) {
    pith_check(in, pith_less(in, x, 100.0), "{x}", .args = {{"x", x}});
    return pith_fori(in, 0, 4, pith_partial(in, &turn_of, a), x);
}
PITH_FUNCTION2(run_of, run, pith_array, pith_array, pith_array)

static const pith_function *shared; /* of the outer scope */
static double wanted[ENTRIES];

static const pith_array *points(pith_scope *in) {
    return PITH_VECTOR(in, f64, 0.5, -1.25, 2, 0.75, 3, -8);
}
static bool is_wanted(pith_scope *in, const pith_array *a) {
    double got[ENTRIES] = {0};
    return a && pith_read(in, a, got, sizeof got) && !memcmp(got, wanted, sizeof got);
}

static void *map_often(void *runtime) {
    pith_scope *in = pith_scope_open(runtime);
    bool fine = true;
    for (int k = 0; k < ROUNDS && fine; k++) {
        pith_scope *inner = pith_scope_open_in(in);
        const pith_array *x = points(inner), *a = pith_f64(inner, 0.5);
        const pith_vmap_options o = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED}),
                                     .chunk = k % 4};
        const pith_function *own = pith_vmap(inner, &run_of, &o);
        fine = is_wanted(inner, pith_call(inner, shared, PITH_ITEMS(x, a))) &&
               is_wanted(inner, pith_call(inner, own, PITH_ITEMS(x, a)));
        const pith_result *r = pith_as_result(inner, shared, PITH_ITEMS(x, a));
        fine = fine && pith_result_all_pass(inner, r);
        if (k == ROUNDS / 2)
            pith_jit_clear(runtime);
        fine = fine && !pith_failed(inner);
        pith_scope_close(inner);
    }
    fine = fine && !pith_failed(in);
    pith_scope_close(in);
    return fine ? runtime : NULL;
}

Test(vmap_threads, batches_at_once, .init = open_scope, .timeout = 600) {
    const pith_array *x = points(s), *a = pith_f64(s, 0.5);
    for (int64_t i = 0; i < ENTRIES; i++)
        wanted[i] = pith_read_f64(s, run(s, entry_of(x, i, 0), a));
    shared = pith_vmap(s, &run_of,
                       &(pith_vmap_options){.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED})});
    pt_ok(s, shared);
    pthread_t threads[THREADS];
    for (int k = 0; k < THREADS; k++)
        cr_assert(pthread_create(&threads[k], NULL, map_often, rt) == 0);
    for (int k = 0; k < THREADS; k++) {
        void *fine = NULL;
        pthread_join(threads[k], &fine);
        cr_assert(fine == rt, "thread %d", k);
    }
    close_scope();
}
