/* The kernels of the melt: velocity Verlet for atoms with a truncated Lennard-Jones
 * potential, in a periodic box with corners at 0 and box.
 *
 * Atoms are in the order of cells of the box, so that neighbours in space are close in
 * memory. Neighbour lists are full and hold every pair within cutoff + skin. An entry is
 * the index of the atom and, above IMAGE_SHIFT, its nearest image. Entries are in groups
 * of PITH_LANES with the same image, padded with the atom itself. So the inner sums run
 * in lanes, and each group needs one shift.
 *
 * Atoms may leave the box between two rebuilds, so that images remain valid.
 *
 * If a check fails, or cells or lists do not fit, results are wrong but safe to use: the
 * next kernels run on them before the failure is reported.
 *
 * A step is melt_drift, a rebuild if its stale is 1, and melt_force. A rebuild is
 * melt_cells, melt_fold, an argsort of the cells, melt_sort and melt_neighbours; the
 * folded positions are the new origin. melt_force with dt 0 gives the forces of the first
 * step.
 */
#ifndef MELT_KERNELS_H
#define MELT_KERNELS_H

#include "melt_pair.h"

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

/* Cells for the search of neighbours nearer than `distance`: two to each side, or wider
 * cells if there would be more cells than `atoms`. */
PITH_KERNEL(melt_cells,
            over(i, 1),
            in(f64, box, "[3]"),
            value(f64, distance),
            value(i64, atoms),
            out(i64, grid, "[3]"),
            out(i64, cells, "[]")) {
    double width = distance * 0.502;
    melt_grid g = {1, 1, 1};
    for (int d = 0; d < 3; d++)
        grid[d] = 1;
    *cells = 1;
    for (int d = 0; d < 3;
         d++) /* otherwise an atom is its own neighbour, or cells overflow */
        pith_require(box[d] > distance && box[d] < 1e9 * distance, d);
    do {
        g = melt_grid_of(box, width);
        width *= 1.25;
    } while ((double)g.nx * (double)g.ny * (double)g.nz >
             (double)(atoms > 1 ? atoms : 1));
    grid[0] = g.nx;
    grid[1] = g.ny;
    grid[2] = g.nz;
    *cells = g.nx * g.ny * g.nz;
}

/* Fold an atom into the box and find its cell of the grid. If there are more cells than
 * max_cells, the cell is arbitrary. */
PITH_KERNEL(melt_fold,
            over(i, n),
            in(real, position, "[n,3]"),
            in(f64, box, "[3]"),
            in(i64, grid, "[3]"),
            extent(max_cells),
            out(real, folded, "[n,3]"),
            out(i32, cell, "[n]")) {
    int64_t place = 0;
    cell[i] =
        (int32_t)(i % max_cells); /* arbitrary for a lost atom, as is its position */
    for (int d = 0; d < 3; d++)
        folded[3 * i + d] = 0;
    for (int d = 0; d < 3; d++) {
        const pith_real length = (pith_real)box[d];
        pith_real x = position[3 * i + d];
        x -= length * pith_real_floor(x / length);
        x = x < length ? x : x - length;       /* rounding may give the length itself */
        pith_require(x >= 0 && x < length, i); /* false for a lost atom: NaN */
        const int64_t c = (int64_t)(x / length * (pith_real)grid[d]);
        folded[3 * i + d] = x;
        place = place * grid[d] + (c < grid[d] ? c : grid[d] - 1);
    }
    cell[i] = (int32_t)(place % max_cells);
}

/* Sort atoms by cells, and find the start of each cell. axes is a copy of the positions
 * in low precision, x, y and z apart and padded by a group of lanes, for the search of
 * neighbours. order sorts cell. */
