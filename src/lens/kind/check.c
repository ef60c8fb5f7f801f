/* The part that is a check: what is there must be a record of a type. The steps behind it
 * rely on that. */
#include "lens/lens_internal.h"

static const void *
get_check(pith_scope *s, const pithp_lens_part *parts, int32_t count, const void *node) {
    return pithp_lens_check_type(s, node, parts->type) == PITH_OK
               ? pithp_lens_look_behind(s, parts, count, node)
               : NULL;
}

static pith_status set_check(pithp_lens_edits *e,
                             const pithp_lens_part *parts,
                             int32_t count,
                             const void *node,
                             const void *value) {
    const pith_status rc = pithp_lens_check_type(e->s, node, parts->type);
    return rc == PITH_OK ? pithp_lens_expand(e, parts + 1, count - 1, node, value) : rc;
}

static void check_text(pithp_string *t, const pithp_lens_part *part) {
    (void)t, (void)part;
}

static void add_identity(pithp_string *t, const pithp_lens_part *part) {
    pithp_string_add_n(t, (const char *)&part->type, sizeof part->type);
}

const pithp_lens_kind pithp_lens_check_kind = {.get = get_check,
                                               .set = set_check,
                                               .text = check_text,
                                               .identity = add_identity};
