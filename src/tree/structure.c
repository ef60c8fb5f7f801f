/* Structures outside scopes: copies for caches, and comparison of trees with them. */
#include "tree/node_def_internal.h"

#include <string.h>

static size_t bytes_of(const pithp_structure *t) {
    return (size_t)t->token_count * (sizeof *t->tokens + sizeof *t->heads) +
           (size_t)t->item_count * sizeof *t->specs;
}

size_t pithp_structure_bytes(const pithp_structure *t) {
    return bytes_of(t);
}

pith_status
pithp_structure_copy(pith_scope *s, pithp_structure *to, const pithp_structure *from) {
    const size_t bytes = bytes_of(from), tokens = (size_t)from->token_count;
    uintptr_t *memory = pithp_allocate(s->runtime, bytes);
    *to = (pithp_structure){0};
    if (!memory)
        return pithp_fail_memory(s, bytes);
    *to = *from;
    to->tokens = memory;
    to->specs = (const pith_spec **)(memory + tokens);
    to->heads = (uint32_t *)(to->specs + from->item_count);
    memcpy(to->tokens, from->tokens, tokens * sizeof *to->tokens);
    if (from->item_count)
        memcpy(to->specs, from->specs, (size_t)from->item_count * sizeof *to->specs);
    memcpy(to->heads, from->heads, tokens * sizeof *to->heads);
    for (size_t i = 0; i < tokens; i++)
        if (pithp_token_kind(to->tokens[i]) == PITHP_TOKEN_NODE) {
            pithp_node_def *node_def = (pithp_node_def *)to->tokens[i];
            atomic_fetch_add_explicit(&node_def->refs, 1, memory_order_relaxed);
        }
    return PITH_OK;
}

void pithp_structure_release(pith_runtime *rt, pithp_structure *t) {
    if (!t->tokens)
        return;
    for (int64_t i = 0; i < t->token_count; i++)
        if (pithp_token_kind(t->tokens[i]) == PITHP_TOKEN_NODE)
            pithp_node_def_release(rt, (pithp_node_def *)t->tokens[i]);
    pithp_release(rt, t->tokens, bytes_of(t));
    t->tokens = NULL;
}

bool pithp_structure_equal(const pithp_structure *a, const pithp_structure *b) {
    return a->item_count == b->item_count && pithp_structure_same(a, b) &&
           (a->item_count == 0 ||
            memcmp(a->specs, b->specs, (size_t)a->item_count * sizeof(void *)) == 0);
}

