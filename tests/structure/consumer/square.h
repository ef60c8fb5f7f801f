/* A kernel of the consumer's own, compiled by pith_add_kernels. */
#include <pith/kernel.h>

PITH_KERNEL(square, over(i, n), in(real, x, "[n]"), out(real, y, "[n]")) {
    y[i] = x[i] * x[i];
}
