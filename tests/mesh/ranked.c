/* Calls of random functions over ranks (ranked.h). */
#include "mesh/ranked.h"

#include "array/array_internal.h"
#include "mesh/mesh_internal.h"

#include <string.h>

/* ---- Values ---- */

/* The arrays of one rank, or of all. */
typedef struct values {
    pith_scope *s;
    const ranked_function *f;
    int64_t ranks; /* whose arrays are here */
    const pith_array *of[RANKED_VALUES][RANKED_RANKS];
} values;

static const pith_array *scaled(pith_scope *s, const pith_array *a, double factor) {
    return pith_mul(s, a, pith_f64(s, factor));
}

static const void *pack(const values *v) {
    const void *items[RANKED_VALUES * RANKED_RANKS];
    int64_t n = 0;
    for (int k = 0; k < RANKED_VALUES; k++)
        for (int64_t r = 0; r < v->ranks; r++)
            items[n++] = v->of[k][r];
    return pith_list_make(v->s, n, items);
}

static values unpack(pith_scope *s, const ranked_function *f, const void *list) {
    values v = {.s = s, .f = f, .ranks = f->all ? f->sizes[0] * f->sizes[1] : 1};
    int64_t n = 0;
    for (int k = 0; k < RANKED_VALUES; k++)
        for (int64_t r = 0; r < v.ranks; r++)
            v.of[k][r] = pith_child(list, n++);
    return v;
}

/* ---- Ranks ---- */

static const char *axes_of(const ranked_step *t) {
    return t->axes == 0 ? "x" : t->axes == 1 ? "y" : "x,y";
}

/* The ranks along the axes of a step that rank r is one of; `own`: its number there. */
typedef struct group {
    int64_t size, own, ranks[RANKED_RANKS];
} group;

static group group_of(const values *v, const ranked_step *t, int64_t r) {
    const int64_t ny = v->f->sizes[1], x = r / ny, y = r % ny;
    group g = {.size = 0};
    for (int64_t k = 0; k < v->ranks; k++) {
        const bool inside =
            (t->axes != 0 || k % ny == y) && (t->axes != 1 || k / ny == x);
        if (inside && k == r)
            g.own = g.size;
        if (inside)
            g.ranks[g.size++] = k;
    }
    return g;
}

static int64_t group_size(const values *v, const ranked_step *t) {
    return t->axes == 0   ? v->f->sizes[0]
           : t->axes == 1 ? v->f->sizes[1]
                          : v->f->sizes[0] * v->f->sizes[1];
}

/* ---- Steps ---- */

static const pith_array *flat(pith_scope *s, const pith_array *a) {
    return pith_reshape(s, a, PITH_SHAPE(RANKED_EXTENT));
}

/* The sum of [n, 12] with other weights for each row. */
static const pith_array *weighted(pith_scope *s, const pith_array *a, int64_t n) {
    const pith_array *w =
        pith_add(s, pith_iota(s, PITH_F64, PITH_SHAPE(n, 1), 0), pith_f64(s, 1));
    return pith_sum(s, pith_div(s, a, w), PITH_AXES(0));
}

/* n copies with other factors, [12 n]. */
static const pith_array *copies(pith_scope *s, const pith_array *a, int64_t n) {
    const pith_array *all[RANKED_RANKS];
    for (int64_t k = 0; k < n; k++)
        all[k] = scaled(s, a, 1 / (1.0 + (double)k));
    return pith_concatenate(s, n, all, 0);
}

/* A part of [12]. */
static const pith_array *
part(pith_scope *s, const pith_array *a, int64_t from, int64_t to) {
    return pith_slice_array(s, a, 1, &PITH_SLICE(from, to, 1));
}

enum { BEFORE = 1, AFTER = 2 }; /* rows of a halo */

/* Own elements with those of the neighbours: [1 + 12 + 2] to [12]. */
static const pith_array *mixed(pith_scope *s, const pith_array *a) {
    return pith_add(
        s, scaled(s, part(s, a, 0, RANKED_EXTENT), 0.5),
        scaled(s, part(s, a, BEFORE + AFTER, RANKED_EXTENT + BEFORE + AFTER), 0.25));
}

/* The rank that element k of a rank goes to. As many come to each. */
static int64_t goes_to(const ranked_step *t, int64_t rank, int64_t k, int64_t n) {
    return (rank + k + t->by + 3 * n) % n;
}

