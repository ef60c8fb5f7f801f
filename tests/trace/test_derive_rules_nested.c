/* Rules that apply functions with rules to tangents, in loops and branches. */
#include "derive_modes.h"
#include "fail_allocator.h"
#include "rule_test.h"

/* ---- A linear function with rules ---- */

/* By what the gradient of the backward function is wrong, to see that it is used. */
static double factor = 1;

static const pith_array *triple(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, 3.0);
}
PITH_FUNCTION1(triple_of, triple, pith_array, pith_array)
static const Kept *keep_nothing(pith_scope *in, const pith_array *x) {
    return pith_record(in, Kept, .value = triple(in, x), .residual = pith_none_make(in));
}
PITH_FUNCTION1(keep_of, keep_nothing, Kept, pith_array)
static const pith_array *
pull_triple(pith_scope *in, const void *nothing, const pith_array *ct) {
    (void)nothing;
    return pith_mul(in, triple(in, ct), factor);
}
PITH_FUNCTION2(pull_of, pull_triple, pith_array, void, pith_array)

/* The rule for forward mode applies the function to the tangent. */
static const pith_array *tripled(pith_scope *in, const pith_array *x);
static const Pushed *
push_triple(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_record(in, Pushed, .value = triple(in, x), .tangent = tripled(in, t));
}
PITH_FUNCTION2(push_of, push_triple, Pushed, pith_array, pith_array)

/* Which of the rules it has. */
static bool pushes = true, pulls = true;
static const pith_array *tripled(pith_scope *in, const pith_array *x) {
    const pith_function *f =
        pulls ? pith_custom_vjp(in, &triple_of, &keep_of, &pull_of) : &triple_of;
    f = pushes ? pith_custom_jvp(in, f, &push_of) : f;
    return pith_call(in, f, PITH_ITEMS(x));
}

/* ---- Functions whose rules have control flow ---- */

/* sin(3 x / 4) / 2, with its tangent. */
static const pith_array *half_sine(pith_scope *in, const pith_array *x) {
    return pith_mul(in, pith_sin(in, pith_mul(in, x, 0.75)), 0.5);
}
PITH_FUNCTION1(half_sine_of, half_sine, pith_array, pith_array)
static const Pushed *push_half(pith_scope *in, const Pushed *c) {
    const pith_array *slope = pith_cos(in, pith_mul(in, c->value, 0.75));
    return pith_record(
        in, Pushed, .value = half_sine(in, c->value),
        .tangent = pith_mul(in, tripled(in, pith_mul(in, slope, c->tangent)), 0.125));
}
static const Pushed *pair(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_record(in, Pushed, .value = x, .tangent = t);
}

/* Three times in a loop. */
static const pith_array *body(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return half_sine(in, x);
}
PITH_FUNCTION2(body_of, body, pith_array, pith_array, pith_array)
static const pith_array *loop(pith_scope *in, const pith_array *x) {
    return pith_fori(in, 0, 3, &body_of, x);
}
PITH_FUNCTION1(loop_of, loop, pith_array, pith_array)
static const Pushed *push_body(pith_scope *in, const pith_array *i, const Pushed *c) {
    (void)i;
    return push_half(in, c);
}
PITH_FUNCTION2(push_body_of, push_body, Pushed, pith_array, Pushed)
static const Pushed *push_loop(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_fori(in, 0, 3, &push_body_of, pair(in, x, t));
}
PITH_FUNCTION2(push_loop_of, push_loop, Pushed, pith_array, pith_array)

