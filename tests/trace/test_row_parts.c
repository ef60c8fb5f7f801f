/* Loops over a part of the rows of an array: they read the part where it is, unless it
 * has other readers. */
#include "scope_test.h"

enum { ROWS = 13, WIDE = 300, BYTES = ROWS * WIDE * 8 };

static double element(int row, int k) {
    return row + 1 + 0.001 * k;
}
static const pith_array *some_rows(void) {
    double values[ROWS][WIDE];
    for (int row = 0; row < ROWS; row++)
        for (int k = 0; k < WIDE; k++)
            values[row][k] = element(row, k);
    return pith_array_copy(s, PITH_F64, PITH_SHAPE(ROWS, WIDE), values);
}

/* carry / 2 + row, and the carry as an output. */
typedef struct {
    const pith_array *carry, *out;
} Step;
PITH_NODE(Step, PITH_LEAF(carry, "f64[n]"), PITH_LEAF(out, "f64[n]"))
static const Step *step(pith_scope *in, const pith_array *x, const pith_array *row) {
    x = pith_add(in, pith_mul(in, x, 0.5), row);
    return pith_record(in, Step, .carry = x, .out = x);
}
PITH_FUNCTION2(step_of, step, Step, pith_array, pith_array)

static const pith_array *rows_of(pith_scope *in, const pith_array *x, int from, int to) {
    return pith_slice_array(in, x, 1, &PITH_SLICE(from, to, 1));
}
static const pith_array *
run(pith_scope *in, const pith_array *init, const pith_array *rows, bool reverse) {
    const void *outs = NULL;
    return pith_scan(in, &step_of, init, rows, &outs,
                     &(pith_loop_options){.reverse = reverse});
}
static const pith_array *zeros(pith_scope *in) {
    return pith_zeros(in, PITH_F64, PITH_SHAPE(WIDE));
}
/* The same in C, at column k, of rows that are multiplied by a factor. */
static double expected(double x, int from, int to, bool reverse, int k, double factor) {
    for (int n = 0; n < to - from; n++)
        x = x / 2 + factor * element(reverse ? to - 1 - n : from + n, k);
    return x;
}

/* ---- Functions, and what they return at column k ---- */

static const pith_array *tail(pith_scope *in, const pith_array *x) {
    return run(in, zeros(in), rows_of(in, x, 3, ROWS), false);
}
static double tail_at(int k) {
    return expected(0, 3, ROWS, false, k, 1);
}
static const pith_array *backwards(pith_scope *in, const pith_array *x) {
    return run(in, zeros(in), rows_of(in, x, 2, 9), true);
}
static double backwards_at(int k) {
    return expected(0, 2, 9, true, k, 1);
}
static const pith_array *halves(pith_scope *in, const pith_array *x) {
    return run(in, run(in, zeros(in), rows_of(in, x, 0, 6), false),
               rows_of(in, x, 6, ROWS), false);
}
static double halves_at(int k) {
    return expected(0, 0, ROWS, false, k, 1);
}
static const pith_array *computed(pith_scope *in, const pith_array *x) {
    x = pith_cumsum(in, pith_mul(in, x, 2.0), 1, NULL);
    return run(in, zeros(in), rows_of(in, x, 4, ROWS), false);
}
static double computed_at(int k) {
    double sum[WIDE], before = 0;
    for (int c = 0; c <= k; c++)
        before += sum[c] = expected(0, 4, ROWS, false, c, 2);
    return before;
}
/* Read otherwise too. */
static const pith_array *shared(pith_scope *in, const pith_array *x) {
    const pith_array *rows = rows_of(in, x, 5, ROWS);
    return pith_add(in, run(in, zeros(in), rows, false),
                    pith_cumsum(in, pith_max(in, rows, PITH_AXES(0)), 0, NULL));
}
static double shared_at(int k) {
    double sum = expected(0, 5, ROWS, false, k, 1);
    for (int c = 0; c <= k; c++)
        sum += element(ROWS - 1, c);
    return sum;
}
/* Rows of the outputs of a loop. */
static const pith_array *of_outputs(pith_scope *in, const pith_array *x) {
    const void *outs = NULL;
    pith_scan(in, &step_of, zeros(in), x, &outs, NULL);
    return run(in, zeros(in), rows_of(in, outs, 7, ROWS), false);
}
static double of_outputs_at(int k) {
    double x = 0;
    for (int n = 7; n < ROWS; n++)
        x = x / 2 + expected(0, 0, n + 1, false, k, 1);
    return x;
}
/* Rows as half as wide, and the carry as well. */
static const pith_array *reshaped(pith_scope *in, const pith_array *x) {
    const pith_array *rows = pith_reshape(in, rows_of(in, x, 3, ROWS),
                                          PITH_SHAPE(2 * (ROWS - 3), WIDE / 2)),
                     *y = run(in, pith_zeros(in, PITH_F64, PITH_SHAPE(WIDE / 2)), rows,
                              false);
    return pith_concatenate(in, 2, ((const pith_array *const[]){y, y}), 0);
}
static double reshaped_at(int k) {
    double x = 0;
    for (int n = 0; n < 2 * (ROWS - 3); n++)
        x = x / 2 + element(3 + n / 2, n % 2 * (WIDE / 2) + k % (WIDE / 2));
    return x;
}
/* The array is updated before and after. */
static const pith_array *updated(pith_scope *in, const pith_array *x) {
    const pith_array *ones = pith_ones(in, PITH_F64, PITH_SHAPE(WIDE)),
                     *at_5 = pith_i64(in, 5), *y = pith_cumsum(in, x, 0, NULL);
    y = pith_scatter_set(in, y, at_5, ones, NULL);
    const pith_array *a = run(in, zeros(in), rows_of(in, y, 4, 7), false);
    y = pith_scatter_set(in, y, at_5, pith_mul(in, a, 2.0), NULL);
    return run(in, a, rows_of(in, y, 4, 7), false);
}
static double updated_at(int k) {
    double sums[ROWS] = {0}, x = 0;
    for (int n = 0; n < ROWS; n++)
        sums[n] = element(n, k) + (n ? sums[n - 1] : 0);
    sums[5] = 1;
    for (int n = 4; n < 7; n++)
        x = x / 2 + sums[n];
    sums[5] = 2 * x;
    for (int n = 4; n < 7; n++)
        x = x / 2 + sums[n];
    return x;
}

