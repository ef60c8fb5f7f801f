/* Plans: the execution plan of a program, for the host or for a device call by call.
 *
 * A plan is a list of steps. A fused step runs elementwise instructions of one shape, and
 * data movement that only they read, block by block through block functions; values
 * between them stay in the first cache. Every other instruction is its own step, which
 * pithp_lower runs, or which runs the plans of its programs. Values that outlive their
 * step have memory: an output, or a part of the workspace, which values with disjoint
 * lifetimes share. */
#ifndef PITH_PROGRAM_PLAN_PLAN_H
#define PITH_PROGRAM_PLAN_PLAN_H

#include "program/host/pack.h"
#include "program/ir/program.h"
#include "program/op/index_map.h"
#include "program/op/prepared.h"
#include "program/op/thresholds.h"

/* ---- Fused steps ---- */

enum {
    PITHP_GATHERS = 2, /* gathers of a step, at most */
    /* Instructions of a step, at most. Values between two steps go through memory, which
     * costs little once in 256 instructions. */
    PITHP_FUSED_OPS = 256,
    PITHP_FUSED_EXTERNALS = 4 * PITHP_FUSED_OPS, /* no instruction adds more */
    /* Staged operands, at most: operands that are copied to a buffer in the first cache
     * while a step is interpreted. More of them make blocks short. */
    PITHP_FUSED_STAGED = 40,
};

/* One instruction of a fused step: a block function over slots. */
typedef struct pithp_fused_op {
    uint16_t operation; /* pithp_primitive; for a cast the source dtype */
    uint8_t cast;
    uint8_t dtype;
    uint16_t to, from[3]; /* slots; unused ones repeat the first operand */
} pithp_fused_op;

typedef enum pithp_access {
    PITHP_ACCESS_FLAT,    /* contiguous in the index space */
    PITHP_ACCESS_ONCE,    /* the same for every block: staged once */
    PITHP_ACCESS_STRIDED, /* staged block by block */
    PITHP_ACCESS_ROWS,    /* contiguous rows */
    PITHP_ACCESS_PIECES,  /* pieces with their own strides */
} pithp_access;

/* A box of an index space, ends exclusive. */
typedef struct pithp_box {
    int64_t begin[PITHP_MAX_RANK], end[PITHP_MAX_RANK];
} pithp_box;

typedef struct pithp_external {
    uint8_t size, access;
    uint16_t first_piece, pieces; /* range of its pieces */
    const int64_t *stride;        /* in elements, over the merged index space */
} pithp_external;

/* A gather by compiled code: an external, otherwise contiguous, whose elements are
 * gathered at the indices of an array. */
typedef struct pithp_fused_gather {
    uint16_t external;
    uint8_t index_dtype, mode, no_negative, unused;
} pithp_fused_gather;
typedef struct pithp_fused_gather_from {
    const char *
        index; /* address of the index array; the external's address is that of index 0 */
    int64_t extent; /* not 0 */
    uint64_t fill;
} pithp_fused_gather_from;

/* A fused step; immutable. Its arrays follow it in one block of memory. Pieces of
 * externals come after the externals; no op reads them directly. */
typedef struct pithp_fused_step {
    int32_t op_count, external_count, piece_count;
    int32_t temporary_count; /* they are the first slots; external e is slot
                                temporary_count + e */
    int32_t block;           /* elements at a time */
    int32_t rank;            /* of the index space, with mergeable axes merged */
    bool by_rows;            /* blocks end at row ends */
    uint8_t gather_count;
    const pithp_external *externals;
    const pithp_fused_op *ops;
    int64_t shape[PITHP_MAX_RANK];
    const pithp_box *boxes; /* of the pieces */
    const char *const
        *sites; /* of each op: call site or NULL, for texts; NULL: unknown */
    pithp_fused_gather gathers[PITHP_GATHERS];
    pithp_fused_gather_from gathers_from[PITHP_GATHERS]; /* without their addresses */
} pithp_fused_step;

/* Bytes of a step with its arrays, without the sites. */
size_t pithp_fused_bytes(const pithp_fused_step *step);
/* Write those bytes to `to`, aligned to 8, relocated to the address `at`. */
void pithp_fused_copy(const pithp_fused_step *step, void *to, const void *at);

static inline const pithp_external *pithp_piece_of(const pithp_fused_step *step,
                                                   int piece) {
    return &step->externals[step->external_count + piece];
}

