/* Records from literals, in the language of the file that includes this: literals_cxx.cc
 * and test_literals.c. */
#ifndef PITH_TEST_TREE_LITERALS_H
#define PITH_TEST_TREE_LITERALS_H

#include <pith/pith.h>

typedef struct Grid {
    const pith_array *x, *y;
    int64_t n;
} Grid;
PITH_NODE(Grid,
          PITH_LEAF(x, "f64[n]", .fill = 7),
          PITH_LEAF(y, "f64[n]", .fill = 5),
          PITH_STATIC(n, .initial = 2))

typedef struct Cell {
    const Grid *grid;
    int64_t number;
} Cell;
PITH_NODE(Cell, PITH_CHILD(grid, Grid), PITH_STATIC(number))

/* Literal arguments of each macro; the results are in `made`, in this order. */
enum { LITERAL_RECORD, LITERAL_NESTED, LITERAL_APPLIED, LITERAL_SMALL, LITERAL_COUNT };

PITH_BEGIN
void literals_in_cxx(pith_scope *s, const void *made[LITERAL_COUNT]);
PITH_END

#endif
