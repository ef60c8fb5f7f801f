/* Functions of which a batch is a loop over entries: the same values and derivatives as
 * calls one by one, what reverse mode keeps, and that the batch is a loop. */
#include "fail_allocator.h"
#include "vmap_test.h"

typedef struct {
    const pith_array *sum, *wave;
} Pair;
PITH_NODE(Pair, PITH_LEAF(sum, "f64[]"), PITH_LEAF(wave, "f64[n]"))

/* Of an array and a shared matrix. */
static const Pair *mixed(pith_scope *in, const pith_array *x, const pith_array *m) {
    const pith_array *y = pith_sum(in, pith_mul(in, m, pith_sin(in, x)), PITH_AXES(1));
    return pith_record(in, Pair, .sum = pith_sum(in, pith_mul(in, y, y), PITH_ALL_AXES),
                       .wave = pith_cos(in, y));
}
PITH_FUNCTION2(mixed_of, mixed, Pair, pith_array, pith_array)

static const pith_vmap_options shares_m = {
    .in = (const pith_mapped[]){{"[1]", PITH_NOT_MAPPED}, {NULL, 0}}};

static const pith_array *matrix(void) {
    return pith_reshape(s, pith_mul(s, pith_arange(s, PITH_F64, 9), 0.25),
                        PITH_SHAPE(3, 3));
}

static void same_pairs(const Pair *got, const Pair *wanted) {
    pt_ok(s, got && wanted);
    same_bits(got->sum, wanted->sum);
    same_bits(got->wave, wanted->wave);
}

Test(sequential, is_the_function_itself, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3)), *m = matrix();
    const pith_function *f = pith_sequential_vmap(s, &mixed_of);
    same_pairs(pith_apply(s, f, x, m), mixed(s, x, m));
    same_pairs(pith_apply(s, pith_jit(s, f, NULL), x, m), mixed(s, x, m));
    close_scope();
}

Test(sequential, a_batch_has_the_entries_of_calls, .init = open_scope) {
    const pith_array *m = matrix();
    for (int64_t size = 0; size < 4; size++) {
        const pith_array *x = numbers(PITH_SHAPE(size, 3));
        const pith_function *f =
            pith_vmap(s, pith_sequential_vmap(s, &mixed_of), &shares_m);
        const Pair *all = pith_apply(s, f, x, m);
        pt_ok(s, all);
        cr_assert(pith_array_spec(all->wave)->shape[0] == size);
        for (int64_t i = 0; i < size; i++) {
            const Pair *alone = mixed(s, entry_of(x, i, 0), m);
            same_bits(entry_of(all->sum, i, 0), alone->sum);
            same_bits(entry_of(all->wave, i, 0), alone->wave);
        }
    }
    close_scope();
}

Test(sequential, batches_of_batches_are_loops_in_loops, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(2, 2, 3)), *m = matrix();
    const pith_function *f = pith_vmap(
        s, pith_vmap(s, pith_sequential_vmap(s, &mixed_of), &shares_m), &shares_m);
    const Pair *all = pith_apply(s, f, x, m);
    pt_ok(s, all);
    for (int64_t i = 0; i < 2; i++)
        for (int64_t j = 0; j < 2; j++)
            same_bits(entry_of(entry_of(all->wave, i, 0), j, 0),
                      mixed(s, entry_of(entry_of(x, i, 0), j, 0), m)->wave);
    close_scope();
}

/* ---- Derivatives ---- */

static bool sequential;
static const pith_array *
energy(pith_scope *in, const pith_array *x, const pith_array *m) {
    const pith_function *f = sequential ? pith_sequential_vmap(in, &mixed_of) : &mixed_of;
    const Pair *p = pith_apply(in, f, x, m);
    return pith_failed(in) ? NULL
                           : pith_add(in, p->sum, pith_sum(in, p->wave, PITH_ALL_AXES));
}
PITH_FUNCTION2(energy_of, energy, pith_array, pith_array, pith_array)

