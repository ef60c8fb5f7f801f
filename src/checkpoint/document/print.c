/* Document printer: JSON with one row per line and members in a fixed order, so that
 * equal states give equal bytes. The last member is the checksum of all text before it.
 *
 *     {"pith":"checkpoint",
 *     "format":2,
 *     ...
 *     "nodes":[
 *     {"kind":"record","type":0,"statics":{"cutoff":["f64",2.5]}},
 *     {"kind":"leaf","parent":0,"at":"position","leaf":0}],
 *     "leaves":[
 *     {"path":".position","dtype":"f64","shape":[2],"checksum":"...","data":[0.5,1.0]}],
 *     "checksum":"..."} */
#include "checkpoint/document/document.h"

#include <inttypes.h>
#include <string.h>

/* ---- Strings ---- */

/* Bytes of the code point at text, or 0 where there is none. */
static size_t code_point(const unsigned char *text, size_t n) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char first = text[0];
    const size_t length = first < 0x80       ? 1
                          : first >> 5 == 6  ? 2
                          : first >> 4 == 14 ? 3
                          : first >> 3 == 30 ? 4
                                             : 0;
    if (length < 2 || length > n)
        return length == 1 ? 1 : 0;
    uint32_t value = first & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (text[i] >> 6 != 2)
            return 0;
        value = value << 6 | (text[i] & 0x3Fu);
    }
    return value < least[length] || value > 0x10FFFF ||
                   (value >= 0xD800 && value < 0xE000)
               ? 0
               : length;
}

bool pithp_is_utf8(const char *text, size_t n) {
    while (n) {
        const size_t length = code_point((const unsigned char *)text, n);
        if (!length)
            return false;
        text += length;
        n -= length;
    }
    return true;
}

bool pithp_is_file_name(const char *name) {
    return *name && *name != '.' && !strchr(name, '/') && strlen(name) <= 255;
}

/* ---- Rows ---- */

static void member_i64(pithp_text *t, const char *name, int64_t value) {
    pithp_text_print(t, "\"%s\":%" PRId64, name, value);
}

static void member_text(pithp_text *t, const char *name, const char *value) {
    pithp_text_print(t, "\"%s\":", name);
    pithp_json_string(t, value);
}

static void member_digest(pithp_text *t, const char *name, pithp_digest digest) {
    char text[PITHP_DIGEST_TEXT];
    pithp_digest_print(digest, text);
    pithp_text_print(t, "\"%s\":\"%s\"", name, text);
}

static void print_static(pithp_text *t, const pith_checkpoint_static *value) {
    char number[PITHP_ELEMENT_TEXT];
    pithp_json_string(t, value->name);
    pithp_text_print(t, ":[\"%s\",", pithp_static_kinds[value->kind].name);
    switch (value->kind) {
        case PITH_STATIC_I64:
            pithp_text_print(t, "%" PRId64, value->i64);
            break;
        case PITH_STATIC_F64:
            pithp_element_to_json(PITH_F64, &value->f64, number);
            pithp_text_add(t, number);
            break;
        case PITH_STATIC_BOOL:
            pithp_text_add(t, value->i64 ? "true" : "false");
            break;
        case PITH_STATIC_RECORD_:
            if (value->node >= 0)
                pithp_text_print(t, "%" PRId64, value->node);
            else
                pithp_text_add(t, "null");
            break;
        case PITH_STATIC_TEXT:
        case PITH_STATIC_CHOICE:
        case PITH_STATIC_DTYPE_:
        case PITH_STATIC_NONE:
            if (value->text)
                pithp_json_string(t, value->text);
            else
                pithp_text_add(t, "null");
            break;
    }
    pithp_text_add(t, "]");
}

static void print_node(pithp_text *t, const pithp_document *d, const pithp_doc_node *n) {
    pithp_text_print(t, "{\"kind\":\"%s\"", pith_node_kind_name(n->kind));
    if (n->kind == PITH_NODE_RECORD)
        pithp_text_print(t, ",\"type\":%" PRId32, n->type);
    if (n->parent >= 0) {
        pithp_text_add(t, ",");
        member_i64(t, "parent", n->parent);
        pithp_text_add(t, n->is_static ? ",\"static\":" : ",\"at\":");
        if (n->name)
            pithp_json_string(t, n->name);
        else
            pithp_text_print(t, "%" PRId64, n->index);
    }
    if (n->kind == PITH_NODE_LEAF) {
        pithp_text_add(t, ",");
        member_i64(t, "leaf", n->leaf);
    }
    if (n->static_count) {
        pithp_text_add(t, ",\"statics\":{");
        for (int64_t i = 0; i < n->static_count; i++) {
            pithp_text_add(t, i ? "," : "");
            print_static(t, &d->statics.rows[n->first_static + i]);
        }
        pithp_text_add(t, "}");
    }
    pithp_text_add(t, "}");
}