static const pith_route *route_of(const values *v, const ranked_step *t) {
    pith_scope *s = v->s;
    const int64_t n = group_size(v, t);
    const pith_array *k = pith_iota(s, PITH_I32, PITH_SHAPE(RANKED_EXTENT), 0);
    const pith_array *first = pith_add(s, pith_axis_index(s, axes_of(t)),
                                       pith_i32(s, (int32_t)goes_to(t, 0, 0, n)));
    const pith_array *to =
        pith_remainder(s, pith_add(s, k, first), pith_i32(s, (int32_t)n));
    const pith_route *room =
        pith_route_room(s, RANKED_RANKS, RANKED_EXTENT, RANKED_EXTENT);
    return pith_route_make(s, k, to, axes_of(t), room);
}

/* Half of the moves that can have rows in use have them. */
static bool uses_rows(const ranked_step *t) {
    return t->by % 2 && (t->kind == RANKED_PSUM || t->kind == RANKED_PMEAN ||
                         t->kind == RANKED_PSHIFT || t->kind == RANKED_REDUCE_SCATTER ||
                         t->kind == RANKED_ALL_TO_ALL);
}

/* Rows in use of the rank with a number along the axes of a step: 3, 8, 0, 5. */
static const pith_array *rows_of(pith_scope *s, const pith_array *number) {
    const pith_array *n = pith_cast(s, number, PITH_I64);
    n = pith_add(s, pith_mul(s, n, pith_i64(s, 5)), pith_i64(s, 3));
    return pith_remainder(s, n, pith_i64(s, RANKED_EXTENT + 1));
}

/* Zeros in the other rows. */
static const pith_array *
only_rows(pith_scope *s, const pith_array *a, const pith_array *rows) {
    const pith_array *k =
        pith_iota(s, PITH_I64, PITH_SHAPE(pith_array_spec(a)->shape[0]), 0);
    return pith_where(s, pith_less(s, k, rows), a, pith_f64(s, 0));
}

/* What a rank makes of its arrays alone, before a move and after it. */
static const pith_array *before(const values *v, const ranked_step *t, int64_t r) {
    pith_scope *s = v->s;
    const pith_array *a = v->of[t->a][r];
    if (t->kind == RANKED_REDUCE_SCATTER)
        a = copies(s, a, group_size(v, t));
    if (!v->f->all || !uses_rows(t))
        return a;
    return only_rows(s, a, rows_of(s, pith_i32(s, (int32_t)group_of(v, t, r).own)));
}

static const pith_array *
after(const values *v, const ranked_step *t, int64_t r, const pith_array *a) {
    pith_scope *s = v->s;
    const int64_t n = group_size(v, t);
    switch ((int)t->kind) {
        case RANKED_PSUM:
        case RANKED_REDUCE_SCATTER:
            return scaled(s, a, 0.3);
        case RANKED_ALL_GATHER:
            return weighted(s, pith_reshape(s, a, PITH_SHAPE(n, RANKED_EXTENT)), n);
        case RANKED_ALL_STACK:
            return weighted(s, a, n);
        case RANKED_ALL_TO_ALL:
            return flat(s, a);
        case RANKED_PSUM_ROWS:
            return pith_add(s, scaled(s, a, 0.05), v->of[t->b][r]);
        case RANKED_HALO:
            return mixed(s, a);
        default:
            return a;
    }
}

/* A collective of one rank. */
static const pith_array *
move(const values *v, const ranked_step *t, const pith_array *a) {
    pith_scope *s = v->s;
    const char *axes = axes_of(t);
    const int64_t n = group_size(v, t);
    const pith_collective_options in_use = {
        .rows = uses_rows(t) ? rows_of(s, pith_axis_index(s, axes)) : NULL};
    switch ((int)t->kind) {
        case RANKED_PSUM:
            return pith_psum(s, a, axes, &in_use);
        case RANKED_PMEAN:
            return pith_pmean(s, a, axes, &in_use);
        case RANKED_PMAX:
            return pith_pmax(s, a, axes);
        case RANKED_PMIN:
            return pith_pmin(s, a, axes);
        case RANKED_PBROADCAST:
            return pith_pbroadcast(s, a, axes, (t->by + 3) % n);
        case RANKED_PSHIFT:
            return pith_pshift(s, a, axes, t->by, t->wrap, &in_use);
        case RANKED_ALL_GATHER:
            return pith_all_gather(s, a, axes, 0);
        case RANKED_ALL_STACK:
            return pith_all_stack(s, a, axes);
        case RANKED_REDUCE_SCATTER:
            return pith_reduce_scatter(s, a, axes, 0, &in_use);
        case RANKED_ALL_TO_ALL:
            return pith_all_to_all(s, pith_reshape(s, a, PITH_SHAPE(RANKED_EXTENT, 1)),
                                   axes, 0, 1, &in_use);
        case RANKED_HALO:
            return pith_halo(s, a, 0, t->axes == 2 ? NULL : axes, BEFORE, AFTER, t->wrap);
        case RANKED_ROUTE:
            return pith_route_send(s, route_of(v, t), a);
        case RANKED_ROUTE_BACK: {
            const pith_route *route = route_of(v, t);
            const pith_array *there = pith_sin(s, pith_route_send(s, route, a));
            return pith_route_return(s, route, there, v->of[t->b][0]);
        }
        default:
            return pith_psum_rows(s, a, axes, NULL);
    }
}

