/* Calls of primitives: type inference, lowering to launches, and parameters. They work on
 * raw typed memory; the array room adds values.
 *
 * A call is a primitive with the specs of its operands and its parameters. pithp_infer
 * gives the spec of the result, or the reason of a refusal. pithp_lower turns an accepted
 * call into launches over memory and passes them to a sink one by one, in order. */
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

/* Type promotion of an elementwise primitive's operands, by the array API standard;
 * PITH_DTYPE_NONE if it is undefined (mixed kinds, f16 with bf16).
 */
pith_dtype pithp_promote(pith_dtype a, pith_dtype b);

/* ---- Calls ---- */

typedef struct pithp_call {
    pithp_primitive primitive;
    int operand_count;
    const pith_spec *const *operands;
    const void *params; /* struct of the primitive's parameters, or NULL */
    int program_count;  /* of control flow */
    int max_rank; /* of results; 0: PITHP_MAX_RANK. Calls of the user: PITH_MAX_RANK */
    struct pithp_program *const *programs;
} pithp_call;

/* The largest rank of a result. */
static inline int pithp_call_max_rank(const pithp_call *call) {
    return call->max_rank ? call->max_rank : PITHP_MAX_RANK;
}

/* A call without programs. */
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

/* The reason of a refusal: "expected operands of one dtype, got f32[3] and f64[3]". */
typedef struct pithp_refusal {
    pith_status code;
    const char *function; /* name of the operation */
    char text[PITHP_REFUSAL_BYTES];
} pithp_refusal;

/* Number of results of a call, accepted or not: 1 for all primitives that pithp_lower
 * runs. */
int pithp_result_count(const pithp_call *call);
/* Type inference: the specs of the results, with all fields but not interned; result has
 * room for pithp_result_count. Elementwise operands have one dtype and broadcast against
 * each other from the right.
 */
pith_status
pithp_infer(const pithp_call *call, pith_spec *result, pithp_refusal *refusal);

/* ---- Control flow. Operands and results of programs are in order ---- */

/* cond(index [], operands...): programs[index](operands...), whose outputs are the
 * results. The index is clamped to the programs; a bool selects programs[1] if true. All
 * programs take these operands and have outputs of the same specs. */

/* while(cond operands..., body operands..., carries...): while programs[0](cond
 * operands..., carries...) is true [], programs[1](body operands..., carries...) gives
 * the next carries. The results are the last carries. */
typedef struct pithp_while_params {
    int32_t cond_operands, body_operands;
    /* Rows of the record that reverse mode makes of the loop; 0: none. A loop with a
     * record counts the rows in its first carry, an i64 [] that begins at 0: a marked
     * constant until a derivation makes the record. Programs that run have no records. */
    int64_t most;
} pithp_while_params;

/* scan(constants..., carries..., xs...): for i = 0, 1, ... length - 1, programs[0](
 * constants..., carries..., xs[i]...) gives the next carries and the elements [i] of ys.
 * The results are the last carries and ys, whose leading extent is the length. */
typedef struct pithp_loop_params {
    int64_t length;
    int32_t constants, carries;
    int32_t unroll;     /* unroll factor: a hint */
    bool reverse;       /* i = length - 1, ... 0 */
    bool sequential;    /* of length 1: a batch of it is a loop over the entries. A mark,
                           which its derivations have too */
    bool concurrent;    /* iterations may run at the same time, if there are no carries */
    int64_t kept_bytes; /* most bytes that a derivation keeps for its backward half; 0: no
                           limit */
    int64_t chunk; /* entries of a batch that an iteration runs; 0: it runs no chunk */
    int64_t batch; /* its number (pithp_vmap_options), if its checks are to be found */
} pithp_loop_params;

/* ---- Instructions whose last result is a report, u64[4]: a pith_report, 0 if all checks
 * passed. Interpreters run them ---- */

/* kernel(arrays...): operands are its array arguments in order; results are the outs and
 * inouts in order, and the report. In a batch, operands that `mapped` names and all
 * results have the axis of the entries in front, the report too: u64[entries, 4]. The
 * last operand of a masked batch, bool [entries], marks the entries that run: results of
 * the others are undefined, and their reports are 0. */
typedef struct pithp_kernel_params {
    const pith_kernel_variant *kernel;
    uint64_t values[PITH_KERNEL_MAX_ARGS]; /* bits of the other arguments, each a double
                                              or an int64_t */
    bool batched, masked;
    int64_t entries; /* of a batch */
    uint64_t mapped; /* bit i: argument i is an array with the axis; inouts always */
} pithp_kernel_params;

