/* The kernels of the melt on ranks, beside those of melt_kernels.h.
 *
 * Bricks are parts of the box, `parts` along each axis; `place` are the numbers of this
 * one. Along an axis they begin and end at cuts, in fractions of its side: 0, and so on
 * to 1. The first rows of an array of atoms are in use, `count` of them.
 */
#ifndef MELT_BRICK_KERNELS_H
#define MELT_BRICK_KERNELS_H

#include "melt_cells.h"
#include "melt_pair.h"

/* Bins of an axis in which atoms are counted. */
enum { BRICK_BINS = 512 };

/* Fold an atom into the box; a row that is not in use, or a lost atom (NaN), becomes 0.
 * Returns whether it is no lost atom. */
PITH_HD int brick_fold_at(int64_t i,
                          const pith_real *position,
                          int64_t count,
                          const double *box,
                          pith_real *folded) {
    int inside = 1;
    for (int d = 0; d < 3; d++) {
        const pith_real length = (pith_real)box[d];
        const pith_real x = i < count ? melt_folded(position[3 * i + d], length) : 0;
        const int here = x >= 0 && x < length;
        folded[3 * i + d] = here ? x : 0;
        inside &= here;
    }
    return inside;
}

/* Fold the atoms of a brick into the box. */
PITH_KERNEL(brick_fold,
            over(i, n),
            in(real, position, "[n,3]"),
            in(i64, count, "[]"),
            in(f64, box, "[3]"),
            out(real, folded, "[n,3]")) {
    const int inside = brick_fold_at(i, position, *count, box, folded);
    pith_require(inside, i);
}

/* The number of the brick that a folded atom is in: row-major, as ranks are numbered. */
PITH_HD int64_t brick_number(const pith_real *position,
                             const double *box,
                             const double *cuts,
                             int64_t edges,
                             const int64_t *parts) {
    int64_t number = 0;
    for (int64_t d = 0; d < 3; d++) {
        const double x = (double)position[d];
        int64_t at = 0;
        while (at + 1 < parts[d] && x >= cuts[d * edges + at + 1] * box[d])
            at++;
        number = number * parts[d] + at;
    }
    return number;
}

/* The brick that an atom is in; -1: not in use. */
PITH_KERNEL(brick_owner,
            over(i, n),
            in(real, position, "[n,3]"),
            in(i64, count, "[]"),
            in(f64, box, "[3]"),
            in(f64, cuts, "[3,edges]"),
            in(i64, parts, "[3]"),
            size(edges),
            out(i64, owner, "[n]")) {
    owner[i] = i < *count ? brick_number(&position[3 * i], box, cuts, edges, parts) : -1;
}

/* Fold an atom into the box. The brick that it leaves to, or -1: it stays, or is not in
 * use. cell: of the window (melt_cells.h), if it stays; else max_cells. It is arbitrary
 * if cells do not fit. */
PITH_KERNEL(brick_leaver,
            over(i, n),
            in(real, position, "[n,3]"),
            in(i64, count, "[]"),
            in(f64, box, "[3]"),
            in(f64, cuts, "[3,edges]"),
            in(i64, parts, "[3]"),
            in(i64, place, "[3]"),
            in(i64, grid, "[3]"),
            in(i64, window, "[9]"),
            value(i64, max_cells),
            size(edges),
            out(real, folded, "[n,3]"),
            out(i64, to, "[n]"),
            out(i32, cell, "[n]")) {
    const int64_t own = (place[0] * parts[1] + place[1]) * parts[2] + place[2];
    to[i] = -1;
    cell[i] = (int32_t)max_cells;
    const int inside = brick_fold_at(i, position, *count, box, folded);
    pith_require(inside, i);
    if (i < *count) {
        const int64_t brick = brick_number(&folded[3 * i], box, cuts, edges, parts);
        to[i] = brick == own ? -1 : brick;
        if (brick == own) {
            const int64_t at = melt_cell_of(&folded[3 * i], box, grid, window);
            cell[i] = (int32_t)(i % max_cells); /* of a lost atom */
            pith_require(at >= 0, i);
            cell[i] = (int32_t)(at % max_cells);
        }
    }
}

