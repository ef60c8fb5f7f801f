/* Digests of array contents, cached in the buffer. Arrays are immutable, so an array that
 * owns its buffer is hashed once, however often it is saved. */
#include "checkpoint/store/array_digest.h"

/* The buffer of an array that owns all of it; NULL: it is shared, or the user's
 * memory. */
static pithp_buffer *own_buffer(const pith_array *a) {
    pithp_buffer *b = pithp_array_buffer(a);
    const bool alone = a->data == b->data && pithp_array_spec(a)->bytes == b->bytes;
    return alone && !b->foreign && b->bytes ? b : NULL;
}

void pithp_array_digest_store(const pith_array *a, pithp_digest digest) {
    pithp_buffer *b = own_buffer(a);
    if (b)
        pithp_buffer_set_content(b, (const uint64_t[2]){digest.high, digest.low});
}

static bool remembered(const pith_array *a, pithp_digest *digest) {
    uint64_t content[2];
    const pithp_buffer *b = own_buffer(a);
    if (!b || !pithp_buffer_content(b, content))
        return false;
    *digest = (pithp_digest){content[0], content[1]};
    return true;
}

bool pithp_array_digest_known(const pith_array *a) {
    pithp_digest digest;
    return remembered(a, &digest);
}

pith_status pithp_array_stream(pith_scope *s,
                               const pith_array *a,
                               void *staging,
                               size_t piece_bytes,
                               pithp_chunk_sink sink,
                               void *closure) {
    const size_t bytes = pithp_array_spec(a)->bytes;
    const char *data = a->data;
    pith_status rc = PITH_OK;
    for (size_t at = 0; rc == PITH_OK && at < bytes; at += piece_bytes) {
        const size_t rest = bytes - at;
        const size_t n = rest < piece_bytes ? rest : piece_bytes;
        if (staging)
            rc = pithp_copy_out(s, staging, data + at, n);
        if (rc == PITH_OK)
            rc = sink(closure, staging ? staging : data + at, at, n);
    }
    return rc;
}

static pith_status hash(void *closure, const void *bytes, size_t offset, size_t n) {
    (void)offset;
    pithp_hasher_add(closure, bytes, n);
    return PITH_OK;
}

pith_status pithp_array_digest(pith_scope *s,
                               const pith_array *a,
                               void *staging,
                               pithp_digest *digest) {
    pithp_hasher h;
    if (remembered(a, digest))
        return PITH_OK;
    pithp_hasher_begin(&h);
    const pith_status rc =
        pithp_array_stream(s, a, staging, PITHP_STAGING_BYTES, hash, &h);
    *digest = pithp_hasher_end(&h);
    if (rc == PITH_OK)
        pithp_array_digest_store(a, *digest);
    return rc;
}
