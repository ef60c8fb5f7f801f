/* Values of random sequences of collectives (cases_random.c), in two forms: the arrays of
 * one rank, which are moved by collectives, and the arrays of all ranks, of which one
 * device computes the same. */
#ifndef MESH_RANDOM_VALUES_H
#define MESH_RANDOM_VALUES_H

#include "mesh/cases.h"

enum { RANDOM_VALUES = 4, RANDOM_RANKS = 6, RANDOM_ENTRIES = 8 };

typedef struct random_values {
    pith_scope *s;
    bool all;         /* the arrays of all ranks */
    int64_t size, ny; /* of the mesh: ranks, and those along y */
    int64_t have;     /* arrays of a value here */
    uint64_t state;   /* of the draws, which are the same in both forms */
    bool prints;      /* each step */
    const pith_array *of[RANDOM_VALUES][RANDOM_RANKS];
} random_values;

/* The ranks along some axes that a rank is one of, in the order of the axes. */
typedef struct random_group {
    const char *axes;
    int64_t size, own, ranks[RANDOM_RANKS];
} random_group;

int64_t random_draw(random_values *v, int64_t n); /* 0 to n - 1 */
/* Set a value by a random collective of others. */
void random_move(random_values *v);

/* Parts of arrays: elements from..to-1 along an axis; both one after the other. */
const pith_array *
random_part(pith_scope *s, const pith_array *a, int axis, int64_t from, int64_t to);
const pith_array *
random_joined(pith_scope *s, const pith_array *a, const pith_array *b, int axis);

#endif
