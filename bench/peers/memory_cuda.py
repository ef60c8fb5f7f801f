"""Blocks of RMM's pool on a device (rmm-cu12 or rmm-cu13 of PyPI), beside bench_memory_cuda.c.

A call from Python costs something by itself; the same number of calls of a function in C that does nothing is taken
off."""
import sys

import bench

try:
    import rmm
    from rmm.pylibrmm.stream import DEFAULT_STREAM as STREAM
    POOL = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=1 << 30)
except Exception as why:  # no such package, or no device
    print(f"memory_cuda: {why}", file=sys.stderr)
    sys.exit(0)

size = 64
while size <= 64 << 20:
    row = f"memory/cuda/{size}"
    if bench.wanted(row):
        def block():
            POOL.deallocate(POOL.allocate(size, STREAM), size, STREAM)

        def nothing():
            divmod(divmod(size, 3)[0], 7)

        seconds = bench.median_seconds(block) - bench.median_seconds(nothing)
        bench.print_row(row, "ns", {"rmm": seconds * 1e9})
    size *= 4
