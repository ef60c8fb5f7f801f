/**
 * @file
 * Capacities: sizes of buffers that grow if a step needs more elements than they have.
 *
 *     static const Sim *step(pith_scope *s, const Sim *in) {
 *         ...
 *         pith_capacity_require(s, pith_lens_capacity(s, PITH_LENS(Sim, max_edges),
 *                                                     in->max_edges, 2.0), edges);
 *
 * A capacity has one size, or several sizes that grow independently.
 * pith_capacity_require states a requirement on the device and reads nothing. A collector
 * is active in pith_with_assertions, pith_as_result, pith_propagate and pith_run. With a
 * collector, an insufficient capacity is a failed assertion with the code
 * PITH_E_CAPACITY. Its fix grows the size and the leaves whose extents name it. Without a
 * collector, the failure becomes the scope's error at the next synchronising call. No
 * overflow is silent unless the program turns off the checks of level always
 * (pith_check_set_level, pith_open_options.silent_checks).
 *
 * A requirement is an array of integers or floats; fractions are rounded up. For a
 * capacity made of one size, the requirement may have any shape, and its maximum applies.
 * For a capacity made of a list or tree of n sizes, its shape is [..., n] in the order of
 * the sizes; this includes n = 1. It is reduced by maximum over the other axes. A
 * requirement of rank 0 applies to each size. An empty requirement needs nothing, and a
 * negative one always suffices. NaN and values of 2^63 or more always fail and have no
 * fix.
 *
 * Sizes are integers of 0 or more. A tree of sizes is a tree whose leaves are integer
 * arrays of rank 0. Integer statics of its records are also sizes. Sizes are in tree
 * order: the statics of a record come before its children.
 *
 * A capacity is owned by the scope that made it; pith_keep moves it to an outer scope.
 * tree.h describes results, scopes and errors.
 */
#ifndef PITH_CAPACITY_H
#define PITH_CAPACITY_H

#include <pith/lens.h>
#include <pith/tree.h>

/** One size or several sizes, with their rule of growth. */
typedef struct pith_capacity pith_capacity;

/** A user-defined kind of capacity. */
typedef struct pith_capacity_kind {
    /** Name for messages; it must outlive the capacities of the kind. */
    const char *name PITH_DEFAULT;
    /**
     * Compute the new size for a required size: at least @p need, else PITH_E_CAPACITY.
     * NULL: exactly @p need.
     */
    int64_t (*grow)(int64_t size, int64_t need, void *closure) PITH_DEFAULT;
    /**
     * Make a root with sizes of at least @p sizes, in their order. The function reports
     * errors with pith_fail. NULL as a result without an error is PITH_E_CALLBACK. NULL
     * as a member: the capacity cannot grow, and failures have no fix.
     */
    const void *(*fix)(pith_scope *s,
                       const void *root,
                       int64_t count,
                       const int64_t *sizes,
                       void *closure)PITH_DEFAULT;
} pith_capacity_kind;

/** Kind of a gap that pith_capacity_audit finds. */
typedef enum pith_gap_kind {
    PITH_GAP_STATIC, /**< a static that names extents and that no capacity covers */
    /** Random numbers whose shape depends on a static that names extents. */
    PITH_GAP_DRAW
} pith_gap_kind;

/** A gap that pith_capacity_audit finds. */
typedef struct pith_capacity_gap {
    pith_gap_kind kind;
    const char *path; /**< path of the static, such as ".lists.max_neighbours" */
    const char *text; /**< description in one line, without the path */
} pith_capacity_gap;

/**
 * Options of pith_capacity_make.
 *
 * The sizes come from one of size, sizes, tree and from. The capacity grows through
 * `lens` or by `kind`. With neither it is fixed: its failures have no fix.
 */
