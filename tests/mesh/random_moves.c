/* Random collectives: by pith, and by one device from the arrays of all ranks. */
#include "mesh/random_values.h"

#include <stdio.h>
#include <string.h>

int64_t random_draw(random_values *v, int64_t n) {
    v->state = v->state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((v->state >> 33) % (uint64_t)n);
}

static const pith_spec *spec_of(const pith_array *a) {
    return pith_array_spec(a);
}
static int64_t extent(const pith_array *a, int axis) {
    return spec_of(a)->shape[axis];
}
static pith_shape shape_of(const pith_array *a) {
    pith_shape shape = {.rank = spec_of(a)->rank};
    for (int d = 0; d < shape.rank; d++)
        shape.extents[d] = extent(a, d);
    return shape;
}

const pith_array *
random_part(pith_scope *s, const pith_array *a, int axis, int64_t from, int64_t to) {
    pith_slice all[PITH_MAX_RANK];
    for (int d = 0; d < axis; d++)
        all[d] = PITH_SLICE(0, extent(a, d), 1);
    all[axis] = PITH_SLICE(from, to, 1);
    return pith_slice_array(s, a, axis + 1, all);
}

const pith_array *
random_joined(pith_scope *s, const pith_array *a, const pith_array *b, int axis) {
    return pith_concatenate(s, 2, (const pith_array *[]){a, b}, axis);
}

static const pith_array *zeros_like(pith_scope *s, const pith_array *a) {
    return pith_zeros(s, spec_of(a)->dtype, shape_of(a));
}

/* ---- Ranks ---- */

static random_group group_of(const random_values *v, int axes, int64_t r) {
    static const char *const names[] = {"x", "y", "x,y", NULL, "y,x"};
    const int64_t nx = v->size / v->ny, x = r / v->ny, y = r % v->ny;
    random_group g = {.axes = names[axes]};
    for (int64_t k = 0; k < v->size; k++) {
        const int64_t at = axes == 4 ? k % nx * v->ny + k / nx : k; /* y is slowest */
        const bool inside =
            (axes != 0 || at % v->ny == y) && (axes != 1 || at / v->ny == x);
        if (inside && at == r)
            g.own = g.size;
        if (inside)
            g.ranks[g.size++] = at;
    }
    return g;
}

/* ---- Steps: what is drawn is the same on all ranks and in both forms ---- */

typedef enum random_kind {
    PSUM,
    PMEAN,
    PMAX,
    PMIN,
    PBROADCAST,
    PSCAN,
    ALL_GATHER,
    ALL_STACK,
    REDUCE_SCATTER,
    ALL_TO_ALL,
    PPERMUTE,
    PSHIFT,
    TREE_PSUM,
    PSUM_ROWS,
    HALO,
    HALO_ADD,
    ROUTE,
    ROUTE_BACK,
    KINDS
} random_kind;

static const char *const kind_names[KINDS] = {
    "psum",     "pmean",      "pmax",      "pmin",           "pbroadcast",
    "pscan",    "all_gather", "all_stack", "reduce_scatter", "all_to_all",
    "ppermute", "pshift",     "tree_psum", "psum_rows",      "halo",
    "halo_add", "route",      "route back"};

typedef struct random_step {
    random_kind kind;
    int a, b, to, axes; /* values, and the axes of the mesh */
    int axis, join;     /* of the array */
    int64_t by, before, after;
    bool wrap, counts; /* counts: rows are in use */
    int64_t rows[RANDOM_RANKS];
    int64_t pairs[RANDOM_RANKS][2];
    int pair_count;
    int64_t row[RANDOM_RANKS][RANDOM_ENTRIES], dest[RANDOM_RANKS][RANDOM_ENTRIES];
    int64_t most_send, most_receive;
} random_step;

/* Some ranks send to others, each at most once. */
static void draw_pairs(random_values *v, random_step *t, int64_t n) {
    bool sends[RANDOM_RANKS] = {false}, receives[RANDOM_RANKS] = {false};
    for (int64_t k = random_draw(v, n + 1); k > 0; k--) {
        const int64_t from = random_draw(v, n), to = random_draw(v, n);
        if (sends[from] || receives[to])
            continue;
        sends[from] = receives[to] = true;
        t->pairs[t->pair_count][0] = from;
        t->pairs[t->pair_count++][1] = to;
    }
}

