"""The products of bench_product.c by numpy, jax and torch, in GFLOP/s."""
import os
import sys

import bench

# Thread pools take their size from the environment: one process a number of threads.
if len(sys.argv) < 4:
    import subprocess
    for count in ("1", "2"):
        env = {**os.environ, "OPENBLAS_NUM_THREADS": count, "OMP_NUM_THREADS": count,
               "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=" + ("false" if count == "1" else "true")}
        arguments = ["--only", bench.ONLY or ""]
        subprocess.run([sys.executable, __file__, *arguments, count], env=env, check=True)
    sys.exit(0)
THREADS = int(sys.argv[3])

import jax
import jax.numpy as jnp
import numpy as np
import torch

jax.config.update("jax_enable_x64", True)
torch.set_num_threads(THREADS)
einsum = jax.jit(lambda x, y: jnp.einsum("bij,bjk->bik", x, y))
matmul = jax.jit(jnp.matmul)


def row(name, shape, dtype, subscripts=None):
    if not bench.wanted(name):
        return
    n = shape[-1]
    flops = 2 * np.prod(shape) * n
    x, y = (np.random.default_rng(k).random(shape).astype(dtype) - 0.5 for k in (0, 1))
    jx, jy, tx, ty = jnp.asarray(x), jnp.asarray(y), torch.from_numpy(x), torch.from_numpy(y)
    if subscripts:
        works = {"numpy": lambda: np.einsum(subscripts, x, y, optimize=True),
                 "jax": lambda: einsum(jx, jy).block_until_ready(),
                 "torch": lambda: torch.einsum(subscripts, tx, ty)}
    else:
        works = {"numpy": lambda: x @ y, "jax": lambda: matmul(jx, jy).block_until_ready(), "torch": lambda: tx @ ty}
    bench.print_row(name, "GFLOP/s", {k: flops / bench.median_seconds(w) / 1e9 for k, w in works.items()})


for dtype, short in ((np.float64, "f64"), (np.float32, "f32")):
    for n in (64, 128, 256, 512, 1024, 2048):
        row(f"product/matmul/{short}/{n}/{THREADS}", (n, n), dtype)
    if THREADS == 1:
        for batch, n in ((100000, 3), (100000, 4), (10000, 16)):
            row(f"product/batch/{short}/{batch}x{n}", (batch, n, n), dtype)
if THREADS == 1:
    row("product/einsum/f64/64x64", (64, 64, 64), np.float64, "bij,bjk->bik")
