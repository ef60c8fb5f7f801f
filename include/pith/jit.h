/**
 * @file
 * Compiled functions: tracing, the cache of programs, and their inspection.
 *
 * A compiled function is called like any other. The first call with a structure of its
 * arguments (statics and leaf specs included) runs the function with traced leaves and
 * records a program. Later calls with the same structure run the program. While a
 * function is traced it must not read the value of a leaf (pith_read and its like). It
 * must not change other state of pith. Either is PITH_E_TRACED with the line of the call.
 * The compiled call fails with that error even if the function clears it.
 *
 * The runtime caches programs. The key of a program has the function with its bound
 * trees, the options, and the structure and leaf specs of all arguments. It also has the
 * level of checks, and whether a collector is open. A function is identified by its
 * address: call pith_jit_clear before unloading a library that defines compiled
 * functions.
 *
 * PITH_JIT_DEBUG=DIR in the environment keeps the compiled text and its code in a folder.
 * Debug information refers to the lines of the calls (docs/howto/profile-a-step.md).
 *
 * PITH_JIT=eager in the environment runs compiled functions call by call, with values
 * that can be printed, and without donation.
 */
#ifndef PITH_JIT_H
#define PITH_JIT_H

#include <pith/tree.h>

/** Argument i, from 0, as a set: PITH_ARGUMENT(0) | PITH_ARGUMENT(2). */
#define PITH_ARGUMENT(i) (1u << (i))
/** Paths of parts of arguments: PITH_PATHS("[0].atoms.force", "[1]"). */
#define PITH_PATHS(...) PITH_ARRAY_(const char *, __VA_ARGS__, NULL)

/** Options of pith_jit; zero is the default. */
typedef struct pith_jit_options {
    /** Set of arguments whose leaves are constants of the program. The function may read
     * them. Other values make another program. */
    unsigned static_arguments PITH_DEFAULT;
    /** Static parts of arguments: "[i]" and a path in argument i. NULL terminates the
     * list. */
    const char *const *static_paths PITH_DEFAULT;
    /** Set of arguments to donate. Their buffers are reused for results, or freed after
     * the call has read them; using a donated leaf is PITH_E_DONATED. A leaf is refused,
     * counted and left as it was if its buffer has other owners. All leaves are refused
     * if checks are made or collected, because the step may be repeated (pith_run frees
     * old states itself); other refusals are reported to the log hook once a program.
     * Static leaves below a donated part are not donated. A donated part that is static,
     * or within a static part, is PITH_E_ARG. */
    unsigned donate_arguments PITH_DEFAULT;
    const char *const *donate_paths PITH_DEFAULT; /**< parts to donate, as static_paths */
    /** Also wait for leaves that the function does not read. */
    bool keep_unused PITH_DEFAULT;
    /** Faster arithmetic whose last bits differ from separate calls. A product of f32 or
     * f64 and the sum that reads it are rounded once (FMA, where the processor has it).
     * Some functions are within 4 ulp (docs/reference/accuracy.md); on CUDA they are the
     * ordinary ones. Results do not depend on whether code is compiled, on the position
     * of an element or on the number of threads. Sums keep their order; NaN and
     * infinities keep their meaning. */
    bool fast_math PITH_DEFAULT;
    const char *device PITH_DEFAULT; /**< required device of the runtime; NULL: any */
} pith_jit_options;

/** Statistics of the programs of a runtime. */
typedef struct pith_jit_info {
    int64_t programs;  /**< cached now */
    size_t bytes;      /**< host and device memory of programs and parts, estimated */
    int64_t hits;      /**< calls that found their program */
    int64_t misses;    /**< calls that were traced */
    int64_t evictions; /**< programs and parts evicted */
    int64_t donated;   /**< leaves donated */
    int64_t refused;   /**< donations refused: the buffer has other owners, belongs to the
                          caller, or the result shares the leaf */
    int64_t written;   /**< donated leaves whose buffers hold results */
    int64_t parts;     /**< parts cached now: programs of compiled calls inside traced
                          functions */
    int64_t
        part_hits; /**< such calls that found their part, and did not run the function */
    int64_t part_misses;   /**< such calls that were traced */
    int64_t derived_calls; /**< such calls whose derivatives they share with equal
                              calls */
    int64_t derivations;   /**< what was derived for them: each function once for each
                              pattern of arguments that move */
} pith_jit_info;

/**
 * Cost of one call of a program.
 *
 * Launches and operations of a scan or fori count once an iteration. A branch counts as
 * its larger side. A while loop, whose trip count is unknown, counts as one iteration;
 * `whiles` is the number of such loops.
 */
