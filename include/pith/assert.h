/**
 * @file
 * Runtime assertions: checks that do not stop a computation, their outcomes, and repairs.
 *
 *     pith_check(s, pith_greater_equal(s, x, zero), "cannot take the root of
 * {value:.2f}", .args = {{"value", x}});
 *
 * reads no value and does not wait. A collector (pith_as_result, pith_with_assertions,
 * pith_collect_begin, and each step of pith_propagate and pith_run) takes all checks made
 * while it is open, in program order. One flag copied from the device tells whether all
 * passed. Values for messages are read when a message is requested.
 *
 * Program order is the order of the calls. C does not define the order in which arguments
 * are evaluated: if two arguments of one call make checks, as in pith_add(s, take(s, a),
 * take(s, b)), either may be first. Separate statements have a fixed order.
 *
 * Without a collector a check of level debug does nothing. A check of level always
 * becomes the scope's error at the next synchronising call, with its call site. Checks
 * inside kernels (pith_require) and PITH_INDEX_ERROR are of level always; a collector
 * receives their failures as assertions.
 */
#ifndef PITH_ASSERT_H
#define PITH_ASSERT_H

#include <pith/tree.h>

typedef struct pith_assertion pith_assertion; /**< a collected check */
typedef struct pith_result pith_result;       /**< collected checks, and a value */

/** Level of a check: when it is enabled. */
typedef enum pith_check_level {
    PITH_CHECK_DEBUG,  /**< only with an open collector */
    PITH_CHECK_ALWAYS, /**< always; an error of the scope without a collector */
    PITH_CHECK_OFF     /**< never */
} pith_check_level;

#define PITH_CHECK_ARGS  8 /**< maximum number of arguments */
#define PITH_CHECK_INFOS 8 /**< maximum number of texts */

/** A value for the message of a check. */
typedef struct pith_check_arg {
    const char *name PITH_DEFAULT; /**< NULL terminates the list */
    const pith_array *value PITH_DEFAULT;
} pith_check_arg;
/** A text for the message of a check. */
typedef struct pith_check_info {
    const char *name PITH_DEFAULT; /**< NULL terminates the list */
    const char *text PITH_DEFAULT;
} pith_check_info;

/** Options of a check; zero is the default. Names and message must live as long as the
 * assertion (usually they are literals). Texts of info and path are copied.
 */
typedef struct pith_check_options {
    /**
     * One line with a placeholder {name} or {name:format} for each value of args and
     * info; a brace is written twice. Formats are Python's: fill, align, sign, #, 0,
     * width (at most 200), precision (at most 100), and a type. Types are b d e E f F g G
     * o x X % and s (texts only). An array is printed on one line, "[[0 1] [2 3]]", each
     * element with the format; without a format as Python prints the number. An axis
     * longer than 8 is printed with its first and last 3 elements. {index} is the first
     * failing index of the predicate, unless an argument has this name.
     */
    const char *message PITH_DEFAULT;
    pith_check_arg args[PITH_CHECK_ARGS] PITH_DEFAULT;
    pith_check_info info[PITH_CHECK_INFOS] PITH_DEFAULT;
    pith_check_level level PITH_DEFAULT;
    pith_status code PITH_DEFAULT; /**< code of the error; PITH_OK: PITH_E_CHECK */
    const char *path PITH_DEFAULT; /**< path of the error: the part of the state that the
                                      check is about */
    /** A function of the root, or of the root and fix_args. It returns a root with which
     * the step may pass. NULL: no fix. */
    const pith_function *fix PITH_DEFAULT;
    const void *fix_args
        PITH_DEFAULT; /**< any tree; required if fix has two parameters */
    /** The check states a need. In a loop of a compiled function fix_args become the
     * elementwise maximum over iterations, instead of the values of the first failure.
     * If fix_args depend on the carry, the maximum ends with the first iteration in which
     * a need, or a check with a fix, failed; the check passes in later iterations. If
     * fix_args depend only on the row, the index and constants, all iterations count. */
    bool fix_greatest PITH_DEFAULT;
} pith_check_options;

PITH_BEGIN

/* ---- Checks ---- */

