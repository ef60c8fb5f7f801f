/**
 * @file
 * Debug messages from inside functions, compiled ones too.
 *
 *     pith_debug(s, "force {f:.3f} of {n}", {"f", force}, {"n", count});
 *
 * prints the run-time values of the arrays to the log hook of the runtime, at level
 * PITH_LOG_DEBUG. A runtime without a hook writes the line to stderr, unless PITH_LOG
 * names a level above debug.
 */
#ifndef PITH_DEBUG_MESSAGE_H
#define PITH_DEBUG_MESSAGE_H

#include <pith/assert.h>

/** Options of a message; zero is the default. */
typedef struct pith_debug_options {
    /** Text with a placeholder for every argument, as in pith_check_options.message,
     * without {index}. Copied, with the names. */
    const char *message PITH_DEFAULT;
    /** An entry without a name terminates the list; at most PITH_CHECK_ARGS. */
    pith_check_arg args[PITH_CHECK_ARGS + 1] PITH_DEFAULT;
    /** Print the first and every n-th later execution. The runtime counts executions by
     * call site and message, over all threads, loops and calls. 0: 1. */
    int64_t every PITH_DEFAULT;
} pith_debug_options;

PITH_BEGIN

/**
 * Print a message with the values of arrays: pith_debug(s, "x is {x}", {"x", x}).
 *
 * Outside traces it prints at once. In a traced function it is an instruction of the
 * program, which prints in every call: once an iteration in a loop, and in a branch if it
 * is taken. Messages of one call are in program order. All are printed before a call that
 * waits for its results returns. The compiler does not drop, merge or hoist messages. A
 * repeated call (pith_propagate, pith_run) repeats its messages.
 *
 * In a batch (pith_vmap) every entry prints what it prints alone, in the order of the
 * entries; in a loop the messages of all entries of an iteration come before those of the
 * next. A message without an array that depends on the entry is printed once.
 *
 * The call waits for the values. It changes no bits of results. It is no check: it
 * neither fails nor reports a failure. On CUDA a program with messages is not a graph:
 * the host starts its kernels one by one.
 *
 * The hook runs on the thread that runs the program, during a call of the library: it
 * must not use the runtime.
 *
 * @param message One line, see pith_debug_options.message.
 *
 * @par Errors
 * PITH_E_ARG: an argument is no array; a placeholder has no argument; an argument has no
 * placeholder, or its name is given twice; a format is invalid; there are more than
 * PITH_CHECK_ARGS arguments; every is negative.
 */
#define pith_debug(s, ...) PITH_DEBUG_((s), 1, __VA_ARGS__, {NULL, NULL})
/** As pith_debug, for the first and every @p n -th later execution. */
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
