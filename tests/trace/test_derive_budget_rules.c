/* Rules of the user in loops with a budget: bits of gradients, and checks. */
#include "derive_budget_test.h"

typedef struct {
    const pith_array *value;
    const void *residual;
} Kept;
PITH_NODE(Kept, PITH_LEAF(value, "f64[...]"), PITH_TREE(residual))

static double most_of_primal = 1e9, most_of_cotangent = 1e9;
static const pith_array *sine(pith_scope *in, const pith_array *x) {
    return pith_sin(in, x);
}
PITH_FUNCTION1(sine_of, sine, pith_array, pith_array)
static const Kept *keep(pith_scope *in, const pith_array *x) {
    pith_check(in, pith_less(in, pith_sum(in, x, PITH_ALL_AXES), most_of_primal),
               "large primal", .level = PITH_CHECK_ALWAYS);
    return pith_record(in, Kept, .value = pith_sin(in, x), .residual = pith_cos(in, x));
}
PITH_FUNCTION1(keep_of, keep, Kept, pith_array)
static const pith_array *
pull(pith_scope *in, const pith_array *cosine, const pith_array *ct) {
    pith_check(in, pith_less(in, pith_sum(in, ct, PITH_ALL_AXES), most_of_cotangent),
               "large cotangent", .level = PITH_CHECK_ALWAYS);
    return pith_mul(in, cosine, ct);
}
PITH_FUNCTION2(pull_of, pull, pith_array, pith_array, pith_array)

static const pith_array *
ruled(pith_scope *in, const pith_array *x, const void *row, const pith_array *w) {
    const pith_function *f = pith_custom_vjp(in, &sine_of, &keep_of, &pull_of);
    (void)row;
    return pith_mul(in, pith_call(in, f, PITH_ITEMS(pith_add(in, x, w))), w);
}
PITH_FUNCTION3(ruled_of, ruled, pith_array, pith_array, void, pith_array)
static const pith_array *rule(pith_scope *in, const pith_array *w, const void *xs) {
    const pith_function *f = pith_partial(in, &ruled_of, w);
    (void)xs;
    return pith_sum(in, pith_scan(in, f, w, NULL, NULL, &options), PITH_ALL_AXES);
}
PITH_FUNCTION2(rule_of, rule, pith_array, pith_array, void)

Test(derive_budget_rules, bits_and_checks_of_a_body) {
    begin(1);
    const pith_array *w = numbers(WIDE, 0.25, 1e-3);
    const void *arguments[2] = {w, pith_none_make(s)};
    options = (pith_loop_options){.length = 64};
    const int enough = check(&rule_of, false, w, arguments[1], &options.kept_bytes,
                             (size_t)64 * ONE, false);
    cr_assert(enough >= 3, "%d", enough);
    for (int k = 0; k < 3; k++) {
        options.kept_bytes = (size_t)(60 - 20 * k) * ONE;
        most_of_cotangent = 0;
        pith_jit_clear(rt);
        pith_call(s, pith_grad(s, &rule_of, NULL), 2, arguments);
        pith_wait(s);
        cr_assert(pith_code(s) == PITH_E_CHECK && strstr(pith_message(s), "cotangent"),
                  "%s", pith_message(s));
        pith_clear(s);
    }
    most_of_cotangent = 1e9;
    options.kept_bytes = 0;
    end();
}

typedef struct failures {
    int primals, cotangents;
} failures;

/* Checks of the rule that fail in a call of a gradient. */
static failures count_failures(const pith_function *f, const void *const *arguments) {
    failures all = {0, 0};
    const pith_result *r = pith_as_result(s, f, 2, arguments);
    pt_ok(s, r);
    for (int64_t i = 0; i < pith_result_failed(s, r); i++) {
        const char *text = pith_assertion_message(s, pith_result_get_failed(s, r, i));
        all.primals += strstr(text, "primal") != NULL;
        all.cotangents += strstr(text, "cotangent") != NULL;
    }
    return all;
}

/* A batch of three, some entries at a time. */
static int64_t chunk;
static const pith_array *batch(pith_scope *in, const pith_array *w, const void *xs) {
    const pith_function *f =
        pith_vmap(in, &rule_of, &(pith_vmap_options){.chunk = chunk});
    return pith_call(in, f, PITH_ITEMS(w, xs));
}
PITH_FUNCTION2(batch_of, batch, pith_array, pith_array, void)

/* A gradient, one of each entry of a batch, and a Jacobian of a number or of a batch,
 * whose rows are a batch. */
enum { GRADIENT, GRADIENTS, JACOBIAN, JACOBIAN_OF_BATCH, MODES };

/* What is computed again makes no check again: as in a loop that is not divided, however
 * many parts it has. */
static void expect_checks_once(int mode, int64_t n, int part) {
    const bool many = mode == GRADIENTS || mode == JACOBIAN_OF_BATCH;
    const pith_array *w = numbers(WIDE, 0.25, 1e-3);
    const void *arguments[] = {many ? pith_broadcast_to(s, w, PITH_SHAPE(3, WIDE)) : w,
                               pith_none_make(s)};
    options = (pith_loop_options){.length = n};
    options.kept_bytes = (size_t)n * (size_t)(part ? 4 - part : 0) / 4 * ONE *
                         (mode == JACOBIAN_OF_BATCH ? 3 : 1);
    pith_jit_clear(rt);
    const pith_function *const functions[MODES] = {
        pith_grad(s, &rule_of, NULL),
        pith_vmap(s, pith_grad(s, &rule_of, NULL), &(pith_vmap_options){.chunk = chunk}),
        pith_jacobian_reverse(s, &rule_of, NULL),
        pith_jacobian_reverse(s, &batch_of, NULL)};
    const failures found = count_failures(functions[mode], arguments);
    cr_assert(found.primals == 1 && found.cotangents == 1,
              "mode %d, %d steps, %zu bytes, chunks of %d: %d and %d", mode, (int)n,
              options.kept_bytes, (int)chunk, found.primals, found.cotangents);
}

Test(derive_budget_rules, checks_are_made_once) {
    static const int64_t lengths[] = {40, 43, 64, 97};
    begin(1);
    most_of_primal = most_of_cotangent = -1e9;
    for (int k = 0; k < 12; k++)
        expect_checks_once(GRADIENT, lengths[k / 3], k % 3);
    for (int mode = GRADIENTS; mode < MODES; mode++)
        for (chunk = 0; chunk <= 2; chunk += 2)
            for (int part = 0; part < 3; part++)
                expect_checks_once(mode, 43, part);
    most_of_primal = most_of_cotangent = 1e9;
    options.kept_bytes = 0;
    end();
}
