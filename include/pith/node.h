/**
 * @file
 * Declaring nodes: one description of a plain C struct, from which everything else
 * follows.
 *
 *     typedef struct {
 *         const pith_array *position, *velocity;
 *     } Atoms;
 *     typedef struct {
 *         const Atoms *atoms;
 *         const pith_array *neighbour;
 *         int64_t width;
 *     } Sim;
 *
 *     PITH_NODE(Atoms,
 *         PITH_LEAF(position, "float[n,3]", .unit = "sigma"),
 *         PITH_LEAF(velocity, "float[n,3]"))
 *     PITH_NODE(Sim,
 *         PITH_CHILD(atoms, Atoms),
 *         PITH_LEAF(neighbour, "i32[n,width]", .fill = -1),
 *         PITH_STATIC(width, .initial = 64))
 *
 * Leaf specs: dtype "[" extents "]". dtype: a dtype, the name of a static field declared
 * with PITH_STATIC_DTYPE, "float" (f16, bf16, f32 or f64: all such leaves of one tree
 * agree) or "any". An extent: a number, a name, k*name, name+k, k*name+j, or any of them
 * with ^name, which is the name of the nearest enclosing node that has it. A name is a
 * static field of the node, or is bound by the leaves that have it, which must agree. No
 * brackets: rank 0. "[...]" alone: any shape. Extra leading extents are allowed if all
 * leaves of a node agree on them.
 *
 * C17, C++20 and CUDA C++20; the header itself compiles as C++17.
 */
#ifndef PITH_NODE_H
#define PITH_NODE_H

#include <pith/base.h>
#include <string.h>
#ifdef __cplusplus
#    include <type_traits>
#endif

typedef struct pith_type
    pith_type; /**< a registered record type; lives as long as the process */
typedef struct pith_upgrade
    pith_upgrade; /**< a record of an older checkpoint, see pith/checkpoint.h */

/** Kind of a field. */
typedef enum pith_field_kind {
    PITH_FIELD_LEAF,   /**< const pith_array * */
    PITH_FIELD_CHILD,  /**< const T *, T a node */
    PITH_FIELD_TREE,   /**< const void *: any tree */
    PITH_FIELD_LIST,   /**< const pith_list *: a list of records of one type */
    PITH_FIELD_DICT,   /**< const pith_dict *: a dict of records of one type */
    PITH_FIELD_STATIC, /**< part of the structure */
    PITH_FIELD_IGNORE, /**< a member outside the tree; zero in frozen records */
    PITH_FIELD_HOOK    /**< not a member: a hook or option of the type */
} pith_field_kind;

/** Type of a static field. */
typedef enum pith_static_kind {
    PITH_STATIC_KIND_NONE,
    PITH_STATIC_KIND_I64,
    PITH_STATIC_KIND_F64,
    PITH_STATIC_KIND_BOOL,
    PITH_STATIC_KIND_TEXT,  /**< const char *, copied when the record is frozen; NULL is
                             * allowed
                             */
    PITH_STATIC_KIND_ENUM,  /**< an enum, with names of its values 0, 1, ... */
    PITH_STATIC_KIND_DTYPE, /**< pith_dtype */
    PITH_STATIC_KIND_RECORD /**< const T *, T a node without leaves */
} pith_static_kind;

/** Hooks of a record type. */
typedef enum pith_hook_kind {
    PITH_HOOK_NONE,
    PITH_HOOK_VALIDATE, /**< void (*)(pith_scope *, const T *): report with pith_fail */
    PITH_HOOK_VERSION,  /**< options.initial is the version of the type in checkpoints */
    PITH_HOOK_MATCH,    /**< void (*)(pith_scope *, int64_t count, const T **nodes) */
    PITH_HOOK_SCATTER_ARGS, /**< pith_scatter_options (*)(const T *) */
    PITH_HOOK_UPGRADE, /**< void (*)(pith_scope *, pith_upgrade *); options.initial is the
                          version that it upgrades from */
    PITH_HOOK_FORMERLY, /**< options.initial_text is an earlier name of the type */
    PITH_HOOK_NAMED,    /**< options.initial_text is the name of the type */
    PITH_HOOK_USES      /**< child is a type that trees in the record may contain */
} pith_hook_kind;