/* Rows of each rank to ranks along the axes, or nowhere; some ranks send none. */
static void draw_route(random_values *v, random_step *t, int64_t n, int64_t rows) {
    int64_t send[RANDOM_RANKS][RANDOM_RANKS] = {{0}};
    for (int64_t r = 0; r < v->size; r++) {
        const bool empty = rows == 0 || random_draw(v, 4) == 0;
        const random_group g = group_of(v, t->axes, r);
        for (int k = 0; k < RANDOM_ENTRIES; k++) {
            t->dest[r][k] = random_draw(v, n + 1) - 1;
            t->row[r][k] = random_draw(v, rows + 1);
            if (empty || t->row[r][k] == rows)
                t->dest[r][k] = -1;
            if (t->dest[r][k] >= 0)
                send[r][g.ranks[t->dest[r][k]]]++;
        }
    }
    for (int64_t r = 0; r < v->size; r++) {
        int64_t received = 0;
        for (int64_t k = 0; k < v->size; k++) {
            received += send[k][r];
            t->most_send = send[r][k] > t->most_send ? send[r][k] : t->most_send;
        }
        t->most_receive = received > t->most_receive ? received : t->most_receive;
    }
    t->most_send += random_draw(v, 2);
    t->most_receive += random_draw(v, 3);
}

static bool can_do(const random_step *t, const pith_array *a) {
    const bool is_float = pith_dtype_is_float(spec_of(a)->dtype),
               is_bool = spec_of(a)->dtype == PITH_BOOL;
    const int rank = spec_of(a)->rank;
    switch ((int)t->kind) {
        case PMEAN:
            return is_float;
        case PSCAN:
            return !is_float && !is_bool;
        case ALL_STACK:
            return rank < PITH_MAX_RANK;
        case HALO_ADD:
        case ROUTE_BACK:
            return rank > 0 && !is_bool;
        case ALL_GATHER:
        case REDUCE_SCATTER:
        case ALL_TO_ALL:
        case PSUM_ROWS:
        case HALO:
        case ROUTE:
            return rank > 0;
        default:
            return true;
    }
}

static random_step draw_step(random_values *v) {
    random_step t = {0};
    const pith_array *a = NULL;
    do {
        t = (random_step){.kind = (random_kind)random_draw(v, KINDS)};
        t.a = (int)random_draw(v, RANDOM_VALUES);
        t.b = (int)random_draw(v, RANDOM_VALUES);
        t.to = (int)random_draw(v, RANDOM_VALUES);
        a = v->of[t.a][0];
    } while (!can_do(&t, a));
    const int rank = spec_of(a)->rank;
    const int64_t rows = rank ? extent(a, 0) : 0;
    const bool line = t.kind == HALO || t.kind == HALO_ADD; /* of one axis, or all */
    t.axes = (int)random_draw(v, line ? 4 : 5);
    t.axes = line && t.axes == 2 ? 3 : t.axes;
    const int64_t n = group_of(v, t.axes, 0).size;
    t.axis = rank ? (int)random_draw(v, rank) : 0;
    t.join = rank ? (int)random_draw(v, rank) : 0;
    t.by = random_draw(v, 2 * n + 3) - n - 1;
    t.wrap = random_draw(v, 2);
    t.counts = rank > 0 && random_draw(v, 2);
    for (int64_t r = 0; r < v->size; r++)
        t.rows[r] =
            random_draw(v, 3) ? random_draw(v, rows + 1) : random_draw(v, 2) * rows;
    if (rank) {
        t.before = random_draw(v, extent(a, t.axis) + 1);
        t.after = random_draw(v, extent(a, t.axis) + 1);
    }
    draw_pairs(v, &t, n);
    draw_route(v, &t, n, rows);
    if (v->prints)
        fprintf(stderr,
                "  %d = %s %d %d axes %s axis %d join %d by %d%s%s before %d after %d\n",
                t.to, kind_names[t.kind], t.a, t.b, group_of(v, t.axes, 0).axes, t.axis,
                t.join, (int)t.by, t.wrap ? " wrap" : "", t.counts ? " rows" : "",
                (int)t.before, (int)t.after);
    return t;
}

static bool takes_rows(const random_step *t) {
    return t->counts &&
           (t->kind == PSUM || t->kind == PMEAN || t->kind == REDUCE_SCATTER ||
            t->kind == ALL_TO_ALL || t->kind == PSHIFT);
}

/* ---- By collectives ---- */

