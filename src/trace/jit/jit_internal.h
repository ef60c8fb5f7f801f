/* Within src/trace/jit: calls as cache keys, and cached programs. */
#ifndef PITH_JIT_INTERNAL_H
#define PITH_JIT_INTERNAL_H

#include "pith/jit.h"

#include "array/checks/checks.h"
#include "program/exec/executable.h"
#include "tree/tree_internal.h"

/* ---- Compiled functions ---- */

/* Shared by the copies of a compiled function in several scopes. */
typedef struct pithp_jit {
    atomic_int refs;
    pith_runtime *runtime;
    unsigned static_arguments, donate_arguments;
    char **static_paths, **donate_paths; /* "[0].force"; NULL-terminated, or NULL */
    bool keep_unused, fast_math;
    atomic_bool collective; /* a program has collectives: all ranks call it together */
    char *memory;           /* of paths and identity */
    size_t memory_bytes;
    const char *identity; /* equal bytes: the same function and options */
    size_t identity_bytes;
    uint64_t identity_hash;
    pithp_biased_lock seat_lock;
    /* The program of the last call with a reference, for the next call without the cache
     * lock; NULL: in use, or evicted. */
    struct pithp_jit_program *seat; /* guarded by seat_lock */
    atomic_llong hits;              /* of calls that took the seat */
    /* Guarded by the lock of the cache: */
    struct pithp_jit *next, *previous;
    struct pithp_jit_program *last; /* valid if no program was evicted since */
    int64_t last_evictions;
    pithp_string why; /* reason of the last trace */
} pithp_jit;

typedef struct pithp_jit_closure {
    pithp_closure closure;
    pithp_jit *jit;
} pithp_jit_closure;

/* NULL: not made by pith_jit, or NULL. */
const pithp_jit_closure *pithp_jit_closure_of(const pith_function *f);
/* Compile a function made of f that has its parameters first, with the static arguments
 * of f (compile_over.c). NULL: error set. */
const pith_function *
pithp_jit_compile_over(pith_scope *s, const pith_function *made, const pith_function *f);
/* The program of a call, recorded if not cached, with a reference for the caller. NULL:
 * error set. */
struct pithp_jit_program *pithp_jit_program_of(pith_scope *s,
                                               const pithp_jit_closure *closure,
                                               const void *const *arguments);

/* ---- Calls ---- */

/* Check a function of the user and its number of arguments. */
pith_status pithp_jit_check_count(pith_scope *s,
                                  const pith_function *f,
                                  int64_t count,
                                  const void *const *arguments,
                                  const char *what);

/* The function of a call for inspection, compiled if necessary. NULL: error set, which
 * names `what` (program.c). */
const pithp_jit_closure *pithp_jit_compiled(pith_scope *s,
                                            const pith_function *function,
                                            int64_t count,
                                            const void *const *arguments,
                                            const char *what);

/* Mode bits: checks are collected; the call is made in a trace. */
/* PITHP_JIT_MESH: where the number of the mesh begins. */
enum { PITHP_JIT_COLLECTED = 1, PITHP_JIT_PART = 1 << 8, PITHP_JIT_MESH = 9 };
enum { PITHP_JIT_TREES = 6 };

/* A call, flattened: its arguments, then the trees bound in its function. */
typedef struct pithp_jit_call {
    pith_scope *s;
    pith_runtime *rt;              /* of s, which a called function may close */
    const pith_function *function; /* the compiled function */
    pithp_jit *jit;
    int64_t tree_count, item_count; /* items: of all trees */
    int argument_count;             /* trees that are arguments */
    const void **trees;
    pithp_flat *flats;
    uint32_t modes;       /* settings of the scope that affect recording */
    size_t derived_bytes; /* of the trace around */
    bool *is_static;      /* by item; NULL: none */
    int64_t static_count;
    char *static_bytes; /* the elements of static items, concatenated */
    size_t static_size;
    uint64_t hash;
    struct pithp_jit_program *like; /* same trees except statics; or NULL */
    pithp_trace *inside;            /* the outer trace; NULL: the call runs */
    const char *unknown;            /* inside: why no part can be cached; NULL: it can */
    int64_t *repeats; /* inside: first item with this array; NULL: distinct */
    const void *few_trees[PITHP_JIT_TREES];
    pithp_flat few_flats[2];
} pithp_jit_call;

