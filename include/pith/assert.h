/**
 * @file
 * Runtime assertions: checks that do not stop a computation, what came of them, and how
 * to repair what failed.
 *
 *     pith_check(s, pith_greater_equal(s, x, zero), "cannot take the root of
 * {value:.2f}", .args = {{"value", x}});
 *
 * reads no value and waits for nothing. A collector (pith_as_result,
 * pith_with_assertions, pith_collect_begin, and every step of pith_propagate and
 * pith_run) takes all checks that are made while it is open, in the order of the program;
 * one flag is copied from the device to know whether all passed. Values for messages are
 * read when a message is asked for.
 *
 * The order of the program is that of the calls. C does not fix the order in which
 * arguments are evaluated: if two calls that check are arguments of one call, such as
 * pith_add(s, take(s, a), take(s, b)), either may be first. Calls in statements of their
 * own have the order of those.
 *
 * Without a collector a check of level debug does nothing; one of level always becomes
 * the scope's error at the next synchronising call, with the site where it was made.
 * Checks inside kernels (pith_require) and PITH_INDEX_ERROR are of level always; under a
 * collector those that fail are assertions of it.
 */
#ifndef PITH_ASSERT_H
#define PITH_ASSERT_H

#include <pith/tree.h>

typedef struct pith_assertion pith_assertion; /**< a check that was collected */
typedef struct pith_result pith_result;       /**< what a collector took, and a value */

/** When a check counts. */
typedef enum pith_check_level {
    PITH_CHECK_DEBUG,  /**< only where a collector is open */
    PITH_CHECK_ALWAYS, /**< also without one: then it is an error of the scope */
    PITH_CHECK_OFF     /**< never */
} pith_check_level;

#define PITH_CHECK_ARGS  8 /**< most arguments of a check */
#define PITH_CHECK_INFOS 8 /**< most texts of a check */

/** A value that the message of a check may show. */
typedef struct pith_check_arg {
    const char *name PITH_DEFAULT; /**< NULL terminates the list */
    const pith_array *value PITH_DEFAULT;
} pith_check_arg;
/** A text that the message of a check may show. */
typedef struct pith_check_info {
    const char *name PITH_DEFAULT; /**< NULL terminates the list */
    const char *text PITH_DEFAULT;
} pith_check_info;

/** What belongs to a check; zero is the default. Names and the message must live as long
 * as the assertion does (they are literals, usually); texts of info and path are copied.
 */
typedef struct pith_check_options {
    /**
     * One line, with {name} or {name:format} where values of args and info go; a brace is
     * written twice. Formats are Python's: fill, align, sign, #, 0, width, precision, and
     * a type of d e f g x s; b, o, %, E, F, G and X too. The width is 200 at most, the
     * precision 100; s is for texts alone. An array is printed on one
     * line, "[[0 1] [2 3]]", each element with the format; without one as Python prints
     * the number. Of an axis longer than 8 only the first and the last 3 are printed.
     * {index} is the first failing index of the predicate, unless an argument has this
     * name.
     */
    const char *message PITH_DEFAULT;
    pith_check_arg args[PITH_CHECK_ARGS] PITH_DEFAULT;
    pith_check_info info[PITH_CHECK_INFOS] PITH_DEFAULT;
    pith_check_level level PITH_DEFAULT;
    pith_status code PITH_DEFAULT; /**< of the error that it becomes; PITH_OK:
                                      PITH_E_CHECK */
    const char *path PITH_DEFAULT; /**< of that error: what of the state it is about */
    /** A function of the root, or of the root and fix_args, that gives a root with which
     * the step may pass; NULL: there is no such. */
    const pith_function *fix PITH_DEFAULT;
    const void *fix_args PITH_DEFAULT; /**< any tree; needed where fix takes two */
    /** The check states a need: in a loop of a compiled function fix_args are the
     * greatest of the iterations that count, element for element; else those of the first
     * one that failed. fix_args that depend on the carry count up to and including the
     * first iteration in which a need, or a check that has a fix, failed; the check
     * passes in later ones. fix_args of the row, the index and constants alone count in
     * all iterations. */
    bool fix_greatest PITH_DEFAULT;
} pith_check_options;

PITH_BEGIN

/* ---- Checks ---- */

