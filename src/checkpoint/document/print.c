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
#include "checkpoint/document/format.h"

#include <inttypes.h>
#include <string.h>

/* The text that is printed, or (to not NULL) what has not been passed on of it. */
typedef struct printer {
    pithp_string *t;
    const pithp_document *d;
    const pithp_document_output *to;
    pithp_hasher hasher; /* of what was passed on */
    pith_status rc;      /* of elements */
} printer;

/* ---- Strings ---- */

/* Length in bytes of the code point at text; 0: invalid. */
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

/* ---- Members ---- */

PITHP_FORMAT_NAMES(head, PITHP_HEAD_MEMBERS)
PITHP_FORMAT_NAMES(sidecar, PITHP_SIDECAR_MEMBERS)
PITHP_FORMAT_NAMES(parts, PITHP_PARTS_MEMBERS)
PITHP_FORMAT_NAMES(type, PITHP_TYPE_MEMBERS)
PITHP_FORMAT_NAMES(node, PITHP_NODE_MEMBERS)
PITHP_FORMAT_NAMES(leaf, PITHP_LEAF_MEMBERS)

/* Begin a member. A comma precedes all but the first member of an object. */
static void member(pithp_string *t, const char *name) {
    const bool first = t->length && t->bytes[t->length - 1] == '{';
    pithp_string_add(t, first ? "\"" : ",\"");
    pithp_string_add(t, name);
    pithp_string_add(t, "\":");
}

static void member_i64(pithp_string *t, const char *name, int64_t value) {
    member(t, name);
    pithp_string_print(t, "%" PRId64, value);
}

static void member_size(pithp_string *t, const char *name, size_t value) {
    member(t, name);
    pithp_string_print(t, "%zu", value);
}

static void member_text(pithp_string *t, const char *name, const char *value) {
    member(t, name);
    pithp_json_string(t, value);
}

static void member_digest(pithp_string *t, const char *name, pithp_digest digest) {
    char text[PITHP_DIGEST_TEXT];
    pithp_digest_print(digest, text);
    member(t, name);
    pithp_string_print(t, "\"%s\"", text);
}

/* ---- Rows ---- */

static void print_static(pithp_string *t, const pith_checkpoint_static *value) {
    char number[PITHP_ELEMENT_TEXT];
    pithp_json_string(t, value->name);
    pithp_string_print(t, ":[\"%s\",", pithp_static_kinds[value->kind].name);
    switch (value->kind) {
        case PITH_STATIC_KIND_I64:
            pithp_string_print(t, "%" PRId64, value->i64);
            break;
        case PITH_STATIC_KIND_F64:
            pithp_element_to_json(PITH_F64, &value->f64, number);
            pithp_string_add(t, number);
            break;
        case PITH_STATIC_KIND_BOOL:
            pithp_string_add(t, value->i64 ? "true" : "false");
            break;
        case PITH_STATIC_KIND_RECORD:
            if (value->node >= 0)
                pithp_string_print(t, "%" PRId64, value->node);
            else
                pithp_string_add(t, "null");
            break;
        case PITH_STATIC_KIND_TEXT:
        case PITH_STATIC_KIND_ENUM:
        case PITH_STATIC_KIND_DTYPE:
        case PITH_STATIC_KIND_NONE:
            if (value->text)
                pithp_json_string(t, value->text);
            else
                pithp_string_add(t, "null");
            break;
    }
    pithp_string_add(t, "]");
}

static void
print_node(pithp_string *t, const pithp_document *d, const pithp_doc_node *n) {
    member_text(t, pithp_node_member.kind, pith_node_kind_name(n->kind));
    if (n->kind == PITH_NODE_RECORD)
        member_i64(t, pithp_node_member.type, n->type);
    if (n->parent >= 0) {
        member_i64(t, pithp_node_member.parent, n->parent);
        member(t, n->is_static ? pithp_node_member.static_of : pithp_node_member.at);
        if (n->name)
            pithp_json_string(t, n->name);
        else
            pithp_string_print(t, "%" PRId64, n->index);
    }
    if (n->kind == PITH_NODE_LEAF)
        member_i64(t, pithp_node_member.leaf, n->leaf);
    if (n->static_count) {
        member(t, pithp_node_member.statics);
        for (int64_t i = 0; i < n->static_count; i++) {
            pithp_string_add(t, i ? "," : "{");
            print_static(t, &d->statics.rows[n->first_static + i]);
        }
        pithp_string_add(t, "}");
    }
    pithp_string_add(t, "}");
}

/* Pass on the text if it has more than `most` bytes. */
static void drain(printer *p, size_t most) {
    pithp_string *t = p->t;
    if (!p->to || t->failed || t->length <= most)
        return;
    pithp_hasher_add(&p->hasher, t->bytes, t->length);
    p->to->add(p->to->closure, t->bytes, t->length);
    t->length = 0;
}

typedef struct elements {
    printer *p;
    pith_dtype dtype;
} elements;

