/* Trees that lenses hold: index arrays and constants. A function at a focus binds them,
 * so that lenses of one form share a program and may hold traced arrays. */
#include "lens/lens_internal.h"

#include <string.h>

/* ---- Listing ---- */

typedef struct listing {
    int64_t count, room;
    const void **trees;
} listing;

static void list_lens(listing *l, const pith_lens *lens) {
    for (int32_t i = 0; i < lens->part_count; i++) {
        pithp_lens_part part = lens->parts[i];
        const bool merge = part.kind == &pithp_lens_merge_kind;
        for (int32_t k = 0; merge && k < part.count; k++)
            list_lens(l, part.merged[k]);
        if (!part.kind->held)
            continue;
        if (l->count < l->room)
            l->trees[l->count] = *part.kind->held(&part);
        l->count++;
    }
}

int64_t pithp_lens_held(const pith_lens *lens, int64_t room, const void **trees) {
    listing l = {.room = room, .trees = trees};
    list_lens(&l, lens);
    return l.count;
}

/* ---- Copying ---- */

static const pith_lens *
copy_lens(pith_scope *s, const pith_lens *lens, const void *const **trees);

/* The lenses of a merge. */
static pith_status
copy_merged(pith_scope *s, pithp_lens_part *part, const void *const **trees) {
    const size_t bytes = ((size_t)part->count + 1) * sizeof *part->merged;
    const pith_lens **merged = pithp_scope_allocate(s, bytes);
    for (int32_t k = 0; merged && k < part->count; k++)
        if (!(merged[k] = copy_lens(s, part->merged[k], trees)))
            return s->error.code;
    part->merged = merged;
    return s->error.code;
}

static pith_status
copy_part(pith_scope *s, pithp_lens_part *part, const void *const **trees) {
    if (part->kind == &pithp_lens_merge_kind)
        return copy_merged(s, part, trees);
    if (part->kind->held)
        *part->kind->held(part) = *trees ? *(*trees)++ : NULL;
    return part->kind->copy ? part->kind->copy(s, part) : PITH_OK;
}

/* trees: the next one; points to NULL if there are none. */
static const pith_lens *
copy_lens(pith_scope *s, const pith_lens *lens, const void *const **trees) {
    const size_t count = (size_t)lens->part_count;
    pithp_lens_draft d = {.s = s, .lens = *lens};
    d.parts = pithp_scope_allocate(s, (count + 1) * sizeof *d.parts);
    if (!d.parts)
        return NULL;
    if (count)
        memcpy(d.parts, lens->parts, count * sizeof *d.parts);
    for (size_t i = 0; i < count; i++)
        if (copy_part(s, &d.parts[i], trees) != PITH_OK)
            return NULL;
    return pithp_lens_finish(&d);
}

const pith_lens *
pithp_lens_with_held(pith_scope *s, const pith_lens *lens, const void *const *trees) {
    return copy_lens(s, lens, &trees);
}
