/* Capacities and memory hints: shared declarations of the room. */
#ifndef PITH_CAPACITY_INTERNAL_H
#define PITH_CAPACITY_INTERNAL_H

#include "pith/capacity.h"
#include "pith/memory_hint.h"

#include "assert/assert_internal.h"
#include "lens/lens_internal.h"

/* The 128-bit product of two 64-bit numbers. */
__extension__ typedef unsigned __int128 pithp_u128;

/* ---- Growth (growth.c) ---- */

/* The size after growth (pith_grown_size). Arguments are checked: size >= 0, base is not
 * NaN. */
int64_t pithp_growth(int64_t size, int64_t need, double base);
/* Round a need up to an integer. false: no size can hold it. */
bool pithp_need_of(double value, int64_t *need);

/* ---- Capacities (capacity.c) ---- */

typedef enum pithp_capacity_how {
    PITHP_CAPACITY_FIXED,
    PITHP_CAPACITY_LENS,
    PITHP_CAPACITY_USER
} pithp_capacity_how;

struct pith_capacity {
    pithp_capacity_how how;
    double base;             /* kind LENS */
    const pith_lens *lens;   /* LENS: of the sizes; otherwise for messages, or NULL */
    pith_capacity_kind kind; /* kind USER */
    void *closure;
    const void *tree;    /* tree that gave the sizes; NULL: they are numbers */
    const char *message; /* appended to the library's message; "": none */
    int64_t factor;      /* product of all multiplications */
    int64_t count;
    bool one;                 /* given as a single number */
    const int64_t *sizes;     /* without the factor */
    const char *const *names; /* of the sizes; NULL: derived from the lens */
};

/* Check a capacity passed by the user: valid, and of this runtime. */
pith_status pithp_capacity_check(pith_scope *s,
                                 const pith_capacity *c,
                                 const char *function,
                                 const char *name);
static inline int64_t pithp_capacity_size(const pith_capacity *c, int64_t i) {
    return c->sizes[i] * c->factor; /* checked when it was made */
}
/* A copy with other sizes; products with the factor saturate. NULL: error set. */
const pith_capacity *
pithp_capacity_with(pith_scope *s, const pith_capacity *c, const int64_t *sizes);
/* The capacity, or its copy in outer if it does not outlive outer. NULL: error of outer
 * set. */
const pith_capacity *pithp_capacity_keep(pith_scope *outer, const pith_capacity *c);
static inline bool pithp_capacity_can_grow(const pith_capacity *c) {
    return c->how == PITHP_CAPACITY_LENS ||
           (c->how == PITHP_CAPACITY_USER && c->kind.fix);
}
/* Append the name of size i. */
void pithp_capacity_name(const pith_capacity *c, int64_t i, pithp_string *t);

/* ---- Trees of sizes (sizes.c) ---- */

/* Iteration over sizes in a tree: integer statics of records, and leaves. */
typedef struct pithp_size_walk {
    pithp_walk walk;
    const void *record; /* the record whose statics are being visited; NULL: none */
    int32_t next_static;
    const void *node;         /* of the current size */
    const pithp_field *field; /* NULL: the size is the leaf `node` */
} pithp_size_walk;

void pithp_size_begin(pithp_size_walk *w, pith_runtime *rt, const void *tree);
bool pithp_size_next(pithp_size_walk *w);
void pithp_size_path(const pithp_size_walk *w, pithp_string *path);
void pithp_size_end(pithp_size_walk *w);
/* Number of sizes in a checked tree. A leaf that is no size is an error. -1: error
 * set. */
int64_t pithp_sizes_count(pith_scope *s, const void *tree, const char *function);
/* Read the sizes of a counted tree. */
pith_status
pithp_sizes_read(pith_scope *s, const void *tree, const char *function, int64_t *sizes);
/* A copy of a tree with other sizes. NULL: error set. */
const void *pithp_sizes_replace(pith_scope *s, const void *tree, const int64_t *sizes);

/* ---- Needs (need.c) ---- */

typedef struct pithp_need {
    int64_t value; /* rounded up; includes the factor */
    bool beyond;   /* `number` exceeds every possible size */
    double number;
} pithp_need;

/* Check that an array is a valid requirement of a capacity. */
pith_status pithp_need_check(pith_scope *s,
                             const pith_capacity *c,
                             const pith_array *required,
                             const char *function);
/* The needs of a checked requirement, c->count of them, in memory of s. Waits. NULL:
 * error set. */
pithp_need *
pithp_needs_read(pith_scope *s, const pith_capacity *c, const pith_array *required);
bool pithp_needs_fit(const pith_capacity *c, const pithp_need *needs);
/* The grown size i, without the factor, for a need. If `grow` is false, the size equals
 * the need. false: it cannot grow; the error is set. */
bool pithp_need_grow(pith_scope *s,
                     const pith_capacity *c,
                     int64_t i,
                     const pithp_need *need,
                     bool grow,
                     int64_t *size);
/* Append the message for needs that do not fit. */
void pithp_needs_describe(const pith_capacity *c,
                          const pithp_need *needs,
                          pithp_string *t);
/* The same for a requirement in device memory. All enqueued work must be complete. */
pith_status pithp_required_describe(pithp_stream *st,
                                    const pith_capacity *c,
                                    const pith_spec *spec,
                                    const void *data,
                                    pithp_string *t,
                                    pithp_error *e);

/* ---- Fixes (fix.c) ---- */

/* The root with sizes large enough for a checked requirement. NULL: error set. */
const void *pithp_capacity_repair(pith_scope *s,
                                  const pith_capacity *c,
                                  const void *root,
                                  const pith_array *required,
                                  bool grow);

/* The root with sizes, without the factor, of at least these; temporaries live in `work`.
 * A capacity without a growth rule but with a lens is set through the lens. NULL: error
 * set, or no lens. */
const void *pithp_capacity_set(pith_scope *work,
                               const pith_capacity *c,
                               const void *root,
                               const int64_t *sizes);

/* ---- Checks (require.c) ---- */

/* The capacity of a fix; NULL: none. */
const pith_capacity *pithp_capacity_of_fix(const pithp_fix *fix);

/* ---- Statics that name extents (extents.c) ---- */

typedef struct pithp_extent_static {
    const void *record;
    const pithp_field *field;
    const char *path; /* of the static */
    const char *leaf; /* the first leaf with this extent */
} pithp_extent_static;

/* Distinct statics in leaf order; in memory of s. */
typedef struct pithp_extent_list {
    pith_scope *s;
    pithp_extent_static *all;
    int64_t count, room;
} pithp_extent_list;

/* Find the statics of a checked state. */
pith_status pithp_extents_find(pithp_extent_list *l, const void *state);

#endif
