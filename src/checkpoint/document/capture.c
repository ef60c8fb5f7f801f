/* Serialisation of a tree: its nodes and statics become rows of a document. One walk
 * visits the tree; then one visits each static record, which is a tree without leaves. */
#include "checkpoint/document/capture.h"

#include <string.h>

typedef struct capture {
    pith_scope *s;
    pithp_document *d;
    const pith_array **arrays;
    int64_t array_count, array_room;
    int64_t current; /* row of the node whose children are visited; -1: none */
} capture;

static pith_status refuse_text(capture *c, int64_t row, const char *what) {
    char path[PITHP_PATH_BYTES];
    return pithp_fail(c->s, PITH_E_FORMAT, pithp_document_error_path(c->d, row, path),
                      "%s is not UTF-8, which a checkpoint cannot hold", what);
}

static pith_node_kind node_kind(const void *node, pithp_visit visit) {
    if (visit != PITHP_VISIT_ENTER)
        return visit == PITHP_VISIT_LEAF ? PITH_NODE_LEAF : PITH_NODE_ABSENT;
    switch ((int)pithp_kind_of(node)) {
        case PITHP_KIND_RECORD:
            return PITH_NODE_RECORD;
        case PITHP_KIND_LIST:
            return PITH_NODE_LIST;
        case PITHP_KIND_TUPLE:
            return PITH_NODE_TUPLE;
        case PITHP_KIND_DICT:
            return PITH_NODE_DICT;
        default:
            return PITH_NODE_NONE;
    }
}

/* A program that loads the root's type also knows every type reachable from its
 * declarations. A type held by a PITH_TREE may be unknown to it: warn at save time,
 * before the load fails. */
static void check_type(const capture *c, int64_t row, const pith_type *type) {
    const void *root = c->d->nodes.rows[0].object;
    char path[PITHP_PATH_BYTES];
    if (c->d->nodes.rows[0].kind != PITH_NODE_RECORD ||
        pithp_type_leads_to(pithp_node_def_of(root)->type, type) ||
        __atomic_exchange_n((bool *)(uintptr_t)&type->reported, true, __ATOMIC_RELAXED))
        return;
    pithp_log(
        c->s->runtime, PITH_LOG_WARNING,
        "pith_save: %s: no declaration leads from %s to %s: a program that loads this "
        "must call its T_pith_type() first, or has PITH_USES(T) in the "
        "PITH_NODE of %s",
        pithp_document_error_path(c->d, row, path), pithp_node_def_of(root)->type->name,
        type->name, pithp_node_def_of(root)->type->name);
}

static int32_t type_row(capture *c, int64_t node, const pith_type *type) {
    for (int64_t i = c->d->types.count; i-- > 0;)
        if (strcmp(c->d->types.rows[i].name, type->name) == 0)
            return (int32_t)i;
    pithp_doc_type *row = pithp_document_add(c->d, types);
    if (!row)
        return -1;
    *row = (pithp_doc_type){.name = type->name, .version = type->version};
    check_type(c, node, type);
    return (int32_t)c->d->types.count - 1;
}

/* ---- Statics ---- */

pith_status pithp_capture_static(pith_scope *s,
                                 const pith_field *field,
                                 const char *record,
                                 pith_checkpoint_static *value) {
    const pithp_static_value v = pithp_static_read(field, record);
    *value = (pith_checkpoint_static){.name = field->name,
                                      .kind = v.kind,
                                      .f64 = v.f64,
                                      .text = v.text,
                                      .node = -1}; /* the row is assigned later */
    if (pithp_static_of(field)->is_number)
        value->i64 = v.i64;
    if (v.kind == PITH_STATIC_KIND_ENUM && !v.text)
        return pithp_fail(s, PITH_E_TYPE, NULL, "the enum has no name for %d",
                          (int)v.i64);
    return PITH_OK;
}

static pith_status
add_statics(capture *c, int64_t row, const pith_type *type, const char *record) {
    char path[PITHP_PATH_BYTES];
    c->d->nodes.rows[row].first_static = c->d->statics.count;
    for (int32_t i = 0; i < type->field_count; i++) {
        const pith_field *field = &type->fields[i].declared;
        if (field->kind != PITH_FIELD_STATIC)
            continue;
        pith_checkpoint_static *value = pithp_document_add(c->d, statics);
        if (!value)
            return pithp_fail_memory(c->s, sizeof *value);
        if (pithp_capture_static(c->s, field, record, value) != PITH_OK) {
            pithp_error_prefix(c->s, field->name);
            pithp_error_prefix(c->s, ".");
            pithp_error_prefix(c->s, pithp_document_error_path(c->d, row, path));
            return pith_code(c->s);
        }
        if (value->text && !pithp_is_utf8(value->text, strlen(value->text)))
            return refuse_text(c, row, field->name);
        c->d->nodes.rows[row].static_count++;
    }
    return PITH_OK;
}

/* ---- Nodes ---- */

static void
name_row(const pithp_document *d, pithp_doc_node *n, const pith_field_options **options) {
    if (n->parent < 0 || n->is_static)
        return;
    const pithp_doc_node *parent = &d->nodes.rows[n->parent];
    const pithp_node_def *node_def = pithp_node_def_of(parent->object);
    if (parent->kind == PITH_NODE_RECORD) {
        const pith_type *type = node_def->type;
        const pith_field *field = &type->fields[type->slot_fields[n->index]].declared;
        n->name = field->name;
        *options = &field->options;
    } else if (parent->kind == PITH_NODE_DICT) {
        n->name = node_def->keys[n->index];
    }
}