/* Settings of a scope that affect recording. */
uint32_t pithp_jit_modes(pith_scope *s);
/* On failure the error is set, and pithp_jit_call_end is not needed. */
pith_status pithp_jit_call_begin(pithp_jit_call *c,
                                 pith_scope *s,
                                 const pithp_jit_closure *closure,
                                 const void *const *arguments);
void pithp_jit_call_end(pithp_jit_call *c);
/* Split the path of an option into its argument and a path in it. NULL: no valid
 * argument. */
const char *pithp_jit_path(const char *path, int arguments, int *argument);
/* Mark the leaves of a tree, given as that argument (-1: not an argument), at and below a
 * path in it. Returns the node there. NULL: it is absent, or the error is set. */
const void *pithp_jit_mark_part(pith_scope *s,
                                int argument,
                                const void *tree,
                                const char *path,
                                bool *marks);
/* Mark the items of a call that its options name (paths NULL: only the arguments of the
 * mask): `marks` receives a bool per item; returns their number. -1: error set. */
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

/* Run the function eagerly in s, without recording; its temporaries are released. NULL:
 * error set (no_tracing.c). */
const void *
pithp_jit_run_apart(const pith_function *f, pith_scope *s, const void *const *given);

/* Whether the base function of a compiled function runs in traces only. */
static inline bool pithp_jit_must_trace(const pithp_jit_closure *closure) {
    const pithp_closure *base = closure->closure.base->closure;
    return base && base->kind->traced;
}
/* Record such a function and run its program, outside traces and for values in a trace.
 * attached: receives what is attached to the program, with a reference; may be NULL.
 * NULL: error set (jit.c). */
const void *pithp_jit_run_recorded(const pithp_jit_closure *closure,
                                   pith_scope *s,
                                   const void *const *given,
                                   pithp_attached **attached);

/* ---- Programs ---- */

/* Source of a leaf of the result. */
typedef enum pithp_jit_source {
    PITHP_LEAF_MADE,     /* an array made by the run */
    PITHP_LEAF_HELD,     /* offset `at` in the buffer of outputs for checks */
    PITHP_LEAF_SAME,     /* output `at`: the same array, or a view of it */
    PITHP_LEAF_INPUT,    /* input `at`: itself, or a view of it */
    PITHP_LEAF_CONSTANT, /* constant `at` of the program */
    PITHP_LEAF_LITERAL,  /* offset `at` in the plan's literals */
} pithp_jit_source;

typedef struct pithp_jit_leaf {
    pithp_jit_source source;
    int64_t at;
    const pith_spec *spec;
} pithp_jit_leaf;

/* Adjacent leaves of a result that are unchanged inputs in order, or that are found one
 * by one. */
typedef struct pithp_jit_rest {
    int64_t leaf, count;
    int64_t input; /* the first; -1: one by one */
    bool made;     /* made by a run, which may forward an input instead */
} pithp_jit_rest;

/* Adjacent donated inputs of one spec with equal treatment. */
typedef struct pithp_jit_gift {
    int64_t donated, count; /* in the list of donated inputs */
    int64_t input, leaf;    /* the first; leaf -1: none is made in their memory */
    const pith_spec *spec;
    char best; /* PITHP_JIT_... */
} pithp_jit_gift;

/* The elements of a gift kept alive by one hold. */
enum { PITHP_JIT_PARTS = 128 };
typedef struct pithp_jit_part {
    const pithp_jit_gift *gift;
    const pithp_hold *hold;
    int64_t at, count; /* range in the gift */
} pithp_jit_part;