/**
 * Check that all elements of a predicate are nonzero: pith_check(s, predicate, "text",
 * .args = {{"x", x}}, .fix = &grow).
 *
 * On the host, without a collector, the message is examined only if the predicate fails.
 *
 * @param predicate bool or integer array of any shape; an empty one passes.
 * @param message A literal, see pith_check_options.message.
 *
 * @par Errors
 * If the check is enabled: PITH_E_DTYPE: the predicate has a float dtype. PITH_E_ARG: the
 * predicate is no array; an info has no text; the code is invalid; the message names an
 * unknown argument or has an invalid format; fix has not one or two parameters, or has
 * two and fix_args is NULL. PITH_E_TRACED: fix binds a traced array. In any case
 * PITH_E_ARG: the level is invalid.
 */
#define pith_check(s, predicate, ...)                                                    \
    pith_check_with((s), (predicate), PITH_CHECK_OPTIONS_(__VA_ARGS__))
#ifdef __cplusplus
#    define PITH_CHECK_OPTIONS_(...)                                                     \
        (&static_cast<const pith_check_options &>(                                       \
            pith_check_options{.message = __VA_ARGS__}))
#else
#    define PITH_CHECK_OPTIONS_(...)                                                     \
        (&(const pith_check_options){.message = "" __VA_ARGS__}) /* literals alone */
#endif
/** As pith_check, with the message among the options. */
PITH_API void pith_check_with(pith_scope *s,
                              const pith_array *predicate,
                              const pith_check_options *options);
/** Whether a check of this level is enabled in @p s. Ask before computing values that
 * only a check needs. False for an invalid level, and for a scope with an error. */
PITH_API bool pith_check_enabled(const pith_scope *s, pith_check_level level);
/**
 * Disable checks below a level in @p s and in children opened from now on.
 * PITH_CHECK_DEBUG enables all checks, PITH_CHECK_ALWAYS those of level always,
 * PITH_CHECK_OFF none. Checks inside kernels still run and are reported.
 *
 * @par Errors
 * PITH_E_ARG: an invalid level. PITH_E_TRACED: a compiled function does not restore the
 * level of the scope that it is given (it may set the level of its own scopes).
 */
PITH_API void pith_check_set_level(pith_scope *s, pith_check_level level);
/** The conjunction of the checks that open collectors of @p s have taken: bool of rank 0,
 * true without checks. Does not wait. In a traced function it covers that function's own
 * checks, and in a loop those of the iteration. */
PITH_API const pith_array *pith_check_all(pith_scope *s);

/* ---- Collecting. Results and assertions belong to the given scope and live until it
 * closes. pith_keep moves the value of a result, not its assertions. Collecting is
 * PITH_E_TRACED while a function is traced: collect around the compiled call. ---- */

/**
 * Call a function as pith_call does, and collect its checks. Collectors may be nested:
 * outer ones receive the assertions too.
 *
 * @return The result, with the function's value; NULL on failure.
 *
 * @par Errors
 * Those of the function, which are not assertions.
 */
PITH_API const pith_result *pith_as_result(pith_scope *s,
                                           const pith_function *function,
                                           int64_t count,
                                           const void *const *arguments);
/**
 * As pith_as_result, returning the value.
 *
 * @param assertions Set to the result with the assertions, or NULL on failure.
 *
 * @par Errors
 * PITH_E_ARG: @p assertions is NULL; the function is not called.
 */
PITH_API const void *pith_with_assertions(pith_scope *s,
                                          const pith_function *function,
                                          int64_t count,
                                          const void *const *arguments,
                                          const pith_result **assertions);
/** Collect the checks made in @p s, and in children opened from now on, until
 * pith_collect_end. If the scope closes first, failed checks of level always become its
 * error. */
PITH_API void pith_collect_begin(pith_scope *s);
/**
 * End the innermost collection of @p s and return its checks. The collection also ends on
 * failure, and if @p s already has an error.
 *
 * @param value Any tree, or NULL: the value of the result.
 * @return The result; NULL on failure.
 *
 * @par Errors
 * PITH_E_ARG: no collection was begun in @p s, or @p value is invalid.
 */
