"""Reductions, by loops over the flattened axes."""
import numpy as np

from checks.values import Refused, wrap_to
from common import FLOATS, NP, dt

POSITIONS = ("argmin", "argmax")


def axes_of(op, p, rank):
    axes = p["axis"] if op in POSITIONS else p["axes"]
    if axes is None:
        return list(range(rank))
    axes = [axes] if op in POSITIONS else axes
    if any(not -rank <= a < rank for a in axes) or len({a % rank for a in axes}) != len(axes):
        raise Refused("axis")
    return [a % rank for a in axes]


def position(op, row):
    if dt(row) in FLOATS and np.isnan(row).any():
        return int(np.argmax(np.isnan(row)))
    best = 0
    for i in range(1, len(row)):
        if row[i] > row[best] if op == "argmax" else row[i] < row[best]:
            best = i
    return best


def total(op, d, row):
    """sum, prod or mean of dtype d."""
    if d not in FLOATS:
        result = 0 if op == "sum" else 1
        for v in row.tolist():
            result = result + int(v) if op == "sum" else result * int(v)
        return int(wrap_to(d, [result])[0])
    wide = row.astype(np.longdouble)
    if op == "mean":
        return np.sum(wide) / len(row) if len(row) else np.nan
    return np.sum(wide) if op == "sum" else np.prod(wide)


def one(op, d, row):
    if op in ("any", "all"):
        return getattr(np, op)(row != 0)
    if op in POSITIONS:
        return position(op, row)
    if op in ("min", "max"):
        if dt(row) in FLOATS and np.isnan(row).any():
            return np.nan
        return max(row.tolist()) if op == "max" else min(row.tolist())
    return total(op, d, row)


def evaluate(op, p, x):
    axes = axes_of(op, p, x.ndim)
    keep = [a for a in range(x.ndim) if a not in axes]
    outer = [x.shape[a] for a in keep]
    k = int(np.prod([x.shape[a] for a in axes], dtype=int))
    count = int(np.prod(outer, dtype=int))
    if k == 0 and (op in POSITIONS or (op in ("min", "max") and count)):
        raise Refused("empty")
    rows = x.transpose(keep + axes).reshape(count, k)
    dtype = NP[p["dtype"]] if "dtype" in p else x.dtype
    if op in ("any", "all") or op in POSITIONS:
        dtype = np.int64 if op in POSITIONS else bool
    out = np.array([one(op, p.get("dtype"), row) for row in rows], dtype).reshape(outer)
    return out.reshape([1 if a in axes else n for a, n in enumerate(x.shape)]) if p["keepdims"] else out
