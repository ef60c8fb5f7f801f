/* What the C++ (and CUDA) part of the test of languages does for the C one. */
#ifndef PITH_TEST_LENS_LANGUAGES_H
#define PITH_TEST_LENS_LANGUAGES_H

#include <pith/lens.h>

typedef struct Cell {
    const pith_array *x;
    int64_t count;
} Cell;
PITH_NODE(Cell, PITH_LEAF(x, "f64[count]"), PITH_STATIC(count))

typedef struct Grid {
    const Cell *cell;
    double spacing;
} Grid;
PITH_NODE(Grid, PITH_CHILD(cell, Cell), PITH_STATIC(spacing))

PITH_LENS_DEFINE(grid_x, Grid, cell->x)

PITH_BEGIN
const pith_lens *grid_x_in_cxx(void);
const Grid *set_in_cxx(pith_scope *s, const Grid *grid, const pith_array *x);
PITH_END

#endif