/* The number of this rank in a table of all ranks. */
static const pith_array *
own_entry(pith_scope *s, const int64_t *table, int64_t n, int64_t each) {
    const pith_shape shape = each ? PITH_SHAPE(n, each) : PITH_SHAPE(n);
    return pith_take(s, pith_array_copy(s, PITH_I64, shape, table),
                     pith_axis_index(s, NULL), NULL);
}

static const pith_route *
route_of(random_values *v, const random_step *t, const char *axes) {
    const pith_route *room =
        pith_route_room(v->s, v->size, t->most_send, t->most_receive);
    return pith_route_make(v->s, own_entry(v->s, t->row[0], v->size, RANDOM_ENTRIES),
                           own_entry(v->s, t->dest[0], v->size, RANDOM_ENTRIES), axes,
                           room);
}

/* A tree with a value and with more of other dtypes. */
static const pith_array *
tree_sum(pith_scope *s, const pith_array *a, const pith_array *b, const char *axes) {
    const void *tree[] = {b, a, pith_i32(s, 7), b};
    return pith_child(pith_tree_psum(s, pith_tuple_make(s, 4, tree), axes, NULL), 1);
}

static const pith_array *collective(random_values *v,
                                    const random_step *t,
                                    const random_group *g,
                                    const pith_array *a) {
    pith_scope *s = v->s;
    const char *axes = g->axes;
    const bool in_use = takes_rows(t) || t->kind == PSUM_ROWS;
    const pith_collective_options how = {
        .rows = in_use && t->counts ? own_entry(s, t->rows, v->size, 0) : NULL};
    switch ((int)t->kind) {
        case PSUM:
            return pith_psum(s, a, axes, &how);
        case PMEAN:
            return pith_pmean(s, a, axes, &how);
        case PMAX:
            return pith_pmax(s, a, axes);
        case PMIN:
            return pith_pmin(s, a, axes);
        case PBROADCAST:
            return pith_pbroadcast(s, a, axes, (t->by + 2 * g->size) % g->size);
        case PSCAN:
            return pith_pscan(s, a, axes);
        case ALL_GATHER:
            return pith_all_gather(s, a, axes, t->axis);
        case ALL_STACK:
            return pith_all_stack(s, a, axes);
        case REDUCE_SCATTER:
            return pith_reduce_scatter(s, a, axes, t->axis, &how);
        case ALL_TO_ALL:
            return pith_all_to_all(s, a, axes, t->axis, t->join, &how);
        case PPERMUTE:
            return pith_ppermute(s, a, axes, t->pair_count, t->pairs);
        case PSHIFT:
            return pith_pshift(s, a, axes, t->by, t->wrap, &how);
        case TREE_PSUM:
            return tree_sum(s, a, v->of[t->b][0], axes);
        case PSUM_ROWS:
            return pith_psum_rows(s, a, axes, &how);
        case HALO:
            return pith_halo(s, a, t->axis, axes, t->before, t->after, t->wrap);
        case HALO_ADD:
            return pith_halo_add(s, a, t->axis, axes, t->before, t->after, t->wrap);
        case ROUTE:
            return pith_route_send(s, route_of(v, t, axes), a);
        default: {
            const pith_route *route = route_of(v, t, axes);
            return pith_route_return(s, route, pith_route_send(s, route, a), a);
        }
    }
}

/* ---- By one device ---- */

/* The array of a rank of a group, by its number; zeros beyond them. */
static const pith_array *neighbour(pith_scope *s,
                                   const random_step *t,
                                   const random_group *g,
                                   const pith_array *const *all,
                                   int64_t at) {
    if (t->wrap)
        return all[g->ranks[(at % g->size + g->size) % g->size]];
    return at >= 0 && at < g->size ? all[g->ranks[at]] : zeros_like(s, all[0]);
}

static const pith_array *
summed(pith_scope *s, const random_group *g, const pith_array *const *all) {
    const pith_array *own[RANDOM_RANKS];
    for (int64_t k = 0; k < g->size; k++)
        own[k] = all[g->ranks[k]];
    return pith_sum(s, pith_stack(s, g->size, own, 0), PITH_AXES(0));
}

static const pith_array *halo(pith_scope *s,
                              const random_step *t,
                              const random_group *g,
                              const pith_array *const *all) {
    const int64_t n = extent(all[0], t->axis);
    const pith_array *pieces[] = {
        random_part(s, neighbour(s, t, g, all, g->own - 1), t->axis, n - t->before, n),
        all[g->ranks[g->own]],
        random_part(s, neighbour(s, t, g, all, g->own + 1), t->axis, 0, t->after)};
    return pith_concatenate(s, 3, pieces, t->axis);
}

