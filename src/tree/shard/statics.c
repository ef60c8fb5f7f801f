/* Statics that follow extents: if the leaves of a tree change their shapes, the statics
 * that name the changed extents change too. The reverse of pith_tree_resize. */
#include "tree/shard/shard.h"

#include <inttypes.h>
#include <string.h>

/* A static with its new value. */
typedef struct change {
    int64_t node; /* the number of the record among the nodes, in walk order */
    const void *record;
    const pithp_field *field;
    int64_t value, leaf;
} change;

typedef struct following {
    pith_scope *w;
    pithp_shard_tree *t;
    change *changes;
    int64_t count, room;
    int64_t *numbers; /* of the entered nodes, by depth */
    int64_t depth_room, node_count;
} following;

static pith_status
grow(pith_scope *w, void *list, int64_t *room, int64_t need, size_t each) {
    if (need <= *room)
        return PITH_OK;
    const int64_t more = need > 8 ? 2 * need : 16;
    void *old, *made = pithp_scope_allocate(w, (size_t)more * each);
    memcpy(&old, list, sizeof old);
    if (!made)
        return w->error.code;
    if (*room)
        memcpy(made, old, (size_t)*room * each);
    memcpy(list, &made, sizeof made);
    *room = more;
    return PITH_OK;
}

/* ---- Which statics change ---- */

static pith_status fail_twice(following *f, const change *a, const change *b) {
    pithp_string first;
    pithp_string_begin(&first, f->w->runtime);
    pithp_structure_path(f->w->runtime, &f->t->flat.structure, a->leaf, &first);
    pithp_item_fail(f->w, &f->t->flat.structure, b->leaf, PITH_E_SHAPE,
                    "makes %s %" PRId64 ", but %s makes it %" PRId64,
                    b->field->declared.name, b->value, first.bytes, a->value);
    pithp_string_end(&first);
    return PITH_E_SHAPE;
}

static pith_status add_change(following *f, change c) {
    for (int64_t i = 0; i < f->count; i++)
        if (f->changes[i].node == c.node && f->changes[i].field == c.field)
            return f->changes[i].value == c.value ? PITH_OK
                                                  : fail_twice(f, &f->changes[i], &c);
    if (grow(f->w, &f->changes, &f->room, f->count + 1, sizeof c) != PITH_OK)
        return f->w->error.code;
    f->changes[f->count++] = c;
    return PITH_OK;
}

/* The record and field of the static that an extent names; field NULL: none. */
static change find_static(const following *f,
                          const pithp_walk *walk,
                          const pith_type *type,
                          const pithp_extent *e) {
    const int64_t inner = walk->depth - 1;
    change c = {0};
    if (e->kind == PITHP_EXTENT_STATIC) {
        c.node = f->numbers[inner];
        c.record = walk->frames[inner].node;
        c.field = &type->fields[e->name];
    }
    if (e->kind != PITHP_EXTENT_OUTER)
        return c;
    const char *name = type->names[e->name];
    for (int64_t i = inner; i-- > 0;) {
        const pith_type *outer = walk->frames[i].node_def->type;
        if (!outer || !pithp_type_provides(outer, name))
            continue;
        for (int32_t p = 0; p < outer->provided_count; p++)
            if (outer->provided[p] == name && outer->provided_by[p] >= 0) {
                c.node = f->numbers[i];
                c.record = walk->frames[i].node;
                c.field = &outer->fields[outer->provided_by[p]];
            }
        break;
    }
    return c;
}

static pith_status fail_solve(following *f, int64_t k, const change *c, int64_t extent) {
    return pithp_item_fail(f->w, &f->t->flat.structure, k, PITH_E_SHAPE,
                           "no value of %s gives the extent %" PRId64,
                           c->field->declared.name, extent);
}

static pith_status look_at_leaf(following *f, const pithp_walk *walk, int64_t k) {
    const pithp_field *field = f->t->leaves[k].field;
    const pith_spec *was = pithp_array_spec(f->t->flat.items[k]),
                    *is = pithp_array_spec(f->t->items[k]);
    if (!field || field->declared.kind != PITH_FIELD_LEAF || field->leaf.any_shape ||
        is->rank != was->rank)
        return PITH_OK;
    const int lead = is->rank - field->leaf.rank;
    for (int32_t d = 0; d < field->leaf.rank; d++) {
        const pithp_extent *e = &field->leaf.extents[d];
        const int64_t extent = is->shape[lead + d];
        if (extent == was->shape[lead + d])
            continue;
        change c = find_static(f, walk, walk->frames[walk->depth - 1].node_def->type, e);
        if (!c.field)
            continue;
        c.leaf = k;
        c.value = (extent - e->plus) / e->times;
        if (extent < e->plus || c.value * e->times + e->plus != extent)
            return fail_solve(f, k, &c, extent);
        if (add_change(f, c) != PITH_OK)
            return f->w->error.code;
    }
    return PITH_OK;
}

/* Extents that are named by a static that changes, and do not follow: the leaf has no
 * spec for this axis, or other rows in use. */
