/* Shared macros: counts, branch hints, assertions, exits. */
#ifndef PITH_BASE_MACROS_H
#define PITH_BASE_MACROS_H

#define PITHP_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define PITHP_UNLIKELY(x)  __builtin_expect(!!(x), 0)
#define PITHP_LIKELY(x)    __builtin_expect(!!(x), 1)

/* Internal invariants only; argument checks are never assertions. */
#ifdef PITH_DEBUG
#    include <assert.h>
#    define PITH_ASSERT(condition) assert(condition)
#else
#    define PITH_ASSERT(condition) ((void)0)
#endif

#define PITH_TRY(expr)                                                                   \
    do {                                                                                 \
        if ((rc = (expr)) != PITH_OK)                                                    \
            goto out;                                                                    \
    } while (0)

#endif
