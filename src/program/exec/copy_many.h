/* Many small copies in one launch. */
#ifndef PITH_PROGRAM_EXEC_COPY_MANY_H
#define PITH_PROGRAM_EXEC_COPY_MANY_H

#include "program/host/move.h"
#include "program/source/args/library.h"

typedef struct pithp_pieces {
    pith_scope *s;
    pithp_piece *list;
    int64_t count, room;
    int64_t elements, longest; /* of a piece */
} pithp_pieces;

/* room: expected number of moves, or 0. */
pith_status pithp_pieces_begin(pith_scope *s, pithp_pieces *p, int64_t room);
/* Add rows of `bytes` bytes. */
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
/* log2 of the chunk size for a number of pieces. */
int64_t pithp_pieces_shift(int64_t count, int64_t elements);

#endif
