/* Plans: a program laid out for the host, or for a device call by call.
 *
 * A plan is a list of steps. A fused step runs elementwise instructions of one shape, and
 * the moves of elements that only they read, block by block through the block functions:
 * what lies between them stays in the first cache. Every other instruction is a step of
 * its own, which pithp_lower runs, or which runs the plans of its programs. Values that
 * outlive their step have memory: an output's, or a part of one workspace, which values
 * that do not live at the same time share. */
#ifndef PITH_PROGRAM_PLAN_PLAN_H
#define PITH_PROGRAM_PLAN_PLAN_H

#include "program/host/pack.h"
#include "program/ir/program.h"
#include "program/op/thresholds.h"

/* ---- Fused steps ---- */

enum {
    PITHP_TAKES = 2, /* by a step, at most */
    /* Instructions of a step, at most. Values between two steps go through memory, which
     * costs little once in 256 instructions. */
    PITHP_FUSED_OPS = 256,
    PITHP_FUSED_EXTERNALS = 4 * PITHP_FUSED_OPS, /* no instruction adds more */
    /* Operands that are not read where they lie: each has a buffer in the first cache
     * while a step is interpreted, and more of them make blocks short. */
    PITHP_FUSED_STAGED = 40,
};

/* One instruction: a block function over slots. */
typedef struct pithp_fused_op {
    uint16_t row; /* of the function: the primitive; of a cast the dtype it is from */
    uint8_t cast;
    uint8_t column;
    uint16_t to, from[3]; /* slots; unused ones name that of the first operand */
} pithp_fused_op;

typedef enum pithp_access {
    PITHP_ACCESS_FLAT,    /* lies as the index space does */
    PITHP_ACCESS_ONCE,    /* the same for every block: staged once */
    PITHP_ACCESS_STRIDED, /* staged block by block */
    PITHP_ACCESS_ROWS,    /* rows lie as the index space's do */
    PITHP_ACCESS_PIECES,  /* each piece lies in another way */
} pithp_access;

/* A part of an index space, its ends not included. */
typedef struct pithp_box {
    int64_t begin[PITH_MAX_RANK], end[PITH_MAX_RANK];
} pithp_box;

typedef struct pithp_external {
    uint8_t size, access;
    uint16_t first_piece, pieces;  /* of what is made of pieces: numbers of those */
    int64_t stride[PITH_MAX_RANK]; /* in elements, over the merged index space */
} pithp_external;

/* How compiled code takes the elements of an external, which lies flat otherwise, from
 * where an index array says. */
typedef struct pithp_taken {
    uint16_t external;
    uint8_t index_dtype, mode, no_negative, unused;
} pithp_taken;
typedef struct pithp_taken_from {
    const char *index; /* where the array is: the external's address is where index 0
                          leads */
    int64_t extent;    /* not 0 */
    uint64_t fill;
} pithp_taken_from;

/* A fused step: constant. Its arrays follow it in one block of memory. Pieces of
 * externals are externals behind the others, which no op names. */
typedef struct pithp_fused_step {
    int32_t op_count, external_count, piece_count;
    int32_t temporary_count; /* the first slots; external e is slot temporary_count + e */
    int32_t block;           /* elements at a time */
    int32_t rank;            /* of the index space, neighbours merged */
    int64_t shape[PITH_MAX_RANK];
    bool by_rows; /* a block ends where a row does */
    uint8_t taken_count;
    pithp_taken taken[PITHP_TAKES];
    pithp_taken_from taken_from[PITHP_TAKES]; /* without their addresses */
    const pithp_external *externals;
    const pithp_box *boxes; /* of the pieces */
    const pithp_fused_op *ops;
    const char *const *sites; /* of each op, for texts: the call that made it, or NULL;
                                 NULL: unknown */
} pithp_fused_step;

/* Bytes of a step with its arrays, the sites not among them. */
size_t pithp_fused_bytes(const pithp_fused_step *step);
/* Write those bytes to `to`, which is aligned to 8, as they are read at `at`. */
void pithp_fused_copy(const pithp_fused_step *step, void *to, const void *at);

