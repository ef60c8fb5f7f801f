/* Gather and scatter on the host: arguments of the loops, and resolution of index arrays
 * to offsets. */
#ifndef PITH_PROGRAM_HOST_GATHER_H
#define PITH_PROGRAM_HOST_GATHER_H

#include "program/host/vector/gather.h"
#include "program/op/rules.h"

enum {
    PITHP_INDEX_BLOCK = 512,    /* indices resolved at once */
    PITHP_SCATTERED_ROW = 1024, /* elements of a row that one thread scatters */
};

typedef struct pithp_index_args {
    const char *x; /* take: [outer, indexed..., inner] */
    char *to;      /* take: [outer, count, inner]; scatter: [outer, indexed..., inner] */
    const char *updates; /* scatter: [outer, count, inner] */
    pith_report *report; /* mode error */
    uint64_t fill;
    int32_t size; /* bytes of an element */
    pith_dtype dtype, index_dtype;
    int32_t index_size, arrays;
    pithp_primitive combine; /* scatter: the elementwise row; WHERE sets */
    bool sorted;             /* scatter: positions with equal index are consecutive */
    int64_t apart;           /* scatter: positions of an entry, or of several, which */
    int64_t range;           /* are split in ranges of positions */
    int64_t outer, count, inner;
    int64_t pitch; /* elements between outer indices of the indexed array */
    int64_t chunk; /* scatter: elements of inner per index of the launch */
    const char *index[PITHP_MAX_RANK];
    pithp_indexing rule[PITHP_MAX_RANK];
    uint64_t note[PITHP_MAX_RANK]; /* pithp_index_note of each */
} pithp_index_args;

/* Number of index operands of a gather or scatter call. */
int pithp_index_arrays(const pithp_call *call);

/* Whether offsets of a scatter ascend by promise, except for indices that count from the
 * end. With one array those come first, in a batch in each entry; with several they may
 * be anywhere. */
bool pithp_index_ascends(const pithp_call *call);

/* The shape of gathered elements or of updates: that of x with the indexed dimensions
 * replaced. */
pith_status pithp_infer_gathered(const pithp_call *call,
                                 pithp_refusal *refusal,
                                 int *rank,
                                 int64_t shape[2 * PITHP_MAX_RANK]);

/* `count` is the number of positions in an index array. */
pithp_index_args pithp_index_args_of(const pithp_call *call,
                                     const pithp_memory *memory,
                                     int arrays,
                                     int64_t count);

/* Note of index array k for a report, beside the index: its axis, its repeats, and
 * whether it is u64. Stored in `what` of the report. */
uint64_t pithp_index_note(const pithp_index_params *p, pith_dtype dtype, int k);

/* Whether there is a single index array of i32 or i64, read in place: an index that is
 * neither negative nor out of range is the offset. */
bool pithp_index_is_direct(const pithp_index_args *a);

/* Offsets, in rows of `inner`, of the indices at..at + n; n is at most a block. Those out
 * of range are -1; mode error reports them. Returns whether any is out of range. */
bool pithp_index_resolve(pithp_isa isa,
                         const pithp_index_args *a,
                         int64_t at,
                         int64_t n,
                         int64_t *where);

/* Copy functions of single elements. */
typedef struct pithp_index_points {
    /* elements whose indices are offsets, up to the first exception */
    pithp_direct direct;
    /* n elements by offsets; with `some`, offsets may be -1 */
    void (*by_offset)(pithp_isa isa,
                      const pithp_index_args *a,
                      char *to,
                      const char *from,
                      const int64_t *where,
                      int64_t n,
                      bool some);
    int32_t to_step, from_step; /* bytes between elements; 0 on the indexed side */
} pithp_index_points;

/* Move the single elements at..at + n of direct indices, in order. */
void pithp_index_move(pithp_isa isa,
                      const pithp_index_args *a,
                      const pithp_index_points *points,
                      char *to,
                      const char *from,
                      int64_t at,
                      int64_t n);

/* In mode error: a launch that records the first failing index, after the work. */
pith_status
pithp_index_explain(const char *name, const pithp_index_args *a, const pithp_sink *sink);

/* A scatter in parts: updates `at` to at + n, which `of.updates` begins with, of an array
 * with one outer index. The parts of a scatter run one after the other, in order. */
typedef struct pithp_scatter_part {
    pithp_index_args of;
    int64_t at, n;
} pithp_scatter_part;
/* The arguments of the call, without its updates and parts. */
pithp_index_args pithp_scatter_args_of(const pithp_call *call,
                                       const pithp_memory *memory);
enum { PITHP_SCATTER_PARTS = PITHP_LAUNCH_ARGS / sizeof(pithp_scatter_part) };
/* One part of each of several scatters, at most PITHP_SCATTER_PARTS, of arrays of their
 * own: threads may share them. */
pith_status pithp_launch_scatter_parts(const char *name,
                                       const pithp_scatter_part *parts,
                                       int count,
                                       const pithp_sink *sink);

/* take: arguments are pithp_index_args, indices are rows of the result. */
extern const pithp_host_loop pithp_take_loops[PITHP_ISA_COUNT];

#endif
