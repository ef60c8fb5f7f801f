/* Paths: writing and reading ".atoms[3]['key']" (path.c). */
#ifndef PITHP_TREE_PATH_H
#define PITHP_TREE_PATH_H

#include "tree/node_def.h"

/* Append one step: ".name", "[3]", "['key']". */
void pithp_path_add_field(pithp_text *t, const char *name);
void pithp_path_add_index(pithp_text *t, int64_t index);
void pithp_path_add_key(pithp_text *t, const char *key);
/* A text as a string of s, ended; NULL: error set. */
const char *pithp_text_finish(pith_scope *s, pithp_text *t);
/* The step to a slot of a node of that shape. */
void pithp_path_add_slot(pithp_text *t, const pithp_node_def *node_def, int64_t slot);

typedef enum pithp_step_kind {
    PITHP_STEP_FIELD,
    PITHP_STEP_INDEX,
    PITHP_STEP_KEY,
    PITHP_STEP_EACH /* "[*]", a pattern */
} pithp_step_kind;

typedef struct pithp_path_part {
    pithp_step_kind kind;
    const char *name; /* field or key, unescaped, zero-terminated, until the next step */
    int64_t index;
    size_t begin, end; /* of its text in the path */
} pithp_path_part;

/* Reads a path step by step. */
typedef struct pithp_path_reader {
    const char *path;
    size_t next;
    pithp_text name;
    bool patterns;     /* "[*]" and "[-1]" are steps too */
    const char *error; /* what is wrong at `next`, where a step is malformed; else NULL */
} pithp_path_reader;

void pithp_path_read(pithp_path_reader *r, pith_runtime *rt, const char *path);
/* The next step; false at the end, at an error, or when memory is short (name.failed). */
bool pithp_path_step(pithp_path_reader *r, pithp_path_part *step);
void pithp_path_read_end(pithp_path_reader *r);
/* Set PITH_E_PATH for a malformed path, or PITH_E_MEMORY. */
pith_status pithp_path_fail(pith_scope *s, const pithp_path_reader *r);
/* Why a record of a type has no node in a field of that name. */
void pithp_path_explain_field(pithp_text *why, const pith_type *type, const char *name);
/* Why a node has no item of that number or key: "a list of 2 has no item 3". */
void pithp_path_explain_item(pithp_text *why, const void *node, int64_t index);
void pithp_path_explain_key(pithp_text *why, const void *node, const char *key);

#endif
