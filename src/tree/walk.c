/* Tree walker: every traversal of the library is one of the two loops here, which share
 * their frames. One visits step by step; the other flattens leaves and structure at once.
 * Neither recurses: the stack is memory of the runtime. */
#include "tree/tree_internal.h"

#include <string.h>

bool pithp_walk_enter(pithp_walk *w, const void *node, const pithp_node_def *node_def) {
    if (PITHP_UNLIKELY(w->depth == w->room)) {
        const size_t bytes = (size_t)w->room * sizeof *w->frames;
        pithp_walk_frame *grown = pithp_scratch_allocate(w->rt, 2 * bytes);
        if (!grown) {
            w->failed = true;
            return false;
        }
        memcpy(grown, w->frames, bytes);
        if (w->frames != w->first)
            pithp_scratch_release(w->rt, w->frames, bytes);
        w->frames = grown;
        w->room *= 2;
    }
    w->frames[w->depth++] = (pithp_walk_frame){.node = node, .node_def = node_def};
    return true;
}

void pithp_walk_begin(pithp_walk *w, pith_runtime *rt, const void *tree) {
    w->rt = rt;
    w->frames = w->first;
    w->depth = 0;
    w->room = PITHP_COUNT(w->first);
    w->root = tree;
    w->started = w->failed = false;
    w->node = NULL;
    w->slot = -1;
}

void pithp_walk_end(pithp_walk *w) {
    if (w->frames != w->first)
        pithp_scratch_release(w->rt, w->frames, (size_t)w->room * sizeof *w->frames);
    w->frames = w->first;
    w->depth = 0;
}

bool pithp_walk_next(pithp_walk *w, pithp_visit *visit) {
    if (PITHP_UNLIKELY(!w->started)) {
        w->started = true;
        w->node = w->root;
    } else {
        if (w->depth == 0)
            return false;
        pithp_walk_frame *top = &w->frames[w->depth - 1];
        if (top->next == top->node_def->slot_count) {
            w->depth--;
            w->node = top->node;
            w->slot = w->depth ? w->frames[w->depth - 1].next - 1 : -1;
            *visit = PITHP_VISIT_LEAVE;
            return true;
        }
        w->slot = top->next++;
        w->node = *pithp_slot(top->node, top->node_def, w->slot);
    }
    if (!w->node) {
        *visit = PITHP_VISIT_ABSENT;
        return true;
    }
    const pithp_kind kind = pithp_kind_of(w->node);
    if (kind == PITHP_KIND_ARRAY || kind == PITHP_KIND_FREE) {
        *visit = PITHP_VISIT_LEAF;
        return true;
    }
    *visit = PITHP_VISIT_ENTER;
    return pithp_walk_enter(w, w->node, pithp_node_def_of(w->node));
}

void pithp_walk_skip(pithp_walk *w) {
    pithp_walk_jump(w, INT64_MAX);
}

void pithp_walk_jump(pithp_walk *w, int64_t slot) {
    pithp_walk_frame *top = &w->frames[w->depth - 1];
    top->next = slot < top->node_def->slot_count ? slot : top->node_def->slot_count;
}

void pithp_walk_path(const pithp_walk *w, pithp_string *path) {
    int64_t steps = w->depth;
    if (steps && w->frames[steps - 1].node == w->node)
        steps--; /* an entered node: the step to it is in its parent's frame */
    for (int64_t i = 0; i < steps; i++)
        pithp_path_add_slot(path, w->frames[i].node_def, w->frames[i].next - 1);
}

/* ---- Flattening ---- */

/* Arrays grow in few steps: a copy and an allocation cost more than flattening. */
enum { GROWTH = 4 };

/* Items and specs share one allocation, items first. Both start inside pithp_flat. */
static bool grow_items(pithp_flat *f, int64_t more) {
    pithp_structure *t = &f->structure;
    const int64_t old = f->item_room, need = t->item_count + more;
    const int64_t room = need > GROWTH * old ? need : GROWTH * old;
    const pith_array **items =
        pithp_scratch_allocate(f->rt, (size_t)room * 2 * sizeof(void *));
    if (!items)
        return false;
    const pith_spec **specs = (const pith_spec **)(items + room);
    memcpy(items, f->items, (size_t)t->item_count * sizeof *items);
    memcpy(specs, t->specs, (size_t)t->item_count * sizeof *specs);
    if (f->items != f->first_items)
        pithp_scratch_release(f->rt, f->items, (size_t)old * 2 * sizeof(void *));
    f->items = items;
    t->specs = specs;
    f->item_room = room;
    return true;
}