/* What tells that checks of several parts of a loop that was divided are one check: they
 * come from one row of its body. Compared, not read. */
typedef struct pithp_nest_origin {
    uint64_t nest; /* a number of the loop; 0: it is not divided */
    const void *row;
} pithp_nest_origin;

/* A derivative that a user gives. Its functions are recorded by src/trace/derive when a
 * derivation reaches the row. Programs with a row hold references. */
typedef struct pithp_rule {
    atomic_int refs;
    void (*free)(struct pithp_rule *rule);
    /* Record a function, as a program with one reference. NULL sets the error.
     *
     *     forward mode   bound, primals, tangents without the zeros
     *                    -> results, their tangents
     *     reverse mode   bound, primals -> results, residuals; `linear` receives the rule
     *                    of the row that is linear in the tangents, one reference. With
     *                    takes_results: bound, primals, results -> residuals
     *     of that row    bound, residuals, cotangents without the zeros
     *                    -> cotangents of its tangents
     *
     * zeros: of each primal, or for the linear row of each result. */
    struct pithp_program *(*record)(struct pithp_rule *rule,
                                    pith_scope *s,
                                    bool reverse,
                                    const bool *zeros,
                                    struct pithp_rule **linear);
    /* Record the rule of a batch: bound, primals -> results, all of which are batched.
     * batched: of the primals, then of the bound operands; set for those that the program
     * takes with a batch axis. NULL: none, the function itself is batched. NULL as result
     * sets the error. */
    struct pithp_program *(*batch)(struct pithp_rule *rule,
                                   pith_scope *s,
                                   int64_t size,
                                   bool *batched);
    /* Refuse a tangent of a bound operand: sets the error. */
    void (*refuse)(const struct pithp_rule *rule, pith_scope *s, const char *site, int k);
    const char *name;          /* of the function that has the rule */
    bool forward, reverse;     /* the modes that it has; without one tangents reach the
                                  results as they are */
    bool takes_results;        /* results in reverse mode are those of the function, which
                                  are not recorded again */
    bool linear;               /* tangents of results, to be transposed */
    bool strong_zero;          /* linear: its program gives zeros for cotangents that are
                                  all 0 */
    pithp_nest_origin of;      /* linear: of its checks */
    int32_t first_count;       /* the first operands: primals, or if linear residuals; */
    int32_t bound_count;       /* then those of bound trees; */
    int32_t result_count;      /* then results of the function, or if linear tangents */
    const pith_spec **results; /* the spec of each result, interned */
} pithp_rule;

/* rule(operands...): results of a function with a rule, which are the last operands; no
 * tangent reaches these. Or the linear row, which only derivations make. */
typedef struct pithp_rule_params {
    pithp_rule *rule;
} pithp_rule_params;

/* Whether it has no rule for derivatives: the tangents of its results are those of the
 * operands that these are. */
static inline bool pithp_rule_passes(const pithp_rule *rule) {
    return !rule->linear && !rule->forward && !rule->reverse;
}

static inline void pithp_rule_release(pithp_rule *rule) { /* NULL does nothing */
    if (rule && atomic_fetch_sub_explicit(&rule->refs, 1, memory_order_acq_rel) == 1)
        rule->free(rule);
}

/* A check that was recorded while a program was derived: that of a rule of the user.
 * Programs with a row hold references. */
typedef struct pithp_exposed pithp_exposed;

/* Checks of batches in chunks, whose values have the entries along an axis each. */
typedef struct pithp_exposed_batch {
    /* The axis of a chunk of that many entries of a batch; -1: it has no such chunk. */
    int (*chunk_axis)(const pithp_exposed *e, int64_t batch, int64_t chunk);
    /* The axis along which the entries of `rest` follow those of e, the same check of all
     * chunks, in whose place rest has passing values; -1: they do not. */
    int (*rest_axis)(const pithp_exposed *e, const pithp_exposed *rest);
    /* Whether two checks have the same entries along the same axes. */
    bool (*is_alike)(const pithp_exposed *e, const pithp_exposed *other);
    /* The check with that many entries along an axis. whole: they are no chunk, which
     * they are otherwise. One reference; NULL sets the error. */
    pithp_exposed *(
        *resize)(pithp_exposed *e, pith_scope *s, int axis, int64_t size, bool whole);
} pithp_exposed_batch;

