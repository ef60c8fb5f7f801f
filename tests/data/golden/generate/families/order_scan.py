"""Scans, unique, nonzero, segment reductions, counts and sets. The judge is plain Python or NumPy; JAX agrees."""
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from common import FLOATS, NP, UNSIGNED, VALUE, agree, num, rtol, text
from families.order import fam, less, order, rows, tick

CUM = {
    "cumsum": (lax.cumsum, np.cumsum),
    "cumprod": (lax.cumprod, np.cumprod),
    "cummax": (lax.cummax, np.maximum.accumulate),
    "cummin": (lax.cummin, np.minimum.accumulate),
}


def scans():
    for op, (jf, nf) in CUM.items():
        for shape, axis in [((1,), 0), ((0,), 0), ((17,), 0), ((200,), 0), ((4, 9), 0), ((4, 9), 1), ((3, 4, 5), 1),
                            ((2, 0, 3), 0), ((2, 0, 3), 1), ((2, 1, 2, 1, 2, 1, 2, 3), 7)]:
            for reverse in (False, True):
                d = ["f64", "i32", "f32", "u8", "i64", "u32", "i8", "i16"][next(tick) % 8]
                g = fam.rng(f"{op}/{shape}/{axis}/{reverse}")
                x = g.integers(0 if d in UNSIGNED else -3, 4, int(np.prod(shape))).astype(NP[d]).reshape(shape)
                if op == "cumprod":
                    x = np.where(
                        np.abs(x) > 1,
                        np.where(np.arange(x.size).reshape(shape) % 9 == 0, NP[d].type(2),
                                 NP[d].type(1)), x).astype(NP[d])
                got = np.asarray(jf(jnp.asarray(x), axis=axis, reverse=reverse))
                f = (lambda y: np.flip(nf(np.flip(y, axis), axis), axis)) if reverse else (lambda y: nf(y, axis))
                w = (f(x.astype(np.int64) if d not in FLOATS else x)).astype(NP[d])
                agree(got, w, VALUE, what=f"{op} {shape} {axis} {reverse} {d}")
                fam.case(op, f"{text(shape)}/{axis}/{'back' if reverse else 'on'}/{d}", [x], [w],
                         {"axis": axis, "reverse": reverse}, tol=VALUE)
        for d in ("f32", "f64"):
            x = np.array([1, 2, -np.inf, 3, np.nan, 5, np.inf, -1, 0.0], NP[d])
            y = np.array([0.0, -0.0, 2, np.inf, -np.inf, 1, 1, 0, 0], NP[d])
            for t, z in (("nan", x), ("inf", y)):
                for reverse in (False, True):
                    got = np.asarray(jf(jnp.asarray(z), axis=0, reverse=reverse))
                    w = np.flip(nf(np.flip(z))) if reverse else nf(z)
                    agree(got, w, VALUE, what=f"{op} special")
                    fam.case(op, f"special_{t}/{d}/{'back' if reverse else 'on'}", [z], [w],
                             {"axis": 0, "reverse": reverse}, tol=VALUE)
    for d in ("i8", "u16", "i32", "u64"):
        for op in ("cumsum", "cumprod"):
            t = np.iinfo(NP[d])
            x = fam.rng(f"wrap/{op}/{d}").integers(t.min, t.max, 12, NP[d], endpoint=True) | NP[d].type(1)
            w = CUM[op][1](x, dtype=NP[d])
            agree(np.asarray(CUM[op][0](jnp.asarray(x))), w, what="wrap")
            fam.case(op, f"wrap/{d}", [x], [w], {"axis": 0, "reverse": False})


def rounded_scans():
    for d, r in (("f64", 1e-13), ("f32", 1e-5)):
        for reverse in (False, True):
            x = fam.rng(f"rounded/{d}/{reverse}").standard_normal((300,)).astype(NP[d])
            w = np.cumsum(x[::-1].astype(np.longdouble))[::-1] if reverse else np.cumsum(x.astype(np.longdouble))
            agree(np.asarray(lax.cumsum(jnp.asarray(x), reverse=reverse)), w.astype(NP[d]), rtol(r, r * 10),
                  what="rounded cumsum")
            fam.case("cumsum", f"rounded/{d}/{reverse}", [x], [w.astype(NP[d])], {"axis": 0, "reverse": reverse},
                     tol=rtol(r, r * 10))
            y = np.array([1.0, -np.inf, 2, 700, -700, 0, 3, 3, -np.inf], NP[d]) if d == "f64" else np.array(
                [1.0, -np.inf, 2, 80, -80, 0, 3, 3], NP[d])
            for k, z in enumerate((x[:40], y, np.full(3, -np.inf, NP[d]))):
                acc = np.logaddexp.accumulate(z[::-1].astype(np.float64))[::-1] if reverse else np.logaddexp.accumulate(
                    z.astype(np.float64))
                agree(np.asarray(lax.cumlogsumexp(jnp.asarray(z), reverse=reverse)), acc.astype(NP[d]), rtol(r, r),
                      what="cumlogsumexp")
                fam.case("cumlogsumexp", f"{k}/{d}/{reverse}", [z], [acc.astype(NP[d])],
                         {"axis": 0, "reverse": reverse}, tol=rtol(r, r))
    fam.case("cumsum", "error/axis", [np.zeros((2, 2))], params={"axis": 2, "reverse": False}, expect="error")