/* Arguments of the loops of a fused step. */
typedef struct pithp_fused_args {
    const pithp_fused_step *step;
    pithp_host_loop code;                    /* compiled code of all ops, or NULL */
    const char *gather_index[PITHP_GATHERS]; /* index arrays of compiled gathers */
    char *data[]; /* addresses of index 0 of externals and pieces */
} pithp_fused_args;

static inline size_t pithp_fused_args_bytes(const pithp_fused_step *step) {
    return sizeof(pithp_fused_args) +
           (size_t)(step->external_count + step->piece_count) * sizeof(char *);
}

/* Which externals a step writes; written: an element for each external. */
void pithp_fused_written(const pithp_fused_step *step, bool *written);
/* Whether a step has no staged operands. */
bool pithp_is_direct(const pithp_fused_step *step);
/* Whether an external is one element, broadcast. */
bool pithp_is_uniform(const pithp_fused_step *step, const pithp_external *e);

/* Run a fused step. args are those of the step; args->step is the address that launches
 * use. */
pith_status pithp_fused_run(pith_scope *s,
                            const pithp_fused_step *step,
                            const pithp_fused_args *args,
                            int64_t count);
/* Elements begin..end, on the calling thread. */
extern const pithp_host_loop pithp_fused_loops[PITHP_ISA_COUNT];

/* ---- Storage of values ---- */

typedef enum pithp_store {
    PITHP_IN_INPUT,
    PITHP_IN_CONSTANT,  /* memory of a constant's buffer */
    PITHP_IN_LITERALS,  /* of the plan, at an offset */
    PITHP_IN_WORKSPACE, /* at an offset */
    PITHP_IN_OUTPUT,
    PITHP_FORWARDED, /* forwarded: a run finds its address, see pithp_input_aliases */
    PITHP_NOWHERE,   /* no memory: read where it is made, or through views; at: 1 if it is
                        in a buffer of the launch that computes it, else 0 */
} pithp_store;

typedef struct pithp_place {
    pithp_store store;
    int64_t at;     /* number, or offset in bytes */
    int64_t offset; /* bytes from there on, of a part of an array */
    bool is_part;   /* of the memory of a concatenation */
} pithp_place;

/* Forwarding: a branch may forward one of its operands, and a loop its initial carry. The
 * result then has the address of the operand and nothing is copied. A run records the
 * address; otherwise the result is written to its own place.
 *
 * Inputs that an output of a program may forward. */
enum { PITHP_INPUT_ALIASES = 4 }; /* more are copied */
typedef struct pithp_input_aliases {
    int32_t count;
    int32_t inputs[PITHP_INPUT_ALIASES];
} pithp_input_aliases;

/* ---- Steps ---- */

typedef enum pithp_plan_step_kind {
    PITHP_STEP_FUSED,   /* elementwise instructions, or a copy through views */
    PITHP_STEP_CALL,    /* a structural operation, a checked one, or a message */
    PITHP_STEP_KERNEL,  /* a kernel of a user */
    PITHP_STEP_CONTROL, /* a branch or loop */
} pithp_plan_step_kind;

/* Operand of a fused step: the storage of an external. */
typedef struct pithp_step_operand {
    pithp_value value;
    int64_t offset; /* elements from the value's start to index 0 */
} pithp_step_operand;