/* The sum of rows x, x, ... that a loop returns beside the carry. */
typedef struct {
    const Pushed *carry;
    const pith_array *out;
} Scanned;
PITH_NODE(Scanned, PITH_CHILD(carry, Pushed), PITH_LEAF(out, "f64[...]"))
static const pith_array *row(pith_scope *in, const pith_array *x, const pith_array *r) {
    return pith_mul(in, half_sine(in, x), r);
}
PITH_FUNCTION2(row_of, row, pith_array, pith_array, pith_array)
static const pith_array *some_rows(pith_scope *in) {
    return PITH_VECTOR(in, f64, 1.5, -0.5, 2);
}
static const pith_array *rows(pith_scope *in, const pith_array *x) {
    return pith_scan(in, &row_of, x, some_rows(in), NULL, NULL);
}
PITH_FUNCTION1(rows_of, rows, pith_array, pith_array)
static const Scanned *push_row(pith_scope *in, const Pushed *c, const pith_array *r) {
    const Pushed *half = push_half(in, c);
    const pith_array *t = pith_mul(in, half->tangent, r);
    return pith_record(in, Scanned, .carry = pair(in, pith_mul(in, half->value, r), t),
                       .out = t);
}
PITH_FUNCTION2(push_row_of, push_row, Scanned, Pushed, pith_array)
static const Pushed *push_rows(pith_scope *in, const pith_array *x, const pith_array *t) {
    const void *outs = NULL;
    const Pushed *y =
        pith_scan(in, &push_row_of, pair(in, x, t), some_rows(in), &outs, NULL);
    return pair(in, y->value, pith_take(in, outs, pith_i64(in, 2), NULL));
}
PITH_FUNCTION2(push_rows_of, push_rows, Pushed, pith_array, pith_array)

/* A branch that the value chooses. */
static const pith_array *is_low(pith_scope *in, const pith_array *x) {
    return pith_less(in, total(in, x), 2.5);
}
static const pith_array *negated(pith_scope *in, const pith_array *x) {
    return pith_neg(in, x);
}
PITH_FUNCTION1(negated_of, negated, pith_array, pith_array)
static const pith_array *branch(pith_scope *in, const pith_array *x) {
    return pith_cond(in, is_low(in, x), &half_sine_of, &negated_of, x);
}
PITH_FUNCTION1(branch_of, branch, pith_array, pith_array)
static const Pushed *push_low(pith_scope *in, const Pushed *c) {
    return push_half(in, c);
}
PITH_FUNCTION1(push_low_of, push_low, Pushed, Pushed)
static const Pushed *push_high(pith_scope *in, const Pushed *c) {
    return pair(in, pith_neg(in, c->value),
                pith_div(in, tripled(in, c->tangent), pith_f64(in, -3)));
}
PITH_FUNCTION1(push_high_of, push_high, Pushed, Pushed)
static const Pushed *
push_branch(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_cond(in, is_low(in, x), &push_low_of, &push_high_of, pair(in, x, t));
}
PITH_FUNCTION2(push_branch_of, push_branch, Pushed, pith_array, pith_array)

/* A loop whose length is found on the way. */
static const pith_array *is_small(pith_scope *in, const pith_array *x) {
    return pith_less(in, pith_max(in, pith_abs(in, x), PITH_ALL_AXES), 9.0);
}
PITH_FUNCTION1(is_small_of, is_small, pith_array, pith_array)
static const pith_array *grow(pith_scope *in, const pith_array *x) {
    return pith_add(in, pith_mul(in, x, 2.0), half_sine(in, x));
}
PITH_FUNCTION1(grow_of, grow, pith_array, pith_array)
static const pith_record_options six = {.most = 6};
static const pith_array *grown(pith_scope *in, const pith_array *x) {
    return pith_while_recorded(in, &is_small_of, &grow_of, x, &six);
}
PITH_FUNCTION1(grown_of, grown, pith_array, pith_array)
static const pith_array *pair_is_small(pith_scope *in, const Pushed *c) {
    return is_small(in, c->value);
}
PITH_FUNCTION1(pair_is_small_of, pair_is_small, pith_array, Pushed)
static const Pushed *push_grow(pith_scope *in, const Pushed *c) {
    const Pushed *half = push_half(in, c);
    return pair(in, grow(in, c->value),
                pith_add(in, pith_mul(in, c->tangent, 2.0), half->tangent));
}
PITH_FUNCTION1(push_grow_of, push_grow, Pushed, Pushed)
static const Pushed *
push_grown(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_while_recorded(in, &pair_is_small_of, &push_grow_of, pair(in, x, t),
                               &six);
}
PITH_FUNCTION2(push_grown_of, push_grown, Pushed, pith_array, pith_array)

