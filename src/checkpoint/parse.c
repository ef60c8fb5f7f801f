/* JSON text to a document. jansson reads one row of a table at a time, so that memory is
 * bounded by the tables, not by jansson's objects; what it accepts is then checked in
 * full: a row that was taken is safe to use, whoever wrote the file. */
#include "checkpoint/checkpoint_internal.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include <jansson.h>

typedef struct parser {
    pith_scope *s;
    pithp_document *d;
    const char *file, *text;
    size_t n, at;
    int64_t leaves_read;
} parser;

static pith_status refuse(parser *p, const char *format, ...) PITH_FORMAT(2, 3);

static pith_status refuse(parser *p, const char *format, ...) {
    char text[PITHP_MESSAGE_BYTES / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t line = 1;
    for (size_t i = 0; i < p->at && i < p->n; i++)
        line += p->text[i] == '\n';
    return pithp_fail(p->s, PITH_E_FORMAT, NULL, "\"%s\", line %zu: %s", p->file, line,
                      text);
}

static pith_status short_of_memory(const parser *p) {
    return pithp_fail_memory(p->s, 0);
}

static const char *keep_text(const parser *p, const json_t *string) {
    return pithp_document_text(p->d, json_string_value(string),
                               json_string_length(string));
}

/* ---- Tokens ---- */

static char peek(parser *p) {
    while (p->at < p->n && strchr(" \n\r\t", p->text[p->at]) && p->text[p->at])
        p->at++;
    return p->at < p->n ? p->text[p->at] : '\0';
}

static pith_status expect(parser *p, char c) {
    if (peek(p) != c)
        return refuse(p, "expected '%c'", c);
    p->at++;
    return PITH_OK;
}

/* After a member or row: ',' goes on, `close` ends. */
static pith_status more(parser *p, char close, bool *again) {
    const char c = peek(p);
    if (c != ',' && c != close)
        return refuse(p, "expected ',' or '%c'", close);
    p->at++;
    *again = c == ',';
    return PITH_OK;
}

static pith_status next_value(parser *p, json_t **value) {
    json_error_t e;
    const size_t rest = p->n - p->at;
    *value =
        json_loadb(p->text + p->at, rest < INT_MAX ? rest : INT_MAX,
                   JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &e);
    if (!*value)
        return json_error_code(&e) == json_error_out_of_memory ? short_of_memory(p)
                                                               : refuse(p, "%s", e.text);
    p->at += (size_t)e.position;
    return PITH_OK;
}

bool pithp_json_string_read(const char *text, size_t n, char *to, size_t room) {
    json_t *value = json_loadb(text, n, JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, NULL);
    const size_t length = json_string_length(value);
    const bool fits = json_is_string(value) && length < room;
    if (fits)
        memcpy(to, json_string_value(value), length + 1);
    json_decref(value);
    return fits;
}

static pith_status unpacked(parser *p, int result, const json_error_t *e) {
    return result == 0 ? PITH_OK : refuse(p, "%s", e->text);
}

/* ---- Numbers ---- */

static bool read_element(const json_t *value, pith_dtype dtype, void *element) {
    switch (json_typeof(value)) {
        case JSON_INTEGER:
            return pithp_number_from_i64(dtype, json_integer_value(value), element);
        case JSON_REAL:
            return pithp_number_from_f64(dtype, json_real_value(value), element);
        case JSON_STRING:
            return pithp_number_from_text(dtype, json_string_value(value), element);
        case JSON_TRUE:
        case JSON_FALSE:
            *(unsigned char *)element = json_is_true(value);
            return dtype == PITH_BOOL;
        case JSON_OBJECT:
        case JSON_ARRAY:
        case JSON_NULL:
            break;
    }
    return false;
}

/* ---- Members of the head ---- */

static pith_status read_sidecar(parser *p, json_t *value) {
    const char *file, *digest;
    json_int_t bytes, data;
    json_error_t e;
    const int result =
        json_unpack_ex(value, &e, JSON_STRICT, "{s:s,s:I,s:I,s:s}", "file", &file,
                       "bytes", &bytes, "data", &data, "checksum", &digest);
    if (result != 0)
        return unpacked(p, result, &e);
    if (!pithp_is_file_name(file))
        return refuse(p, "the sidecar's name \"%.80s\" is no plain file name", file);
    if (data < 8 || bytes < data || !pithp_digest_parse(digest, &p->d->sidecar_digest))
        return refuse(p, "the sidecar's sizes or checksum make no sense");
    p->d->sidecar_bytes = (size_t)bytes;
    p->d->sidecar_data = (size_t)data;
    p->d->sidecar = pithp_document_text(p->d, file, strlen(file));
    return p->d->sidecar ? PITH_OK : short_of_memory(p);
}

static pith_status read_metadata(parser *p, json_t *value) {
    const char *key;
    json_t *item;
    if (!json_is_object(value))
        return refuse(p, "metadata is no object");
    json_object_foreach(value, key, item) {
        if (!json_is_string(item))
            return refuse(p, "the metadata \"%.80s\" is no string", key);
        pith_metadata *row = pithp_document_add(p->d, metadata);
        if (!row)
            return short_of_memory(p);
        row->key = pithp_document_text(p->d, key, strlen(key));
        row->value = keep_text(p, item);
        if (!row->key || !row->value)
            return short_of_memory(p);
    }
    return PITH_OK;
}

static pith_status read_text(parser *p, json_t *value, const char **text) {
    if (!json_is_string(value))
        return refuse(p, "expected a string");
    *text = keep_text(p, value);
    return *text ? PITH_OK : short_of_memory(p);
}

static pith_status read_integer(parser *p, json_t *value, int64_t *number) {
    if (!json_is_integer(value))
        return refuse(p, "expected an integer");
    *number = json_integer_value(value);
    return PITH_OK;
}

/* ---- Rows: types and nodes ---- */

static pith_status read_type(parser *p, json_t *row) {
    const char *name;
    json_int_t version;
    json_error_t e;
    const int result = json_unpack_ex(row, &e, JSON_STRICT, "{s:s,s:I}", "name", &name,
                                      "version", &version);
    if (result != 0)
        return unpacked(p, result, &e);
    if (!*name || version < 0 || version > INT32_MAX)
        return refuse(p, "a type needs a name and a version");
    pithp_doc_type *type = pithp_document_add(p->d, types);
    if (!type)
        return short_of_memory(p);
    type->version = (int32_t)version;
    type->name = pithp_document_text(p->d, name, strlen(name));
    return type->name ? PITH_OK : short_of_memory(p);
}

static pith_status
read_static_text(parser *p, json_t *value, pith_checkpoint_static *field) {
    if (field->kind == PITH_STATIC_TEXT && json_is_null(value))
        return PITH_OK;
    const pith_status rc = read_text(p, value, &field->text);
    if (rc == PITH_OK && field->kind == PITH_STATIC_DTYPE_ &&
        pith_dtype_parse(field->text) == PITH_DTYPE_NONE &&
        strcmp(field->text, "none") != 0)
        return refuse(p, "\"%.80s\" is no dtype", field->text);
    return rc;
}

static pith_status read_static(parser *p, const char *name, json_t *value) {
    static const struct {
        const char *name;
        pith_static_kind kind;
    } kinds[] = {{"i64", PITH_STATIC_I64},       {"f64", PITH_STATIC_F64},
                 {"bool", PITH_STATIC_BOOL},     {"text", PITH_STATIC_TEXT},
                 {"enum", PITH_STATIC_CHOICE},   {"dtype", PITH_STATIC_DTYPE_},
                 {"record", PITH_STATIC_RECORD_}};
    const char *kind = json_string_value(json_array_get(value, 0));
    json_t *content = json_array_get(value, 1);
    pith_checkpoint_static *field = pithp_document_add(p->d, statics);
    if (!field)
        return short_of_memory(p);
    field->node = -1;
    field->name = pithp_document_text(p->d, name, strlen(name));
    if (!field->name)
        return short_of_memory(p);
    if (json_array_size(value) == 2 && kind)
        for (int i = 0; i < PITHP_COUNT(kinds); i++)
            if (strcmp(kind, kinds[i].name) == 0)
                field->kind = kinds[i].kind;
    switch (field->kind) {
        case PITH_STATIC_I64:
            return read_integer(p, content, &field->i64);
        case PITH_STATIC_F64:
            return read_element(content, PITH_F64, &field->f64)
                       ? PITH_OK
                       : refuse(p, "the static \"%.80s\" is no number", name);
        case PITH_STATIC_BOOL:
            field->i64 = json_is_true(content);
            return json_is_boolean(content)
                       ? PITH_OK
                       : refuse(p, "the static \"%.80s\" is no bool", name);
        case PITH_STATIC_RECORD_:
            return json_is_null(content) ? PITH_OK
                                         : read_integer(p, content, &field->node);
        case PITH_STATIC_TEXT:
        case PITH_STATIC_CHOICE:
        case PITH_STATIC_DTYPE_:
            return read_static_text(p, content, field);
        case PITH_STATIC_NONE:
            break;
    }
    return refuse(p, "the static \"%.80s\" has no kind that is known", name);
}

/* A row hangs on the row before it or on one of its ancestors: rows are in walk order. A
 * static record is a tree of its own behind the others. */
static bool in_walk_order(const pithp_document *d, int64_t row, int64_t parent) {
    int64_t at = row - 1;
    while (at >= 0 && at != parent)
        at = d->nodes.rows[at].is_static ? -1 : d->nodes.rows[at].parent;
    return at == parent;
}

static pith_status attach_static(parser *p, pithp_doc_node *n, json_t *at, int64_t row) {
    const pithp_doc_node *parent = &p->d->nodes.rows[n->parent];
    const pith_status rc = read_text(p, at, &n->name);
    if (rc != PITH_OK)
        return rc;
    for (int64_t i = 0; i < parent->static_count; i++) {
        const pith_checkpoint_static *field =
            &p->d->statics.rows[parent->first_static + i];
        if (field->kind == PITH_STATIC_RECORD_ && field->node == row &&
            strcmp(field->name, n->name) == 0)
            return n->kind == PITH_NODE_RECORD ? PITH_OK
                                               : refuse(p, "a static that is no record");
    }
    return refuse(p, "row %" PRId64 " has no static \"%.80s\" that names this row",
                  n->parent, n->name);
}

static pith_status attach_child(parser *p, pithp_doc_node *n, json_t *at, int64_t row) {
    pithp_doc_node *parent = &p->d->nodes.rows[n->parent];
    const bool named = parent->kind == PITH_NODE_RECORD || parent->kind == PITH_NODE_DICT;
    if (!in_walk_order(p->d, row, n->parent))
        return refuse(p, "the rows of the node table are not in walk order");
    if (!named && parent->kind != PITH_NODE_LIST && parent->kind != PITH_NODE_TUPLE)
        return refuse(p, "row %" PRId64 " can have no children", n->parent);
    if (n->kind == PITH_NODE_ABSENT && parent->kind != PITH_NODE_RECORD)
        return refuse(p, "only a field of a record may be absent");
    n->index = parent->child_count;
    if (named) {
        const pith_status rc = read_text(p, at, &n->name);
        if (rc != PITH_OK)
            return rc;
        if (parent->kind == PITH_NODE_DICT && n->index > 0 &&
            strcmp(p->d->nodes.rows[parent->last_child].name, n->name) >= 0)
            return refuse(p, "the keys of a dict are not sorted");
    } else if (!json_is_integer(at) || json_integer_value(at) != n->index) {
        return refuse(p, "expected item %" PRId64, n->index);
    }
    parent->child_count++;
    parent->last_child = row;
    return PITH_OK;
}

static pith_status
attach(parser *p, pithp_doc_node *n, json_t *at, json_t *is_static, int64_t row) {
    if (row == 0)
        return n->parent == -1 && !at && !is_static && n->kind != PITH_NODE_ABSENT
                   ? PITH_OK
                   : refuse(p, "the first row is no root");
    if (n->parent < 0 || n->parent >= row || !at == !is_static)
        return refuse(p, "expected an earlier row as parent, and a place in it");
    n->depth = p->d->nodes.rows[n->parent].depth + 1;
    n->is_static = is_static != NULL;
    return is_static ? attach_static(p, n, is_static, row) : attach_child(p, n, at, row);
}

static pith_status add_leaf(parser *p, pithp_doc_node *n, int64_t row) {
    if (n->leaf != p->d->leaves.count)
        return refuse(p, "expected leaf %" PRId64, p->d->leaves.count);
    pithp_doc_leaf *leaf = pithp_document_add(p->d, leaves);
    if (!leaf)
        return short_of_memory(p);
    leaf->node = row;
    return PITH_OK;
}

static pith_status read_node(parser *p, json_t *row) {
    static const char *const kinds[] = {"absent", "leaf", "record", "list",
                                        "tuple",  "dict", "none"};
    const char *kind, *name;
    json_int_t type = -1, parent = -1, leaf = -1;
    json_t *at = NULL, *is_static = NULL, *statics = NULL, *value;
    json_error_t e;
    const int result =
        json_unpack_ex(row, &e, JSON_STRICT, "{s:s,s?I,s?I,s?o,s?o,s?I,s?o}", "kind",
                       &kind, "type", &type, "parent", &parent, "at", &at, "static",
                       &is_static, "leaf", &leaf, "statics", &statics);
    if (result != 0)
        return unpacked(p, result, &e);
    pithp_doc_node n = {.kind = PITH_NODE_NONE + 1, .parent = parent, .leaf = leaf};
    for (int i = 0; i < PITHP_COUNT(kinds); i++)
        if (strcmp(kind, kinds[i]) == 0)
            n.kind = (pith_node_kind)i;
    const bool record = n.kind == PITH_NODE_RECORD;
    if ((int)n.kind > PITH_NODE_NONE)
        return refuse(p, "\"%.80s\" is no kind of node", kind);
    if (record != (type >= 0 && type < p->d->types.count) ||
        (!record && (type != -1 || statics)))
        return refuse(p, "a record has a type of the type table, other nodes have none");
    if ((n.kind == PITH_NODE_LEAF) != (leaf >= 0))
        return refuse(p, "a leaf has a number, other nodes have none");
    n.type = (int32_t)type;
    n.first_static = p->d->statics.count;
    n.static_count = (int64_t)json_object_size(statics);
    const int64_t number = p->d->nodes.count;
    pith_status rc = attach(p, &n, at, is_static, number);
    if (rc == PITH_OK && n.kind == PITH_NODE_LEAF)
        rc = add_leaf(p, &n, number);
    if (rc == PITH_OK && statics && !json_is_object(statics))
        rc = refuse(p, "statics are no object");
    if (rc != PITH_OK)
        return rc;
    json_object_foreach(statics, name, value) {
        rc = read_static(p, name, value);
        if (rc != PITH_OK)
            return rc;
    }
    pithp_doc_node *stored = pithp_document_add(p->d, nodes);
    if (!stored)
        return short_of_memory(p);
    *stored = n;
    return PITH_OK;
}

/* ---- Rows: leaves ---- */

static pith_status read_shape(parser *p, json_t *shape, pithp_doc_leaf *leaf) {
    const size_t rank = json_array_size(shape);
    if (!json_is_array(shape) || rank > PITH_MAX_RANK)
        return refuse(p, "a shape has %d extents at most", PITH_MAX_RANK);
    bool empty = false, huge = false;
    size_t bytes = pith_dtype_size(leaf->dtype);
    leaf->shape.rank = (int32_t)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *extent = json_array_get(shape, i);
        if (!json_is_integer(extent) || json_integer_value(extent) < 0)
            return refuse(p, "extent %zu of the shape is no size", i);
        leaf->shape.extents[i] = json_integer_value(extent);
        if (leaf->shape.extents[i] == 0)
            empty = true;
        else
            huge |= pithp_mul_overflows(bytes, (size_t)leaf->shape.extents[i], &bytes);
    }
    if (!empty && (huge || bytes > INT64_MAX))
        return refuse(p, "the size of the leaf overflows");
    leaf->bytes = empty ? 0 : bytes;
    leaf->count = (int64_t)(leaf->bytes / pith_dtype_size(leaf->dtype));
    return PITH_OK;
}