/* By argument i; compiled functions differ by `sequential` alone. */
static const pith_function *gradient(bool in_turn, unsigned i) {
    pith_jit_clear(rt);
    sequential = in_turn;
    return pith_grad(s, &energy_of,
                     &(pith_derive_options){.arguments = PITH_ARGUMENT(i)});
}

Test(sequential, gradients_are_those_of_the_function, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(4, 3)), *m = matrix();
    for (unsigned i = 0; i < 2; i++) {
        const pith_array *wanted[4];
        for (int64_t k = 0; k < 4; k++)
            wanted[k] = pith_apply(s, gradient(false, i), entry_of(x, k, 0), m);
        same_bits(pith_apply(s, gradient(true, i), entry_of(x, 0, 0), m), wanted[0]);
        const pith_array *all =
            pith_apply(s, pith_vmap(s, gradient(true, i), &shares_m), x, m);
        for (int64_t k = 0; k < 4; k++)
            same_bits(entry_of(all, k, 0), wanted[k]);
    }
    close_scope();
}

/* The sum over a batch, so that derivation comes after batching. */
static const pith_array *total(pith_scope *in, const pith_array *x, const pith_array *m) {
    return pith_sum(in, pith_apply(in, pith_vmap(in, &energy_of, &shares_m), x, m),
                    PITH_ALL_AXES);
}
PITH_FUNCTION2(total_of, total, pith_array, pith_array, pith_array)

Test(sequential, batches_are_derived, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(4, 3)), *m = matrix();
    sequential = true;
    const pith_array *by_x = pith_apply(s, pith_grad(s, &total_of, NULL), x, m);
    pt_ok(s, by_x);
    for (int64_t k = 0; k < 4; k++)
        same_bits(entry_of(by_x, k, 0),
                  pith_apply(s, gradient(false, 0), entry_of(x, k, 0), m));
    pith_jit_clear(rt);
    sequential = true;
    const pith_array *t = numbers(PITH_SHAPE(4, 3));
    const pith_array *pushed = pith_jvp(s, &total_of, PITH_ITEMS(x, m), t, NULL).tangent;
    const double got = pith_read_f64(s, pushed),
                 wanted =
                     pith_read_f64(s, pith_sum(s, pith_mul(s, by_x, t), PITH_ALL_AXES));
    cr_assert(got - wanted < 1e-12 * (1 + wanted) && wanted - got < 1e-12 * (1 + wanted),
              "%.17g, expected %.17g", got, wanted);
    close_scope();
}

/* The gradient of the squared gradient. */
static const pith_array *
steepness(pith_scope *in, const pith_array *x, const pith_array *m) {
    const pith_array *g = pith_apply(in, pith_grad(in, &energy_of, NULL), x, m);
    return pith_failed(in) ? NULL : pith_sum(in, pith_mul(in, g, g), PITH_ALL_AXES);
}
PITH_FUNCTION2(steepness_of, steepness, pith_array, pith_array, pith_array)

Test(sequential, is_derived_to_any_order, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3, 3)), *m = matrix();
    const pith_function *second = pith_grad(s, &steepness_of, NULL);
    sequential = false;
    const pith_array *wanted[3];
    for (int64_t k = 0; k < 3; k++)
        wanted[k] = pith_apply(s, second, entry_of(x, k, 0), m);
    pith_jit_clear(rt);
    sequential = true;
    const pith_array *all = pith_apply(s, pith_vmap(s, second, &shares_m), x, m);
    pt_ok(s, all);
    for (int64_t k = 0; k < 3; k++)
        same_bits(entry_of(all, k, 0), wanted[k]);
    close_scope();
}