static inline const pithp_external *pithp_piece_of(const pithp_fused_step *step,
                                                   int piece) {
    return &step->externals[step->external_count + piece];
}

/* The arguments of its loops. */
typedef struct pithp_fused_args {
    const pithp_fused_step *step;
    pithp_host_loop code;                 /* compiled: does all ops; or NULL */
    const char *taken_index[PITHP_TAKES]; /* of what compiled code takes */
    char *data[];                         /* of externals and pieces: where index 0 is */
} pithp_fused_args;

static inline size_t pithp_fused_args_bytes(const pithp_fused_step *step) {
    return sizeof(pithp_fused_args) +
           (size_t)(step->external_count + step->piece_count) * sizeof(char *);
}

/* Whether a step reads and writes all memory where it lies. */
bool pithp_is_direct(const pithp_fused_step *step);
/* An external that is one element for all. */
bool pithp_is_uniform(const pithp_fused_step *step, const pithp_external *e);

/* args: of that step, which they name where launches find it. */
pith_status pithp_fused_run(pith_scope *s,
                            const pithp_fused_step *step,
                            const pithp_fused_args *args,
                            int64_t count);
/* Elements begin..end in this thread. */
extern const pithp_host_loop pithp_fused_loops[PITHP_ISA_COUNT];

/* ---- Where values are ---- */

typedef enum pithp_store {
    PITHP_IN_INPUT,
    PITHP_IN_CONSTANT,  /* a buffer's */
    PITHP_IN_LITERALS,  /* of the plan, at an offset */
    PITHP_IN_WORKSPACE, /* at an offset */
    PITHP_IN_OUTPUT,
    PITHP_IN_PASSED, /* where a run found it: see pithp_origins */
    PITHP_NOWHERE,   /* read where it is made, or through others */
} pithp_store;

typedef struct pithp_place {
    pithp_store store;
    int64_t at; /* its number, or the offset in bytes */
} pithp_place;

/* A branch may hand on one of its operands, and a loop a carry that it began with: then
 * nothing is copied, and the result is where the operand is. Such a result is passed: a
 * run notes where it is, and its home is the memory that it is written to otherwise.
 *
 * What an output of a program may be so: some of its inputs. */
enum { PITHP_ORIGINS = 4 }; /* further ones are copied */
typedef struct pithp_origins {
    int32_t count;
    int32_t inputs[PITHP_ORIGINS];
} pithp_origins;

/* ---- Steps ---- */

typedef enum pithp_plan_step_kind {
    PITHP_STEP_FUSED,   /* elementwise instructions, or a reader of views */
    PITHP_STEP_CALL,    /* a row that pithp_lower runs, a checked one, or a message */
    PITHP_STEP_KERNEL,  /* a kernel of a user */
    PITHP_STEP_CONTROL, /* a branch or loop */
} pithp_plan_step_kind;

/* Where an external of a fused step lies. */
typedef struct pithp_step_operand {
    pithp_value value;
    int64_t offset; /* elements from the value's first to index 0 */
} pithp_step_operand;

