/* Document parser: frame, head members in order, tables row by row. It validates all that
 * jansson accepts, so that a parsed row is safe even if the file is hostile. */
#include "checkpoint/document/parse_internal.h"

#include <inttypes.h>
#include <string.h>

PITHP_ROW(sidecar, PITHP_SIDECAR_MEMBERS)

/* ---- Members of the head ---- */

static pith_status read_sidecar(pithp_parser *p, json_t *value) {
    sidecar_row got;
    json_error_t e;
    const int result = unpack_sidecar(value, &e, &got);
    if (result != 0)
        return pithp_parse_unpacked(p, result, &e);
    pithp_doc_sidecar *row = pithp_document_add(p->d, sidecars);
    if (!row)
        return pithp_parse_memory(p);
    if (!pithp_is_file_name(got.file))
        return pithp_parse_refuse(
            p, "the sidecar's name \"%.80s\" is not a plain file name", got.file);
    if (got.data < 8 || got.bytes < got.data ||
        !pithp_digest_parse(got.checksum, &row->digest))
        return pithp_parse_refuse(p, "the sidecar's sizes or checksum are invalid");
    for (int64_t i = 0; i + 1 < p->d->sidecars.count; i++)
        if (strcmp(p->d->sidecars.rows[i].file, got.file) == 0)
            return pithp_parse_refuse(p, "the sidecar \"%.80s\" is named twice",
                                      got.file);
    row->bytes = (size_t)got.bytes;
    row->data = (size_t)got.data;
    row->file = pithp_document_text(p->d, got.file, strlen(got.file));
    return row->file ? PITH_OK : pithp_parse_memory(p);
}

static pith_status read_sidecars(pithp_parser *p, json_t *value) {
    const size_t count = json_array_size(value);
    if (p->d->format == 1)
        return read_sidecar(p, value);
    if (count == 0 || count > PITHP_SIDECARS)
        return pithp_parse_refuse(p, "expected 1 to %d sidecars", PITHP_SIDECARS);
    pith_status rc = PITH_OK;
    for (size_t i = 0; rc == PITH_OK && i < count; i++)
        rc = read_sidecar(p, json_array_get(value, i));
    return rc;
}

/* ---- Parts ---- */

PITHP_ROW(parts, PITHP_PARTS_MEMBERS)

static pith_status read_axis(pithp_parser *p, json_t *value) {
    const char *name;
    json_int_t size;
    json_error_t e;
    const int result = json_unpack_ex(value, &e, JSON_STRICT, "[s,I]", &name, &size);
    if (result != 0)
        return pithp_parse_unpacked(p, result, &e);
    pithp_doc_axis *row = pithp_document_add(p->d, axes);
    if (!row || !(row->name = pithp_document_text(p->d, name, strlen(name))))
        return pithp_parse_memory(p);
    row->size = size;
    for (int64_t i = 0; i + 1 < p->d->axes.count; i++)
        if (strcmp(p->d->axes.rows[i].name, name) == 0)
            return pithp_parse_refuse(p, "the axis \"%.40s\" is named twice", name);
    return size > 0 ? PITH_OK : pithp_parse_refuse(p, "an axis of the mesh is empty");
}

static pith_status read_part(pithp_parser *p, json_t *value) {
    const char *file, *digest;
    json_int_t bytes;
    json_error_t e;
    const int result =
        json_unpack_ex(value, &e, JSON_STRICT, "[s,I,s]", &file, &bytes, &digest);
    if (result != 0)
        return pithp_parse_unpacked(p, result, &e);
    pithp_doc_part *row = pithp_document_add(p->d, parts);
    if (!row || !(row->file = pithp_document_text(p->d, file, strlen(file))))
        return pithp_parse_memory(p);
    row->bytes = bytes < 0 ? 0 : (size_t)bytes;
    if (!pithp_is_file_name(file) || bytes <= 0 ||
        !pithp_digest_parse(digest, &row->digest))
        return pithp_parse_refuse(p, "the name, size or checksum of a part is invalid");
    return PITH_OK;
}

static pith_status print_mesh(pithp_parser *p) {
    pithp_string t;
    pithp_string_begin(&t, p->d->rt);
    for (int64_t i = 0; i < p->d->axes.count; i++)
        pithp_string_print(&t, "%s%s=%" PRId64, i ? ", " : "", p->d->axes.rows[i].name,
                           p->d->axes.rows[i].size);
    p->d->mesh = t.failed ? NULL : pithp_document_text(p->d, t.bytes, t.length);
    pithp_string_end(&t);
    return p->d->mesh ? PITH_OK : pithp_parse_memory(p);
}

