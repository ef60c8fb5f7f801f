/* What the smallest program against an installed pith does: compute and read a value. */
#include <pith/pith.h>

#include <stdio.h>

int main(void) {
    const pith_open_options options = {.device = "host"};
    pith_runtime *rt = pith_open(&options);
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_arange(s, PITH_F64, 5);
    const double sum = pith_read_f64(s, pith_sum(s, pith_mul(s, x, x), PITH_ALL_AXES));
    if (pith_failed(s))
        fprintf(stderr, "%s\n", pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    printf("sum %g\n", sum);
    return sum == 30.0 ? 0 : 1;
}
