/* Traversals: find all matches of a part below a node, in walk order. A match is not
 * searched further. */
#include "lens/lens_internal.h"

#include <string.h>

static bool
reserve(pith_runtime *rt, void *array, int64_t need, int64_t *room, size_t each) {
    if (PITHP_LIKELY(need <= *room))
        return true;
    int64_t more = *room ? 2 * *room : 32;
    while (more < need)
        more *= 2;
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = pithp_reallocate(rt, old, (size_t)*room * each, (size_t)more * each);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof grown);
    *room = more;
    return true;
}

void pithp_lens_finds_end(pithp_lens_finds *f) {
    pithp_release(f->rt, f->nodes, (size_t)f->node_room * sizeof *f->nodes);
    pithp_release(f->rt, f->ends, (size_t)f->end_room * sizeof *f->ends);
    pithp_release(f->rt, f->fields, (size_t)f->field_room * sizeof *f->fields);
    pithp_release(f->rt, f->places, (size_t)f->place_room * sizeof *f->places);
}

static bool add_find(pithp_lens_finds *f, const void *node, int32_t field) {
    const int64_t need = f->count + 1;
    if (!reserve(f->rt, &f->nodes, need, &f->node_room, sizeof *f->nodes) ||
        !reserve(f->rt, &f->ends, need, &f->end_room, sizeof *f->ends) ||
        !reserve(f->rt, &f->fields, need, &f->field_room, sizeof *f->fields))
        return false;
    f->nodes[f->count] = node;
    f->fields[f->count] = field;
    f->ends[f->count++] = f->place_count;
    return true;
}

static bool add_place(pithp_lens_finds *f, int64_t place) {
    if (!reserve(f->rt, &f->places, f->place_count + 1, &f->place_room,
                 sizeof *f->places))
        return false;
    f->places[f->place_count++] = place;
    return true;
}

static pith_status
find_items(pith_scope *s, const pith_slice *each, const void *node, pithp_lens_finds *f) {
    const pithp_kind kind = node ? pithp_kind_of(node) : PITHP_KIND_FREE;
    if (kind != PITHP_KIND_LIST && kind != PITHP_KIND_TUPLE && kind != PITHP_KIND_DICT) {
        pithp_text got;
        pithp_text_begin(&got, s->runtime);
        pithp_node_describe(&got, node);
        pithp_fail(s, PITH_E_PATH, NULL, "%s has no items", got.bytes);
        pithp_text_end(&got);
        return PITH_E_PATH;
    }
    const pithp_node_def *node_def = pithp_node_def_of(node);
    const pithp_picked p = pithp_slice_pick(*each, node_def->slot_count);
    for (int64_t i = 0; i < p.count; i++) {
        const int64_t place = p.start + i * p.step;
        if (!add_place(f, place) || !add_find(f, *pithp_slot(node, node_def, place), -1))
            return pithp_fail_memory(s, (size_t)f->node_room * sizeof *f->nodes);
    }
    return PITH_OK;
}

static bool takes(const pithp_lens_part *part, pithp_visit visit, const void *node) {
    const pith_lens_predicate predicate = part->where.predicate;
    switch (part->where.asked) {
        case PITHP_LENS_ASK_TYPE:
            return visit == PITHP_VISIT_ENTER &&
                   pithp_node_def_of(node)->type == part->where.type;
        case PITHP_LENS_ASK_LEAVES:
            if (visit != PITHP_VISIT_LEAF)
                return false;
            break;
        case PITHP_LENS_ASK_NODES:
            break;
    }
    return !predicate || predicate(node, part->where.closure);
}

/* Add the current node, or its struct embedded at a field, with its positions. */
static bool
add_visited(pithp_lens_finds *f, const pithp_walk *w, int64_t depth, int32_t field) {
    for (int64_t i = 0; i < depth; i++)
        if (!add_place(f, w->frames[i].next - 1))
            return false;
    return add_find(f, w->node, field);
}

/* Whether the current node is within an embedded struct that has matched. */
static bool within_embedded(const pithp_walk *w, const pith_type *type) {
    if (w->depth < 2)
        return false;
    const pithp_node_def *around = w->frames[w->depth - 2].node_def;
    return around->type && around->type->size > type->size &&
           pithp_lens_embedded_holds(around->type, type, around->slot_offsets[w->slot]);
}

/* Add embedded structs of the type in a record; *skip: the record is itself within
 * one. */
static bool find_embedded(const pithp_lens_part *part,
                          const pithp_walk *w,
                          pithp_lens_finds *f,
                          bool *skip) {
    const pith_type *type = part->where.type, *in = pithp_node_def_of(w->node)->type;
    bool good = true;
    *skip = within_embedded(w, type);
    for (int32_t i = -1;
         good && in && !*skip && (i = pithp_lens_embedded_next(in, type, i + 1)) >= 0;)
        good = add_visited(f, w, w->depth - 1, i);
    return good;
}

static pith_status find_where(pith_scope *s,
                              const pithp_lens_part *part,
                              const void *node,
                              pithp_lens_finds *f) {
    pithp_walk w;
    pithp_visit visit;
    bool good = true;
    pithp_walk_begin(&w, s->runtime, node);
    while (good && pithp_walk_next(&w, &visit)) {
        const bool enters = visit == PITHP_VISIT_ENTER;
        bool skip = false;
        if (!enters && visit != PITHP_VISIT_LEAF)
            continue;
        if (enters && part->where.asked == PITHP_LENS_ASK_TYPE)
            good = find_embedded(part, &w, f, &skip);
        if (good && !skip && takes(part, visit, w.node)) {
            good = add_visited(f, &w, w.depth - enters, -1);
            skip = true;
        }
        if (enters && skip)
            pithp_walk_skip(&w);
    }
    good = good && !w.failed;
    pithp_walk_end(&w);
    return good ? PITH_OK : pithp_fail_memory(s, (size_t)f->node_room * sizeof *f->nodes);
}

