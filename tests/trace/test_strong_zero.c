/* The option strong_zero: no branch that pith_where does not take poisons a gradient,
 * whatever it is made of. */
#include "fail_allocator.h"
#include "rule_test.h"

/* ---- Branches that are not taken ---- */

static const pith_array *matrix(pith_scope *in, const pith_array *x) {
    return pith_reshape(in, x, PITH_SHAPE(2, 2));
}

/* A custom_jvp whose tangent has a product, and a loop. */
static const pith_array *sine(pith_scope *in, const pith_array *x) {
    return pith_sin(in, x);
}
PITH_FUNCTION1(sine_of, sine, pith_array, pith_array)
static const Pushed *push(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_record(in, Pushed, .value = pith_sin(in, x),
                       .tangent = pith_mul(in, pith_cos(in, x), t));
}
PITH_FUNCTION2(push_of, push, Pushed, pith_array, pith_array)
static const Kept *keep(pith_scope *in, const pith_array *x) {
    return pith_record(in, Kept, .value = pith_sin(in, x), .residual = pith_cos(in, x));
}
PITH_FUNCTION1(keep_of, keep, Kept, pith_array)
static const pith_array *
pull(pith_scope *in, const pith_array *cosine, const pith_array *ct) {
    return pith_mul(in, cosine, ct);
}
PITH_FUNCTION2(pull_of, pull, pith_array, pith_array, pith_array)
static const pith_array *turn(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return pith_sin(in, pith_mul(in, x, x));
}
PITH_FUNCTION2(turn_of, turn, pith_array, pith_array, pith_array)

enum { BRANCHES = 20 };
static int branch;

/* x is 1, 2, 3, 4, and `far` infinite. */
static const pith_array *
wrong(pith_scope *in, const pith_array *x, const pith_array *far) {
    const pith_array *zero = pith_mul(in, x, 0.0);
    switch (branch) {
        case 0:
            return pith_div(in, x, zero);
        case 1:
            return pith_matmul(in, matrix(in, far), matrix(in, x));
        case 2:
            return pith_dot(in, far, x);
        case 3:
            return pith_outer(in, far, far);
        case 4:
            return pith_cholesky(in, pith_neg(in, matrix(in, x)), false);
        case 5:
            return pith_solve_triangular(in, matrix(in, zero), matrix(in, x), NULL);
        case 6:
            return pith_logsumexp(in, far, PITH_ALL_AXES);
        case 7:
            return pith_norm(in, far, 2.0, PITH_ALL_AXES);
        case 8:
            return pith_std(in, far, PITH_ALL_AXES, 0);
        case 9:
            return pith_hypot(in, far, zero);
        case 10:
            return pith_prod(in, far, PITH_ALL_AXES);
        case 11:
            return pith_log(in, zero);
        case 12:
            return pith_pow(in, zero, -2.0);
        case 13:
            return pith_cumsum(in, pith_sqrt(in, pith_neg(in, x)), 0, NULL);
        case 14:
            return pith_segment_prod(in, far, PITH_VECTOR(in, i64, 0, 1, 0, 1), 2, NULL);
        case 15:
            return pith_call(in, pith_custom_jvp(in, &sine_of, &push_of),
                             PITH_ITEMS(far));
        case 16:
            return pith_call(in, pith_custom_vjp(in, &sine_of, &keep_of, &pull_of),
                             PITH_ITEMS(far));
        case 17:
            return pith_fori(in, 0, 3, &turn_of, far);
        case 18:
            return pith_tan(in, far);
        default:
            return pith_einsum(
                in, "ij,jk,kl->il", 3,
                (const pith_array *[]){matrix(in, far), matrix(in, x), matrix(in, far)});
    }
}

static const pith_array *guarded(pith_scope *in, const pith_array *x) {
    const pith_array *bad = wrong(in, x, pith_div(in, x, 0.0));
    const pith_array *sum = pith_sum(in, x, PITH_ALL_AXES),
                     *below = pith_less(in, sum, 0.0);
    return pith_add(in, pith_sum(in, pith_where(in, below, bad, 0.0), PITH_ALL_AXES),
                    sum);
}
PITH_FUNCTION1(guarded_of, guarded, pith_array, pith_array)

static const pith_array *of_batch(pith_scope *in, const pith_array *xs) {
    return pith_sum(in, pith_call(in, pith_vmap(in, &guarded_of, NULL), PITH_ITEMS(xs)),
                    PITH_ALL_AXES);
}
PITH_FUNCTION1(of_batch_of, of_batch, pith_array, pith_array)

