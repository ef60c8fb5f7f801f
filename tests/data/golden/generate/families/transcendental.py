"""Transcendental functions, correctly rounded by mpmath.

`frac` keeps what the rounding left over, so that errors can be given in fractions of an ulp. `anchors` are the errors
of good libraries on the same arguments.
"""
from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import scipy.special as sc
from jax import lax

from common import LAYOUT, NP, agree, nearest, ordered, pairs, same, ulp
from families.transcendental_inputs import Inputs
from family import Family

jax.config.update("jax_enable_x64", True)
np.seterr(all="ignore")
jsp = jax.scipy.special


def logaddexp(a, b):
    m = max(a, b)
    return m + mp.log1p(mp.exp(-abs(a - b)))


def power(x, y):
    return mp.power(x, y) if x > 0 or y == mp.floor(y) else mp.nan


def cbrt(x):
    return mp.cbrt(x) if x >= 0 else -mp.cbrt(-x)


def rsqrt(x):
    return (1 / np.sqrt(x)).astype(x.dtype)


def erf_inv(x):
    return np.copysign(sc.erfinv(x), x)


def lgamma(x):
    return np.where(np.isinf(x), np.inf, sc.gammaln(x))


def polygamma(library):
    """A library's function. The values at poles, and of orders that have no derivative, are pith's."""
    def f(n, x):
        out = np.array(library(n, x))
        whole, even = (n >= 0) & (n == np.floor(n)) & np.isfinite(n), n / 2 == np.floor(n / 2)
        pole, zeroth = (x <= 0) & (x == np.floor(x)), n == 0
        out[~zeroth & pole & ~even] = np.inf
        out[~zeroth & pole & even] = np.nan
        zero = ~zeroth & (x == 0) & even
        out[zero] = np.copysign(np.inf, -x[zero])
        out[~zeroth & (x == np.inf)] = (np.where(even, -0.0, 0.0)[~zeroth & (x == np.inf)]).astype(out.dtype)
        out[zeroth] = lgamma_slope(x[zeroth])
        out[~whole | (x == -np.inf) | np.isnan(x)] = np.nan
        return out
    return f


def lgamma_slope(x):
    return np.where((x < 0) & (x == np.floor(x)), np.nan, np.where(x == 0, np.copysign(np.inf, -x), sc.digamma(x)))


# Name: the judge, NumPy or SciPy, JAX, meaning, tolerance in ulp for f64 and for f32.
F = {
    "exp": (mp.exp, np.exp, jnp.exp, "e**x", 2, 2),
    "exp2": (lambda x: mp.power(2, x), np.exp2, jnp.exp2, "2**x", 2, 2),
    "expm1": (mp.expm1, np.expm1, jnp.expm1, "e**x - 1", 2, 2),
    "log": (mp.log, np.log, jnp.log, "natural", 2, 2),
    "log2": (lambda x: mp.log(x) / mp.log(2), np.log2, jnp.log2, "", 2, 2),
    "log10": (lambda x: mp.log(x) / mp.log(10), np.log10, jnp.log10, "", 2, 2),
    "log1p": (mp.log1p, np.log1p, jnp.log1p, "log(1 + x)", 2, 2),
    "sin": (mp.sin, np.sin, jnp.sin, "any finite argument", 2, 2),
    "cos": (mp.cos, np.cos, jnp.cos, "any finite argument", 2, 2),
    "tan": (mp.tan, np.tan, jnp.tan, "any finite argument", 4, 4),
    "asin": (mp.asin, np.arcsin, jnp.arcsin, "", 2, 4),
    "acos": (mp.acos, np.arccos, jnp.arccos, "", 2, 2),
    "atan": (mp.atan, np.arctan, jnp.arctan, "", 2, 2),
    "sinh": (mp.sinh, np.sinh, jnp.sinh, "", 4, 4),
    "cosh": (mp.cosh, np.cosh, jnp.cosh, "", 4, 4),
    "tanh": (mp.tanh, np.tanh, jnp.tanh, "", 4, 4),
    "asinh": (mp.asinh, np.arcsinh, jnp.arcsinh, "", 4, 4),
    "acosh": (mp.acosh, np.arccosh, jnp.arccosh, "", 4, 4),
    "atanh": (mp.atanh, np.arctanh, jnp.arctanh, "", 4, 4),
    "cbrt": (cbrt, np.cbrt, jnp.cbrt, "cube root, negative too", 4, 4),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), rsqrt, lax.rsqrt, "1/sqrt(x)", 2, 2),
    "erf": (mp.erf, sc.erf, jsp.erf, "", 4, 4),
    "erfc": (mp.erfc, sc.erfc, jsp.erfc, "1 - erf(x)", 8, 8),
    "erf_inv": (mp.erfinv, erf_inv, jsp.erfinv, "inverse of erf", 8, 8),
    "lgamma": (lambda x: mp.re(mp.loggamma(x)), lgamma, jsp.gammaln, "log |gamma(x)|", 8, 8),
    "digamma": (mp.digamma, sc.digamma, jsp.digamma, "derivative of lgamma", 8, 8),
    "logistic": (lambda x: 1 / (1 + mp.exp(-x)), sc.expit, jax.nn.sigmoid, "1/(1 + exp(-x))", 4, 4),
    "power": (power, np.power, jnp.power, "x**y; negative x only with integral y", 2, 4),
    "atan2": (mp.atan2, np.arctan2, jnp.arctan2, "inputs y, x", 4, 4),
    "hypot": (mp.hypot, np.hypot, jnp.hypot, "sqrt(x*x + y*y) without overflow", 2, 4),
    "polygamma": (lambda n, x: mp.psi(int(n), x), polygamma(sc.polygamma), polygamma(lax.polygamma),
                  "inputs n, x: derivative n of digamma at x", 8, 8),
    "logaddexp": (logaddexp, np.logaddexp, jnp.logaddexp, "log(exp(x) + exp(y))", 4, 4),
}
TWO_OPERANDS = ("power", "atan2", "hypot", "polygamma", "logaddexp")
# Absolute allowances for f64 by group of arguments: near roots, and where logaddexp cancels.
ALLOWED = {
    "lgamma": {"wide": 1e-13, "hard": 1e-13, "near": 4e-15},
    "digamma": {"wide": 1e-14, "hard": 1e-14, "near": 4e-15},
    "logaddexp": {},
}
WORST = {"informative": True,
         "note": "arguments next to multiples of pi/2, found by continued fractions; glibc 2.36 is off by up to 25000 "
                 "ulp here, other libraries are not"}