/* Dispatch is by kind; fields of other kinds must not be read. */
typedef struct pithp_step {
    pithp_plan_step_kind kind;
    const pithp_instruction *call; /* FUSED: NULL */
    const pith_spec *spec;         /* of the first result; FUSED: the shape */
    int64_t temporary;             /* offset in the workspace */
    size_t temporary_bytes;
    /* Input fusion: the producer of a reduction's operand, a fused step that runs inside
     * the reduction: block by block, or in a command buffer element by element; or -1. */
    int32_t producer;
    /* The value of the producer; in a band: the value that the reduction reads, or the
     * updates of the scatter. */
    pithp_value produced;
    /* Of a reduction with a producer: the number of steps after it that reduce other
     * values of the producer, and run with it. */
    int32_t siblings;
    /* The only reader of the value of a producer or band step: a reduction that compiled
     * code may run in the same loop; or -1. */
    int32_t fused_reduction;
    bool runs_in_consumer; /* runs inside the step that reads it */
    uint32_t last_axes;    /* of a producer: axes that come last in its index space */
    /* Of a producer: a value without memory, read as it is computed. */
    pithp_value unmaterialised;
    /* Of the first step of a band: number of its steps, which run with it; its rows, and
     * the rows of a pass. */
    int32_t band;
    int32_t band_at_once;
    int64_t band_rows;
    int64_t band_block; /* rows whose updates are scattered at once; 0: no scatters */
    /* Concurrency: reductions up to that step, and their producers, may run at the same
     * time as this step; or 0. */
    int32_t concurrent_until;
    /* FUSED: gathers that run when the step reads their elements; else 0. */
    int32_t gather_count;
    union {
        struct { /* FUSED */
            /* The step and its operands, in one block of memory. A step without members
               copies the value `unmaterialised` through views, as its external 0. */
            pithp_fused_step *fused;
            const pithp_fused_step
                *launched; /* the step that launches refer to: the same, or for later
                              launches a copy after the literals */
            const pithp_step_operand *operands;
            int32_t members,
                reads;      /* instructions; upper bound of their memory accesses */
            int32_t staged; /* upper bound of staged operands */
            pithp_value first, last; /* members, linked by pithp_planning.next */
            int32_t gathers[PITHP_GATHERS];
        };
        struct {                      /* CALL */
            const pith_spec **specs;  /* of the operands */
            pithp_prepared *prepared; /* its launches on the host; NULL: a run lowers
                                         it */
            bool joins; /* a concatenation whose operands are parts of its memory */
            size_t block_bytes; /* of a scatter in a band: memory for a block of its
                                   updates in `temporary`, which have no other; else 0 */
            size_t host_at;     /* of a collective: where memory of the host begins in
                                   `temporary`, if the host reaches it */
        };
        struct pithp_kernel_call *kernel; /* KERNEL: bound */
        struct {                          /* CONTROL */
            struct pithp_plan **plans;    /* of the call's programs */
            int64_t
                first_program; /* index of the first one among the programs of the plan */
            size_t programs_bytes; /* bytes of their workspace in `temporary` */
            int32_t ranges; /* of iterations, each with such a workspace, for threads; 1:
                               iterations run one after the other */
        };
    };
} pithp_step;

/* Bytes of a fused step with its sites and operands. */
size_t pithp_fused_memory_bytes(const pithp_fused_step *step);

enum { PITHP_PLAN_NAME_BYTES = 64 };
typedef struct pithp_plan {
    atomic_int refs;
    char name[PITHP_PLAN_NAME_BYTES]; /* name of the function, truncated, or "" */
    pithp_program *program;           /* a reference */
    pith_runtime *runtime;
    pithp_step *steps;
    pithp_place *places; /* storage of each value */
    int64_t step_count, step_room;
    pithp_buffer *literals; /* or NULL */
    size_t workspace_bytes;
    size_t host_bytes; /* memory of the host for collectives, if it does not reach that of
                          the device; with those of nested plans */
    uint64_t structures; /* a digest of the arguments' and the result's, or 0: equal on
                            all ranks, too, if the program has collectives */
    atomic_uint_fast64_t digest; /* of a program with collectives; 0: not known yet */
    size_t pointer_count; /* addresses that a run records, without those of control flow,
                             which the executable counts */
    bool runs_fused;      /* elementwise instructions are fused */
    bool scheduled;       /* for a command buffer: calls are CUDA launches */
    bool on_host;         /* the host reaches the memory of the device */
    bool forwards;        /* results are forwarded: a run finds their addresses */
    int64_t forwarded_count;
    pithp_place *forwarded_places; /* of forwarded values */
    pithp_input_aliases *aliases;  /* of each output; NULL: no output forwards an input */
    int32_t *updates; /* of each output: the input that it updates, whose buffer it may
                         overwrite although the plan reads it; or -1. NULL: none */
    bool has_plans;   /* a step has plans of its own */
    int64_t program_count; /* number of programs of all steps */
    int64_t *reused; /* donation: of each output the input whose buffer a run may reuse,
                        or -1; NULL: none */
    struct pithp_profile *profile; /* see profile/profile.h; NULL: runs are not timed */
    int64_t first_entry;           /* index of its first step in the profile */
} pithp_plan;

