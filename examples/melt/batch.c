/* Several melts as one state: every leaf has a leading batch axis. The step and what
 * comes before it are written for one melt, and mapped over this axis. */
#include "melt.h"

/* The melt with velocities of a key. */
static const Sim *draw(pith_scope *s, const pith_array *key, const Sim *one) {
    Sim next = *one;
    Atoms atoms = *one->atoms;
    const pith_spec *spec = pith_array_spec(atoms.velocity);
    atoms.velocity = pith_cast(s, melt_velocities(s, key, spec->shape[0]), spec->dtype);
    next.atoms = pith_freeze(s, Atoms, &atoms);
    return pith_freeze(s, Sim, &next);
}
PITH_FUNCTION2(draw_of, draw, Sim, pith_array, Sim)

const Sim *melt_batch(pith_scope *s, const Sim *one, const Options *o) {
    const pith_array *seeds =
        pith_add(s, pith_arange(s, PITH_I64, o->batch), pith_i64(s, o->seed));
    /* as pith_random_key: the high and the low word of a seed */
    const pith_array *words[] = {
        pith_cast(s, pith_shift_right(s, seeds, 32), PITH_U32),
        pith_cast(s, pith_bitwise_and(s, seeds, 0xffffffff), PITH_U32)};
    const pith_vmap_options shared = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED})};
    return pith_apply(s, pith_vmap(s, &draw_of, &shared), pith_stack(s, 2, words, 1),
                      one);
}

int64_t melt_batch_size(const Sim *sim) {
    const pith_spec *step = pith_array_spec(sim->step);
    return step->rank ? step->shape[0] : 0;
}

const pith_function *melt_of_batch(pith_scope *s, const pith_function *f, int64_t size) {
    return size ? pith_vmap(s, f, NULL) : f;
}

const Sim *melt_entry(pith_scope *s, const Sim *sim, int64_t entry) {
    return pith_tree_take(s, sim, pith_i64(s, entry), NULL);
}
