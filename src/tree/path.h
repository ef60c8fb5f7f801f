/* Paths: printing and parsing of ".atoms[3]['key']" (path.c). */
#ifndef PITHP_TREE_PATH_H
#define PITHP_TREE_PATH_H

#include "tree/node_def.h"

/* Append one step: ".name", "[3]", "['key']". */
void pithp_path_add_field(pithp_string *t, const char *name);
void pithp_path_add_index(pithp_string *t, int64_t index);
void pithp_path_add_key(pithp_string *t, const char *key);
/* Copy the text to s and end it. NULL sets the error. */
const char *pithp_string_finish(pith_scope *s, pithp_string *t);
/* Whether path a is b, or leads to a part that b is in. */
bool pithp_path_contains(const char *a, const char *b);
/* Append the step to a slot of a node with that definition. */
void pithp_path_add_slot(pithp_string *t, const pithp_node_def *node_def, int64_t slot);

typedef enum pithp_step_kind {
    PITHP_STEP_FIELD,
    PITHP_STEP_INDEX,
    PITHP_STEP_KEY,
    PITHP_STEP_EACH /* "[*]", in patterns */
} pithp_step_kind;

typedef struct pithp_path_part {
    pithp_step_kind kind;
    const char
        *name; /* field or key, unescaped, zero-terminated, valid until the next step */
    int64_t index;
    size_t begin, end; /* of its text in the path */
} pithp_path_part;

/* A parser of paths, step by step. */
typedef struct pithp_path_reader {
    const char *path;
    size_t next;
    pithp_string name;
    bool patterns;     /* accept "[*]" and "[-1]" too */
    const char *error; /* the fault at `next` if a step is malformed; else NULL */
} pithp_path_reader;

void pithp_path_read(pithp_path_reader *r, pith_runtime *rt, const char *path);
/* Parse the next step. Returns false at the end, at an error, or if memory is short
 * (name.failed). */
bool pithp_path_step(pithp_path_reader *r, pithp_path_part *step);
void pithp_path_read_end(pithp_path_reader *r);
/* Set PITH_E_PATH for a malformed path, or PITH_E_MEMORY. */
pith_status pithp_path_fail(pith_scope *s, const pithp_path_reader *r);
/* Append why a record of a type has no node in a field of that name. */
void pithp_path_explain_field(pithp_string *why, const pith_type *type, const char *name);
/* Append why a node has no item of that index or key: "a list of 2 has no item 3". */
void pithp_path_explain_item(pithp_string *why, const void *node, int64_t index);
void pithp_path_explain_key(pithp_string *why, const void *node, const char *key);

#endif
