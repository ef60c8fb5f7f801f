/* Structure differences: two trees are walked in parallel, and the first few differences
 * form one line. The walk does not descend into nodes that differ in kind, type or
 * keys. */
#include "tree/static_kind.h"
#include "tree/tree_internal.h"

#include <string.h>

enum { SHOWN = 3, MOST_PATH = 120 };

void pithp_node_def_describe(pithp_string *t, const pithp_node_def *node_def) {
    static const char *const names[] = {[PITHP_KIND_LIST] = "list",
                                        [PITHP_KIND_TUPLE] = "tuple",
                                        [PITHP_KIND_DICT] = "dict"};
    if (node_def->type)
        pithp_string_add(t, node_def->type->name);
    else if (node_def->kind == PITHP_KIND_NONE)
        pithp_string_add(t, "none");
    else
        pithp_string_print(t, "a %s of %lld", names[node_def->kind],
                           (long long)node_def->slot_count);
}

void pithp_node_describe(pithp_string *t, const void *node) {
    if (!node) {
        pithp_string_add(t, "nothing");
        return;
    }
    char text[PITHP_LEAF_TEXT_BYTES];
    switch (pithp_kind_of(node)) {
        case PITHP_KIND_ARRAY:
            pithp_string_add(t, pithp_leaf_print(pithp_array_spec(node), text));
            return;
        case PITHP_KIND_RECORD:
        case PITHP_KIND_LIST:
        case PITHP_KIND_TUPLE:
        case PITHP_KIND_DICT:
        case PITHP_KIND_NONE:
            pithp_node_def_describe(t, pithp_node_def_of(node));
            return;
        case PITHP_KIND_FREE:
            pithp_string_add(t, "a dropped leaf");
            return;
        case PITHP_KIND_TREEDEF:
        case PITHP_KIND_OTHER:
        case PITHP_KIND_CLASS:
            pithp_string_add(t, "an object that is not a tree");
            return;
    }
}

void pithp_path_shorten(pithp_string *to, const pithp_string *path) {
    if (path->length <= MOST_PATH) {
        pithp_string_add(to, path->bytes);
        return;
    }
    pithp_string_add_n(to, path->bytes, MOST_PATH / 2);
    pithp_string_add(to, "...");
    pithp_string_add(to, path->bytes + path->length - MOST_PATH / 2);
}

/* ---- One difference ---- */

typedef struct report {
    pith_runtime *rt;
    pithp_string first; /* path of the first difference */
    pithp_string text;  /* "expected ..., got ...; .path: expected ..., got ..." */
    int64_t count;
} report;

/* The path of the last visit of w plus one step; long paths lose their middle. */
static void
add_path(pithp_string *to, const pithp_walk *w, const char *step, pith_runtime *rt) {
    pithp_string path;
    pithp_string_begin(&path, rt);
    pithp_walk_path(w, &path);
    pithp_string_add(&path, step);
    pithp_path_shorten(to, &path);
    pithp_string_end(&path);
}

/* Begin an entry. Returns false if enough are shown and this one is only counted. */
static bool begin_entry(report *r, const pithp_walk *w, const char *step) {
    if (r->count++ >= SHOWN)
        return false;
    if (r->count == 1) {
        add_path(&r->first, w, step, r->rt);
        return true;
    }
    pithp_string_add(&r->text, "; ");
    add_path(&r->text, w, step, r->rt);
    pithp_string_add(&r->text, ": ");
    return true;
}

static void add_nodes(report *r, const pithp_walk *w, const void *a, const void *b) {
    if (!begin_entry(r, w, ""))
        return;
    pithp_string_add(&r->text, "expected ");
    pithp_node_describe(&r->text, a);
    pithp_string_add(&r->text, ", got ");
    pithp_node_describe(&r->text, b);
}

/* ---- Statics ---- */

