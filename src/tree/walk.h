/* Tree walker: the one iterative traversal of the library (walk.c). */
#ifndef PITHP_TREE_WALK_H
#define PITHP_TREE_WALK_H

#include "tree/node_def.h"

typedef enum pithp_visit {
    PITHP_VISIT_LEAF,
    PITHP_VISIT_ENTER,
    PITHP_VISIT_LEAVE,
    PITHP_VISIT_ABSENT
} pithp_visit;

typedef struct pithp_walk_frame {
    const void *node;
    const pithp_node_def *node_def;
    int64_t next; /* next slot to visit */
} pithp_walk_frame;

typedef struct pithp_walk {
    pith_runtime *rt;
    pithp_walk_frame *frames;
    int64_t depth, room;
    pithp_walk_frame first[24]; /* enough for most trees without allocation */
    const void *root;
    bool started, failed; /* failed: memory was short */
    const void *node;     /* last visit: leaf, record or container; NULL: absent */
    int64_t slot;         /* its slot in its parent; -1 for the root */
} pithp_walk;

void pithp_walk_begin(pithp_walk *w, pith_runtime *rt, const void *tree);
/* The next visit in order. Returns false at the end. */
bool pithp_walk_next(pithp_walk *w, pithp_visit *visit);
/* Enter a node that is not in a slot of a parent. Returns false if memory is short. */
bool pithp_walk_enter(pithp_walk *w, const void *node, const pithp_node_def *node_def);
/* Do not descend into the node that was just entered. */
void pithp_walk_skip(pithp_walk *w);
/* Continue at a later slot of the innermost entered node. */
void pithp_walk_jump(pithp_walk *w, int64_t slot);
void pithp_walk_end(pithp_walk *w);
/* Append the path of the last visit. */
void pithp_walk_path(const pithp_walk *w, pithp_string *path);

#endif
