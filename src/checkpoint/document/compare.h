/* A document against what a program declares. */
#ifndef PITHP_CHECKPOINT_COMPARE_H
#define PITHP_CHECKPOINT_COMPARE_H

#include "checkpoint/document/document.h"

/* What differs between a document and a program: all are counted and told to the user's
 * hook, the first ones are kept as text. */
typedef struct pithp_differences {
    pith_scope *s;
    const pithp_document *d;
    const pith_load_options *options;
    int64_t count, shown; /* shown: those that the text holds */
    pith_status code;     /* of the first, as is the path */
    char path[PITHP_PATH_BYTES];
    char text[PITHP_MESSAGE_BYTES];
} pithp_differences;

/* field NULL: at the node itself, else at that field of it. */
void pithp_differences_add(pithp_differences *r,
                           pith_status code,
                           int64_t node,
                           const char *field,
                           const char *format,
                           ...) PITH_FORMAT(5, 6);
/* At a path of the user's. */
void pithp_differences_at(pithp_differences *r,
                          pith_status code,
                          const char *path,
                          const char *format,
                          ...) PITH_FORMAT(4, 5);
/* One that the options allow: only told. */
void pithp_differences_tell(pithp_differences *r,
                            int64_t node,
                            const char *field,
                            const char *format,
                            ...) PITH_FORMAT(4, 5);
/* Turn the error of s, whose path starts at a node, into a difference. */
void pithp_differences_take(pithp_differences *r, pith_scope *s, int64_t node);
/* PITH_OK, or all of them as the scope's error. */
pith_status pithp_differences_end(const pithp_differences *r);

/* The children of every node: those of i are rows[base[i]] to rows[base[i + 1] - 1]. */
typedef struct pithp_children {
    int64_t *base, *rows;
} pithp_children;

/* The child row of a record with that name, -1; `at` is where it is looked for first. */
int64_t pithp_child_named(const pithp_document *d,
                          const pithp_children *children,
                          int64_t node,
                          const char *name,
                          int64_t at);
/* "i64", "text", ...: for messages. */
const char *pithp_static_kind_name(pith_static_kind kind);
/* The program's type of that name: the loaded root's first; NULL if there is none. */
const pith_type *pithp_program_type(const pith_type *root, const char *name);
/* The hook that takes records of a type from a version to the next, NULL. */
typedef void (*pithp_upgrade_hook)(pith_scope *s, pith_upgrade *u);
pithp_upgrade_hook pithp_upgrade_from(const pith_type *type, int32_t version);
/* The static of a record with that name, NULL. */
const pith_checkpoint_static *
pithp_static_named(const pithp_document *d, int64_t node, const char *name);
/* Compare the rows with what the program declares. types[i]: of the i-th row of the type
 * table, NULL where it is unknown or has another version, which is a difference too. */
void pithp_compare(pithp_differences *r,
                   const pithp_children *children,
                   const pith_type *const *types);

#endif
