/* Structures that belong to no scope: what caches keep. */
#include "tree/shape_internal.h"

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
            pithp_shape *shape = (pithp_shape *)to->tokens[i];
            atomic_fetch_add_explicit(&shape->refs, 1, memory_order_relaxed);
        }
    return PITH_OK;
}

void pithp_structure_release(pith_runtime *rt, pithp_structure *t) {
    if (!t->tokens)
        return;
    for (int64_t i = 0; i < t->token_count; i++)
        if (pithp_token_kind(t->tokens[i]) == PITHP_TOKEN_NODE)
            pithp_shape_release(rt, (pithp_shape *)t->tokens[i]);
    pithp_release(rt, t->tokens, bytes_of(t));
    t->tokens = NULL;
}

bool pithp_structure_equal(const pithp_structure *a, const pithp_structure *b) {
    return a->item_count == b->item_count && pithp_structure_same(a, b) &&
           (a->item_count == 0 ||
            memcmp(a->specs, b->specs, (size_t)a->item_count * sizeof(void *)) == 0);
}

/* Words are mixed one by one: this is looked up at every call of a compiled function. */
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