/* The key of a program: what its calls have in common. */
typedef struct pithp_jit_key {
    uint64_t hash;
    char *identity;
    size_t identity_bytes;
    uint32_t modes;
    size_t derived_bytes;
    int64_t tree_count;
    int argument_count;
    pithp_structure *trees;
    bool *is_static; /* by item; NULL: none */
    int64_t item_count, static_count;
    char *static_bytes;
    size_t static_size;
    int64_t *repeats;
    bool sharded; /* some leaf is: results may be the elements of one, placed otherwise */
} pithp_jit_key;

/* The result of a program: where its leaves come from. */
typedef struct pithp_jit_outputs {
    pithp_structure result;
    pithp_jit_leaf *leaves; /* of all outputs: the result's, then those for checks */
    int64_t leaf_count, result_count;
    pithp_layout made;    /* leaves made by a run */
    pithp_jit_rest *rest; /* leaves of the result not always made, in order */
    int64_t rest_runs, rest_count;
    bool may_forward; /* a run may forward an input in place of an output */
    bool returns;     /* some leaf of the result is an input */
    bool fits;        /* the result has the function's declared type */
    bool plain;       /* all result leaves are made; no donation or checks */
} pithp_jit_outputs;

/* Outputs that only checks read. */
typedef struct pithp_jit_check_outputs {
    size_t bytes;       /* size of their buffer */
    int64_t flag_count; /* the first bytes are flags: predicates of one bool */
    int64_t *offsets;   /* by output for checks, in the buffer; 0: none */
    int64_t *apart;     /* outputs not always in the buffer */
    int64_t apart_count;
} pithp_jit_check_outputs;

/* Donated inputs, and the leaves made in their memory. */
typedef struct pithp_jit_donation {
    int64_t *inputs; /* their indices; capacity: all items and one */
    int64_t count;
    int64_t *written;      /* by donated input: the leaf made in its memory, or -1 */
    char *best;            /* by donated input: the best grant, PITH_JIT_... */
    pithp_jit_gift *gifts; /* the same as runs; NULL: no donation */
    int64_t gift_count;
    int64_t best_granted, best_written;
    pithp_layout made_at_best; /* leaves not made in the memory of gifts */
    atomic_bool warned;        /* the warning about refused donations was logged */
} pithp_jit_donation;

/* A cached program, or a part: the cached inner trace of a call in another trace. */
typedef struct pithp_jit_program {
    atomic_int refs;
    atomic_bool thrown_out; /* evicted */
    pith_runtime *runtime;
    struct pithp_jit_program *next;          /* in its bucket */
    struct pithp_jit_program *newer, *older; /* LRU order */
    size_t bytes;
    size_t code_bytes; /* machine code and replay data; under the cache's lock */
    pithp_jit_key key;
    pithp_program *part;  /* inner trace; NULL: a program, which has the members below */
    pithp_checks *checks; /* NULL: no checks */
    pithp_attached *attached; /* by the function; NULL: nothing */
    size_t kept_bytes;        /* that derivations in it keep for backward halves */
    size_t derived_bytes;     /* part: what it takes of those of the trace around */
    pithp_executable *executable;
    const pithp_plan *plan; /* of the executable */
    pithp_jit_outputs outputs;
    pithp_jit_check_outputs check_outputs;
    pithp_jit_donation donation;
    bool *is_read;         /* by input; NULL: all are awaited */
    size_t run_bytes;      /* of the lists of a run */
    _Atomic(void *) spare; /* unused lists of an earlier run; or NULL */
} pithp_jit_program;

/* ---- Runs ---- */

