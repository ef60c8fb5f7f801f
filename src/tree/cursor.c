/* Structure cursor: reads a structure slot by slot, as the walker reads a tree. For
 * operations on structures without a tree. */
#include "tree/tree_internal.h"

void pithp_cursor_begin(pithp_cursor *c, pith_runtime *rt, const pithp_structure *t) {
    pithp_walk_begin(&c->frames, rt, NULL);
    c->t = t;
    c->token = c->left = c->item = 0;
    c->place = -1;
    c->node_def = NULL;
}

void pithp_cursor_end(pithp_cursor *c) {
    pithp_walk_end(&c->frames);
}

/* Leave the nodes whose slots are all read. */
static void pop(pithp_walk *w) {
    while (w->depth &&
           w->frames[w->depth - 1].next == w->frames[w->depth - 1].node_def->slot_count)
        w->depth--;
}

bool pithp_cursor_next(pithp_cursor *c) {
    pithp_walk *w = &c->frames;
    pop(w);
    if (c->left == 0) {
        if (c->token == c->t->token_count)
            return false;
        const uintptr_t token = c->t->tokens[c->token];
        c->kind = pithp_token_kind(token);
        c->left = c->kind == PITHP_TOKEN_NODE ? 1 : pithp_token_run(token);
        c->node_def = c->kind == PITHP_TOKEN_NODE ? pithp_token_shape(token) : NULL;
        c->place = c->token++;
    }
    c->left--;
    if (w->depth)
        w->frames[w->depth - 1].next++;
    w->node = c->node_def; /* of an entered node; its path is that of its parent */
    if (c->kind == PITHP_TOKEN_LEAVES || c->kind == PITHP_TOKEN_PICKED)
        c->item++;
    return !c->node_def || c->node_def->slot_count == 0 ||
           pithp_walk_enter(w, c->node_def, c->node_def);
}

bool pithp_cursor_inside(pithp_cursor *c, int64_t depth) {
    pop(&c->frames);
    return c->frames.depth > depth;
}

void pithp_cursor_skip(pithp_cursor *c) {
    if (c->kind != PITHP_TOKEN_NODE || c->node_def->slot_count == 0)
        return;
    const int64_t outside = c->frames.depth - 1;
    while (pithp_cursor_inside(c, outside) && pithp_cursor_next(c))
        continue;
}
