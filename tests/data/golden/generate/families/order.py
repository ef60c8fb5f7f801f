"""Sorts and searches. The judge is plain Python, with which JAX agrees."""
import functools
import itertools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from common import BF16, EXACT, FLOATS, NP, UNSIGNED, VALUE, agree, bits, text
from family import Family

jax.config.update("jax_enable_x64", True)
np.seterr(all="ignore")
OPS = {
    "sort": "params.axis, params.descending; stable; nan last (first when descending); -0 equals 0, so zeros "
            "keep their order (not checked when descending: jnp.sort reverses them, jnp.argsort does not); "
            "false before true",
    "argsort": "as sort; i64 positions; equal values keep their order, also when descending; nans keep their "
               "order",
    "sort_by_keys": "params.keys = k: rows are ordered by the first k inputs, lexicographically, then by position; "
                    "all inputs are permuted alike; along params.axis",
    "top_k": "last axis; params.k; outputs values and i32 positions; descending, nan first, the lower "
             "position first among equals; -0 and 0: see note where it matters",
    "searchsorted": "inputs sorted array, values; params.side: left counts elements < v, right counts elements <= v; "
                    "nan equals nan and is greatest, -0 equals 0; i32 in JAX",
    "cumsum": "params.axis, params.reverse; dtype kept; integers wrap",
    "cumprod": "as cumsum",
    "cummax": "as cumsum; nan stays from where it appears",
    "cummin": "as cummax",
    "cumlogsumexp": "as cumsum; log of the cumulative sum of exp",
    "unique": "over the flattened array, ascending; params.size: longer is cut, shorter is filled with "
              "params.fill or, if null, with the least value found; outputs values, and as params.index, "
              "inverse, counts say: "
              "first positions, position of each element in the values (shape of x), counts (0 for filled "
              "places; the index of a filled place is the one of the least value)",
    "nonzero": "params.size, params.fill (default 0); one i64 output for each axis, row-major order; nan and "
               "negative values count as nonzero; for an empty x JAX fills with 0 whatever the fill (alt)",
    "segment_sum": "inputs data, ids; params.segments; rows of data with equal id are combined; ids outside [0, "
                   "segments) are dropped, negative ones too (unlike an index of gather and scatter); empty "
                   "segments give 0",
    "segment_prod": "as segment_sum; empty 1",
    "segment_min": "as segment_sum; empty +inf or the greatest integer; nan propagates",
    "segment_max": "as segment_sum; empty -inf or the least integer; nan propagates",
    "bincount": "input i, optional weights; params.length; i >= length dropped, negative counted as 0 (JAX)",
    "isin": "inputs x, set; bool; nan is in no set",
    "median": "params.axis; mean of the middle two; nan if any is nan",
    "digitize": "inputs x, ascending edges; params.right",
    "partition_point": "input mask (bool) that is true up to a place; the number of leading trues",
}
fam = Family("order", OPS, ("jax", "numpy"))
tick = itertools.count()
SORTED = ["f64", "i32", "f32", "u8", "bool", "i64", "bf16", "u32", "f16", "i8", "u64", "i16"]


def less(a, b):
    a, b = a.item() if a.dtype != BF16 else float(a), b.item() if b.dtype != BF16 else float(b)
    if a != a:
        return False
    if b != b:
        return True
    return a < b


def order(v, descending=False):
    v = np.asarray(v)
    i = list(range(len(v)))
    return sorted(
        i, key=functools.cmp_to_key(lambda p, q: (-1 if less(v[p], v[q]) else 1
                                                  if less(v[q], v[p]) else 0) * (-1 if descending else 1)))


