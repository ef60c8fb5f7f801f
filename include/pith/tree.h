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
typedef struct pith_none pith_none; /**< a tree without children */
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

typedef struct pith_function pith_function;
/**
 * A typed function over trees. PITH_FUNCTION1 to 4 define one at compile time.
 * pith_partial and others make one at run time; it belongs to a scope, and pith_keep
 * moves it to an outer scope.
 */
struct pith_function {
    const char *name;
    const void *(*call)(const pith_function *self,
                        pith_scope *s,
                        const void *const *arguments);
    int arity; /**< 1 to 4 */
    /** Types of result and parameters; NULL: any tree; pith_array_pith_type: an array. */
    const pith_type *(*result)(void);
    const pith_type *(*parameters[4])(void);
    const void *closure; /**< for functions made by the library; else NULL */
};

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

/* ---- Maps ---- */

/** A leaf function: leaves[i] is the leaf of the i-th tree. It returns the new leaf, or
 * NULL on failure. */
typedef const pith_array *(*pith_leaf_function)(pith_scope *s,
                                                const pith_array *const *leaves,
                                                void *closure);

/** Options of the maps; zero is the default. */
typedef struct pith_map_options {
    /** If it returns true the node is passed to @c whole and not walked. It is called for
     * records, containers and none of the first tree, from the root down. */
    bool (*is_leaf)(const void *node, void *closure) PITH_DEFAULT;
    /** Maps nodes that is_leaf picks: nodes[i] is the node of the i-th tree, NULL if
     * absent. It returns any tree; NULL only on failure. */
    const void *(*whole)(pith_scope *s,
                         const void *const *nodes,
                         void *closure)PITH_DEFAULT;
    /** The other trees may have any trees at the leaves of the first, as in JAX.
     * Positions without a leaf in every tree go to @c whole. */
    bool up_to PITH_DEFAULT;
} pith_map_options;

/**
 * Apply a function to the leaves of trees of one structure. Leaf specs may differ.
 *
 * @return A tree of the first tree's structure.
 *
 * @par Errors
 * PITH_E_STRUCTURE: lists the first paths that differ. An error of @p function gets the
 * path.
 */
PITH_API const void *pith_tree_map(pith_scope *s,
                                   pith_leaf_function function,
                                   void *closure,
                                   int64_t count,
                                   const void *const *trees,
                                   const pith_map_options *options);
/**
 * Evaluate an elementwise expression over all leaves of trees, in one pass.
 *
 * Operators, functions and casts are those of pith_expression (array_expression.h). They
 * are recorded as primitives, eager or traced, without a compiler. Values have C types:
 * integers narrower than i32 and bool become i32; two operands are converted by the usual
 * arithmetic conversions; f16 and bf16 become f32; a literal has its C type (0.5 is f64,
 * 0.5f is f32); functions of math.h have the type of their first argument (f64 for
 * integers). The result is converted to the dtype of the first tree's leaf as by
 * pith_cast, and has its shape.
 *
 * Arithmetic is that of array operations where C leaves it undefined. Integers wrap. x /
 * y of integers rounds towards zero (quotient), and x / y and x % y (rest) are 0 if y is
 * 0. A shift by the width or more gives 0 or the sign. Floats convert to integers as by
 * pith_cast.
 *
 * @param expression Over the operands a, b, c, d (leaf elements of up to four trees) and
 * the numbers p[0] to p[7] (f32 if a is f32, f16 or bf16; else f64).
 * @param trees The first tree determines structure and shapes. A leaf of another tree, or
 * another tree as a whole, may be an array of rank 0, which is broadcast.
 * @param parameters The numbers p, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: the expression is invalid; a caret marks the position. PITH_E_STRUCTURE,
 * PITH_E_SHAPE, PITH_E_DTYPE: with the path.
 */
PITH_API const void *pith_tree_map_expression(pith_scope *s,
                                              const char *expression,
                                              int64_t count,
                                              const void *const *trees,
                                              int64_t parameter_count,
                                              const double *parameters);

/** Fold a leaf into the value of the leaves before it. Returns the new value, or NULL on
 * failure. */
typedef const pith_array *(*pith_fold_function)(pith_scope *s,
                                                const pith_array *value,
                                                const pith_array *leaf,
                                                void *closure);
/**
 * Fold the leaves of a tree in order: function(function(initial, first), second) and so
 * on.
 *
 * @param initial NULL: start with the first leaf.
 *
 * @par Errors
 * PITH_E_ARG: @p initial is NULL and the tree has no leaves. An error of @p function gets
 * the path of the leaf.
 */
PITH_API const pith_array *pith_tree_reduce(pith_scope *s,
                                            pith_fold_function function,
                                            void *closure,
                                            const void *tree,
                                            const pith_array *initial);

