"""Rows of every leaf of a tree of 10 x 10 x 10 leaves of 64 f32, and 100 such leaves joined and set: jax, compiled."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"

import bench

try:
    import jax
except ImportError:
    jax = None
ROWS = ("lens/at get/1000", "lens/at set/1000", "lens/concat/100", "lens/stack/100", "lens/scatter/100")


def works():
    """What jax does for each row: (row, function, arguments)."""
    jnp = jax.numpy
    at = jnp.array([5, 60, 17])

    def leaf():
        return jnp.zeros(64, jnp.float32)

    def low():
        return {k: leaf() for k in "abcdefghij"}

    tree = {a: {b: low() for b in "abcdefghij"} for a in "abcdefghij"}
    few = [[low() for _ in range(10)] for _ in range(2)]
    take = jax.tree.map
    rows = take(lambda x: x[at], tree)
    few_rows = take(lambda x: x[at], few[0])
    yield ROWS[0], lambda t: take(lambda x: x[at], t), (tree,)
    yield ROWS[1], lambda t, u: take(lambda x, y: x.at[at].set(y), t, u), (tree, rows)
    yield ROWS[2], lambda t, u: take(lambda x, y: jnp.concatenate([x, y]), t, u), few
    yield ROWS[3], lambda t, u: take(lambda x, y: jnp.stack([x, y]), t, u), few
    yield ROWS[4], lambda t, u: take(lambda x, y: x.at[at].set(y), t, u), (few[0], few_rows)


if jax and any(bench.wanted(row) for row in ROWS):
    for row, function, arguments in works():
        if bench.wanted(row):
            compiled = jax.jit(function)
            seconds = bench.median_seconds(lambda: jax.block_until_ready(compiled(*arguments)))
            bench.print_row(row, "us", {"jax": seconds * 1e6})