/* Arrays of one run; all lists are in `memory`. */
typedef struct pithp_jit_running {
    pith_scope *s;
    pithp_jit_program *p;
    const pith_array **inputs; /* leaves that are not constants of the program */
    const void **addresses;    /* of inputs */
    void **outputs;            /* addresses of the outputs that the run writes */
    const pith_array **items;  /* all outputs */
    const void **lists;        /* for leaves not made, and three lists for donation */
    char *granted;             /* by donated input */
    bool best;                 /* all possible are granted; `granted` is not set */
    int part_count;            /* of gifts, if all are granted */
    pithp_jit_part parts[PITHP_JIT_PARTS];
    pithp_held_runs runs; /* of inputs */
    pithp_buffer *held;   /* buffer for checks; NULL: none */
    pithp_held *apart;    /* check values outside the buffer */
    void *memory;
    char few[3072];
} pithp_jit_running;

size_t pithp_jit_run_bytes(const pithp_jit_program *p);
/* Allocate a run. On failure the error is set, and pithp_jit_run_end is not needed. */
pith_status
pithp_jit_run_begin(pithp_jit_running *r, pith_scope *s, pithp_jit_program *p);
/* Read the inputs of trees if the program matches them and none must be awaited. */
bool pithp_jit_run_match(pithp_jit_running *r, const void *const *trees, bool *alike);
/* Read the inputs of a call that matches the program. */
pith_status pithp_jit_run_read(pithp_jit_running *r, const pithp_jit_call *c);
/* The result. NULL: error set. */
const void *pithp_jit_run(pithp_jit_running *r);
void pithp_jit_run_end(pithp_jit_running *r);

/* An empty program for the call, with a reference. NULL: the error of s is set. */
pithp_jit_program *pithp_jit_program_make(pith_scope *s, const pithp_jit_call *c);
/* Record the call. NULL: error set; otherwise one reference. */
pithp_jit_program *pithp_jit_record(const pithp_jit_call *c);
void pithp_jit_program_release(pithp_jit_program *p);

/* ---- Calls in a trace (nested.c) ---- */

/* Mark concrete leaves as static, or set why no part can be cached. */
void pithp_jit_mark_constants(pithp_jit_call *c);

/* The function's result for traced arrays, recorded in the trace of s. NULL: error
 * set. */
const void *pithp_jit_call_inside(const pithp_jit_closure *closure,
                                  pith_scope *s,
                                  const void *const *arguments);

/* ---- Outputs for checks (check_outputs.c) ---- */

/* Assign buffer offsets to the written outputs of a planned program. */
pith_status pithp_jit_place_check_outputs(pith_scope *s, pithp_jit_program *p);
/* After its leaves are known: set the locations of check values. */
pith_status pithp_jit_lay_out(pith_scope *s, pithp_jit_program *p);
void pithp_jit_release_check_outputs(pithp_jit_program *p);
/* Before a run: allocate the buffer, and set output addresses. */
pith_status pithp_jit_hold(pithp_jit_running *r);
/* After a run, with its items: make its checks. */
pith_status pithp_jit_make_checks(pithp_jit_running *r);
/* The input that a run forwarded as output k. */
const pith_array *pithp_jit_handed_on(const pithp_jit_running *r, int64_t k);

/* ---- Donation (donate_check.c, donate.c) ---- */

/* List the inputs donated by the options. */
pith_status pithp_jit_list_donated(const pithp_jit_call *c, pithp_jit_program *p);
/* Match outputs to donated inputs whose memory they can use, after planning. */
pith_status pithp_jit_list_written(pith_scope *s, pithp_jit_program *p);
void pithp_jit_gifts_release(pithp_jit_program *p);
/* Before a run: decide donations, into r->granted. */
void pithp_jit_check_donations(pithp_jit_running *r);
enum { PITHP_JIT_REFUSED, PITHP_JIT_GRANTED, PITHP_JIT_WRITTEN };
/* Allocate the arrays of a run, in the memory of granted inputs if possible, and set
 * output addresses. */
pith_status pithp_jit_make(pithp_jit_running *r);
/* Release the arrays of a run that could not start. */
void pithp_jit_unmake(pithp_jit_running *r);
/* After a run: release donated memory not in use. A failed run keeps inputs that it did
 * not write to. */
