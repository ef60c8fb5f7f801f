/* Conflict detection: whether lenses that are set together are independent. Positions of
 * paths are known in advance. Changes of a function lens are found by pointer comparison
 * of the node before and after. */
#include "lens/lens_internal.h"

#include <string.h>

pith_status pithp_lens_conflict(const pithp_lens_edits *e,
                                const void *root,
                                const pithp_lens_edit *a,
                                const pithp_lens_edit *b) {
    const pithp_lens_edit *deeper = a->depth > b->depth ? a : b;
    pithp_string place, first, second;
    pithp_string_begin(&place, e->s->runtime);
    pithp_string_begin(&first, e->s->runtime);
    pithp_string_begin(&second, e->s->runtime);
    pithp_lens_places_text(&place, root, deeper->places, deeper->depth);
    const bool swapped = a->number > b->number;
    pithp_lens_text(&first, swapped ? b->lens : a->lens);
    pithp_lens_text(&second, swapped ? a->lens : b->lens);
    pithp_fail(
        e->s, PITH_E_ARG, place.bytes,
        "two lenses set it: '%.200s' and '%.200s'; the parts of a merged lens must "
        "not overlap",
        first.bytes, second.bytes);
    pithp_string_end(&second);
    pithp_string_end(&first);
    pithp_string_end(&place);
    return PITH_E_ARG;
}

void pithp_lens_changes_begin(pithp_lens_changes *c,
                              const pithp_lens_edits *e,
                              const void *root) {
    *c = (pithp_lens_changes){.edits = e, .root = root};
}

void pithp_lens_changes_end(pithp_lens_changes *c) {
    pith_runtime *rt = c->edits->s->runtime;
    for (int64_t i = 0; i < c->count; i++)
        pithp_release(rt, c->list[i].places,
                      (size_t)c->list[i].depth * sizeof *c->list[i].places);
    pithp_release(rt, c->list, (size_t)c->room * sizeof *c->list);
}

/* ---- Positions changed by a function lens ---- */

/* At this depth the comparison stops: the whole node counts as changed. */
enum { MOST_DEPTH = 1000 };

/* A search for the positions at which two nodes differ. */
typedef struct differing {
    pithp_lens_changes *changes;
    int64_t number; /* index of the edit in the list */
    pithp_lens_trail trail;
} differing;

static bool overlaps(const pithp_lens_edit *a, const pithp_lens_edit *b) {
    const int64_t common = pithp_lens_common_places(a, b);
    return common == a->depth || common == b->depth;
}

static pith_status note(pithp_lens_changes *c, const pithp_lens_edit *change) {
    pith_scope *s = c->edits->s;
    const size_t bytes = (size_t)change->depth * sizeof(int64_t);
    if (c->count == c->room) {
        const int64_t room = c->room ? 2 * c->room : 8;
        pithp_lens_edit *list =
            pithp_reallocate(s->runtime, c->list, (size_t)c->room * sizeof *list,
                             (size_t)room * sizeof *list);
        if (!list)
            return pithp_fail_memory(s, (size_t)room * sizeof *list);
        c->list = list;
        c->room = room;
    }
    int64_t *places = bytes ? pithp_allocate(s->runtime, bytes) : NULL;
    if (bytes && !places)
        return pithp_fail_memory(s, bytes);
    if (bytes)
        memcpy(places, change->places, bytes);
    c->list[c->count] = *change;
    c->list[c->count++].places = places;
    return PITH_OK;
}

/* Record that the edit changed the position of the trail; fail if another edit changed
 * it. */
static pith_status differs(differing *d) {
    pithp_lens_changes *c = d->changes;
    const pithp_lens_edits *e = c->edits;
    pithp_lens_edit change = e->list[d->number];
    change.places = d->trail.places;
    change.depth = d->trail.depth;
    for (int64_t i = 0; i < d->number; i++)
        if (!e->list[i].parts && overlaps(&e->list[i], &change))
            return pithp_lens_conflict(e, c->root, &e->list[i], &change);
    for (int64_t i = 0; i < c->count; i++)
        if (c->list[i].number != change.number && overlaps(&c->list[i], &change))
            return pithp_lens_conflict(e, c->root, &c->list[i], &change);
    return note(c, &change);
}

static pith_status compare(differing *d, const void *before, const void *after);

static pith_status
compare_at(differing *d, int64_t place, const void *before, const void *after) {
    if (before == after)
        return PITH_OK;
    if (!pithp_lens_trail_add(&d->trail, place))
        return pithp_fail_memory(d->changes->edits->s,
                                 (size_t)d->trail.room * sizeof place);
    const pith_status rc = compare(d, before, after);
    d->trail.depth--;
    return rc;
}

static const void *pointer_at(const void *node, size_t offset) {
    const void *pointer;
    memcpy(&pointer, (const char *)node + offset, sizeof pointer);
    return pointer;
}

static pith_status compare_statics(differing *d, const void *before, const void *after) {
    const pithp_node_def *a = pithp_node_def_of(before), *b = pithp_node_def_of(after);
    pith_status rc = PITH_OK;
    for (int32_t i = 0; a != b && i < a->type->static_count && rc == PITH_OK; i++) {
        const pithp_static_info *info = &a->type->statics[i];
        if (pithp_static_same(info, a->statics, b->statics))
            continue;
        const bool record =
            info->kind == PITH_STATIC_KIND_RECORD; /* else no positions inside */
        rc = compare_at(d, ~(int64_t)info->field,
                        record ? pointer_at(before, info->offset) : NULL,
                        record ? pointer_at(after, info->offset) : after);
    }
    return rc;
}