PITH_API const pith_result *pith_collect_end(pith_scope *s, const void *value);

/* ---- Results. Reading one in a scope of another stream is PITH_E_ARG. If the scope's
 * mesh has several ranks, all of them call pith_result_all_pass, pith_result_raise and
 * pith_result_fix_or_raise together, each with its own result: they tell of the checks of
 * all ranks, as pith_propagate does. ---- */

/** The value of a result, or NULL. */
PITH_API const void *pith_result_value(const pith_result *result);
/** Whether all assertions passed; true without assertions; false on failure. The first
 * call waits and copies one flag. */
PITH_API bool pith_result_all_pass(pith_scope *s, const pith_result *result);
/** Number of assertions; -1 on failure. Waits, because checks inside kernels are
 * assertions only if they failed. */
PITH_API int64_t pith_result_count(pith_scope *s, const pith_result *result);
/** An assertion by its index in program order. Waits.
 *
 * @return NULL on failure.
 * @par Errors
 * PITH_E_INDEX: there is no such assertion. */
PITH_API const pith_assertion *
pith_result_get(pith_scope *s, const pith_result *result, int64_t index);
/** Number of failed assertions; -1 on failure. Waits. */
PITH_API int64_t pith_result_failed(pith_scope *s, const pith_result *result);
/** A failed assertion by its index among the failed ones. Waits.
 *
 * @return NULL on failure.
 * @par Errors
 * PITH_E_INDEX: there is no such assertion. */
PITH_API const pith_assertion *
pith_result_get_failed(pith_scope *s, const pith_result *result, int64_t index);
/** Make the first failed assertion the error of @p s, with its message, code, path and
 * site. Waits. @return Its code; PITH_OK if all passed. */
PITH_API pith_status pith_result_raise(pith_scope *s, const pith_result *result);
/**
 * Repair a root: apply the fixes of all failed assertions in order, each to the result of
 * the one before.
 *
 * All failures are examined first. If one has no fix, the first such failure is raised
 * and no fix runs. Loops and branches may run call by call. Then failures after the end
 * of the first failed iteration or branch are ignored, because they saw a state that lost
 * data. An error of a fix keeps its own code.
 *
 * @return The repaired root in @p s; @p root itself if all passed. On failure NULL, or
 * the nil record of a record's type.
 */
#define pith_result_fix_or_raise(s, result, root)                                        \
    ((__typeof__(root))pith_result_fix_or_raise_any((s), (result), (root)))
/** As pith_result_fix_or_raise, for roots of any type. */
PITH_API const void *
pith_result_fix_or_raise_any(pith_scope *s, const pith_result *result, const void *root);

/* ---- Assertions ---- */

/** Whether an assertion passed; false for an invalid assertion. Does not wait. */
PITH_API bool pith_assertion_passed(const pith_assertion *assertion);
/** The first failing index of the predicate in C order; for a check inside a kernel, the
 * index of the launch. -1 if it passed. */
PITH_API int64_t pith_assertion_first(const pith_assertion *assertion);
/**
 * The message with its values, one line. For a failed predicate with more than one
 * element the line ends with the first failing index, unless the message has {index}.
 * Waits.
 *
 * @return Text owned by @p s; NULL on failure.
 */
PITH_API const char *pith_assertion_message(pith_scope *s,
                                            const pith_assertion *assertion);
/** Make a failed assertion the error of @p s. Waits. @return Its code; PITH_OK if it
 * passed. */
PITH_API pith_status pith_assertion_raise(pith_scope *s, const pith_assertion *assertion);
/** The message as given, with its placeholders; "" for checks inside kernels. */
PITH_API const char *pith_assertion_text(const pith_assertion *assertion);
/** Code of the error; for checks inside kernels PITH_E_CHECK, PITH_E_CAPACITY or
 * PITH_E_INDEX; PITH_E_ARG for an invalid assertion. */
