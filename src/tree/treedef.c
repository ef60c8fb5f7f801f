/* Treedefs: the structure of a tree as a value of its own, with the specs of its leaves.
 * A small one lies in its scope whole; of a large one the arrays that the walk filled are
 * taken over, and released with the scope. */
#include "tree/tree_internal.h"

#include <string.h>

struct pith_treedef {
    pithp_structure structure;
    _Atomic uint64_t hash; /* 0: not asked for yet */
    pith_runtime *rt;
    const pith_array **items;       /* taken over: with the specs behind them */
    size_t token_bytes, item_bytes; /* of what was taken over */
};

static bool is_treedef(const pith_treedef *def, pithp_block **block) {
    return pithp_pointer_check(def, block) == PITHP_POINTER_OK &&
           pithp_kind_of(def) == PITHP_KIND_TREEDEF;
}

static void release_arrays(pith_scope *s, void *thing) {
    pith_treedef *def = thing;
    if (def->token_bytes)
        pithp_scratch_release(s->runtime, def->structure.tokens, def->token_bytes);
    if (def->item_bytes)
        pithp_scratch_release(s->runtime, def->items, def->item_bytes);
}

/* Tokens and heads, items and specs move to memory of the scope, or of the treedef. */
static pith_status take_over(pith_scope *s, pith_treedef *def, pithp_flat *f) {
    pithp_structure *t = &def->structure;
    const size_t tokens = (size_t)t->token_count, items = (size_t)t->item_count;
    if (t->tokens == f->first_tokens) {
        t->tokens =
            pithp_scope_allocate(s, tokens * (sizeof *t->tokens + sizeof *t->heads));
        if (!t->tokens)
            return PITH_E_MEMORY;
        t->heads = (uint32_t *)(t->tokens + tokens);
        memcpy(t->tokens, f->first_tokens, tokens * sizeof *t->tokens);
        memcpy(t->heads, f->first_heads, tokens * sizeof *t->heads);
    }
    def->items = f->items;
    if (f->items == f->first_items) {
        def->items = pithp_scope_allocate(s, items * 2 * sizeof(void *));
        if (!def->items)
            return PITH_E_MEMORY;
        t->specs = (const pith_spec **)(def->items + items);
        memcpy(def->items, f->first_items, items * sizeof(void *));
        memcpy(t->specs, f->first_specs, items * sizeof(void *));
    }
    const bool heap_tokens = t->tokens == f->structure.tokens;
    const bool heap_items = def->items == f->items;
    if (!heap_tokens && !heap_items)
        return PITH_OK;
    if (!pithp_scope_hold(s, def, release_arrays))
        return PITH_E_MEMORY;
    if (heap_tokens) {
        def->token_bytes = (size_t)f->token_room * (sizeof *t->tokens + sizeof *t->heads);
        f->structure.tokens = f->first_tokens;
    }
    if (heap_items) {
        def->item_bytes = (size_t)f->item_room * 2 * sizeof(void *);
        f->items = f->first_items;
    }
    return PITH_OK;
}

static pith_treedef *make(pith_scope *s, const void *tree) {
    pithp_flat f;
    if (pithp_flat_make(s, &f, tree, NULL, NULL) != PITH_OK)
        return NULL;
    pith_treedef *def = pithp_object_make(s, PITHP_KIND_TREEDEF, NULL, sizeof *def);
    if (def) {
        def->structure = f.structure;
        def->rt = s->runtime;
        if (take_over(s, def, &f) != PITH_OK)
            def = NULL;
        else if (!pithp_scope_reaches(s, pithp_owner_of(tree)) &&
                 pithp_structure_hold(s, &def->structure) != PITH_OK)
            def = NULL;
    }
    pithp_flat_end(&f);
    return def;
}

const pith_treedef *pith_tree_structure(pith_scope *s, const void *tree) {
    if (!pithp_enter(s) ||
        pithp_tree_check(s, tree, "pith_tree_structure", "tree") != PITH_OK)
        return NULL;
    return make(s, tree);
}

const pith_treedef *
pith_tree_flatten(pith_scope *s, const void *tree, const pith_array *const **leaves) {
    if (leaves)
        *leaves = NULL;
    if (!pithp_enter(s) ||
        pithp_tree_check(s, tree, "pith_tree_flatten", "tree") != PITH_OK)
        return NULL;
    if (!leaves) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_tree_flatten: leaves is NULL");
        return NULL;
    }
    const pith_treedef *def = make(s, tree);
    if (def)
        *leaves = def->items;
    return def;
}

const void *pith_tree_unflatten(pith_scope *s,
                                const pith_treedef *def,
                                int64_t count,
                                const pith_array *const *leaves) {
    pithp_block *block = NULL;
    const bool good = is_treedef(def, &block);
    const pithp_structure *t = good ? &def->structure : NULL;
    const void *nil = good ? pithp_nil_of(t) : NULL;
    if (!pithp_enter(s))
        return nil;
    if (!good || block->runtime != s->runtime) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_tree_unflatten: def is %s",
                   !def    ? "NULL"
                   : !good ? "no structure of a tree"
                           : "of another runtime");
        return nil;
    }
    if (count != t->item_count || (count && !leaves)) {
        if (count != t->item_count)
            pithp_fail(s, PITH_E_ARG, NULL,
                       "pith_tree_unflatten: expected %lld leaves, got %lld",
                       (long long)t->item_count, (long long)count);
        else
            pithp_fail(s, PITH_E_ARG, NULL, "pith_tree_unflatten: leaves is NULL");
        return nil;
    }
    const void *made = pithp_build(s, t, block->owner, leaves);
    return made ? made : nil;
}

/* ---- Properties ---- */

int64_t pith_treedef_num_leaves(const pith_treedef *def) {
    pithp_block *block = NULL;
    return is_treedef(def, &block) ? def->structure.item_count : 0;
}

int64_t pith_treedef_num_nodes(const pith_treedef *def) {
    pithp_block *block = NULL;
    return is_treedef(def, &block) ? def->structure.node_count : 0;
}

bool pith_treedef_equal(const pith_treedef *a, const pith_treedef *b) {
    pithp_block *block = NULL;
    if (!is_treedef(a, &block) || !is_treedef(b, &block))
        return false;
    const pithp_structure *x = &a->structure, *y = &b->structure;
    return a == b ||
           (pithp_structure_same(x, y) &&
            memcmp(x->specs, y->specs, (size_t)x->item_count * sizeof(void *)) == 0);
}

/* Shapes count by value: one that was freed and made again has another address. Specs
 * live as long as the runtime. */
static uint64_t hash_of(const pithp_structure *t) {
    uint64_t h = (uint64_t)t->item_count;
    for (int64_t i = 0; i < t->token_count; i++) {
        const uintptr_t token = t->tokens[i];
        const uint64_t word = pithp_token_kind(token) == PITHP_TOKEN_NODE
                                  ? pithp_token_shape(token)->hash
                                  : token;
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return pithp_hash(h, t->specs, (size_t)t->item_count * sizeof(void *));
}

uint64_t pith_treedef_hash(const pith_treedef *def) {
    pithp_block *block = NULL;
    if (!is_treedef(def, &block))
        return 0;
    pith_treedef *writable = (pith_treedef *)(uintptr_t)def;
    uint64_t h = atomic_load_explicit(&writable->hash, memory_order_relaxed);
    if (h == 0) {
        h = hash_of(&def->structure);
        h += h == 0;
        atomic_store_explicit(&writable->hash, h, memory_order_relaxed);
    }
    return h;
}
