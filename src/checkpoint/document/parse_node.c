/* Parser of type and node rows. Node rows come in walk order, each after its parent. */
#include "checkpoint/document/parse_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

PITHP_ROW(type, PITHP_TYPE_MEMBERS)
PITHP_ROW(node, PITHP_NODE_MEMBERS)

pith_status pithp_parse_type(pithp_parser *p, json_t *row) {
    type_row got;
    json_error_t e;
    const int result = unpack_type(row, &e, &got);
    if (result != 0)
        return pithp_parse_unpacked(p, result, &e);
    if (!*got.name || got.version < 0 || got.version > INT32_MAX)
        return pithp_parse_refuse(p, "a type needs a name and a version");
    pithp_doc_type *type = pithp_document_add(p->d, types);
    if (!type)
        return pithp_parse_memory(p);
    type->version = (int32_t)got.version;
    type->name = pithp_document_text(p->d, got.name, strlen(got.name));
    return type->name ? PITH_OK : pithp_parse_memory(p);
}

static pith_status
read_static_text(pithp_parser *p, json_t *value, pith_checkpoint_static *field) {
    if (field->kind == PITH_STATIC_KIND_TEXT && json_is_null(value))
        return PITH_OK;
    const pith_status rc = pithp_parse_text(p, value, &field->text);
    if (rc == PITH_OK && field->kind == PITH_STATIC_KIND_DTYPE &&
        pith_dtype_parse(field->text) == PITH_DTYPE_NONE &&
        strcmp(field->text, "none") != 0)
        return pithp_parse_refuse(p, "\"%.80s\" is not a dtype", field->text);
    return rc;
}

static pith_status read_static(pithp_parser *p, const char *name, json_t *value) {
    const char *kind = json_string_value(json_array_get(value, 0));
    json_t *content = json_array_get(value, 1);
    pith_checkpoint_static *field = pithp_document_add(p->d, statics);
    if (!field)
        return pithp_parse_memory(p);
    field->node = -1;
    field->name = pithp_document_text(p->d, name, strlen(name));
    if (!field->name)
        return pithp_parse_memory(p);
    if (json_array_size(value) == 2 && kind)
        field->kind = pithp_static_kind_named(kind);
    switch (field->kind) {
        case PITH_STATIC_KIND_I64:
            return pithp_parse_integer(p, content, &field->i64);
        case PITH_STATIC_KIND_F64:
            return pithp_parse_element(content, PITH_F64, &field->f64)
                       ? PITH_OK
                       : pithp_parse_refuse(p, "the static \"%.80s\" is not a number",
                                            name);
        case PITH_STATIC_KIND_BOOL:
            field->i64 = json_is_true(content);
            return json_is_boolean(content)
                       ? PITH_OK
                       : pithp_parse_refuse(p, "the static \"%.80s\" is not a bool",
                                            name);
        case PITH_STATIC_KIND_RECORD:
            return json_is_null(content) ? PITH_OK
                                         : pithp_parse_integer(p, content, &field->node);
        case PITH_STATIC_KIND_TEXT:
        case PITH_STATIC_KIND_ENUM:
        case PITH_STATIC_KIND_DTYPE:
            return read_static_text(p, content, field);
        case PITH_STATIC_KIND_NONE:
            break;
    }
    return pithp_parse_refuse(p, "the static \"%.80s\" has an unknown kind", name);
}

/* In walk order, the parent is the previous row or one of its ancestors. A static record
 * is a separate tree after the others. */
static bool in_walk_order(const pithp_document *d, int64_t row, int64_t parent) {
    int64_t at = row - 1;
    while (at >= 0 && at != parent)
        at = d->nodes.rows[at].is_static ? -1 : d->nodes.rows[at].parent;
    return at == parent;
}

