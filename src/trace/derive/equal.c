/* Cotangents of values that are equal on all ranks. A map in reverse takes such a
 * cotangent for one number, that of all ranks; if each rank gave its own, gradients would
 * be wrong.
 */
#include "trace/derive/equal.h"

#include "pith/array_collective.h"

#include "tree/shard/shard.h"

#include <string.h>

static pith_status refuse(pith_scope *s,
                          const pith_function *map,
                          const pithp_linear *l,
                          int64_t k,
                          uint32_t axes) {
    char over[PITHP_AXES_BYTES];
    pithp_mesh_axes_text(l->mesh, axes, over);
    return pithp_item_fail(
        s, &l->argument, k, PITH_E_DIVERGED,
        "%s: the value is equal on all ranks along %s, but its "
        "cotangent is not: make it equal with pith_psum or pith_pmean, "
        "or take that of one rank with pith_pbroadcast",
        map->name, over);
}

bool pithp_cotangents_marked(const pithp_linear *l) {
    uint32_t any = 0;
    for (int64_t k = 0; l->equal && k < l->argument.item_count; k++)
        any |= l->equal[k];
    return any;
}

/* The marks are axes of the mesh of the derivation. */
static bool has_marks(const pith_scope *s, const pithp_linear *l) {
    return pith_mesh_of(s) == l->mesh && pithp_cotangents_marked(l);
}

/* ---- In a trace ---- */

/* Say that a derivative relies on it: a carry of a loop around may come to vary. */
static const pith_array *expect(pith_scope *s, const pith_array *a, uint32_t axes) {
    const pithp_vary_params params = {
        .group = pithp_mesh_group_along(s, pith_mesh_of(s), axes), .expected = true};
    const pith_spec *spec = pithp_array_spec(a), *plain = pithp_spec_plain(s, spec);
    if (!params.group || !plain || !(a = pithp_array_place(s, a, plain)))
        return NULL;
    const pith_array *made = pithp_bind(s, PITHP_OP_REPLICATED, 1, &a, &params);
    return made ? pithp_array_place(s, made, spec) : NULL;
}

pith_status pithp_cotangents_check(pith_scope *s,
                                   const pith_function *map,
                                   const pithp_linear *l,
                                   pithp_flat *cotangents) {
    pithp_trace *t = pithp_scope_trace(s);
    for (int64_t k = 0; has_marks(s, l) && k < l->argument.item_count; k++) {
        const pith_array *a = cotangents->items[k];
        if (!l->equal[k] || !pithp_trace_has(s, a))
            continue;
        const int32_t value = (int32_t)a->value;
        uint32_t varies;
        if (pithp_trace_variance(s, t, 1, &value, &varies) != PITH_OK)
            return s->error.code;
        if (varies & l->equal[k])
            return refuse(s, map, l, k, varies & l->equal[k]);
        if (t->around && !(cotangents->items[k] = expect(s, a, l->equal[k])))
            return s->error.code;
    }
    return PITH_OK;
}

/* ---- Outside of traces ---- */

/* Whether the ranks along axes have the same number. A failed scope takes part. */
static bool is_common(pith_scope *s, uint64_t number, const char *axes) {
    int64_t own;
    memcpy(&own, &number, sizeof own);
    const pith_array *a = s->error.code == PITH_OK ? pith_i64(s, own) : NULL;
    const pith_array *all = pith_all_stack(s, a, axes);
    const size_t bytes = all ? pithp_array_spec(all)->bytes : 0;
    int64_t *numbers = all ? pithp_scope_allocate(s, bytes) : NULL;
    bool common = numbers && pith_read(s, all, numbers, bytes);
    for (size_t r = 0; common && r < bytes / sizeof *numbers; r++)
        common = numbers[r] == own;
    return common;
}

static uint64_t hash_leaf(pith_scope *s, const pithp_flat *flat, int64_t k) {
    const pith_array *a = k < flat->structure.item_count ? flat->items[k] : NULL;
    return a && pithp_leaf_check(s, a, "pith_vjp", "cotangent") == PITH_OK
               ? pithp_shard_hash(s, 0, a)
               : 0;
}

pith_status pithp_cotangents_compare(pith_scope *s,
                                     const pith_function *map,
                                     const pithp_linear *l,
                                     const void *cotangents) {
    pithp_flat flat;
    if (!has_marks(s, l) || !pithp_ranks_of(s))
        return PITH_OK;
    pith_scope *w = pithp_temporaries_open(s);
    pith_scope *in = w ? w : s;
    const bool made = w && pithp_flat_make(w, &flat, cotangents, NULL, NULL) == PITH_OK;
    for (int64_t k = 0; k < l->argument.item_count; k++) {
        char axes[PITHP_AXES_BYTES];
        const uint64_t hash = made && l->equal[k] ? hash_leaf(w, &flat, k) : 0;
        if (!l->equal[k])
            continue;
        pithp_mesh_axes_text(l->mesh, l->equal[k], axes);
        if (!is_common(in, hash, axes) && in->error.code == PITH_OK)
            refuse(in, map, l, k, l->equal[k]);
    }
    if (made)
        pithp_flat_end(&flat);
    if (w)
        pith_scope_close(w); /* its error moves to s */
    return s->error.code;
}

void pithp_cotangents_absent(pith_scope *s,
                             const pith_function *map,
                             const pithp_linear *l) {
    if (!pithp_scope_trace(s) && has_marks(s, l) && pithp_ranks_of(s))
        pithp_collective_absent(s, map->name);
}