/* Purpose of a plan. A scheduled plan runs only in its command buffer. */
typedef enum pithp_plan_purpose {
    PITHP_PLAN_CALLS, /* one step for each instruction */
    PITHP_PLAN_FUSED,
    PITHP_PLAN_SCHEDULED,
} pithp_plan_purpose;
/* Make a plan of a program and retain the program. NULL sets the error. */
pithp_plan *
pithp_plan_make_for(pith_scope *s, pithp_program *p, pithp_plan_purpose purpose);
void pithp_plan_retain(pithp_plan *plan);
/* Release a reference; the last one frees the plan. NULL does nothing. */
void pithp_plan_free(pithp_plan *plan);
/* Set the name of the function, before the plan runs. */
void pithp_plan_set_name(pithp_plan *plan, const char *name);

/* Estimated number of launches of a run: a scan counts once an iteration, a branch as its
 * larger side, a while as one iteration. */
int64_t pithp_plan_launches(const pithp_plan *plan);

/* Estimated bytes of a plan with its program, without its workspace. Includes the memory
 * that a device keeps for its replay, once that exists. */
size_t pithp_plan_bytes(const pithp_plan *plan);
size_t pithp_plan_own_bytes(const pithp_plan *plan); /* without its program */

/* Elements computed by elementwise instructions in a run, counted as launches are. */
int64_t pithp_program_operations(const pithp_program *p);
/* Number of instructions of a primitive (PITHP_PRIMITIVE_COUNT: all), with those of
 * nested programs, each counted once. */
int64_t pithp_program_instructions(const pithp_program *p, pithp_primitive only);

/* Whether a value is only in a buffer of the launch that computes and reads it. */
static inline bool pithp_is_buffered(const pithp_plan *plan, pithp_value v) {
    return plan->places[v].store == PITHP_NOWHERE && plan->places[v].at;
}

/* Storage of output k. PITHP_IN_INPUT and PITHP_IN_CONSTANT: existing memory.
 * PITHP_IN_OUTPUT: the output whose buffer it is written to (k itself, or an earlier one
 * with the same elements). */
pithp_place pithp_plan_output(const pithp_plan *plan, int64_t k);

/* Donation: choose for each donated input an output of its spec that can use its buffer:
 * outputs[k] for inputs[k], or -1. Called once, before the plan runs. Sets the error if
 * memory is short.
 *
 * @param replayed The plan of the program's replay, which must allow it too; NULL: none.
 */
void pithp_plan_reuse(pith_scope *s,
                      pithp_plan *plan,
                      const pithp_plan *replayed,
                      const int64_t *inputs,
                      int64_t count,
                      int64_t *outputs);

/* Reuse the buffers that another plan of the program reuses, if possible. False: not
 * possible, or memory is short.
 *
 * @param reused pithp_plan.reused of the other plan; NULL: none. */
bool pithp_plan_reuse_as(pith_scope *s, pithp_plan *plan, const int64_t *reused);

/* Before work on the scope's stream runs the plan: wait for the writers of the memory
 * that it reads, other than its inputs. */
pith_status pithp_plan_await(pith_scope *s, const pithp_plan *plan);

/* Whether a plan is one fused step whose values are contiguous or uniform: such a plan
 * serves every element count. */
bool pithp_plan_is_flat(const pithp_plan *plan);
/* ---- Shared by the files of this folder ---- */

/* A view: a value's elements as a strided selection of another value, which has memory.
 */
typedef struct pithp_view {
    pithp_value base;
    int64_t offset;
    int64_t stride[PITHP_MAX_RANK]; /* over the shape of the value, in elements */
} pithp_view;

/* A piece of a concatenation or padding. */
typedef struct pithp_view_piece {
    pithp_view view; /* over the whole shape; valid in the box */
    pithp_box box;
} pithp_view_piece;
enum { PITHP_PIECES = 12 }; /* of one value; an instruction reads up to three */
typedef struct pithp_view_pieces {
    int32_t count;
    pithp_view_piece list[PITHP_PIECES];
} pithp_view_pieces;
typedef struct pithp_bases {
    int32_t count;
    pithp_value list[PITHP_PIECES];
} pithp_bases;

/* A step that reads a value: entries of a value are linked, later steps first. */
typedef struct pithp_use {
    int32_t step;
    int32_t before; /* the entry of an earlier step; or -1 */
} pithp_use;

