/**
 * @file
 * Trees: records, lists, tuples and dicts whose leaves are arrays, and functions over
 * them.
 *
 * A tree is a pointer to a frozen record, a container or an array; where any of them will
 * do a function takes `const void *`. Trees are immutable: an update copies the struct,
 * edits and freezes it, and the result shares what did not change. NULL in an optional
 * place is an absent child, a node of its own kind without leaves.
 *
 * Paths: ".field", "[3]" (list, tuple), "['key']" (dict; quotes, backslashes and control
 * characters are escaped with a backslash), one after the other; "" is the root. A static
 * of a struct by value is
 * ".box.x". The same grammar serves errors, checkpoints and lenses; parsing what was
 * printed gives it back.
 *
 * Results belong to @p s. On failure makers return NULL (makers of records the type's nil
 * record) and the scope carries the error. Order of leaves: fields as declared, items by
 * index, dict keys by code point.
 */
#ifndef PITH_TREE_H
#define PITH_TREE_H

#include <pith/array.h>
#include <pith/node.h>
#include <stdio.h>

typedef struct pith_list pith_list;   /**< any number of trees, by index */
typedef struct pith_tuple pith_tuple; /**< as a list, a kind of its own */
typedef struct pith_dict
    pith_dict; /**< trees under distinct strings, sorted by code point */
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
/** PITH_EXTENTS({"n", 4000}, {"m", 3}) */
#define PITH_EXTENTS(...) PITH_ARRAY_(pith_extent, __VA_ARGS__, {NULL, 0})

/* The struct of a record that is to be frozen, which may be a compound literal with
 * commas; another struct's does not compile. */
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
 * A typed function over trees: made by PITH_FUNCTION1 to 4 where it is written, and by
 * pith_partial and others at run time: those belong to a scope, and pith_keep moves them
 * outward.
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
    const void *closure; /**< of functions that the library makes; else NULL */
};

PITH_BEGIN

/* ---- Records ---- */

/** Freeze a struct into a record of T: pith_freeze(s, Sim, &next). Extents are checked,
 * hooks run. */
