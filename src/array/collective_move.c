/* Moves between ranks: gathers, blocks, permutations. Engines move contiguous blocks;
 * axes are brought to the front, or back, by transposing on the rank itself. */
#include "array/collective.h"
#include "base/in_flight.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* [outer, n, inner] around an axis. */
typedef struct around {
    int64_t outer, n, inner;
} around;

static around around_axis(const pith_spec *spec, int axis) {
    around r = {1, spec->shape[axis], 1};
    for (int d = 0; d < spec->rank; d++)
        *(d < axis ? &r.outer : d > axis ? &r.inner : &(int64_t){0}) *= spec->shape[d];
    return r;
}

/* [a, b, c] as [b, a, c], contiguous. */
static const pith_array *
exchanged(pithp_collective *c, const pith_array *x, int64_t a, int64_t b, int64_t rest) {
    const int64_t shape[] = {a, b, rest};
    const pith_array *seen = pithp_collective_see(c, x, 3, shape);
    if (!seen || a == 1 || b == 1)
        return seen;
    return pith_transpose(c->w, seen, (const int[]){1, 0, 2});
}

static void describe_axis(pithp_collective *c, const char *name, int axis) {
    const size_t n = strlen(c->what);
    snprintf(c->what + n, sizeof c->what - n, ", %s %d", name, axis);
}

/* An axis of the operand; -1: error set. */
static int axis_of(pithp_collective *c, int axis) {
    return pithp_collective_fine(c)
               ? pithp_axis(c->w, c->function, axis, pithp_array_spec(c->a)->rank)
               : -1;
}

/* The extent of an axis is a multiple of the number of ranks; otherwise the error is set.
 */
static bool divides(pithp_collective *c, int axis) {
    if (axis < 0 || !pithp_collective_fine(c))
        return false;
    const int64_t n = pithp_array_spec(c->a)->shape[axis], ranks = c->group->size;
    if (n % ranks == 0)
        return true;
    pithp_fail(c->w, PITH_E_SHAPE, NULL,
               "%s: axis %d has %" PRId64 " elements, expected a multiple of the %" PRId64
               " ranks along %s",
               c->function, axis, n, ranks, c->group->axes);
    return false;
}

/* ---- Gathers ---- */

/* The elements of all ranks, [P * count]. NULL: error set, or the ranks do not agree. */
static const pith_array *gather(pithp_collective *c) {
    const pith_spec *spec = pithp_collective_fine(c) ? pithp_array_spec(c->a) : NULL;
    int64_t count = 0;
    const pith_array *all = NULL;
    if (spec && __builtin_mul_overflow(spec->count, c->group->size, &count))
        pithp_fail(c->w, PITH_E_OVERFLOW, NULL, "%s: too many elements", c->function);
    else if (spec)
        all = pithp_collective_make(c, 1, &count);
    return pithp_collective_gather(c, all) ? all : NULL;
}

const pith_array *pith_all_stack(pith_scope *s, const pith_array *a, const char *axes) {
    PITHP_IN_FLIGHT(s, "pith_all_stack");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_all_stack", a, axes))
        return NULL;
    const pith_spec *spec = pithp_collective_fine(&c) ? pithp_array_spec(a) : NULL;
    if (spec && spec->rank == PITH_MAX_RANK)
        pithp_fail(c.w, PITH_E_SHAPE, NULL,
                   "pith_all_stack: the result has more than 8 axes");
    const pith_array *all = gather(&c);
    int64_t shape[PITH_MAX_RANK] = {0};
    if (!all)
        return pithp_collective_leave(&c, NULL);
    shape[0] = c.group->size;
    memcpy(shape + 1, spec->shape, (size_t)spec->rank * sizeof *shape);
    return pithp_collective_leave(&c,
                                  pithp_collective_see(&c, all, spec->rank + 1, shape));
}

const pith_array *
pith_all_gather(pith_scope *s, const pith_array *a, const char *axes, int axis) {
    PITHP_IN_FLIGHT(s, "pith_all_gather");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_all_gather", a, axes))
        return NULL;
    axis = axis_of(&c, axis);
    describe_axis(&c, "axis", axis);
    const pith_array *all = gather(&c);
    if (!all)
        return pithp_collective_leave(&c, NULL);
    const pith_spec *spec = pithp_array_spec(a);
    const around r = around_axis(spec, axis);
    int64_t shape[PITHP_MAX_RANK];
    memcpy(shape, spec->shape, sizeof shape);
    shape[axis] *= c.group->size;
    all = exchanged(&c, all, c.group->size, r.outer, r.n * r.inner);
    return pithp_collective_leave(&c, pithp_collective_see(&c, all, spec->rank, shape));
}

