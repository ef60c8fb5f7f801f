/* Composition of structures: one inside another, and the children of one. */
#include "tree/tree_internal.h"

#include <string.h>

/* ---- Tokens, with runs of maximal length ---- */

static pith_status
composed_begin(pith_scope *s, pithp_composed *c, size_t tokens, size_t items) {
    const size_t each = sizeof *c->structure.tokens + sizeof *c->structure.heads;
    *c = (pithp_composed){.rt = s->runtime};
    if (pithp_mul_overflows(tokens, each, &c->token_bytes) ||
        pithp_mul_overflows(items + 1, sizeof(void *), &c->spec_bytes))
        return pithp_fail_memory(s, SIZE_MAX);
    c->structure.tokens = pithp_scratch_allocate(c->rt, c->token_bytes);
    c->structure.specs = pithp_scratch_allocate(c->rt, c->spec_bytes);
    if (c->structure.tokens && c->structure.specs) {
        c->structure.heads = (uint32_t *)(c->structure.tokens + tokens);
        return PITH_OK;
    }
    pithp_fail_memory(s, c->token_bytes + c->spec_bytes);
    pithp_composed_end(c);
    return PITH_E_MEMORY;
}

void pithp_composed_end(pithp_composed *c) {
    pithp_scratch_release(c->rt, c->structure.tokens, c->token_bytes);
    pithp_scratch_release(c->rt, c->structure.specs, c->spec_bytes);
}

static void add_node(pithp_structure *t, const pithp_node_def *node_def, uint32_t head) {
    t->heads[t->token_count] = head;
    t->tokens[t->token_count++] = (uintptr_t)node_def;
}

static void add_run(pithp_structure *t, int kind, int64_t run) {
    if (t->token_count && pithp_token_kind(t->tokens[t->token_count - 1]) == kind) {
        t->tokens[t->token_count - 1] += (uintptr_t)run << 2;
        return;
    }
    t->heads[t->token_count] = 0;
    t->tokens[t->token_count++] = (uintptr_t)run << 2 | (uintptr_t)kind;
}

/* Append the slot that the cursor read last. */
static void add_slot(pithp_structure *t, const pithp_cursor *c) {
    if (c->kind == PITHP_TOKEN_NODE) {
        add_node(t, c->node_def, c->t->heads[c->place]);
        return;
    }
    add_run(t, c->kind, 1);
    if (c->kind != PITHP_TOKEN_ABSENT)
        t->specs[t->item_count++] = c->t->specs[c->item - 1];
}

/* ---- Composition ---- */

static bool is_item(const pithp_structure *t) {
    return t->node_count == 1 && t->item_count == 1;
}

/* Append the tokens of inner in place of one item of outer. */
static void add_inner(pithp_structure *t, const pithp_structure *inner, bool any) {
    for (int64_t i = 0; i < inner->token_count; i++) {
        const int kind = pithp_token_kind(inner->tokens[i]);
        if (kind == PITHP_TOKEN_NODE)
            add_node(t, pithp_token_shape(inner->tokens[i]), inner->heads[i]);
        else
            add_run(t, any && kind == PITHP_TOKEN_LEAVES ? PITHP_TOKEN_PICKED : kind,
                    pithp_token_run(inner->tokens[i]));
    }
    for (int64_t i = 0; i < inner->item_count; i++)
        t->specs[t->item_count++] = any ? NULL : inner->specs[i];
}

/* The definition of a node of outer: a container of leaves becomes one of other trees. */
static const pithp_node_def *
outer_shape(pith_scope *s, const pithp_node_def *node_def, bool leaves) {
    if (leaves || node_def->type || !node_def->all_leaves || node_def->slot_count == 0)
        return node_def;
    return pithp_node_def_container(s, node_def->kind, node_def->slot_count,
                                    node_def->keys, false);
}

