/* Structures as values: predicates, trees along a structure or a prefix, structures
 * inside each other, and folds. */
#include "fail_allocator.h"
#include "forest.h"

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

static bool is_tuple(const void *node, void *closure) {
    int *asked = closure;
    if (asked)
        ++*asked;
    return pith_kind(node) == PITH_NODE_TUPLE;
}

/* ---- Predicates ---- */

Test(flatten_where, takes_what_the_predicate_picks_for_leaves) {
    open_all();
    const pith_array *x = pith_f64(s, 1), *y = pith_f64(s, 2);
    const pith_tuple *pair = pith_tuple_make(s, PITH_ITEMS(x, y));
    const void *tree = pith_list_make(s, PITH_ITEMS(x, pair, pith_none_make(s)));
    const void *const *items;
    int asked = 0;
    const pith_treedef *def = pith_tree_flatten_where(s, tree, is_tuple, &asked, &items);
    pt_ok(s, def);
    cr_assert(asked == 3, "the list, the tuple and none: %d", asked);
    cr_assert(pith_treedef_num_leaves(def) == 2 && pith_treedef_num_nodes(def) == 4);
    cr_assert(items[0] == x && items[1] == pair);

    /* Without a predicate: as pith_tree_flatten. */
    const pith_treedef *plain = pith_tree_flatten_where(s, tree, NULL, NULL, &items);
    cr_assert(pith_treedef_equal(plain, pith_tree_structure(s, tree)) && items[2] == y);
    cr_assert(!pith_treedef_equal(plain, def));

    /* Any tree fits a place that was picked; structures do not hold the trees. */
    const void *other[] = {y, tree};
    const void *made = pith_tree_unflatten_where(s, def, 2, other);
    pt_ok(s, made);
    cr_assert(pith_child(made, 0) == y && pith_child(made, 1) == tree);
    cr_assert(pith_kind(pith_child(made, 2)) == PITH_NODE_NONE);
    cr_assert(
        pith_treedef_equal(def, pith_tree_flatten_where(s, tree, is_tuple, NULL, NULL)));
    close_all();
}

Test(flatten_where, refuses_what_does_not_fit) {
    open_all();
    const pith_array *x = pith_f64(s, 1);
    const pith_tuple *pair = pith_tuple_make(s, PITH_ITEMS(x, x));
    const void *tree = pith_list_make(s, PITH_ITEMS(x, pair));
    const pith_treedef *def = pith_tree_flatten_where(s, tree, is_tuple, NULL, NULL);
    const void *bad[] = {pair, pair};
    pt_fails(PITH_E_ARG, s, pith_tree_unflatten_where(s, def, 2, bad));
    pt_says("[0]: expected a leaf, got a tuple of 2");
    const void *foreign[] = {x, &rt};
    pt_fails(PITH_E_ARG, s, pith_tree_unflatten_where(s, def, 2, foreign));
    cr_assert_str_eq(pt_error.path, "[1]");
    pt_fails(PITH_E_ARG, s, pith_tree_unflatten_where(s, def, 1, bad));
    pt_says("expected 2 items, got 1");
    pt_fails(PITH_E_ARG, s, pith_tree_unflatten_where(s, def, 2, NULL));
    const pith_array *leaves[] = {x, x};
    pt_fails(PITH_E_ARG, s, pith_tree_unflatten(s, def, 2, leaves));
    pt_says("use pith_tree_unflatten_where");
    pt_fails(PITH_E_ARG, s, pith_tree_unflatten_where(s, NULL, 0, NULL));
    close_all();
}

/* ---- Up to a structure ---- */