void pithp_jit_donate(pithp_jit_running *r, bool failed);

/* ---- Cache-miss explanations (explain.c) ---- */

/* Append why the function was last traced. */
void pithp_jit_why(pithp_jit *jit, pithp_string *text);
/* Report a traced call to the log hook, with its duration since `start` and the
 * reason. */
void pithp_jit_log_miss(const pithp_jit_call *c, const struct timespec *start);
/* Append the differences of modes (key.c). */
void pithp_jit_explain_modes(pithp_string *text, uint32_t was, uint32_t is);
/* Append the differences between a call and the key of a program, one per line. Returns
 * their distance. */
int64_t pithp_jit_explain(pithp_string *text,
                          const pithp_jit_program *old,
                          const pithp_jit_call *c);

/* ---- Traces of functions that callers do not have (apart.c) ---- */

typedef struct pithp_jit_apart pithp_jit_apart;
/* After a call of a function that was compiled for this call alone and made of f: keep
 * why it was traced, if it was. by: the public function, a literal. If memory is short
 * nothing is kept. */
void pithp_jit_note_apart(pith_scope *s,
                          const char *by,
                          const pith_function *f,
                          const pith_function *compiled);
/* Append lines of what was kept for f, newest first; false: nothing. */
bool pithp_jit_explain_apart(pith_scope *s, const pith_function *f, pithp_string *text);
void pithp_jit_apart_end(pith_runtime *rt, pithp_jit_apart **list);
/* The list of the runtime, with the lock of its cache (cache.c); NULL: there is no cache,
 * and no lock is taken. */
pithp_jit_apart **pithp_jit_apart_lock(pith_runtime *rt);
void pithp_jit_apart_unlock(pith_runtime *rt);

/* ---- The cache (cache.c) ---- */

/* Mask of hashes; tests set it to 0 to force collisions. */
extern uint64_t pithp_jit_hash_mask;

/* Register and unregister a compiled function. */
pith_status pithp_jit_enrol(pith_scope *s, pithp_jit *jit);
void pithp_jit_leave(pithp_jit *jit);

/* How a call found its program. */
typedef struct pithp_jit_turn {
    bool seated;        /* taken from the seat */
    int64_t thrown_out; /* eviction count of the cache before that */
} pithp_jit_turn;
/* The program of the last call with a reference for the caller, made the newest; NULL: it
 * may be evicted. */
pithp_jit_program *pithp_jit_take(pithp_jit *jit, pithp_jit_turn *turn);
/* Count a hit: the program matched the call. */
void pithp_jit_note_hit(pithp_jit *jit, const pithp_jit_turn *turn);
/* After a call: move the caller's reference, from that turn, to the seat. */
void pithp_jit_seat(pithp_jit *jit, pithp_jit_program *p, const pithp_jit_turn *turn);
/* A program of the function for the same structures, with a reference for the caller. */
pithp_jit_program *pithp_jit_alike(const pithp_jit_call *c);
/* The program or part of a call with a reference for the caller; NULL: not cached, or the
 * error is set. */
pithp_jit_program *pithp_jit_find(pithp_jit_call *c);
/* Set why the trace of a call cannot be cached. */
void pithp_jit_refuse(const pithp_jit_call *c, const char *why);
/* Cache a recorded program or part, or take the one that another thread cached meanwhile;
 * the caller's reference moves to the returned one. */
pithp_jit_program *pithp_jit_keep(const pithp_jit_call *c, pithp_jit_program *p);
/* Count donations that were granted, refused, and granted and written. */
/* Count calls that a gradient shares the derivatives of, and their derivations. */
void pithp_jit_note_derived(pith_runtime *rt, int64_t calls, int64_t derivations);
void pithp_jit_note_donated(pith_runtime *rt,
                            int64_t granted,
                            int64_t refused,
                            int64_t written);

#endif
