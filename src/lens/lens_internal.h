/* Lenses, for the rooms above: a chain of parts, each applied to the result of the
 * previous part. */
#ifndef PITH_LENS_INTERNAL_H
#define PITH_LENS_INTERNAL_H

#include "pith/lens.h"

#include "tree/tree_internal.h"

typedef enum pithp_lens_step_kind {
    PITHP_LENS_SLOT,   /* a child or leaf of a record of known type */
    PITHP_LENS_STATIC, /* a static of such a record */
    PITHP_LENS_NAME,   /* the following are resolved on use: a field, */
    PITHP_LENS_INDEX,  /* an item, or a row of a leaf, */
    PITHP_LENS_KEY     /* an item of a dict */
} pithp_lens_step_kind;

typedef struct pithp_lens_step {
    pithp_lens_step_kind kind;
    int32_t number;        /* SLOT: index of the slot; STATIC: index of the field */
    uint32_t offset;       /* SLOT, STATIC */
    size_t end;            /* end of its text in the part's text */
    const pith_type *type; /* SLOT, STATIC: of the record */
    union {
        const char *name; /* NAME, KEY */
        int64_t index;    /* INDEX: negative values count from the end */
    };
} pithp_lens_step;

typedef struct pithp_lens_kind pithp_lens_kind;

/* Nodes to which a traversal applies its predicate. */
typedef enum pithp_lens_asked {
    PITHP_LENS_ASK_NODES, /* including leaves */
    PITHP_LENS_ASK_LEAVES,
    PITHP_LENS_ASK_TYPE /* records of a type; no predicate */
} pithp_lens_asked;

typedef struct pithp_lens_part {
    const pithp_lens_kind *kind; /* how it works: see below */
    int32_t count;               /* PATH: steps; MERGE: lenses */
    union {
        struct {
            const pithp_lens_step *steps;
            const char *text;
        };
        const pith_type *type; /* CHECK */
        const void *constant;  /* kept by the scope of the lens */
        struct {
            const char *name;
            pith_lens_getter get;
            pith_lens_setter set; /* NULL: cannot be set */
            void *closure;
        } function;
        const pith_lens *const *merged;
        pith_slice each; /* selected items */
        struct {
            pithp_lens_asked asked;
            pith_lens_predicate predicate; /* NULL: all */
            void *closure;
            const pith_type *type;
        } where;
        struct {
            const pith_array *index; /* kept by the scope of the lens */
            pith_scatter_options options;
            double fill;
            bool fills;
        } at;
        const pith_slice *slices; /* SLICE: `count` of them */
    };
} pithp_lens_part;

extern const pithp_lens_part pithp_lens_each_part; /* all items */

typedef struct pithp_lens_edit pithp_lens_edit;
typedef struct pithp_lens_edits pithp_lens_edits;
typedef struct pithp_lens_finds pithp_lens_finds;

/* How the parts of a kind work; the file of the kind (kind/) has its table. A function
 * that takes parts takes those from one of the kind on; NULL where it gives a tree:
 * absent, or the error is set. */
struct pithp_lens_kind {
    bool leaves; /* it looks at a part of every leaf: nothing goes behind it */
    /* Copy what the part points to into s; NULL: it points to nothing of its own. */
    pith_status (*copy)(pith_scope *s, pithp_lens_part *part);
    /* One part in place of two; false: out of memory. NULL: they stay two. */
    bool (*join)(pith_scope *s, pithp_lens_part *first, const pithp_lens_part *second);
    /* What the parts look at from a node. */
    const void *(*get)(pith_scope *s,
                       const pithp_lens_part *parts,
                       int32_t count,
                       const void *node);
    /* Add the changes that set it to a value. The node is at the trail. */
    pith_status (*set)(pithp_lens_edits *e,
                       const pithp_lens_part *parts,
                       int32_t count,
                       const void *node,
                       const void *value);
    /* Of changes that compute a node: the node with the value of the change set in it. */
    const void *(*make)(const pithp_lens_edits *e,
                        const pithp_lens_edit *edit,
                        const void *node);
    /* What such a change looks at; NULL: what `get` gives. */
    const void *(*get_made)(pith_scope *s, const pithp_lens_edit *edit, const void *node);
    /* Of traversals: add what the part finds below a node. */
    pith_status (*find)(pith_scope *s,
                        const pithp_lens_part *part,
                        const void *node,
                        pithp_lens_finds *finds);
    void (*text)(pithp_string *t, const pithp_lens_part *part); /* append how it reads */
    /* Append what it does, as bytes: equal bytes for parts that do the same, apart from
     * trees that they hold. NULL: that follows from its kind and count. */
    void (*identity)(pithp_string *t, const pithp_lens_part *part);
    /* Where the part points to a tree of the user's. NULL: it holds no tree. */
    const void **(*held)(pithp_lens_part *part);
};
/* Kinds that several files make or look for; kind/ has the others. */
extern const pithp_lens_kind pithp_lens_path_kind;
extern const pithp_lens_kind
    pithp_lens_check_kind; /* that a node is a record of a type */
