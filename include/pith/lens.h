/**
 * @file
 * Lenses: values that stand for a part of a tree, to read, replace or modify that part in
 * any tree that has it.
 *
 *     const pith_array *x = pith_lens_get(s, PITH_LENS(Sim, atoms->position), sim);
 *     sim = pith_lens_set(s, PITH_LENS(Sim, atoms->position), sim, moved);
 *
 * A setter returns a new root. Nodes on the way to the part are copied; all else is
 * shared with the old root, which is unchanged. Leaves of the new nodes must fit their
 * declarations, and PITH_VALIDATE hooks run unless validation is off. Lenses that can be
 * set obey the lens laws: getting returns the value that was set, setting the value that
 * was got changes nothing, and the last of two settings wins.
 *
 * Kinds of parts:
 * - A node or leaf is borrowed from the root. An absent part is NULL without an error; a
 *   path that continues below it is PITH_E_PATH. Setting NULL makes an optional part
 *   absent; for any other part, an item or the root it is PITH_E_ARG.
 * - A row of a leaf (an index after a leaf) is an array without the first axis of the
 *   leaf. A new value is broadcast and cast as by pith_scatter.
 * - A static number or bool is an array of rank 0 (i64, f64, bool; an enum or dtype as
 *   the i64 of its number). Setting reads the value: it waits, and a traced value is
 *   PITH_E_TRACED. A text is a pith_text, which can also set an enum or dtype by name. A
 *   static record is a record. The members of a static struct by value (".box") are one
 *   tuple.
 * - Several parts are a tuple (pith_lens_merge) or a list (traversals), in order.
 *
 * Paths are those of tree.h. In addition "[-1]" counts from the end of a list, tuple or
 * leaf, and "[*]" is pith_lens_each. A path is checked when the lens is made if types
 * determine it, else when it is used; PITH_E_PATH names the failing step and the type
 * found there.
 *
 * A lens belongs to its scope, with the lenses that it was made from; a lens of PITH_LENS
 * belongs to the process. pith_keep moves a lens to an outer scope. Results, scopes and
 * errors: see tree.h. Paths in errors begin at the root.
 */
#ifndef PITH_LENS_H
#define PITH_LENS_H

#include <pith/tree.h>

/** A lens on trees of one type, or on any tree. */
typedef struct pith_lens pith_lens;

/** A lens with its root. */
typedef struct pith_bound pith_bound;

/** A static text as a tree: a record without leaves, for texts in tuples and lists. A
 * text that is NULL is a pith_text whose text is NULL. */
typedef struct pith_text {
    const char *text; /**< owned by the scope of the record; may be NULL */
} pith_text;

