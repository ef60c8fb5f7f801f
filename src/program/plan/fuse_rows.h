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

/* A band while it is planned. */
typedef struct pithp_band {
    pithp_planning *g;
    int64_t rows, length; /* length: of its longest row in elements */
    int32_t first, end;   /* steps */
    int32_t scatters;     /* the last of them that scatter values of the others */
    size_t bytes;         /* of arguments, at most */
} pithp_band;

/* Scatters in a band (fuse_scatter.c). Let a band, which is complete otherwise, scatter
 * values that it makes: adds the scatters that follow it. */
void pithp_band_add_scatters(pithp_band *b);
/* The first step after the band that fills no array, and a move of the fills between to
 * before the band. */
int32_t pithp_band_after_fills(const pithp_band *b);
void pithp_band_pass_fills(pithp_band *b, int32_t end);
/* Whether a scatter of the band reads v as its updates. */
bool pithp_band_scatters(const pithp_band *b, pithp_value v);
/* Give updates that only the band reads memory for a block of rows. */
void pithp_band_choose_blocks(const pithp_band *b);
/* Whether an operand depends on a value made in the band before step k. */
bool pithp_band_makes(const pithp_band *b, pithp_value operand, int32_t k);
/* Whether a value with memory is used only in the band. */
static inline bool pithp_band_is_inner(const pithp_band *b, pithp_value v) {
    return b->g->in_memory[v] && b->g->last_use[v] < b->end && !b->g->is_output[v];
}
/* Bytes of a value in each row. */
static inline int64_t pithp_band_row_bytes(const pithp_band *b, pithp_value v) {
    return (int64_t)b->g->p->values[v].spec->bytes / b->rows;
}
/* Whether a step scatters, in order, and reports no index. */
bool pithp_plan_scatters(const pithp_planning *g, const pithp_step *step);

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
    int64_t first;   /* the row that is index 0 of the launch */
    struct {
        char *memory; /* of row `first`, shared by all threads; NULL: a buffer of each */
        int64_t offset, row_bytes;
    } buffers[PITHP_BAND_BUFFERS];
    size_t bytes; /* of the members */
    int32_t member_count;
    _Alignas(PITHP_BAND_ALIGN) char members[PITHP_LAUNCH_ARGS - 512];
} pithp_band_args;
_Static_assert(sizeof(pithp_band_args) <= PITHP_LAUNCH_ARGS, "one launch takes them");

/* Whether a step of a band is a scatter. */
static inline bool pithp_is_band_scatter(const pithp_step *step) {
    return step->kind == PITHP_STEP_CALL &&
           pithp_op_has(step->call->primitive, PITHP_TRAIT_SCATTER);
}

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
