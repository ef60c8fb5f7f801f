/* The kernels of the melt: velocity Verlet for atoms with a Lennard-Jones potential, cut
 * off, in a periodic box with corners at 0 and box.
 *
 * Neighbour lists are full and hold every pair within cutoff + skin. An entry is the
 * number of the atom and, above IMAGE_SHIFT, the image of it that is near. Entries come
 * in groups of PITH_LANES with one image each, filled up with the atom itself, so that
 * the inner sums run in lanes and shift one atom a group instead of every pair.
 *
 * Atoms drift out of the box between two rebuilds, so that images stay what they are.
 *
 * A step is melt_drift, a rebuild where its stale is 1, and melt_force. A rebuild is
 * melt_fold, an argsort of the cells, melt_cells and melt_neighbours; the folded
 * positions are the new origin. melt_force with dt 0 gives the forces of the first step.
 */
#ifndef MELT_KERNELS_H
#define MELT_KERNELS_H

#include <pith/kernel.h>

/* An image holds two bits an axis, 0 to 2 for -1 to 1 lengths of the box. */
#define IMAGE_SHIFT       25 /* so at most 2^25 atoms */
#define ATOM_MASK         ((1 << IMAGE_SHIFT) - 1)
#define IMAGE(x, y, z)    ((x) | (y) << 2 | (z) << 4)
#define IMAGE_ALONG(i, d) (((i) >> 2 * (d)&3) - 1)
#define OWN_IMAGE         IMAGE(1, 1, 1)

/* Cells along each axis. */
typedef struct melt_grid {
    int64_t nx, ny, nz;
} melt_grid;

/* The grid to search for neighbours nearer than `distance`: two cells to each side along
 * x and y, four along z, where they are runs in memory; and no more than two cells an
 * atom. */
PITH_HD melt_grid melt_grid_for(const double *box, double distance, int64_t atoms) {
    const double spacing =
        cbrt(box[0] * box[1] * box[2] / (double)(atoms > 0 ? atoms : 1));
    const double width = distance * 0.502 > spacing ? distance * 0.502 : spacing;
    melt_grid grid;
    grid.nx = box[0] > width ? (int64_t)(box[0] / width) : 1;
    grid.ny = box[1] > width ? (int64_t)(box[1] / width) : 1;
    grid.nz = 2 * box[2] > width ? (int64_t)(2 * box[2] / width) : 1;
    return grid;
}

/* Bring an atom back into the box and find its cell of nx by ny by nz. */
PITH_KERNEL(melt_fold,
            over(i, n),
            in(real, position, "[n,3]"),
            in(f64, box, "[3]"),
            extent(nx),
            extent(ny),
            extent(nz),
            out(real, folded, "[n,3]"),
            out(i32, cell, "[n]")) {
    const int64_t counts[3] = {nx, ny, nz};
    int64_t place = 0;
    for (int d = 0; d < 3; d++) {
        const pith_real length = (pith_real)box[d];
        pith_real x = position[3 * i + d];
        x -= length * pith_real_floor(x / length);
        x = x < length ? x : x - length; /* rounding may have given the length itself */
        pith_require(x >= 0 && x < length, i); /* not so where the atom is lost: NaN */
        const int64_t c = (int64_t)(x / length * (pith_real)counts[d]);
        folded[3 * i + d] = x;
        place = place * counts[d] + (c < counts[d] ? c : counts[d] - 1);
    }
    cell[i] = (int32_t)place;
}

/* Atoms in the order of their cells: where each cell starts, and the positions, with a
 * group of lanes to spare. order sorts cell, stably. */
PITH_KERNEL(melt_cells,
            over(k, n),
            in(i32, cell, "[n]"),
            in(i64, order, "[n]"),
            in(real, position, "[n,3]"),
            size(n),
            extent(cells),
            out(i32, start, "[cells+1]"),
            out(real, sorted, "[3,n+8]", 0),
            out(i32, sorted_atom, "[n+8]", 0)) {
    const int64_t here = cell[order[k]], before = k > 0 ? cell[order[k - 1]] : -1;
    for (int64_t c = before + 1; c <= here; c++)
        start[c] = (int32_t)k;
    if (k == n - 1)
        for (int64_t c = here + 1; c <= cells; c++)
            start[c] = (int32_t)n;
    sorted_atom[k] = (int32_t)order[k];
    for (int64_t d = 0; d < 3; d++)
        sorted[d * (n + 8) + k] = position[3 * order[k] + d];
}

