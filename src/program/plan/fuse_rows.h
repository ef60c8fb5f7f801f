/* Row-wise fusion: the arguments of a band's launch, which the planner measures and the
 * host's runner fills in. */
#ifndef PITH_PROGRAM_PLAN_FUSE_ROWS_H
#define PITH_PROGRAM_PLAN_FUSE_ROWS_H

#include "program/host/reduce.h"
#include "program/op/thresholds.h"
#include "program/plan/plan.h"

enum {
    PITHP_BAND_BUFFER_BYTES = 3 * PITHP_REDUCE_BLOCK * sizeof(uint64_t) /* of all */
};

/* Whether step k reduces many elements, and their view; whether it reduces several lines
 * of one block; and whether those are rows, with which a band may begin. */
bool pithp_plan_reduces_many(const pithp_planning *g, int32_t k, pithp_reduce_view *v);
bool pithp_plan_reduces_lines(const pithp_planning *g, int32_t k, pithp_reduce_view *v);
bool pithp_plan_reduces_rows(const pithp_planning *g, int32_t k, pithp_reduce_view *v);

/* A buffered operand or result. `external` is an external of a fused step; 0 for the
 * operand and 1 for the result of a reduction; 0 for the result of a gather. Map-reduce
 * code numbers the externals, then the result. */
typedef struct pithp_band_buffered {
    uint16_t external, buffer;
} pithp_band_buffered;

/* A member of a band in the arguments of a launch: one step, or, for
 * PITHP_BAND_MAP_REDUCES, a step and the reduction that alone reads its value, as
 * compiled map-reduce code. The list of buffered values and the arguments of its loops
 * follow. */
typedef enum pithp_band_doing {
    PITHP_BAND_FUSES,
    PITHP_BAND_REDUCES,         /* rows */
    PITHP_BAND_REDUCES_COLUMNS, /* of rows */
    PITHP_BAND_MAP_REDUCES,
    PITHP_BAND_TAKES
} pithp_band_doing;
typedef struct pithp_band_member {
    size_t bytes; /* with all that follows */
    size_t args;  /* offset of the arguments */
    int64_t each; /* loop indices per row */
    pithp_band_doing doing;
    int32_t buffered_count;
    pithp_band_buffered buffered[];
} pithp_band_member;
enum { PITHP_BAND_ALIGN = 16 };

typedef struct pithp_band_args {
    int64_t at_once; /* rows at a time */
    struct {
        int64_t offset, row_bytes;
    } buffers[PITHP_BAND_BUFFERS];
    size_t bytes; /* of the members */
    int32_t member_count;
    _Alignas(PITHP_BAND_ALIGN) char members[PITHP_LAUNCH_ARGS - 384];
} pithp_band_args;
_Static_assert(sizeof(pithp_band_args) <= PITHP_LAUNCH_ARGS, "one launch takes them");

/* Whether a step of a band is a gather. */
static inline bool pithp_is_band_take(const pithp_step *step) {
    return step->kind == PITHP_STEP_CALL && step->call->primitive == PITHP_OP_TAKE;
}

static inline size_t pithp_band_aligned(size_t bytes) {
    return (bytes + PITHP_BAND_ALIGN - 1) / PITHP_BAND_ALIGN * PITHP_BAND_ALIGN;
}

/* Offset of the arguments of a member with `memories` operands and results. */
static inline size_t pithp_band_args_at(int memories) {
    return pithp_band_aligned(sizeof(pithp_band_member) +
                              (size_t)memories * sizeof(pithp_band_buffered));
}

/* The memory of a buffer. */
static inline int64_t pithp_band_buffer_bytes(int64_t at_once, int64_t row_bytes) {
    return (at_once * row_bytes + 63) / 64 * 64;
}

#endif
