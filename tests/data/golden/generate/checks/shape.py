"""Operations that move elements, and arrays made from numbers."""
import numpy as np

from checks.values import checked
from common import NP


def pad(p, x, value):
    config = p["config"]
    if len(config) != x.ndim or any(inner < 0 for _, _, inner in config):
        raise ValueError("config")
    size = [n + low + high + max(n - 1, 0) * inner for n, (low, high, inner) in zip(x.shape, config)]
    out = np.full(size, value)
    for t in np.ndindex(*x.shape):
        at = [i * (inner + 1) + low for i, (low, _, inner) in zip(t, config)]
        if all(0 <= v < n for v, n in zip(at, size)):
            out[tuple(at)] = x[t]
    return out


def reshape(p, x):
    if min(p["shape"] + [0]) < -1:
        raise ValueError("extent")
    return x.reshape(p["shape"])


def expand_dims(p, x):
    if x.ndim + len(p["axes"]) > 8:
        raise ValueError("rank")
    return np.expand_dims(x, tuple(p["axes"]))


def iota(p):
    shape, axis = p["shape"], p["axis"]
    line = np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return np.broadcast_to(line, shape).astype(NP[p["dtype"]])


def made(values):
    """Numbers in the dtype of the parameters."""
    return lambda p: values(p).astype(NP[p["dtype"]])


OPS = {
    "slice": lambda p, x: x[tuple(slice(*s) for s in p["slices"])],
    "pad": pad,
    "pad_mode": lambda p, x: np.pad(x, p["widths"], mode=p["mode"]),
    "reverse": lambda p, x: np.flip(x, tuple(p["axes"])),
    "transpose": lambda p, x: np.transpose(x, p["permutation"]),
    "concatenate": lambda p, *x: np.concatenate(x, p["axis"]),
    "stack": lambda p, *x: np.stack(x, p["axis"]),
    "broadcast_to": lambda p, x: np.broadcast_to(x, p["shape"]),
    "broadcast_add": lambda p, *x: np.add(*x),
    "reshape": reshape,
    "squeeze": lambda p, x: np.squeeze(x, None if p["axes"] is None else tuple(p["axes"])),
    "expand_dims": expand_dims,
    "repeat": lambda p, x: np.repeat(x, p["repeats"], p["axis"]),
    "tile": lambda p, x: np.tile(x, p["repeats"]),
    "roll": lambda p, x: np.roll(x, p["shifts"], p["axes"]),
    "split": lambda p, x: tuple(np.split(x, p["at"], p["axis"])),
    "iota": iota,
    "arange": made(lambda p: np.arange(p["start"], p["stop"], p["step"])),
    "linspace": made(lambda p: np.linspace(p["start"], p["stop"], p["count"], endpoint=p["endpoint"])),
    "eye": made(lambda p: np.eye(p["rows"], p["columns"], p["diagonal"])),
    "tril": lambda p, x: np.tril(x, p["diagonal"]),
    "triu": lambda p, x: np.triu(x, p["diagonal"]),
    "diagonal": lambda p, x: np.diagonal(x, p["offset"], -2, -1),
    "movedim": lambda p, x: np.moveaxis(x, p["source"], p["destination"]),
}


@checked
def evaluate(op, p, *x):
    return OPS[op](p, *x)