bool pithp_static_same(const pithp_static_info *info, const void *a, const void *b) {
    const char *x = (const char *)a + info->offset, *y = (const char *)b + info->offset;
    return pithp_static_equal(info->kind, x, y);
}

/* Equal static records of one runtime are the same object; those of two runtimes are
 * never compared. */
static void add_statics(report *r,
                        const pithp_walk *w,
                        const pithp_node_def *a,
                        const pithp_node_def *b) {
    for (int32_t i = 0; i < a->type->static_count; i++) {
        const pithp_static_info *info = &a->type->statics[i];
        if (pithp_static_same(info, a->statics, b->statics))
            continue;
        const pithp_field *field = &a->type->fields[info->field];
        pithp_string step;
        pithp_string_begin(&step, r->rt);
        pithp_path_add_field(&step, field->declared.name);
        if (begin_entry(r, w, step.bytes)) {
            pithp_string_add(&r->text, "expected ");
            pithp_static_describe_beside(&r->text, field, a->statics, b->statics);
            pithp_string_add(&r->text, ", got ");
            pithp_static_describe_beside(&r->text, field, b->statics, a->statics);
        }
        pithp_string_end(&step);
    }
}

/* ---- Keys ---- */

/* The first key of a that is not in b, or NULL. */
static const char *
lacking(const pithp_node_def *a, const pithp_node_def *b, int64_t *count) {
    const char *first = NULL;
    *count = 0;
    for (int64_t i = 0, j = 0; i < a->slot_count; i++) {
        while (j < b->slot_count && strcmp(b->keys[j], a->keys[i]) < 0)
            j++;
        if (j < b->slot_count && strcmp(b->keys[j], a->keys[i]) == 0)
            continue;
        if (++*count == 1)
            first = a->keys[i];
    }
    return first;
}

static void
add_keys_of(pithp_string *t, const char *what, const char *key, int64_t count) {
    pithp_string_print(t, "%s key ", what);
    pithp_string quoted;
    pithp_string_begin(&quoted, t->rt);
    pithp_path_add_key(&quoted, key);
    if (quoted.length > 2) /* without the brackets */
        pithp_string_add_n(t, quoted.bytes + 1, quoted.length - 2);
    pithp_string_end(&quoted);
    if (count > 1)
        pithp_string_print(t, " and %lld more", (long long)(count - 1));
}

/* Print which keys differ. */
static void add_keys(pithp_string *t, const pithp_node_def *a, const pithp_node_def *b) {
    int64_t missing, extra;
    const char *first_missing = lacking(a, b, &missing);
    const char *first_extra = lacking(b, a, &extra);
    if (missing)
        add_keys_of(t, "missing", first_missing, missing);
    if (extra)
        add_keys_of(t, missing ? ", unexpected" : "unexpected", first_extra, extra);
}

/* Whether the keys are equal; if not, report the difference. */
static bool same_keys(report *r,
                      const pithp_walk *w,
                      const pithp_node_def *a,
                      const pithp_node_def *b) {
    if (pithp_node_def_same_node(a, b))
        return true;
    if (begin_entry(r, w, ""))
        add_keys(&r->text, a, b);
    return false;
}

/* ---- Node definitions only ---- */

bool pithp_node_def_same_node(const pithp_node_def *a, const pithp_node_def *b) {
    if (a == b || a->kind != b->kind || a->type || b->type ||
        a->slot_count != b->slot_count)
        return a == b;
    bool same = true;
    for (int64_t i = 0; a->keys && same && i < a->slot_count; i++)
        same = strcmp(a->keys[i], b->keys[i]) == 0;
    return same;
}