pith_status pithp_compose(pith_scope *s,
                          pithp_composed *made,
                          const pithp_structure *outer,
                          const pithp_structure *inner,
                          bool any) {
    const size_t places = (size_t)outer->item_count;
    size_t tokens, items;
    if (pithp_mul_overflows(places, (size_t)inner->token_count + 1, &tokens) ||
        pithp_add_overflows(tokens, (size_t)outer->token_count, &tokens) ||
        pithp_mul_overflows(places, (size_t)inner->item_count, &items))
        return pithp_fail_memory(s, SIZE_MAX);
    const pith_status rc = composed_begin(s, made, tokens, items);
    if (rc != PITH_OK)
        return rc;
    pithp_structure *t = &made->structure;
    for (int64_t i = 0; i < outer->token_count; i++) {
        const uintptr_t token = outer->tokens[i];
        const int kind = pithp_token_kind(token);
        if (kind == PITHP_TOKEN_NODE) {
            const pithp_node_def *node_def =
                outer_shape(s, pithp_token_shape(token), any || is_item(inner));
            if (!node_def) {
                pithp_composed_end(made);
                return s->error.code;
            }
            add_node(t, node_def, 0);
        } else if (kind == PITHP_TOKEN_ABSENT) {
            add_run(t, kind, pithp_token_run(token));
        } else {
            for (int64_t run = pithp_token_run(token); run-- > 0;)
                add_inner(t, inner, any);
        }
    }
    pithp_structure_count(t);
    t->loose = true;
    return PITH_OK;
}

const pith_treedef *pith_treedef_compose(pith_scope *s,
                                         const pith_treedef *outer,
                                         const pith_treedef *inner) {
    static const char *const name = "pith_treedef_compose";
    if (!pithp_enter(s))
        return NULL;
    const pithp_structure *o = pithp_treedef_check(s, outer, name, "outer");
    const pithp_structure *i = o ? pithp_treedef_check(s, inner, name, "inner") : NULL;
    pithp_composed c;
    if (!i || pithp_compose(s, &c, o, i, false) != PITH_OK)
        return NULL;
    const pith_treedef *def = pithp_treedef_make(s, &c.structure);
    pithp_composed_end(&c);
    return def;
}

/* ---- Children ---- */

/* The structure of the child whose root the cursor read last; advances past it. */
static const pith_treedef *
child_of(pith_scope *s, pithp_cursor *c, pithp_structure *scratch) {
    scratch->token_count = scratch->item_count = 0;
    scratch->loose = c->t->loose;
    const int64_t outside =
        c->frames.depth - (c->node_def && c->node_def->slot_count > 0);
    add_slot(scratch, c);
    while (pithp_cursor_inside(c, outside) && pithp_cursor_next(c))
        add_slot(scratch, c);
    return pithp_treedef_make(s, scratch);
}

const pith_treedef *const *
pith_treedef_children(pith_scope *s, const pith_treedef *def, int64_t *count) {
    static const char *const name = "pith_treedef_children";
    if (count)
        *count = 0;
    if (!pithp_enter(s))
        return NULL;
    const pithp_structure *t = pithp_treedef_check(s, def, name, "def");
    if (t && !count)
        pithp_fail(s, PITH_E_ARG, NULL, "%s: count is NULL", name);
    pithp_composed scratch;
    if (!t || !count ||
        composed_begin(s, &scratch, (size_t)t->token_count, (size_t)t->item_count) !=
            PITH_OK)
        return NULL;
    pithp_cursor c;
    pithp_cursor_begin(&c, s->runtime, t);
    const bool node = pithp_cursor_next(&c) && c.kind == PITHP_TOKEN_NODE;
    const int64_t children = node ? c.node_def->slot_count : 0;
    const pith_treedef **made =
        pithp_scope_allocate(s, ((size_t)children + 1) * sizeof *made);
    bool good = made;
    for (int64_t i = 0; good && i < children; i++) {
        good = pithp_cursor_next(&c);
        if (!good)
            break;
        made[i] = NULL;
        if (c.kind != PITHP_TOKEN_ABSENT)
            good = (made[i] = child_of(s, &c, &scratch.structure));
    }
    if (c.frames.failed)
        pithp_fail_memory(s, (size_t)c.frames.room * sizeof *c.frames.frames);
    pithp_cursor_end(&c);
    pithp_composed_end(&scratch);
    if (!good || s->error.code != PITH_OK)
        return NULL;
    *count = children;
    return made;
}
