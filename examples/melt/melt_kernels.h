/* The kernels of the melt: velocity Verlet for atoms with a truncated Lennard-Jones
 * potential, in a periodic box with corners at 0 and box.
 *
 * The atoms of one program are all of the box, or on several ranks those of a part of it,
 * the brick, and copies of the atoms around it, ghosts. Rows of own atoms come first,
 * `count` of them in use, then rows of ghosts. Both have their places in the box.
 *
 * Atoms are in the order of cells of the box, so that neighbours in space are close in
 * memory. The grid of cells is that of the whole box. A program holds a window of it: the
 * cells of its part, and those within reach. Neighbour lists are full and hold every pair
 * within cutoff + skin. An entry is the row of the atom and, above IMAGE_SHIFT, its
 * nearest image. Entries are in groups of PITH_LANES with the same image, padded with the
 * atom itself. So the inner sums run in lanes, and each group needs one shift.
 *
 * A list has its atoms in the order of images, cells, and numbers of atoms. So it is the
 * same list, and a force the same sum, whichever program has the atom.
 *
 * Atoms may leave the box between two rebuilds, so that images remain valid.
 *
 * If a check fails, or cells or lists do not fit, results are wrong but safe to use: the
 * next kernels run on them before the failure is reported.
 *
 * A step is melt_drift, a rebuild if its stale is 1, and melt_force. A rebuild is
 * melt_cells, melt_fold, an argsort of the cells, melt_sort and melt_neighbours; the
 * folded positions are the new origin. A brick has brick_settle and brick_merge instead
 * of melt_fold and melt_sort (brick_kernels.h). melt_force with dt 0 gives the forces of
 * the first step.
 */
#ifndef MELT_KERNELS_H
#define MELT_KERNELS_H

#include "melt_cells.h"
#include "melt_pair.h"

/* Cells for the search of neighbours nearer than `distance`: two to each side, or wider
 * cells if there would be more cells than `atoms`. part: the part of the box whose atoms
 * the program has, in fractions of the sides. cells: those in the window. */
PITH_KERNEL(melt_cells,
            over(i, 1),
            in(f64, box, "[3]"),
            in(f64, part, "[3,2]"),
            value(f64, distance),
            value(i64, atoms),
            out(i64, grid, "[3]"),
            out(i64, window, "[9]"),
            out(i64, cells, "[]")) {
    double width = distance * 0.502;
    melt_grid g = {1, 1, 1};
    for (int d = 0; d < 3; d++) {
        grid[d] = 1;
        melt_window_of(0, 1, 0, 1, &window[WINDOW_SIZE * d]);
    }
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
    for (int d = 0; d < 3; d++) { /* one cell more: rounding may move an atom by one */
        const int64_t reach = melt_reach(distance, box[d], grid[d]) + 1;
        melt_window_of(part[2 * d], part[2 * d + 1], reach, grid[d],
                       &window[WINDOW_SIZE * d]);
        *cells *= window[WINDOW_SIZE * d + WINDOW_COUNT];
    }
}

/* Fold an atom into the box and find its cell of the window. If there are more cells than
 * max_cells, the cell is arbitrary. */
PITH_KERNEL(melt_fold,
            over(i, n),
            in(real, position, "[n,3]"),
            in(f64, box, "[3]"),
            in(i64, grid, "[3]"),
            in(i64, window, "[9]"),
            value(i64, max_cells),
            out(real, folded, "[n,3]"),
            out(i32, cell, "[n]")) {
    for (int d = 0; d < 3; d++)
        folded[3 * i + d] = 0;
    cell[i] = (int32_t)(i % max_cells); /* of a lost atom */
    for (int d = 0; d < 3; d++) {
        const pith_real length = (pith_real)box[d];
        const pith_real x = melt_folded(position[3 * i + d], length);
        pith_require(x >= 0 && x < length, i);
        folded[3 * i + d] = x;
    }
    const int64_t place = melt_cell_of(&folded[3 * i], box, grid, window);
    pith_require(place >= 0, i);
    cell[i] = (int32_t)(place % max_cells);
}

/* Sort atoms by cells, and by number in a cell; order sorts cell. row: of the atom at
 * each place. axes: its position in low precision, x, y and z apart. Both are padded by a
 * group of lanes, for the search of neighbours. */
