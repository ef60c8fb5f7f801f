/* The part that is a constant: a value whatever the root. */
#include "lens/lens_internal.h"

static pith_status copy_constant(pith_scope *s, pithp_lens_part *part) {
    return pithp_keep_slots(s, 1, &part->constant);
}

static const void *get_constant(pith_scope *s,
                                const pithp_lens_part *parts,
                                int32_t count,
                                const void *node) {
    node = parts->constant;
    return pithp_keep_slots(s, 1, &node) == PITH_OK
               ? pithp_lens_look_behind(s, parts, count, node)
               : NULL;
}

static pith_status set_constant(pithp_lens_edits *e,
                                const pithp_lens_part *parts,
                                int32_t count,
                                const void *node,
                                const void *value) {
    (void)e, (void)parts, (void)count, (void)node, (void)value;
    return PITH_OK;
}

static void constant_text(pithp_string *t, const pithp_lens_part *part) {
    pithp_string_add(t, "constant(");
    pithp_node_describe(t, part->constant);
    pithp_string_add(t, ")");
}

static const void **held_constant(pithp_lens_part *part) {
    return &part->constant;
}

static const pithp_lens_kind constant_kind = {.copy = copy_constant,
                                              .get = get_constant,
                                              .set = set_constant,
                                              .text = constant_text,
                                              .held = held_constant};

const pith_lens *pith_lens_constant(pith_scope *s, const void *value) {
    if (!pithp_enter(s) ||
        pithp_tree_check(s, value, "pith_lens_constant", "value") != PITH_OK)
        return NULL;
    const pithp_lens_part part = {.kind = &constant_kind, .constant = value};
    return pithp_lens_of_part(s, NULL, &part);
}
