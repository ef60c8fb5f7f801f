/**
 * @file
 * Base types of pith: status codes, dtypes, specs, scopes, errors and allocation.
 *
 * A program opens a runtime (runtime.h), opens scopes in it, and makes arrays and trees
 * in scopes. A scope owns the objects made in it. Objects are immutable. An error stays
 * on its scope until it is cleared.
 */
#ifndef PITH_BASE_H
#define PITH_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#    include <initializer_list>
#endif

#if defined(_WIN32)
#    error "pith supports POSIX systems"
#endif
#ifdef __cplusplus
#    define PITH_API extern "C" __attribute__((visibility("default")))
#    if defined(__clang__)
/* clang++ takes structs with PITH_DEFAULT for ones that C cannot return. Its members with
 * defaults change neither their layout nor how they are passed. */
#        define PITH_BEGIN                                                               \
            _Pragma("clang diagnostic push") _Pragma(                                    \
                "clang diagnostic ignored \"-Wreturn-type-c-linkage\"") extern "C" {
#        define PITH_END                                                                 \
            }                                                                            \
            _Pragma("clang diagnostic pop")
#    else
#        define PITH_BEGIN extern "C" {
#        define PITH_END   }
#    endif
#    define PITH_DEFAULT                                                                 \
        = {} /* avoids a warning of g++ -Wextra for members that a list leaves out */
#else
#    define PITH_API extern __attribute__((visibility("default")))
#    define PITH_BEGIN
#    define PITH_END
#    define PITH_DEFAULT
#endif
#define PITH_NODISCARD               __attribute__((warn_unused_result))
#define PITH_FORMAT(text, arguments) __attribute__((format(printf, text, arguments)))
#define PITH_STRINGIZE_(x)           #x
#define PITH_STRINGIZE(x)            PITH_STRINGIZE_(x)

#define PITH_VERSION_MAJOR 0
#define PITH_VERSION_MINOR 1
#define PITH_VERSION_PATCH 0
/** Version of these headers, such as "0.1.0". */
#define PITH_VERSION_TEXT                                                                \
    PITH_STRINGIZE(PITH_VERSION_MAJOR)                                                   \
    "." PITH_STRINGIZE(PITH_VERSION_MINOR) "." PITH_STRINGIZE(PITH_VERSION_PATCH)

/* ---- Status codes: X(NAME, value, text) ---- */
#define PITH_STATUS_LIST(X)                                                              \
    X(OK, 0, "no error")                                                                 \
    X(E_ARG, 1, "invalid argument")                                                      \
    X(E_SCOPE, 2, "scope is closed or not a scope")                                      \
    X(E_MEMORY, 3, "out of memory")                                                      \
    X(E_DTYPE, 4, "dtype does not fit")                                                  \
    X(E_SHAPE, 5, "shape does not fit")                                                  \
    X(E_INDEX, 6, "index out of range")                                                  \
    X(E_TYPE, 7, "record type does not fit")                                             \
    X(E_STRUCTURE, 8, "tree structures differ")                                          \
    X(E_PATH, 9, "no such path")                                                         \
    X(E_TRACED, 10, "traced array where a value is needed")                              \
    X(E_DONATED, 11, "array was donated")                                                \
    X(E_DEVICE, 12, "device error")                                                      \
    X(E_COMPILE, 13, "compilation failed")                                               \
    X(E_UNSUPPORTED, 14, "not supported here")                                           \
    X(E_IO, 15, "input or output failed")                                                \
    X(E_FORMAT, 16, "malformed file")                                                    \
    X(E_CHECK, 17, "check failed")                                                       \
    X(E_CAPACITY, 18, "capacity exceeded")                                               \
    X(E_OVERFLOW, 19, "size overflows")                                                  \
    X(E_CALLBACK, 20, "callback failed")                                                 \
    X(E_INTERNAL, 21, "internal error")                                                  \
    X(E_DERIVATIVE, 22, "no derivative")                                                 \
    X(E_DIVERGED, 23, "ranks diverge")                                                   \
    X(E_PEER, 24, "another rank failed")

/** Error codes; 0 is success. The values are stable. */
typedef enum pith_status {
#define PITH_STATUS_ENUM_(name, value, text) PITH_##name = value,
    PITH_STATUS_LIST(PITH_STATUS_ENUM_)
#undef PITH_STATUS_ENUM_
} pith_status;

