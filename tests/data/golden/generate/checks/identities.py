"""The family identities: each line folded with Python numbers, or element by element."""
import math

import numpy as np

from checks import index, product
from checks.order import SCANS
from checks.values import Refused, greatest, least, wrap_to
from common import FLOATS, NP, dt

IN_FLOATS = ("mean", "var", "std", "logsumexp")


def extreme(op, values):
    if any(v != v for v in values):
        return math.nan
    return min(values) if op.endswith("min") else max(values)


def logsumexp(values):
    most = max(values, default=-math.inf)
    if math.isinf(most) or most != most or any(v != v for v in values):
        return math.nan if any(v != v for v in values) else most
    return most + math.log(math.fsum(math.exp(v - most) for v in values))


def moment(op, values):
    """mean, var or std, by NumPy's formulas."""
    with np.errstate(all="ignore"):
        return getattr(np, op)(np.array(values, np.float64)) if values else math.nan


def fold(op, d, values):
    """One line: its result as a Python number."""
    if op in ("min", "max"):
        if not values:
            raise Refused("empty")
        return extreme(op, values)
    if op in ("argmin", "argmax"):
        if not values:
            raise Refused("empty")
        best = extreme(op[3:], values)
        return next(i for i, v in enumerate(values) if v == best or (v != v and best != best))
    if op == "any":
        return any(v != 0 for v in values)
    if op == "all":
        return all(v != 0 for v in values)
    if op == "count_nonzero":
        return sum(v != 0 for v in values)
    if op in IN_FLOATS:
        return logsumexp(values) if op == "logsumexp" else moment(op, values)
    result = 0 if op == "sum" else 1
    for v in values:
        result = result + v if op == "sum" else result * v
    return result if d in FLOATS or d == "bool" else int(wrap_to(d, [result])[0])


def result_dtype(op, d):
    if op in ("any", "all"):
        return np.bool_
    if op in ("argmin", "argmax", "count_nonzero") or (d == "bool" and op in ("sum", "prod")):
        return np.int64
    return NP[d]


def reduce(op, p, x, *r):
    op, d, axis = op.removesuffix("_with"), dt(x), p["axes"][0]
    more = dict(zip(range(1, 3), r))
    rows = np.moveaxis(x, axis, -1)
    if "where" in p:
        rows = rows[..., more[p["where"]]]
    if "initial" in p:
        first = np.broadcast_to(more[p["initial"]], rows.shape[:-1] + (1,))
        rows = np.concatenate([first, rows], axis=-1)
    elif "where" in p and op in ("min", "max"):
        raise Refused("no initial value")
    if rows.shape[-1] == 0 and op in ("argmin", "argmax"):
        raise Refused("empty")
    outer = rows.shape[:-1]
    out = [fold(op, d, rows[t].tolist()) for t in np.ndindex(*outer)]
    wide = np.float64 if d in FLOATS else result_dtype(op, d)
    return np.array(out, wide).astype(result_dtype(op, d)).reshape(outer)


def scan(op, p, x):
    d, axis = dt(x), p["axis"]
    z = np.moveaxis(x, axis, 0)
    z = z[::-1] if p.get("reverse") else z
    counts = d == "bool" and op in ("cumsum", "cumprod")
    z = z.astype(np.float64) if d in FLOATS else z.astype(np.int64) if counts else z
    out = SCANS[op].accumulate(z, axis=0, dtype=z.dtype) if len(z) else z
    out = out[::-1] if p.get("reverse") else out
    return np.moveaxis(out, 0, axis).astype(np.int64 if counts else NP[d])


def segments(op, p, x, ids):
    """Rows in order; each step is rounded to the dtype."""
    d, how = dt(x), op.removeprefix("segment_")
    own = np.dtype(np.int64) if d == "bool" and how in ("sum", "prod") else x.dtype
    empty = {"sum": 0, "prod": 1, "min": greatest(d), "max": least(d)}[how]
    out = np.full((p["segments"],) + x.shape[1:], empty).astype(own)
    step = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}[how]
    for i, row in zip(ids.tolist(), x):
        if 0 <= i < p["segments"]:
            out[i] = step(out[i], row.astype(own))
    return out


def scatter(op, p, x, *r):
    d = dt(x)
    if (op in ("scatter_and", "scatter_or") and d in FLOATS) or (op in ("scatter_add", "scatter_mul") and d == "bool"):
        raise Refused("dtype")
    return index.scatter(op, p, x, *r)


def evaluate(op, p, *x):
    if op == "matmul":
        return product.evaluate(op, p, *x)
    if op == "bincount":
        return np.zeros(p["length"], np.int64 if dt(x[1]) == "bool" else x[1].dtype)
    for prefix, f in (("cum", scan), ("segment", segments), ("scatter", scatter)):
        if op.startswith(prefix):
            return f(op, p, *x)
    return reduce(op, p, *x)