Test(strong_zero, branches_that_are_not_taken_poison_nothing, .init = open_scope) {
    const pith_derive_options strong = {.strong_zero = true};
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3, 4),
                     *xs = pith_stack(s, 3, (const pith_array *[]){x, pith_neg(s, x), x},
                                      0);
    int poisoned = 0; /* the second entry takes the branch */
    for (branch = 0; branch < BRANCHES; branch++) {
        pith_jit_clear(rt);
        const pith_array *plain =
            pith_call(s, pith_grad(s, &guarded_of, NULL), PITH_ITEMS(x));
        const pith_array *each =
            pith_call(s, pith_grad(s, &guarded_of, &strong), PITH_ITEMS(x));
        const pith_array *batch =
            pith_call(s, pith_grad(s, &of_batch_of, &strong), PITH_ITEMS(xs));
        const pith_array *mapped = pith_call(
            s, pith_vmap(s, pith_grad(s, &guarded_of, &strong), NULL), PITH_ITEMS(xs));
        const pith_linearized v = pith_vjp(s, &guarded_of, PITH_ITEMS(x), &strong);
        const pith_array *pulled = pith_call(s, v.map, PITH_ITEMS(pith_f64(s, 1)));
        pt_ok(s, plain && each && batch && mapped && pulled);
        poisoned += at(plain, 0) != 1;
        for (int k = 0; k < 4; k++)
            cr_assert(at(each, k) == 1 && at(pulled, k) == 1, "branch %d: %g, %g", branch,
                      at(each, k), at(pulled, k));
        for (int k = 0; k < 12; k += k == 3 ? 5 : 1)
            cr_assert(at(batch, k) == 1 && at(mapped, k) == 1, "branch %d: %g, %g",
                      branch, at(batch, k), at(mapped, k));
    }
    cr_assert(poisoned >= 15, "%d branches need the option", poisoned);
    close_scope();
}

/* ---- Elements that are not taken ---- */

/* Cumulative calls, of whose results the first two are taken. */
static int run;
static const pith_array *run_of(pith_scope *in, const pith_array *x) {
    const pith_cumulative_options back = {.reverse = true};
    switch (run) {
        case 0:
            return pith_cumprod(in, x, 0, NULL);
        case 1:
            return pith_flip(in,
                             pith_cumprod(in, pith_flip(in, x, PITH_AXES(0)), 0, &back),
                             PITH_AXES(0));
        case 2:
            return pith_cumsum(in, x, 0, NULL);
        default:
            return pith_cumlogsumexp(in, x, 0, NULL);
    }
}
static const pith_array *
first_two(pith_scope *in, const pith_array *x, const pith_array *w) {
    const pith_array *taken = pith_less(in, pith_arange(in, PITH_F64, 4), 2.0),
                     *y = run_of(in, pith_mul(in, x, w));
    return pith_sum(in, pith_where(in, taken, y, 0.0), PITH_ALL_AXES);
}
PITH_FUNCTION2(first_two_of, first_two, pith_array, pith_array, pith_array)

Test(strong_zero, elements_that_are_not_taken_poison_nothing, .init = open_scope) {
    const pith_derive_options strong = {.strong_zero = true};
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3, 4),
                     *v = PITH_VECTOR(s, f64, 1, 3, 0, 0);
    const pith_array *plain = PITH_VECTOR(s, f64, 1, 2, 1, 1);
    const double poison[] = {INFINITY, -INFINITY, (double)NAN};
    for (run = 0; run < 4; run++)
        for (int k = 0; k < 6; k++) {
            const pith_array *w = k < 3 ? PITH_VECTOR(s, f64, 1, 2, poison[k], 1)
                                        : PITH_VECTOR(s, f64, 1, 2, 1, poison[k - 3]);
            const pith_array *got[2], *products[2], *rates[2];
            for (int poisoned = 0; poisoned < 2; poisoned++) {
                const void *all[] = {x, poisoned ? w : plain, v};
                pith_jit_clear(rt);
                got[poisoned] =
                    pith_call(s, pith_grad(s, &first_two_of, &strong), 2, all);
                products[poisoned] = item(
                    pith_call(s, pith_hessian_product(s, &first_two_of, &strong), 3, all),
                    1);
                rates[poisoned] = pith_jvp(s, &first_two_of, 2, all, v, &strong).tangent;
            }
            pt_ok(s, got[0] && got[1] && rates[0] && rates[1]);
            cr_assert(pith_tree_equal(s, got[0], got[1]), "call %d, poison %d", run, k);
            cr_assert(pith_tree_equal(s, products[0], products[1]), "call %d, poison %d",
                      run, k);
            cr_assert(pith_tree_equal(s, rates[0], rates[1]), "call %d, poison %d", run,
                      k);
            if (run < 2)
                cr_assert(at(got[1], 0) == 5 && at(got[1], 1) == 2 &&
                          at(got[1], 2) == 0 && at(products[1], 0) == 6);
        }
    close_scope();
}