static pith_status read_data(parser *p, json_t *data, pithp_doc_leaf *leaf) {
    const size_t step = pith_dtype_size(leaf->dtype);
    if (!json_is_array(data) || json_array_size(data) != (size_t)leaf->count)
        return refuse(p, "expected data of %" PRId64 " elements", leaf->count);
    char *elements = pithp_document_allocate(p->d, leaf->bytes + 8);
    if (!elements)
        return short_of_memory(p);
    for (int64_t i = 0; i < leaf->count; i++)
        if (!read_element(json_array_get(data, (size_t)i), leaf->dtype,
                          elements + (size_t)i * step))
            return refuse(p, "element %" PRId64 " is no %s", i,
                          pith_dtype_name(leaf->dtype));
    leaf->data = elements;
    if (!pithp_digest_equal(pithp_digest_of(elements, leaf->bytes), leaf->digest))
        return refuse(p, "the checksum does not fit the data");
    return PITH_OK;
}

static pith_status read_tensor(parser *p,
                               const char *tensor,
                               json_int_t begin,
                               json_int_t end,
                               pithp_doc_leaf *leaf) {
    const size_t room = p->d->sidecar_bytes - p->d->sidecar_data;
    if (!p->d->sidecar)
        return refuse(p, "a leaf in a sidecar, and no sidecar");
    if (begin < 0 || end < begin || (size_t)end > room ||
        (size_t)(end - begin) != leaf->bytes)
        return refuse(p, "the place of the leaf does not fit its size or the sidecar");
    leaf->in_sidecar = true;
    leaf->begin = (size_t)begin;
    leaf->end = (size_t)end;
    leaf->tensor = pithp_document_text(p->d, tensor, strlen(tensor));
    return leaf->tensor ? PITH_OK : short_of_memory(p);
}

