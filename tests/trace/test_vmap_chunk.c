/* Batches of a bounded number of entries at a time: the same bits, whatever the bound,
 * and what does not depend on the batch is computed once. */
#include "fail_allocator.h"
#include "vmap_test.h"

typedef struct {
    const pith_array *wave, *sum, *shared;
} Parts;
PITH_NODE(Parts,
          PITH_LEAF(wave, "f64[...]"),
          PITH_LEAF(sum, "f64[...]"),
          PITH_LEAF(shared, "f64[...]"))

static const Parts *
part(pith_scope *in, const pith_array *x, const pith_array *y, const pith_array *c) {
    const pith_array *shared = pith_exp(in, pith_mul(in, c, 0.25));
    pith_check(in, pith_less(in, y, 20.0), "y is {y}", .args = {{"y", y}});
    return pith_record(in, Parts, .wave = pith_mul(in, pith_sin(in, x), shared),
                       .sum = pith_add(in, y, pith_add(in, shared, 1.0)),
                       .shared = shared);
}
PITH_FUNCTION3(part_of, part, Parts, pith_array, pith_array, pith_array)

static const pith_function *parts(int64_t chunk) {
    const pith_vmap_options o = {
        .in = PITH_MAPPED({"[0]", 1}, {"[2]", PITH_NOT_MAPPED}),
        .out = PITH_MAPPED({".shared", PITH_NOT_MAPPED}, {".wave", -1}),
        .chunk = chunk};
    return pith_vmap(s, &part_of, &o);
}

static void compare(int64_t size, int64_t chunk) {
    const pith_array *x = numbers(PITH_SHAPE(3, size)), *y = numbers(PITH_SHAPE(size)),
                     *c = numbers(PITH_SHAPE(3));
    const Parts *whole = pith_apply(s, parts(0), x, y, c);
    const Parts *chunks = pith_apply(s, parts(chunk), x, y, c);
    pt_ok(s, whole->wave && chunks->wave);
    cr_assert(pith_array_spec(chunks->wave)->shape[1] == size);
    same_bits(chunks->wave, whole->wave);
    same_bits(chunks->sum, whole->sum);
    same_bits(chunks->shared, whole->shared);
    same_bits(chunks->shared, pith_exp(s, pith_mul(s, c, 0.25)));
}

Test(vmap_chunk, has_the_bits_of_the_whole, .init = open_scope) {
    static const int64_t chunks[] = {1, 2, 3, 4, 5, 7, 8, 100};
    for (int64_t size = 0; size <= 8; size++)
        for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++)
            compare(size, chunks[k]);
    close_scope();
}

Test(vmap_chunk, checks_are_those_of_the_whole, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(1, 7)), *c = numbers(PITH_SCALAR);
    const pith_array *y = PITH_VECTOR(s, f64, 1, 2, 3, 4, 5, 60, 70);
    for (int64_t chunk = 0; chunk <= 7; chunk++) {
        const pith_result *r = pith_as_result(s, parts(chunk), PITH_ITEMS(x, y, c));
        pt_ok(s, r);
        cr_assert(pith_result_count(s, r) == 1 && pith_result_failed(s, r) == 1);
        cr_assert_str_eq(pith_assertion_message(s, pith_result_get_failed(s, r, 0)),
                         "y is 60.0 (first failing index [5])");
        r = pith_as_result(s, parts(chunk), PITH_ITEMS(x, pith_div(s, y, 10.0), c));
        cr_assert(pith_result_all_pass(s, r));
    }
    close_scope();
}

/* Nothing of the function depends on the batch, or all of it is an input. */
static const pith_array *
second(pith_scope *in, const pith_array *x, const pith_array *y) {
    (void)in, (void)x;
    return y;
}
PITH_FUNCTION2(second_of, second, pith_array, pith_array, pith_array)

