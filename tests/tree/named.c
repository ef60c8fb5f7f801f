/* A plugin with record types of common names. FLUID: its Atoms have other fields than
 * without. UNNAMED: no type is qualified. */
#include "named.h"

#ifdef UNNAMED
#    define NAME(name) PITH_TYPE_VERSION(1)
#elif defined FLUID
#    define NAME(name) PITH_NAMED("fluid." name), PITH_FORMERLY(name)
#else
#    define NAME(name) PITH_NAMED("particles." name), PITH_FORMERLY(name)
#endif

#ifdef FLUID
typedef struct {
    int64_t cells;
    const pith_array *density;
} Atoms;
PITH_NODE(Atoms,
          NAME("Atoms"),
          PITH_STATIC(cells, .initial = 7),
          PITH_LEAF(density, "f32[m]"))
static const Atoms *atoms(pith_scope *s, int64_t n) {
    const Atoms made = {.cells = n,
                        .density = pith_full(s, PITH_F32, PITH_SHAPE(n), 0.5)};
    return pith_freeze(s, Atoms, &made);
}
#else
typedef struct {
    const pith_array *position, *mass;
} Atoms;
PITH_NODE(Atoms,
          NAME("Atoms"),
          PITH_LEAF(position, "f64[n,3]"),
          PITH_LEAF(mass, "f64[n]"))
static const Atoms *atoms(pith_scope *s, int64_t n) {
    const Atoms made = {pith_ones(s, PITH_F64, PITH_SHAPE(n, 3)),
                        pith_full(s, PITH_F64, PITH_SHAPE(n), 2)};
    return pith_freeze(s, Atoms, &made);
}
#endif

typedef struct System {
    const Atoms *atoms;
    const struct System *inner;
} System;
PITH_NODE(System,
          NAME("System"),
          PITH_CHILD(atoms, Atoms),
          PITH_CHILD(inner, System, .optional = true))

static const void *make(pith_scope *s, int64_t n) {
    const System inner = {.atoms = atoms(s, n)};
    const System outer = {.atoms = atoms(s, n + 1),
                          .inner = pith_freeze(s, System, &inner)};
    return pith_freeze(s, System, &outer);
}

__attribute__((visibility("default")))
const named_exports named = {Atoms_pith_type, System_pith_type, make};