static inline bool reserve_items(pithp_flat *f, int64_t more) {
    return PITHP_LIKELY(f->item_room - f->structure.item_count >= more) ||
           grow_items(f, more);
}

/* Tokens and heads also share one allocation. */
static bool grow_tokens(pithp_flat *f) {
    pithp_structure *t = &f->structure;
    const size_t old = (size_t)f->token_room, each = sizeof *t->tokens + sizeof *t->heads;
    uintptr_t *tokens = pithp_scratch_allocate(f->rt, GROWTH * old * each);
    if (!tokens)
        return false;
    uint32_t *heads = (uint32_t *)(tokens + GROWTH * old);
    memcpy(tokens, t->tokens, old * sizeof *tokens);
    memcpy(heads, t->heads, old * sizeof *heads);
    if (t->tokens != f->first_tokens)
        pithp_scratch_release(f->rt, t->tokens, old * each);
    t->tokens = tokens;
    t->heads = heads;
    f->token_room *= GROWTH;
    return true;
}

static inline bool add_token(pithp_flat *f, uintptr_t token, uint32_t head) {
    pithp_structure *t = &f->structure;
    if (PITHP_UNLIKELY(t->token_count == f->token_room) && !grow_tokens(f))
        return false;
    t->heads[t->token_count] = head;
    t->tokens[t->token_count++] = token;
    return true;
}

static inline bool add_run(pithp_flat *f, int kind, int64_t run) {
    pithp_structure *t = &f->structure;
    t->node_count += run;
    if (t->token_count && pithp_token_kind(t->tokens[t->token_count - 1]) == kind) {
        t->tokens[t->token_count - 1] += (uintptr_t)run << 2;
        return true;
    }
    return run == 0 || add_token(f, (uintptr_t)run << 2 | (uintptr_t)kind, 0);
}

static inline void add_item(pithp_flat *f, const void *item, const pith_spec *spec) {
    pithp_structure *t = &f->structure;
    f->items[t->item_count] = item;
    t->specs[t->item_count++] = spec;
}

/* Append the leaves in slots from `first` on, up to a slot without a live leaf. Returns
 * their number. */
static inline __attribute__((always_inline)) int64_t
gather_run(pithp_flat *f, const char *node, const uint32_t *offsets, int64_t count) {
    const pith_array **items = f->items + f->structure.item_count;
    const pith_spec **specs = f->structure.specs + f->structure.item_count;
    int64_t i = 0;
    for (; i < count; i++) {
        const size_t at = offsets ? offsets[i] : (size_t)i * sizeof(void *);
        const void *leaf = *(const void *const *)(const void *)(node + at);
        if (PITHP_UNLIKELY(!leaf))
            break;
        const pithp_header *h = pithp_header_of(leaf);
        if (PITHP_UNLIKELY(h->kind != PITHP_KIND_ARRAY))
            break;
        items[i] = leaf;
        specs[i] = h->descriptor;
    }
    return i;
}

/* Append the leaves of a node whose slots are leaves or absent. */
static pith_status
gather_leaves(pithp_flat *f, const void *node, const pithp_node_def *node_def) {
    const int64_t count = node_def->slot_count;
    if (!reserve_items(f, count))
        return PITH_E_MEMORY;
    for (int64_t i = 0;;) {
        const uint32_t *offsets = node_def->slot_offsets;
        const int64_t run =
            offsets ? gather_run(f, node, offsets + i, count - i)
                    : gather_run(f, (const char *)node + (size_t)i * sizeof(void *), NULL,
                                 count - i);
        f->structure.item_count += run;
        if (!add_run(f, PITHP_TOKEN_LEAVES, run))
            return PITH_E_MEMORY;
        i += run;
        if (i == count)
            return PITH_OK;
        if (*pithp_slot(node, node_def, i))
            return PITH_E_ARG;
        if (!add_run(f, PITHP_TOKEN_ABSENT, 1))
            return PITH_E_MEMORY;
        if (++i == count)
            return PITH_OK;
    }
}

/* Enter a node: append its token; append its leaves at once if all slots are leaves. */
static pith_status enter(pithp_flat *f, pithp_walk *w, const void *node) {
    const pithp_header *h = pithp_header_of(node);
    const pithp_node_def *node_def = h->descriptor;
    f->structure.node_count++;
    f->structure.slab_bytes += pithp_node_bytes(node_def);
    if (node_def->type) {
        f->structure.hooks |= node_def->type->check != NULL;
        f->structure.matches |= node_def->type->match != NULL;
    }
    if (!add_token(f, (uintptr_t)node_def, h->flags | (uint32_t)h->extra << 16))
        return PITH_E_MEMORY;
    if (node_def->slot_count == 0)
        return PITH_OK;
    if (node_def->all_leaves)
        return gather_leaves(f, node, node_def);
    return pithp_walk_enter(w, node, node_def) ? PITH_OK : PITH_E_MEMORY;
}

