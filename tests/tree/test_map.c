/* Maps of a leaf function over one or more trees, predicates, and their errors. */
#include "tree_types.h"

static pith_runtime *rt;
static pith_scope *s;

static void open_all(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void close_all(void) {
    pith_scope_close(s);
    pt_close(rt);
}

static const pith_array *same_leaf(pith_scope *in, const pith_array *const *a, void *c) {
    (void)in, (void)c;
    return a[0];
}
static const pith_array *sum(pith_scope *in, const pith_array *const *a, void *closure) {
    const int count = *(const int *)closure;
    const pith_array *total = a[0];
    for (int k = 1; k < count; k++)
        total = pith_add(in, total, a[k]);
    return total;
}
static const pith_array *
fail_on_i32(pith_scope *in, const pith_array *const *a, void *c) {
    (void)c;
    if (pith_array_spec(a[0])->dtype == PITH_I32)
        pith_fail(in, PITH_E_UNSUPPORTED, NULL, "no integers");
    return a[0];
}
static const pith_array *
null_on_i32(pith_scope *in, const pith_array *const *a, void *c) {
    (void)in, (void)c;
    return pith_array_spec(a[0])->dtype == PITH_I32 ? NULL : a[0];
}

Test(tree_map, keeps_structure_and_order) {
    open_all();
    const Sim *sim = pt_sim(s, 4, 8, 1);
    const Sim *same = pith_tree_map(s, same_leaf, NULL, PITH_ITEMS(sim), NULL);
    pt_ok(s, same);
    cr_assert(pith_is(Sim, same) && same != sim && same->max_neighbour == 8);
    cr_assert(same->atoms->velocity == sim->atoms->velocity);
    cr_assert(same->neighbour == sim->neighbour);
    close_all();
}

Test(tree_map, takes_many_trees) {
    open_all();
    int count = 5;
    const void *trees[5];
    for (int k = 0; k < count; k++)
        trees[k] = pt_sim(s, 2, 4, k);
    const Sim *total = pith_tree_map(s, sum, &count, count, trees, NULL);
    pt_ok(s, total);
    cr_assert(pt_first(s, total->atoms->position) == 0 + 1 + 2 + 3 + 4);
    cr_assert(pt_first(s, total->atoms->force) == 10 + 5 * 200);
    close_all();
}

Test(tree_map, puts_the_path_before_an_error) {
    open_all();
    const Sim *sim = pt_sim(s, 4, 8, 1);
    const void *list[] = {pith_list_make(s, PITH_ITEMS(sim, sim))};
    pt_fails(PITH_E_UNSUPPORTED, s, pith_tree_map(s, fail_on_i32, NULL, 1, list, NULL));
    cr_assert_str_eq(pt_error.path, "[0].neighbour");
    pt_says("[0].neighbour: no integers");
    pt_fails(PITH_E_CALLBACK, s, pith_tree_map(s, null_on_i32, NULL, 1, list, NULL));
    cr_assert_str_eq(pt_error.path, "[0].neighbour");
    const void *trees[] = {sim};
    pt_fails(PITH_E_ARG, s, pith_tree_map(s, NULL, NULL, 1, trees, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_map(s, same_leaf, NULL, 0, trees, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_map(s, same_leaf, NULL, 1, NULL, NULL));
    trees[0] = NULL;
    pt_fails(PITH_E_ARG, s, pith_tree_map(s, same_leaf, NULL, 1, trees, NULL));
    pt_says("trees[0]");
    close_all();
}

static const pith_array *to_i32(pith_scope *in, const pith_array *const *a, void *c) {
    (void)c;
    return pith_cast(in, a[0], PITH_I32);
}

Test(tree_map, checks_what_records_declare) {
    open_all();
    const Sim *sim = pt_sim(s, 4, 8, 1);
    const void *trees[] = {sim};
    pt_fails(PITH_E_DTYPE, s, pith_tree_map(s, to_i32, NULL, 1, trees, NULL));
    cr_assert_str_eq(pt_error.path, ".atoms.position");
    const void *list[] = {
        pith_list_make(s, PITH_ITEMS(sim->atoms->force, sim->atoms->force))};
    const void *made = pith_tree_map(s, to_i32, NULL, 1, list, NULL);
    pt_ok(s, made);
    const pith_array *item = pith_child(made, 1);
    cr_assert(pith_array_spec(item)->dtype == PITH_I32);
    close_all();
}

/* ---- Structure mismatches ---- */

static void differ(const void *a, const void *b) {
    int count = 2;
    pt_fails(PITH_E_STRUCTURE, s, pith_tree_map(s, sum, &count, PITH_ITEMS(a, b), NULL));
    cr_assert(strlen(pt_error.message) < 1024 && !strchr(pt_error.message, '\n'));
}

Test(tree_map, names_each_kind_of_difference) {
    open_all();
    const pith_array *x = pith_f64(s, 1);
    const Sim *sim = pt_sim(s, 4, 8, 1);
    differ(pith_list_make(s, PITH_ITEMS(x)), pith_tuple_make(s, PITH_ITEMS(x)));
    pt_says(
        "expected a list of 1, got a tuple of 1 (pith_tree_map: tree 1 against tree 0)");
    differ(pith_list_make(s, PITH_ITEMS(x, x)), pith_list_make(s, PITH_ITEMS(x)));
    pt_says("expected a list of 2, got a list of 1");
    differ(sim, sim->atoms);
    pt_says("expected Sim, got Atoms");
    differ(sim, pt_sim(s, 4, 9, 1));
    cr_assert_str_eq(pt_error.path, ".max_neighbour");
    pt_says(".max_neighbour: expected 8, got 9");
    differ(pith_freeze(s, Part, &(Part){.any = x}),
           pith_freeze(s, Part, &(Part){.leaf = x}));
    pt_says(".leaf: expected nothing, got f64[]; .any: expected f64[], got nothing");
    static const char *const ab[] = {"a", "b"}, *const bc[] = {"b", "c"};
    const void *items[] = {x, x};
    differ(pith_dict_make(s, 2, ab, items), pith_dict_make(s, 2, bc, items));
    pt_says("missing key 'a', unexpected key 'c'");
    differ(pith_list_make(s, PITH_ITEMS(x, x)),
           pith_list_make(s, PITH_ITEMS(x, pith_none_make(s))));
    pt_says("[1]: expected f64[], got none");
    close_all();
}

typedef struct {
    const char *text;
} Label;
PITH_NODE(Label, PITH_STATIC(text))
static const Label *label(const char *text) {
    return pith_freeze(s, Label, &(Label){.text = text});
}

/* Of texts too long to be shown whole, what is around the first difference. */
Test(tree_map, long_texts_are_shown_where_they_differ) {
    open_all();
    char text[2][2000];
    for (int k = 0; k < 2; k++) {
        memset(text[k], '0', 99);
        strcpy(text[k] + 99, k ? "2.json" : "1.json");
    }
    differ(label(text[0]), label(text[1]));
    pt_says(".text: expected '...0000000000000001.json', got "
            "'...0000000000000002.json'");
    differ(label("short"), label(text[1]));
    pt_says(".text: expected 'short', got '00000000");
    memset(text[0], 'a', sizeof text[0] - 1);
    memcpy(text[0] + 1500, "\xe2\x82\xac\xe2\x82\xac", 6);
    memcpy(text[1], text[0], sizeof text[0] - 1);
    text[1][1505] = '\xad'; /* another character of three bytes */
    text[0][1999] = text[1][1999] = 0;
    differ(label(text[0]), label(text[1]));
    pt_says("expected '...aaaaaaaaaa\xe2\x82\xac\xe2\x82\xac");
    pt_says("got '...aaaaaaaaaa\xe2\x82\xac\xe2\x82\xad");
    close_all();
}

Test(tree_map, lists_the_first_differences) {
    open_all();
    const pith_array *x = pith_f64(s, 1);
    const void *none = pith_none_make(s);
    const void *a[1000], *b[1000];
    for (int i = 0; i < 1000; i++) {
        a[i] = x;
        b[i] = i % 10 == 5 ? none : x;
    }
    differ(pith_list_make(s, 1000, a), pith_list_make(s, 1000, b));
    cr_assert_str_eq(pt_error.path, "[5]");
    pt_says(
        "[5]: expected f64[], got none; [15]: expected f64[], got none; [25]: expected "
        "f64[], got none; and 97 more");

    /* a long path is cut in its middle */
    static char key[1000];
    memset(key, 'k', sizeof key - 1);
    const char *keys[] = {key};
    const void *deep[] = {x}, *other[] = {none};
    differ(pith_dict_make(s, 1, keys, deep), pith_dict_make(s, 1, keys, other));
    cr_assert(strlen(pt_error.path) < 140);
    pt_says("...");
    close_all();
}

/* Also where many levels are alike, and in shared children. */
Test(tree_map, finds_a_difference_deep_down) {
    open_all();
    const void *a = pith_f64(s, 1), *b = pith_none_make(s);
    const pith_array *x = pith_f64(s, 2);
    for (int i = 0; i < 60; i++) {
        a = pith_tuple_make(s, PITH_ITEMS(a, x));
        b = pith_tuple_make(s, PITH_ITEMS(b, x));
    }
    differ(a, b);
    cr_assert(strncmp(pt_error.path, "[0][0][0]", 9) == 0);
    pt_says("expected f64[], got none (");
    close_all();
}

/* ---- Predicates ---- */

static bool is_pair(const void *node, void *closure) {
    (void)closure;
    return pith_kind(node) == PITH_NODE_TUPLE && pith_child_count(node) == 2;
}
static const void *swap(pith_scope *in, const void *const *nodes, void *closure) {
    (void)closure;
    return pith_tuple_make(in,
                           PITH_ITEMS(pith_child(nodes[0], 1), pith_child(nodes[0], 0)));
}
static const void *first_of(pith_scope *in, const void *const *nodes, void *closure) {
    (void)in, (void)closure;
    return pith_child(nodes[0], 0);
}
static const void *nothing(pith_scope *in, const void *const *nodes, void *closure) {
    (void)in, (void)nodes, (void)closure;
    return NULL;
}
static const void *foreign(pith_scope *in, const void *const *nodes, void *closure) {
    static int thing[8];
    (void)in, (void)nodes, (void)closure;
    return thing;
}

Test(tree_map, hands_picked_nodes_over) {
    open_all();
    const pith_array *x = pith_f64(s, 1), *y = pith_f64(s, 2);
    const void *pair = pith_tuple_make(s, PITH_ITEMS(x, y));
    const void *trees[] = {pith_list_make(s, PITH_ITEMS(pair, y, pair))};
    const pith_map_options swapped = {.is_leaf = is_pair, .whole = swap};
    const void *made = pith_tree_map(s, same_leaf, NULL, 1, trees, &swapped);
    pt_ok(s, made);
    cr_assert(pith_child(pith_child(made, 2), 0) == y);
    cr_assert(pith_child(made, 1) == y);

    /* a node may become a leaf: the list is then one of leaves alone */
    const pith_map_options firsts = {.is_leaf = is_pair, .whole = first_of};
    made = pith_tree_map(s, same_leaf, NULL, 1, trees, &firsts);
    pt_ok(s, made);
    cr_assert(pith_treedef_equal(
        pith_tree_structure(s, made),
        pith_tree_structure(s, pith_list_make(s, PITH_ITEMS(x, y, x)))));
    /* the root too */
    const void *root[] = {pair};
    cr_assert(pith_tree_map(s, same_leaf, NULL, 1, root, &firsts) == x);

    const pith_map_options bad = {.is_leaf = is_pair, .whole = nothing};
    pt_fails(PITH_E_CALLBACK, s, pith_tree_map(s, same_leaf, NULL, 1, trees, &bad));
    cr_assert_str_eq(pt_error.path, "[0]");
    const pith_map_options alien = {.is_leaf = is_pair, .whole = foreign};
    pt_fails(PITH_E_ARG, s, pith_tree_map(s, same_leaf, NULL, 1, trees, &alien));
    cr_assert_str_eq(pt_error.path, "[0]");
    const pith_map_options half = {.is_leaf = is_pair};
    pt_fails(PITH_E_ARG, s, pith_tree_map(s, same_leaf, NULL, 1, trees, &half));
    close_all();
}

static const void *count_leaves(pith_scope *in, const void *const *nodes, void *closure) {
    (void)closure;
    return pith_i64(in, pith_tree_num_leaves(nodes[0]) * 100 +
                            pith_tree_num_leaves(nodes[1]));
}
static const pith_array *second(pith_scope *in, const pith_array *const *a, void *c) {
    (void)in, (void)c;
    return a[1];
}

/* Picked places are read in all trees, whatever is there; the rest must agree. */
Test(tree_map, picks_by_the_first_tree) {
    open_all();
    const pith_array *x = pith_f64(s, 1), *y = pith_f64(s, 2);
    const void *pair = pith_tuple_make(s, PITH_ITEMS(x, y));
    const void *other = pith_list_make(s, PITH_ITEMS(x, x, pair));
    const pith_map_options options = {.is_leaf = is_pair, .whole = count_leaves};
    const Part *a = pith_freeze(s, Part, &(Part){.leaf = x, .any = pair});
    const Part *b = pith_freeze(s, Part, &(Part){.leaf = y, .any = other});
    const Part *made = pith_tree_map(s, second, NULL, PITH_ITEMS(a, b), &options);
    pt_ok(s, made);
    cr_assert(made->leaf == y);
    cr_assert(pith_read_i64(s, made->any) == 204);
    b = pith_freeze(s, Part, &(Part){.any = other});
    pt_fails(PITH_E_STRUCTURE, s,
             pith_tree_map(s, second, NULL, PITH_ITEMS(a, b), &options));
    pt_says(".leaf: expected f64[], got nothing (");
    close_all();
}

/* Results belong to the scope of the map, also where the tree lives in a shorter one. */
Test(tree_map, keeps_results_outward) {
    open_all();
    pith_scope *inner = pith_scope_open_in(s);
    const void *trees[] = {pt_sim(inner, 4, 8, 3)};
    const Sim *made = pith_tree_map(s, same_leaf, NULL, 1, trees, NULL);
    pt_ok(s, made);
    pith_scope_close(inner);
    cr_assert(pt_first(s, made->atoms->position) == 3 && made->max_neighbour == 8);
    cr_assert(pith_treedef_num_leaves(pith_tree_structure(s, made)) == 4);
    close_all();
}