static pith_status read_parts(pithp_parser *p, json_t *value) {
    parts_row got;
    json_error_t e;
    const int result = unpack_parts(value, &e, &got);
    if (result != 0)
        return pithp_parse_unpacked(p, result, &e);
    const size_t axes = json_array_size(got.mesh), files = json_array_size(got.files);
    int64_t ranks = 1;
    pith_status rc =
        axes && axes <= 8 ? PITH_OK : pithp_parse_refuse(p, "expected 1 to 8 axes");
    for (size_t i = 0; rc == PITH_OK && i < axes; i++) {
        rc = read_axis(p, json_array_get(got.mesh, i));
        if (rc == PITH_OK &&
            __builtin_mul_overflow(ranks, p->d->axes.rows[i].size, &ranks))
            ranks = 0;
    }
    if (rc == PITH_OK && (ranks <= 0 || (size_t)ranks != files))
        return pithp_parse_refuse(p, "expected a part for each rank of the mesh");
    for (size_t i = 0; rc == PITH_OK && i < files; i++)
        rc = read_part(p, json_array_get(got.files, i));
    return rc == PITH_OK ? print_mesh(p) : rc;
}

static pith_status read_metadata(pithp_parser *p, json_t *value) {
    const char *key;
    json_t *item;
    if (!json_is_object(value))
        return pithp_parse_refuse(p, "metadata is not an object");
    json_object_foreach(value, key, item) {
        if (!json_is_string(item))
            return pithp_parse_refuse(p, "the metadata \"%.80s\" is not a string", key);
        pith_metadata *row = pithp_document_add(p->d, metadata);
        if (!row)
            return pithp_parse_memory(p);
        row->key = pithp_document_text(p->d, key, strlen(key));
        row->value = pithp_parse_keep(p, item);
        if (!row->key || !row->value)
            return pithp_parse_memory(p);
    }
    return PITH_OK;
}

/* ---- The document ---- */

static pith_status read_table(pithp_parser *p,
                              pith_status (*read)(pithp_parser *, json_t *)) {
    pith_status rc = pithp_parse_expect(p, '[');
    bool again = rc == PITH_OK && pithp_parse_peek(p) != ']';
    if (rc == PITH_OK && !again)
        return pithp_parse_expect(p, ']');
    while (rc == PITH_OK && again) {
        json_t *row = NULL;
        pithp_parse_peek(p);
        const size_t at = p->at;
        rc = pithp_parse_value(p, &row);
        if (rc != PITH_OK)
            return rc;
        const size_t behind = p->at;
        p->at = at; /* errors name the line of the row */
        rc = json_is_object(row) ? read(p, row) : pithp_parse_refuse(p, "expected a row");
        json_decref(row);
        if (rc == PITH_OK) {
            p->at = behind;
            rc = pithp_parse_more(p, ']', &again);
        }
    }
    return rc;
}

#define NAME(member, name, mark, type) name,
static const char *const members[] = {PITHP_HEAD_MEMBERS(NAME)};
#define NUMBER(member, name, mark, type) HEAD_##member,
enum { PITHP_HEAD_MEMBERS(NUMBER) };

static const char *member_name(const pithp_parser *p, int member) {
    return member == HEAD_sidecars && p->d->format == 1 ? "sidecar" : members[member];
}

static pith_status read_member(pithp_parser *p, int member) {
    json_t *value = NULL;
    pith_status rc;
    switch (member) {
        case HEAD_types:
            return read_table(p, pithp_parse_type);
        case HEAD_nodes:
            return read_table(p, pithp_parse_node);
        case HEAD_leaves:
            return read_table(p, pithp_parse_leaf);
        default:
            break;
    }
    rc = pithp_parse_value(p, &value);
    if (rc != PITH_OK)
        return rc;
    switch (member) {
        case HEAD_sidecars:
            rc = read_sidecars(p, value);
            break;
        case HEAD_parts:
            rc = read_parts(p, value);
            break;
        case HEAD_library:
            rc = pithp_parse_text(p, value, &p->d->library);
            break;
        case HEAD_step:
            rc = pithp_parse_integer(p, value, &p->d->step);
            break;
        case HEAD_metadata:
            rc = read_metadata(p, value);
            break;
        default: /* pith, format and checksum are already checked */
            break;
    }
    json_decref(value);
    return rc;
}

