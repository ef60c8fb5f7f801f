"""A step that compacts the elements below 0.5 of f32[1024] into a buffer of a static size: jax, compiled; and from an
overflow of a size of 64 to the finished repeated step with room for 512, which jax compiles anew."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"

import bench

try:
    import jax
except ImportError:
    jax = None


def compact(x, cap):
    below = x < 0.5
    found = x[jax.numpy.nonzero(below, size=cap, fill_value=0)[0]]
    return (found * found).sum(), below.sum()


def overflow(x, small):
    """The call that fails, and the one with the grown size: no call of it was compiled before."""
    needed = int(small(x)[1])
    cap = 1
    while cap < needed:
        cap *= 2
    return jax.block_until_ready(jax.jit(lambda x: compact(x, cap))(x))


if jax and any(bench.wanted(row) for row in ("capacity/overflow", "capacity/step")):
    values = jax.numpy.arange(1024, dtype=jax.numpy.float32) / 1024
    enough = jax.jit(lambda x: compact(x, 512))
    little = jax.jit(lambda x: compact(x, 64))
    if bench.wanted("capacity/overflow"):
        bench.print_row("capacity/overflow", "us", {"jax": bench.median_seconds(lambda: overflow(values, little)) * 1e6})
    if bench.wanted("capacity/step"):
        bench.print_row("capacity/step", "us",
                        {"jax": bench.median_seconds(lambda: jax.block_until_ready(enough(values))) * 1e6})
