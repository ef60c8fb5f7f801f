/* Vectorised interpreter of fused steps: a block of elements goes through all
 * instructions before the next block. */
#include "program/emit/emit.h"
#include "program/exec/segment.h"
#include "program/op/rules.h"
#include "program/op/thresholds.h"

#include <string.h>

static inline bool is_staged(const pithp_external *e) {
    return e->access == PITHP_ACCESS_ONCE || e->access == PITHP_ACCESS_STRIDED;
}

/* Stage a periodic operand: copy the first period, then repeat it. */
static void stage_periodic(const pithp_fused_step *a,
                           const pithp_external *x,
                           const char *data,
                           char *to,
                           int64_t begin,
                           int64_t n) {
    const int64_t period = pithp_period(a->rank, a->shape, x->stride);
    int64_t staged = period < n ? period : n;
    if (period == 1) /* a uniform operand: valid for any begin, and for any element count
                        of a flat plan */
        memcpy(to, data, x->size);
    else
        pithp_stage_view(to, data, x->size, a->rank, a->shape, x->stride, begin, staged);
    for (int64_t more; staged < n; staged += more) {
        more = n - staged < staged ? n - staged : staged;
        memcpy(to + staged * x->size, to, (size_t)(more * x->size));
    }
}

/* The state of a range: addresses of slots, and staging buffers of externals. */
typedef struct range {
    const pithp_fused_args *args;
    const pithp_fused_step *a;
    char *at[PITHP_FUSED_OPS + PITHP_FUSED_EXTERNALS];
    char *staging[PITHP_FUSED_EXTERNALS]; /* of externals that may be staged */
} range;

/* Assign buffers to temporaries and staged externals; stage externals that do not change
 * between blocks. */
static void begin_range(range *r,
                        const pithp_fused_args *args,
                        char *buffers,
                        int64_t begin,
                        int64_t end) {
    const pithp_fused_step *a = args->step;
    const size_t bytes = (size_t)a->block * sizeof(uint64_t);
    const int64_t n = end - begin < a->block ? end - begin : a->block;
    r->args = args;
    r->a = a;
    for (int t = 0; t < a->temporary_count; t++, buffers += bytes)
        r->at[t] = buffers;
    for (int e = 0; e < a->external_count; e++) {
        const pithp_external *x = &a->externals[e];
        if (!is_staged(x) && x->access != PITHP_ACCESS_PIECES)
            continue;
        r->at[a->temporary_count + e] = r->staging[e] = buffers;
        if (x->access == PITHP_ACCESS_ONCE)
            stage_periodic(a, x, args->data[e], buffers, begin, n);
        buffers += bytes;
    }
}

/* Address of an element, by its index, of an external or piece with number e. */
static inline char *element_at(const range *r, int64_t e, const int64_t *index) {
    const pithp_external *x = &r->a->externals[e];
    int64_t offset = 0;
    for (int d = 0; d < r->a->rank; d++)
        offset += index[d] * x->stride[d];
    return r->args->data[e] + offset * x->size;
}

/* Address the pieces for elements i to i + n, in memory or staged. If the step goes by
 * rows, the elements are in one row. */
static void begin_pieces(range *r, int64_t i, int64_t n, const int64_t *index) {
    const pithp_fused_step *a = r->a;
    for (int e = 0; e < a->external_count; e++) {
        const pithp_external *x = &a->externals[e];
        char **slot = &r->at[a->temporary_count + e];
        if (x->access != PITHP_ACCESS_PIECES)
            continue;
        if (!a->by_rows) {
            pithp_stage_pieces(r->staging[e], r->args, x, i, n);
            continue;
        }
        const pithp_external *piece = pithp_piece_at(a, x, index);
        const int64_t number = piece - a->externals;
        *slot = piece->access == PITHP_ACCESS_ROWS ? element_at(r, number, index)
                                                   : r->staging[e];
        if (piece->access != PITHP_ACCESS_ROWS)
            pithp_stage_view(*slot, r->args->data[number], x->size, a->rank, a->shape,
                             piece->stride, i, n);
    }
}

/* Length of the next block, at most n. If the step goes by rows, the block is in one row
 * and in the same pieces, and `index` is set. */
static int64_t block_at(const pithp_fused_step *a, int64_t i, int64_t n, int64_t *index) {
    const int last = a->rank - 1;
    if (!a->by_rows)
        return n;
    pithp_index_of(a, i, index);
    n = a->shape[last] - index[last] < n ? a->shape[last] - index[last] : n;
    return a->piece_count ? pithp_pieces_length(a, index, n) : n;
}

/* Address the externals for elements i to i + n; returns the length of the block, which
 * may be less than n. */
