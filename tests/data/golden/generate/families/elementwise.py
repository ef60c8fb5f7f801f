"""Elementwise operations whose results IEEE 754 or integer arithmetic determine.

The judge is NumPy. JAX is compared; `make -v` prints where it differs, subnormals aside.
"""
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from common import (EXACT, FLOATS, NP, UNSIGNED, VALUE, bits, dt, nearest, pairs, same, specials, subnormal)
from family import Family

jax.config.update("jax_enable_x64", True)
np.seterr(all="ignore")
OPS = {
    "neg": "-x; integers wrap, the sign of 0 and of infinity flips",
    "abs": "|x|; the least integer stays as it is",
    "sign": "-1, 0, 1; nan stays; the sign of a zero result is not checked (NumPy +0, JAX keeps -0)",
    "floor": "toward -inf, keeps -0",
    "ceil": "toward +inf, -0.5 gives -0",
    "round_half_even": "to the nearest integer, ties to even, keeps -0",
    "trunc": "toward 0, keeps the sign of 0",
    "sqrt": "correctly rounded; -0 stays -0; below 0 nan",
    "square": "x*x",
    "reciprocal": "1/x correctly rounded",
    "is_nan": "bool",
    "is_inf": "bool",
    "is_finite": "bool",
    "signbit": "bool; the sign of a nan is not tested",
    "nan_to_num": "nan to 0, +inf to the largest finite, -inf to its negative",
    "logical_not": "bool; nan counts as true",
    "frexp": "x = m * 2**e, 0.5 <= |m| < 1; outputs m and e (i32); finite x only",
    "ldexp": "x * 2**e, e i32, rounded once (subnormal results too)",
    "add": "x+y; integers wrap",
    "sub": "x-y; integers wrap",
    "mul": "x*y; integers wrap",
    "div": "x/y, floats, correctly rounded",
    "min": "nan if either is nan; the sign of a zero result is not checked",
    "max": "nan if either is nan; the sign of a zero result is not checked",
    "fmin": "the other one if one is nan",
    "fmax": "the other one if one is nan",
    "remainder": "sign of the divisor (Python, NumPy); floats: fmod, then + y where the signs differ; x % 0 is "
                 "nan; the sign of a zero result is not checked",
    "fmod": "sign of the dividend (C fmod; lax.rem); exact",
    "floor_divide": "floats: out is NumPy's, (x - remainder)/y snapped to an integer, which can be one off for large "
                    "quotients; alt is the exact floor rounded to nearest; "
                    "x // 0 is x/0; inf // y is nan; the sign of a zero result is not checked. Integers: toward "
                    "-inf, least // -1 wraps",
    "trunc_divide": "integers, toward 0 (lax.div); least / -1 wraps",
    "trunc_remainder": "integers, sign of the dividend (lax.rem); least rem -1 is 0",
    "divide_by_zero": "params.of names the integer operation; out is NumPy's value (0), alt JAX's. Informative: "
                      "refusing is as good",
    "copysign": "|x| with the sign bit of y",
    "nextafter": "the next value from x towards y; nan if either is; subnormals count",
    "eq": "nan equals nothing, -0 equals 0",
    "ne": "nan differs from all",
    "lt": "false with nan",
    "le": "false with nan",
    "gt": "false with nan",
    "ge": "false with nan",
    "logical_and": "truth of both; nonzero and nan are true",
    "logical_or": "as logical_and",
    "logical_xor": "as logical_and",
    "bitwise_and": "",
    "bitwise_or": "",
    "bitwise_xor": "",
    "bitwise_not": "bool: logical",
    "population_count": "set bits, same dtype",
    "count_leading_zeros": "same dtype",
    "shift_left": "0 <= count < width",
    "shift_right": "arithmetic for signed, logical for unsigned; 0 <= count < width",
    "shift_right_logical": "zero fill also for signed; 0 <= count < width",
    "shift_wide": "params.of names the shift; counts >= width or negative. NumPy and JAX agree: 0, or -1 from an "
                  "arithmetic shift of a negative. Informative",
    "power": "integers, exponent >= 0, wraps, 0**0 is 1 (JAX uses only the low 6 bits of the exponent, so it "
             "differs from 64 on; NumPy is the judge)",
    "power_negative": "integer base (not 0), negative exponent. out is the exact power truncated (1 for base 1, +-1 "
                      "for base -1, else 0); alt is JAX's, which uses the low 6 bits of the exponent; NumPy refuses. "
                      "Informative: refusing is as good",
    "clip": "inputs x, low, high: min(max(x, low), high); nan in any gives nan; low > high gives high; the "
            "sign of a zero result is not checked",
    "where": "inputs condition (bool), x, y; takes x or y bit for bit",
}
fam = Family("elementwise", OPS, ("numpy", "jax", "ml_dtypes"))


