/* Prefix trees: flattening up to a structure, broadcasting a prefix, and reporting
 * mismatches. A leaf of the structure matches any tree. */
#include "tree/tree_internal.h"

#include <string.h>

/* Whether the next node of the tree matches the slot just read. */
static bool fits(const pithp_cursor *c, pithp_visit visit, const void *node) {
    switch (c->kind) {
        case PITHP_TOKEN_NODE:
            return visit == PITHP_VISIT_ENTER &&
                   pithp_node_def_same_node(c->node_def, pithp_node_def_of(node));
        case PITHP_TOKEN_ABSENT:
            return visit == PITHP_VISIT_ABSENT;
        default:
            return true;
    }
}

/* Leave the node just entered. */
static void leave(pithp_walk *w, pithp_visit visit) {
    if (visit != PITHP_VISIT_ENTER)
        return;
    pithp_walk_skip(w);
    pithp_walk_next(w, &visit);
}

/* Advance both to the next slot. Returns false at the end. The previous slot must match
 * or be left. */
static bool
next_slot(pithp_cursor *c, pithp_walk *w, pithp_visit *visit, const void **node) {
    if (!pithp_cursor_next(c))
        return false;
    do
        if (!pithp_walk_next(w, visit))
            return false;
    while (*visit == PITHP_VISIT_LEAVE);
    *node = *visit == PITHP_VISIT_ABSENT ? NULL : w->node;
    return true;
}

/* ---- Mismatches of a prefix ---- */

/* Append an entry; NULL if it is only counted or memory is short. */
static pith_difference *more(pithp_difference_list *l) {
    if (l->count++ >= l->most)
        return NULL;
    if (l->count <= l->room)
        return &l->all[l->count - 1];
    const size_t old = (size_t)l->room * sizeof *l->all;
    const int64_t room = l->room ? 2 * l->room : 8;
    pith_difference *grown =
        pithp_reallocate(l->s->runtime, l->all, old, (size_t)room * sizeof *l->all);
    if (!grown) {
        pithp_fail_memory(l->s, 2 * old);
        return NULL;
    }
    l->all = grown;
    l->room = room;
    return &l->all[l->count - 1];
}

/* Describe how a node differs from the slot just read. */
static void describe(pithp_string *text, const pithp_cursor *c, const void *got) {
    const pithp_kind kind = got ? pithp_kind_of(got) : PITHP_KIND_FREE;
    if (c->node_def && kind >= PITHP_KIND_RECORD && kind <= PITHP_KIND_NONE) {
        pithp_node_defs_differ(text, c->node_def, pithp_node_def_of(got));
        return;
    }
    char spec[PITHP_LEAF_TEXT_BYTES];
    pithp_string_add(text, "expected ");
    if (c->node_def)
        pithp_node_def_describe(text, c->node_def);
    else if (c->kind == PITHP_TOKEN_LEAVES)
        pithp_string_add(text, pithp_leaf_print(c->t->specs[c->item - 1], spec));
    else
        pithp_string_add(text, "nothing");
    pithp_string_add(text, ", got ");
    pithp_node_describe(text, got);
}

/* Add a difference; takes ownership of its text. */
static pith_status
add_difference(pithp_difference_list *l, const pithp_cursor *c, pithp_string *text) {
    pith_difference *d = more(l);
    if (d) {
        pithp_string path;
        pithp_string_begin(&path, l->s->runtime);
        pithp_cursor_path(c, &path);
        d->path = pithp_string_finish(l->s, &path);
        d->text = pithp_string_finish(l->s, text);
    } else {
        pithp_string_end(text);
    }
    return l->s->error.code;
}

/* List a slot that does not match, or a leaf whose values differ. */
static pith_status
list_slot(pithp_difference_list *l, const pithp_cursor *c, bool fits, const void *got) {
    pithp_string text;
    pith_status rc = PITH_OK;
    pithp_string_begin(&text, l->s->runtime);
    if (!fits)
        describe(&text, c, got);
    else if (l->leaf && c->kind == PITHP_TOKEN_LEAVES)
        rc = l->leaf(l, c->item - 1, got, &text);
    if (rc == PITH_OK && text.length)
        return add_difference(l, c, &text);
    pithp_string_end(&text);
    return rc;
}