static const pith_array *neighbour(const values *v,
                                   const ranked_step *t,
                                   const group *g,
                                   const pith_array *const *all,
                                   int64_t by) {
    const int64_t at = g->own + by, n = g->size;
    return t->wrap             ? all[(at + n) % n]
           : at >= 0 && at < n ? all[at]
                               : scaled(v->s, all[0], 0);
}

static const pith_array *with_halo(const values *v,
                                   const ranked_step *t,
                                   const group *g,
                                   const pith_array *const *all) {
    const pith_array *pieces[] = {
        part(v->s, neighbour(v, t, g, all, -1), RANKED_EXTENT - BEFORE, RANKED_EXTENT),
        all[g->own], part(v->s, neighbour(v, t, g, all, 1), 0, AFTER)};
    return pith_concatenate(v->s, 3, pieces, 0);
}

/* The elements that go to a rank. */
static const pith_array *routed(const values *v,
                                const ranked_step *t,
                                const group *g,
                                const pith_array *const *all) {
    const pith_array *pieces[RANKED_EXTENT];
    int64_t count = 0;
    for (int64_t r = 0; r < g->size; r++)
        for (int64_t k = 0; k < RANKED_EXTENT; k++)
            if (goes_to(t, r, k, g->size) == g->own)
                pieces[count++] = part(v->s, all[r], k, k + 1);
    return pith_concatenate(v->s, count, pieces, 0);
}

/* The same for rank r of all, from their arrays. */
static const pith_array *move_of(const values *v,
                                 const ranked_step *t,
                                 const group *g,
                                 const pith_array *const *all) {
    pith_scope *s = v->s;
    const int64_t n = g->size, to = (g->own - t->by % n + n) % n;
    const int64_t from = t->wrap ? to : g->own - t->by;
    switch ((int)t->kind) {
        case RANKED_PSUM:
            return pith_sum(s, pith_stack(s, n, all, 0), PITH_AXES(0));
        case RANKED_PMEAN:
            return pith_mean(s, pith_stack(s, n, all, 0), PITH_AXES(0));
        case RANKED_PMAX:
            return pith_max(s, pith_stack(s, n, all, 0), PITH_AXES(0));
        case RANKED_PMIN:
            return pith_min(s, pith_stack(s, n, all, 0), PITH_AXES(0));
        case RANKED_PBROADCAST:
            return all[(t->by + 3) % n];
        case RANKED_PSHIFT:
            return from >= 0 && from < n ? all[from] : scaled(s, all[0], 0);
        case RANKED_ALL_GATHER:
            return pith_concatenate(s, n, all, 0);
        case RANKED_ALL_STACK:
            return pith_stack(s, n, all, 0);
        case RANKED_REDUCE_SCATTER: {
            const pith_array *sum = pith_sum(s, pith_stack(s, n, all, 0), PITH_AXES(0));
            return pith_slice_array(
                s, sum, 1,
                &PITH_SLICE(g->own * RANKED_EXTENT, (g->own + 1) * RANKED_EXTENT, 1));
        }
        case RANKED_ALL_TO_ALL: {
            const pith_array *blocks[RANKED_RANKS];
            const int64_t block = RANKED_EXTENT / n;
            for (int64_t k = 0; k < n; k++)
                blocks[k] = pith_slice_array(
                    s, all[k], 1, &PITH_SLICE(g->own * block, (g->own + 1) * block, 1));
            return pith_stack(s, n, blocks, 1);
        }
        case RANKED_HALO:
            return with_halo(v, t, g, all);
        case RANKED_ROUTE:
            return routed(v, t, g, all);
        case RANKED_ROUTE_BACK: {
            const pith_array *into = v->of[t->b][g->ranks[g->own]];
            return pith_add(s, into, pith_sin(s, all[g->own]));
        }
        default:
            return pith_sum(s, pith_concatenate(s, n, all, 0), PITH_AXES(0));
    }
}

