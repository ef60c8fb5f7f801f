"""The rows of bench_steps.c by JAX, on one processor or on a GPU."""
import sys

import bench

bench.one_processor()

TIMES, SMALL, ROWS = 1000, 64, 16

FIRST = """
import jax
import jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
a = jnp.arange(64000.0)
b = jnp.sqrt(a)
few = lambda x: x[:len(x) // 3 * 3].reshape(-1, 3)
norms = jax.jit(lambda a, b: jnp.sqrt(((few(a) - few(b)) ** 2).sum(1)))
assert float(norms(a, b).sum()) > 0
"""


def rows(jax, jnp):
    """Name, side of the square (0: a loop), the number of places of indices (0: all), function."""
    lax = jax.lax

    def square(a):
        side = round(len(a) ** 0.5)
        return a.reshape(side, side)

    def five(x, a, b, c, d):
        return 0.5 * x + 0.125 * (((a + b) + c) + d)

    def stencil(a, b, index):
        a = square(a)
        return five(a[1:-1, 1:-1], a[:-2, 1:-1], a[2:, 1:-1], a[1:-1, :-2], a[1:-1, 2:])

    def roll(a, b, index):
        a = square(a)
        return five(a, jnp.roll(a, 1, 0), jnp.roll(a, -1, 0), jnp.roll(a, 1, 1), jnp.roll(a, -1, 1))

    def squares(a, b):
        return (a * b + 1) ** 2

    def softmax(a, b, index):
        a = square(a)
        e = jnp.exp(a - a.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def threes(a):
        return a[:len(a) // 3 * 3].reshape(-1, 3)

    def small_rows(a, b, index):
        return threes(a) * b[:len(b) // 3, None] + b[:3]

    def mixed(a, b, index):
        return a * index + b

    def scan(a, b, index):
        def body(c, x):
            c = c * 0.999 + x
            return c, c
        return lax.scan(body, 0.0, a)[1]

    def newton(a, b, index):
        return lax.while_loop(lambda c: c[1] < TIMES, lambda c: (0.5 * (c[0] + 2 / c[0]), c[1] + 1), (a[0], 0))[0]

    def loop(body, start, times=TIMES):
        return lax.fori_loop(0, times, body, start)

    def total(a, b, index):
        return loop(lambda i, x: x * (1 / (1 + 1e-6 * (x * x).sum())), a[:SMALL])

    def cond(a, b, index):
        return loop(lambda i, x: lax.cond(x > 0.5, lambda x: x * 0.5, lambda x: x * x + 1, x), a[0])

    def nested(a, b, index):
        madd = lambda i, x: x * 0.999 + b[:ROWS]
        return loop(lambda i, x: loop(madd, x, 10) + 1, a[:ROWS], TIMES // 10)

    def check(a, b, index):
        """As checkify does: the first failing iteration's argument is carried."""
        def body(i, c):
            x, failed, worst = c
            x = x * 0.999 + b[:SMALL]
            fails = ~(x < 1e6).all()
            worst = jnp.where(fails & ~failed, x.max(), worst)
            return x, failed | fails, worst
        return loop(body, (a[:SMALL], False, 0.0))[0]

    def draw(a, b, index):
        key = jax.random.PRNGKey(1)
        return loop(lambda i, x: x * 0.999 + jax.random.uniform(jax.random.fold_in(key, i), (SMALL,), minval=-1.0),
                    a[:SMALL])

    def product(a, b, index):
        m = b[:ROWS * ROWS].reshape(ROWS, ROWS)
        return loop(lambda i, x: (m @ x) * 0.05 + 1, a[:ROWS])

    def kernel(a, b, index):
        def body(i, c):
            x, failed = c
            failed = jnp.minimum(failed, jnp.where(x < 1e6, SMALL, jnp.arange(SMALL)).min())
            ends = jnp.concatenate([x[:1], x, x[-1:]])
            return 0.25 * ends[:-2] + 0.5 * x + 0.25 * ends[2:] + 0.001 * b[:SMALL], failed
        return loop(body, (a[:SMALL], SMALL))[0]

    table = lambda a: a[:TIMES * SMALL].reshape(TIMES, SMALL)
    return (
        ("stencil", 2048, 0, stencil),
        ("roll", 2048, 0, roll),
        ("transposed", 1024, 0, lambda a, b, i: square(a) + square(b).T),
        ("gather", 1000, 100000, lambda a, b, i: a[i] * b + 1),
        ("scatter_add", 1000, 100000, lambda a, b, i: jnp.zeros(len(a) // 10).at[i].add(a * b)),
        ("sum", 1000, 0, lambda a, b, i: squares(a, b).sum()),
        ("sum_rows", 1000, 0, lambda a, b, i: squares(square(a), square(b)).sum(1)),
        ("sum_columns", 1000, 0, lambda a, b, i: squares(square(a), square(b)).sum(0)),
        ("softmax", 1000, 0, softmax),
        ("small_rows", 1000, 0, small_rows),
        ("norms", 1000, 0, lambda a, b, i: jnp.sqrt(((threes(a) - threes(b)) ** 2).sum(1))),
        ("sort", 1000, 100000, lambda a, b, i: jnp.sort(mixed(a, b, i)) * 2),
        ("argsort", 1000, 100000, lambda a, b, i: jnp.argsort(mixed(a, b, i)) + 1),
        ("matmul", 512, 0, lambda a, b, i: jnp.maximum(square(a) @ square(b) - 128, 0)),
        ("loop/scan", 0, 0, scan),
        ("loop/while", 0, 0, newton),
        ("loop/madd", 0, 0, lambda a, b, i: loop(lambda _, x: x * 0.999 + b[:SMALL], a[:SMALL])),
        ("loop/broadcast", 0, 0, lambda a, b, i: loop(
            lambda _, x: x * b[:ROWS, None] + b[:3], a[:3 * ROWS].reshape(ROWS, 3))),
        ("loop/sum", 0, 0, total),
        ("loop/cond", 0, 0, cond),
        ("loop/take", 0, 0, lambda a, b, i: loop(lambda _, x: x[i[:SMALL] & (SMALL - 1)] * 0.5 + 1, a[:SMALL])),
        ("loop/row", 0, 0, lambda a, b, i: loop(lambda t, x: x + table(a)[t], jnp.zeros(SMALL))),
        ("loop/scatter", 0, 0, lambda a, b, i: loop(
            lambda _, x: x.at[i[:ROWS] & (SMALL - 1)].add(b[:ROWS]), a[:SMALL])),
        ("loop/nested", 0, 0, nested),
        ("loop/check", 0, 0, check),
        ("loop/draw", 0, 0, draw),
        ("loop/product", 0, 0, product),
        ("loop/kernel", 0, 0, kernel),
        ("loop/sort", 0, 0, lambda a, b, i: loop(lambda _, x: jnp.sort(x * -0.999 + b[:SMALL]), a[:SMALL])),
    )


def measure():
    import numpy
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    for name, side, places, function in rows(jax, jnp):
        row = f"steps/{name}"
        if not bench.wanted(row):
            continue
        side *= bench.SCALE
        n = side * side or (TIMES if name == "loop/scan" else TIMES * SMALL)
        i = numpy.arange(n)
        a, b = (jnp.asarray(0.25 + (i * by % 4096) / 8192) for by in (7919, 104729))
        index = jnp.asarray(numpy.random.default_rng(1).integers(0, places or n, n, dtype=numpy.int32))
        compiled = jax.jit(function)
        seconds = bench.median_seconds(lambda: compiled(a, b, index).block_until_ready())
        unit, scale = ("ns/element", 1e9 / n) if side else ("ns/iteration", 1e9 / TIMES)
        bench.print_row(row, unit, {"jax": seconds * scale})


def first():
    import subprocess
    if bench.wanted("steps/first"):
        seconds = bench.median_seconds(lambda: subprocess.run([sys.executable, "-c", FIRST], check=True), 5)
        bench.print_row("steps/first", "ms", {"jax": seconds * 1e3})


measure()
first()
