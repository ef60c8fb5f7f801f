/* A tree in its flat form: its leaves in a row, and its structure, as treedefs hold it.
 */
#ifndef PITHP_TREE_STRUCTURE_H
#define PITHP_TREE_STRUCTURE_H

#include "tree/walk.h"

/* ---- The flat form of a tree (walk.c): its leaves, and its structure as tokens ---- */

/* A token is the shape of a node (its low bits are 0), or a run of leaves, absences or
 * picked nodes: length << 2 | kind. Tokens are in walk order and runs are as long as they
 * can be, so equal structures have equal tokens. */
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

/* The structure of a tree, as a treedef and a flat form have it. */
typedef struct pithp_structure {
    uintptr_t *tokens;
    uint32_t *heads; /* of node tokens: flags | extra << 16 of the node's header */
    const pith_spec **specs; /* of the items; NULL for picked nodes */
    int64_t token_count;
    int64_t item_count; /* leaves and picked nodes */
    int64_t node_count; /* leaves and absences included */
    size_t slab_bytes;  /* of all nodes with their headers */
    bool hooks;         /* some record has a validation hook */
    bool matches;       /* some record has a match hook */
    bool picked;        /* some node was picked */
    bool loose;         /* heads are not known: trees are built node by node */
} pithp_structure;

enum { PITHP_FLAT_FIRST = 40 }; /* items and tokens that need no allocation */

typedef struct pithp_flat {
    pithp_structure structure;
    const pith_array **items; /* leaves, and picked nodes in their places */
    pith_runtime *rt;
    int64_t token_room, item_room;
    uintptr_t first_tokens[PITHP_FLAT_FIRST];
    uint32_t first_heads[PITHP_FLAT_FIRST];
    const pith_array *first_items[PITHP_FLAT_FIRST];
    const pith_spec *first_specs[PITHP_FLAT_FIRST];
} pithp_flat;

typedef bool (*pithp_is_leaf)(const void *node, void *closure);

/* Gather a checked tree. is_leaf NULL: nothing is picked. On failure the scope's error is
 * set and there is nothing to end. */
pith_status pithp_flat_make(pith_scope *s,
                            pithp_flat *f,
                            const void *tree,
                            pithp_is_leaf is_leaf,
                            void *closure);
void pithp_flat_end(pithp_flat *f);
/* Whether structures are the same, leaf specs aside. */
bool pithp_structure_same(const pithp_structure *a, const pithp_structure *b);
/* Append the path of the i-th item; false where memory is short (build.c). */
bool pithp_structure_path(pith_runtime *rt,
                          const pithp_structure *t,
                          int64_t item,
                          pithp_text *path);
/* Set an error at the i-th item, or put its path in front of the scope's error. */
pith_status pithp_item_fail(pith_scope *s,
                            const pithp_structure *t,
                            int64_t item,
                            pith_status code,
                            const char *format,
                            ...) PITH_FORMAT(5, 6);
void pithp_item_prefix(pith_scope *s, const pithp_structure *t, int64_t item);
/* "function\npath" of an item, for pith_scope.leaf; lives as long as the runtime. NULL:
 * error set. */
const char *pithp_leaf_name(pith_scope *s,
                            const char *function,
                            const pithp_structure *t,
                            int64_t item);
/* Work out counts, sizes and flags from the tokens. */
void pithp_structure_count(pithp_structure *t);
/* Make s keep the shapes of a structure alive. */
pith_status pithp_structure_hold(pith_scope *s, const pithp_structure *t);

/* A copy in memory of the runtime that keeps its shapes alive, for as long as nobody
 * releases it. On failure the error is set and there is nothing to release. */
pith_status
pithp_structure_copy(pith_scope *s, pithp_structure *to, const pithp_structure *from);
void pithp_structure_release(pith_runtime *rt, pithp_structure *t); /* zeroed: nothing */
size_t pithp_structure_bytes(const pithp_structure *t);             /* of such a copy */
/* Whether structures are the same, leaf specs included, and a hash that goes with it. */
bool pithp_structure_equal(const pithp_structure *a, const pithp_structure *b);
uint64_t pithp_structure_hash(uint64_t seed, const pithp_structure *t);
/* Neighbours among leaves that were read, kept by one hold: from place `first` on. */
enum { PITHP_HELD_RUNS = 64 };
typedef struct pithp_held_runs {
    int count; /* beyond PITHP_HELD_RUNS: there are others that are not listed */
    struct {
        const pithp_hold *hold;
        int64_t first;
    } run[PITHP_HELD_RUNS];
} pithp_held_runs;
/* The leaves of a checked tree, and where their elements are, if it has that structure
 * and work on the scope's stream can read all of them as they are. False: it has another,
 * or a leaf has to be awaited or refused; no error is set. Lists are written from place
 * `at` on; what is found of holds is added to `runs` (NULL: nobody asks). */
bool pithp_structure_read(pith_scope *s,
                          const pithp_structure *t,
                          const void *tree,
                          int64_t at,
                          const pith_array **items,
                          const void **addresses,
                          pithp_held_runs *runs);

/* A structure that a user passed. NULL: error set (treedef.c). */
const pithp_structure *pithp_treedef_check(pith_scope *s,
                                           const pith_treedef *def,
                                           const char *function,
                                           const char *name);
/* What a maker of a tree of that structure returns when it fails; safe for any pointer.
 */
const void *pithp_nil_of_treedef(const pith_treedef *def);
/* A treedef with copies of a structure's arrays. NULL: error set. */
const pith_treedef *pithp_treedef_make(pith_scope *s, const pithp_structure *t);

/* ---- Reading a structure place by place (cursor.c) ---- */

typedef struct pithp_cursor {
    const pithp_structure *t;
    pithp_walk frames;              /* nodes under way: their shapes are their nodes */
    int64_t token, left;            /* the next token; what is left of a run */
    int64_t place;                  /* token of the last place */
    int64_t item;                   /* items up to the last place, it included */
    int kind;                       /* PITHP_TOKEN_... of the last place */
    const pithp_node_def *node_def; /* of a node */
} pithp_cursor;

void pithp_cursor_begin(pithp_cursor *c, pith_runtime *rt, const pithp_structure *t);
/* The next place in walk order; false at the end, or where memory is short
 * (frames.failed). */
bool pithp_cursor_next(pithp_cursor *c);
/* Whether the next place lies below a node that more than `depth` nodes enclose, itself
 * included. */
bool pithp_cursor_inside(pithp_cursor *c, int64_t depth);
/* Read past what is below the node that was just read. */
void pithp_cursor_skip(pithp_cursor *c);
/* Append the path of the last place. */
static inline void pithp_cursor_path(const pithp_cursor *c, pithp_text *path) {
    pithp_walk_path(&c->frames, path);
}
void pithp_cursor_end(pithp_cursor *c);
/* Whether nodes of two shapes are the same but for what is below them. */
bool pithp_node_def_same_node(const pithp_node_def *a, const pithp_node_def *b);

#endif