/* ---- dtypes: X(name, NAME, C storage type, bytes, kind) ---- */
/* kind: b bool, i signed, u unsigned, f float. f16 and bf16 are stored as bits. */
#define PITH_DTYPE_LIST(X)                                                               \
    X(bool, BOOL, uint8_t, 1, 'b')                                                       \
    X(i8, I8, int8_t, 1, 'i')                                                            \
    X(i16, I16, int16_t, 2, 'i')                                                         \
    X(i32, I32, int32_t, 4, 'i')                                                         \
    X(i64, I64, int64_t, 8, 'i')                                                         \
    X(u8, U8, uint8_t, 1, 'u')                                                           \
    X(u16, U16, uint16_t, 2, 'u')                                                        \
    X(u32, U32, uint32_t, 4, 'u')                                                        \
    X(u64, U64, uint64_t, 8, 'u')                                                        \
    X(f16, F16, uint16_t, 2, 'f')                                                        \
    X(bf16, BF16, uint16_t, 2, 'f')                                                      \
    X(f32, F32, float, 4, 'f')                                                           \
    X(f64, F64, double, 8, 'f')

/** Element type of an array. PITH_DTYPE_NONE (0) means "not given". */
typedef enum pith_dtype {
    PITH_DTYPE_NONE = 0,
    PITH_BOOL,
    PITH_I8,
    PITH_I16,
    PITH_I32,
    PITH_I64,
    PITH_U8,
    PITH_U16,
    PITH_U32,
    PITH_U64,
    PITH_F16,
    PITH_BF16,
    PITH_F32,
    PITH_F64
} pith_dtype;

#define PITH_DTYPE_COUNT 14 /**< number of dtypes, with PITH_DTYPE_NONE */
#define PITH_MAX_RANK    8  /**< largest rank of an array */
#define PITH_SPEC_RANK   12 /**< largest rank of a value inside a compiled program */

/** Dtype and shape of an array. The library interns specs: equal specs are one object. */
typedef struct pith_spec {
    pith_dtype dtype;
    int32_t rank;                  /**< 0 to PITH_MAX_RANK */
    int64_t count;                 /**< number of elements */
    size_t bytes;                  /**< bytes of the elements */
    int64_t shape[PITH_SPEC_RANK]; /**< extents in C order; 0 beyond the rank */
} pith_spec;

/** Extents of an array, C order. */
typedef struct pith_shape {
    int32_t rank; /**< 0 to PITH_MAX_RANK */
    int64_t extents[PITH_MAX_RANK];
} pith_shape;

#define PITH_COUNT_ARGS_(...)                             PITH_COUNT_ARGS2_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define PITH_COUNT_ARGS2_(a, b, c, d, e, f, g, h, n, ...) n
/* A compound literal of a struct, and one of an array with the number of its elements.
 * The array lives until the end of the full expression. */
#ifdef __cplusplus
#    define PITH_LITERAL_(T)       T
#    define PITH_ARRAY_(T, ...)    (std::initializer_list<T>{__VA_ARGS__}.begin())
#    define PITH_COUNT_OF_(T, ...) (std::initializer_list<T>{__VA_ARGS__}.size())
#else
#    define PITH_LITERAL_(T)       (T)
#    define PITH_ARRAY_(T, ...)    ((T const[]){__VA_ARGS__})
#    define PITH_COUNT_OF_(T, ...) (sizeof((T const[]){__VA_ARGS__}) / sizeof(T))
#endif
/** A shape of rank 1 to 8: PITH_SHAPE(256, 3). */
#define PITH_SHAPE(...)                                                                  \
    (PITH_LITERAL_(pith_shape){PITH_COUNT_ARGS_(__VA_ARGS__), {__VA_ARGS__}})
/** The shape of rank 0. */
#define PITH_SCALAR (PITH_LITERAL_(pith_shape){0, {0}})

typedef struct pith_runtime pith_runtime; /**< a device with its memory and caches */
typedef struct pith_scope
    pith_scope; /**< owner of results; used by one thread at a time */
typedef struct pith_array pith_array; /**< a leaf: concrete or traced; immutable */

PITH_BEGIN

/** Version of the loaded library, in the form of PITH_VERSION_TEXT; never NULL. */
PITH_API const char *pith_version(void);

/** Name of a status code, such as "PITH_E_SHAPE"; never NULL. */
PITH_API const char *pith_status_name(pith_status status);
/** One line that explains a status code; never NULL. */
PITH_API const char *pith_status_text(pith_status status);

/** Name of a dtype, such as "f32"; "none" for PITH_DTYPE_NONE and invalid values. */
PITH_API const char *pith_dtype_name(pith_dtype dtype);
/** Size of an element in bytes; 0 for PITH_DTYPE_NONE. */
PITH_API size_t pith_dtype_size(pith_dtype dtype);
/** The dtype with a name; PITH_DTYPE_NONE if there is none. */
PITH_API pith_dtype pith_dtype_parse(const char *name);
/** Whether the dtype is f16, bf16, f32 or f64. */
PITH_API bool pith_dtype_is_float(pith_dtype dtype);
/** Whether the dtype is a signed or unsigned integer (bool is neither). */
PITH_API bool pith_dtype_is_integer(pith_dtype dtype);