static void print_data(pithp_text *t, const pithp_doc_leaf *leaf) {
    const size_t bytes = pith_dtype_size(leaf->dtype);
    char number[1 + PITHP_ELEMENT_TEXT];
    pithp_text_add(t, ",\"data\":[");
    for (int64_t i = 0; i < leaf->count; i++) {
        const char *element = (const char *)leaf->data + (size_t)i * bytes;
        const size_t n = pithp_element_to_json(leaf->dtype, element, number + 1);
        number[0] = ',';
        pithp_text_add_n(t, i ? number : number + 1, i ? n + 1 : n);
    }
    pithp_text_add(t, "]");
}

static void print_frames(pithp_text *t, const pithp_doc_leaf *leaf) {
    char digest[PITHP_DIGEST_TEXT];
    for (int64_t i = 0; i < leaf->frame_count; i++) {
        pithp_digest_print(leaf->frames[i].digest, digest);
        pithp_text_print(t, "%s[%zu,\"%s\"]", i ? "," : ",\"zstd\":[",
                         leaf->frames[i].bytes, digest);
    }
    pithp_text_add(t, leaf->frame_count ? "]" : "");
}

static void
print_leaf(pithp_text *t, const pithp_document *d, const pithp_doc_leaf *leaf) {
    pithp_text path;
    pithp_text_begin(&path, d->rt);
    pithp_text_add(t, "{");
    /* A longer path follows from the node table. */
    if (pithp_document_path(d, leaf->node, PITHP_TENSOR_NAME, &path)) {
        member_text(t, "path", path.bytes);
        pithp_text_add(t, ",");
    }
    t->failed |= path.failed;
    pithp_text_end(&path);
    member_text(t, "dtype", pith_dtype_name(leaf->dtype));
    pithp_text_add(t, ",\"shape\":[");
    for (int32_t i = 0; i < leaf->shape.rank; i++)
        pithp_text_print(t, "%s%" PRId64, i ? "," : "", leaf->shape.extents[i]);
    pithp_text_add(t, "],");
    if (leaf->unit) {
        member_text(t, "unit", leaf->unit);
        pithp_text_add(t, ",");
    }
    member_digest(t, "checksum", leaf->digest);
    if (leaf->in_sidecar) {
        pithp_text_add(t, ",");
        member_i64(t, "sidecar", leaf->sidecar);
        pithp_text_add(t, ",");
        member_text(t, "tensor", leaf->tensor);
        pithp_text_print(t, ",\"begin\":%zu,\"end\":%zu", leaf->begin, leaf->end);
        print_frames(t, leaf);
    } else {
        print_data(t, leaf);
    }
    pithp_text_add(t, "}");
}

/* ---- The document ---- */

static void begin_table(pithp_text *t, const char *name) {
    pithp_text_print(t, ",\n\"%s\":[", name);
}
static void begin_row(pithp_text *t, int64_t i) {
    pithp_text_add(t, i ? ",\n" : "\n");
}

/* The sidecars stand near the start: who cleans a folder reads no more. */
static void print_head(pithp_text *t, const pithp_document *d) {
    pithp_text_add(t, "{\"pith\":\"checkpoint\",\n");
    member_i64(t, "format", d->format);
    for (int64_t i = 0; i < d->sidecars.count; i++) {
        const pithp_doc_sidecar *file = &d->sidecars.rows[i];
        pithp_text_add(t, i ? ",\n{" : ",\n\"sidecars\":[\n{");
        member_text(t, "file", file->file);
        pithp_text_print(t, ",\"bytes\":%zu,\"data\":%zu,", file->bytes, file->data);
        member_digest(t, "checksum", file->digest);
        pithp_text_add(t, "}");
    }
    pithp_text_add(t, d->sidecars.count ? "]" : "");
    pithp_text_add(t, ",\n");
    member_text(t, "library", d->library);
    pithp_text_add(t, ",\n");
    member_i64(t, "step", d->step);
    pithp_text_add(t, ",\n\"metadata\":{");
    for (int64_t i = 0; i < d->metadata.count; i++) {
        pithp_text_add(t, i ? "," : "");
        pithp_json_string(t, d->metadata.rows[i].key);
        pithp_text_add(t, ":");
        pithp_json_string(t, d->metadata.rows[i].value);
    }
    pithp_text_add(t, "}");
}

void pithp_document_print(const pithp_document *d, pithp_text *t) {
    const size_t start = t->length;
    print_head(t, d);
    begin_table(t, "types");
    for (int64_t i = 0; i < d->types.count; i++) {
        begin_row(t, i);
        pithp_text_add(t, "{");
        member_text(t, "name", d->types.rows[i].name);
        pithp_text_print(t, ",\"version\":%" PRId32 "}", d->types.rows[i].version);
    }
    pithp_text_add(t, "]");
    begin_table(t, "nodes");
    for (int64_t i = 0; i < d->nodes.count; i++) {
        begin_row(t, i);
        print_node(t, d, &d->nodes.rows[i]);
    }
    pithp_text_add(t, "]");
    begin_table(t, "leaves");
    for (int64_t i = 0; i < d->leaves.count; i++) {
        begin_row(t, i);
        print_leaf(t, d, &d->leaves.rows[i]);
    }
    pithp_text_add(t, "],\n");
    if (t->failed)
        return;
    member_digest(t, "checksum", pithp_digest_of(t->bytes + start, t->length - start));
    pithp_text_add(t, "}\n");
}
