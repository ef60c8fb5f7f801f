/* Treedefs: the structure of a tree as an object, with the specs of its leaves. A small
 * treedef lies in its scope. A large one takes over the arrays of the walk, which the
 * scope releases. */
#include "tree/tree_internal.h"

#include <string.h>

struct pith_treedef {
    pithp_structure structure;
    _Atomic uint64_t hash; /* 0: not computed yet */
    pith_runtime *rt;
    const pith_array **items;       /* taken over, with the specs after them */
    size_t token_bytes, item_bytes; /* of the taken-over arrays */
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

/* Move tokens and heads, items and specs to the scope, or to the treedef. */
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

static pith_treedef *
make(pith_scope *s, const void *tree, pithp_is_leaf is_leaf, void *closure) {
    pithp_flat f;
    if (pithp_flat_make(s, &f, tree, is_leaf, closure) != PITH_OK)
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
    return make(s, tree, NULL, NULL);
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
    const pith_treedef *def = make(s, tree, NULL, NULL);
    if (def)
        *leaves = def->items;
    return def;
}

const pith_treedef *pith_tree_flatten_where(pith_scope *s,
                                            const void *tree,
                                            pith_is_leaf is_leaf,
                                            void *closure,
                                            const void *const **items) {
    if (items)
        *items = NULL;
    if (!pithp_enter(s) ||
        pithp_tree_check(s, tree, "pith_tree_flatten_where", "tree") != PITH_OK)
        return NULL;
    const pith_treedef *def = make(s, tree, is_leaf, closure);
    if (def && items)
        *items = (const void *const *)def->items;
    return def;
}

/* ---- Treedefs as arguments ---- */

const pithp_structure *pithp_treedef_check(pith_scope *s,
                                           const pith_treedef *def,
                                           const char *function,
                                           const char *name) {
    pithp_block *block = NULL;
    const bool good = is_treedef(def, &block);
    if (good && block->runtime == s->runtime)
        return &def->structure;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: %s is %s", function, name,
               !def    ? "NULL"
               : !good ? "not a treedef"
                       : "a treedef of another runtime");
    return NULL;
}

const void *pithp_nil_of_treedef(const pith_treedef *def) {
    pithp_block *block = NULL;
    return is_treedef(def, &block) ? pithp_nil_of(&def->structure) : NULL;
}

/* The structure, if the number of items matches. */
static const pithp_structure *enter_unflatten(pith_scope *s,
                                              const pith_treedef *def,
                                              int64_t count,
                                              const void *items,
                                              const char *function,
                                              const char *name) {
    if (!pithp_enter_as(s, function))
        return NULL;
    const pithp_structure *t = pithp_treedef_check(s, def, function, "def");
    if (!t || (count == t->item_count && (!count || items)))
        return t;
    if (count != t->item_count)
        pithp_fail(s, PITH_E_ARG, NULL, "%s: expected %lld %s, got %lld", function,
                   (long long)t->item_count, name, (long long)count);
    else
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %s is NULL", function, name);
    return NULL;
}

const void *pith_tree_unflatten(pith_scope *s,
                                const pith_treedef *def,
                                int64_t count,
                                const pith_array *const *leaves) {
    const void *made = NULL;
    const pithp_structure *t =
        enter_unflatten(s, def, count, leaves, "pith_tree_unflatten", "leaves");
    if (t && t->picked)
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_tree_unflatten: def has picked items: use "
                   "pith_tree_unflatten_where");
    else if (t)
        made = pithp_build(s, t, pithp_owner_of(def), leaves);
    return made ? made : pithp_nil_of_treedef(def);
}

/* Leaf items must be arrays; picked items may be any tree. */
static pith_status
check_items(pith_scope *s, const pithp_structure *t, const void *const *items) {
    for (int64_t i = 0; i < t->item_count; i++) {
        pith_status rc =
            pithp_tree_check(s, items[i], "pith_tree_unflatten_where", "item");
        if (rc != PITH_OK) {
            pithp_item_prefix(s, t, i);
            return rc;
        }
        if (!t->specs[i] || pithp_kind_of(items[i]) == PITHP_KIND_ARRAY)
            continue;
        pithp_string what;
        pithp_string_begin(&what, s->runtime);
        pithp_node_describe(&what, items[i]);
        rc = pithp_item_fail(s, t, i, PITH_E_ARG, "expected a leaf, got %s", what.bytes);
        pithp_string_end(&what);
        return rc;
    }
    return PITH_OK;
}