#define pith_freeze(s, T, ...)                                                           \
    ((const T *)pith_freeze_any((s), T##_pith_type(), PITH_VALUE_(T, __VA_ARGS__)))
/** Freeze a record of T from its members: pith_record(s, Sim, .atoms = atoms, .step = 3).
 * Members that are not named are 0 or NULL (pith_make fills them instead). In C++ from
 * C++20. */
#ifdef __cplusplus
#    define pith_record(s, T, ...)                                                       \
        pith_record_<T>(PITH_SITE_(s), T##_pith_type(), T{__VA_ARGS__})
#else
#    define pith_record(s, T, ...)                                                       \
        ((const T *)pith_freeze_any((s), T##_pith_type(), &(const T){__VA_ARGS__}))
#endif
/**
 * Freeze a struct: statics are interned, leaves and children must be frozen, fit their
 * specs and outlive
 * @p s (those that do not are kept, see pith_keep). The struct itself is copied.
 *
 * Leaves of one node agree on the extents they name and on extra leading extents; `float`
 * leaves agree in the whole tree; a leaf's ^names are checked when the enclosing node
 * that has them is made.
 *
 * Errors: PITH_E_ARG (a child that is not frozen, or absent and not optional),
 * PITH_E_TYPE, PITH_E_DTYPE, PITH_E_SHAPE, PITH_E_DONATED, each with the path, what was
 * expected and what was there, and whatever a validation hook reports.
 * @return The record, or the type's nil record: zeroed, leaves NULL, required children
 * nil. Never NULL.
 */
PITH_API const void *
pith_freeze_any(pith_scope *s, const pith_type *type, const void *value);
/** A T whose statics have their initial values and whose leaves and children are NULL. */
#define pith_initial(T) (*(const T *)pith_initial_any(T##_pith_type()))
/** The values of pith_initial; zeros for a type with an error. Never NULL. */
PITH_API const void *pith_initial_any(const pith_type *type);
/**
 * Make a record from its declaration: as pith_freeze, but leaves that are NULL and not
 * optional are made, filled with their fill, with extents that statics, other leaves and
 * @p extents give; children that are NULL and not optional are made the same way, and so
 * are static records.
 *
 * `float` leaves that are made take the dtype of those that are given, f64 without any.
 *
 * @param value The struct; NULL: the initial one.
 * @param extents Sizes of extents that no static and no leaf gives, or NULL. They hold
 * for the children that are made, too. One that names nothing is PITH_E_ARG; one that is
 * missing is PITH_E_SHAPE.
 */
#ifdef __cplusplus
#    define pith_make(s, T, ...)                                                         \
        pith_make_<T>(PITH_SITE_(s), T##_pith_type(), __VA_ARGS__)
#else
#    define pith_make(s, T, ...)                                                         \
        ((const T *)pith_make_(PITH_SITE_(s), T##_pith_type(),                           \
                               PITH_VALUE_AND_(T, pith_extent, __VA_ARGS__)))
#endif
PITH_API const void *pith_make_any(pith_scope *s,
                                   const pith_type *type,
                                   const void *value,
                                   const pith_extent *extents);
/** The type of a record; NULL for a nil record and for any other object. */
PITH_API const pith_type *pith_type_of(const void *tree);
/** Whether @p record is a record of T (and no nil record). */
#define pith_is(T, record) (pith_type_of(record) == T##_pith_type())
/**
 * Turn the validation hooks (PITH_VALIDATE) of records made in @p s, and in children
 * opened from now on, on or off. They are on at first.
 *
 * @par Errors
 * PITH_E_TRACED: a compiled function does not restore the setting of its own scope.
 */
PITH_API void pith_scope_set_validation(pith_scope *s, bool on);

/* ---- Containers. Items are trees; NULL items are refused (use pith_none_make). ---- */

PITH_API const pith_list *
pith_list_make(pith_scope *s, int64_t count, const void *const *items);
PITH_API const pith_tuple *
pith_tuple_make(pith_scope *s, int64_t count, const void *const *items);
/** keys: UTF-8, any order, distinct. */
PITH_API const pith_dict *pith_dict_make(pith_scope *s,
                                         int64_t count,
                                         const char *const *keys,
                                         const void *const *items);
PITH_API const pith_none *pith_none_make(pith_scope *s);
/** PITH_ITEMS(a, b, c): count and items for the makers above. */
#define PITH_ITEMS(...)                                                                  \
    (int64_t) PITH_COUNT_OF_(const void *, __VA_ARGS__),                                 \
        PITH_ARRAY_(const void *, __VA_ARGS__)

/** Kind of a tree's root; PITH_NODE_ABSENT for NULL, nil records and what is no object.
 */
PITH_API pith_node_kind pith_kind(const void *tree);
/** Name of a kind: "absent", "leaf", "record", "list", "tuple", "dict" or "none"; NULL
 * for any other value. Checkpoints and `pith show --json` use these names. */
PITH_API const char *pith_node_kind_name(pith_node_kind kind);
/** Children of a node: items of a container, leaves and children of a record; 0 for a
 * leaf. */
PITH_API int64_t pith_child_count(const void *tree);
/** A child by its place; NULL where there is none. Borrowed from the tree. */
PITH_API const void *pith_child(const void *tree, int64_t index);
/** An item of a dict by key; NULL where there is none. */
PITH_API const void *pith_dict_get(const pith_dict *dict, const char *key);
/** The key of a dict's item, or the name of a record's field that is a child or leaf;
 * NULL where there is none. */
PITH_API const char *pith_child_name(const void *tree, int64_t index);

/* ---- Lifetimes ---- */

/**
 * Move a result outward: make @p object, with all it reaches, belong to @p outer.
 *
 * Parts that live in @p outer or a scope around it are shared; of others the nodes are
 * copied and the data of arrays is shared, except where a small part would hold a block
 * more than twice its size. Traced arrays are refused (PITH_E_TRACED).
 *
 * @return The object in @p outer (it may be @p object itself), or NULL.
 */
PITH_API const void *pith_keep_any(pith_scope *outer, const void *object);
/** pith_keep_any with the type of its argument kept. */
#define pith_keep(outer, object) ((__typeof__(object))pith_keep_any((outer), (object)))

/** A reference to a tree that no scope owns, to hand to another thread. */
typedef struct pith_shared pith_shared;
/** Take a reference to @p tree that is owned by no scope; it must be adopted or unshared.
 */
PITH_API pith_shared *pith_share(pith_scope *s, const void *tree);
/** Give a shared tree to @p s, which may belong to another thread. Consumes @p shared
 * unless it fails. */
PITH_API const void *pith_adopt(pith_scope *s, pith_shared *shared);
/** Drop a shared tree that nobody adopts. NULL does nothing. */
PITH_API void pith_unshare(pith_shared *shared);

/* ---- Structure ---- */

/** The structure of a tree: kinds, types, keys, statics, absences, and the specs of its
 * leaves. */
PITH_API const pith_treedef *pith_tree_structure(pith_scope *s, const void *tree);
/**
 * The leaves of a tree in order, and its structure.
 *
 * @param leaves Set to an array of the tree's leaves, owned by @p s (absent ones are no
 * leaves).
 * @return The structure, or NULL.
 */
PITH_API const pith_treedef *
pith_tree_flatten(pith_scope *s, const void *tree, const pith_array *const **leaves);
/**
 * A tree of that structure with these leaves, which must be as many and fit what their
 * records declare. Check hooks run, also where no leaf changed; a leaf that does not
 * outlive @p s is kept (pith_keep).
 */
PITH_API const void *pith_tree_unflatten(pith_scope *s,
                                         const pith_treedef *def,
                                         int64_t count,
                                         const pith_array *const *leaves);
/** Number of leaves of a tree or of a structure; 0 for what is neither, -1 where memory
 * is too short to walk a deep tree. */
PITH_API int64_t pith_tree_num_leaves(const void *tree);
PITH_API int64_t pith_treedef_num_leaves(const pith_treedef *def);
/** Nodes of a structure, leaves and absent places included. */
PITH_API int64_t pith_treedef_num_nodes(const pith_treedef *def);
/** Dtype and shape of the i-th leaf; NULL where there is none, or where the structure has
 * a place for any tree. They live as long as the runtime. */
PITH_API const pith_spec *pith_treedef_leaf_spec(const pith_treedef *def, int64_t leaf);
/** Equality by value: structure and leaf specs. */
PITH_API bool pith_treedef_equal(const pith_treedef *a, const pith_treedef *b);
/** A hash by value, equal for equal structures of a runtime; not for files. */
PITH_API uint64_t pith_treedef_hash(const pith_treedef *def);
/** Bytes of all leaves, one in two places twice; SIZE_MAX where memory is too short to
 * walk a deep tree. */
PITH_API size_t pith_tree_bytes(const void *tree);

/* ---- Paths ---- */

/** Path of the i-th leaf; NULL with PITH_E_INDEX where there is none. */
PITH_API const char *pith_tree_path(pith_scope *s, const void *tree, int64_t leaf);
/** Paths of all leaves, in order. */
PITH_API const char *const *pith_tree_paths(pith_scope *s, const void *tree);
/** The node at a path, NULL without an error where it is absent; PITH_E_PATH names the
 * step that fails and what is there. */
PITH_API const void *pith_tree_at(pith_scope *s, const void *tree, const char *path);
/** A path in canonical form: parse it, print it; PITH_E_PATH where it is none. */
PITH_API const char *pith_path_normal(pith_scope *s, const char *path);

/* ---- Maps ---- */

/** A leaf function: leaves[i] is the leaf of the i-th tree. Returns the new leaf, or NULL
 * on failure. */
typedef const pith_array *(*pith_leaf_function)(pith_scope *s,
                                                const pith_array *const *leaves,
                                                void *closure);

/** Options of the maps; zero is the default. */
typedef struct pith_map_options {
    /** Where it says so the node is handed to @c whole instead of being walked. It is
     * asked of records, containers and none of the first tree, from the root on. */
    bool (*is_leaf)(const void *node, void *closure) PITH_DEFAULT;
    /** What becomes of nodes that is_leaf picks: nodes[i] is what the i-th tree has
     * there, NULL where that is absent. Any tree; NULL only on failure. */
    const void *(*whole)(pith_scope *s,
                         const void *const *nodes,
                         void *closure)PITH_DEFAULT;
    /** The other trees may have any trees where the first one has leaves, as in JAX:
     * places where not all have a leaf go to @c whole. */
    bool up_to PITH_DEFAULT;
} pith_map_options;

/**
 * Apply a function to the leaves of trees of one structure (leaf specs may differ).
 *
 * Errors: PITH_E_STRUCTURE lists the first paths that differ; an error of @p function
 * gets the path.
 * @return A tree of the first tree's structure.
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
 * The text is one of pith_expression (array_expression.h): the same operators, functions
 * and casts, recorded as primitives, eager or traced, without a compiler. Its values have
 * the types of C instead of those of arrays: integers narrower than i32 (and bool) become
 * i32, two operands are brought to one type by the usual arithmetic conversions, f16 and
 * bf16 are f32, a number has C's type (0.5 is f64, 0.5f is f32), and the functions of
 * math.h have the type of their first argument (an integer: f64). The result is converted
 * to the dtype of the first tree's leaves as pith_cast does, and has their shape.
 *
 * The arithmetic is that of the operations on arrays, also where C leaves it open:
 * integers wrap; x / y of integers is quotient(x, y), rounded towards zero, and it and
 * x % y, which is rest(x, y), are 0 where y is; shifts by the width or more give 0 or the
 * sign; floats become integers as pith_cast says.
 *
 * @param expression Over the operands a, b, c, d (the leaf elements of the first, second,
 * ... tree, at most four) and the numbers p[0] to p[7] (f32 where a is f32, f16 or bf16,
 * else f64).
 * @param trees The first one gives structure and shapes. A leaf of the others, or one of
 * the others as a whole, may be an array of rank 0, which goes beside all elements.
 * @param parameters The numbers p, or NULL.
 * Errors: PITH_E_ARG for what is no expression over these operands, with a caret below
 * the fault; PITH_E_STRUCTURE, PITH_E_SHAPE, PITH_E_DTYPE with the path.
 */
PITH_API const void *pith_tree_map_expression(pith_scope *s,
                                              const char *expression,
                                              int64_t count,
                                              const void *const *trees,
                                              int64_t parameter_count,
                                              const double *parameters);

/** Fold a leaf into what the ones before it gave. Returns the new value, or NULL on
 * failure. */
typedef const pith_array *(*pith_fold_function)(pith_scope *s,
                                                const pith_array *value,
                                                const pith_array *leaf,
                                                void *closure);
/**
 * Fold the leaves of a tree in order: function(function(initial, first), second) and so
 * on.
 *
 * @param initial NULL: the first leaf (PITH_E_ARG for a tree without leaves).
 * Errors: an error of @p function gets the path of the leaf.
 */
PITH_API const pith_array *pith_tree_reduce(pith_scope *s,
                                            pith_fold_function function,
                                            void *closure,
                                            const void *tree,
                                            const pith_array *initial);

/* ---- Whole trees ---- */

/** The tree with every leaf zero. */
PITH_API const void *pith_tree_zeros_like(pith_scope *s, const void *tree);
/** The tree with every element @p value, which must be exact in integer leaves. */
PITH_API const void *pith_tree_full_like(pith_scope *s, const void *tree, double value);
/** Join the leaves of trees of one structure, which have the same specs, along a new
 * first axis. */
PITH_API const void *
pith_tree_stack(pith_scope *s, int64_t count, const void *const *trees);
/** Join the leaves of trees of one structure along an axis (negative: from the last); in
 * one place they have one dtype. */
PITH_API const void *
pith_tree_concat(pith_scope *s, int64_t count, const void *const *trees, int axis);
/** Whether structures, specs and all elements are equal: any NaN equals any NaN, -0
 * equals 0. Waits. */
PITH_API bool pith_tree_equal(pith_scope *s, const void *a, const void *b);
/** Whether structures and shapes are equal and |a - b| <= atol + rtol * |b| for every
 * element (NaN equals NaN, an infinity itself), computed in f64; of integers |a - b| is
 * exact. dtypes may differ. Waits. */
PITH_API bool pith_tree_all_close(pith_scope *s,
                                  const void *a,
                                  const void *b,
                                  double rtol,
                                  double atol);
/**
 * Sum trees of one structure and specs leaf by leaf, carrying what rounding loses.
 *
 * The first tree is the sum so far; the true sum is nearly the result minus what
 * @p compensation is set to. pith_tree_kahan_sum(s, 2, (const void *[]){sum, step}, lost,
 * &lost) in a loop keeps a running sum whose error does not grow with the steps.
 *
 * @param compensate What an earlier call set @p compensation to; NULL: nothing yet.
 * @param compensation Set to a tree of the same structure: the new loss, 0 where the sum
 * left the finite numbers and of integers. May be NULL.
 */
PITH_API const void *pith_tree_kahan_sum(pith_scope *s,
                                         int64_t count,
                                         const void *const *trees,
                                         const void *compensate,
                                         const void **compensation);

/** Options of pith_tree_resize; zero is the default. */
typedef struct pith_resize_options {
    bool shrink PITH_DEFAULT; /**< allow extents to become smaller: the tail is dropped */
} pith_resize_options;
/**
 * Make leaves fit the statics that name their extents.
 *
 * @param value A struct of T like the record it was copied from, but for changed statics:
 * leaves keep their contents, new elements are the field's fill. pith_tree_resize(s, Sim,
 * &next, NULL).
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
PITH_API const void *pith_tree_resize_any(pith_scope *s,
                                          const pith_type *type,
                                          const void *value,
                                          const pith_resize_options *options);

/* ---- Printing ---- */

/** Options of pith_print; zero is the default. */
typedef struct pith_print_options {
    int64_t most_lines PITH_DEFAULT; /**< longer trees are cut in the middle of
                                        containers; 0: 60; -1: all */
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
 * Call a typed function: arguments are checked against its parameter types, the result
 * against its own.
 *
 * @return What the function returned, kept where it does not outlive @p s; on failure the
 * nil record of the result's type, NULL without one.
 */
PITH_API const void *pith_call(pith_scope *s,
                               const pith_function *function,
                               int64_t count,
                               const void *const *arguments);
/** pith_call with the arguments in a row: pith_apply(s, &step, state, key). The result
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
 * Bind the last parameter of a function to a tree: a function of the parameters before
 * it, with the same name.
 *
 * The tree and the function are kept where they do not outlive @p s. Of a compiled
 * function the leaves of the tree are inputs, and its statics belong to the structure.
 *
 * Errors: PITH_E_ARG (a function of fewer than two parameters, or none at all),
 * PITH_E_TYPE (the tree is not of the parameter's type).
 * @return The function, owned by @p s, or NULL.
 */
PITH_API const pith_function *
pith_partial(pith_scope *s, const pith_function *function, const void *tree);

PITH_END

/* The thunks are the only place with casts. A step of another signature does not compile.
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

/* What stands for any tree in PITH_FUNCTION; pith_array is for arrays. */
#define void_pith_type NULL

/* ---- Calls by the macros above: a struct and what comes after it ---- */

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
