/* Private interface of tree: parsing of types, and binding of leaves to declared
 * specs. */
#ifndef PITH_NODE_INTERNAL_H
#define PITH_NODE_INTERNAL_H

#include "tree/tree_internal.h"

/* ---- Leaf specs (leaf_spec.c) ---- */

enum { PITHP_REASON_BYTES = 400 };

/* Intern a text, once per process: equal texts have equal pointers. The caller holds the
 * lock of the registry. NULL if memory is short. */
const char *pithp_name_intern(const char *text, size_t length);

/* State of the parser for the leaf specs of one type; names grows. */
typedef struct pithp_spec_reader {
    const pith_field *fields;
    size_t field_count;
    const char *names[PITHP_MOST_NAMES];
    int32_t name_count;
    char reason[PITHP_REASON_BYTES]; /* why the last spec was refused */
    bool short_of_memory;
} pithp_spec_reader;

/* Parse "f64[n,3]". On false, `reason` has the error. */
bool pithp_leaf_spec_parse(pithp_spec_reader *r, const char *text, pithp_leaf_spec *spec);

/* ---- Lifetimes (lifetime.c) ---- */

/* Whether kept arrays with this many bytes of a buffer are copied: sharing would hold
 * more than twice their size. */
static inline bool pithp_keep_copies(const pithp_buffer *buffer, size_t bytes) {
    return bytes < buffer->bytes / 2;
}

/* ---- Binding of leaves to declared specs (spec_bind.c) ---- */

/* Known extents of one record while its leaves are checked. */
typedef struct pithp_binding {
    const pith_type *type;
    const void *value; /* the struct; statics are read from it */
    const struct pithp_binding
        *outer;         /* of the enclosing node, while that is being made */
    const void *before; /* the record that the struct was derived from, or NULL; its
                           unchanged leaves bind first */
    int32_t lead_field; /* the leaf that sets the extra leading extents, or -1 */
    int32_t lead_rank;
    int64_t lead[PITH_MAX_RANK];
    pith_dtype real;                 /* of `float` leaves; PITH_DTYPE_NONE: not bound */
    int64_t names[PITHP_MOST_NAMES]; /* by index of type->names; -1: not bound */
} pithp_binding;

void pithp_binding_begin(pithp_binding *b, const pith_type *type, const void *value);
/* Bind names, extra extents and the float dtype from a record's leaves (checked arrays;
 * NULL leaves are skipped). Reports no errors. */
void pithp_binding_learn(pithp_binding *b);
/* Check all leaves of the struct against the bindings. Failure sets the error. */
pith_status pithp_binding_check(pith_scope *s, const pithp_binding *b);
/* Check the ^names of the nodes below that refer to extents of this record. Names that no
 * leaf of the record binds are bound by them. *mask: names that stay open. */
pith_status pithp_binding_check_below(pith_scope *s, pithp_binding *b, uint16_t *mask);
/* The value of a name of a type, as ^name of nodes below; -1 if not bound. */
int64_t pithp_binding_provided(const pithp_binding *b, int32_t provided);
/* The spec that a leaf must have. On false, the error is set, with the path of the
 * leaf. */
bool pithp_binding_spec(pith_scope *s,
                        const pithp_binding *b,
                        const pithp_field *field,
                        const pith_spec **spec);

/* Set PITH_E_DTYPE for two different float dtypes below a node; slot has the second. */
pith_status pithp_fail_reals(pith_scope *s,
                             const void *node,
                             const pithp_node_def *node_def,
                             int64_t slot);

static inline pith_dtype pithp_real_of_flags(uint8_t flags) {
    const int real = (flags & PITHP_FLAG_REAL) >> PITHP_FLAG_REAL_SHIFT;
    return real ? (pith_dtype)(PITH_F16 + real - 1) : PITH_DTYPE_NONE;
}
static inline uint8_t pithp_real_flags(pith_dtype real) {
    return (uint8_t)(real ? (real - PITH_F16 + 1) << PITHP_FLAG_REAL_SHIFT : 0);
}

/* ---- Node definitions (node_def_scope.c) ---- */

/* Cache entry of a scope for a record type. Nodes with the same statics and leaf specs
 * need no further check. */
typedef struct pithp_recent {
    const pith_type *type;
    const pithp_node_def *node_def;
    const pith_spec **specs; /* of the slots; NULL: absent, or not a leaf */
    int64_t room;            /* of specs */
    bool checked;            /* leaves of these specs were checked */
    uint8_t flags;           /* PITHP_FLAG_REAL of those leaves */
} pithp_recent;

/* The entry for a type with the statics of value. s or an enclosing scope holds its node
 * definition. NULL sets the error. */
pithp_recent *pithp_recent_find(pith_scope *s, const pith_type *type, const void *value);
/* The entry for a held node definition of a record. NULL sets the error. */
pithp_recent *pithp_recent_of_shape(pith_scope *s, const pithp_node_def *node_def);

/* ---- Records (record.c) ---- */

/* Block of the last inspected child: consecutive children mostly share it. */
typedef struct pithp_block_seen {
    uintptr_t index;
    const pithp_block *block;
} pithp_block_seen;

/* Whether a pointer lies in memory of the runtime. Sets *keep if the memory does not
 * outlive s. */
bool pithp_block_look(pith_scope *s,
                      const void *child,
                      pithp_block_seen *seen,
                      bool *keep);
/* Whether a pointer (not NULL) is a live or dropped object of the runtime. */
static inline bool
pithp_child_look(pith_scope *s, const void *child, pithp_block_seen *seen, bool *keep) {
    if (PITHP_UNLIKELY((uintptr_t)child % 16))
        return false;
    if (PITHP_UNLIKELY((uintptr_t)((const char *)child - 1) / PITHP_BLOCK_BYTES !=
                       seen->index) &&
        !pithp_block_look(s, child, seen, keep))
        return false;
    return (uintptr_t)child - (uintptr_t)seen->block >=
               sizeof(pithp_block) + sizeof(pithp_header) &&
           pithp_header_of(child)->magic == PITHP_OBJECT_MAGIC;
}

/* Check one child of a node that is being made in s; path is its position. */
pith_status pithp_child_check(pith_scope *s, const void *child, const char *path);
/* Check that a type is registered and its declaration is valid. */
pith_status pithp_type_check(pith_scope *s, const pith_type *type, const char *function);

/* ---- Lifetimes (lifetime.c) ---- */

/* Replace the children of a new node that do not outlive s by kept copies. */
pith_status
pithp_keep_children(pith_scope *s, const void *node, const pithp_node_def *node_def);

#endif