typedef struct pith_program_costs {
    int64_t instructions; /**< of the optimised program, each counted once, with those of
                             loops and branches */
    int64_t launches;     /**< launches of an interpreted call; one library call counts as
                             one. On CUDA, those of the graph of the call: its kernels,
                             its library calls and the copy before it */
    int64_t operations;   /**< elements computed by elementwise instructions */
    int64_t whiles;       /**< loops counted as one iteration */
    size_t input_bytes;   /**< bytes of argument leaves */
    size_t output_bytes;  /**< bytes of the arrays that a call makes */
    size_t workspace_bytes;       /**< bytes of temporary memory during a call */
    size_t first_workspace_bytes; /**< the same of a call before compiled code is ready.
                                     On the host it is equal; on CUDA such a call does not
                                     fuse */
    size_t program_bytes; /**< bytes of the program and its constants, estimated */
    size_t kept_bytes;    /**< of derivatives: bytes that the forward half keeps for the
                             backward half, without arguments. They are part of the
                             workspace, or of the map of pith_linearize and pith_vjp */
} pith_program_costs;

/**
 * A row of a profile: one unit of execution. Fused elementwise instructions are one row,
 * with the gathers that they read and the reduction that reads them.
 */
typedef struct pith_profile_row {
    const char *name; /**< its primitives, such as "mul, add, sum", or "kernel NAME" */
    const char *const
        *sites; /**< "FILE:LINE" of the calls that it was recorded from; NULL terminates
                   the list. Empty if files define PITH_NO_SITES */
    int64_t inside; /**< row of the enclosing loop or branch; -1: none */
    int64_t calls;  /**< number of runs; equal work at one place counts together */
    double seconds; /**< of all calls, without the rows inside it */
    double share;   /**< fraction of the program's seconds */
    int64_t read; /**< bytes read, over all calls. Repeated elements count once; a gather
                     or slice counts as many as it makes */
    int64_t written; /**< bytes written, likewise */
} pith_profile_row;

/** Times of the instructions of a program. */
typedef struct pith_profile {
    const char *name; /**< name of the function */
    int64_t calls;
    double seconds; /**< of all calls; at least the sum of the rows */
    int64_t row_count;
    const pith_profile_row *rows; /**< rows that ran, longest first */
    const char *text;             /**< the profile as a table */
} pith_profile;

PITH_BEGIN

/**
 * Compile a function: the same parameters and result, recorded once and replayed.
 *
 * The statics of the result are those of the recorded call. A result leaf that is an
 * argument leaf, or that depends on no argument, is shared and not copied. A call inside
 * a traced function becomes a part of the outer program. The part is cached like a
 * program: later traces that call the function with the same leaf specs do not run it
 * again.
 *
 * @param options NULL for the defaults; copied.
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: @p function is no function, an argument does not exist, or a part is both
 * static and donated. PITH_E_PATH: a path is malformed or names no argument.
 * PITH_E_UNSUPPORTED: the runtime has another device.
 * @par Errors of calls
 * PITH_E_PATH: a path leads to a part that the argument does not have. PITH_E_TRACED: the
 * function needs a value. Errors of the function.
 */
PITH_API const pith_function *
pith_jit(pith_scope *s, const pith_function *function, const pith_jit_options *options);
/** Statistics of the programs of @p rt; zeros for an invalid runtime. */
PITH_API pith_jit_info pith_jit_about(pith_runtime *rt);
/** Drop all programs and parts of a runtime with their code. Those of running calls are
 * freed when the calls return. */
PITH_API void pith_jit_clear(pith_runtime *rt);
/** Limit the cache to a number of programs and parts, and to their total @p bytes; the
 * least recently used are evicted, with code that no other program shares.
 *
 * @param programs 0 or negative: 1,024.
 * @param bytes 0: 1 GiB. */
PITH_API void pith_jit_set_limits(pith_runtime *rt, int64_t programs, size_t bytes);

/**
 * Why a compiled function was last traced: one line for each difference from its nearest
 * cached program, with path, old and new value, such as "[0].width: was 4, is 8". After
 * eight lines the rest is one line, "and 3 more". For a call inside a traced function the
 * comparison is with the nearest part.
 *
 * pith_jvp, pith_linearize and pith_vjp compile a derivative of their function without
 * giving it to the caller. For such a function, compiled or not, there are lines that
 * begin with their names, such as "pith_jvp: [0]: was f64[4], is f64[5]".
 *
 * Every trace reports the same text, with its duration, to the log hook at level
 * PITH_LOG_DEBUG.
 *
 * @return Text owned by @p s; "" if the function was not traced yet; NULL on failure.
 *
 * @par Errors
 * PITH_E_ARG: pith_jit did not make the function, and none of these three was called with
 * it.
 */
PITH_API const char *pith_explain_miss(pith_scope *s, const pith_function *function);

/**
 * The optimised program of a call, one line for each value. The program is recorded if it
 * is not cached. Only static arguments are read.
 *
 * @param function Compiled or not.
 * @return Text owned by @p s, or NULL.
 *
 * @par Errors
 * Of this and the functions below that show or time a program: PITH_E_ARG: @p function is
 * no function, or the number of arguments differs. PITH_E_TRACED: a function is being
 * traced. Errors of recording.
 */