static pith_status add_leaf(capture *c,
                            int64_t row,
                            const pith_array *a,
                            const pith_field_options *options) {
    const char *unit = options->unit;
    char path[PITHP_PATH_BYTES];
    if (pithp_array_check(c->s, a, "pith_save", "leaf") != PITH_OK) {
        pithp_error_prefix(c->s, pithp_document_error_path(c->d, row, path));
        return pith_code(c->s);
    }
    if (unit && !pithp_is_utf8(unit, strlen(unit)))
        return refuse_text(c, row, "the unit");
    const pith_spec *spec = pithp_array_spec(a);
    pithp_doc_leaf *leaf = pithp_document_add(c->d, leaves);
    const pith_array **array =
        leaf ? pithp_table_add(c->s->runtime, &c->arrays, &c->array_count, &c->array_room,
                               sizeof *c->arrays)
             : NULL;
    if (!array)
        return pithp_fail_memory(c->s, sizeof *leaf);
    *array = a;
    leaf->node = row;
    leaf->dtype = spec->dtype;
    leaf->shape.rank = spec->rank;
    memcpy(leaf->shape.extents, spec->shape, sizeof leaf->shape.extents);
    leaf->count = spec->count;
    leaf->bytes = spec->bytes;
    leaf->unit = unit;
    leaf->level = options->compress;
    return PITH_OK;
}

/* Add a row for the node visited last: a child or static of the current row. */
static pith_status
add_node(capture *c, const pithp_walk *w, pithp_visit visit, const char *static_name) {
    const int64_t row = c->d->nodes.count;
    static const pith_field_options defaults;
    const pith_field_options *options = &defaults;
    pithp_doc_node *n = pithp_document_add(c->d, nodes);
    if (!n)
        return pithp_fail_memory(c->s, sizeof *n);
    *n = (pithp_doc_node){.kind = node_kind(w->node, visit),
                          .is_static = static_name != NULL,
                          .name = static_name,
                          .parent = c->current,
                          .index = w->slot < 0 ? 0 : w->slot,
                          .leaf = -1,
                          .type = -1,
                          .object = w->node};
    if (c->current >= 0) {
        n->depth = c->d->nodes.rows[c->current].depth + 1;
        if (!static_name)
            c->d->nodes.rows[c->current].child_count++;
    }
    name_row(c->d, n, &options);
    if (n->name && !pithp_is_utf8(n->name, strlen(n->name)))
        return refuse_text(c, c->current, "a key");
    if (n->kind == PITH_NODE_LEAF) {
        n->leaf = c->d->leaves.count;
        return add_leaf(c, row, w->node, options);
    }
    if (n->kind != PITH_NODE_RECORD)
        return PITH_OK;
    const pith_type *type = pithp_node_def_of(w->node)->type;
    n->type = type_row(c, row, type);
    return n->type < 0 ? pithp_fail_memory(c->s, sizeof(pithp_doc_type))
                       : add_statics(c, row, type, w->node);
}

static pith_status
walk_tree(capture *c, const void *tree, int64_t parent, const char *static_name) {
    pithp_walk w;
    pithp_visit visit;
    pith_status rc = PITH_OK;
    c->current = parent;
    pithp_walk_begin(&w, c->s->runtime, tree);
    while (rc == PITH_OK && pithp_walk_next(&w, &visit)) {
        if (visit == PITHP_VISIT_LEAVE) {
            c->current = c->d->nodes.rows[c->current].parent;
            continue;
        }
        const int64_t row = c->d->nodes.count;
        rc = add_node(c, &w, visit, static_name);
        static_name = NULL;
        if (visit == PITHP_VISIT_ENTER)
            c->current = row;
    }
    if (rc == PITH_OK && w.failed)
        rc = pithp_fail_memory(c->s, sizeof(pithp_walk_frame));
    pithp_walk_end(&w);
    return rc;
}

/* Visit the static records of every row, including nested ones. */
static pith_status walk_statics(capture *c) {
    for (int64_t row = 0; row < c->d->nodes.count; row++) {
        const pithp_doc_node n = c->d->nodes.rows[row];
        const pith_type *type =
            n.kind == PITH_NODE_RECORD ? pithp_node_def_of(n.object)->type : NULL;
        for (int32_t i = 0, k = 0; type && i < type->field_count; i++) {
            const pith_field *field = &type->fields[i].declared;
            const void *record = NULL;
            if (field->kind != PITH_FIELD_STATIC)
                continue;
            pith_checkpoint_static *value = &c->d->statics.rows[n.first_static + k++];
            if (field->static_kind != PITH_STATIC_KIND_RECORD)
                continue;
            memcpy(&record, (const char *)n.object + field->offset, sizeof record);
            if (!record)
                continue;
            value->node = c->d->nodes.count;
            const pith_status rc = walk_tree(c, record, row, field->name);
            if (rc != PITH_OK)
                return rc;
        }
    }
    return PITH_OK;
}

pith_status pithp_capture(pith_scope *s,
                          const void *tree,
                          pithp_document *d,
                          const pith_array ***arrays) {
    capture c = {.s = s, .d = d};
    pith_status rc = walk_tree(&c, tree, -1, NULL);
    if (rc == PITH_OK)
        rc = walk_statics(&c);
    /* The list lives as long as the document. */
    if (rc == PITH_OK) {
        *arrays = pithp_document_allocate(d, (size_t)c.array_count * sizeof **arrays);
        if (*arrays && c.array_count)
            memcpy(*arrays, c.arrays, (size_t)c.array_count * sizeof **arrays);
        if (!*arrays)
            rc = pithp_fail_memory(s, (size_t)c.array_count * sizeof **arrays);
    }
    pithp_release(s->runtime, c.arrays, (size_t)c.array_room * sizeof *c.arrays);
    return rc;
}
