/* Validation of a step: its result has the structure, dtypes and extents of its state. */
#include "run/attempt.h"

/* Comparison of two structures item by item. */
typedef struct {
    pith_scope *s;
    const pithp_structure *before, *after;
    const char *step; /* name of the function */
    bool statics;     /* a static differs, so extents may differ */
} comparison;

static bool same_place(comparison *c, const pithp_cursor *a, const pithp_cursor *b) {
    if (a->kind != b->kind)
        return false;
    if (a->kind != PITHP_TOKEN_NODE || a->node_def == b->node_def)
        return true;
    if (a->node_def->kind == PITHP_KIND_RECORD &&
        a->node_def->type == b->node_def->type) {
        c->statics = true;
        return true;
    }
    if (a->node_def->kind != b->node_def->kind ||
        a->node_def->slot_count != b->node_def->slot_count)
        return false;
    return a->node_def->kind != PITHP_KIND_DICT ||
           pithp_node_def_same_node(a->node_def, b->node_def);
}

/* Whether nodes and absent children agree. */
static bool same_nodes(comparison *c) {
    pithp_cursor a, b;
    bool same = true, more = true;
    pithp_cursor_begin(&a, c->s->runtime, c->before);
    pithp_cursor_begin(&b, c->s->runtime, c->after);
    while (same && more) {
        more = pithp_cursor_next(&a);
        same = pithp_cursor_next(&b) == more && (!more || same_place(c, &a, &b));
    }
    if (a.frames.failed || b.frames.failed)
        pithp_fail_memory(c->s, 0);
    pithp_cursor_end(&b);
    pithp_cursor_end(&a);
    return same;
}

static pith_status check_leaf(const comparison *c, int64_t i) {
    const pith_spec *was = c->before->specs[i], *is = c->after->specs[i];
    char expected[PITHP_LEAF_TEXT_BYTES], got[PITHP_LEAF_TEXT_BYTES];
    if (was == is || (was->dtype == is->dtype && was->rank == is->rank && c->statics))
        return PITH_OK;
    const bool dtype = was->dtype != is->dtype;
    return pithp_item_fail(
        c->s, c->before, i, dtype ? PITH_E_DTYPE : PITH_E_SHAPE,
        "the result of %s: expected %s as the state has, got %s; %s", c->step,
        pithp_leaf_print(was, expected), pithp_leaf_print(is, got),
        dtype ? "make constants with pith_like(s, in->x, 0.1), or convert the result "
                "with pith_cast"
              : "the leaves of a state keep their extents, unless a static changes with "
                "them (a capacity, say)");
}

pith_status pithp_state_check(pith_scope *s,
                              const char *step,
                              const pithp_flat *before,
                              const void *state,
                              const void *result,
                              bool *changed) {
    pithp_flat after;
    if (pithp_flat_make(s, &after, result, NULL, NULL) != PITH_OK)
        return s->error.code;
    comparison c = {
        .s = s, .before = &before->structure, .after = &after.structure, .step = step};
    if (PITHP_UNLIKELY(!pithp_structure_equal(c.before, c.after))) {
        if (changed)
            *changed = true;
        if (!same_nodes(&c)) {
            char of[120];
            snprintf(of, sizeof of, "the result of %.80s", step);
            pithp_differences_fail(s, state, result, of, NULL, NULL);
        }
        for (int64_t i = 0; s->error.code == PITH_OK && i < c.before->item_count; i++)
            check_leaf(&c, i);
    }
    pithp_flat_end(&after);
    return s->error.code;
}
