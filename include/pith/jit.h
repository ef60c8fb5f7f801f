/**
 * @file
 * Functions over trees that are traced into programs, compiled and replayed.
 *
 * A compiled function is called like any other. The first call with a structure of its
 * arguments (statics and leaf specs included) runs it with traced leaves, which records a
 * program; later calls with the same structure run the program. What a step reads of a
 * leaf's value while it is traced (pith_read and its like), or changes of pith's own
 * state, is PITH_E_TRACED with the line that did it; the call fails with that error also
 * where the function clears it.
 *
 * Programs are kept by the runtime and found by what they depend on: the function with
 * its bound trees, the options, structure and leaf specs of all arguments, whether checks
 * are collected, and the level of checks. Functions are told apart by their address: call
 * pith_jit_clear before a library that defines some is unloaded.
 *
 * PITH_JIT_DEBUG=DIR in the environment keeps the compiled text and its code in a folder,
 * with debug information that leads to the lines of the calls
 * (docs/howto/profile-a-step.md).
 *
 * For debugging, PITH_JIT=eager in the environment has compiled functions run as others
 * do: call by call, with values that can be printed, and without donation.
 */
#ifndef PITH_JIT_H
#define PITH_JIT_H

#include <pith/tree.h>

/** Argument i, counted from 0, in a set of them: PITH_ARGUMENT(0) | PITH_ARGUMENT(2). */
#define PITH_ARGUMENT(i) (1u << (i))
/** Paths of parts of arguments: PITH_PATHS("[0].atoms.force", "[1]"). */
#define PITH_PATHS(...) PITH_ARRAY_(const char *, __VA_ARGS__, NULL)

/** Options of pith_jit; zero is the default. */
typedef struct pith_jit_options {
    /** Arguments whose leaves are constants of the program: the function may read them,
     * and other values are another program. */
    unsigned static_arguments PITH_DEFAULT;
    /** Parts of arguments that are static, as "[i]" and a path in argument i; NULL at the
     * end. */
    const char *const *static_paths PITH_DEFAULT;
    /** Arguments that the caller is done with: results are made in the memory of their
     * leaves that nobody else holds, or it is given back when the call has read it, and
     * using them is PITH_E_DONATED. What is refused stays as it was and is counted: also
     * everything where checks are made or collected, since the step may be repeated
     * (pith_run gives states back by itself). Else the log hook is told, once a program.
     * What is static is not donated: static leaves below a donated part stay, and a
     * donated part that is static itself, or within a static one, is PITH_E_ARG. */
    unsigned donate_arguments PITH_DEFAULT;
    const char *const *donate_paths PITH_DEFAULT; /**< parts that are, as static_paths */
    /** Wait for leaves that the function does not read, too. */
    bool keep_unused PITH_DEFAULT;
    /** Faster arithmetic with other last bits than calls one by one: a product of f32 or
     * f64 and the sum it is added to are rounded once (an FMA, on processors that have
     * it), and functions are within 4 ulp (docs/reference/accuracy.md lists them). On
     * CUDA they are the ordinary ones. A result still does not depend on whether code is
     * compiled, on its place in an array or on the number of threads. Sums keep their
     * order, NaN and infinities their meaning. */
    bool fast_math PITH_DEFAULT;
    const char *device PITH_DEFAULT; /**< what the runtime must run on; NULL: anything */
} pith_jit_options;

/** What the programs of a runtime are and did. */
typedef struct pith_jit_info {
    int64_t programs; /**< kept now */
    size_t bytes;   /**< of host and device memory that they and the parts take, about */
    int64_t hits;   /**< calls that found their program */
    int64_t misses; /**< calls that were traced */
    int64_t evictions; /**< programs and parts that made room for others */
    int64_t donated;   /**< leaves that gave their memory away */
    int64_t refused;   /**< donations that were not granted: others hold the memory, it is
                            the caller's own, or the result shares the leaf */
    int64_t written;   /**< of those donated, leaves in whose memory results were made */
    int64_t parts;     /**< kept now: what calls inside of traced functions recorded */
    int64_t part_hits; /**< such calls that found theirs, and ran nothing */
    int64_t part_misses; /**< such calls that were traced */
} pith_jit_info;

