/* Within checkpoint: the tree of a document that was read, while it is changed into what
 * the program expects. The file is not touched; what comes of it is loaded strictly. */
#ifndef PITH_EDIT_INTERNAL_H
#define PITH_EDIT_INTERNAL_H

#include "checkpoint/document/compare.h"

/* Children as lists; -1 ends them. */
typedef struct pithp_link {
    int64_t first, last, next;
} pithp_link;

typedef struct pithp_edit {
    pith_scope *s;
    pithp_document *d;
    const pith_type *root; /* what the program loads; NULL: any tree */
    pithp_link *links;     /* by row of the node table */
    int64_t count, room;
} pithp_edit;

pith_status
pithp_edit_begin(pithp_edit *e, pith_scope *s, pithp_document *d, const pith_type *root);
/* Make the rows a node table in walk order again, with this root; rows that nothing leads
 * to are gone, and the leaves of theirs have no node. */
pith_status pithp_edit_finish(pithp_edit *e, int64_t root);
void pithp_edit_end(pithp_edit *e);
/* Visit the rows from a root down, a parent before its children, which it may change;
 * then static records of those. */
typedef pith_status (*pithp_edit_visit)(void *closure, int64_t row);
pith_status
pithp_edit_walk(pithp_edit *e, int64_t root, pithp_edit_visit visit, void *closure);

/* The child of a record that is called so, -1. */
int64_t pithp_edit_child(const pithp_edit *e, int64_t row, const char *name);

/* What a path leads to: a child, a static, or a name that its parent does not have. */
typedef struct pithp_spot {
    int64_t parent;   /* -1: the path is empty, or its parent is missing too */
    int64_t child;    /* -1 */
    int64_t value;    /* row of the statics; -1 */
    const char *name; /* in the parent, in memory of the document; NULL: an index */
    bool deep;        /* it is not there, and its name has more than one step: a member of
                         an embedded struct, if the program has one of that name */
} pithp_spot;

/* Follow a path from a row on. Fails where it is malformed. */
pith_status
pithp_edit_find(pithp_edit *e, int64_t base, const char *path, pithp_spot *spot);
static inline bool pithp_spot_found(const pithp_spot *spot) {
    return spot->child >= 0 || spot->value >= 0;
}

/* A child or static that is in no place. */
typedef struct pithp_taken {
    int64_t child;                /* -1: a static */
    pith_checkpoint_static value; /* without its name */
} pithp_taken;

/* Take what is at a spot, which has to be there and not the root. */
pithp_taken pithp_edit_take(pithp_edit *e, const pithp_spot *spot);
/* Why it cannot be put at a spot; NULL: it can. */
const char *
pithp_edit_refusal(const pithp_edit *e, const pithp_taken *t, const pithp_spot *spot);
/* Put it there; the spot has to take it. */
pith_status pithp_edit_put(pithp_edit *e, const pithp_taken *t, const pithp_spot *spot);
/* The row of the type table with that name and version, added where there is none; -1:
 * memory is short. */
int32_t pithp_edit_type(pithp_edit *e, const char *name, int32_t version);
/* Rows for a tree in memory (NULL: an absent child), in no place yet. */
pith_status pithp_edit_graft(pithp_edit *e, const void *tree, pithp_taken *t);
/* The value of a static of a record in memory, a static record grafted. */
pith_status pithp_edit_static(pithp_edit *e,
                              const pithp_field *field,
                              const void *record,
                              pithp_taken *t);

/* ---- What changes it (rename.c, upgrade.c, subset.c) ---- */

/* options.renames. What cannot be done is told to r. root: the row that will be. */
pith_status
pithp_rename(pithp_edit *e, pithp_differences *r, const pith_type *type, int64_t root);
/* Bring records of older versions to the program's with their hooks, from the root down.
 * What goes wrong is told to r. */
pith_status pithp_upgrade(pithp_edit *e,
                          pithp_differences *r,
                          const pith_checkpoint *c,
                          const pith_type *type,
                          int64_t root);
/* options.initial and options.extra. */
pith_status
pithp_subset(pithp_edit *e, pithp_differences *r, const pith_type *type, int64_t root);

#endif
