/* Moving elements between two strided views of memory: what every shape primitive comes
 * down to. */
#ifndef PITH_PROGRAM_HOST_MOVE_H
#define PITH_PROGRAM_HOST_MOVE_H

#include "program/op/rules.h"
#include "program/source/args/library.h"

/* Element i of the index space goes from `from` + i . from_stride to `to` + i .
 * to_stride. */
typedef struct pithp_move {
    char *to;
    const char *from;
    int32_t size; /* bytes of an element: 1, 2, 4 or 8 */
    int32_t rank;
    int64_t shape[PITH_MAX_RANK];
    int64_t to_stride[PITH_MAX_RANK], from_stride[PITH_MAX_RANK]; /* bytes */
} pithp_move;

/* Strides in bytes of a shape in C order. */
static inline void
pithp_c_strides(int rank, const int64_t *shape, int64_t size, int64_t *stride) {
    for (int d = rank - 1; d >= 0; d--) {
        stride[d] = size;
        size *= shape[d];
    }
}

/* Move all elements; the two views do not overlap. */
pith_status
pithp_emit_move(const pithp_sink *sink, const char *name, const pithp_move *move);

/* Move `count` elements that lie side by side, unless they are there already: what is
 * updated in place. */
pith_status pithp_emit_copy(const pithp_sink *sink,
                            const char *name,
                            void *to,
                            const void *from,
                            int32_t size,
                            int64_t count);

/* Write `count` copies of an element. */
pith_status pithp_emit_fill(const pithp_sink *sink,
                            const char *name,
                            void *to,
                            int32_t size,
                            uint64_t value,
                            int64_t count);

/* ---- Many small moves in one launch ---- */

typedef struct pithp_pieces {
    pith_scope *s;
    pithp_piece *list;
    int64_t count, room;
    int64_t elements, longest; /* of a piece */
} pithp_pieces;

/* room: how many there will be, or 0. */
pith_status pithp_pieces_begin(pith_scope *s, pithp_pieces *p, int64_t room);
/* Rows of so many bytes each. */
pith_status pithp_pieces_add(pithp_pieces *p,
                             void *to,
                             const void *from,
                             int64_t rows,
                             int64_t row_bytes,
                             int64_t to_pitch,
                             int64_t from_pitch);
/* Any move: as pieces, or, where it would be many, on its own at once. */
pith_status
pithp_pieces_add_move(pithp_pieces *p, const char *name, const pithp_move *move);
/* Run all that was added; the moves do not overlap. */
pith_status pithp_pieces_run(pithp_pieces *p, const char *name);
void pithp_pieces_end(pithp_pieces *p);

/* The launch of a list that the device can read, for each backend. */
pith_status pithp_emit_pieces(const pithp_sink *sink,
                              const char *name,
                              const pithp_cuda_pieces_args *args);
/* How wide, as a power of two, chunks of so many pieces should be. */
int64_t pithp_pieces_shift(int64_t count, int64_t elements);

#endif
