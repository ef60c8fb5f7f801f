/* Within the array room: handles, and their holds on buffers. */
#ifndef PITH_HANDLE_H
#define PITH_HANDLE_H

#include "array/array_internal.h"

#include <string.h>

enum { PITHP_HANDLE_BYTES = sizeof(pithp_header) + sizeof(pith_array) };

static inline void
pithp_handle_init(pithp_header *h, const pith_spec *spec, pithp_hold *hold, void *data) {
    /* Set field by field: a literal would be zeroed first. */
    static const pithp_header head = {.magic = PITHP_OBJECT_MAGIC,
                                      .kind = PITHP_KIND_ARRAY};
    memcpy(h, &head, offsetof(pithp_header, descriptor));
    h->flags = pithp_placement_of(spec) ? PITHP_FLAG_SHARDED : 0;
    h->descriptor = spec;
    pith_array *a = (pith_array *)(h + 1);
    a->data = data;
    a->hold = hold;
}

/* The words of a handle in pairs, which halves the stores. */
typedef uint64_t pithp_words
    __attribute__((vector_size(16), may_alias)); /* handles are 16-byte aligned */
_Static_assert(PITHP_HANDLE_BYTES == 2 * sizeof(pithp_words) &&
                   offsetof(pithp_header, descriptor) == sizeof(uint64_t) &&
                   offsetof(pith_array, hold) == sizeof(uint64_t),
               "a handle is a head, a spec, an address and a hold");
/* The first two words of all handles of a spec. */
static inline pithp_words pithp_handle_head(const pith_spec *spec) {
    const pithp_header head = {.magic = PITHP_OBJECT_MAGIC,
                               .kind = PITHP_KIND_ARRAY,
                               .flags =
                                   pithp_placement_of(spec) ? PITHP_FLAG_SHARDED : 0};
    uint64_t first;
    memcpy(&first, &head, sizeof first);
    return (pithp_words){first, (uintptr_t)spec};
}

/* The scope's hold on a buffer. It takes the caller's reference, or releases it. NULL:
 * error set. */
pithp_hold *pithp_hold_buffer(pith_scope *s, pithp_buffer *buffer);
/* The hold of s on the buffer of an array, with a use for the caller. NULL: error set. */
pithp_hold *pithp_share_hold(pith_scope *s, pithp_buffer *buffer);

#endif
