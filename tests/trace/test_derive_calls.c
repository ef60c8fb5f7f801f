/* Derivatives of functions that call compiled functions: equal calls are derived once for
 * each pattern of arguments that move, and the bits are those of plain calls. */
#include "derive_test.h"
#include "fail_allocator.h"
#include "rule_kernels.h"

enum { WIDE = 6, CALLS = 12 };

/* What is called, and the functions that call it. */
static const pith_function *called;

static const pith_array *ramp(int64_t n, double first, double step) {
    return pith_add(s, pith_mul(s, pith_arange(s, PITH_F64, n), step), first);
}

static const pith_array *
rows(pith_scope *in, const pith_array *x, int64_t first, int64_t end) {
    return pith_slice_array(in, x, 1, &PITH_SLICE(first, end, 1));
}

/* ---- Functions that are called ---- */

/* x and y have several uses, in this order. */
static const pith_array *waves(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_array *a = pith_mul(in, pith_sin(in, x), y),
                     *b = pith_exp(in, pith_mul(in, pith_neg(in, x), x));
    return pith_add(in, pith_div(in, pith_mul(in, a, b), pith_add(in, y, 3.0)),
                    pith_mul(in, pith_sub(in, x, y), 0.7));
}
PITH_FUNCTION2(waves_of, waves, pith_array, pith_array, pith_array)

/* The tangent of y + 1 is that of y, and a result has the tangent of x. */
typedef struct {
    const pith_array *moved, *made, *whole;
} Shifted;
PITH_NODE(Shifted,
          PITH_LEAF(moved, "f64[...]"),
          PITH_LEAF(made, "f64[...]"),
          PITH_LEAF(whole, "i64[...]"))
static const Shifted *shift(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_array *next = pith_add(in, y, 1.0),
                     *made = pith_mul(in, pith_cos(in, next), pith_tanh(in, x));
    return pith_record(in, Shifted, .moved = pith_add(in, x, 0.125), .made = made,
                       .whole = pith_cast(in, pith_floor(in, made), PITH_I64));
}
PITH_FUNCTION2(shift_of, shift, Shifted, pith_array, pith_array)

/* Slices, whose cotangents are joined, inside and around the call. */
static const pith_array *
halves(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_array *low = rows(in, x, 0, WIDE / 2), *high = rows(in, x, WIDE / 2, WIDE);
    const pith_array *list[] = {pith_mul(in, high, pith_sin(in, low)),
                                pith_mul(in, low, pith_sin(in, high))};
    return pith_mul(in, pith_concatenate(in, 2, list, 0), y);
}
PITH_FUNCTION2(halves_of, halves, pith_array, pith_array, pith_array)

/* Products, sums, indices and a loop. */
static const pith_array *turn(pith_scope *in, const pith_array *i, const pith_array *x) {
    return pith_add(in, pith_sin(in, x), pith_cast(in, i, PITH_F64));
}
PITH_FUNCTION2(turn_of, turn, pith_array, pith_array, pith_array)
static const pith_array *mixed(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_array *m = pith_mul(in, pith_reshape(in, x, PITH_SHAPE(WIDE, 1)),
                                   pith_reshape(in, y, PITH_SHAPE(1, WIDE)));
    const pith_array *at = pith_argsort(in, pith_stop_gradient(in, x), 0, NULL);
    const pith_array *v = pith_matmul(in, pith_tanh(in, m), pith_take(in, y, at, NULL)),
                     *w = pith_fori(in, 0, 3, &turn_of, v);
    return pith_where(in, pith_greater(in, v, 0.1), w, pith_mul(in, v, x));
}
PITH_FUNCTION2(mixed_of, mixed, pith_array, pith_array, pith_array)

