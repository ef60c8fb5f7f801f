/* Trees read along a structure whose leaves stand for anything: flattening up to it,
 * prefixes, and where they do not fit. */
#include "tree/tree_internal.h"

#include <string.h>

/* Whether what the tree has next fits the place that was read. */
static bool fits(const pithp_cursor *c, pithp_visit visit, const void *node) {
    switch (c->kind) {
        case PITHP_TOKEN_NODE:
            return visit == PITHP_VISIT_ENTER &&
                   pithp_shape_same_node(c->shape, pithp_shape_of(node));
        case PITHP_TOKEN_ABSENT:
            return visit == PITHP_VISIT_ABSENT;
        default:
            return true;
    }
}

/* Leave the node that was just entered. */
static void leave(pithp_walk *w, pithp_visit visit) {
    if (visit != PITHP_VISIT_ENTER)
        return;
    pithp_walk_skip(w);
    pithp_walk_next(w, &visit);
}

/* The next place of both; false at their end. Called after the place before was left or
 * fits. */
static bool
next_place(pithp_cursor *c, pithp_walk *w, pithp_visit *visit, const void **node) {
    if (!pithp_cursor_next(c))
        return false;
    do
        if (!pithp_walk_next(w, visit))
            return false;
    while (*visit == PITHP_VISIT_LEAVE);
    *node = *visit == PITHP_VISIT_ABSENT ? NULL : w->node;
    return true;
}

/* ---- Where a prefix does not fit ---- */

typedef struct difference_list {
    pith_scope *s;
    pith_difference *all;
    int64_t count, room, most; /* more than most are only counted */
} difference_list;

static bool add_difference(difference_list *l, const pithp_cursor *c, const void *got) {
    pith_runtime *rt = l->s->runtime;
    if (l->count++ >= l->most)
        return true;
    if (l->count > l->room) {
        const size_t old = (size_t)l->room * sizeof *l->all;
        const int64_t room = l->room ? 2 * l->room : 8;
        pith_difference *grown =
            pithp_reallocate(rt, l->all, old, (size_t)room * sizeof *l->all);
        if (!grown) {
            pithp_fail_memory(l->s, 2 * old);
            return false;
        }
        l->all = grown;
        l->room = room;
    }
    pithp_text path, text;
    pithp_text_begin(&path, rt);
    pithp_text_begin(&text, rt);
    pithp_cursor_path(c, &path);
    const pithp_kind kind = got ? pithp_kind_of(got) : PITHP_KIND_FREE;
    if (c->shape && kind >= PITHP_KIND_RECORD && kind <= PITHP_KIND_NONE) {
        pithp_shapes_differ(&text, c->shape, pithp_shape_of(got));
    } else {
        pithp_text_add(&text, "expected ");
        if (c->shape)
            pithp_shape_describe(&text, c->shape);
        else
            pithp_text_add(&text, "nothing");
        pithp_text_add(&text, ", got ");
        pithp_node_describe(&text, got);
    }
    pith_difference *d = &l->all[l->count - 1];
    d->path = pithp_text_finish(l->s, &path);
    d->text = pithp_text_finish(l->s, &text);
    return d->path && d->text;
}

static pith_status
list_differences(difference_list *l, const pithp_structure *t, const void *tree) {
    pithp_cursor c;
    pithp_walk w;
    pithp_visit visit;
    const void *node;
    bool good = true;
    pithp_cursor_begin(&c, l->s->runtime, t);
    pithp_walk_begin(&w, l->s->runtime, tree);
    while (good && next_place(&c, &w, &visit, &node)) {
        if (fits(&c, visit, node)) {
            if (c.kind != PITHP_TOKEN_NODE)
                leave(&w, visit);
            continue;
        }
        good = add_difference(l, &c, node);
        pithp_cursor_skip(&c);
        leave(&w, visit);
    }
    if (c.frames.failed || w.failed)
        pithp_fail_memory(l->s, (size_t)(w.room + c.frames.room) * sizeof *w.frames);
    pithp_walk_end(&w);
    pithp_cursor_end(&c);
    return l->s->error.code;
}

/* Set PITH_E_STRUCTURE: the first few places in one line. */
static pith_status fail_differences(pith_scope *s,
                                    const pithp_structure *t,
                                    const void *tree,
                                    const char *function) {
    enum { SHOWN = 3 };
    difference_list l = {.s = s, .most = SHOWN};
    if (list_differences(&l, t, tree) == PITH_OK) {
        pithp_text line, path;
        pithp_text_begin(&line, s->runtime);
        for (int64_t i = 0; i < l.count && i < SHOWN; i++) {
            if (i > 0) {
                pithp_text_begin(&path, s->runtime);
                pithp_text_add(&path, l.all[i].path);
                pithp_text_add(&line, "; ");
                pithp_path_shorten(&line, &path);
                pithp_text_add(&line, ": ");
                pithp_text_end(&path);
            }
            pithp_text_add(&line, l.all[i].text);
        }
        if (l.count > SHOWN)
            pithp_text_print(&line, "; and %lld more", (long long)(l.count - SHOWN));
        pithp_fail(s, PITH_E_STRUCTURE, l.all[0].path, "%s (%s)", line.bytes, function);
        pithp_text_end(&line);
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
    difference_list l = {.s = s, .most = INT64_MAX};
    pith_difference *made = NULL;
    if (list_differences(&l, &f.structure, tree) == PITH_OK)
        made = pithp_scope_allocate(s, ((size_t)l.count + 1) * sizeof *made);
    if (made) {
        if (l.count)
            memcpy(made, l.all, (size_t)l.count * sizeof *made);
        *count = l.count;
    }
    pithp_release(s->runtime, l.all, (size_t)l.room * sizeof *l.all);
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
    while (good && next_place(&c, &w, &visit, &node)) {
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

/* Every leaf of the prefix as often as the tree below it has leaves. */
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