anchors = {}
fam = Family("transcendental", {name: row[3] for name, row in F.items()}, ("mpmath", "numpy", "scipy", "jax"),
             frac="frac (i8): (true value - out) / ulp(out) is frac/254 to within 1/508; the error of got in ulp is "
                  "|steps(got, out) - frac/254|",
             anchors_are="largest error in ulp of NumPy or SciPy and of JAX on these arguments, without subnormals and "
                         "what the absolute allowance covers",
             anchors=anchors)


def tolerance(name, d, tag):
    n = F[name][4 if d == "f64" else 5]
    if name not in ALLOWED:
        return ulp(n)
    return ulp(n, ALLOWED[name].get(tag, 4e-16) * (1 if d == "f64" else 5e8))


# ---- Exact values ----


def exact(f, args):
    """f at the given doubles: the precision grows until two results agree to 2**-90."""
    last = None
    for precision in (170, 420, 1300, 3200, 6000):
        with mp.workprec(precision):
            v = mp.mpf(f(*[mp.mpf(float(a)) for a in args]))
            if last is not None and (v == last or (v != 0 and abs((v - last) / v) < mp.mpf(2)**-90)):
                return v
            last = v
    raise ArithmeticError(f"{f} at {args} does not settle: {last}")


def rounded(v, d):
    """v rounded to dtype d, and what remains, in 1/254 ulp."""
    digits, least, top = LAYOUT[d]
    sign, mantissa, exponent, width = v._mpf_
    if mantissa == 0:
        return NP[d].type(0), 0
    if exponent + width > top + 2:
        return NP[d].type(-np.inf if sign else np.inf), 0
    if exponent + width < least - 200:
        return NP[d].type(-0.0 if sign else 0.0), 0
    q = Fraction(int(mantissa)) * Fraction(2)**exponent * (-1 if sign else 1)
    r = nearest(q, d)
    if not np.isfinite(r):
        return r, 0
    if r == 0:
        return NP[d].type(-0.0 if sign else 0.0), int(round(float(q / Fraction(2)**least) * 254))
    e = int(np.frexp(np.float64(r))[1]) - digits
    return r, int(round(float((q - Fraction(float(r))) / Fraction(2)**max(e, least)) * 254))


def rounded_all(name, d, args):
    judge, library, *_ = F[name]
    out, frac = np.empty(len(args[0]), NP[d]), np.empty(len(args[0]), np.int8)
    for i in range(len(out)):
        a = [x[i] for x in args]
        if len(a) == 1 and a[0] == 0:  # the sign of the zero counts
            out[i], frac[i] = library(np.array([a[0]], NP[d]))[0], 0
        else:
            out[i], frac[i] = rounded(exact(judge, a), d)
    return out, frac


# ---- Errors of libraries ----


def ulp_errors(got, out, frac):
    finite = np.isfinite(got) & np.isfinite(out)
    steps = np.array([int(a) - int(b) for a, b in zip(ordered(got), ordered(out))], float)
    errors = np.abs(steps - frac / 254.0)
    errors[~finite] = np.where(same(got[~finite], out[~finite]), 0, np.inf) if (~finite).any() else 0
    return errors