def rows(g, d, shape, kind):
    n = int(np.prod(shape))
    if d == "bool":
        return g.integers(0, 2, n).astype(bool).reshape(shape)
    if kind == "bits":
        return bits(g, d, n).reshape(shape)
    v = g.integers(0 if d in UNSIGNED else -6, 7, n).astype(NP[d])
    if d in FLOATS and kind == "special" and n:
        m = g.random(n)
        v[m < 0.15] = np.nan
        v[(m > 0.15) & (m < 0.3)] = -0.0
        v[(m > 0.3) & (m < 0.36)] = np.inf
        v[(m > 0.36) & (m < 0.42)] = -np.inf
    return v.reshape(shape)


def along(f, x, axis, dtype=None):
    y = np.moveaxis(x, axis, -1)
    flat = y.reshape(-1, y.shape[-1]) if y.size else y.reshape(int(np.prod(y.shape[:-1])), y.shape[-1])
    out = np.array([f(r) for r in flat], dtype or x.dtype).reshape(y.shape)
    return np.moveaxis(out, -1, axis)


def sorts():
    for shape, axis in [((1,), 0), ((2,), 0), ((9,), 0), ((0,), 0), ((100,), 0), ((257,), -1), ((5, 7), 0), ((5, 7), 1),
                        ((3, 4, 5), 1), ((2, 0, 3), 2), ((2, 0, 3), 1), ((2, 1, 2, 1, 2, 1, 1, 6), -1), ((40, 3), 0)]:
        for kind in ("special", "bits", "small"):
            for descending in (False, True):
                d = SORTED[next(tick) %
                           len(SORTED)] if kind != "special" else ["f64", "f32", "bf16", "f16"][next(tick) % 4]
                tag = f"{kind}/{text(shape)}/{axis}/{'down' if descending else 'up'}/{d}"
                x = rows(fam.rng("sort/" + tag), d, shape, kind)
                if d in FLOATS and kind == "bits":  # no subnormals: JAX flushes them when it compares
                    x = np.where(np.abs(x) < float(ml_dtypes.finfo(NP[d]).smallest_normal), NP[d].type(1),
                                 x).astype(NP[d])
                a = along(lambda r: order(r, descending), x, axis, np.int64)
                s = np.take_along_axis(x, a, axis)
                agree(np.asarray(jnp.sort(x, axis=axis, descending=descending)), s, VALUE if descending else EXACT,
                      what="sort " + tag)
                agree(np.asarray(jnp.argsort(x, axis=axis, descending=descending)), a, what="argsort " + tag)
                fam.case("sort", tag, [x], [s], {"axis": axis, "descending": descending},
                         tol=VALUE if descending else EXACT)
                fam.case("argsort", tag, [x], [a], {"axis": axis, "descending": descending})
    x = np.array([3e-320, 5e-324, 0.0, -5e-324, -0.0, 1e-310, -1e-308, 2e-308])
    fam.case("sort", "subnormals/f64", [x], [x[order(x)]], {"axis": 0, "descending": False},
             note="JAX on the CPU takes subnormals for zeros here")
    fam.case("argsort", "subnormals/f64", [x], [np.array(order(x), np.int64)], {"axis": 0, "descending": False},
             note="JAX on the CPU takes subnormals for zeros here")
    g = fam.rng("sort/long")
    for d, n in (("f64", 5000), ("u32", 5000), ("i16", 3000)):
        x = rows(g, d, (n,), "small") if d != "u32" else bits(g, d, n)
        fam.case("argsort", f"long/{d}", [x], [np.argsort(x, stable=True).astype(np.int64)],
                 {"axis": 0, "descending": False})