/* The shape of a node with positions inside; NULL: a leaf, or absent. */
static const pithp_node_def *inner_shape(const void *node) {
    return node && !pithp_kind_is_array(node) ? pithp_node_def_of(node) : NULL;
}

/* Whether both are nodes with the same positions. */
static bool alike(const void *x, const void *y) {
    const pithp_node_def *a = inner_shape(x), *b = inner_shape(y);
    if (!a || !b || a->kind != b->kind || a->type != b->type ||
        a->slot_count != b->slot_count)
        return false;
    return a->kind != PITHP_KIND_DICT || pithp_keys_same(a->keys, b->keys, a->slot_count);
}

/* Find the positions where two nodes differ, as deep as their shapes agree. */
static pith_status compare(differing *d, const void *before, const void *after) {
    if (before == after)
        return PITH_OK;
    if (!alike(before, after) || d->trail.depth > MOST_DEPTH)
        return differs(d);
    const pithp_node_def *a = pithp_node_def_of(before), *b = pithp_node_def_of(after);
    pith_status rc = a->type ? compare_statics(d, before, after) : PITH_OK;
    for (int64_t i = 0; i < a->slot_count && rc == PITH_OK; i++)
        rc = compare_at(d, i, *pithp_slot(before, a, i), *pithp_slot(after, b, i));
    return rc;
}

pith_status pithp_lens_changes_add(pithp_lens_changes *c,
                                   int64_t i,
                                   const void *before,
                                   const void *after) {
    const pithp_lens_edit *edit = &c->edits->list[i];
    differing d = {.changes = c, .number = i};
    pithp_lens_trail_begin(&d.trail, c->edits->s->runtime);
    pith_status rc = PITH_OK;
    for (int64_t k = 0; k < edit->depth && rc == PITH_OK; k++)
        if (!pithp_lens_trail_add(&d.trail, edit->places[k]))
            rc = pithp_fail_memory(c->edits->s, (size_t)d.trail.room * sizeof(int64_t));
    if (rc == PITH_OK)
        rc = compare(&d, before, after);
    pithp_lens_trail_end(&d.trail);
    return rc;
}

/* ---- Values read by a function lens ---- */

/* The node at positions given by a node like the model; NULL: no such positions. */
static const void *
node_at(const void *model, const void *node, const int64_t *places, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (!alike(model, node))
            return NULL;
        const pithp_node_def *a = pithp_node_def_of(model), *b = pithp_node_def_of(node);
        const int64_t place = places[i];
        const size_t offset =
            place < 0 ? a->type->fields[~place].declared.offset : 0; /* static record */
        model = place < 0 ? pointer_at(model, offset) : *pithp_slot(model, a, place);
        node = place < 0 ? pointer_at(node, offset) : *pithp_slot(node, b, place);
    }
    return node;
}

static bool has_traced(pith_scope *s, const void *tree) {
    pithp_walk w;
    pithp_visit visit;
    bool found = false;
    pithp_walk_begin(&w, s->runtime, tree);
    while (!found && pithp_walk_next(&w, &visit))
        found = visit == PITHP_VISIT_LEAF && pithp_array_is_traced(w.node);
    if (w.failed)
        pithp_fail_memory(s, sizeof(pithp_walk_frame));
    pithp_walk_end(&w);
    return found;
}

/* Whether a lens reads the same value from two nodes. In a trace only known numbers can
 * be compared. */
static bool
gets_same(pith_scope *s, const pithp_lens_edit *edit, const void *a, const void *b) {
    const void *x = pithp_lens_look_computed(s, edit, a);
    const void *y =
        s->error.code == PITH_OK ? pithp_lens_look_computed(s, edit, b) : NULL;
    if (x == y || s->error.code != PITH_OK || !x || !y)
        return x == y;
    if (has_traced(s, x) || has_traced(s, y))
        return true;
    return pith_tree_equal(pithp_on_behalf(s), x, y);
}

/* Check edit i after edit k: it sets the same node or an ancestor. */
static pith_status check_pair(const pithp_lens_changes *c, int64_t k, int64_t i) {
    const pithp_lens_edits *e = c->edits;
    const pithp_lens_edit *set = &e->list[k], *then = &e->list[i];
    const int64_t *below = set->places + then->depth;
    const int64_t count = set->depth - then->depth;
    const void *model = node_at(c->root, c->root, set->places, then->depth);
    const void *node = node_at(model, then->made, below, count);
    if (node == set->made || (node && gets_same(e->s, set, set->made, node)))
        return PITH_OK;
    return e->s->error.code == PITH_OK ? pithp_lens_conflict(e, c->root, set, then)
                                       : e->s->error.code;
}

pith_status pithp_lens_changes_check(const pithp_lens_changes *c) {
    const pithp_lens_edits *e = c->edits;
    pith_status rc = PITH_OK;
    for (int64_t k = 0; k < e->count && rc == PITH_OK; k++) {
        const pithp_lens_part *parts = e->list[k].parts;
        if (!parts || parts->kind->leaves)
            continue; /* all that these set is seen */
        for (int64_t i = k + 1; i < e->count && rc == PITH_OK; i++)
            if (e->list[i].parts &&
                pithp_lens_common_places(&e->list[k], &e->list[i]) == e->list[i].depth)
                rc = check_pair(c, k, i);
    }
    return rc;
}
