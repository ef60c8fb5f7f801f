/**
 * @file
 * Trees: records, lists, tuples and dicts whose leaves are arrays, and functions over
 * them.
 *
 * A tree is a pointer to a frozen record, a container or an array. Functions that accept
 * any tree take `const void *`. Trees are immutable. To update one, copy the struct,
 * change and freeze it; the result shares all unchanged parts. NULL in an optional field
 * is an absent child: a kind of node without leaves.
 *
 * A path is a sequence of ".field", "[3]" (list, tuple) and "['key']" (dict; a backslash
 * escapes quotes, backslashes and control characters). "" is the root. A static of a
 * struct by value is ".box.x". Errors, checkpoints and lenses use this grammar, and
 * parsing a printed path gives the same path.
 *
 * Results belong to @p s. On failure makers of records return the nil record of the type,
 * other makers NULL, and the scope has the error. Order of leaves: fields as declared,
 * items by index, dict keys by code point.
 */
#ifndef PITH_TREE_H
#define PITH_TREE_H

#include <pith/array.h>
#include <pith/node.h>
#include <stdio.h>

typedef struct pith_list pith_list;   /**< any number of trees, by index */
typedef struct pith_tuple pith_tuple; /**< like a list, but another kind */
typedef struct pith_dict
    pith_dict; /**< trees with distinct string keys, sorted by code point */
typedef struct pith_none pith_none;         /**< a tree without children */
typedef struct pith_function pith_function; /**< over trees (tree_function.h) */
typedef struct pith_treedef
    pith_treedef; /**< the structure of a tree, with the specs of its leaves */

/** Kind of a node. */
typedef enum pith_node_kind {
    PITH_NODE_ABSENT, /**< NULL */
    PITH_NODE_LEAF,
    PITH_NODE_RECORD,
    PITH_NODE_LIST,
    PITH_NODE_TUPLE,
    PITH_NODE_DICT,
    PITH_NODE_NONE
} pith_node_kind;

/** The size of a named extent, for pith_make. */
typedef struct pith_extent {
    const char *name;
    int64_t size;
} pith_extent;
/** List of extents: PITH_EXTENTS({"n", 4000}, {"m", 3}). */
#define PITH_EXTENTS(...) PITH_ARRAY_(pith_extent, __VA_ARGS__, {NULL, 0})

/* The struct of a record to freeze: also a compound literal with commas. A pointer to
 * another struct does not compile. */
#ifdef __cplusplus
#    define PITH_VALUE_(T, ...) (1 ? (__VA_ARGS__) : static_cast<const T *>(NULL))
#else
static inline const void *pith_struct_(const void *value) {
    return value;
}
struct pith_value_must_point_to_the_struct_of_the_record {
    int other;
};
const void *
pith_other_struct_(struct pith_value_must_point_to_the_struct_of_the_record other);
#    define PITH_VALUE_(T, ...)                                                          \
        _Generic(__VA_ARGS__, T * : pith_struct_, const T * : pith_struct_,              \
                 void * : pith_struct_, default : pith_other_struct_)(__VA_ARGS__)
#endif

PITH_BEGIN

/* ---- Records ---- */

/** Freeze a struct into a record of T: pith_freeze(s, Sim, &next). See pith_freeze_any.
 */