typedef struct pith_capacity_options {
    int64_t size PITH_DEFAULT;  /**< the only size */
    int64_t count PITH_DEFAULT; /**< number of sizes; see PITH_SIZES */
    const int64_t *sizes PITH_DEFAULT;
    /** Tree of sizes. If the tree has leaves, the call reads them and waits. */
    const void *tree PITH_DEFAULT;
    /**
     * Capacity to copy, with its sizes, growth and message. A factor, a message and, if
     * it has none, a lens apply to the copy.
     */
    const pith_capacity *from PITH_DEFAULT;
    /**
     * Lens that finds the sizes in the root that the step receives; the capacity keeps
     * it. The fix sets the sizes through the lens to the larger of the grown sizes and
     * the present ones. The leaves whose extents name a size are resized: their contents
     * are kept and the tail is filled. For several sizes the lens finds a tuple of sizes
     * (pith_lens_merge), a record or a container; if it finds another number of sizes,
     * the fix fails with PITH_E_STRUCTURE.
     *
     * With `fixed`, `kind` or `from`, the lens names the sizes in messages and in
     * pith_capacity_audit, and does not set them.
     */
    const pith_lens *lens PITH_DEFAULT;
    /** Base of the growth through the lens, see pith_grown_size; usually 2. */
    double base PITH_DEFAULT;
    bool fixed PITH_DEFAULT; /**< the capacity cannot grow in spite of its lens */
    /** User-defined kind; copied. NULL: growth through the lens. */
    const pith_capacity_kind *kind PITH_DEFAULT;
    /**
     * Argument of the functions of `kind`. It must outlive the capacity and all objects
     * kept from it.
     */
    void *closure PITH_DEFAULT;
    /**
     * Number of elements for each unit of a size; 0: 1. The capacity's sizes are the
     * given sizes times the factor. Requirements are divided by it and rounded up.
     */
    int64_t factor PITH_DEFAULT;
    /** Text appended to the library's message; copied. NULL: no text. */
    const char *message PITH_DEFAULT;
} pith_capacity_options;

/** Count and sizes as members of pith_capacity_options: PITH_SIZES(in->edges, in->pairs).
 */
#define PITH_SIZES(...)                                                                  \
    .count = PITH_COUNT_SIZES_(__VA_ARGS__), .sizes = PITH_ARRAY_(int64_t, __VA_ARGS__)
#ifdef __cplusplus
#    define PITH_COUNT_SIZES_(...)                                                       \
        (int64_t)(std::initializer_list<int64_t>{__VA_ARGS__}.size())
