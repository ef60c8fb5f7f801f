/* Lens getters: each part applies to the result of the previous part. */
#include "lens/lens_internal.h"

#include <string.h>

bool pithp_lens_is_path(const pith_lens *lens) {
    for (int32_t i = 0; i < lens->part_count; i++)
        if (lens->parts[i].kind != PITHP_LENS_PATH &&
            lens->parts[i].kind != PITHP_LENS_CHECK)
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

/* A list or tuple of the results. */
static const void *
gathered(pith_scope *s, pithp_kind kind, int64_t count, const void *const *items) {
    pith_scope *on = pithp_on_behalf(s);
    return kind == PITHP_KIND_LIST ? (const void *)pith_list_make(on, count, items)
                                   : (const void *)pith_tuple_make(on, count, items);
}

/* Lists and tuples cannot hold absent items. */
static bool is_item(pith_scope *s, const void *item) {
    if (!item && s->error.code == PITH_OK)
        pithp_fail(s, PITH_E_PATH, NULL, "an absent item cannot be in a list or tuple");
    return item;
}

static const void *
look_merged(pith_scope *s, const pithp_lens_part *part, const void *node) {
    const size_t bytes = (size_t)part->count * sizeof(void *);
    const void **items = pithp_scratch_allocate(s->runtime, bytes), *made = NULL;
    if (!items) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    int32_t i = 0;
    for (; i < part->count; i++) {
        const pith_lens *lens = part->merged[i];
        if (lens->type && pithp_lens_check_type(s, node, lens->type) != PITH_OK)
            break;
        items[i] = pithp_lens_look(s, lens->parts, lens->part_count, node);
        if (!is_item(s, items[i]))
            break;
    }
    if (i == part->count)
        made = gathered(s, PITHP_KIND_TUPLE, part->count, items);
    pithp_scratch_release(s->runtime, items, bytes);
    return made;
}

static const void *look_at_all(pith_scope *s,
                               const pithp_lens_part *parts,
                               int32_t count,
                               const void *node) {
    pithp_lens_finds finds;
    const void *made = NULL;
    if (pithp_lens_find_all(s, parts, node, &finds) != PITH_OK)
        return NULL;
    int64_t i = 0;
    for (; i < finds.count; i++) {
        const void *found = pithp_lens_find_value(s, parts, &finds, i);
        if (s->error.code == PITH_OK)
            found = pithp_lens_look(s, parts + 1, count - 1, found);
        finds.nodes[i] = found;
        if (!is_item(s, finds.nodes[i])) {
            pithp_lens_find_prefix(s, &finds, i, node);
            break;
        }
    }
    if (i == finds.count)
        made = gathered(s, PITHP_KIND_LIST, finds.count, finds.nodes);
    pithp_lens_finds_end(&finds);
    return made;
}

/* ---- Parts ---- */

static const void *
look_function(pith_scope *s, const pithp_lens_part *part, const void *node) {
    const pithp_call_site call = pithp_user_begins(s);
    const void *got = part->function.get(s, node, part->function.closure);
    pithp_user_ends(s, call);
    return pithp_lens_admit(s, got, part->function.name, "what get returned");
}

static const void *
look_along(pith_scope *s, const pithp_lens_part *parts, int32_t count, const void *node) {
    pithp_lens_place place;
    if (pithp_lens_follow(s, parts, node, &place, NULL) != PITH_OK)
        return NULL;
    const void *found = pithp_lens_value_at(s, &place);
    if (s->error.code == PITH_OK)
        found = pithp_lens_look(s, parts + 1, count - 1, found);
    if (s->error.code != PITH_OK)
        pithp_error_prefix(s, parts->text);
    return found;
}

const void *
pithp_lens_look_computed(pith_scope *s, const pithp_lens_edit *edit, const void *node) {
    if (edit->parts->kind != PITHP_LENS_WHERE)
        return pithp_lens_look(s, edit->parts, edit->part_count, node);
    node = pithp_lens_embedded_get(s, node, edit->parts->where.type, edit->field);
    return node ? pithp_lens_look(s, edit->parts + 1, edit->part_count - 1, node) : NULL;
}

const void *pithp_lens_look(pith_scope *s,
                            const pithp_lens_part *parts,
                            int32_t count,
                            const void *node) {
    if (count == 0)
        return node;
    switch (parts->kind) {
        case PITHP_LENS_PATH:
            return look_along(s, parts, count, node);
        case PITHP_LENS_CHECK:
            if (pithp_lens_check_type(s, node, parts->type) != PITH_OK)
                return NULL;
            break;
        case PITHP_LENS_CONSTANT:
            node = parts->constant;
            if (pithp_keep_slots(s, 1, &node) != PITH_OK)
                return NULL;
            break;
        case PITHP_LENS_FUNCTION:
            if (pithp_lens_present(s, node) != PITH_OK)
                return NULL;
            node = look_function(s, parts, node);
            break;
        case PITHP_LENS_MERGE:
            if (pithp_lens_present(s, node) != PITH_OK)
                return NULL;
            node = look_merged(s, parts, node);
            break;
        case PITHP_LENS_AT:
        case PITHP_LENS_SLICE:
            return pithp_lens_present(s, node) == PITH_OK
                       ? pithp_lens_leaves_get(s, parts, node)
                       : NULL;
        case PITHP_LENS_EACH:
        case PITHP_LENS_WHERE:
            return pithp_lens_present(s, node) == PITH_OK
                       ? look_at_all(s, parts, count, node)
                       : NULL;
    }
    return s->error.code == PITH_OK ? pithp_lens_look(s, parts + 1, count - 1, node)
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
            rc = p->kind == PITHP_LENS_PATH ? pithp_lens_follow(s, p, node, place, NULL)
                                            : pithp_lens_check_type(s, node, p->type);
        for (int32_t k = i; rc != PITH_OK && k-- > 0;)
            if (lens->parts[k].kind == PITHP_LENS_PATH)
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

const void *pith_lens_get(pith_scope *s, const pith_lens *lens, const void *root) {
    static const char function[] = "pith_lens_get";
    if (PITHP_UNLIKELY(!pithp_enter(s)))
        return NULL;
    if (PITHP_LIKELY(pithp_lens_is_direct(s, lens, root))) {
        const void *found = look_straight(lens->parts, root);
        if (PITHP_LIKELY(found != NULL))
            return found;
    }
    if (pithp_lens_check(s, lens, function, "lens") != PITH_OK ||
        pithp_lens_check_root(s, lens, root, function) != PITH_OK)
        return NULL;
    return pithp_lens_look(s, lens->parts, lens->part_count, root);
}