static pith_status
attach_static(pithp_parser *p, pithp_doc_node *n, json_t *at, int64_t row) {
    const pithp_doc_node *parent = &p->d->nodes.rows[n->parent];
    const pith_status rc = pithp_parse_text(p, at, &n->name);
    if (rc != PITH_OK)
        return rc;
    for (int64_t i = 0; i < parent->static_count; i++) {
        const pith_checkpoint_static *field =
            &p->d->statics.rows[parent->first_static + i];
        if (field->kind == PITH_STATIC_KIND_RECORD && field->node == row &&
            strcmp(field->name, n->name) == 0)
            return n->kind == PITH_NODE_RECORD
                       ? PITH_OK
                       : pithp_parse_refuse(p, "the static is not a record");
    }
    return pithp_parse_refuse(
        p, "row %" PRId64 " has no static \"%.80s\" that names this row", n->parent,
        n->name);
}

static pith_status
attach_child(pithp_parser *p, pithp_doc_node *n, json_t *at, int64_t row) {
    pithp_doc_node *parent = &p->d->nodes.rows[n->parent];
    const bool named = parent->kind == PITH_NODE_RECORD || parent->kind == PITH_NODE_DICT;
    if (!in_walk_order(p->d, row, n->parent))
        return pithp_parse_refuse(p, "the rows of the node table are not in walk order");
    if (!named && parent->kind != PITH_NODE_LIST && parent->kind != PITH_NODE_TUPLE)
        return pithp_parse_refuse(p, "row %" PRId64 " can have no children", n->parent);
    if (n->kind == PITH_NODE_ABSENT && parent->kind != PITH_NODE_RECORD)
        return pithp_parse_refuse(p, "only a field of a record may be absent");
    n->index = parent->child_count;
    if (named) {
        const pith_status rc = pithp_parse_text(p, at, &n->name);
        if (rc != PITH_OK)
            return rc;
        if (parent->kind == PITH_NODE_DICT && n->index > 0 &&
            strcmp(p->d->nodes.rows[parent->last_child].name, n->name) >= 0)
            return pithp_parse_refuse(p, "the keys of a dict are not sorted");
    } else if (!json_is_integer(at) || json_integer_value(at) != n->index) {
        return pithp_parse_refuse(p, "expected item %" PRId64, n->index);
    }
    parent->child_count++;
    parent->last_child = row;
    return PITH_OK;
}

static pith_status
attach(pithp_parser *p, pithp_doc_node *n, json_t *at, json_t *is_static, int64_t row) {
    if (row == 0)
        return n->parent == -1 && !at && !is_static && n->kind != PITH_NODE_ABSENT
                   ? PITH_OK
                   : pithp_parse_refuse(p, "the first row is not a root");
    if (n->parent < 0 || n->parent >= row || !at == !is_static)
        return pithp_parse_refuse(p,
                                  "expected an earlier row as parent, and a place in it");
    n->depth = p->d->nodes.rows[n->parent].depth + 1;
    n->is_static = is_static != NULL;
    return is_static ? attach_static(p, n, is_static, row) : attach_child(p, n, at, row);
}

static pith_status add_leaf(pithp_parser *p, pithp_doc_node *n, int64_t row) {
    if (n->leaf != p->d->leaves.count)
        return pithp_parse_refuse(p, "expected leaf %" PRId64, p->d->leaves.count);
    pithp_doc_leaf *leaf = pithp_document_add(p->d, leaves);
    if (!leaf)
        return pithp_parse_memory(p);
    leaf->node = row;
    return PITH_OK;
}

static bool read_kind(const char *name, pith_node_kind *kind) {
    for (int i = 0; pith_node_kind_name((pith_node_kind)i); i++)
        if (strcmp(name, pith_node_kind_name((pith_node_kind)i)) == 0) {
            *kind = (pith_node_kind)i;
            return true;
        }
    return false;
}