/* ---- Derivatives of what is finite are those without the option ---- */

static const char *product;
static const pith_array *
contract(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_array *z = pith_einsum(in, product, 2, (const pith_array *[]){x, y});
    return pith_sum(in, pith_sin(in, z), PITH_ALL_AXES);
}
PITH_FUNCTION2(contract_of, contract, pith_array, pith_array, pith_array)

static const pith_array *wave(pith_shape shape, double by) {
    int64_t count = 1;
    for (int k = 0; k < shape.rank; k++)
        count *= shape.extents[k];
    return pith_reshape(s, pith_sin(s, pith_mul(s, pith_arange(s, PITH_F64, count), by)),
                        shape);
}

static void is_near(const pith_array *a, const pith_array *b) {
    const pith_array *far = pith_greater(s, pith_abs(s, pith_sub(s, a, b)), 1e-13);
    cr_assert(!pith_read_i64(s, pith_any(s, far, PITH_ALL_AXES)), "%s", product);
}

Test(strong_zero, products_of_matrices_have_their_derivatives, .init = open_scope) {
    static const struct {
        const char *text;
        pith_shape x, y;
    } products[] = {
        {"ij,jk->ik", {2, {3, 4}}, {2, {4, 5}}},
        {"bij,bkj->bik", {3, {2, 3, 4}}, {3, {2, 5, 4}}},
        {"bij,kjb->kib", {3, {2, 3, 4}}, {3, {5, 4, 2}}},
        {"i,j->ij", {1, {3}}, {1, {4}}},
        {"ij,ij->", {2, {3, 4}}, {2, {3, 4}}},
        {"ij,j->i", {2, {3, 0}}, {1, {0}}},
    };
    for (size_t k = 0; k < sizeof products / sizeof *products; k++) {
        const pith_array *x = wave(products[k].x, 1.25), *y = wave(products[k].y, 0.75);
        const pith_array *along = wave(products[k].x, 0.3);
        const void *slopes[2], *rates[2], *products_of[2];
        product = products[k].text;
        for (int strong = 0; strong < 2; strong++) {
            const pith_derive_options both = {.arguments = 3, .strong_zero = strong},
                                      first = {.strong_zero = strong};
            slopes[strong] =
                pith_call(s, pith_grad(s, &contract_of, &both), PITH_ITEMS(x, y));
            rates[strong] =
                pith_jvp(s, &contract_of, PITH_ITEMS(x, y), along, &first).tangent;
            products_of[strong] =
                pith_call(s, pith_hessian_product(s, &contract_of, &first),
                          PITH_ITEMS(x, y, along));
            pt_ok(s, slopes[strong] && rates[strong] && products_of[strong]);
        }
        for (int argument = 0; argument < 2; argument++) {
            is_near(pith_child(slopes[0], argument), pith_child(slopes[1], argument));
            is_near(pith_child(products_of[0], argument),
                    pith_child(products_of[1], argument));
        }
        is_near(rates[0], rates[1]);
    }
    pt_ok(s);
    close_scope();
}

/* A product whose infinite factor meets a cotangent that is not 0 is infinite still. */
static const pith_array *reach(pith_scope *in, const pith_array *x, const pith_array *w) {
    return pith_sum(in, pith_matmul(in, matrix(in, x), w), PITH_ALL_AXES);
}
PITH_FUNCTION2(reach_of, reach, pith_array, pith_array, pith_array)

Test(strong_zero, infinite_derivatives_stay, .init = open_scope) {
    const pith_derive_options strong = {.strong_zero = true};
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3, 4),
                     *w = matrix(s, PITH_VECTOR(s, f64, 1, INFINITY, 3, 4)),
                     *g =
                         pith_call(s, pith_grad(s, &reach_of, &strong), PITH_ITEMS(x, w));
    pt_ok(s, g);
    cr_assert(isinf(at(g, 0)) && at(g, 1) == 7 && isinf(at(g, 2)) && at(g, 3) == 7);
    close_scope();
}

/* ---- Memory ---- */

static pith_status derive(const pith_open_options *options) {
    static const int branches[] = {1, 5, 15, 16};
    const pith_derive_options strong = {.strong_zero = true};
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3, 4);
    for (size_t k = 0; k < sizeof branches / sizeof *branches && !pith_failed(s); k++) {
        branch = branches[k];
        pt_again(s, pith_call(s, pith_grad(s, &guarded_of, &strong), PITH_ITEMS(x)));
        pith_jit_clear(rt);
    }
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(strong_zero, every_failure_is_survived, .timeout = 300) {
    const pt_failures failures = pt_fail_each(derive);
    cr_assert(failures.allocations > 50, "%d allocations, %d errors",
              failures.allocations, failures.errors);
}
