/* pith_load: compares the document with the program's types, makes arrays and nodes
 * bottom up, fills the arrays from the files, and runs the validation hooks. */
#include "checkpoint/load/load.h"

#include "base/in_flight.h"
#include "checkpoint/migrate/migrate.h"
#include "checkpoint/save/saving.h"
#include "mesh/mesh_internal.h"

#include <stdio.h>
#include <string.h>

typedef struct loader {
    pith_scope *s;
    const pith_type *root;
    pith_checkpoint *c;
    const pithp_document *d;
    pithp_mismatches differences;
    pithp_children children;
    const pith_type **types;   /* by row of the type table */
    const pith_array **arrays; /* by leaf; NULL until made */
    const void **objects;      /* by row */
    bool *refused;             /* by row: the node or a descendant has failed */
    const void **slots;        /* children of the node being made */
    int64_t slot_room;
    void *value; /* struct of the record being made */
    size_t value_bytes;
    bool placed; /* leaves in parts become sharded: only their shapes are made here */
} loader;

/* ---- Tables ---- */

static void *table(loader *v, int64_t count, size_t row_bytes) {
    const size_t bytes = (size_t)(count + 1) * row_bytes;
    void *rows = pithp_allocate(v->s->runtime, bytes);
    if (rows)
        memset(rows, 0, bytes);
    else
        pithp_fail_memory(v->s, bytes);
    return rows;
}

static void
drop_table(const loader *v, const void *rows, int64_t count, size_t row_bytes) {
    pithp_release(v->s->runtime, (void *)(uintptr_t)rows,
                  (size_t)(count + 1) * row_bytes);
}

static bool make_tables(loader *v) {
    const pithp_document *d = v->d;
    v->children.base = table(v, d->nodes.count + 1, sizeof *v->children.base);
    v->children.rows = table(v, d->nodes.count, sizeof *v->children.rows);
    v->objects = table(v, d->nodes.count, sizeof *v->objects);
    v->refused = table(v, d->nodes.count, sizeof *v->refused);
    v->types = table(v, d->types.count, sizeof *v->types);
    v->arrays = table(v, d->leaves.count, sizeof *v->arrays);
    if (!v->children.base || !v->children.rows || !v->objects || !v->refused ||
        !v->types || !v->arrays)
        return false;
    for (int64_t i = 0; i < d->nodes.count; i++) {
        const int64_t count = d->nodes.rows[i].child_count;
        v->children.base[i + 1] = v->children.base[i] + count;
        v->slot_room = count > v->slot_room ? count : v->slot_room;
    }
    for (int64_t i = 1; i < d->nodes.count; i++) {
        const pithp_doc_node *n = &d->nodes.rows[i];
        if (!n->is_static)
            v->children.rows[v->children.base[n->parent] + n->index] = i;
    }
    return true;
}

static void drop_tables(loader *v) {
    const int64_t nodes = v->d->nodes.count;
    drop_table(v, v->children.base, nodes + 1, sizeof *v->children.base);
    drop_table(v, v->children.rows, nodes, sizeof *v->children.rows);
    drop_table(v, v->objects, nodes, sizeof *v->objects);
    drop_table(v, v->refused, nodes, sizeof *v->refused);
    drop_table(v, v->types, v->d->types.count, sizeof *v->types);
    drop_table(v, v->arrays, v->d->leaves.count, sizeof *v->arrays);
    drop_table(v, v->slots, v->slot_room, sizeof *v->slots);
    drop_table(v, v->value, (int64_t)v->value_bytes, 1);
}

/* ---- Expected structure ---- */

static void find_types(loader *v) {
    for (int64_t i = 0; i < v->d->types.count; i++) {
        const pith_type *type = pithp_program_type(v->root, v->d->types.rows[i].name);
        v->types[i] = type;
        if (type && type->size > v->value_bytes)
            v->value_bytes = type->size;
        if (type && type->slot_count > v->slot_room)
            v->slot_room = type->slot_count;
    }
}

