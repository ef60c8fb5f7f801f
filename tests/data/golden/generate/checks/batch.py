"""vmap and vectorize as loops."""
import re

import numpy as np

from checks.functions import BATCH, VECTOR
from checks.values import Refused

CORE = r"\((?:[A-Za-z_]\w*|\d+)?(?:,(?:[A-Za-z_]\w*|\d+))*\)"
SIGNATURE = re.compile(rf"{CORE}(?:,{CORE})*->{CORE}(?:,{CORE})*")


def vectorize(op, p, x):
    if not SIGNATURE.fullmatch(p["signature"]):
        raise Refused("signature")
    if any(0 in np.shape(a) for a in x):
        return None
    try:
        f = np.vectorize(VECTOR[op.removeprefix("vectorize_")], signature=p["signature"], excluded=set(p["excluded"]))
        return f(*x)
    except (ValueError, TypeError) as e:
        raise Refused(e) from e


def stacked(rows, j, axis):
    """Output j of all rows; axis None: it must not depend on the batch."""
    if axis is None:
        if not all(np.array_equal(rows[0][j], row[j]) for row in rows):
            raise Refused("batched output")
        return rows[0][j]
    if not -rows[0][j].ndim - 1 <= axis <= rows[0][j].ndim:
        raise Refused("axis")
    return np.stack([row[j] for row in rows], axis)


def mapped(f, levels, args):
    """The outputs, or None if a level has no elements."""
    if not levels:
        out = f(*args)
        return [np.asarray(v) for v in (out if isinstance(out, tuple) else (out,))]
    inputs, outputs = levels[0]["in_axes"], levels[0]["out_axes"]
    try:
        sizes = {np.shape(a)[i] for a, i in zip(args, inputs) if i is not None}
    except IndexError as e:
        raise Refused("axis") from e
    if len(sizes) != 1:
        raise Refused("extents")
    rows = [mapped(f, levels[1:], [a if i is None else np.take(a, k, i) for a, i in zip(args, inputs)])
            for k in range(sizes.pop())]
    if not rows or rows[0] is None:
        return None
    return [stacked(rows, j, axis) for j, axis in enumerate(outputs)]


def evaluate(op, p, *x):
    if op.startswith("vectorize_"):
        return vectorize(op, p, x)
    return mapped(BATCH[op], p["levels"], list(x))
