/* Functions over loop axes: signatures, broadcasting from the right, excluded arguments,
 * and that each call is the call alone. */
#include "fail_allocator.h"
#include "vmap_test.h"

/* ---- Functions of cores ---- */

static const pith_array *
scaled(pith_scope *in, const pith_array *x, const pith_array *y) { /* (),() */
    return pith_add(in, pith_mul(in, pith_sin(in, x), y), 1.0);
}
PITH_FUNCTION2(scaled_of, scaled, pith_array, pith_array, pith_array)

static const pith_array *
product(pith_scope *in, const pith_array *m, const pith_array *x) { /* (m,n),(n) */
    return pith_sum(in, pith_mul(in, m, x), PITH_AXES(-1));
}
PITH_FUNCTION2(product_of, product, pith_array, pith_array, pith_array)

static const pith_array *
outer(pith_scope *in, const pith_array *x, const pith_array *y) { /* (m),(n) */
    return pith_mul(in, pith_expand_dims(in, x, PITH_AXES(1)), y);
}
PITH_FUNCTION2(outer_of, outer, pith_array, pith_array, pith_array)

/* A call for given indices of the loop axes, which broadcast from the right. */
static const pith_array *
at_loops(const pith_array *a, int core, int loops, const int64_t *index) {
    const int own = pith_array_spec(a)->rank - core;
    for (int k = 0; k < own; k++) {
        const int64_t extent = pith_array_spec(a)->shape[0];
        a = entry_of(a, extent == 1 ? 0 : index[loops - own + k], 0);
    }
    return a;
}

typedef struct {
    const pith_function *f;
    const char *signature;
    int cores[2], result;
} kernel;
static const kernel scaled_kernel = {&scaled_of, NULL, {0, 0}, 0},
                    product_kernel = {&product_of, "(m,n),(n)->(m)", {2, 1}, 1},
                    outer_kernel = {&outer_of, "(m),(n)->(m,n)", {1, 1}, 2};

/* All calls against those one by one. */
static void calls_are_calls_alone(const kernel *k,
                                  const pith_array *x,
                                  const pith_array *y,
                                  int loops,
                                  const int64_t *extents) {
    const pith_function *all =
        pith_vectorize(s, k->f, &(pith_vectorize_options){.signature = k->signature});
    const pith_array *z = pith_apply(s, all, x, y);
    pt_ok(s, z);
    cr_assert(pith_array_spec(z)->rank == loops + k->result);
    int64_t count = 1;
    for (int d = 0; d < loops; d++) {
        cr_assert(pith_array_spec(z)->shape[d] == extents[d]);
        count *= extents[d];
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t index[PITH_MAX_RANK], rest = i;
        for (int d = loops; d-- > 0; rest /= extents[d])
            index[d] = rest % extents[d];
        same_bits(at_loops(z, k->result, loops, index),
                  pith_apply(s, k->f, at_loops(x, k->cores[0], loops, index),
                             at_loops(y, k->cores[1], loops, index)));
    }
}
#define LOOPS(...)                                                                       \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) {             \
        __VA_ARGS__                                                                      \
    }

Test(vectorize, loop_axes_broadcast_from_the_right, .init = open_scope) {
    const pith_array *x;
    x = numbers(PITH_SHAPE(2, 3));
    calls_are_calls_alone(&scaled_kernel, x, numbers(PITH_SHAPE(2, 3)), LOOPS(2, 3));
    calls_are_calls_alone(&scaled_kernel, x, numbers(PITH_SHAPE(3)), LOOPS(2, 3));
    calls_are_calls_alone(&scaled_kernel, x, numbers(PITH_SHAPE(2, 1)), LOOPS(2, 3));
    calls_are_calls_alone(&scaled_kernel, x, numbers(PITH_SCALAR), LOOPS(2, 3));
    calls_are_calls_alone(&scaled_kernel, x, numbers(PITH_SHAPE(4, 1, 1)),
                          LOOPS(4, 2, 3));
    calls_are_calls_alone(&scaled_kernel, numbers(PITH_SHAPE(2, 1, 2, 1)),
                          numbers(PITH_SHAPE(3, 1, 2)), LOOPS(2, 3, 2, 2));
    calls_are_calls_alone(&scaled_kernel, numbers(PITH_SHAPE(1, 1)),
                          numbers(PITH_SHAPE(1)), LOOPS(1, 1));
    calls_are_calls_alone(&scaled_kernel, numbers(PITH_SHAPE(3, 1, 2)),
                          numbers(PITH_SHAPE(1, 2)), LOOPS(3, 1, 2));
    close_scope();
}

