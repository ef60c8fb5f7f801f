/* Nodes as the rooms above tree see them: interned shapes, slots, the one walker, paths.
 */
#ifndef PITH_TREE_INTERNAL_H
#define PITH_TREE_INTERNAL_H

#include "pith/tree.h"

#include "array/array_internal.h"

/* ---- Types (types.c, leaf_spec.c) ---- */

/* One extent of a declared leaf spec: times * value + plus. */
typedef enum pithp_extent_kind {
    PITHP_EXTENT_NUMBER, /* plus */
    PITHP_EXTENT_STATIC, /* of a static field */
    PITHP_EXTENT_NAME,   /* bound by the leaves of the node */
    PITHP_EXTENT_OUTER   /* ^name: of the nearest enclosing node that has it */
} pithp_extent_kind;

typedef struct pithp_extent {
    pithp_extent_kind kind;
    int32_t name; /* NAME, OUTER: index into the type's names; STATIC: of the field */
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
    pith_field declared;    /* strings copied; its `child` is NULL: */
    const pith_type *child; /* children and static records: their type */
    int32_t slot;           /* leaves and children: place among the slots; else -1 */
    pithp_leaf_spec leaf;
} pithp_field;

/* What of a record a slot is. */
typedef enum pithp_slot_kind {
    PITHP_SLOT_LEAF,
    PITHP_SLOT_CHILD, /* a record of the field's type */
    PITHP_SLOT_TREE   /* any tree */
} pithp_slot_kind;

typedef struct pithp_slot_info {
    uint32_t offset;
    int32_t field;
    uint8_t kind; /* pithp_slot_kind */
    bool optional;
    const pith_type *child; /* CHILD */
} pithp_slot_info;

typedef struct pithp_static_info {
    uint32_t offset, size;
    int32_t field;
    pith_static_kind kind;
} pithp_static_info;

enum { PITHP_MOST_NAMES = 256, PITHP_LARGEST_RECORD = 65536 };

struct pithp_shape;

/* A registered type; never freed. */
struct pith_type {
    uint32_t magic;
    bool ready;       /* children are known too: visible to every thread */
    bool all_leaves;  /* every slot is a leaf */
    bool needs_outer; /* some leaf has a ^name */
    const char *name;
    const char *error; /* NULL for a good description */
    size_t size, alignment;
    int32_t field_count, slot_count, static_count, name_count;
    int32_t version;
    pithp_field *fields;
    const char *
        *names; /* of extents; interned by the process, so one text is one pointer */
    uint32_t *slot_offsets; /* of leaves and children, in walk order */
    int32_t *slot_fields;   /* field of each slot */
    pithp_slot_info *slots;
    pithp_static_info *statics;
    void (*check)(void); /* hooks; NULL: none */
    void (*match)(void);
    void (*scatter_args)(void);
    /* Frozen in memory of the process. nil: zeros, required children nil. initial:
     * statics have their initial values, leaves and children are NULL. */
    const void *nil, *initial;
    struct pithp_shape *permanent_shape; /* of those two; held by nobody */
    /* What ^names of the nodes below may mean: bound names and integer statics. */
    int32_t provided_count;
    const char **provided;      /* interned */
    const int32_t *provided_by; /* >= 0: field of a static; else ~index into names */
    uint16_t outer_mask, provided_mask; /* pithp_name_bit of ^names, of provided names */
    int32_t need_count; /* ^names that nodes of this type leave to theirs */
    const char **needs;
    struct pith_type *next; /* in the registry, or in the group being registered */
    struct pith_type *next_pending;
    int32_t visit; /* of a search for cycles, while it is being registered */
};

/* The good type of that name that is registered, or NULL. */
const pith_type *pithp_type_find(const char *name);
/* The only good type that had that name once (PITH_FORMERLY), or NULL. */
const pith_type *pithp_type_find_former(const char *name);
/* Whether a pointer is a registered type; safe for any. */
bool pithp_type_valid(const pith_type *type);
/* What makers of records return when they fail; safe for any pointer, never NULL. */
const void *pithp_nil(const pith_type *type);
static inline bool pithp_type_provides(const pith_type *type, const char *interned) {
    for (int32_t i = 0; i < type->provided_count; i++)
        if (type->provided[i] == interned)
            return true;
    return false;
}

/* ---- Shapes: what nodes of one structure share, interned per runtime (shape.c) ---- */

