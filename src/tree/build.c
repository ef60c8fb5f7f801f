/* Unflattening: builds nodes around leaves, the last step of every whole-tree operation.
 * If the leaves have the specs of the structure, all nodes go into one slab. Otherwise
 * nodes are built bottom-up and checked as in pith_freeze. */
#include "tree/tree_internal.h"

#include <string.h>

bool pithp_structure_same(const pithp_structure *a, const pithp_structure *b) {
    return a->token_count == b->token_count &&
           memcmp(a->tokens, b->tokens, (size_t)a->token_count * sizeof *a->tokens) == 0;
}

void pithp_structure_count(pithp_structure *t) {
    t->item_count = t->node_count = 0;
    t->slab_bytes = 0;
    t->hooks = t->matches = t->picked = false;
    for (int64_t i = 0; i < t->token_count; i++) {
        const uintptr_t token = t->tokens[i];
        const int kind = pithp_token_kind(token);
        if (kind == PITHP_TOKEN_NODE) {
            const pithp_node_def *node_def = pithp_token_shape(token);
            t->node_count++;
            t->slab_bytes += pithp_node_bytes(node_def);
            t->hooks |= node_def->type && node_def->type->check;
            t->matches |= node_def->type && node_def->type->match;
            continue;
        }
        t->node_count += pithp_token_run(token);
        t->item_count += kind == PITHP_TOKEN_ABSENT ? 0 : pithp_token_run(token);
        t->picked |= kind == PITHP_TOKEN_PICKED;
    }
}

pith_status pithp_structure_hold(pith_scope *s, const pithp_structure *t) {
    uintptr_t last = 0;
    for (int64_t i = 0; i < t->token_count; i++) {
        const uintptr_t token = t->tokens[i];
        if (pithp_token_kind(token) != PITHP_TOKEN_NODE || token == last)
            continue;
        last = token;
        const pith_status rc = pithp_node_def_hold(s, pithp_token_shape(token));
        if (rc != PITH_OK)
            return rc;
    }
    return PITH_OK;
}

const void *pithp_nil_for(const void *tree) {
    pithp_block *block = NULL;
    if (pithp_pointer_check(tree, &block) != PITHP_POINTER_OK ||
        pithp_kind_of(tree) != PITHP_KIND_RECORD)
        return NULL;
    return pithp_nil(pithp_node_def_of(tree)->type);
}

const void *pithp_nil_of(const pithp_structure *t) {
    const uintptr_t root = t->tokens[0];
    if (pithp_token_kind(root) != PITHP_TOKEN_NODE || !pithp_token_shape(root)->type)
        return NULL;
    return pithp_nil(pithp_token_shape(root)->type);
}

/* ---- Positions in a structure ---- */

/* Advance the innermost node by `slots`; leave nodes without further slots. */
static void advance(pithp_walk *w, int64_t slots) {
    pithp_walk_frame *top = &w->frames[w->depth - 1];
    top->next += slots;
    while (w->depth &&
           w->frames[w->depth - 1].next == w->frames[w->depth - 1].node_def->slot_count) {
        if (--w->depth)
            w->frames[w->depth - 1].next++;
    }
}

static void add_frames(const pithp_walk *w, pithp_string *path) {
    for (int64_t i = 0; i < w->depth; i++)
        pithp_path_add_slot(path, w->frames[i].node_def, w->frames[i].next);
}

bool pithp_structure_path(pith_runtime *rt,
                          const pithp_structure *t,
                          int64_t item,
                          pithp_string *path) {
    pithp_walk w;
    pithp_walk_begin(&w, rt, NULL);
    bool found = false;
    for (int64_t i = 0; i < t->token_count && !found && !w.failed; i++) {
        const uintptr_t token = t->tokens[i];
        const int kind = pithp_token_kind(token);
        if (kind == PITHP_TOKEN_NODE) {
            const pithp_node_def *node_def = pithp_token_shape(token);
            if (node_def->slot_count)
                pithp_walk_enter(&w, node_def, node_def);
            else if (w.depth)
                advance(&w, 1);
            continue;
        }
        for (int64_t run = pithp_token_run(token); run && !found;) {
            const pithp_walk_frame *top = w.depth ? &w.frames[w.depth - 1] : NULL;
            const int64_t left = top ? top->node_def->slot_count - top->next : 1;
            const int64_t n = run < left ? run : left;
            if (kind != PITHP_TOKEN_ABSENT && item < n) {
                if (top)
                    w.frames[w.depth - 1].next += item;
                add_frames(&w, path);
                found = true;
                break;
            }
            if (kind != PITHP_TOKEN_ABSENT)
                item -= n;
            run -= n;
            if (top)
                advance(&w, n);
        }
    }
    const bool failed = w.failed || path->failed;
    pithp_walk_end(&w);
    return !failed;
}