static pith_status read_members(pithp_parser *p) {
    int last = -1;
    bool again = true;
    pith_status rc = pithp_parse_expect(p, '{');
    while (rc == PITH_OK && again) {
        json_t *key = NULL;
        int member = -1;
        pithp_parse_peek(p);
        rc = pithp_parse_value(p, &key);
        if (rc != PITH_OK)
            return rc;
        for (int i = 0; i < PITHP_COUNT(members); i++)
            if (json_is_string(key) &&
                strcmp(json_string_value(key), member_name(p, i)) == 0)
                member = i;
        json_decref(key);
        int next = last + 1; /* sidecars and parts may be missing */
        if (next == HEAD_sidecars && member != HEAD_sidecars)
            next = HEAD_parts;
        if (next == HEAD_parts && p->d->format < PITHP_PARTED_FORMAT)
            next = HEAD_library;
        if (member != next || next == PITHP_COUNT(members))
            return pithp_parse_refuse(p, "expected the member \"%s\"",
                                      next < PITHP_COUNT(members) ? members[next]
                                                                  : "no more");
        last = member;
        rc = pithp_parse_expect(p, ':');
        pithp_parse_peek(p);
        if (rc == PITH_OK)
            rc = read_member(p, member);
        if (rc == PITH_OK)
            rc = pithp_parse_more(p, '}', &again);
    }
    if (rc == PITH_OK && last != HEAD_checksum)
        return pithp_parse_refuse(p, "the document ends early");
    return rc;
}

/* The first and last bytes are fixed, which distinguishes damaged checkpoints from other
 * files. */
static pith_status check_frame(pithp_parser *p) {
    static const char head[] = "{\"pith\":\"checkpoint\",\n\"format\":";
    static const char tail[] = "\"checksum\":\"";
    enum { TAIL = sizeof tail - 1 + 32 + 3 };
    char hex[PITHP_DIGEST_TEXT];
    pithp_digest digest;
    if (p->n < sizeof head || memcmp(p->text, head, sizeof head - 1) != 0)
        return pithp_fail(p->s, PITH_E_FORMAT, NULL, "\"%s\" is not a pith checkpoint",
                          p->file);
    int64_t format = 0;
    for (size_t i = sizeof head - 1; i < p->n && p->text[i] >= '0' && p->text[i] <= '9';
         i++)
        format = format > 100000 ? format : 10 * format + (p->text[i] - '0');
    if (format < 1 || format > PITHP_PARTED_FORMAT)
        return pithp_fail(p->s, PITH_E_FORMAT, NULL,
                          "\"%s\" has format %" PRId64
                          ", this library (%s) reads formats 1 to %d",
                          p->file, format, PITH_VERSION_TEXT, PITHP_PARTED_FORMAT);
    const char *end = p->text + p->n - (p->n < TAIL ? p->n : TAIL);
    if (p->n < TAIL || memcmp(end, tail, sizeof tail - 1) != 0 ||
        memcmp(p->text + p->n - 3, "\"}\n", 3) != 0)
        return pithp_fail(
            p->s, PITH_E_FORMAT, NULL,
            "\"%s\" is cut off or damaged: it does not end with its checksum", p->file);
    memcpy(hex, end + sizeof tail - 1, 32);
    hex[32] = 0;
    if (!pithp_digest_parse(hex, &digest) ||
        !pithp_digest_equal(digest, pithp_digest_of(p->text, (size_t)(end - p->text))))
        return pithp_fail(
            p->s, PITH_E_FORMAT, NULL,
            "\"%s\" is damaged or was changed by hand: its checksum does not match",
            p->file);
    p->d->checksum = digest;
    p->d->format = (int32_t)format;
    return PITH_OK;
}

pith_status pithp_document_parse(pith_scope *s,
                                 pithp_document *d,
                                 const char *file,
                                 const char *text,
                                 size_t n) {
    pithp_parser p = {
        .s = s, .d = d, .file = file, .text = text, .n = n, .leaf_node = -1};
    pith_status rc = check_frame(&p);
    if (rc == PITH_OK)
        rc = read_members(&p);
    if (rc == PITH_OK)
        rc = pithp_parse_check_nodes(&p);
    d->bytes = n;
    return rc;
}
