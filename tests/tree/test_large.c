/* A chain 100,000 deep and a list of 1,000,000 leaves: everything works, and what it
 * costs grows with their size. */
#include "tree_types.h"

#include <time.h>

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
    const void *mapped =
        pith_tree_map(s, same_leaf, NULL, 1, (const void *[]){again}, NULL);
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
             pith_tree_map(s, same_leaf, NULL, 2, (const void *[]){a, b}, NULL));
    cr_assert(strlen(pt_error.message) < 1024);
    pt_says("expected f64[], got none");
    pith_scope_close(s);
    pt_close(rt);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The time a leaf does not grow with the tree: quadratic work would grow it 64 times. */
Test(large, costs_grow_linearly) {
    pith_runtime *rt = pt_open();
    double each[2];
    for (int large = 0; large < 2; large++) {
        const int64_t levels = large ? 128000 : 2000;
        double best = 1e9;
        for (int repeat = 0; repeat < 5; repeat++) {
            pith_scope *s = pith_scope_open(rt);
            const Chain *chain = pt_chain(s, levels);
            const double start = seconds();
            const pith_array *const *flat;
            const pith_treedef *def = pith_tree_flatten(s, chain, &flat);
            pt_ok(s, pith_tree_unflatten(s, def, levels, flat));
            const double took = seconds() - start;
            best = took < best ? took : best;
            pith_scope_close(s);
        }
        each[large] = best / (double)levels;
    }
    cr_assert(each[1] < 20 * each[0], "%g ns a leaf, then %g", each[0] * 1e9,
              each[1] * 1e9);
    pt_close(rt);
}
