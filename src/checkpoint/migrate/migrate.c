/* Schema migration: applies the options of pith_load and the upgrade hooks of types to a
 * document in memory, before it is loaded strictly. */
#include "checkpoint/migrate/migrate.h"

#include "checkpoint/migrate/edit.h"
#include "checkpoint/store/open.h"

#include <inttypes.h>
#include <string.h>

static pith_status check_options(const pithp_mismatches *r, const pith_type *type) {
    const void *initial = r->options->initial;
    if (!initial)
        return PITH_OK;
    const pith_status rc = pithp_tree_check(r->s, initial, "pith_load", "initial");
    if (rc != PITH_OK)
        return rc;
    if (type && type != pith_array_pith_type() && pith_type_of(initial) != type)
        return pithp_fail(r->s, PITH_E_TYPE, NULL,
                          "pith_load: initial: expected a record of %s", type->name);
    return PITH_OK;
}

/* Find the row that options.at names. */
static pith_status find_root(pithp_edit *e, const pithp_mismatches *r, int64_t *root) {
    const char *at = r->options->at;
    pithp_edit_target target;
    *root = 0;
    if (!at || !*at)
        return PITH_OK;
    const pith_status rc = pithp_edit_find(e, 0, at, &target);
    if (rc != PITH_OK)
        return rc;
    if (target.child < 0 || e->d->nodes.rows[target.child].kind == PITH_NODE_ABSENT ||
        e->d->nodes.rows[target.child].is_static)
        return pithp_fail(r->s, PITH_E_STRUCTURE, at, "the file has no such node");
    *root = target.child;
    return PITH_OK;
}

/* Rename types whose program name has changed (PITH_FORMERLY). */
static void use_new_names(pithp_document *d, const pith_type *root) {
    for (int64_t i = 0; i < d->types.count; i++) {
        pithp_doc_type *row = &d->types.rows[i];
        const pith_type *type = pithp_program_type(root, row->name)
                                    ? NULL
                                    : pithp_type_find_former(row->name, root);
        row->name = type ? type->name : row->name;
    }
}

static bool is_old(const pithp_document *d, const pith_type *root) {
    for (int64_t i = 0; i < d->types.count; i++) {
        const pith_type *type = pithp_program_type(root, d->types.rows[i].name);
        if (type && type->version > d->types.rows[i].version)
            return true;
    }
    return false;
}

static pith_status migrate(pithp_edit *e,
                           const pith_checkpoint *c,
                           const pith_type *type,
                           pithp_mismatches *r) {
    const pith_load_options *o = r->options;
    int64_t root = 0;
    pith_status rc;
    PITH_TRY(check_options(r, type));
    PITH_TRY(find_root(e, r, &root));
    if (o->renames)
        PITH_TRY(pithp_migrate_rename(e, r, type, root));
    use_new_names(e->d, type);
    if (is_old(e->d, type))
        PITH_TRY(pithp_migrate_upgrade(e, r, c, type, root));
    if (o->initial || o->extra)
        PITH_TRY(pithp_migrate_subset(e, r, type, root));
    rc = pithp_edit_finish(e, root);
out:
    return rc;
}

pith_status pithp_migrate(pith_scope *scope,
                          pith_checkpoint *c,
                          const pith_type *type,
                          pithp_mismatches *r) {
    const pith_load_options *o = r->options;
    pithp_edit e;
    if (!o->renames) /* renames use the names of the file */
        use_new_names(&c->document, type);
    if (!o->at && !o->renames && !o->initial && !o->extra && !is_old(&c->document, type))
        return PITH_OK;
    pith_status rc = pithp_edit_begin(&e, scope, &c->document, type);
    if (rc == PITH_OK)
        rc = migrate(&e, c, type, r);
    pithp_edit_end(&e);
    return rc;
}