static void move_all(values *v, const ranked_step *t) {
    const pith_array *given[RANKED_RANKS], *made[RANKED_RANKS];
    for (int64_t r = 0; r < v->ranks; r++)
        given[r] = before(v, t, r);
    for (int64_t r = 0; r < v->ranks; r++) {
        const pith_array *all[RANKED_RANKS];
        const group g = group_of(v, t, r);
        for (int64_t k = 0; v->f->all && k < g.size; k++)
            all[k] = given[g.ranks[k]];
        made[r] =
            after(v, t, r, v->f->all ? move_of(v, t, &g, all) : move(v, t, given[0]));
    }
    memcpy(v->of[t->to], made, (size_t)v->ranks * sizeof *made);
}

static const pith_array *index_of(const values *v, const ranked_step *t, int64_t r) {
    return v->f->all ? pith_i32(v->s, (int32_t)group_of(v, t, r).own)
                     : pith_axis_index(v->s, axes_of(t));
}

static const pith_array *compute(const values *v, const ranked_step *t, int64_t r) {
    const bool asks = t->kind >= RANKED_INDEX;
    return ranked_row(v->s, t, v->of[t->a][r], v->of[t->b][r],
                      asks ? index_of(v, t, r) : NULL);
}

/* ---- Control flow ---- */

/* A number of rank 0 that is equal on all ranks. */
static const pith_array *common(const values *v, const ranked_step *t) {
    pith_scope *s = v->s;
    const pith_array *own[RANKED_RANKS];
    for (int64_t r = 0; r < v->ranks; r++)
        own[r] = pith_mean(s, v->of[t->a][r], PITH_ALL_AXES);
    return v->f->all ? pith_max(s, pith_stack(s, v->ranks, own, 0), PITH_AXES(0))
                     : pith_pmax(s, own[0], NULL);
}

static const pith_array *is_above(pith_scope *s, const pith_array *a, double level) {
    return pith_greater(s, pith_stop_gradient(s, a), pith_f64(s, level));
}

static void choose(values *v, const ranked_step *t) {
    const pith_array *above = is_above(v->s, common(v, t), t->level);
    *v = unpack(
        v->s, v->f,
        pith_cond(v->s, above, &t->bodies[1]->branch, &t->bodies[0]->branch, pack(v)));
}

/* Rank r alone: its arrays are the only ones. */
static void choose_of_rank(values *v, const ranked_step *t) {
    values made = *v;
    for (int64_t r = 0; r < v->ranks; r++) {
        const void *items[RANKED_VALUES];
        for (int k = 0; k < RANKED_VALUES; k++)
            items[k] = v->of[k][r];
        const pith_array *own = pith_mean(v->s, v->of[t->a][r], PITH_ALL_AXES);
        const void *chosen =
            pith_cond(v->s, is_above(v->s, own, t->level), &t->bodies[1]->branch,
                      &t->bodies[0]->branch, pith_list_make(v->s, RANKED_VALUES, items));
        for (int k = 0; k < RANKED_VALUES; k++)
            made.of[k][r] = pith_child(chosen, k);
    }
    *v = made;
}

static void repeat(values *v, const ranked_step *t) {
    *v = unpack(v->s, v->f,
                pith_fori(v->s, 0, 2 + t->wrap, &t->bodies[0]->iteration, pack(v)));
}

static void repeat_range(values *v, const ranked_step *t) {
    pith_scope *s = v->s;
    const pith_array *count = pith_add(
        s, pith_cast(s, is_above(s, common(v, t), t->level), PITH_I64), pith_i64(s, 1));
    *v = unpack(s, v->f,
                pith_fori_with(s, pith_i64(s, 0), count, &t->bodies[0]->iteration,
                               pack(v), &(pith_loop_options){.most = 2}));
}

/* The carry: how often, how often at most, and the values. */
static const pith_array *is_below(pith_scope *s, const void *carry) {
    return pith_less(s, pith_child(carry, 0), pith_child(carry, 1));
}
PITH_FUNCTION1(is_below_function, is_below, pith_array, void)

static void repeat_record(values *v, const ranked_step *t) {
    pith_scope *s = v->s;
    const pith_array *count = pith_add(
        s, pith_cast(s, is_above(s, common(v, t), t->level), PITH_I64), pith_i64(s, 1));
    const void *first[] = {pith_i64(s, 0), count, pack(v)};
    const void *last = pith_while_recorded(s, &is_below_function, &t->bodies[0]->counted,
                                           pith_tuple_make(s, 3, first),
                                           &(pith_record_options){.most = 2});
    *v = unpack(s, v->f, pith_child(last, 2));
}

