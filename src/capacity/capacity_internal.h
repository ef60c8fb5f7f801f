/* Capacities and memory hints: what their files share. */
#ifndef PITH_CAPACITY_INTERNAL_H
#define PITH_CAPACITY_INTERNAL_H

#include "pith/capacity.h"
#include "pith/memory_hint.h"

#include "assert/assert_internal.h"
#include "lens/lens_internal.h"

/* The product of two numbers of 64 bits. */
__extension__ typedef unsigned __int128 pithp_u128;

/* ---- Growth (growth.c) ---- */

/* The size that a capacity of that size grows to (pith_grown_size), of checked numbers:
 * size >= 0, base no nan. */
int64_t pithp_growth(int64_t size, int64_t need, double base);
/* A need that may be a fraction, rounded up; false: no number that a size can be. */
bool pithp_need_of(double value, int64_t *need);

/* ---- Capacities (capacity.c) ---- */

typedef enum pithp_capacity_how {
    PITHP_CAPACITY_FIXED,
    PITHP_CAPACITY_LENS,
    PITHP_CAPACITY_USER
} pithp_capacity_how;

struct pith_capacity {
    pithp_capacity_how how;
    double base;             /* LENS */
    const pith_lens *lens;   /* LENS: of the sizes; else what it stands for, or NULL */
    pith_capacity_kind kind; /* USER */
    void *closure;
    const void *tree;    /* like which the sizes were given; NULL: as numbers */
    const char *message; /* behind the library's own; "": none */
    int64_t factor;      /* of all multiplications */
    int64_t count;
    bool one;                 /* given as a number, not as a tree or as several */
    const int64_t *sizes;     /* without the factor */
    const char *const *names; /* of the sizes; NULL: by the lens */
};

/* A capacity that a user passed: live, of this runtime. */
pith_status pithp_capacity_check(pith_scope *s,
                                 const pith_capacity *c,
                                 const char *function,
                                 const char *name);
static inline int64_t pithp_capacity_size(const pith_capacity *c, int64_t i) {
    return c->sizes[i] * c->factor; /* was checked when it was made */
}
/* A capacity like that one with other sizes, of which the factor's product saturates.
 * NULL: error set. */
const pith_capacity *
pithp_capacity_with(pith_scope *s, const pith_capacity *c, const int64_t *sizes);
/* The capacity in outer, itself where it outlives that. NULL: error of outer set. */
const pith_capacity *pithp_capacity_keep(pith_scope *outer, const pith_capacity *c);
static inline bool pithp_capacity_can_grow(const pith_capacity *c) {
    return c->how == PITHP_CAPACITY_LENS ||
           (c->how == PITHP_CAPACITY_USER && c->kind.fix);
}
/* Append what the i-th size stands for. */
void pithp_capacity_name(const pith_capacity *c, int64_t i, pithp_text *t);

/* ---- Trees of sizes (sizes.c) ---- */

/* One size of a tree: an integer static of a record, or a leaf. */
typedef struct pithp_size_walk {
    pithp_walk walk;
    const void *record; /* whose statics are under way; NULL: none */
    int32_t next_static;
    const void *node;         /* of the size that was found last */
    const pithp_field *field; /* NULL: it is the leaf `node` */
} pithp_size_walk;

void pithp_size_begin(pithp_size_walk *w, pith_runtime *rt, const void *tree);
bool pithp_size_next(pithp_size_walk *w);
void pithp_size_path(const pithp_size_walk *w, pithp_text *path);
void pithp_size_end(pithp_size_walk *w);
/* How many sizes a checked tree has; what is no size is an error. -1: error set. */
int64_t pithp_sizes_count(pith_scope *s, const void *tree, const char *function);
/* Those of a tree that was counted; reads leaves. */
pith_status
pithp_sizes_read(pith_scope *s, const void *tree, const char *function, int64_t *sizes);
/* A tree like that one with these sizes. NULL: error set. */
const void *pithp_sizes_replace(pith_scope *s, const void *tree, const int64_t *sizes);

/* ---- Needs (need.c) ---- */

typedef struct pithp_need {
    int64_t value; /* rounded up, in units with the factor */
    bool beyond;   /* it is `number`, which no size can be */
    double number;
} pithp_need;

/* That an array can be a requirement of a capacity. */
pith_status pithp_need_check(pith_scope *s,
                             const pith_capacity *c,
                             const pith_array *required,
                             const char *function);
/* The needs of a checked requirement, c->count of them, in memory of s. Waits. NULL:
 * error set. */
pithp_need *
pithp_needs_read(pith_scope *s, const pith_capacity *c, const pith_array *required);
bool pithp_need_fits(const pith_capacity *c, int64_t i, const pithp_need *need);
bool pithp_needs_fit(const pith_capacity *c, const pithp_need *needs);
/* What the i-th size, without the factor, becomes so that a need fits; `grow` false: no
 * more than that. false: it cannot, with the error set. */
bool pithp_need_grow(pith_scope *s,
                     const pith_capacity *c,
                     int64_t i,
                     const pithp_need *need,
                     bool grow,
                     int64_t *size);
/* Append what is said where needs do not fit. */
void pithp_needs_describe(const pith_capacity *c, const pithp_need *needs, pithp_text *t);
/* The same of a requirement in device memory, where all that was enqueued has run. */
pith_status pithp_required_describe(pithp_stream *st,
                                    const pith_capacity *c,
                                    const pith_spec *spec,
                                    const void *data,
                                    pithp_text *t,
                                    pithp_error *e);

/* ---- Fixes (fix.c) ---- */

/* The root with sizes that suffice for a checked requirement. NULL: error set. */
const void *pithp_capacity_repair(pith_scope *s,
                                  const pith_capacity *c,
                                  const void *root,
                                  const pith_array *required,
                                  bool grow);

/* The root with sizes, without the factor, of at least these, by work in its scope; a
 * capacity that cannot grow by itself but stands for something is set there. NULL: error
 * set, or nothing it stands for. */
const void *pithp_capacity_set(pith_scope *work,
                               const pith_capacity *c,
                               const void *root,
                               const int64_t *sizes);

/* ---- Checks (require.c) ---- */

/* The fix and the message of an assertion, whose first argument is what is required.
 * *c must live until it is copied. */
pithp_fix pithp_capacity_fix(const pith_capacity *const *c);
/* The capacity that a fix is of; NULL: none. */
const pith_capacity *pithp_capacity_of_fix(const pithp_fix *fix);

/* ---- Statics that name extents (extents.c) ---- */

typedef struct pithp_extent_static {
    const void *record;
    const pithp_field *field;
    const char *path; /* of the static */
    const char *leaf; /* the first one whose extent it names */
} pithp_extent_static;

/* Each once, in the order of the leaves; in memory of s. */
typedef struct pithp_extent_list {
    pith_scope *s;
    pithp_extent_static *all;
    int64_t count, room;
} pithp_extent_list;

/* Those of a checked state. */
pith_status pithp_extents_find(pithp_extent_list *l, const void *state);

#endif