/* Dispatch is by kind; a field of another kind must not be read. */
typedef struct pithp_step {
    pithp_plan_step_kind kind;
    const pithp_instruction *call; /* FUSED: NULL */
    const pith_spec *spec;         /* of the first result; FUSED: has the shape */
    int64_t temporary;             /* offset in the workspace */
    size_t temporary_bytes;
    int32_t source; /* a reduction's producer: the fused step that makes its operand,
                       block by block or, in a schedule, each element when it is reduced,
                       and does not run on its own; or -1 */
    pithp_value
        source_value;     /* what that step makes for it; in a band: what it reduces */
    int32_t folded;       /* the reduction that alone reads what a source, or a step in a
                             band, makes: compiled code may do both in one loop; or -1 */
    bool is_source;       /* made when another step needs it */
    uint32_t last_axes;   /* of a source: those that come last in its index space */
    pithp_value unplaced; /* of a source, or in a band: it has no memory, but is read as
                             it is made */
    int32_t band; /* of a band's first step: how many steps it has; the others are sources
                     of sorts, which do not run on their own */
    int32_t beside; /* reductions, and their sources, up to that step may run at the same
                       time as this one; or 0 */
    int32_t take_count; /* FUSED: gathers whose elements are taken when it reads them, and
                           which do not run on their own; else 0 */
    union {
        struct { /* FUSED */
            /* The step, and where its externals and pieces lie, in one block of memory. A
               step without members reads the value `unplaced` through views, as its
               external 0. */
            pithp_fused_step *fused;
            const pithp_fused_step *launched; /* what launches refer to: the same, or,
                                                 where they run later, a copy after the
                                                 literals */
            const pithp_step_operand *operands;
            int32_t members, reads; /* instructions; memory they touch, at most */
            int32_t staged; /* operands that are not read where they lie, at most */
            pithp_value first, last; /* members; linked by pithp_planning.next */
            int32_t takes[PITHP_TAKES];
        };
        const pith_spec **specs;          /* CALL: of the operands */
        struct pithp_kernel_call *kernel; /* KERNEL: bound */
        struct {                          /* CONTROL */
            struct pithp_plan **plans;    /* of the call's programs */
            int64_t first_program;        /* number of the first, of those of the plan */
            size_t programs_bytes;        /* of the temporary that they work in */
        };
    };
} pithp_step;

/* Bytes of the memory of a fused step: with its sites and operands. */
size_t pithp_fused_memory_bytes(const pithp_fused_step *step);

enum { PITHP_PLAN_NAME_BYTES = 64 };
typedef struct pithp_plan {
    char name[PITHP_PLAN_NAME_BYTES]; /* of the function, or ""; cut where it is longer */
    pithp_program *program;           /* one reference */
    pith_runtime *runtime;
    pithp_step *steps;
    pithp_place *places; /* of each value */
    int64_t step_count, step_room;
    pithp_buffer *literals; /* NULL: there are none */
    size_t workspace_bytes;
    size_t pointer_count; /* addresses that a run writes down; those of control flow are
                             the executable's to count */
    bool runs_fused;      /* elementwise instructions are fused */
    bool scheduled;       /* for a schedule: calls are CUDA's launches */
    bool passes;          /* results are passed: who runs it finds addresses on the way */
    int64_t passed_count;
    pithp_place *homes;     /* of what is passed */
    pithp_origins *origins; /* of each output; NULL: none is an input */
    int32_t *updates; /* of each output: the input that it updates, in whose memory it may
                         be written though the plan reads it; or -1. NULL: none */
    bool has_plans;   /* some step runs plans of its own */
    int64_t program_count; /* of those of all steps */
    int64_t *reused; /* of each output: the input in whose memory a run may make it, or
                        -1; NULL: none */
    struct pithp_profile *profile; /* of profile/profile.h; NULL: runs are not timed */
    int64_t first_entry;           /* of its steps in that */
} pithp_plan;

/* What a plan is for. A scheduled plan is run by its schedule alone. */
typedef enum pithp_plan_purpose {
    PITHP_PLAN_CALLS, /* every instruction a step */
    PITHP_PLAN_FUSED,
    PITHP_PLAN_SCHEDULED,
} pithp_plan_purpose;
/* A plan of a program, which is retained. NULL: the scope's error is set. */
pithp_plan *
pithp_plan_make_for(pith_scope *s, pithp_program *p, pithp_plan_purpose purpose);
void pithp_plan_free(pithp_plan *plan); /* NULL does nothing */
/* Name the function that it computes, before the plan runs. */
void pithp_plan_set_name(pithp_plan *plan, const char *name);

/* How many launches a run takes, about: a scan's as often as it is long, those of the
 * larger branch, and of a while one iteration. */
int64_t pithp_plan_launches(const pithp_plan *plan);

/* Bytes of memory that it takes with its program, about; its workspace is not counted.
 * What a device keeps to replay it is, from when that is made. */
