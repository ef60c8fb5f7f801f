/* Record types: declarations of the structs of a program (types.c, leaf_spec.c). */
#ifndef PITHP_TREE_TYPES_H
#define PITHP_TREE_TYPES_H

#include "pith/tree.h"

#include "array/array_internal.h"

/* One extent of a declared leaf spec: times * value + plus. */
typedef enum pithp_extent_kind {
    PITHP_EXTENT_NUMBER, /* plus */
    PITHP_EXTENT_STATIC, /* of a static field */
    PITHP_EXTENT_NAME,   /* bound by the leaves of the node */
    PITHP_EXTENT_OUTER   /* ^name: of the nearest enclosing node that binds it */
} pithp_extent_kind;

typedef struct pithp_extent {
    pithp_extent_kind kind;
    int32_t
        name; /* NAME, OUTER: index into the type's names; STATIC: index of the field */
    int64_t times, plus; /* times > 0, plus >= 0 */
} pithp_extent;

typedef enum pithp_dtype_rule {
    PITHP_DTYPE_FIXED,
    PITHP_DTYPE_STATIC,
    PITHP_DTYPE_FLOAT, /* one float dtype for all such leaves of a tree */
    PITHP_DTYPE_ANY
} pithp_dtype_rule;

/* A declared leaf spec, parsed once. */
typedef struct pithp_leaf_spec {
    pithp_dtype_rule rule;
    pith_dtype dtype;    /* FIXED */
    int32_t dtype_field; /* STATIC: index of the field */
    bool any_shape;
    int32_t rank;
    pithp_extent extents[PITH_MAX_RANK];
} pithp_leaf_spec;

typedef struct pithp_field {
    pith_field declared;    /* strings copied; its `child` is NULL, see: */
    const pith_type *child; /* children, items, static records and uses: their type */
    int32_t slot;           /* leaves and children: index of the slot; else -1 */
    pithp_leaf_spec leaf;
} pithp_field;

/* Kind of a slot. */
typedef enum pithp_slot_kind {
    PITHP_SLOT_LEAF,
    PITHP_SLOT_CHILD, /* a record of the field's type */
    PITHP_SLOT_TREE,  /* any tree */
    PITHP_SLOT_LIST,  /* a list of records of the field's type */
    PITHP_SLOT_DICT   /* a dict of records of the field's type */
} pithp_slot_kind;

typedef struct pithp_slot_info {
    uint32_t offset;
    int32_t field;
    uint8_t kind; /* pithp_slot_kind */
    bool optional;
    const pith_type *child; /* CHILD; of the items: LIST, DICT */
} pithp_slot_info;

typedef struct pithp_static_info {
    uint32_t offset, size;
    int32_t field;
    pith_static_kind kind;
} pithp_static_info;

enum { PITHP_MOST_NAMES = 256, PITHP_LARGEST_RECORD = 65536 };

struct pithp_node_def;

/* A registered type; never freed. */
struct pith_type {
    uint32_t magic;
    bool ready;       /* children are resolved: visible to every thread */
    bool all_leaves;  /* every slot is a leaf */
    bool needs_outer; /* a leaf has a ^name */
    const char *name;
    const char *error; /* NULL for a valid declaration */
    size_t size, alignment;
    int32_t field_count, slot_count, static_count, name_count;
    int32_t version;
    pithp_field *fields;
    const char **names;     /* of extents; interned, so equal texts have equal pointers */
    uint32_t *slot_offsets; /* of leaves and children, in walk order */
    int32_t *slot_fields;   /* field of each slot */
    pithp_slot_info *slots;
    pithp_static_info *statics;
    void (*check)(void); /* hooks, or NULL */
    void (*match)(void);
    void (*scatter_args)(void);
    /* Frozen in memory of the process. nil: zeros, required children nil. initial:
     * initial values of statics; leaves and children are NULL. */
    const void *nil, *initial;
    struct pithp_node_def *permanent_shape; /* definition of both; no scope holds it */
    /* Names that ^names of nodes below may refer to: bound names and integer statics. */
    int32_t provided_count;
    const char **provided;      /* interned */
    const int32_t *provided_by; /* >= 0: field of a static; else ~index into names */
    uint16_t outer_mask, provided_mask; /* pithp_name_bit of ^names, of provided names */
    int32_t need_count; /* ^names that nodes of this type leave to enclosing nodes */
    const char **needs;
    struct pith_type *next; /* in the registry */
    struct pith_type *next_pending;
    bool
        reported; /* pith_save has reported that declarations do not lead to it; atomic */
    int32_t visit; /* number of the last search that visited it; guarded by the lock of
                      the registry */
};

/* The valid registered type of that name, or NULL. */
const pith_type *pithp_type_find(const char *name);
/* The only valid type with that former name (PITH_FORMERLY). If there are several, the
 * only one that the declaration of root leads to (NULL: none). Else NULL. */
const pith_type *pithp_type_find_former(const char *name, const pith_type *root);
/* Whether the declaration of a type names another one, directly or indirectly: as a
 * child, a static or a use. */
bool pithp_type_leads_to(const pith_type *from, const pith_type *to);
/* Whether a pointer is a registered type; safe for any pointer. */
bool pithp_type_valid(const pith_type *type);
/* The failure result of makers of records: never NULL; safe for any pointer. */
const void *pithp_nil(const pith_type *type);
static inline bool pithp_type_provides(const pith_type *type, const char *interned) {
    for (int32_t i = 0; i < type->provided_count; i++)
        if (type->provided[i] == interned)
            return true;
    return false;
}

#endif