/**
 * Check that all elements of a predicate are nonzero: pith_check(s, predicate, "text",
 * .args = {{"x", x}}, .fix = &grow).
 *
 * @param predicate bool or integers of any shape; one without elements passes.
 * @param message A literal, see pith_check_options.message.
 * Errors, where the check counts: PITH_E_DTYPE (a float predicate), PITH_E_ARG (no array;
 * an info without a text; an invalid code; a message that names no argument or has a
 * format that does not fit; a fix that does not take one or two trees, or two without
 * fix_args), PITH_E_TRACED (a fix that binds a traced array). On the host, outside
 * collectors, the message is examined only if the predicate fails. An invalid level is
 * PITH_E_ARG in any case.
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
/** Whether a check of this level would count here: ask before computing what only a check
 * needs. False for an invalid level, and for a scope that has failed. */
PITH_API bool pith_check_enabled(const pith_scope *s, pith_check_level level);
/** Checks below a level do not count in @p s and in children opened from now on:
 * PITH_CHECK_DEBUG all count, PITH_CHECK_ALWAYS those of level always, PITH_CHECK_OFF
 * none; any other is PITH_E_ARG. Checks inside kernels run all the same and are reported.
 * A compiled function sets
 * the level of a scope of its own: PITH_E_TRACED where it leaves that of the scope that
 * it is given another one. */
PITH_API void pith_check_set_level(pith_scope *s, pith_check_level level);
/** The conjunction of all checks so far that open collectors of @p s took: bool of rank
 * 0, true where there are none. Does not wait. While a function is traced it speaks of
 * that function's own checks alone, within a loop of those of the iteration. */
PITH_API const pith_array *pith_check_all(pith_scope *s);

/* ---- Collecting: results and assertions belong to the scope that was given and live
 * until it closes; pith_keep moves the value of a result, not the assertions. To collect
 * is PITH_E_TRACED while a function is traced: collect around the compiled call ---- */

/**
 * Call a function and collect its checks. It is called as pith_call does; an error of it
 * is an error, and no assertion.
 *
 * Collectors may be nested: the outer ones receive the assertions as well.
 * @return The result, with the function's value; NULL on failure.
 */
PITH_API const pith_result *pith_as_result(pith_scope *s,
                                           const pith_function *function,
                                           int64_t count,
                                           const void *const *arguments);
/**
 * As pith_as_result, returning the value.
 *
 * @param assertions Set to the result that holds the assertions, NULL on failure. Passing
 * NULL is PITH_E_ARG, and nothing is called.
 */
PITH_API const void *pith_with_assertions(pith_scope *s,
                                          const pith_function *function,
                                          int64_t count,
                                          const void *const *arguments,
                                          const pith_result **assertions);
/** Collect the checks made in @p s, and in children opened from now on, until
 * pith_collect_end. Where the scope closes before that, failed checks of level always
 * become its error. */
PITH_API void pith_collect_begin(pith_scope *s);
/**
 * The checks since the last pith_collect_begin of this scope that was not ended.
 *
 * @param value Any tree, or NULL: the value of the result.
 * Errors: PITH_E_ARG where no collection was begun in @p s, or for an invalid value. The
 * collection ends also on failure, and where @p s carries an error already.
 * @return The result; NULL on failure.
 */
PITH_API const pith_result *pith_collect_end(pith_scope *s, const void *value);

/* ---- Results: asking for one is PITH_E_ARG in a scope of another stream ---- */

/** The value; NULL where there is none. */
PITH_API const void *pith_result_value(const pith_result *result);
/** Whether all assertions passed, also where there are none. Waits the first time, and
 * copies one flag. False on failure. */
PITH_API bool pith_result_all_pass(pith_scope *s, const pith_result *result);
/** How many assertions there are; checks inside kernels count where they failed, so this
 * waits. -1 on failure. */
PITH_API int64_t pith_result_count(pith_scope *s, const pith_result *result);
/** An assertion by its place in the order of the program, from 0; NULL with PITH_E_INDEX
 * where there is none. Waits. */
PITH_API const pith_assertion *
pith_result_get(pith_scope *s, const pith_result *result, int64_t index);
/** How many assertions failed; -1 on failure. Waits. */
PITH_API int64_t pith_result_failed(pith_scope *s, const pith_result *result);
/** A failed assertion by its place among those that failed, from 0; NULL with
 * PITH_E_INDEX where there is none. Waits. */
