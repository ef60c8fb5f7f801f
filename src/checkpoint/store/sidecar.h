/* Large leaves: their layout in sidecars, and compression. */
#ifndef PITHP_CHECKPOINT_SIDECAR_H
#define PITHP_CHECKPOINT_SIDECAR_H

#include "checkpoint/document/document.h"

/* ---- Compression (compress.c) ---- */

typedef struct pithp_packer {
    struct ZSTD_CCtx_s *context;
    unsigned char *packed; /* PITHP_PACK_MOST bytes */
} pithp_packer;

/* False: memory is short. */
bool pithp_packer_begin(pithp_packer *p, pith_runtime *rt);
void pithp_packer_end(pithp_packer *p, pith_runtime *rt);
/* Compress up to PITHP_CHUNK_BYTES into p->packed. Returns the bytes there; 0: memory is
 * short. */
size_t pithp_pack(pithp_packer *p, int level, const void *elements, size_t n);
/* Whether these elements become an eighth smaller. */
bool pithp_pack_pays(pithp_packer *p, int level, const void *elements, size_t n);

typedef struct pithp_unpacker pithp_unpacker;
/* For the leaves of a document; NULL: memory is short. */
pithp_unpacker *pithp_unpacker_make(pith_runtime *rt, const pithp_document *d);
void pithp_unpacker_end(pithp_unpacker *u, pith_runtime *rt);
/* Where a frame is put before it is unpacked to n bytes. False,
 * NULL: it is damaged. */
void *pithp_unpacker_room(pithp_unpacker *u);
bool pithp_unpack(pithp_unpacker *u, const pithp_packed *frame, void *to, size_t n);
/* To memory of the unpacker, where it is found again until the next one. */
const void *pithp_unpack_kept(pithp_unpacker *u, const pithp_packed *frame, size_t n);
const void *pithp_unpacker_find(const pithp_unpacker *u, const pithp_packed *frame);

/* ---- Sidecars (sidecar.c) ---- */

/* Name the tensor of a leaf, or those of all that go to sidecars, by their paths; a
 * packed one has PITHP_PACKED before it, which no path begins with. False: memory is
 * short. */
bool pithp_sidecar_name_tensor(pithp_document *d, int64_t number);
bool pithp_sidecar_name_tensors(pithp_document *d);
/* The leaves of a sidecar in the order of their data: element size falling, then name;
 * compressed ones last. NULL when memory is short. */
int64_t *pithp_sidecar_layout(const pithp_document *d, int32_t sidecar, int64_t *count);
/* Give them their places, as many bytes as each is stored in (what is to be compressed:
 * as many as it may come to), and print the header of the safetensors file, padded to
 * `least` bytes or more. */
void pithp_sidecar_header(pithp_document *d,
                          int32_t sidecar,
                          const int64_t *order,
                          int64_t count,
                          size_t least,
                          pithp_text *header);
/* Digest of all of a sidecar: of its header, then of the digests of its leaves (those of
 * frames too) in data order. */
pithp_digest pithp_sidecar_digest(const pithp_document *d,
                                  const void *header,
                                  size_t header_bytes,
                                  const int64_t *order,
                                  int64_t count);
/* Leaves in sidecars by sidecar and place; checks that they lie apart, and where the
 * sidecar is this document's alone (format 1) that they cover it. */
pith_status pithp_sidecar_order(pith_scope *s,
                                const pithp_document *d,
                                const char *file,
                                int64_t **order,
                                int64_t *count);

#endif