/* Cells to each side of its own in which an atom may find another nearer than `distance`.
 * The margin is far beyond what rounding moves an atom between cells. */
PITH_HD int64_t melt_reach(double distance, double length, int64_t cells) {
    return (int64_t)(distance / length * (double)cells * 1.001 + 0.001) + 1;
}

/* Those of them that lie in one image of the box along an axis, -1, 0 or 1. */
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

/* A list as it grows. `found` goes on counting where `room` ends, for the need. */
typedef struct melt_row {
    int32_t *entries;
    int64_t found, room;
} melt_row;

PITH_HD void melt_append(melt_row *row, const int32_t *entry, const int32_t *keep) {
    if (row->found + PITH_LANES <= row->room) {
        row->found = pith_append_lanes(row->entries, row->found, entry, keep);
    } else {
        for (int q = 0; q < PITH_LANES; q++) {
            if (keep[q] && row->found < row->room)
                row->entries[row->found] = entry[q];
            row->found += keep[q];
        }
    }
}

/* Fill the last group of an image up. */
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

/* What the search of one atom's neighbours reads. */
typedef struct melt_search {
    const int32_t *start, *atom; /* of the cells; of the atoms in their order */
    const pith_real *x, *y, *z;  /* of the atoms in their order */
    int64_t ny, nz;              /* cells along y and z */
    pith_real limit;             /* square of the distance */
    pith_real at_x, at_y, at_z;  /* the atom, moved against the image */
    int64_t home;                /* its place in the order of cells */
    int64_t self;                /* the same in the own image, else -1 */
    int32_t tag;                 /* the image, as entries have it */
} melt_search;

/* Append what is near of the atoms first to end - 1 in the order of cells. */
PITH_HD void
melt_search_run(const melt_search *s, int64_t first, int64_t end, melt_row *row) {
    for (; first < end; first += PITH_LANES) {
        const int32_t left = (int32_t)(end - first);
        const int32_t self = (int32_t)(s->self - first);
        int32_t entry[PITH_LANES];
        int32_t keep[PITH_LANES];
        pith_each_lane(q) entry[q] = s->atom[first + q] | s->tag;
        pith_each_lane(q) {
            const int32_t lane = (int32_t)q;
            const pith_real dx = s->at_x - s->x[first + q],
                            dy = s->at_y - s->y[first + q];
            const pith_real dz = s->at_z - s->z[first + q];
            const pith_real r2 = dx * dx + dy * dy + dz * dz;
            keep[q] = (r2 < s->limit) & (lane < left) & (lane != self);
        }
        melt_append(row, entry, keep);
    }
}

/* Cells are numbered with z the fastest, so those of one x and y are one run of atoms. */
PITH_HD void melt_search_image(const melt_search *s,
                               melt_cell_range x,
                               melt_cell_range y,
                               melt_cell_range z,
                               melt_row *row) {
    for (int64_t a = x.first; a <= x.last; a++)
        for (int64_t b = y.first; b <= y.last; b++) {
            const int32_t *column = &s->start[(a * s->ny + b) * s->nz];
            melt_search_run(s, column[z.first], column[z.last + 1], row);
        }
    melt_fill_group(row, s->atom[s->home] | s->tag);
}