def uniques():
    for k, (d, shape) in enumerate(
            itertools.product(("i32", "f64", "u8", "bool", "f32", "i64"), ((8,), (3, 4), (0,), (1,), (30,)))):
        for size in (0, 2, 5, 12):
            g = fam.rng(f"unique/{d}/{shape}/{size}")
            x = rows(g, d, shape, "special" if k % 2 else "small")
            if d in FLOATS:
                x = np.where(x == 0, NP[d].type(0), x)
            fill = None if (k + size) % 2 and x.size else (7 if d != "bool" else False)
            flat = x.ravel()
            o = order(flat)
            vals, first, counts, inv = [], [], [], np.zeros(flat.size, np.int64)
            for i in o:
                if not vals or less(vals[-1], flat[i]):
                    vals.append(flat[i])
                    first.append(i)
                    counts.append(0)
                counts[-1] += 1
                inv[i] = len(vals) - 1
            f = vals[0] if fill is None and vals else np.array(fill or 0).astype(NP[d])
            n = len(vals)
            want_v = np.array((vals + [f] * size)[:size], NP[d])
            want_i = np.array((first + [first[0] if first else 0] * size)[:size], np.int64)
            want_c = np.array((counts + [0] * size)[:size], np.int64)
            kw = {} if fill is None else {"fill_value": fill}
            full = jnp.unique(x, size=size, return_index=True, return_inverse=True, return_counts=True, **kw)
            gv, gi, gn, gc = (np.asarray(t) for t in full)
            agree(gv, want_v, VALUE, what=f"unique {d} {shape} {size}")
            if not x.size:
                fam.case("unique", f"{d}/{text(shape)}/{size}", [x], [want_v],
                         {"size": size, "fill": num(fill), "index": False, "inverse": False, "counts": False},
                         tol=VALUE)
                continue
            agree(gc.astype(np.int64), want_c, what=f"unique counts {d} {shape} {size}")
            # Undefined: the index of filled places, and the inverse of elements whose value was cut off.
            care_i, care_n = np.arange(size) < n, inv < size
            agree(gi.astype(np.int64), want_i, where=care_i, what="unique index")
            agree(
                gn.astype(np.int64).reshape(x.shape), inv.reshape(x.shape), where=care_n.reshape(x.shape),
                what="unique inverse")
            p = {
                "size": size, "fill": None if fill is None else num(fill), "index": True, "inverse": True,
                "counts": True
            }
            fam.case("unique", f"{d}/{text(shape)}/{size}", [x],
                     [want_v, want_i, inv.reshape(x.shape), want_c], p, tol=VALUE,
                     care=[np.ones(size, bool), care_i,
                           care_n.reshape(x.shape),
                           np.ones(size, bool)])


def nonzeros():
    for k, (d, shape) in enumerate(
            itertools.product(("i32", "f64", "bool", "u8"), ((), (9,), (0,), (3, 4), (2, 3, 2), (2, 0)))):
        for size in (0, 3, 20):
            g = fam.rng(f"nonzero/{d}/{shape}/{size}")
            x = rows(g, d, shape, "special") * (g.random(shape) < 0.6) if d != "bool" else rows(g, d, shape, "small")
            x = np.asarray(x).astype(NP[d])
            if x.ndim == 0:
                continue
            fill = [None, -1, 99][(k + size) % 3]
            kw = {} if fill is None else {"fill_value": fill}
            got = [np.asarray(t) for t in jnp.nonzero(x, size=size, **kw)]
            with np.errstate(all="ignore"):
                nz = np.nonzero(x)
            w = [np.concatenate([t, np.full(size, fill or 0)])[:size].astype(np.int64) for t in nz]
            for a, b in zip(got, w):
                agree(a.astype(np.int64), b, where=np.full(size, x.size > 0), what=f"nonzero {d} {shape} {size}")
            fam.case("nonzero", f"{d}/{text(shape)}/{size}", [x], w,
                     {"size": size, **({} if fill is None else {"fill": fill})},
                     alt=None if x.size else [t.astype(np.int64) for t in got])


# segments
SEG = {
    "segment_sum": (jax.ops.segment_sum, np.add),
    "segment_prod": (jax.ops.segment_prod, np.multiply),
    "segment_min": (jax.ops.segment_min, np.minimum),
    "segment_max": (jax.ops.segment_max, np.maximum),
}


