/* Row lenses: rows of every leaf at an array of indices, and slices. */
#include "lens/lens_internal.h"

#include <string.h>

/* ---- Making ---- */

const pith_lens *pith_lens_at(pith_scope *s,
                              const pith_lens *lens,
                              const pith_array *index,
                              const pith_lens_at_options *options) {
    static const char function[] = "pith_lens_at";
    static const pith_lens_at_options defaults;
    pithp_index_params checked;
    const pith_lens_at_options *o = options ? options : &defaults;
    pithp_lens_part part = {.kind = PITHP_LENS_AT,
                            .at = {.index = index,
                                   .options = {.axis = o->axis,
                                               .mode = o->mode,
                                               .unique = o->unique,
                                               .sorted = o->sorted},
                                   .fill = o->fill ? *o->fill : 0,
                                   .fills = o->fill}};
    if (!pithp_enter(s) || pithp_lens_check(s, lens, function, "lens") != PITH_OK ||
        pithp_lens_check_open(s, lens, function) != PITH_OK ||
        !pithp_index_check(s, function, "index", index) ||
        !pithp_scatter_params(s, function, &part.at.options, &checked))
        return NULL;
    return pithp_lens_extend(s, lens, &part);
}

const pith_lens *pith_lens_slice(pith_scope *s,
                                 const pith_lens *lens,
                                 int64_t count,
                                 const pith_slice *slices) {
    static const char function[] = "pith_lens_slice";
    if (!pithp_enter(s) || pithp_lens_check(s, lens, function, "lens") != PITH_OK ||
        pithp_lens_check_open(s, lens, function) != PITH_OK)
        return NULL;
    if (count < 0 || count > PITH_MAX_RANK || (count && !slices)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %s", function,
                   count >= 0 && count <= PITH_MAX_RANK
                       ? "slices is NULL"
                       : "the count is not a valid rank");
        return NULL;
    }
    for (int i = 0; i < count; i++)
        if (slices[i].step == 0 || slices[i].step == INT64_MIN) {
            pithp_fail(s, PITH_E_ARG, NULL, "%s: step %lld along axis %d", function,
                       (long long)slices[i].step, i);
            return NULL;
        }
    return pithp_lens_extend(s, lens,
                             &(pithp_lens_part){.kind = PITHP_LENS_SLICE,
                                                .count = (int)count,
                                                .slices = slices});
}

/* ---- Slices ---- */

static const pith_array *set_slice(pith_scope *s,
                                   const pithp_lens_part *part,
                                   const pith_array *into,
                                   const pith_array *value) {
    pith_index_entry entries[PITH_MAX_RANK];
    for (int32_t i = 0; i < part->count; i++)
        entries[i] = PITH_ENTRY_SLICE(part->slices[i].start, part->slices[i].limit,
                                      part->slices[i].step);
    return pith_scatter(pithp_on_behalf(s), PITH_SCATTER_SET, into, part->count, entries,
                        value, NULL);
}

/* Replace the slices of every leaf: by the corresponding leaf of the value, or by the
 * value if it is a single array. */
static const void *set_slices(pith_scope *s,
                              const pithp_lens_part *part,
                              const void *node,
                              const void *value) {
    const void *trees[] = {node, value};
    const bool one = pithp_kind_is_array(value) && !pithp_kind_is_array(node);
    const pithp_trees of = {
        .function = "pith_lens_set", .count = one ? 1 : 2, .at = trees};
    pithp_zip zip;
    if (pithp_zip_make(s, &zip, &of) != PITH_OK)
        return NULL;
    const pithp_structure *t = &zip.first.structure;
    const void *made = NULL;
    int64_t i = 0;
    for (; i < t->item_count; i++) {
        const pith_array *update = one ? value : pithp_zip_items(&zip, 1)[i];
        zip.first.items[i] = set_slice(s, part, zip.first.items[i], update);
        if (!zip.first.items[i]) {
            pithp_item_prefix(s, t, i);
            break;
        }
    }
    if (i == t->item_count)
        made = pithp_build(s, t, pithp_owner_of(node), zip.first.items);
    pithp_zip_end(&zip);
    return made;
}

/* ---- Getting and setting ---- */

const void *
pithp_lens_leaves_get(pith_scope *s, const pithp_lens_part *part, const void *node) {
    if (part->kind == PITHP_LENS_SLICE) {
        const void *made =
            pith_tree_slice(pithp_on_behalf(s), node, part->count, part->slices);
        return s->error.code == PITH_OK ? made : NULL;
    }
    return pithp_tree_take_back(s, "pith_lens_get", node, part->at.index,
                                &part->at.options,
                                part->at.fills ? &part->at.fill : NULL);
}

const void *pithp_lens_leaves_set(pith_scope *s,
                                  const pithp_lens_part *part,
                                  const void *node,
                                  const void *value) {
    if (!value) {
        pithp_fail(s, PITH_E_ARG, NULL, "rows cannot be absent");
        return NULL;
    }
    if (part->kind == PITHP_LENS_SLICE)
        return set_slices(s, part, node, value);
    return pithp_tree_scatter_set(s, "pith_lens_set", node, part->at.index, value, true,
                                  &part->at.options);
}
