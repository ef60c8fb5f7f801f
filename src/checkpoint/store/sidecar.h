/* Sidecars: layout and compression of large leaves. */
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
/* Make a decompressor for the leaves of a document; NULL: out of memory. */
pithp_decompressor *pithp_decompressor_make(pith_runtime *rt, const pithp_document *d);
void pithp_decompressor_end(pithp_decompressor *u, pith_runtime *rt);
/* The input buffer for a frame, which is then decompressed to n bytes. False or NULL from
 * the following functions: the frame is damaged. */
void *pithp_decompressor_buffer(pithp_decompressor *u);
bool pithp_decompress(pithp_decompressor *u,
                      const pithp_zstd_frame *frame,
                      void *to,
                      size_t n);
/* Decompress into the decompressor's cache. pithp_decompressor_find returns it until the
 * next call. */
const void *
pithp_decompress_kept(pithp_decompressor *u, const pithp_zstd_frame *frame, size_t n);
const void *pithp_decompressor_find(const pithp_decompressor *u,
                                    const pithp_zstd_frame *frame);

/* ---- Sidecars (sidecar.c) ---- */

/* Name the tensor of a leaf, or the tensors of all leaves in sidecars, by their paths.
 * Names of compressed leaves start with PITHP_COMPRESSED_PREFIX. False: out of memory. */
bool pithp_sidecar_name_tensor(pithp_document *d, int64_t number);
bool pithp_sidecar_name_tensors(pithp_document *d);
/* The leaves of a sidecar in data order: decreasing element size, then name; compressed
 * ones last. NULL: out of memory. */
int64_t *pithp_sidecar_layout(const pithp_document *d, int32_t sidecar, int64_t *count);
/* Assign the leaves their ranges, and print the header of the safetensors file, padded
 * to at least `least` bytes. A leaf not compressed yet gets the range of its maximum
 * size. */
void pithp_sidecar_header(pithp_document *d,
                          int32_t sidecar,
                          const int64_t *order,
                          int64_t count,
                          size_t least,
                          pithp_string *header);
/* Digest of a whole sidecar: of its header, then of the digests of its leaves (including
 * frames) in data order. */
pithp_digest pithp_sidecar_digest(const pithp_document *d,
                                  const void *header,
                                  size_t header_bytes,
                                  const int64_t *order,
                                  int64_t count);
/* Sort leaves in sidecars by sidecar and offset. Verify that they do not overlap, and
 * that they fill a sidecar of format 1, which belongs to one document. */
pith_status pithp_sidecar_order(pith_scope *s,
                                const pithp_document *d,
                                const char *file,
                                int64_t **order,
                                int64_t *count);

#endif
