/* Batches that the host runs in blocks of entries, shared among its threads: the bits of
 * calls one by one, whatever the number of threads, and gradients with the bits of all
 * entries at a time. */
#include "vmap_test.h"

enum { WIDE = 1500, NARROW = 40, MOST = 700 };

/* ---- A function with a loop of its own length, a branch and a check ---- */

typedef struct {
    const pith_array *x, *sum;
} Turn;
PITH_NODE(Turn, PITH_LEAF(x, "f64[n]"), PITH_LEAF(sum, "f64[]"))

static const pith_array *goes_on(pith_scope *in, const Turn *t) {
    return pith_less(in, t->sum, 100.0);
}
PITH_FUNCTION1(goes_on_cond, goes_on, pith_array, Turn)

static const Turn *turn(pith_scope *in, const Turn *t) {
    const pith_array *x = pith_add(in, pith_sin(in, t->x), 1.5);
    const pith_array *most = pith_max(in, x, PITH_ALL_AXES);
    return pith_record(in, Turn, .x = x, .sum = pith_add(in, t->sum, most));
}
PITH_FUNCTION1(turn_body, turn, Turn, Turn)

static const pith_array *sorted(pith_scope *in, const pith_array *x) {
    return pith_sort(in, x, 0, NULL);
}
PITH_FUNCTION1(sorted_of, sorted, pith_array, pith_array)
static const pith_array *doubled(pith_scope *in, const pith_array *x) {
    return pith_add(in, x, x);
}
PITH_FUNCTION1(doubled_of, doubled, pith_array, pith_array)

static const pith_array *entry(pith_scope *in, const pith_array *x, const pith_array *c) {
    const Turn begin = {x, pith_mul(in, pith_sum(in, x, PITH_ALL_AXES), 0.01)};
    const Turn *end =
        pith_while(in, &goes_on_cond, &turn_body, pith_freeze(in, Turn, &begin));
    pith_check(in, pith_less(in, begin.sum, 40.0), "it begins at {sum}",
               .args = {{"sum", begin.sum}});
    const pith_array *odd = pith_greater(in, pith_slice_at(in, x, 0, 0), 0.5);
    return pith_mul(in, pith_cond(in, odd, &sorted_of, &doubled_of, end->x), c);
}
PITH_FUNCTION2(entry_of_batch, entry, pith_array, pith_array, pith_array)

static const pith_vmap_options shares_c = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED})};

static void compare(int64_t size, int64_t width, int threads) {
    rt = pith_open(&(pith_open_options){.device = "host", .threads = threads});
    s = pith_scope_open(rt);
    const pith_array *x = pith_random_uniform(s, pith_random_key(s, 7), PITH_F64,
                                              PITH_SHAPE(size, width), 0, 1, NULL),
                     *c = pith_f64(s, 0.75);
    const pith_function *all = pith_vmap(s, &entry_of_batch, &shares_c),
                        *one = pith_jit(s, &entry_of_batch, NULL);
    for (int again = 0; again < 3; again++) {
        const pith_array *y = pith_apply(s, all, x, c);
        pt_ok(s, y);
        for (int64_t i = 0; i < size; i++)
            same_bits(entry_of(y, i, 0), pith_apply(s, one, entry_of(x, i, 0), c));
    }
    pith_scope_close(s);
    pith_close(rt);
}

Test(vmap_block, has_the_bits_of_calls_one_by_one) {
    for (int threads = 1; threads <= 3; threads++) {
        compare(7, WIDE, threads);
        compare(2, WIDE, threads);
        compare(MOST, NARROW, threads);
    }
}

