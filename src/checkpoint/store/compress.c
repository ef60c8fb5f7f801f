/* Compression of leaves: zstd, a frame for every PITHP_CHUNK_BYTES of elements, so that a
 * slice needs few of them. The document holds size and digest of every frame: what is
 * damaged never reaches the decompressor, and no frame says how much memory it needs.
 *
 * A frame is never smaller than a PITHP_LEAST_PACKED-th of its elements: a skippable
 * frame behind it, of which zstd takes no notice, fills it up. So what a file may ask of
 * a reader's memory is bounded by its own size. */
#include "checkpoint/store/sidecar.h"

#include <string.h>
#include <zstd.h>

enum { SKIPPABLE_HEADER = 8, GAIN = 8 /* at least an eighth has to be saved */ };

_Static_assert(PITHP_PACK_MOST >= ZSTD_COMPRESSBOUND(PITHP_CHUNK_BYTES),
               "a frame of noise has its room");
_Static_assert(PITHP_PACK_LEVELS <= 19, "higher ones want more memory of readers");

/* ---- Writing ---- */

bool pithp_packer_begin(pithp_packer *p, pith_runtime *rt) {
    p->context = ZSTD_createCCtx();
    p->packed = pithp_allocate(rt, PITHP_PACK_MOST);
    if (p->context && p->packed)
        return true;
    pithp_packer_end(p, rt);
    return false;
}

void pithp_packer_end(pithp_packer *p, pith_runtime *rt) {
    ZSTD_freeCCtx(p->context); /* NULL does nothing */
    pithp_release(rt, p->packed, PITHP_PACK_MOST);
    *p = (pithp_packer){.context = NULL};
}

static void put_u32(unsigned char *to, uint32_t value) {
    memcpy(to, &value, sizeof value);
}

/* A skippable frame behind n bytes, so that there are `least`. */
static size_t fill_up(unsigned char *packed, size_t n, size_t least) {
    const size_t filled = n + SKIPPABLE_HEADER > least ? n + SKIPPABLE_HEADER : least;
    if (n >= least)
        return n;
    put_u32(packed + n, ZSTD_MAGIC_SKIPPABLE_START);
    put_u32(packed + n + 4, (uint32_t)(filled - n - SKIPPABLE_HEADER));
    memset(packed + n + SKIPPABLE_HEADER, 0, filled - n - SKIPPABLE_HEADER);
    return filled;
}

size_t pithp_pack(pithp_packer *p, int level, const void *elements, size_t n) {
    ZSTD_CCtx_reset(p->context, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(p->context, ZSTD_c_compressionLevel, level);
    const size_t packed =
        ZSTD_compress2(p->context, p->packed, PITHP_PACK_MOST, elements, n);
    return ZSTD_isError(packed) ? 0 : fill_up(p->packed, packed, pithp_frame_least(n));
}

bool pithp_pack_pays(pithp_packer *p, int level, const void *elements, size_t n) {
    const size_t packed = pithp_pack(p, level, elements, n);
    return packed && packed <= n - n / GAIN;
}

/* ---- Reading ---- */

struct pithp_unpacker {
    ZSTD_DCtx *context;
    const pithp_packed *frame; /* that `elements` are of; NULL */
    size_t bytes;              /* of all this */
    char *elements;            /* of the frame that was read in part */
    char packed[];
};

/* Room for the largest chunk and the largest frame, which are small where leaves are. */
pithp_unpacker *pithp_unpacker_make(pith_runtime *rt, const pithp_document *d) {
    size_t elements = 0, packed = 0;
    for (int64_t i = 0; i < d->leaves.count; i++) {
        const pithp_doc_leaf *leaf = &d->leaves.rows[i];
        if (leaf->frame_count && leaf->bytes > elements)
            elements = leaf->bytes < PITHP_CHUNK_BYTES ? leaf->bytes : PITHP_CHUNK_BYTES;
        for (int64_t k = 0; k < leaf->frame_count; k++)
            packed = leaf->frames[k].bytes > packed ? leaf->frames[k].bytes : packed;
    }
    const size_t bytes = sizeof(pithp_unpacker) + packed + elements;
    pithp_unpacker *u = pithp_allocate(rt, bytes);
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

void pithp_unpacker_end(pithp_unpacker *u, pith_runtime *rt) {
    if (!u)
        return;
    ZSTD_freeDCtx(u->context);
    pithp_release(rt, u, u->bytes);
}

void *pithp_unpacker_room(pithp_unpacker *u) {
    return u->packed;
}

bool pithp_unpack(pithp_unpacker *u, const pithp_packed *frame, void *to, size_t n) {
    return pithp_digest_equal(pithp_digest_of(u->packed, frame->bytes), frame->digest) &&
           ZSTD_decompressDCtx(u->context, to, n, u->packed, frame->bytes) == n;
}

const void *pithp_unpacker_find(const pithp_unpacker *u, const pithp_packed *frame) {
    return u->frame == frame ? u->elements : NULL;
}

const void *pithp_unpack_kept(pithp_unpacker *u, const pithp_packed *frame, size_t n) {
    u->frame = NULL;
    if (!pithp_unpack(u, frame, u->elements, n))
        return NULL;
    u->frame = frame;
    return u->elements;
}