static pith_status
print_elements(void *closure, const void *bytes, size_t offset, size_t n) {
    enum { MOST_TEXT = 1 << 18 };
    const elements *e = closure;
    const size_t size = pith_dtype_size(e->dtype);
    char number[1 + PITHP_ELEMENT_TEXT];
    for (size_t at = 0; at < n; at += size) {
        const bool first = offset + at == 0;
        const size_t length =
            pithp_element_to_json(e->dtype, (const char *)bytes + at, number + 1);
        number[0] = ',';
        pithp_string_add_n(e->p->t, first ? number + 1 : number,
                           first ? length : length + 1);
        drain(e->p, MOST_TEXT);
    }
    return e->p->t->failed ? PITH_E_MEMORY : PITH_OK;
}

static void print_data(printer *p, const pithp_doc_leaf *leaf) {
    elements e = {p, leaf->dtype};
    member(p->t, pithp_leaf_member.data);
    pithp_string_add(p->t, "[");
    if (leaf->data)
        print_elements(&e, leaf->data, 0, leaf->bytes);
    else if (leaf->bytes && p->rc == PITH_OK)
        p->rc =
            p->to->elements(p->to->closure, leaf - p->d->leaves.rows, print_elements, &e);
    pithp_string_add(p->t, "]");
}

static void print_frames(pithp_string *t, const pithp_doc_leaf *leaf) {
    char digest[PITHP_DIGEST_TEXT];
    if (leaf->frame_count)
        member(t, pithp_leaf_member.zstd);
    for (int64_t i = 0; i < leaf->frame_count; i++) {
        pithp_digest_print(leaf->frames[i].digest, digest);
        pithp_string_print(t, "%s[%zu,\"%s\"]", i ? "," : "[", leaf->frames[i].bytes,
                           digest);
    }
    pithp_string_add(t, leaf->frame_count ? "]" : "");
}

static void print_extents(pithp_string *t, int64_t count, const int64_t *extents) {
    pithp_string_add(t, "[");
    for (int64_t i = 0; i < count; i++)
        pithp_string_print(t, "%s%" PRId64, i ? "," : "", extents[i]);
    pithp_string_add(t, "]");
}

static void print_shard(pithp_string *t, const pithp_doc_leaf *leaf) {
    member_text(t, pithp_leaf_member.shard, leaf->shard);
    if (leaf->rows)
        member_text(t, pithp_leaf_member.rows, leaf->rows);
    member(t, pithp_leaf_member.part);
    print_extents(t, leaf->part.rank, leaf->part.extents);
    if (leaf->rows)
        member_i64(t, pithp_leaf_member.counter, leaf->counter);
    if (leaf->counts) {
        member(t, pithp_leaf_member.counts);
        print_extents(t, leaf->counts_count, leaf->counts);
    }
}

static void print_leaf(printer *p, const pithp_doc_leaf *leaf) {
    const pithp_document *d = p->d;
    pithp_string *t = p->t, path;
    pithp_string_begin(&path, d->rt);
    /* A longer path is omitted; it follows from the node table. */
    if (pithp_document_path(d, leaf->node, PITHP_TENSOR_NAME, &path))
        member_text(t, pithp_leaf_member.path, path.bytes);
    t->failed |= path.failed;
    pithp_string_end(&path);
    member_text(t, pithp_leaf_member.dtype, pith_dtype_name(leaf->dtype));
    member(t, pithp_leaf_member.shape);
    print_extents(t, leaf->shape.rank, leaf->shape.extents);
    if (leaf->unit)
        member_text(t, pithp_leaf_member.unit, leaf->unit);
    member_digest(t, pithp_leaf_member.checksum, leaf->digest);
    if (leaf->in_sidecar) {
        member_i64(t, pithp_leaf_member.sidecar, leaf->sidecar);
        member_text(t, pithp_leaf_member.tensor, leaf->tensor);
        member_size(t, pithp_leaf_member.begin, leaf->begin);
        member_size(t, pithp_leaf_member.end, leaf->end);
        print_frames(t, leaf);
    } else if (!pithp_leaf_is_parted(leaf)) {
        print_data(p, leaf);
    }
    if (leaf->shard)
        print_shard(t, leaf);
    pithp_string_add(t, "}");
}

/* ---- The document ---- */

/* Each member of the document has its own line. */
static void head_member(pithp_string *t, const char *name) {
    pithp_string_print(t, ",\n\"%s\":", name);
}

static void begin_table(pithp_string *t, const char *name) {
    head_member(t, name);
    pithp_string_add(t, "[");
}

static void begin_row(pithp_string *t, int64_t i) {
    pithp_string_add(t, i ? ",\n{" : "\n{");
}

static void print_sidecar(pithp_string *t, const pithp_doc_sidecar *file) {
    member_text(t, pithp_sidecar_member.file, file->file);
    member_size(t, pithp_sidecar_member.bytes, file->bytes);
    member_size(t, pithp_sidecar_member.data, file->data);
    member_digest(t, pithp_sidecar_member.checksum, file->digest);
    pithp_string_add(t, "}");
}

