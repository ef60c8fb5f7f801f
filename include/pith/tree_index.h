/**
 * @file
 * Index: a record of integers that stand for keys of a sorted vocabulary.
 *
 * The vocabulary is a static, so it is part of the structure of a tree. Before trees are
 * mapped, stacked, joined, chosen from or scattered together, their indices are matched
 * (PITH_MATCH): all get the union of the vocabularies, and their integers move with the
 * keys. Indices of two kinds, say of systems and of particles, are never matched.
 *
 * Results, scopes and errors: see tree.h.
 */
#ifndef PITH_TREE_INDEX_H
#define PITH_TREE_INDEX_H

#include <pith/tree.h>

/** A record: PITH_CHILD(system, pith_index). */
typedef struct pith_index {
    /** Places in the vocabulary, integers of any shape. What lies outside of it
     * (negative, or not less than the number of keys) stands for no key, and goes on to.
     */
    const pith_array *at;
    const char *keys; /**< the vocabulary: ascending integers, "0,3,7" */
    const char *kind; /**< what the keys are of; "" is a kind too */
} pith_index;

PITH_BEGIN

/** The type of indices, for pith_freeze, PITH_CHILD and their like. */
PITH_API const pith_type *pith_index_pith_type(void);
/**
 * An index over a vocabulary.
 *
 * @param kind NULL: "".
 * @param keys Ascending and distinct.
 * @param at Integers; their dtype has room for @p count, which no key has.
 * Errors: PITH_E_ARG naming the first key that is not greater than the one before;
 * PITH_E_DTYPE.
 */
PITH_API const pith_index *pith_index_make(pith_scope *s,
                                           const char *kind,
                                           int64_t count,
                                           const int64_t *keys,
                                           const pith_array *at);
/** The index of these values, one of i64 for each: the vocabulary is what is among them.
 */
PITH_API const pith_index *
pith_index_of(pith_scope *s, const char *kind, int64_t count, const int64_t *values);
/** The keys of an index, ascending. @param count Set to how many there are. */
PITH_API const int64_t *
pith_index_keys(pith_scope *s, const pith_index *index, int64_t *count);
/** The key that each integer stands for, as i64; @p missing for what stands for none. */
PITH_API const pith_array *
pith_index_values(pith_scope *s, const pith_index *index, int64_t missing);
/** Whether each integer stands for a key. */
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
