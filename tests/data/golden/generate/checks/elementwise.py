"""Elementwise operations, transcendental functions, and casts."""
import math

import numpy as np

from checks import special
from checks.values import wrap_to
from common import BF16, FLOATS, INTS, NP, dt

NUMPY = {
    "neg": np.negative, "round_half_even": np.rint, "is_nan": np.isnan, "is_inf": np.isinf, "is_finite": np.isfinite,
    "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.minimum, "max": np.maximum, "eq": np.equal,
    "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "bitwise_not": np.invert,
}
FUNCTIONS = {
    "erf": special.erf, "erfc": special.erfc, "erf_inv": special.erf_inv, "lgamma": special.lgamma,
    "digamma": special.digamma, "logistic": special.logistic, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "atan2": np.arctan2,
    "rsqrt": lambda x: 1 / np.sqrt(x), "polygamma": special.polygamma,
}


def toward_zero(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


# Of Python integers; the results wrap.
EXACT_INTEGERS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "neg": lambda a: -a, "abs": abs,
    "floor_divide": lambda a, b: a // b, "remainder": lambda a, b: a % b, "power": pow, "trunc_divide": toward_zero,
    "trunc_remainder": lambda a, b: a - b * toward_zero(a, b),
    "power_negative": lambda a, b: (a if b % 2 else 1) if abs(a) == 1 else 0,
}


def shift(op, x, counts):
    w, out = x.dtype.itemsize * 8, []
    for a, n in zip(x.tolist(), counts.tolist()):
        inside = 0 <= n < w
        if op == "shift_left":
            out.append(a << n if inside else 0)
        elif op == "shift_right_logical":
            out.append((a % 2**w) >> n)
        else:
            out.append(a >> n if inside else -(a < 0))
    return wrap_to(dt(x), out)


def elementwise(op, p, x, *r):
    d, w = dt(x), x.dtype.itemsize * 8
    if op == "divide_by_zero":
        return np.zeros_like(x)
    if op == "shift_wide":
        op = p["of"]
    if op.startswith("shift"):
        return shift(op, x, *r)
    if d in INTS and op in EXACT_INTEGERS:
        return wrap_to(d, [EXACT_INTEGERS[op](*map(int, t)) for t in zip(x, *r)])
    if op == "population_count":
        return np.array([bin(v % 2**w).count("1") for v in x.tolist()], x.dtype)
    if op == "count_leading_zeros":
        return np.array([w - (v % 2**w).bit_length() for v in x.tolist()], x.dtype)
    if op == "nan_to_num":
        limits = np.finfo(x.dtype)
        return np.where(np.isnan(x), 0, np.clip(x, limits.min, limits.max)).astype(x.dtype)
    if op == "frexp":
        m, e = np.frexp(x)
        return m, e.astype(np.int32)
    if op == "clip":
        return np.minimum(np.maximum(x, r[0]), r[1])
    return (NUMPY.get(op) or getattr(np, op))(x, *r)


def transcendental(op, p, *x):
    """f32 is evaluated in f64, then rounded."""
    f = FUNCTIONS.get(op) or getattr(np, op)
    return np.asarray(f(*[a.astype(np.float64) for a in x])).astype(x[0].dtype)


# ---- Casts ----


def to_bf16(f):
    """f64 to bf16, rounded once: to odd in f32, then to even."""
    s = f.astype(np.float32)
    u = s.view(np.uint32)
    inexact = np.isfinite(f) & (s.astype(np.float64) != f)
    away = inexact & (np.abs(s.astype(np.float64)) > np.abs(f))
    u = np.where(inexact, np.where(away, u - 1, u) | 1, u).astype(np.uint32)
    r = ((u.astype(np.uint64) + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(f), np.uint16(0x7FC0), r).astype(np.uint16).view(BF16)


def saturated(f, d):
    t, out = np.iinfo(NP[d]), []
    for v in f.ravel().tolist():
        if v != v:
            out.append(0)
        elif math.isinf(v):
            out.append(t.max if v > 0 else t.min)
        else:
            out.append(min(max(math.trunc(v), t.min), t.max))
    return np.array(out, NP[d]).reshape(f.shape)


def odd_doubles(x):
    """Integers as doubles, rounded to odd, so that another rounding is the only one."""
    out = []
    for n in x.ravel().tolist():
        m = abs(n)
        k = max(m.bit_length() - 50, 0)
        odd = ((m >> k) | bool(m & ((1 << k) - 1))) << k
        out.append(float(odd) if n >= 0 else -float(odd))
    return np.array(out, np.float64).reshape(x.shape)


def cast(op, p, *inputs):
    if op == "promote":  # a table of what other libraries do
        return None
    x, source, to = inputs[0], p["from"], p["to"]
    if to == "bool":
        return x != 0
    if source in FLOATS:
        f = x.astype(np.float64)
        if to in INTS:
            return saturated(f, to)
        return to_bf16(f) if to == "bf16" else f.astype(NP[to])
    if to not in ("f16", "bf16") or x.dtype.itemsize <= 2:
        return x.astype(NP[to])
    f = odd_doubles(x)
    return to_bf16(f) if to == "bf16" else f.astype(NP[to])
