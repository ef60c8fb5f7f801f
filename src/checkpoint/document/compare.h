/* Schema comparison: a document against the declared types of a program. */
#ifndef PITHP_CHECKPOINT_COMPARE_H
#define PITHP_CHECKPOINT_COMPARE_H

#include "checkpoint/document/document.h"

/* Mismatches between a document and a program. Each is counted and reported to the user's
 * hook; only the first ones are kept as text. */
typedef struct pithp_mismatches {
    pith_scope *s;
    const pithp_document *d;
    const pith_load_options *options;
    int64_t count, shown; /* shown: number in the text */
    pith_status code;     /* of the first mismatch, like the path */
    char path[PITHP_PATH_BYTES];
    char text[PITHP_MESSAGE_BYTES];
} pithp_mismatches;

/* field: of the node; NULL: the node itself. */
void pithp_mismatches_add(pithp_mismatches *r,
                          pith_status code,
                          int64_t node,
                          const char *field,
                          const char *format,
                          ...) PITH_FORMAT(5, 6);
/* Add a mismatch at a path given by the user. */
void pithp_mismatches_at(pithp_mismatches *r,
                         pith_status code,
                         const char *path,
                         const char *format,
                         ...) PITH_FORMAT(4, 5);
/* Report a mismatch that the options allow; it is not counted. */
void pithp_mismatches_report(pithp_mismatches *r,
                             int64_t node,
                             const char *field,
                             const char *format,
                             ...) PITH_FORMAT(4, 5);
/* Turn the error of s, whose path is relative to a node, into a mismatch. */
void pithp_mismatches_absorb(pithp_mismatches *r, pith_scope *s, int64_t node);
/* PITH_OK, or all mismatches as the scope's error. */
pith_status pithp_mismatches_end(const pithp_mismatches *r);

/* The children of every node: those of i are rows[base[i]] to rows[base[i + 1] - 1]. */
typedef struct pithp_children {
    int64_t *base, *rows;
} pithp_children;

/* The child row of a record with this name; -1: none. The search starts at index `at`. */
int64_t pithp_child_named(const pithp_document *d,
                          const pithp_children *children,
                          int64_t node,
                          const char *name,
                          int64_t at);
/* The program's type with this name, found from the loaded root first; NULL: none. */
const pith_type *pithp_program_type(const pith_type *root, const char *name);
/* The hook that upgrades records of a type from a version to the next; NULL: none. */
typedef void (*pithp_upgrade_hook)(pith_scope *s, pith_upgrade *u);
pithp_upgrade_hook pithp_upgrade_from(const pith_type *type, int32_t version);
/* The static of a record with this name; NULL: none. */
const pith_checkpoint_static *
pithp_static_named(const pithp_document *d, int64_t node, const char *name);
/* Compare the rows with the program's declarations. types[i]: the program's type for row
 * i of the type table. It is NULL for an unknown type or another version, which is also a
 * difference. */
void pithp_compare(pithp_mismatches *r,
                   const pithp_children *children,
                   const pith_type *const *types);

#endif