/* A hash of mixed words: every call of a compiled function looks one up. */
uint64_t pithp_structure_hash(uint64_t h, const pithp_structure *t) {
    for (int64_t i = 0; i < t->token_count; i++) {
        const uintptr_t token = t->tokens[i];
        const uint64_t word = pithp_token_kind(token) == PITHP_TOKEN_NODE
                                  ? pithp_token_shape(token)->hash
                                  : token;
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    for (int64_t i = 0; i < t->item_count; i++)
        h = ((h ^ (uintptr_t)t->specs[i]) * 0x9e3779b97f4a7c15u) ^ h >> 29;
    return h ^ h >> 32;
}

/* ---- Trees of a known structure ---- */

/* Destination of the leaves. */
typedef struct reading {
    const pithp_stream *stream;
    const pithp_hold *hold; /* of the last leaf; its buffer was checked */
    const pith_spec *const *specs;
    const pith_array **items, **first; /* the next item, and the list */
    const void **addresses;
    pithp_held_runs *runs;
} reading;

/* Called for a leaf with another hold than the one before: returns whether it can be
 * read. Not inlined, to save registers in the loop. */
__attribute__((noinline)) static bool
change_hold(const reading *r, const pith_array *a, int64_t i) {
    pithp_held_runs *runs = r->runs;
    if (pithp_array_buffer(a)->stream != r->stream)
        return false;
    if (!runs)
        return true;
    if (runs->count < PITHP_HELD_RUNS) {
        runs->run[runs->count].hold = a->hold;
        runs->run[runs->count].first = r->items - r->first + i;
    }
    runs->count += runs->count <= PITHP_HELD_RUNS;
    return true;
}

/* The first word of a header. */
static inline uint64_t head_of(const pithp_header *h) {
    uint64_t word;
    _Static_assert(offsetof(pithp_header, descriptor) == sizeof word, "a word");
    memcpy(&word, h, sizeof word);
    return word;
}

/* Read the leaves in slots from `first` on. Returns false for a leaf of another spec, or
 * one that needs a wait or has an error. */
static inline bool read_run(reading *r,
                            const void *node,
                            const pithp_node_def *node_def,
                            int64_t first,
                            int64_t n) {
    /* that a leaf is sharded follows from its spec */
    static const pithp_header plain = {.magic = PITHP_OBJECT_MAGIC,
                                       .kind = PITHP_KIND_ARRAY},
                              sharded = {.flags = PITHP_FLAG_SHARDED};
    const uint64_t head = head_of(&plain), either = ~head_of(&sharded);
    const char *payload = node;
    const uint32_t *offsets = node_def->slot_offsets;
    const pith_spec *const *specs = r->specs;
    const pith_array **items = r->items;
    const void **addresses = r->addresses;
    const pithp_hold *hold = r->hold;
    for (int64_t i = 0; i < n; i++) {
        const pith_array *a =
            *(const pith_array *const *)(const void *)(payload +
                                                       (offsets ? offsets[first + i]
                                                                : (size_t)(first + i) *
                                                                      sizeof a));
        if (PITHP_UNLIKELY(!a))
            return false;
        const pithp_header *h = pithp_header_of(a);
        if (PITHP_UNLIKELY((head_of(h) & either) != head || h->descriptor != specs[i]))
            return false;
        if (PITHP_UNLIKELY(a->hold != hold)) {
            hold = a->hold;
            if (!change_hold(r, a, i))
                return false;
        }
        items[i] = a;
        addresses[i] = a->data;
    }
    r->hold = hold;
    r->specs += n;
    r->items += n;
    r->addresses += n;
    return true;
}

/* Read a run of leaves or absent slots of the innermost nodes. */
static bool read_token(reading *r, pithp_walk *w, uintptr_t token) {
    for (int64_t run = pithp_token_run(token); run;) {
        pithp_walk_frame *top = &w->frames[w->depth - 1];
        const int64_t left = top->node_def->slot_count - top->next;
        const int64_t n = run < left ? run : left;
        if (pithp_token_kind(token) == PITHP_TOKEN_LEAVES) {
            if (!read_run(r, top->node, top->node_def, top->next, n))
                return false;
        } else {
            for (int64_t i = 0; i < n; i++)
                if (*pithp_slot(top->node, top->node_def, top->next + i))
                    return false;
        }
        top->next += n;
        run -= n;
        w->depth -= n == left;
    }
    return true;
}

static bool read_node(pithp_walk *w, const void *node, const pithp_node_def *node_def) {
    if (!node || pithp_kind_of(node) != node_def->kind ||
        pithp_node_def_of(node) != node_def)
        return false;
    if (w->depth) {
        pithp_walk_frame *top = &w->frames[w->depth - 1];
        w->depth -= ++top->next == top->node_def->slot_count;
    }
    return node_def->slot_count == 0 || pithp_walk_enter(w, node, node_def);
}

static const pithp_node_def alone = {.slot_count = 1}; /* parent of a tree of one leaf */

/* Read a tree with nodes. */
static bool
read_nodes(reading *r, pith_runtime *rt, const pithp_structure *t, const void *tree) {
    pithp_walk w;
    bool same = !t->picked;
    pithp_walk_begin(&w, rt, tree);
    pithp_walk_enter(&w, &tree, &alone);
    for (int64_t i = 0; i < t->token_count && same; i++) {
        const uintptr_t token = t->tokens[i];
        if (pithp_token_kind(token) != PITHP_TOKEN_NODE) {
            same = read_token(r, &w, token);
            continue;
        }
        const pithp_walk_frame *top = &w.frames[w.depth - 1];
        same = read_node(&w, *pithp_slot(top->node, top->node_def, top->next),
                         pithp_token_shape(token));
    }
    pithp_walk_end(&w);
    return same;
}

bool pithp_structure_read(pith_scope *s,
                          const pithp_structure *t,
                          const void *tree,
                          int64_t at,
                          const pith_array **items,
                          const void **addresses,
                          pithp_held_runs *runs) {
    reading r = {.stream = pithp_scope_stream(s),
                 .specs = t->specs,
                 .items = items + at,
                 .first = items,
                 .addresses = addresses + at,
                 .runs = runs};
    return pithp_token_kind(t->tokens[0]) == PITHP_TOKEN_LEAVES
               ? read_run(&r, &tree, &alone, 0, 1)
               : read_nodes(&r, s->runtime, t, tree);
}
