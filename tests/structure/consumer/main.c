/* What a small program against an installed pith does: compute on arrays and read a
 * value. */
#include <pith/pith.h>
#include <stdio.h>

#ifdef WITH_KERNELS
#    include "square.h"
#endif

int main(void) {
    const double values[5] = {0, 1, 2, 3, 4};
    const pith_open_options options = {.device = "host"};
    pith_runtime *rt = pith_open(&options);
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_array_copy(s, PITH_F64, PITH_SHAPE(5), values);
#ifdef WITH_KERNELS
    const pith_array *squares = pith_launch(s, square, x).y;
#else
    const pith_array *squares = pith_mul(s, x, x);
#endif
    const double sum = pith_read_f64(s, pith_sum(s, squares, PITH_ALL_AXES));
    if (pith_failed(s))
        fprintf(stderr, "%s\n", pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    printf("sum %g\n", sum);
    return sum > 29.5 && sum < 30.5 ? 0 : 1;
}
