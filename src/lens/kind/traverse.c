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

static void finds_end(pithp_lens_finds *f) {
    pithp_release(f->rt, f->nodes, (size_t)f->node_room * sizeof *f->nodes);
    pithp_release(f->rt, f->ends, (size_t)f->end_room * sizeof *f->ends);
    pithp_release(f->rt, f->fields, (size_t)f->field_room * sizeof *f->fields);
    pithp_release(f->rt, f->places, (size_t)f->place_room * sizeof *f->places);
}

bool pithp_lens_find_add(pithp_lens_finds *f, const void *node, int32_t field) {
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

bool pithp_lens_find_place(pithp_lens_finds *f, int64_t place) {
    if (!reserve(f->rt, &f->places, f->place_count + 1, &f->place_room,
                 sizeof *f->places))
        return false;
    f->places[f->place_count++] = place;
    return true;
}

static pith_status find_all(pith_scope *s,
                            const pithp_lens_part *part,
                            const void *node,
                            pithp_lens_finds *finds) {
    *finds = (pithp_lens_finds){.rt = s->runtime};
    pith_status rc = pithp_lens_present(s, node);
    if (rc == PITH_OK)
        rc = part->kind->find(s, part, node, finds);
    if (rc != PITH_OK)
        finds_end(finds);
    return rc;
}

/* ---- Paths ---- */

void pithp_lens_places_text(pithp_string *t,
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

/* Prefix the scope's error with the path of match i below a node. */
static void
find_prefix(pith_scope *s, const pithp_lens_finds *finds, int64_t i, const void *node) {
    int64_t depth;
    const int64_t *places = pithp_lens_find_places(finds, i, &depth);
    pithp_string path;
    pithp_string_begin(&path, s->runtime);
    pithp_lens_places_text(&path, node, places, depth);
    pithp_error_prefix(s, path.bytes);
    pithp_string_end(&path);
}

/* ---- Getting and setting ---- */

/* What was found, as a tree; NULL: absent, or the error is set. */
static const void *find_value(pith_scope *s,
                              const pithp_lens_part *part,
                              const pithp_lens_finds *finds,
                              int64_t i) {
    return finds->fields[i] < 0
               ? finds->nodes[i]
               : pithp_lens_embedded_get(s, finds->nodes[i], part->where.type,
                                         finds->fields[i]);
}

const void *pithp_lens_get_finds(pith_scope *s,
                                 const pithp_lens_part *parts,
                                 int32_t count,
                                 const void *node) {
    pithp_lens_finds finds;
    const void *made = NULL;
    if (find_all(s, parts, node, &finds) != PITH_OK)
        return NULL;
    int64_t i = 0;
    for (; i < finds.count; i++) {
        const void *found = find_value(s, parts, &finds, i);
        finds.nodes[i] = pithp_lens_look_behind(s, parts, count, found);
        if (!pithp_lens_is_item(s, finds.nodes[i])) {
            find_prefix(s, &finds, i, node);
            break;
        }
    }
    if (i == finds.count)
        made = pithp_lens_gather(s, PITHP_KIND_LIST, finds.count, finds.nodes);
    finds_end(&finds);
    return made;
}

pith_status pithp_lens_set_finds(pithp_lens_edits *e,
                                 const pithp_lens_part *parts,
                                 int32_t count,
                                 const void *node,
                                 const void *value) {
    pithp_lens_finds finds;
    pith_status rc = find_all(e->s, parts, node, &finds);
    if (rc != PITH_OK)
        return rc;
    const int64_t above = e->trail.depth;
    rc = pithp_lens_check_items(e->s, value, true, finds.count, "part found");
    for (int64_t i = 0; i < finds.count && rc == PITH_OK; i++) {
        int64_t depth;
        const int64_t *places = pithp_lens_find_places(&finds, i, &depth);
        for (int64_t k = 0; k < depth && rc == PITH_OK; k++)
            if (!pithp_lens_trail_add(&e->trail, places[k]))
                rc = pithp_fail_memory(e->s, (size_t)e->trail.room * sizeof *places);
        if (rc == PITH_OK)
            rc = finds.fields[i] < 0
                     ? pithp_lens_expand(e, parts + 1, count - 1, finds.nodes[i],
                                         pithp_lens_item(value, i))
                     : pithp_lens_edits_add(
                           e, &(pithp_lens_edit){.value = pithp_lens_item(value, i),
                                                 .parts = parts,
                                                 .part_count = count,
                                                 .field = finds.fields[i]});
        if (rc != PITH_OK)
            find_prefix(e->s, &finds, i, node);
        e->trail.depth = above;
    }
    finds_end(&finds);
    return rc;
}

/* ---- Making ---- */

const pith_lens *pithp_lens_traverse(pith_scope *s,
                                     const char *function,
                                     const pith_lens *lens,
                                     const pithp_lens_part *part) {
    return pithp_enter_as(s, function) &&
                   pithp_lens_check(s, lens, function, "lens") == PITH_OK &&
                   pithp_lens_check_open(s, lens, function) == PITH_OK
               ? pithp_lens_extend(s, lens, part)
               : NULL;
}
