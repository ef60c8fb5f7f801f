/* The melt on ranks: the state of one brick of the box, and its step. */
#ifndef MELT_BRICK_H
#define MELT_BRICK_H

#include "brick_kernels.h"
#include "melt.h"

typedef struct {
    const pith_array *position, *velocity, *force, *id; /* the first `count` rows */
    const pith_array *count;
    const pith_array *neighbour, *listed, *origin;
    const pith_route *ghosts; /* to the bricks around */
    const pith_array *shift;  /* of each ghost */
    const pith_array *box, *step;
    int64_t max_atoms, max_neighbours, max_cells;
    int64_t max_peers, max_moved; /* of a move to other bricks: ranks, atoms to one */
    int64_t max_ghosts;           /* as ghosts->max_receive */
    double cutoff, skin, dt;
    bool fixed_capacity;
} Brick;

PITH_NODE(Brick,
          PITH_LEAF(position, "float[max_atoms,3]", .unit = "sigma"),
          PITH_LEAF(velocity, "float[max_atoms,3]", .unit = "sigma/tau"),
          PITH_LEAF(force, "float[max_atoms,3]", .unit = "epsilon/sigma"),
          PITH_LEAF(id, "i32[max_atoms]"),
          PITH_LEAF(count, "i64", .doc = "atoms of this brick"),
          PITH_LEAF(neighbour,
                    "i32[max_atoms,max_neighbours]",
                    .fill = -1,
                    .doc = "atoms within cutoff + skin; from max_atoms on: ghosts"),
          PITH_LEAF(listed, "i32[max_atoms]", .doc = "entries of each row in use"),
          PITH_LEAF(origin, "float[max_atoms,3]", .doc = "positions at the last build"),
          PITH_CHILD(ghosts, pith_route),
          PITH_LEAF(shift, "float[max_ghosts,3]", .unit = "sigma"),
          PITH_LEAF(box, "f64[3]", .unit = "sigma"),
          PITH_LEAF(step, "i64"),
          PITH_STATIC(max_atoms, .initial = 8),
          PITH_STATIC(max_neighbours, .initial = 8),
          PITH_STATIC(max_cells, .initial = 8),
          PITH_STATIC(max_peers, .initial = 8),
          PITH_STATIC(max_moved, .initial = 8),
          PITH_STATIC(max_ghosts, .initial = 64),
          PITH_STATIC(cutoff, .initial = 2.5, .unit = "sigma"),
          PITH_STATIC(skin, .initial = 0.3, .unit = "sigma"),
          PITH_STATIC(dt, .initial = 0.005, .unit = "tau"),
          PITH_STATIC(fixed_capacity))

/* What of an atom goes to its new owner, and its position alone. */
typedef struct {
    const pith_array *position, *velocity, *id;
} Moved;
PITH_NODE(Moved,
          PITH_LEAF(position, "float[n,3]"),
          PITH_LEAF(velocity, "float[n,3]"),
          PITH_LEAF(id, "i32[n]"))

/* The positions of a brick's atoms, and of its ghosts after them. */
const pith_array *brick_positions(pith_scope *s, const Brick *in);
/* The brick with its atoms given to their owners, and with new ghosts and lists. */
const Brick *brick_rebuild(pith_scope *s, const Brick *in);
/* One step of velocity Verlet. */
const Brick *brick_verlet(pith_scope *s, const Brick *in);

/* Whether the options ask for ranks: the program was started several times, or with
 * --ranks. */
bool brick_wanted(pith_scope *s, const Options *o);
/* Run the melt of the options on all ranks of the scope's mesh. */
void brick_run(pith_scope *s, const Options *o);

#endif