static pith_status fail_whole(following *f, int64_t k, int axis, const change *c) {
    const pith_spec *is = pithp_array_spec(f->t->items[k]);
    const bool shards = pithp_placement_of(pithp_array_spec(f->t->items[c->leaf]));
    char list[PITHP_SHARD_TEXT];
    pithp_string by;
    pithp_string_begin(&by, f->w->runtime);
    pithp_structure_path(f->w->runtime, &f->t->flat.structure, c->leaf, &by);
    pithp_shard_text_list(f->t->leaves[k].axes, axis, list);
    if (list[0])
        pithp_item_fail(f->w, &f->t->flat.structure, k, PITH_E_SHAPE,
                        "%s: the extent of axis %d is %" PRId64 ", but %s is now %" PRId64
                        ", because of %s: their rows must be counted alike, or extents "
                        "need two names",
                        pithp_function_of(f->w, "pith_shard_map"), axis, is->shape[axis],
                        c->field->declared.name, c->value, by.bytes);
    else
        pithp_item_fail(f->w, &f->t->flat.structure, k, PITH_E_SHAPE,
                        "%s: axis %d is whole, but %s is now the extent of %s, %" PRId64
                        ", because %s is sharded: both need a spec, or extents of two "
                        "names",
                        pithp_function_of(f->w, "pith_shard_map"), axis,
                        c->field->declared.name, shards ? "a shard" : "all shards",
                        c->value, by.bytes);
    pithp_string_end(&by);
    return f->w->error.code;
}

static pith_status look_at_others(following *f, const pithp_walk *walk, int64_t k) {
    const pithp_field *field = f->t->leaves[k].field;
    const pith_spec *is = pithp_array_spec(f->t->items[k]);
    if (!field || field->declared.kind != PITH_FIELD_LEAF || field->leaf.any_shape)
        return PITH_OK;
    const int lead = is->rank - field->leaf.rank;
    for (int32_t d = 0; d < field->leaf.rank; d++) {
        const pithp_extent *e = &field->leaf.extents[d];
        const change c =
            find_static(f, walk, walk->frames[walk->depth - 1].node_def->type, e);
        for (int64_t i = 0; c.field && i < f->count; i++)
            if (f->changes[i].node == c.node && f->changes[i].field == c.field &&
                f->changes[i].value * e->times + e->plus != is->shape[lead + d])
                return fail_whole(f, k, lead + d, &f->changes[i]);
    }
    return PITH_OK;
}

/* Look at each leaf, with the records around it. */
static pith_status
look_at_leaves(following *f,
               pith_status (*look)(following *f, const pithp_walk *walk, int64_t k)) {
    pithp_walk walk;
    pithp_visit visit;
    int64_t k = 0;
    pith_status rc = PITH_OK;
    f->node_count = 0;
    pithp_walk_begin(&walk, f->w->runtime, f->t->root);
    while (rc == PITH_OK && pithp_walk_next(&walk, &visit)) {
        if (visit == PITHP_VISIT_ENTER) {
            rc = grow(f->w, &f->numbers, &f->depth_room, walk.depth, sizeof *f->numbers);
            if (rc == PITH_OK)
                f->numbers[walk.depth - 1] = f->node_count;
            f->node_count++;
        } else if (visit == PITHP_VISIT_LEAF) {
            rc = look(f, &walk, k++);
        }
    }
    if (walk.failed)
        rc = pithp_fail_memory(f->w, PITHP_BLOCK_BYTES);
    pithp_walk_end(&walk);
    return rc;
}

/* ---- Node definitions with them ---- */

/* The definition of the record of change i, with all its changes. */
static const pithp_node_def *changed_def(following *f, int64_t i) {
    const pith_type *type = pithp_node_def_of(f->changes[i].record)->type;
    char *copy = pithp_scope_allocate(f->w, type->size);
    if (!copy)
        return NULL;
    memcpy(copy, f->changes[i].record, type->size);
    for (int64_t j = i; j < f->count; j++)
        if (f->changes[j].node == f->changes[i].node)
            memcpy(copy + f->changes[j].field->declared.offset, &f->changes[j].value,
                   sizeof f->changes[j].value);
    return pithp_node_def_record(f->w, type, copy);
}

static pith_status apply_changes(following *f) {
    pithp_structure *t = &f->t->flat.structure;
    for (int64_t i = 0; i < f->count; i++) {
        bool done = false;
        for (int64_t j = 0; j < i; j++)
            done |= f->changes[j].node == f->changes[i].node;
        const pithp_node_def *def = done ? NULL : changed_def(f, i);
        if (!def && !done)
            return f->w->error.code;
        for (int64_t token = 0, node = 0; def && token < t->token_count; token++)
            if (pithp_token_kind(t->tokens[token]) == PITHP_TOKEN_NODE &&
                node++ == f->changes[i].node)
                t->tokens[token] = (uintptr_t)def;
        t->loose = true;
    }
    return PITH_OK;
}

const void *pithp_shard_tree_build(pith_scope *s, pithp_shard_tree *t, bool quiet) {
    following f = {.w = t->w, .t = t};
    const bool before = s->no_validation;
    if (look_at_leaves(&f, look_at_leaf) != PITH_OK ||
        (f.count && look_at_leaves(&f, look_at_others) != PITH_OK) ||
        apply_changes(&f) != PITH_OK ||
        pithp_structure_hold(s, &t->flat.structure) != PITH_OK)
        return NULL;
    s->no_validation = before || quiet;
    const void *made = pithp_build(s, &t->flat.structure, NULL, t->items);
    s->no_validation = before;
    return made;
}