/** Options of a field; everything zero is the default. C++ takes them in this order. */
typedef struct pith_field_options {
    const char *unit PITH_DEFAULT; /**< shown and saved; it has no effect on values */
    const char *doc PITH_DEFAULT;  /**< shown by pith_print with .docs */
    double fill
        PITH_DEFAULT; /**< value of new elements of a leaf; must be exact in its dtype */
    double initial
        PITH_DEFAULT; /**< initial value of a static number, bool, enum or dtype */
    const char *initial_text PITH_DEFAULT; /**< initial value of a static string */
    bool optional PITH_DEFAULT; /**< a leaf, child, list or dict may be absent (NULL) */
    /** Compression of a leaf in the sidecar of a checkpoint: level of zstd, 1 to 19; 0:
     * the level of the save; negative: none. */
    int compress PITH_DEFAULT;
    /** The axes of the mesh that a leaf is sharded over, a list for each of its axes:
     * "x,y", ";x"; see shard.h. NULL: none. */
    const char *shard PITH_DEFAULT;
    /** A sharded leaf: the leaf of the same record, i64 of rank 0 and sharded over the
     * axes of the first list, that counts the rows in use. NULL: all are. */
    const char *rows PITH_DEFAULT;
} pith_field_options;

/** One entry of a node's description; made by the macros below. */
typedef struct pith_field {
    const char *name;
    size_t offset, size;
    pith_field_kind kind;
    const char *spec; /**< leaves: "f64[n,3]" */
    /** of children, items of lists and dicts, static records and uses: type */
    const pith_type *(*child)(void);
    const char *child_name; /**< and its name */
    pith_static_kind static_kind;
    const char *const
        *names; /**< PITH_STATIC_ENUM: the names; NULL terminates the list */
    pith_hook_kind hook_kind;
    void (*hook)(void); /**< cast to the type of hook_kind before the call */
    pith_field_options options;
} pith_field;

/** The description of a record type; made by PITH_NODE. */
typedef struct pith_type_spec {
    const char *name;
    size_t size, alignment;
    const pith_field *fields;
    size_t field_count;
    const unsigned char *members; /**< `size` bytes, 0 at padding; NULL: unknown */
} pith_type_spec;

PITH_BEGIN

/**
 * Register a record type, or find the type registered under the same name (PITH_NAMED,
 * else the name of the struct).
 *
 * The inline function of PITH_NODE calls it; any thread may. The description is copied. A
 * description is refused if it is invalid, or if it differs from the registered one, also
 * in a child. Every use of its type then fails with PITH_E_TYPE and the reason
 * (pith_type_error). The registered type stays usable.
 *
 * @param cache Storage of the caller for the result; set once.
 * @return The type, never NULL.
 */
PITH_API const pith_type *pith_type_register(const pith_type_spec *spec,
                                             const pith_type **cache);
/** Name of a record type, from PITH_NAMED or its struct; "" for an invalid type. */
PITH_API const char *pith_type_name(const pith_type *type);
/** The type that stands for arrays in typed functions; not a record type. */
PITH_API const pith_type *pith_array_pith_type(void);
/** The error in a type's description, as one line; NULL for a valid type. */
PITH_API const char *pith_type_error(const pith_type *type);

PITH_END

#ifdef __cplusplus
#    define PITH_FIELD_OPTIONS_(...) (pith_field_options{__VA_ARGS__})
#    define PITH_SAME_(expr, T)                                                          \
        (0 * sizeof(char[std::is_same<std::remove_reference_t<decltype(expr)>, T>::value \
                             ? 1                                                         \
                             : -1]))
