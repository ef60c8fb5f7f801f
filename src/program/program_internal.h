/* Primitives: what they are, what they make of their operands, and the host work that
 * does it. Everything here is over raw typed memory; the array room puts values around
 * it.
 *
 * A call is a primitive, the specs of its operands and its parameters. pithp_infer gives
 * the result's spec or says why the call is refused; pithp_lower turns an accepted call
 * into launches over memory and hands them to a sink one by one, in order. */
#ifndef PITH_PROGRAM_INTERNAL_H
#define PITH_PROGRAM_INTERNAL_H

#include "gpu/gpu_internal.h"

/* ---- The table ---- */

typedef enum pithp_primitive {
#define PITHP_ELEMENTWISE(ENUM, ...) PITHP_OP_##ENUM,
#include "program/primitives.def"
    PITHP_ELEMENTWISE_COUNT,
    PITHP_ELEMENTWISE_LAST =
        PITHP_ELEMENTWISE_COUNT - 1, /* so that the next row is _COUNT */
#define PITHP_STRUCTURAL(ENUM, ...) PITHP_OP_##ENUM,
#include "program/primitives.def"
    PITHP_LOWERED_COUNT, /* of rows that pithp_lower runs */
    PITHP_LOWERED_LAST = PITHP_LOWERED_COUNT - 1,
#define PITHP_CONTROL(ENUM, ...) PITHP_OP_##ENUM,
#include "program/primitives.def"
    PITHP_PRIMITIVE_COUNT
} pithp_primitive;

typedef enum pithp_primitive_flag {
    PITHP_PURE = 1,        /* no effect but the result */
    PITHP_COMMUTATIVE = 2, /* the first two operands may be exchanged */
} pithp_primitive_flag;

enum { PITHP_VARIADIC = -1 };

typedef struct pithp_row {
    const char *name;
    int8_t arity;    /* operands, or PITHP_VARIADIC */
    uint8_t flags;   /* pithp_primitive_flag */
    bool predicate;  /* elementwise: the result is bool */
    uint16_t dtypes; /* elementwise: bit d set where operands of dtype d are taken */
    const char *real, *integer; /* elementwise: the expressions as text */
} pithp_row;

extern const pithp_row pithp_rows[PITHP_PRIMITIVE_COUNT];

static inline bool pithp_is_elementwise(pithp_primitive p) {
    return (unsigned)p < PITHP_ELEMENTWISE_COUNT;
}

/* Whether a row has one result and is run by pithp_lower. */
static inline bool pithp_is_lowered(pithp_primitive p) {
    return (unsigned)p < PITHP_LOWERED_COUNT;
}

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

