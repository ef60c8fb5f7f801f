/* Functions that refuse traced arrays. */
#include "pith/pith.h"

#include "array/array_internal.h"
#include "pith_test.h"
#include "program/ir/program.h"

typedef struct {
    const pith_array *x, *y;
} Pair;
PITH_NODE(Pair, PITH_LEAF(x, "any[...]"), PITH_LEAF(y, "any[...]"))

static int calls;

/* Needs a value, and makes what a trace around it would record. */
static const pith_array *steps(pith_scope *s, const Pair *pair) {
    calls++;
    const pith_array *zeros = pith_zeros(s, PITH_F64, PITH_SHAPE(2));
    double values[2] = {1, 1};
    cr_assert(pith_read(s, zeros, values, sizeof values) && values[1] == 0);
    const double x = pith_read_f64(s, pair->x);
    return pith_f64(s, 2 * x);
}
PITH_FUNCTION1(steps_function, steps, pith_array, Pair)

Test(no_tracing, takes_values_inside_of_a_trace_and_refuses_others) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_function *f = pith_no_tracing(s, &steps_function);
    pt_ok(s, f && !strcmp(f->name, "steps"));
    const Pair *pair = pith_freeze(s, Pair, &(Pair){pith_f64(s, 3), pith_f64(s, 4)});
    cr_assert(pith_read_f64(s, pith_apply(s, f, pair)) == 6 && calls == 1);
    pithp_trace *t = pithp_trace_begin(s);
    const pith_array *traced = pithp_trace_input(s, t, pith_array_spec(pair->y));
    const pith_array *six = pith_apply(s, f, pair);
    pt_ok(s, six);
    cr_assert(!pith_is_traced(six) && pith_read_f64(s, six) == 6 && calls == 2);
    cr_assert(pith_is_traced(pith_zeros(s, PITH_F64, PITH_SCALAR)), "tracing goes on");
    const Pair *mixed = pith_freeze(s, Pair, &(Pair){pair->x, traced});
    pt_fails(PITH_E_TRACED, s, pith_apply(s, f, mixed));
    pt_says(".y: steps: argument 1: the array is traced");
    pt_says("test_no_tracing.c:");
    cr_assert(calls == 2);
    pithp_program_release(pithp_trace_end(s, t));
    pith_scope_close(s);
    pt_close(rt);
}

Test(no_tracing, errors_inside_are_those_of_the_call) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_function *f = pith_no_tracing(s, &steps_function);
    pithp_trace *t = pithp_trace_begin(s);
    const Pair *two =
        pith_freeze(s, Pair,
                    &(Pair){pith_array_copy(s, PITH_F64, PITH_SHAPE(2), (double[]){1, 2}),
                            pith_f64(s, 4)});
    pt_fails(PITH_E_SHAPE, s, pith_apply(s, f, two));
    pithp_program_release(pithp_trace_end(s, t));
    pith_scope_close(s);
    pt_close(rt);
}
