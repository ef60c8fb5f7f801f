/* What varies between ranks, in functions of users: refusals while tracing, and gradients
 * of what is equal on all ranks. */
#include "array/array_internal.h"
#include "mesh/fake/fake.h"
#include "mesh/ranked.h"
#include "pith_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RANKS = 3, MANY = 4 };

static void runs(void (*body)(fake_rank *r)) {
    const fake_result result =
        fake_run(&(fake_options){.size = RANKS, .timeout = 60}, body);
    cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
}
#define ON_RANKS(name)                                                                   \
    static void name(fake_rank *r);                                                      \
    Test(variance, name) {                                                               \
        runs(name);                                                                      \
    }                                                                                    \
    static void name(fake_rank *r)

static const pith_array *call(fake_rank *r, const pith_function *f, const void *a) {
    return pith_call(r->s, pith_jit(r->s, f, NULL), 1, &a);
}

static void refused(fake_rank *r, pith_status code, const char *text) {
    FAKE_CHECK(r, pith_code(r->s) == code);
    FAKE_CHECK(r, strstr(pith_message(r->s), text));
    if (!strstr(pith_message(r->s), text))
        fprintf(stderr, "rank %d: %s\n", r->rank, pith_message(r->s));
    pith_clear(r->s);
    FAKE_CHECK(r, pith_agree(r->s));
}

/* ---- Refusals ---- */

static const pith_array *over_ranks(pith_scope *s, const pith_array *a) {
    return pith_psum(s, a, "x", NULL);
}
PITH_FUNCTION1(over_ranks_function, over_ranks, pith_array, pith_array)
static const pith_array *as_it_is(pith_scope *s, const pith_array *a) {
    (void)s;
    return a;
}
PITH_FUNCTION1(as_it_is_function, as_it_is, pith_array, pith_array)

static const pith_array *own_choice(pith_scope *s, const pith_array *a) {
    return pith_cond(s, pith_greater(s, a, pith_f64(s, 1)), &over_ranks_function,
                     &as_it_is_function, a);
}
PITH_FUNCTION1(own_choice_function, own_choice, pith_array, pith_array)
static const pith_array *common_choice(pith_scope *s, const pith_array *a) {
    return pith_cond(s, pith_greater(s, pith_pmax(s, a, "x"), pith_f64(s, 1)),
                     &over_ranks_function, &as_it_is_function, a);
}
PITH_FUNCTION1(common_choice_function, common_choice, pith_array, pith_array)

ON_RANKS(a_branch_with_a_collective_has_a_predicate_of_all) {
    const pith_array *a = pith_f64(r->s, r->rank);
    FAKE_CHECK(r, !call(r, &own_choice_function, a));
    refused(r, PITH_E_DIVERGED, "psum is in a branch at test_variance.c:");
    FAKE_CHECK(r, pith_read_f64(r->s, call(r, &common_choice_function, a)) == 3);
}

static const pith_array *is_small(pith_scope *s, const pith_array *a) {
    return pith_less(s, a, pith_f64(s, 10));
}
PITH_FUNCTION1(is_small_function, is_small, pith_array, pith_array)
static const pith_array *twice(pith_scope *s, const pith_array *a) {
    return pith_pmax(s, pith_add(s, a, a), "x");
}
PITH_FUNCTION1(twice_function, twice, pith_array, pith_array)
static const pith_array *own_loop(pith_scope *s, const pith_array *a) {
    return pith_while(s, &is_small_function, &twice_function, a);
}
PITH_FUNCTION1(own_loop_function, own_loop, pith_array, pith_array)
static const pith_array *common_loop(pith_scope *s, const pith_array *a) {
    return own_loop(s, pith_pmax(s, a, "x"));
}
PITH_FUNCTION1(common_loop_function, common_loop, pith_array, pith_array)

ON_RANKS(a_loop_with_a_collective_has_a_length_of_all) {
    const pith_array *a = pith_f64(r->s, r->rank + 1);
    FAKE_CHECK(r, !call(r, &own_loop_function, a));
    refused(r, PITH_E_DIVERGED,
            "whose number of iterations varies over x, because lt at test_variance.c:");
    FAKE_CHECK(r, pith_read_f64(r->s, call(r, &common_loop_function, a)) == 12);
}

