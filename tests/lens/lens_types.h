/* Records that the tests of lenses are written with. */
#ifndef PITH_TEST_LENS_TYPES_H
#define PITH_TEST_LENS_TYPES_H

#include "../tree/tree_types.h"

#include <pith/lens.h>

/* Statics of every kind, in a record, in a struct by value and in a static record. */
typedef struct {
    double tolerance;
    int64_t rounds;
} Config;
PITH_NODE(Config, PITH_STATIC(tolerance, .initial = 1e-6), PITH_STATIC(rounds))

typedef enum { EULER, VERLET } Scheme;
static const char *const scheme_names[] = {"euler", "verlet", NULL};

typedef struct {
    int64_t x, y, z;
} Cells;

typedef struct {
    const pith_array *position;
} Base;

struct World;
static void world_check(pith_scope *s, const struct World *w);

typedef struct World {
    const Sim *sim;
    const Atoms *ghosts; /* may be absent */
    const void *any;     /* anything, or nothing */
    Base base;
    double cutoff;
    int64_t steps;
    bool periodic;
    Scheme scheme;
    pith_dtype precision;
    const char *label;
    const Config *config;
    Cells cells;
    int scratch;
} World;
PITH_NODE(World,
          PITH_CHILD(sim, Sim),
          PITH_CHILD(ghosts, Atoms, .optional = true),
          PITH_TREE(any, .optional = true),
          PITH_LEAF(base.position, "f64[m]"),
          PITH_STATIC(cutoff, .initial = 2.5),
          PITH_STATIC(steps),
          PITH_STATIC(periodic),
          PITH_STATIC_ENUM(scheme, scheme_names),
          PITH_STATIC_DTYPE(precision, .initial = PITH_F32),
          PITH_STATIC(label, .initial_text = "melt"),
          PITH_STATIC_RECORD(config, Config),
          PITH_STATIC_STRUCT(cells, x, y, z),
          PITH_IGNORE(scratch),
          PITH_VALIDATE(world_check))

__attribute__((unused)) static int worlds_checked;
/* A negative cutoff is no World. */
__attribute__((unused)) static void world_check(pith_scope *s, const World *w) {
    worlds_checked++;
    if (w->cutoff < 0)
        pith_fail(s, PITH_E_CHECK, ".cutoff", "expected 0 or more, got %g", w->cutoff);
}

static inline const Sim *lens_sim(pith_scope *s, int64_t n, int64_t width) {
    const Sim value = {.atoms = pt_atoms(s, n, 1),
                       .neighbour = pith_zeros(s, PITH_I32, PITH_SHAPE(n, width)),
                       .max_neighbour = width,
                       .cutoff = 2.5};
    return pith_freeze(s, Sim, &value);
}

static inline const World *lens_world(pith_scope *s) {
    World w = pith_initial(World);
    w.sim = lens_sim(s, 4, 8);
    w.base.position = pt_array(s, PITH_SHAPE(3), 7);
    return pith_freeze(s, World, &w);
}

#endif
