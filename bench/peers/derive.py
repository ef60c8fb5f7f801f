"""The rows of bench_derive.c by JAX, on one processor: "jax" beside pith's own entry, and "jax value" and the like beside
its peers."""
import functools
import itertools

import bench

bench.one_processor()

try:
    import jax
    import jax.numpy as jnp
    import numpy
    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None

ELEMENTS, SIDE, BATCH, LEAF, MANY, PARTS, STEPS, LAYERS, CELLS = 1000000, 256, 128, 64, 1000, 10, 1000, 4, 10
CUTOFF, REACH = 2.5, 2.8
BOX = (4 / 0.8442) ** (1 / 3) * CELLS


# ---- Functions of x and data ----

def polynomial(x, data):
    return (((((0.5 * x + 1.5) * x - 2) * x + 0.25) * x - 1) * x + 3).sum()


def transcendental(x, data):
    return jnp.sqrt(jnp.exp(jnp.sin(x)) + 1).sum()


def network(x, y):
    for weight, bias in zip(x[::2], x[1::2]):
        y = jnp.tanh(y @ weight + bias)
    return jnp.mean(y ** 2)


def lj(x, near):
    apart = x[:, None] - x[near]
    apart = apart - BOX * jnp.round(apart * (1 / BOX))
    r2 = (apart ** 2).sum(-1)
    counts = (r2 > 0) & (r2 < CUTOFF ** 2)
    over = 1 / jnp.where(counts, r2, 1)
    six = over * over * over
    return 0.5 * jnp.where(counts, six * (six - 1) * 4, 0).sum()


def scan(x, data):
    def swing(carry, _):
        angle, velocity = carry
        velocity = velocity - jnp.sin(angle) * 0.01
        angle = angle + velocity * 0.01
        return (angle, velocity), None
    return (jax.lax.scan(swing, x, None, STEPS)[0][0] ** 2).sum()


def drifted(x, lengths):
    """Steps in loops within loops, of which each but the innermost keeps its carries alone."""
    def run(x, lengths):
        inner = jax.checkpoint(lambda x: run(x, lengths[1:])) if lengths[1:] else lambda x: x + jnp.sin(x) * 0.01
        return jax.lax.scan(lambda x, _: (inner(x), None), x, None, lengths[0])[0]
    return (run(x, lengths) ** 2).sum()


def ten(x, y):
    for _ in range(4):
        x = x * y + 0.5
    return (x ** 2).sum()


def leaves(x, data):
    return functools.reduce(lambda total, one: total + one, [(leaf ** 2).sum() for leaf in x])


# ---- Arguments ----

def numbers(shape, dtype, by=1.0):
    n = numpy.prod(shape)
    return jnp.asarray((by * (0.25 + (numpy.arange(n) * 7919 % 4096) / 2048)).reshape(shape).astype(dtype))


def network_input():
    x = []
    for _ in range(LAYERS):
        x += [numbers((SIDE, SIDE), "float32", 0.1) - 0.125, jnp.zeros(SIDE, "float32")]
    return tuple(x), numbers((BATCH, SIDE), "float32")


