/* Extent statics: finds the integer statics of a state that name extents of its
 * leaves. */
#include "capacity/capacity_internal.h"

#include <string.h>

/* The static field that provides a name in a record; NULL if leaves bind the name. *has:
 * whether the record provides it. */
static const pithp_field *provider(const pith_type *type, const char *name, bool *has) {
    for (int32_t i = 0; i < type->provided_count; i++)
        if (type->provided[i] == name) {
            *has = true;
            return type->provided_by[i] >= 0 ? &type->fields[type->provided_by[i]] : NULL;
        }
    *has = false;
    return NULL;
}

/* The record and field of the static that gives an extent of a leaf of the current
 * record; false: not a static. */
static bool
find_static(const pithp_walk *w, const pithp_extent *e, pithp_extent_static *found) {
    int64_t i = w->depth - 1;
    const pithp_walk_frame *f = &w->frames[i];
    if (e->kind == PITHP_EXTENT_STATIC) {
        found->record = f->node;
        found->field = &f->node_def->type->fields[e->name];
        return true;
    }
    if (e->kind != PITHP_EXTENT_OUTER)
        return false;
    const char *name = f->node_def->type->names[e->name];
    while (i-- > 0) {
        bool has = false;
        f = &w->frames[i];
        found->field = f->node_def->type ? provider(f->node_def->type, name, &has) : NULL;
        found->record = f->node;
        if (has)
            return found->field != NULL;
    }
    return false;
}

static bool known(const pithp_extent_list *l, const pithp_extent_static *found) {
    for (int64_t i = 0; i < l->count; i++)
        if (l->all[i].record == found->record && l->all[i].field == found->field)
            return true;
    return false;
}

static pith_status add(pithp_extent_list *l, const pithp_extent_static *found) {
    if (l->count == l->room) {
        const int64_t room = l->room ? 2 * l->room : 16;
        pithp_extent_static *all = pithp_scope_allocate(l->s, (size_t)room * sizeof *all);
        if (!all)
            return l->s->error.code;
        if (l->count)
            memcpy(all, l->all, (size_t)l->count * sizeof *all);
        l->all = all;
        l->room = room;
    }
    l->all[l->count++] = *found;
    return PITH_OK;
}

/* The current path, copied to the scope; NULL: error set. */
static const char *path_of(pith_scope *s, const pithp_walk *w, const char *field) {
    pithp_string path;
    pithp_string_begin(&path, s->runtime);
    pithp_walk_path(w, &path);
    if (field)
        pithp_path_add_field(&path, field);
    char *copy = path.failed ? NULL : pithp_scope_allocate(s, path.length + 1);
    if (copy)
        memcpy(copy, path.bytes, path.length + 1);
    else if (s->error.code == PITH_OK)
        pithp_fail_memory(s, path.length + 1);
    pithp_string_end(&path);
    return copy;
}

/* Add the statics named by a leaf's declaration. */
static pith_status look_at_leaf(pithp_extent_list *l, const pithp_walk *w) {
    const pithp_node_def *node_def = w->depth ? w->frames[w->depth - 1].node_def : NULL;
    if (!node_def || !node_def->type ||
        node_def->type->slots[w->slot].kind != PITHP_SLOT_LEAF)
        return PITH_OK;
    const pithp_leaf_spec *spec =
        &node_def->type->fields[node_def->type->slot_fields[w->slot]].leaf;
    pith_status rc = PITH_OK;
    for (int32_t k = 0; k < spec->rank && !spec->any_shape && rc == PITH_OK; k++) {
        pithp_extent_static found = {0};
        if (!find_static(w, &spec->extents[k], &found) || known(l, &found))
            continue;
        found.leaf = path_of(l->s, w, NULL);
        rc = found.leaf ? add(l, &found) : l->s->error.code;
    }
    return rc;
}

/* Set the path of each static by a walk to its record. */
static pith_status find_paths(pithp_extent_list *l, const void *state) {
    pithp_walk w;
    pithp_visit visit;
    pithp_walk_begin(&w, l->s->runtime, state);
    while (l->s->error.code == PITH_OK && pithp_walk_next(&w, &visit)) {
        if (visit != PITHP_VISIT_ENTER)
            continue;
        for (int64_t i = 0; i < l->count; i++)
            if (l->all[i].record == w.node && !l->all[i].path)
                l->all[i].path = path_of(l->s, &w, l->all[i].field->declared.name);
    }
    const bool failed = w.failed;
    pithp_walk_end(&w);
    return failed ? pithp_fail_memory(l->s, sizeof(pithp_walk_frame)) : l->s->error.code;
}

pith_status pithp_extents_find(pithp_extent_list *l, const void *state) {
    pithp_walk w;
    pithp_visit visit;
    pith_status rc = PITH_OK;
    pithp_walk_begin(&w, l->s->runtime, state);
    while (rc == PITH_OK && pithp_walk_next(&w, &visit))
        if (visit == PITHP_VISIT_LEAF)
            rc = look_at_leaf(l, &w);
    if (rc == PITH_OK && w.failed)
        rc = pithp_fail_memory(l->s, sizeof(pithp_walk_frame));
    pithp_walk_end(&w);
    return rc == PITH_OK ? find_paths(l, state) : rc;
}
