/* Digests of structures by their content: equal in all processes of one program, where
 * addresses differ. */
#include "tree/static_kind.h"
#include "tree/tree_internal.h"

#include <string.h>

static uint64_t add_text(uint64_t h, const char *text) {
    return pithp_hash(h, text, strlen(text));
}

static uint64_t add_definition(uint64_t h, const pithp_node_def *d);

/* A static that is a record is stored as its node definition. */
static uint64_t
add_static(uint64_t h, const pithp_static_info *info, const char *statics) {
    const pithp_node_def *record = NULL;
    if (info->kind != PITH_STATIC_KIND_RECORD)
        return pithp_static_hash(info->kind, h, statics + info->offset);
    memcpy(&record, statics + info->offset, sizeof record);
    return record ? add_definition(h, record) : h + 1;
}

static uint64_t add_definition(uint64_t h, const pithp_node_def *d) {
    h = pithp_hash(h, &d->slot_count, sizeof d->slot_count) + (uint64_t)d->kind;
    for (int64_t i = 0; d->keys && i < d->slot_count; i++)
        h = add_text(h, d->keys[i]);
    if (!d->type)
        return h;
    h = add_text(h, d->type->name);
    for (int32_t i = 0; d->statics && i < d->type->static_count; i++)
        h = add_static(h, &d->type->statics[i], d->statics);
    return h;
}

uint64_t pithp_structure_digest(const pithp_structure *t) {
    uint64_t h = 0;
    for (int64_t i = 0; i < t->token_count; i++) {
        const uintptr_t token = t->tokens[i];
        h = pithp_token_kind(token) == PITHP_TOKEN_NODE
                ? add_definition(h, pithp_token_shape(token))
                : pithp_hash(h, &token, sizeof token);
    }
    for (int64_t i = 0; i < t->item_count; i++) {
        const pith_spec *spec = t->specs[i];
        if (spec)
            h = pithp_hash(h + (uint64_t)spec->dtype, spec->shape,
                           (size_t)spec->rank * sizeof *spec->shape);
    }
    return h;
}

uint64_t pithp_tree_digest(pith_scope *s, const void *tree) {
    pithp_flat f;
    if (pithp_flat_make(s, &f, tree, NULL, NULL) != PITH_OK)
        return 0;
    const uint64_t digest = pithp_structure_digest(&f.structure);
    pithp_flat_end(&f);
    return digest;
}