static pith_status compare_root(loader *v) {
    const pithp_doc_node *root = &v->d->nodes.rows[0];
    const bool array = v->root == pith_array_pith_type();
    char got[160] = "another kind of tree";
    if (!v->root || (array && root->kind == PITH_NODE_LEAF) ||
        (root->kind == PITH_NODE_RECORD && v->types[root->type] == v->root))
        return PITH_OK;
    if (root->kind == PITH_NODE_RECORD)
        snprintf(got, sizeof got, "a record %.100s", v->d->types.rows[root->type].name);
    return pithp_fail(v->s, PITH_E_TYPE, NULL, "\"%s\": expected %s%s, the file holds %s",
                      v->c->shown, array ? "an " : "a record ", v->root->name, got);
}

static pith_status compare(loader *v) {
    find_types(v);
    const pith_status rc = compare_root(v);
    if (rc != PITH_OK)
        return rc;
    pithp_compare(&v->differences, &v->children, v->types);
    return pithp_mismatches_end(&v->differences);
}

/* ---- Arrays ---- */

/* Whether a leaf is read from the file. Other leaves are in memory, or not part of the
 * tree, or read later. */
static bool is_read(const loader *v, const pithp_doc_leaf *leaf) {
    return leaf->node >= 0 && !leaf->given && !(v->placed && pithp_leaf_is_parted(leaf));
}

/* Leaves that this rank reads in part have a shape and no elements until then. */
static pith_status make_shapes(loader *v) {
    pithp_buffer *buffer = pithp_buffer_make(v->s, 1);
    for (int64_t i = 0; buffer && i < v->d->leaves.count; i++) {
        const pithp_doc_leaf *leaf = &v->d->leaves.rows[i];
        if (leaf->node < 0 || leaf->given || !pithp_leaf_is_parted(leaf))
            continue;
        const pith_spec *spec =
            pithp_spec(v->s, leaf->dtype, leaf->shape.rank, leaf->shape.extents);
        v->arrays[i] = spec ? pithp_array_view(v->s, spec, buffer, buffer->data) : NULL;
        if (!v->arrays[i])
            break;
    }
    if (buffer)
        pithp_buffer_release(buffer, 1);
    return pith_code(v->s);
}

static pith_status make_arrays(loader *v) {
    const int64_t count = v->d->leaves.count;
    const pith_spec **specs = table(v, count, sizeof *specs);
    const pith_array **made = table(v, count, sizeof *made);
    int64_t n = 0;
    pith_status rc = specs && made ? PITH_OK : pith_code(v->s);
    for (int64_t i = 0; rc == PITH_OK && i < count; i++) {
        const pithp_doc_leaf *leaf = &v->d->leaves.rows[i];
        if (!is_read(v, leaf))
            continue;
        specs[n] = pithp_spec(v->s, leaf->dtype, leaf->shape.rank, leaf->shape.extents);
        rc = specs[n++] ? PITH_OK : pith_code(v->s);
    }
    if (rc == PITH_OK)
        rc = pithp_arrays_make(v->s, n, specs, made);
    for (int64_t i = 0, k = 0; rc == PITH_OK && i < count; i++)
        if (is_read(v, &v->d->leaves.rows[i]))
            v->arrays[i] = made[k++];
    drop_table(v, specs, count, sizeof *specs);
    drop_table(v, made, count, sizeof *made);
    return rc;
}