extern const pithp_lens_kind pithp_lens_merge_kind;

/* What the types tell of what a lens looks at. */
typedef enum pithp_lens_end {
    PITHP_LENS_END_ANY,
    PITHP_LENS_END_RECORD, /* of end_type, or absent */
    PITHP_LENS_END_LEAF,
    PITHP_LENS_END_STATIC /* not a record */
} pithp_lens_end;

struct pith_lens {
    const pith_type *type; /* of the root; NULL: any tree */
    const char *error;     /* why every use is refused; NULL: valid */
    const pithp_lens_part *parts;
    int32_t part_count;
    pithp_lens_end end;
    const pith_type *end_type;
    bool direct; /* at most one path, of slots only, from a record */
};

/* ---- Making (lens.c, path.c) ---- */

/* A lens under construction; s NULL: process-wide. */
typedef struct pithp_lens_draft {
    pith_scope *s;
    struct pith_lens lens;
    pithp_lens_part *parts;
    int32_t room;
    char *why; /* process-wide: error text of PITHP_MESSAGE_BYTES */
} pithp_lens_draft;

/* Memory that lives as long as the lens. NULL: error set if there is a scope. */
void *pithp_lens_allocate(pith_scope *s, size_t bytes);
/* Append a part to the draft; NULL: error set. */
pithp_lens_part *pithp_lens_add(pithp_lens_draft *d, const pithp_lens_part *part);
/* Append the parts of a path. */
pith_status pithp_lens_add_path(pithp_lens_draft *d, const char *path);
/* The same for a C member expression, in a process-wide draft. */
pith_status pithp_lens_add_member(pithp_lens_draft *d, const char *member);
/* The lens; NULL: error set. */
const pith_lens *pithp_lens_finish(pithp_lens_draft *d);
/* Whether a part may follow a checked lens. */
pith_status
pithp_lens_check_open(pith_scope *s, const pith_lens *lens, const char *function);
/* A lens extended by one part, whose data is copied. NULL: error set. */
const pith_lens *
pithp_lens_extend(pith_scope *s, const pith_lens *lens, const pithp_lens_part *part);
/* A lens of one part; what the part points to is copied. NULL: error set. */
const pith_lens *
pithp_lens_of_part(pith_scope *s, const pith_type *type, const pithp_lens_part *part);
/* Copies in s. NULL: error set. */
const pith_lens *pithp_lens_copy(pith_scope *s, const pith_lens *lens);
const char *pithp_lens_copy_text(pith_scope *s, const char *text);
/* A lens that a user passed: live, of this runtime or of the process, without error. */
pith_status pithp_lens_check(pith_scope *s,
                             const pith_lens *lens,
                             const char *function,
                             const char *name);
extern const pithp_class pithp_lens_class;
/* Whether a call has a valid direct lens and a record of its type, so that no further
 * check is needed. */
static inline bool
pithp_lens_is_direct(const pith_scope *s, const pith_lens *lens, const void *root) {
    pithp_block *block = NULL;
    if (PITHP_UNLIKELY(pithp_pointer_check(lens, &block) != PITHP_POINTER_OK ||
                       pithp_header_of(lens)->descriptor != &pithp_lens_class ||
                       (block->runtime && block->runtime != s->runtime) || !lens->direct))
        return false;
    if (PITHP_UNLIKELY(pithp_pointer_check(root, &block) != PITHP_POINTER_OK ||
                       block->runtime != s->runtime))
        return false;
    const pithp_header *h = pithp_header_of(root);
    return h->kind == PITHP_KIND_RECORD && !(h->flags & PITHP_FLAG_NIL) &&
           ((const pithp_node_def *)h->descriptor)->type == lens->type;
}
/* Check the root and lens of a call: a tree of the lens's type. */
pith_status pithp_lens_check_root(pith_scope *s,
                                  const pith_lens *lens,
                                  const void *root,
                                  const char *function);

