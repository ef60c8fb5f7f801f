/* Rebuilds of a brick: atoms go to their new owners, copies of those near a face to the
 * bricks around, and lists of neighbours are made of both. */
#include "brick.h"

/* ---- Capacities ---- */

/* Bases of capacities that grow to powers of them. Every step has the cost of room for
 * atoms and ghosts, and their numbers change little. */
#define BASE       2.0
#define BASE_ATOMS 1.125

/* Require that sizes in the statics of the state are at least their needs, which are
 * those of all ranks. */
static void require_room(pith_scope *s,
                         const Brick *brick,
                         int64_t count,
                         const pith_lens *const *slots,
                         const int64_t *sizes,
                         double base,
                         const pith_array *need) {
    const pith_capacity_options options = {
        .count = count,
        .sizes = sizes,
        .lens = pith_lens_merge(s, count, slots),
        .base = brick->fixed_capacity ? 0 : base,
        .fixed = brick->fixed_capacity,
        .message = brick->fixed_capacity ? "--fixed-capacity" : NULL};
    pith_capacity_require(s, pith_capacity_make(s, &options), need);
}

/* The needs of atoms and lists, of which each rank has its own. */
static void require_lists(pith_scope *s,
                          const Brick *in,
                          const pith_array *cells,
                          const pith_array *most) {
    const pith_lens *const slots[] = {PITH_LENS(Brick, max_cells),
                                      PITH_LENS(Brick, max_neighbours)};
    const pith_lens *const atoms[] = {PITH_LENS(Brick, max_atoms),
                                      PITH_LENS(Brick, own->max_atoms)};
    const pith_array *own[] = {cells, most, in->own->count, in->own->count};
    const pith_array *need = pith_pmax(s, pith_stack(s, 4, own, 0), NULL);
    require_room(s, in, 2, slots, (const int64_t[]){in->max_cells, in->max_neighbours},
                 BASE, pith_slice_array(s, need, 1, &PITH_SLICE(0, 2, 1)));
    require_room(s, in, 2, atoms, (const int64_t[]){in->max_atoms, in->max_atoms},
                 BASE_ATOMS, pith_slice_array(s, need, 1, &PITH_SLICE(2, 4, 1)));
}

static const pith_array *part_of_need(pith_scope *s, const pith_route *route, int64_t k) {
    return pith_slice_at(s, route->need, 0, k);
}

/* ---- Parts ---- */

typedef struct {
    const pith_array *parts, *place; /* i64[3]: bricks along the axes, and its numbers */
    const pith_array *part, *width;  /* f64[3,2]: from and to, in fractions; f64[3] */
    int64_t ways;                    /* to other bricks */
    brick_around_result around;      /* where they lead */
    melt_cells_result cells;         /* the grid, and the window of this brick */
} Place;

static const pith_array *parts_of(pith_scope *s, int64_t parts[3]) {
    static const char *const axes[] = {"x", "y", "z"};
    for (int d = 0; d < 3; d++)
        parts[d] = pith_axis_size(s, axes[d]);
    return pith_array_copy(s, PITH_I64, PITH_SHAPE(3), parts);
}

static void require_width(pith_scope *s, const Brick *in, const pith_array *width) {
    const double reach = in->own->cutoff + in->own->skin;
    pith_check(s, pith_greater_equal(s, width, reach),
               "a brick is {width} wide, expected at least cutoff + skin, {reach}",
               .args = {{"width", width}, {"reach", pith_f64(s, reach)}},
               .path = ".cuts");
}

static Place place_of(pith_scope *s, const Brick *in) {
    int64_t parts[3];
    const pith_array *along[] = {pith_axis_index(s, "x"), pith_axis_index(s, "y"),
                                 pith_axis_index(s, "z")};
    Place p = {.parts = parts_of(s, parts),
               .place = pith_cast(s, pith_stack(s, 3, along, 0), PITH_I64),
               .ways = 1};
    for (int d = 0; d < 3; d++)
        p.ways *= brick_ways_along(parts[d]);
    p.ways = p.ways > 1 ? p.ways - 1 : 1; /* alone: to itself, for no atom */
    const brick_part_result at =
        pith_launch(s, brick_part, in->own->listed, in->cuts, p.place);
    p.around = pith_launch(s, brick_around, p.parts, p.place, p.ways);
    p.width = at.width;
    p.part = at.part;
    p.cells = pith_launch(s, melt_cells, in->own->listed, p.part,
                          in->own->cutoff + in->own->skin, in->own->atoms);
    return p;
}

/* ---- Owners ---- */

/* The brick with other atoms. */
static const Brick *with_own(pith_scope *s, const Brick *in, const Owned *own) {
    Brick next = *in;
    next.own = pith_freeze(s, Owned, own);
    return pith_freeze(s, Brick, &next);
}

/* Whether positions are those of the last rebuild, in the same array. */
static bool is_fresh(const Owned *own) {
    return own->position == own->origin;
}

static const Moved *movable(pith_scope *s, const Owned *own) {
    return pith_freeze(s, Moved, &(Moved){own->origin, own->velocity, own->id});
}

