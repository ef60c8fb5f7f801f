"""The rows of bench_jit.c by JAX, on one processor or on a GPU."""
import itertools

import bench

bench.one_processor()

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = None

LEAF, TIMES = 64, 1000


def leaves(count, elements, value):
    return [jnp.full(elements, value, jnp.float32) for _ in range(count)]


def add_one(tree):
    return jax.tree.map(lambda x: x + 1, tree)


def adam(state, tag=0):
    params, mean, variance, gradient, step = state
    step = step + 1
    first, second = 1 - 0.9 ** step, 1 - 0.999 ** step
    mean = jax.tree.map(lambda m, g: m * 0.9 + g * 0.1, mean, gradient)
    variance = jax.tree.map(lambda v, g: v * 0.999 + g * g * 0.001, variance, gradient)
    params = jax.tree.map(lambda p, m, v: p - m / first / (jnp.sqrt(v / second) + 1e-8) * 1e-3, params, mean, variance)
    return params, mean, variance, gradient, step


def ten(pair, tag=0):
    x, y = pair
    for _ in range(5):
        x, y = x * y + 0.5, y - 0.25
    return x, y


def adam_state(count, elements):
    return tuple(leaves(count, elements, v) for v in (1, 0.5, 0.25, 0.125)) + (jnp.float32(4),)


def row(name, unit, scale, work, repeats=7):
    bench.print_row(name, unit, {"jax": bench.median_seconds(work, repeats) * scale})


def retrace(name, function, argument, repeats):
    """A call with a static argument that is new, and one with a static argument that it has had before."""
    compiled = jax.jit(function, static_argnums=1)
    for prefix, tags in (("retrace", range(1, 10 ** 6)), ("return", itertools.cycle((1, 2)))):
        tags = iter(tags)
        if bench.wanted(f"jit/{prefix}/{name}"):
            row(f"jit/{prefix}/{name}", "ms", 1e3, lambda: jax.block_until_ready(compiled(argument, next(tags))), repeats)


def measure():
    compiled = jax.jit(add_one)
    for count in (1, 10, 100, 1000):
        if bench.wanted(f"jit/call/{count}"):
            tree = leaves(count, LEAF, 1)
            row(f"jit/call/{count}", "us", 1e6, lambda: jax.block_until_ready(compiled(tree)))
    if bench.wanted("jit/fori/10x64"):
        tree = leaves(10, LEAF, 1)
        loop = jax.jit(lambda t: jax.lax.fori_loop(0, TIMES, lambda i, carry: add_one(carry), t))
        row("jit/fori/10x64", "ns/iteration", 1e9 / TIMES, lambda: jax.block_until_ready(loop(tree)))
    for count, elements in ((1000, LEAF), (10, 1000000)):
        if bench.wanted(f"jit/adam/{count}x{elements}"):
            state, step = adam_state(count, elements), jax.jit(adam)
            row(f"jit/adam/{count}x{elements}", "us", 1e6, lambda: jax.block_until_ready(step(state)))
    retrace("10 operations", ten, tuple(leaves(2, LEAF, 1)), 7)
    retrace("adam/1000x64", adam, adam_state(1000, LEAF), 2)


if jax:
    measure()