/* ---- Trees that lenses hold (held.c) ---- */

/* List the trees of a lens in the order of its parts, up to `room`. Returns their total
 * count. */
int64_t pithp_lens_held(const pith_lens *lens, int64_t room, const void **trees);
/* A copy in s that holds other trees. trees NULL: none, for a lens that is only to be
 * copied in this way. NULL sets the error. */
const pith_lens *
pithp_lens_with_held(pith_scope *s, const pith_lens *lens, const void *const *trees);

/* ---- Resolving (path.c, get.c) ---- */

/* Target of a path. */
typedef struct pithp_lens_place {
    const void *node;            /* the node, leaf or owner of the static; NULL: absent */
    const pithp_field *field;    /* the static; NULL: none */
    const pithp_lens_step *rows; /* of the leaf; NULL: none */
    int32_t row_count;
} pithp_lens_place;

/* Positions on the way to a node: slots, or ~index of the field of a static record. */
typedef struct pithp_lens_trail {
    pith_runtime *rt;
    int64_t *places;
    int64_t depth, room;
    int64_t first[32];
} pithp_lens_trail;

void pithp_lens_trail_begin(pithp_lens_trail *t, pith_runtime *rt);
bool pithp_lens_trail_add(pithp_lens_trail *t, int64_t place);
void pithp_lens_trail_end(pithp_lens_trail *t);

/* Follow a path from a node; the trail may be NULL. The error's path starts at `node`. */
pith_status pithp_lens_follow(pith_scope *s,
                              const pithp_lens_part *path,
                              const void *node,
                              pithp_lens_place *place,
                              pithp_lens_trail *trail);
/* Follow a lens that consists of paths only. */
bool pithp_lens_is_path(const pith_lens *lens);
pith_status pithp_lens_locate(pith_scope *s,
                              const pith_lens *lens,
                              const void *root,
                              pithp_lens_place *place);
/* The value at a target, as a tree; NULL: absent, or the error is set. */
const void *pithp_lens_value_at(pith_scope *s, const pithp_lens_place *place);
/* Apply parts to a node. NULL: absent, or the error is set. */
const void *pithp_lens_look(pith_scope *s,
                            const pithp_lens_part *parts,
                            int32_t count,
                            const void *node);
/* What the parts behind the first one look at from what that one found. */
const void *pithp_lens_look_behind(pith_scope *s,
                                   const pithp_lens_part *parts,
                                   int32_t count,
                                   const void *found);
/* A list or tuple of what was got. NULL: error set. */
const void *pithp_lens_gather(pith_scope *s,
                              pithp_kind kind,
                              int64_t count,
                              const void *const *items);
/* Whether lists and tuples can hold an item; false: error set. */
bool pithp_lens_is_item(pith_scope *s, const void *item);
/* Whether a part can look into what is there: PITH_E_PATH where nothing is. */
pith_status pithp_lens_present(pith_scope *s, const void *node);
/* Check that a node is a record of a type. */
pith_status pithp_lens_check_type(pith_scope *s, const void *node, const pith_type *type);
/* Check the result of a user's function: absent, or a tree that outlives s. NULL: absent,
 * or the error is set. */
const void *
pithp_lens_admit(pith_scope *s, const void *tree, const char *name, const char *what);

/* ---- Traversals (kind/traverse.c) ---- */

/* What a traversal finds below a node. */
struct pithp_lens_finds {
    pith_runtime *rt;
    const void **nodes;
    int64_t *ends;   /* end of the positions of each match */
    int32_t *fields; /* embedded match: its first field; -1: the node itself */
    int64_t *places; /* relative to the node, concatenated */
    int64_t count, place_count;
    int64_t node_room, end_room, field_room, place_room;
};

