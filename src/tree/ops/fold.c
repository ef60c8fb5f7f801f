/* Reduction of the leaves of a tree to one array, as a left fold. */
#include "tree/tree_internal.h"

static const pith_array *fold(pith_scope *s,
                              const pithp_flat *f,
                              pith_fold_function function,
                              void *closure,
                              const pith_array *value) {
    int64_t i = 0;
    if (!value)
        value = f->items[i++];
    for (; i < f->structure.item_count; i++) {
        const pithp_call_site call = pithp_user_begins(s);
        value = function(s, value, f->items[i], closure);
        pithp_user_ends(s, call);
        if (!value && !pith_failed(s))
            pithp_fail(s, PITH_E_CALLBACK, NULL,
                       "function returned NULL without an error");
        if (pith_failed(s) || pithp_operand_check(s, value, "pith_tree_reduce",
                                                  "result of function") != PITH_OK) {
            pithp_item_prefix(s, &f->structure, i);
            return NULL;
        }
    }
    return value;
}

const pith_array *pith_tree_reduce(pith_scope *s,
                                   pith_fold_function function,
                                   void *closure,
                                   const void *tree,
                                   const pith_array *initial) {
    static const char *const name = "pith_tree_reduce";
    if (!pithp_enter(s) || pithp_tree_check(s, tree, name, "tree") != PITH_OK)
        return NULL;
    if (!function) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: function is NULL", name);
        return NULL;
    }
    if (initial && pithp_operand_check(s, initial, name, "initial") != PITH_OK)
        return NULL;
    pithp_flat f;
    if (pithp_flat_make(s, &f, tree, NULL, NULL) != PITH_OK)
        return NULL;
    const pith_array *made = NULL;
    if (initial || f.structure.item_count)
        made = fold(s, &f, function, closure, initial);
    else
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: the tree has no leaves, and there is no initial value", name);
    pithp_flat_end(&f);
    return made;
}