PITH_KERNEL(melt_sort,
            over(k, m),
            in(i32, cell, "[m]"),
            in(i64, order, "[m]"),
            in(i32, id, "[m]"),
            in(real, folded, "[m,3]"),
            in(i64, cells, "[]"),
            size(m),
            extent(max_cells),
            out(i32, start, "[max_cells+2]"), /* of each cell, and of rows not in use */
            out(f32, axes, "[3,m+8]"),
            out(i32, row, "[m+8]")) {
    const int64_t from = order[k], here = cell[from];
    melt_start_cells(k, m, k > 0 ? cell[order[k - 1]] : -1, here, cell[order[m - 1]],
                     max_cells, start);
    const int64_t place = here < max_cells && *cells <= max_cells
                              ? melt_place_in_cell(k, m, cell, order, id)
                              : k;
    for (int64_t d = 0; d < 3; d++)
        axes[d * (m + 8) + place] = (float)folded[3 * from + d];
    row[place] = (int32_t)from;
    for (int64_t q = m + k; q < m + PITH_LANES; q += m) { /* the padding */
        row[q] = 0;
        for (int64_t d = 0; d < 3; d++)
            axes[d * (m + 8) + q] = 0;
    }
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

/* Search for neighbours of the own atoms of one cell, which has the places first to
 * end - 1. */
typedef struct melt_search {
    const int32_t *start;   /* of the cells */
    const float *x, *y, *z; /* of the atoms, by place */
    const int32_t *row;
    const double *box;
    const int64_t *grid, *window;
    int64_t first, end;
    int64_t own, room;          /* rows of own atoms, and entries of a list */
    float limit;                /* square of the distance */
    int32_t *neighbour, *count; /* of the rows, as they grow */
} melt_search;

/* The list of an atom. */
PITH_HD melt_row melt_row_of(const melt_search *s, int32_t row) {
    melt_row r = {&s->neighbour[row * s->room], s->count[row], s->room};
    return r;
}

/* Append the candidates within the distance to the lists of the cell's own atoms, and
 * clear the candidates. The last group is padded with distant positions. */
PITH_HD void melt_test(const melt_search *s, melt_candidates *c) {
    pith_each_lane(q) {
        c->x[c->count + q] = 1e30f;
        c->y[c->count + q] = c->z[c->count + q] = 0;
        c->entry[c->count + q] = 0;
    }
    for (int64_t k = s->first; k < s->end; k++) {
        const float x = s->x[k], y = s->y[k], z = s->z[k];
        const int32_t i = s->row[k];
        if (i >= s->own)
            continue;
        melt_row row = melt_row_of(s, i);
        for (int64_t g = 0; g < c->count; g += PITH_LANES) {
            float r2[PITH_LANES];
            pith_each_lane(q) {
                const float dx = x - c->x[g + q], dy = y - c->y[g + q];
                const float dz = z - c->z[g + q];
                r2[q] = dx * dx + dy * dy + dz * dz;
            }
            melt_append(&row, &c->entry[g], r2, s->limit);
        }
        s->count[i] = (int32_t)row.found;
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
    /* cells of an image that are next to each other are so in the window */
    const int64_t *wx = s->window, *wy = wx + WINDOW_SIZE, *wz = wy + WINDOW_SIZE;
    const int64_t ny = wy[WINDOW_COUNT], nz = wz[WINDOW_COUNT];
    const int32_t *plane = s->start +
                           (melt_place_in_window(wx, range[0].first) * ny +
                            melt_place_in_window(wy, range[1].first)) *
                               nz +
                           melt_place_in_window(wz, range[2].first);
    const int64_t cells = range[2].last - range[2].first + 1;
    for (int64_t a = range[0].first; a <= range[0].last; a++, plane += ny * nz) {
        const int32_t *column = plane;
        for (int64_t b = range[1].first; b <= range[1].last; b++, column += nz)
            for (int64_t j = column[0], end = column[cells]; j < end; j += PITH_LANES) {
                if (c->count > MELT_ROOM - PITH_LANES)
                    melt_test(s, c);
                const int64_t to = c->count;
                pith_each_lane(q) {
                    c->x[to + q] = s->x[j + q] + x;
                    c->y[to + q] = s->y[j + q] + y;
                    c->z[to + q] = s->z[j + q] + z;
                    c->entry[to + q] = s->row[j + q] + tag;
                }
                c->count += end - j < PITH_LANES ? end - j : PITH_LANES;
            }
    }
    melt_test(s, c);
    for (int64_t k = s->first; k < s->end; k++) {
        const int32_t i = s->row[k];
        if (i >= s->own)
            continue;
        melt_row row = melt_row_of(s, i);
        melt_fill_group(&row, i + tag);
        s->count[i] = (int32_t)row.found;
    }
}

/* Search the images that have cells near this one, which is at a place of the window. */
PITH_HD void melt_search_cell(const melt_search *s, int64_t place, double distance) {
    const int64_t *wx = s->window, *wy = wx + WINDOW_SIZE, *wz = wy + WINDOW_SIZE;
    const int64_t ny = wy[WINDOW_COUNT], nz = wz[WINDOW_COUNT];
    const int64_t at[3] = {melt_cell_in_window(wx, place / (ny * nz)),
                           melt_cell_in_window(wy, place / nz % ny),
                           melt_cell_in_window(wz, place % nz)};
    int64_t reach[3];
    melt_candidates c;
    melt_cell_range near[3];
    for (int d = 0; d < 3; d++)
        reach[d] = melt_reach(distance, s->box[d], s->grid[d]);
    c.count = 0;
    for (int x = 0; x < 3; x++) {
        near[0] = melt_cells_in_image(at[0], reach[0], s->grid[0], x - 1);
        for (int y = 0; y < 3 && near[0].first <= near[0].last; y++) {
            near[1] = melt_cells_in_image(at[1], reach[1], s->grid[1], y - 1);
            for (int z = 0; z < 3 && near[1].first <= near[1].last; z++) {
                const int image[3] = {x, y, z};
                near[2] = melt_cells_in_image(at[2], reach[2], s->grid[2], z - 1);
                if (near[2].first <= near[2].last)
                    melt_search_image(s, &c, near, image);
            }
        }
    }
}

/* Lists of the own atoms of one cell of the window; the last cell is that of rows not in
 * use. `most` is the need of the longest list. Lists are truncated at the capacity, and
 * empty if the cells do not fit. */
PITH_KERNEL(melt_neighbours,
            over(c, held), /* max_cells + 1 */
            in(i32, start, "[held+1]"),
            in(f32, axes, "[3,m+8]"),
            in(i32, row, "[m+8]"),
            in(f64, box, "[3]"),
            in(i64, grid, "[3]"),
            in(i64, window, "[9]"),
            value(f64, distance), /* cutoff + skin; less than any side of the box */
            size(m),
            size(held),
            extent(n),
            extent(max_neighbours), /* a multiple of PITH_LANES */
            out(i32, neighbour, "[n,max_neighbours]"),
            out(i32, count, "[n]"),
            out(i64, most, "[]", 0)) {
    const int64_t first = start[c], end = start[c + 1], stride = m + 8;
    const double reach = melt_with_margin(distance, box);
    const int64_t cells = window[WINDOW_COUNT] * window[WINDOW_SIZE + WINDOW_COUNT] *
                          window[2 * WINDOW_SIZE + WINDOW_COUNT];
    int64_t longest = 0, own = 0;
    for (int64_t k = first; k < end; k++)
        if (row[k] < n) {
            count[row[k]] = 0;
            own++;
        }
    pith_require(distance < box[0] && distance < box[1] && distance < box[2], 0);
    pith_require(max_neighbours % PITH_LANES == 0, max_neighbours);
    pith_require(m <= ATOM_MASK, m);
    const melt_search s = {start,
                           axes,
                           axes + stride,
                           axes + 2 * stride,
                           row,
                           box,
                           grid,
                           window,
                           first,
                           end,
                           n,
                           max_neighbours,
                           (float)(reach * reach), /* f32 loses no pair */
                           neighbour,
                           count};
    if (own > 0 && c < cells && cells < held)
        melt_search_cell(&s, c, distance);
    for (int64_t k = first; k < end; k++) {
        const int64_t i = row[k];
        if (i >= n)
            continue;
        longest = count[i] > longest ? count[i] : longest;
        if (count[i] > max_neighbours)
            count[i] = (int32_t)max_neighbours;
        for (int64_t e = count[i]; e < max_neighbours;
             e++) /* so that saved rows do not depend on old content */
            neighbour[i * max_neighbours + e] = -1;
    }
    if (longest > 0)
        pith_atomic_max(most, longest);
}

/* Force on an own atom from its list, and the second half of its kick. */
PITH_KERNEL(melt_force,
            over(i, n),
            in(real, position, "[m,3]"),
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

/* Contribution of an own atom to the potential energy, the virial and the kinetic
 * energy. */
PITH_KERNEL(melt_observe,
            over(i, n),
            in(real, position, "[m,3]"),
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
