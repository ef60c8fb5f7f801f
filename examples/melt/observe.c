/* What a row of the table shows: sums over the atoms of a melt, with the same bits in
 * whatever order they are added, and on however many ranks the atoms are. */
#include "melt.h"

#include <math.h>

/* Numbers are cut into parts. A part has those bits of each number that are multiples of
 * a unit, chosen so that the sum of all is exact: N times the greatest is less than 2^53
 * units. The remainder is cut in the same way. Two parts are as precise as a sum of
 * doubles. */
enum { PARTS = 2, SUMS = 3 };

static const pith_array *greatest(pith_scope *s, const Observed *o, const pith_array *a) {
    return o->bricks ? pith_pmax(s, a, NULL) : a;
}
static const pith_array *total(pith_scope *s, const Observed *o, const pith_array *a) {
    return o->bricks ? pith_psum(s, a, NULL, NULL) : a;
}

/* The greatest magnitude of each row. */
static bool read_greatest(pith_scope *s,
                          const Observed *o,
                          const pith_array *rows,
                          double most[SUMS]) {
    const pith_array *own = pith_max(s, pith_abs(s, rows), PITH_AXES(1));
    return pith_read(s, greatest(s, o, own), most, SUMS * sizeof *most);
}

/* A number whose last bit is the unit for sums of `atoms` numbers up to `most`. */
static double anchor_of(double most, double atoms) {
    int exponent;
    frexp(most * atoms, &exponent);
    return isfinite(most) ? ldexp(1.5, exponent) : most; /* then it is the sum, too */
}

/* The sums of f64[n], of all bricks. */
static bool sum_up(pith_scope *s,
                   const Observed *o,
                   const pith_array *const values[SUMS],
                   double sums[SUMS]) {
    double anchor[SUMS], part[SUMS];
    const pith_array *rest = pith_stack(s, SUMS, values, 0);
    for (int k = 0; k < SUMS; k++)
        sums[k] = 0;
    for (int i = 0; i < PARTS; i++) {
        if (!read_greatest(s, o, rest, anchor))
            return false;
        for (int k = 0; k < SUMS; k++)
            anchor[k] = anchor_of(anchor[k], (double)o->atoms);
        const pith_array *at = pith_array_copy(s, PITH_F64, PITH_SHAPE(SUMS, 1), anchor);
        const pith_array *cut = pith_sub(s, pith_add(s, rest, at), at);
        const pith_array *own = pith_sum(s, cut, PITH_AXES(1));
        if (!pith_read(s, total(s, o, own), part, sizeof part))
            return false;
        for (int k = 0; k < SUMS; k++)
            sums[k] += part[k];
        rest = pith_sub(s, rest, cut);
    }
    return true;
}

bool melt_observed(pith_scope *s, const Observed *o, Row *row) {
    const melt_observe_result of_atoms =
        pith_launch(s, melt_observe, o->position, o->velocity, o->neighbour, o->count,
                    o->box, o->cutoff);
    const pith_array *const values[] = {of_atoms.energy, of_atoms.virial,
                                        of_atoms.kinetic};
    const pith_array *longest =
        pith_cast(s, pith_max(s, o->count, PITH_ALL_AXES), PITH_I64);
    double sums[SUMS], box[3];
    if (!sum_up(s, o, values, sums) || !pith_read(s, o->box, box, sizeof box))
        return false;
    *row = (Row){.potential = sums[0],
                 .virial = sums[1],
                 .kinetic = sums[2],
                 .atoms = (double)o->atoms,
                 .volume = box[0] * box[1] * box[2],
                 .most = pith_read_i64(s, greatest(s, o, longest)),
                 .max_neighbours = o->max_neighbours,
                 .max_cells = o->max_cells};
    return !pith_failed(s);
}
