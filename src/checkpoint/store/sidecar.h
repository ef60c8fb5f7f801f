/* Large leaves: their layout in sidecars, and compression. */
#ifndef PITHP_CHECKPOINT_SIDECAR_H
#define PITHP_CHECKPOINT_SIDECAR_H

#include "checkpoint/document/document.h"

/* ---- Compression (compress.c) ---- */

typedef struct pithp_compressor {
    struct ZSTD_CCtx_s *context;
    unsigned char *compressed; /* PITHP_FRAME_MOST bytes */
} pithp_compressor;

/* False: out of memory. */
bool pithp_compressor_begin(pithp_compressor *p, pith_runtime *rt);
void pithp_compressor_end(pithp_compressor *p, pith_runtime *rt);
/* Compress up to PITHP_CHUNK_BYTES into p->compressed. Returns the size; 0: out of
 * memory. */
size_t pithp_compress(pithp_compressor *p, int level, const void *elements, size_t n);
/* Whether compression saves at least an eighth. */
bool pithp_compress_pays(pithp_compressor *p, int level, const void *elements, size_t n);

typedef struct pithp_decompressor pithp_decompressor;
/* For the leaves of a document; NULL: out of memory. */
pithp_decompressor *pithp_decompressor_make(pith_runtime *rt, const pithp_document *d);
void pithp_decompressor_end(pithp_decompressor *u, pith_runtime *rt);
/* The buffer that a frame is read into before it is decompressed to n bytes. False and
 * NULL of the next functions: the frame is damaged. */
void *pithp_decompressor_buffer(pithp_decompressor *u);
bool pithp_decompress(pithp_decompressor *u,
                      const pithp_zstd_frame *frame,
                      void *to,
                      size_t n);
/* Decompress into memory of the decompressor, which finds it again until the next call.
 */
const void *
pithp_decompress_kept(pithp_decompressor *u, const pithp_zstd_frame *frame, size_t n);
const void *pithp_decompressor_find(const pithp_decompressor *u,
                                    const pithp_zstd_frame *frame);

/* ---- Sidecars (sidecar.c) ---- */

/* Name the tensor of a leaf, or the tensors of all leaves in sidecars, by their paths.
 * Names of compressed leaves begin with PITHP_COMPRESSED_PREFIX. False: out of memory. */
bool pithp_sidecar_name_tensor(pithp_document *d, int64_t number);
bool pithp_sidecar_name_tensors(pithp_document *d);
/* The leaves of a sidecar in the order of their data: element size falling, then name;
 * compressed ones last. NULL: out of memory. */
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
