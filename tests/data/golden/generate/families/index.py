"""Indexing by arrays: what modes do with indices out of range. The judge is a plain loop, with which JAX agrees.

Where JAX goes wrong by its own rules, the loop is the only judge.
"""
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from common import FLOATS, NP, SIGNED, UNSIGNED, agree, dt
from family import Family

jax.config.update("jax_enable_x64", True)
np.seterr(all="ignore")
INDEX = ("Inputs: x, the index arrays in order, then (updates). params.index has one entry for each "
         "leading axis of x (axes left out are whole): {array: k} the k-th index array, {int: v}, {slice: "
         "[start, stop, step]}. "
         "Index arrays broadcast together; their dimensions stand where the array axes stood, or first if "
         "these are not adjacent (NumPy). A negative index counts from the end, once. ")
UPDATE = INDEX + (
    "Updates broadcast to the shape of x[index]. params.mode for indices then out of range: drop or fill skip the "
    "update, clip moves it to the nearest end, promise_in_bounds has none, raise is an error. ")
OPS = {
    "take":
        "inputs x, indices; params.axis (null: x flattened); params.mode: fill (negative counts from the "
        "end once; out of range gives params.fill or, without it, nan, the least signed, the greatest "
        "unsigned, true), "
        "clip (to [0, n-1]: every negative index gives element 0, as in NumPy), wrap (modulo), raise "
        "(NumPy: error outside [-n, n))",
    "gather":
        INDEX + "params.mode: fill and drop (params.fill or the default of take), clip (after the negative rule, "
        "so -1 is the last element; take differs), promise_in_bounds (none is out of range)",
    "take_along_axis":
        "inputs x, indices of the same rank, params.axis; negative counts from the end; params.mode fill "
        "or clip (after the negative rule)",
    "scatter_set":
        UPDATE + "Where several updates with different values meet, care is false",
    "scatter_add":
        UPDATE,
    "scatter_mul":
        UPDATE,
    "scatter_min":
        UPDATE + "nan propagates",
    "scatter_max":
        UPDATE + "nan propagates",
    "dynamic_slice":
        "inputs x, starts (one for each axis); params.sizes. A negative start counts from the end, once; "
        "then the start is clamped so that the slice fits",
    "dynamic_update_slice":
        "inputs x, update, starts; starts as in dynamic_slice",
}
fam = Family("index", OPS, ("jax", "numpy"))


def default_fill(d):
    return np.array(True if d == "bool" else np.nan if d in FLOATS else np.iinfo(NP[d]).min if d in
                    SIGNED else np.iinfo(NP[d]).max).astype(NP[d])


def plan(x, index, arrays):
    """Flat positions of x[index] after the rule for negative indices, clipped, and which were in range."""
    entries, ok, block = [], None, []
    for axis, e in enumerate(index):
        n = x.shape[axis]
        if "slice" in e:
            entries.append(slice(*e["slice"]))
            continue
        a = arrays[e["array"]] if "array" in e else np.array(e["int"])
        v = [int(t) + n if t < 0 else int(t) for t in a.ravel()]
        good = np.array([0 <= t < n for t in v], bool).reshape(a.shape)
        entries.append(np.array([min(max(t, 0), max(n - 1, 0)) for t in v], np.int64).reshape(a.shape))
        ok = good if ok is None else ok & good
        block.append(axis)
    lin = np.arange(x.size).reshape(x.shape)[tuple(entries)]
    if not block:
        return lin, np.ones(lin.shape, bool)
    adjacent = block == list(range(block[0], block[-1] + 1))
    after = lin.ndim - ok.ndim - (len([1 for e in index[:block[0]] if "slice" in e]) if adjacent else 0)
    return lin, np.broadcast_to(ok.reshape(ok.shape + (1,) * after), lin.shape)


def gather(x, index, arrays, mode, fill=None):
    lin, ok = plan(x, index, arrays)
    out = x.ravel()[lin]
    if mode in ("fill", "drop"):
        f = default_fill(dt(x)) if fill is None else np.array(fill).astype(x.dtype)
        out = np.where(ok, out, f)
    return out