/** The lens of a member of the struct T in C notation: PITH_LENS(Sim, atoms->position).
 * The compiler checks the member; it is looked up once. */
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
/** Define an inline function name() that returns the lens of a member of T. */
#define PITH_LENS_DEFINE(name, T, part)                                                  \
    __attribute__((unused)) static inline const pith_lens *name(void) {                  \
        static const pith_lens *cache;                                                   \
        (void)PITH_LENS_MEMBER_(T, part);                                                \
        return pith_lens_of_(T##_pith_type, #part, &cache);                              \
    }

/** Options of setting; zero is the default. */
typedef struct pith_lens_options {
    /** Resize leaves whose extents name the static, in its record and below
     * (pith_tree_resize). Without it they must fit already. */
    bool resize PITH_DEFAULT;
    bool shrink PITH_DEFAULT; /**< with resize: extents may become smaller */
} pith_lens_options;

PITH_BEGIN

/** Getter of pith_lens_function: returns the part. NULL: absent, or the scope has an
 * error. */
typedef const void *(*pith_lens_getter)(pith_scope *s, const void *root, void *closure);
/** Setter of pith_lens_function: returns a root with a new part; NULL only if the scope
 * has an error. */
typedef const void *(*pith_lens_setter)(pith_scope *s,
                                        const void *root,
                                        const void *value,
                                        void *closure);
/** Modifier of pith_lens_apply: returns the new part. NULL: absent, or the scope has an
 * error. */
typedef const void *(*pith_lens_modifier)(pith_scope *s, const void *part, void *closure);
/** Predicate of a traversal: whether it takes a node or leaf. */
typedef bool (*pith_lens_predicate)(const void *node, void *closure);

/**
 * Find the lens of a member of a record type, for PITH_LENS. Any thread may call it.
 *
 * @param part In C notation: "atoms->position", "box.x".
 * @param cache Storage of the caller for the result; set once.
 * @return The lens, never NULL. If there is no such field or memory is short, every use
 * of the lens fails with the reason.
 */
PITH_API const pith_lens *
pith_lens_register(const pith_type *type, const char *part, const pith_lens **cache);

/** The record type of pith_text, for pith_is and pith_freeze. */
PITH_API const pith_type *pith_text_pith_type(void);
/** Make a pith_text with a copy of @p text, which may be NULL. */
PITH_API const pith_text *pith_text_make(pith_scope *s, const char *text);

/* ---- Lenses ---- */

/**
 * The lens at a path in records of a type; NULL: in any tree.
 *
 * @par Errors
 * PITH_E_PATH: the path is malformed, or records of the type cannot have it. PITH_E_TYPE:
 * the type is invalid. PITH_E_ARG: the path is NULL.
 */
PITH_API const pith_lens *
pith_lens_path(pith_scope *s, const pith_type *type, const char *path);
/** The lens of the whole tree; it belongs to the process. */
PITH_API const pith_lens *pith_lens_identity(void);
/** A lens that returns @p value for any root: a parameter that the state does not have.
 * Setting it returns the root unchanged. */
PITH_API const pith_lens *pith_lens_constant(pith_scope *s, const void *value);
/**
 * A user-defined lens.
 *
 * @param name Shown by pith_lens_text and in errors; copied.
 * @param get The getter. It reports errors with pith_fail.
 * @param set The setter, likewise; NULL: setting is PITH_E_ARG. It returns a root: NULL
 * without an error is PITH_E_ARG. Getter and setter must obey the lens laws.
 * @param closure Passed to both; it must live as long as the lens is used.
 *
 * @par Errors
 * PITH_E_ARG: @p name or @p get is NULL.
 */
PITH_API const pith_lens *pith_lens_function(pith_scope *s,
                                             const char *name,
                                             pith_lens_getter get,
                                             pith_lens_setter set,
                                             void *closure);
/** The part at a path below the part of @p lens; for a traversal, below each part. */
PITH_API const pith_lens *
pith_lens_focus(pith_scope *s, const pith_lens *lens, const char *path);
/** Composition: the part of @p inner in the part of @p outer.
 *
 * @par Errors
 * PITH_E_TYPE: the types show that inner's root cannot be there. PITH_E_ARG: outer ends
 * in pith_lens_at or pith_lens_slice. */
PITH_API const pith_lens *
pith_lens_nest(pith_scope *s, const pith_lens *outer, const pith_lens *inner);
/**
 * Several parts at once, as a tuple.
 *
 * Set takes a tuple of the same length. Parts at paths are changed first and together,
 * and each node around them is made once, so that leaves that must agree can change
 * together. Then follow, in order, parts computed from a node: setters of function
 * lenses, pith_lens_at and pith_lens_slice. Each gets the node as changed so far.
 *
 * The parts must be independent for setting; getting overlapping parts is no error. A
 * conflict is found by comparing the node before and after a setter by pointer, and the
 * value of a function lens by value. Traced values are not compared: in a trace, a lens
 * that only reads what a later lens sets is not detected.
 *
 * @par Errors
 * PITH_E_TYPE: the lenses are of different record types. PITH_E_ARG: a negative count, or
 * a lens is NULL.
 * @par Errors of setting
 * PITH_E_STRUCTURE: the tuple has another length. PITH_E_ARG, with both lenses and the
 * path: one lens sets a part that the other sets, contains or lies in, or a function lens
 * would not return the value that was set.
 */
PITH_API const pith_lens *
pith_lens_merge(pith_scope *s, int64_t count, const pith_lens *const *lenses);
/** Count and lenses for pith_lens_merge: PITH_LENSES(a, b, c). */
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

/* ---- Traversals: got as a list, set from a list or tuple of the same length ----
 *
 * A lens after a traversal (focus, nest, another traversal) applies to each part that the
 * traversal finds. So pith_lens_focus(s, pith_lens_each(s, lens), ".position") is the
 * position of each item. Two traversals give a list of lists. Setting with another length
 * is PITH_E_STRUCTURE with both lengths. Parts are found in the order of a walk, anew in
 * each root. The walk does not enter a part that it found, so no part lies within
 * another. */

/** Each item of a list, tuple or dict. */
PITH_API const pith_lens *pith_lens_each(pith_scope *s, const pith_lens *lens);
/** Items in a slice: PITH_SLICE(-2, INT64_MAX, 1) is the last two.
 *
 * @par Errors
 * PITH_E_ARG: the step is 0 or INT64_MIN. */
PITH_API const pith_lens *
pith_lens_items(pith_scope *s, const pith_lens *lens, pith_slice slice);
/** All nodes and leaves for which @p predicate holds. @p closure must live as long as the
 * lens is used.
 *
 * @par Errors
 * PITH_E_ARG: @p predicate is NULL. */
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
 * by value, with all fields as T declares them (PITH_LEAF(base.position, ...)), matches
 * too: its T is got and set as a record of T, and its other members are searched. */
#define pith_lens_all_of(s, lens, T) pith_lens_all_of_any((s), (lens), T##_pith_type())
/** As pith_lens_all_of, for the type of a record. */
PITH_API const pith_lens *
pith_lens_all_of_any(pith_scope *s, const pith_lens *lens, const pith_type *type);

/* ---- Row lenses: they must be the last step of a lens ---- */

/** Options of pith_lens_at; zero is the default. Zero members follow the records around a
 * leaf (PITH_SCATTER_ARGS), for getting and setting. */
typedef struct pith_lens_at_options {
    int axis PITH_DEFAULT; /**< negative: from the last */
    /** Treatment of indices out of range. Default: getting returns the fill, setting
     * drops the update. In every mode negative indices count from the end, once. */
    pith_index_mode mode PITH_DEFAULT;
    bool unique PITH_DEFAULT;        /**< a promise, as in pith_scatter_options */
    bool sorted PITH_DEFAULT;        /**< a promise, as in pith_scatter_options */
    const double *fill PITH_DEFAULT; /**< fill value of getting; NULL: as pith_take */
} pith_lens_at_options;

/**
 * The rows at @p index of every leaf in the part of @p lens.
 *
 * Getting returns a tree like the part, with the rows (pith_take). Setting takes such a
 * tree, or one array for all leaves; values are broadcast and cast as by
 * pith_scatter_set. If indices repeat, the last row wins. With an empty index, setting
 * changes nothing and getting returns the part itself.
 *
 * @par Errors
 * PITH_E_ARG: the lens ends in pith_lens_at or pith_lens_slice already.
 */
PITH_API const pith_lens *pith_lens_at(pith_scope *s,
                                       const pith_lens *lens,
                                       const pith_array *index,
                                       const pith_lens_at_options *options);
/** As pith_lens_at, for slices along the first @p count axes of every leaf, as
 * pith_tree_slice takes them.
 *
 * @par Errors
 * PITH_E_ARG: those of pith_lens_at; the count is negative or above PITH_MAX_RANK; slices
 * is NULL; a step is 0 or INT64_MIN. */
PITH_API const pith_lens *pith_lens_slice(pith_scope *s,
                                          const pith_lens *lens,
                                          int64_t count,
                                          const pith_slice *slices);

/* ---- Using them ---- */

/**
 * Get the part of a lens.
 *
 * @return Borrowed from @p root, or made in @p s (see the file comment); NULL if the part
 * is absent, and on failure.
 *
 * @par Errors
 * PITH_E_TYPE: @p root is no record of the lens's type. PITH_E_PATH: the root has no such
 * part.
 */
PITH_API const void *
pith_lens_get(pith_scope *s, const pith_lens *lens, const void *root);
/**
 * Set the part of a lens: pith_lens_set(s, lens, root, value).
 *
 * @return A new root of the type of @p root. On failure the nil record of that type, or
 * NULL.
 *
 * @par Errors
 * Those of pith_lens_get and of pith_freeze, with the path from the root.
 */
#define pith_lens_set(s, lens, root, ...)                                                \
    ((__typeof__(root))pith_lens_set_with((s), (lens), (root), __VA_ARGS__, NULL))
/** As pith_lens_set, with options (NULL for the defaults), for roots of any type. */
PITH_API const void *pith_lens_set_with(pith_scope *s,
                                        const pith_lens *lens,
                                        const void *root,
                                        const void *value,
                                        const pith_lens_options *options);
/** Modify the part of a lens: set function(part, closure), as
 * pith_lens_apply(s, lens, root, function, closure).
 */
#define pith_lens_apply(s, lens, root, function, ...)                                    \
    ((__typeof__(root))pith_lens_apply_with((s), (lens), (root), (function),             \
                                            __VA_ARGS__, NULL))
/** As pith_lens_apply, with options (NULL for the defaults), for roots of any type. */
PITH_API const void *pith_lens_apply_with(pith_scope *s,
                                          const pith_lens *lens,
                                          const void *root,
                                          pith_lens_modifier function,
                                          void *closure,
                                          const pith_lens_options *options);
/**
 * Get a static, or the one element of a leaf, as an integer. An i64 static, or the number
 * of an enum or dtype. A leaf is read as by pith_read_i64, which waits.
 *
 * @return The value; 0 on failure.
 *
 * @par Errors
 * PITH_E_DTYPE: a static or leaf of another kind. PITH_E_TYPE: the part is neither a
 * static nor a leaf. Those of pith_lens_get and pith_read_i64.
 */
PITH_API int64_t pith_lens_get_i64(pith_scope *s,
                                   const pith_lens *lens,
                                   const void *root);
/** As pith_lens_get_i64, for an f64 or i64 static, or a leaf (pith_read_f64). */
PITH_API double pith_lens_get_f64(pith_scope *s, const pith_lens *lens, const void *root);
/** As pith_lens_get_i64, for a bool static, or a leaf (pith_read_bool); false on failure.
 */
PITH_API bool pith_lens_get_bool(pith_scope *s, const pith_lens *lens, const void *root);
/** Get a static text, the name of an enum value or dtype, or the text of a pith_text.
 *
 * @return Borrowed from the root or from the part; NULL on failure.
 * @par Errors
 * PITH_E_TYPE: the part is none of these. */
PITH_API const char *
pith_lens_get_text(pith_scope *s, const pith_lens *lens, const void *root);
/**
 * Set a static from an integer, or a leaf to an i64 array of rank 0:
 * pith_lens_set_i64(s, lens, root, value). The static is an i64, enum or dtype. A row of
 * a leaf casts the value.
 *
 * @return The new root, as pith_lens_set.
 *
 * @par Errors
 * PITH_E_DTYPE: a static of another kind, or a leaf declared with another dtype. Those of
 * pith_lens_set.
 */
#define pith_lens_set_i64(s, lens, root, value)                                          \
    ((__typeof__(root))pith_lens_set_i64_with((s), (lens), (root), (value), NULL))
/** As pith_lens_set_i64, for an f64 or i64 static, or an f64 leaf. */
#define pith_lens_set_f64(s, lens, root, value)                                          \
    ((__typeof__(root))pith_lens_set_f64_with((s), (lens), (root), (value), NULL))
/** As pith_lens_set_i64, for a bool static, or a bool leaf. */
#define pith_lens_set_bool(s, lens, root, value)                                         \
    ((__typeof__(root))pith_lens_set_bool_with((s), (lens), (root), (value), NULL))
/** Set a static text, or an enum or dtype by name. Any other part is set to a pith_text.
 *
 * @par Errors
 * PITH_E_ARG: no value has the name. Those of pith_lens_set. */
#define pith_lens_set_text(s, lens, root, value)                                         \
    ((__typeof__(root))pith_lens_set_text_with((s), (lens), (root), (value), NULL))
/** As pith_lens_set_i64, with options. */
PITH_API const void *pith_lens_set_i64_with(pith_scope *s,
                                            const pith_lens *lens,
                                            const void *root,
                                            int64_t value,
                                            const pith_lens_options *options);
/** As pith_lens_set_f64, with options. */
PITH_API const void *pith_lens_set_f64_with(pith_scope *s,
                                            const pith_lens *lens,
                                            const void *root,
                                            double value,
                                            const pith_lens_options *options);
/** As pith_lens_set_bool, with options. */
PITH_API const void *pith_lens_set_bool_with(pith_scope *s,
                                             const pith_lens *lens,
                                             const void *root,
                                             bool value,
                                             const pith_lens_options *options);
/** As pith_lens_set_text, with options. */
PITH_API const void *pith_lens_set_text_with(pith_scope *s,
                                             const pith_lens *lens,
                                             const void *root,
                                             const char *value,
                                             const pith_lens_options *options);

/**
 * The function whose first parameter is the part of a lens: (focus, root, ...) to
 * @p function of root with the focus set, and the other parameters. A derivative with
 * respect to argument 0 is one with respect to the part:
 *
 *     const pith_function *f =
 *         pith_at_focus(s, PITH_LENS(Sim, atoms->position), &energy);
 *     const pith_array *slope =
 *         pith_call(s, pith_grad(s, f, NULL), PITH_ITEMS(sim->atoms->position, sim));
 *
 * Any lens that can be set has such a function, merges and traversals included: then the
 * focus is a tuple or a list. Trees that the lens holds (pith_lens_at,
 * pith_lens_constant) are bound as by pith_partial: they may be traced, and lenses that
 * differ only in them share a program.
 *
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: @p function has four parameters.
 * @par Errors of calls
 * Those of pith_lens_set, and of the function.
 */
PITH_API const pith_function *
pith_at_focus(pith_scope *s, const pith_lens *lens, const pith_function *function);

/* ---- A lens with its root ---- */

/** Bind a lens to a root. The result belongs to @p s, with copies of a lens and a root
 * that do not outlive @p s. */
PITH_API const pith_bound *
pith_lens_bind(pith_scope *s, const pith_lens *lens, const void *root);
/** The lens of a bound lens, borrowed; NULL for an invalid one. */
PITH_API const pith_lens *pith_bound_lens(const pith_bound *bound);
/** The root of a bound lens, borrowed; NULL for an invalid one. */
PITH_API const void *pith_bound_root(const pith_bound *bound);
/** pith_lens_get in the bound root. */
PITH_API const void *pith_bound_get(pith_scope *s, const pith_bound *bound);
/** pith_lens_set_with in the bound root. The new root is not bound. */
PITH_API const void *pith_bound_set(pith_scope *s,
                                    const pith_bound *bound,
                                    const void *value,
                                    const pith_lens_options *options);
/** pith_lens_apply_with in the bound root. The new root is not bound. */
PITH_API const void *pith_bound_apply(pith_scope *s,
                                      const pith_bound *bound,
                                      pith_lens_modifier function,
                                      void *closure,
                                      const pith_lens_options *options);
/** pith_lens_focus, bound to the same root. */
PITH_API const pith_bound *
pith_bound_focus(pith_scope *s, const pith_bound *bound, const char *path);
/** pith_lens_nest, bound to the same root. */
PITH_API const pith_bound *
pith_bound_nest(pith_scope *s, const pith_bound *bound, const pith_lens *inner);
/** pith_lens_at, bound to the same root. */
PITH_API const pith_bound *pith_bound_at(pith_scope *s,
                                         const pith_bound *bound,
                                         const pith_array *index,
                                         const pith_lens_at_options *options);

/** Text of a lens, such as ".lists.max_neighbours" or "(.a, .b)"; owned by @p s. */
PITH_API const char *pith_lens_text(pith_scope *s, const pith_lens *lens);

PITH_END

/* The fast path of PITH_LENS, after the first call. */
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
#    define pith_at_focus(s, ...)    pith_at_focus(PITH_AT(s), __VA_ARGS__)
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
