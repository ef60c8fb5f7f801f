/* pith_check_gradient on several ranks: steps are equal on all of them, directions belong
 * to the arrays that ranks have for themselves, products are sums over these, and all
 * ranks have the error of the worst comparison. */
#include "pith/array_collective.h"
#include "pith/shard.h"

#include "mesh/mesh_internal.h"
#include "run/check_gradient.h"

#include <math.h>
#include <string.h>

static const char *const name = "pith_check_gradient";

bool pithp_gradient_is_sharded(const pithp_flat *flat) {
    bool any = false;
    for (int64_t k = 0; k < flat->structure.item_count; k++)
        any |= pithp_placement_of(flat->structure.specs[k]) != NULL;
    return any;
}

int64_t
pithp_gradient_rank(const pithp_gradient_checking *c, pith_scope *s, uint32_t axes) {
    const pithp_mesh_group *g =
        c->joint && axes ? pithp_mesh_group_along(s, pith_mesh_of(s), axes) : NULL;
    return g ? g->rank : 0;
}

bool pithp_gradient_sum(const pithp_gradient_checking *c,
                        pith_scope *s,
                        uint32_t axes,
                        double sums[2]) {
    char over[PITHP_AXES_BYTES];
    if (!c->joint || !axes)
        return s->error.code == PITH_OK;
    pithp_mesh_axes_text(pith_mesh_of(s), axes, over);
    const pith_array *own = pith_array_copy(s, PITH_F64, PITH_SHAPE(2), sums),
                     *all = pith_psum(pithp_on_behalf(s), own, over, NULL);
    return all && pith_read(s, all, sums, 2 * sizeof *sums);
}

double pithp_gradient_least(const pithp_gradient_checking *c, pith_scope *s, double x) {
    if (!c->joint)
        return x;
    const pith_array *all = pith_pmin(pithp_on_behalf(s), pith_f64(s, x), NULL);
    return all && pith_read(s, all, &x, sizeof x) ? x : (double)NAN;
}

/* Shards that several ranks have count for each of them: that is another cotangent. */
static const void *
call_shards(const pith_function *self, pith_scope *s, const void *const *given) {
    (void)self;
    const pith_array *product = pith_mul(s, given[0], given[1]);
    return pith_psum(s, pith_sum(s, product, PITH_ALL_AXES), NULL, NULL);
}
static const pith_function multiply_shards = {.name = "product of shards",
                                              .call = call_shards,
                                              .arity = 2};

/* A plain value is multiplied by the cotangent of one rank. */
const pith_array *
pithp_gradient_multiply(pith_scope *s, const pith_array *value, const pith_array *by) {
    const pith_placement *p = pithp_placement_of(pithp_array_spec(value));
    if (!p)
        return pith_mul(s, value, pith_pbroadcast(s, by, NULL, 0));
    const pith_shard_spec *own = PITH_SPECS({"", p->axes, NULL});
    const pith_shard_options o = {.in = {own, own}, .out = PITH_SPECS({"", "", NULL})};
    const pith_function *f = pith_shard_map(s, &multiply_shards, &o);
    return f ? pith_call(s, f, PITH_ITEMS(value, by)) : NULL;
}

/* The greater a ratio, the less is the word. */
int64_t pithp_gradient_worst_rank(const pithp_gradient_checking *c) {
    pith_scope *s = c->s;
    const bool own = !pith_failed(s) && c->worst.ratio > 0;
    if (!c->joint)
        return own ? 0 : -1;
    uint64_t word = 0;
    memcpy(&word, &c->worst.ratio, sizeof word);
    const uint64_t mine = UINT64_MAX - word;
    uint64_t least = mine, rank = UINT64_MAX;
    if (!pithp_ranks_least_of(s, name, &least) || least == UINT64_MAX)
        return -1;
    if (least == mine)
        rank = (uint64_t)pithp_ranks_own(s);
    return pithp_ranks_least_of(s, name, &rank) ? (int64_t)rank : -1;
}
