"""The draws of bench_draws.c by NumPy, JAX and torch, one thread."""
import bench

import jax
import numpy as np
import torch

jax.config.update("jax_enable_x64", True)
torch.set_num_threads(1)

key = jax.random.PRNGKey(42)
draw = np.random.default_rng(42)
TORCH = {"f32": torch.float32, "f64": torch.float64}
NUMPY = {"u32": np.uint32, "u64": np.uint64, "f32": np.float32, "f64": np.float64}


def jax_peer(function, dtype, count):
    jitted = jax.jit(lambda k: function(k, (count,), NUMPY[dtype]))
    return lambda: jitted(key).block_until_ready()


for count in (1_000_000, 10_000_000):
    for what, dtype in (("bits", "u32"), ("uniform", "f32"), ("normal", "f32"),
                        ("bits", "u64"), ("uniform", "f64"), ("normal", "f64")):
        row = f"random/{what}/{dtype}/{count}"
        if not bench.wanted(row):
            continue
        if what == "bits":
            works = {"jax": jax_peer(jax.random.bits, dtype, count),
                     "numpy": lambda: draw.bytes(count * np.dtype(NUMPY[dtype]).itemsize)}
        elif what == "uniform":
            works = {"jax": jax_peer(jax.random.uniform, dtype, count),
                     "numpy": lambda: draw.random(count, NUMPY[dtype]),
                     "torch": lambda: torch.rand(count, dtype=TORCH[dtype])}
        else:
            works = {"jax": jax_peer(jax.random.normal, dtype, count),
                     "numpy": lambda: draw.standard_normal(count, NUMPY[dtype]),
                     "torch": lambda: torch.randn(count, dtype=TORCH[dtype])}
        peers = {name: 1e9 * bench.median_seconds(work) / count for name, work in works.items()}
        bench.print_row(row, "ns/element", peers)
