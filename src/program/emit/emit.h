/* Text of programs: C for the host's compiler and, behind another prologue, for NVRTC. */
#ifndef PITH_PROGRAM_EMIT_EMIT_H
#define PITH_PROGRAM_EMIT_EMIT_H

#include "program/emit/debug.h"
#include "program/host/reduce.h"
#include "program/op/spelling.h"
#include "program/plan/plan.h"

/* ---- Fused steps ---- */

/* Define the functions that rows of the table and casts are in texts, each once:
 * "add_f64(x, y)" over elements as they are stored. */
typedef struct pithp_emitted_rows {
    uint16_t rows[PITHP_ELEMENTWISE_COUNT], casts[PITH_DTYPE_COUNT]; /* bits: dtypes */
    uint64_t reducers; /* bits: those of inline_call.c */
    uint8_t dots;      /* bits: products of vectors of f32 and f64 */
    bool maths;        /* one of them calls a function of math.def */
    bool as_macros;    /* what debuggers are told of them is the line of the call */
} pithp_emitted_rows;
void pithp_emit_row_functions(pithp_text *t,
                              pithp_emitted_rows *emitted,
                              const pithp_fused_step *step);

/* A function for a fused step, which must follow its rows:
 *     void NAME(const void *args, i64 begin, i64 end) { ... }
 * on elements begin to end of the index space. A direct step gets the addresses of its
 * externals, the others what a kernel gets. */
void pithp_emit_fused(pithp_text *t, const char *name, const pithp_fused_step *step);

/* How compiled code makes what a source makes (or the first steps of a band) and reduces
 * it in one loop, where only one reduction reads it: as rows or as columns of fold.h. */
typedef struct pithp_folding {
    int reducer; /* of reducers.h; -1: it does not */
    bool rows;
} pithp_folding;
pithp_folding pithp_folding_of(const pithp_plan *plan, const pithp_step *step);
/* The function, which gets m_fold_args. */
void pithp_emit_folding(pithp_text *t,
                        const char *name,
                        const pithp_fused_step *step,
                        pithp_folding fold);

/* What a kernel reduces: an external of its step, whose elements it makes. */
typedef struct pithp_kernel_reduction {
    uint16_t external;
    uint8_t kind; /* pithp_reducing */
    uint8_t dtype, to_dtype;
    uint8_t operation; /* as in m_reduce_args */
} pithp_kernel_reduction;

/* The work of a kernel for a device: a fused step's, or the first of a reduction's. */
typedef struct pithp_kernel_work {
    const pithp_fused_step *step;
    pithp_kernel_reduction reduction; /* kind PITHP_REDUCING_NOTHING: there is none */
} pithp_kernel_work;

/* The arguments of a kernel, which are those below, and its body, to follow a name:
 *     M_KERNEL(NAME, NAME_args) { ... }
 * Its threads are those of pithp_kernel_launch, or of the reduction; those arguments then
 * follow a m_reduce_args. */
void pithp_emit_kernel(pithp_text *t, const char *name, const pithp_kernel_work *work);

/* Arguments of a kernel: this, then an address an external, then PITH_MAX_RANK strides of
 * each that does not lie as the index space does, then what is taken. */
typedef struct pithp_kernel_args {
    int64_t count;
    int32_t rank, unused; /* without padding: equal arguments are equal bytes */
    int64_t shape[PITH_MAX_RANK];
} pithp_kernel_args;
enum { /* of any step */
       PITHP_KERNEL_BYTES =
           sizeof(pithp_kernel_args) +
           PITHP_FUSED_EXTERNALS * (1 + PITH_MAX_RANK) * sizeof(int64_t) +
           PITHP_TAKES * sizeof(pithp_taken_from)
};

/* Arguments of a device's kernel end with this of each piece of an external: it is
 * m_piece of walk.h. They lie in memory, so that no launch limits them. */
typedef struct pithp_kernel_piece {
    const void *at; /* where the first element of the box is */
    int64_t begin[PITH_MAX_RANK], end[PITH_MAX_RANK]; /* the box */
    int64_t stride[PITH_MAX_RANK];
} pithp_kernel_piece;

/* Fill in arguments of a step on `count` elements; returns their bytes. memory:
 * PITHP_KERNEL_BYTES, aligned to 8. */
size_t pithp_kernel_arguments(const pithp_fused_args *args, int64_t count, void *memory);
/* Bytes of the arguments of its launch, at most. */
size_t pithp_kernel_launch_bytes(const pithp_fused_step *step);
/* Fill in arguments and the number of threads of its launch; memory: as many bytes,
 * aligned to 8. */
void pithp_kernel_launch(pithp_launch *launch,
                         const pithp_fused_args *args,
                         int64_t count,
                         void *memory);

/* Whether two steps have the same text; equal hashes where they do. */
bool pithp_fused_alike(const pithp_fused_step *a, const pithp_fused_step *b);
uint64_t pithp_fused_hash(const pithp_fused_step *a);
/* The same of their kernels, which choose pieces. */
bool pithp_kernel_alike(const pithp_kernel_work *a, const pithp_kernel_work *b);

/* ---- Plans ---- */

enum { PITHP_STEP_NAME_BYTES = PITHP_PREFIX_BYTES + 24 };
/* "pith_step_3" */
void pithp_step_name(char name[PITHP_STEP_NAME_BYTES],
                     const char *prefix,
                     int64_t function);

/* The whole text for the host of a plan's fused steps. Steps that do the same work share
 * a function: functions[k] is the number in the name of step k's, or -1 (a call). maths:
 * it has to be linked with pithp_math_link. False: there is none, or no memory. */
bool pithp_emit_host(pithp_text *t, pithp_plan *plan, int32_t *functions, bool *maths);
/* The same of several plans in one text; functions[p] are those of plan p. */
bool pithp_emit_host_all(pithp_text *t,
                         pithp_plan *const *plans,
                         int64_t count,
                         int32_t *const *functions,
                         bool *maths);

#endif
