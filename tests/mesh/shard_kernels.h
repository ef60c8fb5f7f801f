/* Kernels of the tests of functions over shards. */
#ifndef MESH_SHARD_KERNELS_H
#define MESH_SHARD_KERNELS_H

#include <pith/kernel.h>

/* For each row in use the rows in use that are near, and how many there are. */
PITH_KERNEL(list_near,
            over(i, n),
            in(f64, x, "[n]"),
            in(i64, count, "[]"),
            value(f64, reach),
            extent(room),
            out(i32, list, "[n,room]", 0),
            out(i32, near, "[n]")) {
    int32_t found = 0;
    for (int64_t k = 0; k < count[0] && i < count[0]; k++)
        if (k != i && fabs(x[i] - x[k]) < reach) {
            if (found < room)
                list[i * room + found] = (int32_t)k + 1;
            found++;
        }
    near[i] = found;
    pith_require_capacity(room, found);
}

/* Rows in use move; what they were before. */
PITH_KERNEL(push,
            over(i, n),
            inout(f64, x, "[n]"),
            in(i64, count, "[]"),
            in(f64, by, "[]"),
            out(f64, before, "[n]")) {
    before[i] = x[i];
    if (i < count[0])
        x[i] += by[0];
}

#endif
