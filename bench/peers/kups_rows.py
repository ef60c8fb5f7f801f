"""kUPS on the work of bench_lens.c, bench_assert.c and bench_capacity.c: lenses, assertions, growth and retry.

Runs in an environment of its own (.venv-kups), because kUPS needs Python 3.12 and the release of JAX that its lock
file pins. "kups" is called as it stands, "kups_jit" inside jax.jit.
"""
import os

os.environ["JAX_PLATFORMS"] = "cpu"

import dataclasses
import statistics
import time

import jax
import jax.numpy as jnp
from kups.core.assertion import runtime_assert
from kups.core.capacity import LensCapacity
from kups.core.lens import lens
from kups.core.propagator import propagate_and_fix
from kups.core.result import as_result_function
from kups.core.utils.jax import dataclass, field, tree_concat, tree_scatter_set, tree_stack

import bench


def ready(x):
    jax.block_until_ready(jax.tree.leaves(x))
    return x


def seconds(work, **options):
    return bench.median_seconds(lambda: ready(work()), **options)


# ---- Lenses: 10 x 10 x 10 records of f32[64] ----

FIELDS = [f"f{i}" for i in range(10)]


def record(name, kind):
    return dataclass(type(name, (), {"__annotations__": {f: kind for f in FIELDS}}))


Low = record("Low", jax.Array)
Middle = record("Middle", Low)
High = record("High", Middle)


def cube(leaf):
    return High(**{a: Middle(**{b: Low(**{c: leaf() for c in FIELDS}) for b in FIELDS}) for a in FIELDS})


def lens_rows():
    tree = cube(lambda: jnp.zeros(64, jnp.float32))
    leaf = ready(jnp.ones(64, jnp.float32))
    deep, whole, index = lens(lambda t: t.f3.f7.f2), lens(lambda t: t), jnp.array([3, 1, 2])
    if bench.wanted("lens/get/depth 3"):
        bench.print_row("lens/get/depth 3", "ns", {"kups": bench.median_seconds(lambda: deep.get(tree)) * 1e9})
    if bench.wanted("lens/set/depth 3"):
        bench.print_row("lens/set/depth 3", "ns", {"kups": bench.median_seconds(lambda: deep.set(tree, leaf)) * 1e9})
    rows = ready(jax.tree.map(lambda x: x[:3], tree))
    take, put = (lambda t: whole.at(index).get(t)), (lambda t, r: whole.at(index).set(t, r))
    jitted_take, jitted_put = jax.jit(take), jax.jit(put)
    if bench.wanted("lens/at get/1000"):
        bench.print_row("lens/at get/1000", "us", {
            "kups": seconds(lambda: take(tree), repeats=3) * 1e6, "kups_jit": seconds(lambda: jitted_take(tree)) * 1e6})
    if bench.wanted("lens/at set/1000"):
        bench.print_row("lens/at set/1000", "us", {
            "kups": seconds(lambda: put(tree, rows), repeats=3) * 1e6,
            "kups_jit": seconds(lambda: jitted_put(tree, rows)) * 1e6})


# ---- Trees of 100 leaves ----


def tree_rows():
    tree = [jnp.zeros(64, jnp.float32) for _ in range(100)]
    rows = [jnp.ones(3, jnp.float32) for _ in range(100)]
    index = jnp.array([3, 1, 2])
    works = {
        "concat": lambda a, b: tree_concat(a, b),
        "stack": lambda a, b: tree_stack(a, b),
        "scatter": lambda a, b: tree_scatter_set(a, rows, index, {}),
    }
    for name, work in works.items():
        row = f"lens/{name}/100"
        if bench.wanted(row):
            jitted = jax.jit(work)
            bench.print_row(row, "us", {"kups": seconds(lambda: work(tree, tree), repeats=3) * 1e6,
                                        "kups_jit": seconds(lambda: jitted(tree, tree)) * 1e6})


# ---- Assertions: 10 leaves of f32[64] that decay, some of their maxima checked ----


@dataclass
class State:
    leaves: tuple
    cap: int = field(static=True)


def checked_step(count):
    def step(key, state):
        leaves = tuple(x * 0.999 + 0.001 for x in state.leaves)
        for k in range(count):
            most = jnp.max(leaves[k % 10])
            runtime_assert(most < 1e6, "too large: {m}", fmt_args={"m": most},
                           fix_fn=lambda s, need: dataclasses.replace(s, cap=max(s.cap, int(need))),
                           fix_args=jnp.ceil(most).astype(jnp.int32))
        return dataclasses.replace(state, leaves=leaves)

    return step


def assert_rows():
    ramp = jnp.arange(64, dtype=jnp.float32) / 63
    state = ready(State(leaves=tuple(ramp + i for i in range(10)), cap=4))
    key = jax.random.key(0)
    for count in (0, 1, 5, 20):
        row = f"assert/compiled/{count}"
        if not bench.wanted(row):
            continue
        plain = jax.jit(checked_step(count))  # without an interpreter the assertions are not there
        whole = jax.jit(as_result_function(checked_step(count)))
        bench.print_row(row, "us", {
            "kups_unchecked": seconds(lambda: plain(key, state)) * 1e6,
            "kups": seconds(lambda: propagate_and_fix(whole, key, state)) * 1e6})
    if bench.wanted("assert/all pass"):
        result = ready(jax.jit(as_result_function(checked_step(20)))(key, state))
        bench.print_row("assert/all pass", "ns",
                        {"kups": bench.median_seconds(lambda: bool(result.all_assertions_pass)) * 1e9})


# ---- Growth and retry: compaction into a buffer that is too small ----


@dataclass
class Buffer:
    x: jax.Array
    cap: int = field(static=True)


def compact(key, state):
    where = jnp.flatnonzero(state.x < 0.5, size=state.cap, fill_value=0)
    need = jnp.sum(state.x < 0.5)
    LensCapacity(state.cap, lens(lambda s: s.cap, cls=Buffer)).generate_assertion(need)
    kept = jnp.where(jnp.arange(state.cap) < need, state.x[where], 0)
    return dataclasses.replace(state, x=state.x + 0 * jnp.sum(kept * kept))


def growth_rows():
    """A fresh jit each time: what a growth costs is the trace and compilation of the grown program."""
    x = jnp.tile(jnp.array([0.25, 0.75], jnp.float32), 512)
    key = jax.random.key(0)
    if not bench.wanted("capacity/overflow"):
        return
    samples = []
    for _ in range(5):
        step = jax.jit(as_result_function(compact))
        ready(step(key, Buffer(x=x, cap=64)))
        start = time.perf_counter()
        ready(propagate_and_fix(step, key, Buffer(x=x, cap=64)))
        samples.append(time.perf_counter() - start)
    fits = Buffer(x=x, cap=512)
    ready(step(key, fits))
    bench.print_row("capacity/step", "us", {"kups": seconds(lambda: propagate_and_fix(step, key, fits)) * 1e6})
    bench.print_row("capacity/overflow", "us", {"kups": statistics.median(samples) * 1e6})


lens_rows()
tree_rows()
assert_rows()
growth_rows()
