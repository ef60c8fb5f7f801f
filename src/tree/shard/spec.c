/* Leaves of a tree and how they are sharded: by options, declarations or placements. */
#include "tree/shard/shard.h"

#include <stdio.h>
#include <string.h>

/* ---- Specs from options ---- */

static pith_status fail_spec(pith_scope *w, const char *axes, const char *wrong) {
    return pithp_fail(w, PITH_E_ARG, NULL, "%s: spec \"%.80s\": %s",
                      pithp_function_of(w, "pith_shard"), axes, wrong);
}

static pith_status read_axes(pith_scope *w, const char *axes, pithp_shard_leaf *leaf) {
    const char *given = axes;
    if (!axes) {
        const pithp_mesh_group *all = pithp_mesh_group_of(w, NULL);
        if (!all)
            return w->error.code;
        given = all->axes;
    }
    const char *wrong = pithp_shard_text_read(given, leaf->axes);
    return wrong ? fail_spec(w, given, wrong) : PITH_OK;
}

/* Every path of the specs leads to a leaf, and is there once. */
static pith_status
check_paths(pithp_shard_tree *t, const pith_shard_spec *specs, const bool *used) {
    for (int i = 0; specs && specs[i].path; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(specs[k].path, specs[i].path) == 0)
                return pithp_fail(t->w, PITH_E_ARG, NULL,
                                  "%s: two specs are of the path '%.200s'",
                                  pithp_function_of(t->w, "pith_shard"), specs[i].path);
    for (int i = 0; specs && specs[i].path; i++)
        if (!used[i])
            return pithp_fail(t->w, PITH_E_PATH, NULL,
                              "%s: the path '%.200s' of a spec leads to no leaf",
                              pithp_function_of(t->w, "pith_shard"), specs[i].path);
    return PITH_OK;
}

static int count_specs(const pith_shard_spec *specs) {
    int count = 0;
    while (specs && specs[count].path)
        count++;
    return count;
}

/* ---- Leaves ---- */

/* The declaration of the leaf that was visited last. */
static void note_place(const pithp_walk *walk, pithp_shard_leaf *leaf) {
    const pithp_walk_frame *parent = walk->depth ? &walk->frames[walk->depth - 1] : NULL;
    const pith_type *type = parent ? parent->node_def->type : NULL;
    *leaf = (pithp_shard_leaf){.counter = -1};
    if (!type)
        return;
    leaf->record = parent->node;
    leaf->field = &type->fields[type->slot_fields[walk->slot]];
}

static pith_status
read_given(pithp_shard_tree *t, const pith_shard_spec *given, int64_t k) {
    pithp_shard_leaf *leaf = &t->leaves[k];
    pith_status rc = PITH_OK;
    if (given) {
        rc = read_axes(t->w, given->axes, leaf);
        leaf->rows = given->rows;
    } else if (leaf->field && leaf->field->declared.options.shard) {
        rc = read_axes(t->w, leaf->field->declared.options.shard, leaf);
        leaf->rows = leaf->field->declared.options.rows;
    }
    if (rc != PITH_OK)
        pithp_item_prefix(t->w, &t->flat.structure, k);
    return rc;
}

static void read_placed(pithp_shard_leaf *leaf, const pith_spec *spec) {
    const pith_placement *p = pithp_placement_of(spec);
    if (!p)
        return;
    snprintf(leaf->axes, sizeof leaf->axes, "%s", p->axes);
    leaf->rows = p->rows[0] ? p->rows : NULL;
}

