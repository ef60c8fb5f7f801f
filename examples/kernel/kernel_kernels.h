/* Kernels of the example: the work for one particle, in plain C. They are compiled for
 * each instruction set of the host and, where nvcc is found, for CUDA. */
#ifndef KERNEL_KERNELS_H
#define KERNEL_KERNELS_H

#include <pith/kernel.h>

/* List the particles that are nearer to particle i than the cutoff. */
PITH_KERNEL(find_neighbours,
            over(i, n),
            size(n),
            in(f64, x, "[n,2]"),
            value(f64, cutoff),
            extent(width),
            out(i32, neighbour, "[n,width]", -1),
            out(i32, count, "[n]")) {
    int32_t found = 0;
    for (int32_t j = 0; j < n; j++) {
        const double dx = x[2 * j] - x[2 * i], dy = x[2 * j + 1] - x[2 * i + 1];
        if (j == i || dx * dx + dy * dy >= cutoff * cutoff)
            continue;
        if (found < width)
            neighbour[i * width + found] = j;
        found++;
    }
    count[i] = found < width ? found : (int32_t)width; /* an index that is always valid */
    pith_require_capacity(width, found); /* reports what is needed, and leaves the body */
}

/* A spring to each neighbour, with friction. */
PITH_KERNEL(attract,
            over(i, n),
            in(f64, x, "[n,2]"),
            in(f64, v, "[n,2]"),
            in(i32, neighbour, "[n,width]"),
            in(i32, count, "[n]"),
            size(width),
            out(f64, force, "[n,2]")) {
    for (int k = 0; k < 2; k++) {
        double sum = -0.5 * v[2 * i + k];
        for (int32_t at = 0; at < count[i]; at++)
            sum += x[2 * (int64_t)neighbour[i * width + at] + k] - x[2 * i + k];
        force[2 * i + k] = sum;
    }
}

#endif
