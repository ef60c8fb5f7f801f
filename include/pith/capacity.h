/**
 * @file
 * Capacities: sizes of buffers that grow when a step needs more than there is.
 *
 *     static const Sim *step(pith_scope *s, const Sim *in) {
 *         ...
 *         pith_capacity_require(s, pith_lens_capacity(s, PITH_LENS(Sim, max_edges),
 *                                                     in->max_edges, 2.0), edges);
 *
 * A capacity knows one size, or several that grow each on its own. pith_capacity_require
 * states what is needed, on the device, and reads nothing. Where a collector is active
 * (pith_with_assertions, pith_as_result, pith_propagate, pith_run) what does not suffice
 * is a failed assertion with the code PITH_E_CAPACITY, whose fix makes the size grow and
 * the leaves whose extents name it follow; without one it is the scope's error at the
 * next synchronising call. Nothing overflows silently, unless the program turns off
 * checks of level always (pith_check_set_level, pith_open_options.silent_checks).
 *
 * A requirement is an array of integers or floats, fractions of which are rounded up. For
 * a capacity made of one size it may have any shape, and the greatest element counts. For
 * one made of n sizes or of a tree of n sizes, n = 1 included, it is [..., n] in the
 * order of the sizes, reduced by maximum over the other axes, or of rank 0 for each of
 * them. An empty requirement needs nothing, and a negative one always suffices. NaN and
 * values of 2^63 or more always fail and have no fix.
 *
 * Sizes are integers of 0 or more. A tree of sizes is any tree whose leaves are integer
 * arrays of rank 0, and whose records may have integer statics, which count too: by the
 * order of the tree, a record's statics before what is below it.
 *
 * Capacities belong to the scope they were made in; pith_keep moves them outward.
 * Results, scopes and errors: see tree.h.
 */
#ifndef PITH_CAPACITY_H
#define PITH_CAPACITY_H

#include <pith/lens.h>
#include <pith/tree.h>

/** One size or several, and how they grow. */
typedef struct pith_capacity pith_capacity;

/** A kind of capacity of a user's own. */
typedef struct pith_capacity_kind {
    const char *name PITH_DEFAULT; /**< what it is, for messages; lives as long as it */
    /** What a size becomes if more is needed: at least @p need, else PITH_E_CAPACITY.
     * NULL: exactly @p need. */
    int64_t (*grow)(int64_t size, int64_t need, void *closure) PITH_DEFAULT;
    /** The root with sizes of at least @p sizes, in their order; reports with pith_fail.
     * Returning NULL without an error is PITH_E_CALLBACK. NULL: the capacity cannot grow,
     * failures have no fix. */
    const void *(*fix)(pith_scope *s,
                       const void *root,
                       int64_t count,
                       const int64_t *sizes,
                       void *closure)PITH_DEFAULT;
} pith_capacity_kind;

/** What pith_capacity_audit finds. */
typedef enum pith_gap_kind {
    PITH_GAP_STATIC, /**< a static that names extents, and that no capacity guards */
    PITH_GAP_DRAW /**< random numbers whose shape follows a static that names extents */
} pith_gap_kind;

/** One thing that pith_capacity_audit found. */
typedef struct pith_capacity_gap {
    pith_gap_kind kind;
    const char *path; /**< of the static: ".lists.max_neighbours" */
    const char *text; /**< what is wrong, as one line without the path */
} pith_capacity_gap;

/** PITH_SIZES(in->edges, in->pairs): count and sizes for the functions below. */
#define PITH_SIZES(...) PITH_COUNT_SIZES_(__VA_ARGS__), PITH_ARRAY_(int64_t, __VA_ARGS__)
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
 * What a capacity of @p size grows to where @p need is needed: @p size itself where that
 * suffices; else, with a base above 1, the smallest power base^k, k >= 0, that does, cut
 * to an integer; with any other base exactly @p need.
 *
 * Exact for every base: powers do not drift, and stop at INT64_MAX. The result never is
 * less than @p need or @p size.
 * Errors: PITH_E_ARG for a negative size, or a base that is no finite number.
 * @return -1 on failure.
 */
