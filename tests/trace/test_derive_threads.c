/* Derivations from several threads at once, with a scope for each: of the same function,
 * which one of them derives first, and of functions of their own; and one map that all
 * of them call. */
#include "derive_test.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 12, COUNT = 4 };

typedef struct {
    const pith_array *value, *tangent;
} Pushed;
PITH_NODE(Pushed, PITH_LEAF(value, "f64[...]"), PITH_LEAF(tangent, "f64[...]"))

static const pith_array *sine(pith_scope *in, const pith_array *x) {
    return pith_sin(in, x);
}
PITH_FUNCTION1(sine_of, sine, pith_array, pith_array)
static const Pushed *push(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_record(in, Pushed, .value = pith_sin(in, x),
                       .tangent = pith_mul(in, pith_cos(in, x), t));
}
PITH_FUNCTION2(push_of, push, Pushed, pith_array, pith_array)

static const pith_array *
turn(pith_scope *in, const pith_array *i, const pith_array *x, const pith_array *a) {
    const pith_function *f = pith_custom_jvp(in, &sine_of, &push_of);
    const pith_array *y = pith_call(in, f, PITH_ITEMS(pith_mul(in, x, a)));
    (void)i;
    return pith_add(in, x, pith_mul(in, y, 0.25));
}
PITH_FUNCTION3(turn_of, turn, pith_array, pith_array, pith_array, pith_array)

static const pith_array *
energy(pith_scope *in, const pith_array *x, const pith_array *a) {
    const pith_array *last = pith_fori(in, 0, 3, pith_partial(in, &turn_of, a), x);
    return pith_sum(in, pith_mul(in, last, last), PITH_ALL_AXES);
}
PITH_FUNCTION2(energy_of, energy, pith_array, pith_array, pith_array)

static double wanted[COUNT], wanted_product[COUNT];
static const pith_function *shared; /* a gradient, of the outer scope */
static const pith_function *map;    /* of pith_vjp, likewise */

static bool is(pith_scope *in, const pith_array *a, const double *values, double factor) {
    double got[COUNT] = {0};
    if (!pith_read(in, a, got, sizeof got))
        return false;
    for (int k = 0; k < COUNT; k++)
        if (got[k] != factor * values[k])
            return false;
    return true;
}

static const pith_array *point(pith_scope *in) {
    return PITH_VECTOR(in, f64, 0.5, -1.25, 2, 0.75);
}

static void *derive_often(void *runtime) {
    pith_scope *in = pith_scope_open(runtime);
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1)};
    bool fine = true;
    for (int k = 0; k < ROUNDS && fine; k++) {
        pith_scope *inner = pith_scope_open_in(in);
        const pith_array *x = point(inner), *a = pith_f64(inner, 0.5),
                         *t = PITH_VECTOR(inner, f64, 1, 2, 3, 4);
        const pith_function *g = pith_grad(inner, &energy_of, NULL),
                            *h = pith_hessian_product(inner, &energy_of, NULL);
        fine = is(inner, pith_call(inner, g, PITH_ITEMS(x, a)), wanted, 1) &&
               is(inner, pith_call(inner, shared, PITH_ITEMS(x, a)), wanted, 1);
        const void *product = pith_call(inner, h, PITH_ITEMS(x, a, t));
        fine = fine && product && is(inner, pith_child(product, 1), wanted_product, 1);
        fine = fine && is(inner, pith_call(inner, map, PITH_ITEMS(pith_f64(inner, 2))),
                          wanted, 2);
        const pith_linearized v = pith_vjp(inner, &energy_of, PITH_ITEMS(x, a), &both),
                              l = pith_linearize(inner, &energy_of, PITH_ITEMS(x, a),
                                                 NULL);
        const void *one = pith_call(inner, v.map, PITH_ITEMS(pith_f64(inner, 1)));
        fine = fine && one && is(inner, pith_child(one, 0), wanted, 1);
        const pith_pushed y = pith_jvp(inner, &energy_of, PITH_ITEMS(x, a), t, NULL);
        const pith_array *pushed = pith_call(inner, l.map, PITH_ITEMS(t));
        fine = fine && y.tangent && pushed && pith_tree_equal(inner, y.tangent, pushed);
        if (k == ROUNDS / 2)
            pith_jit_clear(runtime);
        if (pith_failed(inner))
            fprintf(stderr, "round %d: %s\n", k, pith_message(inner));
        fine = fine && !pith_failed(inner);
        pith_scope_close(inner);
    }
    fine = fine && !pith_failed(in);
    pith_scope_close(in);
    return fine ? runtime : NULL;
}

Test(derive_threads, derivations_at_once, .init = open_scope, .timeout = 600) {
    const pith_array *x = point(s), *a = pith_f64(s, 0.5),
                     *t = PITH_VECTOR(s, f64, 1, 2, 3, 4);
    shared = pith_grad(s, &energy_of, NULL);
    pt_ok(s, pith_read(s, pith_call(s, shared, PITH_ITEMS(x, a)), wanted, sizeof wanted));
    const void *product =
        pith_call(s, pith_hessian_product(s, &energy_of, NULL), PITH_ITEMS(x, a, t));
    pt_ok(s, pith_read(s, item(product, 1), wanted_product, sizeof wanted_product));
    map = pith_vjp(s, &energy_of, PITH_ITEMS(x, a), NULL).map;
    pt_ok(s, map);
    pith_jit_clear(rt);
    pthread_t threads[THREADS];
    for (int k = 0; k < THREADS; k++)
        cr_assert(pthread_create(&threads[k], NULL, derive_often, rt) == 0);
    for (int k = 0; k < THREADS; k++) {
        void *fine = NULL;
        pthread_join(threads[k], &fine);
        cr_assert(fine == rt, "thread %d", k);
    }
    close_scope();
}