/**
 * What a call of a program costs.
 *
 * Launches and operations of a scan or fori count as often as it is long, and of a branch
 * those of the larger one. How often a while runs is not known before: it counts once,
 * and `whiles` says how many such loops there are.
 */
typedef struct pith_program_costs {
    int64_t instructions; /**< after the program was optimised, each once, with those of
                               loops and branches */
    int64_t launches;    /**< pieces of work that a call enqueues where it is interpreted;
                              those that come as one call of a library count as one. On
                              CUDA, of the graph that a call is there: its kernels and
                              calls of libraries, and the copy that comes before it */
    int64_t operations;  /**< elements that elementwise instructions compute */
    int64_t whiles;      /**< loops that were counted as one iteration */
    size_t input_bytes;  /**< of leaves that come in */
    size_t output_bytes; /**< of arrays that a call makes */
    size_t workspace_bytes; /**< that a call needs while it runs */
    size_t program_bytes;   /**< of the program itself with its constants, about */
} pith_program_costs;

/**
 * An instruction of a profile: what runs as one piece. Elementwise calls that were fused
 * are one, with what they take, and with the reduction of what they make.
 */
typedef struct pith_profile_row {
    const char *name;         /**< its primitives, as "mul, add, sum", or "kernel NAME" */
    const char *const *sites; /**< "FILE:LINE" of the calls that it came from, NULL at the
                                   end; none where files define PITH_NO_SITES */
    int64_t inside;           /**< row of the loop or branch that it is in; -1: none */
    int64_t calls;  /**< how often it ran; equal work at one place counts together */
    double seconds; /**< of all calls, without those of the rows inside it */
    double share;   /**< of the seconds of the program */
    int64_t read; /**< bytes of memory that it reads, of all calls: elements that differ;
                       of what is taken or sliced as many as are made */
    int64_t written; /**< bytes of memory that it writes, likewise */
} pith_profile_row;

/** What the instructions of a program took. */
typedef struct pith_profile {
    const char *name; /**< of the function */
    int64_t calls;
    double seconds; /**< of all calls; those of the rows are at most as many */
    int64_t row_count;
    const pith_profile_row *rows; /**< those that ran, the one that took longest first */
    const char *text;             /**< the same as a table */
} pith_profile;

PITH_BEGIN

/**
 * Compile a function: the same parameters and result, recorded once and replayed.
 *
 * The result's statics are those of the recorded call. A leaf of the result that is a
 * leaf of an argument, or depends on no argument, is shared, not copied. Where it is
 * called while another function is traced it becomes a part of that one's program: what
 * it records then is kept, as programs are, and the function does not run again where a
 * trace calls it with leaves of the same specs.
 *
 * Errors: PITH_E_ARG (no function; an argument that the function does not take; a part
 * that is static and donated), PITH_E_PATH (a path that is malformed or names no
 * argument), PITH_E_UNSUPPORTED (another device). Errors of calls: PITH_E_PATH for a path
 * to a part that the argument does not have; those of the function; PITH_E_TRACED where
 * it needs a value.
 * @param options NULL: the defaults; copied.
 * @return The function, owned by @p s, or NULL.
 */
PITH_API const pith_function *
pith_jit(pith_scope *s, const pith_function *function, const pith_jit_options *options);
/** What the programs of @p rt did so far; zeros for what is no runtime. */
PITH_API pith_jit_info pith_jit_about(pith_runtime *rt);
/** Forget all programs and parts of a runtime and their code; those of calls under way
 * end with them. */
PITH_API void pith_jit_clear(pith_runtime *rt);
/** Keep at most so many programs and parts of so many bytes: the ones used longest ago
 * go. 0, or a negative number: 1,024 of them; 0 bytes: 1 GiB. Their code goes with them,
 * unless another program has the same. */
PITH_API void pith_jit_set_limits(pith_runtime *rt, int64_t programs, size_t bytes);

/**
 * Why a compiled function was traced last: a line for each difference from the nearest
 * of its programs, with path, old and new, such as "[0].width: was 4, is 8". Beyond eight
 * the rest is one line, "and 3 more". Where it was
 * called while another was traced, from the nearest of its parts.
 *
 * The log hook is told the same of every trace, with the time that it took, at level
 * PITH_LOG_DEBUG.
 *
 * @return Text owned by @p s; "" for a function that was not traced yet; NULL for one
 * that pith_jit did not make (PITH_E_ARG).
 */
