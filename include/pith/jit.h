/**
 * @file
 * Functions over trees that are traced into programs.
 */
#ifndef PITH_JIT_H
#define PITH_JIT_H

#include <pith/tree.h>

PITH_BEGIN

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

#ifndef PITH_NO_SITES
#    define pith_no_tracing(s, ...) pith_no_tracing(PITH_AT(s), __VA_ARGS__)
#endif

#endif
