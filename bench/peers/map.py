"""The map of bench_map.c by torch's foreach functions, one thread: x * 0.999 + 0.001 over all leaves."""
import bench

import torch

torch.set_num_threads(1)

for leaves, count in ((1, 50_000_000), (100, 500_000), (10_000, 64)):
    row = f"map/{leaves}x{count}"
    if not bench.wanted(row):
        continue
    tensors = [torch.ones(count) for _ in range(leaves)]

    def work():
        out = torch._foreach_mul(tensors, 0.999)
        torch._foreach_add_(out, 0.001)

    seconds = bench.median_seconds(work)
    bench.print_row(row, "GB/s", {"torch": 2 * leaves * count * 4 / seconds / 1e9})
