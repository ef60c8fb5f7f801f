/**
 * @file
 * Index: a record of integers that refer to keys of a sorted vocabulary.
 *
 * The vocabulary is a static: a part of the structure of a tree. Before trees are mapped,
 * stacked, concatenated, selected from or scattered together, their indices are matched
 * (PITH_MATCH): all get the union of the vocabularies, and their integers are remapped.
 * Indices of different kinds, such as systems and particles, are not matched.
 *
 * Results, scopes and errors: see tree.h.
 */
#ifndef PITH_TREE_INDEX_H
#define PITH_TREE_INDEX_H

#include <pith/tree.h>

/** A record: PITH_CHILD(system, pith_index). */
typedef struct pith_index {
    /** Positions in the vocabulary, integers of any shape. A value out of range
     * (negative, or at least the number of keys) refers to no key, before and after
     * matching. */
    const pith_array *at;
    const char *keys; /**< the vocabulary: ascending integers, "0,3,7" */
    const char *kind; /**< kind of the keys; "" is a kind */
} pith_index;

PITH_BEGIN

/** The type of indices, for pith_freeze, PITH_CHILD and their like. */
PITH_API const pith_type *pith_index_pith_type(void);
/**
 * An index over a vocabulary.
 *
 * @param kind NULL: "".
 * @param keys Ascending and distinct.
 * @param at Integers of a dtype that holds @p count (the position that refers to no key).
 *
 * @par Errors
 * PITH_E_ARG: names the first key that is not greater than the one before. PITH_E_DTYPE.
 */
PITH_API const pith_index *pith_index_make(pith_scope *s,
                                           const char *kind,
                                           int64_t count,
                                           const int64_t *keys,
                                           const pith_array *at);
/** The index of @p count values (i64); the vocabulary is the set of the values. */
PITH_API const pith_index *
pith_index_of(pith_scope *s, const char *kind, int64_t count, const int64_t *values);
/** The keys of an index, ascending, borrowed. @param count Set to their number. */
PITH_API const int64_t *
pith_index_keys(pith_scope *s, const pith_index *index, int64_t *count);
/** The key of each integer as i64; @p missing for integers that refer to no key. */
PITH_API const pith_array *
pith_index_values(pith_scope *s, const pith_index *index, int64_t missing);
/** Whether each integer refers to a key: bool. */
PITH_API const pith_array *pith_index_valid(pith_scope *s, const pith_index *index);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_index_make(s, ...)   pith_index_make(PITH_AT(s), __VA_ARGS__)
#    define pith_index_of(s, ...)     pith_index_of(PITH_AT(s), __VA_ARGS__)
#    define pith_index_keys(s, ...)   pith_index_keys(PITH_AT(s), __VA_ARGS__)
#    define pith_index_values(s, ...) pith_index_values(PITH_AT(s), __VA_ARGS__)
#    define pith_index_valid(s, ...)  pith_index_valid(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