Test(flatten_up_to, takes_what_lies_at_the_leaves) {
    open_all();
    const pith_array *x = pith_f64(s, 1);
    const Part *empty = pith_freeze(s, Part, &(Part){.number = 1});
    const Part *full = pith_freeze(s, Part, &(Part){.leaf = x, .any = x, .number = 1});
    const pith_treedef *def = pith_tree_structure(s, full);
    const void *const *items = pith_tree_flatten_up_to(s, def, empty);
    pt_ok(s, items);
    cr_assert(items[0] == NULL && items[1] == NULL, "absent is nothing");
    items = pith_tree_flatten_up_to(s, pith_tree_structure(s, x), full);
    cr_assert(items[0] == full);

    const Part *other = pith_freeze(s, Part, &(Part){.number = 2});
    pt_fails(PITH_E_STRUCTURE, s, pith_tree_flatten_up_to(s, def, other));
    pt_says("number: expected 1, got 2 (pith_tree_flatten_up_to)");
    pt_fails(PITH_E_STRUCTURE, s,
             pith_tree_flatten_up_to(s, pith_tree_structure(s, empty), full));
    cr_assert_str_eq(pt_error.path, ".leaf");
    pt_says(".leaf: expected nothing, got f64[]; .any: expected nothing, got f64[]");
    pt_fails(PITH_E_ARG, s, pith_tree_flatten_up_to(s, NULL, full));
    pt_fails(PITH_E_ARG, s, pith_tree_flatten_up_to(s, def, NULL));
    close_all();
}

/* A tree along its own structure gives its leaves, whatever it is. */
Test(flatten_up_to, of_a_tree_along_itself_are_its_leaves) {
    open_all();
    forest *f = malloc(sizeof *f);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        pith_scope *in = pith_scope_open_in(s);
        const void *tree = forest_grow(f, in, seed);
        const pith_treedef *def = pith_tree_structure(in, tree);
        const void *const *items = pith_tree_flatten_up_to(in, def, tree);
        pt_ok(in, items);
        for (int64_t i = 0; i < f->count; i++)
            cr_assert(items[i] == f->leaves[i]);
        int64_t count, children;
        pt_ok(in, pith_tree_prefix_errors(in, tree, tree, &count));
        cr_assert(count == 0);
        cr_assert(pith_treedef_is_prefix(def, def));
        /* A leaf in a leaf, and the structure in a leaf, are what they were. */
        const pith_treedef *leaf = pith_tree_structure(in, pith_f64(in, 0));
        const pith_treedef *same = pith_treedef_compose(in, leaf, def);
        cr_assert(pith_treedef_equal(same, def));
        cr_assert(pith_treedef_is_prefix(leaf, def));
        cr_assert(pith_treedef_is_leaf(def) == (pith_kind(tree) == PITH_NODE_LEAF));
        int64_t leaves = pith_treedef_is_leaf(def), nodes = 1;
        const pith_treedef *const *part = pith_treedef_children(in, def, &children);
        pt_ok(in, part);
        cr_assert(children == pith_child_count(tree));
        for (int64_t i = 0; i < children; i++) {
            leaves += pith_treedef_num_leaves(part[i]);
            nodes += part[i] ? pith_treedef_num_nodes(part[i]) : 1;
            const void *child = pith_child(tree, i);
            cr_assert(!child == !part[i]);
            cr_assert(!child ||
                      pith_treedef_equal(part[i], pith_tree_structure(in, child)));
        }
        cr_assert(leaves == f->count && nodes == f->nodes);
        pith_scope_close(in);
    }
    free(f);
    close_all();
}

/* ---- Prefixes ---- */