/* The counter varies with the number of iterations, but is not why it does. */
static const pith_array *
checked_round(pith_scope *s, const pith_array *i, const pith_array *a) {
    const pith_array *low = pith_less_equal(s, a, 10.0);
    pith_check(s, low, "low", .level = PITH_CHECK_ALWAYS);
    return pith_add(s, pith_pmax(s, a, "x"), pith_mul(s, pith_cast(s, i, PITH_F64), 0.0));
}
PITH_FUNCTION2(checked_round_function, checked_round, pith_array, pith_array, pith_array)
static const pith_array *passing_loop(pith_scope *s, const pith_array *a) {
    return pith_fori_passing(s, 0, 3, &checked_round_function, a);
}
PITH_FUNCTION1(passing_loop_function, passing_loop, pith_array, pith_array)

ON_RANKS(a_loop_that_ends_at_a_check_of_one_rank_names_the_check) {
    FAKE_CHECK(r, !call(r, &passing_loop_function, pith_f64(r->s, r->rank + 1)));
    refused(r, PITH_E_DIVERGED,
            "whose number of iterations varies over x, because le at test_variance.c:");
}

static const pith_array *by_index(pith_scope *s, const pith_array *a) {
    const pith_array *i = pith_axis_index(s, "x");
    const pith_array *first = pith_equal(s, i, 0);
    return pith_cond(s, first, &twice_function, &twice_function, a);
}
PITH_FUNCTION1(by_index_function, by_index, pith_array, pith_array)

ON_RANKS(a_predicate_names_what_makes_it_vary) {
    FAKE_CHECK(r, !call(r, &by_index_function, pith_f64(r->s, 1)));
    refused(r, PITH_E_DIVERGED,
            "whose predicate varies over x, because axis_index at test_variance.c:");
}

/* In a batch both branches run, with the collectives of all ranks. */
ON_RANKS(entries_choose_as_those_of_other_ranks) {
    const pith_array *a = pith_add(r->s, pith_arange(r->s, PITH_F64, 3), r->rank);
    const pith_function *own = pith_vmap(r->s, &own_choice_function, NULL),
                        *common = pith_vmap(r->s, &common_choice_function, NULL);
    FAKE_CHECK(r, !call(r, own, a));
    refused(r, PITH_E_DIVERGED,
            "in a batch, a branch with collectives over x has a predicate that varies");
    FAKE_CHECK(
        r, !call(r, pith_vmap(r->s, own, NULL), pith_reshape(r->s, a, PITH_SHAPE(3, 1))));
    refused(r, PITH_E_DIVERGED, "in a batch, a branch with collectives over x");
    double got[3] = {0}, sums[] = {3, 6, 9};
    FAKE_CHECK(r, pith_read(r->s, call(r, common, a), got, sizeof got));
    FAKE_CHECK(r, memcmp(got, sums, sizeof got) == 0); /* the greatest are 2, 3, 4 */
    FAKE_CHECK(r, pith_agree(r->s));
}

static const pith_array *claimed(pith_scope *s, const pith_array *a) {
    const pith_array *sum = pith_psum(s, a, "x", NULL);
    const pith_array *given[] = {sum, pith_mul(s, sum, a)};
    static const char *const names[] = {".sum", ".own"};
    pithp_trace_check_variance(s, "pith_shard_map: claimed", 2, given,
                               (const uint32_t[]){0, 0}, names);
    return sum;
}
PITH_FUNCTION1(claimed_function, claimed, pith_array, pith_array)

ON_RANKS(what_is_called_replicated_is_so) {
    FAKE_CHECK(r, !call(r, &claimed_function, pith_f64(r->s, 1)));
    refused(r, PITH_E_DIVERGED,
            ".own: pith_shard_map: claimed: the result varies over x, because input 0 "
            "does, and its spec says that it is replicated");
}

/* ---- Gradients ---- */

