/* Version upgrades: hooks of types change records of older versions, one version at a
 * time. */
#include "checkpoint/migrate/edit.h"
#include "checkpoint/store/open.h"

#include <inttypes.h>
#include <string.h>

struct pith_upgrade {
    pithp_edit *e;
    const pith_checkpoint *c;
    pith_scope *scope; /* of the running hook; new values must outlive it */
    int64_t row;       /* the record */
};

static const char tag[] = "upgrade"; /* the shape of these objects: its address */

/* ---- Arguments of hooks ---- */

static bool is_upgrade(const pith_scope *s, const pith_upgrade *u) {
    pithp_block *block = NULL;
    return pithp_pointer_check(u, &block) == PITHP_POINTER_OK &&
           pithp_header_of(u)->kind == PITHP_KIND_OTHER &&
           pithp_header_of(u)->descriptor == tag && block->runtime == s->runtime;
}

/* Common entry of all calls: checks arguments and resolves the path. False: the scope has
 * the error. */
static bool enter(pith_scope *s,
                  pith_upgrade *u,
                  const char *function,
                  const char *path,
                  pithp_edit_target *target) {
    if (!pithp_enter_as(s, function))
        return false;
    if (!path || !is_upgrade(s, u)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %s", function,
                   path ? "expected the argument of the running upgrade hook"
                        : "path is NULL");
        return false;
    }
    u->e->s = s;
    return pithp_edit_find(u->e, u->row, path, target) == PITH_OK;
}

static bool missing(pith_scope *s, const char *path) {
    pithp_fail(s, PITH_E_STRUCTURE, path, "the file has no such node or static");
    return false;
}

bool pith_upgrade_has(pith_scope *s, pith_upgrade *u, const char *path) {
    pithp_edit_target target;
    if (!enter(s, u, "pith_upgrade_has", path, &target))
        return false;
    return target.value >= 0 ||
           (target.child >= 0 &&
            u->e->d->nodes.rows[target.child].kind != PITH_NODE_ABSENT);
}

/* ---- Leaves ---- */

static pithp_doc_leaf *
find_leaf(pith_scope *s, pith_upgrade *u, const char *function, const char *path) {
    pithp_edit_target target;
    if (!enter(s, u, function, path, &target))
        return NULL;
    const int64_t leaf = target.child < 0 ? -1 : u->e->d->nodes.rows[target.child].leaf;
    if (leaf >= 0)
        return &u->e->d->leaves.rows[leaf];
    if (pithp_edit_target_found(&target))
        pithp_fail(s, PITH_E_STRUCTURE, path, "expected a leaf");
    else
        missing(s, path);
    return NULL;
}

const pith_array *pith_upgrade_array(pith_scope *s, pith_upgrade *u, const char *path) {
    pithp_doc_leaf *leaf = find_leaf(s, u, "pith_upgrade_array", path);
    if (!leaf || leaf->given)
        return leaf ? leaf->given : NULL;
    const void *array = pithp_leaf_load(s, u->c, leaf - u->e->d->leaves.rows);
    if (array && pithp_keep_slots(u->scope, 1, &array) == PITH_OK)
        leaf->given = array;
    return leaf->given;
}

const pith_spec *pith_upgrade_spec(pith_scope *s, pith_upgrade *u, const char *path) {
    const pithp_doc_leaf *leaf = find_leaf(s, u, "pith_upgrade_spec", path);
    return leaf ? pithp_spec(s, leaf->dtype, leaf->shape.rank, leaf->shape.extents)
                : NULL;
}

/* ---- Statics ---- */

/* The static of a kind at a path. PITH_STATIC_KIND_TEXT also accepts enums and dtypes,
 * whose values are text. */
static const pith_checkpoint_static *find_static(pith_scope *s,
                                                 pith_upgrade *u,
                                                 const char *function,
                                                 const char *path,
                                                 pith_static_kind kind) {
    pithp_edit_target target;
    if (!enter(s, u, function, path, &target))
        return NULL;
    const pith_checkpoint_static *value =
        target.value < 0 ? NULL : &u->e->d->statics.rows[target.value];
    const bool texts =
        value && kind == PITH_STATIC_KIND_TEXT &&
        (value->kind == PITH_STATIC_KIND_ENUM || value->kind == PITH_STATIC_KIND_DTYPE);
    if (value && (value->kind == kind || texts))
        return value;
    if (pithp_edit_target_found(&target))
        pithp_fail(s, PITH_E_STRUCTURE, path, "expected a static %s, got %s",
                   pithp_static_kinds[kind].name,
                   value ? pithp_static_kinds[value->kind].name : "a node");
    else
        missing(s, path);
    return NULL;
}

int64_t pith_upgrade_i64(pith_scope *s, pith_upgrade *u, const char *path) {
    const pith_checkpoint_static *value =
        find_static(s, u, "pith_upgrade_i64", path, PITH_STATIC_KIND_I64);
    return value ? value->i64 : 0;
}