/* Two groups of loop axes: entries of the first share x, those of the second c. */
static void compare_vectorized(int threads) {
    static const pith_vectorize_options o = {.signature = "(n),()->(n)"};
    rt = pith_open(&(pith_open_options){.device = "host", .threads = threads});
    s = pith_scope_open(rt);
    const pith_array *x = pith_random_uniform(s, pith_random_key(s, 7), PITH_F64,
                                              PITH_SHAPE(5, WIDE), 0, 1, NULL),
                     *c = numbers(PITH_SHAPE(3, 1));
    const pith_function *all = pith_vectorize(s, &entry_of_batch, &o),
                        *one = pith_jit(s, &entry_of_batch, NULL);
    const char *text = pith_program_text(s, all, PITH_ITEMS(x, c));
    pt_ok(s, text);
    cr_assert(strstr(text, "= scan "), "%s", text);
    const pith_array *y = pith_apply(s, all, x, c);
    for (int64_t k = 0; k < 3; k++)
        for (int64_t i = 0; i < 5; i++)
            same_bits(
                entry_of(entry_of(y, k, 0), i, 0),
                pith_apply(s, one, entry_of(x, i, 0), entry_of(entry_of(c, k, 0), 0, 0)));
    pith_scope_close(s);
    pith_close(rt);
}

Test(vmap_block, loop_axes_run_in_blocks_too) {
    for (int threads = 1; threads <= 3; threads++)
        compare_vectorized(threads);
}

Test(vmap_block, checks_name_the_entry, .init = open_scope) {
    double x[5 * WIDE];
    for (int i = 0; i < 5 * WIDE; i++)
        x[i] = i / WIDE == 3 ? 3.5 : 0.25;
    const pith_array *given = pith_array_copy(s, PITH_F64, PITH_SHAPE(5, WIDE), x);
    const pith_result *r = pith_as_result(s, pith_vmap(s, &entry_of_batch, &shares_c),
                                          PITH_ITEMS(given, pith_f64(s, 1)));
    pt_ok(s, r);
    cr_assert(pith_result_count(s, r) == 1 && pith_result_failed(s, r) == 1);
    cr_assert_str_eq(pith_assertion_message(s, pith_result_get_failed(s, r, 0)),
                     "it begins at 52.5 (first failing index [3])");
    close_scope();
}

/* ---- Derivatives ---- */

static const pith_array *wave(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return pith_mul(in, pith_sin(in, x), 1.25);
}
PITH_FUNCTION2(wave_step, wave, pith_array, pith_array, pith_array)
static const pith_array *
energy(pith_scope *in, const pith_array *x, const pith_array *c) {
    const pith_array *y = pith_fori(in, 0, 4, &wave_step, pith_mul(in, x, c));
    return pith_sum(in, pith_mul(in, y, c), PITH_ALL_AXES);
}
PITH_FUNCTION2(energy_of, energy, pith_array, pith_array, pith_array)
static int64_t chunk;
static const pith_array *total(pith_scope *in, const pith_array *x, const pith_array *c) {
    const pith_vmap_options o = {.in = shares_c.in, .chunk = chunk};
    const pith_array *each =
        pith_call(in, pith_vmap(in, &energy_of, &o), PITH_ITEMS(x, c));
    return pith_sum(in, each, PITH_ALL_AXES);
}
PITH_FUNCTION2(total_of, total, pith_array, pith_array, pith_array)

/* Cotangents of what entries share are added up in the order of all entries at a time. */
Test(vmap_block, gradients_of_shared_parts_are_those_of_the_whole, .init = open_scope) {
    const pith_array *x = pith_random_uniform(s, pith_random_key(s, 3), PITH_F64,
                                              PITH_SHAPE(77, WIDE), 0, 1, NULL),
                     *c = pith_random_uniform(s, pith_random_key(s, 4), PITH_F64,
                                              PITH_SHAPE(WIDE), 0, 1, NULL),
                     *got[2];
    const pith_derive_options of_c = {.arguments = PITH_ARGUMENT(1)};
    for (int k = 0; k < 2; k++) {
        chunk = k ? 77 : 0;
        pith_jit_clear(rt);
        pith_apply(s, pith_jit(s, &total_of, NULL), x, c); /* a program with blocks */
        got[k] = pith_apply(s, pith_grad(s, &total_of, &of_c), x, c);
        pt_ok(s, got[k]);
    }
    same_bits(got[0], got[1]);
    close_scope();
}