template <class T> constexpr pith_static_kind pith_static_of_() {
    static_assert(
        std::is_same<T, bool>::value || std::is_same<T, double>::value ||
            std::is_same<T, int64_t>::value || std::is_same<T, const char *>::value,
        "a static field is int64_t, double, bool or const char * (or see PITH_STATIC_ENUM)");
    return std::is_same<T, bool>::value      ? PITH_STATIC_KIND_BOOL
           : std::is_same<T, double>::value  ? PITH_STATIC_KIND_F64
           : std::is_same<T, int64_t>::value ? PITH_STATIC_KIND_I64
                                             : PITH_STATIC_KIND_TEXT;
}
#    define PITH_STATIC_KIND_(expr)                                                      \
        (pith_static_of_<std::remove_reference_t<decltype(expr)>>())
#    define PITH_CHOICE_(expr)                                                           \
        (0 * sizeof(char[std::is_enum<std::remove_reference_t<decltype(expr)>>::value || \
                                 std::is_same<std::remove_reference_t<decltype(expr)>,   \
                                              int>::value                                \
                             ? 1                                                         \
                             : -1]))
#    define PITH_ALIGNOF_(T) alignof(T)
#else
#    define PITH_FIELD_OPTIONS_(...)                                                     \
        { __VA_ARGS__ }
#    define PITH_SAME_(expr, T) (0 * sizeof(_Generic((expr), T : 1)))
#    define PITH_STATIC_KIND_(expr)                                                      \
        _Generic((expr), int64_t                                                         \
                 : PITH_STATIC_KIND_I64, double                                          \
                 : PITH_STATIC_KIND_F64, bool                                            \
                 : PITH_STATIC_KIND_BOOL, const char *                                   \
                 : PITH_STATIC_KIND_TEXT)
#    define PITH_CHOICE_(expr) (0 * sizeof(_Generic((expr), int : 1, unsigned : 1)))
#    define PITH_ALIGNOF_(T)   _Alignof(T)
#endif

/* Bytes of a struct that are members. gcc can tell them, so that a member missing from
 * the description is found even if it fits into a gap. With other compilers only gaps
 * that alignment does not explain are found. */
#if defined(__has_builtin) && !defined(__CUDACC__)
#    if __has_builtin(__builtin_clear_padding)
#        define PITH_MEMBERS_(T)                                                         \
            unsigned char members[sizeof(T)];                                            \
            T probe;                                                                     \
            memset(&probe, 0xff, sizeof probe);                                          \
            __builtin_clear_padding(&probe);                                             \
            memcpy(members, &probe, sizeof probe);
#        define PITH_MEMBERS_OF_ members
#    endif
#endif
#ifndef PITH_MEMBERS_OF_
#    define PITH_MEMBERS_(T)
#    define PITH_MEMBERS_OF_ NULL
#endif

/**
 * Describe the struct T as a node: leaves, children, statics and hooks. Every member must
 * be named once.
 *
 * Defines an inline function T_pith_type, which the macros of pith use. The description
 * may stand in a header that several files include, in C and C++.
 */
#define PITH_NODE(T, ...)                                                                \
    static inline const pith_type *T##_pith_type(void);                                  \
    __attribute__((unused, noinline, cold)) static const pith_type *T##_pith_register(   \
        const pith_type **cache) {                                                       \
        typedef T Self;                                                                  \
        PITH_MEMBERS_(Self)                                                              \
        static const pith_field fields[] = {__VA_ARGS__};                                \
        const pith_type_spec spec = {#T,                                                 \
                                     sizeof(Self),                                       \
                                     PITH_ALIGNOF_(Self),                                \
                                     fields,                                             \
                                     sizeof fields / sizeof fields[0],                   \
                                     PITH_MEMBERS_OF_};                                  \
        return pith_type_register(&spec, cache);                                         \
    }                                                                                    \
    __attribute__((unused)) static inline const pith_type *T##_pith_type(void) {         \
        static const pith_type *cache;                                                   \
        const pith_type *known;                                                          \
        __atomic_load(&cache, &known, __ATOMIC_ACQUIRE);                                 \
        return __builtin_expect(known != NULL, 1) ? known : T##_pith_register(&cache);   \
    }

