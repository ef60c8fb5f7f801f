"""Structure work of optree and JAX on the trees of bench_tree.c, and small calls of NumPy and JAX."""
import os

os.environ["JAX_PLATFORMS"] = "cpu"

import bench

try:
    import optree
except ImportError:
    optree = None
try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = None
try:
    import numpy
except ImportError:
    numpy = None


def forms():
    leaf = object()
    yield "flat", [leaf] * 1000
    yield "records", [tuple([leaf] * 10) for _ in range(100)]

    def bushy(depth):
        return {key: bushy(depth - 1) for key in "abcdefgh"} if depth else leaf

    yield "bushy", bushy(5)
    chain = leaf
    for _ in range(500):
        chain = {"leaf": leaf, "next": chain}
    yield "chain", chain


def works(flatten, unflatten, tree_map, tree):
    leaves, structure = flatten(tree)
    yield "flatten", len(leaves), lambda: flatten(tree)
    yield "unflatten", len(leaves), lambda: unflatten(leaves, structure)
    yield "map", len(leaves), lambda: tree_map(lambda x: x, tree)


peers = []
if optree:
    peers.append(("optree", optree.tree_flatten, lambda leaves, d: optree.tree_unflatten(d, leaves), optree.tree_map))
if jax:
    peers.append(("jax", jax.tree.flatten, lambda leaves, d: jax.tree.unflatten(d, leaves), jax.tree.map))

for form, tree in forms():
    rows = {}
    for name, *functions in peers:
        for work, count, call in works(*functions, tree):
            row = f"tree/{work}/{form}"
            if bench.wanted(row):
                rows.setdefault(row, {})[name] = bench.median_seconds(call) / count * 1e9
    for row, values in rows.items():
        bench.print_row(row, "ns/leaf", values)

row = "array/add/f64[3]"
if bench.wanted(row):
    values = {}
    if numpy:
        x = numpy.zeros(3)
        values["numpy"] = bench.median_seconds(lambda: x + x) * 1e9
    if jax:
        jax.config.update("jax_enable_x64", True)
        y = jnp.zeros(3)
        values["jax"] = bench.median_seconds(lambda: y + y) * 1e9
    if values:
        bench.print_row(row, "ns", values)