PITH_KERNEL(melt_sort,
            over(k, n),
            in(i32, cell, "[n]"),
            in(i64, order, "[n]"),
            in(real, folded, "[n,3]"),
            in(real, velocity, "[n,3]"),
            in(i32, id, "[n]"),
            size(n),
            extent(max_cells),
            out(i32, start, "[max_cells+1]"),
            out(f32, axes, "[3,n+8]", 0),
            out(real, position, "[n,3]"),
            out(real, sorted_velocity, "[n,3]"),
            out(i32, sorted_id, "[n]")) {
    const int64_t from = order[k], last = cell[order[n - 1]];
    const int64_t here = cell[from], before = k > 0 ? cell[order[k - 1]] : -1;
    for (int64_t c = before + 1; c <= here; c++)
        start[c] = (int32_t)k;
    /* empty cells after the last atom are distributed over all indices */
    for (int64_t c = last + 1 + k; c <= max_cells; c += n)
        start[c] = (int32_t)n;
    for (int64_t d = 0; d < 3; d++) {
        position[3 * k + d] = folded[3 * from + d];
        axes[d * (n + 8) + k] = (float)folded[3 * from + d];
        sorted_velocity[3 * k + d] = velocity[3 * from + d];
    }
    sorted_id[k] = id[from];
}

/* Number of cells to each side that may hold an atom nearer than `distance`. The margin
 * is far larger than the effect of rounding on cells. */
PITH_HD int64_t melt_reach(double distance, double length, int64_t cells) {
    return (int64_t)(distance / length * (double)cells * 1.001 + 0.001) + 1;
}

/* The part of these cells in one image of the box along an axis: -1, 0 or 1. */
typedef struct melt_cell_range {
    int64_t first, last;
} melt_cell_range;

PITH_HD melt_cell_range melt_cells_in_image(int64_t cell,
                                            int64_t reach,
                                            int64_t cells,
                                            int image) {
    const int64_t first = cell - reach - image * cells;
    const int64_t last = cell + reach - image * cells;
    melt_cell_range range;
    range.first = first > 0 ? first : 0;
    range.last = last < cells ? last : cells - 1;
    return range;
}

/* A growing list. `found` counts entries beyond `room` too: it is the need. */
typedef struct melt_row {
    int32_t *entries;
    int64_t found, room;
} melt_row;

PITH_HD void
melt_append(melt_row *row, const int32_t *entry, const float *r2, float limit) {
    if (row->found + PITH_LANES <= row->room) {
        row->found = pith_append_below(row->entries, row->found, entry, r2, limit);
        return;
    }
    for (int64_t q = 0, at = row->found; q < PITH_LANES && at < row->room; q++)
        if (r2[q] < limit)
            row->entries[at++] = entry[q];
    row->found += pith_count_below(r2, limit);
}

/* Pad the last group of an image. */
PITH_HD void melt_fill_group(melt_row *row, int32_t filler) {
    const int64_t first = row->found / PITH_LANES * PITH_LANES;
    const int64_t begun = row->found - first;
    int32_t *group = row->entries + first;
    if (begun == 0)
        return;
    if (row->found < row->room)
        pith_each_lane(q) group[q] = q < begun ? group[q] : filler;
    row->found = first + PITH_LANES;
}

/* Candidates: atoms of one image that may be neighbours of the atoms of a cell. Lists do
 * not depend on the size of this buffer. It is smaller on CUDA, where each thread has a
 * buffer in local memory. */
#ifdef __CUDACC__
enum { MELT_ROOM = 32 };
#else
enum { MELT_ROOM = 256 };
#endif
typedef struct melt_candidates {
    float x[MELT_ROOM + PITH_LANES], y[MELT_ROOM + PITH_LANES], z[MELT_ROOM + PITH_LANES];
    int32_t entry[MELT_ROOM + PITH_LANES];
    int64_t count;
} melt_candidates;

/* Search for neighbours of the atoms of one cell: first to end - 1. */
typedef struct melt_search {
    const int32_t *start;   /* of the cells */
    const float *x, *y, *z; /* of the atoms */
    const double *box;
    melt_grid grid;
    int64_t first, end, room;
    float limit;                /* square of the distance */
    int32_t *neighbour, *count; /* of the atoms, as they grow */
} melt_search;

/* Append the candidates within the distance to the lists of the cell's atoms, and clear
 * the candidates. The last group is padded with distant positions. */
PITH_HD void melt_test(const melt_search *s, melt_candidates *c) {
    pith_each_lane(q) {
        c->x[c->count + q] = 1e30f;
        c->y[c->count + q] = c->z[c->count + q] = 0;
        c->entry[c->count + q] = 0;
    }
    for (int64_t k = s->first; k < s->end; k++) {
        const float x = s->x[k], y = s->y[k], z = s->z[k];
        melt_row row = {&s->neighbour[k * s->room], s->count[k], s->room};
        for (int64_t g = 0; g < c->count; g += PITH_LANES) {
            float r2[PITH_LANES];
            pith_each_lane(q) {
                const float dx = x - c->x[g + q], dy = y - c->y[g + q];
                const float dz = z - c->z[g + q];
                r2[q] = dx * dx + dy * dy + dz * dz;
            }
            melt_append(&row, &c->entry[g], r2, s->limit);
        }
        s->count[k] = (int32_t)row.found;
    }
    c->count = 0;
}

