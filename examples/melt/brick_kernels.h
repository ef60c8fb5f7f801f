/* The kernels of the melt on ranks, beside those of melt_kernels.h.
 *
 * Bricks are parts of the box, `parts` along each axis; `place` are the numbers of this
 * one. Along an axis they begin and end at cuts, in fractions of its side: 0, and so on
 * to 1. The first rows of an array of atoms are in use, `count` of them.
 */
#ifndef MELT_BRICK_KERNELS_H
#define MELT_BRICK_KERNELS_H

#include "melt_pair.h"

/* Bins of an axis in which atoms are counted. */
enum { BRICK_BINS = 512 };

/* Fold the atoms of a brick into the box. */
PITH_KERNEL(brick_fold,
            over(i, n),
            in(real, position, "[n,3]"),
            in(i64, count, "[]"),
            in(f64, box, "[3]"),
            out(real, folded, "[n,3]")) {
    for (int d = 0; d < 3; d++)
        folded[3 * i + d] = 0;
    if (i < *count)
        for (int d = 0; d < 3; d++) {
            const pith_real length = (pith_real)box[d];
            const pith_real x = melt_folded(position[3 * i + d], length);
            pith_require(x >= 0 && x < length, i); /* false for a lost atom: NaN */
            folded[3 * i + d] = x;
        }
}

/* The number of the brick that a folded atom is in: row-major, as ranks are numbered. */
PITH_HD int64_t brick_number(const pith_real *position,
                             const double *box,
                             const double *cuts,
                             int64_t edges,
                             const int64_t *parts) {
    int64_t number = 0;
    for (int64_t d = 0; d < 3; d++) {
        const double x = (double)position[d] / box[d];
        int64_t at = 0;
        while (at + 1 < parts[d] && x >= cuts[d * edges + at + 1])
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

/* Cells of a brick along each axis, in which its atoms are sorted. */
enum { BRICK_MOST_CELLS = 128 };
PITH_HD int64_t brick_cells_along(double width, double distance) {
    const double cells = 2 * width / distance;
    return cells < 1                  ? 1
           : cells < BRICK_MOST_CELLS ? (int64_t)cells
                                      : (int64_t)BRICK_MOST_CELLS;
}

/* The cell of an atom that belongs to the brick: of its first rows, or of those that have
 * come. Atoms that leave, and rows that are not in use, are in a cell behind all others.
 */
PITH_KERNEL(brick_cell,
            over(i, m), /* n + moved */
            in(real, position, "[n,3]"),
            in(i64, count, "[]"),
            in(i64, to, "[n]"),
            in(real, came, "[moved,3]"),
            in(i64, arrived, "[]"),
            in(f64, box, "[3]"),
            in(f64, part, "[3,2]"),
            value(f64, distance),
            size(n),
            size(moved),
            extent(m),
            out(i32, cell, "[m]")) {
    const int64_t k = i - n;
    const int used = k < 0 ? i < *count && to[i] < 0 : k < *arrived;
    const pith_real *x = k < 0 ? &position[3 * i] : &came[3 * k];
    int64_t place = 0, cells = 1;
    for (int64_t d = 0; d < 3; d++) {
        const double low = part[2 * d] * box[d], width = part[2 * d + 1] * box[d] - low;
        const int64_t along = brick_cells_along(width, distance);
        const double at = ((double)x[d] - low) / width * (double)along;
        const int64_t c = at > 0 ? (int64_t)at : 0; /* rounding */
        place = place * along + (c < along ? c : along - 1);
        cells *= along;
    }
    cell[i] = (int32_t)(used ? place : cells);
}

/* Atoms in an order of rows of the brick and of those that have come. */
PITH_KERNEL(brick_settle,
            over(k, n),
            in(i64, order, "[m]"),
            in(i64, count, "[]"), /* of those that belong to the brick */
            in(real, position, "[n,3]"),
            in(real, velocity, "[n,3]"),
            in(i32, id, "[n]"),
            in(real, came_position, "[moved,3]"),
            in(real, came_velocity, "[moved,3]"),
            in(i32, came_id, "[moved]"),
            size(n),
            out(real, settled, "[n,3]"),
            out(real, kept, "[n,3]"),
            out(i32, number, "[n]")) {
    const int64_t from = order[k], j = from - n;
    const pith_real *x = j < 0 ? &position[3 * from] : &came_position[3 * j];
    const pith_real *v = j < 0 ? &velocity[3 * from] : &came_velocity[3 * j];
    const int used = k < *count;
    for (int d = 0; d < 3; d++) {
        settled[3 * k + d] = used ? x[d] : 0;
        kept[3 * k + d] = used ? v[d] : 0;
    }
    number[k] = used ? (j < 0 ? id[from] : came_id[j]) : 0;
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

/* The bricks whose lists may have an atom: for each way to another brick its row and the
 * brick, or -1. The second of two bricks along an axis is on both sides of the first, and
 * gets an atom once: lists find its images. */
PITH_KERNEL(brick_border,
            over(i, n),
            in(real, position, "[n,3]"),
            in(i64, count, "[]"),
            in(f64, box, "[3]"),
            in(f64, part, "[3,2]"),
            in(i64, parts, "[3]"),
            in(i64, place, "[3]"),
            value(f64, distance),
            extent(ways), /* without way 0 */
            out(i64, row, "[n,ways]"),
            out(i64, brick, "[n,ways]")) {
    const double reach = brick_reach(distance, box);
    int below[3], above[3], any = 0;
    for (int d = 0; d < 3; d++) {
        const double x = (double)position[3 * i + d];
        below[d] = i < *count && x - part[2 * d] * box[d] <= reach;
        above[d] = i < *count && part[2 * d + 1] * box[d] - x <= reach;
        any |= parts[d] > 1 && (below[d] | above[d]);
    }
    for (int64_t w = 0; w < ways; w++) {
        row[ways * i + w] = i;
        brick[ways * i + w] = -1;
    }
    for (int64_t w = 0; any && w < ways; w++) {
        int64_t step[3], number = 0;
        int near = 1;
        brick_way(w + 1, parts, step);
        for (int d = 0; d < 3; d++) {
            const int close = parts[d] == 2 ? below[d] | above[d]
                              : step[d] < 0 ? below[d]
                                            : above[d];
            near &= step[d] == 0 || close;
            number = number * parts[d] + (place[d] + step[d] + parts[d]) % parts[d];
        }
        if (near)
            brick[ways * i + w] = number;
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
        const double x = (double)position[3 * i + d] / box[d];
        const int64_t bin = (int64_t)(x * (double)bins);
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
