/* Node definitions: the shared structure of nodes, interned per runtime (node_def.c). */
#ifndef PITHP_TREE_NODE_DEF_H
#define PITHP_TREE_NODE_DEF_H

#include "tree/types.h"

typedef struct pithp_node_def {
    pithp_kind kind;
    bool all_leaves; /* every slot is a leaf or absent. Containers: exact, and part of the
                        interned key; records: by type */
    const pith_type *type;        /* records */
    int64_t slot_count;           /* children and leaves, including absent ones */
    const uint32_t *slot_offsets; /* records: offsets in the payload; containers: NULL,
                                     slots are dense */
    size_t payload_bytes;
    const char *const *keys; /* dicts: sorted */
    /* records: the struct with zeroed slots, ignored members and padding, strings copied
     */
    const void *statics;
    uint64_t hash;
    atomic_int refs; /* holding scopes, and node definitions with its static record */
    struct pithp_node_def *next; /* in its bucket */
    size_t bytes;                /* of this allocation, with statics and keys */
    pithp_block *instance;       /* the record of this definition as a static of others */
} pithp_node_def;

/* Node headers summarise the leaves below, so that making a node inspects only its
 * children. The summaries follow from node definitions and leaf specs: a copy of a node
 * with leaves of the same specs copies them. */
enum {
    /* flags: dtype of the `float` leaves below, 0 (none) or 1 + (dtype - PITH_F16) */
    PITHP_FLAG_REAL_SHIFT = 1,
    PITHP_FLAG_REAL = 7 << PITHP_FLAG_REAL_SHIFT,
    PITHP_FLAG_INITIAL = 16 /* with PITHP_FLAG_NIL: the initial values of a type */
};
/* extra: pithp_name_bit of every ^name below that no node below binds. */
static inline uint16_t pithp_name_bit(const char *interned) {
    return (uint16_t)(1u << ((uintptr_t)interned / 16 % 16));
}

static inline const pithp_node_def *
pithp_node_def_of(const void *node) { /* not for leaves */
    return pithp_header_of(node)->descriptor;
}
static inline pithp_kind pithp_kind_of(const void *object) { /* a checked, live object */
    return (pithp_kind)pithp_header_of(object)->kind;
}
static inline bool pithp_is_nil(const void *object) {
    return pithp_header_of(object)->flags & PITHP_FLAG_NIL;
}
/* The address of slot i in the payload of a node. An absent child is NULL. */
static inline const void **
pithp_slot(const void *node, const pithp_node_def *node_def, int64_t i) {
    const char *payload = node;
    return (const void **)(uintptr_t)(node_def->slot_offsets
                                          ? payload + node_def->slot_offsets[i]
                                          : payload + (size_t)i * sizeof(void *));
}

/* The field name of a record's slot. */
static inline const char *pithp_slot_name(const pithp_node_def *node_def, int64_t slot) {
    return node_def->type->fields[node_def->type->slot_fields[slot]].declared.name;
}
/* Bytes of a node in a slab, with its header. */
static inline size_t pithp_node_bytes(const pithp_node_def *node_def) {
    return (sizeof(pithp_header) + node_def->payload_bytes + 15) & ~(size_t)15;
}

/* Check a tree from the user: a live tree of this runtime and not a nil record. NULL is
 * PITH_E_ARG. */
pith_status
pithp_tree_check(pith_scope *s, const void *tree, const char *function, const char *name);
/* Copy a node to s: same node definition, header and payload. The caller patches the
 * slots with leaves of the same specs (see above). NULL sets the error. */
void *pithp_node_copy(pith_scope *s, const void *model);
/* Hold a reference to a live node definition in s; cheap if s has one already. */
pith_status pithp_node_def_hold(pith_scope *s, const pithp_node_def *node_def);
/* The node definition of a record with these statics (value: the user's struct), held by
 * s. NULL sets the error. */
const pithp_node_def *
pithp_node_def_record(pith_scope *s, const pith_type *type, const void *value);
/* keys: sorted and checked. Held by s. NULL sets the error. */
const pithp_node_def *pithp_node_def_container(pith_scope *s,
                                               pithp_kind kind,
                                               int64_t count,
                                               const char *const *keys,
                                               bool all_leaves);
/* Whether two dicts have the same keys. */
bool pithp_keys_same(const char *const *a, const char *const *b, int64_t count);
/* The index of a dict's key, or -1 (container.c). */
int64_t pithp_node_def_find_key(const pithp_node_def *node_def, const char *key);
/* Number of node definitions of the runtime, for lifetime tests. */
int64_t pithp_node_def_count(pith_runtime *rt);
/* Mask for hashes of node definitions; tests set it to 0 to force collisions. */
extern uint64_t pithp_node_def_hash_mask;

/* A frozen record of a held node definition with these slots. Slots are checked as by
 * pith_freeze and kept if they do not outlive s; hooks run unless suspended. NULL sets
 * the error, with the path from this node. */
const void *pithp_record_make(pith_scope *s,
                              const pithp_node_def *node_def,
                              const void *const *slots);
/* A container of a held node definition; its slots are checked and kept in the same
 * way. */
const void *pithp_container_make(pith_scope *s,
                                 const pithp_node_def *node_def,
                                 const void *const *slots);
/* A record or container of this node definition around slots whose items are checked
 * trees. If a container gains or loses slots other than leaves, its node definition
 * changes with it. NULL sets the error. */
const void *
pithp_node_make(pith_scope *s, const pithp_node_def *node_def, const void *const *slots);
/* Freeze a struct to a record, as pith_freeze. NULL sets the error. */
const void *pithp_freeze(pith_scope *s, const pith_type *type, const void *value);
/* Check the leaves of a struct that is the record `before` with changes. A misfit is
 * reported at a changed leaf if possible. pith_freeze checks the rest. */
pith_status pithp_record_check_change(pith_scope *s,
                                      const pith_type *type,
                                      const void *value,
                                      const void *before);
/* Run the validation hook of a new record. If it reports an error, the record is
 * dropped. */
pith_status pithp_record_check(pith_scope *s, const void *record);
/* Whether validation hooks run for records made in s. */
static inline bool pithp_hooks_run(const pith_scope *s) {
    return !s->no_validation;
}

/* Promote `*slot`, a checked tree, and the `count - 1` slots after it to copies that
 * outlive outer (lifetime.c). On failure the error is set and the slots are unchanged. */
pith_status pithp_keep_slots(pith_scope *outer, int64_t count, const void **slots);
/* The same for concrete live arrays, or traced arrays of outer's trace. After a failure
 * the list is invalid (lifetime_leaves.c). */
pith_status
pithp_keep_leaves(pith_scope *outer, int64_t count, const pith_array **leaves);

/* State of the room per runtime, in rt->room[PITHP_ROOM_TREE] (node_def_scope.c makes and
 * frees it). */
typedef struct pithp_tree_room {
    struct pithp_node_def_table *shapes; /* node_def.c */
    struct pithp_leaf_names
        *leaf_names; /* leaf_name.c, under rt->lock; NULL until used */
} pithp_tree_room;
void pithp_leaf_names_free(pith_runtime *rt, struct pithp_leaf_names *names);
/* NULL sets the error. */
pithp_tree_room *pithp_tree_room_of(pith_scope *s);

#endif