/* The path in a row is for readers; it has to be the one that the node table gives. */
static pith_status check_path(parser *p, const char *path, int64_t node) {
    pithp_text t;
    pithp_text_begin(&t, p->d->rt);
    const bool printed = pithp_document_path(p->d, node, PITHP_TENSOR_NAME, &t);
    const bool failed = t.failed;
    const bool same = printed == (path != NULL) && (!path || strcmp(path, t.bytes) == 0);
    pithp_text_end(&t);
    if (failed)
        return short_of_memory(p);
    return same ? PITH_OK : refuse(p, "the path is not the one of the node table");
}

static pith_status read_leaf(parser *p, json_t *row) {
    const char *path = NULL, *dtype, *unit = NULL, *digest, *tensor = NULL;
    json_t *shape, *data = NULL;
    json_int_t begin = -1, end = -1;
    json_error_t e;
    if (p->leaves_read == p->d->leaves.count)
        return refuse(p, "more leaves than the node table has");
    pithp_doc_leaf *leaf = &p->d->leaves.rows[p->leaves_read++];
    const int result = json_unpack_ex(
        row, &e, JSON_STRICT, "{s?s,s:s,s:o,s?s,s:s,s?o,s?s,s?I,s?I}", "path", &path,
        "dtype", &dtype, "shape", &shape, "unit", &unit, "checksum", &digest, "data",
        &data, "tensor", &tensor, "begin", &begin, "end", &end);
    if (result != 0)
        return unpacked(p, result, &e);
    leaf->dtype = pith_dtype_parse(dtype);
    if (leaf->dtype == PITH_DTYPE_NONE)
        return refuse(p, "\"%.80s\" is no dtype", dtype);
    if (!pithp_digest_parse(digest, &leaf->digest))
        return refuse(p, "the checksum is none");
    pith_status rc = check_path(p, path, leaf->node);
    if (rc == PITH_OK)
        rc = read_shape(p, shape, leaf);
    if (rc != PITH_OK)
        return rc;
    if (unit && !(leaf->unit = pithp_document_text(p->d, unit, strlen(unit))))
        return short_of_memory(p);
    if (!data == !tensor || (data && (begin != -1 || end != -1)))
        return refuse(p, "a leaf has either data or a place in the sidecar");
    return data ? read_data(p, data, leaf) : read_tensor(p, tensor, begin, end, leaf);
}

