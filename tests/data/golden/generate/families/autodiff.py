"""Derivatives. The judge of elementwise ones is mpmath, that of compositions JAX.

JAX's derivatives are checked by central differences and by <cotangent, J tangent> = <J' cotangent, tangent>.
"""
from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np

from common import agree, nearest, rtol
from families.autodiff_functions import ELEMENT, FORMULA, SMOOTH, C, V
from family import Family

jax.config.update("jax_enable_x64", True)
np.seterr(all="ignore")
MODES = ("params.mode: jvp (inputs: the operands, then a tangent for each of params.wrt; outputs: the "
         "values, then their tangents), vjp (operands, then a cotangent for each output; outputs: the "
         "values, then the gradients for params.wrt), "
         "second (elementwise, operand x; output f''(x)), hvp (scalar function: operands, then a tangent "
         "for wrt[0]; outputs: the gradient for wrt[0], its derivative along the tangent)")
OPS = {n: "elementwise" + (": " + FORMULA[n] if n in FORMULA else "") for n in ELEMENT}
OPS.update({n: d for n, (d, _) in C.items()})
OPS.update({n: d + ". Informative: JAX's convention" for n, (d, _) in V.items()})
fam = Family("autodiff", OPS, ("jax", "numpy", "mpmath"), modes=MODES)
# Compositions that give a number: with Hessian products.
SCALAR = ("lj_energy", "lj_neighbours", "spring_energy", "mlp", "quadratic", "cross_entropy")


def to_float(v):
    v = mp.re(v)
    return np.float64(0) if v == 0 else nearest(Fraction(*mp.libmp.to_rational(mp.mpf(v)._mpf_)), "f64")


def partials(f, args, order=1):
    """Derivatives of f at one point, by differences at high precision."""
    with mp.workprec(300):
        a = [mp.mpf(float(x)) for x in args]
        h = mp.mpf(2)**-70
        out = []
        for k in range(len(a)):
            up, dn = list(a), list(a)
            up[k] += h
            dn[k] -= h
            out.append((f(*up) - f(*dn)) / (2 * h) if order == 1 else (f(*up) - 2 * f(*a) + f(*dn)) / h**2)
        return f(*a), out


def judged(mf, xs, ts, ct):
    """The values, the derivative along the tangents, and the gradients, by mpmath."""
    want = [partials(mf, p) for p in zip(*xs)]
    with mp.workprec(200):
        tangents = [sum(mp.mpf(float(t[i])) * d for t, d in zip(ts, ds)) for i, (_, ds) in enumerate(want)]
        gradients = [[mp.mpf(float(ct[i])) * ds[k] for i, (_, ds) in enumerate(want)] for k in range(len(xs))]
        return tuple(np.array([to_float(v) for v in some]) for some in ([y for y, _ in want], tangents, *gradients))


def elementwise():
    for name, (jf, mf, ranges) in ELEMENT.items():
        if not fam.wants(name):
            continue
        for part in range(2):
            g = fam.rng(f"{name}/{part}")
            xs = [g.uniform(low, high, 12) for low, high in ranges]
            ts, ct = [g.uniform(-2, 2, 12) for _ in xs], g.uniform(-2, 2, 12)
            J = tuple(map(jnp.asarray, xs))
            got = *jax.jvp(jf, J, tuple(map(jnp.asarray, ts))), *jax.vjp(jf, *J)[1](jnp.asarray(ct))
            y, ty, *gs = map(np.asarray, got)
            if mf is not None:
                want = judged(mf, xs, ts, ct)
                for a, b in zip((y, ty, *gs), want):
                    agree(a, b, rtol(1e-9, 1e-9), what=name)
                y, ty, *gs = want
            r = rtol(1e-10, 1e-11) if name in ("lgamma", "digamma", "erf_inv") else rtol(1e-12, 1e-13)
            wrt = list(range(len(xs)))
            fam.case(name, f"jvp/{part}", xs + ts, [y, ty], {"mode": "jvp", "wrt": wrt}, tol=r)
            fam.case(name, f"vjp/{part}", xs + [ct], [y] + gs, {"mode": "vjp", "wrt": wrt}, tol=r)
            if name in SMOOTH:
                s = np.array([to_float(partials(mf, p, 2)[1][0]) for p in zip(*xs)])
                agree(np.asarray(jax.vmap(jax.grad(jax.grad(jf)))(xs[0])), s, rtol(1e-8, 1e-8), what=f"second {name}")
                fam.case(name, f"second/{part}", xs, [s], {"mode": "second", "wrt": [0]}, tol=rtol(1e-9, 1e-10))


