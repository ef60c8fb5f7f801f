/* The part that is a merge: several lenses at once, as a tuple. */
#include "lens/lens_internal.h"

#include <stdio.h>

static pith_status copy_merged(pith_scope *s, pithp_lens_part *p) {
    const pith_lens **lenses =
        pithp_lens_allocate(s, (size_t)(p->count ? p->count : 1) * sizeof *lenses);
    if (!lenses)
        return s->error.code;
    for (int32_t i = 0; i < p->count; i++)
        if (!(lenses[i] = pithp_lens_copy(s, p->merged[i])))
            return s->error.code;
    p->merged = lenses;
    return PITH_OK;
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
        if (!pithp_lens_is_item(s, items[i]))
            break;
    }
    if (i == part->count)
        made = pithp_lens_gather(s, PITHP_KIND_TUPLE, part->count, items);
    pithp_scratch_release(s->runtime, items, bytes);
    return made;
}

static const void *
get_merged(pith_scope *s, const pithp_lens_part *parts, int32_t count, const void *node) {
    if (pithp_lens_present(s, node) != PITH_OK)
        return NULL;
    return pithp_lens_look_behind(s, parts, count, look_merged(s, parts, node));
}

static pith_status expand_merged(pithp_lens_edits *e,
                                 const pithp_lens_part *part,
                                 const void *node,
                                 const void *value) {
    const pith_lens *around = e->lens;
    pith_status rc = pithp_lens_check_items(e->s, value, false, part->count, "lens");
    for (int32_t i = 0; i < part->count && rc == PITH_OK; i++) {
        const pith_lens *lens = part->merged[i];
        if (lens->type)
            rc = pithp_lens_check_type(e->s, node, lens->type);
        e->lens = lens;
        if (rc == PITH_OK)
            rc = pithp_lens_expand(e, lens->parts, lens->part_count, node,
                                   pithp_lens_item(value, i));
    }
    e->lens = around;
    return rc;
}

static pith_status set_merged(pithp_lens_edits *e,
                              const pithp_lens_part *parts,
                              int32_t count,
                              const void *node,
                              const void *value) {
    pith_status rc = pithp_lens_present(e->s, node);
    if (rc == PITH_OK) {
        value = pithp_lens_set_behind(e, parts, count, node, value);
        rc = e->s->error.code;
    }
    return rc == PITH_OK ? expand_merged(e, parts, node, value) : rc;
}

static void merged_text(pithp_string *t, const pithp_lens_part *part) {
    pithp_string_add(t, "(");
    for (int32_t i = 0; i < part->count; i++) {
        pithp_string_add(t, i ? ", " : "");
        pithp_lens_text(t, part->merged[i]);
    }
    pithp_string_add(t, ")");
}

const pithp_lens_kind pithp_lens_merge_kind = {.copy = copy_merged,
                                               .get = get_merged,
                                               .set = set_merged,
                                               .text = merged_text};

const pith_lens *
pith_lens_merge(pith_scope *s, int64_t count, const pith_lens *const *lenses) {
    if (!pithp_enter(s))
        return NULL;
    if (count < 0 || count > INT32_MAX || (count && !lenses)) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_lens_merge: %s",
                   count >= 0 && !lenses ? "lenses is NULL"
                                         : "the count is out of range");
        return NULL;
    }
    const pith_type *type = NULL;
    for (int64_t i = 0; i < count; i++) {
        char name[40];
        snprintf(name, sizeof name, "lenses[%lld]", (long long)i);
        if (pithp_lens_check(s, lenses[i], "pith_lens_merge", name) != PITH_OK)
            return NULL;
        if (lenses[i]->type && type && lenses[i]->type != type) {
            pithp_fail(s, PITH_E_TYPE, NULL,
                       "pith_lens_merge: %s looks into %s, those "
                       "before it into %s",
                       name, lenses[i]->type->name, type->name);
            return NULL;
        }
        if (lenses[i]->type)
            type = lenses[i]->type;
    }
    const pithp_lens_part part = {
        .kind = &pithp_lens_merge_kind, .count = (int32_t)count, .merged = lenses};
    return pithp_lens_of_part(s, type, &part);
}