/* ---- Whole trees ---- */

/** The tree with all elements zero. */
PITH_API const void *pith_tree_zeros_like(pith_scope *s, const void *tree);
/** The tree with all elements @p value, which must be exact in integer leaves. */
PITH_API const void *pith_tree_full_like(pith_scope *s, const void *tree, double value);
/** Stack the leaves of trees of one structure and equal specs along a new first axis. */
PITH_API const void *
pith_tree_stack(pith_scope *s, int64_t count, const void *const *trees);
/** Concatenate the leaves of trees of one structure along an axis (negative: from the
 * last). Leaves at one path have one dtype. */
PITH_API const void *
pith_tree_concat(pith_scope *s, int64_t count, const void *const *trees, int axis);
/** Whether structures, specs and all elements are equal. NaN equals NaN, and -0 equals 0.
 * Waits. */
PITH_API bool pith_tree_equal(pith_scope *s, const void *a, const void *b);
/** Whether structures and shapes are equal and |a - b| <= atol + rtol * |b| for all
 * elements. NaN equals NaN, and an infinity equals itself. Computed in f64; |a - b| of
 * integers is exact. Dtypes may differ. Waits. */
PITH_API bool pith_tree_all_close(pith_scope *s,
                                  const void *a,
                                  const void *b,
                                  double rtol,
                                  double atol);
/**
 * Sum trees of one structure and equal specs, with compensation of rounding errors
 * (Kahan).
 *
 * The first tree is the sum so far. The true sum is close to the result minus
 * @p compensation. In a loop, pith_tree_kahan_sum(s, 2, (const void *[]){sum, step},
 * lost, &lost) keeps a running sum whose error does not grow with the number of steps.
 *
 * @param compensate The compensation of an earlier call; NULL at first.
 * @param compensation Set to a tree of the same structure: the new compensation; 0 for
 * integers and for sums that are not finite. May be NULL.
 */
PITH_API const void *pith_tree_kahan_sum(pith_scope *s,
                                         int64_t count,
                                         const void *const *trees,
                                         const void *compensate,
                                         const void **compensation);

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

/* ---- Typed functions ---- */

/**
 * Call a typed function. Arguments are checked against its parameter types, the result
 * against its result type.
 *
 * @return The result, kept if it does not outlive @p s. On failure the nil record of the
 * result's type, or NULL.
 */
PITH_API const void *pith_call(pith_scope *s,
                               const pith_function *function,
                               int64_t count,
                               const void *const *arguments);
/** pith_call with a list of arguments: pith_apply(s, &step, state, key). The result
 * converts to a pointer to any record, in C++ too. */
#ifdef __cplusplus
#    define pith_apply(s, function, ...)                                                 \
        pith_tree_(pith_call((s), (function), PITH_COUNT_ARGS_(__VA_ARGS__),             \
                             PITH_ARRAY_(const void *, __VA_ARGS__)))
#else
#    define pith_apply(s, function, ...)                                                 \
        pith_call((s), (function), PITH_COUNT_ARGS_(__VA_ARGS__),                        \
                  PITH_ARRAY_(const void *, __VA_ARGS__))
#endif
/**
 * Partial application: bind the last parameter of a function to a tree. The result is a
 * function of the other parameters, with the same name.
 *
 * Tree and function are kept if they do not outlive @p s. In a compiled function the
 * leaves of the tree are inputs, and its statics belong to the structure.
 *
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: @p function is no function, or has fewer than two parameters. PITH_E_TYPE:
 * the tree is not of the parameter's type.
 */
PITH_API const pith_function *
pith_partial(pith_scope *s, const pith_function *function, const void *tree);

PITH_END

/* Only the thunks cast. A function of another signature does not compile.
 */