/* A check and a rule. */
static const pith_array *sine(pith_scope *in, const pith_array *x) {
    return pith_sin(in, x);
}
PITH_FUNCTION1(sine_of, sine, pith_array, pith_array)
typedef struct {
    const pith_array *value, *tangent;
} Pushed;
PITH_NODE(Pushed, PITH_LEAF(value, "f64[...]"), PITH_LEAF(tangent, "f64[...]"))
static const Pushed *push(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_record(in, Pushed, .value = pith_sin(in, x),
                       .tangent = pith_mul(in, t, pith_cos(in, x)));
}
PITH_FUNCTION2(push_of, push, Pushed, pith_array, pith_array)
static const pith_array *
checked(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_function *f = pith_custom_jvp(in, &sine_of, &push_of);
    const pith_array *a = waves(in, pith_call(in, f, PITH_ITEMS(x)), y);
    pith_check(in, pith_all(in, pith_less(in, a, 1e3), PITH_ALL_AXES), "a is large");
    return waves(in, a, pith_mul(in, y, a));
}
PITH_FUNCTION2(checked_of, checked, pith_array, pith_array, pith_array)

/* A kernel with a rule around its launch, which launches it, too. */
static const pith_array *cubed(pith_scope *in, const pith_array *x) {
    return pith_launch(in, cube, x, 0).y;
}
PITH_FUNCTION1(cubed_of, cubed, pith_array, pith_array)
static const Pushed *
push_cubed(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_record(in, Pushed, .value = cubed(in, x),
                       .tangent = pith_mul(in, t, pith_launch(in, cube, x, 1).y));
}
PITH_FUNCTION2(push_cubed_of, push_cubed, Pushed, pith_array, pith_array)
static const pith_array *
launches(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_function *f = pith_custom_jvp(in, &cubed_of, &push_cubed_of);
    return waves(in, pith_call(in, f, PITH_ITEMS(pith_tanh(in, x))), y);
}
PITH_FUNCTION2(launches_of, launches, pith_array, pith_array, pith_array)

/* Calls in a call. */
static const pith_array *
nested(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_function *f = pith_jit(in, &waves_of, NULL);
    const pith_array *a = pith_call(in, f, PITH_ITEMS(x, y));
    return pith_call(in, f, PITH_ITEMS(pith_sin(in, a), pith_mul(in, x, a)));
}
PITH_FUNCTION2(nested_of, nested, pith_array, pith_array, pith_array)

/* A part that is computed again, with a loop. */
static const pith_array *again(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_array *a = pith_call(in, pith_recompute(in, &waves_of, NULL),
                                    PITH_ITEMS(pith_tanh(in, x), y));
    return pith_fori(in, 0, 3, &turn_of, pith_mul(in, a, pith_cos(in, x)));
}
PITH_FUNCTION2(again_of, again, pith_array, pith_array, pith_array)

/* ---- Functions that call ---- */

static const pith_array *chain(pith_scope *in, const pith_array *x, const pith_array *y) {
    for (int k = 0; k < CALLS; k++) {
        const pith_array *next = pith_call(in, called, PITH_ITEMS(x, y));
        y = k % 3 == 2 ? pith_add(in, x, y) : y;
        x = next;
    }
    return pith_sum(in, pith_add(in, x, pith_square(in, y)), PITH_ALL_AXES);
}
PITH_FUNCTION2(chain_of, chain, pith_array, pith_array, pith_array)

/* The same argument twice, arguments with equal tangents, and one that does not move. */
static const pith_array *
shifts(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_array *fixed = pith_stop_gradient(in, y), *sum = pith_mul(in, x, 0.5);
    for (int k = 0; k < CALLS; k++) {
        const pith_array *other = k % 4 == 0   ? pith_add(in, x, 2.0)
                                  : k % 4 == 1 ? fixed
                                  : k % 4 == 2 ? x
                                               : y;
        const Shifted *r = pith_call(in, called, PITH_ITEMS(x, other));
        sum = pith_add(in, sum, pith_mul(in, r->made, r->moved));
        x = k % 2 ? pith_mul(in, r->moved, 0.9) : pith_add(in, r->moved, r->made);
        y = pith_add(in, y, pith_cast(in, r->whole, PITH_F64));
    }
    return pith_sum(in, pith_mul(in, sum, x), PITH_ALL_AXES);
}
PITH_FUNCTION2(shifts_of, shifts, pith_array, pith_array, pith_array)