def measure(worst, name, d, tag, args, out, frac):
    """Note the largest error of each library among normal numbers."""
    _, library, jx, *_ = F[name]
    tiny = np.finfo(NP[d]).tiny
    normal = ((out == 0) | (np.abs(out) >= tiny)) & np.all([np.abs(a) >= tiny for a in args], axis=0)
    tol = tolerance(name, d, tag)
    results = {"numpy_or_scipy": np.asarray(library(*args)).astype(NP[d]),
               "jax_cpu": np.asarray(jx(*[jnp.asarray(a) for a in args]))}
    for who, got in results.items():
        e = ulp_errors(got, out, frac)
        if "atol" in tol:
            e[np.isfinite(out) & (np.abs(got.astype(float) - out.astype(float)) <= tol["atol"])] = 0
        key = who + ("_worst" if tag == "worst" else "")
        if normal.any():
            worst[key] = max(worst.get(key, 0.0), float(e[normal].max()))


# ---- Cases ----


def in_domain(name, args):
    x = args[0]
    ok = np.all([np.isfinite(a) for a in args], axis=0)
    if name in ("log", "log2", "log10", "rsqrt"):
        ok &= x > 0
    elif name in ("lgamma", "digamma"):
        ok &= ~((x <= 0) & (x == np.floor(x)))
    elif name == "log1p":
        ok &= x > -1
    elif name in ("asin", "acos", "atanh", "erf_inv"):
        ok &= np.abs(x) < 1
    elif name == "acosh":
        ok &= x >= 1
    elif name == "polygamma":
        ok &= ~((args[1] <= 0) & (args[1] == np.floor(args[1])))
    elif name == "power":
        ok &= (x > 0) | ((x < 0) & (args[1] == np.round(args[1])))
    return ok


def arguments(name, d):
    """About 2,000 arguments in groups; cases of 250."""
    worst = {"numpy_or_scipy": 0.0, "jax_cpu": 0.0}
    for tag, args in getattr(Inputs(d, fam.rng(f"{name}/{d}")), name)().items():
        args = args if isinstance(args, tuple) else (args,)
        args = [np.asarray(a, np.float64).astype(NP[d]) for a in args]
        ok = in_domain(name, args)
        args = [a[ok] for a in args]
        out, frac = rounded_all(name, d, args)
        keys = WORST if tag == "worst" and d == "f64" else {}
        for k in range(0, len(out), 250):
            s = slice(k, k + 250)
            fam.case(name, f"{d}/{tag}_{k // 250}", [a[s] for a in args], [out[s]], tol=tolerance(name, d, tag),
                     frac=[frac[s]], **keys)
        measure(worst, name, d, tag, args, out, frac)
    anchors[f"{name}/{d}"] = {k: round(v, 2) if v < 1e6 else "over 1e6" for k, v in worst.items()}


def special(name, d):
    """Arguments for which C's Annex F, or the limit, gives the value."""
    judge, library, jx, *_ = F[name]
    big, inf, nan = float(np.finfo(NP[d]).max), np.inf, np.nan
    if name in TWO_OPERANDS:
        s = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, inf, -inf, nan, big, -big], NP[d])
        orders = np.array([0.0, 1.0, 2.0, 3.0, -1.0, 0.5, inf, -inf, nan], NP[d])
        args = list(pairs(orders if name == "polygamma" else s, s))
    else:
        args = [np.array([0.0, -0.0, 1.0, -1.0, inf, -inf, nan, big, -big, 2.0, -2.0, -3.0, 1.5, -1.5], NP[d])]
    out = np.asarray(library(*args)).astype(NP[d])
    want = out.copy()
    plain = np.all([np.isfinite(a) & (a != 0) for a in args], axis=0) & np.isfinite(out) & (out != 0)
    for i in np.argwhere(plain).ravel():
        want[i] = rounded(exact(judge, [a[i] for a in args]), d)[0]
    agree(out, want, ulp(8, 4e-16 if d == "f64" else 1e-6), what=f"special {name}")
    got = np.asarray(jx(*[jnp.asarray(a) for a in args]))
    bad = ~same(got, want, ulp(16, 1e-6 if d == "f32" else 1e-14))
    signs = (got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want))
    if (bad | signs).any():
        fam.differs[(name, d, "special")] += int((bad | signs).sum())
    alt = [np.where(bad, got, want).astype(NP[d])] if bad.any() else None
    fam.case(name, f"{d}/special", args, [want], tol=tolerance(name, d, "special"), alt=alt)


def make():
    for section in (arguments, special):
        for name in filter(fam.wants, F):
            for d in ("f64", "f32"):
                section(name, d)
