/* Rebuilds of a brick: atoms go to their new owners, copies of those near a face to the
 * bricks around, and lists of neighbours are made of both. */
#include "brick.h"

/* ---- Capacities ---- */

/* Require that sizes in the statics of the state are at least their needs, which are
 * those of all ranks. */
static void require_room(pith_scope *s,
                         const Brick *brick,
                         int64_t count,
                         const pith_lens *const *slots,
                         const int64_t *sizes,
                         const pith_array *need) {
    const pith_lens *slot = pith_lens_merge(s, count, slots);
    const pith_capacity_options options = {.count = count,
                                           .sizes = sizes,
                                           .lens = slot,
                                           .base = brick->fixed_capacity ? 0 : 2,
                                           .fixed = brick->fixed_capacity};
    pith_capacity_require(s, pith_capacity_make(s, &options), need);
}

/* The same for one size, of which each rank has a need of its own. */
static void require_one(pith_scope *s,
                        const Brick *brick,
                        const pith_lens *slot,
                        int64_t size,
                        const pith_array *need) {
    const pith_capacity_options options = {.size = size,
                                           .lens = slot,
                                           .base = brick->fixed_capacity ? 0 : 2,
                                           .fixed = brick->fixed_capacity};
    pith_capacity_require(s, pith_capacity_make(s, &options), pith_pmax(s, need, NULL));
}

/* ---- Parts ---- */

/* The numbers of bricks along x, y and z, and those of this one. */
static const pith_array *parts_of(pith_scope *s) {
    const int64_t parts[] = {pith_axis_size(s, "x"), pith_axis_size(s, "y"),
                             pith_axis_size(s, "z")};
    return pith_array_copy(s, PITH_I64, PITH_SHAPE(3), parts);
}

static const pith_array *place_of(pith_scope *s) {
    const pith_array *along[] = {pith_axis_index(s, "x"), pith_axis_index(s, "y"),
                                 pith_axis_index(s, "z")};
    return pith_cast(s, pith_stack(s, 3, along, 0), PITH_I64);
}

static const pith_array *total(pith_scope *s, const pith_array *a) {
    return pith_sum(s, a, PITH_ALL_AXES);
}

const pith_array *brick_positions(pith_scope *s, const Brick *in) {
    const pith_array *ghosts = pith_route_send(s, in->ghosts, in->position);
    const pith_array *both[] = {in->position, pith_add(s, ghosts, in->shift)};
    return pith_concatenate(s, 2, both, 0);
}

/* ---- Steps of a rebuild ---- */

/* Give all atoms to their owners: those that stay, too, so that rows in use are the
 * first. */
static const Brick *move_atoms(pith_scope *s, const Brick *in) {
    const brick_owner_result owned =
        pith_launch(s, brick_owner, in->position, in->count, in->box, parts_of(s));
    const pith_route *room = pith_make(s, pith_route,
                                       &(pith_route){.max_peers = in->max_peers,
                                                     .max_send = in->max_moved,
                                                     .max_receive = in->max_atoms},
                                       NULL);
    const pith_route *route = pith_route_make(s, pith_arange(s, PITH_I32, in->max_atoms),
                                              owned.owner, "x,y,z", room);
    const pith_lens *const slots[] = {PITH_LENS(Brick, max_peers),
                                      PITH_LENS(Brick, max_moved),
                                      PITH_LENS(Brick, max_atoms)};
    const int64_t sizes[] = {in->max_peers, in->max_moved, in->max_atoms};
    require_room(s, in, 3, slots, sizes, route->need);
    const Moved given = {owned.folded, in->velocity, in->id};
    const Moved *moved = pith_route_send(s, route, pith_freeze(s, Moved, &given));
    Brick next = *in;
    next.position = moved->position;
    next.velocity = moved->velocity;
    next.id = moved->id;
    next.count = total(s, route->received);
    return pith_freeze(s, Brick, &next);
}

