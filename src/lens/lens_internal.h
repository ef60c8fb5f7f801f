/* Lenses as the rooms above see them: a chain of parts, each of which looks into what the
 * one before it found. */
#ifndef PITH_LENS_INTERNAL_H
#define PITH_LENS_INTERNAL_H

#include "pith/lens.h"

#include "tree/tree_internal.h"

typedef enum pithp_lens_step_kind {
    PITHP_LENS_SLOT,   /* a child or leaf of a record whose type is sure */
    PITHP_LENS_STATIC, /* a static of one */
    PITHP_LENS_NAME,   /* the others are looked up when the lens is used: a field, */
    PITHP_LENS_INDEX,  /* an item, or a row of a leaf, */
    PITHP_LENS_KEY     /* a dict's item */
} pithp_lens_step_kind;

typedef struct pithp_lens_step {
    pithp_lens_step_kind kind;
    int32_t number;        /* SLOT: of the slot; STATIC: of the field */
    uint32_t offset;       /* SLOT, STATIC */
    size_t end;            /* of its text in the part's */
    const pith_type *type; /* SLOT, STATIC: of the record */
    union {
        const char *name; /* NAME, KEY */
        int64_t index;    /* INDEX: negative from the end */
    };
} pithp_lens_step;

typedef enum pithp_lens_part_kind {
    PITHP_LENS_PATH,
    PITHP_LENS_CHECK, /* what is there must be a record of a type; the steps behind it
                         rely on that */
    PITHP_LENS_CONSTANT,
    PITHP_LENS_FUNCTION,
    PITHP_LENS_MERGE,
    PITHP_LENS_EACH, /* traversals: the parts behind them look into each find */
    PITHP_LENS_WHERE,
    PITHP_LENS_AT, /* parts of every leaf: nothing goes behind them */
    PITHP_LENS_SLICE
} pithp_lens_part_kind;

/* What a traversal asks its predicate of. */
typedef enum pithp_lens_asked {
    PITHP_LENS_ASK_NODES, /* leaves too */
    PITHP_LENS_ASK_LEAVES,
    PITHP_LENS_ASK_TYPE /* records of a type; no predicate */
} pithp_lens_asked;

typedef struct pithp_lens_part {
    pithp_lens_part_kind kind;
    int32_t count; /* PATH: steps; MERGE: lenses */
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
        pith_slice each; /* which items */
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
        const pith_slice *slices; /* SLICE: count of them */
    };
} pithp_lens_part;

extern const pithp_lens_part pithp_lens_each_part; /* all items */

/* What the types tell of what a lens looks at. */
typedef enum pithp_lens_end {
    PITHP_LENS_END_ANY,
    PITHP_LENS_END_RECORD, /* of end_type; absent, if anything */
    PITHP_LENS_END_LEAF,
    PITHP_LENS_END_STATIC /* no record */
} pithp_lens_end;

struct pith_lens {
    const pith_type *type; /* of the root; NULL: any tree */
    const char *error;     /* why every use is refused; NULL: it is good */
    const pithp_lens_part *parts;
    int32_t part_count;
    pithp_lens_end end;
    const pith_type *end_type;
    bool direct; /* at most one path, of slots alone, from a record */
};

/* ---- Making (lens.c, path.c) ---- */

/* A lens in the making; s NULL: memory of the process. */
typedef struct pithp_lens_draft {
    pith_scope *s;
    struct pith_lens lens;
    pithp_lens_part *parts;
    int32_t room;
    char *why; /* of the process: what is wrong, PITHP_MESSAGE_BYTES */
} pithp_lens_draft;

/* Memory that lives as long as the lens. NULL: error set where there is a scope. */
void *pithp_lens_allocate(pith_scope *s, size_t bytes);
/* A part at the end of the draft; NULL: error set. */
pithp_lens_part *pithp_lens_add(pithp_lens_draft *d, const pithp_lens_part *part);
/* Copies of a lens's parts. */
pith_status pithp_lens_add_parts(pithp_lens_draft *d, const pith_lens *lens);
/* The parts of a path from where the draft ends. */
pith_status pithp_lens_add_path(pithp_lens_draft *d, const char *path);
/* The same of a part as C writes it, for a draft of the process. */
pith_status pithp_lens_add_member(pithp_lens_draft *d, const char *member);
/* The lens; NULL: error set. */
const pith_lens *pithp_lens_finish(pithp_lens_draft *d);
/* Whether something may go behind a checked lens. */
pith_status
pithp_lens_check_open(pith_scope *s, const pith_lens *lens, const char *function);
/* A lens with one part more; what the part points to is copied. NULL: error set. */
const pith_lens *
pithp_lens_extend(pith_scope *s, const pith_lens *lens, const pithp_lens_part *part);
/* A lens that a user passed: live, of this runtime or of the process, without error. */
pith_status pithp_lens_check(pith_scope *s,
                             const pith_lens *lens,
                             const char *function,
                             const char *name);
