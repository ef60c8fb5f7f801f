/* A run on ranks: its start or its checkpoint, its output, and its end. */
#include "brick.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool brick_wanted(pith_scope *s, const Options *o) {
    const pith_mesh *mesh =
        pith_mesh_open(s, PITH_MESH_AXES({"x", 0}, {"y", 0}, {"z", 0}), NULL);
    return mesh && (o->ranks || pith_mesh_about(mesh).size > 1);
}

/* ---- The first state ---- */

/* A brick that is thinner than the reach would need atoms of bricks further away. */
static void check_width(pith_scope *s, const Owned *own) {
    static const char *const names[] = {"x", "y", "z"};
    const double distance = own->cutoff + own->skin;
    double box[3];
    if (!pith_read(s, own->box, box, sizeof box))
        return;
    for (int d = 0; d < 3; d++) {
        const int64_t parts = pith_axis_size(s, names[d]);
        const double width = box[d] / (double)parts;
        const double least = parts > 1 ? brick_reach(distance, box) : distance;
        if (width < least)
            pith_fail(s, PITH_E_ARG, NULL,
                      "a brick is %g wide along %s, with %" PRId64
                      " of them, expected at least cutoff + skin, %g",
                      width, names[d], parts, distance);
    }
}

/* Equal bricks. */
static const pith_array *equal_cuts(pith_scope *s) {
    static const char *const names[] = {"x", "y", "z"};
    int64_t parts[3], edges = 0;
    for (int d = 0; d < 3; d++) {
        parts[d] = pith_axis_size(s, names[d]);
        edges = parts[d] + 1 > edges ? parts[d] + 1 : edges;
    }
    double *cuts = malloc(3 * (size_t)edges * sizeof *cuts);
    if (!cuts) {
        pith_fail(s, PITH_E_MEMORY, NULL, "no memory for the cuts between bricks");
        return NULL;
    }
    for (int64_t k = 0; k < 3 * edges; k++) {
        const int64_t d = k / edges, at = k % edges;
        cuts[k] = at < parts[d] ? (double)at / (double)parts[d] : 1;
    }
    const pith_array *made = pith_array_copy(s, PITH_F64, PITH_SHAPE(3, edges), cuts);
    free(cuts);
    return made;
}

/* Rows of zeros after those of an array. */
static const pith_array *padded(pith_scope *s, const pith_array *a, int64_t rows) {
    const pith_spec *spec = pith_array_spec(a);
    pith_shape shape = {.rank = spec->rank, .extents = {rows - spec->shape[0], 3}};
    return brick_joined(s, a, pith_zeros(s, spec->dtype, shape));
}

/* The atoms of a slice of the start, which the first rebuild gives to their owners. */
static const Owned *owned_of(pith_scope *s, const Options *o, const Start *start) {
    const pith_mesh_info info = pith_mesh_about(pith_mesh_of(s));
    Owned own = pith_initial(Owned);
    const int64_t share = (start->atoms + info.size - 1) / info.size;
    /* bricks differ by a layer of atoms; rows that are not in use cost time, too */
    own.max_atoms = share + (int64_t)pow((double)share, 2.0 / 3) + 8;
    own.position = own.origin = padded(s, start->position, own.max_atoms);
    own.velocity = padded(s, start->velocity, own.max_atoms);
    const pith_array *numbers =
        pith_add(s, pith_arange(s, PITH_I32, start->count), (double)start->first);
    own.id = padded(s, pith_cast(s, numbers, PITH_I32), own.max_atoms);
    own.count = pith_i64(s, start->count);
    own.box = own.listed = start->box;
    own.step = pith_i64(s, 0);
    own.atoms = start->atoms;
    own.cutoff = o->cutoff;
    own.skin = o->skin;
    own.dt = o->dt;
    own.compression = o->compression;
    return pith_freeze(s, Owned, &own);
}

/* Atoms of the start, on any ranks. */
static const Owned *read_start(pith_scope *s, const Options *o) {
    const pith_mesh_info info = pith_mesh_about(pith_mesh_of(s));
    const Start start = melt_read_slice(s, o, info.rank, info.size);
    if (!pith_agree(s) || !melt_fits(s, start.box, o))
        return NULL;
    return owned_of(s, o, &start);
}

/* Atoms of a checkpoint of any number of ranks, with the changes that the options ask
 * for. */
static const Owned *read_saved(pith_scope *s, const Options *o) {
    const Owned *saved = pith_load(s, Owned, o->resume);
    if (!pith_agree(s))
        return NULL;
    Owned own = *(const Owned *)pith_unshard_local(s, saved);
    own.dt = o->dt_given ? o->dt : own.dt;
    own.compression = o->compression_given ? o->compression : own.compression;
    return pith_freeze(s, Owned, &own);
}

/* Bricks around one. */
static int64_t bricks_around(pith_scope *s) {
    const int64_t ways = brick_ways_along(pith_axis_size(s, "x")) *
                         brick_ways_along(pith_axis_size(s, "y")) *
                         brick_ways_along(pith_axis_size(s, "z"));
    return ways > 1 ? ways - 1 : 1;
}

/* Ranks that atoms of the start may go to, this one included. */
static int64_t peers_for(pith_scope *s, int64_t room) {
    const int64_t ranks = pith_axis_size(s, NULL), near = bricks_around(s) + 1;
    const int64_t peers = near > room ? near : room;
    return peers < ranks ? peers : ranks;
}