/* A loop of branches and loops with rules, whose tangent is that of pith_jvp. */
static const pith_array *
mixed_body(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    x = pith_call(in, pith_custom_jvp(in, &branch_of, &push_branch_of), PITH_ITEMS(x));
    return pith_call(in, pith_custom_jvp(in, &loop_of, &push_loop_of), PITH_ITEMS(x));
}
PITH_FUNCTION2(mixed_body_of, mixed_body, pith_array, pith_array, pith_array)
static const pith_array *mixed(pith_scope *in, const pith_array *x) {
    return pith_fori(in, 0, 2, &mixed_body_of, x);
}
PITH_FUNCTION1(mixed_of, mixed, pith_array, pith_array)
static const Pushed *
push_mixed(pith_scope *in, const pith_array *x, const pith_array *t) {
    const pith_pushed y = pith_jvp(in, &mixed_of, PITH_ITEMS(x), tripled(in, t), NULL);
    return pair(in, y.value, pith_div(in, y.tangent, 3.0));
}
PITH_FUNCTION2(push_mixed_of, push_mixed, Pushed, pith_array, pith_array)

static const struct {
    const pith_function *function, *rule;
    int applied; /* how often the linear function is */
} ruled[] = {{&loop_of, &push_loop_of, 3},
             {&rows_of, &push_rows_of, 3},
             {&branch_of, &push_branch_of, 1},
             {&grown_of, &push_grown_of, 0},
             {&mixed_of, &push_mixed_of, 9}};
enum { RULED = sizeof ruled / sizeof *ruled };

static int chosen;
static const pith_array *chosen_sum(pith_scope *in, const pith_array *x) {
    const pith_function *f =
        pith_custom_jvp(in, ruled[chosen].function, ruled[chosen].rule);
    return total(in, pith_call(in, f, PITH_ITEMS(x)));
}
PITH_FUNCTION1(chosen_of, chosen_sum, pith_array, pith_array)

/* ---- Tests ---- */

Test(derive_rules_nested,
     have_derivatives_of_every_order,
     .init = open_scope,
     .timeout = 300) {
    for (int rules = 1; rules < 4; rules++) {
        pushes = rules & 1;
        pulls = rules & 2;
        for (chosen = 0; chosen < RULED; chosen++) {
            pith_jit_clear(rt);
            /* With a rule for reverse mode alone there is no derivative of the slope. */
            if (pushes)
                in_every_mode(&chosen_of, some_x());
        }
    }
    pushes = pulls = true;
    close_scope();
}

Test(derive_rules_nested, use_the_rules_of_what_they_apply, .init = open_scope) {
    const pith_array *x = some_x();
    for (int rules = 2; rules < 4; rules++) {
        pushes = rules & 1;
        for (chosen = 0; chosen < RULED; chosen++) {
            const int applied = ruled[chosen].applied;
            factor = 1;
            pith_jit_clear(rt);
            const pith_array *right =
                pith_call(s, pith_grad(s, &chosen_of, NULL), PITH_ITEMS(x));
            pt_ok(s, right);
            factor = 2;
            pith_jit_clear(rt);
            const pith_array *g =
                pith_call(s, pith_grad(s, &chosen_of, NULL), PITH_ITEMS(x));
            pt_ok(s, g);
            for (int i = 0; i < 4; i++)
                if (applied)
                    near(g, i, ldexp(at(right, i), applied));
                else
                    cr_assert(fabs(at(g, i) - at(right, i)) > 1e-3);
        }
    }
    factor = 1;
    pushes = true;
    close_scope();
}

