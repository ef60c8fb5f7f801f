/* Nodes, and what those of one structure share: node definitions, interned per runtime
 * (node_def.c).
 */
#ifndef PITHP_TREE_NODE_DEF_H
#define PITHP_TREE_NODE_DEF_H

#include "tree/types.h"

typedef struct pithp_node_def {
    pithp_kind kind;
    bool all_leaves; /* every slot holds a leaf or is absent: nothing to descend into.
                        Containers: exact, and part of what is interned; records: by type
                      */
    const pith_type *type;        /* records */
    int64_t slot_count;           /* children and leaves, absent ones included */
    const uint32_t *slot_offsets; /* records: where in the payload; containers: NULL,
                                     slots are dense from 0 */
    size_t payload_bytes;
    const char *const *keys; /* dicts: sorted */
    /* records: the struct with zeroed slots, ignored members and padding, strings copied
     */
    const void *statics;
    uint64_t hash;
    atomic_int
        refs; /* scopes that hold it, and node definitions whose static record it is */
    struct pithp_node_def *next; /* in its bucket */
    size_t bytes;                /* of this allocation, statics and keys included */
    pithp_block
        *instance; /* a record of this node definition that is a static of others */
} pithp_node_def;

/* The header of a node keeps what enclosing nodes must know of its leaves, so that making
 * a node looks at its children only. Both follow from node definitions and leaf specs: a
 * copy of a node around leaves of the same specs copies them. */
enum {
    /* flags: dtype of the `float` leaves below, 0 (none) or 1 + (dtype - PITH_F16) */
    PITHP_FLAG_REAL_SHIFT = 1,
    PITHP_FLAG_REAL = 7 << PITHP_FLAG_REAL_SHIFT,
    PITHP_FLAG_INITIAL = 16 /* with PITHP_FLAG_NIL: the initial values of a type */
};
/* extra: pithp_name_bit of every ^name below that no node below has. */
static inline uint16_t pithp_name_bit(const char *interned) {
    return (uint16_t)(1u << ((uintptr_t)interned / 16 % 16));
}

static inline const pithp_node_def *
pithp_node_def_of(const void *node) { /* a node that is no leaf */
    return pithp_header_of(node)->shape;
}
static inline pithp_kind pithp_kind_of(const void *object) { /* a checked, live object */
    return (pithp_kind)pithp_header_of(object)->kind;
}
static inline bool pithp_is_nil(const void *object) {
    return pithp_header_of(object)->flags & PITHP_FLAG_NIL;
}
/* The slot of a node: its address in the payload. NULL in it: absent. */
static inline const void **
pithp_slot(const void *node, const pithp_node_def *node_def, int64_t i) {
    const char *payload = node;
    return (const void **)(uintptr_t)(node_def->slot_offsets
                                          ? payload + node_def->slot_offsets[i]
                                          : payload + (size_t)i * sizeof(void *));
}

/* The field of a record's slot. */
static inline const char *pithp_slot_name(const pithp_node_def *node_def, int64_t slot) {
    return node_def->type->fields[node_def->type->slot_fields[slot]].declared.name;
}
/* Bytes of a node in a slab, its header included. */
static inline size_t pithp_node_bytes(const pithp_node_def *node_def) {
    return (sizeof(pithp_header) + node_def->payload_bytes + 15) & ~(size_t)15;
}

/* A tree that a user passed: live, a tree, of this runtime, no nil record. NULL is
 * PITH_E_ARG. */
pith_status
pithp_tree_check(pith_scope *s, const void *tree, const char *function, const char *name);
/* A node like `model` in s: same node definition, header and payload, for the caller to
 * patch its slots with leaves of the same specs (see above). NULL: error set. */
void *pithp_node_copy(pith_scope *s, const void *model);
/* Make s keep a live node definition alive; cheap where it does. */
pith_status pithp_node_def_hold(pith_scope *s, const pithp_node_def *node_def);
/* The node definition of a record with these statics (value: the user's struct), held by
 * s. NULL: error set. */
const pithp_node_def *
pithp_node_def_record(pith_scope *s, const pith_type *type, const void *value);
/* keys: sorted and checked. Held by s. NULL: error set. */
const pithp_node_def *pithp_node_def_container(pith_scope *s,
                                               pithp_kind kind,
                                               int64_t count,
                                               const char *const *keys,
                                               bool all_leaves);
/* Whether two dicts have the same keys. */
bool pithp_keys_same(const char *const *a, const char *const *b, int64_t count);
/* The place of a dict's key, -1 where there is none (container.c). */
int64_t pithp_node_def_find_key(const pithp_node_def *node_def, const char *key);
/* Node definitions of the runtime: for tests of their lifetime. */
int64_t pithp_node_def_count(pith_runtime *rt);
/* Hashes of node definitions are masked by it: tests set it to 0 so that all collide. */
extern uint64_t pithp_node_def_hash_mask;

/* A frozen record of a held node definition with these slots: they are checked as
 * pith_freeze does, kept where they do not outlive s, and hooks run unless suspended.
 * NULL: the error is set, with the path from this node. */
const void *pithp_record_make(pith_scope *s,
                              const pithp_node_def *node_def,
                              const void *const *slots);
/* A container of a held node definition; its slots are checked and kept alike. */
const void *pithp_container_make(pith_scope *s,
                                 const pithp_node_def *node_def,
                                 const void *const *slots);
/* Either: a node like one of that node definition around these slots, of which items are
 * checked trees. Where a container no longer has leaves alone, or has now, its node
 * definition follows. */
const void *
pithp_node_make(pith_scope *s, const pithp_node_def *node_def, const void *const *slots);
/* A struct as a record, as pith_freeze does. NULL: error set. */
const void *pithp_freeze(pith_scope *s, const pith_type *type, const void *value);
/* Check the leaves of a struct that is the record `before` with changes, so that the
 * error is at a leaf that changed where that does not fit the others. pith_freeze checks
 * the rest. */
pith_status pithp_record_check_change(pith_scope *s,
                                      const pith_type *type,
                                      const void *value,
                                      const void *before);
/* Run the validation hook of a record that was just made; where it reports, the record is
 * no object any more. */
pith_status pithp_record_check(pith_scope *s, const void *record);
/* Whether validation hooks run for records made in s. */
static inline bool pithp_hooks_run(const pith_scope *s) {
    return !s->no_validation;
}

/* Replace `*slot`, a checked tree, and `count - 1` more behind it, by what outlives outer
 * (lifetime.c). On failure the error is set and nothing is replaced. */
pith_status pithp_keep_slots(pith_scope *outer, int64_t count, const void **slots);
/* The same of live arrays with values, or traced ones of the trace of outer; on failure
 * the list is of no use (lifetime_leaves.c). */
pith_status
pithp_keep_leaves(pith_scope *outer, int64_t count, const pith_array **leaves);

/* What the room keeps for a runtime, in rt->room[PITHP_ROOM_TREE] (node_def_scope.c makes
 * and frees it). */
typedef struct pithp_tree_room {
    struct pithp_node_def_table *shapes; /* node_def.c */
    struct pithp_leaf_names
        *leaf_names; /* leaf_name.c, under rt->lock; NULL until used */
} pithp_tree_room;
void pithp_leaf_names_free(pith_runtime *rt, struct pithp_leaf_names *names);
/* NULL: error set. */
pithp_tree_room *pithp_tree_room_of(pith_scope *s);

#endif
