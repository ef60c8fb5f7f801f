"""Takes, gathers, scatters and dynamic slices, element by element."""
import itertools

import numpy as np

from checks.values import Refused, default_fill, real
from common import dt

COMBINE = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
           "or": np.bitwise_or}


def positions(x, index, arrays):
    """The shape of x[index], and for each element its position in x after the rule for negative indices."""
    n = x.ndim
    index = index + [{"slice": [None, None, None]}] * (n - len(index))
    if len(index) > n:
        raise Refused("too many entries")
    axes = [a for a, e in enumerate(index) if "slice" not in e]
    given = {a: arrays[index[a]["array"]] if "array" in index[a] else np.array(index[a]["int"]) for a in axes}
    block = np.broadcast_shapes(*[v.shape for v in given.values()]) if axes else ()
    given = {a: np.broadcast_to(v, block) for a, v in given.items()}
    ranges = {a: list(range(x.shape[a]))[slice(*e["slice"])] for a, e in enumerate(index) if "slice" in e}
    adjacent = not axes or axes == list(range(axes[0], axes[-1] + 1))
    before = [a for a in ranges if adjacent and (not axes or a < axes[0])]
    after = [a for a in ranges if a not in before]
    shape = [len(ranges[a]) for a in before] + list(block) + [len(ranges[a]) for a in after]
    out = []
    for first in itertools.product(*[ranges[a] for a in before]):
        for t in np.ndindex(*block):
            for last in itertools.product(*[ranges[a] for a in after]):
                at = {**dict(zip(before, first)), **dict(zip(after, last))}
                for a in axes:
                    v = int(given[a][t])
                    at[a] = v + x.shape[a] if v < 0 else v
                out.append(tuple(at[a] for a in range(n)))
    return shape, out


def place(at, shape, mode):
    """The position that a mode makes of one; None if it is left out."""
    if all(0 <= v < n for v, n in zip(at, shape)):
        return at
    if mode == "raise":
        raise Refused("out of range")
    return tuple(min(max(v, 0), n - 1) for v, n in zip(at, shape)) if mode == "clip" else None


def fill_of(p, d):
    return real(p["fill"]) if "fill" in p else default_fill(d)


def take(op, p, x, i):
    axis, mode = p["axis"], p["mode"]
    y = x.ravel() if axis is None else np.moveaxis(x, axis, 0)
    n, out = len(y), []
    for v in i.ravel().tolist():
        if mode == "wrap":
            v %= n
        elif mode != "clip" and v < 0:
            v += n
        at = place((v,), (n,), mode)
        out.append(np.full(y.shape[1:], fill_of(p, dt(x)), x.dtype) if at is None else y[at[0]])
    out = np.array(out, x.dtype).reshape(i.shape + y.shape[1:])
    return out if axis is None else np.moveaxis(out, list(range(i.ndim)), [axis % x.ndim + k for k in range(i.ndim)])


def take_along_axis(op, p, x, i):
    i, axis = i.astype(np.int64), p["axis"] % x.ndim
    full = [max(a, b) for a, b in zip(x.shape, i.shape)]
    full[axis] = i.shape[axis]
    i = np.broadcast_to(i, full)
    out = np.empty(full, x.dtype)
    for t in np.ndindex(*full):
        at = [q if x.shape[a] > 1 else 0 for a, q in enumerate(t)]
        at[axis] = int(i[t]) + (x.shape[axis] if i[t] < 0 else 0)
        at = place(tuple(at), x.shape, p["mode"])
        out[t] = fill_of(p, dt(x)) if at is None else x[at]
    return out


def window(x, starts, sizes):
    starts = starts.tolist()
    if len(starts) != x.ndim or len(sizes) != x.ndim or any(z > n for z, n in zip(sizes, x.shape)):
        raise Refused("size")
    starts = [min(max(v + n if v < 0 else v, 0), n - z) for v, n, z in zip(starts, x.shape, sizes)]
    return tuple(slice(v, v + z) for v, z in zip(starts, sizes))


def dynamic_slice(op, p, x, starts):
    return x[window(x, starts, p["sizes"])]


def dynamic_update_slice(op, p, x, update, starts):
    if update.dtype != x.dtype:
        raise Refused("dtype")
    out = x.copy()
    out[window(x, starts, update.shape)] = update
    return out


def gather(op, p, x, *arrays):
    shape, at = positions(x, p["index"], arrays)
    places = [place(t, x.shape, p["mode"]) for t in at]
    return np.array([fill_of(p, dt(x)) if t is None else x[t] for t in places], x.dtype).reshape(shape)


def scatter(op, p, x, *r):
    shape, at = positions(x, p["index"], r[:-1])
    try:
        updates = np.broadcast_to(r[-1], shape).reshape(-1)
    except ValueError as e:
        raise Refused("update shape") from e
    out, how = x.copy(), op.removeprefix("scatter_")
    for t, v in zip(at, updates):
        t = place(t, x.shape, p.get("mode", "drop"))
        if t is not None:
            out[t] = v if how == "set" else COMBINE[how](out[t], v)
    return out


def evaluate(op, p, *x):
    return (scatter if op.startswith("scatter") else globals()[op])(op, p, *x)
