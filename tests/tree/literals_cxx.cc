// Records from literals in C++20.
#include "literals.h"

static const Grid *swap(pith_scope *s, const Grid *a, const Cell *) {
    return pith_record(s, Grid, .x = a->y, .y = a->x, .n = a->n);
}
PITH_FUNCTION2(swap_grid, swap, Grid, Grid, Cell)

void literals_in_cxx(pith_scope *s, const void *made[LITERAL_COUNT]) {
    const Grid *grid = pith_record(s, Grid, .x = PITH_VECTOR(s, f64, 1, 2, 3),
                                   .y = PITH_VECTOR(s, f64, 4, 5, 6), .n = 3);
    const Cell *cell = pith_record(
        s, Cell,
        .grid = pith_record(s, Grid, .x = grid->x, .y = pith_mul(s, grid->x, 2), .n = 3),
        .number = 9);
    const Grid *swapped = pith_apply(s, &swap_grid, grid, cell);
    made[LITERAL_RECORD] = grid;
    made[LITERAL_NESTED] = cell;
    made[LITERAL_APPLIED] = swapped;
    made[LITERAL_SMALL] = pith_gather(
        s, pith_reshape(s, PITH_VECTOR(s, i32, 1, 2, 3, 4, 5, 6), PITH_SHAPE(2, 3)),
        PITH_ENTRIES(PITH_ENTRY_AT(1), PITH_ENTRY_SLICE(0, 2, 1)), nullptr);
}