/* Options may be omitted without an empty variadic list, which strict C17 forbids. */
#define PITH_PICK_(a, b, c, d, e, f, g, h, chosen, ...) chosen

/** A leaf: PITH_LEAF(member, "f64[n,3]", options...). The member is a const pith_array *.
 */
#define PITH_LEAF(...)                                                                   \
    PITH_PICK_(__VA_ARGS__, PITH_LEAF_O_, PITH_LEAF_O_, PITH_LEAF_O_, PITH_LEAF_O_,      \
               PITH_LEAF_O_, PITH_LEAF_O_, PITH_LEAF_, PITH_BAD_, PITH_BAD_)             \
    (__VA_ARGS__)
/** A child: PITH_CHILD(member, T, options...). The member is a const T *. */
#define PITH_CHILD(...)                                                                  \
    PITH_PICK_(__VA_ARGS__, PITH_CHILD_O_, PITH_CHILD_O_, PITH_CHILD_O_, PITH_CHILD_O_,  \
               PITH_CHILD_O_, PITH_CHILD_O_, PITH_CHILD_, PITH_BAD_, PITH_BAD_)          \
    (__VA_ARGS__)
/** A child that may be any tree: an array, list, tuple, dict or record (see PITH_USES).
 * The member is a const void *. */
#define PITH_TREE(...)                                                                   \
    PITH_PICK_(__VA_ARGS__, PITH_TREE_O_, PITH_TREE_O_, PITH_TREE_O_, PITH_TREE_O_,      \
               PITH_TREE_O_, PITH_TREE_O_, PITH_TREE_O_, PITH_TREE_, PITH_BAD_)          \
    (__VA_ARGS__)
/** A list of records of one type: PITH_LIST(layers, Layer, options...). The member is a
 * const pith_list *. T may be the type itself: an empty list ends the recursion. */
#define PITH_LIST(...)                                                                   \
    PITH_PICK_(__VA_ARGS__, PITH_LIST_O_, PITH_LIST_O_, PITH_LIST_O_, PITH_LIST_O_,      \
               PITH_LIST_O_, PITH_LIST_O_, PITH_LIST_, PITH_BAD_, PITH_BAD_)             \
    (__VA_ARGS__)
/** A dict of records of one type: PITH_DICT(species, Species, options...). The member is
 * a const pith_dict *. */
#define PITH_DICT(...)                                                                   \
    PITH_PICK_(__VA_ARGS__, PITH_DICT_O_, PITH_DICT_O_, PITH_DICT_O_, PITH_DICT_O_,      \
               PITH_DICT_O_, PITH_DICT_O_, PITH_DICT_, PITH_BAD_, PITH_BAD_)             \
    (__VA_ARGS__)
/** A static: PITH_STATIC(member, options...): int64_t, double, bool or const char *;
 * box.x for a member of a struct by value. */
#define PITH_STATIC(...)                                                                 \
    PITH_PICK_(__VA_ARGS__, PITH_STATIC_O_, PITH_STATIC_O_, PITH_STATIC_O_,              \
               PITH_STATIC_O_, PITH_STATIC_O_, PITH_STATIC_O_, PITH_STATIC_O_,           \
               PITH_STATIC_, PITH_BAD_)                                                  \
    (__VA_ARGS__)