/* ---- Tangents that are not linear ---- */

static int wrong;
static const Pushed *push_wrong(pith_scope *in, const pith_array *i, const Pushed *c) {
    const Pushed *next = push_body(in, i, c);
    const pith_array *t = next->tangent;
    if (wrong == 0)
        t = pith_add(in, t, pith_floor(in, t));
    else if (wrong == 1)
        t = pith_cond(in, pith_less(in, total(in, t), 1.0), &negated_of, &half_sine_of,
                      t);
    else if (wrong == 2)
        t = pith_mul(in, t, c->tangent);
    return pair(in, next->value, t);
}
PITH_FUNCTION2(push_wrong_of, push_wrong, Pushed, pith_array, Pushed)
static const pith_array *never(pith_scope *in, const Pushed *c) {
    return pith_less(in, total(in, wrong == 4 ? c->tangent : c->value), -1e9);
}
PITH_FUNCTION1(never_of, never, pith_array, Pushed)
static const Pushed *push_same(pith_scope *in, const Pushed *c) {
    return pair(in, half_sine(in, c->value), tripled(in, c->tangent));
}
PITH_FUNCTION1(push_same_of, push_same, Pushed, Pushed)
static const Pushed *
push_wrongly(pith_scope *in, const pith_array *x, const pith_array *t) {
    if (wrong >= 4)
        return pith_while(in, &never_of, &push_same_of, pair(in, x, t));
    const Pushed *y = pith_fori(in, 0, 3, &push_wrong_of, pair(in, x, t));
    return wrong == 3 ? pair(in, y->tangent, y->tangent) : y;
}
PITH_FUNCTION2(push_wrongly_of, push_wrongly, Pushed, pith_array, pith_array)
static const pith_array *wrong_sum(pith_scope *in, const pith_array *x) {
    const pith_function *f = pith_custom_jvp(in, &loop_of, &push_wrongly_of);
    return total(in, pith_call(in, f, PITH_ITEMS(x)));
}
PITH_FUNCTION1(wrong_of, wrong_sum, pith_array, pith_array)

Test(derive_rules_nested, are_linear, .init = open_scope) {
    static const char *const texts[] = {
        "the tangent of a rule is not linear: floor is not linear in operand 0",
        "the tangent of a rule is not linear: lt is not linear in operand 0",
        "the tangent of a rule is not linear: mul is not linear in operand 1",
        "the value that the rule of loop returns depends on a tangent",
        "the tangent of a rule is not linear: it decides how often a loop runs",
        "a while has no derivative in reverse mode"};
    for (wrong = 0; wrong < 6; wrong++) {
        pith_jit_clear(rt);
        pt_fails(PITH_E_DERIVATIVE, s,
                 pith_call(s, pith_grad(s, &wrong_of, NULL), PITH_ITEMS(some_x())));
        pt_says(texts[wrong]);
        pt_says("pith_grad: wrong_sum: ");
        pt_says("test_derive_rules_nested.c:");
    }
    wrong = 0;
    close_scope();
}

/* The same for a rule in the body of a while, which is not split, and for one in a branch
 * and in a loop there. */