static const Brick *first_state(pith_scope *s, const Options *o) {
    const Owned *own = o->resume ? read_saved(s, o) : read_start(s, o);
    if (!pith_failed(s))
        check_width(s, own);
    if (!pith_agree(s))
        return pith_initial_any(Brick_pith_type());
    const int64_t room = o->initial_capacity;
    Brick brick = pith_initial(Brick);
    brick.own = own;
    brick.force = own->velocity; /* until they are computed */
    brick.ghosts = pith_route_room(s, bricks_around(s), room, room);
    brick.cuts = equal_cuts(s);
    brick.max_atoms = own->max_atoms;
    brick.max_neighbours = (room + 7) / 8 * 8; /* whole groups */
    brick.max_cells = room;
    brick.max_peers = peers_for(s, room);
    brick.max_moved = room + own->max_atoms / 16; /* some leave in the first steps */
    brick.balance = o->balance;
    brick.fixed_capacity = o->fixed_capacity;
    brick.gradient = o->gradient;
    brick.recompute = o->recompute;
    return pith_propagate(
        s, Brick, o->resume ? brick_resume() : brick_begin(),
        pith_make(s, Brick, &brick, NULL),
        &(pith_propagate_options){.first_step = -1,
                                  .repaired = o->quiet ? NULL : melt_repaired});
}

/* ---- Output ---- */

/* What a checkpoint has of a brick. */
static const Owned *saved_part(pith_scope *s, const Brick *in) {
    return pith_shard_local(s, in->own, NULL);
}
PITH_FUNCTION1(saved_of, saved_part, Owned, Brick)

static void show_row(pith_scope *s, const Brick *in, int64_t step, Output *output) {
    const Observed o = {.position = brick_positions(s, in),
                        .velocity = in->own->velocity,
                        .neighbour = in->neighbour,
                        .count = in->entries,
                        .box = in->own->box,
                        .cutoff = in->own->cutoff,
                        .atoms = in->own->atoms,
                        .max_neighbours = in->max_neighbours,
                        .max_cells = in->max_cells,
                        .bricks = true};
    Row row;
    if (melt_observed(s, &o, &row))
        melt_print_row(s, output, step, 0, &row);
}

/* Rank 0 writes the atoms of all. */
static void dump_frame(pith_scope *s, const Brick *in, int64_t step, Files *files) {
    const Owned *all = pith_unshard(s, saved_part(s, in), 0);
    if (pith_failed(s) || !files->dump)
        return;
    const Atoms atoms = {
        .position = all->position, .velocity = all->velocity, .id = all->id};
    melt_dump_frame(s, &atoms, all->box, all->dt, step, files);
}

static void show(pith_scope *s, const void *state, int64_t step, void *closure) {
    Output *output = closure;
    if (melt_due(output, step))
        show_row(s, state, step, output);
    /* other ranks have no file: rank 0 tells them whether a frame is due */
    if (!output->options->dump)
        return;
    const bool own = melt_frame_due(output, step, output->files);
    const pith_array *due = pith_pbroadcast(s, pith_bool(s, own), NULL, 0);
    if (pith_read_bool(s, due))
        dump_frame(s, state, step, output->files);
}

/* The number of ranks, and of the atoms that they have. */
static void describe(pith_scope *s, const Brick *in, int64_t ranks, char text[100]) {
    const int64_t least = pith_read_i64(s, pith_pmin(s, in->own->count, NULL));
    const int64_t most = pith_read_i64(s, pith_pmax(s, in->own->count, NULL));
    snprintf(text, 100, "%" PRId64 " rank%s of %" PRId64 " to %" PRId64 " atoms", ranks,
             ranks == 1 ? "" : "s", least, most);
}

/* ---- The run ---- */

static const Brick *
steps_of(pith_scope *s, const Options *o, const Brick *first, Output *output) {
    const pith_function *step = brick_step();
    return pith_run(s, Brick, o->jit && !pith_failed(s) ? pith_jit(s, step, NULL) : step,
                    first,
                    &(pith_run_options){.steps = o->steps,
                                        .steps_per_launch = o->steps_per_launch,
                                        .first_step = output->first,
                                        .save = o->save,
                                        .save_every = o->save_every,
                                        .save_part = o->save ? &saved_of : NULL,
                                        .log = output->files ? output->files->log : NULL,
                                        .signals = true,
                                        .progress = o->quiet ? NULL : stderr,
                                        .status_file = o->quiet ? NULL : o->status,
                                        .each = show,
                                        .each_every = melt_show_every(o),
                                        .repaired = o->quiet ? NULL : melt_repaired,
                                        .closure = output,
                                        .seconds = &output->seconds});
}

void brick_run(pith_scope *s, const Options *o) {
    const pith_mesh_info info = pith_mesh_about(pith_mesh_of(s));
    Output output = {.options = o};
    const Brick *brick = first_state(s, o);
    output.first = pith_failed(s) ? 0 : pith_read_i64(s, brick->own->step);
    if (pith_agree(s))
        melt_open(s, &output);
    pith_agree(s);
    brick = steps_of(s, o, brick, &output);
    char ranks[100];
    if (pith_agree(s))
        describe(s, brick, info.size, ranks);
    if (!pith_failed(s) && !o->quiet)
        melt_end(s, brick->own->atoms, ranks, &output);
    if (pith_failed(s) && !o->quiet)
        fprintf(stderr, "melt: %s\n", pith_message(s));
    melt_close(&output);
}