PITH_API pith_status pith_assertion_code(const pith_assertion *assertion);
/** Call site of the check, such as "melt.c:120"; "" if it is unknown. */
PITH_API const char *pith_assertion_site(const pith_assertion *assertion);
/** Path of the check; "" without a path. */
PITH_API const char *pith_assertion_path(const pith_assertion *assertion);
/** The predicate, as an array of @p s; NULL on failure.
 *
 * @par Errors
 * PITH_E_ARG: a check inside a kernel has no predicate. */
PITH_API const pith_array *pith_assertion_predicate(pith_scope *s,
                                                    const pith_assertion *assertion);
/** Name of an argument by its index; NULL beyond the last. */
PITH_API const char *pith_assertion_arg_name(const pith_assertion *assertion,
                                             int64_t index);
/** An argument by name, as an array of @p s; NULL on failure.
 *
 * @par Errors
 * PITH_E_ARG: there is no such argument. */
PITH_API const pith_array *
pith_assertion_arg(pith_scope *s, const pith_assertion *assertion, const char *name);
/** A text by name, or NULL. */
PITH_API const char *pith_assertion_info(const pith_assertion *assertion,
                                         const char *name);
/** Whether an assertion has a fix. */
PITH_API bool pith_assertion_fixable(const pith_assertion *assertion);
/** The fix; NULL without a fix, and for fixes of pith itself (of a capacity). */
PITH_API const pith_function *pith_assertion_fix(const pith_assertion *assertion);
/** The fix arguments, or NULL. */
PITH_API const void *pith_assertion_fix_args(const pith_assertion *assertion);
/** Apply the fix to a root, whether the assertion failed or not.
 *
 * @return The new root; on failure NULL, or the nil record of a record's type.
 * @par Errors
 * PITH_E_ARG: the assertion has no fix. */
#define pith_assertion_repair(s, assertion, root)                                        \
    ((__typeof__(root))pith_assertion_repair_any((s), (assertion), (root)))
/** As pith_assertion_repair, for roots of any type. */
PITH_API const void *pith_assertion_repair_any(pith_scope *s,
                                               const pith_assertion *assertion,
                                               const void *root);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_check_with(s, ...)        pith_check_with(PITH_AT(s), __VA_ARGS__)
#    define pith_check_set_level(s, ...)   pith_check_set_level(PITH_AT(s), __VA_ARGS__)
#    define pith_check_all(s)              pith_check_all(PITH_AT(s))
#    define pith_as_result(s, ...)         pith_as_result(PITH_AT(s), __VA_ARGS__)
#    define pith_with_assertions(s, ...)   pith_with_assertions(PITH_AT(s), __VA_ARGS__)
#    define pith_collect_begin(s)          pith_collect_begin(PITH_AT(s))
#    define pith_collect_end(s, ...)       pith_collect_end(PITH_AT(s), __VA_ARGS__)
#    define pith_result_all_pass(s, ...)   pith_result_all_pass(PITH_AT(s), __VA_ARGS__)
#    define pith_result_count(s, ...)      pith_result_count(PITH_AT(s), __VA_ARGS__)
#    define pith_result_get(s, ...)        pith_result_get(PITH_AT(s), __VA_ARGS__)
#    define pith_result_failed(s, ...)     pith_result_failed(PITH_AT(s), __VA_ARGS__)
#    define pith_result_get_failed(s, ...) pith_result_get_failed(PITH_AT(s), __VA_ARGS__)
#    define pith_result_raise(s, ...)      pith_result_raise(PITH_AT(s), __VA_ARGS__)
#    define pith_result_fix_or_raise_any(s, ...)                                         \
        pith_result_fix_or_raise_any(PITH_AT(s), __VA_ARGS__)
#    define pith_assertion_message(s, ...) pith_assertion_message(PITH_AT(s), __VA_ARGS__)
#    define pith_assertion_raise(s, ...)   pith_assertion_raise(PITH_AT(s), __VA_ARGS__)
#    define pith_assertion_predicate(s, ...)                                             \
        pith_assertion_predicate(PITH_AT(s), __VA_ARGS__)
#    define pith_assertion_arg(s, ...) pith_assertion_arg(PITH_AT(s), __VA_ARGS__)
#    define pith_assertion_repair_any(s, ...)                                            \
        pith_assertion_repair_any(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
