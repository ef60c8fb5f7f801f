/* Staging: host tables for one launch. */
#include "gpu/stage.h"

const void *
pithp_stage(pith_scope *s, const void *host, size_t bytes, pithp_buffer **buffer) {
    const pithp_device *d = pithp_scope_device(s);
    *buffer = NULL;
    if (d->immediate && d->backend->addressable)
        return host;
    pithp_buffer *made = pithp_buffer_make(s, bytes);
    if (!made)
        return NULL;
    if (pithp_copy_in(s, made->data, host, bytes) != PITH_OK) {
        pithp_buffer_release(made, 1);
        return NULL;
    }
    *buffer = made;
    return made->data;
}
