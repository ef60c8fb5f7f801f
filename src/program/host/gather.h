/* What taking and scattering share: the arguments of their loops, and how index arrays
 * become offsets. */
#ifndef PITH_PROGRAM_HOST_GATHER_H
#define PITH_PROGRAM_HOST_GATHER_H

#include "program/host/vector/gather.h"
#include "program/op/rules.h"

enum { PITHP_INDEX_BLOCK = 512 }; /* indices that become offsets at once */

typedef struct pithp_index_args {
    const char *x; /* take: [outer, indexed..., inner] */
    char *to;      /* take: [outer, count, inner]; scatter: [outer, indexed..., inner] */
    const char *updates; /* scatter: [outer, count, inner] */
    pith_report *report; /* mode error */
    uint64_t fill;
    int32_t size; /* bytes of an element */
    pith_dtype dtype, index_dtype;
    int32_t index_size, arrays;
    pithp_primitive combine; /* scatter: the elementwise row; WHERE: set */
    bool sorted; /* scatter: positions that point to one place are neighbours */
    int64_t outer, count, inner;
    int64_t pitch; /* elements between outer indices of what is indexed */
    int64_t chunk; /* scatter: elements of inner that an index of the launch does */
    const char *index[PITH_MAX_RANK];
    pithp_indexing rule[PITH_MAX_RANK];
    uint64_t note[PITH_MAX_RANK]; /* pithp_index_note of each */
} pithp_index_args;

/* How many operands of a taking or scattering call are index arrays. */
int pithp_index_arrays(const pithp_call *call);

/* Whether places ascend by the promise of a scatter, but for indices that count from the
 * end: one array begins with those, several may have them anywhere. */
bool pithp_index_ascends(const pithp_call *call);

/* The shape of what is taken or written: that of x with the indexed dimensions replaced.
 */
pith_status pithp_infer_taken(const pithp_call *call,
                              pithp_refusal *refusal,
                              int *rank,
                              int64_t shape[2 * PITH_MAX_RANK]);

/* `count` is that of the positions in an index array. */
pithp_index_args pithp_index_args_of(const pithp_call *call,
                                     const pithp_memory *memory,
                                     int arrays,
                                     int64_t count);

/* What the report of an index out of range in array k says beside the index: its axis,
 * its repeats, and whether it is a u64. For `what` of the report. */
uint64_t pithp_index_note(const pithp_index_params *p, pith_dtype dtype, int k);

/* Whether there is one index array that is read as it lies, i32 or i64: what is neither
 * negative nor out of range is an offset. */
bool pithp_index_is_direct(const pithp_index_args *a);

/* Offsets, in rows of `inner`, of the indices at..at + n; n is at most a block. Those out
 * of range are -1, and mode error reports them. Whether any is. */
bool pithp_index_resolve(pithp_isa isa,
                         const pithp_index_args *a,
                         int64_t at,
                         int64_t n,
                         int64_t *where);

/* How single elements are moved. */
typedef struct pithp_index_points {
    /* those whose indices are offsets as they lie, up to the first that is not */
    pithp_direct direct;
    /* n of them by offsets, -1 where there is none, which `some` are */
    void (*by_offset)(pithp_isa isa,
                      const pithp_index_args *a,
                      char *to,
                      const char *from,
                      const int64_t *where,
                      int64_t n,
                      bool some);
    int32_t to_step, from_step; /* bytes from one to the next; 0 where indices say */
} pithp_index_points;

/* Moves the single elements at..at + n of direct indices, in order. */
void pithp_index_move(pithp_isa isa,
                      const pithp_index_args *a,
                      const pithp_index_points *points,
                      char *to,
                      const char *from,
                      int64_t at,
                      int64_t n);

/* After the work: what the first failing index was, where mode error asks. */
pith_status
pithp_index_explain(const char *name, const pithp_index_args *a, const pithp_sink *sink);

/* Takes: arguments are pithp_index_args, indices are rows of the result. */
extern const pithp_host_loop pithp_take_loops[PITHP_ISA_COUNT];

#endif
