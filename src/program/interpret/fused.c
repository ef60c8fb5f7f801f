/* Running fused steps: a block of elements goes through all instructions before the next
 * one is looked at. */
#include "program/emit/emit.h"
#include "program/interpret/pieces.h"
#include "program/rules.h"

#include <string.h>

/* Least elements worth a thread, of a step of one instruction and of many. */
enum { GRAIN = 4096, LEAST_GRAIN = 512, COMPILED_GRAIN = 4096 };

static inline bool is_staged(const pithp_external *e) {
    return e->access == PITHP_ACCESS_ONCE || e->access == PITHP_ACCESS_STRIDED;
}

/* Compiled code takes it from where it is. */
static inline bool is_read_once(const pithp_fused_args *a, const pithp_external *x) {
    return a->code && (pithp_is_uniform(a, x) || pithp_is_one_a_row(a, x));
}

/* A range that runs: where slots are, and where externals are staged. */
typedef struct range {
    const pithp_fused_args *a;
    char *at[UINT8_MAX + 1];
    char *staging[PITHP_FUSED_EXTERNALS]; /* of those that may be staged */
} range;

/* Temporaries and what is staged have buffers; what does not change is staged here. */
static void begin_range(range *r, char *buffers, int64_t begin, int64_t end) {
    const pithp_fused_args *a = r->a;
    const size_t bytes = (size_t)a->block * sizeof(uint64_t);
    const int64_t n = end - begin < a->block ? end - begin : a->block;
    r->at[UINT8_MAX] = NULL; /* of operands that are not used */
    for (int t = 0; t < a->temporary_count; t++, buffers += bytes)
        r->at[t] = buffers;
    for (int e = 0; e < a->external_count; e++) {
        const pithp_external *x = &a->externals[e];
        if (!is_staged(x) && x->access != PITHP_ACCESS_PIECES)
            continue;
        if (is_read_once(a, x)) {
            r->at[a->temporary_count + e] = x->data;
            continue;
        }
        r->at[a->temporary_count + e] = r->staging[e] = buffers;
        if (x->access == PITHP_ACCESS_ONCE)
            pithp_stage_view(buffers, x->data, x->size, a->rank, a->shape, x->stride,
                             begin, n);
        buffers += bytes;
    }
}

static inline char *
element_at(const pithp_fused_args *a, const pithp_external *x, const int64_t *index) {
    int64_t place = 0;
    for (int d = 0; d < a->rank; d++)
        place += index[d] * x->stride[d];
    return x->data + place * x->size;
}

/* Where the externals are for elements i to i + n, or for fewer: as many as are in the
 * same pieces, of which the number is returned. */
static int64_t begin_block(range *r, int64_t i, int64_t n) {
    const pithp_fused_args *a = r->a;
    const int last = a->rank - 1;
    int64_t index[PITH_MAX_RANK];
    if (a->by_rows) {
        pithp_index_of(a, i, index);
        n = a->shape[last] - index[last] < n ? a->shape[last] - index[last] : n;
        n = a->piece_count ? pithp_pieces_length(a, index, n) : n;
    }
    for (int e = 0; e < a->external_count; e++) {
        const pithp_external *x = &a->externals[e];
        char **slot = &r->at[a->temporary_count + e];
        if (x->access == PITHP_ACCESS_FLAT)
            *slot = x->data + i * x->size;
        else if (x->access == PITHP_ACCESS_PIECES && !a->by_rows)
            pithp_stage_pieces(*slot, a, x, i, n);
        else if (x->access == PITHP_ACCESS_PIECES) {
            const pithp_external *piece = pithp_piece_at(a, x, index);
            *slot = piece->access == PITHP_ACCESS_ROWS ? element_at(a, piece, index)
                                                       : r->staging[e];
            if (piece->access != PITHP_ACCESS_ROWS)
                pithp_stage_view(*slot, piece->data, x->size, a->rank, a->shape,
                                 piece->stride, i, n);
        } else if (x->access == PITHP_ACCESS_ROWS ||
                   (x->access == PITHP_ACCESS_STRIDED && is_read_once(a, x)))
            *slot = element_at(a, x, index);
        else if (x->access == PITHP_ACCESS_STRIDED)
            pithp_stage_view(*slot, x->data, x->size, a->rank, a->shape, x->stride, i, n);
    }
    return n;
}

static void
interpret(pithp_isa isa, const pithp_fused_args *a, char *const *at, int64_t n) {
    for (int k = 0; k < a->op_count; k++) {
        const pithp_fused_op *op = &a->ops[k];
        const pithp_elementwise_table table =
            op->cast ? pithp_cast_tables[isa] : pithp_elementwise_tables[isa];
        table[op->row][op->column](at[op->to], at[op->from[0]], at[op->from[1]],
                                   at[op->from[2]], n);
    }
}

/* Elements at a time: compiled code needs no blocks but to stage what it reads. */
static int64_t block_of(const pithp_fused_args *a, int64_t begin, int64_t end) {
    for (int e = 0; e < a->external_count; e++) {
        const pithp_external *x = &a->externals[e];
        if ((is_staged(x) && !is_read_once(a, x)) ||
            (x->access == PITHP_ACCESS_PIECES && !a->by_rows))
            return a->block;
    }
    return a->code ? end - begin : a->block;
}

static inline void fused(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_fused_args *a = args;
    range r;
    r.a = a;
    _Alignas(64) char buffers[PITHP_FUSED_BYTES];
    begin_range(&r, buffers, begin, end);
    const int64_t block = block_of(a, begin, end);
    for (int64_t i = begin, n; i < end; i += n) {
        n = begin_block(&r, i, end - i < block ? end - i : block);
        if (a->code)
            a->code(r.at + a->temporary_count, 0, n);
        else
            interpret(isa, a, r.at, n);
    }
}
PITHP_LOOPS(fused)
const pithp_host_loop pithp_fused_loops[PITHP_ISA_COUNT] = {fused_base, fused_v3,
                                                            fused_v4};

pith_status pithp_fused_run(pith_scope *s, const pithp_fused_args *args, int64_t count) {
    const int64_t grain = GRAIN / (args->op_count ? args->op_count : 1);
    const pithp_launch launch = {
        .name = "fused",
        .loops = fused_loops,
        .args = args,
        .args_bytes = pithp_fused_bytes(args),
        .count = count,
        .grain = args->code            ? COMPILED_GRAIN
                 : grain < LEAST_GRAIN ? LEAST_GRAIN
                                       : grain,
    };
    return pithp_launch_run(s, &launch);
}
