"""Casts between all dtypes, and the promotion table.

The judge rounds exact rationals once. JAX and NumPy are compared; `make -v` prints where they differ.
"""
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from common import ALL, FLOATS, INTS, NAME, NP, SIGNED, UNSIGNED, bits, dt, nearest, same, specials, subnormal
from family import Family

jax.config.update("jax_enable_x64", True)
np.seterr(all="ignore")
OPS = {
    "cast": "input of dtype params.from to dtype params.to. To a float: rounded once to nearest even, "
            "overflow to infinity, nan to nan, -0 kept, subnormal results kept. "
            "Float to integer: toward 0, nan to 0, out of range saturates to the nearest end (JAX; NumPy "
            "leaves it undefined). Integer to integer: low bits kept. To bool: nonzero, nan is true. From "
            "bool: 0 or 1",
    "cast_twice": "values on which rounding through f32 on the way to f16 or bf16 gives another result. out is "
                  "rounded once; alt is the JAX value where JAX rounds twice. Informative if only alt is met",
    "promote": "no tensors: params.a and params.b, the operands' dtypes; params.result, the dtype by the array "
               "API standard, null where the standard leaves it undefined; "
               "params.jax and params.numpy, what these give (informative)",
}
fam = Family("cast", OPS, ("numpy", "jax", "ml_dtypes"))


def convert(x, to):
    """x cast to dtype `to`, by the rules of OPS."""
    src, out = dt(x), np.empty(x.shape, NP[to])
    for i, v in enumerate(x):
        if src in FLOATS:
            f = float(v)
            if f != f:
                out[i] = True if to == "bool" else 0 if to in INTS else np.nan
            elif to == "bool":
                out[i] = f != 0
            elif to in FLOATS:
                if np.isinf(f) or f == 0:
                    out[i] = f
                else:
                    r = nearest(Fraction(f), to)
                    out[i] = r if r != 0 else np.copysign(0.0, f)
            else:
                t = np.iinfo(NP[to])
                out[i] = t.max if f == np.inf else t.min if f == -np.inf else min(max(int(f), t.min), t.max)
        else:
            n = int(v)
            if to == "bool":
                out[i] = n != 0
            elif to in FLOATS:
                out[i] = nearest(Fraction(n), to)
            else:
                t = np.iinfo(NP[to])
                out[i] = (n - t.min) % (1 << t.bits) + t.min
    return out


def values(src, g):
    """Values of dtype src at which a cast to some dtype changes its mind."""
    if src == "bool":
        return np.array([False, True])
    if src in INTS:
        t, v = np.iinfo(NP[src]), set()
        for b in range(0, 65):
            for o in (-1, 0, 1):
                v |= {2**b + o, -2**b + o}
        for p in (8, 11, 24, 53):  # ties and their neighbours at each mantissa width
            for e in (0, 1, 5, 20, 36):
                for m in (2**p + 1, 2**p + 2, 2**p + 3, 2**(p + 1) - 1):
                    v |= {m << e, (m << e) + 1, (m << e) - 1, -(m << e)}
        v |= {65503, 65504, 65519, 65520, 65535, 65536, -65520}
        v |= {int(x) for x in bits(g, src, 40)}
        return np.array(sorted(x for x in v if t.min <= x <= t.max), NP[src])
    v = [float(x) for x in specials(src)]
    for b in (7, 8, 15, 16, 31, 32, 63, 64):
        for o in (-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 1):
            v += [2.0**b + o, -(2.0**b) + o]
        v += [
            float(np.nextafter(2.0**b, 0)),
            float(np.nextafter(2.0**b, np.inf)),
            float(np.nextafter(np.float32(2.0**b), np.float32(0))),
            -float(np.nextafter(np.float32(2.0**b), np.float32(np.inf)))
        ]
    for p in (8, 11, 24):  # ties, just above and just below them, for each narrower mantissa
        for odd in (2**p + 1, 2**p + 3, 2**(p + 1) - 1):
            for e in (-p, -p - 30, 3):
                t = float(odd) * 2.0**e
                v += [t, -t, t * (1 + 2.0**-40), t * (1 - 2.0**-40), t * (1 + 2.0**-20), t * (1 - 2.0**-20)]
    for m in (65504, 65519.99, 65520, 65536, 3.3895313892515355e38, 3.3961775292304957e38, 3.4028234663852886e38,
              3.4028235677973366e38, 3.5e38):
        v += [m, -m]
    for m in (2.0**-24, 2.0**-25, 2.0**-25 * (1 + 2**-20), 3 * 2.0**-25, 2.0**-14, 2.0**-14 - 2.0**-25, 2.0**-133,
              2.0**-134, 3 * 2.0**-134, 2.0**-126, 2.0**-126 - 2.0**-134, 2.0**-149, 2.0**-150,
              2.0**-150 * (1 + 2**-20), 3 * 2.0**-150, 2.0**-126 - 2.0**-150):
        v += [m, -m]
    a = np.array(v, np.float64).astype(NP[src])
    a = np.concatenate([a, bits(g, src, 64), (g.standard_normal(32) * 300).astype(NP[src])])
    u = a.view({2: "u2", 4: "u4", 8: "u8"}[a.dtype.itemsize])
    return u[np.sort(np.unique(u, return_index=True)[1])].view(a.dtype)


