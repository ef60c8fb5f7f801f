/* Within src/trace/jit: a call as the cache sees it, and the programs that are kept. */
#ifndef PITH_JIT_INTERNAL_H
#define PITH_JIT_INTERNAL_H

#include "pith/jit.h"

#include "array/checks.h"
#include "program/interpret/plan.h"
#include "tree/tree_internal.h"

/* ---- Compiled functions ---- */

/* Shared by the copies of a compiled function that scopes keep. */
typedef struct pithp_jit {
    atomic_int refs;
    pith_runtime *runtime;
    unsigned static_arguments, donate_arguments;
    char **static_paths, **donate_paths; /* "[0].force"; NULL at the end, or NULL */
    bool keep_unused;
    char *memory; /* of paths and identity */
    size_t memory_bytes;
    const char *identity; /* equal bytes: the same function and options */
    size_t identity_bytes;
    uint64_t identity_hash;
    /* The program of the last call. Guarded by the lock of the cache; good while nothing
     * was thrown out since. */
    struct pithp_jit_program *last;
    pithp_text why; /* the last call was traced; guarded alike */
    int64_t last_evictions;
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

enum { PITHP_JIT_COLLECTED = 1 }; /* of modes: checks are collected */
enum { PITHP_JIT_TREES = 6, PITHP_JIT_ITEMS = 48 };

/* One call: its arguments, then the trees that are bound in its function, taken apart. */
typedef struct pithp_jit_call {
    pith_scope *s;
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
    const void *few_trees[PITHP_JIT_TREES];
    pithp_flat few_flats[2];
} pithp_jit_call;

/* On failure the error is set and there is nothing to end. */
pith_status pithp_jit_call_begin(pithp_jit_call *c,
                                 pith_scope *s,
                                 const pithp_jit_closure *closure,
                                 const void *const *arguments);
void pithp_jit_call_end(pithp_jit_call *c);
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

/* ---- Programs ---- */

/* Where a leaf of the result comes from. */
typedef enum pithp_jit_source {
    PITHP_LEAF_MADE,     /* the at-th array that a run makes */
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

/* A program and what it was recorded for. */
typedef struct pithp_jit_program {
    atomic_int refs;
    pith_runtime *runtime;
    struct pithp_jit_program *next;          /* in its bucket */
    struct pithp_jit_program *newer, *older; /* by last use */
    size_t bytes;
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
    /* What it does. */
    pithp_plan *plan;
    pithp_structure result;
    pithp_checks *checks;   /* NULL: it makes none */
    pithp_jit_leaf *leaves; /* of all outputs: the result's, then what checks need */
    int64_t leaf_count, result_count;
    const pith_spec **made; /* of the arrays that a run makes */
    int64_t made_count;
    int64_t *donated; /* inputs; of the room of all items and one */
    int64_t donated_count;
    bool *is_read; /* of each input; NULL: all are awaited */
} pithp_jit_program;

/* Record the call. NULL: error set; else one reference. */
pithp_jit_program *pithp_jit_record(const pithp_jit_call *c);
void pithp_jit_program_release(pithp_jit_program *p);
/* The result of a call by its program, and how many inputs were donated. NULL: error set.
 */
const void *
pithp_jit_run(const pithp_jit_call *c, const pithp_jit_program *p, int64_t *granted);

/* ---- Donation (donate.c) ---- */

pith_status pithp_jit_list_donated(const pithp_jit_call *c, pithp_jit_program *p);
/* After a run that made the items: give back the memory of donated inputs that nobody
 * else uses; how many. */
int64_t pithp_jit_donate(const pithp_jit_program *p,
                         const pith_array *const *inputs,
                         const pith_array *const *items);

/* ---- Why a call was traced (explain.c) ---- */

/* Append why the function was traced last. */
void pithp_jit_why(pithp_jit *jit, pithp_text *text);
/* The differences of modes (call.c). */
void pithp_jit_explain_modes(pithp_text *text, uint32_t was, uint32_t is);
/* How a call differs from one that a program was recorded for, a line a difference. */
void pithp_jit_explain(pithp_text *text,
                       const pithp_jit_program *old,
                       const pithp_jit_call *c);

/* ---- The cache (cache.c) ---- */

/* Hashes are masked by it: tests set it to 0 so that all collide. */
extern uint64_t pithp_jit_hash_mask;

/* The program of a call with a reference for the caller; NULL: there is none yet, or the
 * error is set. */
pithp_jit_program *pithp_jit_find(pithp_jit_call *c);
/* Keep a program that was recorded for the call, or the one that another thread kept
 * meanwhile; the caller's reference goes over to what is returned. */
pithp_jit_program *pithp_jit_keep(const pithp_jit_call *c, pithp_jit_program *p);
/* Count donations that were granted and refused. */
void pithp_jit_note_donated(pith_runtime *rt, int64_t granted, int64_t refused);

#endif
