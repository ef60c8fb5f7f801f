/* View of a reduction's operand, arguments of reduction loops, and fused producers. */
#ifndef PITH_PROGRAM_HOST_REDUCE_H
#define PITH_PROGRAM_HOST_REDUCE_H

#include "program/host/vector/reduce.h"
#include "program/op/rules.h"

typedef struct pithp_reduce_view {
    int64_t outer, length, inner;
    int64_t blocks; /* of the length; at least 1 */
    bool moved;     /* the operand is transposed first, with the reduced axes last */
} pithp_reduce_view;

pithp_reduce_view pithp_reduce_view_of(const pithp_call *call);

/* Arguments of reduction loops. */
typedef struct pithp_reduce_args {
    const char *from;
    char *to;
    char *partial; /* accumulators [outer, blocks, inner], or of groups of lanes; NULL
                      with one block */
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

/* Whether the call is argmin or argmax. */
static inline bool pithp_reduce_is_arg(const pithp_call *call) {
    return pithp_op_has(call->primitive, PITHP_TRAIT_ARG_REDUCTION);
}

/* The reduction with a primitive as combiner; PITHP_REDUCTIONS if there is none. */
pithp_reduction pithp_reduction_of(pithp_primitive primitive);

/* The length of a block; the last one may be shorter. */
static inline int64_t pithp_reduce_block_length(const pithp_reduce_args *a,
                                                int64_t block) {
    const int64_t left = a->length - block * PITHP_REDUCE_BLOCK;
    return left < PITHP_REDUCE_BLOCK ? left : PITHP_REDUCE_BLOCK;
}

/* Width of a tile of columns; all of the `tiles` have it, except the last. */
static inline int64_t pithp_reduce_tile_width(const pithp_reduce_args *a) {
    return ((a->inner + a->tiles - 1) / a->tiles + 15) / 16 * 16;
}

extern const pithp_reduce_table *const pithp_reduce_tables[PITHP_ISA_COUNT];

/* Lanes [lanes, width] that are computed one after the other. A subtree of them waits
 * until there is another of equal size. */
typedef struct pithp_lane_trees {
    const pithp_reducer *reducer;
    char *trees; /* up to log2(lanes) + 1 entries */
    int64_t width, bytes;
    int waiting, lanes;
} pithp_lane_trees;
/* Address of the accumulators of the next lane. */
static inline char *pithp_next_lane(const pithp_lane_trees *t) {
    return t->trees + t->waiting * t->bytes;
}
/* Add the lane written at pithp_next_lane. */
void pithp_add_lane(pithp_lane_trees *t);
/* Combine all into `trees`. */
void pithp_join_lanes(pithp_lane_trees *t);

/* For one block. With inner extent 1 indices are rows, else tiles of columns within outer
 * indices. */
extern const pithp_host_loop pithp_reduce_row_loops[PITHP_ISA_COUNT];
extern const pithp_host_loop pithp_reduce_column_loops[PITHP_ISA_COUNT];

/* Copy the operand with its kept axes first and its reduced ones last. */
pith_status pithp_reduce_launch_moving(const pithp_call *call,
                                       void *to,
                                       const pithp_sink *sink,
                                       const pithp_memory *memory);

/* Producer fused into a reduction. `make` gives the elements begin..begin + n when they
 * are needed, and returns their address, which may be `buffer` (it has room for them).
 * Alternatively compiled code makes and reduces them (`map_reduce`): its arguments are
 * m_map_reduce_args, and `state` holds their addresses. */
typedef struct pithp_producer {
    const void *(
        *make)(pithp_isa isa, void *state, int64_t begin, int64_t n, void *buffer);
    pithp_host_loop map_reduce; /* NULL: use make */
    const void *state;          /* copied for each thread */
    size_t bytes;
} pithp_producer;

enum { PITHP_PRODUCER_BYTES = PITHP_LAUNCH_ARGS - 256 };

/* Arguments of the loops of such a reduction; only state_bytes of the state are passed.
 */
typedef struct pithp_fused_reduce_args {
    pithp_reduce_args reduce;
    const void *(*make)(pithp_isa isa, void *state, int64_t begin, int64_t n, void *to);
    pithp_host_loop map_reduce;
    size_t state_bytes;
    _Alignas(16) char state[PITHP_PRODUCER_BYTES];
} pithp_fused_reduce_args;
_Static_assert(sizeof(pithp_fused_reduce_args) <= PITHP_LAUNCH_ARGS,
               "one launch takes them");
/* For inner extent 1 and one block: indices are rows. */
extern const pithp_host_loop pithp_reduce_fused_loops[PITHP_ISA_COUNT];

/* Whether a reduction can have a fused producer. */
bool pithp_reduce_can_fuse(const pithp_call *call);

/* Emit the launch that reduces blocks with a fused producer. */
pith_status pithp_reduce_launch_fused(const char *name,
                                      const pithp_reduce_args *a,
                                      const pithp_producer *producer,
                                      const pithp_sink *sink,
                                      int64_t grain);

/* Emit the launch that combines the partial results of blocks. */
pith_status pithp_reduce_launch_tree(const char *name,
                                     const pithp_reduce_args *a,
                                     const pithp_sink *sink);

/* As pithp_lower_reduce, with an operand that is produced block by block. */
pith_status pithp_lower_reduce_of(const pithp_call *call,
                                  const pith_spec *result,
                                  const pithp_memory *memory,
                                  const pithp_sink *sink,
                                  const pithp_producer *producer);

/* ---- On CUDA ---- */

/* Result of a reduction's first kernel. A program's own kernel may produce the elements
 * that it reduces. */
typedef enum pithp_reduce_kernel {
    PITHP_REDUCE_KERNEL_NOTHING, /* not a reduction */
    PITHP_REDUCE_KERNEL_LINES,   /* results: lines are short */
    PITHP_REDUCE_KERNEL_TEAM,    /* results: a team of threads reduces a block */
    PITHP_REDUCE_KERNEL_LANES,
    PITHP_REDUCE_KERNEL_SEARCH, /* indices of the best candidates */
} pithp_reduce_kernel;
pithp_reduce_kernel pithp_reduce_kernel_of(const pithp_call *call);

/* Whether such a kernel can produce the elements: there are some, and adjacent elements
 * are reduced by adjacent threads. */
bool pithp_reduce_kernel_can_fuse(const pithp_call *call);
/* The axes that come last in the order of the produced elements: the reduced ones if they
 * are not adjacent; else none. */
uint32_t pithp_reduce_kernel_last_axes(const pithp_call *call);

#endif