const pith_array *
pith_pbroadcast(pith_scope *s, const pith_array *a, const char *axes, int64_t root) {
    PITHP_IN_FLIGHT(s, "pith_pbroadcast");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_pbroadcast", a, axes))
        return NULL;
    const pith_spec *spec = pithp_collective_fine(&c) ? pithp_array_spec(a) : NULL;
    if (spec && (root < 0 || root >= c.group->size))
        pithp_fail(c.w, PITH_E_ARG, NULL,
                   "pith_pbroadcast: root %" PRId64 ", expected 0 to %" PRId64, root,
                   c.group->size - 1);
    const pith_array *result =
        spec ? pithp_collective_make(&c, spec->rank, spec->shape) : NULL;
    if (result && spec->bytes)
        pithp_copy(c.w, result->data, a->data, spec->bytes);
    pithp_piece p = pithp_piece_of(&c, result, true);
    if (pithp_collective_agree(&c, (uint64_t)root)) {
        pithp_mesh_group_broadcast(c.w, c.group, root, p.data, spec->bytes);
        pithp_collective_end(c.w);
    }
    pithp_piece_store(&c, &p);
    return pithp_collective_leave(&c, result);
}

/* ---- Blocks ---- */

/* The blocks of the ranks along an axis of the operand, exchanged: [P, count / P], the
 * block of each rank for this one, contiguous. NULL: error set, or no agreement. */
static const pith_array *exchange_blocks(pithp_collective *c, int axis) {
    const bool good = divides(c, axis);
    const pith_spec *spec = good ? pithp_array_spec(c->a) : NULL;
    const pith_array *blocks = NULL, *stack = NULL;
    if (good) {
        const around r = around_axis(spec, axis);
        const int64_t ranks = c->group->size;
        blocks = exchanged(c, c->a, r.outer, ranks, r.n / ranks * r.inner);
        stack =
            pithp_collective_make(c, 2, (const int64_t[]){ranks, spec->count / ranks});
    }
    pithp_piece from = pithp_piece_of(c, blocks, true),
                to = pithp_piece_of(c, stack, false);
    const bool agreed = pithp_collective_agree(c, 0);
    if (agreed) {
        pithp_mesh_group_transpose(c->w, c->group, from.data, to.data,
                                   spec->bytes / (size_t)c->group->size);
        pithp_collective_end(c->w);
    }
    pithp_piece_free(c, &from);
    pithp_piece_store(c, &to);
    return agreed ? stack : NULL;
}

const pith_array *pith_reduce_scatter(pith_scope *s,
                                      const pith_array *a,
                                      const char *axes,
                                      int axis,
                                      const pith_collective_options *options) {
    PITHP_IN_FLIGHT(s, "pith_reduce_scatter");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_reduce_scatter", a, axes))
        return NULL;
    pithp_collective_mask(&c, options);
    axis = axis_of(&c, axis);
    describe_axis(&c, "axis", axis);
    const pith_array *stack = exchange_blocks(&c, axis);
    const pith_array *sum = stack ? pith_sum(c.w, stack, PITH_AXES(0)) : NULL;
    if (!sum)
        return pithp_collective_leave(&c, NULL);
    const pith_spec *spec = pithp_array_spec(a);
    int64_t shape[PITHP_MAX_RANK];
    memcpy(shape, spec->shape, sizeof shape);
    shape[axis] /= c.group->size;
    return pithp_collective_leave(&c, pithp_collective_see(&c, sum, spec->rank, shape));
}

const pith_array *pith_all_to_all(pith_scope *s,
                                  const pith_array *a,
                                  const char *axes,
                                  int split,
                                  int join,
                                  const pith_collective_options *options) {
    PITHP_IN_FLIGHT(s, "pith_all_to_all");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_all_to_all", a, axes))
        return NULL;
    pithp_collective_mask(&c, options);
    split = axis_of(&c, split);
    join = axis_of(&c, join);
    describe_axis(&c, "split", split);
    describe_axis(&c, "join", join);
    const pith_array *stack = exchange_blocks(&c, split);
    if (!stack)
        return pithp_collective_leave(&c, NULL);
    pith_spec block = *pithp_array_spec(a);
    block.shape[split] /= c.group->size;
    const around r = around_axis(&block, join);
    stack = exchanged(&c, stack, c.group->size, r.outer, r.n * r.inner);
    block.shape[join] *= c.group->size;
    return pithp_collective_leave(
        &c, pithp_collective_see(&c, stack, block.rank, block.shape));
}

/* ---- Permutations ---- */

