/* Mistakes in lenses that no compiler lets through, one a case; C and C++ read this. */
#include "languages.h"

#if CASE == 0 /* no mistake */
PITH_LENS_DEFINE(spacing, Grid, spacing)
static inline const Grid *good(pith_scope *s, const Grid *grid, const pith_array *x) {
    (void)spacing();
    return pith_lens_set(s, PITH_LENS(Grid, cell->x), grid, x);
}
#endif
#if CASE == 1 /* no member named .*y */
static inline const pith_lens *bad(void) {
    return PITH_LENS(Grid, cell->y);
}
#endif
#if CASE == 2 /* pointer */
static inline const pith_lens *bad(void) {
    return PITH_LENS(Grid, cell.x);
}
#endif
#if CASE == 3 /* no member named .*origin */
PITH_LENS_DEFINE(origin, Grid, origin)
#endif
#if CASE == 4 /* Nothing */
static inline const pith_lens *bad(void) {
    return PITH_LENS(Nothing, x);
}
#endif
#if CASE == 5 /* pith_lens_get|lens */
static inline const void *bad(pith_scope *s, const Grid *grid) {
    return pith_lens_get(s, "cell->x");
}
#endif