extern const pithp_class pithp_lens_class;
/* Whether a call is of a good direct lens and a record of its type, which needs no more
 * checks. */
static inline bool
pithp_lens_is_direct(const pith_scope *s, const pith_lens *lens, const void *root) {
    pithp_block *block = NULL;
    if (PITHP_UNLIKELY(pithp_pointer_check(lens, &block) != PITHP_POINTER_OK ||
                       pithp_header_of(lens)->shape != &pithp_lens_class ||
                       (block->runtime && block->runtime != s->runtime) || !lens->direct))
        return false;
    if (PITHP_UNLIKELY(pithp_pointer_check(root, &block) != PITHP_POINTER_OK ||
                       block->runtime != s->runtime))
        return false;
    const pithp_header *h = pithp_header_of(root);
    return h->kind == PITHP_KIND_RECORD && !(h->flags & PITHP_FLAG_NIL) &&
           ((const pithp_node_def *)h->shape)->type == lens->type;
}
/* Root and lens of a call: a tree, of the type of the lens. */
pith_status pithp_lens_check_root(pith_scope *s,
                                  const pith_lens *lens,
                                  const void *root,
                                  const char *function);

/* ---- Looking (path.c, get.c) ---- */

/* Where a path leads. */
typedef struct pithp_lens_place {
    const void *node;         /* the node, leaf or record with the static; NULL: absent */
    const pithp_field *field; /* the static; NULL: none */
    const pithp_lens_step *rows; /* of the leaf; NULL: none */
    int32_t row_count;
} pithp_lens_place;

/* Places of a node on the way: slots, or ~number of the field of a static record. */
typedef struct pithp_lens_trail {
    pith_runtime *rt;
    int64_t *places;
    int64_t depth, room;
    int64_t first[32];
} pithp_lens_trail;

void pithp_lens_trail_begin(pithp_lens_trail *t, pith_runtime *rt);
bool pithp_lens_trail_add(pithp_lens_trail *t, int64_t place);
void pithp_lens_trail_end(pithp_lens_trail *t);

/* Follow a path from a node; the trail may be NULL. The error's path begins at `node`. */
pith_status pithp_lens_follow(pith_scope *s,
                              const pithp_lens_part *path,
                              const void *node,
                              pithp_lens_place *place,
                              pithp_lens_trail *trail);
/* Follow a lens that has paths alone. */
bool pithp_lens_is_path(const pith_lens *lens);
pith_status pithp_lens_locate(pith_scope *s,
                              const pith_lens *lens,
                              const void *root,
                              pithp_lens_place *place);
/* What is at a place, as a tree; NULL: absent, or the error is set. */
const void *pithp_lens_value_at(pith_scope *s, const pithp_lens_place *place);
/* What parts look at from a node. NULL: absent, or the error is set. */
const void *pithp_lens_look(pith_scope *s,
                            const pithp_lens_part *parts,
                            int32_t count,
                            const void *node);
/* Whether a part can look into what is there: PITH_E_PATH where nothing is. */
pith_status pithp_lens_present(pith_scope *s, const void *node);
/* That a node is a record of a type. */
pith_status pithp_lens_check_type(pith_scope *s, const void *node, const pith_type *type);
/* What a function of the user's gave: nothing, or a tree that outlives s. NULL: absent,
 * or the error is set. */
const void *
pithp_lens_admit(pith_scope *s, const void *tree, const char *name, const char *what);

/* ---- Parts of every leaf (at.c) ---- */

const void *
pithp_lens_leaves_get(pith_scope *s, const pithp_lens_part *part, const void *node);
/* The node with them set. */
const void *pithp_lens_leaves_set(pith_scope *s,
                                  const pithp_lens_part *part,
                                  const void *node,
                                  const void *value);

/* ---- Traversals (traverse.c) ---- */

/* What a traversal finds below a node. */
typedef struct pithp_lens_finds {
    pith_runtime *rt;
    const void **nodes;
    int64_t *ends; /* of each one's places */
    int32_t
        *fields; /* of what the node embeds, its first field in the node; -1: the node */
    int64_t *places; /* from the node, one after the other */
    int64_t count, place_count;
    int64_t node_room, end_room, field_room, place_room;
} pithp_lens_finds;

static inline const int64_t *
pithp_lens_find_places(const pithp_lens_finds *f, int64_t i, int64_t *depth) {
    const int64_t begin = i ? f->ends[i - 1] : 0;
    *depth = f->ends[i] - begin;
    return f->places + begin;
}
/* On failure the error is set, at a path from the node, and there is nothing to end. */
pith_status pithp_lens_find_all(pith_scope *s,
                                const pithp_lens_part *part,
                                const void *node,
                                pithp_lens_finds *finds);