Test(vmap_chunk, of_functions_that_compute_nothing, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(5)), *y = numbers(PITH_SHAPE(5));
    const pith_vmap_options o = {.chunk = 2};
    same_bits(pith_apply(s, pith_vmap(s, &second_of, &o), x, y), y);
    const pith_vmap_options shared = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED}),
                                      .out = PITH_MAPPED({"", PITH_NOT_MAPPED}),
                                      .chunk = 2};
    same_bits(pith_apply(s, pith_vmap(s, &second_of, &shared), x, y), y);
    const pith_vmap_options none = {
        .in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED}, {"[1]", PITH_NOT_MAPPED}),
        .size = 3,
        .chunk = 2};
    const pith_array *z = pith_apply(s, pith_vmap(s, &second_of, &none), x, y);
    for (int64_t i = 0; i < 3; i++)
        same_bits(entry_of(z, i, 0), y);
    close_scope();
}

/* ---- What runs ---- */

/* Two sorts, whose first result is a temporary. */
static const pith_array *
sorted(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_array *rank = pith_argsort(in, x, 0, NULL);
    const pith_array *scale = pith_exp(in, y);
    return pith_mul(in, pith_sort(in, pith_take(in, x, rank, NULL), 0, NULL), scale);
}
PITH_FUNCTION2(sorted_of, sorted, pith_array, pith_array, pith_array)

static int occurrences(const char *text, const char *word) {
    int count = 0;
    for (; (text = strstr(text, word)); text++)
        count++;
    return count;
}

Test(vmap_chunk, is_a_scan_with_the_temporaries_of_a_chunk, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(64, 50)), *y = pith_f64(s, 0.5);
    int64_t workspace[2];
    for (int chunks = 0; chunks < 2; chunks++) {
        const pith_vmap_options o = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED}),
                                     .chunk = chunks ? 4 : 0};
        const pith_function *f = pith_vmap(s, &sorted_of, &o);
        const char *text = pith_program_text(s, f, PITH_ITEMS(x, y));
        pt_ok(s, text);
        cr_assert(occurrences(text, "= scan ") == chunks, "%s", text);
        cr_assert(occurrences(text, "= exp ") == 1, "%s", text); /* once, outside of it */
        cr_assert(!chunks || strstr(text, "= exp ") < strstr(text, "= scan "));
        workspace[chunks] =
            (int64_t)pith_program_cost(s, f, PITH_ITEMS(x, y)).workspace_bytes;
    }
    pt_ok(s);
    cr_assert(workspace[1] < workspace[0] / 4, "%d of %d", (int)workspace[1],
              (int)workspace[0]);
    close_scope();
}

/* ---- Derivatives ---- */

static int64_t chunk_of_total;
static const pith_array *
entry_total(pith_scope *in, const pith_array *x, const pith_array *y) {
    return pith_mul(in, pith_sin(in, x), pith_exp(in, y));
}
PITH_FUNCTION2(entry_total_of, entry_total, pith_array, pith_array, pith_array)
static const pith_array *total(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_vmap_options o = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED}),
                                 .chunk = chunk_of_total};
    return pith_sum(in,
                    pith_call(in, pith_vmap(in, &entry_total_of, &o), PITH_ITEMS(x, y)),
                    PITH_ALL_AXES);
}
PITH_FUNCTION2(total_of, total, pith_array, pith_array, pith_array)

Test(vmap_chunk, gradients_of_entries_are_those_of_the_whole, .init = open_scope) {
    for (chunk_of_total = 0; chunk_of_total < 5; chunk_of_total++) {
        const pith_array *x = numbers(PITH_SHAPE(7)), *y = pith_f64(s, 0.3);
        same_bits(pith_apply(s, pith_grad(s, &total_of, NULL), x, y),
                  pith_mul(s, pith_cos(s, x), pith_exp(s, y)));
        close_scope(); /* the bound is part of the program */
        open_scope();
    }
    close_scope();
}

/* ---- Memory ---- */

static pith_status scenario(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_function *all = NULL;
    const Parts *made = NULL;
    if (!pith_failed(s))
        pt_again(s, (all = parts(2)) != NULL);
    const pith_array *x = numbers(PITH_SHAPE(2, 5)), *y = numbers(PITH_SHAPE(5));
    if (!pith_failed(s) && all)
        pt_again(s,
                 (made = pith_apply(s, all, x, y, numbers(PITH_SCALAR))) && made->wave);
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(vmap_chunk, every_allocation_may_fail) {
    const pt_failures f = pt_fail_each(scenario);
    cr_assert(f.allocations > 20 && f.errors > 10, "%d of %d", f.errors, f.allocations);
}
