// The calls of numbers.h in C++.
#include "numbers.h"

#define PITH_TEST_NULL nullptr

void number_results_cxx(pith_scope *s,
                        const pith_array *x,
                        const pith_array *i,
                        const pith_array *c,
                        const pith_array **results) {
    NUMBER_RESULTS(s, x, i, c, results);
}

enum Plain { plain_two = 2 };

const pith_array *number_enums_cxx(pith_scope *s, const pith_array *x) {
    const long one = 1;
    const int64_t zero = 0;
    const pith_array *y = pith_mul(s, x, plain_two);
    y = pith_add(s, y, one);
    y = pith_add(s, y, zero);
    y = pith_add(s, y, one - 1);
    return pith_add(s, y, char(1));
}
