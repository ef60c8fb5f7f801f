/* Within src/trace/jit: a call as the cache sees it, and the programs that are kept. */
#ifndef PITH_JIT_INTERNAL_H
#define PITH_JIT_INTERNAL_H

#include "pith/jit.h"

#include "array/checks/checks.h"
#include "program/exec/executable.h"
#include "tree/tree_internal.h"

/* ---- Compiled functions ---- */

/* Shared by the copies of a compiled function that scopes keep. */
typedef struct pithp_jit {
    atomic_int refs;
    pith_runtime *runtime;
    unsigned static_arguments, donate_arguments;
    char **static_paths, **donate_paths; /* "[0].force"; NULL at the end, or NULL */
    bool keep_unused, fast_math;
    char *memory; /* of paths and identity */
    size_t memory_bytes;
    const char *identity; /* equal bytes: the same function and options */
    size_t identity_bytes;
    uint64_t identity_hash;
    pithp_biased_lock seat_lock;
    /* The program of the last call, with a reference, where the next one finds it without
     * the lock of the cache; NULL: it is in use, or gone. */
    struct pithp_jit_program *seat; /* guarded by seat_lock */
    atomic_llong hits;              /* by it; written by the call that has it */
    /* Guarded by the lock of the cache: */
    struct pithp_jit *next, *previous;
    struct pithp_jit_program *last; /* good while nothing was thrown out since */
    int64_t last_evictions;
    pithp_text why; /* the last call was traced */
} pithp_jit;

typedef struct pithp_jit_closure {
    pithp_closure closure;
    pithp_jit *jit;
} pithp_jit_closure;

/* NULL: pith_jit did not make it, or it is NULL. */
const pithp_jit_closure *pithp_jit_closure_of(const pith_function *f);
/* The program of a call of it, recorded where there is none yet, with a reference for the
 * caller. NULL: error set. */
struct pithp_jit_program *pithp_jit_program_of(pith_scope *s,
                                               const pithp_jit_closure *closure,
                                               const void *const *arguments);

/* ---- Calls ---- */

/* A function that a user passed, with as many arguments as it takes. */
pith_status pithp_jit_check_count(pith_scope *s,
                                  const pith_function *f,
                                  int64_t count,
                                  const void *const *arguments,
                                  const char *what);

/* The function of a call that is only looked at, compiled where it is not yet. NULL:
 * error set, which names `what` (program.c). */
const pithp_jit_closure *pithp_jit_compiled(pith_scope *s,
                                            const pith_function *function,
                                            int64_t count,
                                            const void *const *arguments,
                                            const char *what);

/* Of modes: checks are collected; the call is made while another function is traced. */
enum { PITHP_JIT_COLLECTED = 1, PITHP_JIT_PART = 1 << 8 };
enum { PITHP_JIT_TREES = 6 };

/* One call: its arguments, then the trees that are bound in its function, taken apart. */
typedef struct pithp_jit_call {
    pith_scope *s;
    pith_runtime *rt;              /* of s, which a function that is called may close */
    const pith_function *function; /* that is compiled */
    pithp_jit *jit;
    int64_t tree_count, item_count; /* items: of all trees */
    int argument_count;             /* trees that are arguments */
    const void **trees;
    pithp_flat *flats;
    uint32_t modes;  /* of the scope, where they matter to what is recorded */
    bool *is_static; /* of each item; NULL: none is */
    int64_t static_count;
    char *static_bytes; /* the elements of static items, one after the other */
    size_t static_size;
    uint64_t hash;
    struct pithp_jit_program *like; /* its trees are alike, statics aside; or NULL */
    pithp_trace *inside;            /* the trace that it is made in; NULL: it runs */
    const char *unknown;            /* inside: why no part can be for it; NULL: one may */
    int64_t *repeats;               /* inside: of each item the first one that is the same
                                       traced array; NULL: all are others */
    const void *few_trees[PITHP_JIT_TREES];
    pithp_flat few_flats[2];
} pithp_jit_call;

/* What of a scope matters to what is recorded. */
uint32_t pithp_jit_modes(pith_scope *s);
/* On failure the error is set and there is nothing to end. */
pith_status pithp_jit_call_begin(pithp_jit_call *c,
                                 pith_scope *s,
                                 const pithp_jit_closure *closure,
                                 const void *const *arguments);