/* ---- The document ---- */

static pith_status read_table(parser *p, pith_status (*read)(parser *, json_t *)) {
    pith_status rc = expect(p, '[');
    bool again = rc == PITH_OK && peek(p) != ']';
    if (rc == PITH_OK && !again)
        return expect(p, ']');
    while (rc == PITH_OK && again) {
        json_t *row = NULL;
        peek(p);
        const size_t at = p->at;
        rc = next_value(p, &row);
        if (rc != PITH_OK)
            return rc;
        const size_t behind = p->at;
        p->at = at; /* errors name the line of the row */
        rc = json_is_object(row) ? read(p, row) : refuse(p, "expected a row");
        json_decref(row);
        if (rc == PITH_OK) {
            p->at = behind;
            rc = more(p, ']', &again);
        }
    }
    return rc;
}

static const char *const members[] = {"pith",   "format",   "sidecar", "library",
                                      "step",   "metadata", "types",   "nodes",
                                      "leaves", "checksum"};
enum { FORMAT = 1, SIDECAR, LIBRARY, STEP, METADATA, TYPES, NODES, LEAVES, CHECKSUM };

static pith_status read_member(parser *p, int member) {
    json_t *value = NULL;
    pith_status rc;
    switch (member) {
        case TYPES:
            return read_table(p, read_type);
        case NODES:
            return read_table(p, read_node);
        case LEAVES:
            return read_table(p, read_leaf);
        default:
            break;
    }
    rc = next_value(p, &value);
    if (rc != PITH_OK)
        return rc;
    switch (member) {
        case SIDECAR:
            rc = read_sidecar(p, value);
            break;
        case LIBRARY:
            rc = read_text(p, value, &p->d->library);
            break;
        case STEP:
            rc = read_integer(p, value, &p->d->step);
            break;
        case METADATA:
            rc = read_metadata(p, value);
            break;
        default: /* pith, format and checksum were looked at before */
            break;
    }
    json_decref(value);
    return rc;
}