/**
 * Allocator that a runtime uses for all host memory.
 *
 * @c allocate returns memory aligned to @p alignment (a power of two, at least 16), or
 * NULL. @c release frees memory of @c allocate, with the same size and alignment. Any
 * thread may call both.
 */
typedef struct pith_allocator {
    void *(*allocate)(void *closure, size_t bytes, size_t alignment);
    void (*release)(void *closure, void *memory, size_t bytes, size_t alignment);
    void *closure;
} pith_allocator;

/** Severity of a log message. */
typedef enum pith_log_level {
    PITH_LOG_DEBUG,
    PITH_LOG_INFO,
    PITH_LOG_WARNING,
    PITH_LOG_ERROR
} pith_log_level;
/** Receives messages that no call can return. Any thread may call it. */
typedef void (*pith_log_hook)(pith_log_level level, const char *message, void *closure);

/**
 * Set the log hook of a runtime; NULL disables logging.
 *
 * A runtime opened without a hook has the default hook. It writes lines to stderr whose
 * level is at least that of PITH_LOG in the environment (debug, info, warning, error, or
 * off). Without PITH_LOG it writes only the messages of pith_debug.
 */
PITH_API void pith_set_log_hook(pith_runtime *rt, pith_log_hook hook, void *closure);

/* ---- Scopes ---- */

/**
 * Open a scope of @p rt, on a stream of the runtime's default group.
 *
 * @return The scope, never NULL. If memory is short or @p rt is not usable, it is a
 * static scope that has the error and makes nothing.
 */
PITH_API pith_scope *pith_scope_open(pith_runtime *rt);

/**
 * Open a child of @p parent with the same stream, options and assertion level. It belongs
 * to its parent's thread.
 *
 * When a child with an uncleared error closes, its parent gets the error. If memory for
 * the child is short, the parent gets PITH_E_MEMORY at once.
 *
 * @return The scope, never NULL.
 */
PITH_API pith_scope *pith_scope_open_in(pith_scope *parent);

/**
 * Close a scope: close its open children, then free all that it owns.
 *
 * Unread failures of the device go to the parent, or to the log hook. Closing a closed
 * scope or NULL does nothing.
 */
PITH_API void pith_scope_close(pith_scope *s);

/** The runtime of a scope; NULL if @p s is not an open scope. */
PITH_API pith_runtime *pith_scope_runtime(const pith_scope *s);

/** Host memory of a scope's objects in bytes, without the elements of arrays. */
PITH_API size_t pith_scope_bytes(const pith_scope *s);

/* ---- Errors: the first one stays on the scope ---- */

/** Whether the scope has an error. Does not wait for the device. */
PITH_API bool pith_failed(const pith_scope *s);
/** The code of the scope's error; PITH_OK without an error; PITH_E_SCOPE for a closed
 * scope. */
PITH_API pith_status pith_code(const pith_scope *s);
/**
 * The message of the scope's error: one line with path, expected and actual value, and
 * call site. An error in the text of an expression adds two lines: the text around the
 * error, and a caret below it.
 *
 * @return Text that is valid until the scope is cleared, fails again or closes; never
 * NULL.
 */
PITH_API const char *pith_message(const pith_scope *s);
/** Path of the error in the tree, such as ".atoms.position"; "" without a path. */
PITH_API const char *pith_error_path(const pith_scope *s);
/** Call site of the error, such as "melt.c:120"; "" if it is unknown. */
PITH_API const char *pith_error_site(const pith_scope *s);
/**
 * Clear the scope's error.
 *
 * The error of a scope without a working device cannot be cleared. A traced function may
 * clear PITH_E_TRACED and go on, but the compiled call still fails with it: the recorded
 * program may differ from a run with values.
 */
PITH_API void pith_clear(pith_scope *s);
/**
 * Set an error of the caller on @p s, unless @p s has one. For user functions that report
 * errors as the library does.
 */
PITH_API void
pith_fail(pith_scope *s, pith_status code, const char *path, const char *format, ...)
    PITH_FORMAT(4, 5);

/** Set the call site of the next call; used by the macros below. @p site must live as
 * long as the runtime, because traced arrays keep it. */
PITH_API pith_scope *pith_call_site(pith_scope *s, const char *site);
#define PITH_AT(s) pith_call_site((s), __FILE__ ":" PITH_STRINGIZE(__LINE__))

PITH_END

/* Calls that can fail pass their call site. A function called through a pointer or inside
 * parentheses, (pith_fail)(s, ...), has no site. */
#ifndef PITH_NO_SITES
#    define PITH_SITE_(s) PITH_AT(s)
#else
#    define PITH_SITE_(s) (s)
#endif

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_fail(s, ...) pith_fail(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
