/* Within the tree room: elementwise C expressions over leaves, as text for the compilers,
 * and the argument structs that text and library share. */
#ifndef PITH_TREE_EXPRESSION_H
#define PITH_TREE_EXPRESSION_H

#include "tree/tree_internal.h"

enum { PITHP_MAP_TREES = 4, PITHP_MAP_PARAMETERS = 8, PITHP_MAP_LOOPS = 64 };

/* The dtypes of the leaves in one place, the first tree's (and the result's) first. */
typedef struct pithp_map_loop {
    uint8_t dtypes[PITHP_MAP_TREES];
} pithp_map_loop;

/* What a text is made from. */
typedef struct pithp_map_text {
    const char *expression;
    int trees, parameters, loop_count;
    pithp_map_loop loops[PITHP_MAP_LOOPS];
} pithp_map_text;

/* Elements that lie one behind the other, by the loop of that number. Lists of chunks
 * have the addresses that the text uses, and no more. */
typedef struct pithp_map_chunk {
    int64_t loop, count;
    void *at[PITHP_MAP_TREES + 1]; /* the result, then each tree */
} pithp_map_chunk;

/* Argument of the function pith_map. Index i of the launch is the element
 * i % (1 << shift) of chunk i >> shift. */
typedef struct pithp_map_args {
    const pithp_map_chunk *chunks; /* NULL: there is one, `whole` */
    int64_t total, shift;
    int64_t streamed; /* host: write results past the caches */
    double parameters[PITHP_MAP_PARAMETERS];
    pithp_map_chunk whole; /* last: the text's may be shorter */
} pithp_map_args;

#define PITHP_MAP_FUNCTION "pith_map"

/* Refuse what is no expression over these operands: PITH_E_ARG. Compilers see the rest.
 */
pith_status pithp_expression_check(pith_scope *s, const pithp_map_text *m);
/* Whether it divides: over integers, that would trap. */
bool pithp_expression_divides(const char *expression);
/* The text that defines PITHP_MAP_FUNCTION, the same for every compiler. */
void pithp_expression_emit(pithp_text *t, const pithp_map_text *m);

#endif