Test(prefix, repeats_its_leaves) {
    open_all();
    const pith_array *x = pith_f64(s, 1), *y = pith_f64(s, 2);
    const Sim *sim = pt_sim(s, 2, 3, 0);
    const void *prefix = pith_list_make(s, PITH_ITEMS(x, y));
    const void *tree = pith_list_make(s, PITH_ITEMS(sim, pith_none_make(s)));
    int64_t count = -1;
    const pith_array *const *all = pith_tree_broadcast_prefix(s, prefix, tree, &count);
    pt_ok(s, all);
    cr_assert(count == 4 && all[0] == x && all[3] == x);
    const void *short_one = pith_list_make(s, PITH_ITEMS(x));
    pt_fails(PITH_E_STRUCTURE, s, pith_tree_broadcast_prefix(s, short_one, tree, &count));
    pt_says("expected a list of 1, got a list of 2 (pith_tree_broadcast_prefix)");
    cr_assert(count == 0);
    pt_fails(PITH_E_ARG, s, pith_tree_broadcast_prefix(s, prefix, tree, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_broadcast_prefix(s, NULL, tree, &count));
    pt_fails(PITH_E_ARG, s, pith_tree_broadcast_prefix(s, prefix, &rt, &count));
    close_all();
}

Test(prefix, names_every_place_where_it_does_not_fit) {
    open_all();
    const pith_array *x = pith_f64(s, 1);
    const char *const ab[] = {"a", "b"}, *const bc[] = {"b", "c"};
    const void *left[] = {x, x};
    const void *prefix = pith_list_make(
        s, PITH_ITEMS(pith_tuple_make(s, PITH_ITEMS(x)), pith_dict_make(s, 2, ab, left),
                      pt_sim(s, 1, 2, 0), x, pith_none_make(s)));
    const void *tree = pith_list_make(s, PITH_ITEMS(pith_list_make(s, PITH_ITEMS(x)),
                                                    pith_dict_make(s, 2, bc, left),
                                                    pt_sim(s, 1, 3, 0), prefix, x));
    int64_t count;
    const pith_difference *all = pith_tree_prefix_errors(s, prefix, tree, &count);
    pt_ok(s, all);
    cr_assert(count == 4);
    cr_assert_str_eq(all[0].path, "[0]");
    cr_assert_str_eq(all[0].text, "expected a tuple of 1, got a list of 1");
    cr_assert_str_eq(all[1].path, "[1]");
    cr_assert_str_eq(all[1].text, "missing key 'a', unexpected key 'c'");
    cr_assert_str_eq(all[2].path, "[2]");
    cr_assert_str_eq(all[2].text, "max_neighbour: expected 2, got 3");
    cr_assert_str_eq(all[3].path, "[4]");
    cr_assert_str_eq(all[3].text, "expected none, got f64[]");
    pt_fails(PITH_E_STRUCTURE, s,
             pith_tree_flatten_up_to(s, pith_tree_structure(s, prefix), tree));
    pt_says("; [2]: max_neighbour: expected 2, got 3; and 1 more");
    pt_fails(PITH_E_ARG, s, pith_tree_prefix_errors(s, prefix, tree, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_prefix_errors(s, &rt, tree, &count));
    pt_fails(PITH_E_ARG, s, pith_tree_prefix_errors(s, prefix, NULL, &count));
    close_all();
}

/* 1,000 leaves, all of which differ, below a long path: still one short line. */
Test(prefix, errors_stay_one_bounded_line) {
    open_all();
    enum { LEAVES = 1000, DEEP = 60 };
    const pith_array *x = pith_f64(s, 1);
    const void *left[LEAVES], *right[LEAVES];
    for (int i = 0; i < LEAVES; i++) {
        left[i] = pith_tuple_make(s, PITH_ITEMS(x));
        right[i] = x;
    }
    const void *a = pith_list_make(s, LEAVES, left),
               *b = pith_list_make(s, LEAVES, right);
    const char *const key[] = {"a key that is quite long"};
    for (int i = 0; i < DEEP; i++) {
        a = pith_dict_make(s, 1, key, &a);
        b = pith_dict_make(s, 1, key, &b);
    }
    int64_t count;
    pt_ok(s, pith_tree_prefix_errors(s, a, b, &count));
    cr_assert(count == LEAVES);
    pt_fails(PITH_E_STRUCTURE, s,
             pith_tree_flatten_up_to(s, pith_tree_structure(s, a), b));
    pt_says("and 997 more");
    cr_assert(strlen(pt_error.message) < 2000 && !strchr(pt_error.message, '\n'));
    close_all();
}

Test(prefix, of_structures) {
    open_all();
    const pith_array *x = pith_f64(s, 1);
    const void *list = pith_list_make(s, PITH_ITEMS(x, x));
    const void *nested = pith_list_make(s, PITH_ITEMS(list, pith_none_make(s)));
    const void *none = pith_list_make(s, PITH_ITEMS(x, pith_none_make(s)));
    const void *tree[] = {list, nested, none, x};
    static const char fits[4][5] = {"111.", ".1..", ".11.", "1111"};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            cr_assert(pith_treedef_is_prefix(pith_tree_structure(s, tree[i]),
                                             pith_tree_structure(s, tree[k])) ==
                          (fits[i][k] == '1'),
                      "%d %d", i, k);
    cr_assert(!pith_treedef_is_prefix(NULL, pith_tree_structure(s, x)));
    cr_assert(!pith_treedef_is_prefix(pith_tree_structure(s, x), NULL));
    cr_assert(!pith_treedef_is_leaf(NULL));
    close_all();
}

/* ---- Structures inside each other ---- */

Test(compose, is_the_structure_of_such_a_tree) {
    open_all();
    const pith_array *x = pith_f64(s, 1);
    const void *pair = pith_tuple_make(s, PITH_ITEMS(x, pith_none_make(s), x));
    const void *list = pith_list_make(s, PITH_ITEMS(x, x));
    const void *both = pith_list_make(s, PITH_ITEMS(pair, pair));
    const pith_treedef *def = pith_treedef_compose(s, pith_tree_structure(s, list),
                                                   pith_tree_structure(s, pair));
    pt_ok(s, def);
    cr_assert(pith_treedef_equal(def, pith_tree_structure(s, both)));
    cr_assert(pith_treedef_hash(def) == pith_treedef_hash(pith_tree_structure(s, both)));
    const pith_array *leaves[4];
    for (int i = 0; i < 4; i++)
        leaves[i] = pith_f64(s, i);
    const void *made = pith_tree_unflatten(s, def, 4, leaves);
    pt_ok(s, made);
    cr_assert(pith_child(pith_child(made, 1), 0) == leaves[2]);
    /* A record that cannot have such a leaf is refused when the tree is made. */
    const pith_treedef *bad = pith_treedef_compose(
        s, pith_tree_structure(s, pt_atoms(s, 2, 0)), pith_tree_structure(s, list));
    pt_ok(s, bad);
    const pith_array *six[] = {x, x, x, x, x, x};
    pt_fails(PITH_E_TYPE, s, pith_tree_unflatten(s, bad, 6, six));
    cr_assert_str_eq(pt_error.path, ".position");
    pt_fails(PITH_E_ARG, s, pith_treedef_compose(s, NULL, def));
    pt_fails(PITH_E_ARG, s, pith_treedef_compose(s, def, (const void *)x));
    pt_says("pith_treedef_compose: inner is not a treedef");
    int64_t count;
    pt_fails(PITH_E_ARG, s, pith_treedef_children(s, def, NULL));
    pt_fails(PITH_E_ARG, s, pith_treedef_children(s, NULL, &count));
    close_all();
}

/* Structures hold what they need of a tree that is gone. */
Test(compose, outlives_its_parts) {
    open_all();
    pith_scope *in = pith_scope_open(rt);
    const pith_treedef *outer = pith_tree_structure(in, pt_sim(in, 2, 3, 0));
    const pith_treedef *inner = pith_tree_structure(in, pt_sim(in, 2, 5, 0));
    const pith_treedef *def = pith_treedef_compose(s, outer, inner);
    int64_t count;
    const pith_treedef *const *children = pith_treedef_children(s, outer, &count);
    pt_ok(s, def && children);
    pith_scope_close(in);
    cr_assert(count == 2 && pith_treedef_is_leaf(children[1]));
    const pith_treedef *atoms = pith_tree_structure(s, pt_atoms(s, 2, 9));
    cr_assert(pith_treedef_equal(children[0], atoms));
    cr_assert(pith_treedef_num_leaves(def) == 16);
    const pith_array *leaf = pt_array(s, PITH_SHAPE(2, 3), 0);
    const void *made =
        pith_tree_unflatten(s, children[0], 3, (const pith_array *[]){leaf, leaf, leaf});
    pt_ok(s, pith_is(Atoms, made));
    close_all();
}

/* ---- Inside out ---- */

Test(transpose, checks_records_and_names_where_rows_differ) {
    open_all();
    const void *trees[] = {pt_atoms(s, 2, 0), pt_atoms(s, 3, 0)};
    const void *list = pith_list_make(s, 2, trees);
    const pith_array *x = pith_f64(s, 1);
    const pith_treedef *pair =
        pith_tree_structure(s, pith_list_make(s, PITH_ITEMS(x, x)));
    /* A record of lists is none of these records; one that takes any tree is. */
    pt_fails(PITH_E_TYPE, s,
             pith_tree_transpose(s, pair, pith_tree_structure(s, trees[0]), list));
    pt_says(".position: expected float[n,3], got a list");
    const Part *part = pith_freeze(s, Part, &(Part){.any = x, .number = 4});
    const Part *turned =
        pith_tree_transpose(s, pair, NULL, pith_list_make(s, PITH_ITEMS(part, part)));
    pt_ok(s, pith_is(Part, turned));
    cr_assert(turned->number == 4 && !turned->leaf);
    cr_assert(pith_kind(turned->any) == PITH_NODE_LIST &&
              pith_child(turned->any, 1) == x);

    pt_fails(PITH_E_STRUCTURE, s,
             pith_tree_transpose(s, pair, pair,
                                 pith_list_make(s, PITH_ITEMS(list, trees[0]))));
    pt_says("[1]: expected a list of 2, got Atoms");
    close_all();
}

Test(transpose, twice_is_the_tree_itself) {
    open_all();
    enum { ROWS = 3, COLUMNS = 4 };
    const pith_array *x[ROWS][COLUMNS], *one = pith_f64(s, 0);
    const void *rows[ROWS], *row[COLUMNS], *column[ROWS];
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < COLUMNS; k++)
            x[i][k] = pith_f64(s, 10 * i + k);
        rows[i] = pith_tuple_make(s, COLUMNS, (const void **)x[i]);
        column[i] = one;
    }
    for (int k = 0; k < COLUMNS; k++)
        row[k] = one;
    const pith_treedef *outer = pith_tree_structure(s, pith_list_make(s, ROWS, column));
    const pith_treedef *inner = pith_tree_structure(s, pith_tuple_make(s, COLUMNS, row));
    const void *tree = pith_list_make(s, ROWS, rows);
    const void *turned = pith_tree_transpose(s, outer, inner, tree);
    pt_ok(s, turned);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++)
            cr_assert(pith_child(pith_child(turned, k), i) == x[i][k]);
    const void *back = pith_tree_transpose(s, inner, outer, turned);
    pt_ok(s, back);
    cr_assert(pith_tree_equal(s, back, tree));
    pt_fails(PITH_E_ARG, s,
             pith_tree_transpose(s, pith_tree_structure(s, pith_none_make(s)), inner,
                                 pith_none_make(s)));
    pt_says("outer has no leaves");
    pt_fails(PITH_E_ARG, s, pith_tree_transpose(s, NULL, inner, tree));
    pt_fails(PITH_E_ARG, s, pith_tree_transpose(s, outer, inner, NULL));
    close_all();
}

