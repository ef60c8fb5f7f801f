/* Lenses bound to a root. */
#include "lens_types.h"

static const void *negate(pith_scope *s, const void *part, void *closure) {
    (void)closure;
    return pith_neg(s, part);
}

Test(lens_bind, looks_into_its_root) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_bound *atoms = pith_lens_bind(s, PITH_LENS(World, sim->atoms), w);
    pt_ok(s, pith_bound_get(s, atoms) == w->sim->atoms);
    cr_assert(pith_bound_root(atoms) == w);
    cr_assert(pith_bound_lens(atoms) == PITH_LENS(World, sim->atoms) ||
              pith_bound_lens(atoms));
    const pith_bound *position = pith_bound_focus(s, atoms, ".position");
    const World *next = pith_bound_set(s, position, w->sim->atoms->force, NULL);
    pt_ok(s, next->sim->atoms->position == w->sim->atoms->force);
    next = pith_bound_apply(s, position, negate, NULL, NULL);
    double x[12];
    pt_ok(s, pith_read(s, next->sim->atoms->position, x, sizeof x) && x[0] == -1);
    position = pith_bound_nest(s, atoms, PITH_LENS(Atoms, position));
    pt_ok(s, pith_bound_get(s, position) == w->sim->atoms->position);
    const int64_t last = -1;
    const pith_array *index = pith_array_copy(s, PITH_I64, PITH_SHAPE(1), &last);
    const pith_bound *row = pith_bound_at(s, position, index, NULL);
    pt_ok(s, pith_read(s, pith_bound_get(s, row), x, 24) && x[0] == 10);
    next = pith_bound_set(s, row, pith_f64(s, 0), NULL);
    pt_ok(s, pith_read(s, next->sim->atoms->position, x, sizeof x) && x[9] == 0 &&
                 x[8] == 9);
    const pith_bound *width = pith_lens_bind(s, PITH_LENS(World, sim->max_neighbour), w);
    next =
        pith_bound_set(s, width, pith_i64(s, 16), &(pith_lens_options){.resize = true});
    pt_ok(s, next->sim->max_neighbour == 16);

    pt_fails(PITH_E_TYPE, s, pith_lens_bind(s, PITH_LENS(World, sim), w->sim));
    pt_fails(PITH_E_PATH, s, pith_bound_focus(s, atoms, ".mass"));
    pt_fails(PITH_E_ARG, s, pith_bound_get(s, (const pith_bound *)(const void *)w));
    cr_assert(!pith_bound_root((const pith_bound *)(const void *)w));
    pith_scope_close(s);
    pt_close(rt);
}

/* It owns what it is made of. */
Test(lens_bind, is_kept_with_all_it_holds) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt), *inner = pith_scope_open_in(s);
    const World *w = lens_world(inner);
    const pith_lens *lens = pith_lens_path(inner, World_pith_type(), ".base.position");
    const pith_bound *bound = pith_lens_bind(s, lens, w);
    const pith_bound *kept = pith_keep(s, pith_lens_bind(inner, lens, w));
    pt_ok(s, bound && kept);
    pith_scope_close(inner);
    double x[3];
    pt_ok(s, pith_read(s, pith_bound_get(s, bound), x, sizeof x) && x[2] == 9);
    pt_ok(s, pith_read(s, pith_bound_get(s, kept), x, sizeof x) && x[0] == 7);
    pith_scope_close(s);
    pt_close(rt);
}
