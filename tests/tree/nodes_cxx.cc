// The nodes of nodes.h declared and used in C++20, which also reads this file as CUDA.
#include "nodes.h"

static const Atoms *drift(pith_scope *s, const Atoms *in) {
    Atoms next = *in;
    next.position = pith_add(s, in->position, in->velocity);
    return pith_freeze(s, Atoms, &next);
}
PITH_FUNCTION1(drift_step, drift, Atoms, Atoms)

static const pith_array *second(pith_scope *, const Everything *, const pith_array *b) {
    return b;
}
PITH_FUNCTION2(second_step, second, pith_array, Everything, pith_array)

PITH_BEGIN
const pith_type *atoms_type_in_cxx(void);
const pith_type *everything_type_in_cxx(void);
const void *tree_in_cxx(pith_scope *s);

const pith_type *atoms_type_in_cxx(void) {
    return Atoms_pith_type();
}
const pith_type *everything_type_in_cxx(void) {
    return Everything_pith_type();
}

/* A list of an Everything and of the result of its steps; what goes wrong is in the
 * scope. */
const void *tree_in_cxx(pith_scope *s) {
    const Everything *made = pith_make(s, Everything, NULL, PITH_EXTENTS({"n", 5}));
    Everything next = *made;
    Config config = pith_initial(Config);
    config.method = "from C++";
    next.cutoff = 3;
    next.config = pith_freeze(s, Config, &config);
    const void *arguments[] = {made->atoms};
    next.atoms = static_cast<const Atoms *>(pith_call(s, &drift_step, 1, arguments));
    made = pith_freeze(s, Everything, &next);
    const void *both[] = {made, made->x};
    const void *x = pith_call(s, &second_step, 2, both);
    const Boxes boxes = {pith_list_make(s, PITH_ITEMS(made->atoms)), nullptr};
    const pith_list *list =
        pith_list_make(s, PITH_ITEMS(made, x, pith_freeze(s, Boxes, &boxes)));
    return pith_is(Everything, made) ? pith_keep(s, list) : nullptr;
}
PITH_END
