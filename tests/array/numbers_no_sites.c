/* The calls of numbers.h without call sites. */
#define PITH_NO_SITES
#include "numbers.h"

#define PITH_TEST_NULL NULL

void number_results_no_sites(pith_scope *s,
                             const pith_array *x,
                             const pith_array *i,
                             const pith_array *c,
                             const pith_array **results) {
    NUMBER_RESULTS(s, x, i, c, results);
}