static inline const int64_t *
pithp_lens_find_places(const pithp_lens_finds *f, int64_t i, int64_t *depth) {
    const int64_t begin = i ? f->ends[i - 1] : 0;
    *depth = f->ends[i] - begin;
    return f->places + begin;
}
/* Add a node with its places, or what it embeds at a field; false: out of memory. */
bool pithp_lens_find_add(pithp_lens_finds *f, const void *node, int32_t field);
bool pithp_lens_find_place(pithp_lens_finds *f, int64_t place);
/* `get` and `set` of traversals. */
const void *pithp_lens_get_finds(pith_scope *s,
                                 const pithp_lens_part *parts,
                                 int32_t count,
                                 const void *node);
pith_status pithp_lens_set_finds(pithp_lens_edits *e,
                                 const pithp_lens_part *parts,
                                 int32_t count,
                                 const void *node,
                                 const void *value);
/* A lens with a traversal more, for a public function. NULL: error set. */
const pith_lens *pithp_lens_traverse(pith_scope *s,
                                     const char *function,
                                     const pith_lens *lens,
                                     const pithp_lens_part *part);
/* Append the path of places from a node. */
void pithp_lens_places_text(pithp_string *t,
                            const void *node,
                            const int64_t *places,
                            int64_t depth);

/* ---- Embedded structs (embedded.c) ---- */

/* The next field, from index `from`, at which a record type embeds the struct of another.
 * All its fields match there, with names of one prefix. -1: no more. */
int32_t
pithp_lens_embedded_next(const pith_type *in, const pith_type *type, int32_t from);
void pithp_lens_embedded_fail(pith_scope *s,
                              const void *node,
                              const pith_type *type,
                              int32_t field);
/* Whether the member at an offset is within an embedded struct. */
bool pithp_lens_embedded_holds(const pith_type *in, const pith_type *type, size_t offset);
/* The struct as a record of its type; a node with a replaced struct. NULL: error set. */
const void *pithp_lens_embedded_get(pith_scope *s,
                                    const void *node,
                                    const pith_type *type,
                                    int32_t field);
const void *pithp_lens_embedded_set(pith_scope *s,
                                    const void *node,
                                    const pith_type *type,
                                    int32_t field,
                                    const void *value,
                                    const pith_lens_options *options);

/* ---- Statics (static.c, static_text.c) ---- */

/* A static of a record (or of a struct of its type) as a tree. NULL: error set. */
const void *
pithp_lens_static_get(pith_scope *s, const void *record, const pithp_field *field);
/* Write a static into a struct. */
pith_status pithp_lens_static_put(pith_scope *s,
                                  void *record,
                                  const pithp_field *field,
                                  const void *value);
pith_status pithp_lens_static_put_scalar(pith_scope *s,
                                         void *record,
                                         const pithp_field *field,
                                         const pithp_static_value *scalar);
/* A scalar as a tree: an array of rank 0, or a pith_text. NULL: error set. */
const void *pithp_lens_scalar_tree(pith_scope *s, const pithp_static_value *scalar);
/* A live tree as a pith_text; NULL: another tree. */
const pith_text *pithp_lens_text_of(const void *tree);

/* ---- Setting (set.c, edit.c, conflict.c) ---- */

/* A change of the node, leaf or static at a place. One that computes the new node from
 * the one there is made last, after all changes below that node. */
struct pithp_lens_edit {
    int64_t *places; /* from the root; of a row: its indices along the leaf's axes too */
    int64_t depth;   /* of them */
    int32_t rows;    /* how many of them are indices of a row */
    const void *value;                /* checked; NULL: absent */
    const pithp_static_value *scalar; /* of a static, in place of a value */
    const pithp_lens_part *parts; /* set the value in the node there; NULL: it replaces
                                     the node */
    int32_t part_count;
    int32_t field;         /* with parts that find records: as in pithp_lens_finds */
    const pith_lens *lens; /* of a merge, to which the change belongs; NULL: no merge */
    int64_t number;        /* in the order of adding */
    const void *made;      /* with parts, once made: the node */
};

