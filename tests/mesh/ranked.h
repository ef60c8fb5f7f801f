/* Random functions over ranks, in two forms: as each rank runs them, with collectives;
 * and over the arrays of all ranks at once on one, with sums and moves written out.
 * Values of both have the same bits, and derivatives of the second need no rule of a
 * collective. */
#ifndef MESH_RANKED_H
#define MESH_RANKED_H

#include <pith/pith.h>

enum {
    RANKED_RANKS = 4,
    RANKED_VALUES = 4, /* of a function: the first ones are equal on all ranks at first */
    RANKED_SHARED = 2,
    RANKED_EXTENT = 12,
    RANKED_STEPS = 10,
    RANKED_DEPTH = 2
};

/* Each sets value `to`. */
typedef enum ranked_kind {
    RANKED_SIN,
    RANKED_ADD,
    RANKED_SUB,
    RANKED_MUL,
    RANKED_MAX,
    RANKED_SORT,
    RANKED_SCATTER,
    RANKED_INDEX,
    RANKED_DRAW,
    RANKED_PSUM,
    RANKED_PMEAN,
    RANKED_PMAX,
    RANKED_PMIN,
    RANKED_PBROADCAST,
    RANKED_PSHIFT,
    RANKED_ALL_GATHER,
    RANKED_ALL_STACK,
    RANKED_REDUCE_SCATTER,
    RANKED_ALL_TO_ALL,
    RANKED_PSUM_ROWS,
    RANKED_HALO,
    RANKED_ROUTE,      /* every element to some rank */
    RANKED_ROUTE_BACK, /* and back from there */
    RANKED_KINDS_OF_ROWS,
    RANKED_CHOICE = RANKED_KINDS_OF_ROWS, /* a branch that all ranks take */
    RANKED_CHOICE_OF_RANK,                /* one that a rank takes, without collectives */
    RANKED_LOOP,
    RANKED_RANGE,  /* of a length that is computed, the same on all ranks */
    RANKED_RECORD, /* a while loop, likewise */
    RANKED_KINDS
} ranked_kind;

typedef struct ranked_body ranked_body;

typedef struct ranked_step {
    ranked_kind kind;
    int to, a, b;
    int axes; /* of the mesh: 0 "x", 1 "y", 2 "x,y" */
    int64_t by;
    bool wrap;
    double level;
    ranked_body *bodies[2];
} ranked_step;

/* A sequence of steps, as a function of the values; and in a loop of the number first. */
struct ranked_body {
    pith_function branch, iteration,
        counted; /* first: functions are cast to their body */
    struct ranked_function *of;
    bool of_rank; /* of one rank, without collectives */
    int count;
    ranked_step steps[RANKED_STEPS];
};

/* A function of own arrays and of shared ones: lists. */
typedef struct ranked_function {
    pith_function call; /* first */
    bool all;           /* over all ranks: own arrays of rank 0, of rank 1, ... */
    bool reduced;       /* the value is that of all ranks; else a rank has its own */
    bool locals;        /* of `all`: the value is a list of each rank's */
    bool unmarked;      /* who calls it says that shared arrays are shared */
    int64_t sizes[2];   /* of the mesh x, y */
    ranked_body *body;
    ranked_body *made; /* all, to be freed */
    int made_count;
} ranked_function;

/* A row of one rank, without a collective; index: the rank's number, i32 []. */
const pith_array *ranked_row(pith_scope *s,
                             const ranked_step *t,
                             const pith_array *a,
                             const pith_array *b,
                             const pith_array *index);
/* An array that is equal on all ranks, as functions over shards have them. */
const pith_array *ranked_shared(pith_scope *s, const pith_array *a);
/* The calls of a body as a branch, as an iteration and as one that counts, and of a whole
 * function (ranked.c). */
const void *
ranked_call_branch(const pith_function *f, pith_scope *s, const void *const *a);
const void *
ranked_call_iteration(const pith_function *f, pith_scope *s, const void *const *a);
const void *
ranked_call_counted(const pith_function *f, pith_scope *s, const void *const *a);
const void *
ranked_call_function(const pith_function *f, pith_scope *s, const void *const *a);
/* A function of a seed; equal ones for equal seeds, `all` or not. */
ranked_function *ranked_make(uint64_t seed, const int64_t sizes[2], bool all);
void ranked_free(ranked_function *f);
/* The steps of the function, for messages. */
void ranked_print(const ranked_function *f);

#endif
