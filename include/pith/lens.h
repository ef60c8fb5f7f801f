/**
 * @file
 * Lenses: a part of a tree as a value, to be read, replaced or changed in any tree that
 * has it.
 *
 *     const pith_array *x = pith_lens_get(s, PITH_LENS(Sim, atoms->position), sim);
 *     sim = pith_lens_set(s, PITH_LENS(Sim, atoms->position), sim, moved);
 *
 * A setter gives a new root: nodes on the way to the part are made anew (leaves are
 * checked against their declarations, PITH_VALIDATE hooks run
 * unless validation is off), all else is shared with the unchanged old root. For a
 * lens that can be set, what is set is what is got afterwards, setting what was got
 * changes nothing, and of two settings the last one counts.
 *
 * What a lens looks at:
 * - a node or leaf: got as it is, borrowed from the root. An absent one is NULL, without
 *   an error; a path that goes on behind it is PITH_E_PATH. Setting NULL makes an
 *   optional one absent; for any other part, an item or the root it is PITH_E_ARG.
 * - a row of a leaf (an index behind a leaf): got as an array without the leaf's first
 *   axis; what is set is broadcast to it and cast, as pith_scatter does.
 * - a static: a number or bool is got as an array of rank 0 (i64, f64, bool; an enum or
 *   dtype as the i64 of its number) and set from one, whose value is read: it waits, and
 *   a traced one is PITH_E_TRACED. A text is got and set as a pith_text, which sets an
 * enum or dtype by its name too. A static record is got and set as a record. The members
 * of a static struct by value (".box") are got and set together, as a tuple.
 * - several parts: a tuple (pith_lens_merge) or a list (traversals), in their order.
 *
 * Paths are those of tree.h, and "[-1]" counts from the end of a list, tuple or leaf,
 * "[*]" is pith_lens_each. Where the types tell, a path is checked when the lens is made,
 * else when it is used: PITH_E_PATH names the step that fails, and what is there.
 *
 * Lenses belong to the scope they were made in, with all they were made of; those of
 * PITH_LENS to the process. pith_keep moves them outward. Results, scopes and errors: see
 * tree.h; paths of errors begin at the root that was passed.
 */
#ifndef PITH_LENS_H
#define PITH_LENS_H

#include <pith/tree.h>

/** A part of trees of one type, or of any tree. */
typedef struct pith_lens pith_lens;

/** A lens with the root that it looks into. */
typedef struct pith_bound pith_bound;

/** A static text as a tree: a record without leaves, so that a text may stand in a tuple
 * or list beside other parts. A text that is NULL is got as one whose text is NULL. */
typedef struct pith_text {
    const char *text; /**< owned by the scope of the record; may be NULL */
} pith_text;

/** The lens of a part of the struct T, as C writes it: PITH_LENS(Sim, atoms->position).
 * The compiler checks that there is such a member; it is looked up once. */