/* The data of a rank, and shared weights. */
static const pith_array *weights(pith_scope *s) {
    return pith_array_copy(s, PITH_F64, PITH_SHAPE(MANY),
                           (const double[]){0.5, -1, 2, 0.25});
}
static const pith_array *points(pith_scope *s, int rank) {
    return pith_array_copy(s, PITH_F64, PITH_SHAPE(MANY),
                           (const double[]){rank + 1, 2 * rank, 3 - rank, 0.5});
}
/* Of sum(points * weights) by the weights. */
static bool is_gradient(pith_scope *s, const pith_array *g, int first, int last) {
    double got[MANY];
    bool same = pith_read(s, g, got, sizeof got);
    for (int i = 0; same && i < MANY; i++) {
        double wanted = 0;
        for (int k = first; k <= last; k++)
            wanted += (const double[]){k + 1, 2 * k, 3 - k, 0.5}[i];
        same = got[i] == wanted;
    }
    return same;
}

static const pith_array *
loss(pith_scope *s, const pith_array *weight, const pith_array *point) {
    return pith_sum(s, pith_mul(s, weight, point), PITH_ALL_AXES);
}
PITH_FUNCTION2(loss_function, loss, pith_array, pith_array, pith_array)

/* The gradients by weights that are shared, and by ones that a rank has for itself: a
 * nested compiled function is recorded for each. */
static const void *
gradients(pith_scope *s, const pith_array *weight, const pith_array *point) {
    const pith_function *g = pith_jit(s, pith_grad(s, &loss_function, NULL), NULL);
    const pith_array *shared = ranked_shared(s, weight);
    const void *made[3];
    for (int k = 0; k < 3; k++)
        made[k] = pith_call(s, g, PITH_ITEMS(k == 1 ? weight : shared, point));
    return pith_tuple_make(s, 3, made);
}
PITH_FUNCTION2(gradients_function, gradients, void, pith_array, pith_array)

ON_RANKS(gradients_of_shared_arrays_are_sums) {
    const void *all = pith_call(r->s, pith_jit(r->s, &gradients_function, NULL),
                                PITH_ITEMS(weights(r->s), points(r->s, r->rank)));
    FAKE_CHECK(r, is_gradient(r->s, pith_child(all, 0), 0, RANKS - 1));
    FAKE_CHECK(r, is_gradient(r->s, pith_child(all, 1), r->rank, r->rank));
    FAKE_CHECK(r, is_gradient(r->s, pith_child(all, 2), 0, RANKS - 1));
}

/* In a branch that a rank takes for itself the weights count as its own. */
static const pith_array *branch_gradient(pith_scope *s, const void *given) {
    return pith_call(s, pith_grad(s, &loss_function, NULL),
                     PITH_ITEMS(pith_child(given, 0), pith_child(given, 1)));
}
PITH_FUNCTION1(branch_gradient_function, branch_gradient, pith_array, void)
static const pith_array *branch_weight(pith_scope *s, const void *given) {
    (void)s;
    return pith_child(given, 0);
}
PITH_FUNCTION1(branch_weight_function, branch_weight, pith_array, void)
static const pith_array *
chosen(pith_scope *s, const pith_array *weight, const pith_array *point) {
    const void *given[] = {ranked_shared(s, weight), point};
    return pith_cond(
        s, pith_greater(s, pith_sum(s, point, PITH_ALL_AXES), pith_f64(s, 0)),
        &branch_gradient_function, &branch_weight_function, pith_tuple_make(s, 2, given));
}
PITH_FUNCTION2(chosen_function, chosen, pith_array, pith_array, pith_array)

ON_RANKS(gradients_in_a_branch_of_a_rank_are_its_own) {
    const pith_array *g = pith_call(r->s, pith_jit(r->s, &chosen_function, NULL),
                                    PITH_ITEMS(weights(r->s), points(r->s, r->rank)));
    FAKE_CHECK(r, is_gradient(r->s, g, r->rank, r->rank));
}

/* The next weights have the own points in them: they vary after an iteration, and so from
 * the beginning (test_carries.c). */
static const void *astray(pith_scope *s, const pith_array *i, const void *given) {
    const pith_array *point = pith_child(given, 1);
    const pith_array *g = pith_call(s, pith_grad(s, &loss_function, NULL),
                                    PITH_ITEMS(pith_child(given, 0), point));
    (void)i;
    return pith_tuple_make(s, 2, (const void *[]){pith_add(s, g, point), point});
}
PITH_FUNCTION2(astray_function, astray, void, pith_array, void)
static const void *
repeated(pith_scope *s, const pith_array *weight, const pith_array *point) {
    const void *given[] = {ranked_shared(s, weight), point};
    return pith_fori(s, 0, 3, &astray_function, pith_tuple_make(s, 2, given));
}
PITH_FUNCTION2(repeated_function, repeated, void, pith_array, pith_array)