/* A part of an array for each call. */
static const pith_array *parts(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_array *sum = pith_sum(in, y, PITH_ALL_AXES);
    for (int64_t k = 0; k + WIDE <= WIDE * CALLS; k += WIDE) {
        const pith_array *part = rows(in, x, k, k + WIDE),
                         *made = pith_call(in, called, PITH_ITEMS(part, y));
        sum = pith_add(in, sum, pith_sum(in, pith_square(in, made), PITH_ALL_AXES));
    }
    return sum;
}
PITH_FUNCTION2(parts_of, parts, pith_array, pith_array, pith_array)

/* Three calls in each part of control flow. */
typedef struct {
    const pith_array *x, *y, *left;
} Turn;
PITH_NODE(Turn, PITH_LEAF(x, "f64[n]"), PITH_LEAF(y, "f64[n]"), PITH_LEAF(left, "i64[]"))
static const Turn *thrice(pith_scope *in, const Turn *t) {
    const pith_array *x = t->x;
    for (int k = 0; k < 3; k++)
        x = pith_tanh(in, pith_call(in, called, PITH_ITEMS(x, t->y)));
    return pith_record(in, Turn, .x = x, .y = pith_mul(in, t->y, 1.01),
                       .left = pith_sub(in, t->left, pith_i64(in, 1)));
}
PITH_FUNCTION1(thrice_of, thrice, Turn, Turn)
static const Turn *same_turn(pith_scope *in, const Turn *t) {
    (void)in;
    return t;
}
PITH_FUNCTION1(same_turn_of, same_turn, Turn, Turn)
static const Turn *turned(pith_scope *in, const pith_array *i, const Turn *t) {
    return pith_cond(in, pith_equal(in, i, pith_i64(in, 1)), &same_turn_of, &thrice_of,
                     t);
}
PITH_FUNCTION2(turned_of, turned, Turn, pith_array, Turn)
static const Turn *row_turn(pith_scope *in, const Turn *t, const pith_array *row) {
    const Turn *next = thrice(in, t);
    return pith_record(in, Turn, .x = pith_add(in, next->x, row), .y = next->y,
                       .left = next->left);
}
PITH_FUNCTION2(row_turn_of, row_turn, Turn, Turn, pith_array)
static const pith_array *goes_on(pith_scope *in, const Turn *t) {
    return pith_greater(in, t->left, pith_i64(in, 0));
}
PITH_FUNCTION1(goes_on_test, goes_on, pith_array, Turn)
static const Turn *
turn_of_both(pith_scope *in, const pith_array *x, const pith_array *y) {
    return pith_record(in, Turn, .x = x, .y = y, .left = pith_i64(in, 3));
}
static const pith_array *sum_of(pith_scope *in, const Turn *t) {
    return pith_sum(in, pith_mul(in, t->x, t->y), PITH_ALL_AXES);
}
static const pith_array *
looped(pith_scope *in, const pith_array *x, const pith_array *y) {
    const Turn *t = pith_fori(in, 0, 4, &turned_of, turn_of_both(in, x, y));
    t = pith_scan(in, &row_turn_of, t, PITH_VECTOR(in, f64, 0.25, -0.5, 0.125), NULL,
                  NULL);
    return sum_of(in, pith_while_recorded(in, &goes_on_test, &thrice_of, t,
                                          &(pith_record_options){.most = 4}));
}
PITH_FUNCTION2(looped_of, looped, pith_array, pith_array, pith_array)
static const pith_array *until(pith_scope *in, const pith_array *x, const pith_array *y) {
    return sum_of(in, pith_while(in, &goes_on_test, &thrice_of, turn_of_both(in, x, y)));
}
PITH_FUNCTION2(until_of, until, pith_array, pith_array, pith_array)

/* ---- The same bits ---- */

static bool same_bits(const void *a, const void *b) {
    pt_ok(s, a && b);
    return pith_tree_equal(s, a, b);
}

typedef const void *(*derivative)(const pith_function *f, const void *const *arguments);

static const pith_derive_options of_both = {.arguments =
                                                PITH_ARGUMENT(0) | PITH_ARGUMENT(1)},
                                 strong = {.arguments =
                                               PITH_ARGUMENT(0) | PITH_ARGUMENT(1),
                                           .strong_zero = true};