/* The list of the atom that is k-th in the order of cells. */
PITH_KERNEL(melt_neighbours,
            over(k, n),
            in(i32, cell, "[n]"),
            in(i32, start, "[cells+1]"),
            in(real, sorted, "[3,n+8]"),
            in(i32, sorted_atom, "[n+8]"),
            in(f64, box, "[3]"),
            value(f64, distance), /* cutoff + skin; less than any side of the box */
            size(n),
            extent(nx),
            extent(ny),
            extent(nz),
            extent(max_neighbours), /* a multiple of PITH_LANES */
            out(i32, neighbour, "[n,max_neighbours]"),
            out(i32, count, "[n]")) {
    const int64_t atom = sorted_atom[k], place = cell[atom], stride = n + 8;
    const int64_t x_cell = place / (ny * nz), y_cell = place / nz % ny;
    const int64_t z_cell = place % nz;
    const int64_t x_reach = melt_reach(distance, box[0], nx);
    const int64_t y_reach = melt_reach(distance, box[1], ny);
    const int64_t z_reach = melt_reach(distance, box[2], nz);
    melt_row row = {&neighbour[atom * max_neighbours], 0, max_neighbours};
    melt_search s;
    pith_require(distance < box[0] && distance < box[1] && distance < box[2], 0);
    pith_require(max_neighbours % PITH_LANES == 0, max_neighbours);
    pith_require(n <= ATOM_MASK, n);
    s.start = start, s.atom = sorted_atom, s.home = k;
    s.x = sorted, s.y = sorted + stride, s.z = sorted + 2 * stride;
    s.ny = ny, s.nz = nz;
    s.limit = (pith_real)(distance * distance * 1.00001); /* rounding loses no pair */
    for (int ix = 0; ix < 3; ix++) {
        const melt_cell_range a = melt_cells_in_image(x_cell, x_reach, nx, ix - 1);
        s.at_x = s.x[k] - (pith_real)box[0] * (pith_real)(ix - 1);
        for (int iy = 0; iy < 3 && a.first <= a.last; iy++) {
            const melt_cell_range b = melt_cells_in_image(y_cell, y_reach, ny, iy - 1);
            s.at_y = s.y[k] - (pith_real)box[1] * (pith_real)(iy - 1);
            for (int iz = 0; iz < 3 && b.first <= b.last; iz++) {
                const melt_cell_range c =
                    melt_cells_in_image(z_cell, z_reach, nz, iz - 1);
                const int image = IMAGE(ix, iy, iz);
                s.at_z = s.z[k] - (pith_real)box[2] * (pith_real)(iz - 1);
                s.self = image == OWN_IMAGE ? k : -1;
                s.tag = image << IMAGE_SHIFT;
                if (c.first <= c.last)
                    melt_search_image(&s, a, b, c, &row);
            }
        }
    }
    pith_require_capacity(max_neighbours, row.found);
    for (int64_t e = row.found; e < max_neighbours; e++) /* so saved rows are alike */
        neighbour[atom * max_neighbours + e] = -1;
    count[atom] = (int32_t)row.found;
}

/* Where an atom is for entries of each image: moved against it, along each axis. */
typedef struct melt_place {
    pith_real x[3], y[3], z[3];
} melt_place;

PITH_HD melt_place melt_place_of(const pith_real *position, const double *box) {
    melt_place p;
    for (int k = 0; k < 3; k++) {
        p.x[k] = position[0] - (pith_real)box[0] * (pith_real)(k - 1);
        p.y[k] = position[1] - (pith_real)box[1] * (pith_real)(k - 1);
        p.z[k] = position[2] - (pith_real)box[2] * (pith_real)(k - 1);
    }
    return p;
}

/* A group of entries: the atoms, what leads from each to the place, and the inverse of
 * the square of its length, which is 0 beyond the cutoff. */
typedef struct melt_group {
    int32_t atom[PITH_LANES];
    pith_real dx[PITH_LANES], dy[PITH_LANES], dz[PITH_LANES], s2[PITH_LANES];
} melt_group;

