/* Canonical statics of a record, and the interned node definition that they determine. */
#include "tree/node_def_internal.h"
#include "tree/static_kind.h"

#include <string.h>

static uint64_t hash_statics(const pith_type *type, const char *statics) {
    uint64_t hash = pithp_hash(PITHP_KIND_RECORD, &type, sizeof type);
    for (int32_t i = 0; i < type->static_count; i++) {
        const pithp_static_info *info = &type->statics[i];
        hash = pithp_static_hash(info->kind, hash, statics + info->offset);
    }
    return hash;
}

pithp_node_def *
pithp_node_def_of_statics(pith_scope *s, const pith_type *type, const void *value) {
    enum { ROOM = 1024 };
    char few[ROOM];
    char *statics = type->size <= ROOM ? few : pithp_allocate(s->runtime, type->size);
    if (!statics) {
        pithp_fail_memory(s, type->size);
        return NULL;
    }
    memset(statics, 0, type->size);
    pith_status rc = PITH_OK;
    for (int32_t i = 0; i < type->static_count && rc == PITH_OK; i++) {
        const pithp_static_info *info = &type->statics[i];
        rc = pithp_static_canonicalise(s, &type->fields[info->field],
                                       (const char *)value + info->offset,
                                       statics + info->offset);
    }
    pithp_node_def *node_def = NULL;
    if (rc == PITH_OK) {
        pithp_node_def_key key = {.kind = PITHP_KIND_RECORD,
                                  .type = type,
                                  .statics = statics,
                                  .hash = hash_statics(type, statics)};
        node_def = pithp_node_def_find(s, &key);
    }
    if (statics != few)
        pithp_release(s->runtime, statics, type->size);
    return node_def;
}
