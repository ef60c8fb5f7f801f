/* Every row of the primitive table with every dtype that it takes gives the same bits
 * call by call, interpreted and compiled, on special values, numbers and empty arrays. A
 * row without a case here fails. */
#include "row_cases.h"

/* Results become outputs. */
static void put_out(const operands *o, const pithp_call *call, const pithp_value *in) {
    const pithp_value v = pithp_program_add(o->b->s, o->b->p, call->primitive,
                                            call->operand_count, in, call->params, NULL);
    pt_ok(o->b->s, v >= 0);
    pithp_program_output(o->b->s, o->b->p, v);
}

/* ---- All ---- */

static int made_of[PITHP_LOWERED_COUNT];

/* Rows first..last; elementwise ones are apart, for they take long to compile. */
static void every_row(pith_dtype dtype, int first, int last) {
    operands o;
    bench b = begin();
    open_operands(&o, &b, dtype);
    o.take = put_out;
    for (int p = first; p < last; p++)
        made_of[p] += cases(&o, (pithp_primitive)p);
    expect_same(&b, pith_dtype_name(dtype));
    close_operands(&o);
    end(&b);
}

static void expect_cases(int first, int last) {
    for (int p = first; p < last; p++)
        cr_expect(made_of[p] > 0, "%s has no case", pithp_ops[p].name);
}

Test(parity, elementwise_rows, .timeout = 600) {
    use_cache();
    for (int d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++)
        every_row((pith_dtype)d, 0, PITHP_ELEMENTWISE_COUNT);
    expect_cases(0, PITHP_ELEMENTWISE_COUNT);
}

Test(parity, rows_that_move_and_combine, .timeout = 300) {
    use_cache();
    for (int d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++)
        every_row((pith_dtype)d, PITHP_ELEMENTWISE_COUNT, PITHP_LOWERED_COUNT);
    expect_cases(PITHP_ELEMENTWISE_COUNT, PITHP_LOWERED_COUNT);
}
