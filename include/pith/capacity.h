/**
 * @file
 * Capacities: sizes of buffers that grow when a step needs more than there is.
 */
#ifndef PITH_CAPACITY_H
#define PITH_CAPACITY_H

#include <pith/tree.h>

PITH_BEGIN

/**
 * What a capacity of @p size grows to where @p need is needed: @p size itself where that
 * suffices; else, with a base above 1, the smallest power base^k, k >= 0, that does, cut
 * to an integer; with any other base exactly @p need.
 *
 * Exact for every base: powers do not drift, and stop at INT64_MAX. The result never is
 * less than @p need or @p size.
 * Errors: PITH_E_ARG for a negative size, or a base that is no finite number.
 * @return -1 on failure.
 */
PITH_API int64_t pith_grown_size(pith_scope *s, int64_t size, int64_t need, double base);

PITH_END

#ifndef PITH_NO_SITES
#    define pith_grown_size(s, ...) pith_grown_size(PITH_AT(s), __VA_ARGS__)
#endif

#endif
