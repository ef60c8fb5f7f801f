"""The rows of bench_arrays.c by NumPy, torch and JAX; NumPy on one thread.

"jax" is JAX operation by operation, "jax_jit" one compiled function of them, beside the rows of both; beside those
with fast math are all."""
import bench

SIZES = (1_000_000 * bench.SCALE, 10_000_000 * bench.SCALE)
NAMES = ("add", "exp", "log", "sin", "cos", "tanh", "pow", "sum", "sum_rows", "sum_columns", "argmax", "stencil")

FAST = ("log", "sin", "cos", "tanh", "pow")


def row_of(name, dtype, n, threads):
    return f"array/{name}/{dtype}/{n}/{threads}"


def operations(lib, a, b):
    """Functions without arguments, one a name, for NumPy and torch."""
    grid = a.reshape(-1, 1000)
    axis = "axis" if lib.__name__ == "numpy" else "dim"
    power = lib.power if lib.__name__ == "numpy" else lib.pow
    return {
        "add": lambda: a + b, "exp": lambda: lib.exp(a), "log": lambda: lib.log(a),
        "sin": lambda: lib.sin(a), "cos": lambda: lib.cos(a), "tanh": lambda: lib.tanh(a),
        "pow": lambda: power(a, b), "sum": lambda: grid.sum(), "sum_rows": lambda: grid.sum(**{axis: 0}),
        "sum_columns": lambda: grid.sum(**{axis: 1}), "argmax": lambda: a.argmax(),
        "stencil": lambda: (a[:-2] + a[2:]) * 0.5,
    }


def jax_operations(a, b):
    import jax
    import jax.numpy as jnp
    grid = a.reshape(-1, 1000)
    functions = {
        "add": (lambda x, y: x + y, a, b), "exp": (jnp.exp, a), "log": (jnp.log, a), "sin": (jnp.sin, a),
        "cos": (jnp.cos, a), "tanh": (jnp.tanh, a),
        "pow": (lambda x, y: x ** y, a, b), "sum": (jnp.sum, grid), "sum_rows": (lambda x: x.sum(0), grid),
        "sum_columns": (lambda x: x.sum(1), grid), "argmax": (jnp.argmax, a), "stencil": (lambda x: (x[:-2] + x[2:]) * 0.5, a),
    }
    return [{name: lambda f=how(function), x=tuple(arguments): f(*x).block_until_ready()
             for name, (function, *arguments) in functions.items()}
            for how in (lambda f: f, jax.jit)]


def measure(threads):
    """All peers in this process, which runs on as many processors as the rows have threads."""
    import numpy
    import torch
    import jax
    jax.config.update("jax_enable_x64", True)
    torch.set_num_threads(threads)
    for n in SIZES:
        for dtype in ("f32", "f64"):
            rows = [row_of(name, dtype, n, threads) for name in NAMES]
            if not any(bench.wanted(row + end) for row in rows for end in ("", "/jit", "/fast")):
                continue
            real = numpy.float32 if dtype == "f32" else numpy.float64
            place = numpy.arange(n)
            a = (0.25 + (place * 7919 % 4096) / 2048).astype(real)
            b = (0.5 + (place * 104729 % 1024) / 512).astype(real)
            jax_called, jax_compiled = jax_operations(jax.numpy.asarray(a), jax.numpy.asarray(b))
            called = operations(torch, bench.of_torch(a), bench.of_torch(b))
            peers = {"torch": {name: bench.until_done(work) for name, work in called.items()},
                     "jax": jax_called, "jax_jit": jax_compiled}
            if threads == 1 and bench.DEVICE == "host":
                peers["numpy"] = operations(numpy, a, b)
            for name, row in zip(NAMES, rows):
                times = {}
                fast = name in FAST and bench.wanted(row + "/fast")
                if bench.wanted(row) or fast:
                    times = {peer: bench.median_seconds(work[name]) / n * 1e9 for peer, work in peers.items()}
                if bench.wanted(row):
                    bench.print_row(row, "ns/element", times)
                if fast:
                    bench.print_row(row + "/fast", "ns/element", times)
                if bench.wanted(row + "/jit"):
                    compiled = times.get("jax_jit") or bench.median_seconds(jax_compiled[name]) / n * 1e9
                    bench.print_row(row + "/jit", "ns/element", {"jax_jit": compiled})


bench.by_threads(measure)