static const pith_derive_options watched = {.arguments =
                                                PITH_ARGUMENT(0) | PITH_ARGUMENT(1),
                                            .find_nonfinite = true},
                                 budget = {.arguments =
                                               PITH_ARGUMENT(0) | PITH_ARGUMENT(1),
                                           .kept_bytes = 1 << 14};

static const void *gradient(const pith_function *f, const void *const *arguments) {
    return pith_call(s, pith_value_and_grad(s, f, &of_both), 2, arguments);
}
static const void *strong_gradient(const pith_function *f, const void *const *arguments) {
    return pith_call(s, pith_grad(s, f, &strong), 2, arguments);
}
static const void *watched_gradient(const pith_function *f,
                                    const void *const *arguments) {
    return pith_call(s, pith_grad(s, f, &watched), 2, arguments);
}
static const void *small_gradient(const pith_function *f, const void *const *arguments) {
    return pith_call(s, pith_grad(s, f, &budget), 2, arguments);
}
static const void *one_gradient(const pith_function *f, const void *const *arguments) {
    return pith_call(s, pith_grad(s, f, NULL), 2, arguments);
}
static const void *product(const pith_function *f, const void *const *arguments) {
    return pith_call(s, pith_hessian_product(s, f, NULL), 3,
                     (const void *[]){arguments[0], arguments[1], arguments[0]});
}
static const void *pushed(const pith_function *f, const void *const *arguments) {
    return pith_jvp(s, pith_grad(s, f, NULL), 2, arguments, arguments[0], NULL).tangent;
}

static const void *both(const void *a, const void *b) {
    return pith_tuple_make(s, PITH_ITEMS(a, b));
}
static const void *along(const pith_function *f, const void *const *arguments) {
    const pith_pushed y =
        pith_jvp(s, f, 2, arguments, both(arguments[0], arguments[1]), &of_both);
    return both(y.value, y.tangent);
}
static const void *watched_along(const pith_function *f, const void *const *arguments) {
    return pith_jvp(s, f, 2, arguments, both(arguments[0], arguments[1]), &watched)
        .tangent;
}
static const void *mapped(const pith_function *f, const void *const *arguments) {
    const pith_linearized y = pith_linearize(s, f, 2, arguments, &of_both);
    return both(y.value,
                pith_call(s, y.map, PITH_ITEMS(both(arguments[0], arguments[1]))));
}
static const void *pulled(const pith_function *f, const void *const *arguments) {
    const pith_linearized y = pith_vjp(s, f, 2, arguments, &of_both);
    return both(y.value, pith_call(s, y.map, PITH_ITEMS(pith_f64(s, 0.75))));
}

/* The sum of the gradient, for a gradient of it. */
static const pith_function *slope_of;
static const pith_array *steep(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_array *g = pith_call(in, pith_grad(in, slope_of, NULL), PITH_ITEMS(x, y));
    return pith_sum(in, pith_square(in, g), PITH_ALL_AXES);
}
PITH_FUNCTION2(steep_of, steep, pith_array, pith_array, pith_array)
static const void *twice(const pith_function *f, const void *const *arguments) {
    slope_of = f;
    return pith_call(s, pith_grad(s, &steep_of, NULL), 2, arguments);
}

static const derivative derivatives[] = {
    along,  mapped,         watched_along,    gradient, strong_gradient, one_gradient,
    pulled, small_gradient, watched_gradient, product,  pushed,          twice};
enum { IN_FORWARD_MODE = 3, OF_FIRST_ORDER = 9 };

/* Compare with calls of the function itself. Returns what was derived of calls. */
static int64_t check(const pith_function *f,
                     const pith_function *body,
                     const pith_array *x,
                     size_t modes) {
    const void *const arguments[] = {x, ramp(WIDE, 0.3, 0.11)};
    const pith_jit_info before = pith_jit_about(rt);
    for (size_t k = 0; k < modes; k++) {
        pith_jit_clear(rt);
        called = body;
        const void *want = derivatives[k](f, arguments);
        pith_jit_clear(rt);
        called = pith_jit(s, body, NULL);
        cr_assert(same_bits(derivatives[k](f, arguments), want), "%s of %s: %d",
                  body->name, f->name, (int)k);
    }
    const pith_jit_info after = pith_jit_about(rt);
    cr_assert(after.derivations >= before.derivations);
    return after.derived_calls - before.derived_calls;
}