pith_status pithp_differences_list(pithp_difference_list *l,
                                   const pithp_structure *t,
                                   const void *tree) {
    pithp_cursor c;
    pithp_walk w;
    pithp_visit visit;
    const void *node;
    pith_status rc = PITH_OK;
    pithp_cursor_begin(&c, l->s->runtime, t);
    pithp_walk_begin(&w, l->s->runtime, tree);
    while (rc == PITH_OK && next_slot(&c, &w, &visit, &node)) {
        const bool strays =
            l->leaf && c.kind == PITHP_TOKEN_LEAVES && visit != PITHP_VISIT_LEAF;
        const bool good = fits(&c, visit, node) && !strays;
        rc = list_slot(l, &c, good, node);
        if (good && c.kind == PITHP_TOKEN_NODE)
            continue;
        pithp_cursor_skip(&c);
        leave(&w, visit);
    }
    if (c.frames.failed || w.failed)
        rc = pithp_fail_memory(l->s, (size_t)(w.room + c.frames.room) * sizeof *w.frames);
    pithp_walk_end(&w);
    pithp_cursor_end(&c);
    return rc;
}

const pith_difference *pithp_differences_give(pithp_difference_list *l, int64_t *count) {
    const size_t bytes = (size_t)l->count * sizeof *l->all;
    pith_difference *made = l->s->error.code == PITH_OK
                                ? pithp_scope_allocate(l->s, bytes + sizeof *made)
                                : NULL;
    if (made && l->count)
        memcpy(made, l->all, bytes);
    if (made)
        *count = l->count;
    pithp_release(l->s->runtime, l->all, (size_t)l->room * sizeof *l->all);
    return made;
}

/* Set PITH_E_STRUCTURE with the first differences in one line. */
static pith_status fail_differences(pith_scope *s,
                                    const pithp_structure *t,
                                    const void *tree,
                                    const char *function) {
    enum { SHOWN = 3 };
    pithp_difference_list l = {.s = s, .most = SHOWN};
    if (pithp_differences_list(&l, t, tree) == PITH_OK) {
        pithp_string line, path;
        pithp_string_begin(&line, s->runtime);
        for (int64_t i = 0; i < l.count && i < SHOWN; i++) {
            if (i > 0) {
                pithp_string_begin(&path, s->runtime);
                pithp_string_add(&path, l.all[i].path);
                pithp_string_add(&line, "; ");
                pithp_path_shorten(&line, &path);
                pithp_string_add(&line, ": ");
                pithp_string_end(&path);
            }
            pithp_string_add(&line, l.all[i].text);
        }
        if (l.count > SHOWN)
            pithp_string_print(&line, "; and %lld more", (long long)(l.count - SHOWN));
        pithp_fail(s, PITH_E_STRUCTURE, l.all[0].path, "%s (%s)", line.bytes, function);
        pithp_string_end(&line);
    }
    pithp_release(s->runtime, l.all, (size_t)l.room * sizeof *l.all);
    return s->error.code;
}

const pith_difference *pith_tree_prefix_errors(pith_scope *s,
                                               const void *prefix,
                                               const void *tree,
                                               int64_t *count) {
    static const char *const name = "pith_tree_prefix_errors";
    if (count)
        *count = 0;
    if (!pithp_enter(s) || pithp_tree_check(s, prefix, name, "prefix") != PITH_OK ||
        pithp_tree_check(s, tree, name, "tree") != PITH_OK)
        return NULL;
    if (!count) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: count is NULL", name);
        return NULL;
    }
    pithp_flat f;
    if (pithp_flat_make(s, &f, prefix, NULL, NULL) != PITH_OK)
        return NULL;
    pithp_difference_list l = {.s = s, .most = INT64_MAX};
    pithp_differences_list(&l, &f.structure, tree);
    const pith_difference *made = pithp_differences_give(&l, count);
    pithp_flat_end(&f);
    return made;
}