void pithp_lens_finds_end(pithp_lens_finds *finds);
/* Put the path of the i-th find below a node in front of the scope's error. */
void pithp_lens_find_prefix(pith_scope *s,
                            const pithp_lens_finds *finds,
                            int64_t i,
                            const void *node);
/* What was found, as a tree; NULL: absent, or the error is set. */
const void *pithp_lens_find_value(pith_scope *s,
                                  const pithp_lens_part *part,
                                  const pithp_lens_finds *finds,
                                  int64_t i);
/* Append the path of places from a node. */
void pithp_lens_places_text(pithp_text *t,
                            const void *node,
                            const int64_t *places,
                            int64_t depth);

/* ---- Embedded structs (embedded.c) ---- */

/* The next field, from `from` on, at which a record type embeds the struct of another:
 * all its fields, as declared there, under names with one prefix. -1: no more. */
int32_t
pithp_lens_embedded_next(const pith_type *in, const pith_type *type, int32_t from);
/* Append the path of the struct from the record; put it before the error's path. */
void pithp_lens_embedded_text(pithp_text *t,
                              const pith_type *in,
                              const pith_type *type,
                              int32_t field);
void pithp_lens_embedded_fail(pith_scope *s,
                              const void *node,
                              const pith_type *type,
                              int32_t field);
/* Whether the member at an offset is within such a struct. */
bool pithp_lens_embedded_holds(const pith_type *in, const pith_type *type, size_t offset);
/* The struct as a record of its type; a node with another one. NULL: error set. */
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
/* A live tree as a pith_text; NULL: it is none. */
const pith_text *pithp_lens_text_of(const void *tree);

/* ---- Setting (set.c, edit.c, conflict.c) ---- */

/* A change of the node, leaf or static at a place. One that computes the new node from
 * the one there is made last, after all changes below that node. */
typedef struct pithp_lens_edit {
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
} pithp_lens_edit;

/* What is to change in a tree, and where the next change is found. */
typedef struct pithp_lens_edits {
    pith_scope *s;
    const pith_lens_options *options; /* may be NULL */
    const pith_lens *lens; /* of the innermost merge, whose changes come next */
    pithp_lens_trail trail;
    pithp_lens_edit *list;
    int64_t count, room;
    pithp_lens_edit first;
} pithp_lens_edits;

void pithp_lens_edits_begin(pithp_lens_edits *e,
                            pith_scope *s,
                            const pith_lens_options *options);
/* Change what is at the trail; places, lens and number are filled in. */
pith_status pithp_lens_edits_add(pithp_lens_edits *e, const pithp_lens_edit *edit);
/* The tree with all changes, in which each node around them is made once. NULL: error
 * set, with the path from the root. */
const void *pithp_lens_edits_apply(pithp_lens_edits *e, const void *root);
void pithp_lens_edits_end(pithp_lens_edits *e);
/* How many first places two changes have in common. */
int64_t pithp_lens_common_places(const pithp_lens_edit *a, const pithp_lens_edit *b);

/* A node with the value of an edit set in it by its parts. NULL: error set. */
const void *pithp_lens_set_computed(const pithp_lens_edits *e,
                                    const pithp_lens_edit *edit,
                                    const void *node);
/* What the parts of an edit look at from the node. NULL: absent, or the error is set. */
const void *
pithp_lens_look_computed(pith_scope *s, const pithp_lens_edit *edit, const void *node);
/* A leaf with a row replaced. NULL: error set. */
const void *pithp_lens_set_row(pith_scope *s,
                               const pith_array *leaf,
                               int32_t count,
                               const int64_t *row,
                               const void *value);

/* What parts that compute a node have changed so far: places of the root. */
typedef struct pithp_lens_changes {
    const pithp_lens_edits *edits;
    const void *root;
    pithp_lens_edit *list; /* places, depth and lens count */
    int64_t count, room;
} pithp_lens_changes;

void pithp_lens_changes_begin(pithp_lens_changes *c,
                              const pithp_lens_edits *e,
                              const void *root);
/* The i-th edit made `after` of the node `before`: PITH_E_ARG where it changed what an
 * edit before it had changed. */
pith_status pithp_lens_changes_add(pithp_lens_changes *c,
                                   int64_t i,
                                   const void *before,
                                   const void *after);
/* That every function lens still gets what it got right after it was set. */
pith_status pithp_lens_changes_check(const pithp_lens_changes *c);
void pithp_lens_changes_end(pithp_lens_changes *c);
/* Fail: two lenses of a merge set one place. */
pith_status pithp_lens_conflict(const pithp_lens_edits *e,
                                const void *root,
                                const pithp_lens_edit *a,
                                const pithp_lens_edit *b);

/* Append how a lens reads. */
void pithp_lens_text(pithp_text *t, const pith_lens *lens);
/* Append how a part reads, or a slice: "1:-1:2". */
void pithp_lens_part_text(pithp_text *t, const pithp_lens_part *part);
void pithp_slice_text(pithp_text *t, const pith_slice *slice);

#endif
