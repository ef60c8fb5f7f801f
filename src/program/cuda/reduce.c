/* Lowering of reductions for CUDA, by pairwise trees. One thread reduces up to 64
 * elements. A team of threads reduces up to 4,096, without temporary memory. Beyond,
 * there is one thread per lane, then trees of 64 until one result is left. */
#include "program/host/reduce.h"

#include "program/cuda/cuda.h"

typedef int32_t i32;
typedef int64_t i64;
typedef uint64_t u64;
#include "program/source/args/reduce.h"
#include "program/source/shell.h"

enum { TREE = 64, LANES = PITHP_REDUCE_LANES };

_Static_assert(PITHP_REDUCE_LANES == 64 && PITHP_REDUCE_BLOCK == 4096,
               "host and CUDA combine in one order");
_Static_assert(PITHP_REDUCE_SUM == 0 && PITHP_REDUCE_PROD == 1 && PITHP_REDUCE_MIN == 2 &&
                   PITHP_REDUCE_MAX == 3 && PITHP_REDUCE_ANY == 4 &&
                   PITHP_REDUCE_ALL == 5,
               "kernels know the operations by number");

static int64_t trees_for(int64_t count) {
    return (count + TREE - 1) / TREE;
}

pithp_reduce_kernel pithp_reduce_kernel_of(const pithp_call *call) {
    if (!pithp_op_has(call->primitive, PITHP_TRAIT_REDUCTION | PITHP_TRAIT_ARG_REDUCTION))
        return PITHP_REDUCE_KERNEL_NOTHING;
    const int64_t length = pithp_reduce_view_of(call).length;
    return pithp_reduce_is_arg(call)      ? PITHP_REDUCE_KERNEL_SEARCH
           : length <= TREE               ? PITHP_REDUCE_KERNEL_LINES
           : length <= PITHP_REDUCE_BLOCK ? PITHP_REDUCE_KERNEL_TEAM
                                          : PITHP_REDUCE_KERNEL_LANES;
}

int32_t pithp_cuda_reduction(const pithp_call *call) {
    return pithp_reduce_is_arg(call) ? call->primitive == PITHP_OP_ARGMAX
                                     : (int32_t)pithp_reduction_of(call->primitive);
}

uint32_t pithp_reduce_kernel_last_axes(const pithp_call *call) {
    const pithp_reduce_params *p = call->params;
    return pithp_reduce_view_of(call).moved ? p->axes : 0;
}

bool pithp_reduce_kernel_can_fuse(const pithp_call *call) {
    if (pithp_reduce_kernel_of(call) == PITHP_REDUCE_KERNEL_NOTHING)
        return false;
    const pith_spec *x = call->operands[0];
    const uint32_t last = pithp_reduce_kernel_last_axes(call);
    int d = x->rank - 1; /* the last axis with an extent other than 1 */
    while (d > 0 && x->shape[d] == 1)
        d--;
    return x->count > 0 && (!last || last >> d & 1);
}