/* A field: offset, size, kind, spec, types and options. */
#define PITH_ENTRY_(field, check, kind, spec, child, child_name, static_kind, names,     \
                    ...)                                                                 \
    {                                                                                    \
        (#field), offsetof(Self, field) + (check), sizeof(((Self *)0)->field), kind,     \
            spec, child, child_name, static_kind, names, PITH_HOOK_NONE, NULL,           \
            PITH_FIELD_OPTIONS_(__VA_ARGS__)                                             \
    }
/* An option or hook of the type. */
#define PITH_HOOK_ENTRY_(name, check, hook_kind, hook, ...)                              \
    {                                                                                    \
        name, check, 0, PITH_FIELD_HOOK, NULL, NULL, NULL, PITH_STATIC_KIND_NONE, NULL,  \
            hook_kind, hook, PITH_FIELD_OPTIONS_(__VA_ARGS__)                            \
    }
#define PITH_IS_(field, T) PITH_SAME_(((Self *)0)->field, T)

#define PITH_LEAF_(field, text) PITH_LEAF_O_(field, text, .unit = NULL)
#define PITH_LEAF_O_(field, text, ...)                                                   \
    PITH_ENTRY_(field, PITH_IS_(field, const pith_array *), PITH_FIELD_LEAF, text, NULL, \
                NULL, PITH_STATIC_KIND_NONE, NULL, __VA_ARGS__)
#define PITH_CHILD_(field, T) PITH_CHILD_O_(field, T, .unit = NULL)
#define PITH_CHILD_O_(field, T, ...)                                                     \
    PITH_ENTRY_(field, PITH_IS_(field, const T *), PITH_FIELD_CHILD, NULL,               \
                T##_pith_type, #T, PITH_STATIC_KIND_NONE, NULL, __VA_ARGS__)
#define PITH_TREE_(field) PITH_TREE_O_(field, .unit = NULL)
#define PITH_TREE_O_(field, ...)                                                         \
    PITH_ENTRY_(field, PITH_IS_(field, const void *), PITH_FIELD_TREE, NULL, NULL, NULL, \
                PITH_STATIC_KIND_NONE, NULL, __VA_ARGS__)
#define PITH_LIST_(field, T) PITH_LIST_O_(field, T, .unit = NULL)
#define PITH_LIST_O_(field, T, ...)                                                      \
    PITH_ENTRY_(field, PITH_IS_(field, const pith_list *), PITH_FIELD_LIST, NULL,        \
                T##_pith_type, #T, PITH_STATIC_KIND_NONE, NULL, __VA_ARGS__)
#define PITH_DICT_(field, T) PITH_DICT_O_(field, T, .unit = NULL)
#define PITH_DICT_O_(field, T, ...)                                                      \
    PITH_ENTRY_(field, PITH_IS_(field, const pith_dict *), PITH_FIELD_DICT, NULL,        \
                T##_pith_type, #T, PITH_STATIC_KIND_NONE, NULL, __VA_ARGS__)
#define PITH_STATIC_(field) PITH_STATIC_O_(field, .unit = NULL)
#define PITH_STATIC_O_(field, ...)                                                       \
    PITH_ENTRY_(field, 0, PITH_FIELD_STATIC, NULL, NULL, NULL,                           \
                PITH_STATIC_KIND_(((Self *)0)->field), NULL, __VA_ARGS__)
/** A static enum of C's int size: PITH_STATIC_ENUM(member, names, options...); names is
 * an array that ends with NULL: the value i has names[i]. */
#define PITH_STATIC_ENUM(...)                                                            \
    PITH_PICK_(__VA_ARGS__, PITH_ENUM_O_, PITH_ENUM_O_, PITH_ENUM_O_, PITH_ENUM_O_,      \
               PITH_ENUM_O_, PITH_ENUM_O_, PITH_ENUM_, PITH_BAD_, PITH_BAD_)             \
    (__VA_ARGS__)
#define PITH_ENUM_(field, names) PITH_ENUM_O_(field, names, .unit = NULL)
#define PITH_ENUM_O_(field, names, ...)                                                  \
    PITH_ENTRY_(field, PITH_CHOICE_(((Self *)0)->field), PITH_FIELD_STATIC, NULL, NULL,  \
                NULL, PITH_STATIC_KIND_ENUM, names, __VA_ARGS__)
/** A static pith_dtype: PITH_STATIC_DTYPE(member, options...); leaf specs may name it in
 * place of a dtype. */
#define PITH_STATIC_DTYPE(...)                                                           \
    PITH_PICK_(__VA_ARGS__, PITH_DTYPE_O_, PITH_DTYPE_O_, PITH_DTYPE_O_, PITH_DTYPE_O_,  \
               PITH_DTYPE_O_, PITH_DTYPE_O_, PITH_DTYPE_O_, PITH_DTYPE_, PITH_BAD_)      \
    (__VA_ARGS__)
#define PITH_DTYPE_(field) PITH_DTYPE_O_(field, .unit = NULL)
#define PITH_DTYPE_O_(field, ...)                                                        \
    PITH_ENTRY_(field, PITH_IS_(field, pith_dtype), PITH_FIELD_STATIC, NULL, NULL, NULL, \
                PITH_STATIC_KIND_DTYPE, NULL, __VA_ARGS__)
/** A static record: the member is a const T *, T a node without leaves; compared by
 * value. */
#define PITH_STATIC_RECORD(field, T)                                                     \
    PITH_ENTRY_(field, PITH_IS_(field, const T *), PITH_FIELD_STATIC, NULL,              \
                T##_pith_type, #T, PITH_STATIC_KIND_RECORD, NULL, .unit = NULL)
/** Members (up to 6) of a struct by value, each a static: PITH_STATIC_STRUCT(box, x, y,
 * z). */
#define PITH_STATIC_STRUCT(...)                                                          \
    PITH_PICK_(__VA_ARGS__, PITH_BAD_, PITH_STRUCT6_, PITH_STRUCT5_, PITH_STRUCT4_,      \
               PITH_STRUCT3_, PITH_STRUCT2_, PITH_STRUCT1_, PITH_BAD_, PITH_BAD_)        \
    (__VA_ARGS__)
#define PITH_STRUCT1_(f, a)             PITH_STATIC_(f.a)
#define PITH_STRUCT2_(f, a, b)          PITH_STATIC_(f.a), PITH_STATIC_(f.b)
#define PITH_STRUCT3_(f, a, b, c)       PITH_STRUCT2_(f, a, b), PITH_STATIC_(f.c)
#define PITH_STRUCT4_(f, a, b, c, d)    PITH_STRUCT3_(f, a, b, c), PITH_STATIC_(f.d)
#define PITH_STRUCT5_(f, a, b, c, d, e) PITH_STRUCT4_(f, a, b, c, d), PITH_STATIC_(f.e)
#define PITH_STRUCT6_(f, a, b, c, d, e, g)                                               \
    PITH_STRUCT5_(f, a, b, c, d, e), PITH_STATIC_(f.g)
/** A member outside the tree; it is zero in frozen records. */
#define PITH_IGNORE(field)                                                               \
    PITH_ENTRY_(field, 0, PITH_FIELD_IGNORE, NULL, NULL, NULL, PITH_STATIC_KIND_NONE,    \
                NULL, .unit = NULL)
/**
 * A hook that validates a record when it is made: void validate(pith_scope *, const T *).
 *
 * It reports errors with pith_fail, with a path relative to the node ("" or ".position");
 * then the record is not made. It gets the frozen record and must not keep it. After its
 * shared library is unloaded the type must not be used until a library with the same
 * description is loaded. All other parts of a description are copied.
 */
#define PITH_VALIDATE(function)                                                          \
    PITH_HOOK_ENTRY_(#function,                                                          \
                     PITH_SAME_(&function, void (*)(pith_scope *, const Self *)),        \
                     PITH_HOOK_VALIDATE, (void (*)(void))function, .unit = NULL)
/**
 * A hook that matches records of several trees before a map, stack, concat, select or
 * scatter: void match(pith_scope *, int64_t count, const T **nodes).
 *
 * nodes[i] is the record of the i-th tree at one path. The hook replaces each by a record
 * of T, so that their statics agree, and reports errors with pith_fail. (It makes records
 * of T: declare it before PITH_NODE, define it after.) It runs once for each such path in
 * two or more trees; not below a node that the map's is_leaf picks, and not below another
 * record with a match hook. Nodes around a replaced record are made again and validated.
 * Unloading its library: see PITH_VALIDATE.
 */
#define PITH_MATCH(function)                                                             \
    PITH_HOOK_ENTRY_(                                                                    \
        #function,                                                                       \
        PITH_SAME_(&function, void (*)(pith_scope *, int64_t, const Self **)),           \
        PITH_HOOK_MATCH, (void (*)(void))function, .unit = NULL)
/**
 * A hook with the options of scatters into leaves of a record (pith_tree_scatter_set):
 * pith_scatter_options args(const T *). Nonzero options apply to its leaves and all
 * leaves below, unless the call or a record above sets others. The axis is the call's.
 */
#define PITH_SCATTER_ARGS(function)                                                      \
    PITH_HOOK_ENTRY_(#function,                                                          \
                     PITH_SAME_(&function, pith_scatter_options (*)(const Self *)),      \
                     PITH_HOOK_SCATTER_ARGS, (void (*)(void))function, .unit = NULL)
/**
 * A hook that upgrades a record of an older checkpoint from version @p from to the next:
 * void upgrade(pith_scope *, pith_upgrade *), see pith_upgrade_array in
 * pith/checkpoint.h. A type has one for each version since the oldest that it can read.
 * Unloading its library: see PITH_VALIDATE.
 */
#define PITH_UPGRADE(from, function)                                                     \
    PITH_HOOK_ENTRY_(#function,                                                          \
                     PITH_SAME_(&function, void (*)(pith_scope *, pith_upgrade *)),      \
                     PITH_HOOK_UPGRADE, (void (*)(void))function, .initial = (from))
/** An earlier name of the type in checkpoints: records with this name, if the process has
 * no type of that name, are of this type. If several types had the name, the declaration
 * of the loaded type decides. */
#define PITH_FORMERLY(name)                                                              \
    PITH_HOOK_ENTRY_("formerly", 0, PITH_HOOK_FORMERLY, NULL, .initial_text = (name))
/**
 * The name of the type: PITH_NAMED("particles.Atoms"), identifiers separated by dots, at
 * most 100 characters.
 *
 * It replaces the struct's name in the registry, in files and in messages, so that
 * structs of one name from two libraries can coexist. Macros take the C name of the
 * struct: pith_load(s, Atoms, path).
 */
#define PITH_NAMED(name)                                                                 \
    PITH_HOOK_ENTRY_("named", 0, PITH_HOOK_NAMED, NULL, .initial_text = (name))
/**
 * A record type that a PITH_TREE of the type may contain, directly or further below. A
 * program that uses the type then knows T as well. Declare the node T before.
 *
 * Without it a program must call T_pith_type() before it loads such a record. pith_save
 * reports each record type that no declaration leads to, once, to the log hook.
 */
#define PITH_USES(T)                                                                     \
    {                                                                                    \
        (#T), 0, 0, PITH_FIELD_HOOK, NULL, T##_pith_type, (#T), PITH_STATIC_KIND_NONE,   \
            NULL, PITH_HOOK_USES, NULL, PITH_FIELD_OPTIONS_(.unit = NULL)                \
    }
/** The version of the type, written to checkpoints; 1 by default. */
#define PITH_TYPE_VERSION(number)                                                        \
    PITH_HOOK_ENTRY_("version", 0, PITH_HOOK_VERSION, NULL, .initial = (number))

#endif