PITH_API int64_t pith_grown_size(pith_scope *s, int64_t size, int64_t need, double base);

/* ---- Making capacities ---- */

/**
 * A capacity that a lens finds in the state: its fix sets the size through the lens, to
 * what it grows to or is there already, whichever is more, and the leaves whose extents
 * name it follow with their contents kept and the tail filled.
 *
 * @param lens Of the root that the step is given; kept by the capacity.
 * @param size What it is now: in->max_edges.
 * @param base Of the growth, see pith_grown_size; 2 is usual.
 * Errors: PITH_E_ARG for a negative size, or a base that is not a finite number.
 */
PITH_API const pith_capacity *
pith_lens_capacity(pith_scope *s, const pith_lens *lens, int64_t size, double base);
/** Several sizes that one lens finds, a tuple of which by pith_lens_merge, a record or a
 * container: pith_lens_capacity_sizes(s, lens, PITH_SIZES(a, b), 2.0). Errors: also
 * PITH_E_ARG for a count below 1. If the lens finds another number of sizes, the fix is
 * PITH_E_STRUCTURE. */
PITH_API const pith_capacity *pith_lens_capacity_sizes(pith_scope *s,
                                                       const pith_lens *lens,
                                                       int64_t count,
                                                       const int64_t *sizes,
                                                       double base);
/** The same of a tree of sizes. Where it has leaves they are read, which waits.
 * Errors, with the path of the leaf in the state: PITH_E_DTYPE, PITH_E_SHAPE (it is no
 * size), PITH_E_TRACED (it has no value while a function is traced: keep sizes of
 * compiled functions in statics of records), PITH_E_OVERFLOW (a u64 of 2^63 or more).
 * Without a path: PITH_E_ARG for a tree without sizes or a negative size. */
PITH_API const pith_capacity *pith_lens_capacity_tree(pith_scope *s,
                                                      const pith_lens *lens,
                                                      const void *sizes,
                                                      double base);
/**
 * A capacity that cannot grow: what does not suffice has no fix.
 *
 * @param message Put behind the library's message; copied. NULL: none.
 */
PITH_API const pith_capacity *
pith_fixed_capacity(pith_scope *s, int64_t size, const char *message);
PITH_API const pith_capacity *pith_fixed_capacity_sizes(pith_scope *s,
                                                        int64_t count,
                                                        const int64_t *sizes,
                                                        const char *message);
PITH_API const pith_capacity *
pith_fixed_capacity_tree(pith_scope *s, const void *sizes, const char *message);
/** A capacity of a user's own kind, which is copied; @p closure must live as long as the
 * capacity, or anything that was kept of it, is used. */
PITH_API const pith_capacity *pith_user_capacity(pith_scope *s,
                                                 const pith_capacity_kind *kind,
                                                 int64_t size,
                                                 void *closure);
PITH_API const pith_capacity *pith_user_capacity_sizes(pith_scope *s,
                                                       const pith_capacity_kind *kind,
                                                       int64_t count,
                                                       const int64_t *sizes,
                                                       void *closure);
PITH_API const pith_capacity *pith_user_capacity_tree(pith_scope *s,
                                                      const pith_capacity_kind *kind,
                                                      const void *sizes,
                                                      void *closure);
/**
 * A view of a capacity of any kind whose sizes are @p factor times as large: so many
 * places for each of its own. What is required is divided by the factor, rounded up.
 *
 * Errors: PITH_E_ARG for a factor below 1, PITH_E_OVERFLOW.
 */
PITH_API const pith_capacity *
pith_multiplied_capacity(pith_scope *s, const pith_capacity *capacity, int64_t factor);
/** The same capacity with @p message after its message. Errors: PITH_E_ARG for NULL. */
PITH_API const pith_capacity *pith_capacity_extend_message(pith_scope *s,
                                                           const pith_capacity *capacity,
                                                           const char *message);
