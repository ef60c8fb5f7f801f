/* Golden cases of trees: each is built from its JSON and evaluated, and the result is
 * compared with the expected JSON. */
#include "oracle.h"
#include "tree_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

/* The current case. */
typedef struct trial {
    pith_scope *s;
    golden_values values;
    const golden_json *params, *expect;
    char *text;   /* the failure, if any */
    bool unknown; /* the case is not supported here */
} trial;

static void __attribute__((format(printf, 2, 3)))
wrong(trial *t, const char *format, ...) {
    va_list arguments;
    if (t->text[0])
        return;
    va_start(arguments, format);
    vsnprintf(t->text, ORACLE_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

static const void *tree(trial *t, const char *name) {
    return golden_tree(t->s, &t->values, golden_get(t->params, name));
}

static const pith_treedef *structure(trial *t, const char *name) {
    const void *made = tree(t, name);
    return made ? pith_tree_structure(t->s, made) : NULL;
}

static void expect_tree(trial *t, const void *got, const golden_json *want) {
    if (!pith_failed(t->s) && !golden_is_tree(t->s, &t->values, got, want))
        wrong(t, "another tree: %s", pith_tree_text(t->s, got, NULL));
}

static void expect_number(trial *t, const char *name, int64_t got) {
    const double want = golden_number(t->expect, name, -1);
    if (!pith_failed(t->s) && (double)got != want)
        wrong(t, "%s: expected %g, got %lld", name, want, (long long)got);
}

static void expect_flag(trial *t, const char *name, bool got) {
    const golden_json *want = golden_get(t->expect, name);
    if (!pith_failed(t->s) && (!want || want->kind != (got ? 't' : 'f')))
        wrong(t, "%s: expected %s, got %s", name, got ? "false" : "true",
              got ? "true" : "false");
}

/* A tree of a structure, with the text "*" at its leaves. */
static const void *starred(trial *t, const pith_treedef *def) {
    const int64_t count = pith_treedef_num_leaves(def);
    const void **items = calloc((size_t)count + 1, sizeof *items);
    for (int64_t i = 0; i < count; i++)
        items[i] = golden_leaf(t->s, &t->values, &(golden_value){.text = "*"});
    const void *made = pith_tree_unflatten_where(t->s, def, count, items);
    free(items);
    return made;
}

static void expect_structure(trial *t, const pith_treedef *def, const golden_json *want) {
    if (!pith_failed(t->s))
        expect_tree(t, starred(t, def), want);
}

static void
expect_items(trial *t, const char *name, int64_t count, const void *const *items) {
    const golden_json *want = golden_get(t->expect, name);
    if (pith_failed(t->s))
        return;
    if (golden_length(want) != count)
        wrong(t, "%s: expected %d, got %lld", name, golden_length(want),
              (long long)count);
    for (int64_t i = 0; i < count && !t->text[0]; i++)
        expect_tree(t, items[i], golden_item(want, (int)i));
}

static void
expect_path(trial *t, const char *path, bool simple, const golden_json *want) {
    char text[PATH_BYTES] = "?";
    if (!want || !golden_keystr(path, simple, text, sizeof text) ||
        strcmp(text, want->text) != 0)
        wrong(t, "path: expected %s, got %s (%s)", want ? want->text : "none", text,
              path);
}

/* ---- Predicates ---- */

static bool is_list(const void *node, void *closure) {
    (void)closure;
    return pith_kind(node) == PITH_NODE_LIST;
}
static bool is_tuple(const void *node, void *closure) {
    (void)closure;
    return pith_kind(node) == PITH_NODE_TUPLE;
}
static bool is_dict(const void *node, void *closure) {
    (void)closure;
    return pith_kind(node) == PITH_NODE_DICT;
}
static bool is_none(const void *node, void *closure) {
    (void)closure;
    return pith_kind(node) == PITH_NODE_NONE;
}
static bool is_record(const void *node, void *closure) {
    (void)closure;
    return strncmp(pith_type_name(pith_type_of(node)), "Golden_record_", 14) == 0;
}
static bool is_pair(const void *node, void *closure) {
    return is_tuple(node, closure) && pith_child_count(node) == 2;
}
static bool has_x(const void *node, void *closure) {
    return is_dict(node, closure) && pith_dict_get(node, "x");
}
static bool is_any(const void *node, void *closure) {
    (void)closure;
    return node != NULL;
}

/* NULL for "never"; an unknown name is a failure. */
static pith_is_leaf predicate(trial *t) {
    static const struct {
        const char *name;
        pith_is_leaf is_leaf;
    } all[] = {{"never", NULL},   {"list", is_list}, {"tuple", is_tuple},
               {"dict", is_dict}, {"none", is_none}, {"record", is_record},
               {"pair", is_pair}, {"has_x", has_x},  {"all", is_any}};
    const char *name = golden_text(t->params, "is_leaf");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!strcmp(all[i].name, name))
            return all[i].is_leaf;
    wrong(t, "no predicate is called %s", name);
    t->unknown = true;
    return NULL;
}

/* ---- Operations ---- */

static void do_flatten(trial *t) {
    const void *const *items;
    const void *root = tree(t, "tree");
    const pith_treedef *def =
        pith_tree_flatten_where(t->s, root, predicate(t), NULL, &items);
    if (!def)
        return;
    const int64_t count = pith_treedef_num_leaves(def);
    expect_number(t, "count", count);
    expect_items(t, "leaves", count, items);
    expect_structure(t, def, golden_get(t->expect, "structure"));
    const char *const *paths = pith_tree_paths(t->s, starred(t, def));
    for (int64_t i = 0; paths && i < count; i++) {
        expect_path(t, paths[i], false,
                    golden_item(golden_get(t->expect, "paths"), (int)i));
        expect_path(t, paths[i], true,
                    golden_item(golden_get(t->expect, "paths_simple"), (int)i));
    }
}

static void do_unflatten(trial *t) {
    const pith_treedef *def = structure(t, "structure");
    const golden_json *values = golden_get(t->params, "leaves");
    const pith_array *leaves[256];
    int64_t count = 0;
    for (const golden_json *c = values->child; c && count < 256; c = c->next)
        leaves[count++] = golden_leaf(t->s, &t->values, &(golden_value){.json = c});
    expect_tree(t, pith_tree_unflatten(t->s, def, count, leaves),
                golden_get(t->expect, "tree"));
}

typedef struct packing {
    trial *t;
    int count;
} packing;

static const pith_array *pack(pith_scope *s, const void *const *nodes, packing *p) {
    const size_t count = (size_t)p->count;
    const void **copy = malloc(count * sizeof *copy);
    memcpy(copy, nodes, count * sizeof *copy);
    return golden_leaf(s, &p->t->values,
                       &(golden_value){.trees = copy, .count = p->count, .owned = copy});
}
static const pith_array *
pack_leaves(pith_scope *s, const pith_array *const *leaves, void *closure) {
    return pack(s, (const void *const *)leaves, closure);
}
static const void *pack_nodes(pith_scope *s, const void *const *nodes, void *closure) {
    return pack(s, nodes, closure);
}

/* A predicate of map has the closure of its functions. */
static bool asks(const void *node, void *closure) {
    const pith_is_leaf is_leaf = predicate(((packing *)closure)->t);
    return is_leaf && is_leaf(node, NULL);
}

static void do_map(trial *t) {
    const golden_json *list = golden_get(t->params, "trees");
    const void *trees[8];
    packing p = {t, 0};
    for (const golden_json *c = list->child; c && p.count < 8; c = c->next)
        trees[p.count++] = golden_tree(t->s, &t->values, c);
    const void *got = pith_tree_map(
        t->s, pack_leaves, &p, p.count, trees,
        &(pith_map_options){.is_leaf = asks, .whole = pack_nodes, .up_to = true});
    expect_tree(t, got, golden_get(t->expect, "tree"));
}

static void do_flatten_up_to(trial *t) {
    const pith_treedef *def = structure(t, "structure");
    const void *const *items = pith_tree_flatten_up_to(t->s, def, tree(t, "tree"));
    expect_items(t, "subtrees", pith_treedef_num_leaves(def), items);
}

static void do_equal(trial *t) {
    const pith_treedef *a = structure(t, "a"), *b = structure(t, "b");
    const bool equal = pith_treedef_equal(a, b);
    expect_flag(t, "equal", equal);
    if (equal && pith_treedef_hash(a) != pith_treedef_hash(b))
        wrong(t, "equal structures have two hashes");
}

static void do_transpose(trial *t) {
    const pith_treedef *outer = structure(t, "outer");
    const golden_json *inner = golden_get(t->params, "inner");
    const pith_treedef *def = inner && inner->kind == '{' ? structure(t, "inner") : NULL;
    const void *root = tree(t, "tree");
    expect_tree(t, pith_tree_transpose(t->s, outer, def, root),
                golden_get(t->expect, "tree"));
}

static void do_broadcast_prefix(trial *t) {
    int64_t count = 0;
    const void *prefix = tree(t, "prefix"), *root = tree(t, "tree");
    const pith_array *const *leaves =
        pith_tree_broadcast_prefix(t->s, prefix, root, &count);
    expect_items(t, "leaves", count, (const void *const *)leaves);
}

static void do_prefix_errors(trial *t) {
    int64_t count = 0;
    const void *prefix = tree(t, "prefix"), *root = tree(t, "tree");
    const pith_difference *all = pith_tree_prefix_errors(t->s, prefix, root, &count);
    const golden_json *want = golden_get(t->expect, "paths");
    if (all && count != golden_length(want))
        wrong(t, "expected %d differences, got %lld", golden_length(want),
              (long long)count);
    for (int64_t i = 0; all && i < count; i++)
        expect_path(t, all[i].path, false, golden_item(want, (int)i));
}

static void do_compose(trial *t) {
    const pith_treedef *outer = structure(t, "outer"), *inner = structure(t, "inner");
    expect_structure(t, pith_treedef_compose(t->s, outer, inner),
                     golden_get(t->expect, "structure"));
}

static void do_children(trial *t) {
    int64_t count = 0;
    const pith_treedef *def = structure(t, "structure");
    const pith_treedef *const *children = pith_treedef_children(t->s, def, &count);
    const golden_json *want = golden_get(t->expect, "structures");
    expect_number(t, "count", pith_treedef_num_leaves(def));
    expect_number(t, "nodes", pith_treedef_num_nodes(def));
    if (children && count != golden_length(want))
        wrong(t, "expected %d children, got %lld", golden_length(want), (long long)count);
    for (int64_t i = 0; children && i < count; i++)
        expect_structure(t, children[i], golden_item(want, (int)i));
}

static const char *text_of(trial *t, const pith_array *leaf) {
    const golden_value *v = golden_value_of(t->s, &t->values, leaf);
    return v && v->json ? v->json->text : v ? v->text : "";
}

/* Concatenate both texts. */
static const pith_array *
join(pith_scope *s, const pith_array *value, const pith_array *leaf, void *closure) {
    trial *t = closure;
    const char *a = text_of(t, value), *b = text_of(t, leaf);
    const size_t bytes = strlen(a) + strlen(b) + 1;
    char *both = malloc(bytes);
    snprintf(both, bytes, "%s%s", a, b);
    return golden_leaf(s, &t->values, &(golden_value){.text = both, .owned = both});
}

static void do_reduce(trial *t) {
    const pith_array *initial =
        golden_leaf(t->s, &t->values, &(golden_value){.text = ""});
    const pith_array *got = pith_tree_reduce(t->s, join, t, tree(t, "tree"), initial);
    if (got && strcmp(text_of(t, got), golden_text(t->expect, "value")) != 0)
        wrong(t, "expected \"%s\", got \"%s\"", golden_text(t->expect, "value"),
              text_of(t, got));
}

static void do_map_with_path(trial *t) {
    const pith_array *const *leaves;
    static char shown[64][PATH_BYTES];
    const void *root = tree(t, "tree");
    const pith_treedef *def = pith_tree_flatten(t->s, root, &leaves);
    const char *const *paths = pith_tree_paths(t->s, root);
    const int64_t count = pith_treedef_num_leaves(def);
    const pith_array *texts[64];
    for (int64_t i = 0; paths && i < count && i < 64; i++) {
        if (!golden_keystr(paths[i], false, shown[i], sizeof shown[i]))
            wrong(t, "a path without room: %s", paths[i]);
        texts[i] = golden_leaf(t->s, &t->values, &(golden_value){.text = shown[i]});
    }
    expect_tree(t, pith_tree_unflatten(t->s, def, count, texts),
                golden_get(t->expect, "tree"));
}

static void do_all_leaves(trial *t) {
    bool all = true;
    for (const golden_json *c = golden_get(t->params, "values")->child; c; c = c->next)
        all &= pith_kind(golden_tree(t->s, &t->values, c)) == PITH_NODE_LEAF;
    expect_flag(t, "value", all);
}

static void do_is_leaf_structure(trial *t) {
    expect_flag(t, "value", pith_treedef_is_leaf(structure(t, "tree")));
}

/* ---- Cases ---- */

static bool judge(pith_scope *s,
                  const golden_json *one,
                  char text[ORACLE_TEXT_BYTES],
                  void (*run)(trial *t)) {
    trial t = {.s = s,
               .params = golden_get(one, "params"),
               .expect = golden_get(one, "expect"),
               .text = text};
    const bool refused = t.expect && t.expect->kind == 's';
    text[0] = 0;
    run(&t);
    if (refused && !t.unknown)
        snprintf(text, ORACLE_TEXT_BYTES, "%s",
                 pith_failed(s) ? "" : "expected a refusal");
    else if (pith_failed(s))
        wrong(&t, "%s", pith_message(s));
    golden_values_end(&t.values);
    return !text[0];
}

#define OPERATIONS(X)                                                                    \
    X(flatten)                                                                           \
    X(unflatten)                                                                         \
    X(map)                                                                               \
    X(flatten_up_to)                                                                     \
    X(equal)                                                                             \
    X(transpose)                                                                         \
    X(broadcast_prefix)                                                                  \
    X(prefix_errors)                                                                     \
    X(compose)                                                                           \
    X(children)                                                                          \
    X(reduce)                                                                            \
    X(map_with_path)                                                                     \
    X(all_leaves)                                                                        \
    X(is_leaf_structure)

#define JUDGE(op)                                                                        \
    static bool judge_##op(pith_scope *s, const golden_json *one,                        \
                           char text[ORACLE_TEXT_BYTES]) {                               \
        return judge(s, one, text, do_##op);                                             \
    }
OPERATIONS(JUDGE)

#define ROW(name) {.op = #name, .judge = judge_##name},
const oracle_row oracle_tree[] = {OPERATIONS(ROW){.op = NULL}};
