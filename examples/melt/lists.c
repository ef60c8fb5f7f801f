/* Cells and lists of neighbours, of all atoms of the box or of those of a brick and its
 * ghosts. The work for one atom or cell is in melt_kernels.h. */
#include "melt.h"

Sorted melt_sort_by_cells(pith_scope *s,
                          const Atoms *atoms,
                          const pith_array *box,
                          double reach,
                          int64_t max_cells) {
    static const double whole[] = {0, 1, 0, 1, 0, 1};
    const int64_t n = pith_array_spec(atoms->id)->count;
    const melt_cells_result cells =
        pith_launch(s, melt_cells, box,
                    pith_array_copy(s, PITH_F64, PITH_SHAPE(3, 2), whole), reach, n);
    const melt_fold_result fold = pith_launch(s, melt_fold, atoms->position, box,
                                              cells.grid, cells.window, max_cells);
    const melt_sort_result sorted =
        pith_launch(s, melt_sort, fold.cell, pith_argsort(s, fold.cell, 0, NULL),
                    atoms->id, fold.folded, cells.cells, max_cells);
    return (Sorted){.cells = {.grid = cells.grid,
                              .window = cells.window,
                              .need = cells.cells,
                              .start = sorted.start,
                              .axes = sorted.axes,
                              .row = sorted.row},
                    .folded = fold.folded,
                    .order = pith_slice_array(s, sorted.row, 1, &PITH_SLICE(0, n, 1))};
}

melt_neighbours_result melt_list(pith_scope *s, const Listed *l, const Cells *cells) {
    return pith_launch(s, melt_neighbours, cells->start, cells->axes, cells->row, l->box,
                       cells->grid, cells->window, l->reach, l->own, l->max_neighbours);
}