def sorts_by_keys():
    for k, (shape, axis, ds, keys) in enumerate([((12,), 0, ["i32", "f64"], 1), ((12,), 0, ["i32", "f64", "u8"], 2),
                                                 ((12,), 0, ["f32", "i8", "i64"], 3), ((4, 6), 1, ["u8", "f32"], 1),
                                                 ((4, 6), 0, ["bool", "i32", "f64"], 2),
                                                 ((200,), 0, ["i16", "u32", "f32"], 2)]):
        g = fam.rng(f"keys/{k}")
        xs = [
            rows(g, d, shape, "special" if d in FLOATS else "small") //
            (1 if d in FLOATS or d == "bool" else 3) if d != "bool" else rows(g, d, shape, "small") for d in ds
        ]
        xs = [x.astype(NP[d]) for x, d in zip(xs, ds)]
        got = lax.sort([jnp.asarray(x) for x in xs], dimension=axis, num_keys=keys, is_stable=True)
        ms = [np.moveaxis(x, axis, -1).reshape(-1, shape[axis]) for x in xs]
        outs = [np.empty_like(m) for m in ms]
        for r in range(len(ms[0])):
            i = list(range(shape[axis]))
            for m in reversed(ms[:keys]):
                o = order(m[r][i])
                i = [i[t] for t in o]
            for m, o in zip(ms, outs):
                o[r] = m[r][i]
        outs = [np.moveaxis(o.reshape(np.moveaxis(x, axis, -1).shape), -1, axis) for o, x in zip(outs, xs)]
        for a, b in zip(got, outs):
            agree(np.asarray(a), b, what=f"sort_by_keys {k}")
        fam.case("sort_by_keys", f"{k}/{'_'.join(ds)}/{keys}", xs, [np.array(o) for o in outs],
                 {"axis": axis, "keys": keys})


def top_k():
    for shape, k in [((8,), 3), ((8,), 8), ((8,), 0), ((3, 5), 2), ((2, 3, 4), 1), ((100,), 17)]:
        for kind in ("special", "small", "ties"):
            d = ["f64", "f32"][next(tick) % 2] if kind == "special" else ["i32", "u8", "f64", "i64", "f32"][next(tick) %
                                                                                                            5]
            x = rows(fam.rng(f"topk/{shape}/{k}/{kind}"), d, shape, "small" if kind != "special" else "special")
            if kind == "special":
                x = np.where(x == 0, NP[d].type(0), x)
            if kind == "ties":
                x = (x > 1).astype(NP[d])
            v, i = (np.asarray(t) for t in lax.top_k(jnp.asarray(x), k))
            a = along(lambda r: order(r, True), x, -1, np.int64)[..., :k]
            agree(i, a.astype(np.int32), what=f"top_k {shape} {k} {kind}")
            fam.case("top_k", f"{text(shape)}/{k}/{kind}/{d}", [x], [v, i], {"k": k})
    x = np.array([0.0, -0.0, 0.0, -0.0, -1.0])
    v, i = lax.top_k(x, 3)
    fam.case("top_k", "zeros", [x], [np.take(x, [0, 1, 2]), np.array([0, 1, 2], np.int32)], {"k": 3},
             alt=[np.asarray(v), np.asarray(i)], tol=VALUE, note="alt is JAX's, should it order -0 below 0")
    fam.case("top_k", "error/too_many", [x], params={"k": 6}, expect="error")


def searches():
    for d in ("f64", "f32", "i32", "u8", "i64", "bf16"):
        for side in ("left", "right"):
            for n, m in ((0, 4), (1, 5), (10, 25), (64, 30), (101, 40)):
                g = fam.rng(f"search/{d}/{side}/{n}")
                a = rows(g, d, (n,), "special")
                a = a[order(a)] if n else a
                v = rows(g, d, (m,), "special")
                if d in FLOATS:
                    v = v + (g.integers(0, 2, m) * 0.5).astype(NP[d])
                v = v.astype(NP[d]).reshape((m,) if m != 30 else (5, 6))
                w = np.array(
                    [sum(1 for e in a if less(e, q) or (side == "right" and not less(q, e))) for q in v.ravel()],
                    np.int32).reshape(v.shape)
                agree(
                    np.asarray(jnp.searchsorted(a, v, side=side)).astype(np.int32), w,
                    what=f"searchsorted {d} {side} {n}")
                fam.case("searchsorted", f"{d}/{side}/{n}", [a, v], [w], {"side": side})


def make():
    sorts()
    sorts_by_keys()
    top_k()
    searches()