pith_status pithp_parse_node(pithp_parser *p, json_t *row) {
    node_row got = {.type = -1, .parent = -1, .leaf = -1};
    const char *name;
    json_t *value;
    json_error_t e;
    const int result = unpack_node(row, &e, &got);
    if (result != 0)
        return pithp_parse_unpacked(p, result, &e);
    pithp_doc_node n = {.parent = got.parent, .leaf = got.leaf};
    if (!read_kind(got.kind, &n.kind))
        return pithp_parse_refuse(p, "\"%.80s\" is not a node kind", got.kind);
    const bool record = n.kind == PITH_NODE_RECORD;
    if (record != (got.type >= 0 && got.type < p->d->types.count) ||
        (!record && (got.type != -1 || got.statics)))
        return pithp_parse_refuse(
            p, "a record has a type of the type table, other nodes have none");
    if ((n.kind == PITH_NODE_LEAF) != (got.leaf >= 0))
        return pithp_parse_refuse(p, "a leaf has a number, other nodes have none");
    n.type = (int32_t)got.type;
    n.first_static = p->d->statics.count;
    n.static_count = (int64_t)json_object_size(got.statics);
    const int64_t number = p->d->nodes.count;
    pith_status rc = attach(p, &n, got.at, got.static_of, number);
    if (rc == PITH_OK && n.kind == PITH_NODE_LEAF)
        rc = add_leaf(p, &n, number);
    if (rc == PITH_OK && got.statics && !json_is_object(got.statics))
        rc = pithp_parse_refuse(p, "statics is not an object");
    if (rc != PITH_OK)
        return rc;
    json_object_foreach(got.statics, name, value) {
        rc = read_static(p, name, value);
        if (rc != PITH_OK)
            return rc;
    }
    pithp_doc_node *stored = pithp_document_add(p->d, nodes);
    if (!stored)
        return pithp_parse_memory(p);
    *stored = n;
    return PITH_OK;
}

static int by_parent_and_name(const void *a, const void *b, void *closure) {
    const pithp_document *d = closure;
    const pithp_doc_node *x = &d->nodes.rows[*(const int64_t *)a];
    const pithp_doc_node *y = &d->nodes.rows[*(const int64_t *)b];
    return x->parent != y->parent ? (x->parent < y->parent ? -1 : 1)
                                  : strcmp(x->name, y->name);
}

/* Fields of a record have distinct names; the keys of a dict are sorted. */
static pith_status check_fields(pithp_parser *p) {
    pithp_document *d = p->d;
    const size_t bytes = (size_t)d->nodes.count * sizeof(int64_t);
    int64_t *fields = pithp_allocate(d->rt, bytes), count = 0, twice = -1;
    if (!fields)
        return pithp_parse_memory(p);
    for (int64_t i = 1; i < d->nodes.count; i++) {
        const pithp_doc_node *n = &d->nodes.rows[i];
        const pithp_doc_node *parent = &d->nodes.rows[n->parent];
        if (!n->is_static && parent->kind == PITH_NODE_RECORD && parent->child_count > 1)
            fields[count++] = i;
    }
    qsort_r(fields, (size_t)count, sizeof *fields, by_parent_and_name, d);
    for (int64_t i = 1; i < count; i++)
        if (by_parent_and_name(&fields[i - 1], &fields[i], d) == 0)
            twice = fields[i];
    pithp_release(d->rt, fields, bytes);
    return twice < 0 ? PITH_OK
                     : pithp_parse_refuse(p, "row %" PRId64 " has two fields \"%.80s\"",
                                          d->nodes.rows[twice].parent,
                                          d->nodes.rows[twice].name);
}

/* Statics that refer to a row: the row must exist and refer back to the static. */
pith_status pithp_parse_check_nodes(pithp_parser *p) {
    const pithp_document *d = p->d;
    if (d->nodes.count == 0 || p->leaves_read != d->leaves.count)
        return pithp_parse_refuse(
            p, "the node table has %" PRId64 " leaves, the leaf table %" PRId64,
            d->leaves.count, p->leaves_read);
    for (int64_t i = 0; i < d->nodes.count; i++) {
        const pithp_doc_node *n = &d->nodes.rows[i];
        for (int64_t j = 0; j < n->static_count; j++) {
            const pith_checkpoint_static *field = &d->statics.rows[n->first_static + j];
            const int64_t row = field->node;
            if (row != -1 &&
                (row < 0 || row >= d->nodes.count || !d->nodes.rows[row].is_static ||
                 d->nodes.rows[row].parent != i ||
                 strcmp(d->nodes.rows[row].name, field->name) != 0))
                return pithp_parse_refuse(
                    p, "row %" PRId64 " refers to a missing static record", i);
        }
    }
    return check_fields(p);
}