def compose(name, variant, f, args, wrt, modes=("jvp", "vjp"), r=rtol(1e-11, 1e-12), check=True, **extra):
    args = [np.asarray(a) for a in args]
    J = [jnp.asarray(a) for a in args]
    g = fam.rng(f"{name}/{variant}/directions")

    def of(*d):
        a = list(J)
        for k, v in zip(wrt, d):
            a[k] = v
        return tuple(jax.tree.leaves(f(*a)))

    at = tuple(J[k] for k in wrt)
    ts = [np.asarray(g.uniform(-1, 1, args[k].shape), args[k].dtype) for k in wrt]
    y, ty = jax.jvp(of, at, tuple(map(jnp.asarray, ts)))
    y, ty = [np.asarray(v) for v in y], [np.asarray(v) for v in ty]
    if check:
        h = 1e-6
        up, dn = of(*[a + h * t for a, t in zip(at, ts)]), of(*[a - h * t for a, t in zip(at, ts)])
        for a, b, c in zip(up, dn, ty):
            agree(np.asarray((a - b) / (2 * h)), c, rtol(1e-5, 1e-5), what=f"{name} {variant} difference")
    if "jvp" in modes:
        fam.case(name, f"jvp/{variant}", args + ts, y + ty, {"mode": "jvp", "wrt": list(wrt)}, tol=r, **extra)
    if "vjp" in modes:
        cts = [np.asarray(g.uniform(-1, 1, v.shape), v.dtype) for v in y]
        gs = [np.asarray(v) for v in jax.vjp(of, *at)[1](tuple(map(jnp.asarray, cts)))]
        if check:
            a, b = sum(float((c * t).sum()) for c, t in zip(cts, ty)), sum(float((p * t).sum()) for p, t in zip(gs, ts))
            assert abs(a - b) <= 1e-9 * (1 + abs(a)), (name, a, b)
        fam.case(name, f"vjp/{variant}", args + cts, y + gs, {"mode": "vjp", "wrt": list(wrt)}, tol=r, **extra)
    if "hvp" in modes:

        def s(d):
            return of(d)[0]

        gr, hv = jax.jvp(jax.grad(s), (at[0],), (jnp.asarray(ts[0]),))
        if check:
            agree(np.asarray((jax.grad(s)(at[0] + 1e-5 * ts[0]) - jax.grad(s)(at[0] - 1e-5 * ts[0])) / 2e-5),
                  np.asarray(hv), rtol(1e-5, 1e-5), what=f"{name} hvp")
        fam.case(name, f"hvp/{variant}", args + ts[:1], [np.asarray(gr), np.asarray(hv)],
                 {"mode": "hvp", "wrt": [wrt[0]]}, tol=rtol(1e-9, 1e-10), **extra)


def apart(g, shape):
    """Distinct values, no two within 0.05."""
    n = int(np.prod(shape))
    return ((g.permutation(n) - n / 2) * 0.17 + g.uniform(0, 0.1, n)).reshape(shape)


def i32(v):
    return np.array(v, np.int32)


