/* Sidecar writer: hashes each leaf, compresses it if that is requested and pays, and
 * writes it without a copy. */
#include "checkpoint/save/parted.h"
#include "checkpoint/store/array_digest.h"

#include <string.h>

enum { MOST_HEADER = 100 * 1000000 /* limit of safetensors readers */ };

typedef pithp_saving saver;

/* ---- Leaves ---- */

typedef struct copying {
    saver *v;
    pithp_doc_leaf *leaf;
    pithp_hasher hasher;
} copying;

static pith_status copy(void *closure, const void *bytes, size_t offset, size_t n) {
    (void)offset;
    copying *c = closure;
    pithp_writer_add_hashed(&c->v->sidecar, bytes, n, &c->hasher);
    return PITH_OK; /* the writer keeps its first error */
}

pith_status pithp_saving_frame(pithp_saving *v,
                               pithp_doc_leaf *leaf,
                               int64_t number,
                               const void *chunk,
                               size_t n) {
    pithp_zstd_frame *frame = &leaf->frames[number];
    frame->bytes = pithp_compress(&v->compressor, leaf->level, chunk, n);
    if (!frame->bytes)
        return pithp_fail_memory(v->s, 0);
    frame->begin = number ? frame[-1].begin + frame[-1].bytes : 0;
    frame->digest = pithp_digest_of(v->compressor.compressed, frame->bytes);
    return PITH_OK;
}

/* Pieces are whole chunks, except the last one. */
static pith_status pack(void *closure, const void *bytes, size_t offset, size_t n) {
    copying *c = closure;
    saver *v = c->v;
    for (size_t at = 0; at < n && !v->sidecar.error; at += PITHP_CHUNK_BYTES) {
        const char *chunk = (const char *)bytes + at;
        const size_t rest = n - at;
        const size_t some = rest < PITHP_CHUNK_BYTES ? rest : PITHP_CHUNK_BYTES;
        const int64_t number = (int64_t)((offset + at) / PITHP_CHUNK_BYTES);
        pithp_hasher_add(&c->hasher, chunk, some);
        if (pithp_saving_frame(v, c->leaf, number, chunk, some) != PITH_OK)
            return v->s->error.code;
        pithp_writer_add(&v->sidecar, v->compressor.compressed,
                         c->leaf->frames[number].bytes);
    }
    return PITH_OK;
}

pith_status pithp_saving_frames(pithp_saving *v, pithp_doc_leaf *leaf) {
    const size_t count = (leaf->bytes - 1) / PITHP_CHUNK_BYTES + 1;
    leaf->frames = pithp_document_allocate(&v->d, count * sizeof *leaf->frames);
    if (!leaf->frames)
        return pithp_fail_memory(v->s, count * sizeof *leaf->frames);
    leaf->frame_count = (int64_t)count;
    return PITH_OK;
}

static pith_status write_leaf(saver *v, int64_t number) {
    pithp_doc_leaf *leaf = &v->d.leaves.rows[number];
    copying c = {.v = v, .leaf = leaf};
    if (leaf->compressed && pithp_saving_frames(v, leaf) != PITH_OK)
        return v->s->error.code;
    pithp_hasher_begin(&c.hasher);
    const pith_status rc =
        pithp_saving_elements(v, number, false, leaf->compressed ? pack : copy, &c);
    leaf->digest = pithp_hasher_end(&c.hasher);
    if (rc == PITH_OK && !v->sidecar.error && v->arrays[number]) /* a complete one */
        pithp_array_digest_store(v->arrays[number], leaf->digest);
    return rc;
}

typedef struct trial {
    saver *v;
    pithp_doc_leaf *leaf;
} trial;

static pith_status try_chunk(void *closure, const void *bytes, size_t offset, size_t n) {
    const trial *t = closure;
    if (offset == 0)
        t->leaf->compressed =
            pithp_compress_pays(&t->v->compressor, t->leaf->level, bytes,
                                n < PITHP_CHUNK_BYTES ? n : PITHP_CHUNK_BYTES);
    return PITH_OK;
}

/* Leaves whose first chunk does not shrink are stored uncompressed. The header states
 * form and offset of each leaf, so the decision is made before all elements are read. */
