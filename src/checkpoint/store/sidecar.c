/* Sidecar layout: safetensors files, which Python reads without pith. The JSON header is
 * padded so that the data starts at a multiple of 64. Tensors lie back to back, larger
 * elements first, so each is aligned to its element. */
#include "checkpoint/store/sidecar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *tensor_dtype(pith_dtype dtype) {
    static const char *const names[PITH_DTYPE_COUNT] = {
        [PITH_DTYPE_NONE] = "", [PITH_BOOL] = "BOOL", [PITH_I8] = "I8",
        [PITH_I16] = "I16",     [PITH_I32] = "I32",   [PITH_I64] = "I64",
        [PITH_U8] = "U8",       [PITH_U16] = "U16",   [PITH_U32] = "U32",
        [PITH_U64] = "U64",     [PITH_F16] = "F16",   [PITH_BF16] = "BF16",
        [PITH_F32] = "F32",     [PITH_F64] = "F64"};
    return names[dtype];
}

static bool lies_in(const pithp_doc_leaf *leaf, int32_t sidecar) {
    return leaf->in_sidecar && (sidecar < 0 || leaf->sidecar == sidecar);
}

/* The leaves in a sidecar; -1: in any. */
static int64_t *collect(const pithp_document *d, int32_t sidecar, int64_t *count) {
    *count = 0;
    for (int64_t i = 0; i < d->leaves.count; i++)
        *count += lies_in(&d->leaves.rows[i], sidecar);
    int64_t *order = pithp_allocate(d->rt, (size_t)*count * sizeof *order);
    if (!order)
        return NULL;
    int64_t n = 0;
    for (int64_t i = 0; i < d->leaves.count; i++)
        if (lies_in(&d->leaves.rows[i], sidecar))
            order[n++] = i;
    return order;
}

/* ---- Writing ---- */

/* Element size as stored. Compressed leaves count as 0 and are sorted last. */
static size_t stored_size(const pithp_doc_leaf *leaf) {
    return leaf->compressed ? 0 : pith_dtype_size(leaf->dtype);
}

static int by_size_and_name(const void *a, const void *b, void *closure) {
    const pithp_document *d = closure;
    const pithp_doc_leaf *x = &d->leaves.rows[*(const int64_t *)a];
    const pithp_doc_leaf *y = &d->leaves.rows[*(const int64_t *)b];
    const size_t i = stored_size(x), j = stored_size(y);
    return i != j ? (i < j ? 1 : -1) : strcmp(x->tensor, y->tensor);
}

/* Paths start with '.' or '[', so the substitute names of long paths collide with
 * none. */
bool pithp_sidecar_name_tensor(pithp_document *d, int64_t number) {
    pithp_doc_leaf *leaf = &d->leaves.rows[number];
    pithp_string t;
    pithp_string_begin(&t, d->rt);
    pithp_string_add(&t, leaf->compressed ? PITHP_COMPRESSED_PREFIX : "");
    const size_t start = t.length;
    if (!pithp_document_path(d, leaf->node, PITHP_TENSOR_NAME, &t) || t.length == start) {
        t.length = start;
        pithp_string_print(&t, "leaf/%" PRId64, number);
    }
    leaf->tensor = t.failed ? NULL : pithp_document_text(d, t.bytes, t.length);
    pithp_string_end(&t);
    return leaf->tensor != NULL;
}

bool pithp_sidecar_name_tensors(pithp_document *d) {
    for (int64_t i = 0; i < d->leaves.count; i++)
        if (d->leaves.rows[i].in_sidecar && !pithp_sidecar_name_tensor(d, i))
            return false;
    return true;
}

/* A compressed leaf is a tensor of bytes, under a name that no path has. */
static void print_tensor(pithp_string *t, const pithp_doc_leaf *leaf) {
    pithp_json_string(t, leaf->tensor);
    pithp_string_print(t, ":{\"dtype\":\"%s\",\"shape\":[",
                       leaf->compressed ? "U8" : tensor_dtype(leaf->dtype));
    if (leaf->compressed) {
        pithp_string_print(t, "%zu", leaf->end - leaf->begin);
    } else {
        for (int32_t i = 0; i < leaf->shape.rank; i++)
            pithp_string_print(t, "%s%" PRId64, i ? "," : "", leaf->shape.extents[i]);
    }
    pithp_string_print(t, "],\"data_offsets\":[%zu,%zu]}", leaf->begin, leaf->end);
}

