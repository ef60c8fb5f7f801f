/* Record types that the corpora of documents and sidecars hold: every kind of field. */
#ifndef FUZZ_TYPES_H
#define FUZZ_TYPES_H

#include <pith/pith.h>

typedef enum Phase { PHASE_SOLID, PHASE_LIQUID } Phase;
static const char *const phase_names[] = {"solid", "liquid", NULL};

typedef struct Units {
    const char *length;
} Units;
PITH_NODE(Units, PITH_STATIC(length))

typedef struct Atoms {
    const pith_array *position, *charge;
} Atoms;
PITH_NODE(Atoms,
          PITH_LEAF(position, "float[n,3]", .unit = "sigma"),
          PITH_LEAF(charge, "i8[n]", .optional = true))

typedef struct Sim {
    const Atoms *atoms, *spare;
    const pith_array *neighbour, *energy;
    const void *extra;
    int64_t width;
    double timestep;
    bool periodic;
    const char *label;
    Phase phase;
    pith_dtype real;
    const Units *units;
} Sim;
/* Changes that end in what a Sim of version 1 had, which is what it has now. */
static void sim_1_to_2(pith_scope *s, pith_upgrade *u) {
    const Units units = {"nm"};
    pith_upgrade_rename(s, u, ".neighbour", ".extra");
    pith_upgrade_set(s, u, ".neighbour", pith_upgrade_array(s, u, ".extra"));
    pith_upgrade_remove(s, u, ".extra");
    pith_upgrade_rename(s, u, ".atoms.position", ".extra");
    pith_upgrade_rename(s, u, ".extra", ".atoms.position");
    pith_upgrade_set(s, u, ".extra", pith_f64(s, pith_upgrade_f64(s, u, ".timestep")));
    pith_upgrade_set_text(s, u, ".label", pith_upgrade_text(s, u, ".label"));
    pith_upgrade_set_record(s, u, ".units", pith_freeze(s, Units, &units));
}
PITH_NODE(Sim,
          PITH_TYPE_VERSION(2),
          PITH_UPGRADE(1, sim_1_to_2),
          PITH_CHILD(atoms, Atoms),
          PITH_CHILD(spare, Atoms, .optional = true),
          PITH_LEAF(neighbour, "i32[n,width]", .fill = -1),
          PITH_LEAF(energy, "f64"),
          PITH_TREE(extra, .optional = true),
          PITH_STATIC(width, .initial = 4),
          PITH_STATIC(timestep),
          PITH_STATIC(periodic),
          PITH_STATIC(label),
          PITH_STATIC_ENUM(phase, phase_names),
          PITH_STATIC_DTYPE(real),
          PITH_STATIC_RECORD(units, Units))

#endif
