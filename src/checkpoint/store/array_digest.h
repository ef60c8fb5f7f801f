/* Digests of array contents, cached in buffers. */
#ifndef PITHP_CHECKPOINT_ARRAY_DIGEST_H
#define PITHP_CHECKPOINT_ARRAY_DIGEST_H

#include "checkpoint/document/document.h"

/* Stream an array in pieces through `staging`, which holds one piece. NULL: the device's
 * memory is readable by the host. */
pith_status pithp_array_stream(pith_scope *s,
                               const pith_array *a,
                               void *staging,
                               size_t piece_bytes,
                               pithp_chunk_sink sink,
                               void *closure);
/* Digest of an array's elements; staging: PITHP_STAGING_BYTES, or NULL as above. */
pith_status pithp_array_digest(pith_scope *s,
                               const pith_array *a,
                               void *staging,
                               pithp_digest *digest);
/* Cache a digest in the array's buffer. */
void pithp_array_digest_store(const pith_array *a, pithp_digest digest);
/* Whether the digest is cached: the array was saved or loaded before. */
bool pithp_array_digest_known(const pith_array *a);

#endif
