"""Reductions over any axes: NaN, ties, empty extents, ranks 0 to 8.

The judge is JAX, with which NumPy agrees. Sums of small integers are exact, others are correctly rounded.
"""
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from common import EXACT, FLOATS, INTS, NP, UNSIGNED, VALUE, agree, dt, rtol, text
from family import Family

jax.config.update("jax_enable_x64", True)
np.seterr(all="ignore")
AX = "params.axes (list, negative counts from the end; null all; [] none), params.keepdims. "
OPS = {
    "sum":
        AX + "params.dtype, the dtype of the result and of the accumulation; integers wrap; of nothing 0",
    "prod":
        AX + "params.dtype as in sum; of nothing 1",
    "min":
        AX + "nan if any is nan; the sign of a zero result is not checked; an empty extent with a nonempty "
        "result is an error",
    "max":
        "as min",
    "any":
        AX + "bool; nonzero and nan are true; of nothing false",
    "all":
        AX + "bool; of nothing true",
    "argmin":
        "params.axis (null: over the flattened array), params.keepdims; i64; the first of equals; the "
        "first nan if there is one; -0 equals 0; an empty extent is an error",
    "argmax":
        "as argmin",
    "mean":
        AX + "params.dtype; sum over count, in floats; of nothing nan",
}
fam = Family("reduce", OPS, ("jax", "numpy"))
J = {
    "sum": jnp.sum,
    "prod": jnp.prod,
    "min": jnp.min,
    "max": jnp.max,
    "any": jnp.any,
    "all": jnp.all,
    "argmin": jnp.argmin,
    "argmax": jnp.argmax,
    "mean": jnp.mean,
}
N = {
    "sum": np.sum,
    "prod": np.prod,
    "min": np.min,
    "max": np.max,
    "any": np.any,
    "all": np.all,
    "argmin": np.argmin,
    "argmax": np.argmax,
    "mean": np.mean,
}
SHAPES = [(), (1,), (7,), (0,), (3, 5), (3, 0), (0, 4), (2, 3, 4), (2, 0, 3), (4, 1, 3), (2, 1, 3, 2), (2, 3, 1, 2, 2),
          (1, 2, 2, 1, 3, 2), (2, 1, 2, 2, 1, 2, 2), (2, 1, 2, 1, 2, 2, 1, 3), (1,) * 8, (2, 1, 0, 1, 2, 1, 1, 2),
          (130,), (17, 33), (5, 6, 7)]


def axes_of(rank, g):
    out = [None, []]
    out += [[i] for i in range(rank)]
    if rank:
        out.append([-1])
    if rank >= 2:
        out += [[0, rank - 1], [-1, 0], list(range(rank))]
    if rank >= 3:
        out += [sorted(int(x) for x in g.choice(rank, size=int(g.integers(2, rank)), replace=False)) for _ in range(2)]
    seen, keep = set(), []
    for a in out:
        if str(a) not in seen:
            seen.add(str(a))
            keep.append(a)
    return keep


def data(g, d, shape, op):
    n = int(np.prod(shape))
    if d == "bool":
        return (g.random(n) < (0.15 if op == "any" else 0.85)).reshape(shape)
    if op == "prod":
        v = g.choice([1, 1, 1, 2, 3] if d in UNSIGNED else [1, 1, -1, 2, -3, 1], n)
        v[np.cumsum(np.abs(v) > 1) > 12] = 1
    elif op in ("any", "all"):
        v = (g.random(n) < (0.15 if op == "any" else 0.85)) * g.integers(1, 100, n)
    else:
        v = g.integers(0 if d in UNSIGNED else -20, 21, n)
    return v.astype(NP[d]).reshape(shape)


