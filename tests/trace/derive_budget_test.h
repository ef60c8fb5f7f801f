/* What tests of budgets share: runs of gradients with their peaks. */
#ifndef PITH_DERIVE_BUDGET_TEST_H
#define PITH_DERIVE_BUDGET_TEST_H

#include "pith/pith.h"

#include "pith_test.h"
#include "series.h"

enum { WIDE = 512, ONE = WIDE * 8, BUDGETS = 20 };

static PT_UNUSED pith_loop_options options; /* of the loop */

static pith_runtime *rt;
static pith_scope *s;

/* Peaks are compared: no run may have its code before another. */
static PT_UNUSED void begin(int threads) {
    setenv("PITH_JIT", "off", 0);
    rt = pith_open(&(pith_open_options){.device = "host", .threads = threads});
    s = pith_scope_open(rt);
    pt_ok(s);
}
static PT_UNUSED void end(void) {
    pt_ok(s);
    pith_scope_close(s);
    pith_close(rt);
}

static PT_UNUSED const pith_array *numbers(int64_t n, double from, double by) {
    return pith_add(s, pith_mul(s, pith_arange(s, PITH_F64, n), by), from);
}

typedef struct result {
    const void *gradient; /* of s; NULL: the budget is too small */
    size_t peak;          /* beyond arguments */
    int64_t operations;
} result;

static PT_UNUSED result run(const pith_function *f,
                            bool both,
                            const pith_array *w,
                            const pith_array *xs) {
    pith_scope *in = pith_scope_open(rt);
    const pith_derive_options o = {.arguments = both ? 3 : 1};
    const void *arguments[2] = {w, xs};
    result r = {NULL, 0, 0};
    pith_jit_clear(rt);
    const pith_function *g = pith_grad(in, f, &o);
    const void *gradient = pith_call(in, g, 2, arguments);
    if (gradient) {
        r.operations = pith_program_cost(in, g, 2, arguments).operations;
        r.peak = pith_measure_peak(in, g, 2, arguments);
        pt_ok(in);
        r.gradient = pith_keep(s, gradient);
    } else {
        cr_assert(pith_code(in) == PITH_E_MEMORY, "%s", pith_message(in));
        cr_assert(strstr(pith_message(in), "bytes at least"), "%s", pith_message(in));
        pith_clear(in);
    }
    pith_scope_close(in);
    return r;
}

/* The gradient has the same bits for each budget; a smaller one has no larger peak and no
 * fewer operations, and if the loop is alone each peak is within it and what one step
 * needs. Returns the number of budgets that are enough; those that sanitizers leave out
 * count as the one before them. */
static PT_UNUSED int check(const pith_function *f,
                           bool both,
                           const pith_array *w,
                           const pith_array *xs,
                           size_t *budget,
                           size_t all,
                           bool alone) {
    *budget = 0;
    const result whole = run(f, both, w, xs);
    result last = whole;
    int enough = 0;
    pt_ok(s, whole.gradient);
    for (int k = 1; k <= BUDGETS; k += pt_apart()) {
        *budget = all * 21 / (size_t)(20 * k);
        const result r = run(f, both, w, xs);
        cr_assert(!r.gradient || last.gradient, "budget %zu", *budget);
        if (r.gradient) {
            enough = k + pt_apart() - 1;
            cr_assert(pith_tree_equal(s, r.gradient, whole.gradient), "budget %zu",
                      *budget);
            cr_assert(r.peak <= last.peak && r.operations >= last.operations,
                      "budget %zu", *budget);
            cr_assert(!alone || r.peak + all <= *budget + whole.peak ||
                          r.peak == whole.peak,
                      "budget %zu: peak %zu of %zu", *budget, r.peak, whole.peak);
        }
        last = r;
    }
    *budget = 0;
    return enough;
}

#endif
