/* C emitter: a plan as C text, for the compiler of the host, or for NVRTC with another
 * prologue. */
#ifndef PITH_PROGRAM_EMIT_EMIT_H
#define PITH_PROGRAM_EMIT_EMIT_H

#include "program/emit/debug.h"
#include "program/host/reduce.h"
#include "program/op/spelling.h"
#include "program/plan/fuse_input.h"
#include "program/plan/plan.h"

/* ---- Fused steps ---- */

/* Define the functions of the operations and casts of a step, each once in a text:
 * "op_add_f64(x, y)" on elements as they are stored. */
typedef struct pithp_emitted_ops {
    uint16_t ops[PITHP_ELEMENTWISE_COUNT], casts[PITH_DTYPE_COUNT]; /* bits: dtypes */
    uint64_t reducers; /* bits: indices into pithp_text_reducers */
    uint8_t dots;      /* bits: vector products of f32 and f64 */
    bool maths;        /* a function calls one of math.def */
    bool as_macros;    /* macros, so that a debugger shows the line of the call */
} pithp_emitted_ops;
void pithp_emit_op_functions(pithp_string *t,
                             pithp_emitted_ops *emitted,
                             const pithp_fused_step *step);

/* Emit the function of a fused step, after the functions of its operations:
 *     void NAME(const void *args, i64 begin, i64 end) { ... }
 * It computes elements begin to end of the index space. args of a direct step: the
 * addresses of its externals; of other steps: pithp_kernel_args. */
void pithp_emit_fused(pithp_string *t, const char *name, const pithp_fused_step *step);

/* Map-reduce fusion in compiled code: one loop computes the elements of a fused step (a
 * producer, or the first steps of a band) and reduces them. It requires that one
 * reduction is their only reader; the step may store other values. The loop is
 * M_MAP_REDUCE_ROWS or M_MAP_REDUCE_COLUMNS of source/map_reduce.h. */
typedef struct pithp_map_reduce {
    int reducer;  /* index into pithp_text_reducers; -1: not fused */
    int external; /* the step's external that is reduced, and not stored */
    bool rows;
    /* Siblings: reductions of all elements of several values of the step, whose loop
     * leaves their lanes to the caller. Values without other readers are not stored. */
    int sibling_count;
    struct {
        int reducer, external;
        bool stored;
    } siblings[PITHP_SIBLINGS];
} pithp_map_reduce;
/* Whether the step has such a loop. */
static inline bool pithp_map_reduces(const pithp_map_reduce *m) {
    return m->reducer >= 0 || m->sibling_count;
}
bool pithp_map_reduce_equal(const pithp_map_reduce *a, const pithp_map_reduce *b);
pithp_map_reduce pithp_map_reduce_of(const pithp_plan *plan, const pithp_step *step);
/* Emit its function; args are m_map_reduce_args, or of siblings m_map_siblings_args. */
void pithp_emit_map_reduce(pithp_string *t,
                           const char *name,
                           const pithp_fused_step *step,
                           const pithp_map_reduce *map_reduce);

/* The reduction in a kernel: its operand is an external of the step that the kernel
 * computes. */
typedef struct pithp_kernel_reduction {
    uint16_t external;
    uint8_t kind; /* pithp_reduce_kernel */
    uint8_t dtype, to_dtype;
    uint8_t operation; /* as in m_reduce_args */
} pithp_kernel_reduction;

/* The work of a device kernel: a fused step, or the first stage of a reduction of it. */
typedef struct pithp_kernel_work {
    const pithp_fused_step *step;
    pithp_kernel_reduction reduction; /* kind PITHP_REDUCE_KERNEL_NOTHING: none */
} pithp_kernel_work;

/* Emit the argument struct of a kernel and its body:
 *     M_KERNEL(NAME, NAME_args) { ... }
 * The number of threads is that of pithp_kernel_launch, or of the reduction. In the
 * latter case the arguments below follow an m_reduce_args. */
void pithp_emit_kernel(pithp_string *t, const char *name, const pithp_kernel_work *work);

/* Arguments of a kernel: this struct; the address of each external; PITHP_MAX_RANK
 * strides of each strided external (pithp_kernel_strided_index); the
 * pithp_fused_gather_from of each gather. */
typedef struct pithp_kernel_args {
    int64_t count;
    int32_t rank, unused; /* no padding: equal arguments have equal bytes */
    int64_t shape[PITHP_MAX_RANK];
} pithp_kernel_args;
enum { /* upper bound for all steps */
       PITHP_KERNEL_BYTES =
           sizeof(pithp_kernel_args) +
           PITHP_FUSED_EXTERNALS * (1 + PITHP_MAX_RANK) * sizeof(int64_t) +
           PITHP_GATHERS * sizeof(pithp_fused_gather_from)
};

/* A piece of an external (m_piece of source/strided_index.h). The arguments of a device
 * kernel end with the pieces. They lie in memory, so the launch limit does not apply. */
typedef struct pithp_kernel_piece {
    const void *at; /* address of the first element of the box */
    int64_t begin[PITHP_MAX_RANK], end[PITHP_MAX_RANK]; /* the box */
    int64_t stride[PITHP_MAX_RANK];
} pithp_kernel_piece;

/* Fill in the arguments of a step on `count` elements; returns their bytes. memory:
 * PITHP_KERNEL_BYTES, aligned to 8. */
size_t pithp_kernel_arguments(const pithp_fused_args *args, int64_t count, void *memory);
/* Upper bound of the bytes of a launch's arguments. */
size_t pithp_kernel_launch_bytes(const pithp_fused_step *step);
/* Fill in the arguments and the number of threads of a launch. memory:
 * pithp_kernel_launch_bytes, aligned to 8. */
void pithp_kernel_launch(pithp_launch *launch,
                         const pithp_fused_args *args,
                         int64_t count,
                         void *memory);

/* Whether two steps have the same text; then their hashes are equal. */
bool pithp_fused_alike(const pithp_fused_step *a, const pithp_fused_step *b);
uint64_t pithp_fused_hash(const pithp_fused_step *a);
/* Whether two kernels have the same text; it also depends on the boxes of pieces. */
bool pithp_kernel_alike(const pithp_kernel_work *a, const pithp_kernel_work *b);
uint64_t pithp_kernel_hash(const pithp_kernel_work *work);

/* ---- Plans ---- */

enum { PITHP_STEP_NAME_BYTES = PITHP_PREFIX_BYTES + 24 };
/* Name of a function: "pith_step_3". */
void pithp_step_name(char name[PITHP_STEP_NAME_BYTES],
                     const char *prefix,
                     int64_t function);

/* Emit the translation unit of a plan's fused steps and compiled loops for the host.
 * Equal steps share a function. False: no step has a function, or memory is short.
 *
 * @param functions Of each step the number in its function's name, or -1.
 * @param maths Set if the code must be linked with pithp_math_link. */
bool pithp_emit_host(pithp_string *t, pithp_plan *plan, int32_t *functions, bool *maths);
/* Emit one translation unit of several plans; functions[p] belongs to plan p. */
bool pithp_emit_host_all(pithp_string *t,
                         pithp_plan *const *plans,
                         int64_t count,
                         int32_t *const *functions,
                         bool *maths);

#endif