def operands(g, v):
    """Variant v: the operands of each composition, and for which of them it is differentiated."""

    def u(*s):
        return g.uniform(-1.5, 1.5, s)

    def pos(*s):
        return g.uniform(0.4, 1.6, s)

    n = 5 + 2 * v
    lattice = np.array([(a, b, c) for a in range(3) for b in range(2)
                        for c in range(2)][:8 + v]) * 1.15 + g.uniform(-0.06, 0.06, (8 + v, 3))
    nb = np.full((8 + v, 10), -1)
    for i in range(8 + v):
        near = [j for j in range(8 + v) if j != i and ((lattice[i] - lattice[j])**2).sum() < 5.5][:10]
        nb[i, :len(near)] = near
    return {
        "gather": ([u(n), i32([0, 3, 3, -1, 2, 0])], [0]),
        "gather_fill": ([u(n), i32([0, n, -1, -n - 1, 3, 3, 100])], [0]),
        "gather_clip": ([u(n), i32([0, n, -1, -n - 1, 3, 3, 100])], [0]),
        "gather_pairs": ([u(n, 3), i32([0, 1, 1, -1]), i32([2, 0, 0, -3])], [0]),
        "scatter_set": ([u(n, 2), i32([3, 0, -1, n + 4]), u(4, 2)], [0, 2]),
        "scatter_add": ([u(n, 2), i32([3, 0, 3, n, -1, -n - 1]), u(6, 2)], [0, 2]),
        "scatter_mul": ([u(n, 2), i32([3, 0, -1]), u(3, 2)], [0, 2]),
        "segment_sum": ([u(n, 2), i32([0, 3, 1, 1, 5, 0, 2][:n])], [0]),
        "sum_axis": ([u(3, 4)], [0]),
        "mean_all": ([u(3, n)], [0]),
        "max_axis": ([apart(g, (4, 5))], [0]),
        "min_all": ([apart(g, (4, 3))], [0]),
        "prod_axis": ([pos(3, 4)], [0]),
        "logsumexp": ([u(3, 5) * 3], [0]),
        "norm_rows": ([u(4, 3)], [0]),
        "variance": ([u(n)], [0]),
        "where": ([g.integers(0, 2, n).astype(bool), u(n), u(n)], [1, 2]),
        "cumsum": ([u(n, 3)], [0]),
        "cumsum_reverse": ([u(3, n)], [0]),
        "cumprod": ([pos(n, 2)], [0]),
        "cummax": ([apart(g, (n, 2))], [0]),
        "cumlogsumexp": ([u(n, 2)], [0]),
        "sort": ([apart(g, (3, n))], [0]),
        "sort_by_key": ([apart(g, (3, n)), u(3, n)], [0, 1]),
        "top_k_values": ([apart(g, (3, n))], [0]),
        "matvec": ([u(3, n), u(n)], [0, 1]),
        "matmul": ([u(3, n), u(n, 2)], [0, 1]),
        "matmul_batch": ([u(4, 2, 3), u(4, 3, 2) if v else u(3, 2)], [0, 1]),
        "einsum_three": ([u(3), u(3, 4), u(4)], [0, 1, 2]),
        "move": ([u(4, 3)], [0]),
        "pad": ([u(3, 4)], [0]),
        "join": ([u(2, 3), u(4, 3)], [0, 1]),
        "broadcast": ([u(3), u(4)], [0, 1]),
        "roll": ([u(n, 2)], [0]),
        "dynamic_slice": ([u(n, 2), np.int32(3 if v else 99)], [0]),
        "dynamic_update": ([u(n, 2), u(2, 2), np.int32(-1 if v else 1)], [0, 1]),
        "scan_tanh": ([u(3, 3) * 0.5, u(3), u(n, 3)], [0, 1, 2]),
        "scan_reverse": ([u(2), u(n, 2)], [0, 1]),
        "leapfrog": ([u(3), u(3), pos(3)], [0, 1, 2]),
        "cond": ([np.bool_(v), u(3), u(3)], [1, 2]),
        "switch": ([np.int32(2 - v * 3), u(4)], [1]),
        "fori": ([u(4)], [0]),
        "scan_cond": ([np.float64(1.3), apart(g, (8,))], [0, 1]),
        "scan_gather": ([u(4), i32([0, 3, 1, 1, 2, -1])], [0]),
        "stop_gradient": ([u(n)], [0]),
        "safe_sqrt": ([np.array([-1.0, 0.5, 2.0, -0.2, 3.0])], [0]),
        "cast_f32": ([u(n).astype(np.float32).astype(np.float64)], [0]),
        "softmax": ([u(3, 5) * 2], [0]),
        "cross_entropy": ([u(4, 3) * 2, i32([0, 2, 1, 2])], [0]),
        "lj_energy": ([lattice], [0]),
        "lj_neighbours": ([lattice, nb.astype(np.int32)], [0]),
        "spring_energy": ([lattice, i32([[0, 1], [1, 3], [2, 5], [7, 0]]), pos(4) * 10], [0, 2]),
        "mlp": ([u(3, 5) * 0.5, u(5, 2) * 0.5, u(6, 3), u(6, 2)], [0, 1]),
        "quadratic": ([u(4), (lambda a: a + a.T)(u(4, 4))], [0]),
    }


