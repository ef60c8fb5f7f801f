"""The rows of bench_vmap.c by JAX's vmap, on one processor: "jax", and "jax flat" for functions over flat arrays."""
import bench

bench.one_processor()

try:
    import jax
    import jax.numpy as jnp
    import numpy
    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None

ELEMENTS, WIDTHS, RUNS, MOST, FACTOR, TERM, END = 1000000, (1000, 10), 10000, 100, 0.999, 0.001, 20.0


def chain(x, scale):
    y = x * scale + 0.5
    y = y * y - x
    y = (y * 0.25 + x) * scale
    return jnp.sqrt(jnp.abs(y) + 1)


def count(x, left):
    return jax.lax.while_loop(lambda c: c[1] > 0, lambda c: (c[0] * FACTOR + TERM, c[1] - 1), (x, left))[0]


def oscillator(mu):
    def pull(x, v):
        return mu * (1 - x * x) * v - x

    def error_of(h, k, to):
        change = -5 / 72 * k[0] + 1 / 12 * k[1] + 1 / 9 * k[2] - 0.125 * k[3]
        return h * change / (1e-6 * (1 + jnp.abs(to)))

    def attempt(now):
        x, v, t, h = now
        left = END - t
        h = jnp.minimum(h, left)
        kx, kv = [v], [pull(x, v)]
        for part in (0.5, 0.75):
            at, speed = x + h * part * kx[-1], v + h * part * kv[-1]
            kx.append(speed)
            kv.append(pull(at, speed))
        tx = x + h * (2 / 9 * kx[0] + 1 / 3 * kx[1] + 4 / 9 * kx[2])
        tv = v + h * (2 / 9 * kv[0] + 1 / 3 * kv[1] + 4 / 9 * kv[2])
        kx.append(tv)
        kv.append(pull(tx, tv))
        error = (error_of(h, kx, tx) ** 2 + error_of(h, kv, tv) ** 2) * 0.5
        good = error <= 1
        factor = jnp.clip(error ** (-1 / 6) * 0.9, 0.2, 5)
        after = jnp.where(h == left, END, t + h)
        return jnp.where(good, tx, x), jnp.where(good, tv, v), jnp.where(good, after, t), h * factor

    start = (jnp.ones_like(mu), jnp.ones_like(mu), jnp.zeros_like(mu), jnp.full_like(mu, 0.01))
    return jax.lax.while_loop(lambda now: now[2] < END, attempt, start)[0]


def numbers(n, low, high):
    return jnp.asarray(low + (high - low) * (numpy.arange(n) * 7919 % n) / n)


def row(name, functions, arguments):
    """A row with the time of each function, compiled, in ms."""
    if not bench.wanted(name):
        return
    peers = {}
    for peer, f in functions.items():
        f = jax.jit(f)
        f(*arguments).block_until_ready()
        peers[peer] = 1e3 * bench.median_seconds(lambda f=f: f(*arguments).block_until_ready())
    bench.print_row(name, "ms", peers)


if jax:
    for width in WIDTHS:
        row(f"vmap/chain/{width}", {"jax": jax.vmap(chain, (0, None)), "jax flat": chain},
            (numbers(ELEMENTS, -2, 2).reshape(-1, width), numbers(1000, 0.5, 1.5)[:width]))
    row("vmap/while", {"jax": jax.vmap(count)}, (numbers(RUNS, -1, 1), 1 + jnp.arange(RUNS) * 37 % MOST))
    row("vmap/oscillators", {"jax": jax.vmap(oscillator)}, (numbers(RUNS, 0.05, 5),))