PITH_API const char *pith_explain_miss(pith_scope *s, const pith_function *function);

/**
 * The program of a call, which is recorded unless it is known: a line a value, after
 * optimisation. Arguments are not read, unless they are static.
 *
 * Errors of this and the functions below that show or time a program: PITH_E_ARG (no
 * function, another number of arguments), PITH_E_TRACED while a function is traced, those
 * of recording.
 *
 * @param function Compiled or not.
 * @return Text owned by @p s, or NULL.
 */
PITH_API const char *pith_program_text(pith_scope *s,
                                       const pith_function *function,
                                       int64_t count,
                                       const void *const *arguments);
/** Print pith_program_text. @p out NULL: stdout. Errors: PITH_E_IO. */
PITH_API void pith_program_print(pith_scope *s,
                                 const pith_function *function,
                                 int64_t count,
                                 const void *const *arguments,
                                 FILE *out);
/** What a call of that program costs; zeros on failure. */
PITH_API pith_program_costs pith_program_cost(pith_scope *s,
                                              const pith_function *function,
                                              int64_t count,
                                              const void *const *arguments);

/**
 * Run the program of a call @p calls times and time each of its instructions. The program
 * is recorded unless it is known, and one call before those, which is not counted, waits
 * for its code. Nothing is donated, checks are computed but not looked at, and results
 * are dropped.
 *
 * What a call pays beside its program (looking it up, making the result) is not in it.
 * A clock is read between any two instructions: some 20 ns, which tell in small programs.
 * On CUDA the tasks of the graph are enqueued one by one, between events.
 * Loops that are compiled as a whole are one piece of code here too, which counts the
 * ticks of the instructions inside it.
 *
 * PITH_PROFILE=FILE in the environment profiles a whole run, see
 * docs/howto/profile-a-step.md.
 *
 * @param function Compiled or not.
 * @param calls At least 1.
 * Errors: PITH_E_ARG, those of recording and running the program.
 * @return Owned by @p s, or NULL.
 */
PITH_API const pith_profile *pith_program_profile(pith_scope *s,
                                                  const pith_function *function,
                                                  int64_t count,
                                                  const void *const *arguments,
                                                  int64_t calls);

/**
 * The CUDA C of a call's program, which is recorded unless it is known: the module that a
 * CUDA device loads for it, as NVRTC takes it. It has a kernel for each fused step and,
 * where there are loops or branches, the one that decides for the graph; the rest is done
 * by kernels built with the library. Needs no device.
 *
 * Errors: PITH_E_UNSUPPORTED (a call of the program reports to the scope around it: such
 * a program runs call by call).
 *
 * @param function Compiled or not.
 * @return Text owned by @p s, "" where there is nothing to compile; or NULL.
 */
PITH_API const char *pith_program_cuda_text(pith_scope *s,
                                            const pith_function *function,
                                            int64_t count,
                                            const void *const *arguments);

/**
 * What a call would return, without its values: the structure of the result with the
 * dtypes and shapes of its leaves (pith_treedef_leaf_spec).
 *
 * The function is traced; nothing that depends on an argument is computed, no memory is
 * taken for it, and no program is kept. The call may be made while another function is
 * traced.
 *
 * @param function Compiled or not. Leaves that are static in a compiled one are
 * PITH_E_TRACED, as all that needs values.
 * @param arguments Trees, which are not read, or structures in the place of trees: those
 * of pith_tree_structure, or what this function returned.
 * Errors: those of the function.
 * @return The structure, owned by @p s, or NULL.
 */
PITH_API const pith_treedef *pith_eval_shape(pith_scope *s,
                                             const pith_function *function,
                                             int64_t count,
                                             const void *const *arguments);

/**
 * The same function, refusing traced arrays: for one that reads values or talks to the
 * world outside.
 *
 * Where it is called while a function around it is traced, with arrays that have values,
 * it runs at once, and what it returns is a constant of the program.
 *
 * Errors of its calls: PITH_E_TRACED with the path of the first leaf that is traced.
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