#define pith_freeze(s, T, ...)                                                           \
    ((const T *)pith_freeze_any((s), T##_pith_type(), PITH_VALUE_(T, __VA_ARGS__)))
/** Freeze a record of T from members: pith_record(s, Sim, .atoms = atoms, .step = 3).
 * Other members are 0 or NULL (pith_make fills them instead). C++: from C++20. */
#ifdef __cplusplus
#    define pith_record(s, T, ...)                                                       \
        pith_record_<T>(PITH_SITE_(s), T##_pith_type(), T{__VA_ARGS__})
#else
#    define pith_record(s, T, ...)                                                       \
        ((const T *)pith_freeze_any((s), T##_pith_type(), &(const T){__VA_ARGS__}))
#endif
/**
 * Freeze a struct into a record. The struct is copied, statics are interned, extents are
 * checked and validation hooks run. Leaves and children must be frozen and fit their
 * specs. Those that do not outlive @p s are kept (pith_keep).
 *
 * The leaves of a node agree on named extents and on extra leading extents. All `float`
 * leaves of a tree have one dtype. The ^names of a leaf are checked when the enclosing
 * node that defines them is made.
 *
 * @return The record. On failure the type's nil record: zeroed, leaves NULL, required
 * children nil. Never NULL.
 *
 * @par Errors
 * Each with path, expected and actual value: PITH_E_ARG: a child is not frozen, or absent
 * and not optional. PITH_E_TYPE, PITH_E_DTYPE, PITH_E_SHAPE, PITH_E_DONATED: a leaf or
 * child does not fit. Errors of validation hooks.
 */
PITH_API const void *
pith_freeze_any(pith_scope *s, const pith_type *type, const void *value);
/** A struct T with initial values of statics, and NULL leaves and children. */
#define pith_initial(T) (*(const T *)pith_initial_any(T##_pith_type()))
/** The struct of pith_initial; zeros for a type with an error. Never NULL. */
PITH_API const void *pith_initial_any(const pith_type *type);
/**
 * Make a record from its declaration: pith_make(s, Sim, &(Sim){.n = 3}, NULL). As
 * pith_freeze, but required leaves that are NULL are made with their fill value; their
 * extents come from statics, other leaves and @p extents. Required children and static
 * records that are NULL are made the same way. Made `float` leaves have the dtype of the
 * given ones, or f64.
 *
 * @param value The struct; NULL: the initial one.
 * @param extents Sizes of extents that no static or leaf determines, or NULL. They apply
 * to made children too.
 *
 * @par Errors
 * PITH_E_ARG: an entry of @p extents names no extent. PITH_E_SHAPE: an extent is unknown.
 * Those of pith_freeze_any.
 */
#ifdef __cplusplus
#    define pith_make(s, T, ...)                                                         \
        pith_make_<T>(PITH_SITE_(s), T##_pith_type(), __VA_ARGS__)
#else
#    define pith_make(s, T, ...)                                                         \
        ((const T *)pith_make_(PITH_SITE_(s), T##_pith_type(),                           \
                               PITH_VALUE_AND_(T, pith_extent, __VA_ARGS__)))
#endif
/** As pith_make, for the type of a record. */
PITH_API const void *pith_make_any(pith_scope *s,
                                   const pith_type *type,
                                   const void *value,
                                   const pith_extent *extents);
/** Options of pith_tree_resize; zero is the default. */
typedef struct pith_resize_options {
    bool shrink PITH_DEFAULT; /**< allow smaller extents: the tail is dropped */
} pith_resize_options;
/**
 * Resize leaves to the statics that name their extents: pith_tree_resize(s, Sim, &next,
 * NULL).
 *
 * @param value A copy of a record's struct T with changed statics. Leaves keep their
 * contents; new elements are the field's fill.
 */
#ifdef __cplusplus
#    define pith_tree_resize(s, T, ...)                                                  \
        pith_tree_resize_<T>(PITH_SITE_(s), T##_pith_type(), __VA_ARGS__)
#else
#    define pith_tree_resize(s, T, ...)                                                  \
        ((const T *)pith_tree_resize_(                                                   \
            PITH_SITE_(s), T##_pith_type(),                                              \
            PITH_VALUE_AND_(T, pith_resize_options, __VA_ARGS__)))
#endif
/** As pith_tree_resize, for the type of a record. */
PITH_API const void *pith_tree_resize_any(pith_scope *s,
                                          const pith_type *type,
                                          const void *value,
                                          const pith_resize_options *options);
/** The type of a record; NULL for a nil record and any other object. */
PITH_API const pith_type *pith_type_of(const void *tree);
/** Whether @p record is a record of T, and no nil record. */
#define pith_is(T, record) (pith_type_of(record) == T##_pith_type())
/**
 * Turn the validation hooks (PITH_VALIDATE) of records made in @p s, and in children
 * opened from now on, on or off. They are on at first.
 *
 * @par Errors
 * PITH_E_TRACED: a compiled function does not restore the setting of its own scope.
 */
PITH_API void pith_scope_set_validation(pith_scope *s, bool on);

/* ---- Containers. Items are trees; NULL is refused (use pith_none_make). ---- */

/** A list of @p count trees: pith_list_make(s, PITH_ITEMS(a, b)).
 *
 * @par Errors
 * PITH_E_ARG: the count is negative, or an item is NULL or no tree. */
PITH_API const pith_list *
pith_list_make(pith_scope *s, int64_t count, const void *const *items);
/** A tuple of @p count trees; errors as pith_list_make. */
PITH_API const pith_tuple *
pith_tuple_make(pith_scope *s, int64_t count, const void *const *items);
/** A dict of @p count trees. @param keys Distinct UTF-8 strings in any order.
 *
 * @par Errors
 * PITH_E_ARG: a key is NULL, repeated or not UTF-8. Those of pith_list_make. */
PITH_API const pith_dict *pith_dict_make(pith_scope *s,
                                         int64_t count,
                                         const char *const *keys,
                                         const void *const *items);
/** The tree without children, for an empty item of a container. */
PITH_API const pith_none *pith_none_make(pith_scope *s);
/** Count and items for the makers above: PITH_ITEMS(a, b, c). */
#define PITH_ITEMS(...)                                                                  \
    (int64_t) PITH_COUNT_OF_(const void *, __VA_ARGS__),                                 \
        PITH_ARRAY_(const void *, __VA_ARGS__)

/** Kind of a tree's root; PITH_NODE_ABSENT for NULL, nil records and invalid objects. */
PITH_API pith_node_kind pith_kind(const void *tree);
/** Name of a kind: "absent", "leaf", "record", "list", "tuple", "dict" or "none"; NULL
 * for any other value. Checkpoints and `pith show --json` use these names. */
PITH_API const char *pith_node_kind_name(pith_node_kind kind);
/** Number of children: items of a container, or leaves and children of a record; 0 for a
 * leaf. */
PITH_API int64_t pith_child_count(const void *tree);
/** A child by index, borrowed from the tree; NULL if it is absent or out of range. */
PITH_API const void *pith_child(const void *tree, int64_t index);
/** An item of a dict by key, or NULL. */
PITH_API const void *pith_dict_get(const pith_dict *dict, const char *key);
/** The key of a dict item, or the name of a record's leaf or child; NULL for others. */
PITH_API const char *pith_child_name(const void *tree, int64_t index);

/* ---- Lifetimes ---- */

/**
 * Move a result to an outer scope: @p object and all that it reaches belong to @p outer.
 *
 * Parts that live in @p outer or a scope around it are shared. Other nodes are copied.
 * The data of arrays is shared, unless a small part would hold a block of more than twice
 * its size.
 *
 * @return The object in @p outer (possibly @p object itself), or NULL.
 *
 * @par Errors
 * PITH_E_TRACED: the object has traced arrays.
 */
PITH_API const void *pith_keep_any(pith_scope *outer, const void *object);
/** pith_keep_any, keeping the type of its argument. */
#define pith_keep(outer, object) ((__typeof__(object))pith_keep_any((outer), (object)))

/** A reference to a tree that no scope owns, to pass to another thread. */
typedef struct pith_shared pith_shared;
/** Make a reference to @p tree that no scope owns. pith_adopt or pith_unshare must
 * release it. */
PITH_API pith_shared *pith_share(pith_scope *s, const void *tree);
/** Move a shared tree into @p s, which may belong to another thread. Consumes @p shared
 * unless it fails. */
PITH_API const void *pith_adopt(pith_scope *s, pith_shared *shared);
/** Release a shared tree without adopting it. NULL does nothing. */
PITH_API void pith_unshare(pith_shared *shared);

/* ---- Structure ---- */

/** The structure of a tree: kinds, types, keys, statics, absent children and leaf specs.
 */
PITH_API const pith_treedef *pith_tree_structure(pith_scope *s, const void *tree);
/**
 * Flatten a tree: its leaves in order, and its structure.
 *
 * @param leaves Set to an array of the leaves, owned by @p s. Absent leaves are skipped.
 * @return The structure, or NULL.
 */
PITH_API const pith_treedef *
pith_tree_flatten(pith_scope *s, const void *tree, const pith_array *const **leaves);
/**
 * Make a tree of a structure from leaves. Validation hooks run, even if no leaf changed.
 * Leaves that do not outlive @p s are kept (pith_keep).
 *
 * @par Errors
 * PITH_E_ARG: the count differs. Those of pith_freeze_any: a leaf does not fit its
 * declaration.
 */
PITH_API const void *pith_tree_unflatten(pith_scope *s,
                                         const pith_treedef *def,
                                         int64_t count,
                                         const pith_array *const *leaves);
/** Number of leaves of a tree; 0 for an invalid one; -1 if memory is too short to walk a
 * deep tree. */
PITH_API int64_t pith_tree_num_leaves(const void *tree);
/** Number of leaves of a structure; 0 for an invalid one. */
PITH_API int64_t pith_treedef_num_leaves(const pith_treedef *def);
/** Number of nodes of a structure, with leaves and absent children. */
PITH_API int64_t pith_treedef_num_nodes(const pith_treedef *def);
/** Spec of the i-th leaf, valid as long as the runtime. NULL if there is no such leaf, or
 * if any tree may stand there (pith_tree_flatten_where). */
PITH_API const pith_spec *pith_treedef_leaf_spec(const pith_treedef *def, int64_t leaf);
/** Whether structures and leaf specs are equal. */
PITH_API bool pith_treedef_equal(const pith_treedef *a, const pith_treedef *b);
/** A hash of a structure. Equal structures of a runtime have equal hashes. The value may
 * change between processes. */
PITH_API uint64_t pith_treedef_hash(const pith_treedef *def);
/** Bytes of all leaves; a leaf that occurs twice counts twice. SIZE_MAX if memory is too
 * short to walk a deep tree. */
PITH_API size_t pith_tree_bytes(const void *tree);

/* ---- Paths ---- */

/** Path of the i-th leaf, owned by @p s; NULL on failure.
 *
 * @par Errors
 * PITH_E_INDEX: there is no such leaf. */
PITH_API const char *pith_tree_path(pith_scope *s, const void *tree, int64_t leaf);
/** Paths of all leaves in order, owned by @p s. */
PITH_API const char *const *pith_tree_paths(pith_scope *s, const void *tree);
/** The node at a path; NULL without an error if it is absent.
 *
 * @par Errors
 * PITH_E_PATH: names the failing step and the node found there. */
PITH_API const void *pith_tree_at(pith_scope *s, const void *tree, const char *path);
/** Parse a path and print it in canonical form.
 *
 * @par Errors
 * PITH_E_PATH: the path is malformed. */
PITH_API const char *pith_path_normal(pith_scope *s, const char *path);

/* ---- Printing ---- */

/** Options of pith_print; zero is the default. */
typedef struct pith_print_options {
    int64_t most_lines PITH_DEFAULT; /**< limit; longer containers are cut in the middle;
                                        0: 60; -1: no limit */
    bool values PITH_DEFAULT;        /**< show the first elements of leaves (waits) */
    bool docs PITH_DEFAULT;          /**< show the fields' docs */
} pith_print_options;
/**
 * Draw a tree: types, paths, dtypes, shapes, units, bytes, statics.
 *
 * @param out NULL: stdout.
 * @param options NULL for the defaults.
 *
 * @par Errors
 * PITH_E_ARG: @p tree is no tree. PITH_E_IO: writing failed.
 */
PITH_API void
pith_print(pith_scope *s, const void *tree, FILE *out, const pith_print_options *options);
/** The drawing of pith_print as text, owned by @p s; NULL on failure. */
PITH_API const char *
pith_tree_text(pith_scope *s, const void *tree, const pith_print_options *options);

PITH_END

/* ---- Calls of the macros above: a struct and the arguments after it ---- */

#ifdef __cplusplus
extern "C++" {
template <class T>
inline const T *pith_record_(pith_scope *s, const pith_type *type, const T &value) {
    return static_cast<const T *>((pith_freeze_any)(s, type, &value));
}
template <class T>
inline const T *pith_make_(pith_scope *s,
                           const pith_type *type,
                           const T *value,
                           const pith_extent *extents) {
    return static_cast<const T *>((pith_make_any)(s, type, value, extents));
}
template <class T>
inline const T *pith_tree_resize_(pith_scope *s,
                                  const pith_type *type,
                                  const T *value,
                                  const pith_resize_options *options) {
    return static_cast<const T *>((pith_tree_resize_any)(s, type, value, options));
}
}
#else
/* Two pointers as the initialiser of a struct: so commas in literals part nothing. */
#    define PITH_VALUE_AND_(T, Other, ...)                                               \
        (&(const struct {                                                                \
            const T *value;                                                              \
            const Other *other;                                                          \
        }){__VA_ARGS__})
typedef struct pith_value_and_ {
    const void *value, *other;
} pith_value_and_;
static inline const void *
pith_make_(pith_scope *s, const pith_type *type, const void *arguments) {
    pith_value_and_ a;
    __builtin_memcpy(&a, arguments, sizeof a);
    return (pith_make_any)(s, type, a.value, (const pith_extent *)a.other);
}
static inline const void *
pith_tree_resize_(pith_scope *s, const pith_type *type, const void *arguments) {
    pith_value_and_ a;
    __builtin_memcpy(&a, arguments, sizeof a);
    return (pith_tree_resize_any)(s, type, a.value, (const pith_resize_options *)a.other);
}
#endif

#include <pith/tree_function.h>
#include <pith/tree_index.h>
#include <pith/tree_leafwise.h>
#include <pith/tree_parts.h>
#include <pith/tree_structure.h>

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_freeze_any(s, ...)      pith_freeze_any(PITH_AT(s), __VA_ARGS__)
#    define pith_make_any(s, ...)        pith_make_any(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_resize_any(s, ...) pith_tree_resize_any(PITH_AT(s), __VA_ARGS__)
#    define pith_scope_set_validation(s, ...)                                            \
        pith_scope_set_validation(PITH_AT(s), __VA_ARGS__)
#    define pith_list_make(s, ...)      pith_list_make(PITH_AT(s), __VA_ARGS__)
#    define pith_tuple_make(s, ...)     pith_tuple_make(PITH_AT(s), __VA_ARGS__)
#    define pith_dict_make(s, ...)      pith_dict_make(PITH_AT(s), __VA_ARGS__)
#    define pith_none_make(s)           pith_none_make(PITH_AT(s))
#    define pith_keep_any(s, ...)       pith_keep_any(PITH_AT(s), __VA_ARGS__)
#    define pith_share(s, ...)          pith_share(PITH_AT(s), __VA_ARGS__)
#    define pith_adopt(s, ...)          pith_adopt(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_structure(s, ...) pith_tree_structure(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_flatten(s, ...)   pith_tree_flatten(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_unflatten(s, ...) pith_tree_unflatten(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_path(s, ...)      pith_tree_path(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_paths(s, ...)     pith_tree_paths(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_at(s, ...)        pith_tree_at(PITH_AT(s), __VA_ARGS__)
#    define pith_path_normal(s, ...)    pith_path_normal(PITH_AT(s), __VA_ARGS__)
#    define pith_print(s, ...)          pith_print(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_text(s, ...)      pith_tree_text(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