enum { MODES = sizeof derivatives / sizeof *derivatives };

Test(derive_calls, have_the_bits_of_plain_ones, .init = open_scope) {
    const pith_array *x = ramp(WIDE, -0.4, 0.17);
    cr_assert_geq(check(&chain_of, &waves_of, x, MODES), MODES * CALLS);
    cr_assert_geq(check(&chain_of, &mixed_of, x, MODES), MODES * CALLS);
    cr_assert_geq(check(&shifts_of, &shift_of, x, MODES), MODES * CALLS / 2);
    cr_assert_geq(check(&chain_of, &checked_of, x, MODES), MODES * CALLS);
    cr_assert_geq(check(&chain_of, &again_of, x, MODES), MODES * CALLS);
    cr_assert_geq(check(&chain_of, &nested_of, x, MODES), MODES * 2 * CALLS);
    const int64_t launched = check(&chain_of, &launches_of, x, OF_FIRST_ORDER);
    cr_assert_geq(launched, (OF_FIRST_ORDER - 2) * CALLS, "all that are not watched: %d",
                  (int)launched);
    close_scope();
}

Test(derive_calls, join_parts_of_arrays_as_plain_ones, .init = open_scope) {
    cr_assert_geq(check(&parts_of, &waves_of, ramp(WIDE * CALLS, -0.4, 0.017), MODES),
                  MODES * (CALLS - 1));
    check(&parts_of, &halves_of, ramp(WIDE * CALLS, -0.4, 0.017), MODES);
    check(&chain_of, &halves_of, ramp(WIDE, -0.4, 0.17), MODES);
    close_scope();
}

Test(derive_calls, in_loops_and_branches_too, .init = open_scope) {
    const pith_array *x = ramp(WIDE, -0.4, 0.17);
    cr_assert_geq(check(&looped_of, &waves_of, x, MODES), MODES * 9);
    cr_assert_geq(check(&looped_of, &checked_of, x, MODES), MODES * 9);
    cr_assert_geq(check(&looped_of, &again_of, x, MODES), MODES * 9);
    const int64_t calls = check(&until_of, &mixed_of, x, IN_FORWARD_MODE);
    cr_assert_geq(calls, IN_FORWARD_MODE * 2, "%d", (int)calls);
    close_scope();
}

/* A batch of gradients, and what they keep. */
static const pith_array *
sloped(pith_scope *in, const pith_array *x, const pith_array *y) {
    return pith_call(in, pith_grad(in, &chain_of, NULL), PITH_ITEMS(x, y));
}
PITH_FUNCTION2(sloped_of, sloped, pith_array, pith_array, pith_array)

Test(derive_calls, in_batches_and_with_what_is_kept, .init = open_scope) {
    const pith_array *x =
                         pith_reshape(s, ramp(3 * WIDE, -0.4, 0.05), PITH_SHAPE(3, WIDE)),
                     *y = ramp(WIDE, 0.3, 0.11), *row = ramp(WIDE, -0.4, 0.17);
    const void *batches[2];
    size_t kept[2];
    for (int k = 0; k < 2; k++) {
        pith_jit_clear(rt);
        called = k ? pith_jit(s, &waves_of, NULL) : &waves_of;
        batches[k] = pith_call(s, pith_vmap(s, &sloped_of, NULL), PITH_ITEMS(x, x));
        kept[k] =
            pith_program_cost(s, pith_grad(s, &chain_of, &of_both), PITH_ITEMS(row, y))
                .kept_bytes;
    }
    cr_assert(same_bits(batches[0], batches[1]));
    cr_assert(kept[0] && kept[0] == kept[1], "%zu and %zu bytes", kept[0], kept[1]);
    close_scope();
}