static pith_status read_members(parser *p) {
    int last = -1;
    bool again = true;
    pith_status rc = expect(p, '{');
    while (rc == PITH_OK && again) {
        json_t *key = NULL;
        int member = -1;
        peek(p);
        rc = next_value(p, &key);
        if (rc != PITH_OK)
            return rc;
        for (int i = 0; i < PITHP_COUNT(members); i++)
            if (json_is_string(key) && strcmp(json_string_value(key), members[i]) == 0)
                member = i;
        json_decref(key);
        const int next = last + 1 == SIDECAR && member != SIDECAR ? LIBRARY : last + 1;
        if (member != next || next == PITHP_COUNT(members))
            return refuse(p, "expected the member \"%s\"",
                          next < PITHP_COUNT(members) ? members[next] : "no more");
        last = member;
        rc = expect(p, ':');
        peek(p);
        if (rc == PITH_OK)
            rc = read_member(p, member);
        if (rc == PITH_OK)
            rc = more(p, '}', &again);
    }
    if (rc == PITH_OK && last != CHECKSUM)
        return refuse(p, "the document ends early");
    return rc;
}

/* Statics that name a row: the row was there, and named the static back. */
static pith_status check_tables(parser *p) {
    const pithp_document *d = p->d;
    if (d->nodes.count == 0 || p->leaves_read != d->leaves.count)
        return refuse(p, "the node table has %" PRId64 " leaves, the leaf table %" PRId64,
                      d->leaves.count, p->leaves_read);
    for (int64_t i = 0; i < d->nodes.count; i++) {
        const pithp_doc_node *n = &d->nodes.rows[i];
        for (int64_t j = 0; j < n->static_count; j++) {
            const int64_t row = d->statics.rows[n->first_static + j].node;
            if (row != -1 &&
                (row < 0 || row >= d->nodes.count || !d->nodes.rows[row].is_static ||
                 d->nodes.rows[row].parent != i))
                return refuse(
                    p, "row %" PRId64 " names a static record that is not there", i);
        }
    }
    return PITH_OK;
}

