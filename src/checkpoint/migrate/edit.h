/* The editable tree of a parsed document. The file is not modified; the result is loaded
 * strictly. */
#ifndef PITHP_CHECKPOINT_EDIT_H
#define PITHP_CHECKPOINT_EDIT_H

#include "checkpoint/document/compare.h"

/* Children as linked lists; -1 terminates them. */
typedef struct pithp_link {
    int64_t first, last, next;
} pithp_link;

typedef struct pithp_edit {
    pith_scope *s;
    pithp_document *d;
    const pith_type *root; /* type that the program loads; NULL: any tree */
    pithp_link *links;     /* by row of the node table */
    int64_t count, room;
} pithp_edit;

pith_status
pithp_edit_begin(pithp_edit *e, pith_scope *s, pithp_document *d, const pith_type *root);
/* Rebuild the node table in walk order from this root. Unreachable rows are dropped, and
 * their leaves have no node. */
pith_status pithp_edit_finish(pithp_edit *e, int64_t root);
void pithp_edit_end(pithp_edit *e);
/* Visit the rows below a root in preorder, then their static records. A visit may change
 * the children of its row. */
typedef pith_status (*pithp_edit_visit)(void *closure, int64_t row);
pith_status
pithp_edit_walk(pithp_edit *e, int64_t root, pithp_edit_visit visit, void *closure);

/* The child of a record with that name; -1 if there is none. */
int64_t pithp_edit_child(const pithp_edit *e, int64_t row, const char *name);

/* The target of a path: a child, a static, or a name missing in its parent. */
typedef struct pithp_edit_target {
    int64_t parent;   /* -1: the path is empty, or the parent is missing too */
    int64_t child;    /* -1: none */
    int64_t value;    /* row of the statics; -1: none */
    const char *name; /* in the parent, in memory of the document; NULL: an index */
    bool deep;        /* missing, with a name of more than one path element: a field of
                       * an embedded struct if the program declares it */
} pithp_edit_target;

/* Resolve a path that starts at a row. PITH_E_PATH if it is malformed. */
pith_status
pithp_edit_find(pithp_edit *e, int64_t base, const char *path, pithp_edit_target *target);
static inline bool pithp_edit_target_found(const pithp_edit_target *target) {
    return target->child >= 0 || target->value >= 0;
}

/* A detached child or static. */
typedef struct pithp_detached {
    int64_t child;                /* -1: a static */
    pith_checkpoint_static value; /* its name is ignored */
} pithp_detached;

/* Detach an existing target other than the root. */
pithp_detached pithp_edit_detach(pithp_edit *e, const pithp_edit_target *target);
/* Why a detached node cannot be attached at a target; NULL: it can. */
const char *pithp_edit_refusal(const pithp_edit *e,
                               const pithp_detached *t,
                               const pithp_edit_target *target);
/* Attach a detached node; pithp_edit_refusal must return NULL. */
pith_status pithp_edit_attach(pithp_edit *e,
                              const pithp_detached *t,
                              const pithp_edit_target *target);
/* The row of the type table with that name and version, added if missing. -1: out of
 * memory. */
int32_t pithp_edit_type(pithp_edit *e, const char *name, int32_t version);
/* Add the rows of a tree in memory (NULL: an absent child), detached. */
pith_status pithp_edit_graft(pithp_edit *e, const void *tree, pithp_detached *t);
/* Detached copy of a static of a record in memory; a static record is grafted. */
pith_status pithp_edit_static(pithp_edit *e,
                              const pithp_field *field,
                              const void *record,
                              pithp_detached *t);

/* ---- Steps of a migration (rename.c, upgrade.c, subset.c) ---- */

/* Apply options.renames. Invalid renames are added to r. root: of the result. */
pith_status pithp_migrate_rename(pithp_edit *e,
                                 pithp_mismatches *r,
                                 const pith_type *type,
                                 int64_t root);
/* Run the upgrade hooks of records of older versions, from the root down. Failures are
 * added to r. */
pith_status pithp_migrate_upgrade(pithp_edit *e,
                                  pithp_mismatches *r,
                                  const pith_checkpoint *c,
                                  const pith_type *type,
                                  int64_t root);
/* Apply options.initial and options.extra. */
pith_status pithp_migrate_subset(pithp_edit *e,
                                 pithp_mismatches *r,
                                 const pith_type *type,
                                 int64_t root);

#endif
