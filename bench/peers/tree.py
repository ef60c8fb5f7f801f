"""Structure work of optree and JAX on the trees of bench_tree.c, small calls of NumPy, JAX and torch, trees joined."""
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
try:
    import torch
    torch.set_num_threads(1)
except ImportError:
    torch = None


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
    if torch:
        z = torch.zeros(3, dtype=torch.float64)
        values["torch"] = bench.median_seconds(lambda: z + z) * 1e9
    if values:
        bench.print_row(row, "ns", values)


WORKS = ("stack", "concat", "split", "take", "scatter")


def joins(leaves):
    """How each library joins four trees of `leaves` leaves of 64 f32, and splits, takes and sets rows of one tree of
    leaves [16, 16]: (library, work, call)."""
    index, shape = [k * 7 % 16 for k in range(8)], (16, 16)
    if numpy:
        at = numpy.array(index)
        trees = [[numpy.zeros(64, numpy.float32) for _ in range(leaves)] for _ in range(4)]
        grid, rows = ([numpy.zeros(s, numpy.float32) for _ in range(leaves)] for s in (shape, (8, 16)))

        def scatter():
            made = [x.copy() for x in grid]
            for x, y in zip(made, rows):
                x[at] = y

        yield "numpy", "stack", lambda: [numpy.stack(x) for x in zip(*trees)]
        yield "numpy", "concat", lambda: [numpy.concatenate(x) for x in zip(*trees)]
        yield "numpy", "take", lambda: [x[at] for x in grid]
        yield "numpy", "scatter", scatter
    if torch:
        t_at = torch.tensor(index)
        tensors = [[torch.zeros(64) for _ in range(leaves)] for _ in range(4)]
        t_grid, t_rows = ([torch.zeros(s) for _ in range(leaves)] for s in (shape, (8, 16)))
        yield "torch", "stack", lambda: [torch.stack(x) for x in zip(*tensors)]
        yield "torch", "concat", lambda: [torch.cat(x) for x in zip(*tensors)]
        yield "torch", "take", lambda: [x[t_at] for x in t_grid]
        yield "torch", "scatter", lambda: [x.index_copy(0, t_at, y) for x, y in zip(t_grid, t_rows)]
    if jax:
        j_at = jnp.array(index)
        arrays = [[jnp.zeros(64, jnp.float32) for _ in range(leaves)] for _ in range(4)]
        j_grid, j_rows = ([jnp.zeros(s, jnp.float32) for _ in range(leaves)] for s in (shape, (8, 16)))
        for work, function, arguments in (
                ("stack", lambda *t: jax.tree.map(lambda *x: jnp.stack(x), *t), arrays),
                ("concat", lambda *t: jax.tree.map(lambda *x: jnp.concatenate(x), *t), arrays),
                ("split", lambda t: jax.tree.map(lambda x: jnp.split(x, 2), t), [j_grid]),
                ("take", lambda t: jax.tree.map(lambda x: x[j_at], t), [j_grid]),
                ("scatter", lambda t, u: jax.tree.map(lambda x, y: x.at[j_at].set(y), t, u), [j_grid, j_rows])):
            compiled = jax.jit(function)
            yield "jax", work, lambda compiled=compiled, x=arguments: jax.block_until_ready(compiled(*x))


for leaves in (10, 1000):
    rows = {}
    if any(bench.wanted(f"tree/{work}/{leaves}") for work in WORKS):
        for name, work, call in joins(leaves):
            row = f"tree/{work}/{leaves}"
            if bench.wanted(row):
                rows.setdefault(row, {})[name] = bench.median_seconds(call) * 1e6
    for row, values in rows.items():
        bench.print_row(row, "us", values)