def emit(op, tag, ins, out, tol=EXACT, jx=None, **extra):
    """A case, with a comparison by the JAX function jx; subnormals may differ there."""
    outs = out if isinstance(out, tuple) else (out,)
    fam.case(op, tag, ins, outs, tol=tol, **extra)
    if jx is not None and fam.wants(op):
        got = jx(*[jnp.asarray(i) for i in ins])
        got = got if isinstance(got, (tuple, list)) else (got,)
        tiny = np.zeros(np.shape(outs[0]), bool)
        for a in list(ins) + list(outs):
            tiny |= subnormal(np.asarray(a))
        for g, w in zip(got, outs):
            g = np.asarray(g)
            if g.dtype != w.dtype:
                fam.differs[(op, dt(w), "dtype " + dt(g))] += 1
                continue
            bad = ~same(g, w, tol) & ~tiny
            if bad.any():
                i = np.argwhere(bad)[0][0]
                fam.differs[(op, dt(ins[-1]),
                             f"{[x[i].item() for x in ins]} numpy {w[i]!r} jax {g[i]!r}")] += int(bad.sum())


def unary(op, d, f, tol=EXACT, jx=None, only=None):
    """Special values, random bits, and multiples of 1/2; `only` selects arguments."""
    s = specials(d)
    r = bits(fam.rng(f"{op}/{d}"), d, 256)
    groups = [("special_a", s[0::2]), ("special_b", s[1::2]), ("bits", r)]
    if d in FLOATS:
        m = {"f16": 200, "bf16": 100}.get(d, 1e4)
        groups.append(("halves", (np.round(fam.rng(f"{op}/{d}/h").uniform(-m, m, 128)) / 2).astype(NP[d])))
    for tag, x in groups:
        if only is not None:
            x = x[only(x)]
        emit(op, f"{d}/{tag}", [x], f(x), tol, jx)


def binary(op, d, f, tol=EXACT, jx=None, only=None, parts=4):
    """All pairs of special values in several parts, random bits, and small numbers; `only` selects pairs."""
    s = specials(d)
    if d in ("f16", "bf16"):
        s, parts = s[::3], 2
    x, y = pairs(s, s)
    groups = [(f"special_{k}", x[k::parts], y[k::parts]) for k in range(parts)]
    g = fam.rng(f"{op}/{d}")
    groups += [("bits", bits(g, d, 256), bits(g, d, 256))]
    if d in FLOATS:
        groups += [("near", *[(g.integers(-40, 41, 128) / k).astype(NP[d]) for k in (4.0, 8.0)])]
    elif d != "bool":
        lo = 0 if d in UNSIGNED else -60
        groups += [("near", *[g.integers(lo, 61, 128).astype(NP[d]) for _ in range(2)])]
    for tag, a, b in groups:
        if only is not None:
            k = only(a, b)
            a, b = a[k], b[k]
        more = {"alt": [exact_floor(a, b)]} if op == "floor_divide" and d in FLOATS else {}
        emit(op, f"{d}/{tag}", [a, b], f(a, b), tol, jx, **more)


def clz(x):
    w = x.dtype.itemsize * 8
    return np.array([w - (int(v) % (1 << w)).bit_length() for v in x], x.dtype)


def popcount(x):
    w = x.dtype.itemsize * 8
    return np.array([(int(v) % (1 << w)).bit_count() for v in x], x.dtype)


