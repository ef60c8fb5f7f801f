/* Within the array room: handles, and what they hold. */
#ifndef PITH_HANDLE_H
#define PITH_HANDLE_H

#include "array/array_internal.h"

#include <string.h>

enum { PITHP_HANDLE_BYTES = sizeof(pithp_header) + sizeof(pith_array) };

static inline void
pithp_handle_init(pithp_header *h, const pith_spec *spec, pithp_hold *hold, void *data) {
    /* Field by field: a literal would be cleared first and then written. */
    static const pithp_header head = {.magic = PITHP_OBJECT_MAGIC,
                                      .kind = PITHP_KIND_ARRAY};
    memcpy(h, &head, offsetof(pithp_header, shape));
    h->shape = spec;
    pith_array *a = (pith_array *)(h + 1);
    a->data = data;
    a->hold = hold;
}

/* The scope's hold on a buffer of which the caller has one reference, which goes into the
 * hold or is released. NULL: error set. */
pithp_hold *pithp_hold_buffer(pith_scope *s, pithp_buffer *buffer);
/* The hold of s on the buffer of an array, with a use for the caller. NULL: error set. */
pithp_hold *pithp_share_hold(pith_scope *s, pithp_buffer *buffer);

#endif
