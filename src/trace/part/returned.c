/* Trees returned by functions: comparison with the trees that they must be like, and
 * their members. */
#include "trace/part/part.h"

#include <stdio.h>
#include <string.h>

static void returned_print(char text[PITHP_RETURNED_BYTES], const pithp_returned *r) {
    snprintf(text, PITHP_RETURNED_BYTES, "%s: %s %.100s's %s", r->function, r->role,
             r->f->name, r->part);
}

static pith_status fail_leaf(pith_scope *s,
                             const char *what,
                             const pithp_flat *wanted,
                             const pithp_flat *got) {
    for (int64_t k = 0; k < wanted->structure.item_count; k++) {
        const pith_spec *a = wanted->structure.specs[k], *b = got->structure.specs[k];
        char expected[PITHP_LEAF_TEXT_BYTES], text[PITHP_LEAF_TEXT_BYTES];
        const bool placed = pithp_placement_of(a) != pithp_placement_of(b);
        if (a != b)
            return pithp_item_fail(s, &wanted->structure, k,
                                   a->dtype == b->dtype ? PITH_E_SHAPE : PITH_E_DTYPE,
                                   "%s: expected %s, got %s%s", what,
                                   pithp_leaf_print(a, expected),
                                   pithp_leaf_print(b, text),
                                   placed ? ": pith_shard_map, pith_shard and "
                                            "pith_unshard place leaves"
                                          : "");
    }
    return PITH_OK;
}

pith_status pithp_returned_check(pith_scope *s,
                                 const pithp_returned *r,
                                 const void *expected,
                                 const pithp_flat *wanted,
                                 const void *got) {
    pithp_flat f;
    char what[PITHP_RETURNED_BYTES];
    pith_status rc = pithp_flat_make(s, &f, got, NULL, NULL);
    if (rc != PITH_OK)
        return rc;
    if (!pithp_structure_equal(&wanted->structure, &f.structure)) {
        returned_print(what, r);
        rc = pithp_structure_same(&wanted->structure, &f.structure)
                 ? fail_leaf(s, what, wanted, &f)
                 : pithp_differences_fail(s, expected, got, what, NULL, NULL);
    }
    pithp_flat_end(&f);
    return rc;
}

/* The tree in a record's member; NULL: no such member, or absent. */
static const void *member(const void *record, const char *name) {
    const pithp_node_def *node_def = pithp_node_def_of(record);
    const int64_t count = pith_child_count(record);
    for (int64_t i = 0; i < count; i++)
        if (!strcmp(pithp_slot_name(node_def, i), name))
            return *pithp_slot(record, node_def, i);
    return NULL;
}

pith_status pithp_returned_members(pith_scope *s,
                                   const pithp_returned *r,
                                   const char *const names[2],
                                   const void *result,
                                   const void *parts[2]) {
    char what[PITHP_RETURNED_BYTES];
    const bool record = pithp_kind_of(result) == PITHP_KIND_RECORD;
    const void *found[2] = {NULL, NULL};
    for (int k = 0; k < 2; k++)
        if (!record || !(found[k] = member(result, names[k]))) {
            returned_print(what, r);
            return pithp_fail(
                s, PITH_E_TYPE, NULL,
                "%s: expected a record with the members %s and %s, got %s%s%s", what,
                names[0], names[1],
                record ? pithp_node_def_of(result)->type->name : "another tree",
                record ? " without " : "", record ? names[k] : "");
        }
    memcpy(parts, found, sizeof found);
    return PITH_OK;
}