/* Search one image of the box, 0 to 2 for -1 to 1 lengths along each axis. The cell index
 * runs over z fastest, so cells of one x and y are one range of atoms. */
PITH_HD void melt_search_image(const melt_search *s,
                               melt_candidates *c,
                               const melt_cell_range *range,
                               const int *image) {
    const int32_t tag = IMAGE(image[0], image[1], image[2]) << IMAGE_SHIFT;
    const float x = (float)(s->box[0] * (image[0] - 1));
    const float y = (float)(s->box[1] * (image[1] - 1));
    const float z = (float)(s->box[2] * (image[2] - 1));
    for (int64_t a = range[0].first; a <= range[0].last; a++)
        for (int64_t b = range[1].first; b <= range[1].last; b++) {
            const int32_t *column = &s->start[(a * s->grid.ny + b) * s->grid.nz];
            const int64_t end = column[range[2].last + 1];
            for (int64_t j = column[range[2].first]; j < end; j += PITH_LANES) {
                if (c->count > MELT_ROOM - PITH_LANES)
                    melt_test(s, c);
                const int64_t to = c->count;
                pith_each_lane(q) {
                    c->x[to + q] = s->x[j + q] + x;
                    c->y[to + q] = s->y[j + q] + y;
                    c->z[to + q] = s->z[j + q] + z;
                    c->entry[to + q] = (int32_t)j + (int32_t)q + tag;
                }
                c->count += end - j < PITH_LANES ? end - j : PITH_LANES;
            }
        }
    melt_test(s, c);
    for (int64_t k = s->first; k < s->end; k++) {
        melt_row row = {&s->neighbour[k * s->room], s->count[k], s->room};
        melt_fill_group(&row, (int32_t)k + tag);
        s->count[k] = (int32_t)row.found;
    }
}

/* Search the images that have cells near this one. */
PITH_HD void melt_search_cell(const melt_search *s, int64_t cell, double distance) {
    const melt_grid g = s->grid;
    const int64_t at[3] = {cell / (g.ny * g.nz), cell / g.nz % g.ny, cell % g.nz};
    const int64_t reach[3] = {melt_reach(distance, s->box[0], g.nx),
                              melt_reach(distance, s->box[1], g.ny),
                              melt_reach(distance, s->box[2], g.nz)};
    melt_candidates c;
    melt_cell_range near[3];
    c.count = 0;
    for (int x = 0; x < 3; x++) {
        near[0] = melt_cells_in_image(at[0], reach[0], g.nx, x - 1);
        for (int y = 0; y < 3 && near[0].first <= near[0].last; y++) {
            near[1] = melt_cells_in_image(at[1], reach[1], g.ny, y - 1);
            for (int z = 0; z < 3 && near[1].first <= near[1].last; z++) {
                const int image[3] = {x, y, z};
                near[2] = melt_cells_in_image(at[2], reach[2], g.nz, z - 1);
                if (near[2].first <= near[2].last)
                    melt_search_image(s, &c, near, image);
            }
        }
    }
}

/* Lists of the atoms of one cell. `most` is the need of the longest list. Lists are
 * truncated at the capacity, and empty if the cells do not fit. */
