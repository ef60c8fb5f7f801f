/* Flat trees: the leaves of a tree as a list, and its structure as tokens, as in
 * treedefs. */
#ifndef PITHP_TREE_STRUCTURE_H
#define PITHP_TREE_STRUCTURE_H

#include "tree/walk.h"

/* ---- Flat trees (walk.c) ---- */

/* A token is a node definition (its low bits are 0), or length << 2 | kind for a run of
 * leaves, absent slots or picked nodes. Tokens are in walk order and runs have maximal
 * length, so equal structures have equal tokens. */
enum { PITHP_TOKEN_NODE, PITHP_TOKEN_LEAVES, PITHP_TOKEN_ABSENT, PITHP_TOKEN_PICKED };
static inline int pithp_token_kind(uintptr_t token) {
    return (int)(token & 3);
}
static inline int64_t pithp_token_run(uintptr_t token) {
    return (int64_t)(token >> 2);
}
static inline const pithp_node_def *pithp_token_shape(uintptr_t token) {
    return (const pithp_node_def *)token;
}

/* The structure of a tree. */
typedef struct pithp_structure {
    uintptr_t *tokens;
    uint32_t *heads; /* per node token: flags | extra << 16 of the node's header */
    const pith_spec **specs; /* of the items; NULL for picked nodes */
    int64_t token_count;
    int64_t item_count; /* leaves and picked nodes */
    int64_t node_count; /* with leaves and absent slots */
    size_t slab_bytes;  /* of all nodes with their headers */
    bool hooks;         /* a record has a validation hook */
    bool matches;       /* a record has a match hook */
    bool picked;        /* a node was picked */
    bool loose;         /* heads are unknown: trees are built node by node */
} pithp_structure;

enum { PITHP_FLAT_FIRST = 40 }; /* capacity for items and tokens without allocation */

typedef struct pithp_flat {
    pithp_structure structure;
    const pith_array **items; /* leaves and picked nodes, in walk order */
    pith_runtime *rt;
    int64_t token_room, item_room;
    uintptr_t first_tokens[PITHP_FLAT_FIRST];
    uint32_t first_heads[PITHP_FLAT_FIRST];
    const pith_array *first_items[PITHP_FLAT_FIRST];
    const pith_spec *first_specs[PITHP_FLAT_FIRST];
} pithp_flat;

typedef bool (*pithp_is_leaf)(const void *node, void *closure);

/* Flatten a checked tree. is_leaf NULL: no nodes are picked. On failure the error is set
 * and the caller releases nothing. */
pith_status pithp_flat_make(pith_scope *s,
                            pithp_flat *f,
                            const void *tree,
                            pithp_is_leaf is_leaf,
                            void *closure);
void pithp_flat_end(pithp_flat *f);
/* Whether structures are equal, apart from leaf specs. */
bool pithp_structure_same(const pithp_structure *a, const pithp_structure *b);
/* Append the path of the i-th item. Returns false if memory is short (build.c). */
bool pithp_structure_path(pith_runtime *rt,
                          const pithp_structure *t,
                          int64_t item,
                          pithp_string *path);
/* Set an error at the i-th item, or prepend its path to the scope's error. */
pith_status pithp_item_fail(pith_scope *s,
                            const pithp_structure *t,
                            int64_t item,
                            pith_status code,
                            const char *format,
                            ...) PITH_FORMAT(5, 6);
void pithp_item_prefix(pith_scope *s, const pithp_structure *t, int64_t item);
/* A copy of a text that lives as long as the runtime, for reports; one for equal texts.
 * NULL sets the error. */
const char *pithp_report_name(pith_scope *s, const pithp_string *text);
/* "function\npath" of an item, for pith_scope.leaf; lives as long as the runtime. NULL
 * sets the error. */
const char *pithp_leaf_name(pith_scope *s,
                            const char *function,
                            const pithp_structure *t,
                            int64_t item);
/* Compute counts, sizes and flags from the tokens. */
void pithp_structure_count(pithp_structure *t);
/* Hold references to the node definitions of a structure in s. */
pith_status pithp_structure_hold(pith_scope *s, const pithp_structure *t);