static void run(values *v, const ranked_body *body) {
    for (int k = 0; k < body->count && !pith_failed(v->s); k++) {
        const ranked_step *t = &body->steps[k];
        const pith_array *made[RANKED_RANKS];
        if (t->kind == RANKED_CHOICE)
            choose(v, t);
        else if (t->kind == RANKED_CHOICE_OF_RANK)
            choose_of_rank(v, t);
        else if (t->kind == RANKED_LOOP)
            repeat(v, t);
        else if (t->kind == RANKED_RANGE)
            repeat_range(v, t);
        else if (t->kind == RANKED_RECORD)
            repeat_record(v, t);
        else if (t->kind >= RANKED_PSUM)
            move_all(v, t);
        else {
            for (int64_t r = 0; r < v->ranks; r++)
                made[r] = compute(v, t, r);
            memcpy(v->of[t->to], made, (size_t)v->ranks * sizeof *made);
        }
    }
}

/* ---- Functions ---- */

/* A branch of one rank has one array a value, also in the form of all ranks. */
static const void *run_body(pith_scope *s, const ranked_body *body, const void *list) {
    ranked_function f = *body->of;
    f.all = f.all && !body->of_rank;
    values v = unpack(s, &f, list);
    run(&v, body);
    return pith_failed(s) ? NULL : pack(&v);
}

const void *
ranked_call_branch(const pith_function *f, pith_scope *s, const void *const *a) {
    return run_body(s, (const ranked_body *)(const void *)f, a[0]);
}

const void *
ranked_call_iteration(const pith_function *f, pith_scope *s, const void *const *a) {
    const char *at = (const char *)f - offsetof(ranked_body, iteration);
    return run_body(s, (const ranked_body *)(const void *)at, a[1]);
}

const void *
ranked_call_counted(const pith_function *f, pith_scope *s, const void *const *a) {
    const char *at = (const char *)f - offsetof(ranked_body, counted);
    const void *next[] = {
        pith_add(s, pith_child(a[0], 0), pith_i64(s, 1)), pith_child(a[0], 1),
        run_body(s, (const ranked_body *)(const void *)at, pith_child(a[0], 2))};
    return pith_tuple_make(s, 3, next);
}

const pith_array *ranked_shared(pith_scope *s, const pith_array *a) {
    const pith_mesh *mesh = pith_mesh_of(s);
    return mesh ? pithp_trace_replicated(s, a, pithp_mesh_axes(mesh)) : a;
}

/* 1 for the first rank, 2 for the next. */
static const pith_array *number_of(const values *v, int64_t r) {
    const pith_array *i =
        v->f->all ? pith_i32(v->s, (int32_t)r) : pith_axis_index(v->s, NULL);
    return pith_add(v->s, pith_cast(v->s, i, PITH_F64), pith_f64(v->s, 1));
}

const void *
ranked_call_function(const pith_function *self, pith_scope *s, const void *const *a) {
    const ranked_function *f = (const ranked_function *)(const void *)self;
    values v = {.s = s, .f = f, .ranks = f->all ? f->sizes[0] * f->sizes[1] : 1};
    const pith_array *sums[RANKED_RANKS];
    int64_t n = 0;
    for (int64_t r = 0; r < v.ranks; r++)
        for (int k = 0; k < RANKED_VALUES; k++)
            v.of[k][r] = k >= RANKED_SHARED      ? pith_child(a[0], n++)
                         : f->all || f->unmarked ? pith_child(a[1], k)
                                                 : ranked_shared(s, pith_child(a[1], k));
    run(&v, f->body);
    for (int64_t r = 0; r < v.ranks && !pith_failed(s); r++) {
        const pith_array *all = v.of[0][r];
        for (int k = 1; k < RANKED_VALUES; k++)
            all = pith_add(s, all, scaled(s, v.of[k][r], 1 + k));
        sums[r] = pith_sum(s, pith_sin(s, all), PITH_ALL_AXES);
        if (!f->reduced) /* so that it varies, whatever the steps are */
            sums[r] = pith_mul(s, sums[r], number_of(&v, r));
    }
    if (pith_failed(s))
        return NULL;
    if (f->locals)
        return pith_list_make(s, v.ranks, (const void *const *)sums);
    return f->all       ? pith_sum(s, pith_stack(s, v.ranks, sums, 0), PITH_AXES(0))
           : f->reduced ? pith_psum(s, sums[0], NULL, NULL)
                        : sums[0];
}
