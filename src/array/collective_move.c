/* Moves between ranks: gathers, blocks, permutations. */
#include "array/collective.h"
#include "base/in_flight.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Gathers ---- */

const pith_array *pith_all_stack(pith_scope *s, const pith_array *a, const char *axes) {
    PITHP_IN_FLIGHT(s, "pith_all_stack");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_all_stack", a, axes))
        return NULL;
    return pithp_collective_leave(&c, pithp_collective_bind(&c, PITHP_OP_ALL_STACK));
}

const pith_array *
pith_all_gather(pith_scope *s, const pith_array *a, const char *axes, int axis) {
    PITHP_IN_FLIGHT(s, "pith_all_gather");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_all_gather", a, axes))
        return NULL;
    pithp_collective_axis(&c, "axis", axis, &c.params.axis);
    return pithp_collective_leave(&c, pithp_collective_bind(&c, PITHP_OP_ALL_GATHER));
}

const pith_array *
pith_pbroadcast(pith_scope *s, const pith_array *a, const char *axes, int64_t root) {
    PITHP_IN_FLIGHT(s, "pith_pbroadcast");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_pbroadcast", a, axes))
        return NULL;
    c.params.root = root;
    pithp_collective_name(&c, "root", root);
    return pithp_collective_leave(&c, pithp_collective_bind(&c, PITHP_OP_PBROADCAST));
}

/* ---- Blocks ---- */

const pith_array *pith_reduce_scatter(pith_scope *s,
                                      const pith_array *a,
                                      const char *axes,
                                      int axis,
                                      const pith_collective_options *options) {
    PITHP_IN_FLIGHT(s, "pith_reduce_scatter");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_reduce_scatter", a, axes))
        return NULL;
    pithp_collective_take(&c, options);
    pithp_collective_axis(&c, "axis", axis, &c.params.axis);
    if (pithp_collective_dtype(&c) == PITH_BOOL)
        pithp_collective_cast(&c, PITH_I64);
    return pithp_collective_leave(&c, pithp_collective_bind(&c, PITHP_OP_REDUCE_SCATTER));
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
    pithp_collective_take(&c, options);
    c.params.unordered = false;
    pithp_collective_axis(&c, "split", split, &c.params.axis);
    pithp_collective_axis(&c, "join", join, &c.params.join);
    return pithp_collective_leave(&c, pithp_collective_bind(&c, PITHP_OP_ALL_TO_ALL));
}

/* ---- Permutations ---- */

const pith_array *pith_ppermute(pith_scope *s,
                                const pith_array *a,
                                const char *axes,
                                int count,
                                const int64_t (*from_to)[2]) {
    PITHP_IN_FLIGHT(s, "pith_ppermute");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_ppermute", a, axes))
        return NULL;
    if (pithp_collective_fine(&c))
        c.params.pairs = pithp_mesh_pairs_of(c.w, c.params.group, count, from_to);
    return pithp_collective_leave(&c, pithp_collective_bind(&c, PITHP_OP_PPERMUTE));
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
    pithp_collective_take(&c, options);
    c.params.unordered = false;
    pithp_collective_name(&c, "by", by);
    pithp_collective_name(&c, "wrap", wrap);
    if (pithp_collective_fine(&c))
        c.params.pairs = pithp_mesh_shift_of(c.w, c.params.group, by, wrap);
    return pithp_collective_leave(&c, pithp_collective_bind(&c, PITHP_OP_PPERMUTE));
}

const pith_array *pith_axis_index(pith_scope *s, const char *axes) {
    PITHP_IN_FLIGHT(s, "pith_axis_index");
    if (!pithp_enter_as(s, "pith_axis_index"))
        return NULL;
    pithp_mesh_group *g = pithp_mesh_group_of(s, axes);
    const int32_t rank = g ? (int32_t)g->rank : 0;
    const pithp_collective_params params = {.group = g};
    const pith_array *made = NULL;
    if (g && pithp_scope_trace(s))
        return pithp_trace_bind_many(s, PITHP_OP_AXIS_INDEX, 0, NULL, &params, &made) ==
                       PITH_OK
                   ? made
                   : NULL;
    return g ? pithp_scalar(s, PITH_I32, &rank) : NULL;
}