/* Rows that a neighbour has of a block are added to its first or last ones. */
static const pith_array *halo_added(pith_scope *s,
                                    const random_step *t,
                                    const random_group *g,
                                    const pith_array *const *all) {
    const int axis = t->axis;
    const int64_t whole = extent(all[0], axis), n = whole - t->before - t->after;
    const pith_array *own = all[g->ranks[g->own]],
                     *made = random_part(s, own, axis, t->before, t->before + n);
    if (t->wrap || g->own > 0) {
        const pith_array *from = random_part(s, neighbour(s, t, g, all, g->own - 1), axis,
                                             whole - t->after, whole);
        made =
            random_joined(s, pith_add(s, random_part(s, made, axis, 0, t->after), from),
                          random_part(s, made, axis, t->after, n), axis);
    }
    if (t->wrap || g->own + 1 < g->size) {
        const pith_array *from =
            random_part(s, neighbour(s, t, g, all, g->own + 1), axis, 0, t->before);
        made = random_joined(
            s, random_part(s, made, axis, 0, n - t->before),
            pith_add(s, random_part(s, made, axis, n - t->before, n), from), axis);
    }
    return made;
}

/* Rows that come to a rank, in the order of the ranks and of their entries. */
static const pith_array *
routed(random_values *v, const random_step *t, int64_t r, const pith_array *const *all) {
    pith_scope *s = v->s;
    pith_shape shape = shape_of(all[0]);
    const pith_array *pieces[RANDOM_RANKS * RANDOM_ENTRIES + 1];
    int64_t count = 0;
    for (int64_t from = 0; from < v->size; from++) {
        const random_group g = group_of(v, t->axes, from);
        for (int k = 0; k < RANDOM_ENTRIES; k++)
            if (t->dest[from][k] >= 0 && g.ranks[t->dest[from][k]] == r)
                pieces[count++] =
                    random_part(s, all[from], 0, t->row[from][k], t->row[from][k] + 1);
    }
    shape.extents[0] = t->most_receive - count;
    pieces[count++] = pith_zeros(s, spec_of(all[0])->dtype, shape);
    return pith_concatenate(s, count, pieces, 0);
}

/* Each row of a rank with itself added as often as it was sent. */
static const pith_array *routed_back(random_values *v,
                                     const random_step *t,
                                     int64_t r,
                                     const pith_array *const *all) {
    pith_scope *s = v->s;
    const random_group g = group_of(v, t->axes, r);
    const int64_t n = extent(all[r], 0);
    const pith_array *made = all[r];
    for (int64_t to = 0; to < v->size; to++) /* peers in the order of the ranks */
        for (int k = 0; k < RANDOM_ENTRIES; k++) {
            const int64_t row = t->row[r][k];
            if (t->dest[r][k] < 0 || g.ranks[t->dest[r][k]] != to)
                continue;
            const pith_array *sum = pith_add(s, random_part(s, made, 0, row, row + 1),
                                             random_part(s, all[r], 0, row, row + 1));
            const pith_array *pieces[] = {random_part(s, made, 0, 0, row), sum,
                                          random_part(s, made, 0, row + 1, n)};
            made = pith_concatenate(s, 3, pieces, 0);
        }
    return made;
}

static const pith_array *
scanned(pith_scope *s, const random_group *g, const pith_array *const *all) {
    const pith_array *sum = zeros_like(s, all[0]);
    for (int64_t k = 0; k < g->own; k++)
        sum = pith_add(s, sum, all[g->ranks[k]]);
    return sum;
}

static const pith_array *exchanged(pith_scope *s,
                                   const random_step *t,
                                   const random_group *g,
                                   const pith_array *const *own) {
    const pith_array *blocks[RANDOM_RANKS];
    const int64_t n = extent(own[0], t->axis) / g->size;
    for (int64_t k = 0; k < g->size; k++)
        blocks[k] = random_part(s, own[k], t->axis, g->own * n, (g->own + 1) * n);
    return pith_concatenate(s, g->size, blocks, t->join);
}

static const pith_array *permuted(pith_scope *s,
                                  const random_step *t,
                                  const random_group *g,
                                  const pith_array *const *own) {
    for (int k = 0; k < t->pair_count; k++)
        if (t->pairs[k][1] == g->own)
            return own[t->pairs[k][0]];
    return zeros_like(s, own[0]);
}

