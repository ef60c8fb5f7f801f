/* Cells and lists of neighbours, of all atoms of the box or of those of a brick and its
 * ghosts. The work for one atom or cell is in melt_kernels.h. */
#include "melt.h"

Cells melt_sort_by_cells(pith_scope *s, const Placed *p) {
    const int64_t atoms = pith_array_spec(p->id)->count;
    const melt_cells_result cells =
        pith_launch(s, melt_cells, p->box, p->part, p->reach, p->atoms);
    const melt_fold_result fold =
        pith_launch(s, melt_fold, p->position, p->count, p->ghosts, p->box, cells.grid,
                    cells.window, p->own, p->max_cells);
    const melt_sort_result sorted =
        pith_launch(s, melt_sort, fold.cell, pith_argsort(s, fold.cell, 0, NULL), p->id,
                    fold.folded, cells.cells, p->max_cells);
    return (Cells){.grid = cells.grid,
                   .window = cells.window,
                   .need = cells.cells,
                   .start = sorted.start,
                   .axes = sorted.axes,
                   .row = sorted.row,
                   .folded = fold.folded,
                   .order = pith_slice_array(s, sorted.row, 1, &PITH_SLICE(0, atoms, 1))};
}

melt_neighbours_result melt_list(pith_scope *s, const Placed *p, const Cells *cells) {
    return pith_launch(s, melt_neighbours, cells->start, cells->axes, cells->row, p->box,
                       cells->grid, cells->window, p->reach, p->own, p->max_neighbours);
}