Test(vectorize, cores_are_the_last_axes, .init = open_scope) {
    const kernel *p = &product_kernel, *o = &outer_kernel;
    const pith_array *m = numbers(PITH_SHAPE(5, 2, 3)), *x = numbers(PITH_SHAPE(3));
    calls_are_calls_alone(p, m, x, LOOPS(5));
    calls_are_calls_alone(p, numbers(PITH_SHAPE(2, 3)), numbers(PITH_SHAPE(5, 3)),
                          LOOPS(5));
    calls_are_calls_alone(p, m, numbers(PITH_SHAPE(5, 3)), LOOPS(5));
    calls_are_calls_alone(p, numbers(PITH_SHAPE(4, 1, 2, 3)), numbers(PITH_SHAPE(5, 3)),
                          LOOPS(4, 5));
    calls_are_calls_alone(p, numbers(PITH_SHAPE(1, 2, 3)), numbers(PITH_SHAPE(6, 3)),
                          LOOPS(6));
    calls_are_calls_alone(o, numbers(PITH_SHAPE(2, 1, 3)), numbers(PITH_SHAPE(4, 2)),
                          LOOPS(2, 4));
    calls_are_calls_alone(o, numbers(PITH_SHAPE(2, 4, 3)), numbers(PITH_SHAPE(4, 2)),
                          LOOPS(2, 4));
    close_scope();
}

Test(vectorize, empty_loops_and_no_loops, .init = open_scope) {
    const pith_vectorize_options o = {.signature = "(m,n),(n)->(m)"};
    const pith_function *f = pith_vectorize(s, &product_of, &o);
    const pith_array *m = numbers(PITH_SHAPE(2, 3)), *x = numbers(PITH_SHAPE(3));
    same_bits(pith_apply(s, f, m, x), product(s, m, x));
    const pith_array *none = pith_apply(s, f, numbers(PITH_SHAPE(0, 2, 3)), x);
    same_bits(none, numbers(PITH_SHAPE(0, 2)));
    none = pith_apply(s, f, numbers(PITH_SHAPE(4, 0, 2, 3)), numbers(PITH_SHAPE(1, 3)));
    same_bits(none, numbers(PITH_SHAPE(4, 0, 2)));
    close_scope();
}

/* ---- Excluded arguments ---- */

static const pith_array *
to_power(pith_scope *in, const pith_array *x, const pith_array *p) { /* (n) */
    return pith_pow(in, x, pith_sum(in, p, PITH_ALL_AXES));
}
PITH_FUNCTION2(to_power_of, to_power, pith_array, pith_array, pith_array)

Test(vectorize, excluded_arguments_are_whole, .init = open_scope) {
    const pith_vectorize_options o = {.signature = "(n)->(n)",
                                      .excluded = PITH_ARGUMENT(1)};
    const pith_function *f = pith_vectorize(s, &to_power_of, &o);
    const pith_array *x = numbers(PITH_SHAPE(4, 3)), *p = PITH_VECTOR(s, f64, 1.5, 1);
    const pith_array *z = pith_apply(s, f, x, p);
    for (int64_t i = 0; i < 4; i++)
        same_bits(entry_of(z, i, 0), to_power(s, entry_of(x, i, 0), p));
    close_scope();
}

/* ---- Leaves of trees ---- */

/* Seven leaves, (),(),(n),(n),(n),(n),(n,n) -> (n),(n), as kUPS uses it. */
static const void *seven(pith_scope *in, const void *two, const void *five) {
    const pith_array *a = pith_child(two, 0), *b = pith_child(two, 1);
    const pith_array *m = pith_child(five, 4);
    const pith_array *sum = pith_add(in, pith_child(five, 0), pith_child(five, 1));
    const pith_array *difference = pith_sub(in, pith_child(five, 2), pith_child(five, 3));
    return pith_tuple_make(
        in, PITH_ITEMS(pith_mul(in, a, pith_sum(in, pith_mul(in, m, sum), PITH_AXES(1))),
                       pith_mul(in, b, difference)));
}
PITH_FUNCTION2(seven_of, seven, void, void, void)

