/* The kernels of the melt on ranks, for the atoms of one brick of the box.
 *
 * Bricks are equal parts of the box, `parts` along each axis; `place` are the numbers of
 * this one. The first rows of an array of atoms are in use, `count` of them.
 *
 * Lists are built in a room around the brick: the brick with a border of one reach on
 * each side, in which copies of other bricks' atoms (ghosts) are, and another empty one,
 * so that melt_neighbours finds no pair across the room's own boundary.
 */
#ifndef MELT_BRICK_KERNELS_H
#define MELT_BRICK_KERNELS_H

#include "melt_pair.h"

/* Directions to the bricks around: three values an axis; SELF is none of them. */
enum { BRICK_WAYS = 27, BRICK_SELF = 13 };

PITH_HD int64_t brick_way_along(int64_t way, int d) { /* -1, 0 or 1 */
    const int64_t along[3] = {way / 9 - 1, way / 3 % 3 - 1, way % 3 - 1};
    return along[d];
}

/* Row-major, as ranks are numbered. */
PITH_HD int32_t brick_number(const int64_t *at, const int64_t *parts) {
    return (int32_t)((at[0] * parts[1] + at[1]) * parts[2] + at[2]);
}

/* Fold an atom into the box, and find the brick that it is in; -1: not in use. */
PITH_KERNEL(brick_owner,
            over(i, n),
            in(real, position, "[n,3]"),
            in(i64, count, "[]"),
            in(f64, box, "[3]"),
            in(i64, parts, "[3]"),
            out(real, folded, "[n,3]"),
            out(i32, owner, "[n]")) {
    int64_t at[3] = {0, 0, 0};
    owner[i] = -1;
    for (int d = 0; d < 3; d++)
        folded[3 * i + d] = 0;
    if (i < *count) {
        for (int d = 0; d < 3; d++) {
            const pith_real length = (pith_real)box[d];
            pith_real x = position[3 * i + d];
            x -= length * pith_real_floor(x / length);
            x = x < length ? x : x - length; /* rounding may give the length itself */
            pith_require(x >= 0 && x < length, i); /* false for a lost atom: NaN */
            folded[3 * i + d] = x;
            at[d] = (int64_t)(x / length * (pith_real)parts[d]);
            at[d] = at[d] < parts[d] ? at[d] : parts[d] - 1;
        }
        owner[i] = brick_number(at, parts);
    }
}

/* The bricks within `reach` of an atom: for each way the brick's number, or -1. across:
 * the lengths of the box to add to the atom there, three values an axis as in ways. */
PITH_KERNEL(brick_border,
            over(i, n),
            in(real, position, "[n,3]"),
            in(i64, count, "[]"),
            in(f64, box, "[3]"),
            in(i64, parts, "[3]"),
            in(i64, place, "[3]"),
            value(f64, reach),
            out(i32, brick, "[n,27]"),
            out(i32, across, "[n,27]")) {
    double low[3], high[3];
    for (int d = 0; d < 3; d++) { /* distances to both faces */
        const double width = box[d] / (double)parts[d];
        low[d] = (double)position[3 * i + d] - (double)place[d] * width;
        high[d] = width - low[d];
    }
    for (int64_t way = 0; way < BRICK_WAYS; way++) {
        int64_t at[3], code = 0;
        int near = i < *count && way != BRICK_SELF;
        for (int d = 0; d < 3; d++) {
            const int64_t step = brick_way_along(way, d);
            near &= step == 0 || (step < 0 ? low[d] : high[d]) <= reach;
            at[d] = place[d] + step;
            /* beyond the low face of the box, the copy is above its high face */
            code = 3 * code + (at[d] < 0 ? 2 : at[d] >= parts[d] ? 0 : 1);
            at[d] = at[d] < 0 ? parts[d] - 1 : at[d] >= parts[d] ? 0 : at[d];
        }
        brick[BRICK_WAYS * i + way] = near ? brick_number(at, parts) : -1;
        across[BRICK_WAYS * i + way] = (int32_t)code;
    }
}

/* What to add to a ghost's position. */
PITH_KERNEL(brick_shift,
            over(i, g),
            in(i32, across, "[g]"),
            in(f64, box, "[3]"),
            out(real, shift, "[g,3]")) {
    for (int d = 0; d < 3; d++)
        shift[3 * i + d] = (pith_real)((double)brick_way_along(across[i], d) * box[d]);
}