/* Fill inline leaves first, then those of the sidecars in file order. */
static pith_status fill_arrays(loader *v) {
    const bool direct = pithp_scope_device(v->s)->backend->addressable;
    void *staging = direct ? NULL : pithp_allocate(v->s->runtime, PITHP_CHUNK_BYTES);
    pith_status rc = pithp_synchronise(v->s); /* earlier work may still use the memory */
    if (rc == PITH_OK && !direct && !staging)
        rc = pithp_fail_memory(v->s, PITHP_CHUNK_BYTES);
    for (int64_t i = 0; rc == PITH_OK && i < v->d->leaves.count; i++)
        if (v->arrays[i] && is_read(v, &v->d->leaves.rows[i]) &&
            !v->d->leaves.rows[i].in_sidecar)
            rc = pithp_leaf_fill(v->s, v->c, i, v->arrays[i], staging);
    for (int64_t i = 0; rc == PITH_OK && i < v->c->order_count; i++)
        if (v->arrays[v->c->order[i]])
            rc = pithp_leaf_fill(v->s, v->c, v->c->order[i], v->arrays[v->c->order[i]],
                                 staging);
    pithp_release(v->s->runtime, staging, PITHP_CHUNK_BYTES);
    return rc;
}

/* ---- Nodes ---- */

static void set_static(loader *v,
                       const pith_field *field,
                       const pith_checkpoint_static *value,
                       char *record) {
    pithp_static_value stored = {.kind = value->kind,
                                 .i64 = value->i64,
                                 .f64 = value->f64,
                                 .text = value->text,
                                 .record =
                                     value->node >= 0 ? v->objects[value->node] : NULL};
    if (pithp_static_of(field)->is_named) { /* the file holds the name */
        stored.kind = PITH_STATIC_KIND_TEXT;
        pithp_static_convert(field, &stored, &stored);
    }
    pithp_static_write(field, &stored, record);
}

/* Assign fields of the file to slots by name, in any order. */
static const void *make_record(loader *v, int64_t row) {
    const pithp_doc_node *n = &v->d->nodes.rows[row];
    const pith_type *type = v->types[n->type];
    memset(v->value, 0, type->size);
    for (int32_t i = 0; i < type->field_count; i++) {
        const pithp_field *field = &type->fields[i];
        if (field->declared.kind == PITH_FIELD_STATIC) {
            set_static(v, &field->declared,
                       pithp_static_named(v->d, row, field->declared.name), v->value);
        } else if (field->slot >= 0) {
            const int64_t child = pithp_child_named(v->d, &v->children, row,
                                                    field->declared.name, field->slot);
            v->slots[field->slot] = v->objects[child];
        }
    }
    const pithp_node_def *node_def = pithp_node_def_record(v->s, type, v->value);
    return node_def ? pithp_record_make(v->s, node_def, v->slots) : NULL;
}

static const void *make_container(loader *v, int64_t row) {
    static const pithp_kind kinds[] = {[PITH_NODE_LIST] = PITHP_KIND_LIST,
                                       [PITH_NODE_TUPLE] = PITHP_KIND_TUPLE,
                                       [PITH_NODE_DICT] = PITHP_KIND_DICT,
                                       [PITH_NODE_NONE] = PITHP_KIND_NONE};
    const pithp_doc_node *n = &v->d->nodes.rows[row];
    const int64_t *children = v->children.rows + v->children.base[row];
    const char **keys = NULL;
    bool all_leaves = true;
    if (n->kind == PITH_NODE_DICT && !(keys = table(v, n->child_count, sizeof *keys)))
        return NULL;
    for (int64_t i = 0; i < n->child_count; i++) {
        const pithp_doc_node *child = &v->d->nodes.rows[children[i]];
        all_leaves &= child->kind == PITH_NODE_LEAF;
        v->slots[i] = v->objects[children[i]];
        if (keys)
            keys[i] = child->name;
    }
    const pithp_node_def *node_def =
        pithp_node_def_container(v->s, kinds[n->kind], n->child_count, keys, all_leaves);
    if (keys)
        drop_table(v, keys, n->child_count, sizeof *keys);
    return node_def ? pithp_container_make(v->s, node_def, v->slots) : NULL;
}