void pithp_node_defs_differ(pithp_string *t,
                            const pithp_node_def *expected,
                            const pithp_node_def *got) {
    if (expected->kind == PITHP_KIND_DICT && got->kind == PITHP_KIND_DICT) {
        add_keys(t, expected, got);
        return;
    }
    const bool records = expected->type && expected->type == got->type;
    for (int32_t i = 0; records && i < expected->type->static_count; i++) {
        const pithp_static_info *info = &expected->type->statics[i];
        const pithp_field *field = &expected->type->fields[info->field];
        if (pithp_static_same(info, expected->statics, got->statics))
            continue;
        pithp_string_print(t, "%s: expected ", field->declared.name);
        pithp_static_describe_beside(t, field, expected->statics, got->statics);
        pithp_string_add(t, ", got ");
        pithp_static_describe_beside(t, field, got->statics, expected->statics);
        return;
    }
    pithp_string_add(t, "expected ");
    pithp_node_def_describe(t, expected);
    pithp_string_add(t, ", got ");
    pithp_node_def_describe(t, got);
}

/* ---- Two trees ---- */

/* Compare two entered nodes. Returns whether their slots correspond. */
static bool compare_nodes(report *r, const pithp_walk *w, const void *a, const void *b) {
    const pithp_node_def *x = pithp_node_def_of(a), *y = pithp_node_def_of(b);
    if (x == y)
        return true;
    if (x->kind != y->kind || x->type != y->type) {
        add_nodes(r, w, a, b);
        return false;
    }
    if (x->kind == PITHP_KIND_RECORD) {
        add_statics(r, w, x, y);
        return true;
    }
    if (x->kind == PITHP_KIND_DICT)
        return same_keys(r, w, x, y);
    if (x->slot_count == y->slot_count)
        return true;
    add_nodes(r, w, a, b);
    return false;
}

static void leave(pithp_walk *w) {
    pithp_visit visit;
    pithp_walk_skip(w);
    pithp_walk_next(w, &visit);
}

static void
compare(report *r, pithp_walk *a, pithp_walk *b, pithp_is_leaf is_leaf, void *closure) {
    pithp_visit x, y;
    while (pithp_walk_next(a, &x) && pithp_walk_next(b, &y)) {
        const bool enters = x == PITHP_VISIT_ENTER && y == PITHP_VISIT_ENTER;
        if (x == PITHP_VISIT_LEAVE)
            continue;
        if (x == PITHP_VISIT_ENTER && is_leaf && is_leaf(a->node, closure)) {
            leave(a);
            if (y == PITHP_VISIT_ENTER)
                leave(b);
        } else if (enters && a->node == b->node) {
            leave(a);
            leave(b);
        } else if (enters) {
            if (!compare_nodes(r, a, a->node, b->node)) {
                leave(a);
                leave(b);
            }
        } else if (x != y) {
            add_nodes(r, a, a->node, b->node);
            if (x == PITHP_VISIT_ENTER)
                leave(a);
            if (y == PITHP_VISIT_ENTER)
                leave(b);
        }
    }
}

pith_status pithp_differences_fail(pith_scope *s,
                                   const void *expected,
                                   const void *got,
                                   const char *of,
                                   pithp_is_leaf is_leaf,
                                   void *closure) {
    report r = {.rt = s->runtime};
    pithp_walk a, b;
    pithp_string_begin(&r.first, r.rt);
    pithp_string_begin(&r.text, r.rt);
    pithp_walk_begin(&a, r.rt, expected);
    pithp_walk_begin(&b, r.rt, got);
    compare(&r, &a, &b, is_leaf, closure);
    if (r.count > SHOWN)
        pithp_string_print(&r.text, "; and %lld more", (long long)(r.count - SHOWN));
    pith_status rc;
    if (a.failed || b.failed || r.text.failed || r.first.failed)
        rc = pithp_fail_memory(s, r.text.length);
    else
        rc = pithp_fail(s, PITH_E_STRUCTURE, r.first.bytes, "%s (%s)", r.text.bytes, of);
    pithp_walk_end(&b);
    pithp_walk_end(&a);
    pithp_string_end(&r.text);
    pithp_string_end(&r.first);
    return rc;
}
