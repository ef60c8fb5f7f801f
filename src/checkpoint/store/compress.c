/* Compression of leaves: one zstd frame per PITHP_CHUNK_BYTES of elements, so that
 * reading rows touches few frames. The document holds size and digest of each frame:
 * damaged bytes never reach the decompressor, and no frame states its own memory
 * demand.
 *
 * A frame has at least 1 / PITHP_MOST_RATIO of the bytes of its elements, padded by a
 * skippable frame, which zstd ignores. So the size of a file bounds its reader's
 * memory. */
#include "checkpoint/store/sidecar.h"

#include <string.h>
#include <zstd.h>

enum { SKIPPABLE_HEADER = 8, GAIN = 8 /* it must save at least an eighth */ };

_Static_assert(PITHP_FRAME_MOST >= ZSTD_COMPRESSBOUND(PITHP_CHUNK_BYTES),
               "an incompressible frame fits");
_Static_assert(PITHP_COMPRESS_LEVELS <= 19, "higher levels need more memory to read");

/* ---- Writing ---- */

bool pithp_compressor_begin(pithp_compressor *p, pith_runtime *rt) {
    p->context = ZSTD_createCCtx();
    p->compressed = pithp_allocate(rt, PITHP_FRAME_MOST);
    if (p->context && p->compressed)
        return true;
    pithp_compressor_end(p, rt);
    return false;
}

void pithp_compressor_end(pithp_compressor *p, pith_runtime *rt) {
    ZSTD_freeCCtx(p->context); /* accepts NULL */
    pithp_release(rt, p->compressed, PITHP_FRAME_MOST);
    *p = (pithp_compressor){.context = NULL};
}

static void put_u32(unsigned char *to, uint32_t value) {
    memcpy(to, &value, sizeof value);
}

/* Pad n bytes to `least` with a skippable frame. */
static size_t fill_up(unsigned char *packed, size_t n, size_t least) {
    const size_t filled = n + SKIPPABLE_HEADER > least ? n + SKIPPABLE_HEADER : least;
    if (n >= least)
        return n;
    put_u32(packed + n, ZSTD_MAGIC_SKIPPABLE_START);
    put_u32(packed + n + 4, (uint32_t)(filled - n - SKIPPABLE_HEADER));
    memset(packed + n + SKIPPABLE_HEADER, 0, filled - n - SKIPPABLE_HEADER);
    return filled;
}

size_t pithp_compress(pithp_compressor *p, int level, const void *elements, size_t n) {
    ZSTD_CCtx_reset(p->context, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(p->context, ZSTD_c_compressionLevel, level);
    const size_t packed =
        ZSTD_compress2(p->context, p->compressed, PITHP_FRAME_MOST, elements, n);
    return ZSTD_isError(packed) ? 0
                                : fill_up(p->compressed, packed, pithp_frame_least(n));
}

bool pithp_compress_pays(pithp_compressor *p, int level, const void *elements, size_t n) {
    const size_t packed = pithp_compress(p, level, elements, n);
    return packed && packed <= n - n / GAIN;
}

/* ---- Reading ---- */

struct pithp_decompressor {
    ZSTD_DCtx *context;
    const pithp_zstd_frame *frame; /* the frame of `elements`; NULL: none */
    size_t bytes;                  /* of this allocation */
    char *elements;                /* of the frame that was read partially */
    char packed[];
};

/* Buffers have the size of the largest chunk and frame, so small leaves need little
 * memory. */
pithp_decompressor *pithp_decompressor_make(pith_runtime *rt, const pithp_document *d) {
    size_t elements = 0, packed = 0;
    for (int64_t i = 0; i < d->leaves.count; i++) {
        const pithp_doc_leaf *leaf = &d->leaves.rows[i];
        if (leaf->frame_count && leaf->bytes > elements)
            elements = leaf->bytes < PITHP_CHUNK_BYTES ? leaf->bytes : PITHP_CHUNK_BYTES;
        for (int64_t k = 0; k < leaf->frame_count; k++)
            packed = leaf->frames[k].bytes > packed ? leaf->frames[k].bytes : packed;
    }
    const size_t bytes = sizeof(pithp_decompressor) + packed + elements;
    pithp_decompressor *u = pithp_allocate(rt, bytes);
    if (!u)
        return NULL;
    u->frame = NULL;
    u->bytes = bytes;
    u->elements = u->packed + packed;
    u->context = ZSTD_createDCtx();
    if (u->context)
        return u;
    pithp_release(rt, u, bytes);
    return NULL;
}

void pithp_decompressor_end(pithp_decompressor *u, pith_runtime *rt) {
    if (!u)
        return;
    ZSTD_freeDCtx(u->context);
    pithp_release(rt, u, u->bytes);
}

void *pithp_decompressor_buffer(pithp_decompressor *u) {
    return u->packed;
}

bool pithp_decompress(pithp_decompressor *u,
                      const pithp_zstd_frame *frame,
                      void *to,
                      size_t n) {
    return pithp_digest_equal(pithp_digest_of(u->packed, frame->bytes), frame->digest) &&
           ZSTD_decompressDCtx(u->context, to, n, u->packed, frame->bytes) == n;
}

const void *pithp_decompressor_find(const pithp_decompressor *u,
                                    const pithp_zstd_frame *frame) {
    return u->frame == frame ? u->elements : NULL;
}

const void *
pithp_decompress_kept(pithp_decompressor *u, const pithp_zstd_frame *frame, size_t n) {
    u->frame = NULL;
    if (!pithp_decompress(u, frame, u->elements, n))
        return NULL;
    u->frame = frame;
    return u->elements;
}
