"""The rows of bench_order.c by NumPy, torch and JAX; NumPy on one thread."""
import bench

SIZES = (1_000_000 * bench.SCALE, 10_000_000 * bench.SCALE)
NAMES = ("sort", "argsort", "top_k", "cumsum", "take", "scatter_add", "segment_sum", "segment_sum_sorted")
SHARE = 10  # elements a place


def row_of(name, dtype, n, threads):
    return f"order/{name}/{dtype}/{n}/{threads}"


def numpy_operations(a, table, index, ids):
    import numpy
    places = len(table)
    starts = numpy.arange(places) * SHARE

    def scatter_add():
        to = table.copy()
        numpy.add.at(to, index, a)

    def segment_sum():
        numpy.add.at(numpy.zeros(places, a.dtype), index, a)

    return {
        "sort": lambda: numpy.sort(a), "argsort": lambda: numpy.argsort(a, kind="stable"),
        "top_k": lambda: numpy.sort(numpy.partition(a, len(a) - 100)[-100:]), "cumsum": lambda: numpy.cumsum(a, dtype=a.dtype),
        "take": lambda: table[index], "scatter_add": scatter_add, "segment_sum": segment_sum,
        "segment_sum_sorted": lambda: numpy.add.reduceat(a, starts),
    }


def torch_operations(a, table, index, ids):
    import torch
    a, table, index, ids = (bench.of_torch(x) for x in (a, table, index, ids))
    index, ids = index.long(), ids.long()
    return {
        "sort": lambda: torch.sort(a, stable=True), "argsort": lambda: torch.argsort(a, stable=True),
        "top_k": lambda: torch.topk(a, 100), "cumsum": lambda: torch.cumsum(a, 0, dtype=a.dtype),
        "take": lambda: table[index], "scatter_add": lambda: table.scatter_add(0, index, a),
        "segment_sum": lambda: torch.zeros_like(table).index_add_(0, index, a),
        "segment_sum_sorted": lambda: torch.zeros_like(table).index_add_(0, ids, a),
    }


def jax_operations(a, table, index, ids):
    import jax
    import jax.numpy as jnp
    places = len(table)
    a, table, index, ids = (jnp.asarray(x) for x in (a, table, index, ids))
    segment_sum = jax.ops.segment_sum
    functions = {
        "sort": (jnp.sort, a), "argsort": (jnp.argsort, a), "top_k": (lambda x: jax.lax.top_k(x, 100), a),
        "cumsum": (jnp.cumsum, a), "take": (lambda t, i: t[i], table, index),
        "scatter_add": (lambda t, i, x: t.at[i].add(x), table, index, a),
        "segment_sum": (lambda x, i: segment_sum(x, i, places), a, index),
        "segment_sum_sorted": (lambda x, i: segment_sum(x, i, places, indices_are_sorted=True), a, ids),
    }
    work = {}
    for name, (function, *arguments) in functions.items():
        compiled = jax.jit(function)
        work[name] = lambda f=compiled, x=tuple(arguments): jax.block_until_ready(f(*x))
    return work


def measure(threads):
    import numpy
    import torch
    import jax
    jax.config.update("jax_enable_x64", True)
    torch.set_num_threads(threads)
    draw = numpy.random.default_rng(42)
    for n in SIZES:
        for dtype in ("f32", "f64", "i32"):
            if not any(bench.wanted(row_of(name, dtype, n, threads)) for name in NAMES):
                continue
            x = draw.random(n) * 2 - 1
            a = (x * 2147483647).astype("i4") if dtype == "i32" else x.astype("f4" if dtype == "f32" else "f8")
            index = draw.integers(0, n // SHARE, n).astype("i4")
            data = (a, a[:n // SHARE].copy(), index, (numpy.arange(n) // SHARE).astype("i4"))
            called = torch_operations(*data)
            peers = {"torch": {name: bench.until_done(work) for name, work in called.items()},
                     "jax": jax_operations(*data)}
            if threads == 1 and bench.DEVICE == "host":
                peers["numpy"] = numpy_operations(*data)
            for name in NAMES:
                row = row_of(name, dtype, n, threads)
                if bench.wanted(row):
                    bench.print_row(row, "ns/element", {peer: bench.median_seconds(work[name]) / n * 1e9
                                                        for peer, work in peers.items()})


bench.by_threads(measure)
