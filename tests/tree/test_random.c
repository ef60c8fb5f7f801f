/* Random trees: flattening, paths and rebuilding against a plain recursive walk. */
#include "forest.h"

static forest first, second;

Test(random_trees, agree_with_a_plain_walk) {
    pith_runtime *rt = pt_open();
    for (uint64_t seed = 0; seed < 300; seed++) {
        pith_scope *s = pith_scope_open(rt);
        const void *tree = forest_grow(&first, s, seed);
        const pith_array *const *leaves;
        const pith_treedef *def = pith_tree_flatten(s, tree, &leaves);
        const char *const *paths = pith_tree_paths(s, tree);
        pt_ok(s, def && paths);
        cr_assert(pith_treedef_num_leaves(def) == first.count);
        cr_assert(pith_tree_num_leaves(tree) == first.count);
        cr_assert(pith_treedef_num_nodes(def) == first.nodes, "seed %d: %lld, %lld",
                  (int)seed, (long long)pith_treedef_num_nodes(def),
                  (long long)first.nodes);
        size_t bytes = 0;
        for (int64_t i = 0; i < first.count; i++) {
            cr_assert(leaves[i] == first.leaves[i]);
            cr_assert(strcmp(paths[i], first.paths[i]) == 0, "%s, %s", paths[i],
                      first.paths[i]);
            cr_assert(pith_tree_at(s, tree, paths[i]) == leaves[i]);
            cr_assert(strcmp(pith_path_normal(s, paths[i]), paths[i]) == 0);
            bytes += pith_array_spec(leaves[i])->bytes;
        }
        cr_assert(pith_tree_bytes(tree) == bytes);
        pith_scope_close(s);
    }
    pt_close(rt);
}

Test(random_trees, unflatten_to_what_they_were) {
    pith_runtime *rt = pt_open();
    for (uint64_t seed = 0; seed < 300; seed++) {
        pith_scope *s = pith_scope_open(rt);
        const void *tree = forest_grow(&first, s, seed);
        const pith_array *const *leaves, *const *again;
        const pith_treedef *def = pith_tree_flatten(s, tree, &leaves);
        for (int repeat = 0; repeat < 3; repeat++) {
            const void *made = pith_tree_unflatten(s, def, first.count, leaves);
            pt_ok(s, made);
            const pith_treedef *other = pith_tree_flatten(s, made, &again);
            pt_ok(s, other);
            cr_assert(pith_treedef_equal(def, other));
            cr_assert(pith_treedef_hash(def) == pith_treedef_hash(other));
            for (int64_t i = 0; i < first.count; i++)
                cr_assert(again[i] == leaves[i]);
            cr_assert(pith_tree_equal(s, tree, made));
        }
        pith_scope_close(s);
    }
    pt_close(rt);
}

/* Structures are equal where the trees draw the same, values aside. */
Test(random_trees, compare_by_structure) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    enum { TREES = 60 };
    static const pith_treedef *defs[TREES];
    static const char *texts[TREES];
    for (int i = 0; i < TREES; i++) { /* every seed twice */
        const void *tree = forest_grow(&second, s, (uint64_t)i / 2);
        defs[i] = pith_tree_structure(s, tree);
        texts[i] = pith_tree_text(s, tree, &(pith_print_options){.most_lines = -1});
        pt_ok(s, texts[i]);
    }
    int equal = 0;
    for (int i = 0; i < TREES; i++)
        for (int j = 0; j < TREES; j++) {
            const bool same = strcmp(texts[i], texts[j]) == 0;
            cr_assert(pith_treedef_equal(defs[i], defs[j]) == same, "%s\n%s", texts[i],
                      texts[j]);
            if (same)
                cr_assert(pith_treedef_hash(defs[i]) == pith_treedef_hash(defs[j]));
            equal += same;
        }
    cr_assert(equal >= 2 * TREES && equal < TREES * TREES / 2);
    pith_scope_close(s);
    pt_close(rt);
}