struct pithp_exposed {
    atomic_int refs;
    void (*free)(struct pithp_exposed *e);
    int32_t count; /* of its values */
    int64_t place; /* of a watch: 1 + pithp_derive_watch.place; 0: none */
    pithp_nest_origin of;
    int32_t number; /* among the checks of its row */
    /* The bits of the elements of value k where the check passes. */
    uint64_t (*neutral)(const struct pithp_exposed *e, int32_t k);
    /* Record how a loop merges its values: the values before and in an iteration -> those
     * after it. A program with one reference; NULL sets the error. */
    struct pithp_program *(*merge)(const struct pithp_exposed *e, pith_scope *s);
    /* Whether another check is the same, made by another recording of a function; not of
     * a batch. */
    bool (*same)(const struct pithp_exposed *e, const struct pithp_exposed *other);
    const pithp_exposed_batch *batch; /* methods of a batch; NULL: it is none */
};

/* expose(values...): values of a check; no results. They become outputs of the program
 * before it runs (derive/lift.h). */
typedef struct pithp_expose_params {
    pithp_exposed *exposed;
} pithp_expose_params;

static inline void pithp_exposed_release(pithp_exposed *e) { /* NULL does nothing */
    if (e && atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1)
        e->free(e);
}

/* checked(operands...): an indexing primitive in mode error. */
typedef struct pithp_checked_params {
    pithp_primitive primitive;
    pithp_index_params index;
} pithp_checked_params;

/* debug(arrays...): prints a message with the arrays; no results. */
typedef struct pithp_debug_params {
    const struct pithp_debug *debug;
} pithp_debug_params;

/* The call inside a checked instruction. */
static inline pithp_call pithp_checked_call(const pithp_call *call) {
    const pithp_checked_params *params = call->params;
    pithp_call inner = pithp_call_of(params->primitive, call->operand_count,
                                     call->operands, &params->index);
    inner.max_rank = call->max_rank;
    return inner;
}

/* ---- Parameters ---- */

/* Bytes of a primitive's parameters; 0: none. */
size_t pithp_params_bytes(pithp_primitive primitive);
/* Make a canonical copy, in which equal parameters have equal bytes: unused bytes
 * (padding, extents beyond the rank) are zero. */
void pithp_params_copy(const pithp_call *call, void *copy);
/* Text of the parameters, "{axis=0, reverse=true}"; empty without parameters. */
void pithp_params_text(const pithp_call *call, pithp_string *text);

/* Whether running the call may record an error (an index out of range in mode error).
 * Such a call runs even if its result is unused. */
static inline bool pithp_call_reports(const pithp_call *call) {
    return pithp_op_has(call->primitive, PITHP_TRAIT_INDEXED) &&
           ((const pithp_index_params *)call->params)->mode == PITHP_INDEX_ERROR;
}

/* ---- Work on the host ---- */

/* Receives launches in the order of execution, and copies them if it defers them. */
typedef struct pithp_sink {
    pith_status (*launch)(void *closure, const pithp_launch *launch);
    void *closure;
    const struct pithp_cuda_target *cuda; /* NULL: the launches are for the host */
} pithp_sink;

/* Device addresses of a call. */
typedef struct pithp_memory {
    const void *const *operands;
    void *result;        /* overlaps no operand, except that it may be an operand of an
                            elementwise call with        the result's dtype and shape */
    void *temporary;     /* pithp_temporary_bytes bytes; NULL if 0 */
    pith_report *report; /* mode error: of pithp_check_make(s, pithp_index_describe,
                            function); else NULL */
    void *gemm;          /* on CUDA, if a library computes the product: its arguments
                            (pithp_cuda_gemm_bytes); else NULL */
} pithp_memory;

/* Temporary memory of the launches of an accepted call. */
size_t pithp_temporary_bytes(const pithp_call *call, const pith_spec *result);

/* Lower an accepted call: pass its launches to the sink. Returns the sink's code. */
pith_status pithp_lower(const pithp_call *call,
                        const pith_spec *result,
                        const pithp_memory *memory,
                        const pithp_sink *sink);

/* Describe the report of a call in mode error: the first position whose index is out of
 * range. Subject: the name of the function, or "name\npath" of a leaf, a string that
 * lives as long as the runtime. */
void pithp_index_describe(const void *subject,
                          const pith_report *report,
                          const char *site,
                          pithp_error *e);

#endif