static const Pushed *push_bent(pith_scope *in, const pith_array *x, const pith_array *t) {
    const pith_array *bent = wrong % 2 ? pith_mul(in, t, t) : pith_exp(in, t);
    return pair(in, half_sine(in, x), bent);
}
PITH_FUNCTION2(push_bent_of, push_bent, Pushed, pith_array, pith_array)
static const pith_array *bent(pith_scope *in, const pith_array *x) {
    return pith_call(in, pith_custom_jvp(in, &half_sine_of, &push_bent_of),
                     PITH_ITEMS(x));
}
PITH_FUNCTION1(bent_of, bent, pith_array, pith_array)
static const pith_array *
bent_step(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return pith_add(in, bent(in, x), x);
}
PITH_FUNCTION2(bent_step_of, bent_step, pith_array, pith_array, pith_array)
static const pith_array *bent_turn(pith_scope *in, const pith_array *x) {
    const pith_array *y = pith_mul(in, x, 0.5);
    if (wrong < 2)
        return bent(in, y);
    return wrong < 4 ? pith_cond(in, pith_less(in, total(in, x), 1.0), &bent_of,
                                 &half_sine_of, y)
                     : pith_fori(in, 0, 3, &bent_step_of, y);
}
PITH_FUNCTION1(bent_turn_of, bent_turn, pith_array, pith_array)
static const pith_array *is_above(pith_scope *in, const pith_array *x) {
    return pith_greater(in, total(in, x), 1e-3);
}
PITH_FUNCTION1(is_above_of, is_above, pith_array, pith_array)
static const pith_array *bent_while(pith_scope *in, const pith_array *x) {
    return pith_while(in, &is_above_of, &bent_turn_of, x);
}
PITH_FUNCTION1(bent_while_of, bent_while, pith_array, pith_array)

Test(derive_rules_nested, are_linear_in_bodies_of_whiles, .init = open_scope) {
    static const char *const texts[] = {
        "the tangent of a rule is not linear: exp is not linear in operand 0",
        "the tangent of a rule is not linear: mul is not linear in operand 1"};
    for (wrong = 0; wrong < 6; wrong++) {
        pith_jit_clear(rt);
        pt_fails(PITH_E_DERIVATIVE, s,
                 pith_linearize(s, &bent_while_of, PITH_ITEMS(some_x()), NULL));
        pt_says(texts[wrong % 2]);
        pt_says("test_derive_rules_nested.c:");
    }
    wrong = 0;
    close_scope();
}

/* The residual of a rule that is applied to a tangent is no tangent. */
static const Kept *keep_argument(pith_scope *in, const pith_array *x) {
    return pith_record(in, Kept, .value = triple(in, x), .residual = x);
}
PITH_FUNCTION1(keep_argument_of, keep_argument, Kept, pith_array)
static const Pushed *push_kept(pith_scope *in, const pith_array *i, const Pushed *c) {
    const pith_function *f = pith_custom_vjp(in, &triple_of, &keep_argument_of, &pull_of);
    (void)i;
    return pair(in, half_sine(in, c->value), pith_call(in, f, PITH_ITEMS(c->tangent)));
}
PITH_FUNCTION2(push_kept_of, push_kept, Pushed, pith_array, Pushed)
static const Pushed *
push_keeping(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_fori(in, 0, 3, &push_kept_of, pair(in, x, t));
}
PITH_FUNCTION2(push_keeping_of, push_keeping, Pushed, pith_array, pith_array)
static const pith_array *keeping_sum(pith_scope *in, const pith_array *x) {
    const pith_function *f = pith_custom_jvp(in, &loop_of, &push_keeping_of);
    return total(in, pith_call(in, f, PITH_ITEMS(x)));
}
PITH_FUNCTION1(keeping_of, keeping_sum, pith_array, pith_array)

Test(derive_rules_nested, keep_no_tangents, .init = open_scope) {
    pt_fails(PITH_E_DERIVATIVE, s,
             pith_call(s, pith_grad(s, &keeping_of, NULL), PITH_ITEMS(some_x())));
    pt_says("the tangent of a rule is not linear: it has triple of a tangent");
    close_scope();
}

/* ---- Memory ---- */

static pith_status derive(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_array *x = some_x();
    chosen = 0; /* the loop */
    if (!pith_failed(s))
        pt_again(s, pith_call(s, pith_grad(s, &chosen_of, NULL), PITH_ITEMS(x)));
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(derive_rules_nested, every_failure_is_survived, .timeout = 300) {
    const pt_failures failures = pt_fail_each(derive);
    cr_assert(failures.allocations > 50, "%d allocations, %d errors",
              failures.allocations, failures.errors);
}