PITH_API const char *pith_program_text(pith_scope *s,
                                       const pith_function *function,
                                       int64_t count,
                                       const void *const *arguments);
/** Print pith_program_text.
 *
 * @param out NULL: stdout.
 * @par Errors
 * PITH_E_IO: writing failed. Those of pith_program_text. */
PITH_API void pith_program_print(pith_scope *s,
                                 const pith_function *function,
                                 int64_t count,
                                 const void *const *arguments,
                                 FILE *out);
/** Cost of a call of that program; zeros on failure.
 *
 * @par Errors
 * Those of pith_program_text. */
PITH_API pith_program_costs pith_program_cost(pith_scope *s,
                                              const pith_function *function,
                                              int64_t count,
                                              const void *const *arguments);

/**
 * Run the program of a call @p calls times and time each instruction.
 *
 * The program is recorded if it is not cached. One more call comes first, waits for
 * compiled code and is not counted. Nothing is donated, checks are computed and ignored,
 * and results are dropped.
 *
 * The time of a call outside its program (finding the program, making the result) is not
 * included. Reading the clock between two instructions takes about 20 ns, which is
 * visible in small programs. On CUDA the tasks of the graph are enqueued one by one,
 * between events. A loop that is compiled as one function counts the ticks of its
 * instructions.
 *
 * PITH_PROFILE=FILE in the environment profiles a whole run
 * (docs/howto/profile-a-step.md).
 *
 * @param function Compiled or not.
 * @param calls At least 1.
 * @return The profile, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: @p calls is less than 1. Those of pith_program_text and of running the
 * program.
 */
PITH_API const pith_profile *pith_program_profile(pith_scope *s,
                                                  const pith_function *function,
                                                  int64_t count,
                                                  const void *const *arguments,
                                                  int64_t calls);

/**
 * The CUDA C of a call's program: the module that a CUDA device loads for it, as NVRTC
 * takes it. The program is recorded if it is not cached. Needs no device.
 *
 * The module has one kernel for each fused step. If there are loops or branches, it has
 * one more, which evaluates conditions for the graph. All other work is done by kernels
 * of the library.
 *
 * @param function Compiled or not.
 * @return Text owned by @p s; "" if there is nothing to compile; NULL on failure.
 *
 * @par Errors
 * PITH_E_UNSUPPORTED: a call of the program reports to the scope around it, so the
 * program runs call by call. Those of pith_program_text.
 */
PITH_API const char *pith_program_cuda_text(pith_scope *s,
                                            const pith_function *function,
                                            int64_t count,
                                            const void *const *arguments);

/**
 * Abstract evaluation: the structure of a call's result with the dtypes and shapes of its
 * leaves (pith_treedef_leaf_spec), without values.
 *
 * The function is traced. No value that depends on an argument is computed, no memory is
 * allocated for it, and no program is cached. The call is allowed while another function
 * is traced.
 *
 * @param function Compiled or not. A static leaf of a compiled function is PITH_E_TRACED,
 * as is any read of a value.
 * @param arguments Trees, whose values are not read, or structures in their place, from
 * pith_tree_structure or from this function.
 * @return The structure, owned by @p s, or NULL.
 *
 * @par Errors
 * Those of the function.
 */
PITH_API const pith_treedef *pith_eval_shape(pith_scope *s,
                                             const pith_function *function,
                                             int64_t count,
                                             const void *const *arguments);

/**
 * A function that refuses traced arrays: for code that reads values or has effects
 * outside pith.
 *
 * A call with concrete arrays while an outer function is traced runs at once; its result
 * is a constant of the outer program.
 *
 * @par Errors of calls
 * PITH_E_TRACED with the path of the first traced leaf.
 *
 * @return The function, owned by @p s, or NULL.
 */
PITH_API const pith_function *pith_no_tracing(pith_scope *s,
                                              const pith_function *function);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_jit(s, ...)               pith_jit(PITH_AT(s), __VA_ARGS__)
#    define pith_explain_miss(s, ...)      pith_explain_miss(PITH_AT(s), __VA_ARGS__)
#    define pith_program_text(s, ...)      pith_program_text(PITH_AT(s), __VA_ARGS__)
#    define pith_program_print(s, ...)     pith_program_print(PITH_AT(s), __VA_ARGS__)
#    define pith_program_cost(s, ...)      pith_program_cost(PITH_AT(s), __VA_ARGS__)
#    define pith_program_profile(s, ...)   pith_program_profile(PITH_AT(s), __VA_ARGS__)
#    define pith_program_cuda_text(s, ...) pith_program_cuda_text(PITH_AT(s), __VA_ARGS__)
#    define pith_eval_shape(s, ...)        pith_eval_shape(PITH_AT(s), __VA_ARGS__)
#    define pith_no_tracing(s, ...)        pith_no_tracing(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