ON_RANKS(a_gradient_by_a_carry_that_comes_to_vary_is_its_own) {
    const void *last = pith_call(r->s, pith_jit(r->s, &repeated_function, NULL),
                                 PITH_ITEMS(weights(r->s), points(r->s, r->rank)));
    const pith_array *half = pith_mul(r->s, pith_child(last, 0), 0.5);
    FAKE_CHECK(r, is_gradient(r->s, half, r->rank, r->rank));
}

/* ---- Rules of users ---- */

typedef struct Kept {
    const pith_array *value;
    const void *residual;
} Kept;
PITH_NODE(Kept, PITH_LEAF(value, "f64[...]"), PITH_TREE(residual))

static const Kept *
forward(pith_scope *s, const pith_array *weight, const pith_array *point) {
    return pith_record(s, Kept, .value = loss(s, weight, point),
                       .residual = pith_tuple_make(s, PITH_ITEMS(weight, point)));
}
PITH_FUNCTION2(forward_function, forward, Kept, pith_array, pith_array)
static const void *backward(pith_scope *s, const void *residual, const pith_array *ct) {
    const pith_array *weight = pith_child(residual, 0), *point = pith_child(residual, 1);
    return pith_tuple_make(
        s, 2, (const void *[]){pith_mul(s, point, ct), pith_mul(s, weight, ct)});
}
PITH_FUNCTION2(backward_function, backward, void, void, pith_array)

static const pith_array *
by_rule(pith_scope *s, const pith_array *weight, const pith_array *point) {
    const pith_function *f =
        pith_custom_vjp(s, &loss_function, &forward_function, &backward_function);
    return pith_psum(s, pith_call(s, f, PITH_ITEMS(ranked_shared(s, weight), point)), "x",
                     NULL);
}
PITH_FUNCTION2(by_rule_function, by_rule, pith_array, pith_array, pith_array)

ON_RANKS(the_gradient_of_a_rule_is_summed_too) {
    const pith_array *g = pith_call(r->s, pith_grad(r->s, &by_rule_function, NULL),
                                    PITH_ITEMS(weights(r->s), points(r->s, r->rank)));
    FAKE_CHECK(r, is_gradient(r->s, g, 0, RANKS - 1));
}

/* ---- Functions over shards ---- */

static const pith_array *
shard_gradient(pith_scope *s, const pith_array *weight, const pith_array *point) {
    return pith_call(s, pith_grad(s, &loss_function, NULL), PITH_ITEMS(weight, point));
}
PITH_FUNCTION2(shard_gradient_function,
               shard_gradient,
               pith_array,
               pith_array,
               pith_array)

/* The weights are replicated, the points sharded. */
static const pith_function *mapped(pith_scope *s, const pith_function *f) {
    const pith_shard_options o = {
        .in = {PITH_SPECS({"", "", NULL}), PITH_SPECS({"", "x", NULL})},
        .out = PITH_SPECS({"", "", NULL})};
    return pith_jit(s, pith_shard_map(s, f, &o), NULL);
}

ON_RANKS(specs_say_what_varies) {
    const pith_array *point =
        pith_shard_local(r->s, points(r->s, r->rank), PITH_SPECS({"", "x", NULL}));
    const pith_array *g = pith_call(r->s, mapped(r->s, &shard_gradient_function),
                                    PITH_ITEMS(weights(r->s), point));
    FAKE_CHECK(r, is_gradient(r->s, g, 0, RANKS - 1));
    FAKE_CHECK(r, !pith_call(r->s, mapped(r->s, &loss_function),
                             PITH_ITEMS(weights(r->s), point)));
    refused(r, PITH_E_DIVERGED, "loss: the result varies over x, because input ");
}

/* ---- Random draws ---- */

/* Noise of a key that all ranks have is added to own points, in two leaves of the result
 * and in a loop; with the rank in the key, each rank has its own. */
