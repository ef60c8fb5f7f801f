"""Threefry and the draws that follow from it, written from the descriptions in the archive."""
import math

import numpy as np

from checks import special
from checks.values import wrap_to
from common import LAYOUT, NP, dt


def block(key, x0, x1):
    a, b = np.array(x0, np.uint32), np.array(x1, np.uint32)
    k = [int(key[0]), int(key[1])]
    k.append(k[0] ^ k[1] ^ 0x1BD11BDA)
    a, b = a + np.uint32(k[0]), b + np.uint32(k[1])
    for i in range(20):
        r = np.uint32((13, 15, 26, 6, 17, 29, 16, 24)[i % 8])
        a = a + b
        b = ((b << r) | (b >> (np.uint32(32) - r))) ^ a
        if i % 4 == 3:
            j = i // 4 + 1
            a, b = a + np.uint32(k[j % 3]), b + np.uint32((k[(j + 1) % 3] + j) & 0xFFFFFFFF)
    return a, b


def words(key, n):
    m = n + n % 2
    c = np.arange(m, dtype=np.uint32)
    c[n:] = 0
    return np.concatenate(block(key, c[:m // 2], c[m // 2:]))[:n]


def draw(key, width, n, part):
    if part:
        a, b = block(key, np.zeros(n), np.arange(n))
        if width == 64:
            return (a.astype(np.uint64) << np.uint64(32)) | b
        return (a ^ b).astype(np.uint64) & np.uint64(2**width - 1)
    if width == 64:
        w = words(key, 2 * n).astype(np.uint64)
        return (w[:n] << np.uint64(32)) | w[n:]
    w = words(key, -(-n * width // 32)).astype(np.uint64)
    return np.array([(int(v) >> s) & (2**width - 1) for v in w for s in range(0, 32, width)][:n], np.uint64)


def keys(key, n, part):
    return np.stack(block(key, np.zeros(n), np.arange(n)), -1) if part else words(key, 2 * n).reshape(n, 2)


def unit(key, d, n, part):
    """n values in [0, 1)."""
    mantissa = LAYOUT[d][0] - 1
    width = 8 if d == "bf16" else NP[d].itemsize * 8
    top = draw(key, width, n, part) >> np.uint64(width - mantissa)
    return (top.astype(np.float64) / 2.0**mantissa).astype(NP[d])


def between(key, d, n, part, low, high):
    return np.maximum(low, unit(key, d, n, part) * (high - low) + low).astype(NP[d])


def gumbel(key, d, n, part):
    return -np.log(-np.log(np.maximum(np.finfo(NP[d]).tiny, unit(key, d, n, part).astype(np.float64))))


def rounds(n):
    return math.ceil(3 * math.log(max(1, n)) / math.log(2**32 - 1))


def shuffled(key, x, axis, part):
    """Every slice of x along the axis, shuffled separately."""
    for _ in range(rounds(x.size)):
        key, sub = keys(key, 2, part)
        places = np.argsort(draw(sub, 32, x.size, part).reshape(x.shape), axis=axis, kind="stable")
        x = np.take_along_axis(x, places, axis)
    return x


def permuted(key, n, part):
    return shuffled(key, np.arange(n), 0, part).astype(np.int64)


def integers(key, low, high, d, n, part):
    w = max(32, NP[d].itemsize * 8)
    k1, k2 = keys(key, 2, part)
    a, b = (draw(k, w, n, part).tolist() for k in (k1, k2))
    span = high - low if high > low else 1
    if span >= 2**w:
        return wrap_to(d, [y + low for y in b])
    m = ((2**(w // 2) % span)**2 % 2**w) % span
    return wrap_to(d, [((x % span) * m + y % span) % 2**w % span + low for x, y in zip(a, b)])


# ---- Operations ----


def seed(p):
    s = int(p["seed"]) if p["x64"] else int(p["seed"]) & 0xFFFFFFFF
    return np.array([(s >> 32) & 0xFFFFFFFF, s & 0xFFFFFFFF], np.uint32)


def normal(p, key, n, low, high):
    d = p["dtype"]
    u = between(key, d, n, p["partitionable"], NP[d].type(low), NP[d].type(high)).astype(np.float64)
    return 2**0.5 * special.erf_inv(u)


def permutation(p, key, *x):
    part = p["partitionable"]
    return np.take(x[0], permuted(key, x[0].shape[p["axis"]], part), p["axis"]) if x else permuted(key, p["n"], part)


def choice(p, key, n):
    part = p["partitionable"]
    return integers(key, 0, p["n"], "i64", n, part) if p["replace"] else permuted(key, p["n"], part)[:n]


def choice_weighted(p, key, n, weights):
    d, part, w = dt(weights), p["partitionable"], weights.astype(np.float64)
    if p["replace"]:
        return np.searchsorted(np.cumsum(w), w.sum() * (1 - unit(key, d, n, part).astype(np.float64))).astype(np.int64)
    return np.argsort(-(gumbel(key, d, len(w), part) + np.log(w)), kind="stable")[:n].astype(np.int64)


def categorical(p, key, logits):
    full = p["shape"][:-1] + list(logits.shape)
    noise = gumbel(key, dt(logits), int(np.prod(full)), p["partitionable"]).reshape(full)
    return np.argmax(noise + logits, -1).astype(np.int64)


def key_chain(p, key):
    subs = []
    for _ in range(p["length"]):
        key, sub = keys(key, 2, p["partitionable"])
        subs.append(sub)
    return np.stack(subs), key


# Results of other shapes than params.shape.
OPS = {
    "threefry2x32": lambda p, *x: block(*x),
    "seed": seed,
    "fold_in": lambda p, key: np.array([v[0] for v in block(key, [0], [p["data"]])], np.uint32),
    "permutation": permutation,
    "permutation_independent": lambda p, key, x: shuffled(key, x, p["axis"] % x.ndim, p["partitionable"]),
    "categorical": categorical,
    "uniform_batch": lambda p, ks: np.stack([drawn("uniform", p, k) for k in ks]),
    "key_chain": key_chain,
}
# Results of params.shape: p, key, the number of elements, and other inputs.
DRAWS = {
    "bits": lambda p, key, n: draw(key, NP[p["dtype"]].itemsize * 8, n, p["partitionable"]),
    "uniform": lambda p, key, n: unit(key, p["dtype"], n, p["partitionable"]),
    "uniform_range": lambda p, key, n: between(key, p["dtype"], n, p["partitionable"],
                                               NP[p["dtype"]].type(p["minval"]), NP[p["dtype"]].type(p["maxval"])),
    "normal": lambda p, key, n: normal(p, key, n, np.nextafter(NP[p["dtype"]].type(-1), NP[p["dtype"]].type(0)), 1),
    "truncated_normal": lambda p, key, n: normal(p, key, n, *(math.erf(p[k] / 2**0.5) for k in ("lower", "upper"))),
    "exponential": lambda p, key, n: -np.log1p(-unit(key, p["dtype"], n, p["partitionable"]).astype(np.float64)),
    "gumbel": lambda p, key, n: gumbel(key, p["dtype"], n, p["partitionable"]),
    "randint": lambda p, key, n: integers(key, int(p["minval"]), int(p["maxval"]), p["dtype"], n, p["partitionable"]),
    "choice": choice,
    "choice_weighted": choice_weighted,
}


def drawn(op, p, key, *x):
    out = np.asarray(DRAWS[op](p, key, int(np.prod(p["shape"], dtype=int)), *x)).reshape(p["shape"])
    return out.astype(NP[p["dtype"]]) if "dtype" in p else out


def evaluate(op, p, *x):
    if op in OPS:
        return OPS[op](p, *x)
    if op == "split":
        n = int(np.prod(p["shape"], dtype=int))
        return keys(x[0], n, p["partitionable"]).reshape(p["shape"] + [2])
    if op == "bernoulli":
        n = int(np.prod(p["shape"], dtype=int))
        return unit(x[0], dt(x[1]), n, p["partitionable"]).reshape(p["shape"]) < x[1]
    return drawn(op, p, *x)