Test(vectorize, a_signature_counts_leaves, .init = open_scope) {
    const pith_vectorize_options o = {.signature =
                                          " ( ), (),(n),(n),(n),(n),(n, n)->(n),(n)"};
    const pith_array *a = numbers(PITH_SHAPE(2)), *b = numbers(PITH_SCALAR),
                     *n = numbers(PITH_SHAPE(3)), *m = numbers(PITH_SHAPE(4, 1, 3, 3)),
                     *k = numbers(PITH_SHAPE(2, 3));
    const void *two = pith_tuple_make(s, PITH_ITEMS(a, b)),
               *five = pith_tuple_make(s, PITH_ITEMS(n, k, n, k, m));
    const void *z = pith_apply(s, pith_vectorize(s, &seven_of, &o), two, five);
    pt_ok(s, z);
    for (int64_t i = 0; i < 4; i++)
        for (int64_t j = 0; j < 2; j++) {
            const int64_t index[2] = {i, j};
            const void *alone =
                seven(s, pith_tuple_make(s, PITH_ITEMS(at_loops(a, 0, 2, index), b)),
                      pith_tuple_make(s, PITH_ITEMS(n, at_loops(k, 1, 2, index), n,
                                                    at_loops(k, 1, 2, index),
                                                    at_loops(m, 2, 2, index))));
            for (int r = 0; r < 2; r++)
                same_bits(at_loops(pith_child(z, r), 1, 2, index), pith_child(alone, r));
        }
    close_scope();
}

typedef struct {
    const pith_array *mass, *position;
} Body;
PITH_NODE(Body, PITH_LEAF(mass, "f64[]"), PITH_LEAF(position, "f64[n]"))
static const Body *shift(pith_scope *in, const Body *body) {
    return pith_record(in, Body, .mass = body->mass,
                       .position = pith_mul(in, body->position, body->mass));
}
PITH_FUNCTION1(shift_of, shift, Body, Body)

Test(vectorize, records_have_loop_axes, .init = open_scope) {
    const pith_vectorize_options o = {.signature = "(),(3)->(),(3)"};
    const Body *many = pith_record(s, Body, .mass = numbers(PITH_SHAPE(2, 4)),
                                   .position = numbers(PITH_SHAPE(2, 4, 3)));
    const Body *z = pith_apply(s, pith_vectorize(s, &shift_of, &o), many);
    pt_ok(s, z);
    same_bits(z->mass, many->mass);
    same_bits(z->position,
              pith_mul(s, many->position, pith_expand_dims(s, many->mass, PITH_AXES(2))));
    close_scope();
}

/* ---- Names of results, and what does not depend on the loops ---- */

static const void *grow(pith_scope *in, const pith_array *x, const pith_array *y) {
    return pith_tuple_make(
        in, PITH_ITEMS(pith_concatenate(in, 2, (const pith_array *[]){x, x}, 0),
                       pith_sin(in, y)));
}
PITH_FUNCTION2(grow_of, grow, void, pith_array, pith_array)

Test(vectorize, names_of_results_are_taken_from_them, .init = open_scope) {
    const pith_vectorize_options o = {.signature = "(n),()->(k),()"};
    const pith_array *x = numbers(PITH_SHAPE(4, 3)), *y = numbers(PITH_SCALAR);
    const void *z = pith_apply(s, pith_vectorize(s, &grow_of, &o), x, y);
    pt_ok(s, z);
    for (int64_t i = 0; i < 4; i++) {
        const void *alone = grow(s, entry_of(x, i, 0), y);
        for (int r = 0; r < 2; r++)
            same_bits(entry_of(pith_child(z, r), i, 0), pith_child(alone, r));
    }
    close_scope();
}

Test(vectorize, calls_are_cached_by_signature, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(4, 3));
    for (int k = 0; k < 6; k++) {
        const pith_vectorize_options o = {.signature =
                                              k % 2 ? "(n),(n)->(n)" : "(),()->()"};
        pt_ok(s, pith_apply(s, pith_vectorize(s, &scaled_of, &o), x, x));
    }
    cr_assert(pith_jit_about(rt).misses == 2 && pith_jit_about(rt).hits == 4);
    close_scope();
}

/* ---- Checks, derivatives and batches ---- */

static const pith_array *
checked(pith_scope *in, const pith_array *x, const pith_array *y) {
    pith_check(in, pith_less(in, x, y), "{x} is large", .args = {{"x", x}});
    return pith_sub(in, y, x);
}
PITH_FUNCTION2(checked_of, checked, pith_array, pith_array, pith_array)