def scatter(x, index, arrays, upd, how, mode):
    lin, ok = plan(x, index, arrays)
    u = np.broadcast_to(upd, lin.shape).ravel()
    out, first, care = x.ravel().copy(), {}, np.ones(x.size, bool)
    keep = ok.ravel() if mode in ("drop", "fill") else np.ones(lin.size, bool)
    for p, v, k in zip(lin.ravel(), u, keep):
        if not k:
            continue
        if how == "set":
            if p in first and first[p] != v:
                care[p] = False
            first[p], out[p] = v, v
        else:
            out[p] = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[how](out[p], v)
    return out.reshape(x.shape), care.reshape(x.shape)


def jax_index(index, arrays):
    return tuple(slice(*e["slice"]) if "slice" in e else e["int"] if "int" in e else arrays[e["array"]] for e in index)


def values(g, d, shape):
    n = int(np.prod(shape))
    if d == "bool":
        return g.integers(0, 2, n).astype(bool).reshape(shape)
    return g.integers(0 if d in UNSIGNED else -50, 51, n).astype(NP[d]).reshape(shape)


def indices(g, n, shape, kind, itype):
    m = int(np.prod(shape))
    if kind == "inside":
        v = g.integers(0, n, m)
    elif kind == "negative":
        v = g.integers(-n, n, m)
    else:
        v = g.integers(-2 * n - 2, 2 * n + 2, m)
        for i, e in enumerate([-1, n, -n - 1, n - 1, -n, 3 * n, 0][:m]):
            v[(i * 3) % m] = e
    if itype.startswith("u"):
        v = np.abs(v) if kind == "outside" else np.abs(v) % n
    return v.astype(NP[itype]).reshape(shape)


SHAPES = [(7,), (5, 3), (3, 4, 2), (2, 3, 4, 2), (1, 6), (300,)]
TYPES = ["f64", "i32", "f32", "u8", "bool", "i64", "bf16", "u32", "i8", "f16"]
ITYPES = ["i32", "i64", "i32", "u32", "i64", "i16"]
TICK = itertools.count()


def takes():
    """take: every mode, along every axis."""
    for shape in SHAPES:
        for axis in list(range(len(shape))) + [-1, None]:
            n = int(np.prod(shape)) if axis is None else shape[axis]
            for mode in ("fill", "clip", "wrap", "raise"):
                k = next(TICK)
                d, it, ish = TYPES[k % len(TYPES)], ITYPES[k % len(ITYPES)], [(5,), (2, 3), (), (0,), (8,)][k % 5]
                name = f"{mode}/{d}/{'x'.join(map(str, shape))}/axis_{axis}/{it}_{'x'.join(map(str, ish)) or 'scalar'}"
                g = fam.rng("take/" + name)
                x = values(g, d, shape)
                i = indices(g, n, ish, "outside" if mode != "raise" else "negative", it)
                p = {"axis": axis, "mode": mode}
                if mode == "raise":
                    fam.case("take", name, [x, i], [np.take(x, i, axis=axis)], p)
                    if i.size:
                        j = i.copy()
                        j.flat[-1] = n if k % 2 or it.startswith("u") else -n - 1
                        fam.case("take", name + "/beyond", [x, j], params=p, expect="error")
                    continue
                kw = {}
                if mode == "fill" and k % 2:
                    p["fill"] = kw["fill_value"] = 77 if d != "bool" else False
                got = np.asarray(jnp.take(x, i, axis=axis, mode=mode, **kw))
                if mode == "fill":
                    w = gather(x.ravel() if axis is None else np.moveaxis(x, axis, 0), [{"array": 0}], [i], "fill",
                               kw.get("fill_value"))
                    if axis is not None:
                        w = np.moveaxis(w, list(range(i.ndim)), [(axis % x.ndim) + t for t in range(i.ndim)])
                else:
                    w = np.take(x, i, axis=axis, mode=mode)
                agree(got, w, what=f"take {name}")
                fam.case("take", name, [x, i], [w], p)


def make():
    takes()
