/* Parser of leaf rows. It verifies that sizes do not overflow, and that a leaf has inline
 * elements or a fitting range of a sidecar. */
#include "checkpoint/document/parse_internal.h"

#include <inttypes.h>
#include <string.h>

PITHP_ROW(leaf, PITHP_LEAF_MEMBERS)

/* ---- Sharded leaves ---- */

static pith_status read_part_shape(pithp_parser *p, json_t *value, pithp_doc_leaf *leaf) {
    const size_t rank = json_array_size(value);
    if (!json_is_array(value) || rank != (size_t)leaf->shape.rank)
        return pithp_parse_refuse(p, "the shape of a part has another rank");
    leaf->part.rank = (int32_t)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *extent = json_array_get(value, i);
        leaf->part.extents[i] = json_integer_value(extent);
        if (!json_is_integer(extent) || leaf->part.extents[i] < 0)
            return pithp_parse_refuse(p, "an extent of a part is not a valid size");
    }
    return PITH_OK;
}

static pith_status read_counts(pithp_parser *p, json_t *value, pithp_doc_leaf *leaf) {
    const size_t count = json_array_size(value);
    if (!json_is_array(value) || !count || leaf->shape.rank || leaf->dtype != PITH_I64)
        return pithp_parse_refuse(p, "only an i64 of rank 0 counts rows");
    leaf->counts = pithp_document_allocate(p->d, count * sizeof *leaf->counts);
    if (!leaf->counts)
        return pithp_parse_memory(p);
    leaf->counts_count = (int64_t)count;
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *rows = json_array_get(value, i);
        leaf->counts[i] = json_integer_value(rows);
        if (!json_is_integer(rows) || leaf->counts[i] < 0 ||
            __builtin_add_overflow(sum, leaf->counts[i], &sum))
            return pithp_parse_refuse(p, "a count of rows is not a valid number");
    }
    return PITH_OK;
}

static pith_status
read_shard(pithp_parser *p, const leaf_row *got, pithp_doc_leaf *leaf) {
    if (!p->d->parts.count || !got->part || !got->rows != (got->counter < 0))
        return pithp_parse_refuse(p, "the members of a sharded leaf are incomplete");
    leaf->shard = pithp_document_text(p->d, got->shard, strlen(got->shard));
    leaf->counter = got->counter;
    if (!leaf->shard || (got->rows && !(leaf->rows = pithp_document_text(
                                            p->d, got->rows, strlen(got->rows)))))
        return pithp_parse_memory(p);
    pithp_string path;
    pithp_string_begin(&path, p->d->rt);
    pithp_document_path(p->d, leaf->node, SIZE_MAX / 2, &path);
    leaf->key = path.failed ? NULL : pithp_document_text(p->d, path.bytes, path.length);
    pithp_string_end(&path);
    if (!leaf->key)
        return pithp_parse_memory(p);
    const pith_status rc = read_part_shape(p, got->part, leaf);
    return rc == PITH_OK && got->counts ? read_counts(p, got->counts, leaf) : rc;
}

static pith_status read_shape(pithp_parser *p, json_t *shape, pithp_doc_leaf *leaf) {
    const size_t rank = json_array_size(shape);
    if (!json_is_array(shape) || rank > PITH_MAX_RANK)
        return pithp_parse_refuse(p, "a shape has %d extents at most", PITH_MAX_RANK);
    bool empty = false, huge = false;
    size_t bytes = pith_dtype_size(leaf->dtype);
    leaf->shape.rank = (int32_t)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *extent = json_array_get(shape, i);
        if (!json_is_integer(extent) || json_integer_value(extent) < 0)
            return pithp_parse_refuse(p, "extent %zu of the shape is not a valid size",
                                      i);
        leaf->shape.extents[i] = json_integer_value(extent);
        if (leaf->shape.extents[i] == 0)
            empty = true;
        else
            huge |= pithp_mul_overflows(bytes, (size_t)leaf->shape.extents[i], &bytes);
    }
    if (huge || bytes > INT64_MAX) /* as for arrays, even if an extent is 0 */
        return pithp_parse_refuse(p, "the size of the leaf overflows");
    leaf->bytes = empty ? 0 : bytes;
    leaf->count = (int64_t)(leaf->bytes / pith_dtype_size(leaf->dtype));
    return PITH_OK;
}