PITH_FUNCTION1(tail_of, tail, pith_array, pith_array)
PITH_FUNCTION1(backwards_of, backwards, pith_array, pith_array)
PITH_FUNCTION1(halves_of, halves, pith_array, pith_array)
PITH_FUNCTION1(computed_of, computed, pith_array, pith_array)
PITH_FUNCTION1(shared_of, shared, pith_array, pith_array)
PITH_FUNCTION1(outputs_of, of_outputs, pith_array, pith_array)
PITH_FUNCTION1(reshaped_of, reshaped, pith_array, pith_array)
PITH_FUNCTION1(updated_of, updated, pith_array, pith_array)

static const struct {
    const pith_function *f;
    double (*at)(int k);
    bool small; /* nothing is as large as the part */
} cases[] = {{&tail_of, tail_at, true},         {&backwards_of, backwards_at, true},
             {&halves_of, halves_at, true},     {&computed_of, computed_at, false},
             {&shared_of, shared_at, false},    {&outputs_of, of_outputs_at, false},
             {&reshaped_of, reshaped_at, true}, {&updated_of, updated_at, false}};

static void check_all(void) {
    open_scope();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const pith_function *f = pith_jit(s, cases[c].f, NULL);
        const pith_array *x = some_rows();
        for (int again = 0; again < 3; again++) {
            double got[WIDE];
            const pith_array *y = pith_call(s, f, PITH_ITEMS(x));
            pt_ok(s, y);
            pt_ok(s, pith_read(s, y, got, sizeof got));
            for (int k = 0; k < WIDE; k++) {
                const double wanted = cases[c].at(k);
                cr_assert(got[k] - wanted <= 1e-12 * wanted &&
                              wanted - got[k] <= 1e-12 * wanted,
                          "%s: column %d: expected %.17g, got %.17g", f->name, k, wanted,
                          got[k]);
            }
        }
        const size_t peak = pith_measure_peak(s, f, PITH_ITEMS(x));
        cr_assert(!cases[c].small || peak < 6 * WIDE * 8, "%s: %zu bytes", f->name, peak);
    }
    close_scope();
}

Test(row_parts, interpreted) {
    setenv("PITH_JIT", "off", 1);
    check_all();
}

Test(row_parts, compiled) {
    setenv("PITH_JIT", "wait", 1);
    check_all();
}

/* The buffer of the array becomes that of a result, which is computed first. */
typedef struct {
    const pith_array *doubled, *last;
} Pair;
PITH_NODE(Pair, PITH_LEAF(doubled, "f64[...]"), PITH_LEAF(last, "f64[...]"))
static const Pair *donating(pith_scope *in, const pith_array *x) {
    const pith_array *doubled = pith_cumsum(in, x, 0, NULL);
    return pith_record(in, Pair, .doubled = doubled, .last = tail(in, x));
}
PITH_FUNCTION1(donating_of, donating, Pair, pith_array)

Test(row_parts, of_a_donated_array) {
    for (int compiled = 0; compiled < 2; compiled++) {
        setenv("PITH_JIT", compiled ? "wait" : "off", 1);
        open_scope();
        const pith_function *f = pith_jit(
            s, &donating_of, &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
        for (int again = 0; again < 3; again++) {
            double got[WIDE];
            const Pair *y = pith_call(s, f, PITH_ITEMS(some_rows()));
            pt_ok(s, y);
            pt_ok(s, pith_read(s, y->last, got, sizeof got));
            for (int k = 0; k < WIDE; k++)
                cr_assert(got[k] == tail_at(k));
        }
        close_scope();
    }
}
