/* The part that is a slice of every leaf. */
#include "lens/lens_internal.h"

#include <string.h>

static pith_status copy_slices(pith_scope *s, pithp_lens_part *p) {
    const size_t bytes = (size_t)p->count * sizeof *p->slices;
    pith_slice *slices = pithp_lens_allocate(s, bytes);
    if (!slices)
        return s->error.code;
    if (bytes)
        memcpy(slices, p->slices, bytes);
    p->slices = slices;
    return PITH_OK;
}

static const void *
get_slices(pith_scope *s, const pithp_lens_part *parts, int32_t count, const void *node) {
    (void)count;
    if (pithp_lens_present(s, node) != PITH_OK)
        return NULL;
    const void *got =
        pith_tree_slice(pithp_on_behalf(s), node, parts->count, parts->slices);
    return s->error.code == PITH_OK ? got : NULL;
}

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

/* Every leaf with a part replaced: by that of the leaf of the value there, or by the
 * value, where that is one array. */
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

static const void *
make_slices(const pithp_lens_edits *e, const pithp_lens_edit *edit, const void *node) {
    return pithp_lens_rows_present(e->s, edit->value)
               ? set_slices(e->s, edit->parts, node, edit->value)
               : NULL;
}

static void slices_text(pithp_string *t, const pithp_lens_part *part) {
    pithp_string_add(t, ".slice(");
    for (int32_t i = 0; i < part->count; i++) {
        pithp_string_add(t, i ? ", " : "");
        pithp_slice_text(t, &part->slices[i]);
    }
    pithp_string_add(t, ")");
}

static void add_identity(pithp_string *t, const pithp_lens_part *part) {
    pithp_string_add_n(t, (const char *)part->slices,
                       (size_t)part->count * sizeof *part->slices);
}

static const pithp_lens_kind slice_kind = {.leaves = true,
                                           .copy = copy_slices,
                                           .get = get_slices,
                                           .set = pithp_lens_expand_computed,
                                           .make = make_slices,
                                           .text = slices_text,
                                           .identity = add_identity};

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
                   count >= 0 && count <= PITH_MAX_RANK ? "slices is NULL"
                                                        : "the count is no rank");
        return NULL;
    }
    for (int i = 0; i < count; i++)
        if (slices[i].step == 0 || slices[i].step == INT64_MIN) {
            pithp_fail(s, PITH_E_ARG, NULL, "%s: step %lld along axis %d", function,
                       (long long)slices[i].step, i);
            return NULL;
        }
    return pithp_lens_extend(
        s, lens,
        &(pithp_lens_part){.kind = &slice_kind, .count = (int)count, .slices = slices});
}