size_t pithp_plan_bytes(const pithp_plan *plan);
size_t pithp_plan_own_bytes(const pithp_plan *plan); /* without its program */

/* Elements that elementwise instructions make in a run, counted alike. */
int64_t pithp_program_operations(const pithp_program *p);
/* Instructions of a primitive (PITHP_PRIMITIVE_COUNT: all), those of programs inside it
 * included, each once. */
int64_t pithp_program_instructions(const pithp_program *p, pithp_primitive only);

/* Where output k is: PITHP_IN_INPUT and PITHP_IN_CONSTANT name memory that is there
 * already, PITHP_IN_OUTPUT the output in whose memory it is written (k itself, or one
 * before it with the same elements). */
pithp_place pithp_plan_output(const pithp_plan *plan, int64_t k);

/* Choose, for inputs that may be overwritten, outputs of their spec that can be made in
 * their memory: outputs[k] for inputs[k], or -1. Called once, before the plan runs; where
 * memory is short the error is set. */
void pithp_plan_reuse(pith_scope *s,
                      pithp_plan *plan,
                      const int64_t *inputs,
                      int64_t count,
                      int64_t *outputs);

/* What another plan of the program reuses, if this one can: false, or memory is short.
 *
 * @param reused That of the other, of each output; NULL: nothing. */
bool pithp_plan_reuse_as(pith_scope *s, pithp_plan *plan, const int64_t *reused);

/* Work on the scope's stream is about to run the plan: wait for who wrote what it reads
 * beside its inputs. */
pith_status pithp_plan_await(pith_scope *s, const pithp_plan *plan);

/* Whether it is one fused step, whose values lie as the elements do or are one for all:
 * such a plan serves every count of elements. */
bool pithp_plan_is_flat(const pithp_plan *plan);
/* ---- What the files of this folder share ---- */

/* How a value's elements are found from those of another that has memory. */
typedef struct pithp_view {
    pithp_value base;
    int64_t offset;
    int64_t stride[PITH_MAX_RANK]; /* over the value's own shape, in elements */
} pithp_view;

/* What is joined of others is a view a piece. */
typedef struct pithp_view_piece {
    pithp_view view; /* over the whole shape, of which it is meant in the box alone */
    pithp_box box;
} pithp_view_piece;
enum { PITHP_PIECES = 12 }; /* an instruction may read three such values */
typedef struct pithp_view_pieces {
    int32_t count;
    pithp_view_piece list[PITHP_PIECES];
} pithp_view_pieces;
typedef struct pithp_bases {
    int32_t count;
    pithp_value list[PITHP_PIECES];
} pithp_bases;