double pith_upgrade_f64(pith_scope *s, pith_upgrade *u, const char *path) {
    const pith_checkpoint_static *value =
        find_static(s, u, "pith_upgrade_f64", path, PITH_STATIC_KIND_F64);
    return value ? value->f64 : 0;
}

bool pith_upgrade_bool(pith_scope *s, pith_upgrade *u, const char *path) {
    const pith_checkpoint_static *value =
        find_static(s, u, "pith_upgrade_bool", path, PITH_STATIC_KIND_BOOL);
    return value && value->i64;
}

const char *pith_upgrade_text(pith_scope *s, pith_upgrade *u, const char *path) {
    const pith_checkpoint_static *value =
        find_static(s, u, "pith_upgrade_text", path, PITH_STATIC_KIND_TEXT);
    return value ? value->text : NULL;
}

/* ---- Changes ---- */

static bool has_place(pith_scope *s, const char *path, const pithp_edit_target *target) {
    if (!pithp_edit_target_found(target))
        return missing(s, path);
    if (target->parent >= 0 && target->name)
        return true;
    pithp_fail(s, PITH_E_STRUCTURE, path, "%s",
               target->parent < 0 ? "it is the record itself"
                                  : "items of lists and tuples cannot be moved");
    return false;
}

static bool
put(pith_scope *s, pith_upgrade *u, const char *path, const pithp_detached *t) {
    pithp_edit_target target;
    if (pithp_edit_find(u->e, u->row, path, &target) != PITH_OK)
        return false;
    const char *refusal = pithp_edit_refusal(u->e, t, &target);
    if (refusal)
        pithp_fail(s, PITH_E_STRUCTURE, path, "cannot put it there: %s", refusal);
    return !refusal && pithp_edit_attach(u->e, t, &target) == PITH_OK;
}

bool pith_upgrade_remove(pith_scope *s, pith_upgrade *u, const char *path) {
    pithp_edit_target target;
    if (!enter(s, u, "pith_upgrade_remove", path, &target) ||
        !has_place(s, path, &target))
        return false;
    pithp_edit_detach(u->e, &target);
    return true;
}

bool pith_upgrade_rename(pith_scope *s,
                         pith_upgrade *u,
                         const char *from,
                         const char *to) {
    pithp_edit_target target;
    if (!enter(s, u, "pith_upgrade_rename", to ? from : NULL, &target) ||
        !has_place(s, from, &target))
        return false;
    const pithp_detached t = pithp_edit_detach(u->e, &target);
    return put(s, u, to, &t);
}

/* Detach the node or static at a path, if any, before it is replaced. */
static bool
make_room(pith_scope *s, pith_upgrade *u, const char *function, const char *path) {
    pithp_edit_target target;
    if (!enter(s, u, function, path, &target))
        return false;
    if (!pithp_edit_target_found(&target))
        return true;
    if (!has_place(s, path, &target))
        return false;
    pithp_edit_detach(u->e, &target);
    return true;
}

bool pith_upgrade_set(pith_scope *s,
                      pith_upgrade *u,
                      const char *path,
                      const void *tree) {
    pithp_detached t;
    return make_room(s, u, "pith_upgrade_set", path) &&
           (!tree || (pithp_tree_check(s, tree, "pith_upgrade_set", "tree") == PITH_OK &&
                      pithp_keep_slots(u->scope, 1, &tree) == PITH_OK)) &&
           pithp_edit_graft(u->e, tree, &t) == PITH_OK && put(s, u, path, &t);
}

static bool set_static(pith_scope *s,
                       pith_upgrade *u,
                       const char *function,
                       const char *path,
                       const pith_checkpoint_static *value) {
    pithp_detached t = {.child = -1, .value = *value};
    if (!make_room(s, u, function, path))
        return false;
    t.value.node = -1;
    if (value->text) {
        t.value.text = pithp_document_text(u->e->d, value->text, strlen(value->text));
        if (!t.value.text)
            return pithp_fail_memory(s, strlen(value->text)), false;
    }
    return put(s, u, path, &t);
}

bool pith_upgrade_set_i64(pith_scope *s,
                          pith_upgrade *u,
                          const char *path,
                          int64_t value) {
    return set_static(
        s, u, "pith_upgrade_set_i64", path,
        &(pith_checkpoint_static){.kind = PITH_STATIC_KIND_I64, .i64 = value});
}

bool pith_upgrade_set_f64(pith_scope *s,
                          pith_upgrade *u,
                          const char *path,
                          double value) {
    return set_static(
        s, u, "pith_upgrade_set_f64", path,
        &(pith_checkpoint_static){.kind = PITH_STATIC_KIND_F64, .f64 = value});
}

bool pith_upgrade_set_bool(pith_scope *s, pith_upgrade *u, const char *path, bool value) {
    return set_static(
        s, u, "pith_upgrade_set_bool", path,
        &(pith_checkpoint_static){.kind = PITH_STATIC_KIND_BOOL, .i64 = value});
}