/** The same capacity, standing for what @p lens looks at: a fixed one, or one of a user's
 * own, is named so in messages and by pith_capacity_audit. Errors: PITH_E_ARG for a
 * capacity that was made with a lens. */
PITH_API const pith_capacity *
pith_capacity_for(pith_scope *s, const pith_capacity *capacity, const pith_lens *lens);

/* ---- Looking at them ---- */

/** How many sizes there are; 0 for what is no capacity. */
PITH_API int64_t pith_capacity_count(const pith_capacity *capacity);
/** The size; of several the first. -1 for what is no capacity. */
PITH_API int64_t pith_capacity_size(const pith_capacity *capacity);
/** One of several; -1 where there is none. */
PITH_API int64_t pith_capacity_size_at(const pith_capacity *capacity, int64_t index);
/** The sizes as a tree: an i64 of rank 0 for a capacity made of one size, a tuple of them
 * for one made of a list of sizes, else a tree like the one that it was made of. */
PITH_API const void *pith_capacity_sizes(pith_scope *s, const pith_capacity *capacity);
/** What the capacity stands for in the state: ".max_edges"; "" where it is not known.
 * Owned by @p s. */
PITH_API const char *pith_capacity_slot(pith_scope *s, const pith_capacity *capacity);

/* ---- Using them ---- */

/**
 * State that so much is required, see above. Nothing is read, nothing waits.
 *
 * Errors: PITH_E_ARG (no capacity, no array); PITH_E_SHAPE naming both where the last
 * extent is not the number of sizes; PITH_E_DTYPE for bool; PITH_E_TRACED (an array of
 * another trace).
 */
PITH_API void pith_capacity_require(pith_scope *s,
                                    const pith_capacity *capacity,
                                    const pith_array *required);
/**
 * Let a capacity repair what kernels find too small: pith_require_capacity(name, ...) in
 * launches from here on, until what collects them ends, is then a failed assertion with
 * the capacity's fix. If several guards share a name, the latest applies. Without a
 * collector the call does nothing, and a failed check of the kernel is an error of the
 * scope.
 *
 * @param name Of a size(name) or extent(name) of the kernel, which is the capacity's
 * size; copied. Errors: PITH_E_ARG for NULL, or a capacity of several sizes.
 */
PITH_API void
pith_capacity_guard(pith_scope *s, const pith_capacity *capacity, const char *name);
/** The capacity that suffices for what is required; @p capacity itself if it does. Reads
 * the requirement, which waits. Errors: PITH_E_CAPACITY for a capacity that cannot grow,
 * and for a requirement that has no fix; PITH_E_OVERFLOW if a multiplied size overflows;
 * those of pith_capacity_require. */
PITH_API const pith_capacity *pith_capacity_grown(pith_scope *s,
                                                  const pith_capacity *capacity,
                                                  const pith_array *required);
/** Whether a capacity suffices (valid) or not (failed). They read the requirement, which
 * waits; false on failure. */
PITH_API bool pith_capacity_valid(pith_scope *s,
                                  const pith_capacity *capacity,
                                  const pith_array *required);
PITH_API bool pith_capacity_failed(pith_scope *s,
                                   const pith_capacity *capacity,
                                   const pith_array *required);
/** Set the scope's error, PITH_E_CAPACITY, where a capacity does not suffice. Waits.
 * @return Whether it does. */
PITH_API bool pith_capacity_check(pith_scope *s,
                                  const pith_capacity *capacity,
                                  const pith_array *required);
/** What is said where a capacity does not suffice: slot, what there is, what is needed,
 * and what it grows to, of at most four sizes; "" where it does. Owned by @p s. Waits. */
PITH_API const char *pith_capacity_message(pith_scope *s,
                                           const pith_capacity *capacity,
                                           const pith_array *required);