typedef struct pithp_planning {
    pith_scope *s;
    const pithp_program *p;
    pithp_plan *plan;
    /* Arrays over values, each with the pass that fills it in. */
    /* View propagation: */
    bool *is_virtual; /* only read through a view, or made where it is read */
    bool *is_pieced;  /* that view is of pieces */
    int32_t *depth;   /* of views that lead to memory */
    /* Fusion: */
    pithp_value *root; /* whose memory it shares: a reshape's operand */
    int32_t *step;     /* that makes it; -1: it is there from the beginning */
    pithp_value *next; /* member of its fused step, or -1 */
    int32_t *cluster;  /* values that fused instructions read and make together, and so
                          gain  from being in one step: a forest */
    int32_t *cluster_ops, *cluster_reads; /* of its root: members and reads of a step of
                                             the whole cluster */
    int32_t *cluster_step;     /* of its root: the last that has a member; or -1 */
    pithp_value *waiting_next; /* value that waits for its step, or -1 */
    int32_t *staged_in;        /* the last step that counted it as staged; or -1 */
    bool apart;                /* clusters do not share steps */
    /* Liveness: */
    bool *in_memory;
    int32_t *last_use; /* step */
    /* Input fusion: */
    int32_t *reader_count, *first_reader; /* steps other than its own */
    /* Lowering of fused steps: */
    int32_t *last_read; /* member of its fused step */
    int32_t *slot;      /* of a member of a fused step */
    /* Forwarding: */
    int32_t *passed; /* its number; -1: it is not passed */
    /* Updates in place: */
    bool *is_output;
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
/* Offset of the second buffer of a carry in the step's workspace; for the number of
 * carries, the end of the workspace. A carry updated in place has no second buffer. */
size_t pithp_spare_offset(const pithp_step *step, int carry);

/* Control flow: plans of the programs, and what they need of the workspace. */
bool pithp_plan_control(pithp_planning *g, pithp_step *step);
void pithp_plan_control_free(pith_runtime *rt, pithp_step *step);

/* Kernel calls. */
bool pithp_plan_kernel(pithp_planning *g, pithp_step *step);
void pithp_plan_kernel_free(pith_runtime *rt, pithp_step *step);
/* Reductions of what a fused step makes, and fused steps that read what is taken: which,
 * once it is known who reads what. */
bool pithp_plan_fuse_inputs(pithp_planning *g);
/* Whether an instruction is a reduction in a schedule, whose operand may be made. */
bool pithp_plan_makes_reduced(const pithp_planning *g, const pithp_instruction *i);
/* What makes it has these axes last (pithp_reducing_last). */
uint32_t pithp_plan_last_axes(const pithp_planning *g, const pithp_instruction *i);
/* The external of a step that a value is. */
int pithp_plan_external(const pithp_step *step, pithp_value v);
/* Bands: neighbouring steps that work row by row, reductions of rows among them, run a
 * few rows at a time, all of them, while these are in cache. */
bool pithp_plan_fuse_rows(pithp_planning *g);

/* Sort instructions into steps. */
bool pithp_plan_fuse_steps(pithp_planning *g);
/* Find the last use of each value, and which values have memory. */
bool pithp_plan_liveness(pithp_planning *g);
/* A view of a view: what a move of elements makes of one. */
pithp_view pithp_view_through(const pithp_instruction *i,
                              const pith_spec *inner_spec,
                              const pithp_view *inner,
                              const pith_spec *spec);
/* Choose what is virtual. */
bool pithp_plan_views(pithp_planning *g);
/* What v, which is not pieced, is a view of, over its own shape. */
pithp_view pithp_plan_view(const pithp_planning *g, pithp_value v);
/* The pieces of v, one where it is not pieced, which cover its shape. False: there are
 * too many for a virtual value. */
bool pithp_plan_pieces(const pithp_planning *g, pithp_value v, pithp_view_pieces *pieces);
/* The values whose memory is read where v is. */
pithp_bases pithp_plan_bases(const pithp_planning *g, pithp_value v);
/* What an instruction reads has to be there until a step has run. */
void pithp_prolong_operands(pithp_planning *g, const pithp_instruction *i, int32_t until);
/* How many externals a fused step has for v. */
int pithp_plan_reads(const pithp_planning *g, pithp_value v);
/* A view of what has that spec, over a shape to which it is broadcast from the right. */
pithp_view
pithp_view_broadcast(const pithp_view *own, const pith_spec *spec, const pith_spec *to);
/* Have compiled code of a fused step take what it reads, where it can. */
void pithp_plan_gathers(const pithp_planning *g, pithp_step *step);
/* Write the code of a fused step. */
bool pithp_plan_fuse(pithp_planning *g, pithp_step *step);
/* Find what is passed; what it may be lives as long as it does. */
bool pithp_plan_forward(pithp_planning *g);
/* Find what is updated in place. */
bool pithp_plan_in_place(pithp_planning *g);
/* The result of a call that an operand is updated to where both have one memory; -1:
 * none. */
int pithp_updated(const pithp_step *step, int operand);
/* Whether the body of a loop updates a carry so. */
bool pithp_carry_in_place(const pithp_step *step, int carry);
/* Find reductions that a schedule may run at the same time. */
bool pithp_plan_concurrent(pithp_planning *g);
/* Give every value that has memory a place. */
bool pithp_plan_buffers(pithp_planning *g);

#endif
