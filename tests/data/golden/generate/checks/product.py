"""Products and contractions, in exact integers or in long double."""
import math

import numpy as np

from checks.values import Refused, checked
from common import NP


@checked
def matmul(p, x, y):
    return np.asarray(np.matmul(x.astype(np.longdouble), y.astype(np.longdouble))).astype(x.dtype)


def matmul_special(p, x, y):
    """Every product is formed, those of zeros too."""
    return (x[:, :, None].astype(float) * y[None].astype(float)).sum(1).astype(x.dtype)


def valid_axes(x, y, contract, batch):
    for a, b in (contract, batch):
        if len(a) != len(b):
            return False
    for v, axes in ((x, contract[0] + batch[0]), (y, contract[1] + batch[1])):
        if len(set(axes)) != len(axes) or any(i >= v.ndim for i in axes):
            return False
    return all(x.shape[i] == y.shape[j] for i, j in zip(contract[0] + batch[0], contract[1] + batch[1]))


def dot_general(p, x, y):
    contract, batch = p["contract"], p["batch"]
    if not valid_axes(x, y, contract, batch):
        raise Refused("axes")
    b = [x.shape[i] for i in batch[0]]
    free, parts = [], []
    for v, c, t in ((x, contract[0], batch[0]), (y, contract[1], batch[1])):
        rest = [i for i in range(v.ndim) if i not in c + t]
        extents = [v.shape[i] for i in rest]
        sizes = math.prod(b), math.prod(extents), math.prod(v.shape[i] for i in c)
        free += extents
        parts.append(v.transpose(t + rest + c).reshape(sizes).astype(object))
    u, v = parts
    out = np.zeros((u.shape[0], u.shape[1], v.shape[1]))
    for t in np.ndindex(*out.shape):
        out[t] = sum(int(a) * int(e) for a, e in zip(u[t[0], t[1]], v[t[0], t[2]]))
    return out.reshape(b + free).astype(NP[p["dtype"]])


# ---- einsum: every operand broadcast over all letters ----


def terms_of(left, xs):
    """The letters of each operand, with Greek ones for the ellipsis, and those of the ellipsis."""
    terms = left.split(",")
    if len(terms) != len(xs):
        raise Refused("operands")
    for t in terms:
        if "." in t and (t.count(".") != 3 or "..." not in t):
            raise Refused("dots")
    hidden = max([x.ndim - len(t) + 3 for t, x in zip(terms, xs) if "..." in t], default=0)
    greek = [chr(0x3B1 + k) for k in range(hidden)]
    out = [t.replace("...", "".join(greek[hidden - (x.ndim - len(t) + 3):])) for t, x in zip(terms, xs)]
    if any(len(t) != x.ndim for t, x in zip(out, xs)):
        raise Refused("rank")
    return out, greek


def extents_of(terms, xs, greek):
    size = {}
    for t, x in zip(terms, xs):
        for letter, n in zip(t, x.shape):
            if size.setdefault(letter, n) != n:
                if letter not in greek or 1 not in (n, size[letter]):
                    raise Refused("extent")
                size[letter] = max(n, size[letter])
    return size


def einsum(p, *xs):
    spec = p["spec"].replace(" ", "")
    if spec.count("->") > 1 or any(letter.isdigit() for letter in spec):
        raise Refused("spec")
    left, arrow, right = spec.partition("->")
    terms, greek = terms_of(left, xs)
    plain = "".join(terms)
    if arrow:
        right = right.replace("...", "".join(greek))
    else:
        right = "".join(greek) + "".join(sorted(c for c in set(plain) if plain.count(c) == 1 and c not in greek))
    letters = "".join(dict.fromkeys(plain))
    if any(c not in letters for c in right) or len(set(right)) != len(right):
        raise Refused("output")
    size = extents_of(terms, xs, greek)
    total = np.ones([size[c] for c in letters], np.int64)
    grid = np.indices(total.shape) if letters else None
    for t, x in zip(terms, xs):
        at = tuple(np.minimum(grid[letters.index(c)], x.shape[a] - 1) if x.shape[a] == 1 else grid[letters.index(c)]
                   for a, c in enumerate(t))
        total = total * (x.astype(np.int64)[at] if t else x.astype(np.int64))
    total = total.sum(tuple(a for a, c in enumerate(letters) if c not in right))
    rest = [c for c in letters if c in right]
    return np.asarray(total).transpose([rest.index(c) for c in right]).astype(xs[0].dtype)


OPS = {
    "matmul": matmul,
    "matmul_rounded": matmul,
    "matmul_special": matmul_special,
    "dot_general": dot_general,
    "einsum": einsum,
    "tensordot": lambda p, x, y: np.asarray(np.tensordot(x, y, p["axes"])),
    "inner": lambda p, x, y: np.asarray(np.inner(x, y)),
    "outer": lambda p, x, y: np.asarray(np.outer(x, y)),
}


def evaluate(op, p, *x):
    return OPS[op](p, *x)
