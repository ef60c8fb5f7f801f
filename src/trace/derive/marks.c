/* Trees under identity marks that only derivations see. */
#include "trace/derive/derive_internal.h"

#include <string.h>

static const char *function_of(pithp_primitive op) {
    return op == PITHP_OP_NAME            ? "pith_name_kept"
           : op == PITHP_OP_STOP_GRADIENT ? "pith_stop_gradient"
                                          : "pith_non_differentiable";
}

/* name: of PITHP_OP_NAME, which marks leaves of any dtype; else NULL. */
static const void *
mark(pith_scope *s, const void *tree, pithp_primitive op, const char *name) {
    pithp_flat f;
    if (pithp_tree_check(s, tree, function_of(op), "tree") != PITH_OK ||
        pithp_flat_make(s, &f, tree, NULL, NULL) != PITH_OK)
        return pithp_nil_for(tree);
    bool any = false;
    for (int64_t k = 0; k < f.structure.item_count && !pith_failed(s); k++)
        if (pithp_trace_has(s, f.items[k]) &&
            (name || pith_dtype_is_float(f.structure.specs[k]->dtype))) {
            const pith_array *a = pithp_mark(s, op, name, f.items[k]);
            if (a) /* a sharded leaf remains one */
                f.items[k] = pithp_array_place(s, a, f.structure.specs[k]);
            any = true;
        }
    const void *marked = tree;
    if (pith_failed(s))
        marked = NULL;
    else if (any && pithp_kind_is_array(tree))
        marked = f.items[0];
    else if (any)
        marked = pithp_tangent_build(s, &f.structure, f.items);
    pithp_flat_end(&f);
    return marked && pithp_keep_slots(s, 1, &marked) == PITH_OK ? marked
                                                                : pithp_nil_for(tree);
}

const void *pith_stop_gradient_any(pith_scope *s, const void *tree) {
    return pithp_enter(s) ? mark(s, tree, PITHP_OP_STOP_GRADIENT, NULL)
                          : pithp_nil_for(tree);
}

const void *pith_non_differentiable_any(pith_scope *s, const void *tree) {
    return pithp_enter(s) ? mark(s, tree, PITHP_OP_NON_DIFFERENTIABLE, NULL)
                          : pithp_nil_for(tree);
}

const void *pith_name_kept_any(pith_scope *s, const void *tree, const char *name) {
    if (!pithp_enter(s) || pithp_name_check(s, "pith_name_kept", name) != PITH_OK)
        return pithp_nil_for(tree);
    return mark(s, tree, PITHP_OP_NAME, name);
}
