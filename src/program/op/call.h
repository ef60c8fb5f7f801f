/* Primitives: what they are, what they make of their operands, and the host work that
 * does it. Everything here is over raw typed memory; the array room puts values around
 * it.
 *
 * A call is a primitive, the specs of its operands and its parameters. pithp_infer gives
 * the result's spec or says why the call is refused; pithp_lower turns an accepted call
 * into launches over memory and hands them to a sink one by one, in order. */
#ifndef PITH_PROGRAM_OP_CALL_H
#define PITH_PROGRAM_OP_CALL_H

#include "gpu/gpu_internal.h"
#include "program/op/op.h"
#include "program/op/params.h"

/* Equal specs, whether interned or not. */
static inline bool pithp_spec_same(const pith_spec *a, const pith_spec *b) {
    if (a == b)
        return true;
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int d = 0; d < a->rank && same; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

/* The dtype both operands are cast to before an elementwise primitive, by the array API
 * standard; PITH_DTYPE_NONE where it leaves that undefined (kinds mix, f16 meets bf16).
 */
pith_dtype pithp_promote(pith_dtype a, pith_dtype b);

/* ---- Calls ---- */

typedef struct pithp_call {
    pithp_primitive primitive;
    int operand_count;
    const pith_spec *const *operands;
    const void *params; /* the row's struct below; NULL for rows without */
    int program_count;  /* control flow: what it runs */
    struct pithp_program *const *programs;
} pithp_call;

/* A call that runs no programs. */
static inline pithp_call pithp_call_of(pithp_primitive primitive,
                                       int operand_count,
                                       const pith_spec *const *operands,
                                       const void *params) {
    return (pithp_call){.primitive = primitive,
                        .operand_count = operand_count,
                        .operands = operands,
                        .params = params};
}

enum { PITHP_REFUSAL_BYTES = 480 };

/* Why a call is refused: "expected operands of one dtype, got f32[3] and f64[3]". */
typedef struct pithp_refusal {
    pith_status code;
    const char *row; /* the name of the call's */
    char text[PITHP_REFUSAL_BYTES];
} pithp_refusal;

/* How many results a call has: 1 for all rows that pithp_lower runs. The call need not be
 * one that pithp_infer accepts. */
int pithp_result_count(const pithp_call *call);
/* The specs of the results, all fields filled (they are not the interned ones); result
 * has room for pithp_result_count.
 * Elementwise operands are of one dtype and broadcast against each other from the right.
 */
pith_status
pithp_infer(const pithp_call *call, pith_spec *result, pithp_refusal *refusal);

/* ---- Control flow: operands and results of programs are in order ---- */

/* cond(index [], operands...): programs[index](operands...), whose outputs are the
 * results. The index is clamped to those there are; a bool chooses the second one where
 * it is true. All programs take these operands and have outputs of the same specs. */

/* while(cond operands..., body operands..., carries...): as long as programs[0](cond
 * operands..., carries...) is true [], the carries are programs[1](body operands...,
 * carries...). The results are the last carries. */
typedef struct pithp_while_params {
    int32_t cond_operands, body_operands;
} pithp_while_params;

/* scan(constants..., carries..., xs...): for i = 0, 1, ... length - 1, programs[0](
 * constants..., carries..., xs[i]...) gives the next carries and the elements [i] of ys.
 * The results are the last carries and ys, whose leading extent is the length. */
typedef struct pithp_loop_params {
    int64_t length;
    int32_t constants, carries;
    int32_t unroll; /* unroll factor: a hint */
    bool reverse;   /* i = length - 1, ... 0 */
} pithp_loop_params;

/* ---- Instructions whose last result is a report, u64[4]: a pith_report that is 0 where
 * nothing failed. Interpreters run them ---- */

/* kernel(arrays...): the arrays that it is given, in order; results are the outs and
 * inouts, in order, and the report. */
typedef struct pithp_kernel_params {
    const pith_kernel_variant *kernel;
    uint64_t values[PITH_KERNEL_MAX_ARGS]; /* of arguments that are no arrays: the bits
                                              of a double or an int64_t */
} pithp_kernel_params;

/* checked(operands...): the call of a row that takes indices, in mode error. */
typedef struct pithp_checked_params {
    pithp_primitive primitive;
    pithp_index_params index;
} pithp_checked_params;

/* debug(arrays...): no results; its message is printed with the arrays. */
typedef struct pithp_debug_params {
    const struct pithp_debug *debug;
} pithp_debug_params;

/* The call of a checked one. */
static inline pithp_call pithp_checked_call(const pithp_call *call) {
    const pithp_checked_params *params = call->params;
    return pithp_call_of(params->primitive, call->operand_count, call->operands,
                         &params->index);
}

/* ---- Parameters ---- */

/* Bytes of the row's parameters; 0: it has none. */
size_t pithp_params_bytes(pithp_primitive primitive);
/* A copy in which equal parameters are equal bytes: what the call does not look at
 * (padding, extents beyond the rank) is zero. */
void pithp_params_copy(const pithp_call *call, void *copy);
/* "{axis=0, reverse=true}"; nothing where there are none. */
void pithp_params_text(const pithp_call *call, pithp_text *text);

/* Whether running the call may leave an error (an index out of range in mode error), so
 * that it must run even if its result is unused. */
static inline bool pithp_call_reports(const pithp_call *call) {
    return pithp_op_has(call->primitive, PITHP_TRAIT_INDEXED) &&
           ((const pithp_index_params *)call->params)->mode == PITHP_INDEX_ERROR;
}

/* ---- Host work ---- */

/* Takes launches in the order they must run; copies what it keeps of one. */
typedef struct pithp_sink {
    pith_status (*take)(void *closure, const pithp_launch *launch);
    void *closure;
    const struct pithp_cuda_target *cuda; /* NULL: the launches are for the host */
} pithp_sink;

/* Device addresses of a call. */
typedef struct pithp_memory {
    const void *const *operands;
    void *result;        /* overlaps no operand, but may be one of an elementwise call's
                            operands of the result's dtype and shape */
    void *temporary;     /* pithp_temporary_bytes of it; NULL where that is 0 */
    pith_report *report; /* mode error: from pithp_check_make(s, pithp_index_describe,
                            function); else NULL */
    void *gemm;          /* on CUDA, where a library makes the product: what it needs
                            (pithp_cuda_gemm_bytes); else NULL */
} pithp_memory;

/* Memory that the launches of an accepted call need besides operands and result. */
size_t pithp_temporary_bytes(const pithp_call *call, const pith_spec *result);

/* Hand the launches of an accepted call to the sink. The code is the sink's. */
pith_status pithp_lower(const pithp_call *call,
                        const pith_spec *result,
                        const pithp_memory *memory,
                        const pithp_sink *sink);

/* The error of a report that a call with mode error left: the first position whose index
 * is out of range. Subject: the name of the function called, or "name\npath" of a leaf, a
 * string that lives as long as the runtime. */
void pithp_index_describe(const void *subject,
                          const pith_report *report,
                          const char *site,
                          pithp_error *e);

#endif