const void *pith_tree_unflatten_where(pith_scope *s,
                                      const pith_treedef *def,
                                      int64_t count,
                                      const void *const *items) {
    const void *made = NULL;
    const pithp_structure *t =
        enter_unflatten(s, def, count, items, "pith_tree_unflatten_where", "items");
    if (t && check_items(s, t, items) == PITH_OK)
        made = pithp_build(s, t, pithp_owner_of(def), (const pith_array *const *)items);
    return made ? made : pithp_nil_of_treedef(def);
}

const pith_treedef *pithp_treedef_make(pith_scope *s, const pithp_structure *from) {
    pith_treedef *def = pithp_object_make(s, PITHP_KIND_TREEDEF, NULL, sizeof *def);
    if (!def)
        return NULL;
    pithp_structure *t = &def->structure;
    *t = *from;
    pithp_structure_count(t);
    def->rt = s->runtime;
    const size_t tokens = (size_t)t->token_count, items = (size_t)t->item_count;
    t->tokens = pithp_scope_allocate(s, tokens * (sizeof *t->tokens + sizeof *t->heads));
    t->specs = t->tokens ? pithp_scope_allocate(s, items * sizeof *t->specs) : NULL;
    if (!t->specs)
        return NULL;
    t->heads = (uint32_t *)(t->tokens + tokens);
    memcpy(t->tokens, from->tokens, tokens * sizeof *t->tokens);
    memcpy(t->heads, from->heads, tokens * sizeof *t->heads);
    memcpy(t->specs, from->specs, items * sizeof *t->specs);
    return pithp_structure_hold(s, t) == PITH_OK ? def : NULL;
}

/* ---- Properties ---- */

bool pith_treedef_is_prefix(const pith_treedef *prefix, const pith_treedef *def) {
    pithp_block *block = NULL;
    if (!is_treedef(prefix, &block) || !is_treedef(def, &block))
        return false;
    pithp_cursor a, b;
    pithp_cursor_begin(&a, def->rt, &prefix->structure);
    pithp_cursor_begin(&b, def->rt, &def->structure);
    bool fits = true;
    while (fits && pithp_cursor_next(&a)) {
        fits = pithp_cursor_next(&b);
        if (fits && a.kind == PITHP_TOKEN_NODE)
            fits = b.kind == PITHP_TOKEN_NODE &&
                   pithp_node_def_same_node(a.node_def, b.node_def);
        else if (fits && a.kind == PITHP_TOKEN_ABSENT)
            fits = b.kind == PITHP_TOKEN_ABSENT;
        else if (fits)
            pithp_cursor_skip(&b);
    }
    fits = fits && !a.frames.failed && !b.frames.failed;
    pithp_cursor_end(&b);
    pithp_cursor_end(&a);
    return fits;
}

bool pith_treedef_is_leaf(const pith_treedef *def) {
    pithp_block *block = NULL;
    return is_treedef(def, &block) && def->structure.node_count == 1 &&
           def->structure.item_count == 1;
}

int64_t pith_treedef_num_leaves(const pith_treedef *def) {
    pithp_block *block = NULL;
    return is_treedef(def, &block) ? def->structure.item_count : 0;
}

int64_t pith_treedef_num_nodes(const pith_treedef *def) {
    pithp_block *block = NULL;
    return is_treedef(def, &block) ? def->structure.node_count : 0;
}

const pith_spec *pith_treedef_leaf_spec(const pith_treedef *def, int64_t leaf) {
    pithp_block *block = NULL;
    return is_treedef(def, &block) && leaf >= 0 && leaf < def->structure.item_count
               ? def->structure.specs[leaf]
               : NULL;
}

bool pith_treedef_equal(const pith_treedef *a, const pith_treedef *b) {
    pithp_block *block = NULL;
    if (!is_treedef(a, &block) || !is_treedef(b, &block))
        return false;
    return a == b || pithp_structure_equal(&a->structure, &b->structure);
}

uint64_t pith_treedef_hash(const pith_treedef *def) {
    pithp_block *block = NULL;
    if (!is_treedef(def, &block))
        return 0;
    pith_treedef *writable = (pith_treedef *)(uintptr_t)def;
    uint64_t h = atomic_load_explicit(&writable->hash, memory_order_relaxed);
    if (h == 0) {
        h = pithp_structure_hash(0, &def->structure);
        h += h == 0;
        atomic_store_explicit(&writable->hash, h, memory_order_relaxed);
    }
    return h;
}
