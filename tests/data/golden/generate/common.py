"""Shared by the generators and the checker: dtypes, tolerances, comparison of arrays, and exact rounding."""
import math

import numpy as np

try:
    import ml_dtypes
except ImportError:  # The checker then leaves out the cases of bf16.
    ml_dtypes = None

NP = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}
if ml_dtypes:
    NP["bf16"] = ml_dtypes.bfloat16
NP = {name: np.dtype(kind) for name, kind in NP.items()}
NAME = {dtype: name for name, dtype in NP.items()}
BF16 = NP.get("bf16")
FLOATS = ["f16", "bf16", "f32", "f64"]
SIGNED = ["i8", "i16", "i32", "i64"]
UNSIGNED = ["u8", "u16", "u32", "u64"]
INTS = SIGNED + UNSIGNED
ALL = ["bool"] + INTS + FLOATS
# Digits of the significand, exponent of the least subnormal, greatest exponent.
LAYOUT = {"f16": (11, -24, 15), "bf16": (8, -133, 127), "f32": (24, -149, 127), "f64": (53, -1074, 1023)}
WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def dt(array):
    """The name of the dtype of an array."""
    return NAME[np.asarray(array).dtype]


def text(shape):
    """A shape in the name of a case."""
    return "x".join(map(str, shape)) or "scalar"


# ---- Tolerances: README.md states the classes ----

EXACT = {"class": "exact"}


def ulp(n, atol=None):
    return {"class": "ulp", "n": n} if atol is None else {"class": "ulp", "n": n, "atol": atol}


VALUE = ulp(0)  # equality that ignores the sign of zero


def rtol(relative, absolute=0.0):
    return {"class": "rtol", "rtol": relative, "atol": absolute}


# ---- Comparison ----


def ordered(a):
    """The integer image of a float array: neighbouring floats map to neighbouring integers."""
    a = np.ascontiguousarray(a)
    if a.dtype.itemsize == 8:
        s = a.view(np.int64)
        return np.where(s < 0, np.int64(-2**63) - s, s)
    u = a.view(WORDS[a.dtype.itemsize]).astype(np.int64)
    top = 1 << (8 * a.dtype.itemsize - 1)
    return np.where(u >= top, top - u, u)


def same(got, want, tol=EXACT):
    """Element by element: whether `got` passes for `want`."""
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype != want.dtype or got.shape != want.shape:
        return np.zeros(want.shape, bool) if want.size else np.array(False)
    if dt(want) not in FLOATS:
        if tol["class"] == "rtol":
            return near(got.astype(float), want.astype(float), tol)
        return got == want
    nan = np.isnan(got) & np.isnan(want)
    if tol["class"] == "exact":
        words = WORDS[want.dtype.itemsize]
        got, want = np.ascontiguousarray(got), np.ascontiguousarray(want)
        return nan | (got.view(words).reshape(nan.shape) == want.view(words).reshape(nan.shape))
    with np.errstate(all="ignore"):
        finite = np.isfinite(got) & np.isfinite(want)
        if tol["class"] == "rtol":
            return nan | (got == want) | (finite & near(got.astype(float), want.astype(float), tol))
        steps = np.zeros(want.shape)
        if want.size:
            steps = np.abs(ordered(got).astype(object) - ordered(want).astype(object))
        ok = (steps <= tol["n"]).astype(bool).reshape(want.shape) & ~np.isnan(got) & ~np.isnan(want)
        if "atol" in tol:
            ok |= finite & (np.abs(got.astype(float) - want.astype(float)) <= tol["atol"])
        return nan | ok


def near(got, want, tol):
    return np.abs(got - want) <= tol["atol"] + tol["rtol"] * np.abs(want)


def agree(got, want, tol=EXACT, where=None, what=""):
    """Raise AssertionError unless two judges agree (where `where` is true)."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        raise AssertionError(f"{what}: {got.dtype}{got.shape} is not {want.dtype}{want.shape}")
    ok = same(got, want, tol)
    if where is not None:
        ok = ok | ~where
    if not np.all(ok):
        bad = [tuple(map(int, at)) for at in np.argwhere(~ok)]
        shown = "; ".join(f"{at}: {got[at]!r} for {want[at]!r}" for at in bad[:5])
        raise AssertionError(f"{what}: {len(bad)} differ, first {shown}")


# ---- Values ----


def specials(d):
    """Values at which elementwise code fails: limits, neighbours of powers of two, ties, zeros, NaN."""
    if d == "bool":
        return np.array([False, True])
    if d in INTS:
        t = np.iinfo(NP[d])
        v = {0, 1, 2, 3, 5, 7, 10, 100, t.max, t.max - 1, t.max // 2, t.max // 2 + 1, t.min, t.min + 1}
        if t.min < 0:
            v |= {-1, -2, -3, -7, -10, -100, t.min // 2}
        return np.array(sorted(v), NP[d])
    f = ml_dtypes.finfo(NP[d])
    big, eps, normal, subnormal = (float(v) for v in (f.max, f.eps, f.smallest_normal, f.smallest_subnormal))
    v = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 7.0, 1.0 + eps, 1.0 - eps / 2, 0.5 - eps / 4, subnormal,
         normal - subnormal, normal, 1 / eps, 1 / eps + 1, 0.5 / eps + 0.5, 2 / eps, 4 / eps, big, big / 2,
         np.pi, 1e-3, float("inf"), float("nan")]
    with np.errstate(all="ignore"):
        return np.array([s * x for x in v for s in (1.0, -1.0)], np.float64).astype(NP[d])


def bits(rng, d, n):
    """n values of uniform bit patterns: every exponent, sometimes NaN and infinity."""
    if d == "bool":
        return rng.integers(0, 2, n).astype(bool)
    return np.frombuffer(rng.bytes(n * NP[d].itemsize), NP[d]).copy()


def subnormal(a):
    """Which elements are subnormal."""
    if dt(a) not in FLOATS:
        return np.zeros(a.shape, bool)
    return (a != 0) & (np.abs(a) < ml_dtypes.finfo(a.dtype).smallest_normal)


def pairs(a, b):
    """Every element of a with every element of b."""
    x, y = np.meshgrid(a, b, indexing="ij")
    return x.ravel().copy(), y.ravel().copy()


def nearest(q, d):
    """The value of dtype d nearest to the exact rational q: ties to even, overflow to infinity."""
    digits, least, top = LAYOUT[d]
    if q == 0:
        return NP[d].type(0)
    s, q = (-1, -q) if q < 0 else (1, q)
    e = q.numerator.bit_length() - q.denominator.bit_length()
    if (q < 2**e) if e >= 0 else (q * 2**-e < 1):
        e -= 1
    u = max(e - digits + 1, least)
    scaled = q / 2**u if u >= 0 else q * 2**-u
    n, r = divmod(scaled.numerator, scaled.denominator)
    if 2 * r > scaled.denominator or (2 * r == scaled.denominator and n & 1):
        n += 1
    if n.bit_length() + u - 1 > top:
        return NP[d].type(s * float("inf"))
    return NP[d].type(s * math.ldexp(float(n), u))


def num(x):
    """A number as JSON of the archives has it: README.md, key `params`."""
    if isinstance(x, (bool, np.bool_)):
        return bool(x)
    if isinstance(x, (int, np.integer)):
        return int(x) if abs(int(x)) <= 2**53 else str(int(x))
    x = float(x)
    if x != x:
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return x