/* Why a call is refused: "add: expected operands of one dtype, got f32[3] and f64[3]". */
typedef struct pithp_refusal {
    pith_status code;
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

/* ---- Parameters: one struct a rule; axes count from 0 and are in range ---- */

typedef struct pithp_cast_params {
    pith_dtype dtype;
} pithp_cast_params;

/* full(): every element is the value. */
typedef struct pithp_full_params {
    pith_dtype dtype;
    int32_t rank;
    int64_t shape[PITH_MAX_RANK];
    uint64_t value; /* the element's bits, in the low bytes */
} pithp_full_params;

/* iota(): the index along the axis; wraps where the dtype is narrow. */
typedef struct pithp_iota_params {
    pith_dtype dtype;
    int32_t rank;
    int64_t shape[PITH_MAX_RANK];
    int32_t axis;
} pithp_iota_params;

/* broadcast(x): dimension d of x becomes dimension dimensions[d] of the result
 * (ascending), where its extent is the result's or 1; the result's other dimensions
 * repeat x. */
typedef struct pithp_broadcast_params {
    int32_t rank;
    int64_t shape[PITH_MAX_RANK];
    int32_t dimensions[PITH_MAX_RANK];
} pithp_broadcast_params;

/* reshape(x): the same elements in C order. */
typedef struct pithp_reshape_params {
    int32_t rank;
    int64_t shape[PITH_MAX_RANK];
} pithp_reshape_params;

/* transpose(x): dimension d of the result is dimension permutation[d] of x. */
typedef struct pithp_transpose_params {
    int32_t permutation[PITH_MAX_RANK];
} pithp_transpose_params;

/* slice(x): elements start, start + step, ... before (after, where step is negative)
 * limit; all of them exist, so a limit of -1 means down to the first one. */
typedef struct pithp_slice_params {
    int64_t start[PITH_MAX_RANK], limit[PITH_MAX_RANK], step[PITH_MAX_RANK];
} pithp_slice_params;

/* reverse(x) */
typedef struct pithp_reverse_params {
    uint32_t axes; /* bit d: dimension d is turned round */
} pithp_reverse_params;

/* concatenate(x...) */
typedef struct pithp_concatenate_params {
    int32_t axis;
} pithp_concatenate_params;

/* pad(x, value): `interior` values between neighbours, then `low` before and `high`
 * after; negative low and high cut elements off. */
typedef struct pithp_pad_params {
    int64_t low[PITH_MAX_RANK], high[PITH_MAX_RANK], interior[PITH_MAX_RANK];
} pithp_pad_params;

/* What an index that is out of range does. */
typedef enum pithp_index_mode {
    PITHP_INDEX_DROP,    /* take: the fill value; scatter: nothing is written */
    PITHP_INDEX_CLIP,    /* the nearest end */
    PITHP_INDEX_WRAP,    /* modulo the extent */
    PITHP_INDEX_PROMISE, /* there is none (it is clipped, so that memory is safe) */
    PITHP_INDEX_ERROR,   /* as drop, and memory.report says which one was first */
} pithp_index_mode;

/* take(x, index...), scatter_*(x, index..., updates): the index arrays have one integer
 * dtype and one shape, and select along dimensions axis, axis + 1, ... of x. Taken
 * elements and updates have the shape x.shape[..axis] + index.shape + x.shape[axis +
 * arrays..]. take_along(x, index): index has x's extents but along the axis, and so has
 * the result. Where indices repeat, set keeps the last update, and add and mul combine in
 * order. */
typedef struct pithp_index_params {
    int32_t axis;
    pithp_index_mode mode;
    bool
        no_negative; /* negative indices are out of range; else they count from the end */
    uint64_t fill;   /* drop, error: the element's bits, in the low bytes */
    /* Scatters. Promises of the caller: if they are broken, what is stored in places that
     * repeat is left open, and nothing else. */
    bool unique;    /* no place repeats among those in range */
    bool sorted;    /* indices ascend (by the first array, then the next) from 0 on */
    bool unordered; /* floats that meet may add up in any order, on CUDA */
} pithp_index_params;

/* dynamic_slice(x, starts): the extents `shape` of x from starts [rank], which count from
 * the end where negative, once, and are then clamped so that the slice fits.
 * dynamic_update_slice(x, update, starts): x with the update there; no parameters. */
typedef struct pithp_dynamic_params {
    int64_t shape[PITH_MAX_RANK];
} pithp_dynamic_params;

/* sum(x), prod, min, max, any, all, argmin, argmax: over a set of axes, which the result
 * lacks. The order of combination depends on indices alone: see block/reduce.c. f16, bf16
 * and f32 are summed and multiplied in f64. argmin and argmax give the C-order index
 * within the reduced axes as i64: the first of equals, the first nan if there is one. */
typedef struct pithp_reduce_params {
    uint32_t axes; /* bit d: dimension d is reduced */
} pithp_reduce_params;

/* cumsum(x), cumprod, cummin, cummax, cumlogsumexp */
typedef struct pithp_scan_params {
    int32_t axis;
    bool reverse; /* from the end to the front */
} pithp_scan_params;

/* sort(x), argsort(x): stable, nan last (first when descending), -0 equal to 0.
 * argsort gives positions along the axis as i64. */
typedef struct pithp_sort_params {
    int32_t axis;
    bool descending;
} pithp_sort_params;

/* search_sorted(sorted [n], values): how many elements are less than each value (right:
 * not greater), as i64; nan equals nan and is greatest. */
typedef struct pithp_search_params {
    bool right;
} pithp_search_params;

/* dot_general(x, y): sums of products over `contracts` pairs of dimensions, apart for
 * each index of `batches` pairs; contract[0] and batch[0] are of x. The result has the
 * batch dimensions, then the rest of x's, then the rest of y's. Extents of a pair are
 * equal; of a batch pair one may be 1, and is repeated. bool is multiplied by and, added
 * by or; f16 and bf16 are multiplied and added in f32 and rounded once. The order:
 * block/product.h. */
typedef struct pithp_dot_params {
    int32_t contracts, batches;
    int8_t contract[2][PITH_MAX_RANK], batch[2][PITH_MAX_RANK];
} pithp_dot_params;

/* threefry(key [..., 2], counts [..., 2]): the words of each pair of counts.
 * fold_in(key [..., 2], data [...]): the words of counts 0 and the datum.
 * All are u32, and the leading extents agree, or the key is one for all: [2]. */

/* random_split(key [..., 2]): keys of that shape, [..., shape..., 2].
 * random_bits(key), uniform, normal, integers: elements [..., shape...]. Each key draws
 * on its own. */
typedef struct pithp_random_params {
    pith_dtype dtype; /* split: not looked at */
    int32_t rank;
    int64_t shape[PITH_MAX_RANK];
    bool original;    /* JAX's layout where jax_threefry_partitionable is off */
    double low, high; /* uniform: from low to below high; finite in the dtype */
    uint64_t least,
        greatest; /* integers: both may be drawn; bits of the widened numbers */
} pithp_random_params;

/* ---- Control flow: operands and results of programs are in order ---- */

/* cond(index [], operands...): programs[index](operands...), whose outputs are the
 * results. The index is clamped to those there are; a bool chooses the second one where
 * it is true. All programs take these operands and have outputs of the same specs. */

/* while(cond operands..., body operands..., carries...): as long as programs[0](cond
 * operands..., carries...) is true [], the carries are programs[1](body operands...,
 * carries...). The results are the last carries. */
typedef struct pithp_while_params {
    int32_t cond_operands, body_operands;
    bool stops; /* also when a check has failed */
} pithp_while_params;

/* scan(constants..., carries..., xs...): for i = 0, 1, ... length - 1, programs[0](
 * constants..., carries..., xs[i]...) gives the next carries and the elements [i] of ys.
 * The results are the last carries and ys, whose leading extent is the length. */
typedef struct pithp_loop_params {
    int64_t length;
    int32_t constants, carries;
    int32_t unroll; /* a hint: so many iterations may be laid out one after the other */
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

/* That call. */
static inline pithp_call pithp_checked_call(const pithp_call *call) {
    const pithp_checked_params *params = call->params;
    return pithp_call_of(params->primitive, call->operand_count, call->operands,
                         &params->index);
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
                            &pithp_rows[primitive]); else NULL */
} pithp_memory;

/* Memory that the launches of an accepted call need besides operands and result. */
size_t pithp_temporary_bytes(const pithp_call *call, const pith_spec *result);

/* Hand the launches of an accepted call to the sink. The code is the sink's. */
pith_status pithp_lower(const pithp_call *call,
                        const pith_spec *result,
                        const pithp_memory *memory,
                        const pithp_sink *sink);

/* The error of a report that a call with mode error left: the first position whose index
 * is out of range. Subject: the row. */
void pithp_index_describe(const void *subject,
                          const pith_report *report,
                          const char *site,
                          pithp_error *e);

/* Run a call on the stream of s. */
pith_status pithp_run(pith_scope *s,
                      const pithp_call *call,
                      const pith_spec *result,
                      const pithp_memory *memory);

/* ---- Block functions: the unit that eager calls, launches and interpreters share ----
 */

/* n elements side by side; unused operands are NULL. `to` may be one of the operands. */
typedef void (*pithp_block_function)(void *to,
                                     const void *a,
                                     const void *b,
                                     const void *c,
                                     int64_t n);

/* By instruction set, then primitive and operand dtype (the last operand's for WHERE);
 * by source and result dtype for casts. NULL where the row does not take the dtype. */
typedef const pithp_block_function (*pithp_elementwise_table)[PITH_DTYPE_COUNT];
extern const pithp_elementwise_table pithp_elementwise_tables[PITHP_ISA_COUNT];
extern const pithp_elementwise_table pithp_cast_tables[PITHP_ISA_COUNT];

static inline pithp_block_function
pithp_elementwise_block(pithp_isa isa, pithp_primitive p, pith_dtype dtype) {
    return pithp_elementwise_tables[isa][p][dtype];
}
static inline pithp_block_function
pithp_cast_block(pithp_isa isa, pith_dtype from, pith_dtype to) {
    return pithp_cast_tables[isa][from][to];
}

#endif