typedef struct pithp_shape {
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
    atomic_int refs; /* scopes that hold it, and shapes whose static record it is */
    struct pithp_shape *next; /* in its bucket */
    size_t bytes;             /* of this allocation, statics and keys included */
    pithp_block *instance;    /* a record of this shape that is a static of others */
} pithp_shape;

/* The header of a node keeps what enclosing nodes must know of its leaves, so that making
 * a node looks at its children only. Both follow from shapes and leaf specs: a copy of a
 * node around leaves of the same specs copies them. */
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

static inline const pithp_shape *
pithp_shape_of(const void *node) { /* a node that is no leaf */
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
pithp_slot(const void *node, const pithp_shape *shape, int64_t i) {
    const char *payload = node;
    return (const void **)(uintptr_t)(shape->slot_offsets
                                          ? payload + shape->slot_offsets[i]
                                          : payload + (size_t)i * sizeof(void *));
}

/* The field of a record's slot. */
static inline const char *pithp_slot_name(const pithp_shape *shape, int64_t slot) {
    return shape->type->fields[shape->type->slot_fields[slot]].declared.name;
}
/* Bytes of a node in a slab, its header included. */
static inline size_t pithp_node_bytes(const pithp_shape *shape) {
    return (sizeof(pithp_header) + shape->payload_bytes + 15) & ~(size_t)15;
}

/* A tree that a user passed: live, a tree, of this runtime, no nil record. NULL is
 * PITH_E_ARG. */
pith_status
pithp_tree_check(pith_scope *s, const void *tree, const char *function, const char *name);
/* A node like `model` in s: same shape, header and payload, for the caller to patch its
 * slots with leaves of the same specs (see above). NULL: error set. */
void *pithp_node_copy(pith_scope *s, const void *model);
/* Make s keep a live shape alive; cheap where it does. */
pith_status pithp_shape_hold(pith_scope *s, const pithp_shape *shape);
/* The shape of a record with these statics (value: the user's struct), held by s. NULL:
 * error set. */
const pithp_shape *
pithp_shape_record(pith_scope *s, const pith_type *type, const void *value);
/* keys: sorted and checked. Held by s. NULL: error set. */
const pithp_shape *pithp_shape_container(pith_scope *s,
                                         pithp_kind kind,
                                         int64_t count,
                                         const char *const *keys,
                                         bool all_leaves);
/* The place of a dict's key, -1 where there is none (container.c). */
int64_t pithp_shape_find_key(const pithp_shape *shape, const char *key);
/* Shapes of the runtime: for tests of their lifetime. */
int64_t pithp_shape_count(pith_runtime *rt);
/* Hashes of shapes are masked by it: tests set it to 0 so that all collide. */
extern uint64_t pithp_shape_hash_mask;

/* A frozen record of a held shape with these slots: they are checked as pith_freeze does,
 * kept where they do not outlive s, and hooks run unless suspended. NULL: the error is
 * set, with the path from this node. */
const void *
pithp_record_make(pith_scope *s, const pithp_shape *shape, const void *const *slots);
/* A container of a held shape; its slots are checked and kept alike. */
const void *
pithp_container_make(pith_scope *s, const pithp_shape *shape, const void *const *slots);
/* Either: a node like one of that shape around these slots, of which items are checked
 * trees. Where a container no longer has leaves alone, or has now, its shape follows. */
const void *
pithp_node_make(pith_scope *s, const pithp_shape *shape, const void *const *slots);
/* A struct as a record, as pith_freeze does. NULL: error set. */
const void *pithp_freeze(pith_scope *s, const pith_type *type, const void *value);
/* Run the check hook of a record that was just made; where it reports, the record is no
 * object any more. */
pith_status pithp_record_check(pith_scope *s, const void *record);
/* Whether check hooks run for records made in s. */
bool pithp_hooks_run(const pith_scope *s);

/* Replace `*slot`, a checked tree, and `count - 1` more behind it, by what outlives outer
 * (keep.c). On failure the error is set and nothing is replaced. */
pith_status pithp_keep_slots(pith_scope *outer, int64_t count, const void **slots);
/* The same of live arrays with values, or traced ones of the trace of outer; on failure
 * the list is of no use (keep_leaves.c). */
pith_status
pithp_keep_leaves(pith_scope *outer, int64_t count, const pith_array **leaves);

/* What the room keeps for a runtime, in rt->room[PITHP_ROOM_TREE] (scope_shapes.c makes
 * and frees it; runtime_closing calls pithp_map_cache_close before the device goes). */
typedef struct pithp_tree_room {
    struct pithp_shape_table *shapes;            /* shape.c */
    _Atomic(struct pithp_map_cache *) map_cache; /* map_expression.c; NULL until used */
} pithp_tree_room;
void pithp_map_cache_close(pith_runtime *rt);
/* NULL: error set. */
pithp_tree_room *pithp_tree_room_of(pith_scope *s);

/* ---- The walker (walk.c): every traversal of the library is this one. Iterative; depth
 * is memory. ---- */

typedef enum pithp_visit {
    PITHP_VISIT_LEAF,
    PITHP_VISIT_ENTER,
    PITHP_VISIT_LEAVE,
    PITHP_VISIT_ABSENT
} pithp_visit;

typedef struct pithp_frame {
    const void *node;
    const pithp_shape *shape;
    int64_t next; /* slot to visit next */
} pithp_frame;

typedef struct pithp_walk {
    pith_runtime *rt;
    pithp_frame *frames;
    int64_t depth, room;
    pithp_frame first[24]; /* enough for most trees, without allocation */
    const void *root;
    bool started, failed; /* failed: memory was short */
    const void *node; /* what was visited last: leaf, record or container; NULL: absent */
    int64_t slot;     /* its place in its parent; -1 for the root */
} pithp_walk;

void pithp_walk_begin(pithp_walk *w, pith_runtime *rt, const void *tree);
/* The next visit in order; false at the end. */
bool pithp_walk_next(pithp_walk *w, pithp_visit *visit);
/* Enter a node that is not reached through its parent's slot; false: memory was short. */
bool pithp_walk_enter(pithp_walk *w, const void *node, const pithp_shape *shape);
/* Do not descend into the node that was just entered. */
void pithp_walk_skip(pithp_walk *w);
/* Go on at a later slot of the innermost entered node. */
void pithp_walk_jump(pithp_walk *w, int64_t slot);
void pithp_walk_end(pithp_walk *w);
/* Append the path of the last visit. */
void pithp_walk_path(const pithp_walk *w, pithp_text *path);

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
static inline const pithp_shape *pithp_token_shape(uintptr_t token) {
    return (const pithp_shape *)token;
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
    bool hooks;         /* some record has a check hook */
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
/* The leaves of a checked tree, and where their elements are, if it has that structure
 * and work on the scope's stream can read all of them as they are. False: it has another,
 * or a leaf has to be awaited or refused; no error is set. */
bool pithp_structure_read(pith_scope *s,
                          const pithp_structure *t,
                          const void *tree,
                          const pith_array **items,
                          const void **addresses);

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
    pithp_walk frames;        /* nodes under way: their shapes are their nodes */
    int64_t token, left;      /* the next token; what is left of a run */
    int64_t place;            /* token of the last place */
    int64_t item;             /* items up to the last place, it included */
    int kind;                 /* PITHP_TOKEN_... of the last place */
    const pithp_shape *shape; /* of a node */
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
bool pithp_shape_same_node(const pithp_shape *a, const pithp_shape *b);

/* ---- Trees along a structure (ops/prefix.c) ---- */

/* What a checked tree has at the items of a structure, NULL where it is absent. Sets
 * PITH_E_STRUCTURE with the first places where its nodes are others. */
pith_status pithp_read_up_to(pith_scope *s,
                             const pithp_structure *t,
                             const void *tree,
                             const void **items,
                             const char *function);

/* Differences of a tree from a structure, in order. */
typedef struct pithp_difference_list {
    pith_scope *s;
    pith_difference *all;
    int64_t count, room, most; /* more than most are only counted */
    /* NULL: leaves stand for anything. Else both have a leaf where one does: says how the
     * items differ, in text, if they do. */
    pith_status (*leaf)(struct pithp_difference_list *l,
                        int64_t item,
                        const pith_array *got,
                        pithp_text *text);
    const void *closure;
} pithp_difference_list;

pith_status pithp_differences_list(pithp_difference_list *l,
                                   const pithp_structure *t,
                                   const void *tree);
/* The list in memory of its scope, which the caller returns; releases it. NULL: error
 * set.
 */
const pith_difference *pithp_differences_give(pithp_difference_list *l, int64_t *count);
/* Whether elements of two leaves of one shape are equal, or near where that is asked:
 * bool of that shape (compare.c). NULL: error set. */
const pith_array *pithp_same_elements(pith_scope *s,
                                      const pith_array *a,
                                      const pith_array *b,
                                      bool near,
                                      double rtol,
                                      double atol);

/* ---- Structures made of others (ops/compose.c) ---- */

/* outer with inner in the place of every item, in arrays to be released with
 * pithp_composed_end. any: items are to be any trees. On failure the error is set and
 * there is nothing to end. */
typedef struct pithp_composed {
    pithp_structure structure;
    pith_runtime *rt;
    size_t token_bytes, spec_bytes;
} pithp_composed;
pith_status pithp_compose(pith_scope *s,
                          pithp_composed *made,
                          const pithp_structure *outer,
                          const pithp_structure *inner,
                          bool any);
void pithp_composed_end(pithp_composed *made);

/* ---- Nodes around leaves (build.c) ---- */

/* The nodes of a structure in s around items, which are checked as what a user passes,
 * and kept where they do not outlive s. Items whose specs differ from the structure's are
 * checked against what their records declare; hooks run unless suspended. Picked places
 * take any tree. `owner`: the scope of what the structure was made of. NULL: error set.
 */
const void *pithp_build(pith_scope *s,
                        const pithp_structure *t,
                        const pith_scope *owner,
                        const pith_array *const *items);
/* The same around leaves that were made in s with the specs of the structure. */
const void *pithp_build_made(pith_scope *s,
                             const pithp_structure *t,
                             const pith_scope *owner,
                             const pith_array *const *made);
/* What a maker of a tree like this one returns when it fails: the nil record of its type,
 * or NULL. Safe for any pointer. */
const void *pithp_nil_for(const void *tree);
const void *pithp_nil_of(const pithp_structure *t);

/* Fill new arrays, neighbours of one dtype and value in one go: bytes between them may be
 * written. bits: the element of each, in the first bytes (ops/like.c). */
pith_status pithp_arrays_fill(pith_scope *s,
                              int64_t count,
                              const pith_array *const *arrays,
                              const uint64_t *bits);

/* ---- Several trees of one structure (forest.c) ---- */

/* Trees that a user passed to a function. */
typedef struct pithp_trees {
    const char *function; /* its name, for messages */
    int64_t count;
    const void *const *at;
    pithp_is_leaf is_leaf; /* what it picks of the first one is picked of all, or NULL */
    void *closure;         /* of is_leaf */
    bool up_to;            /* the others may have any tree at the first one's leaves */
} pithp_trees;

typedef struct pithp_forest {
    pithp_flat first;
    int64_t count;             /* trees */
    const pith_array **others; /* items of the second, third, ... tree */
    size_t bytes;              /* of others */
    const void *root;          /* the first tree: what was passed, or aligned to others */
} pithp_forest;

static inline const pith_array **pithp_forest_items(const pithp_forest *f, int64_t tree) {
    return tree ? f->others + (tree - 1) * f->first.structure.item_count : f->first.items;
}
/* Check trees, match them and gather them. On failure the error is set and there is
 * nothing to end. */
pith_status
pithp_forest_make(pith_scope *s, pithp_forest *forest, const pithp_trees *trees);
/* As pithp_forest_make, of trees that are checked and not matched. */
pith_status
pithp_forest_gather(pith_scope *s, pithp_forest *forest, const pithp_trees *trees);
void pithp_forest_end(pithp_forest *forest);

/* The trees with records that have a match hook brought into line: in `aligned`, which
 * holds as many (match.c). */
pith_status
pithp_match_trees(pith_scope *s, const pithp_trees *trees, const void **aligned);

/* s for a call of a public function on behalf of the one that was entered: its errors
 * name the same call site. */
static inline pith_scope *pithp_on_behalf(pith_scope *s) {
    return pith_at(s, s->site);
}

/* ---- Rows of every leaf (ops/rows.c) ---- */

/* What scatters into the leaves of a tree read back: rows at the index along an axis, of
 * each leaf with the options that its records ask for (PITH_SCATTER_ARGS) where the
 * call's are zero; negative indices count from the end in every mode. fill: of indices
 * out of range; NULL: as pith_take. */
const void *pithp_tree_take_back(pith_scope *s,
                                 const char *function,
                                 const void *tree,
                                 const pith_array *index,
                                 const pith_scatter_options *options,
                                 const double *fill);
/* pith_tree_scatter_set; one: rows that are an array are those of all leaves. */
const void *pithp_tree_scatter_set(pith_scope *s,
                                   const char *function,
                                   const void *into,
                                   const pith_array *index,
                                   const void *rows,
                                   bool one,
                                   const pith_scatter_options *options);

/* ---- Differences of structure (differences.c) ---- */

/* "Atoms", "a list of 4", "f64[256,3]", "nothing": what a live node is, for messages. */
void pithp_node_describe(pithp_text *t, const void *node);
/* The value of a static field of a record (or of the struct of its statics): 64, 2.5,
 * true, "text", fcc, f32, Box{x=1}. */
void pithp_static_describe(pithp_text *t, const pithp_field *field, const void *record);
/* "a list of 4", "Atoms": a node of that shape. */
void pithp_shape_describe(pithp_text *t, const pithp_shape *shape);
/* How nodes of two shapes differ: "expected a list of 2, got none". */
void pithp_shapes_differ(pithp_text *t,
                         const pithp_shape *expected,
                         const pithp_shape *got);
/* Append a path; a long one loses its middle. */
void pithp_path_shorten(pithp_text *to, const pithp_text *path);
/* Set PITH_E_STRUCTURE with the first places where `got` differs from `expected`, in one
 * line; `of` says which tree got is ("tree 1"). is_leaf: what it picks is not looked
 * into. */
pith_status pithp_differences_fail(pith_scope *s,
                                   const void *expected,
                                   const void *got,
                                   const char *of,
                                   pithp_is_leaf is_leaf,
                                   void *closure);

/* ---- Typed functions (function.c, partial.c) ---- */

enum { PITHP_MOST_PARAMETERS = 4 };

struct pithp_closure;

typedef struct pithp_closure_kind {
    const char *name;
    size_t bytes; /* of the closure, which begins with a pithp_closure */
    /* A closure was copied into an object of s, its base and tree kept: what else it
     * points to must outlive s too. (optional) */
    pith_status (*made)(pith_scope *s, struct pithp_closure *closure);
    /* Append what tells such functions apart, besides base and tree. (optional) */
    void (*identity)(const struct pithp_closure *closure, pithp_text *text);
} pithp_closure_kind;

/* What a function that was made at run time is made of: pith_function.closure. */
typedef struct pithp_closure {
    const pithp_closure_kind *kind;
    const pith_function *function; /* the function itself */
    const pith_function *base;     /* that it calls */
    const void *bound;             /* a tree that it passes on; NULL: none */
} pithp_closure;

/* A function that a user passed: made by PITH_FUNCTION, or live and of this runtime. */
pith_status
pithp_function_check(pith_scope *s, const pith_function *f, const char *function);
/* The same of one that takes one tree. */
pith_status pithp_step_check(pith_scope *s, const pith_function *f, const char *function);
/* What a call of it returns where it fails; safe for pointers to no function. */
const void *pithp_function_nil(const pith_function *f);
/* A tree that is to be argument i of a checked function: a tree of its type. */
pith_status
pithp_argument_check(pith_scope *s, const pith_function *f, int i, const void *tree);
/* A function of s like `like`, with a copy of that closure, whose base and tree are kept.
 * NULL: error set. */
pithp_closure *pithp_function_make(pith_scope *s,
                                   const pith_function *like,
                                   const pithp_closure *closure);
/* A checked function, in outer where it would not outlive it. NULL: error set. */
const pith_function *pithp_function_keep(pith_scope *outer, const pith_function *f);
/* The trees that are bound in a checked function and in those that it is made of,
 * outermost first, as far as there is room; returns how many there are. Traced leaves and
 * statics of a function that is called are in its arguments and in these. */
int64_t pithp_function_bound(const pith_function *f, int64_t room, const void **trees);
/* The same function in s with other trees bound, as many. NULL: error set. */
const pith_function *
pithp_function_rebind(pith_scope *s, const pith_function *f, const void *const *trees);

/* ---- Paths (path.c) ---- */

/* Append one step: ".name", "[3]", "['key']". */
void pithp_path_add_field(pithp_text *t, const char *name);
void pithp_path_add_index(pithp_text *t, int64_t index);
void pithp_path_add_key(pithp_text *t, const char *key);
/* A text as a string of s, ended; NULL: error set. */
const char *pithp_text_finish(pith_scope *s, pithp_text *t);
/* The step to a slot of a node of that shape. */
void pithp_path_add_slot(pithp_text *t, const pithp_shape *shape, int64_t slot);

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