static bool parts_refused(const loader *v, int64_t row) {
    const pithp_doc_node *n = &v->d->nodes.rows[row];
    for (int64_t i = 0; i < n->child_count; i++)
        if (v->refused[v->children.rows[v->children.base[row] + i]])
            return true;
    for (int64_t i = 0; i < n->static_count; i++) {
        const int64_t child = v->d->statics.rows[n->first_static + i].node;
        if (child >= 0 && v->refused[child])
            return true;
    }
    return false;
}

/* If a node refuses its content, a difference is recorded and its ancestors are not
 * made. */
static pith_status make_node(loader *v, int64_t row) {
    const pithp_doc_node *n = &v->d->nodes.rows[row];
    if (n->kind == PITH_NODE_ABSENT)
        return PITH_OK;
    if (n->kind == PITH_NODE_LEAF) {
        const pith_array *given = v->d->leaves.rows[n->leaf].given;
        v->objects[row] = given ? given : v->arrays[n->leaf];
        return PITH_OK;
    }
    v->refused[row] = parts_refused(v, row);
    if (v->refused[row])
        return PITH_OK;
    v->objects[row] =
        n->kind == PITH_NODE_RECORD ? make_record(v, row) : make_container(v, row);
    const pith_status code = pith_code(v->s);
    if (code == PITH_OK || code == PITH_E_MEMORY)
        return code;
    pithp_mismatches_absorb(&v->differences, v->s, row);
    v->refused[row] = true;
    return PITH_OK;
}

/* Make nodes with the hooks off: hooks need values, which are read later. */
static pith_status make_nodes(loader *v) {
    const bool hooks = pithp_hooks_run(v->s);
    pith_status rc = PITH_OK;
    v->slots = table(v, v->slot_room, sizeof *v->slots);
    v->value = table(v, (int64_t)v->value_bytes, 1);
    if (!v->slots || !v->value)
        return pith_code(v->s);
    pith_scope_set_validation(v->s, false);
    for (int64_t i = v->d->nodes.count; rc == PITH_OK && i-- > 0;)
        rc = make_node(v, i);
    pith_scope_set_validation(v->s, hooks);
    return rc == PITH_OK ? pithp_mismatches_end(&v->differences) : rc;
}

static pith_status run_hooks(loader *v) {
    char path[PITHP_PATH_BYTES];
    if (!pithp_hooks_run(v->s))
        return PITH_OK;
    for (int64_t i = v->d->nodes.count; i-- > 0;) {
        const pithp_doc_node *n = &v->d->nodes.rows[i];
        const pith_type *type = n->kind == PITH_NODE_RECORD ? v->types[n->type] : NULL;
        if (!type || !type->check)
            continue;
        const pithp_call_site call = pithp_user_begins(v->s);
        ((void (*)(pith_scope *, const void *))type->check)(v->s, v->objects[i]);
        pithp_user_ends(v->s, call);
        if (pith_code(v->s) != PITH_OK) {
            pithp_error_prefix(v->s, pithp_document_error_path(v->d, i, path));
            return pith_code(v->s);
        }
    }
    return PITH_OK;
}

/* ---- Loading ---- */

/* Verify before allocation: the sizes of leaves in a missing sidecar or part are only
 * claims of the document. */
static pith_status check_sidecars(const loader *v) {
    pith_status rc = PITH_OK;
    for (int64_t i = 0; rc == PITH_OK && i < v->c->order_count; i++) {
        const pithp_doc_leaf *leaf = &v->d->leaves.rows[v->c->order[i]];
        if (is_read(v, leaf))
            rc = pithp_checkpoint_trouble(v->s, v->c, leaf);
    }
    for (int64_t i = 0; rc == PITH_OK && i < v->d->leaves.count; i++) {
        const pithp_doc_leaf *leaf = &v->d->leaves.rows[i];
        if (pithp_leaf_is_parted(leaf) && is_read(v, leaf))
            rc = pithp_checkpoint_trouble(v->s, v->c, leaf);
    }
    return rc;
}