/* Send the operand to a rank and receive one from a rank; -1: none. */
static const pith_array *
pass_on(pithp_collective *c, int64_t to, int64_t from, uint64_t extra) {
    const pith_spec *spec = pithp_collective_fine(c) ? pithp_array_spec(c->a) : NULL;
    const pith_array *result = NULL;
    if (spec && from >= 0) {
        result = pithp_collective_make(c, spec->rank, spec->shape);
    } else if (spec) {
        pith_shape shape = {.rank = spec->rank};
        memcpy(shape.extents, spec->shape, sizeof shape.extents);
        result = pith_zeros(c->w, spec->dtype, shape);
    }
    pithp_piece out = pithp_piece_of(c, c->a, true),
                in = pithp_piece_of(c, result, from < 0);
    if (pithp_collective_agree(c, extra)) {
        const pithp_parcel send = {to, out.data, spec->bytes},
                           receive = {from, in.data, spec->bytes};
        pithp_mesh_group_exchange(c->w, c->group, to >= 0, &send, from >= 0, &receive);
        pithp_collective_end(c->w);
    }
    pithp_piece_free(c, &out);
    pithp_piece_store(c, &in);
    return result;
}

/* The pairs are numbers of ranks, each at most once on a side. */
static bool pairs_fit(pithp_collective *c, int count, const int64_t (*from_to)[2]) {
    if (count < 0 || (count > 0 && !from_to)) {
        pithp_fail(c->w, PITH_E_ARG, NULL, "pith_ppermute: %d pairs%s", count,
                   count > 0 ? " at NULL" : "");
        return false;
    }
    for (int k = 0; k < count; k++)
        for (int side = 0; side < 2; side++) {
            const int64_t rank = from_to[k][side];
            bool twice = false;
            for (int i = 0; i < k; i++)
                twice |= from_to[i][side] == rank;
            if (rank >= 0 && rank < c->group->size && !twice)
                continue;
            pithp_fail(c->w, PITH_E_ARG, NULL,
                       "pith_ppermute: pair %d %s rank %" PRId64 "%s", k,
                       side ? "sends to" : "sends from", rank,
                       twice ? " a second time" : ", which does not exist");
            return false;
        }
    return true;
}

const pith_array *pith_ppermute(pith_scope *s,
                                const pith_array *a,
                                const char *axes,
                                int count,
                                const int64_t (*from_to)[2]) {
    PITHP_IN_FLIGHT(s, "pith_ppermute");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_ppermute", a, axes))
        return NULL;
    int64_t to = -1, from = -1;
    uint64_t extra = 0;
    if (pithp_collective_fine(&c) && pairs_fit(&c, count, from_to)) {
        extra =
            count ? pithp_hash((uint64_t)count, from_to, (size_t)count * sizeof *from_to)
                  : 0;
        for (int k = 0; k < count; k++) {
            to = from_to[k][0] == c.group->rank ? from_to[k][1] : to;
            from = from_to[k][1] == c.group->rank ? from_to[k][0] : from;
        }
    }
    return pithp_collective_leave(&c, pass_on(&c, to, from, extra));
}

/* The rank `by` ranks on; -1: none. */
static int64_t shifted(const pithp_mesh_group *g, int64_t by, bool wrap) {
    const int64_t step = by % g->size;
    if (!wrap && (by >= g->size || by <= -g->size))
        return -1;
    const int64_t rank = g->rank + step;
    return !wrap ? (rank >= 0 && rank < g->size ? rank : -1) : (rank + g->size) % g->size;
}

const pith_array *pith_pshift(pith_scope *s,
                              const pith_array *a,
                              const char *axes,
                              int64_t by,
                              bool wrap,
                              const pith_collective_options *options) {
    PITHP_IN_FLIGHT(s, "pith_pshift");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_pshift", a, axes))
        return NULL;
    pithp_collective_mask(&c, options);
    int64_t to = -1, from = -1;
    if (pithp_collective_fine(&c)) {
        by = by == INT64_MIN ? by + c.group->size : by;
        to = shifted(c.group, by, wrap);
        from = shifted(c.group, -by, wrap);
    }
    return pithp_collective_leave(
        &c, pass_on(&c, to, from, 2 * (uint64_t)by + (wrap ? 1 : 0)));
}

const pith_array *pith_axis_index(pith_scope *s, const char *axes) {
    static const char function[] = "pith_axis_index";
    if (!pithp_enter_as(s, function))
        return NULL;
    if (pithp_scope_trace(s)) {
        pithp_fail(
            s, PITH_E_UNSUPPORTED, NULL,
            "%s: collectives are not recorded: call it outside of traced functions",
            function);
        return NULL;
    }
    const pithp_mesh_group *g = pithp_mesh_group_of(s, axes);
    const int32_t rank = g ? (int32_t)g->rank : 0;
    return g ? pithp_scalar(s, PITH_I32, &rank) : NULL;
}