PITH_KERNEL(melt_neighbours,
            over(c, max_cells),
            in(i32, start, "[max_cells+1]"),
            in(f32, axes, "[3,n+8]"),
            in(f64, box, "[3]"),
            in(i64, grid, "[3]"),
            value(f64, distance), /* cutoff + skin; less than any side of the box */
            size(n),
            size(max_cells),
            extent(max_neighbours), /* a multiple of PITH_LANES */
            out(i32, neighbour, "[n,max_neighbours]"),
            out(i32, count, "[n]"),
            out(i64, most, "[]", 0)) {
    const int64_t first = start[c], end = start[c + 1], stride = n + 8;
    const double reach = distance + 1e-6 * (distance + box[0] + box[1] + box[2]);
    const melt_grid g = {grid[0], grid[1], grid[2]};
    int64_t longest = 0;
    for (int64_t k = first; k < end; k++)
        count[k] = 0;
    pith_require(distance < box[0] && distance < box[1] && distance < box[2], 0);
    pith_require(max_neighbours % PITH_LANES == 0, max_neighbours);
    pith_require(n <= ATOM_MASK, n);
    const melt_search s = {
        start,     axes, axes + stride,  axes + 2 * stride,      box, g,
        first,     end,  max_neighbours, (float)(reach * reach), /* f32 loses no pair */
        neighbour, count};
    if (first < end && g.nx * g.ny * g.nz <= max_cells)
        melt_search_cell(&s, c, distance);
    for (int64_t k = first; k < end; k++) {
        longest = count[k] > longest ? count[k] : longest;
        if (count[k] > max_neighbours)
            count[k] = (int32_t)max_neighbours;
        for (int64_t e = count[k]; e < max_neighbours;
             e++) /* so that saved rows do not depend on old content */
            neighbour[k * max_neighbours + e] = -1;
    }
    if (longest > 0)
        pith_atomic_max(most, longest);
}

/* Force on an atom from its list, and the second half of its kick. */
PITH_KERNEL(melt_force,
            over(i, n),
            in(real, position, "[n,3]"),
            in(real, velocity, "[n,3]"),
            in(i32, neighbour, "[n,max_neighbours]"),
            in(i32, count, "[n]"),
            in(f64, box, "[3]"),
            value(real, cutoff),
            value(real, dt),
            size(max_neighbours),
            out(real, force, "[n,3]"),
            out(real, kicked, "[n,3]")) {
    melt_force_at(i, position, velocity, &neighbour[i * max_neighbours], count[i], box,
                  cutoff, dt, force, kicked);
}

/* The first half of the kick, and the drift, in a box whose sides and atoms are scaled by
 * `scale` to `box`. stale becomes 1 if the lists may lack a pair within cutoff. The lists
 * have all pairs within cutoff + skin, of atoms at `origin` in the box `listed`. A pair
 * comes nearer as the box shrinks and as either atom moves. */
PITH_KERNEL(melt_drift,
            over(i, n),
            in(real, position, "[n,3]"),
            in(real, velocity, "[n,3]"),
            in(real, force, "[n,3]"),
            in(real, origin, "[n,3]"),
            in(f64, box, "[3]"),
            in(f64, listed, "[3]"),
            value(real, dt),
            value(real, scale),
            value(f64, cutoff),
            value(f64, skin),
            out(real, moved, "[n,3]"),
            out(real, kicked, "[n,3]"),
            out(i32, stale, "[]", 0)) {
    const pith_real half = dt / 2;
    pith_real away = 0;
    double least = 1;
    for (int d = 0; d < 3; d++) {
        const double f = box[d] / listed[d];
        const pith_real v = velocity[3 * i + d] + half * force[3 * i + d];
        const pith_real x = scale * (position[3 * i + d] + dt * v);
        const pith_real e = x - (pith_real)f * origin[3 * i + d];
        kicked[3 * i + d] = v;
        moved[3 * i + d] = x;
        away += e * e;
        least = f < least ? f : least;
    }
    const pith_real slack = (pith_real)((skin - (1 - least) * (cutoff + skin)) / 2);
    if (!(slack > 0 && away <= slack * slack))
        pith_atomic_max(stale, 1);
}

/* Contribution of an atom to the potential energy, the virial and the kinetic energy. */
PITH_KERNEL(melt_observe,
            over(i, n),
            in(real, position, "[n,3]"),
            in(real, velocity, "[n,3]"),
            in(i32, neighbour, "[n,max_neighbours]"),
            in(i32, count, "[n]"),
            in(f64, box, "[3]"),
            value(real, cutoff),
            size(max_neighbours),
            out(f64, energy, "[n]"),
            out(f64, virial, "[n]"),
            out(f64, kinetic, "[n]")) {
    const int clash =
        melt_observe_at(i, position, velocity, &neighbour[i * max_neighbours], count[i],
                        box, cutoff, energy, virial, kinetic);
    pith_require(!clash, i); /* two atoms at the same position */
}

#endif