/* Atoms with what they have moved. position: NULL if it is the origin. */
static Owned
with_moved(const Owned *own, const Moved *moved, const pith_array *position) {
    Owned next = *own;
    next.origin = moved->origin;
    next.velocity = moved->velocity;
    next.id = moved->id;
    next.position = position ? position : moved->origin;
    return next;
}

/* Move cuts to where loads are equal: the same on all ranks. */
static const Brick *balance(pith_scope *s, const Brick *in) {
    const Owned *own = in->own;
    int64_t parts[3];
    const brick_load_result here = pith_launch(s, brick_load, own->origin, own->count,
                                               own->listed, (int64_t)BRICK_BINS);
    Brick next = *in;
    next.cuts =
        pith_launch(s, brick_balance, pith_psum(s, here.load, NULL, NULL), in->cuts,
                    own->listed, parts_of(s, parts), own->cutoff + own->skin)
            .moved;
    return pith_freeze(s, Brick, &next);
}

/* The ranks of the bricks that atoms are in; -1: not in use. */
static const pith_array *owners(pith_scope *s, const Brick *in, const Place *at) {
    const Owned *own = in->own;
    return pith_launch(s, brick_owner, own->origin, own->count, own->listed, in->cuts,
                       at->parts)
        .owner;
}

/* Give all atoms to their owners, those that stay, too. */
static const Brick *deal_atoms(pith_scope *s, const Brick *in, const Place *at) {
    const Owned *own = in->own;
    const pith_array *owner = owners(s, in, at);
    const pith_route *room =
        pith_route_room(s, in->max_peers, in->max_atoms, in->max_atoms);
    const pith_route *route =
        pith_route_make(s, pith_arange(s, PITH_I64, in->max_atoms), owner, "x,y,z", room);
    const pith_lens *const slots[] = {PITH_LENS(Brick, max_peers),
                                      PITH_LENS(Brick, max_atoms),
                                      PITH_LENS(Brick, own->max_atoms)};
    const pith_array *parts[] = {part_of_need(s, route, 0), part_of_need(s, route, 2),
                                 part_of_need(s, route, 2)};
    require_room(s, in, 3, slots,
                 (const int64_t[]){in->max_peers, in->max_atoms, in->max_atoms},
                 BASE_ATOMS, pith_stack(s, 3, parts, 0));
    Owned next =
        with_moved(own, pith_route_send(s, route, movable(s, own)),
                   is_fresh(own) ? NULL : pith_route_send(s, route, own->position));
    next.count = pith_sum(s, route->received, PITH_ALL_AXES);
    return with_own(s, in, &next);
}

/* A route for the few atoms that leave. */
static const pith_route *
route_of_leavers(pith_scope *s, const Brick *in, const pith_array *to) {
    const pith_route *room =
        pith_route_room(s, in->max_peers, in->max_moved, in->max_moved);
    const pith_route *route =
        pith_route_make(s, pith_arange(s, PITH_I64, in->max_atoms), to, "x,y,z", room);
    const pith_lens *const slots[] = {PITH_LENS(Brick, max_peers),
                                      PITH_LENS(Brick, max_moved)};
    const pith_array *parts[] = {part_of_need(s, route, 0),
                                 pith_max(s, route->need, PITH_ALL_AXES)};
    require_room(s, in, 2, slots, (const int64_t[]){in->max_peers, in->max_moved}, BASE,
                 pith_stack(s, 2, parts, 0));
    return route;
}

/* The own atoms by cells of the window: the cell of each row, and where cells start. */
typedef struct {
    const pith_array *cell, *start;
} Settled;

/* Atoms are folded into the box, and those that have left go to their bricks. All are
 * sorted then: those that are close in space become close in memory. */
static const Brick *
pass_on(pith_scope *s, const Brick *in, const Place *at, Settled *by) {
    const Owned *own = in->own;
    const brick_leaver_result leaver = pith_launch(
        s, brick_leaver, own->origin, own->count, own->listed, in->cuts, at->parts,
        at->place, at->cells.grid, at->cells.window, in->max_cells);
    const pith_route *route = route_of_leavers(s, in, leaver.to);
    const Moved here = {leaver.folded, own->velocity, own->id};
    const Moved *came = pith_route_send(s, route, pith_freeze(s, Moved, &here));
    const pith_array *arrived = pith_sum(s, route->received, PITH_ALL_AXES);
    const pith_array *left = pith_sum(s, route->sent, PITH_ALL_AXES);
    const pith_array *all =
        brick_joined(s, leaver.cell,
                     pith_launch(s, brick_cell, came->origin, arrived, own->listed,
                                 at->cells.grid, at->cells.window, in->max_cells)
                         .cell);
    Owned next = *own;
    next.count = pith_add(s, pith_sub(s, own->count, left), arrived);
    const brick_settle_result settled = pith_launch(
        s, brick_settle, pith_argsort(s, all, 0, NULL), all,
        brick_joined(s, own->id, came->id), next.count, at->cells.cells, leaver.folded,
        own->velocity, came->origin, came->velocity, in->max_cells);
    *by = (Settled){settled.sorted, settled.start};
    next.origin = next.position = settled.settled;
    next.velocity = settled.kept;
    next.id = settled.number;
    if (!is_fresh(own))
        next.position = pith_take(
            s, brick_joined(s, own->position, pith_route_send(s, route, own->position)),
            settled.from, &(pith_take_options){.mode = PITH_INDEX_PROMISE});
    return with_own(s, in, &next);
}