/* First and last bytes are fixed, so that damage is told from what is no checkpoint. */
static pith_status check_frame(parser *p) {
    static const char head[] = "{\"pith\":\"checkpoint\",\n\"format\":";
    static const char tail[] = "\"checksum\":\"";
    enum { TAIL = sizeof tail - 1 + 32 + 3 };
    char hex[PITHP_DIGEST_TEXT];
    pithp_digest digest;
    if (p->n < sizeof head || memcmp(p->text, head, sizeof head - 1) != 0)
        return pithp_fail(p->s, PITH_E_FORMAT, NULL, "\"%s\" is no pith checkpoint",
                          p->file);
    int64_t format = 0;
    for (size_t i = sizeof head - 1; i < p->n && p->text[i] >= '0' && p->text[i] <= '9';
         i++)
        format = format > 100000 ? format : 10 * format + (p->text[i] - '0');
    if (format != PITHP_CHECKPOINT_FORMAT)
        return pithp_fail(p->s, PITH_E_FORMAT, NULL,
                          "\"%s\" has format %" PRId64
                          ", this library (%d.%d.%d) reads format %d",
                          p->file, format, PITH_VERSION_MAJOR, PITH_VERSION_MINOR,
                          PITH_VERSION_PATCH, PITHP_CHECKPOINT_FORMAT);
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
            "\"%s\" is damaged or was changed by hand: its checksum does not fit",
            p->file);
    p->d->format = (int32_t)format;
    return PITH_OK;
}

pith_status pithp_document_parse(pith_scope *s,
                                 pithp_document *d,
                                 const char *file,
                                 const char *text,
                                 size_t n) {
    parser p = {.s = s, .d = d, .file = file, .text = text, .n = n};
    pith_status rc = check_frame(&p);
    if (rc == PITH_OK)
        rc = read_members(&p);
    if (rc == PITH_OK)
        rc = check_tables(&p);
    d->bytes = n;
    return rc;
}