/* ---- How often they are derived ---- */

static pith_jit_info
derived(derivative how, const pith_function *f, const pith_array *x) {
    const pith_jit_info before = pith_jit_about(rt);
    pith_jit_clear(rt);
    pt_ok(s, how(f, (const void *[]){x, ramp(WIDE, 0.3, 0.11)}));
    const pith_jit_info after = pith_jit_about(rt);
    return (pith_jit_info){.derived_calls = after.derived_calls - before.derived_calls,
                           .derivations = after.derivations - before.derivations};
}

Test(derive_calls, are_derived_once_for_each_pattern, .init = open_scope) {
    for (int k = 0; k < MODES; k++) {
        const bool one_pattern = derivatives[k] != one_gradient &&
                                 derivatives[k] != product && derivatives[k] != pushed &&
                                 derivatives[k] != twice;
        called = pith_jit(s, &waves_of, NULL);
        pith_jit_info info =
            derived(derivatives[k], &parts_of, ramp(WIDE * CALLS, -0.4, 0.017));
        cr_assert(info.derived_calls == CALLS - 1 || !one_pattern,
                  "the first has y + 3 of all: %d of mode %d", (int)info.derived_calls,
                  k);
        cr_assert(info.derivations == 1 || !one_pattern, "%d of mode %d",
                  (int)info.derivations, k);
        called = pith_jit(s, &shift_of, NULL);
        info = derived(derivatives[k], &shifts_of, ramp(WIDE, -0.4, 0.17));
        cr_assert(info.derived_calls == CALLS - 2 || !one_pattern,
                  "not the first with what is fixed, whose y + 1 others share, and the "
                  "last, whose integers nothing reads: %d of mode %d",
                  (int)info.derived_calls, k);
        /* Rows of a gradient have one input for equal tangents. */
        const bool equal = derivatives[k] == gradient ||
                           derivatives[k] == strong_gradient || derivatives[k] == along;
        cr_assert(info.derivations == 3 + equal || !one_pattern,
                  "both move, they are one, one moves, perhaps they have one tangent: %d "
                  "of mode %d",
                  (int)info.derivations, k);
        called = &waves_of;
        info = derived(derivatives[k], &parts_of, ramp(WIDE * CALLS, -0.4, 0.017));
        cr_assert_eq(info.derived_calls, 0);
    }
    close_scope();
}

/* ---- Errors ---- */

static const pith_array *
marked(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_array *a = waves(in, x, y), *b = waves(in, a, y);
    return waves(in, a, pith_nextafter(in, b, y));
}
PITH_FUNCTION2(marked_of, marked, pith_array, pith_array, pith_array)

Test(derive_calls, refusals_name_the_line_in_the_function, .init = open_scope) {
    char messages[2][2048], sites[2][512];
    for (int k = 0; k < 2; k++) {
        called = k ? pith_jit(s, &marked_of, NULL) : &marked_of;
        pt_fails(PITH_E_DERIVATIVE, s,
                 pith_call(s, pith_grad(s, &chain_of, NULL),
                           PITH_ITEMS(ramp(WIDE, -0.4, 0.17), ramp(WIDE, 0.3, 0.11))));
        snprintf(messages[k], sizeof messages[k], "%s", pt_error.message);
        snprintf(sites[k], sizeof sites[k], "%s", pt_error.site);
    }
    cr_assert_str_eq(messages[0], messages[1]);
    cr_assert_str_eq(sites[0], sites[1]);
    close_scope();
}

/* ---- Memory ---- */

static pith_status derive(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const void *arguments[] = {ramp(WIDE, -0.4, 0.17), ramp(WIDE, 0.3, 0.11)};
    if (!pith_failed(s)) {
        called = pith_jit(s, &shift_of, NULL);
        if (called)
            pt_again(s, gradient(&shifts_of, arguments));
    }
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(derive_calls, every_failure_is_survived, .timeout = 300) {
    const pt_failures failures = pt_fail_each(derive);
    cr_assert(failures.allocations > 50, "%d allocations, %d errors",
              failures.allocations, failures.errors);
}