/* ---- Cells and lists ---- */

/* A route to the bricks around. */
static const Brick *meet_neighbours(pith_scope *s, const Brick *in, const Place *at) {
    const Owned *own = in->own;
    const brick_border_result border = pith_launch(
        s, brick_border, own->origin, own->count, own->listed, at->part, at->parts,
        at->around.step, at->around.number, own->cutoff + own->skin);
    const pith_shape list = PITH_SHAPE(at->ways * in->max_atoms);
    Brick next = *in;
    next.ghosts =
        pith_route_make(s, pith_reshape(s, border.row, list),
                        pith_reshape(s, border.brick, list), "x,y,z", in->ghosts);
    const pith_lens *const slots[] = {PITH_LENS(Brick, ghosts->max_peers),
                                      PITH_LENS(Brick, ghosts->max_send),
                                      PITH_LENS(Brick, ghosts->max_receive)};
    const int64_t sizes[] = {in->ghosts->max_peers, in->ghosts->max_send,
                             in->ghosts->max_receive};
    require_room(s, in, 3, slots, sizes, BASE_ATOMS, next.ghosts->need);
    return pith_freeze(s, Brick, &next);
}

/* Own atoms, which are in the order of cells, and ghosts by cells. */
static Cells merge_ghosts(pith_scope *s,
                          const Brick *in,
                          const Place *at,
                          const Settled *by,
                          const Seen *ghosts) {
    const Owned *own = in->own;
    const pith_array *count = pith_sum(s, in->ghosts->received, PITH_ALL_AXES);
    const pith_array *there =
        pith_launch(s, brick_cell, ghosts->origin, count, own->listed, at->cells.grid,
                    at->cells.window, in->max_cells)
            .cell;
    const brick_line_up_result line =
        pith_launch(s, brick_line_up, pith_argsort(s, there, 0, NULL), there, ghosts->id,
                    at->cells.cells, in->max_cells);
    const brick_merge_result merged =
        pith_launch(s, brick_merge, own->origin, own->id, by->cell, by->start,
                    ghosts->origin, ghosts->id, line.row, line.sorted, line.start,
                    at->cells.cells, in->max_atoms + in->ghosts->max_receive);
    return (Cells){.grid = at->cells.grid,
                   .window = at->cells.window,
                   .need = at->cells.cells,
                   .start = pith_add(s, by->start, line.start),
                   .axes = merged.axes,
                   .row = merged.row};
}

static const Brick *
build_lists(pith_scope *s, const Brick *in, const Place *at, const Settled *by) {
    const Seen here = {in->own->origin, in->own->id};
    const Seen *ghosts = pith_route_send(s, in->ghosts, pith_freeze(s, Seen, &here));
    const Cells cells = merge_ghosts(s, in, at, by, ghosts);
    const Listed listed = {.box = in->own->listed,
                           .own = in->max_atoms,
                           .max_neighbours = in->max_neighbours,
                           .reach = in->own->cutoff + in->own->skin};
    const melt_neighbours_result near = melt_list(s, &listed, &cells);
    require_lists(s, in, cells.need, near.most);
    Brick next = *in;
    next.neighbour = near.neighbour;
    next.entries = near.count;
    return pith_freeze(s, Brick, &next);
}

/* ---- Rebuilds ---- */

/* Cuts and their place. Bricks are wide enough. */
static const Brick *cut(pith_scope *s, const Brick *in, Place *at) {
    const Brick *next = in->balance ? balance(s, in) : in;
    *at = place_of(s, next);
    require_width(s, next, at->width);
    return next;
}

static const Brick *settle(pith_scope *s, const Brick *in) {
    Place at;
    Settled by;
    const Brick *passed = pass_on(s, cut(s, in, &at), &at, &by);
    return build_lists(s, meet_neighbours(s, passed, &at), &at, &by);
}

/* Atoms folded into the box, before they go to their owners. */
static const Brick *fold(pith_scope *s, const Brick *in) {
    Owned own = *in->own;
    own.origin = own.position =
        pith_launch(s, brick_fold, own.position, own.count, own.box).folded;
    own.listed = own.box;
    return with_own(s, in, &own);
}

const Brick *brick_restore(pith_scope *s, const Brick *in) {
    Place at;
    const Brick *dealt = deal_atoms(s, cut(s, in, &at), &at);
    return settle(s, dealt);
}

const Brick *brick_start(pith_scope *s, const Brick *in) {
    return brick_restore(s, fold(s, in));
}

const Brick *brick_rebuild(pith_scope *s, const Brick *in) {
    Owned own = *in->own;
    own.origin = own.position; /* which pass_on folds */
    own.listed = own.box;
    return settle(s, with_own(s, in, &own));
}
