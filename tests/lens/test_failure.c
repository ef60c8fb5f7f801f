/* Every allocation of a scenario over lenses fails once. */
#include "fail_allocator.h"
#include "lens_types.h"

static const void *get_atoms(pith_scope *s, const void *root, void *closure) {
    (void)s, (void)closure;
    return ((const Sim *)root)->atoms;
}
static const void *
set_atoms(pith_scope *s, const void *root, const void *value, void *closure) {
    (void)closure;
    Sim next = *(const Sim *)root;
    next.atoms = value;
    return pith_freeze(s, Sim, &next);
}

/* Whether a setter made a record. */
#define MADE(T, expr) pith_is(T, (expr))

static void use_paths(pith_scope *s, const World *w) {
    const pith_lens *position = PITH_LENS(World, sim->atoms->position), *path = NULL,
                    *both = NULL;
    const pith_array *x = w->sim->atoms->force;
    const World *next = w;
    pt_again(s, MADE(World, pith_lens_set(s, position, w, x)));
    pt_again(s, (path = pith_lens_path(s, World_pith_type(), ".sim.neighbour[1]")));
    if (path) {
        pt_again(s, pith_lens_get(s, path, w));
        pt_again(s, MADE(World, pith_lens_set(s, path, w, pith_i32(s, 1))));
    }
    pt_again(s, MADE(World, next = pith_lens_set_i64_with(
                                s, PITH_LENS(World, sim->max_neighbour), w, 16,
                                &(pith_lens_options){.resize = true})));
    pt_again(s, MADE(World, pith_lens_set_text(s, PITH_LENS(World, label), w, "glass")));
    pt_again(s, (both = pith_lens_merge(
                     s, PITH_LENSES(position, PITH_LENS(World, config->rounds),
                                    PITH_LENS(World, sim->atoms->velocity)))));
    const void *three = NULL;
    if (both)
        pt_again(s, (three = pith_lens_get(s, both, w)));
    if (three)
        pt_again(s, MADE(World, pith_lens_set(s, both, w, three)));
}

static void use_others(pith_scope *s, const World *w) {
    const pith_lens *lens = NULL, *atoms = NULL, *at = NULL, *leaves = NULL;
    const void *got = NULL;
    const int32_t last = -1;
    pt_again(s, (lens = pith_lens_function(s, "atoms", get_atoms, set_atoms, NULL)));
    if (lens)
        pt_again(s, (atoms = pith_lens_nest(s, PITH_LENS(World, sim), lens)));
    if (atoms)
        pt_again(s, MADE(World, pith_lens_set(s, atoms, w, w->sim->atoms)));
    const pith_array *index = NULL;
    pt_again(s, (index = pith_array_copy(s, PITH_I32, PITH_SHAPE(1), &last)));
    if (index)
        pt_again(s, (at = pith_lens_at(s, PITH_LENS(World, sim->atoms), index, NULL)));
    if (at)
        pt_again(s, MADE(Atoms, got = pith_lens_get(s, at, w)));
    if (at && pith_is(Atoms, got))
        pt_again(s, MADE(World, pith_lens_set(s, at, w, got)));
    pt_again(s, (leaves = pith_lens_leaves_where(s, pith_lens_identity(), NULL, NULL)));
    got = NULL;
    if (leaves)
        pt_again(s, (got = pith_lens_get(s, leaves, w)));
    if (got)
        pt_again(s, MADE(World, pith_lens_set(s, leaves, w, got)));
    const pith_bound *bound = NULL;
    if (at)
        pt_again(s, (bound = pith_lens_bind(s, at, w)));
    if (bound)
        pt_again(s, pith_lens_text(s, pith_bound_lens(bound)));
}

static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt), *inner = pith_scope_open_in(s);
    const World *w = NULL;
    pt_again(s, MADE(World, w = lens_world(s)));
    if (pith_is(World, w)) {
        use_paths(s, w);
        use_others(inner, w);
        const pith_lens *path = NULL, *kept = NULL;
        pt_again(inner, (path = pith_lens_path(inner, NULL, ".any['k']")));
        if (path && !pith_failed(s))
            pt_again(s, (kept = pith_keep(s, path)));
    }
    pith_clear(inner);
    pith_scope_close(inner);
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    const pith_status opened = pith_runtime_code(rt);
    pith_close(rt);
    return opened != PITH_OK ? opened : code;
}

Test(lens_failure, of_every_allocation_is_survived) {
    /* Lenses of the process first: they are made once, with memory that is never freed.
     */
    const pith_open_options host = {.device = "host"};
    cr_assert(scenario(&host) == PITH_OK);
    const pt_failures failures = pt_fail_each(scenario);
    cr_assert(failures.allocations > 20, "%d", failures.allocations);
}