Test(vectorize, a_check_is_one_over_all_calls, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3),
                     *y = pith_reshape(s, PITH_VECTOR(s, f64, 5, 3), PITH_SHAPE(2, 1));
    const pith_result *r =
        pith_as_result(s, pith_vectorize(s, &checked_of, NULL), PITH_ITEMS(x, y));
    pt_ok(s, r);
    cr_assert(pith_result_count(s, r) == 1 && pith_result_failed(s, r) == 1);
    const pith_assertion *a = pith_result_get_failed(s, r, 0);
    cr_assert_str_eq(pith_assertion_message(s, a),
                     "3.0 is large (first failing index [5])");
    close_scope();
}

static const pith_array *
sum_of_all(pith_scope *in, const pith_array *x, const pith_array *y) {
    return pith_sum(in, pith_apply(in, pith_vectorize(in, &scaled_of, NULL), x, y),
                    PITH_ALL_AXES);
}
PITH_FUNCTION2(sum_of_all_of, sum_of_all, pith_array, pith_array, pith_array)
static const pith_array *
sum_of_plain(pith_scope *in, const pith_array *x, const pith_array *y) {
    return pith_sum(in, scaled(in, x, y), PITH_ALL_AXES);
}
PITH_FUNCTION2(sum_of_plain_of, sum_of_plain, pith_array, pith_array, pith_array)

Test(vectorize, is_derived_and_batched, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(2, 1)), *y = numbers(PITH_SHAPE(3));
    for (unsigned i = 0; i < 2; i++) {
        const pith_derive_options o = {.arguments = PITH_ARGUMENT(i)};
        same_bits(pith_apply(s, pith_grad(s, &sum_of_all_of, &o), x, y),
                  pith_apply(s, pith_grad(s, &sum_of_plain_of, &o), x, y));
    }
    const pith_function *each = pith_vectorize(s, &scaled_of, NULL);
    const pith_array *rows = numbers(PITH_SHAPE(4, 2, 1)),
                     *few = numbers(PITH_SHAPE(4, 3));
    const pith_array *z = pith_apply(s, pith_vmap(s, each, NULL), rows, few);
    for (int64_t i = 0; i < 4; i++)
        same_bits(entry_of(z, i, 0),
                  pith_apply(s, each, entry_of(rows, i, 0), entry_of(few, i, 0)));
    close_scope();
}

/* ---- Errors ---- */

static void invalid(const char *signature, const char *text) {
    const pith_vectorize_options o = {.signature = signature};
    pt_fails(PITH_E_ARG, s, pith_vectorize(s, &product_of, &o));
    pt_says("pith_vectorize: product: invalid signature");
    pt_says(text);
}

Test(vectorize, invalid_signatures_say_where, .init = open_scope) {
    invalid("(m,n),(n)", "expected ',' or '->' at character 10");
    invalid("(m,n),(n)->(m", "expected ',' or ')' at character 14");
    invalid("m,n->m", "expected '(' at character 1");
    invalid("(m n)->(m)", "expected ',' or ')' at character 4");
    invalid("(m,n)->(m)->(n)", "expected ',' or the end at character 11");
    invalid("(1a)->(a)", "expected ',' or ')' at character 3");
    invalid("(m,)->(m)", "expected a name or a number at character 4");
    invalid("", "expected '(' at character 1");
    invalid("->()", "expected '(' at character 1");
    invalid("(m)->", "expected '(' at character 6");
    invalid("(m)-(m)", "expected ',' or '->' at character 4");
    invalid("(m),->(m)", "expected '(' at character 5");
    invalid("(a,b,c,d,e,f,g,h,i)->()", "at most 8 axes");
    invalid("(9223372036854775808)->()", "a number below 2^63");
    const pith_vectorize_options o = {.excluded = PITH_ARGUMENT(2)};
    pt_fails(PITH_E_ARG, s, pith_vectorize(s, &product_of, &o));
    pt_says(".excluded names argument [2]: expected [0] to [1]");
    close_scope();
}

static void refuses(const pith_function *f,
                    const char *signature,
                    const pith_array *x,
                    const pith_array *y,
                    const char *path,
                    const char *text) {
    const pith_function *all =
        pith_vectorize(s, f, &(pith_vectorize_options){.signature = signature});
    pt_ok(s, all);
    for (int again = 0; again < 2; again++) {
        pt_fails(PITH_E_SHAPE, s, pith_apply(s, all, x, y));
        cr_assert_str_eq(pt_error.path, path, "%s", pt_error.message);
        pt_says(text);
    }
}