static const pith_array *
add_noise(pith_scope *s, const pith_array *key, const pith_array *point) {
    const pith_array *u =
        pith_random_uniform(s, key, PITH_F64, PITH_SHAPE(MANY), 0, 1, NULL);
    return pith_add(s, point, u);
}
static const pith_array *shake(pith_scope *s,
                               const pith_array *i,
                               const pith_array *point,
                               const pith_array *key) {
    const pith_array *own = pith_random_fold_in(s, key, i);
    return pith_sub(s, point,
                    pith_random_normal(s, own, PITH_F64, PITH_SHAPE(MANY), NULL));
}
PITH_FUNCTION3(shake_function, shake, pith_array, pith_array, pith_array, pith_array)
static const void *
common_noise(pith_scope *s, const pith_array *key, const pith_array *point) {
    const pith_array *once = add_noise(s, key, point);
    const pith_array *often =
        pith_fori(s, 0, 3, pith_partial(s, &shake_function, key), point);
    return pith_tuple_make(s, 2, (const void *[]){once, often});
}
PITH_FUNCTION2(common_noise_function, common_noise, void, pith_array, pith_array)
static const void *
own_noise(pith_scope *s, const pith_array *key, const pith_array *point) {
    return common_noise(s, pith_random_fold_in(s, key, pith_axis_index(s, "x")), point);
}
PITH_FUNCTION2(own_noise_function, own_noise, void, pith_array, pith_array)

/* The key is a constant of the function. */
static const void *constant_noise(pith_scope *s, const pith_array *point) {
    return common_noise(s, pith_random_key(s, 5), point);
}
PITH_FUNCTION1(constant_noise_function, constant_noise, void, pith_array)

static void count_warnings(pith_log_level level, const char *message, void *closure) {
    int *count = closure;
    if (level == PITH_LOG_WARNING && strstr(message, "are equal on all ranks along x"))
        ++*count;
}

ON_RANKS(equal_draws_are_logged_once) {
    int count = 0;
    pith_set_log_hook(r->runtime, count_warnings, &count);
    const pith_shard_options o = {
        .in = {PITH_SPECS({"", "", NULL}), PITH_SPECS({"", "x", NULL})},
        .out = PITH_SPECS({"", "x", NULL})};
    const pith_array *point =
        pith_shard_local(r->s, points(r->s, r->rank), PITH_SPECS({"", "x", NULL}));
    const pith_array *key = pith_random_key(r->s, 5);
    const pith_function *own = pith_shard_map(r->s, &own_noise_function, &o),
                        *common = pith_shard_map(r->s, &common_noise_function, &o);
    FAKE_CHECK(r, pith_call(r->s, pith_jit(r->s, own, NULL), PITH_ITEMS(key, point)));
    FAKE_CHECK(r, count == 0);
    for (int call = 0; call < 2; call++) {
        FAKE_CHECK(r,
                   pith_call(r->s, pith_jit(r->s, common, NULL), PITH_ITEMS(key, point)));
        FAKE_CHECK(r, count == 2); /* of two draws at two places */
        pith_jit_clear(r->runtime);
    }
    pith_set_log_hook(r->runtime, NULL, NULL);
}

ON_RANKS(equal_draws_of_a_constant_key_are_logged) {
    int count = 0;
    pith_set_log_hook(r->runtime, count_warnings, &count);
    const pith_shard_options o = {.in = {PITH_SPECS({"", "x", NULL})},
                                  .out = PITH_SPECS({"", "x", NULL})};
    const pith_array *own = points(r->s, r->rank),
                     *point = pith_shard_local(r->s, own, PITH_SPECS({"", "x", NULL}));
    const pith_function *f = pith_shard_map(r->s, &constant_noise_function, &o);
    const void *moved = pith_call(r->s, pith_jit(r->s, f, NULL), PITH_ITEMS(point));
    FAKE_CHECK(r, count == 2);
    const void *eager = common_noise(r->s, pith_random_key(r->s, 5), own);
    FAKE_CHECK(r, pith_tree_equal(r->s, pith_unshard_local(r->s, moved), eager));
    pith_set_log_hook(r->runtime, NULL, NULL);
}

/* ---- Cotangents ---- */

/* The value is equal on all ranks: so is its cotangent. The other value is a rank's own.
 */
static const void *both_losses(pith_scope *s, const pith_array *point) {
    const pith_array *own = pith_sum(s, pith_mul(s, point, point), PITH_ALL_AXES);
    return pith_tuple_make(s, 2, (const void *[]){pith_psum(s, own, "x", NULL), own});
}
PITH_FUNCTION1(both_losses_function, both_losses, void, pith_array)