typedef struct pithp_planning {
    pith_scope *s;
    const pithp_program *p;
    pithp_plan *plan;
    /* Arrays over values, each with the pass that fills it in. */
    /* View propagation: */
    bool *is_virtual; /* only read through a view, or computed where it is read */
    bool *is_pieced;  /* its view has pieces */
    int32_t *depth;   /* length of the chain of views */
    /* Fusion: */
    pithp_value *root; /* the value whose memory it shares: a reshape's operand */
    bool *is_part;     /* not virtual, and only loops read it, as rows */
    int32_t *step;     /* step that makes it; -1: an input or constant */
    pithp_value *next; /* member of its fused step, or -1 */
    int32_t *cluster;  /* disjoint-set forest of values that fused instructions read and
                          make together, and  that gain from one step */
    int32_t *cluster_ops, *cluster_reads; /* of a root: members and reads of a step of the
                                             whole cluster */
    int32_t *cluster_step;     /* of a root: the last step with a member; or -1 */
    pithp_value *waiting_next; /* next value that waits for its step, or -1 */
    int32_t *staged_in;        /* the last step that counts it as staged, or -1 */
    bool apart;                /* clusters do not share steps */
    /* Uses and liveness: */
    bool *in_memory;
    bool *buffered;    /* only in a buffer of the launch that reads it */
    bool *is_output;   /* an output has its memory */
    int32_t *last_use; /* step */
    int32_t *reader_count, *first_reader; /* operands of steps other than the fused step
                                             that makes it, and outputs; the first of
                                             those steps, or INT32_MAX */
    int32_t *latest_use;                  /* its last entry in `uses`; or -1 */
    pithp_use *uses;
    size_t uses_bytes;
    /* Lowering of fused steps: */
    int32_t *last_read; /* member of its fused step */
    int32_t *slot;      /* of a member of a fused step */
    /* Forwarding: */
    int32_t *forwarded; /* number of a forwarded value, or -1 */
    /* Updates in place: */
    int32_t *updated_input; /* or -1 */
} pithp_planning;