/* ---- Folds and maps up to leaves ---- */

static const pith_array *
add(pith_scope *in, const pith_array *value, const pith_array *leaf, void *closure) {
    (void)closure;
    return pith_add(in, value, leaf);
}
static const pith_array *
nothing(pith_scope *in, const pith_array *value, const pith_array *leaf, void *closure) {
    (void)in, (void)value, (void)leaf, (void)closure;
    return NULL;
}

Test(tree_reduce, folds_from_the_first_leaf_on) {
    open_all();
    const pith_array *x = pith_f64(s, 1), *y = pith_f64(s, 2);
    const void *tree = pith_list_make(
        s, PITH_ITEMS(y, pith_none_make(s), pith_tuple_make(s, PITH_ITEMS(x))));
    cr_assert(pt_first(s, pith_tree_reduce(s, add, NULL, tree, NULL)) == 3);
    cr_assert(pt_first(s, pith_tree_reduce(s, add, NULL, tree, y)) == 5);
    cr_assert(pith_tree_reduce(s, add, NULL, pith_none_make(s), y) == y);
    pt_fails(PITH_E_ARG, s, pith_tree_reduce(s, add, NULL, pith_none_make(s), NULL));
    pt_says("the tree has no leaves");
    pt_fails(PITH_E_CALLBACK, s, pith_tree_reduce(s, nothing, NULL, tree, NULL));
    cr_assert_str_eq(pt_error.path, "[2][0]");
    pt_fails(PITH_E_ARG, s, pith_tree_reduce(s, NULL, NULL, tree, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_reduce(s, add, NULL, NULL, y));
    const pith_array *wide = pith_zeros(s, PITH_F64, PITH_SHAPE(2));
    const void *bad =
        pith_list_make(s, PITH_ITEMS(wide, pith_zeros(s, PITH_F64, PITH_SHAPE(3))));
    pt_fails(PITH_E_SHAPE, s, pith_tree_reduce(s, add, NULL, bad, NULL));
    cr_assert_str_eq(pt_error.path, "[1]");
    close_all();
}

static const pith_array *
first(pith_scope *in, const pith_array *const *leaf, void *closure) {
    (void)in, (void)closure;
    return leaf[0];
}
static const void *second(pith_scope *in, const void *const *node, void *closure) {
    (void)closure;
    return node[1] ? node[1] : (const void *)pith_none_make(in);
}

Test(tree_map, goes_up_to_the_first_trees_leaves) {
    open_all();
    const pith_array *x = pith_f64(s, 1), *y = pith_f64(s, 2);
    const void *pair = pith_tuple_make(s, PITH_ITEMS(y, y));
    const void *trees[] = {pith_list_make(s, PITH_ITEMS(x, x)),
                           pith_list_make(s, PITH_ITEMS(pair, y))};
    const pith_map_options up_to = {.whole = second, .up_to = true};
    const void *made = pith_tree_map(s, first, NULL, 2, trees, &up_to);
    pt_ok(s, made);
    cr_assert(pith_child(made, 0) == pair && pith_child(made, 1) == x);
    pt_fails(PITH_E_STRUCTURE, s, pith_tree_map(s, first, NULL, 2, trees, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_tree_map(s, first, NULL, 2, trees, &(pith_map_options){.up_to = true}));
    pt_says("up_to is given without whole");
    const void *wrong[] = {trees[1], trees[0]};
    pt_fails(PITH_E_STRUCTURE, s, pith_tree_map(s, first, NULL, 2, wrong, &up_to));
    pt_says(
        "[0]: expected a tuple of 2, got f64[] (pith_tree_map: tree 1 against tree 0)");
    /* What is absent in a record's place of a leaf. */
    const void *parts[] = {pith_freeze(s, Part, &(Part){.any = x}),
                           pith_freeze(s, Part, &(Part){.number = 0})};
    made = pith_tree_map(s, first, NULL, 2, parts, &up_to);
    pt_ok(s, made);
    cr_assert(pith_kind(((const Part *)made)->any) == PITH_NODE_NONE);
    close_all();
}

static const pith_array *
garbage(pith_scope *in, const pith_array *const *leaf, void *closure) {
    (void)in, (void)leaf;
    return closure;
}

Test(tree_map, checks_what_functions_return) {
    open_all();
    static double nothing_of_pith[64];
    const pith_array *x = pith_f64(s, 1);
    const pith_map_options up_to = {.whole = second, .up_to = true};
    const void *leaves[] = {x, x}, *lists[] = {pith_list_make(s, PITH_ITEMS(x)),
                                               pith_list_make(s, PITH_ITEMS(x))};
    pt_fails(PITH_E_ARG, s,
             pith_tree_map(s, garbage, nothing_of_pith, 2, leaves, &up_to));
    pt_says("result of function: expected a tree, got a pointer");
    pt_fails(PITH_E_ARG, s, pith_tree_map(s, garbage, nothing_of_pith, 2, lists, &up_to));
    cr_assert_str_eq(pt_error.path, "[0]");
    pt_fails(PITH_E_ARG, s, pith_tree_map(s, garbage, nothing_of_pith, 2, leaves, NULL));
    close_all();
}

/* Picked nodes stand beside leaves: a list with a picked node and one with a leaf there
 * are one structure. */
Test(tree_map, picks_where_another_tree_has_a_leaf) {
    open_all();
    const pith_array *x = pith_f64(s, 1);
    const void *pair = pith_tuple_make(s, PITH_ITEMS(x, x));
    const void *trees[] = {pith_list_make(s, PITH_ITEMS(x, pair)),
                           pith_list_make(s, PITH_ITEMS(x, x))};
    const pith_map_options options = {.is_leaf = is_tuple, .whole = second};
    const void *made = pith_tree_map(s, first, NULL, 2, trees, &options);
    pt_ok(s, made);
    cr_assert(pith_child(made, 1) == x);
    close_all();
}

/* ---- Memory ---- */

static pith_status scenario(const pith_open_options *options) {
    pith_runtime *own = pith_open(options);
    pith_scope *in = pith_scope_open(own);
    const pith_array *x = NULL;
    const pith_tuple *pair = NULL;
    const pith_list *list = NULL, *flat = NULL;
    const void *const *items;
    const pith_treedef *outer = NULL, *inner = NULL;
    int64_t count;
    pt_again(in, (x = pith_f64(in, 1)));
    if (!pith_failed(in))
        pt_again(in, (pair = pith_tuple_make(in, PITH_ITEMS(x, x))));
    if (!pith_failed(in))
        pt_again(in, (list = pith_list_make(in, PITH_ITEMS(pair, pair))));
    if (!pith_failed(in))
        pt_again(in, (flat = pith_list_make(in, PITH_ITEMS(x, x))));
    if (!pith_failed(in))
        pt_again(in, (outer = pith_tree_structure(in, flat)));
    if (!pith_failed(in))
        pt_again(in, (inner = pith_tree_flatten_where(in, pair, is_tuple, NULL, &items)));
    if (!pith_failed(in))
        pt_again(in, pith_treedef_compose(in, outer, inner));
    if (!pith_failed(in))
        pt_again(in, pith_treedef_children(in, outer, &count));
    if (!pith_failed(in))
        pt_again(in, pith_tree_flatten_up_to(in, outer, list));
    if (!pith_failed(in))
        pt_again(in, pith_tree_transpose(in, outer, NULL, list));
    if (!pith_failed(in))
        pt_again(in, pith_tree_broadcast_prefix(in, flat, list, &count));
    if (!pith_failed(in))
        pt_again(in, pith_tree_prefix_errors(in, list, flat, &count));
    const pith_status code = pith_code(in);
    pith_clear(in);
    pith_scope_close(in);
    pith_close(own);
    return code;
}

Test(structure, survives_every_failing_allocation) {
    const pt_failures f = pt_fail_each(scenario);
    cr_assert_gt(f.allocations, 10);
}