#ifdef __cplusplus
#    define PITH_LENS_MEMBER_(T, part) sizeof(static_cast<const T *>(nullptr)->part)
#else
#    define PITH_LENS_MEMBER_(T, part) sizeof(((const T *)0)->part)
#endif
#define PITH_LENS(T, part)                                                               \
    (__extension__({                                                                     \
        static const pith_lens *pith_lens_cache_;                                        \
        (void)PITH_LENS_MEMBER_(T, part);                                                \
        pith_lens_of_(T##_pith_type, #part, &pith_lens_cache_);                          \
    }))
/** Define an inline function name() that gives the lens of a part of T. */
#define PITH_LENS_DEFINE(name, T, part)                                                  \
    __attribute__((unused)) static inline const pith_lens *name(void) {                  \
        static const pith_lens *cache;                                                   \
        (void)PITH_LENS_MEMBER_(T, part);                                                \
        return pith_lens_of_(T##_pith_type, #part, &cache);                              \
    }

/** Options of setting; zero is the default. */
typedef struct pith_lens_options {
    /** Leaves whose extents name a static that is set follow it, in the record that has
     * the static and below (pith_tree_resize). Without it they must fit already. */
    bool resize PITH_DEFAULT;
    bool shrink PITH_DEFAULT; /**< with resize: extents may become smaller */
} pith_lens_options;

PITH_BEGIN

/** What pith_lens_function gets: the part that the lens stands for; NULL: absent, or the
 * scope has an error. */
typedef const void *(*pith_lens_getter)(pith_scope *s, const void *root, void *closure);
/** The root with that part replaced; NULL where the scope has an error. */
typedef const void *(*pith_lens_setter)(pith_scope *s,
                                        const void *root,
                                        const void *value,
                                        void *closure);
/** What pith_lens_apply makes of a part; NULL: absent, or the scope has an error. */
typedef const void *(*pith_lens_modifier)(pith_scope *s, const void *part, void *closure);
/** Whether a traversal takes a node or leaf. */
typedef bool (*pith_lens_predicate)(const void *node, void *closure);

/**
 * Find the lens of a part of a record type, for PITH_LENS; safe from any thread.
 *
 * @param part As C writes it: "atoms->position", "box.x".
 * @param cache Where the caller keeps the answer; set once.
 * @return Never NULL: a lens that refuses every use with the reason where there is no
 * such field, or memory is short.
 */
PITH_API const pith_lens *
pith_lens_register(const pith_type *type, const char *part, const pith_lens **cache);

/** The record type of pith_text, for pith_is and pith_freeze. */
PITH_API const pith_type *pith_text_pith_type(void);
/** A text as a tree: a pith_text with a copy of @p text, which may be NULL. */
PITH_API const pith_text *pith_text_make(pith_scope *s, const char *text);

/* ---- Lenses ---- */

/**
 * The lens at a path from records of a type; type NULL: from any tree.
 *
 * Errors: PITH_E_PATH for a malformed path, or one that records of the type cannot have;
 * PITH_E_TYPE for an invalid type; PITH_E_ARG for a path that is NULL.
 */
PITH_API const pith_lens *
pith_lens_path(pith_scope *s, const pith_type *type, const char *path);
/** The lens of the whole tree; of the process. */
PITH_API const pith_lens *pith_lens_identity(void);
/** A lens that gets @p value whatever the root, for a parameter that a state does not
 * have. Setting it gives the root as it is: what is set is not got. */
PITH_API const pith_lens *pith_lens_constant(pith_scope *s, const void *value);
/**
 * A lens of a user's own.
 *
 * @param name Shown by pith_lens_text and errors; copied. NULL is PITH_E_ARG.
 * @param get NULL is PITH_E_ARG.
 * @param set NULL: the lens cannot be set (PITH_E_ARG). It returns a root: NULL without
 * an error is PITH_E_ARG. Both report with pith_fail; that the laws hold is up to them.
 * @param closure Handed to both; it must live as long as the lens is used.
 */
PITH_API const pith_lens *pith_lens_function(pith_scope *s,
                                             const char *name,
                                             pith_lens_getter get,
                                             pith_lens_setter set,
                                             void *closure);
/** Deeper: what is at a path from the part that @p lens looks at; behind a traversal, of
 * each of its parts. */
PITH_API const pith_lens *
pith_lens_focus(pith_scope *s, const pith_lens *lens, const char *path);
/** What @p inner looks at in the part that @p outer looks at. Errors: PITH_E_TYPE where
 * the types tell that inner's root cannot be there; PITH_E_ARG where outer ends in
 * pith_lens_at or pith_lens_slice. */
PITH_API const pith_lens *
pith_lens_nest(pith_scope *s, const pith_lens *outer, const pith_lens *inner);
/**
 * Several parts at once, as a tuple.
 *
 * Set takes a tuple of as many. Places of paths are changed first, all together, and each
 * node around them is made once, so that leaves which must agree may change together.
 * Then come, in their order, the parts that are computed from a node: setters of function
 * lenses, and pith_lens_at and pith_lens_slice. Each gets the node as it is by then.
 *
 * Errors: PITH_E_TYPE for lenses of different record types; PITH_E_ARG for a negative
 * count, or lenses that are NULL.
 *
 * The parts must be independent. Errors of setting: PITH_E_STRUCTURE for another count;
 * PITH_E_ARG with both lenses and the path where one sets a place that the other sets,
 * holds or lies in, or where a function lens would not get again what was set. What a
 * setter sets is found by comparing the node before and after by pointer. What a function
 * lens gets is compared by value; traced values are not, so that in a trace a lens that
 * only reads what a later one sets is not found. (Getting parts that overlap is no
 * error.)
 */
PITH_API const pith_lens *
pith_lens_merge(pith_scope *s, int64_t count, const pith_lens *const *lenses);
/** PITH_LENSES(a, b, c): count and lenses for pith_lens_merge. */
#define PITH_LENSES(...)                                                                 \
    PITH_COUNT_LENSES_(__VA_ARGS__), PITH_ARRAY_(const pith_lens *, __VA_ARGS__)
#ifdef __cplusplus
#    define PITH_COUNT_LENSES_(...)                                                      \
        (int64_t)(std::initializer_list<const pith_lens *>{__VA_ARGS__}.size())
#else
#    define PITH_COUNT_LENSES_(...)                                                      \
        (int64_t)(sizeof((const pith_lens *const[]){__VA_ARGS__}) /                      \
                  sizeof(const pith_lens *))
#endif

/* ---- Traversals: got as a list, set from a list or tuple of as many ----
 *
 * What is behind a traversal (focus, nest, another one) is looked at in each part that it
 * finds: pith_lens_focus(s, pith_lens_each(s, lens), ".position") is the position of each
 * entry. Two traversals give a list of lists. Errors of setting: PITH_E_STRUCTURE with
 * both lengths. Parts are found in the order of a walk, anew in each root; a part that is
 * found is not looked into for more, so none lies within another. */

/** Each item of a list, tuple or dict. */
PITH_API const pith_lens *pith_lens_each(pith_scope *s, const pith_lens *lens);
/** Those that a slice picks: PITH_SLICE(-2, INT64_MAX, 1), the last two. Errors:
 * PITH_E_ARG for a step of 0 or INT64_MIN. */
PITH_API const pith_lens *
pith_lens_items(pith_scope *s, const pith_lens *lens, pith_slice slice);
/** All nodes and leaves for which @p predicate holds; @p closure must live as long as the
 * lens is used. Errors: PITH_E_ARG for a predicate that is NULL. */
PITH_API const pith_lens *pith_lens_all_where(pith_scope *s,
                                              const pith_lens *lens,
                                              pith_lens_predicate predicate,
                                              void *closure);
/** All leaves for which @p predicate holds; NULL: all leaves. */
PITH_API const pith_lens *pith_lens_leaves_where(pith_scope *s,
                                                 const pith_lens *lens,
                                                 pith_lens_predicate predicate,
                                                 void *closure);
/** All records of T: pith_lens_all_of(s, lens, Atoms). A record that embeds the struct T
 * by value, with all of T's fields as T declares them (PITH_LEAF(base.position, ...)),
 * counts as well: its T is got as a record of T, and set from one. What else it has is
 * looked into. */
#define pith_lens_all_of(s, lens, T) pith_lens_all_of_any((s), (lens), T##_pith_type())
PITH_API const pith_lens *
pith_lens_all_of_any(pith_scope *s, const pith_lens *lens, const pith_type *type);

/* ---- Parts of every leaf: nothing goes behind them ---- */

/** Options of pith_lens_at; zero is the default. What is zero follows the records around
 * a leaf (PITH_SCATTER_ARGS), for getting and setting alike. */
typedef struct pith_lens_at_options {
    int axis PITH_DEFAULT; /**< negative: from the last */
    /** Of indices out of range. Default: what is got is the fill, what is set dropped. In
     * every mode negative ones count from the end, once, for both. */
    pith_index_mode mode PITH_DEFAULT;
    bool unique PITH_DEFAULT;        /**< a promise, as in pith_scatter_options */
    bool sorted PITH_DEFAULT;        /**< another */
    const double *fill PITH_DEFAULT; /**< of what is got; NULL: as pith_take */
} pith_lens_at_options;

/**
 * The rows at @p index of every leaf that @p lens looks at.
 *
 * Got as a tree like the one that @p lens looks at, of rows (pith_take); set from such a
 * tree, or from one array for all leaves, which are broadcast and cast as
 * pith_scatter_set does. Where indices repeat, the last row counts. An empty index sets
 * nothing, and gives the part itself. Errors: PITH_E_ARG behind another at or a slice.
 */
PITH_API const pith_lens *pith_lens_at(pith_scope *s,
                                       const pith_lens *lens,
                                       const pith_array *index,
                                       const pith_lens_at_options *options);
/** The same for slices along the first @p count axes of every leaf, as pith_tree_slice
 * gets them. Errors: PITH_E_ARG also for a count that is negative or above PITH_MAX_RANK,
 * slices that are NULL, and a step of 0 or INT64_MIN. */
PITH_API const pith_lens *pith_lens_slice(pith_scope *s,
                                          const pith_lens *lens,
                                          int64_t count,
                                          const pith_slice *slices);

/* ---- Using them ---- */

/**
 * What a lens looks at.
 *
 * Errors: PITH_E_TYPE where @p root is no record of the lens's type, PITH_E_PATH.
 * @return Borrowed from @p root, or made in @p s (see above); NULL where it is absent.
 */
PITH_API const void *
pith_lens_get(pith_scope *s, const pith_lens *lens, const void *root);
/**
 * The root with what a lens looks at replaced.
 *
 * Errors: those of pith_lens_get and of freezing, with the path from the root.
 * @return A tree like @p root, of its type: pith_lens_set keeps the type of the argument.
 * The nil record of root's type, or NULL, on failure.
 */
#define pith_lens_set(s, lens, root, ...)                                                \
    ((__typeof__(root))pith_lens_set_with((s), (lens), (root), __VA_ARGS__, NULL))
PITH_API const void *pith_lens_set_with(pith_scope *s,
                                        const pith_lens *lens,
                                        const void *root,
                                        const void *value,
                                        const pith_lens_options *options);
/** Set what @p function makes of what is got: pith_lens_apply(s, lens, root, f, closure).
 */
#define pith_lens_apply(s, lens, root, function, ...)                                    \
    ((__typeof__(root))pith_lens_apply_with((s), (lens), (root), (function),             \
                                            __VA_ARGS__, NULL))
PITH_API const void *pith_lens_apply_with(pith_scope *s,
                                          const pith_lens *lens,
                                          const void *root,
                                          pith_lens_modifier function,
                                          void *closure,
                                          const pith_lens_options *options);
/**
 * A static, or the one element of a leaf, as a number; 0 on failure.
 *
 * Of statics, pith_lens_get_i64 takes an i64, and an enum or dtype as its number;
 * pith_lens_get_f64 an f64 or i64; pith_lens_get_bool a bool. A leaf is read as by
 * pith_read_i64, pith_read_f64 or pith_read_bool, which waits.
 *
 * Errors: PITH_E_DTYPE for a static or leaf of another kind, PITH_E_TYPE where the lens
 * finds neither, those of pith_lens_get and of reading.
 */
PITH_API int64_t pith_lens_get_i64(pith_scope *s,
                                   const pith_lens *lens,
                                   const void *root);
PITH_API double pith_lens_get_f64(pith_scope *s, const pith_lens *lens, const void *root);
PITH_API bool pith_lens_get_bool(pith_scope *s, const pith_lens *lens, const void *root);
/** A static text, the name of an enum's value or of a dtype, or the text of a pith_text;
 * borrowed from the root or from what the lens got. Errors: PITH_E_TYPE. */
PITH_API const char *
pith_lens_get_text(pith_scope *s, const pith_lens *lens, const void *root);
/** Set a static, or a leaf to an array of rank 0, from a number: each returns the root as
 * pith_lens_set does. The static is an i64, enum or dtype for i64, an f64 for i64 and
 * f64, a bool for bool; any other is PITH_E_DTYPE. A leaf becomes an i64, f64 or bool of
 * rank 0, which is PITH_E_DTYPE where another dtype is declared; a row is cast. */
#define pith_lens_set_i64(s, lens, root, value)                                          \
    ((__typeof__(root))pith_lens_set_i64_with((s), (lens), (root), (value), NULL))
#define pith_lens_set_f64(s, lens, root, value)                                          \
    ((__typeof__(root))pith_lens_set_f64_with((s), (lens), (root), (value), NULL))
#define pith_lens_set_bool(s, lens, root, value)                                         \
    ((__typeof__(root))pith_lens_set_bool_with((s), (lens), (root), (value), NULL))
/** Set a static text, or an enum or dtype by its name (PITH_E_ARG for an unknown one);
 * where the lens does not end in a static, set a pith_text. */
#define pith_lens_set_text(s, lens, root, value)                                         \
    ((__typeof__(root))pith_lens_set_text_with((s), (lens), (root), (value), NULL))
PITH_API const void *pith_lens_set_i64_with(pith_scope *s,
                                            const pith_lens *lens,
                                            const void *root,
                                            int64_t value,
                                            const pith_lens_options *options);
PITH_API const void *pith_lens_set_f64_with(pith_scope *s,
                                            const pith_lens *lens,
                                            const void *root,
                                            double value,
                                            const pith_lens_options *options);
PITH_API const void *pith_lens_set_bool_with(pith_scope *s,
                                             const pith_lens *lens,
                                             const void *root,
                                             bool value,
                                             const pith_lens_options *options);
PITH_API const void *pith_lens_set_text_with(pith_scope *s,
                                             const pith_lens *lens,
                                             const void *root,
                                             const char *value,
                                             const pith_lens_options *options);

/* ---- A lens with its root ---- */

/** A lens and the root that it looks into; it belongs to @p s, as copies of both do that
 * do not outlive it. */
PITH_API const pith_bound *
pith_lens_bind(pith_scope *s, const pith_lens *lens, const void *root);
/** The lens of a bound one; NULL for what is none. Borrowed, as its root is. */
PITH_API const pith_lens *pith_bound_lens(const pith_bound *bound);
PITH_API const void *pith_bound_root(const pith_bound *bound);
/** pith_lens_get, and so on, with the root that was bound. Those that set give a new
 * root; bind it to go on. */
PITH_API const void *pith_bound_get(pith_scope *s, const pith_bound *bound);
PITH_API const void *pith_bound_set(pith_scope *s,
                                    const pith_bound *bound,
                                    const void *value,
                                    const pith_lens_options *options);
PITH_API const void *pith_bound_apply(pith_scope *s,
                                      const pith_bound *bound,
                                      pith_lens_modifier function,
                                      void *closure,
                                      const pith_lens_options *options);
/** Deeper, in the same root. */
PITH_API const pith_bound *
pith_bound_focus(pith_scope *s, const pith_bound *bound, const char *path);
PITH_API const pith_bound *
pith_bound_nest(pith_scope *s, const pith_bound *bound, const pith_lens *inner);
PITH_API const pith_bound *pith_bound_at(pith_scope *s,
                                         const pith_bound *bound,
                                         const pith_array *index,
                                         const pith_lens_at_options *options);

/** How a lens reads: ".lists.max_neighbours", "(.a, .b)"; owned by @p s. */
PITH_API const char *pith_lens_text(pith_scope *s, const pith_lens *lens);

PITH_END

/* The way every call of PITH_LENS goes but for the first. */
static inline const pith_lens *
pith_lens_of_(const pith_type *(*type)(void), const char *part, const pith_lens **cache) {
    const pith_lens *known;
    __atomic_load(cache, &known, __ATOMIC_ACQUIRE);
    return __builtin_expect(known != NULL, 1) ? known
                                              : pith_lens_register(type(), part, cache);
}

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_text_make(s, ...)         pith_text_make(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_path(s, ...)         pith_lens_path(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_constant(s, ...)     pith_lens_constant(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_function(s, ...)     pith_lens_function(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_focus(s, ...)        pith_lens_focus(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_nest(s, ...)         pith_lens_nest(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_merge(s, ...)        pith_lens_merge(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_each(s, ...)         pith_lens_each(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_items(s, ...)        pith_lens_items(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_all_where(s, ...)    pith_lens_all_where(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_leaves_where(s, ...) pith_lens_leaves_where(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_all_of_any(s, ...)   pith_lens_all_of_any(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_at(s, ...)           pith_lens_at(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_slice(s, ...)        pith_lens_slice(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_get(s, ...)          pith_lens_get(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_set_with(s, ...)     pith_lens_set_with(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_apply_with(s, ...)   pith_lens_apply_with(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_get_i64(s, ...)      pith_lens_get_i64(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_get_f64(s, ...)      pith_lens_get_f64(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_get_bool(s, ...)     pith_lens_get_bool(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_get_text(s, ...)     pith_lens_get_text(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_set_i64_with(s, ...) pith_lens_set_i64_with(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_set_f64_with(s, ...) pith_lens_set_f64_with(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_set_bool_with(s, ...)                                              \
        pith_lens_set_bool_with(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_set_text_with(s, ...)                                              \
        pith_lens_set_text_with(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_bind(s, ...)   pith_lens_bind(PITH_AT(s), __VA_ARGS__)
#    define pith_bound_get(s, ...)   pith_bound_get(PITH_AT(s), __VA_ARGS__)
#    define pith_bound_set(s, ...)   pith_bound_set(PITH_AT(s), __VA_ARGS__)
#    define pith_bound_apply(s, ...) pith_bound_apply(PITH_AT(s), __VA_ARGS__)
#    define pith_bound_focus(s, ...) pith_bound_focus(PITH_AT(s), __VA_ARGS__)
#    define pith_bound_nest(s, ...)  pith_bound_nest(PITH_AT(s), __VA_ARGS__)
#    define pith_bound_at(s, ...)    pith_bound_at(PITH_AT(s), __VA_ARGS__)
#    define pith_lens_text(s, ...)   pith_lens_text(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