/* Copy a structure to memory of the runtime, with references to its node definitions,
 * until it is released. On failure the error is set and the caller releases nothing. */
pith_status
pithp_structure_copy(pith_scope *s, pithp_structure *to, const pithp_structure *from);
void pithp_structure_release(pith_runtime *rt,
                             pithp_structure *t);       /* a zeroed structure is valid */
size_t pithp_structure_bytes(const pithp_structure *t); /* of such a copy */
/* Equality of structures with leaf specs, and a matching hash. */
bool pithp_structure_equal(const pithp_structure *a, const pithp_structure *b);
uint64_t pithp_structure_hash(uint64_t seed, const pithp_structure *t);
/* A digest of the content, equal in all processes of a program (digest.c); also of the
 * structure of a checked tree, 0 with the error set. */
uint64_t pithp_structure_digest(const pithp_structure *t);
uint64_t pithp_tree_digest(pith_scope *s, const void *tree);
/* Whether a checked tree is the same on all ranks: its structure, and the bits of its
 * plain leaves and of shards that several ranks hold, unless their rows are counted. Else
 * every rank has the error that names path and ranks (replicated.c). A decision; waits.
 * Without ranks: whether the scope has not failed. */
bool pithp_tree_compare(pith_scope *s, const char *function, const void *tree);
/* Runs of consecutive leaves with the same hold; `first`: index of the first leaf. */
enum { PITHP_HELD_RUNS = 64 };
typedef struct pithp_held_runs {
    int count; /* over PITH_HELD_RUNS: further runs are not listed */
    struct {
        const pithp_hold *hold;
        int64_t first;
    } run[PITHP_HELD_RUNS];
} pithp_held_runs;
/* Read the leaves and addresses of a checked tree of that structure. Work on the scope's
 * stream must be able to read all leaves as they are. Returns false for another
 * structure, or if a leaf needs a wait or has an error; sets no error. Writes from index
 * `at` on. Holds are added to `runs`, which may be NULL. */
bool pithp_structure_read(pith_scope *s,
                          const pithp_structure *t,
                          const void *tree,
                          int64_t at,
                          const pith_array **items,
                          const void **addresses,
                          pithp_held_runs *runs);

/* Check a structure from the user. NULL sets the error (treedef.c). */
const pithp_structure *pithp_treedef_check(pith_scope *s,
                                           const pith_treedef *def,
                                           const char *function,
                                           const char *name);
/* The failure result of a maker of a tree of that structure; safe for any pointer. */
const void *pithp_nil_of_treedef(const pith_treedef *def);
/* A treedef with copies of a structure's arrays. NULL sets the error. */
const pith_treedef *pithp_treedef_make(pith_scope *s, const pithp_structure *t);

/* ---- Cursor over a structure (cursor.c) ---- */

typedef struct pithp_cursor {
    const pithp_structure *t;
    pithp_walk frames;              /* entered nodes, with node definitions as nodes */
    int64_t token, left;            /* the next token; the rest of a run */
    int64_t place;                  /* token read last */
    int64_t item;                   /* items read so far, with the last one */
    int kind;                       /* PITHP_TOKEN_... of the last token */
    const pithp_node_def *node_def; /* of the last node */
} pithp_cursor;

void pithp_cursor_begin(pithp_cursor *c, pith_runtime *rt, const pithp_structure *t);
/* Read the next slot in walk order. Returns false at the end, or if memory is short
 * (frames.failed). */
bool pithp_cursor_next(pithp_cursor *c);
/* Whether more than `depth` nodes enclose the next slot. */
bool pithp_cursor_inside(pithp_cursor *c, int64_t depth);
/* Skip everything below the node just read. */
void pithp_cursor_skip(pithp_cursor *c);
/* Append the path of the slot read last. */
static inline void pithp_cursor_path(const pithp_cursor *c, pithp_string *path) {
    pithp_walk_path(&c->frames, path);
}
void pithp_cursor_end(pithp_cursor *c);
/* Whether two node definitions are equal, apart from the nodes below. */
bool pithp_node_def_same_node(const pithp_node_def *a, const pithp_node_def *b);

#endif
