/* What programs cost, loops and branches included: against what can be counted by hand.
 */
#include "scope_test.h"

typedef struct {
    const pith_array *carry, *out;
} Step;
PITH_NODE(Step, PITH_LEAF(carry, "f64[n]"), PITH_LEAF(out, "f64[n]"))

static pith_program_costs cost(const pith_function *f, const pith_array *x) {
    const pith_program_costs c = pith_program_cost(s, f, PITH_ITEMS(x));
    pt_ok(s);
    return c;
}

enum { N = 50, LENGTH = 7 };

/* Two operations an element. */
static const Step *body(pith_scope *in, const pith_array *carry, const pith_array *x) {
    const pith_array *moved = pith_add(in, pith_mul(in, carry, x), x);
    const Step next = {.carry = moved, .out = moved};
    return pith_freeze(in, Step, &next);
}
PITH_FUNCTION2(body_function, body, Step, pith_array, pith_array)
static const pith_array *scanned(pith_scope *in, const pith_array *x) {
    const pith_array *xs = pith_broadcast_to(in, x, PITH_SHAPE(LENGTH, N));
    return pith_scan(in, &body_function, x, xs, NULL, NULL);
}
PITH_FUNCTION1(scan_function, scanned, pith_array, pith_array)

static const pith_array *twice(pith_scope *in, const pith_array *x) {
    return pith_neg(in, scanned(in, pith_exp(in, x)));
}
PITH_FUNCTION1(twice_function, twice, pith_array, pith_array)

Test(cost, a_scan_counts_as_often_as_it_is_long, .init = open_scope) {
    const pith_array *x = pith_arange(s, PITH_F64, N);
    const pith_program_costs c = cost(&scan_function, x), more = cost(&twice_function, x);
    cr_assert(c.operations == 2 * N * LENGTH, "%lld", (long long)c.operations);
    cr_assert(more.operations == c.operations + 2 * N);
    cr_assert(more.instructions == c.instructions + 2);
    cr_assert(c.launches >= LENGTH && c.whiles == 0);
    close_scope();
}

static const pith_array *one(pith_scope *in, const pith_array *x) {
    return pith_neg(in, x);
}
PITH_FUNCTION1(one_function, one, pith_array, pith_array)
static const pith_array *three(pith_scope *in, const pith_array *x) {
    return pith_sqrt(in, pith_exp(in, pith_neg(in, x)));
}
PITH_FUNCTION1(three_function, three, pith_array, pith_array)
static const pith_array *chosen(pith_scope *in, const pith_array *x) {
    const pith_array *first =
        pith_slice_array(in, x, 1, (pith_slice[]){PITH_SLICE(0, 1, 1)});
    const pith_array *less = pith_less(in, pith_reshape(in, first, PITH_SCALAR),
                                       pith_f64(in, 3)); /* an operation more */
    return pith_cond(in, less, &one_function, &three_function, x);
}
PITH_FUNCTION1(chosen_function, chosen, pith_array, pith_array)

Test(cost, a_branch_counts_as_its_larger_side, .init = open_scope) {
    const pith_program_costs c = cost(&chosen_function, pith_arange(s, PITH_F64, N));
    cr_assert(c.operations == 3 * N + 1, "%lld", (long long)c.operations);
    cr_assert(c.whiles == 0);
    close_scope();
}

static const pith_array *is_small(pith_scope *in, const pith_array *x) {
    return pith_all(in, pith_less(in, x, pith_f64(in, 100)), PITH_ALL_AXES);
}
PITH_FUNCTION1(is_small_function, is_small, pith_array, pith_array)
static const pith_array *looped(pith_scope *in, const pith_array *x) {
    return pith_while(in, &is_small_function, &three_function, x);
}
PITH_FUNCTION1(looped_function, looped, pith_array, pith_array)

Test(cost, a_while_counts_once_and_says_so, .init = open_scope) {
    const pith_program_costs c = cost(&looped_function, pith_arange(s, PITH_F64, N));
    cr_assert(c.operations == 4 * N, "%lld", (long long)c.operations);
    cr_assert(c.whiles == 1);
    close_scope();
}

static const pith_array *outer(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return scanned(in, x);
}
PITH_FUNCTION2(outer_function, outer, pith_array, pith_array, pith_array)
static const pith_array *nested(pith_scope *in, const pith_array *x) {
    return pith_fori(in, 0, 11, &outer_function, x);
}
PITH_FUNCTION1(nested_function, nested, pith_array, pith_array)

Test(cost, loops_nest, .init = open_scope) {
    const pith_array *x = pith_arange(s, PITH_F64, N);
    const int64_t inner = cost(&scan_function, x).operations;
    const int64_t all = cost(&nested_function, x).operations;
    cr_assert(all >= 11 * inner && all <= 11 * (inner + 4), "%lld of %lld",
              (long long)all, (long long)inner);
    close_scope();
}