void pithp_jit_call_end(pithp_jit_call *c);
/* The path of an option: its argument, and the rest, a path in that. NULL: it names none.
 */
const char *pithp_jit_path(const char *path, int arguments, int *argument);
/* Which items of a call its options name (NULL: no others than the arguments of a mask):
 * `marks` gets one bool an item; returns how many. -1: error set. */
int64_t pithp_jit_mark(const pithp_jit_call *c,
                       unsigned arguments,
                       char *const *paths,
                       bool *marks);
static inline const pith_array *
pithp_jit_item(const pithp_jit_call *c, int64_t item, int64_t *tree) {
    int64_t t = 0;
    while (item >= c->flats[t].structure.item_count)
        item -= c->flats[t++].structure.item_count;
    *tree = t;
    return c->flats[t].items[item];
}

/* The function's result at once, in s; what it makes beside that is given back, and none
 * of it is recorded. NULL: error set (no_tracing.c). */
const void *
pithp_jit_run_apart(const pith_function *f, pith_scope *s, const void *const *given);

/* ---- Programs ---- */

/* Where a leaf of the result comes from. */
typedef enum pithp_jit_source {
    PITHP_LEAF_MADE,     /* an array that a run makes */
    PITHP_LEAF_HELD,     /* at that byte of the memory for what only checks need */
    PITHP_LEAF_SAME,     /* the at-th output: the same array, or a view of it */
    PITHP_LEAF_INPUT,    /* the at-th input: itself, or a view of it */
    PITHP_LEAF_CONSTANT, /* the at-th constant of the program */
    PITHP_LEAF_LITERAL,  /* at that byte of the plan's literals */
} pithp_jit_source;

typedef struct pithp_jit_leaf {
    pithp_jit_source source;
    int64_t at;
    const pith_spec *spec;
} pithp_jit_leaf;

/* Neighbours among the leaves of a result that are inputs as they are, side by side, or
 * else have to be looked at one by one. */
typedef struct pithp_jit_rest {
    int64_t leaf, count;
    int64_t input; /* the first; -1: one by one */
    bool made;     /* a run makes them: it may find that they are others */
} pithp_jit_rest;

/* Neighbours among donated inputs of one spec with which the same is done. */
typedef struct pithp_jit_gift {
    int64_t donated, count; /* in the list of donated inputs */
    int64_t input, leaf;    /* the first; leaves made in their memory, or -1 */
    const pith_spec *spec;
    char best; /* PITHP_JIT_... */
} pithp_jit_gift;

/* Those of a gift that one hold keeps. */
enum { PITHP_JIT_PARTS = 128 };
typedef struct pithp_jit_part {
    const pithp_jit_gift *gift;
    const pithp_hold *hold;
    int64_t at, count; /* of the gift: from there on */
} pithp_jit_part;

/* A program, or what a call inside of a trace recorded: a part of programs to come. And
 * what it was recorded for. */
typedef struct pithp_jit_program {
    atomic_int refs;
    atomic_bool thrown_out; /* of the cache */
    pith_runtime *runtime;
    struct pithp_jit_program *next;          /* in its bucket */
    struct pithp_jit_program *newer, *older; /* by last use */
    size_t bytes;
    size_t code_bytes; /* beyond those, machine code and what a device keeps to replay it,
                          as the cache has counted it, whose lock guards it */
    /* What it was recorded for. */
    uint64_t hash;
    char *identity;
    size_t identity_bytes;
    uint32_t modes;
    int64_t tree_count;
    int argument_count;
    pithp_structure *trees;
    bool *is_static; /* of each item; NULL: none is */
    int64_t item_count, static_count;
    char *static_bytes;
    size_t static_size;
    int64_t *repeats;
    /* What it does. */
    pithp_program *part; /* as it was recorded, of traced items; NULL: it is a program,
                            and what is below a part has not */
    pithp_structure result;
    pithp_checks *checks;   /* NULL: it makes none */
    pithp_jit_leaf *leaves; /* of all outputs: the result's, then what checks need */
    int64_t leaf_count, result_count;
    pithp_executable *executable;
    const pithp_plan *plan; /* of the executable */
    pithp_layout made;      /* of leaves that a run makes */
    pithp_jit_rest *rest;   /* leaves of the result that may be others, in order */
    int64_t rest_runs, rest_count;
    size_t check_bytes;       /* for what only checks need, in one buffer: */
    int64_t flag_count;       /* its first bytes: predicates of one bool each */
    int64_t *check_output_at; /* of each output for checks: its first byte there; 0: it
                                 has none */
    int64_t *apart;           /* outputs for checks that are not, or not always, in it */
    int64_t apart_count;
    int64_t *donated; /* inputs; of the room of all items and one */
    int64_t donated_count;
    int64_t *written;      /* of each of these: the leaf made in its memory, or -1 */
    char *best;            /* what may be granted of them at best: PITHP_JIT_... */
    pithp_jit_gift *gifts; /* the same as runs; NULL: nothing is donated */
    int64_t gift_count;
    int64_t best_granted, best_written;
    pithp_layout made_at_best; /* of leaves that are not made in the memory of gifts */
    atomic_bool told;          /* of donations that were refused */
    bool *is_read;             /* of each input; NULL: all are awaited */
    bool may_hand_on;          /* a run may find that one it would make is an input */
    bool returns;              /* some leaf of the result is an input */
    bool fits;                 /* the result is of the type that the function names */
    bool plain;                /* all leaves of the result are made, and nothing else is
                                  done: neither donations nor checks */
    size_t run_bytes;          /* of the lists of a run */
    _Atomic(void *) spare;     /* such lists of a run that is over; or NULL */
} pithp_jit_program;