def emit(op, tag, x, axes, keep=False, dtype=None, tol=EXACT, want=None, check=True, **extra):
    p = {"axes": axes, "keepdims": keep} if op not in ("argmin", "argmax") else {"axis": axes, "keepdims": keep}
    a = axes if axes is None or isinstance(axes, int) else tuple(axes)
    kw = {}
    if op in ("sum", "prod", "mean"):
        dtype = dtype or (dt(x) if op != "mean" else dt(x) if dt(x) in FLOATS else "f64")
        p["dtype"], kw["dtype"] = dtype, NP[dtype]
    try:
        out = np.asarray(J[op](jnp.asarray(x), axis=a, keepdims=keep, **kw))
    except ValueError as e:
        if "zero-size" not in str(e) and "empty" not in str(e):
            raise
        fam.case(op, tag, [x], params=p, expect="error", **extra)
        return
    if want is None:
        want = out
        if check and not (op in ("argmin", "argmax") and x.size == 0):
            n = np.asarray(N[op](x, axis=a, keepdims=keep, **kw))
            agree(out, n,
                  rtol(1e-3, 1e-3) if dtype in ("f16", "bf16") else (tol if tol != EXACT else VALUE),
                  what=f"{op} {tag}")
    else:
        agree(out, want, tol, what=f"{op} {tag}")
    fam.case(op, tag, [x], [want], p, tol=tol, **extra)


COUNT = itertools.count()
TYPES = {
    "sum": ["f64", "i32", "f32", "u8", "i64", "u32", "i16"],
    "prod": ["f64", "i64", "f32", "i8", "u64", "i32"],
    "min": ["f64", "i32", "f32", "u8", "bool", "i64"],
    "max": ["f32", "i64", "f64", "u32", "i8", "bool"],
    "any": ["bool", "f64", "i32"],
    "all": ["bool", "f32", "u8"],
    "argmin": ["f64", "i32", "f32", "u16"],
    "argmax": ["f64", "i64", "f32", "bool"],
    "mean": ["f64", "f32", "i32", "i64"],
}


def shapes_and_axes():
    for op in OPS:
        for shape in SHAPES:
            g = fam.rng(f"{op}/{shape}")
            options = axes_of(len(shape), g)
            if op in ("argmin", "argmax"):
                options = [None] + list(range(len(shape))) + ([-1] if shape else [])
            if len(options) > 5:
                options = [options[i] for i in sorted(g.choice(len(options), 5, False))]
            for axes in options:
                k = next(COUNT)
                d = TYPES[op][k % len(TYPES[op])]
                x = data(g, d, shape, op)
                tol = VALUE if op in ("min", "max") else EXACT
                if op == "mean":
                    tol = rtol(1e-15, 1e-15) if d != "f32" else rtol(3e-7, 3e-7)
                emit(op, f"{d}/{text(shape)}/{'all' if axes is None else axes}/{'keep' if k % 3 == 0 else 'drop'}", x,
                     axes, k % 3 == 0, tol=tol)


def wide():
    """Wider results for narrow integers and bool; wrapping sums and products."""
    for d, wide in [("bool", "i64"), ("i8", "i64"), ("i32", "i64"), ("u8", "u64"), ("u32", "u64"), ("i16", "i32"),
                    ("f32", "f64"), ("f16", "f32"), ("i32", "f32")]:
        for op in ("sum", "prod"):
            g = fam.rng(f"wide/{op}/{d}")
            x = g.integers(0, 2, (6, 20)).astype(bool) if d == "bool" else g.integers(100, 127, (
                6, 20)).astype(NP[d]) if op == "sum" else g.integers(1, 6, (6, 8)).astype(NP[d])
            emit(op, f"wide/{d}_{wide}", x, [1], dtype=wide)
    for d in INTS:
        for op in ("sum", "prod"):
            g = fam.rng(f"wrap/{op}/{d}")
            t = np.iinfo(NP[d])
            x = g.integers(t.min, t.max, (4, 9), NP[d], endpoint=True)
            emit(op, f"wrap/{d}", x | NP[d].type(1) if op == "prod" else x, [1])


