/* The melt on ranks: the state of one brick of the box, and its step. */
#ifndef MELT_BRICK_H
#define MELT_BRICK_H

#include "brick_kernels.h"
#include "melt.h"

/* The atoms of a brick: what a checkpoint has of it. All else follows from them. */
typedef struct {
    const pith_array *position, *velocity, *origin, *id; /* the first `count` rows */
    const pith_array *count;
    const pith_array *box, *listed, *step;
    int64_t max_atoms, atoms;
    double cutoff, skin, dt, compression;
} Owned;

PITH_NODE(Owned,
          PITH_LEAF(position,
                    "float[max_atoms,3]",
                    .unit = "sigma",
                    .shard = "x,y,z",
                    .rows = "count"),
          PITH_LEAF(velocity,
                    "float[max_atoms,3]",
                    .unit = "sigma/tau",
                    .shard = "x,y,z",
                    .rows = "count"),
          PITH_LEAF(origin,
                    "float[max_atoms,3]",
                    .unit = "sigma",
                    .shard = "x,y,z",
                    .rows = "count",
                    .doc = "positions at the last build of the lists"),
          PITH_LEAF(id,
                    "i32[max_atoms]",
                    .shard = "x,y,z",
                    .rows = "count",
                    .doc = "from 0, in the order of the start"),
          PITH_LEAF(count, "i64", .shard = "x,y,z", .doc = "atoms of this brick"),
          PITH_LEAF(box, "f64[3]", .unit = "sigma"),
          PITH_LEAF(listed, "f64[3]", .unit = "sigma", .doc = "box at the last build"),
          PITH_LEAF(step, "i64"),
          PITH_STATIC(max_atoms, .initial = 8),
          PITH_STATIC(atoms, .doc = "of all bricks"),
          PITH_STATIC(cutoff, .initial = 2.5, .unit = "sigma"),
          PITH_STATIC(skin, .initial = 0.3, .unit = "sigma"),
          PITH_STATIC(dt, .initial = 0.005, .unit = "tau"),
          PITH_STATIC(compression, .unit = "1/tau"))

typedef struct {
    const Owned *own;
    const pith_array *force;
    const pith_array *neighbour, *entries;
    const pith_route *ghosts; /* to the bricks around */
    const pith_array *cuts;   /* between bricks */
    int64_t max_atoms, max_neighbours, max_cells;
    int64_t max_peers, max_moved; /* ranks that a move to other bricks goes to; atoms */
    bool balance, fixed_capacity;
    bool gradient, recompute; /* forces, as the options say */
} Brick;

PITH_NODE(
    Brick,
    PITH_CHILD(own, Owned),
    PITH_LEAF(force, "float[max_atoms,3]", .unit = "epsilon/sigma"),
    PITH_LEAF(neighbour,
              "i32[max_atoms,max_neighbours]",
              .fill = -1,
              .doc = "rows of atoms within cutoff + skin; from max_atoms on: ghosts"),
    PITH_LEAF(entries, "i32[max_atoms]", .doc = "of each row that are used"),
    PITH_CHILD(ghosts, pith_route),
    PITH_LEAF(cuts,
              "f64[3,edges]",
              .doc = "where bricks begin and end along each axis, in fractions"),
    PITH_STATIC(max_atoms, .initial = 8, .doc = "as own->max_atoms"),
    PITH_STATIC(max_neighbours, .initial = 8),
    PITH_STATIC(max_cells, .initial = 8),
    PITH_STATIC(max_peers, .initial = 8),
    PITH_STATIC(max_moved, .initial = 8),
    PITH_STATIC(balance),
    PITH_STATIC(fixed_capacity),
    PITH_STATIC(gradient),
    PITH_STATIC(recompute))

/* What of an atom goes to its new owner; its position apart, where that is not its place
 * at the last rebuild. */
typedef struct {
    const pith_array *origin, *velocity, *id;
} Moved;
PITH_NODE(Moved,
          PITH_LEAF(origin, "float[n,3]"),
          PITH_LEAF(velocity, "float[n,3]"),
          PITH_LEAF(id, "i32[n]"))

/* What a ghost has of its atom while lists are made. */
typedef struct {
    const pith_array *origin, *id;
} Seen;
PITH_NODE(Seen, PITH_LEAF(origin, "float[n,3]"), PITH_LEAF(id, "i32[n]"))

/* ---- brick_rebuild.c ---- */

/* The brick with its atoms folded into the box, those that have left given to their
 * owners, and with new ghosts and lists. */
const Brick *brick_rebuild(pith_scope *s, const Brick *in);
/* The same for atoms that may be on any rank. */
const Brick *brick_start(pith_scope *s, const Brick *in);
/* The same for the places that atoms had at the last rebuild; they stay where they are:
 * the brick that a run on this number of ranks would have now. */
const Brick *brick_restore(pith_scope *s, const Brick *in);

/* ---- brick.c ---- */

/* The first state of a run, from atoms on any ranks: with atoms on their owners, lists
 * and forces. */
const pith_function *brick_begin(void);  /* of the start */
const pith_function *brick_resume(void); /* of a checkpoint */
/* A step of velocity Verlet. */
const pith_function *brick_step(void);
/* Rows of own atoms, and those of ghosts after them. */
const pith_array *
brick_joined(pith_scope *s, const pith_array *own, const pith_array *ghosts);
/* The positions of a brick's atoms and ghosts. */
const pith_array *brick_positions(pith_scope *s, const Brick *in);

/* ---- brick_run.c ---- */

/* Whether the options ask for ranks: the program was started several times, or with
 * --ranks. */
bool brick_wanted(pith_scope *s, const Options *o);
/* Run the melt of the options on all ranks of the scope's mesh. */
void brick_run(pith_scope *s, const Options *o);

#endif