/* ---- Runs ---- */

/* Arrays of one run; all lists lie in `memory`. */
typedef struct pithp_jit_running {
    pith_scope *s;
    pithp_jit_program *p;
    const pith_array **inputs; /* leaves that are no constants of the program */
    const void **addresses;    /* of inputs */
    void **outputs;            /* where those outputs are written that a run makes */
    const pith_array **items;  /* all outputs */
    const void **lists;        /* room for what of the result is no array of the run, and
                                  for three lists of what is made, to donate */
    char *granted;             /* of each donated input */
    bool best;                 /* all that could be is granted; `granted` says nothing */
    int part_count;            /* of gifts, where all is granted: */
    pithp_jit_part parts[PITHP_JIT_PARTS];
    pithp_held_runs runs; /* of inputs */
    pithp_buffer *held;   /* of what only checks need; NULL: there is nothing */
    pithp_held *apart;    /* values that checks need and that are not in it */
    void *memory;
    char few[3072];
} pithp_jit_running;

size_t pithp_jit_run_bytes(const pithp_jit_program *p);
/* Room for a run. On failure the error is set and there is nothing to end. */
pith_status
pithp_jit_run_begin(pithp_jit_running *r, pith_scope *s, pithp_jit_program *p);
/* The inputs of trees, if the program is for them and none has to be awaited. */
bool pithp_jit_run_match(pithp_jit_running *r, const void *const *trees, bool *alike);
/* Those of a call that the program is for. */
pith_status pithp_jit_run_read(pithp_jit_running *r, const pithp_jit_call *c);
/* The result. NULL: error set. */
const void *pithp_jit_run(pithp_jit_running *r);
void pithp_jit_run_end(pithp_jit_running *r);

/* One for the call that does nothing yet, with a reference. NULL: the error of s is set.
 */
pithp_jit_program *pithp_jit_program_make(pith_scope *s, const pithp_jit_call *c);
/* Record the call. NULL: error set; else one reference. */
pithp_jit_program *pithp_jit_record(const pithp_jit_call *c);
void pithp_jit_program_release(pithp_jit_program *p);

/* ---- Calls inside of a trace (nested.c) ---- */

/* Leaves that have values are static there, too, or no part can be for the call. */
void pithp_jit_mark_constants(pithp_jit_call *c);

/* What the function returns of traced arrays, recorded in the trace of s. NULL: error
 * set.
 */
const void *pithp_jit_call_inside(const pithp_jit_closure *closure,
                                  pith_scope *s,
                                  const void *const *arguments);

/* ---- What checks need (check_outputs.c) ---- */