#ifdef __cplusplus
#    define PITH_SIGNATURE_(fn, T)                                                       \
        static_assert(std::is_same<decltype(&fn), std::remove_cv<T>::type>::value,       \
                      #fn " has not the signature that PITH_FUNCTION states");
#else
#    define PITH_SIGNATURE_(fn, T)                                                       \
        _Static_assert(_Generic(&fn, T : 1, default : 0),                                \
                       #fn " has not the signature that PITH_FUNCTION states");
#endif
#define PITH_FUNCTION1(step, fn, R, A)                                                   \
    PITH_SIGNATURE_(fn, const R *(*)(pith_scope *, const A *))                           \
    static const void *step##_thunk(const pith_function *self_, pith_scope *in_,         \
                                    const void *const *a_) {                             \
        (void)self_;                                                                     \
        return fn(in_, (const A *)a_[0]);                                                \
    }                                                                                    \
    __attribute__((unused)) static const pith_function step = {                          \
        #fn, step##_thunk, 1, PITH_TYPE_OF_(R), {PITH_TYPE_OF_(A), NULL, NULL, NULL},    \
        NULL};
#define PITH_FUNCTION2(step, fn, R, A, B)                                                \
    PITH_SIGNATURE_(fn, const R *(*)(pith_scope *, const A *, const B *))                \
    static const void *step##_thunk(const pith_function *self_, pith_scope *in_,         \
                                    const void *const *a_) {                             \
        (void)self_;                                                                     \
        return fn(in_, (const A *)a_[0], (const B *)a_[1]);                              \
    }                                                                                    \
    __attribute__((unused)) static const pith_function step = {                          \
        #fn,                                                                             \
        step##_thunk,                                                                    \
        2,                                                                               \
        PITH_TYPE_OF_(R),                                                                \
        {PITH_TYPE_OF_(A), PITH_TYPE_OF_(B), NULL, NULL},                                \
        NULL};
#define PITH_FUNCTION3(step, fn, R, A, B, C)                                             \
    PITH_SIGNATURE_(fn, const R *(*)(pith_scope *, const A *, const B *, const C *))     \
    static const void *step##_thunk(const pith_function *self_, pith_scope *in_,         \
                                    const void *const *a_) {                             \
        (void)self_;                                                                     \
        return fn(in_, (const A *)a_[0], (const B *)a_[1], (const C *)a_[2]);            \
    }                                                                                    \
    __attribute__((unused)) static const pith_function step = {                          \
        #fn,                                                                             \
        step##_thunk,                                                                    \
        3,                                                                               \
        PITH_TYPE_OF_(R),                                                                \
        {PITH_TYPE_OF_(A), PITH_TYPE_OF_(B), PITH_TYPE_OF_(C), NULL},                    \
        NULL};
#define PITH_FUNCTION4(step, fn, R, A, B, C, D)                                          \
    PITH_SIGNATURE_(                                                                     \
        fn, const R *(*)(pith_scope *, const A *, const B *, const C *, const D *))      \
    static const void *step##_thunk(const pith_function *self_, pith_scope *in_,         \
                                    const void *const *a_) {                             \
        (void)self_;                                                                     \
        return fn(in_, (const A *)a_[0], (const B *)a_[1], (const C *)a_[2],             \
                  (const D *)a_[3]);                                                     \
    }                                                                                    \
    __attribute__((unused)) static const pith_function step = {                          \
        #fn,                                                                             \
        step##_thunk,                                                                    \
        4,                                                                               \
        PITH_TYPE_OF_(R),                                                                \
        {PITH_TYPE_OF_(A), PITH_TYPE_OF_(B), PITH_TYPE_OF_(C), PITH_TYPE_OF_(D)},        \
        NULL};
#define PITH_TYPE_OF_(T) T##_pith_type

/* `void` in PITH_FUNCTION is any tree, `pith_array` an array. */
#define void_pith_type NULL

/* ---- Calls of the macros above: a struct and the arguments after it ---- */

#ifdef __cplusplus
extern "C++" {
class pith_tree_ {
  public:
    explicit pith_tree_(const void *tree) : tree_(tree) {}
    template <class T> operator const T *() const {
        return static_cast<const T *>(tree_);
    }

  private:
    const void *tree_;
};
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

#include <pith/tree_index.h>
#include <pith/tree_parts.h>
#include <pith/tree_structure.h>

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_freeze_any(s, ...) pith_freeze_any(PITH_AT(s), __VA_ARGS__)
#    define pith_make_any(s, ...)   pith_make_any(PITH_AT(s), __VA_ARGS__)
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
#    define pith_tree_map(s, ...)       pith_tree_map(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_map_expression(s, ...)                                             \
        pith_tree_map_expression(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_reduce(s, ...)     pith_tree_reduce(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_zeros_like(s, ...) pith_tree_zeros_like(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_full_like(s, ...)  pith_tree_full_like(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_stack(s, ...)      pith_tree_stack(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_concat(s, ...)     pith_tree_concat(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_equal(s, ...)      pith_tree_equal(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_all_close(s, ...)  pith_tree_all_close(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_kahan_sum(s, ...)  pith_tree_kahan_sum(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_resize_any(s, ...) pith_tree_resize_any(PITH_AT(s), __VA_ARGS__)
#    define pith_print(s, ...)           pith_print(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_text(s, ...)       pith_tree_text(PITH_AT(s), __VA_ARGS__)
#    define pith_call(s, ...)            pith_call(PITH_AT(s), __VA_ARGS__)
#    define pith_partial(s, ...)         pith_partial(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