def segments():
    for op, (jf, u) in SEG.items():
        for k, (d, shape, n) in enumerate([("f64", (10,), 4), ("i32", (10,), 4), ("f32", (8, 3), 5), ("u8", (6,), 3),
                                           ("i64", (0,), 3), ("f64", (5, 2, 2), 1), ("f64", (0, 3), 2),
                                           ("i32", (4,), 0), ("f64", (300,), 17), ("u32", (40, 2), 9)]):
            for kind in ("inside", "beyond", "sorted"):
                g = fam.rng(f"{op}/{k}/{kind}")
                x = rows(g, d, shape, "special" if k % 2 == 0 and kind == "beyond" else "small")
                if op == "segment_prod":
                    x = (np.abs(rows(g, d, shape, "small")).astype(int) % 3 + (0 if shape[0] < 50 else 0)).clip(
                        1, 2).astype(NP[d])
                    if shape[0] > 20:
                        x = np.where(np.arange(x.size).reshape(shape) % 8 == 0, x, NP[d].type(1))
                ids = g.integers(0, max(n, 1), shape[0]) if kind != "beyond" else g.integers(-n - 2, n + 3, shape[0])
                if kind == "sorted":
                    ids = np.sort(ids)
                ids = ids.astype(np.int32 if k % 2 else np.int64)
                got = np.asarray(jf(jnp.asarray(x), jnp.asarray(ids), n, indices_are_sorted=kind == "sorted"))
                unit = {
                    "segment_sum": 0, "segment_prod": 1, "segment_min": np.inf if d in FLOATS else np.iinfo(NP[d]).max,
                    "segment_max": -np.inf if d in FLOATS else np.iinfo(NP[d]).min
                }[op]
                w = np.full((n,) + shape[1:], unit, NP[d])
                for r, i in zip(x, ids):
                    i = int(i)
                    if 0 <= i < n:
                        w[i] = u(w[i], r)
                agree(got, w, VALUE, what=f"{op} {k} {kind}")
                fam.case(op, f"{k}/{kind}/{d}", [x, ids], [w], {"segments": n}, tol=VALUE)


def counts():
    for k, (ids, n, wt) in enumerate([([0, 1, 1, 5], 6, None), ([0, 1, 1, 5], 3, None), ([-1, -7, 2], 4, None),
                                      ([], 3, None), ([2, 2, 0], 3, [0.5, 0.25, 4.0]), ([9, 0], 2, [1.0, 2.0])]):
        ids = np.array(ids, np.int32)
        a = [ids] + ([np.array(wt)] if wt else [])
        fam.case(
            "bincount", str(k), a,
            [np.asarray(jnp.bincount(*[jnp.asarray(t)
                                       for t in a], length=n)).astype(np.float64 if wt else np.int64)], {"length": n})


def sets():
    for d in ("f64", "i32", "u8"):
        for n, m in ((10, 4), (0, 3), (5, 0), (40, 11)):
            g = fam.rng(f"isin/{d}/{n}/{m}")
            x, s = rows(g, d, (n,), "special"), rows(g, d, (m,), "special")
            w = np.isin(x, s)
            agree(np.asarray(jnp.isin(x, s)), w, what="isin")
            fam.case("isin", f"{d}/{n}/{m}", [x, s], [w])


def medians():
    for shape, axis in (((5,), 0), ((6,), 0), ((3, 4), 1), ((3, 4), 0), ((1,), 0)):
        x = fam.rng(f"median/{shape}/{axis}").integers(-9, 10, shape).astype(np.float64) / 4
        y = x.copy()
        y.flat[0] = np.nan
        for t, z in (("plain", x), ("nan", y)):
            w = np.asarray(jnp.median(z, axis=axis))
            agree(w, np.asarray(np.median(z, axis=axis)), VALUE, what="median")
            fam.case("median", f"{text(shape)}/{axis}/{t}", [z], [w], {"axis": axis}, tol=VALUE)


def bins():
    for right in (False, True):
        e, x = np.array([-1.0, 0.0, 0.0, 2.5,
                         np.inf]), np.array([-2.0, -1.0, -0.0, 0.0, 1.0, 2.5, 3.0, np.inf, np.nan, -np.inf])
        w = np.digitize(x, e, right=right).astype(np.int64)
        agree(np.asarray(jnp.digitize(x, e, right=right)).astype(np.int64), w, what="digitize")
        fam.case("digitize", str(right), [x, e], [w], {"right": right})
    for n, t in ((0, 0), (5, 0), (5, 5), (9, 4), (100, 77)):
        fam.case("partition_point", f"{n}/{t}", [np.arange(n) < t], [np.int64(t)])


def make():
    scans()
    rounded_scans()
    uniques()
    nonzeros()
    segments()
    counts()
    sets()
    medians()
    bins()