Test(vectorize, wrong_calls_name_the_leaf, .init = open_scope) {
    const char *const matvec = "(m,n),(n)->(m)";
    const pith_array *m = numbers(PITH_SHAPE(2, 3)), *x = numbers(PITH_SHAPE(3));
    refuses(&product_of, matvec, m, numbers(PITH_SHAPE(4)), "[1]",
            "product: n of (m,n),(n)->(m) is 4 in f64[4], and 3 in [0], f64[2,3]");
    refuses(&product_of, matvec, x, x, "[0]",
            "expected (m,n) at the end of the shape, got f64[3]");
    refuses(&product_of, "(m,3),(4)->(m)", m, x, "[1]",
            "expected (4) at the end of the shape, got f64[3]");
    refuses(&product_of, matvec, numbers(PITH_SHAPE(5, 2, 3)), numbers(PITH_SHAPE(4, 3)),
            "[1]",
            "the loop axes of f64[4,3] do not broadcast with those of [0], f64[5,2,3]");
    refuses(&product_of, "(m,n),(n),(n)->(m)", m, x, "",
            "has 3 arguments, and the arguments have 2 leaves");
    refuses(&product_of, "(m,n),(n)->(m),(m)", m, x, "",
            "has 2 results, and the result has 1 leaves");
    refuses(&product_of, "(m,n),(n)->(n)", m, x, "",
            "result: expected the shape (n) of the signature, got f64[2]");
    refuses(&product_of, "(m,n),(n)->()", m, x, "",
            "result: expected the shape () of the signature, got f64[2]");
    const pith_array *deep = numbers(PITH_SHAPE(1, 1, 1, 1, 1, 1, 2, 2));
    refuses(&outer_of, "(m),(n)->(m,n)", deep, x, "",
            "7 loop axes are added to f64[2,3]; arrays have at most 8");
    same_bits(pith_apply(s,
                         pith_vectorize(s, &product_of,
                                        &(pith_vectorize_options){.signature = matvec}),
                         m, x),
              product(s, m, x));
    close_scope();
}

/* ---- Memory ---- */

/* The dot product of vectors that are not too long. */
static const pith_array *
checked_dot(pith_scope *in, const pith_array *x, const pith_array *y) {
    pith_check(in, pith_less(in, x, 100.0), "x is {x}", .args = {{"x", x}});
    return pith_sum(in, pith_mul(in, x, y), PITH_ALL_AXES);
}
PITH_FUNCTION2(checked_dot_of, checked_dot, pith_array, pith_array, pith_array)
static const pith_array *
all_dots(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_vectorize_options o = {.signature = "(n),(n)->()"};
    const pith_function *f = pith_vectorize(in, &checked_dot_of, &o);
    return pith_sum(in, pith_apply(in, f, x, y), PITH_ALL_AXES);
}
PITH_FUNCTION2(all_dots_of, all_dots, pith_array, pith_array, pith_array)

static pith_status in_little_memory(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_vectorize_options o = {.signature = "(n),(n)->()"};
    const pith_function *f = NULL, *g = NULL;
    const pith_array *x = numbers(PITH_SHAPE(2, 1, 3)), *y = numbers(PITH_SHAPE(4, 3)),
                     *got = NULL;
    if (!pith_failed(s))
        pt_again(s, f = pith_vectorize(s, &checked_dot_of, &o));
    if (!pith_failed(s))
        pt_again(s, got = pith_apply(s, f, x, y));
    if (!pith_failed(s))
        pt_again(s, g = pith_grad(s, &all_dots_of, NULL));
    if (!pith_failed(s))
        pt_again(s, got = pith_apply(s, g, x, y)); /* the sum of all y */
    if (!pith_failed(s) && got) {
        double sums[6] = {0};
        if (pith_read(s, got, sums, sizeof sums))
            cr_assert(sums[0] == 20 && sums[5] == 28, "%g, %g", sums[0], sums[5]);
    }
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(vectorize, every_allocation_may_fail, .timeout = 300) {
    const pt_failures f = pt_fail_each(in_little_memory);
    cr_assert(f.allocations > 200 && f.errors > 5, "%d of %d", f.errors, f.allocations);
}