Test(sequential, reverse_mode_keeps_the_arguments_alone, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3)), *m = matrix();
    const char *text =
        pith_residual_text(s, pith_sequential_vmap(s, &mixed_of), PITH_ITEMS(x, m), NULL);
    pt_ok(s, text);
    cr_assert_str_eq(text, "24 bytes, f64[3]: argument [0], not copied\n"
                           "72 bytes, f64[3,3]: argument [1], not copied\n"
                           "0 bytes in all, and 96 bytes not copied\n");
    const pith_array *many = numbers(PITH_SHAPE(5, 3));
    text =
        pith_residual_text(s, pith_vmap(s, pith_sequential_vmap(s, &mixed_of), &shares_m),
                           PITH_ITEMS(many, m), NULL);
    pt_ok(s, text);
    cr_assert_str_eq(text, "120 bytes, f64[5,3]: argument [0], not copied\n"
                           "72 bytes, f64[3,3]: argument [1], not copied\n"
                           "0 bytes in all, and 192 bytes not copied\n");
    close_scope();
}

/* ---- The loop ---- */

/* A number of a sorted matrix, which takes 512 KiB. */
static const pith_array *large(pith_scope *in, const pith_array *x) {
    enum { N = 256 };
    const pith_array *i = pith_arange(in, PITH_F64, N);
    const pith_array *a = pith_mul(in, pith_sin(in, pith_mul(in, i, x)),
                                   pith_reshape(in, i, PITH_SHAPE(N, 1)));
    const pith_array *sorted = pith_sort(in, a, 0, NULL);
    return pith_sum(in, pith_mul(in, sorted, i), PITH_ALL_AXES);
}
PITH_FUNCTION1(large_of, large, pith_array, pith_array)

static size_t workspace_of(const pith_function *f, const pith_array *x) {
    const pith_function *compiled = pith_jit(s, f, NULL);
    pt_ok(s, pith_apply(s, compiled, x));
    return pith_program_cost(s, compiled, PITH_ITEMS(x)).workspace_bytes;
}

Test(sequential, a_batch_takes_the_memory_of_an_entry, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(8));
    const pith_function *one = pith_sequential_vmap(s, &large_of);
    const size_t alone = workspace_of(&large_of, pith_f64(s, 0.5)),
                 all = workspace_of(pith_vmap(s, &large_of, NULL), x),
                 in_turn = workspace_of(pith_vmap(s, one, NULL), x);
    cr_assert(in_turn < 2 * alone, "%zu bytes of an entry, %zu in a loop", alone,
              in_turn);
    cr_assert(all > 4 * alone, "%zu bytes of an entry, %zu at once", alone, all);
    same_bits(pith_apply(s, pith_vmap(s, one, NULL), x),
              pith_apply(s, pith_vmap(s, &large_of, NULL), x));
    close_scope();
}

/* ---- Trees that are bound, branches, checks ---- */

static const pith_array *
scaled(pith_scope *in, const pith_array *x, const pith_array *by) {
    return pith_mul(in, pith_exp(in, x), by);
}
PITH_FUNCTION2(scaled_of, scaled, pith_array, pith_array, pith_array)

static const pith_array *
bound(pith_scope *in, const pith_array *x, const pith_array *by) {
    return pith_apply(in, pith_sequential_vmap(in, pith_partial(in, &scaled_of, by)), x);
}
PITH_FUNCTION2(bound_of, bound, pith_array, pith_array, pith_array)

Test(sequential, bound_trees_are_batched_too, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3)), *by = numbers(PITH_SHAPE(3, 2));
    const pith_array *all = pith_apply(s, pith_vmap(s, &bound_of, NULL), x, by);
    for (int64_t i = 0; i < 3; i++)
        same_bits(entry_of(all, i, 0), scaled(s, entry_of(x, i, 0), entry_of(by, i, 0)));
    const pith_vmap_options o = {.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED})};
    all = pith_apply(s, pith_vmap(s, &bound_of, &o), pith_f64(s, 0.5), by);
    for (int64_t i = 0; i < 3; i++)
        same_bits(entry_of(all, i, 0), scaled(s, pith_f64(s, 0.5), entry_of(by, i, 0)));
    close_scope();
}

