/* Missing and extra fields (options.initial, options.extra): fields that only the program
 * or only the file has. */
#include "checkpoint/migrate/edit.h"
#include "tree/shard/shard.h"

#include <inttypes.h>
#include <string.h>

typedef struct subset {
    pithp_edit *e;
    pithp_mismatches *r;
    const pith_type *root;
    const void **models; /* by row: its node in options.initial, or NULL */
    int64_t count;       /* number of rows before the edit */
} subset;

static bool is_field(const pith_type *type, const char *name, bool is_static) {
    for (int32_t i = 0; i < type->field_count; i++)
        if ((is_static ? type->fields[i].declared.kind == PITH_FIELD_STATIC
                       : type->fields[i].slot >= 0) &&
            strcmp(type->fields[i].declared.name, name) == 0)
            return true;
    return false;
}

/* ---- Extra in the file ---- */

static void leave_out(subset *v, const pith_type *type, int64_t row) {
    pithp_document *d = v->e->d;
    for (int64_t at = v->e->links[row].first, next; at >= 0; at = next) {
        next = v->e->links[at].next;
        if (is_field(type, d->nodes.rows[at].name, false))
            continue;
        pithp_mismatches_report(v->r, at, NULL,
                                "left out: in the file, but no field of %s", type->name);
        pithp_edit_detach(v->e,
                          &(pithp_edit_target){.parent = row, .child = at, .value = -1});
    }
    const pithp_doc_node *n = &d->nodes.rows[row];
    for (int64_t i = n->static_count; i-- > 0;) {
        const int64_t value = n->first_static + i;
        const char *name = d->statics.rows[value].name;
        if (is_field(type, name, true))
            continue;
        pithp_mismatches_report(v->r, row, name,
                                "left out: in the file, but no static of %s", type->name);
        pithp_edit_detach(
            v->e, &(pithp_edit_target){.parent = row, .child = -1, .value = value});
    }
}

/* ---- Missing in the file ---- */

static const void *slot_of(const void *record, int32_t slot) {
    return *pithp_slot(record, pithp_node_def_of(record), slot);
}

/* Each rank cuts its shard of a whole leaf. */
static pith_status
graft(subset *v, int64_t row, const char *name, const void *tree, pithp_detached *t) {
    char path[PITHP_PATH_BYTES];
    return pithp_is_sharded(v->e->s, tree)
               ? pithp_fail(v->e->s, PITH_E_ARG,
                            pithp_document_error_path(v->e->d, row, path),
                            "'%.100s' is not in the file, and is sharded in the initial "
                            "tree: expected the whole, as pith_unshard gives it",
                            name)
               : pithp_edit_graft(v->e, tree, t);
}

static pith_status fill_in(subset *v, const pith_type *type, int64_t row) {
    const void *model = v->models[row];
    for (int32_t i = 0; i < type->field_count; i++) {
        const pithp_field *field = &type->fields[i];
        const bool is_static = field->declared.kind == PITH_FIELD_STATIC;
        const char *name = field->declared.name;
        pithp_edit_target target = {
            .parent = row, .child = -1, .value = -1, .name = name};
        pithp_detached t;
        if (is_static ? pithp_static_named(v->e->d, row, name) != NULL
                      : field->slot < 0 || pithp_edit_child(v->e, row, name) >= 0)
            continue;
        pith_status rc = is_static ? pithp_edit_static(v->e, field, model, &t)
                                   : graft(v, row, name, slot_of(model, field->slot), &t);
        if (rc == PITH_OK)
            rc = pithp_edit_attach(v->e, &t, &target);
        if (rc != PITH_OK)
            return rc;
        pithp_mismatches_report(v->r, row, name,
                                "not in the file: taken from the initial tree");
    }
    return PITH_OK;
}

/* Add the keys missing in a dict of the file. */
static pith_status fill_in_keys(subset *v, int64_t row) {
    const void *model = v->models[row];
    for (int64_t i = 0; i < pith_child_count(model); i++) {
        const char *key = pith_child_name(model, i);
        pithp_edit_target target = {.parent = row, .child = -1, .value = -1, .name = key};
        pithp_detached t;
        if (pithp_edit_child(v->e, row, key) >= 0)
            continue;
        pith_status rc = graft(v, row, key, pith_child(model, i), &t);
        if (rc == PITH_OK)
            rc = pithp_edit_attach(v->e, &t, &target);
        if (rc != PITH_OK)
            return rc;
        pithp_mismatches_report(v->r, t.child, NULL,
                                "not in the file: taken from the initial tree");
    }
    return PITH_OK;
}