static void print_parts(pithp_string *t, const pithp_document *d) {
    head_member(t, pithp_head_member.parts);
    pithp_string_add(t, "{");
    member(t, pithp_parts_member.mesh);
    for (int64_t i = 0; i < d->axes.count; i++) {
        pithp_string_add(t, i ? ",[" : "[[");
        pithp_json_string(t, d->axes.rows[i].name);
        pithp_string_print(t, ",%" PRId64 "]", d->axes.rows[i].size);
    }
    pithp_string_add(t, "]");
    member(t, pithp_parts_member.files);
    for (int64_t i = 0; i < d->parts.count; i++) {
        char digest[PITHP_DIGEST_TEXT];
        pithp_digest_print(d->parts.rows[i].digest, digest);
        pithp_string_add(t, i ? ",\n[" : "[\n[");
        pithp_json_string(t, d->parts.rows[i].file);
        pithp_string_print(t, ",%zu,\"%s\"]", d->parts.rows[i].bytes, digest);
    }
    pithp_string_add(t, "]}");
}

/* The sidecars come first, so that a sweep of the folder reads only the head of a
 * document. */
static void print_head(pithp_string *t, const pithp_document *d) {
    pithp_string_add(t, "{");
    member_text(t, pithp_head_member.pith, "checkpoint");
    head_member(t, pithp_head_member.format);
    pithp_string_print(t, "%" PRId32, d->format);
    if (d->sidecars.count)
        begin_table(t, pithp_head_member.sidecars);
    for (int64_t i = 0; i < d->sidecars.count; i++) {
        begin_row(t, i);
        print_sidecar(t, &d->sidecars.rows[i]);
    }
    pithp_string_add(t, d->sidecars.count ? "]" : "");
    if (d->parts.count)
        print_parts(t, d);
    head_member(t, pithp_head_member.library);
    pithp_json_string(t, d->library);
    head_member(t, pithp_head_member.step);
    pithp_string_print(t, "%" PRId64, d->step);
    head_member(t, pithp_head_member.metadata);
    pithp_string_add(t, "{");
    for (int64_t i = 0; i < d->metadata.count; i++) {
        pithp_string_add(t, i ? "," : "");
        pithp_json_string(t, d->metadata.rows[i].key);
        pithp_string_add(t, ":");
        pithp_json_string(t, d->metadata.rows[i].value);
    }
    pithp_string_add(t, "}");
}

/* A row of a table: its text is passed on before the next one. */
static void next_row(printer *p, int64_t i) {
    enum { MOST_TEXT = 1 << 16 };
    drain(p, MOST_TEXT);
    begin_row(p->t, i);
}

/* All but the checksum. */
static void print_tables(printer *p) {
    const pithp_document *d = p->d;
    pithp_string *t = p->t;
    print_head(t, d);
    begin_table(t, pithp_head_member.types);
    for (int64_t i = 0; i < d->types.count; i++) {
        next_row(p, i);
        member_text(t, pithp_type_member.name, d->types.rows[i].name);
        member_i64(t, pithp_type_member.version, d->types.rows[i].version);
        pithp_string_add(t, "}");
    }
    pithp_string_add(t, "]");
    begin_table(t, pithp_head_member.nodes);
    for (int64_t i = 0; i < d->nodes.count; i++) {
        next_row(p, i);
        print_node(t, d, &d->nodes.rows[i]);
    }
    pithp_string_add(t, "]");
    begin_table(t, pithp_head_member.leaves);
    for (int64_t i = 0; i < d->leaves.count && p->rc == PITH_OK; i++) {
        next_row(p, i);
        print_leaf(p, &d->leaves.rows[i]);
    }
    pithp_string_add(t, "],\n");
}

static void print_checksum(pithp_string *t, pithp_digest digest) {
    char text[PITHP_DIGEST_TEXT];
    pithp_digest_print(digest, text);
    pithp_string_print(t, "\"%s\":\"%s\"}\n", pithp_head_member.checksum, text);
}

void pithp_document_print(const pithp_document *d, pithp_string *t) {
    printer p = {.t = t, .d = d};
    const size_t start = t->length;
    print_tables(&p);
    if (!t->failed)
        print_checksum(t, pithp_digest_of(t->bytes + start, t->length - start));
}

pith_status pithp_document_print_to(const pithp_document *d,
                                    const pithp_document_output *out) {
    pithp_string t;
    printer p = {.t = &t, .d = d, .to = out};
    pithp_string_begin(&t, d->rt);
    pithp_hasher_begin(&p.hasher);
    print_tables(&p);
    drain(&p, 0);
    print_checksum(&t, pithp_hasher_end(&p.hasher));
    drain(&p, 0);
    if (t.failed && p.rc == PITH_OK)
        p.rc = PITH_E_MEMORY;
    pithp_string_end(&t);
    return p.rc;
}