/* Of a program that has a plan: where in the buffer each output lies that is written. */
pith_status pithp_jit_place_check_outputs(pith_scope *s, pithp_jit_program *p);
/* Once its leaves are known: tell the checks where their values lie. */
pith_status pithp_jit_lay_out(pith_scope *s, pithp_jit_program *p);
void pithp_jit_release_check_outputs(pithp_jit_program *p);
/* Before a run: memory for what only checks need; where it is written. */
pith_status pithp_jit_hold(pithp_jit_running *r);
/* After a run that has its items: make its checks. */
pith_status pithp_jit_make_checks(pithp_jit_running *r);
/* The input that a run handed on as output k. */
const pith_array *pithp_jit_handed_on(const pithp_jit_running *r, int64_t k);

/* ---- Donation (donate_check.c, donate.c) ---- */

/* Which inputs the options donate; bytes of what p->donated is the first list of. */
size_t pithp_jit_donated_bytes(const pithp_jit_program *p);
pith_status pithp_jit_list_donated(const pithp_jit_call *c, pithp_jit_program *p);
/* Which arrays can be made in the memory of which of them, once there is a plan. */
pith_status pithp_jit_list_written(pith_scope *s, pithp_jit_program *p);
void pithp_jit_gifts_release(pithp_jit_program *p);
/* Before a run: which donations are granted, into r->granted. */
void pithp_jit_check_donations(pithp_jit_running *r);
enum { PITHP_JIT_REFUSED, PITHP_JIT_GRANTED, PITHP_JIT_WRITTEN };
/* The arrays that a run makes, in the memory of granted inputs where they can be, and
 * where they are written. */
pith_status pithp_jit_make(pithp_jit_running *r);
/* Where a run could not be made: what was made for it goes. */
void pithp_jit_unmake(pithp_jit_running *r);
/* After a run: give back the memory of what was donated and is not in use; a run that
 * failed keeps what it did not write to. */
void pithp_jit_donate(pithp_jit_running *r, bool failed);

/* ---- Why a call was traced (explain.c) ---- */

/* Append why the function was traced last. */
void pithp_jit_why(pithp_jit *jit, pithp_text *text);
/* Tell the log hook that a call was traced, since then, and why. */
void pithp_jit_log_miss(const pithp_jit_call *c, const struct timespec *start);
/* The differences of modes (key.c). */
void pithp_jit_explain_modes(pithp_text *text, uint32_t was, uint32_t is);
/* How a call differs from one that a program was recorded for, a line a difference.
 * Returns how far they are from each other. */
int64_t pithp_jit_explain(pithp_text *text,
                          const pithp_jit_program *old,
                          const pithp_jit_call *c);

/* ---- The cache (cache.c) ---- */

/* Hashes are masked by it: tests set it to 0 so that all collide. */
extern uint64_t pithp_jit_hash_mask;

/* A function is called from now on, and no longer. */
pith_status pithp_jit_enrol(pith_scope *s, pithp_jit *jit);
void pithp_jit_leave(pithp_jit *jit);

/* How a call came by a program. */
typedef struct pithp_jit_turn {
    bool seated;        /* it was free to take */
    int64_t thrown_out; /* programs of the cache, before it was taken */
} pithp_jit_turn;
/* The program of the last call with a reference for the caller, as the one that was used
 * last; NULL: it may be gone. */
pithp_jit_program *pithp_jit_take(pithp_jit *jit, pithp_jit_turn *turn);
/* It was that of the call. */
void pithp_jit_note_hit(pithp_jit *jit, const pithp_jit_turn *turn);
/* After a call: the caller's reference, got in that turn, goes to where the next call
 * finds it. */
void pithp_jit_seat(pithp_jit *jit, pithp_jit_program *p, const pithp_jit_turn *turn);
/* A program of the function for the same structures, with a reference for the caller. */
pithp_jit_program *pithp_jit_alike(const pithp_jit_call *c);
/* The program or part of a call with a reference for the caller; NULL: there is none yet,
 * or the error is set. */
pithp_jit_program *pithp_jit_find(pithp_jit_call *c);
/* What a call recorded cannot be kept: why. */
void pithp_jit_refuse(const pithp_jit_call *c, const char *why);
/* Keep a program or part that was recorded for the call, or the one that another thread
 * kept meanwhile; the caller's reference goes over to what is returned. */
pithp_jit_program *pithp_jit_keep(const pithp_jit_call *c, pithp_jit_program *p);
/* Count donations that were granted, refused, and granted and written. */
void pithp_jit_note_donated(pith_runtime *rt,
                            int64_t granted,
                            int64_t refused,
                            int64_t written);

#endif
