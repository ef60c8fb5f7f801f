/* A chain 100,000 deep and a list of 1,000,000 leaves: everything works. That the cost
 * grows with their size alone is measured by the rows tree/.../deep of the bench. */
#include "tree_types.h"

static const pith_array *same_leaf(pith_scope *in, const pith_array *const *a, void *c) {
    (void)in, (void)c;
    return a[0];
}

static void go_through(pith_scope *s, const void *tree, int64_t leaves) {
    const pith_array *const *flat;
    const pith_treedef *def = pith_tree_flatten(s, tree, &flat);
    pt_ok(s, def);
    cr_assert(pith_treedef_num_leaves(def) == leaves);
    cr_assert(pith_tree_num_leaves(tree) == leaves);
    cr_assert(pith_tree_bytes(tree) == (size_t)leaves * 8);
    const void *again = pith_tree_unflatten(s, def, leaves, flat);
    pt_ok(s, again);
    const void *mapped = pith_tree_map(s, same_leaf, NULL, PITH_ITEMS(again), NULL);
    pt_ok(s, mapped);
    const pith_treedef *other = pith_tree_structure(s, mapped);
    cr_assert(pith_treedef_equal(def, other));
    cr_assert(pith_treedef_hash(def) == pith_treedef_hash(other));
    cr_assert(pith_tree_equal(s, tree, mapped));
    const char *path = pith_tree_path(s, tree, leaves - 1);
    pt_ok(s, path);
    cr_assert(pith_tree_at(s, tree, path) == flat[leaves - 1]);
    cr_assert(pith_tree_text(s, tree, NULL));
    pt_ok(s);
}

Test(large, chain_of_100000) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    go_through(s, pt_chain(s, 100000), 100000);
    const Chain *zeros = pith_tree_zeros_like(s, pt_chain(s, 100000));
    pt_ok(s, zeros);
    cr_assert(pt_first(s, zeros->next->leaf) == 0);
    pith_scope_close(s);
    pt_close(rt);
}

Test(large, list_of_1000000) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    enum { LEAVES = 1000000 };
    const void **items = malloc(LEAVES * sizeof *items);
    const pith_array *some[100];
    for (int i = 0; i < 100; i++)
        some[i] = pith_f64(s, i);
    for (int i = 0; i < LEAVES; i++)
        items[i] = some[i % 100];
    go_through(s, pith_list_make(s, LEAVES, items), LEAVES);
    free(items);
    pith_scope_close(s);
    pt_close(rt);
}

/* A difference at the end of a deep and of a wide tree. */
Test(large, differences) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_f64(s, 1);
    const void *a = x, *b = pith_none_make(s);
    for (int i = 0; i < 100000; i++) {
        a = pith_tuple_make(s, PITH_ITEMS(a));
        b = pith_tuple_make(s, PITH_ITEMS(b));
    }
    pt_fails(PITH_E_STRUCTURE, s,
             pith_tree_map(s, same_leaf, NULL, PITH_ITEMS(a, b), NULL));
    cr_assert(strlen(pt_error.message) < 1024);
    pt_says("expected f64[], got none");
    pith_scope_close(s);
    pt_close(rt);
}
