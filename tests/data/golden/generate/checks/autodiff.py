"""Derivatives, by central differences of the functions in NumPy: rough, but independent of the generator."""
import numpy as np

from checks.functions import FORWARD
from common import rtol, same

NO_SECOND = ("erf", "lgamma")  # not available in long double
NOT_DIFFERENCED = ("stop_gradient", "cast_f32")  # by definition not the derivative of their values


def close(a, b, tol):
    return bool(np.all(same(np.asarray(a, np.float64), np.asarray(b, np.float64), tol)))


def second(f, x, want):
    h = 1e-3
    x = x.astype(np.longdouble)
    got = (-f(x + 2 * h) + 16 * f(x + h) - 30 * f(x) + 16 * f(x - h) - f(x - 2 * h)) / (12 * h * h)
    return close(got, want, rtol(1e-5, 1e-5))


def gradient(f, z):
    g = np.zeros_like(z)
    for i in np.ndindex(*z.shape):
        e = np.zeros_like(z)
        e[i] = 1e-5
        g[i] = (f(z + e) - f(z - e)) / 2e-5
    return g


def hessian_product(f, x, v, k, outs):
    def of(z):
        return f(*x[:k], z, *x[k + 1:])

    g = gradient(of, x[k])
    hv = (gradient(of, x[k] + 1e-4 * v) - gradient(of, x[k] - 1e-4 * v)) / 2e-4
    return (close(g, outs[0], rtol(1e-5, 1e-6 * float(np.abs(g).max() + 1))) and
            close(hv, outs[1], rtol(1e-3, 1e-3 * float(np.abs(hv).max() + 1))))


def values_of(v):
    return [np.asarray(a, np.float64) for a in (v if isinstance(v, tuple) else (v,))]


def difference(f, x, wrt, directions):
    def at(step):
        moved = list(x)
        for k, d in zip(wrt, directions):
            moved[k] = x[k] + step * d
        return values_of(f(*moved))

    return [(a - b) / 2e-6 for a, b in zip(at(1e-6), at(-1e-6))]


def check(case, ins, outs):
    """True, False, or None if the case cannot be judged."""
    name, wrt, mode = case["op"], case["params"]["wrt"], case["params"]["mode"]
    if case.get("expect") == "error" or name not in FORWARD or case.get("informative"):
        return None
    f = FORWARD[name]
    if mode == "second":
        return None if name in NO_SECOND else second(f, ins[0], outs[0])
    if mode == "hvp":
        return hessian_product(f, list(ins[:-1]), ins[-1], wrt[0], outs)
    results = len(outs) // 2 if mode == "jvp" else len(outs) - len(wrt)
    operands = len(ins) - (len(wrt) if mode == "jvp" else results)
    x, given = ins[:operands], ins[operands:]
    ok = all(close(a, b, rtol(1e-9, 1e-9)) for a, b in zip(values_of(f(*x)), outs[:results]))
    if name in NOT_DIFFERENCED:
        return ok
    if mode == "jvp":
        tangents = difference(f, x, wrt, given)
        return ok and all(close(a, b, rtol(1e-5, 1e-5)) for a, b in zip(tangents, outs[results:]))
    g = np.random.default_rng(0)  # <cotangent, J t> is <gradient, t>
    directions = [g.uniform(-1, 1, x[k].shape) for k in wrt]
    left = sum(float((a * b).sum()) for a, b in zip(given, difference(f, x, wrt, directions)))
    right = sum(float((a * b).sum()) for a, b in zip(outs[results:], directions))
    return ok and abs(left - right) <= 1e-5 * (1 + abs(left))
