/**
 * @file
 * Messages from inside of functions, compiled ones too.
 *
 *     pith_debug(s, "force {f:.3f} of {n}", {"f", force}, {"n", count});
 *
 * prints the values that the arrays have there, to the log hook of the runtime, at level
 * PITH_LOG_DEBUG. A runtime without a hook writes the line to stderr, unless PITH_LOG
 * names a level above debug.
 */
#ifndef PITH_DEBUG_MESSAGE_H
#define PITH_DEBUG_MESSAGE_H

#include <pith/assert.h>

/** A message; zero is the default. */
typedef struct pith_debug_options {
    /** Text with placeholders, as in pith_check_options.message but for {index}. Every
     * argument has one. Copied, with the names. */
    const char *message PITH_DEFAULT;
    /** Ends at the first without a name; at most PITH_CHECK_ARGS. */
    pith_check_arg args[PITH_CHECK_ARGS + 1] PITH_DEFAULT;
    /** Of the times that this call is reached, the first is printed and every n-th after
     * it. The runtime counts them by call site and message, over all threads, loops and
     * calls. 0: 1. */
    int64_t every PITH_DEFAULT;
} pith_debug_options;

PITH_BEGIN

/**
 * Print a message with the values of arrays: pith_debug(s, "x is {x}", {"x", x}).
 *
 * Outside of traces it is printed at once. In a traced function it becomes a part of the
 * program, which prints it in every call: once an iteration in a loop, and in a branch
 * where the branch is taken. Messages of one call have the order of the program; all are
 * printed when a call that waits for its results returns. A message is neither left out,
 * merged with an equal one, nor moved out of a loop. Where a call is repeated
 * (pith_propagate, pith_run) its messages are too.
 *
 * It waits for the values. Results keep their bits. It is no check: it fails nothing and
 * reports no failure. On CUDA a program with messages is no graph: the host starts its
 * kernels one by one.
 *
 * The hook is called on the thread that runs the program, while a call of the library is
 * under way: it must not use the runtime.
 *
 * @param message One line, see pith_debug_options.message.
 * Errors: PITH_E_ARG (no array; a placeholder without argument, an argument without
 * placeholder or whose name is given twice; a format that does not fit; more than
 * PITH_CHECK_ARGS arguments; every is negative).
 */
#define pith_debug(s, ...) PITH_DEBUG_((s), 1, __VA_ARGS__, {NULL, NULL})
/** As pith_debug, for the first and each @p n -th time after it. */
#define pith_debug_every(s, n, ...)      PITH_DEBUG_((s), (n), __VA_ARGS__, {NULL, NULL})
#define PITH_DEBUG_(s, n, message_, ...) PITH_DEBUG_WITH_(s, n, message_, __VA_ARGS__)
#ifdef __cplusplus
#    define PITH_DEBUG_WITH_(s, n, message_, ...)                                        \
        pith_debug_with(s, &static_cast<const pith_debug_options &>(                     \
                               pith_debug_options{message_, {__VA_ARGS__}, n}))
#else
#    define PITH_DEBUG_WITH_(s, n, message_, ...)                                        \
        pith_debug_with(s, &(const pith_debug_options){                                  \
                               .message = message_, .args = {__VA_ARGS__}, .every = n})
#endif
/** As pith_debug, with the message among the options. */
PITH_API void pith_debug_with(pith_scope *s, const pith_debug_options *options);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_debug_with(s, ...) pith_debug_with(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
