/* Digests of the elements of arrays, which buffers remember. */
#ifndef PITHP_CHECKPOINT_ARRAY_DIGEST_H
#define PITHP_CHECKPOINT_ARRAY_DIGEST_H

#include "checkpoint/document/document.h"

/* Receives a leaf piece by piece; pieces are whole elements. */
typedef pith_status (*pithp_chunk_sink)(void *closure,
                                        const void *bytes,
                                        size_t offset,
                                        size_t n);
/* All of an array, piece by piece through `staging`, which has room for a piece; NULL
 * where the device's memory can be read as it is. */
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
/* So that it is not computed again. */
void pithp_array_digest_store(const pith_array *a, pithp_digest digest);
/* Whether the digest is remembered: the array was saved or loaded before. */
bool pithp_array_digest_known(const pith_array *a);

#endif
