/* Within the tree room: how types are read, and how leaves are fitted to declared specs.
 */
#ifndef PITH_NODE_INTERNAL_H
#define PITH_NODE_INTERNAL_H

#include "tree/tree_internal.h"

/* ---- Leaf specs (leaf_spec.c) ---- */

enum { PITHP_REASON_BYTES = 400 };

/* The text of one that a program interned, once per process: equal text, equal pointer.
 * Called with the registry locked. NULL: memory was short. */
const char *pithp_name_intern(const char *text, size_t length);

/* What leaf specs of one type are read with; names grows. */
typedef struct pithp_spec_reader {
    const pith_field *fields;
    size_t field_count;
    const char *names[PITHP_MOST_NAMES];
    int32_t name_count;
    char reason[PITHP_REASON_BYTES]; /* why the last one was refused */
    bool short_of_memory;
} pithp_spec_reader;

/* Parse "f64[n,3]". False: the reason says what is wrong. */
bool pithp_leaf_spec_parse(pithp_spec_reader *r, const char *text, pithp_leaf_spec *spec);

/* ---- Lifetimes (lifetime.c) ---- */

/* Whether arrays that take so many bytes of a buffer are copied when they are kept: they
 * would hold more than twice of what they are. */
static inline bool pithp_keep_copies(const pithp_buffer *buffer, size_t bytes) {
    return bytes < buffer->bytes / 2;
}

/* ---- Fitting leaves to declared specs (spec_bind.c) ---- */

/* What is known of one record's extents while its leaves are fitted. */
typedef struct pithp_binding {
    const pith_type *type;
    const void *value;                 /* the struct: statics are read from it */
    const struct pithp_binding *outer; /* of the enclosing node, where it is being made */
    const void *before; /* a record that the struct is with changes: what did not change
                           is believed first; NULL: none */
    int32_t lead_field; /* the leaf that has the extra extents; -1: none yet */
    int32_t lead_rank;
    int64_t lead[PITH_MAX_RANK];
    pith_dtype real;                 /* of `float` leaves; PITH_DTYPE_NONE: none yet */
    int64_t names[PITHP_MOST_NAMES]; /* by index of type->names; -1: not bound */
} pithp_binding;

void pithp_binding_begin(pithp_binding *b, const pith_type *type, const void *value);
/* Bind names, extra extents and the float dtype from a record's leaves (checked arrays;
 * NULL ones are left out). Nothing is refused yet. */
void pithp_binding_learn(pithp_binding *b);
/* Check all leaves of the struct against what is bound. Sets the scope's error. */
pith_status pithp_binding_check(pith_scope *s, const pithp_binding *b);
/* Check the ^names of the nodes below that mean extents of this record; those that no
 * leaf of the record binds are bound by them. Returns in *mask the names that stay open.
 */
pith_status pithp_binding_check_below(pith_scope *s, pithp_binding *b, uint16_t *mask);
/* The value of a name of a type, as ^name of nodes below; -1: not bound. */
int64_t pithp_binding_provided(const pithp_binding *b, int32_t provided);
/* The dtype and shape that a leaf must have. False with the error set, at path.
 */
bool pithp_binding_spec(pith_scope *s,
                        const pithp_binding *b,
                        const pithp_field *field,
                        const pith_spec **spec);

/* Set PITH_E_DTYPE where two float dtypes meet below a node: slot is where the second is.
 */
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

/* What a scope remembers of the record type it made last in that place of its table:
 * nodes of the same statics and leaf specs need no further check. */
typedef struct pithp_recent {
    const pith_type *type;
    const pithp_node_def *node_def;
    const pith_spec **specs; /* of the slots; NULL: absent, or no leaf */
    int64_t room;            /* of specs */
    bool checked;            /* leaves of these specs fit */
    uint8_t flags;           /* PITHP_FLAG_REAL of those leaves */
} pithp_recent;

/* The entry for a type whose statics are those of value, its node definition held by s or
 * a scope around it. NULL: error set. */
pithp_recent *pithp_recent_find(pith_scope *s, const pith_type *type, const void *value);
/* The entry for a held node definition of a record. NULL: error set. */
pithp_recent *pithp_recent_of_shape(pith_scope *s, const pithp_node_def *node_def);

/* ---- Records (record.c) ---- */

/* The block of the child looked at last: children that follow each other mostly share it.
 */
typedef struct pithp_block_seen {
    uintptr_t index;
    const pithp_block *block;
} pithp_block_seen;

/* Whether a pointer lies in memory of the runtime; *keep is set where it does not outlive
 * s. */
bool pithp_block_look(pith_scope *s,
                      const void *child,
                      pithp_block_seen *seen,
                      bool *keep);
/* Whether a pointer (not NULL) is an object of the runtime, alive or dropped. */
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

/* Check one child of a node that is being made in s; path is where it goes. */
pith_status pithp_child_check(pith_scope *s, const void *child, const char *path);
/* Whether a type can be used: registered, and well described. */
pith_status pithp_type_check(pith_scope *s, const pith_type *type, const char *function);

/* ---- Lifetimes (lifetime.c) ---- */

/* Replace the children of a node being made in s that do not outlive s by kept ones. */
pith_status
pithp_keep_children(pith_scope *s, const void *node, const pithp_node_def *node_def);

#endif