def compositions():
    for v in range(2):
        g = fam.rng(f"data/{v}")
        for name, (args, wrt) in operands(g, v).items():
            modes = ("jvp", "vjp", "hvp") if name in SCALAR else ("jvp", "vjp")
            r = rtol(1e-11, 1e-9) if name.startswith("lj") else rtol(1e-11, 1e-12)
            if name == "cast_f32":
                r = rtol(1e-6, 1e-6)
            compose(name, v, C[name][1], args, wrt, modes, r, check=name not in ("stop_gradient", "cast_f32"))
        x = np.float64([2.0, 7.3][v])
        compose("while_newton", v, C["while_newton"][1], [x], [0], ("jvp",), rtol(1e-9))
        compose("while_doubling", v, C["while_doubling"][1], [g.uniform(0.4, 1.6, 5 + 2 * v)], [0], ("jvp",))
        fam.case("while_newton", f"vjp/{v}", [x, np.float64(1)], params={"mode": "vjp", "wrt": [0]}, expect="error",
                 note="a loop of unknown length has no reverse mode")


# Operands of the conventions, and for which of them they are differentiated.
T = {
    "convention_max_tie": ([[1.0, 2.0, 0.0, -0.0, np.inf, np.nan, 1.0], [1.0, 3.0, -0.0, 0.0, np.inf, 1.0, np.nan]],
        [0, 1]),
    "convention_min_tie": ([[1.0, 2.0, 0.0, -0.0, -np.inf], [1.0, 3.0, -0.0, 0.0, -np.inf]], [0, 1]),
    "convention_maximum_0": ([[-1.0, 0.0, -0.0, 1.0]], [0]),
    "convention_relu": ([[-1.0, 0.0, -0.0, 1.0]], [0]),
    "convention_reduce_max": ([[[1.0, 3.0, 3.0, 2.0], [5.0, 5.0, 5.0, 5.0], [0.0, -0.0, -1.0, -2.0], [1, 2, 3, 4]]],
        [0]),
    "convention_reduce_min": ([[[1.0, 3.0, 1.0, 2.0], [5.0, 5.0, 5.0, 5.0], [0.0, -0.0, 1.0, 2.0], [1, 2, 3, 4]]], [0]),
    "convention_abs": ([[0.0, -0.0, 1.0, -1.0]], [0]),
    "convention_sqrt": ([[0.0, 4.0, -1.0]], [0]),
    "convention_power": ([[0.0, 0.0, 0.0, 0.0, 2.0, 0.0], [2.0, 1.0, 0.0, 3.0, 0.0, 0.5]], [0, 1]),
    "convention_clip": ([[-2.0, -1.0, 0.0, 1.0, 2.0]], [0]),
    "convention_prod": ([[[1.0, 2.0, 3.0], [0.0, 2.0, 3.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]], [0]),
    "convention_sort": ([[[2.0, 1.0, 2.0, 1.0], [3.0, 3.0, 3.0, 3.0]]], [0]),
    "convention_cummax": ([[[1.0, 1.0, 0.0, 1.0], [2.0, 3.0, 3.0, 1.0]]], [0]),
    "convention_norm": ([[[0.0, 0.0], [3.0, 4.0]]], [0]),
    "convention_where_nan": ([[-1.0, 0.0, 2.0]], [0]),
    "convention_atan2": ([[0.0, 0.0, 1.0, -1.0, 0.0], [0.0, 1.0, 0.0, 0.0, -1.0]], [0, 1]),
    "convention_logaddexp": ([[-np.inf, -np.inf, 1.0], [-np.inf, 1.0, 1.0]], [0, 1]),
    "convention_floor": ([[0.0, 1.0, 1.5]], [0]),
    "convention_cumprod": ([[[1.0, 2.0, 3.0, 4.0], [2.0, 0.0, 3.0, 4.0], [0.0, 2.0, 0.0, 4.0]]], [0]),
    "convention_scatter_max": ([[1.0, 2.0, 3.0], i32([0, 0, 1, 2]), [1.0, 1.0, 5.0, 0.0]], [0, 2]),
    "convention_remainder": ([[3.0, -3.0, 1.0, 0.0], [1.5, 1.5, 3.0, 2.0]], [0, 1]),
}


def conventions():
    for name, (args, wrt) in T.items():
        args = [a if isinstance(a, np.ndarray) else np.array(a, np.float64) for a in args]
        for mode in ("jvp", "vjp"):
            try:
                compose(name, "at", V[name][1], args, wrt, (mode,), rtol(1e-12, 1e-12), check=False, informative=True)
            except NotImplementedError:  # JAX has no rule for it
                pass


def make():
    elementwise()
    compositions()
    conventions()
