/* Lens getters: each part applies to the result of the previous part. */
#include "lens/lens_internal.h"

#include <string.h>

bool pithp_lens_is_path(const pith_lens *lens) {
    for (int32_t i = 0; i < lens->part_count; i++)
        if (lens->parts[i].kind != &pithp_lens_path_kind &&
            lens->parts[i].kind != &pithp_lens_check_kind)
            return false;
    return true;
}

pith_status pithp_lens_present(pith_scope *s, const void *node) {
    return node ? PITH_OK : pithp_fail(s, PITH_E_PATH, NULL, "the node is absent");
}

/* ---- Value at a position ---- */

/* The row of a leaf selected by the last path elements. */
static const void *row_at(pith_scope *s, const pithp_lens_place *place) {
    pith_index_entry entries[PITH_MAX_RANK];
    for (int32_t i = 0; i < place->row_count; i++)
        entries[i] = PITH_ENTRY_AT(place->rows[i].index);
    return pith_gather(pithp_on_behalf(s), place->node, place->row_count, entries, NULL);
}

const void *pithp_lens_value_at(pith_scope *s, const pithp_lens_place *place) {
    if (place->field)
        return pithp_lens_static_get(s, place->node, place->field);
    return place->rows ? row_at(s, place) : place->node;
}

const void *
pithp_lens_admit(pith_scope *s, const void *tree, const char *name, const char *what) {
    if (s->error.code != PITH_OK || !tree)
        return NULL;
    if (pithp_tree_check(s, tree, name, what) != PITH_OK ||
        pithp_keep_slots(s, 1, &tree) != PITH_OK)
        return NULL;
    return tree;
}

/* ---- Several values ---- */

const void *pithp_lens_gather(pith_scope *s,
                              pithp_kind kind,
                              int64_t count,
                              const void *const *items) {
    pith_scope *on = pithp_on_behalf(s);
    return kind == PITHP_KIND_LIST ? (const void *)pith_list_make(on, count, items)
                                   : (const void *)pith_tuple_make(on, count, items);
}

bool pithp_lens_is_item(pith_scope *s, const void *item) {
    if (!item && s->error.code == PITH_OK)
        pithp_fail(s, PITH_E_PATH, NULL, "an absent item cannot be in a list or tuple");
    return item;
}

/* ---- Parts ---- */

const void *
pithp_lens_look_computed(pith_scope *s, const pithp_lens_edit *edit, const void *node) {
    return edit->parts->kind->get_made
               ? edit->parts->kind->get_made(s, edit, node)
               : pithp_lens_look(s, edit->parts, edit->part_count, node);
}

const void *pithp_lens_look(pith_scope *s,
                            const pithp_lens_part *parts,
                            int32_t count,
                            const void *node) {
    return count ? parts->kind->get(s, parts, count, node) : node;
}

const void *pithp_lens_look_behind(pith_scope *s,
                                   const pithp_lens_part *parts,
                                   int32_t count,
                                   const void *found) {
    return s->error.code == PITH_OK ? pithp_lens_look(s, parts + 1, count - 1, found)
                                    : NULL;
}

pith_status pithp_lens_locate(pith_scope *s,
                              const pith_lens *lens,
                              const void *root,
                              pithp_lens_place *place) {
    *place = (pithp_lens_place){.node = root};
    for (int32_t i = 0; i < lens->part_count; i++) {
        const pithp_lens_part *p = &lens->parts[i];
        const void *node = i ? pithp_lens_value_at(s, place) : root;
        pith_status rc = s->error.code;
        if (rc == PITH_OK)
            rc = p->kind == &pithp_lens_path_kind
                     ? pithp_lens_follow(s, p, node, place, NULL)
                     : pithp_lens_check_type(s, node, p->type);
        for (int32_t k = i; rc != PITH_OK && k-- > 0;)
            if (lens->parts[k].kind == &pithp_lens_path_kind)
                pithp_error_prefix(s, lens->parts[k].text);
        if (rc != PITH_OK)
            return rc;
    }
    return PITH_OK;
}

/* Follow the slots of a direct lens: only absent nodes need a check. */
static inline const void *look_straight(const pithp_lens_part *path, const void *node) {
    for (int32_t i = 0; i < path->count && node; i++)
        memcpy(&node, (const char *)node + path->steps[i].offset, sizeof node);
    return node;
}

/* Not inline, so that a direct lens needs few registers. */
static __attribute__((noinline)) const void *
look_checked(pith_scope *s, const pith_lens *lens, const void *root) {
    static const char function[] = "pith_lens_get";
    if (pithp_lens_check(s, lens, function, "lens") != PITH_OK ||
        pithp_lens_check_root(s, lens, root, function) != PITH_OK)
        return NULL;
    return pithp_lens_look(s, lens->parts, lens->part_count, root);
}

const void *pith_lens_get(pith_scope *s, const pith_lens *lens, const void *root) {
    if (PITHP_UNLIKELY(!pithp_enter(s)))
        return NULL;
    if (PITHP_LIKELY(pithp_lens_is_direct(s, lens, root))) {
        const void *found = look_straight(lens->parts, root);
        if (PITHP_LIKELY(found != NULL))
            return found;
    }
    return look_checked(s, lens, root);
}