/* The room around the brick: its sides and its corner. */
PITH_KERNEL(brick_room,
            over(d, 3),
            in(f64, box, "[3]"),
            in(i64, parts, "[3]"),
            in(i64, place, "[3]"),
            value(f64, reach),
            out(f64, sides, "[3]"),
            out(f64, corner, "[3]")) {
    const double width = box[d] / (double)parts[d];
    sides[d] = width + 3.1 * reach;
    corner[d] = (double)place[d] * width - 1.05 * reach;
}

/* The cell of an atom in the room. Rows `n` on are ghosts. Atoms that are not in use are
 * in a cell of their own after all others. */
PITH_KERNEL(brick_cell,
            over(i, m),
            in(real, position, "[m,3]"),
            in(i64, count, "[]"),
            in(i64, ghosts, "[]"),
            in(f64, sides, "[3]"),
            in(f64, corner, "[3]"),
            in(i64, grid, "[3]"),
            value(i64, n),
            value(i64, max_cells),
            out(real, local, "[m,3]"),
            out(i32, cell, "[m]")) {
    const int used = i < n ? i < *count : i - n < *ghosts;
    int64_t place = 0;
    for (int d = 0; d < 3; d++) {
        const pith_real x = position[3 * i + d] - (pith_real)corner[d];
        const int inside = x >= 0 && (double)x < sides[d];
        pith_require(!used || inside, i); /* false for a lost atom */
        const int64_t c =
            used && inside ? (int64_t)((double)x / sides[d] * (double)grid[d]) : 0;
        local[3 * i + d] = used ? x : 0;
        place = place * grid[d] + (c < grid[d] ? c : grid[d] - 1);
    }
    cell[i] = (int32_t)(used ? place % max_cells : max_cells);
}

/* The lists of the brick's own atoms, from those of all atoms sorted by cells. rank: of
 * an atom in that order. */
PITH_KERNEL(brick_lists,
            over(i, n),
            in(i32, sorted, "[m,max_neighbours]"),
            in(i32, length, "[m]"),
            in(i64, rank, "[m]"),
            in(i64, order, "[m]"),
            in(i64, count, "[]"),
            extent(n),
            size(max_neighbours),
            out(i32, neighbour, "[n,max_neighbours]"),
            out(i32, listed, "[n]")) {
    const int64_t k = rank[i];
    const int32_t *from = &sorted[k * max_neighbours];
    int32_t *to = &neighbour[i * max_neighbours];
    listed[i] = i < *count ? length[k] : 0;
    for (int64_t e = 0; e < max_neighbours; e++)
        to[e] = e < listed[i]
                    ? (int32_t)order[from[e] & ATOM_MASK] | (from[e] & ~ATOM_MASK)
                    : -1;
}

/* As melt_force, of n own atoms among all. */
PITH_KERNEL(brick_force,
            over(i, n),
            in(real, position, "[m,3]"),
            in(real, velocity, "[n,3]"),
            in(i32, neighbour, "[n,max_neighbours]"),
            in(i32, listed, "[n]"),
            in(f64, box, "[3]"),
            value(real, cutoff),
            value(real, dt),
            size(max_neighbours),
            out(real, force, "[n,3]"),
            out(real, kicked, "[n,3]")) {
    melt_force_at(i, position, velocity, &neighbour[i * max_neighbours], listed[i], box,
                  cutoff, dt, force, kicked);
}

/* As melt_observe, of n own atoms among all. */
PITH_KERNEL(brick_observe,
            over(i, n),
            in(real, position, "[m,3]"),
            in(real, velocity, "[n,3]"),
            in(i32, neighbour, "[n,max_neighbours]"),
            in(i32, listed, "[n]"),
            in(f64, box, "[3]"),
            value(real, cutoff),
            size(max_neighbours),
            out(f64, energy, "[n]"),
            out(f64, virial, "[n]"),
            out(f64, kinetic, "[n]")) {
    const int clash =
        melt_observe_at(i, position, velocity, &neighbour[i * max_neighbours], listed[i],
                        box, cutoff, energy, virial, kinetic);
    pith_require(!clash, i); /* two atoms at the same position */
}

#endif