/* A route to the bricks around, and what to add to the ghosts that come from there. */
static const Brick *meet_neighbours(pith_scope *s, const Brick *in) {
    const double reach = in->cutoff + in->skin;
    const brick_border_result border =
        pith_launch(s, brick_border, in->position, in->count, in->box, parts_of(s),
                    place_of(s), reach);
    const int64_t entries = BRICK_WAYS * in->max_atoms;
    const pith_shape flat = PITH_SHAPE(entries);
    /* first a route of entries, which tells what is beyond the box; then that of atoms */
    const pith_route *route =
        pith_route_make(s, pith_arange(s, PITH_I32, entries),
                        pith_reshape(s, border.brick, flat), "x,y,z", in->ghosts);
    const pith_lens *const slots[] = {
        PITH_LENS(Brick, ghosts->max_peers), PITH_LENS(Brick, ghosts->max_send),
        PITH_LENS(Brick, ghosts->max_receive), PITH_LENS(Brick, max_ghosts)};
    const int64_t sizes[] = {in->ghosts->max_peers, in->ghosts->max_send,
                             in->ghosts->max_receive, in->max_ghosts};
    const pith_array *twice[] = {
        route->need, pith_slice_array(s, route->need, 1, &PITH_SLICE(2, 3, 1))};
    require_room(s, in, 4, slots, sizes, pith_concatenate(s, 2, twice, 0));
    const pith_array *across =
        pith_route_send(s, route, pith_reshape(s, border.across, flat));
    pith_route atoms = *route;
    const pith_array *atom = pith_floor_divide(s, route->send, BRICK_WAYS);
    atoms.send = pith_where(s, pith_less(s, route->send, 0), -1, atom);
    Brick next = *in;
    next.ghosts = pith_freeze(s, pith_route, &atoms);
    next.shift = pith_launch_dtype(s, pith_array_spec(in->position)->dtype, brick_shift,
                                   across, in->box)
                     .shift;
    return pith_freeze(s, Brick, &next);
}

/* The order of atoms by cells of the room, own ones, then ghosts. */
typedef struct {
    brick_room_result room;
    melt_cells_result cells;
    brick_cell_result at;
    const pith_array *order;
} Sorted;

static Sorted sort_by_cells(pith_scope *s,
                            const Brick *in,
                            const pith_array *position,
                            const pith_array *ghosts) {
    const double reach = in->cutoff + in->skin;
    const int64_t atoms = pith_array_spec(position)->shape[0];
    Sorted by;
    by.room = pith_launch(s, brick_room, in->box, parts_of(s), place_of(s), reach);
    by.cells = pith_launch(s, melt_cells, by.room.sides, reach, atoms);
    by.at = pith_launch(s, brick_cell, position, in->count, ghosts, by.room.sides,
                        by.room.corner, by.cells.grid, in->max_atoms, in->max_cells);
    by.order = pith_argsort(s, by.at.cell, 0, NULL);
    return by;
}

/* Own atoms that are close in space become close in memory. */
static const Brick *sort_atoms(pith_scope *s, const Brick *in) {
    const Sorted by = sort_by_cells(s, in, in->position, pith_i64(s, 0));
    const Moved own = {in->position, in->velocity, in->id};
    const Moved *sorted = pith_tree_take(s, pith_freeze(s, Moved, &own), by.order, NULL);
    Brick next = *in;
    next.position = next.origin = sorted->position;
    next.velocity = sorted->velocity;
    next.id = sorted->id;
    return pith_freeze(s, Brick, &next);
}

static const Brick *build_lists(pith_scope *s, const Brick *in) {
    const double reach = in->cutoff + in->skin;
    const Sorted by =
        sort_by_cells(s, in, brick_positions(s, in), total(s, in->ghosts->received));
    const int64_t atoms = pith_array_spec(by.order)->count;
    const melt_sort_result sorted =
        pith_launch(s, melt_sort, by.at.cell, by.order, by.at.local, by.at.local,
                    pith_arange(s, PITH_I32, atoms), in->max_cells + 1);
    /* without the cell of atoms that are not in use */
    const pith_array *start =
        pith_slice_array(s, sorted.start, 1, &PITH_SLICE(0, in->max_cells + 1, 1));
    const melt_neighbours_result near =
        pith_launch(s, melt_neighbours, start, sorted.axes, by.room.sides, by.cells.grid,
                    reach, in->max_neighbours);
    require_one(s, in, PITH_LENS(Brick, max_cells), in->max_cells, by.cells.cells);
    require_one(s, in, PITH_LENS(Brick, max_neighbours), in->max_neighbours, near.most);
    const brick_lists_result lists = pith_launch(
        s, brick_lists, near.neighbour, near.count, pith_argsort(s, by.order, 0, NULL),
        by.order, in->count, in->max_atoms);
    Brick next = *in;
    next.neighbour = lists.neighbour;
    next.listed = lists.listed;
    return pith_freeze(s, Brick, &next);
}

const Brick *brick_rebuild(pith_scope *s, const Brick *in) {
    return build_lists(s, meet_neighbours(s, sort_atoms(s, move_atoms(s, in))));
}