static const pith_array *rows_summed(pith_scope *s,
                                     const random_step *t,
                                     const random_group *g,
                                     const pith_array *const *own) {
    const pith_array *used[RANDOM_RANKS];
    for (int64_t k = 0; k < g->size; k++)
        used[k] = t->counts ? random_part(s, own[k], 0, 0, t->rows[g->ranks[k]]) : own[k];
    return pith_sum(s, pith_concatenate(s, g->size, used, 0), PITH_AXES(0));
}

/* What rank r gets of the arrays of all. */
static const pith_array *from_all(random_values *v,
                                  const random_step *t,
                                  int64_t r,
                                  const pith_array *const *all) {
    pith_scope *s = v->s;
    const random_group g = group_of(v, t->axes, r);
    const pith_array *own[RANDOM_RANKS];
    for (int64_t k = 0; k < g.size; k++)
        own[k] = all[g.ranks[k]];
    switch ((int)t->kind) {
        case PSUM:
        case TREE_PSUM:
            return summed(s, &g, all);
        case PMEAN:
            return pith_mean(s, pith_stack(s, g.size, own, 0), PITH_AXES(0));
        case PMAX:
            return pith_max(s, pith_stack(s, g.size, own, 0), PITH_AXES(0));
        case PMIN:
            return pith_min(s, pith_stack(s, g.size, own, 0), PITH_AXES(0));
        case PBROADCAST:
            return own[(t->by + 2 * g.size) % g.size];
        case PSCAN:
            return scanned(s, &g, all);
        case ALL_GATHER:
            return pith_concatenate(s, g.size, own, t->axis);
        case ALL_STACK:
            return pith_stack(s, g.size, own, 0);
        case REDUCE_SCATTER: {
            const int64_t n = extent(all[0], t->axis) / g.size;
            return random_part(s, summed(s, &g, all), t->axis, g.own * n,
                               (g.own + 1) * n);
        }
        case ALL_TO_ALL:
            return exchanged(s, t, &g, own);
        case PPERMUTE:
            return permuted(s, t, &g, own);
        case PSHIFT:
            return neighbour(s, t, &g, all, g.own - t->by);
        case PSUM_ROWS:
            return rows_summed(s, t, &g, own);
        case HALO:
            return halo(s, t, &g, all);
        case HALO_ADD:
            return halo_added(s, t, &g, all);
        case ROUTE:
            return routed(v, t, r, all);
        default:
            return routed_back(v, t, r, all);
    }
}

/* ---- Both ---- */

/* A rank's array before the move: with an extent that can be divided, with a halo, and in
 * the form of all ranks without rows that are not in use. */
static const pith_array *
before(random_values *v, const random_step *t, int64_t r, const pith_array *a) {
    pith_scope *s = v->s;
    const random_group g = group_of(v, t->axes, r);
    if (t->kind == REDUCE_SCATTER || t->kind == ALL_TO_ALL) {
        const pith_array *copies[RANDOM_RANKS];
        for (int64_t k = 0; k < g.size; k++)
            copies[k] = k % 2 ? pith_flip(s, a, PITH_AXES((int8_t)t->axis)) : a;
        a = pith_concatenate(s, g.size, copies, t->axis);
    }
    if (t->kind == HALO_ADD) {
        const int64_t n = extent(a, t->axis);
        const pith_array *pieces[] = {random_part(s, a, t->axis, 0, t->before), a,
                                      random_part(s, a, t->axis, n - t->after, n)};
        a = pith_concatenate(s, 3, pieces, t->axis);
    }
    if (!v->all || !takes_rows(t))
        return a;
    const pith_array *used = random_part(s, a, 0, 0, t->rows[r]),
                     *rest = random_part(s, a, 0, t->rows[r], extent(a, 0));
    return random_joined(s, used, zeros_like(s, rest), 0);
}

void random_move(random_values *v) {
    const random_step t = draw_step(v);
    const pith_array *given[RANDOM_RANKS], *made[RANDOM_RANKS];
    for (int64_t r = 0; r < v->have; r++)
        given[r] = before(v, &t, r, v->of[t.a][r]);
    for (int64_t r = 0; r < v->have; r++) {
        const random_group g = group_of(v, t.axes, r);
        made[r] = v->all ? from_all(v, &t, r, given) : collective(v, &t, &g, given[0]);
    }
    memcpy(v->of[t.to], made, (size_t)v->have * sizeof *made);
}