static pith_status read_data(pithp_parser *p, json_t *data, pithp_doc_leaf *leaf) {
    const size_t step = pith_dtype_size(leaf->dtype);
    if (!json_is_array(data) || json_array_size(data) != (size_t)leaf->count)
        return pithp_parse_refuse(p, "expected data of %" PRId64 " elements",
                                  leaf->count);
    char *elements = pithp_document_allocate(p->d, leaf->bytes + 8);
    if (!elements)
        return pithp_parse_memory(p);
    for (int64_t i = 0; i < leaf->count; i++)
        if (!pithp_parse_element(json_array_get(data, (size_t)i), leaf->dtype,
                                 elements + (size_t)i * step))
            return pithp_parse_refuse(p, "element %" PRId64 " is no %s", i,
                                      pith_dtype_name(leaf->dtype));
    leaf->data = elements;
    if (!pithp_digest_equal(pithp_digest_of(elements, leaf->bytes), leaf->digest))
        return pithp_parse_refuse(p, "the checksum does not match the data");
    return PITH_OK;
}

/* Frames of a compressed leaf lie back to back. Each has the minimum size for its
 * elements, so the file size bounds the memory that the frames can claim. */
static pith_status read_frames(pithp_parser *p, json_t *rows, pithp_doc_leaf *leaf) {
    const size_t count =
        leaf->bytes / PITHP_CHUNK_BYTES + (leaf->bytes % PITHP_CHUNK_BYTES != 0);
    if (!json_is_array(rows) || count == 0 || json_array_size(rows) != count)
        return pithp_parse_refuse(p, "expected %zu zstd frames", count);
    leaf->compressed = true;
    leaf->frame_count = (int64_t)count;
    leaf->frames = pithp_document_allocate(p->d, count * sizeof *leaf->frames);
    if (!leaf->frames)
        return pithp_parse_memory(p);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        pithp_zstd_frame *frame = &leaf->frames[i];
        json_int_t bytes;
        const char *digest;
        json_error_t e;
        const int result = json_unpack_ex(json_array_get(rows, i), &e, JSON_STRICT,
                                          "[I,s]", &bytes, &digest);
        if (result != 0)
            return pithp_parse_unpacked(p, result, &e);
        const size_t rest = leaf->bytes - i * PITHP_CHUNK_BYTES;
        const size_t elements = rest < PITHP_CHUNK_BYTES ? rest : PITHP_CHUNK_BYTES;
        if (bytes < (json_int_t)pithp_frame_least(elements) || bytes > PITHP_FRAME_MOST ||
            !pithp_digest_parse(digest, &frame->digest))
            return pithp_parse_refuse(
                p, "the size or the checksum of zstd frame %zu is invalid", i);
        frame->begin = at;
        frame->bytes = (size_t)bytes;
        at += frame->bytes;
    }
    return PITH_OK;
}

/* Whether the frames fill the range of their leaf, and its name marks it as
 * compressed. */
static bool frames_fit(const pithp_doc_leaf *leaf) {
    if (!leaf->compressed)
        return true;
    const pithp_zstd_frame *last = &leaf->frames[leaf->frame_count - 1];
    return last->begin + last->bytes == leaf->end - leaf->begin &&
           strncmp(leaf->tensor, PITHP_COMPRESSED_PREFIX,
                   strlen(PITHP_COMPRESSED_PREFIX)) == 0;
}