void pithp_item_prefix(pith_scope *s, const pithp_structure *t, int64_t item) {
    pithp_string path;
    pithp_string_begin(&path, s->runtime);
    if (pithp_structure_path(s->runtime, t, item, &path))
        pithp_error_prefix(s, path.bytes);
    pithp_string_end(&path);
}

pith_status pithp_item_fail(pith_scope *s,
                            const pithp_structure *t,
                            int64_t item,
                            pith_status code,
                            const char *format,
                            ...) {
    pithp_string path;
    pithp_string_begin(&path, s->runtime);
    pithp_structure_path(s->runtime, t, item, &path);
    va_list arguments;
    va_start(arguments, format);
    pithp_fail_v(s, code, path.bytes, s->site, format, arguments);
    va_end(arguments);
    pithp_string_end(&path);
    return code;
}

/* ---- Leaves from the user ---- */

static pith_status
refuse(pith_scope *s, const pithp_structure *t, int64_t i, const void *item) {
    pithp_block *block = NULL;
    const pithp_pointer verdict = pithp_pointer_check(item, &block);
    if (verdict != PITHP_POINTER_OK)
        return pithp_item_fail(s, t, i, PITH_E_ARG, "the leaf is %s",
                               pithp_pointer_text(verdict));
    if (pithp_kind_of(item) == PITHP_KIND_ARRAY) {
        if (block->runtime != s->runtime)
            return pithp_item_fail(s, t, i, PITH_E_ARG,
                                   "the leaf belongs to another runtime");
        const char *at, *where = pithp_array_donated_at(item, &at);
        return pithp_item_fail(s, t, i, PITH_E_DONATED, "the leaf was donated%s%s", where,
                               at);
    }
    pithp_string what;
    pithp_string_begin(&what, s->runtime);
    pithp_node_describe(&what, item);
    pithp_item_fail(s, t, i, PITH_E_ARG, "expected a leaf, got %s", what.bytes);
    pithp_string_end(&what);
    return PITH_E_ARG;
}

/* Check leaves. *same: all have the specs of the structure. *outlive: all outlive s. */
static pith_status check_items(pith_scope *s,
                               const pithp_structure *t,
                               const pith_array *const *items,
                               bool *same,
                               bool *outlive) {
    uintptr_t begin = 0; /* of objects in the block of the last leaf */
    size_t span = 0;
    *same = *outlive = true;
    for (int64_t i = 0; i < t->item_count; i++) {
        const uintptr_t at = (uintptr_t)items[i];
        if (PITHP_UNLIKELY(at - begin >= span || at % 16)) {
            pithp_block *block = NULL;
            if (pithp_pointer_check(items[i], &block) != PITHP_POINTER_OK ||
                block->runtime != s->runtime)
                return refuse(s, t, i, items[i]);
            begin = (uintptr_t)block + sizeof *block + sizeof(pithp_header);
            span = block->bytes - sizeof *block - sizeof(pithp_header);
            *outlive &= pithp_scope_reaches(s, block->owner);
        }
        const pithp_header *h = pithp_header_of(items[i]);
        if (PITHP_UNLIKELY(h->magic != PITHP_OBJECT_MAGIC ||
                           h->kind != PITHP_KIND_ARRAY ||
                           (h->extra & PITHP_ARRAY_DONATED)))
            return refuse(s, t, i, items[i]);
        *same &= h->descriptor == t->specs[i];
    }
    return PITH_OK;
}

/* ---- One slab ---- */

