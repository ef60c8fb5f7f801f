"""The rows of bench_program.c by JAX: a fresh result each time, and one in donated memory; and, called from here, by the
same plain C loops as there ("c_ctypes"), where short ones cannot overlap."""
import ctypes
import os
import pathlib

import bench

SIZES = tuple(10 ** k for k in range(3, 9))
NAMES = ("poly", "where_sqrt", "where_exp")


def row_of(name, n, threads):
    return f"program/{name}/{n}/{threads}"


def functions():
    import jax.numpy as jnp
    return {
        "poly": lambda x: ((((0.5 * x + 1.5) * x - 2.0) * x + 0.25) * x - 1.0) * x + 3.0,
        "where_sqrt": lambda x: jnp.where(x > 1, jnp.sqrt(x), 2 * x),
        "where_exp": lambda x: jnp.where(x > 1, jnp.sqrt(x), jnp.exp(x)),
    }


def donated(function, x):
    """Calls whose results take the memory of the one before."""
    import jax
    compiled = jax.jit(lambda y, given: function(given), donate_argnums=0, keep_unused=True)
    held = [jax.numpy.zeros_like(x)]

    def work():
        held[0] = compiled(held[0], x)
        held[0].block_until_ready()

    return work


def c_loop(name, x, threads):
    """The plain C loop, from memory to memory that it has already; None without a build."""
    import numpy
    path = pathlib.Path(os.environ.get("BENCH_BUILD", "")) / "lib/libbench_fused.so"
    if not path.exists():
        return None
    loop = getattr(ctypes.CDLL(str(path)), f"fused_{name}")
    given, result = numpy.array(x), numpy.zeros(x.shape)
    arguments = (ctypes.c_void_p(result.ctypes.data), ctypes.c_void_p(given.ctypes.data), ctypes.c_int64(len(x)),
                 ctypes.c_int(threads))
    return lambda held=(given, result): loop(*arguments)


def measure(threads):
    """JAX in this process, which runs on as many processors as the rows have threads."""
    import numpy
    import jax
    jax.config.update("jax_enable_x64", True)
    for n in SIZES:
        wanted = [name for name in NAMES if bench.wanted(row_of(name, n, threads))]
        if not wanted:
            continue
        x = jax.numpy.asarray(0.25 + (numpy.arange(n) * 7919 % 4096) / 2048)
        for name in wanted:
            function = functions()[name]
            compiled = jax.jit(function)
            work = {"jax": lambda: compiled(x).block_until_ready(), "jax_donated": donated(function, x)}
            if plain := c_loop(name, x, threads):
                work["c_ctypes"] = plain
            bench.print_row(row_of(name, n, threads), "ns/element",
                            {peer: bench.median_seconds(call) / n * 1e9 for peer, call in work.items()})


bench.by_threads(measure)