def exact_floor(a, b):
    out = np.floor_divide(a, b)
    for i, (x, y) in enumerate(zip(a, b)):
        if np.isfinite(x) and np.isfinite(y) and y != 0 and np.isfinite(out[i]):
            q = Fraction(float(x)) / Fraction(float(y))
            out[i] = nearest(Fraction(q.numerator // q.denominator), dt(a))
    return out


def trunc_div(a, b):
    t = np.array(
        [0 if y == 0 else abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a, b)], object)
    w = a.dtype.itemsize * 8
    t = t % (1 << w)
    u = t.astype(np.uint64).astype({1: "u1", 2: "u2", 4: "u4", 8: "u8"}[a.dtype.itemsize])
    return u.view(a.dtype)


def trunc_rem(a, b):
    return a - trunc_div(a, b) * b


def logical_shift(x, n):
    u = x.view({1: "u1", 2: "u2", 4: "u4", 8: "u8"}[x.dtype.itemsize])
    return (u >> n.astype(u.dtype)).view(x.dtype)


def wrap(f):
    return lambda *a: f(*a).astype(a[0].dtype)


def bool_of(f):
    return lambda *a: np.asarray(f(*a)).astype(bool)


MAIN = ["f32", "f64"]


def floats_one_operand():
    """One float."""
    for d in FLOATS:
        for op, f, tol, jx in [("neg", np.negative, EXACT, jnp.negative), ("abs", np.abs, EXACT, jnp.abs),
                               ("sqrt", np.sqrt, EXACT, jnp.sqrt), ("floor", np.floor, EXACT, jnp.floor),
                               ("ceil", np.ceil, EXACT, jnp.ceil), ("trunc", np.trunc, EXACT, jnp.trunc),
                               ("round_half_even", np.rint, EXACT, jnp.round),
                               ("is_nan", bool_of(np.isnan), EXACT, jnp.isnan)]:
            unary(op, d, wrap(f) if op != "is_nan" else f, tol, jx)
    for d in MAIN:
        unary("sign", d, np.sign, VALUE, jnp.sign)
        unary("square", d, lambda x: x * x, EXACT, jnp.square)
        unary("reciprocal", d, lambda x: (NP[d].type(1) / x).astype(NP[d]), EXACT, jnp.reciprocal)
        unary("is_inf", d, np.isinf, EXACT, jnp.isinf)
        unary("is_finite", d, np.isfinite, EXACT, jnp.isfinite)
        unary("signbit", d, np.signbit, EXACT, jnp.signbit, only=lambda x: ~np.isnan(x))
        unary("nan_to_num", d, np.nan_to_num, EXACT, jnp.nan_to_num)
        unary("logical_not", d, np.logical_not, EXACT, jnp.logical_not)
        unary("frexp", d, lambda x: tuple(o.astype(t) for o, t in zip(np.frexp(x), (NP[d], np.int32))), EXACT,
              jnp.frexp, only=np.isfinite)
        s, e = specials(d), np.array([
            0, 1, -1, 3, -3, 10, -10, 23, -24, 52, -53, 126, -126, -149, 150, 300, -300, 1023, -1022, -1074, 1100,
            -1100, 2100, -2100
        ], np.int32)
        x, y = pairs(s, e)
        for k in range(4):
            emit("ldexp", f"{d}/special_{k}", [x[k::4], y[k::4]], np.ldexp(x[k::4], y[k::4]), EXACT, jnp.ldexp)


def floats_two_operands():
    """Two floats."""
    for d in FLOATS:
        for op, f, tol, jx in [("add", np.add, EXACT, jnp.add), ("sub", np.subtract, EXACT, jnp.subtract),
                               ("mul", np.multiply, EXACT, jnp.multiply), ("div", np.divide, EXACT, jnp.divide),
                               ("min", np.minimum, VALUE, jnp.minimum), ("max", np.maximum, VALUE, jnp.maximum),
                               ("lt", np.less, EXACT, jnp.less), ("eq", np.equal, EXACT, jnp.equal)]:
            binary(op, d, bool_of(f) if op in ("lt", "eq") else wrap(f), tol, jx)
    for d in MAIN:
        for op, f, tol, jx in [("fmin", np.fmin, VALUE, jnp.fmin), ("fmax", np.fmax, VALUE, jnp.fmax),
                               ("remainder", np.remainder, VALUE, jnp.remainder), ("fmod", np.fmod, EXACT, lax.rem),
                               ("floor_divide", np.floor_divide, VALUE, jnp.floor_divide),
                               ("copysign", np.copysign, EXACT, jnp.copysign),
                               ("nextafter", np.nextafter, VALUE, jnp.nextafter),
                               ("ne", np.not_equal, EXACT, jnp.not_equal), ("le", np.less_equal, EXACT, jnp.less_equal),
                               ("gt", np.greater, EXACT, jnp.greater),
                               ("ge", np.greater_equal, EXACT, jnp.greater_equal),
                               ("logical_and", np.logical_and, EXACT, jnp.logical_and),
                               ("logical_or", np.logical_or, EXACT, jnp.logical_or),
                               ("logical_xor", np.logical_xor, EXACT, jnp.logical_xor)]:
            binary(op, d, f, tol, jx)


def make():
    floats_one_operand()
    floats_two_operands()