def note_difference(who, src, to, x, got, want, bad):
    i = int(np.argmax(bad))
    if bad.any():
        fam.differs[(who, src, to, f"{x[i]!r} gives {got[i]!r} for {want[i]!r}")] = int(bad.sum())


def undefined(x, src, to):
    """Floats out of the range of an integer dtype: NumPy leaves their casts undefined."""
    if src not in FLOATS or to not in INTS:
        return np.zeros(len(x), bool)
    t, f = np.iinfo(NP[to]), x.astype(float)
    return ~(np.isfinite(x) & (f > float(t.min) - 1) & (f < float(t.max) + 1))


def all_dtypes():
    """Every dtype to every dtype."""
    for src in ALL:
        x = values(src, fam.rng(f"cast/{src}"))
        even = np.arange(len(x)) % 2 == 0 if len(x) >= 4 else np.ones(len(x), bool)
        for to in ALL:
            want, plain = convert(x, to), x.astype(NP[to])
            note_difference("numpy", src, to, x, plain, want, ~same(plain, want) & ~undefined(x, src, to))
            got = np.asarray(jnp.asarray(x).astype(NP[to]))
            twice = ~same(got, want) & ~subnormal(x) & ~subnormal(want)
            note_difference("jax", src, to, x, got, want, twice)
            p = {"from": src, "to": to}
            for tag, some in (("even", even & ~twice), ("odd", ~even & ~twice)):
                if some.any():
                    fam.case("cast", f"{src}_{to}/{tag}", [x[some]], [want[some]], p)
            if twice.any():
                fam.case("cast_twice", f"{src}_{to}", [x[twice]], [want[twice]], p, alt=[got[twice]])


def shapes():
    """Casts of other shapes than vectors."""
    for a, b in [(np.zeros((0,), "f4"), "f64"), (np.zeros((2, 0, 3), "i4"), "bf16"), (np.float64(3.7), "i8"),
                 (np.arange(24, dtype="i8").reshape(2, 3, 4), "f16"), (np.ones((1,) * 8, "u1"), "f64"),
                 (np.eye(3, dtype="f4"), "bool")]:
        a = np.asarray(a)
        fam.case("cast", f"shape/{dt(a)}_{b}_{'x'.join(map(str, a.shape))}", [a], [a.astype(NP[b])],
                 {"from": dt(a), "to": b})


def promotions():
    """The promotion table."""
    kinds = {d: "b" if d == "bool" else "i" if d in SIGNED else "u" if d in UNSIGNED else "f" for d in ALL}
    for i, a in enumerate(ALL):
        for b in ALL[i:]:
            ka, kb = kinds[a], kinds[b]
            try:
                n = NAME.get(np.result_type(NP[a], NP[b]))
            except TypeError:
                n = None
            j = NAME[np.dtype(jnp.promote_types(NP[a], NP[b]))]
            if a == b:
                r = a
            elif "bf16" in (a, b) or "bool" in (a, b) or (ka == "f") != (kb == "f"):
                r = None
            elif "u64" in (a, b) and "i" in (ka, kb):
                r = None
            else:
                r = n
            fam.case("promote", f"{a}_{b}", params={"a": a, "b": b, "result": r, "jax": j, "numpy": n})


def make():
    all_dtypes()
    shapes()
    promotions()