#else
#    define PITH_COUNT_SIZES_(...)                                                       \
        (int64_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#endif

PITH_BEGIN

/* ---- Growth ---- */

/**
 * Compute the new size of a capacity of @p size for a requirement @p need.
 *
 * If @p size suffices, the result is @p size. Otherwise, for a base above 1, it is the
 * smallest sufficient power base^k, k >= 0, truncated to an integer. For any other base
 * it is exactly @p need.
 *
 * The computation is exact for every base: powers do not drift, and they stop at
 * INT64_MAX. The result is never less than @p need or @p size.
 *
 * @par Errors
 * PITH_E_ARG: @p size is negative, or @p base is not finite.
 *
 * @return The size, or -1 on failure.
 */
PITH_API int64_t pith_grown_size(pith_scope *s, int64_t size, int64_t need, double base);

/* ---- Making capacities ---- */

/**
 * Make a capacity whose size a lens finds in the state. The capacity grows through the
 * lens, as the member `lens` of pith_capacity_options describes.
 *
 * @param lens A lens on the root that the step receives. The capacity keeps it.
 * @param size The present size, such as in->max_edges.
 * @param base Base of the growth, see pith_grown_size; usually 2.
 *
 * @par Errors
 * PITH_E_ARG: @p size is negative, or @p base is not finite.
 *
 * @return The capacity, owned by @p s, or NULL.
 */
PITH_API const pith_capacity *
pith_lens_capacity(pith_scope *s, const pith_lens *lens, int64_t size, double base);
/**
 * Make a capacity of any kind, or a changed copy of one:
 *
 *     pith_capacity_make(s, &(pith_capacity_options){.size = 8, .message = "8 lanes"})
 *     pith_capacity_make(s, &(pith_capacity_options){PITH_SIZES(in->edges, in->pairs),
 *                                                    .lens = both, .base = 2})
 *     pith_capacity_make(s, &(pith_capacity_options){.from = edges, .factor = 3})
 *
 * @param options NULL: a fixed capacity of size 0.
 *
 * @par Errors
 * PITH_E_ARG: the sizes come from several members, the count is below 1 or without sizes,
 * a size or the factor is negative, the tree has no sizes, the base is not finite, a
 * fixed capacity has a kind, or a copy has another lens or another growth.
 * PITH_E_OVERFLOW: a size times the factor overflows.
 *
 * For a tree, PITH_E_DTYPE and PITH_E_SHAPE: a leaf is no size. PITH_E_TRACED: a leaf has
 * no value while a function is traced; compiled functions keep sizes in statics of
 * records. PITH_E_OVERFLOW: a leaf is a u64 of 2^63 or more. These errors carry the path
 * of the leaf in the state.
 *
 * @return The capacity, owned by @p s, or NULL.
 */
PITH_API const pith_capacity *pith_capacity_make(pith_scope *s,
                                                 const pith_capacity_options *options);

/* ---- Properties ---- */

/** Get the number of sizes; 0 if @p capacity is no capacity. */
PITH_API int64_t pith_capacity_count(const pith_capacity *capacity);
/** Get the first size of a capacity; -1 if @p capacity is no capacity. */
PITH_API int64_t pith_capacity_size(const pith_capacity *capacity);
/** Get one size of a capacity; -1 if @p index is out of range. */
PITH_API int64_t pith_capacity_size_at(const pith_capacity *capacity, int64_t index);
/**
 * Get the sizes as a tree.
 *
 * A capacity made of one size gives an i64 of rank 0, and one made of a list of sizes
 * gives a tuple of them. A capacity made of a tree gives a tree of the same structure.
 *
 * @return The tree, owned by @p s, or NULL.
 */
PITH_API const void *pith_capacity_sizes(pith_scope *s, const pith_capacity *capacity);
/**
 * Get the path that the capacity covers in the state, such as ".max_edges"; "" if it is
 * unknown.
 *
 * @return The path, owned by @p s.
 */
PITH_API const char *pith_capacity_slot(pith_scope *s, const pith_capacity *capacity);

/* ---- Use ---- */

/**
 * State a requirement; see the top of this file. The call reads nothing and does not
 * wait.
 *
 * @par Errors
 * PITH_E_ARG: @p capacity is no capacity, or @p required is no array. PITH_E_SHAPE: the
 * last extent is not the number of sizes; the message has both. PITH_E_DTYPE: @p required
 * is bool. PITH_E_TRACED: @p required belongs to another trace.
 */
PITH_API void pith_capacity_require(pith_scope *s,
                                    const pith_capacity *capacity,
                                    const pith_array *required);
/**
 * Let a capacity repair failed checks of kernels.
 *
 * In later launches, a failed pith_require_capacity(name, ...) is a failed assertion with
 * the capacity's fix. The guard ends with its collector. If several guards share a name,
 * the latest applies. Without a collector the call does nothing, and a failed kernel
 * check is an error of the scope.
 *
 * @param name Name of a size(name) or extent(name) of the kernel that equals the
 *        capacity's size; copied.
 *
 * @par Errors
 * PITH_E_ARG: @p name is NULL, or the capacity has several sizes.
 */
PITH_API void
pith_capacity_guard(pith_scope *s, const pith_capacity *capacity, const char *name);
/**
 * Get a capacity that suffices for a requirement; @p capacity itself if it suffices. The
 * call reads the requirement and waits.
 *
 * @par Errors
 * PITH_E_CAPACITY: the capacity cannot grow, or the requirement has no fix.
 * PITH_E_OVERFLOW: a multiplied size overflows. Also all errors of pith_capacity_require.
 *
 * @return The capacity, or NULL. A new capacity is owned by @p s.
 */
PITH_API const pith_capacity *pith_capacity_grown(pith_scope *s,
                                                  const pith_capacity *capacity,
                                                  const pith_array *required);
/**
 * Whether a capacity suffices for a requirement. The call reads the requirement and
 * waits; false on failure.
 */
PITH_API bool pith_capacity_valid(pith_scope *s,
                                  const pith_capacity *capacity,
                                  const pith_array *required);
/**
 * Check that a capacity suffices for a requirement. The call waits.
 *
 * @par Errors
 * PITH_E_CAPACITY: the capacity is insufficient. Also all errors of
 * pith_capacity_require.
 *
 * @return Whether the capacity suffices.
 */
PITH_API bool pith_capacity_check(pith_scope *s,
                                  const pith_capacity *capacity,
                                  const pith_array *required);
/**
 * Get the message for an insufficient capacity. The call waits.
 *
 * The message has the path, the present size, the required size and the grown size, for
 * at most four sizes. It is "" if the capacity suffices.
 *
 * @return The text, owned by @p s.
 */
PITH_API const char *pith_capacity_message(pith_scope *s,
                                           const pith_capacity *capacity,
                                           const pith_array *required);
/**
 * Apply the fix of a capacity: make a root with sizes of at least @p target.
 *
 * Sizes grow exactly to the target and never shrink. The call waits.
 *
 * @param target Target sizes in the form of a requirement.
 *
 * @par Errors
 * PITH_E_CAPACITY: the capacity cannot grow, or its lens finds nothing. PITH_E_STRUCTURE:
 * its lens finds another number of sizes. Also all errors of setting through the lens.
 *
 * @return A tree like @p root, of its type, owned by @p s; the nil record, or NULL, on
 *        failure.
 */
#define pith_capacity_fix(s, capacity, root, target)                                     \
    ((__typeof__(root))pith_capacity_fix_any((s), (capacity), (root), (target)))
/** Apply the fix of a capacity, untyped; see pith_capacity_fix. */
PITH_API const void *pith_capacity_fix_any(pith_scope *s,
                                           const pith_capacity *capacity,
                                           const void *root,
                                           const pith_array *target);

/**
 * Run a step and list the sizes of its state that no capacity covers.
 *
 * The audit examines each static that names extents of present leaves. A capacity that
 * the step requires covers a static if its growth changes the static, or if its lens
 * names the static.
 *
 * Random draws in another shape give other numbers. A run that starts with a small size
 * then differs from a run that starts with a large one. The audit therefore also lists
 * each draw whose shape changes if such a static is larger by 1. If the step draws at
 * all, it runs once more for each such static.
 *
 * The step is recorded, as by pith_jit, so that branches count that this state does not
 * take. A step that reads values runs call by call, and shows only what it does.
 *
 * The runs have no effect. Failures in runs with larger sizes are ignored.
 *
 * @param step A function of one tree.
 * @param count Receives the number of gaps.
 *
 * @par Errors
 * PITH_E_ARG: @p count is NULL. PITH_E_TRACED: a function is traced. Also all errors of
 * the step.
 *
 * @return The gaps, statics first, owned by @p s; not NULL if there are none. NULL on
 *        failure.
 */
PITH_API const pith_capacity_gap *pith_capacity_audit(pith_scope *s,
                                                      const pith_function *step,
                                                      const void *state,
                                                      int64_t *count);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_grown_size(s, ...)       pith_grown_size(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_capacity(s, ...)    pith_lens_capacity(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_make(s, ...)    pith_capacity_make(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_sizes(s, ...)   pith_capacity_sizes(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_slot(s, ...)    pith_capacity_slot(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_require(s, ...) pith_capacity_require(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_guard(s, ...)   pith_capacity_guard(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_grown(s, ...)   pith_capacity_grown(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_valid(s, ...)   pith_capacity_valid(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_check(s, ...)   pith_capacity_check(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_message(s, ...) pith_capacity_message(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_fix_any(s, ...) pith_capacity_fix_any(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_audit(s, ...)   pith_capacity_audit(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