/* The cells of atoms that have come, or of ghosts. */
PITH_KERNEL(brick_cell,
            over(i, n),
            in(real, position, "[n,3]"),
            in(i64, count, "[]"),
            in(f64, box, "[3]"),
            in(i64, grid, "[3]"),
            in(i64, window, "[9]"),
            value(i64, max_cells),
            out(i32, cell, "[n]")) {
    cell[i] = (int32_t)max_cells;
    if (i < *count) {
        const int64_t at = melt_cell_of(&position[3 * i], box, grid, window);
        cell[i] = (int32_t)(i % max_cells); /* of a lost atom */
        pith_require(at >= 0, i);
        cell[i] = (int32_t)(at % max_cells);
    }
}

/* Where this brick begins and ends, in fractions, and its widths. */
PITH_KERNEL(brick_part,
            over(d, 3),
            in(f64, box, "[3]"),
            in(f64, cuts, "[3,edges]"),
            in(i64, place, "[3]"),
            size(edges),
            out(f64, part, "[3,2]"),
            out(f64, width, "[3]")) {
    const double *low = &cuts[d * edges + place[d]];
    part[2 * d] = low[0];
    part[2 * d + 1] = low[1];
    width[d] = (low[1] - low[0]) * box[d];
}

/* ---- Order ---- */

/* Atoms are sorted by cells of the window, and by number in a cell, as melt_sort does. If
 * there are more cells than max_cells, which are arbitrary then, atoms of a cell are in
 * any order. */
PITH_HD int64_t brick_place(int64_t k,
                            int64_t m,
                            const int32_t *cell,
                            const int64_t *order,
                            const int32_t *id,
                            int64_t cells,
                            int64_t max_cells) {
    return cell[order[k]] < max_cells && cells <= max_cells
               ? melt_place_in_cell(k, m, cell, order, id)
               : k;
}

/* The cell at place k of the sorted rows, of which `count` are in use. */
PITH_HD int64_t brick_cell_at(int64_t k,
                              int64_t count,
                              const int32_t *cell,
                              const int64_t *order,
                              int64_t max_cells) {
    return k < 0 ? -1 : k < count ? cell[order[k]] : max_cells;
}

/* The atoms of the brick, of its rows and of those that have come, sorted; order sorts
 * cell. from: the row of each in both arrays, one after the other. sorted: its cell.
 * start: of each cell, and of rows not in use. */
PITH_KERNEL(brick_settle,
            over(k, m), /* n + moved */
            in(i64, order, "[m]"),
            in(i32, cell, "[m]"),
            in(i32, id, "[m]"),
            in(i64, count, "[]"), /* of those that belong to the brick */
            in(i64, cells, "[]"),
            in(real, position, "[n,3]"),
            in(real, velocity, "[n,3]"),
            in(real, came_position, "[moved,3]"),
            in(real, came_velocity, "[moved,3]"),
            extent(max_cells),
            size(m),
            size(n),
            out(real, settled, "[n,3]"),
            out(real, kept, "[n,3]"),
            out(i32, number, "[n]"),
            out(i32, sorted, "[n]"),
            out(i32, from, "[n]"),
            out(i32, start, "[max_cells+2]")) {
    const int64_t row = order[k], came = row - n;
    const int64_t to = brick_place(k, m, cell, order, id, *cells, max_cells);
    const pith_real *x = came < 0 ? &position[3 * row] : &came_position[3 * came];
    const pith_real *v = came < 0 ? &velocity[3 * row] : &came_velocity[3 * came];
    const int used = to < *count;
    if (k < n)
        melt_start_cells(k, n, brick_cell_at(k - 1, *count, cell, order, max_cells),
                         brick_cell_at(k, *count, cell, order, max_cells),
                         brick_cell_at(n - 1, *count, cell, order, max_cells), max_cells,
                         start);
    if (to >= n) /* rows that are not in use */
        return;
    for (int d = 0; d < 3; d++) {
        settled[3 * to + d] = used ? x[d] : 0;
        kept[3 * to + d] = used ? v[d] : 0;
    }
    number[to] = used ? id[row] : 0;
    sorted[to] = (int32_t)(used ? cell[row] : max_cells);
    from[to] = (int32_t)row;
}

/* Rows of ghosts, sorted, and their cells; order sorts cell. start: as of brick_settle.
 */