def lj_input():
    """The atoms and lists of peers/derive.c."""
    i = numpy.arange(4 * CELLS ** 3)
    cell = i // 4
    at = numpy.stack([cell % CELLS, cell // CELLS % CELLS, cell // CELLS ** 2], 1)
    basis = numpy.array([(0, 0, 0), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)])[i % 4]
    moved = (i[:, None] * 7919 + numpy.arange(3) * 104729) % 4096 / 4096 - 0.5
    x = (at + basis) * (BOX / CELLS) + 0.1 * moved
    lists = []
    for k in i:
        apart = x[k] - x
        apart -= BOX * numpy.rint(apart / BOX)
        close = numpy.flatnonzero((apart ** 2).sum(1) < REACH ** 2)
        lists.append(close[close != k])
    near = numpy.repeat(i[:, None], max(map(len, lists)), 1).astype("int32")
    for k, one in enumerate(lists):
        near[k, :len(one)] = one
    return jnp.asarray(x), jnp.asarray(near)


def leaves_input(count):
    return [numbers(LEAF, "float32") for _ in range(count)], ()


# ---- Rows ----

def print_times(row, unit, scale, works):
    """Median times, of works by name of the peer."""
    bench.print_row(row, unit, {name: bench.median_seconds(lambda: jax.block_until_ready(work())) * scale
                                for name, work in works.items()})


def derivatives():
    vector = lambda: (numbers(ELEMENTS, "float64"), ())
    near = lambda: (numbers(ELEMENTS // 10, "float64"), ())
    for name, f, make in (("polynomial", polynomial, vector), ("near polynomial", polynomial, near),
                          ("transcendental", transcendental, vector),
                          ("network", network, network_input), ("lj", lj, lj_input)):
        rows = [f"derive/{kind}/{name}" for kind in ("gradient", "forward", "hessian")]
        if not any(map(bench.wanted, rows)):
            continue
        x, data = make()
        value, both, gradient = jax.jit(f), jax.jit(jax.value_and_grad(f)), jax.jit(jax.grad(f))
        pushed = jax.jit(lambda x, t, data: jax.jvp(lambda x: f(x, data), (x,), (t,)))
        product = jax.jit(lambda x, t, data: jax.jvp(lambda x: jax.grad(f)(x, data), (x,), (t,)))
        for row, works in zip(rows, (
                {"jax": lambda: both(x, data), "jax value": lambda: value(x, data)},
                {"jax": lambda: pushed(x, x, data), "jax value": lambda: value(x, data)},
                {"jax": lambda: product(x, x, data), "jax gradient": lambda: gradient(x, data)})):
            if bench.wanted(row):
                print_times(row, "ms", 1e3, works)


def scans():
    for n in (64, 4096):
        x, both, value = (numbers(n, "float64"),) * 2, jax.jit(jax.value_and_grad(scan)), jax.jit(scan)
        if bench.wanted(f"derive/scan/2x{n}"):
            print_times(f"derive/scan/2x{n}", "ms", 1e3, {"jax": lambda: both(x, ()), "jax value": lambda: value(x, ())})
        if bench.wanted(f"derive/kept/2x{n}"):
            used = both.lower(x, ()).compile().memory_analysis().temp_size_in_bytes
            bench.print_row(f"derive/kept/2x{n}", "MB", {"jax": 1e-6 * used})


def budgets():
    """Lengths of loops by which JAX keeps a tenth and a thirtieth: 20 + 50 and 10 + 10 + 10 of 1,000 arrays."""
    for n in (64, 4096):
        x = numbers(n, "float64")
        both, value = (jax.jit(f, static_argnums=1) for f in (jax.value_and_grad(drifted), drifted))
        for name, lengths in (("drift", (STEPS,)), ("tenth", (20, 50)), ("thirtieth", (10, 10, 10))):
            if bench.wanted(f"derive/{name}/{n}"):
                print_times(f"derive/{name}/{n}", "ms", 1e3, {
                    "jax": lambda: both(x, lengths), "jax value": lambda: value(x, (STEPS,)),
                    "jax whole": lambda: both(x, (STEPS,))})


def first():
    """First results and traced programs of a static argument that is new."""
    for name, f, make, repeats in (("10 operations", ten, lambda: (numbers(LEAF, "float32"),) * 2, 7),
                                   ("lj", lj, lj_input, 5), ("1000 leaves", leaves, lambda: leaves_input(MANY), 2)):
        if not any(bench.wanted(f"derive/{kind}/{name}") for kind in ("first", "record")):
            continue
        x, data = make()
        tags = itertools.count()
        tagged = lambda x, data, tag: f(x, data)
        both, value = (jax.jit(g, static_argnums=2) for g in (jax.value_and_grad(tagged), tagged))
        for kind, call in (("first", lambda g: jax.block_until_ready(g(x, data, next(tags)))),
                           ("record", lambda g: g.trace(x, data, next(tags)))):
            if bench.wanted(f"derive/{kind}/{name}"):
                bench.print_row(f"derive/{kind}/{name}", "ms", {
                    peer: bench.median_seconds(lambda: call(g), repeats) * 1e3
                    for peer, g in (("jax", both), ("jax value", value))})


def calls():
    x, data = leaves_input(PARTS)
    small, ones = numbers(LEAF, "float32"), jnp.float32(1)
    gradient, by_hand = jax.jit(jax.grad(leaves)), jax.jit(lambda x, data: [2 * leaf for leaf in x])
    of_x = lambda x: ten(x, small)
    line, pulled = jax.linearize(of_x, small)[1], jax.vjp(of_x, small)[1]
    for row, works in (
            ("derive/call/gradient", {"jax": lambda: gradient(x, data), "jax function": lambda: by_hand(x, data)}),
            ("derive/call/map", {"jax": lambda: line(small)}),
            ("derive/call/transposed map", {"jax": lambda: pulled(ones)}),
            ("derive/eager/gradient", {"jax": lambda: jax.grad(of_x)(small)}),
            ("derive/eager/jvp", {"jax": lambda: jax.jvp(of_x, (small,), (small,))}),
            ("derive/eager/vjp", {"jax": lambda: jax.vjp(of_x, small)[0]})):
        if bench.wanted(row):
            print_times(row, "us", 1e6, works)


if jax:
    derivatives()
    scans()
    budgets()
    calls()
    first()