/* ---- Flattening up to a structure ---- */

pith_status pithp_read_up_to(pith_scope *s,
                             const pithp_structure *t,
                             const void *tree,
                             const void **items,
                             const char *function) {
    pithp_cursor c;
    pithp_walk w;
    pithp_visit visit;
    const void *node;
    bool good = true;
    pithp_cursor_begin(&c, s->runtime, t);
    pithp_walk_begin(&w, s->runtime, tree);
    while (good && next_slot(&c, &w, &visit, &node)) {
        good = fits(&c, visit, node);
        if (!good || c.kind == PITHP_TOKEN_NODE)
            continue;
        if (c.kind != PITHP_TOKEN_ABSENT)
            items[c.item - 1] = node;
        leave(&w, visit);
    }
    if (c.frames.failed || w.failed)
        pithp_fail_memory(s, (size_t)(w.room + c.frames.room) * sizeof *w.frames);
    pithp_walk_end(&w);
    pithp_cursor_end(&c);
    return good ? s->error.code : fail_differences(s, t, tree, function);
}

const void *const *
pith_tree_flatten_up_to(pith_scope *s, const pith_treedef *def, const void *tree) {
    static const char *const name = "pith_tree_flatten_up_to";
    if (!pithp_enter(s))
        return NULL;
    const pithp_structure *t = pithp_treedef_check(s, def, name, "def");
    if (!t || pithp_tree_check(s, tree, name, "tree") != PITH_OK)
        return NULL;
    const void **items =
        pithp_scope_allocate(s, ((size_t)t->item_count + 1) * sizeof *items);
    return items && pithp_read_up_to(s, t, tree, items, name) == PITH_OK ? items : NULL;
}

/* ---- Broadcasting a prefix ---- */

/* Repeat every leaf of the prefix once per leaf of the tree below it. */
static const pith_array **
repeat(pith_scope *s, const pithp_flat *prefix, const void **below, int64_t *count) {
    const int64_t items = prefix->structure.item_count;
    int64_t total = 0;
    for (int64_t i = 0; i < items; i++) {
        const int64_t leaves = pith_tree_num_leaves(below[i]);
        if (leaves < 0) {
            pithp_fail_memory(s, sizeof(pithp_walk));
            return NULL;
        }
        total += leaves;
    }
    const pith_array **made = pithp_scope_allocate(s, ((size_t)total + 1) * sizeof *made);
    int64_t next = 0;
    for (int64_t i = 0; made && i < items; i++)
        for (int64_t k = pith_tree_num_leaves(below[i]); k-- > 0 && next < total;)
            made[next++] = prefix->items[i];
    if (made)
        *count = total;
    return made;
}

const pith_array *const *pith_tree_broadcast_prefix(pith_scope *s,
                                                    const void *prefix,
                                                    const void *tree,
                                                    int64_t *count) {
    static const char *const name = "pith_tree_broadcast_prefix";
    if (count)
        *count = 0;
    if (!pithp_enter(s) || pithp_tree_check(s, prefix, name, "prefix") != PITH_OK ||
        pithp_tree_check(s, tree, name, "tree") != PITH_OK)
        return NULL;
    if (!count) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: count is NULL", name);
        return NULL;
    }
    pithp_flat f;
    if (pithp_flat_make(s, &f, prefix, NULL, NULL) != PITH_OK)
        return NULL;
    const size_t bytes = ((size_t)f.structure.item_count + 1) * sizeof(void *);
    const void **below = pithp_scratch_allocate(s->runtime, bytes);
    const pith_array **made = NULL;
    if (!below)
        pithp_fail_memory(s, bytes);
    else if (pithp_read_up_to(s, &f.structure, tree, below, name) == PITH_OK)
        made = repeat(s, &f, below, count);
    pithp_scratch_release(s->runtime, below, bytes);
    pithp_flat_end(&f);
    return made;
}