pith_status pithp_saving_try_to_pack(pithp_saving *v, int64_t number) {
    trial t = {v, &v->d.leaves.rows[number]};
    if (!v->compressor.context && !pithp_compressor_begin(&v->compressor, v->s->runtime))
        return pithp_fail_memory(v->s, PITHP_FRAME_MOST);
    const pith_status rc = pithp_saving_elements(v, number, true, try_chunk, &t);
    if (rc != PITH_OK)
        return rc;
    return pithp_sidecar_name_tensor(&v->d, number) ? PITH_OK
                                                    : pithp_fail_memory(v->s, 0);
}

static pith_status choose_packed(saver *v, int32_t sidecar) {
    pith_status rc = PITH_OK;
    for (int64_t i = 0; rc == PITH_OK && i < v->d.leaves.count; i++) {
        const pithp_doc_leaf *leaf = &v->d.leaves.rows[i];
        if (leaf->in_sidecar && leaf->sidecar == sidecar && leaf->level && leaf->bytes)
            rc = pithp_saving_try_to_pack(v, i);
    }
    return rc;
}

/* ---- The file ---- */

static pith_status name_sidecar(saver *v, pithp_doc_sidecar *row) {
    char name[256];
    pithp_sidecar_name(v->location.name,
                       pithp_sidecar_digest(&v->d, v->header.bytes, v->header.length,
                                            v->order, v->order_count),
                       name);
    row->digest = pithp_digest_of(v->header.bytes, v->header.length);
    row->file = pithp_document_text(&v->d, name, strlen(name));
    v->fresh = row;
    return row->file ? PITH_OK : pithp_fail_memory(v->s, sizeof name);
}

/* Print the header again when all is written: only then are the ranges of compressed
 * leaves known. */
static void state_places(saver *v, int32_t sidecar) {
    const size_t length = v->header.length;
    bool compressed = false;
    for (int64_t i = 0; i < v->order_count; i++)
        compressed |= v->d.leaves.rows[v->order[i]].compressed;
    if (!compressed || v->sidecar.error)
        return;
    v->header.length = 0;
    pithp_sidecar_header(&v->d, sidecar, v->order, v->order_count, length, &v->header);
    if (!v->header.failed)
        pithp_writer_put_first(&v->sidecar, v->header.bytes, v->header.length);
}

static pith_status write_leaves(saver *v, int32_t sidecar) {
    size_t raw = v->header.length;
    for (int64_t i = 0; i < v->order_count; i++)
        if (!v->d.leaves.rows[v->order[i]].compressed)
            raw += v->d.leaves.rows[v->order[i]].bytes;
    pithp_writer_open(&v->sidecar, v->s->runtime, &v->location, raw);
    pithp_writer_add(&v->sidecar, v->header.bytes, v->header.length);
    for (int64_t i = 0; i < v->order_count && !v->sidecar.error; i++) {
        const pith_status rc = write_leaf(v, v->order[i]);
        if (rc != PITH_OK)
            return rc;
    }
    state_places(v, sidecar);
    if (v->header.failed)
        return pithp_fail_memory(v->s, v->header.capacity);
    pithp_writer_sync(&v->sidecar);
    return pithp_writer_status(v->s, &v->sidecar, v->location.shown);
}

pith_status pithp_saving_write_sidecar(pithp_saving *v) {
    const int32_t sidecar = (int32_t)v->d.sidecars.count;
    pith_status rc;
    pithp_doc_sidecar *row = pithp_document_add(&v->d, sidecars);
    if (!row)
        return pithp_fail_memory(v->s, sizeof *row);
    PITH_TRY(v->job ? pithp_node_part_sizes(v) : choose_packed(v, sidecar));
    v->order = pithp_sidecar_layout(&v->d, sidecar, &v->order_count);
    if (!v->order)
        return pithp_fail_memory(v->s, (size_t)v->order_count * sizeof *v->order);
    if (v->order_count == 0) {
        v->d.sidecars.count--;
        return PITH_OK;
    }
    pithp_sidecar_header(&v->d, sidecar, v->order, v->order_count, 0, &v->header);
    if (v->header.failed)
        return pithp_fail_memory(v->s, v->header.capacity);
    if (v->header.length > MOST_HEADER)
        return pithp_fail(v->s, PITH_E_UNSUPPORTED, NULL,
                          "the tree has too many leaves for a safetensors header; "
                          "a larger inline_bytes puts them into the document");
    PITH_TRY(v->job ? pithp_node_part_write(v) : write_leaves(v, sidecar));
    rc = name_sidecar(v, row);
out:
    return rc;
}