/**
 * Apply a capacity's fix by itself: the root with sizes of at least @p target, without
 * growth beyond it; they never shrink. Waits.
 *
 * @param target As a requirement.
 * Errors: PITH_E_CAPACITY for one that cannot grow, or a lens that finds nothing;
 * PITH_E_STRUCTURE for a lens that finds another number of sizes; those of setting
 * through the lens.
 * @return A tree like @p root, of its type; the nil record, or NULL, on failure.
 */
#define pith_capacity_fix(s, capacity, root, target)                                     \
    ((__typeof__(root))pith_capacity_fix_any((s), (capacity), (root), (target)))
PITH_API const void *pith_capacity_fix_any(pith_scope *s,
                                           const pith_capacity *capacity,
                                           const void *root,
                                           const pith_array *target);

/**
 * Run a step and say which sizes of its state nobody guards.
 *
 * A static that names extents of leaves (other than of absent ones) is guarded where a
 * capacity that the step requires changes it when it grows, or stands for it
 * (pith_capacity_for). Random numbers are drawn anew in another shape when a size grows,
 * so that a run that started small differs from one that did not: each draw whose shape
 * changes when a static that names extents is one larger is told too (the step is run
 * once more for each such static where it draws at all). Nothing comes of the steps that
 * are run; what fails in those with larger sizes is passed over.
 *
 * @param step A function of one tree.
 * @param count Set to how many gaps there are; NULL is PITH_E_ARG.
 * Errors: PITH_E_TRACED while a function is traced; those of the step.
 * @return The gaps, statics first; without gaps not NULL either. NULL on failure.
 */
PITH_API const pith_capacity_gap *pith_capacity_audit(pith_scope *s,
                                                      const pith_function *step,
                                                      const void *state,
                                                      int64_t *count);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_grown_size(s, ...)    pith_grown_size(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_capacity(s, ...) pith_lens_capacity(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_capacity_sizes(s, ...)                                             \
        pith_lens_capacity_sizes(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_capacity_tree(s, ...)                                              \
        pith_lens_capacity_tree(PITH_AT(s), __VA_ARGS__)
#    define pith_fixed_capacity(s, ...) pith_fixed_capacity(PITH_AT(s), __VA_ARGS__)
#    define pith_fixed_capacity_sizes(s, ...)                                            \
        pith_fixed_capacity_sizes(PITH_AT(s), __VA_ARGS__)
#    define pith_fixed_capacity_tree(s, ...)                                             \
        pith_fixed_capacity_tree(PITH_AT(s), __VA_ARGS__)
#    define pith_user_capacity(s, ...) pith_user_capacity(PITH_AT(s), __VA_ARGS__)
#    define pith_user_capacity_sizes(s, ...)                                             \
        pith_user_capacity_sizes(PITH_AT(s), __VA_ARGS__)
#    define pith_user_capacity_tree(s, ...)                                              \
        pith_user_capacity_tree(PITH_AT(s), __VA_ARGS__)
#    define pith_multiplied_capacity(s, ...)                                             \
        pith_multiplied_capacity(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_extend_message(s, ...)                                         \
        pith_capacity_extend_message(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_for(s, ...)     pith_capacity_for(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_sizes(s, ...)   pith_capacity_sizes(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_slot(s, ...)    pith_capacity_slot(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_require(s, ...) pith_capacity_require(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_guard(s, ...)   pith_capacity_guard(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_grown(s, ...)   pith_capacity_grown(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_valid(s, ...)   pith_capacity_valid(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_failed(s, ...)  pith_capacity_failed(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_check(s, ...)   pith_capacity_check(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_message(s, ...) pith_capacity_message(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_fix_any(s, ...) pith_capacity_fix_any(PITH_AT(s), __VA_ARGS__)
#    define pith_capacity_audit(s, ...)   pith_capacity_audit(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
