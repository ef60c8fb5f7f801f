/* Atoms in the kernels of the melt: places in the box, images, groups of neighbours, and
 * what an atom has of its pairs. */
#ifndef MELT_PAIR_H
#define MELT_PAIR_H

#include <pith/kernel.h>

/* Fold a coordinate into the box. The result is out of range for a lost atom: NaN. */
PITH_HD pith_real melt_folded(pith_real x, pith_real length) {
    if (x >= 0 && x < length)
        return x;
    x -= length * pith_real_floor(x / length);
    return x < length ? x : x - length; /* rounding may give the length itself */
}

/* The distance of a search with a margin far larger than the rounding of positions. */
PITH_HD double melt_with_margin(double distance, const double *box) {
    return distance + 1e-6 * (distance + box[0] + box[1] + box[2]);
}

/* An image holds two bits an axis, 0 to 2 for -1 to 1 lengths of the box. */
#define IMAGE_SHIFT       25 /* so at most 2^25 atoms */
#define ATOM_MASK         ((1 << IMAGE_SHIFT) - 1)
#define IMAGE(x, y, z)    ((x) | (y) << 2 | (z) << 4)
#define IMAGE_ALONG(i, d) (((i) >> 2 * (d)&3) - 1)
#define OWN_IMAGE         IMAGE(1, 1, 1)

/* Positions of an atom relative to each image: shifted in the opposite direction along
 * each axis. */
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

/* A group of entries: the atoms, the vectors from them to the position, and the inverse
 * squared lengths, which are 0 beyond the cutoff. */
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
    pith_gather_rows(g->dx, g->dy, g->dz, position, g->atom);
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
PITH_HD void melt_force_at(int64_t i,
                           const pith_real *position,
                           const pith_real *velocity,
                           const int32_t *row,
                           int32_t count,
                           const double *box,
                           pith_real cutoff,
                           pith_real dt,
                           pith_real *force,
                           pith_real *kicked) {
    const melt_place place = melt_place_of(&position[3 * i], box);
    pith_lane_sum fx = {0}, fy = {0}, fz = {0};
    for (int64_t k = 0; k < count; k += PITH_LANES) {
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

/* Contribution of an atom to the potential energy, the virial and the kinetic energy.
 * Returns whether another atom is at the same position. */
PITH_HD int melt_observe_at(int64_t i,
                            const pith_real *position,
                            const pith_real *velocity,
                            const int32_t *row,
                            int32_t count,
                            const double *box,
                            pith_real cutoff,
                            double *energy,
                            double *virial,
                            double *kinetic) {
    const melt_place place = melt_place_of(&position[3 * i], box);
    double e[PITH_LANES] = {0}, w[PITH_LANES] = {0}, v2 = 0;
    int clash = 0;
    for (int64_t k = 0; k < count; k += PITH_LANES) {
        melt_group g;
        melt_group_at(&place, position, row + k, cutoff * cutoff, &g);
        for (int q = 0; q < PITH_LANES; q++) {
            const double s2 = (double)g.s2[q], s6 = s2 * s2 * s2;
            e[q] += s6 * (4 * s6 - 4);
            w[q] += s6 * (48 * s6 - 24);
            clash |= (g.atom[q] != i) & (g.dx[q] == 0) & (g.dy[q] == 0) & (g.dz[q] == 0);
        }
    }
    for (int d = 0; d < 3; d++) {
        const double v = (double)velocity[3 * i + d];
        v2 += v * v;
    }
    energy[i] = pith_sum_lanes(e) / 2;
    virial[i] = pith_sum_lanes(w) / 2;
    kinetic[i] = v2 / 2;
    return clash;
}

#endif