static void fill(char *node,
                 const pithp_node_def *node_def,
                 int64_t slot,
                 int64_t count,
                 const pith_array *const *items) {
    if (!node_def->slot_offsets) {
        memcpy(node + (size_t)slot * sizeof *items, items, (size_t)count * sizeof *items);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(node + node_def->slot_offsets[slot + i], &items[i], sizeof *items);
}

/* Write the nodes of a structure at `cursor`, in walk order. Returns false if memory is
 * short. */
static bool lay_out(pith_runtime *rt,
                    const pithp_structure *t,
                    const pith_array *const *items,
                    char *cursor) {
    pithp_walk w;
    pithp_walk_begin(&w, rt, NULL);
    for (int64_t i = 0; i < t->token_count && !w.failed; i++) {
        const uintptr_t token = t->tokens[i];
        if (pithp_token_kind(token) == PITHP_TOKEN_NODE) {
            const pithp_node_def *node_def = pithp_token_shape(token);
            *(pithp_header *)(void *)cursor =
                (pithp_header){.magic = PITHP_OBJECT_MAGIC,
                               .kind = (uint8_t)node_def->kind,
                               .flags = (uint8_t)t->heads[i],
                               .extra = (uint16_t)(t->heads[i] >> 16),
                               .descriptor = node_def};
            char *node = cursor + sizeof(pithp_header);
            cursor += pithp_node_bytes(node_def);
            if (node_def->statics)
                memcpy(node, node_def->statics, node_def->payload_bytes);
            if (w.depth) {
                pithp_walk_frame *top = &w.frames[w.depth - 1];
                *pithp_slot(top->node, top->node_def, top->next++) = node;
                if (top->next == top->node_def->slot_count)
                    w.depth--;
            }
            if (node_def->slot_count)
                pithp_walk_enter(&w, node, node_def);
            continue;
        }
        for (int64_t run = pithp_token_run(token); run;) {
            pithp_walk_frame *top = &w.frames[w.depth - 1];
            const int64_t left = top->node_def->slot_count - top->next;
            const int64_t n = run < left ? run : left;
            if (pithp_token_kind(token) != PITHP_TOKEN_ABSENT) {
                fill((char *)(uintptr_t)top->node, top->node_def, top->next, n, items);
                items += n;
            }
            top->next += n;
            run -= n;
            if (n == left)
                w.depth--;
        }
    }
    const bool failed = w.failed;
    pithp_walk_end(&w);
    return !failed;
}

static const void *build_slab(pith_scope *s,
                              const pithp_structure *t,
                              const pith_scope *owner,
                              const pith_array *const *items) {
    if (!pithp_scope_reaches(s, owner) && pithp_structure_hold(s, t) != PITH_OK)
        return NULL;
    char *slab = pithp_slab_make(s, t->slab_bytes);
    if (!slab)
        return NULL;
    if (!lay_out(s->runtime, t, items, slab)) {
        pithp_fail_memory(s, t->slab_bytes);
        return NULL;
    }
    return slab + sizeof(pithp_header);
}

/* ---- Node by node ---- */

typedef struct builder {
    pithp_walk w;        /* frames: node definitions of the unfinished nodes */
    const void **values; /* slots so far of those nodes */
    int64_t count;
} builder;

const void *
pithp_node_make(pith_scope *s, const pithp_node_def *node_def, const void *const *slots) {
    if (node_def->kind == PITHP_KIND_RECORD)
        return pithp_node_def_hold(s, node_def) == PITH_OK
                   ? pithp_record_make(s, node_def, slots)
                   : NULL;
    bool leaves = true;
    for (int64_t i = 0; i < node_def->slot_count && leaves; i++)
        leaves = pithp_kind_of(slots[i]) == PITHP_KIND_ARRAY;
    if (leaves != node_def->all_leaves)
        node_def = pithp_node_def_container(s, node_def->kind, node_def->slot_count,
                                            node_def->keys, leaves);
    else if (pithp_node_def_hold(s, node_def) != PITH_OK)
        node_def = NULL;
    return node_def ? pithp_container_make(s, node_def, slots) : NULL;
}

/* Build a node from the last slots; the frames give its path. NULL sets the error. */
static const void *
finish_node(pith_scope *s, const builder *b, const pithp_node_def *node_def) {
    const void *made = pithp_node_make(s, node_def, b->values + b->count);
    if (PITHP_LIKELY(!pith_failed(s)))
        return made;
    pithp_string path;
    pithp_string_begin(&path, s->runtime);
    add_frames(&b->w, &path);
    pithp_error_prefix(s, path.bytes);
    pithp_string_end(&path);
    return NULL;
}

static bool add_value(pith_scope *s, builder *b, const void *value) {
    for (;;) {
        b->values[b->count++] = value;
        if (b->w.depth == 0)
            return true;
        pithp_walk_frame *top = &b->w.frames[b->w.depth - 1];
        if (++top->next < top->node_def->slot_count)
            return true;
        b->count -= top->node_def->slot_count;
        b->w.depth--;
        value = finish_node(s, b, top->node_def);
        if (!value)
            return false;
    }
}

static const void *
build_nodes(pith_scope *s, const pithp_structure *t, const pith_array *const *items) {
    builder b = {0};
    const size_t bytes = (size_t)t->node_count * sizeof *b.values;
    b.values = pithp_scratch_allocate(s->runtime, bytes);
    if (!b.values) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    pithp_walk_begin(&b.w, s->runtime, NULL);
    bool good = true;
    for (int64_t i = 0; i < t->token_count && good; i++) {
        const uintptr_t token = t->tokens[i];
        if (pithp_token_kind(token) == PITHP_TOKEN_NODE) {
            const pithp_node_def *node_def = pithp_token_shape(token);
            if (node_def->slot_count == 0) {
                const void *made = finish_node(s, &b, node_def);
                good = made && add_value(s, &b, made);
            } else if (!pithp_walk_enter(&b.w, node_def, node_def)) {
                pithp_fail_memory(s, (size_t)b.w.room * sizeof *b.w.frames);
                good = false;
            }
            continue;
        }
        const bool absent = pithp_token_kind(token) == PITHP_TOKEN_ABSENT;
        for (int64_t run = pithp_token_run(token); run && good; run--)
            good = add_value(s, &b, absent ? NULL : (const void *)*items++);
    }
    const void *made = good ? b.values[0] : NULL;
    pithp_walk_end(&b.w);
    pithp_scratch_release(s->runtime, b.values, bytes);
    return made;
}

/* A tree of one item is the item itself. */
static const void *build_item(pith_scope *s, const void *item) {
    const void *kept = item;
    return pithp_keep_slots(s, 1, &kept) == PITH_OK ? kept : NULL;
}

/* As build_slab, but leaves that do not outlive s are kept in s first. */
static const void *build_kept(pith_scope *s,
                              const pithp_structure *t,
                              const pith_scope *owner,
                              const pith_array *const *items) {
    const size_t bytes = (size_t)t->item_count * sizeof *items;
    const pith_array **kept = pithp_scratch_allocate(s->runtime, bytes);
    if (!kept) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    memcpy(kept, items, bytes);
    const void *made = NULL;
    if (pithp_keep_leaves(s, t->item_count, kept) == PITH_OK)
        made = build_slab(s, t, owner, kept);
    pithp_scratch_release(s->runtime, kept, bytes);
    return made;
}

const void *pithp_build(pith_scope *s,
                        const pithp_structure *t,
                        const pith_scope *owner,
                        const pith_array *const *items) {
    if (t->picked) {
        if (pithp_token_kind(t->tokens[0]) == PITHP_TOKEN_NODE)
            return build_nodes(s, t, items);
        return build_item(s, items[0]);
    }
    bool same, outlive;
    if (check_items(s, t, items, &same, &outlive) != PITH_OK)
        return NULL;
    if (pithp_token_kind(t->tokens[0]) != PITHP_TOKEN_NODE)
        return build_item(s, items[0]);
    if (!same || t->loose || (t->hooks && pithp_hooks_run(s)))
        return build_nodes(s, t, items);
    return outlive ? build_slab(s, t, owner, items) : build_kept(s, t, owner, items);
}

const void *pithp_build_made(pith_scope *s,
                             const pithp_structure *t,
                             const pith_scope *owner,
                             const pith_array *const *made) {
    if (pithp_token_kind(t->tokens[0]) != PITHP_TOKEN_NODE)
        return made[0];
    if (t->hooks && pithp_hooks_run(s))
        return build_nodes(s, t, made);
    return build_slab(s, t, owner, made);
}