static void check_items(subset *v, int64_t row) {
    const int64_t expected = pith_child_count(v->models[row]);
    int64_t count = 0;
    for (int64_t at = v->e->links[row].first; at >= 0; at = v->e->links[at].next)
        count++;
    if (count != expected)
        pithp_mismatches_add(v->r, PITH_E_STRUCTURE, row, NULL,
                             "expected %" PRId64
                             " items, as in the initial tree, got %" PRId64,
                             expected, count);
}

/* Compare a container of the file with a model of the same kind. */
static pith_status match_container(subset *v, int64_t row, pith_node_kind kind) {
    if (!v->models[row] || pith_kind(v->models[row]) != kind)
        return PITH_OK;
    if (kind == PITH_NODE_DICT)
        return fill_in_keys(v, row);
    if (kind == PITH_NODE_LIST || kind == PITH_NODE_TUPLE)
        check_items(v, row);
    return PITH_OK;
}

/* The child of a model that corresponds to a row. */
static const void *
model_below(const subset *v, const void *model, int64_t row, int64_t i) {
    const pithp_doc_node *n = &v->e->d->nodes.rows[row];
    const pith_node_kind kind = v->e->d->nodes.rows[n->parent].kind;
    if (!model || pith_kind(model) != kind)
        return NULL;
    if (kind == PITH_NODE_DICT)
        return pith_dict_get(model, n->name);
    if (kind != PITH_NODE_RECORD)
        return pith_child(model, i);
    const pith_type *type = pithp_node_def_of(model)->type;
    for (int32_t k = 0; k < type->slot_count; k++)
        if (strcmp(pithp_slot_name(pithp_node_def_of(model), k), n->name) == 0)
            return slot_of(model, k);
    return NULL;
}

/* ---- Traversal from the root ---- */

/* Set the models of the children of a row. */
static void hand_down(subset *v, int64_t row) {
    const pithp_doc_node *n = &v->e->d->nodes.rows[row];
    const void *model = v->models[row];
    int64_t i = 0;
    for (int64_t at = v->e->links[row].first; at >= 0; at = v->e->links[at].next, i++)
        if (at < v->count)
            v->models[at] = model_below(v, model, at, i);
    const pith_type *type = pith_type_of(model);
    for (int32_t k = 0; type && k < type->static_count; k++) {
        const pith_field *field = &type->fields[type->statics[k].field].declared;
        const pith_checkpoint_static *value =
            pithp_static_named(v->e->d, row, field->name);
        if (field->static_kind == PITH_STATIC_KIND_RECORD && value && value->node >= 0 &&
            value->node < v->count && n->kind == PITH_NODE_RECORD)
            memcpy(&v->models[value->node], (const char *)model + field->offset,
                   sizeof model);
    }
}

static pith_status match_node(void *closure, int64_t row) {
    subset *v = closure;
    if (row >= v->count) /* added from the model, so it fits */
        return PITH_OK;
    const pithp_doc_node *n = &v->e->d->nodes.rows[row];
    const pithp_doc_type *got =
        n->kind == PITH_NODE_RECORD ? &v->e->d->types.rows[n->type] : NULL;
    const pith_type *type = got ? pithp_program_type(v->root, got->name) : NULL;
    const bool known = type && type->version == got->version;
    pith_status rc = PITH_OK;
    if (got && (!known || pith_type_of(v->models[row]) != type))
        v->models[row] = NULL;
    if (known && v->r->options->extra)
        leave_out(v, type, row);
    if (!got)
        rc = match_container(v, row, n->kind);
    else if (known && v->models[row])
        rc = fill_in(v, type, row);
    hand_down(v, row);
    return rc;
}

pith_status pithp_migrate_subset(pithp_edit *e,
                                 pithp_mismatches *r,
                                 const pith_type *type,
                                 int64_t root) {
    subset v = {.e = e, .r = r, .root = type, .count = e->d->nodes.count};
    const size_t bytes = (size_t)v.count * sizeof *v.models;
    v.models = pithp_allocate(e->s->runtime, bytes);
    if (!v.models)
        return pithp_fail_memory(e->s, bytes);
    memset(v.models, 0, bytes);
    v.models[root] = r->options->initial;
    const pith_status rc = pithp_edit_walk(e, root, match_node, &v);
    pithp_release(e->s->runtime, v.models, bytes);
    return rc;
}
