/* Piecewise views at run time: select and stage pieces. */
#include "program/exec/segment.h"

static inline const pithp_box *box_of(const pithp_fused_step *a,
                                      const pithp_external *p) {
    return &a->boxes[p - pithp_piece_of(a, 0)];
}

const pithp_external *
pithp_piece_at(const pithp_fused_step *a, const pithp_external *x, const int64_t *index) {
    const pithp_box *box = &a->boxes[x->first_piece];
    int k = 0;
    for (; k < x->pieces - 1; k++, box++) {
        bool within = true;
        for (int d = 0; d < a->rank && within; d++)
            within = index[d] >= box->begin[d] && index[d] < box->end[d];
        if (within)
            break;
    }
    return pithp_piece_of(a, x->first_piece + k);
}

int64_t pithp_pieces_length(const pithp_fused_step *a, const int64_t *index, int64_t n) {
    const int last = a->rank - 1;
    for (int e = 0; e < a->external_count; e++) {
        const pithp_external *x = &a->externals[e];
        if (x->access != PITHP_ACCESS_PIECES)
            continue;
        const pithp_external *piece = pithp_piece_at(a, x, index);
        const int64_t rest = box_of(a, piece)->end[last] - index[last];
        n = rest < n ? rest : n;
        if (piece->access != PITHP_ACCESS_ROWS && a->block < n)
            n = a->block;
    }
    return n;
}

/* The number of consecutive elements from an index on that are in a box, in the order of
 * the index space. It spans rows if the box has whole rows. */
static int64_t
run_of(const pithp_fused_step *a, const pithp_box *box, const int64_t *index) {
    int64_t run = 1;
    int d = a->rank - 1;
    for (; d > 0 && index[d] == 0 && box->begin[d] == 0 && box->end[d] == a->shape[d];
         d--)
        run *= a->shape[d];
    return run * (box->end[d] - index[d]);
}

void pithp_stage_pieces(char *to,
                        const pithp_fused_args *args,
                        const pithp_external *x,
                        int64_t i,
                        int64_t n) {
    const pithp_fused_step *a = args->step;
    int64_t index[PITHP_MAX_RANK];
    while (n > 0) {
        pithp_index_of(a, i, index);
        const pithp_external *piece = pithp_piece_at(a, x, index);
        const int64_t run = run_of(a, box_of(a, piece), index);
        const int64_t some = run < n ? run : n;
        pithp_stage_view(to, args->data[piece - a->externals], x->size, a->rank, a->shape,
                         piece->stride, i, some);
        to += some * x->size;
        i += some;
        n -= some;
    }
}