PITH_KERNEL(brick_line_up,
            over(k, m),
            in(i64, order, "[m]"),
            in(i32, cell, "[m]"),
            in(i32, id, "[m]"),
            in(i64, cells, "[]"),
            extent(max_cells),
            size(m),
            out(i32, row, "[m]"),
            out(i32, sorted, "[m]"),
            out(i32, start, "[max_cells+2]")) {
    const int64_t to = brick_place(k, m, cell, order, id, *cells, max_cells);
    row[to] = (int32_t)order[k];
    sorted[to] = cell[order[k]];
    melt_start_cells(k, m, k > 0 ? cell[order[k - 1]] : -1, cell[order[k]],
                     cell[order[m - 1]], max_cells, start);
}

/* Own atoms, whose rows are sorted, and ghosts as one sorted sequence: what melt_sort
 * gives. Atoms of both are in one cell where a cut goes through it. */
PITH_KERNEL(brick_merge,
            over(k, m), /* n + ghosts */
            in(real, position, "[n,3]"),
            in(i32, id, "[n]"),
            in(i32, cell, "[n]"),
            in(i32, start, "[edges]"),
            in(real, ghost_position, "[ghosts,3]"),
            in(i32, ghost_id, "[ghosts]"),
            in(i32, ghost_row, "[ghosts]"),
            in(i32, ghost_cell, "[ghosts]"),
            in(i32, ghost_start, "[edges]"),
            in(i64, cells, "[]"),
            size(n),
            size(edges), /* max_cells + 2 */
            extent(m),
            out(f32, axes, "[3,m+8]"),
            out(i32, row, "[m+8]")) {
    const int64_t g = k - n, from = g < 0 ? k : ghost_row[g];
    const int64_t here = g < 0 ? cell[k] : ghost_cell[g], max_cells = edges - 2;
    const pith_real *x = g < 0 ? &position[3 * k] : &ghost_position[3 * from];
    const int ordered =
        here < max_cells && *cells <= max_cells; /* as brick_place has it */
    int64_t place;
    if (g < 0) {
        int64_t j = ghost_start[here];
        while (ordered && j < ghost_start[here + 1] && ghost_id[ghost_row[j]] < id[k])
            j++;
        place = k + j;
    } else {
        int64_t j = start[here];
        while (j < start[here + 1] && (!ordered || id[j] < ghost_id[from]))
            j++;
        place = g + j;
    }
    for (int64_t d = 0; d < 3; d++)
        axes[d * (m + 8) + place] = (float)x[d];
    row[place] = (int32_t)(g < 0 ? k : n + from);
    for (int64_t q = m + k; q < m + PITH_LANES; q += m) { /* for the search in lanes */
        row[q] = 0;
        for (int64_t d = 0; d < 3; d++)
            axes[d * (m + 8) + q] = 0;
    }
}

/* ---- Neighbours ---- */

/* A width at which a brick has all atoms that another one may list, but for its
 * neighbours. */
PITH_HD double brick_reach(double distance, const double *box) {
    return melt_with_margin(melt_with_margin(distance, box), box);
}

/* Ways along an axis: to the brick itself, first, and the one or two beside it. */
PITH_HD int64_t brick_ways_along(int64_t parts) {
    return parts < 3 ? parts : 3;
}

/* The step that a way takes along each axis. Way 0 stays. */
PITH_HD void brick_way(int64_t way, const int64_t *parts, int64_t *step) {
    for (int d = 2; d >= 0; d--) {
        const int64_t ways = brick_ways_along(parts[d]);
        step[d] = way % ways == 2 ? -1 : way % ways;
        way /= ways;
    }
}

/* The ways to other bricks: the steps along each axis, and the numbers of the bricks. */
PITH_KERNEL(brick_around,
            over(w, ways),
            in(i64, parts, "[3]"),
            in(i64, place, "[3]"),
            extent(ways), /* without way 0 */
            out(i64, step, "[ways,3]"),
            out(i64, number, "[ways]")) {
    int64_t at = 0;
    brick_way(w + 1, parts, &step[3 * w]);
    for (int d = 0; d < 3; d++)
        at = at * parts[d] + (place[d] + step[3 * w + d] + parts[d]) % parts[d];
    number[w] = at;
}

/* The bricks whose lists may have an atom: for each way of brick_around its row and the
 * brick, or -1. The second of two bricks along an axis is on both sides of the first, and
 * gets an atom once: lists find its images. */
