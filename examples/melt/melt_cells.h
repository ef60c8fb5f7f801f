/* Cells of the box: the grid, the window of it that a program holds, and the order of
 * atoms in it. */
#ifndef MELT_CELLS_H
#define MELT_CELLS_H

#include <pith/kernel.h>

/* Cells of a given width along each axis. */
typedef struct melt_grid {
    int64_t nx, ny, nz;
} melt_grid;

PITH_HD melt_grid melt_grid_of(const double *box, double width) {
    melt_grid grid;
    grid.nx = box[0] > width ? (int64_t)(box[0] / width) : 1;
    grid.ny = box[1] > width ? (int64_t)(box[1] / width) : 1;
    grid.nz = box[2] > width ? (int64_t)(box[2] / width) : 1;
    return grid;
}

/* Number of cells to each side that may hold an atom nearer than `distance`. The margin
 * is far larger than the effect of rounding on cells. */
PITH_HD int64_t melt_reach(double distance, double length, int64_t cells) {
    return (int64_t)(distance / length * (double)cells * 1.001 + 0.001) + 1;
}

/* The window of the grid, three numbers an axis: cells from 0 to WINDOW_HEAD, then, after
 * a gap, the others of WINDOW_COUNT. The whole grid has no gap. */
enum { WINDOW_HEAD, WINDOW_GAP, WINDOW_COUNT, WINDOW_SIZE };

/* The place in the window of a cell along an axis, and the cell at a place. */
PITH_HD int64_t melt_place_in_window(const int64_t *window, int64_t cell) {
    return cell < window[WINDOW_HEAD] ? cell : cell - window[WINDOW_GAP];
}
PITH_HD int64_t melt_cell_in_window(const int64_t *window, int64_t place) {
    return place < window[WINDOW_HEAD] ? place : place + window[WINDOW_GAP];
}

/* The window along an axis of the cells from `low` to `high` of the box, in fractions,
 * and of `reach` cells on each side. */
PITH_HD void
melt_window_of(double low, double high, int64_t reach, int64_t cells, int64_t *window) {
    const int64_t first = (int64_t)(low * (double)cells) - reach;
    const int64_t last = (int64_t)(high * (double)cells) + reach;
    const int64_t count = last - first + 1 < cells ? last - first + 1 : cells;
    window[WINDOW_COUNT] = count;
    if (count == cells || (first >= 0 && last < cells)) {
        window[WINDOW_HEAD] = 0;
        window[WINDOW_GAP] = count == cells ? 0 : first;
    } else { /* across the boundary of the box */
        window[WINDOW_HEAD] = first < 0 ? last + 1 : last + 1 - cells;
        window[WINDOW_GAP] = cells - count;
    }
}

/* The place in the window of the cell that a folded atom is in, z fastest; -1: it is in
 * none of them. */
PITH_HD int64_t melt_cell_of(const pith_real *folded,
                             const double *box,
                             const int64_t *grid,
                             const int64_t *window) {
    int64_t place = 0;
    for (int d = 0; d < 3; d++) {
        const int64_t *along = &window[WINDOW_SIZE * d];
        const pith_real x = folded[d], length = (pith_real)box[d];
        if (!(x >= 0 && x < length))
            return -1;
        const int64_t c = (int64_t)(x / length * (pith_real)grid[d]);
        const int64_t at = melt_place_in_window(along, c < grid[d] ? c : grid[d] - 1);
        if (at < 0 || at >= along[WINDOW_COUNT])
            return -1;
        place = place * along[WINDOW_COUNT] + at;
    }
    return place;
}

/* The place of the k-th atom in the order of cells, if each cell has its atoms in the
 * order of their numbers. */
PITH_HD int64_t melt_place_in_cell(int64_t k,
                                   int64_t m,
                                   const int32_t *cell,
                                   const int64_t *order,
                                   const int32_t *id) {
    const int32_t here = cell[order[k]], own = id[order[k]];
    int64_t place = k;
    for (int64_t j = k - 1; j >= 0 && cell[order[j]] == here; j--)
        place -= id[order[j]] > own;
    for (int64_t j = k + 1; j < m && cell[order[j]] == here; j++)
        place += id[order[j]] < own;
    return place;
}

/* Where cells start in rows that are sorted by them, the part of index k of `rows`:
 * before, here and last are the cells of rows k - 1 (-1: there is none), k and the last.
 * start: [max_cells + 2], to the end of the rows that are not in use. */
PITH_HD void melt_start_cells(int64_t k,
                              int64_t rows,
                              int64_t before,
                              int64_t here,
                              int64_t last,
                              int64_t max_cells,
                              int32_t *start) {
    for (int64_t c = before + 1; c <= here; c++)
        start[c] = (int32_t)k;
    /* empty cells after the last row are distributed over all indices */
    for (int64_t c = last + 1 + k; c <= max_cells + 1; c += rows)
        start[c] = (int32_t)rows;
}

#endif