static pith_status load(loader *v) {
    pith_status rc;
    if (!make_tables(v))
        return pith_code(v->s);
    PITH_TRY(compare(v));
    PITH_TRY(check_sidecars(v));
    PITH_TRY(make_arrays(v));
    if (v->placed)
        PITH_TRY(make_shapes(v));
    PITH_TRY(make_nodes(v));
    PITH_TRY(fill_arrays(v));
    if (!v->placed)
        PITH_TRY(run_hooks(v));
out:
    if (rc != PITH_OK)
        for (int64_t i = 0; i < v->d->leaves.count; i++)
            if (v->arrays[i])
                pith_drop(v->s, v->arrays[i]);
    return rc;
}

typedef struct request {
    const pith_type *type;
    const pith_load_options *options;
    const void *root; /* the loaded tree */
    int64_t step;     /* of the run, as stored in the file */
} request;

bool pithp_is_damage(pith_status code) {
    return code == PITH_E_IO || code == PITH_E_FORMAT;
}

static bool load_from(pith_scope *s, pith_checkpoint *c, void *closure) {
    request *r = closure;
    const void *nil = r->root;
    loader v = {.s = s,
                .root = r->type,
                .c = c,
                .d = &c->document,
                .placed = c->document.parts.count && pith_mesh_of(s)};
    v.differences = (pithp_mismatches){.s = s, .d = v.d, .options = r->options};
    pith_scope *agreed = v.placed ? pith_scope_open_in(s) : NULL;
    pith_scope *scope = pith_scope_open_in(s); /* for intermediate objects */
    if (!pithp_scope_writable(scope))
        pithp_fail_memory(s, sizeof *scope);
    else if (pithp_migrate(scope, c, r->type, &v.differences) == PITH_OK) {
        if (load(&v) == PITH_OK)
            r->root =
                v.placed ? pithp_load_shards(s, c, v.arrays, v.objects[0]) : v.objects[0];
        r->step = c->info.step;
        drop_tables(&v);
    }
    pith_scope_close(scope);
    bool damaged = pithp_is_damage(pith_code(s));
    if (v.placed) {
        damaged = pithp_load_agree(s, agreed, c);
        pith_scope_close(agreed);
    }
    if (pith_code(s) != PITH_OK)
        r->root = nil;
    return damaged;
}

static void load_path(pith_scope *s, const char *path, request *r) {
    if (r->options->newest) {
        pithp_series_newest(s, path, r->options, load_from, r);
        return;
    }
    pith_checkpoint *c = pithp_checkpoint_open(s, path);
    if (c) {
        load_from(s, c, r);
        pithp_checkpoint_close(s, c);
    }
}

const void *pithp_load_step(pith_scope *s,
                            const pith_type *type,
                            const char *path,
                            const pith_load_options *options,
                            int64_t *step) {
    request r = {.type = type, .options = options};
    if (pithp_background_settle_parted(s, path) && pithp_background_settle(s) == PITH_OK)
        load_path(s, path, &r);
    *step = r.step;
    return r.root;
}

const void *pith_load_any(pith_scope *s,
                          const pith_type *type,
                          const char *path,
                          const pith_load_options *options) {
    PITHP_IN_FLIGHT(s, "pith_load");
    static const pith_load_options defaults;
    const bool record = type && type != pith_array_pith_type();
    request r = {.type = type,
                 .options = options ? options : &defaults,
                 .root = record ? pithp_nil(type) : NULL};
    const bool fine = pithp_enter_as(s, "pith_load");
    if ((path && !pithp_background_settle_parted(s, path)) || !fine)
        return r.root;
    if (!path || (record && (!pithp_type_valid(type) || type->error))) {
        pithp_fail(s, path ? PITH_E_TYPE : PITH_E_ARG, NULL, "pith_load: %s",
                   !path                     ? "path is NULL"
                   : !pithp_type_valid(type) ? "the type is invalid"
                                             : type->error);
        return r.root;
    }
    if (pithp_background_settle(s) == PITH_OK)
        load_path(s, path, &r);
    return r.root;
}
