/* Static fields: a table of operations per kind, for this room and those above. */
#ifndef PITHP_TREE_STATIC_KIND_H
#define PITHP_TREE_STATIC_KIND_H

#include "tree/types.h"

/* The value of a static, in one form for all kinds. */
typedef struct pithp_static_value {
    pith_static_kind kind;
    int64_t i64; /* i64; bool: 0 or 1; enum and dtype: the number */
    double f64;  /* f64 */
    const char
        *text; /* text or NULL; enum and dtype: the name, NULL if the number has none */
    const void *record; /* record or NULL */
} pithp_static_value;

/* Each operation that may be NULL states its default. */
typedef struct pithp_static_operations {
    const char *name;     /* name in checkpoints */
    const char *expected; /* for messages: "expected an integer" */
    size_t size;          /* of the member */
    bool is_number;       /* i64, f64 or bool */
    bool is_named;        /* enum or dtype: a number with a name */
    /* Read a member. */
    void (*read)(const pith_field *d, const void *member, pithp_static_value *v);
    /* Write a value of the kind; numbers of enums and dtypes are not checked. */
    void (*write)(const pithp_static_value *v, void *member);
    /* Convert an i64, f64, bool or text to the kind; an unknown name becomes -1. Returns
     * false for other values. NULL: accepts its own kind only. */
    bool (*convert)(const pith_field *d,
                    const pithp_static_value *from,
                    pithp_static_value *to);
    /* The canonical form of a member: one NaN, bools 0 or 1, the node definition instead
     * of a record. Invalid values set the error. NULL: the bytes. */
    pith_status (*canonicalise)(pith_scope *s,
                                const pithp_field *f,
                                const char *member,
                                char *to);
    /* Equality of two members: texts by content, all NaNs equal. NULL: by bytes. */
    bool (*equal)(const void *a, const void *b);
    /* Hash of a canonical member. NULL: of its bytes. */
    uint64_t (*hash)(uint64_t seed, const void *member);
    /* Print a value for readers. NULL: describe.c prints texts and records. */
    void (*print)(pithp_string *t, const pithp_static_value *v);
    /* Refuse the initial value of a field's options. NULL: all are valid. */
    void (*check_initial)(pith_type *t, const pith_field *d);
} pithp_static_operations;

/* Indexed by pith_static_kind; PITH_STATIC_KIND_NONE has names only. */
extern const pithp_static_operations pithp_static_kinds[];
/* The kind with that name, or PITH_STATIC_KIND_NONE. */
pith_static_kind pithp_static_kind_named(const char *name);
/* The operations of a field's kind. */
static inline const pithp_static_operations *pithp_static_of(const pith_field *d) {
    return &pithp_static_kinds[d->static_kind];
}
/* Read a field of a record, or of a struct of its type. */
static inline pithp_static_value pithp_static_read(const pith_field *d,
                                                   const void *record) {
    pithp_static_value v = {.kind = d->static_kind};
    pithp_static_of(d)->read(d, (const char *)record + d->offset, &v);
    return v;
}
/* Write a value of the field's kind to a struct. */
static inline void
pithp_static_write(const pith_field *d, const pithp_static_value *v, void *record) {
    pithp_static_of(d)->write(v, (char *)record + d->offset);
}
/* The operations with their defaults applied. */
bool pithp_static_convert(const pith_field *d,
                          const pithp_static_value *from,
                          pithp_static_value *to);
pith_status pithp_static_canonicalise(pith_scope *s,
                                      const pithp_field *f,
                                      const char *member,
                                      char *to);
bool pithp_static_equal(pith_static_kind kind, const void *a, const void *b);
uint64_t pithp_static_hash(pith_static_kind kind, uint64_t seed, const void *member);
/* The initial value in the options of a field. */
pithp_static_value pithp_static_initial(const pithp_field *f);

#endif
