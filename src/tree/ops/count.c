/* Leaf count and bytes of a tree. These functions take no scope: if memory is short they
 * return an impossible number. */
#include "tree/tree_internal.h"

/* Whether a pointer is a tree that can be walked; *rt: its runtime. */
static bool is_tree(const void *tree, pith_runtime **rt) {
    pithp_block *block = NULL;
    if (pithp_pointer_check(tree, &block) != PITHP_POINTER_OK || pithp_is_nil(tree))
        return false;
    *rt = block->runtime;
    switch (pithp_kind_of(tree)) {
        case PITHP_KIND_ARRAY:
        case PITHP_KIND_RECORD:
        case PITHP_KIND_LIST:
        case PITHP_KIND_TUPLE:
        case PITHP_KIND_DICT:
        case PITHP_KIND_NONE:
            return true;
        case PITHP_KIND_FREE:
        case PITHP_KIND_TREEDEF:
        case PITHP_KIND_OTHER:
        case PITHP_KIND_CLASS:
            break;
    }
    return false;
}

int64_t pith_tree_num_leaves(const void *tree) {
    pith_runtime *rt = NULL;
    if (!is_tree(tree, &rt))
        return 0;
    int64_t count = 0;
    pithp_walk w;
    pithp_visit visit;
    pithp_walk_begin(&w, rt, tree);
    while (pithp_walk_next(&w, &visit)) {
        count += visit == PITHP_VISIT_LEAF;
        if (visit != PITHP_VISIT_ENTER || pithp_node_def_of(w.node)->type ||
            !pithp_node_def_of(w.node)->all_leaves)
            continue;
        count += pithp_node_def_of(w.node)
                     ->slot_count; /* items of containers are never absent */
        pithp_walk_skip(&w);
    }
    const bool failed = w.failed;
    pithp_walk_end(&w);
    return failed ? -1 : count;
}

size_t pith_tree_bytes(const void *tree) {
    pith_runtime *rt = NULL;
    if (!is_tree(tree, &rt))
        return 0;
    size_t bytes = 0;
    pithp_walk w;
    pithp_visit visit;
    pithp_walk_begin(&w, rt, tree);
    while (pithp_walk_next(&w, &visit))
        if (visit == PITHP_VISIT_LEAF &&
            pithp_add_overflows(bytes, pithp_array_spec(w.node)->bytes, &bytes))
            w.failed = true;
    const bool failed = w.failed;
    pithp_walk_end(&w);
    return failed ? SIZE_MAX : bytes;
}