def special():
    """NaN, infinities and ties."""
    for d in ("f32", "f64"):
        nan, inf = np.nan, np.inf
        rows = np.array([[1, nan, 3, -2, 5], [nan, nan, nan, nan, nan], [inf, -inf, 0, 1, 2], [inf, inf, 1, 2, 3],
                         [-inf, -inf, -inf, -inf, -inf], [0.0, -0.0, 0.0, -0.0, 0.0], [-0.0, -0.0, -0.0, -0.0, -0.0],
                         [3, 3, 3, 3, 3], [2, 5, 5, 2, 5], [1, 2, 3, 4, nan], [nan, 1, inf, 2, 3],
                         [5, inf, nan, -inf, 0], [-1, -1, -1, -1, 0]], NP[d])
        for op in OPS:
            tol = VALUE if op not in ("prod", "mean") else rtol(1e-6 if d == "f32" else 1e-14)
            emit(op, f"{d}/special/rows", rows, [1] if op not in ("argmin", "argmax") else 1, tol=tol)
            emit(op, f"{d}/special/columns", rows, [0] if op not in ("argmin", "argmax") else 0, tol=tol)
            emit(op, f"{d}/special/all", rows, None, tol=tol)
            for i, r in enumerate(rows):
                emit(op, f"{d}/special/row{i}", np.repeat(r, 9), None,
                     tol=tol)  # 45 long: more than one vector register
            r = np.arange(100, dtype=NP[d]) % 50
            r[77] = nan
            emit(op, f"{d}/special/late_nan", r, None, tol=tol)
    for d in INTS + ["bool"]:
        for op in ("argmin", "argmax", "min", "max"):
            x = np.array([3, 1, 1, 9, 9, 0, 0, 3], np.int64).astype(NP[d])
            ends = np.array([0, 1]).astype(bool) if d == "bool" else np.array([
                np.iinfo(NP[d]).max, np.iinfo(NP[d]).min,
                np.iinfo(NP[d]).min, np.iinfo(NP[d]).max
            ], NP[d])
            emit(op, f"{d}/ties", x, None)
            emit(op, f"{d}/ends", ends, None)


def rounded():
    """Correctly rounded sums, products and means, within a tolerance that block and pairwise sums meet."""
    for d, r in (("f64", 1e-15), ("f32", 5e-7)):
        for n in (10, 100, 1000, 3000):
            g = fam.rng(f"rounded/{d}/{n}")
            x = g.uniform(0.1, 1.0, n).astype(NP[d])
            s = math.fsum(float(v) for v in x)
            emit("sum", f"{d}/rounded/{n}", x, None, tol=rtol(r * max(1, n / 100)), want=NP[d].type(s))
            emit("mean", f"{d}/rounded/{n}", x, None, tol=rtol(r * max(1, n / 100)), want=NP[d].type(s / n))
            y = (1 + (x - 0.55) * 0.1).astype(NP[d])
            emit("prod", f"{d}/rounded/{n}", y, None, tol=rtol(r * n), check=False)
        g = fam.rng(f"rounded/{d}/2d")
        x = g.standard_normal((20, 30)).astype(NP[d])
        for axis in (0, 1):
            w = np.array(
                [math.fsum(float(v) for v in (x[:, i] if axis == 0 else x[i])) for i in range(x.shape[1 - axis])],
                NP[d])
            emit("sum", f"{d}/rounded/2d_{axis}", x, [axis], tol=rtol(r, r * 20), want=w)
    x = np.full((3, 3000), 1, np.float16)
    emit("sum", "f16/accumulate_f32", x, [1], dtype="f32", tol=EXACT)


def bad_axes():
    """Axis lists that repeat an axis or exceed the rank."""
    for op in OPS:
        x = np.zeros((2, 3), np.float64)
        for axes in ([2], [-3], [0, 0], [1, -1]):
            if op in ("argmin", "argmax"):
                if len(axes) == 1:
                    fam.case(op, f"bad_axis/{axes[0]}", [x], params={"axis": axes[0], "keepdims": False},
                             expect="error")
            else:
                fam.case(
                    op, f"bad_axis/{axes}", [x], params={
                        "axes": axes, "keepdims": False, **({"dtype": "f64"} if op in ("sum", "prod", "mean") else {})
                    }, expect="error")


def make():
    shapes_and_axes()
    wide()
    special()
    rounded()
    bad_axes()