static size_t stored_bytes(const pithp_doc_leaf *leaf) {
    if (!leaf->compressed)
        return leaf->bytes;
    if (leaf->packed)
        return leaf->packed;
    if (leaf->frames)
        return leaf->frames[leaf->frame_count - 1].begin +
               leaf->frames[leaf->frame_count - 1].bytes;
    return (leaf->bytes / PITHP_CHUNK_BYTES + 1) * PITHP_FRAME_MOST;
}

int64_t *pithp_sidecar_layout(const pithp_document *d, int32_t sidecar, int64_t *count) {
    int64_t *order = collect(d, sidecar, count);
    if (order)
        qsort_r(order, (size_t)*count, sizeof *order, by_size_and_name,
                (void *)(uintptr_t)d);
    return order;
}

void pithp_sidecar_header(pithp_document *d,
                          int32_t sidecar,
                          const int64_t *order,
                          int64_t count,
                          size_t least,
                          pithp_string *header) {
    size_t at = 0;
    pithp_string_add_n(header, "\0\0\0\0\0\0\0\0", 8);
    pithp_string_print(header,
                       "{\"__metadata__\":{\"format\":\"pith\",\"version\":\"%d\"}",
                       PITHP_CHECKPOINT_FORMAT);
    for (int64_t i = 0; i < count; i++) {
        pithp_doc_leaf *leaf = &d->leaves.rows[order[i]];
        leaf->begin = at;
        leaf->end = at += stored_bytes(leaf);
        pithp_string_add(header, ",");
        print_tensor(header, leaf);
    }
    pithp_string_add(header, "}");
    while ((header->length % PITHP_DATA_ALIGNMENT || header->length < least) &&
           !header->failed)
        pithp_string_add_n(header, " ", 1);
    const uint64_t length = header->length - 8;
    if (!header->failed)
        memcpy(header->bytes, &length, sizeof length);
    d->sidecars.rows[sidecar].data = header->length;
    d->sidecars.rows[sidecar].bytes = header->length + at;
}

pithp_digest pithp_sidecar_digest(const pithp_document *d,
                                  const void *header,
                                  size_t header_bytes,
                                  const int64_t *order,
                                  int64_t count) {
    pithp_hasher h;
    pithp_hasher_begin(&h);
    pithp_hasher_add(&h, header, header_bytes);
    for (int64_t i = 0; i < count; i++) {
        const pithp_doc_leaf *leaf = &d->leaves.rows[order[i]];
        pithp_hasher_add(&h, &leaf->digest, sizeof leaf->digest);
        for (int64_t k = 0; k < leaf->frame_count; k++)
            pithp_hasher_add(&h, &leaf->frames[k].digest, sizeof(pithp_digest));
    }
    return pithp_hasher_end(&h);
}

/* ---- Reading ---- */

static int by_place(const void *a, const void *b, void *closure) {
    const pithp_document *d = closure;
    const int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    const pithp_doc_leaf *x = &d->leaves.rows[i], *y = &d->leaves.rows[j];
    if (x->sidecar != y->sidecar)
        return x->sidecar < y->sidecar ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    const size_t k = pith_dtype_size(x->dtype), l = pith_dtype_size(y->dtype);
    return k != l ? (k < l ? 1 : -1) : strcmp(x->tensor, y->tensor);
}

pith_status pithp_sidecar_order(pith_scope *s,
                                const pithp_document *d,
                                const char *file,
                                int64_t **order,
                                int64_t *count) {
    const bool covers = d->format == 1;
    size_t at = 0;
    int32_t sidecar = 0;
    *order = collect(d, -1, count);
    if (!*order)
        return pithp_fail_memory(s, (size_t)*count * sizeof **order);
    qsort_r(*order, (size_t)*count, sizeof **order, by_place, (void *)(uintptr_t)d);
    for (int64_t i = 0; i < *count; i++) {
        const pithp_doc_leaf *leaf = &d->leaves.rows[(*order)[i]];
        at = leaf->sidecar == sidecar ? at : 0;
        sidecar = leaf->sidecar;
        if (covers ? leaf->begin != at : leaf->begin < at)
            return pithp_fail(s, PITH_E_FORMAT, NULL,
                              "\"%s\": the leaves in its sidecar overlap%s", file,
                              covers ? " or leave holes" : "");
        at = leaf->end;
    }
    if (covers && d->sidecars.count &&
        at != d->sidecars.rows[0].bytes - d->sidecars.rows[0].data)
        return pithp_fail(s, PITH_E_FORMAT, NULL,
                          "\"%s\": the leaves in its sidecar do not fill it", file);
    return PITH_OK;
}