PITH_HD void melt_group_at(const melt_place *place,
                           const pith_real *position,
                           const int32_t *entry,
                           pith_real cut2,
                           melt_group *g) {
    const int image = entry[0] >> IMAGE_SHIFT;
    const pith_real x = place->x[image & 3], y = place->y[image >> 2 & 3];
    const pith_real z = place->z[image >> 4 & 3];
    pith_each_lane(q) g->atom[q] = entry[q] & ATOM_MASK;
    pith_gather_lanes(g->dx, position, g->atom, 3);
    pith_gather_lanes(g->dy, position + 1, g->atom, 3);
    pith_gather_lanes(g->dz, position + 2, g->atom, 3);
    pith_each_lane(q) {
        const pith_real dx = x - g->dx[q], dy = y - g->dy[q], dz = z - g->dz[q];
        const pith_real r2 = pith_real_fma(dx, dx, pith_real_fma(dy, dy, dz * dz));
        g->s2[q] = ((r2 < cut2) & (r2 > 0)) ? 1 / r2 : 0;
        g->dx[q] = dx;
        g->dy[q] = dy;
        g->dz[q] = dz;
    }
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
    const int32_t *row = &neighbour[i * max_neighbours];
    const melt_place place = melt_place_of(&position[3 * i], box);
    pith_lane_sum fx = {0}, fy = {0}, fz = {0};
    for (int64_t k = 0; k < count[i]; k += PITH_LANES) {
        melt_group g;
        pith_real f[PITH_LANES];
        melt_group_at(&place, position, row + k, cutoff * cutoff, &g);
        pith_each_lane(q) {
            const pith_real s2 = g.s2[q], s6 = s2 * s2 * s2;
            f[q] = s6 * s2 * pith_real_fma(48, s6, -24);
        }
        pith_add_products(&fx, f, g.dx);
        pith_add_products(&fy, f, g.dy);
        pith_add_products(&fz, f, g.dz);
    }
    const pith_real f[3] = {pith_total(&fx), pith_total(&fy), pith_total(&fz)};
    for (int d = 0; d < 3; d++) {
        force[3 * i + d] = f[d];
        kicked[3 * i + d] = velocity[3 * i + d] + dt / 2 * f[d];
    }
}

/* The first half of the kick, and the drift. stale becomes 1 where an atom is farther
 * than `slack` from where it was when the lists were made. */
PITH_KERNEL(melt_drift,
            over(i, n),
            in(real, position, "[n,3]"),
            in(real, velocity, "[n,3]"),
            in(real, force, "[n,3]"),
            in(real, origin, "[n,3]"),
            value(real, dt),
            value(real, slack),
            out(real, moved, "[n,3]"),
            out(real, kicked, "[n,3]"),
            out(i32, stale, "[]", 0)) {
    const pith_real half = dt / 2;
    pith_real away = 0;
    for (int d = 0; d < 3; d++) {
        const pith_real v = velocity[3 * i + d] + half * force[3 * i + d];
        const pith_real x = position[3 * i + d] + dt * v, e = x - origin[3 * i + d];
        kicked[3 * i + d] = v;
        moved[3 * i + d] = x;
        away += e * e;
    }
    if (!(away <= slack * slack))
        pith_atomic_max(stale, 1);
}

/* What an atom adds to the potential energy, the virial and the kinetic energy. */
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
    const int32_t *row = &neighbour[i * max_neighbours];
    const melt_place place = melt_place_of(&position[3 * i], box);
    double e[PITH_LANES] = {0}, w[PITH_LANES] = {0}, v2 = 0;
    int clash = 0;
    for (int64_t k = 0; k < count[i]; k += PITH_LANES) {
        melt_group g;
        melt_group_at(&place, position, row + k, cutoff * cutoff, &g);
        for (int q = 0; q < PITH_LANES; q++) {
            const double s2 = (double)g.s2[q], s6 = s2 * s2 * s2;
            e[q] += s6 * (4 * s6 - 4);
            w[q] += s6 * (48 * s6 - 24);
            clash |= (g.atom[q] != i) & (g.dx[q] == 0) & (g.dy[q] == 0) & (g.dz[q] == 0);
        }
    }
    pith_require(!clash, i); /* two atoms at one place */
    for (int d = 0; d < 3; d++) {
        const double v = (double)velocity[3 * i + d];
        v2 += v * v;
    }
    energy[i] = pith_sum_lanes(e) / 2;
    virial[i] = pith_sum_lanes(w) / 2;
    kinetic[i] = v2 / 2;
}

#endif
