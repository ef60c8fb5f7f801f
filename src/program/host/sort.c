/* sort and argsort along one axis: stable LSD radix sort.
 *
 * An element becomes an unsigned, order-preserving key. Equal keys are equal elements: -0
 * has the key of 0, and every NaN has the greatest key. sort converts keys back to
 * elements, and restores zeros and NaNs in stable order. */
#include "program/host/sort.h"

#include "program/host/vector/rank.h"

#include <string.h>

enum {
    FEW = PITHP_RANK_MOST,
    LEAST_RANKED = 12,
    MOST_DIGITS = 8,
    MOST_BUCKETS = 2048,
    MANY = 8192
};

typedef struct {
    const char *from;
    void *to;
    char *temporary;       /* argsort: two arrays of indices; then two of keys */
    int64_t extent, inner; /* elements of a line, and their stride */
    int64_t count;         /* elements of all lines */
    pith_dtype dtype;
    bool descending;
} sort_args;

pith_status
pithp_infer_sort(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_sort_params *p = call->params;
    const pith_spec *x = call->operands[0];
    if (p->axis < 0 || p->axis >= x->rank)
        return pithp_refuse(call, refusal, PITH_E_SHAPE, "axis %d of rank %d", p->axis,
                            x->rank);
    const pith_dtype dtype = call->primitive == PITHP_OP_ARGSORT ? PITH_I64 : x->dtype;
    return pithp_spec_fill(call, refusal, result, dtype, x->rank, x->shape);
}

size_t pithp_temporary_sort(const pithp_call *call, const pith_spec *result) {
    const pith_spec *x = call->operands[0];
    const pithp_sort_params *p = call->params;
    if (x->shape[p->axis] <= FEW)
        return 0;
    const size_t index_bytes = call->primitive == PITHP_OP_ARGSORT ? sizeof(int64_t) : 0;
    const size_t size = pith_dtype_size(x->dtype);
    return (size_t)result->count * 2 * (size + index_bytes) +
           (pithp_sorts_long(x->count, x->shape[p->axis], size)
                ? pithp_long_sort_bytes() + 64
                : 0);
}

/* Only on processors that compare many keys at a time. */
#ifdef __x86_64__
#    define RANK(isa) PITHP_PASTE(NAME(pithp_rank), isa)
#else
#    define RANK(isa) PITHP_PASTE(NAME(pithp_rank), base)
#endif

/* Passes run over digits of `bits` bits. One pass over the keys counts all digits. A
 * digit that all keys share moves nothing. */
/* clang-format off */
#define K uint8_t
#define BITS 8
#include "program/host/sort_width.h"
#define K uint16_t
#define BITS 16
#include "program/host/sort_width.h"
#define K uint32_t
#define BITS 32
#include "program/host/sort_width.h"
#define K uint64_t
#define BITS 64
#include "program/host/sort_width.h"
/* clang-format on */

static const pithp_host_loop *loops_of(size_t size, bool argsort) {
    switch (size) {
        case 1:
            return argsort ? argsort_uint8_t_loops : sort_uint8_t_loops;
        case 2:
            return argsort ? argsort_uint16_t_loops : sort_uint16_t_loops;
        case 4:
            return argsort ? argsort_uint32_t_loops : sort_uint32_t_loops;
        default:
            return argsort ? argsort_uint64_t_loops : sort_uint64_t_loops;
    }
}

/* Few and long lines, one after the other. */
static pith_status
sort_long_lines(const pithp_call *call, const sort_args *a, const pithp_sink *sink) {
    const int64_t size = (int64_t)pith_dtype_size(a->dtype);
    const int64_t to_size = call->primitive == PITHP_OP_ARGSORT ? 8 : size;
    pith_status rc = PITH_OK;
    for (int64_t line = 0; line < a->count / a->extent && !rc; line++) {
        const int64_t base = line / a->inner * a->extent * a->inner + line % a->inner;
        rc = pithp_launch_long_sort(sink, call, a->from + base * size,
                                    (char *)a->to + base * to_size, a->temporary,
                                    a->extent, a->inner);
    }
    return rc;
}

pith_status pithp_lower_sort(const pithp_call *call,
                             const pith_spec *result,
                             const pithp_memory *memory,
                             const pithp_sink *sink) {
    const pithp_sort_params *p = call->params;
    const pith_spec *x = call->operands[0];
    if (result->count == 0)
        return PITH_OK;
    sort_args a = {.from = memory->operands[0],
                   .to = memory->result,
                   .temporary = memory->temporary,
                   .extent = x->shape[p->axis],
                   .inner = 1,
                   .count = x->count,
                   .dtype = x->dtype,
                   .descending = p->descending};
    for (int d = p->axis + 1; d < x->rank; d++)
        a.inner *= x->shape[d];
    if (pithp_sorts_long(x->count, a.extent, pith_dtype_size(x->dtype)))
        return sort_long_lines(call, &a, sink);
    const int64_t grain = PITHP_GRAIN / a.extent + 1;
    return pithp_launch_loops(
        sink, pithp_ops[call->primitive].name,
        loops_of(pith_dtype_size(x->dtype), call->primitive == PITHP_OP_ARGSORT), &a,
        sizeof a, x->count / a.extent, grain);
}