PITH_KERNEL(brick_border,
            over(i, n),
            in(real, position, "[n,3]"),
            in(i64, count, "[]"),
            in(f64, box, "[3]"),
            in(f64, part, "[3,2]"),
            in(i64, parts, "[3]"),
            in(i64, step, "[ways,3]"),
            in(i64, number, "[ways]"),
            value(f64, distance),
            size(ways),
            out(i64, row, "[n,ways]"),
            out(i64, brick, "[n,ways]")) {
    const double reach = brick_reach(distance, box);
    int below[3] = {0}, above[3] = {0}, any = 0;
    for (int d = 0; d < 3; d++)
        if (parts[d] > 1 && i < *count) {
            const double x = (double)position[3 * i + d];
            below[d] = x - part[2 * d] * box[d] <= reach;
            above[d] = part[2 * d + 1] * box[d] - x <= reach;
            any |= below[d] | above[d];
        }
    for (int64_t w = 0; w < ways; w++) {
        int near = any;
        for (int d = 0; d < 3 && near; d++) {
            const int64_t to = step[3 * w + d];
            const int close = parts[d] == 2 ? below[d] | above[d]
                              : to < 0      ? below[d]
                                            : above[d];
            near = to == 0 || close;
        }
        row[ways * i + w] = i;
        brick[ways * i + w] = near ? number[w] : -1;
    }
}

/* Count the atoms of a brick by their places along each axis. */
PITH_KERNEL(brick_load,
            over(i, n),
            in(real, position, "[n,3]"),
            in(i64, count, "[]"),
            in(f64, box, "[3]"),
            extent(bins),
            out(i64, load, "[3,bins]", 0)) {
    for (int64_t d = 0; d < 3 && i < *count; d++) {
        const pith_real length = (pith_real)box[d];
        const pith_real x = melt_folded(position[3 * i + d], length);
        const int inside = x >= 0 && x < length; /* else it is lost */
        const int64_t bin = inside ? (int64_t)((double)x / box[d] * (double)bins) : 0;
        pith_atomic_add(&load[d * bins + (bin < bins ? bin : bins - 1)], (int64_t)1);
    }
}

/* The number of atoms below a cut. */
PITH_HD double brick_below(const int64_t *load, int64_t bins, double cut) {
    const double at = cut * (double)bins;
    double sum = 0;
    for (int64_t b = 0; b < bins && (double)b < at; b++)
        sum += (double)load[b] * (at - (double)b < 1 ? at - (double)b : 1);
    return sum;
}

/* The cut with a number of atoms below it. */
PITH_HD double brick_cut_at(const int64_t *load, int64_t bins, double atoms) {
    double sum = 0;
    for (int64_t b = 0; b < bins; b++) {
        const double here = (double)load[b];
        if (here > 0 && sum + here >= atoms)
            return ((double)b + (atoms - sum) / here) / (double)bins;
        sum += here;
    }
    return 1;
}

/* Cuts between which there are equally many atoms along each axis, but no brick is
 * thinner than the reach. They stay where they are if no layer of bricks has 2 percent
 * more than its part. load: of all bricks. */
PITH_KERNEL(brick_balance,
            over(d, 3),
            in(i64, load, "[3,bins]"),
            in(f64, cuts, "[3,edges]"),
            in(f64, box, "[3]"),
            in(i64, parts, "[3]"),
            value(f64, distance),
            size(bins),
            size(edges),
            out(f64, moved, "[3,edges]")) {
    const int64_t *along = &load[d * bins], n = parts[d];
    const double *old = &cuts[d * edges];
    const double least = brick_reach(distance, box) / box[d];
    const double all = brick_below(along, bins, 1), share = all / (double)n;
    double *cut = &moved[d * edges], most = 0;
    for (int64_t k = 0; k < n; k++) {
        const double here =
            brick_below(along, bins, old[k + 1]) - brick_below(along, bins, old[k]);
        most = here > most ? here : most;
    }
    for (int64_t k = 0; k < edges; k++)
        cut[k] = old[k];
    for (int64_t k = 1; k < n && most > 1.02 * share; k++) {
        const double low = cut[k - 1] + least, high = 1 - (double)(n - k) * least;
        const double x = brick_cut_at(along, bins, share * (double)k);
        cut[k] = x < low ? low : x > high ? high : x;
    }
}

#endif
