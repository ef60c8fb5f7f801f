"""Sorts, searches, scans, unique, nonzero and segments."""
import numpy as np

from checks.values import Refused, greatest, least, real
from common import FLOATS, dt

SCANS = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum,
         "cumlogsumexp": np.logaddexp}
SEGMENTS = {"segment_sum": np.add, "segment_prod": np.multiply, "segment_min": np.minimum, "segment_max": np.maximum}


def rank(v):
    """Integers that order as the values do: zeros equal, nan greatest and equal."""
    if dt(v) in FLOATS:
        v = v.astype(np.float64) + 0.0
        return np.unique(v, return_inverse=True, equal_nan=True)[1].reshape(v.shape)
    return np.unique(v, return_inverse=True)[1].reshape(v.shape)


def stable(v, descending=False, axis=-1):
    k = rank(v).astype(np.int64)
    return np.argsort(-k if descending else k, axis=axis, kind="stable")


def argsort(p, x):
    return stable(x, p["descending"], p["axis"]).astype(np.int64)


def sort_by_keys(p, *x):
    a = np.lexsort([rank(k) for k in reversed(x[:p["keys"]])], axis=p["axis"])
    return tuple(np.take_along_axis(k, a, p["axis"]) for k in x)


def top_k(p, x):
    if p["k"] > x.shape[-1]:
        raise Refused("k")
    a = stable(x, True)[..., :p["k"]]
    return np.take_along_axis(x, a, -1), a.astype(np.int32)


def searchsorted(p, x, values):
    k = rank(np.concatenate([x, values.ravel()]))
    return np.searchsorted(k[:len(x)], k[len(x):], side=p["side"]).astype(np.int32).reshape(values.shape)


def scan(op, p, x):
    if not -x.ndim <= p["axis"] < x.ndim:
        raise Refused("axis")
    z = np.moveaxis(np.flip(x, p["axis"]) if p["reverse"] else x, p["axis"], 0)
    out = z.copy()
    acc = z[0].astype(np.longdouble) if len(z) and dt(z) in FLOATS else z[0] if len(z) else None
    for i in range(1, len(z)):
        acc = SCANS[op](acc, z[i])
        out[i] = acc
    out = np.moveaxis(out, 0, p["axis"])
    return np.flip(out, p["axis"]) if p["reverse"] else out


def unique(p, x):
    flat, size = x.ravel(), p["size"]
    _, first, inverse, counts = np.unique(rank(flat), return_index=True, return_inverse=True, return_counts=True)
    values = flat[first]

    def filled(v, element):
        return np.concatenate([v, np.full(size, element).astype(v.dtype)])[:size]

    out = [filled(values.astype(x.dtype), real(p["fill"]) if p["fill"] is not None else values[0])]
    if p["index"]:
        out += [filled(first, first[0]).astype(np.int64), inverse.astype(np.int64).reshape(x.shape),
                filled(counts, 0).astype(np.int64)]
    return tuple(out)


def nonzero(p, x):
    fill = np.full(p["size"], p.get("fill", 0))
    return tuple(np.concatenate([v, fill])[:p["size"]].astype(np.int64) for v in np.nonzero(x))


def segments(op, p, x, ids):
    d = dt(x)
    empty = {"segment_sum": 0, "segment_prod": 1, "segment_min": greatest(d), "segment_max": least(d)}[op]
    out = np.full((p["segments"],) + x.shape[1:], empty, x.dtype)
    for i, v in zip(ids.tolist(), x):
        if 0 <= i < p["segments"]:
            out[i] = SEGMENTS[op](out[i], v)
    return out


def bincount(p, ids, *weights):
    out = np.zeros(p["length"], np.float64 if weights else np.int64)
    for k, i in enumerate(ids.tolist()):
        if i < p["length"]:
            out[max(i, 0)] += weights[0][k] if weights else 1
    return out


def isin(p, x, some):
    members = {v for v in some.tolist() if v == v}
    return np.array([v in members for v in x.tolist()], bool)


OPS = {
    "sort": lambda p, x: np.take_along_axis(x, argsort(p, x), p["axis"]),
    "argsort": argsort,
    "sort_by_keys": sort_by_keys,
    "top_k": top_k,
    "searchsorted": searchsorted,
    "unique": unique,
    "nonzero": nonzero,
    "bincount": bincount,
    "isin": isin,
    "median": lambda p, x: np.median(x, p["axis"]),
    "digitize": lambda p, x, edges: np.digitize(x, edges, right=p["right"]).astype(np.int64),
    "partition_point": lambda p, x: np.int64(x.sum()),
}


def evaluate(op, p, *x):
    if op.startswith("cum"):
        return scan(op, p, *x)
    return segments(op, p, *x) if op.startswith("segment") else OPS[op](p, *x)