/* What is to change in a tree, and where the next change is found. */
struct pithp_lens_edits {
    pith_scope *s;
    const pith_lens_options *options; /* may be NULL */
    const pith_lens *lens; /* of the innermost merge; used for the next changes */
    pithp_lens_trail trail;
    pithp_lens_edit *list;
    int64_t count, room;
    pithp_lens_edit first;
};

void pithp_lens_edits_begin(pithp_lens_edits *e,
                            pith_scope *s,
                            const pith_lens_options *options);
/* Add a change at the trail; positions, lens and number are filled in. */
pith_status pithp_lens_edits_add(pithp_lens_edits *e, const pithp_lens_edit *edit);
/* Apply all changes; each node on their paths is remade once. NULL: error set, with the
 * path from the root. */
const void *pithp_lens_edits_apply(pithp_lens_edits *e, const void *root);
void pithp_lens_edits_end(pithp_lens_edits *e);
/* Number of leading positions shared by two changes. */
int64_t pithp_lens_common_places(const pithp_lens_edit *a, const pithp_lens_edit *b);

/* A node with the value of an edit set by its parts. NULL: error set. */
const void *pithp_lens_set_computed(const pithp_lens_edits *e,
                                    const pithp_lens_edit *edit,
                                    const void *node);
/* Apply the parts of an edit to a node. NULL: absent, or the error is set. */
const void *
pithp_lens_look_computed(pith_scope *s, const pithp_lens_edit *edit, const void *node);
/* Add the changes that set what parts look at from a node, which is at the trail. */
pith_status pithp_lens_expand(pithp_lens_edits *e,
                              const pithp_lens_part *parts,
                              int32_t count,
                              const void *node,
                              const void *value);
/* The same of parts that compute the node anew: one change. */
pith_status pithp_lens_expand_computed(pithp_lens_edits *e,
                                       const pithp_lens_part *parts,
                                       int32_t count,
                                       const void *node,
                                       const void *value);
/* A node with what parts look at from it replaced. NULL: absent, or the error is set. */
const void *pithp_lens_set_in(const pithp_lens_edits *e,
                              const pithp_lens_part *parts,
                              int32_t count,
                              const void *node,
                              const void *value);
/* The value of a part that stands for a node of its own: what is behind it is set there.
 */
const void *pithp_lens_set_behind(const pithp_lens_edits *e,
                                  const pithp_lens_part *parts,
                                  int32_t count,
                                  const void *node,
                                  const void *value);
/* That what is set holds as many items as there are places; one of them. */
pith_status pithp_lens_check_items(pith_scope *s,
                                   const void *value,
                                   bool list,
                                   int64_t count,
                                   const char *of);
const void *pithp_lens_item(const void *value, int64_t i);
/* Whether rows are given to be set; false: error set. */
bool pithp_lens_rows_present(pith_scope *s, const void *value);
/* A leaf with a row replaced. NULL: error set. */
const void *pithp_lens_set_row(pith_scope *s,
                               const pith_array *leaf,
                               int32_t count,
                               const int64_t *row,
                               const void *value);

/* Positions changed so far by computed edits. */
typedef struct pithp_lens_changes {
    const pithp_lens_edits *edits;
    const void *root;
    pithp_lens_edit *list; /* only positions, depth and lens are used */
    int64_t count, room;
} pithp_lens_changes;

void pithp_lens_changes_begin(pithp_lens_changes *c,
                              const pithp_lens_edits *e,
                              const void *root);
/* Record the changes of edit i, which made `after` of the node `before`. PITH_E_ARG if it
 * changed a position of an earlier edit. */
pith_status pithp_lens_changes_add(pithp_lens_changes *c,
                                   int64_t i,
                                   const void *before,
                                   const void *after);
/* Check that every function lens still reads the value it read right after it was set. */
pith_status pithp_lens_changes_check(const pithp_lens_changes *c);
void pithp_lens_changes_end(pithp_lens_changes *c);
/* Fail because two lenses of a merge set the same position. */
pith_status pithp_lens_conflict(const pithp_lens_edits *e,
                                const void *root,
                                const pithp_lens_edit *a,
                                const pithp_lens_edit *b);

/* Append the text of a lens. */
void pithp_lens_text(pithp_string *t, const pith_lens *lens);
/* Append how a slice reads: "1:-1:2". */
void pithp_slice_text(pithp_string *t, const pith_slice *slice);

#endif