const void *pithp_lens_find_value(pith_scope *s,
                                  const pithp_lens_part *part,
                                  const pithp_lens_finds *finds,
                                  int64_t i) {
    return finds->fields[i] < 0
               ? finds->nodes[i]
               : pithp_lens_embedded_get(s, finds->nodes[i], part->where.type,
                                         finds->fields[i]);
}

pith_status pithp_lens_find_all(pith_scope *s,
                                const pithp_lens_part *part,
                                const void *node,
                                pithp_lens_finds *finds) {
    *finds = (pithp_lens_finds){.rt = s->runtime};
    const pith_status rc = part->kind == PITHP_LENS_EACH
                               ? find_items(s, &part->each, node, finds)
                               : find_where(s, part, node, finds);
    if (rc != PITH_OK)
        pithp_lens_finds_end(finds);
    return rc;
}

/* ---- Paths ---- */

void pithp_lens_places_text(pithp_text *t,
                            const void *node,
                            const int64_t *places,
                            int64_t depth) {
    for (int64_t i = 0; i < depth; i++) {
        if (pithp_kind_is_array(node)) { /* a row */
            pithp_path_add_index(t, places[i]);
            continue;
        }
        const pithp_node_def *node_def = pithp_node_def_of(node);
        if (places[i] >= 0) {
            pithp_path_add_slot(t, node_def, places[i]);
            node = *pithp_slot(node, node_def, places[i]);
            continue;
        }
        const pith_field *d = &node_def->type->fields[~places[i]].declared;
        pithp_path_add_field(t, d->name);
        if (d->static_kind == PITH_STATIC_KIND_RECORD)
            memcpy(&node, (const char *)node + d->offset, sizeof node);
    }
}

void pithp_lens_find_prefix(pith_scope *s,
                            const pithp_lens_finds *finds,
                            int64_t i,
                            const void *node) {
    int64_t depth;
    const int64_t *places = pithp_lens_find_places(finds, i, &depth);
    pithp_text path;
    pithp_text_begin(&path, s->runtime);
    pithp_lens_places_text(&path, node, places, depth);
    pithp_error_prefix(s, path.bytes);
    pithp_text_end(&path);
}

/* ---- Making ---- */

static const pith_lens *extend(pith_scope *s,
                               const char *function,
                               const pith_lens *lens,
                               const pithp_lens_part *part) {
    return pithp_enter_as(s, function) &&
                   pithp_lens_check(s, lens, function, "lens") == PITH_OK &&
                   pithp_lens_check_open(s, lens, function) == PITH_OK
               ? pithp_lens_extend(s, lens, part)
               : NULL;
}

const pith_lens *pith_lens_each(pith_scope *s, const pith_lens *lens) {
    return extend(s, "pith_lens_each", lens, &pithp_lens_each_part);
}

const pith_lens *pith_lens_items(pith_scope *s, const pith_lens *lens, pith_slice slice) {
    const pith_lens *made =
        extend(s, "pith_lens_items", lens,
               &(pithp_lens_part){.kind = PITHP_LENS_EACH, .each = slice});
    if (!made || (slice.step != 0 && slice.step != INT64_MIN))
        return made;
    pithp_fail(s, PITH_E_ARG, NULL, "pith_lens_items: step %lld", (long long)slice.step);
    return NULL;
}

static const pith_lens *where(pith_scope *s,
                              const char *function,
                              const pith_lens *lens,
                              pithp_lens_asked asked,
                              pith_lens_predicate predicate,
                              void *closure,
                              const pith_type *type) {
    return extend(s, function, lens,
                  &(pithp_lens_part){.kind = PITHP_LENS_WHERE,
                                     .where = {asked, predicate, closure, type}});
}

const pith_lens *pith_lens_all_where(pith_scope *s,
                                     const pith_lens *lens,
                                     pith_lens_predicate predicate,
                                     void *closure) {
    static const char function[] = "pith_lens_all_where";
    const pith_lens *made =
        where(s, function, lens, PITHP_LENS_ASK_NODES, predicate, closure, NULL);
    if (!made || predicate)
        return made;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: predicate is NULL", function);
    return NULL;
}

const pith_lens *pith_lens_leaves_where(pith_scope *s,
                                        const pith_lens *lens,
                                        pith_lens_predicate predicate,
                                        void *closure) {
    return where(s, "pith_lens_leaves_where", lens, PITHP_LENS_ASK_LEAVES, predicate,
                 closure, NULL);
}

const pith_lens *
pith_lens_all_of_any(pith_scope *s, const pith_lens *lens, const pith_type *type) {
    static const char function[] = "pith_lens_all_of";
    const pith_lens *made =
        where(s, function, lens, PITHP_LENS_ASK_TYPE, NULL, NULL, type);
    if (!made || (pithp_type_valid(type) && !type->error))
        return made;
    pithp_fail(s, type ? PITH_E_TYPE : PITH_E_ARG, NULL, "%s: %s", function,
               pithp_type_valid(type) ? type->error : "expected a record type");
    return NULL;
}