static int64_t begin_block(range *r, int64_t i, int64_t n) {
    const pithp_fused_step *a = r->a;
    char *const *data = r->args->data;
    int64_t index[PITHP_MAX_RANK];
    n = block_at(a, i, n, index);
    for (int e = 0; e < a->external_count; e++) {
        const pithp_external *x = &a->externals[e];
        char **slot = &r->at[a->temporary_count + e];
        if (x->access == PITHP_ACCESS_FLAT)
            *slot = data[e] + i * x->size;
        else if (x->access == PITHP_ACCESS_ROWS)
            *slot = element_at(r, e, index);
        else if (x->access == PITHP_ACCESS_STRIDED)
            pithp_stage_view(*slot, data[e], x->size, a->rank, a->shape, x->stride, i, n);
    }
    if (a->piece_count)
        begin_pieces(r, i, n, index);
    return n;
}

static void
interpret(pithp_isa isa, const pithp_fused_step *a, char *const *at, int64_t n) {
    for (int k = 0; k < a->op_count; k++) {
        const pithp_fused_op *op = &a->ops[k];
        const pithp_elementwise_table table =
            op->cast ? pithp_cast_tables[isa] : pithp_elementwise_tables[isa];
        table[op->operation][op->dtype](at[op->to], at[op->from[0]], at[op->from[1]],
                                        at[op->from[2]], n);
    }
}

/* ---- Compiled code ---- */

/* Run blocks of compiled code that reads piecewise externals. The code expects them
 * contiguous, so each block stages or addresses its own elements. */
static void run_pieces(const pithp_fused_args *args, int64_t begin, int64_t end) {
    _Alignas(64) char buffers[PITHP_FUSED_BYTES];
    _Alignas(8) char memory[PITHP_KERNEL_BYTES];
    const pithp_fused_step *a = args->step;
    int64_t index[PITHP_MAX_RANK];
    range r;
    begin_range(&r, args, buffers, begin, end);
    pithp_kernel_arguments(args, end, memory);
    char **at = (char **)(void *)(memory + sizeof(pithp_kernel_args));
    for (int64_t i = begin, n; i < end; i += n) {
        n = end - i < a->block || a->by_rows ? end - i : a->block;
        n = block_at(a, i, n, index);
        begin_pieces(&r, i, n, index);
        for (int e = 0; e < a->external_count; e++)
            if (a->externals[e].access == PITHP_ACCESS_PIECES)
                at[e] = (char *)((uintptr_t)r.at[a->temporary_count + e] -
                                 (uintptr_t)(i * a->externals[e].size));
        args->code(memory, i, i + n);
    }
}

static void run_code(const pithp_fused_args *args, int64_t begin, int64_t end) {
    _Alignas(8) char memory[PITHP_KERNEL_BYTES];
    if (pithp_is_direct(args->step)) {
        args->code(args->data, begin, end);
        return;
    }
    pithp_kernel_arguments(args, end, memory);
    args->code(memory, begin, end);
}

/* ---- Dispatch ---- */

static void
run_blocks(pithp_isa isa, const pithp_fused_args *args, int64_t begin, int64_t end) {
    _Alignas(64) char buffers[PITHP_FUSED_BYTES];
    const int64_t block = args->step->block;
    range r;
    begin_range(&r, args, buffers, begin, end);
    for (int64_t i = begin, n; i < end; i += n) {
        n = begin_block(&r, i, end - i < block ? end - i : block);
        interpret(isa, args->step, r.at, n);
    }
}

static inline void fused(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_fused_args *a = args;
    if (!a->code)
        run_blocks(isa, a, begin, end);
    else if (a->step->piece_count)
        run_pieces(a, begin, end);
    else
        run_code(a, begin, end);
}
PITHP_LOOPS(fused)
const pithp_host_loop pithp_fused_loops[PITHP_ISA_COUNT] = {fused_base, fused_v3,
                                                            fused_v4};

pith_status pithp_fused_run(pith_scope *s,
                            const pithp_fused_step *step,
                            const pithp_fused_args *args,
                            int64_t count) {
    const int32_t ops = step->op_count;
    const int64_t grain = PITHP_GRAIN / (ops ? ops : 1);
    const pithp_launch launch = {
        .name = "fused",
        .loops = fused_loops,
        .args = args,
        .args_bytes = pithp_fused_args_bytes(step),
        .count = count,
        .grain = args->code                        ? PITHP_GRAIN
                 : grain < PITHP_FUSED_LEAST_GRAIN ? PITHP_FUSED_LEAST_GRAIN
                                                   : grain,
    };
    return pithp_launch_run(s, &launch);
}