PITH_API const pith_assertion *
pith_result_get_failed(pith_scope *s, const pith_result *result, int64_t index);
/** The first assertion that failed becomes the error of @p s: its message, code, path and
 * site. PITH_OK, and nothing, where all passed. Waits. */
PITH_API pith_status pith_result_raise(pith_scope *s, const pith_result *result);
/**
 * Repair a root: the fixes of all failed assertions in order, each applied to what the
 * one before gave.
 *
 * All failures are looked at before any fix runs: where one has no fix it is raised, the
 * first of such, and nothing else happens. Call by call, failures count up to the end of
 * the first iteration of a loop, or branch, that failed: what comes after it runs on a
 * state that lost data. An error of a fix stays, with its own code.
 * @return The repaired root in @p s, @p root itself where all passed; on failure NULL, or
 * the nil record of a record's type.
 */
#define pith_result_fix_or_raise(s, result, root)                                        \
    ((__typeof__(root))pith_result_fix_or_raise_any((s), (result), (root)))
PITH_API const void *
pith_result_fix_or_raise_any(pith_scope *s, const pith_result *result, const void *root);

/* ---- Assertions ---- */

/** Whether it passed; false of what is no assertion. Whoever has one has waited already.
 */
PITH_API bool pith_assertion_passed(const pith_assertion *assertion);
/** The first failing index of the predicate (of a check inside a kernel: the index it ran
 * for), counted in C order; -1 where it passed. */
PITH_API int64_t pith_assertion_first(const pith_assertion *assertion);
/**
 * The message with its values, one line. Of a failed predicate of more than one element
 * it ends with the first failing index, unless the message has {index}.
 *
 * Waits. @return Text owned by @p s; NULL on failure.
 */
PITH_API const char *pith_assertion_message(pith_scope *s,
                                            const pith_assertion *assertion);
/** Where it failed, make it the error of @p s and return its code. PITH_OK where it
 * passed. Waits. */
PITH_API pith_status pith_assertion_raise(pith_scope *s, const pith_assertion *assertion);
/** The message as it was given, with its placeholders; "" of checks inside kernels. */
PITH_API const char *pith_assertion_text(const pith_assertion *assertion);
/** The code of the error that it becomes; of checks inside kernels PITH_E_CHECK,
 * PITH_E_CAPACITY or PITH_E_INDEX. PITH_E_ARG of what is no assertion. */
PITH_API pith_status pith_assertion_code(const pith_assertion *assertion);
/** Where the check was made, such as "melt.c:120"; "" where it is unknown. */
PITH_API const char *pith_assertion_site(const pith_assertion *assertion);
/** The path that was given; "" where none was. */
PITH_API const char *pith_assertion_path(const pith_assertion *assertion);
/** The predicate, as an array of @p s; NULL with PITH_E_ARG for a check inside a kernel.
 */
PITH_API const pith_array *pith_assertion_predicate(pith_scope *s,
                                                    const pith_assertion *assertion);
/** Name of an argument by its place; NULL where there is none. */
PITH_API const char *pith_assertion_arg_name(const pith_assertion *assertion,
                                             int64_t index);
/** An argument by name, as an array of @p s; NULL with PITH_E_ARG where there is none. */
PITH_API const pith_array *
pith_assertion_arg(pith_scope *s, const pith_assertion *assertion, const char *name);
/** A text by name; NULL where there is none. */
PITH_API const char *pith_assertion_info(const pith_assertion *assertion,
                                         const char *name);
/** Whether it has a fix. */
PITH_API bool pith_assertion_fixable(const pith_assertion *assertion);
/** The fix; NULL where it has none, and where it is one of pith's own (a capacity's). */
PITH_API const pith_function *pith_assertion_fix(const pith_assertion *assertion);
/** The fix arguments; NULL without any. */
PITH_API const void *pith_assertion_fix_args(const pith_assertion *assertion);
/** What the fix makes of a root, whether the assertion failed or not; PITH_E_ARG without
 * a fix. On failure NULL, or the nil record of a record's type. */
#define pith_assertion_repair(s, assertion, root)                                        \
    ((__typeof__(root))pith_assertion_repair_any((s), (assertion), (root)))
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