static pith_status
read_tensor(pithp_parser *p, const leaf_row *got, pithp_doc_leaf *leaf) {
    const bool only = p->d->format == 1 && got->sidecar == -1;
    const json_int_t sidecar = only ? 0 : got->sidecar, begin = got->begin,
                     end = got->end;
    if (sidecar < 0 || sidecar >= p->d->sidecars.count)
        return pithp_parse_refuse(p, "the leaf is in an unknown sidecar");
    const pithp_doc_sidecar *file = &p->d->sidecars.rows[sidecar];
    const size_t room = file->bytes - file->data;
    if (begin < 0 || end < begin || (size_t)end > room ||
        (!leaf->compressed && (size_t)(end - begin) != leaf->bytes))
        return pithp_parse_refuse(
            p, "the range of the leaf does not fit its size or the sidecar");
    leaf->in_sidecar = true;
    leaf->sidecar = (int32_t)sidecar;
    leaf->begin = (size_t)begin;
    leaf->end = (size_t)end;
    leaf->tensor = pithp_document_text(p->d, got->tensor, strlen(got->tensor));
    if (!leaf->tensor)
        return pithp_parse_memory(p);
    return frames_fit(leaf)
               ? PITH_OK
               : pithp_parse_refuse(p, "the zstd frames do not fit the leaf's range");
}

/* The path in a row is for human readers. It must agree with the node table. */
static pith_status check_path(pithp_parser *p, const char *path, int64_t node) {
    pithp_string t;
    pithp_string_begin(&t, p->d->rt);
    const bool printed = pithp_document_path(p->d, node, PITHP_TENSOR_NAME, &t);
    const bool failed = t.failed;
    const bool same = printed == (path != NULL) && (!path || strcmp(path, t.bytes) == 0);
    pithp_string_end(&t);
    if (failed)
        return pithp_parse_memory(p);
    return same ? PITH_OK
                : pithp_parse_refuse(p, "the path differs from that of the node table");
}

pith_status pithp_parse_leaf(pithp_parser *p, json_t *row) {
    leaf_row got = {.sidecar = -1, .begin = -1, .end = -1, .counter = -1};
    json_error_t e;
    if (p->leaves_read == p->d->leaves.count)
        return pithp_parse_refuse(p, "more leaves than the node table has");
    pithp_doc_leaf *leaf = &p->d->leaves.rows[p->leaves_read++];
    p->leaf_node = leaf->node;
    const int result = unpack_leaf(row, &e, &got);
    if (result != 0)
        return pithp_parse_unpacked(p, result, &e);
    leaf->dtype = pith_dtype_parse(got.dtype);
    if (leaf->dtype == PITH_DTYPE_NONE)
        return pithp_parse_refuse(p, "\"%.80s\" is not a dtype", got.dtype);
    if (!pithp_digest_parse(got.checksum, &leaf->digest))
        return pithp_parse_refuse(p, "the checksum is invalid");
    pith_status rc = check_path(p, got.path, leaf->node);
    if (rc == PITH_OK)
        rc = read_shape(p, got.shape, leaf);
    if (rc != PITH_OK)
        return rc;
    if (got.unit && !(leaf->unit = pithp_document_text(p->d, got.unit, strlen(got.unit))))
        return pithp_parse_memory(p);
    if (got.shard && (rc = read_shard(p, &got, leaf)) != PITH_OK)
        return rc;
    if (pithp_leaf_is_parted(leaf)) {
        p->leaf_node = -1;
        return got.data || got.tensor ? pithp_parse_refuse(p, "a parted leaf has data")
                                      : PITH_OK;
    }
    if (!got.data == !got.tensor ||
        (got.data && (got.sidecar != -1 || got.begin != -1 || got.end != -1 || got.zstd)))
        return pithp_parse_refuse(p, "a leaf has either data or a range in a sidecar");
    if (got.zstd)
        rc = read_frames(p, got.zstd, leaf);
    if (rc != PITH_OK)
        return rc;
    rc = got.data ? read_data(p, got.data, leaf) : read_tensor(p, &got, leaf);
    if (rc == PITH_OK)
        p->leaf_node = -1;
    return rc;
}