static size_t aligned(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/* Two arrays of partial results, of alternate launches; 8 bytes an entry. */
typedef struct steps {
    int64_t first, second; /* entries per result */
} steps;

static steps steps_of(const pithp_call *call, const pithp_reduce_view *v) {
    const bool finds = pithp_reduce_is_arg(call);
    if (v->length <= (finds ? TREE : PITHP_REDUCE_BLOCK))
        return (steps){0, 0};
    if (finds)
        return (steps){trees_for(v->length), trees_for(trees_for(v->length))};
    return (steps){v->blocks * LANES, v->blocks};
}

size_t pithp_cuda_temporary_reduce(const pithp_call *call, const pith_spec *result) {
    const bool moved = pithp_reduce_view_of(call).moved;
    return aligned(moved ? call->operands[0]->bytes : 0) +
           pithp_cuda_temporary_reduce_of(call, result);
}

size_t pithp_cuda_temporary_reduce_of(const pithp_call *call, const pith_spec *result) {
    const pithp_reduce_view v = pithp_reduce_view_of(call);
    const steps n = steps_of(call, &v);
    const size_t results = (size_t)result->count * sizeof(uint64_t);
    return aligned(results * (size_t)n.first) + results * (size_t)n.second;
}

/* Launches of trees of 64 until the last one stores the results. Partial results
 * alternate between the two arrays. */
static pith_status reduce_trees(m_reduce_args *a,
                                const char *name,
                                const pithp_sink *sink,
                                uint64_t *first,
                                uint64_t *second) {
    for (a->lanes = 1;; a->lanes = 0) {
        const int64_t groups = trees_for(a->count);
        a->partial = first;
        a->reduced = second;
        const pith_status rc = pithp_cuda_launch(sink, PITHP_CUDA_reduce_tree, name, a,
                                                 sizeof *a, a->outer * groups * a->inner);
        if (rc || groups == 1)
            return rc;
        a->count = groups;
        first = a->reduced;
        second = a->partial;
    }
}

/* The first kernel: a fused one, or the library's. */
static pith_status launch_first(const m_reduce_args *a,
                                const char *name,
                                pithp_cuda_kernel_id id,
                                const pithp_sink *sink,
                                const pithp_cuda_producer *producer,
                                int64_t threads) {
    return producer ? producer->launch(producer->closure, sink, name, a, threads)
                    : pithp_cuda_launch(sink, id, name, a, sizeof *a, threads);
}

/* Candidates are read again, so every launch uses the first kernel. */
static pith_status find(m_reduce_args *a,
                        const char *name,
                        const pithp_sink *sink,
                        const pithp_cuda_producer *producer,
                        int64_t *first,
                        int64_t *second) {
    a->count = a->length;
    for (;;) {
        const int64_t groups = trees_for(a->count);
        a->found = first;
        const pith_status rc = launch_first(a, name, PITHP_CUDA_find, sink, producer,
                                            a->outer * groups * a->inner);
        if (rc || groups == 1)
            return rc;
        a->count = groups;
        a->candidates = first;
        first = second;
        second = a->found;
    }
}

static int64_t team_threads(const pithp_reduce_view *v) {
    const int64_t results = M_BLOCK / M_TEAM_THREADS(v->outer, v->inner);
    return (v->outer * v->inner + results - 1) / results * M_BLOCK;
}

pith_status pithp_cuda_lower_reduce(const pithp_call *call,
                                    const pith_spec *result,
                                    const pithp_memory *memory,
                                    const pithp_sink *sink) {
    return pithp_cuda_lower_reduce_of(call, result, memory, sink, NULL);
}

pith_status pithp_cuda_lower_reduce_of(const pithp_call *call,
                                       const pith_spec *result,
                                       const pithp_memory *memory,
                                       const pithp_sink *sink,
                                       const pithp_cuda_producer *producer) {
    const char *name = pithp_ops[call->primitive].name;
    const pith_spec *x = call->operands[0];
    const pithp_reduce_view v = pithp_reduce_view_of(call);
    char *temporary = memory->temporary;
    m_reduce_args a = {.from = memory->operands[0],
                       .to = memory->result,
                       .outer = v.outer,
                       .length = v.length,
                       .inner = v.inner,
                       .blocks = v.blocks,
                       .dtype = (int32_t)x->dtype,
                       .to_dtype = (int32_t)result->dtype,
                       .operation = pithp_cuda_reduction(call)};
    if (result->count == 0)
        return PITH_OK;
    if (v.moved && !producer) {
        const pith_status rc = pithp_reduce_launch_moving(call, temporary, sink, memory);
        if (rc)
            return rc;
        a.from = temporary;
        temporary += aligned(x->bytes);
    }
    const steps n = steps_of(call, &v);
    void *first = temporary,
         *second = n.first ? temporary + aligned((size_t)(n.first * result->count) *
                                                 sizeof(uint64_t))
                           : NULL;
    if (pithp_reduce_is_arg(call))
        return find(&a, name, sink, producer, first, second);
    if (v.length <= TREE)
        return launch_first(&a, name, PITHP_CUDA_reduce_short, sink, producer,
                            result->count);
    if (v.length <= PITHP_REDUCE_BLOCK)
        return launch_first(&a, name, PITHP_CUDA_reduce_team, sink, producer,
                            team_threads(&v));
    a.count = v.blocks * LANES;
    a.partial = first;
    const pith_status rc = launch_first(&a, name, PITHP_CUDA_reduce_lanes, sink, producer,
                                        result->count * a.count);
    return rc ? rc : reduce_trees(&a, name, sink, first, second);
}