static const pith_array *
pull(pith_scope *s, const pith_array *point, const pith_array *ct, bool equal) {
    const pith_linearized l =
        pith_vjp(s, &both_losses_function, 1, (const void *[]){point}, NULL);
    const void *cotangents[] = {equal ? pith_pmax(s, ct, "x") : ct, ct};
    return pith_call(s, l.map, 1, (const void *[]){pith_tuple_make(s, 2, cotangents)});
}
static const pith_array *
pull_equal(pith_scope *s, const pith_array *point, const pith_array *ct) {
    return pull(s, point, ct, true);
}
PITH_FUNCTION2(pull_equal_function, pull_equal, pith_array, pith_array, pith_array)
static const pith_array *
pull_own(pith_scope *s, const pith_array *point, const pith_array *ct) {
    return pull(s, point, ct, false);
}
PITH_FUNCTION2(pull_own_function, pull_own, pith_array, pith_array, pith_array)

/* 2 point (ct of all + own ct) */
static bool is_pulled(fake_rank *r, const pith_array *g, double all, double own) {
    double got[MANY], point[MANY];
    bool same = pith_read(r->s, g, got, sizeof got) &&
                pith_read(r->s, points(r->s, r->rank), point, sizeof point);
    for (int i = 0; same && i < MANY; i++)
        same = got[i] == 2 * point[i] * (all + own);
    return same;
}

ON_RANKS(cotangents_of_values_of_all_are_equal) {
    static const char refusal[] = "[0]: both_losses: the value is equal on all "
                                  "ranks along x, but its cotangent is not";
    const pith_array *point = points(r->s, r->rank), *ct = pith_f64(r->s, r->rank);
    const pith_array *g = pith_call(r->s, pith_jit(r->s, &pull_equal_function, NULL),
                                    PITH_ITEMS(point, ct));
    FAKE_CHECK(r, is_pulled(r, g, RANKS - 1, r->rank));
    pith_call(r->s, pith_jit(r->s, &pull_own_function, NULL), PITH_ITEMS(point, ct));
    refused(r, PITH_E_DIVERGED, refusal);
    /* call by call the elements are compared */
    FAKE_CHECK(r, is_pulled(r, pull_equal(r->s, point, ct), RANKS - 1, r->rank));
    FAKE_CHECK(r, is_pulled(r, pull_own(r->s, point, pith_f64(r->s, 3)), 3, 3));
    pull_own(r->s, point, ct);
    refused(r, PITH_E_DIVERGED, refusal);
    const pith_linearized l =
        pith_vjp(r->s, &both_losses_function, 1, (const void *[]){point}, NULL);
    if (r->rank == 1)
        pith_fail(r->s, PITH_E_ARG, NULL, "no luck");
    pith_call(r->s, l.map, 1, (const void *[]){l.value});
    refused(r, r->rank == 1 ? PITH_E_ARG : PITH_E_PEER, "no luck");
}

/* In a loop whose carry becomes a rank's own. */
static const void *pull_carry(pith_scope *s, const pith_array *i, const void *given) {
    const pith_array *ct = pith_child(given, 0), *point = pith_child(given, 1);
    const void *next[] = {pith_sum(s, pull(s, point, ct, false), PITH_ALL_AXES), point};
    (void)i;
    return pith_tuple_make(s, 2, next);
}
PITH_FUNCTION2(pull_carry_function, pull_carry, void, pith_array, void)
static const void *pull_often(pith_scope *s, const pith_array *point) {
    const void *given[] = {pith_f64(s, 1), point};
    return pith_fori(s, 0, 2, &pull_carry_function, pith_tuple_make(s, 2, given));
}
PITH_FUNCTION1(pull_often_function, pull_often, void, pith_array)

ON_RANKS(a_cotangent_that_comes_to_vary_is_refused) {
    pith_call(r->s, pith_jit(r->s, &pull_often_function, NULL),
              PITH_ITEMS(points(r->s, r->rank)));
    refused(r, PITH_E_DIVERGED,
            "[0]: both_losses: the value is equal on all ranks along x, but its "
            "cotangent is not");
}