static pith_status
read_leaves(pithp_shard_tree *t, const pith_shard_spec *specs, bool placed, bool *used) {
    pithp_walk walk;
    pithp_visit visit;
    pithp_string path;
    int64_t k = 0;
    pith_status rc = PITH_OK;
    pithp_walk_begin(&walk, t->w->runtime, t->root);
    pithp_string_begin(&path, t->w->runtime);
    while (rc == PITH_OK && pithp_walk_next(&walk, &visit)) {
        if (visit != PITHP_VISIT_LEAF)
            continue;
        const pith_shard_spec *given = NULL;
        note_place(&walk, &t->leaves[k]);
        if (specs) {
            pithp_string_end(&path);
            pithp_string_begin(&path, t->w->runtime);
            pithp_walk_path(&walk, &path);
            given = pithp_shard_spec_for(specs, path.bytes);
            for (const pith_shard_spec *x = specs; x->path; x++)
                used[x - specs] |= pithp_path_contains(x->path, path.bytes);
        }
        if (placed)
            read_placed(&t->leaves[k], t->flat.structure.specs[k]);
        else
            rc = read_given(t, given, k);
        k++;
    }
    if (walk.failed || path.failed)
        rc = pithp_fail_memory(t->w, PITHP_BLOCK_BYTES);
    pithp_string_end(&path);
    pithp_walk_end(&walk);
    return rc == PITH_OK ? check_paths(t, specs, used) : rc;
}

pith_status pithp_shard_tree_read(pith_scope *w,
                                  pithp_shard_tree *t,
                                  const void *tree,
                                  const pith_shard_spec *specs,
                                  bool placed) {
    t->w = w;
    t->root = tree;
    t->flattened = pithp_flat_make(w, &t->flat, tree, NULL, NULL) == PITH_OK;
    if (!t->flattened)
        return w->error.code;
    const size_t count = (size_t)t->flat.structure.item_count + 1,
                 marks = (size_t)count_specs(specs) + 1;
    bool *used = pithp_scope_allocate(w, marks);
    t->leaves = pithp_scope_allocate(w, count * sizeof *t->leaves);
    t->items = pithp_scope_allocate(w, count * sizeof *t->items);
    if (!used || !t->leaves || !t->items)
        return w->error.code;
    memset(used, 0, marks);
    memcpy(t->items, t->flat.items, (count - 1) * sizeof *t->items);
    return read_leaves(t, specs, placed, used);
}

void pithp_shard_tree_end(pithp_shard_tree *t) {
    if (t->flattened)
        pithp_flat_end(&t->flat);
    t->flattened = false;
}

/* ---- Counts of rows ---- */

static bool is_path(const char *rows) {
    return *rows == '.' || *rows == '[';
}

/* Whether leaf k is at a path from the root. */
static bool is_at(pithp_shard_tree *t, int64_t k, const char *wanted) {
    pithp_string path;
    pithp_string_begin(&path, t->w->runtime);
    const bool at = pithp_structure_path(t->w->runtime, &t->flat.structure, k, &path) &&
                    strcmp(path.bytes, wanted) == 0;
    pithp_string_end(&path);
    return at;
}

static int64_t find_counter(pithp_shard_tree *t, const pithp_shard_leaf *leaf) {
    for (int64_t k = 0; k < t->flat.structure.item_count; k++) {
        const pithp_shard_leaf *x = &t->leaves[k];
        if (is_path(leaf->rows) ? is_at(t, k, leaf->rows)
                                : x->record && x->record == leaf->record &&
                                      strcmp(x->field->declared.name, leaf->rows) == 0)
            return k;
    }
    return -1;
}

static pith_status link_leaf(pithp_shard_tree *t, int64_t k) {
    pithp_shard_leaf *leaf = &t->leaves[k];
    const pithp_structure *flat = &t->flat.structure;
    char first[PITHP_SHARD_TEXT], text[PITHP_LEAF_TEXT_BYTES];
    pithp_shard_text_list(leaf->axes, 0, first);
    if (!first[0] || flat->specs[k]->rank == 0)
        return pithp_item_fail(t->w, flat, k, PITH_E_ARG,
                               "%s: its rows are counted by '%.100s', but it has no "
                               "sharded rows: %s",
                               pithp_function_of(t->w, "pith_shard_map"), leaf->rows,
                               pithp_leaf_print(flat->specs[k], text));
    leaf->counter = find_counter(t, leaf);
    if (leaf->counter < 0)
        return pithp_item_fail(t->w, flat, k, PITH_E_PATH,
                               "%s: the leaf '%.100s', which counts its rows, is not in "
                               "the tree",
                               pithp_function_of(t->w, "pith_shard_map"), leaf->rows);
    const pith_spec *spec = flat->specs[leaf->counter];
    if (spec->dtype != PITH_I64 || spec->rank)
        return pithp_item_fail(t->w, flat, leaf->counter, PITH_E_DTYPE,
                               "%s: it counts rows: expected i64[], got %s",
                               pithp_function_of(t->w, "pith_shard_map"),
                               pithp_leaf_print(spec, text));
    if (strcmp(t->leaves[leaf->counter].axes, first) != 0)
        return pithp_item_fail(
            t->w, flat, leaf->counter, PITH_E_ARG,
            "%s: it counts rows over \"%s\", but is sharded over \"%s\"",
            pithp_function_of(t->w, "pith_shard_map"), first,
            t->leaves[leaf->counter].axes);
    t->leaves[leaf->counter].counts = true;
    return PITH_OK;
}