static pith_status pick(pithp_flat *f, const void *node) {
    f->structure.picked = true;
    if (!reserve_items(f, 1) || !add_run(f, PITHP_TOKEN_PICKED, 1))
        return PITH_E_MEMORY;
    add_item(f, node, NULL);
    return PITH_OK;
}

/* PITH_E_ARG: a leaf was dropped; it is the item after the last one. */
static pith_status
gather(pithp_flat *f, pithp_walk *w, pithp_is_leaf is_leaf, void *closure) {
    const void *node = w->root;
    for (;;) {
        pith_status rc = PITH_OK;
        if (!node) {
            rc = add_run(f, PITHP_TOKEN_ABSENT, 1) ? PITH_OK : PITH_E_MEMORY;
        } else if (pithp_kind_of(node) == PITHP_KIND_ARRAY) {
            if (!reserve_items(f, 1) || !add_run(f, PITHP_TOKEN_LEAVES, 1))
                return PITH_E_MEMORY;
            add_item(f, node, pithp_header_of(node)->descriptor);
        } else if (pithp_kind_of(node) == PITHP_KIND_FREE) {
            return PITH_E_ARG;
        } else if (is_leaf && is_leaf(node, closure)) {
            rc = pick(f, node);
        } else {
            rc = enter(f, w, node);
        }
        if (PITHP_UNLIKELY(rc != PITH_OK))
            return rc;
        if (w->depth == 0)
            return PITH_OK;
        /* A node is popped with its last slot, so that chains need no stack. */
        pithp_walk_frame *top = &w->frames[w->depth - 1];
        node = *pithp_slot(top->node, top->node_def, top->next++);
        if (top->next == top->node_def->slot_count) {
            w->depth--;
        } else { /* prefetch the header of the next sibling */
            const void *sibling = *pithp_slot(top->node, top->node_def, top->next);
            if (sibling)
                __builtin_prefetch(pithp_header_of(sibling));
        }
    }
}

/* The path of the item-th item of a tree. */
static void path_of_item(pith_scope *s,
                         const void *tree,
                         int64_t item,
                         pithp_is_leaf is_leaf,
                         void *closure,
                         pithp_string *path) {
    pithp_walk w;
    pithp_visit visit;
    pithp_walk_begin(&w, s->runtime, tree);
    while (pithp_walk_next(&w, &visit)) {
        bool counts = visit == PITHP_VISIT_LEAF;
        if (visit == PITHP_VISIT_ENTER && is_leaf && is_leaf(w.node, closure)) {
            pithp_walk_skip(&w);
            counts = true;
        }
        if (counts && item-- == 0) {
            pithp_walk_path(&w, path);
            break;
        }
    }
    pithp_walk_end(&w);
}

pith_status pithp_flat_make(pith_scope *s,
                            pithp_flat *f,
                            const void *tree,
                            pithp_is_leaf is_leaf,
                            void *closure) {
    f->structure = (pithp_structure){
        .tokens = f->first_tokens, .heads = f->first_heads, .specs = f->first_specs};
    f->items = f->first_items;
    f->rt = s->runtime;
    f->token_room = f->item_room = PITHP_FLAT_FIRST;
    pithp_walk w;
    pithp_walk_begin(&w, s->runtime, tree);
    const pith_status rc = gather(f, &w, is_leaf, closure);
    pithp_walk_end(&w);
    if (PITHP_LIKELY(rc == PITH_OK))
        return PITH_OK;
    if (rc == PITH_E_MEMORY) {
        pithp_fail_memory(s, (size_t)f->item_room * 4 * sizeof(void *));
    } else {
        pithp_string path;
        pithp_string_begin(&path, s->runtime);
        path_of_item(s, tree, f->structure.item_count, is_leaf, closure, &path);
        pithp_fail(s, PITH_E_ARG, path.bytes, "the leaf was dropped (pith_drop)");
        pithp_string_end(&path);
    }
    pithp_flat_end(f);
    return rc;
}

void pithp_flat_end(pithp_flat *f) {
    const size_t token = sizeof(uintptr_t) + sizeof(uint32_t), item = 2 * sizeof(void *);
    if (f->structure.tokens != f->first_tokens)
        pithp_scratch_release(f->rt, f->structure.tokens, (size_t)f->token_room * token);
    if (f->items != f->first_items)
        pithp_scratch_release(f->rt, f->items, (size_t)f->item_room * item);
}