bool pith_upgrade_set_text(pith_scope *s,
                           pith_upgrade *u,
                           const char *path,
                           const char *text) {
    if (text && !pithp_is_utf8(text, strlen(text))) {
        if (pithp_enter(s))
            pithp_fail(s, PITH_E_FORMAT, path, "the text is not UTF-8");
        return false;
    }
    return set_static(
        s, u, "pith_upgrade_set_text", path,
        &(pith_checkpoint_static){.kind = PITH_STATIC_KIND_TEXT, .text = text});
}

bool pith_upgrade_set_enum(pith_scope *s,
                           pith_upgrade *u,
                           const char *path,
                           const char *name) {
    return set_static(
        s, u, "pith_upgrade_set_enum", name ? path : NULL,
        &(pith_checkpoint_static){.kind = PITH_STATIC_KIND_ENUM, .text = name});
}

bool pith_upgrade_set_dtype(pith_scope *s,
                            pith_upgrade *u,
                            const char *path,
                            pith_dtype dtype) {
    return set_static(s, u, "pith_upgrade_set_dtype", path,
                      &(pith_checkpoint_static){.kind = PITH_STATIC_KIND_DTYPE,
                                                .text = pith_dtype_name(dtype)});
}

bool pith_upgrade_set_record(pith_scope *s,
                             pith_upgrade *u,
                             const char *path,
                             const void *record) {
    static const char function[] = "pith_upgrade_set_record";
    pithp_detached t;
    if (!make_room(s, u, function, path) ||
        pithp_tree_check(s, record, function, "record") != PITH_OK)
        return false;
    if (pith_kind(record) != PITH_NODE_RECORD || pith_child_count(record) > 0) {
        pithp_fail(s, PITH_E_TYPE, path, "%s: expected a record without leaves",
                   function);
        return false;
    }
    if (pithp_keep_slots(u->scope, 1, &record) != PITH_OK ||
        pithp_edit_graft(u->e, record, &t) != PITH_OK)
        return false;
    t = (pithp_detached){.child = -1,
                         .value = {.kind = PITH_STATIC_KIND_RECORD, .node = t.child}};
    return put(s, u, path, &t);
}

/* ---- Running hooks ---- */

typedef struct running {
    pith_upgrade *u;
    pithp_mismatches *r;
    const pith_type *root;
} running;

static bool has_all(const pith_type *type, int32_t version) {
    while (version < type->version && pithp_upgrade_from(type, version))
        version++;
    return version >= type->version;
}

/* Upgrade one record to the program's version. */
static pith_status
upgrade_record(running *v, int64_t row, const pith_type *type, int32_t version) {
    pith_upgrade *u = v->u;
    u->row = row;
    for (; version < type->version; version++) {
        const pithp_call_site call = pithp_user_begins(u->scope);
        pithp_upgrade_from(type, version)(u->scope, u);
        pithp_user_ends(u->scope, call);
        u->e->s = u->scope;
        const pith_status code = pith_code(u->scope);
        if (code == PITH_E_MEMORY)
            return code;
        if (code != PITH_OK) {
            pithp_error_context(u->scope,
                                "upgrading %s from version %" PRId32 " to %" PRId32,
                                type->name, version, version + 1);
            pithp_mismatches_absorb(v->r, u->scope, row);
            return PITH_OK;
        }
    }
    const int32_t now = pithp_edit_type(u->e, type->name, type->version);
    if (now < 0)
        return pithp_fail_memory(u->scope, sizeof(pithp_doc_type));
    u->e->d->nodes.rows[row].type = now;
    return PITH_OK;
}

static pith_status visit(void *closure, int64_t row) {
    running *v = closure;
    const pithp_document *d = v->u->e->d;
    const pithp_doc_node *n = &d->nodes.rows[row];
    if (n->kind != PITH_NODE_RECORD)
        return PITH_OK;
    const pithp_doc_type *got = &d->types.rows[n->type];
    const pith_type *type = pithp_program_type(v->root, got->name);
    return type && type->version > got->version && has_all(type, got->version)
               ? upgrade_record(v, row, type, got->version)
               : PITH_OK;
}

pith_status pithp_migrate_upgrade(pithp_edit *e,
                                  pithp_mismatches *r,
                                  const pith_checkpoint *c,
                                  const pith_type *type,
                                  int64_t root) {
    pith_scope *scope = e->s;
    pith_upgrade *u = pithp_object_make(scope, PITHP_KIND_OTHER, tag, sizeof *u);
    if (!u)
        return pith_code(scope);
    *u = (pith_upgrade){.e = e, .c = c, .scope = scope};
    running v = {.u = u, .r = r, .root = type};
    const pith_status rc = pithp_edit_walk(e, root, visit, &v);
    pithp_header_of(u)->kind = PITHP_KIND_FREE; /* later use by the hook is an error */
    return rc == PITH_OK ? pithp_mismatches_end(r) : rc;
}