static inline bool pithp_can_fuse(pithp_primitive primitive) {
    return pithp_op_has(primitive, PITHP_TRAIT_POINTWISE);
}
static inline bool pithp_same_shape(const pith_spec *a, const pith_spec *b) {
    if (a == b)
        return true;
    bool same = a->rank == b->rank;
    for (int d = 0; d < a->rank && same; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

enum { PITHP_FLAG_BYTES = PITHP_ALIGNMENT }; /* of the condition of a while */
static inline size_t pithp_aligned(size_t bytes) {
    return (bytes + PITHP_ALIGNMENT - 1) & ~(size_t)(PITHP_ALIGNMENT - 1);
}

/* Bytes of the addresses of a step of the host in a command buffer: of operands, results
 * and workspace. A collective with more than PITHP_FEW_ADDRESSES has them at the start of
 * its host memory, which is taken before the ranks begin. */
enum { PITHP_FEW_ADDRESSES = 2 * PITHP_FEW_OPERANDS };
static inline size_t pithp_task_host_bytes(const pithp_instruction *i) {
    return ((size_t)i->operand_count + (size_t)i->result_count + 1) * sizeof(void *);
}
static inline size_t pithp_task_kept_bytes(const pithp_instruction *i) {
    const size_t bytes = pithp_task_host_bytes(i);
    return pithp_is_collective(i->primitive) &&
                   bytes > PITHP_FEW_ADDRESSES * sizeof(void *)
               ? pithp_aligned(bytes)
               : 0;
}
/* Offset of the second buffer of a carry in the step's workspace; for the number of
 * carries, the end of the workspace. A carry updated in place has no second buffer. */
size_t pithp_spare_offset(const pithp_step *step, int carry);

/* Control flow: plan the programs, and their workspace. */
bool pithp_plan_control(pithp_planning *g, pithp_step *step);
void pithp_plan_control_free(pith_runtime *rt, pithp_step *step);

/* Kernel calls. */
bool pithp_plan_kernel(pithp_planning *g, pithp_step *step);
void pithp_plan_kernel_free(pith_runtime *rt, pithp_step *step);
/* Input fusion: find reductions of a fused step's value, and fused steps that read a
 * gather. Runs after liveness. */
bool pithp_plan_fuse_inputs(pithp_planning *g);
/* Whether an instruction is a reduction in a command buffer whose operand may be computed
 * in it. */
bool pithp_plan_makes_reduced(const pithp_planning *g, const pithp_instruction *i);
/* Axes that the producer of its operand has last (pithp_reduce_kernel_last_axes). */
uint32_t pithp_plan_last_axes(const pithp_planning *g, const pithp_instruction *i);
/* The index of a value among the externals of a step. */
int pithp_plan_external(const pithp_step *step, pithp_value v);
/* Row-wise fusion (bands): neighbouring steps that work row by row, also reductions of
 * rows, all run on a few rows at a time while these are in cache. */
bool pithp_plan_fuse_rows(pithp_planning *g);

/* Fusion clustering: assign instructions to steps. */
bool pithp_plan_fuse_steps(pithp_planning *g);
/* Sinking: compute large values in the fused step that alone reads them. */
bool pithp_plan_sink(pithp_planning *g);
/* Step order: delay reductions of all elements past the row-wise steps after them. */
bool pithp_plan_delay(pithp_planning *g);
/* Def-use lists and liveness: the steps that use each value, and which values have
 * memory. */
bool pithp_plan_uses(pithp_planning *g);
/* The instructions of a step: the one after i, the first if i is NULL; NULL ends them. */
static inline const pithp_instruction *pithp_step_next(const pithp_planning *g,
                                                       const pithp_step *step,
                                                       const pithp_instruction *i) {
    if (step->kind != PITHP_STEP_FUSED)
        return i ? NULL : step->call;
    const pithp_value v = i ? g->next[i->result] : step->first;
    return v < 0 ? NULL : pithp_maker(g->p, v);
}
/* View propagation: choose the virtual values. */
bool pithp_plan_views(pithp_planning *g);
/* Sub-buffer aliasing: find values that only loops read, as rows. */
void pithp_plan_parts(pithp_planning *g);
/* Whether the result of an instruction is a part of its operand's memory, and the offset
 * of this part. */
bool pithp_plan_is_part(const pithp_planning *g, const pithp_instruction *i);
int64_t pithp_part_offset(const pithp_program *p, const pithp_instruction *i);
/* The view of v, which has no pieces, over its own shape. */
pithp_view pithp_plan_view(const pithp_planning *g, pithp_value v);
/* The pieces of v (one if it is not pieced), which cover its shape. False: too many for a
 * virtual value. */
bool pithp_plan_pieces(const pithp_planning *g, pithp_value v, pithp_view_pieces *pieces);
/* The values whose memory a read of v reads. */
pithp_bases pithp_plan_bases(const pithp_planning *g, pithp_value v);
/* Extend the lifetimes of an instruction's operands to a step. */
void pithp_prolong_operands(pithp_planning *g, const pithp_instruction *i, int32_t until);
/* Number of externals of a fused step for v. */
int pithp_plan_reads(const pithp_planning *g, pithp_value v);
/* Broadcast a view of a value with a spec to another shape, from the right. */
pithp_view
pithp_view_broadcast(const pithp_view *own, const pith_spec *spec, const pith_spec *to);
/* Let compiled code of a fused step do its gathers, where possible. */
void pithp_plan_gathers(const pithp_planning *g, pithp_step *step);
/* Lower a fused step to block functions. */
bool pithp_plan_fuse(pithp_planning *g, pithp_step *step);
/* Forwarding: find forwarded results; inputs that they may alias live as long. */
bool pithp_plan_forward(pithp_planning *g);
/* Find in-place updates. */
bool pithp_plan_in_place(pithp_planning *g);
/* The result of a step that updates an operand in place; -1: none. */
int pithp_updated(const pithp_step *step, int operand);
/* Whether the body of a loop updates a carry in place. */
bool pithp_carry_in_place(const pithp_step *step, int carry);
/* Concatenations in place: find those whose operands loops may write to their result. */
bool pithp_plan_join(pithp_planning *g);
/* Whether a value is a part of the memory of a concatenation. */
bool pithp_is_joined(const pithp_planning *g, pithp_value v);
/* Place the parts of a concatenation, step n, which has a place. */
void pithp_plan_place_joined(const pithp_planning *g, int32_t n);
/* Concurrency: find reductions that a command buffer may run at the same time. */
bool pithp_plan_concurrent(pithp_planning *g);
/* Buffer assignment: assign storage to every value with memory. */
bool pithp_plan_buffers(pithp_planning *g);

#endif
