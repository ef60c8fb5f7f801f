/* Products: matrix products, tensor contractions, einsum. */
#include "oracle.h"

#define RUN(name)                                                                        \
    static void run_##name(pith_scope *s, const oracle_row *row, oracle_call *call)

/* Two lists of axes, one per operand. */
static void read_pair(const golden_json *lists, pith_axes axes[2]) {
    for (int k = 0; k < 2; k++)
        axes[k] = oracle_axes_of(golden_item(lists, k));
}

RUN(dot_general) {
    (void)row;
    pith_dot_general_options options = {.dtype = oracle_dtype(call, "dtype")};
    read_pair(oracle_list(call, "contract"), options.contract);
    read_pair(oracle_list(call, "batch"), options.batch);
    oracle_give(call, pith_dot_general(s, call->in[0], call->in[1], &options));
}

RUN(tensordot) {
    (void)row;
    const golden_json *lists = oracle_list(call, "axes");
    pith_axes axes[2];
    if (!lists) {
        const int count = (int)oracle_integer(call, "axes", 2);
        oracle_give(call, pith_tensordot(s, call->in[0], call->in[1], count));
        return;
    }
    read_pair(lists, axes);
    oracle_give(call, pith_tensordot_axes(s, call->in[0], call->in[1], axes[0], axes[1]));
}

RUN(einsum) {
    (void)row;
    oracle_give(call, pith_einsum(s, oracle_text(call, "spec"), call->count, call->in));
}

const oracle_row oracle_product[] = {
    ORACLE_BINARY("matmul", pith_matmul),
    ORACLE_BINARY("matmul_rounded", pith_matmul),
    ORACLE_BINARY("matmul_special", pith_matmul),
    ORACLE_BINARY("inner", pith_inner),
    ORACLE_BINARY("outer", pith_outer),
    {.op = "dot_general", .run = run_dot_general},
    {.op = "tensordot", .run = run_tensordot},
    {.op = "einsum", .run = run_einsum},
    {.op = NULL},
};