pith_status pithp_shard_tree_link(pithp_shard_tree *t) {
    for (int64_t k = 0; k < t->flat.structure.item_count; k++)
        if (t->leaves[k].rows && link_leaf(t, k) != PITH_OK)
            return t->w->error.code;
    return PITH_OK;
}

/* ---- Digest ---- */

static uint64_t add_text(uint64_t h, const char *text) {
    return pithp_hash(h, text, strlen(text));
}

static uint64_t add_node(uint64_t h, const void *node, pithp_string *text) {
    const pithp_node_def *def = pithp_node_def_of(node);
    const int64_t numbers[] = {(int64_t)def->kind, def->slot_count};
    h = pithp_hash(h, numbers, sizeof numbers);
    for (int64_t i = 0; def->keys && i < def->slot_count; i++)
        h = add_text(h, def->keys[i]);
    if (!def->type)
        return h;
    pithp_string_add(text, def->type->name);
    for (int32_t i = 0; i < def->type->static_count; i++) {
        pithp_string_add(text, " ");
        pithp_static_describe(text, &def->type->fields[def->type->statics[i].field],
                              node);
    }
    return h;
}

uint64_t pithp_shard_tree_digest(const pithp_shard_tree *t) {
    pithp_walk walk;
    pithp_visit visit;
    uint64_t h = 0;
    int64_t k = 0;
    bool failed = false;
    pithp_walk_begin(&walk, t->w->runtime, t->root);
    while (pithp_walk_next(&walk, &visit)) {
        char spec[PITHP_SPEC_TEXT_BYTES];
        pithp_string text;
        pithp_string_begin(&text, t->w->runtime);
        if (visit == PITHP_VISIT_ENTER)
            h = add_node(h, walk.node, &text);
        else if (visit == PITHP_VISIT_ABSENT)
            pithp_string_add(&text, "absent");
        else if (visit == PITHP_VISIT_LEAF)
            pithp_string_print(
                &text, "%s %s %s", pithp_spec_print(t->flat.structure.specs[k], spec),
                t->leaves[k].axes, t->leaves[k].rows ? t->leaves[k].rows : "");
        k += visit == PITHP_VISIT_LEAF;
        h = add_text(h, text.bytes);
        failed |= text.failed;
        pithp_string_end(&text);
    }
    if (walk.failed || failed)
        pithp_fail_memory(t->w, PITHP_BLOCK_BYTES);
    pithp_walk_end(&walk);
    return h;
}

uint64_t pithp_shard_hash(pith_scope *w, uint64_t h, const pith_array *a) {
    const size_t bytes = pithp_array_spec(a)->bytes;
    const bool reached = pithp_scope_device(w)->backend->addressable;
    void *copy = reached ? NULL : pithp_allocate(w->runtime, bytes + 1);
    if (!reached && !copy)
        pithp_fail_memory(w, bytes);
    else if ((reached ? pithp_synchronise(w) : pithp_array_read(w, a, copy)) == PITH_OK)
        h = pithp_hash(h, reached ? a->data : copy, bytes);
    pithp_release(w->runtime, copy, copy ? bytes + 1 : 0);
    return h;
}
