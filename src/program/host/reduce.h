/* How reductions see their operand, for the host and for CUDA. */
#ifndef PITH_PROGRAM_HOST_REDUCE_H
#define PITH_PROGRAM_HOST_REDUCE_H

#include "program/host/vector/reduce.h"
#include "program/op/rules.h"

typedef struct pithp_reduce_view {
    int64_t outer, length, inner;
    int64_t blocks; /* of the length; at least 1 */
    bool moved;     /* the reduced axes must be moved together, to the end */
} pithp_reduce_view;

pithp_reduce_view pithp_reduce_view_of(const pithp_call *call);

/* Arguments of the loops of reductions. */
typedef struct pithp_reduce_args {
    const char *from;
    char *to;
    char *partial; /* accumulators [outer, blocks, inner], or of parts of blocks; NULL
                      where there is one */
    int32_t size, to_size, accumulator_size;
    pith_dtype dtype, to_dtype;
    int operation; /* pithp_reduction */
    int finder;    /* 0 for argmin, 1 for argmax */
    int64_t outer, length, inner, blocks, tiles;
} pithp_reduce_args;
pithp_reduce_args pithp_reduce_args_of(const pithp_call *call,
                                       const pith_spec *result,
                                       const pithp_memory *memory,
                                       const pithp_reduce_view *v);

enum { PITHP_REDUCE_WIDEST = 8 }; /* bytes of an accumulator */

/* Whether it is argmin or argmax. */
static inline bool pithp_reduce_is_arg(const pithp_call *call) {
    return pithp_op_has(call->primitive, PITHP_TRAIT_ARG_REDUCTION);
}

/* How a primitive combines two elements; PITHP_REDUCTIONS if no reduction does that. */
pithp_reduction pithp_reduction_of(pithp_primitive primitive);

/* The length of a block: less than others' where it is the last. */
static inline int64_t pithp_reduce_block_length(const pithp_reduce_args *a,
                                                int64_t block) {
    const int64_t left = a->length - block * PITHP_REDUCE_BLOCK;
    return left < PITHP_REDUCE_BLOCK ? left : PITHP_REDUCE_BLOCK;
}

/* Columns that are reduced side by side, of `tiles`: all have so many, but for the last.
 */
static inline int64_t pithp_reduce_tile_width(const pithp_reduce_args *a) {
    return ((a->inner + a->tiles - 1) / a->tiles + 15) / 16 * 16;
}

extern const pithp_reduce_table *const pithp_reduce_tables[PITHP_ISA_COUNT];

/* Lanes [lanes, width] that are computed one after the other. A tree of them waits until
 * there is one of as many lanes to join. */
typedef struct pithp_lane_trees {
    const pithp_reducer *reducer;
    char *trees; /* room for one more than the binary logarithm of the lanes */
    int64_t width, bytes;
    int waiting, lanes;
} pithp_lane_trees;
/* Where the accumulators of the next lane go. */
static inline char *pithp_next_lane(const pithp_lane_trees *t) {
    return t->trees + t->waiting * t->bytes;
}
/* They are there. */
void pithp_add_lane(pithp_lane_trees *t);
/* All join in `trees`. */
void pithp_join_lanes(pithp_lane_trees *t);

/* Where the inner extent is 1 and there is one block: indices are rows. */
extern const pithp_host_loop pithp_reduce_row_loops[PITHP_ISA_COUNT];

/* Copy the operand with its kept axes first and its reduced ones last. */
pith_status pithp_reduce_emit_moving(const pithp_call *call,
                                     void *to,
                                     const pithp_sink *sink,
                                     const pithp_memory *memory);

/* Makes elements of an operand when they are needed: begin..begin + n, which lie where
 * the function says, perhaps in `buffer`, which has room for them. Or compiled code makes
 * and reduces them: it gets m_fold_args, whose addresses are the state. */
typedef struct pithp_source {
    const void *(
        *make)(pithp_isa isa, void *state, int64_t begin, int64_t n, void *buffer);
    pithp_host_loop fold; /* NULL: make */
    const void *state;    /* of which each thread has a copy */
    size_t bytes;
} pithp_source;

enum { PITHP_SOURCE_BYTES = PITHP_LAUNCH_ARGS - 256 };

/* The arguments of the loops of such a reduction; what of the state is used is passed. */
typedef struct pithp_made_args {
    pithp_reduce_args reduce;
    const void *(*make)(pithp_isa isa, void *state, int64_t begin, int64_t n, void *to);
    pithp_host_loop fold;
    size_t state_bytes;
    _Alignas(16) char state[PITHP_SOURCE_BYTES];
} pithp_made_args;
_Static_assert(sizeof(pithp_made_args) <= PITHP_LAUNCH_ARGS, "one launch takes them");
/* Where the inner extent is 1 and there is one block: indices are rows. */
extern const pithp_host_loop pithp_reduce_made_loops[PITHP_ISA_COUNT];

/* Whether a reduction can have such an operand. */
bool pithp_reduce_takes_source(const pithp_call *call);

/* Emits the launch that reduces blocks of such an operand. */
pith_status pithp_reduce_emit_made(const char *name,
                                   const pithp_reduce_args *a,
                                   const pithp_source *source,
                                   const pithp_sink *sink,
                                   int64_t grain);

/* As pithp_lower_reduce, with an operand that is made block by block. */
pith_status pithp_lower_reduce_of(const pithp_call *call,
                                  const pith_spec *result,
                                  const pithp_memory *memory,
                                  const pithp_sink *sink,
                                  const pithp_source *source);

/* ---- On CUDA ---- */

/* What the first kernel of a reduction leaves of the length. One of a program's own may
 * make the elements that it reduces. */
typedef enum pithp_reducing {
    PITHP_REDUCING_NOTHING, /* it is no reduction */
    PITHP_REDUCING_LINES,   /* results: lines are short */
    PITHP_REDUCING_TEAM,    /* results: a block of lanes is one of threads */
    PITHP_REDUCING_LANES,
    PITHP_REDUCING_SEARCH, /* places of the best */
} pithp_reducing;
pithp_reducing pithp_reducing_of(const pithp_call *call);

/* Whether such a kernel can make the elements: there are some, and those side by side
 * are reduced side by side. */
bool pithp_reducing_makes(const pithp_call *call);
/* The axes that come last in the order of such elements: the reduced ones, where they are
 * no neighbours; else none. */
uint32_t pithp_reducing_last(const pithp_call *call);

#endif
