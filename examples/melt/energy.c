/* The potential energy of the melt as array operations over the neighbour lists, and the
 * forces from it by reverse differentiation. */
#include "melt.h"

const pith_array *melt_energy_of(pith_scope *s, const Pairs *p) {
    const pith_array *position = p->position, *entry = p->neighbour;
    const pith_dtype real = pith_array_spec(position)->dtype;
    const int64_t rows = pith_array_spec(position)->shape[0];
    const int64_t n = pith_array_spec(entry)->shape[0];
    const pith_array *box = pith_cast(s, p->box, real), *own[3], *other[3], *r2 = NULL;
    const pith_array *used = pith_greater_equal(s, entry, 0);
    /* Unused entries stand for atoms 0, 1, 2 and so on: the reverse of a gather adds
     * their zeros to different elements, and no addition waits for the previous one. */
    const pith_array *filler = pith_remainder(
        s, pith_arange(s, PITH_I32, pith_array_spec(entry)->shape[1]), (double)n);
    const pith_array *atom =
        pith_where(s, used, pith_bitwise_and(s, entry, ATOM_MASK), filler);
    /* Of the neighbours the negative position: then the vectors to an atom are sums, and
     * their cotangent is that of both operands. */
    for (int d = 0; d < 3; d++) {
        const pith_array *along = pith_slice_at(s, position, 1, d);
        own[d] = n < rows ? pith_slice_array(s, along, 1, &PITH_SLICE(0, n, 1)) : along;
        other[d] = pith_neg(s, along);
    }
    for (int d = 0; d < 3; d++)
        other[d] = pith_take(s, other[d], atom,
                             &(pith_take_options){.mode = PITH_INDEX_PROMISE});
    const pith_array *image = pith_shift_right(s, entry, IMAGE_SHIFT);
    for (int d = 0; d < 3; d++) {
        const pith_array *bits =
            pith_bitwise_and(s, pith_shift_right(s, image, 2 * d), 3);
        const pith_array *shift = pith_mul(s, pith_cast(s, pith_sub(s, bits, 1), real),
                                           pith_slice_at(s, box, 0, d));
        const pith_array *place =
            pith_sub(s, pith_expand_dims(s, own[d], PITH_AXES(1)), shift);
        const pith_array *gap = pith_add(s, place, other[d]);
        r2 = d ? pith_add(s, r2, pith_square(s, gap)) : pith_square(s, gap);
    }
    /* An atom that pads a group is at distance 0. */
    const pith_array *near =
        pith_logical_and(s, used,
                         pith_logical_and(s, pith_less(s, r2, p->cutoff * p->cutoff),
                                          pith_greater(s, r2, 0)));
    /* r2 is 1 where it does not count, so that no gradient is 0 times infinity. */
    const pith_array *s2 = pith_reciprocal(s, pith_where(s, near, r2, 1));
    const pith_array *s6 = pith_mul(s, s2, pith_mul(s, s2, s2));
    const pith_array *pair = pith_mul(s, s6, pith_sub(s, pith_mul(s, 2, s6), 2));
    return pith_sum(s, pith_where(s, near, pair, 0), PITH_ALL_AXES);
}

const pith_array *melt_energy(pith_scope *s, const Sim *sim) {
    const Pairs pairs = {sim->atoms->position, sim->lists->neighbour, sim->box,
                         sim->cutoff};
    return melt_energy_of(s, &pairs);
}
PITH_FUNCTION1(energy_of, melt_energy, pith_array, Sim)

const pith_array *melt_forces(pith_scope *s, const Sim *sim, bool recompute) {
    const pith_derive_options positions = {.paths = PITH_PATHS("[0].atoms.position")};
    const pith_function *energy =
        recompute ? pith_recompute(s, &energy_of, NULL) : &energy_of;
    return pith_neg(s, pith_apply(s, pith_grad(s, energy, &positions), sim));
}