/* 3 n + 1 until 1: the number of steps, of 27 many. */
static const pith_array *is_above(pith_scope *in, const void *t) {
    return pith_greater(in, pith_child(t, 0), 1);
}
static const void *next(pith_scope *in, const void *t) {
    const pith_array *n = pith_child(t, 0);
    const pith_array *odd = pith_equal(in, pith_remainder(in, n, 2), 1);
    return pith_tuple_make(
        in, PITH_ITEMS(pith_where(in, odd, pith_add(in, pith_mul(in, n, 3), 1),
                                  pith_floor_divide(in, n, 2)),
                       pith_add(in, pith_child(t, 1), 1)));
}
PITH_FUNCTION1(is_above_test, is_above, pith_array, void)
PITH_FUNCTION1(next_of, next, void, void)
static const pith_array *collatz(pith_scope *in, const pith_array *n) {
    const void *t = pith_while(in, &is_above_test, &next_of,
                               pith_tuple_make(in, PITH_ITEMS(n, pith_i64(in, 0))));
    return pith_failed(in) ? NULL : pith_child(t, 1);
}
PITH_FUNCTION1(collatz_of, collatz, pith_array, pith_array)

static const pith_array *in_turn(pith_scope *in, const pith_array *n) {
    return pith_apply(in, pith_sequential_vmap(in, &collatz_of), n);
}
static const pith_array *nothing(pith_scope *in, const pith_array *n) {
    return pith_mul(in, n, -1);
}
PITH_FUNCTION1(in_turn_of, in_turn, pith_array, pith_array)
PITH_FUNCTION1(nothing_of, nothing, pith_array, pith_array)
static const pith_array *if_small(pith_scope *in, const pith_array *n) {
    return pith_cond(in, pith_less(in, n, 40), &in_turn_of, &nothing_of, n);
}
PITH_FUNCTION1(if_small_of, if_small, pith_array, pith_array)

Test(sequential, loops_inside_end_by_themselves, .init = open_scope) {
    const pith_array *n = PITH_VECTOR(s, i64, 27, 1, 6, 50),
                     *steps = PITH_VECTOR(s, i64, 111, 0, 8, 24),
                     *chosen = PITH_VECTOR(s, i64, 111, 0, 8, -50);
    same_bits(pith_apply(s, pith_vmap(s, &in_turn_of, NULL), n), steps);
    same_bits(pith_apply(s, pith_vmap(s, &if_small_of, NULL), n), chosen);
    close_scope();
}

static const pith_array *
checked(pith_scope *in, const pith_array *x, const pith_array *id) {
    pith_check(in, pith_less(in, x, 3), "{id} has {x}", .args = {{"id", id}, {"x", x}});
    return pith_sqrt(in, x);
}
PITH_FUNCTION2(checked_of, checked, pith_array, pith_array, pith_array)

Test(sequential, checks_name_the_first_entry, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3, 4),
                     *id = PITH_VECTOR(s, i64, 10, 11, 12, 13);
    const pith_result *r = pith_as_result(
        s, pith_vmap(s, pith_sequential_vmap(s, &checked_of), NULL), PITH_ITEMS(x, id));
    pt_ok(s, r);
    cr_assert(pith_result_count(s, r) == 1 && pith_result_failed(s, r) == 1);
    cr_assert_str_eq(pith_assertion_message(s, pith_result_get_failed(s, r, 0)),
                     "12 has 3.0 (first failing index [2])");
    close_scope();
}

/* ---- Errors ---- */

Test(sequential, refuses_what_is_no_function, .init = open_scope) {
    pt_fails(PITH_E_ARG, s, pith_sequential_vmap(s, NULL));
    pt_says("pith_sequential_vmap");
    close_scope();
}

static pith_status in_little_memory(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3), *m = pith_f64(s, 2);
    sequential = true;
    if (!pith_failed(s))
        pt_again(s, pith_apply(s, pith_vmap(s, pith_sequential_vmap(s, &scaled_of), NULL),
                               x, x));
    if (!pith_failed(s))
        pt_again(s, pith_apply(s, pith_vmap(s, pith_grad(s, &bound_of, NULL), &shares_m),
                               x, m));
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(sequential, survives_each_failed_allocation, .timeout = 300) {
    const pt_failures f = pt_fail_each(in_little_memory);
    cr_assert(f.allocations > 50, "%d allocations, %d errors", f.allocations, f.errors);
}
