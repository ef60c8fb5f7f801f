/* The traversal of nodes and leaves for which a predicate holds, and of records of a
 * type. */
#include "lens/lens_internal.h"

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

/* What was visited last, or what it embeds at a field, at its places. */
static bool
add_visited(pithp_lens_finds *f, const pithp_walk *w, int64_t depth, int32_t field) {
    for (int64_t i = 0; i < depth; i++)
        if (!pithp_lens_find_place(f, w->frames[i].next - 1))
            return false;
    return pithp_lens_find_add(f, w->node, field);
}

/* Whether the node that was just entered is within a struct that the record around it
 * embeds, and that was found. */
static bool within_embedded(const pithp_walk *w, const pith_type *type) {
    if (w->depth < 2)
        return false;
    const pithp_node_def *around = w->frames[w->depth - 2].node_def;
    return around->type && around->type->size > type->size &&
           pithp_lens_embedded_holds(around->type, type, around->slot_offsets[w->slot]);
}

/* Structs of the type that a record embeds; *skip: it is within one itself. */
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

/* ---- Structs that a record embeds ---- */

static const void *
get_embedded(pith_scope *s, const pithp_lens_edit *edit, const void *node) {
    node = pithp_lens_embedded_get(s, node, edit->parts->where.type, edit->field);
    return node ? pithp_lens_look(s, edit->parts + 1, edit->part_count - 1, node) : NULL;
}

/* A record with the struct that it embeds replaced, or what is behind it set there. */
static const void *
set_embedded(const pithp_lens_edits *e, const pithp_lens_edit *edit, const void *node) {
    const pith_type *type = edit->parts->where.type;
    const void *value = edit->value;
    if (edit->part_count > 1) {
        const void *there = pithp_lens_embedded_get(e->s, node, type, edit->field);
        if (there)
            value =
                pithp_lens_set_in(e, edit->parts + 1, edit->part_count - 1, there, value);
        if (there && e->s->error.code != PITH_OK)
            pithp_lens_embedded_fail(e->s, node, type, edit->field);
    }
    return e->s->error.code == PITH_OK
               ? pithp_lens_embedded_set(e->s, node, type, edit->field, value, e->options)
               : NULL;
}

static void where_text(pithp_string *t, const pithp_lens_part *part) {
    static const char *const asked[] = {[PITHP_LENS_ASK_NODES] = "[nodes where]",
                                        [PITHP_LENS_ASK_LEAVES] = "[leaves where]",
                                        [PITHP_LENS_ASK_TYPE] = "[all "};
    pithp_string_add(t, asked[part->where.asked]);
    if (part->where.asked == PITHP_LENS_ASK_TYPE)
        pithp_string_print(t, "%s]", part->where.type->name);
}

static void add_identity(pithp_string *t, const pithp_lens_part *part) {
    pithp_string_add_n(t, (const char *)&part->where.asked, sizeof part->where.asked);
    pithp_string_add_n(t, (const char *)&part->where.predicate,
                       sizeof part->where.predicate);
    pithp_string_add_n(t, (const char *)&part->where.closure, sizeof part->where.closure);
    pithp_string_add_n(t, (const char *)&part->where.type, sizeof part->where.type);
}

static const pithp_lens_kind where_kind = {.get = pithp_lens_get_finds,
                                           .set = pithp_lens_set_finds,
                                           .get_made = get_embedded,
                                           .make = set_embedded,
                                           .find = find_where,
                                           .text = where_text,
                                           .identity = add_identity};

/* ---- Making ---- */

static const pith_lens *where(pith_scope *s,
                              const char *function,
                              const pith_lens *lens,
                              pithp_lens_asked asked,
                              pith_lens_predicate predicate,
                              void *closure,
                              const pith_type *type) {
    return pithp_lens_traverse(
        s, function, lens,
        &(pithp_lens_part){.kind = &where_kind,
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
