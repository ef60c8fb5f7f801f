"""Matrix products, general contractions, einsum.

The inputs are small integers, so that every order of summation is exact. The judge is NumPy on 64-bit integers, with
which JAX agrees.
"""
import itertools
import string

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from common import EXACT, NP, UNSIGNED, VALUE, agree, rtol, text
from family import Family

jax.config.update("jax_enable_x64", True)
OPS = {
    "matmul": "x @ y by NumPy's rules: vectors, matrices, leading batch axes that broadcast; scalars are an "
              "error; an empty contraction gives 0",
    "dot_general": "params.contract [[axes of x], [axes of y]], params.batch the same; result: batch, then the rest "
                   "of x, then the rest of y (lax.dot_general); params.dtype: accumulation and result",
    "einsum": "params.spec; with or without ->; repeated letters in an operand are a diagonal; ... broadcasts",
    "tensordot": "params.axes, a number or [[of x], [of y]]",
    "inner": "last axes",
    "outer": "of the flattened inputs",
    "matmul_rounded": "random values in f64 or f32; out is the exact product rounded once; |error| <= rtol * sum "
                      "|x||y|: atol is that for the largest entry",
    "matmul_special": "nan and infinities pass as IEEE says: 0 * inf is nan, also when the other factor is a "
                      "padding-like 0",
}
fam = Family("product", OPS, ("numpy", "jax"))
tick = itertools.count()
TYPES = ["f64", "f32", "i32", "f64", "i64", "u8", "f64", "bf16", "f16", "u32"]


def ints(g, shape, d):
    top = 3 if d in ("bf16", "f16", "u8") else 10
    return g.integers(0 if d in UNSIGNED else -top, top, shape).astype(NP[d])


def emit(op, name, ins, want, params=None, jx=None, tol=EXACT, **extra):
    want = np.asarray(want)
    if jx is not None:
        agree(np.asarray(jx(*[jnp.asarray(i) for i in ins])), want, VALUE if tol == EXACT else tol, what=f"{op} {name}")
    fam.case(op, name, ins, [want], params, tol=VALUE if tol == EXACT else tol, **extra)


def wide(x):
    return x.astype(np.int64)


MM = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((1, 1), (1, 1)), ((1, 5), (5, 1)),
      ((5, 1), (1, 5)), ((2, 0), (0, 3)), ((0, 3), (3, 4)), ((2, 3), (3, 0)), ((0,), (0,)), ((0, 0), (0, 0)),
      ((2, 0), (0,)), ((4, 2, 3), (4, 3, 5)), ((4, 2, 3), (3, 5)), ((2, 3), (4, 3, 5)), ((1, 2, 3), (4, 3, 5)),
      ((2, 1, 2, 3), (5, 3, 2)), ((3,), (4, 3, 2)), ((4, 2, 3), (3,)), ((0, 2, 3), (0, 3, 4)), ((3, 2, 0), (3, 0, 4)),
      ((2, 1, 3, 1, 2, 3), (4, 1, 2, 3, 2)), ((1, 2, 1, 1, 1, 1, 3, 2), (2, 1, 1, 3, 1, 1, 2, 2)), ((17, 33), (33, 19)),
      ((64, 64), (64, 64)), ((1, 100), (100, 1)), ((65, 7), (7, 130)), ((3, 300), (300, 2)), ((130, 3), (3, 5))]


def matmuls():
    for a, b in MM:
        for d in dict.fromkeys(["f64", TYPES[next(tick) % len(TYPES)]]):
            g = fam.rng(f"matmul/{a}/{b}/{d}")
            x, y = ints(g, a, d), ints(g, b, d)
            emit("matmul", f"{text(a)}_{text(b)}/{d}", [x, y],
                 np.matmul(wide(x), wide(y)).astype(NP[d]), None,
                 (lambda p, q: jnp.matmul(p, q, precision="highest")) if d not in ("bf16", "f16") else None)
    for a, b in [((), (3,)), ((3,), ()), ((), ()), ((2, 3), (2, 3)), ((3,), (4,)), ((2, 2, 3), (3, 3, 2)),
                 ((2, 3), (4,)), ((2, 0), (1, 2)), ((0,), (1,))]:
        fam.case("matmul", f"error/{text(a)}_{text(b)}", [np.ones(a), np.ones(b)], expect="error")


DG = [((3,), (3,), [[0], [0]], [[], []]), ((2, 3), (3, 4), [[1], [0]], [[], []]), ((3, 2), (3, 4), [[0], [0]], [[],
                                                                                                                []]),
      ((2, 3), (4, 3), [[1], [1]], [[], []]), ((2, 3), (4, 5), [[], []], [[], []]), ((), (), [[], []], [[], []]),
      ((), (3,), [[], []], [[], []]), ((2, 3), (2, 3), [[0, 1], [0, 1]], [[], []]),
      ((2, 3), (3, 2), [[0, 1], [1, 0]], [[], []]), ((4, 2, 3), (4, 3, 5), [[2], [1]], [[0], [0]]),
      ((2, 4, 3), (3, 5, 4), [[2], [0]], [[1], [2]]), ((4, 3), (4, 3), [[1], [1]], [[0], [0]]),
      ((4, 3), (4, 3), [[], []], [[0, 1], [0, 1]]), ((4, 3), (3, 4), [[], []], [[0, 1], [1, 0]]),
      ((2, 3, 4, 5), (4, 2, 5, 6), [[3], [2]], [[0, 2], [1, 0]]), ((2, 3, 4), (3, 4, 2), [[1, 2], [0, 1]], [[0], [2]]),
      ((2, 0), (0, 3), [[1], [0]], [[], []]), ((0, 3), (3, 2), [[1], [0]], [[], []]),
      ((0, 2, 3), (0, 3, 2), [[2], [1]], [[0], [0]]), ((3, 0), (3, 0), [[1], [1]], [[0], [0]]),
      ((2, 1, 2, 1, 2), (2, 3, 2), [[0, 4], [0, 2]], [[], []]), ((5, 3, 2), (5, 2), [[2], [1]], [[0], [0]]),
      ((1, 2, 1, 2, 1, 3, 1, 2), (2, 2, 3), [[5], [2]], [[1, 3], [0, 1]])]


def dot_generals():
    for k, (a, b, c, t) in enumerate(DG):
        for d in dict.fromkeys(["f64", TYPES[next(tick) % len(TYPES)]]):
            g = fam.rng(f"dg/{k}/{d}")
            x, y = ints(g, a, d), ints(g, b, d)
            la, lb, free = {}, {}, iter(string.ascii_letters)
            for i, j in zip(*t):
                la[i] = lb[j] = next(free)
            bt = [la[i] for i in t[0]]
            for i, j in zip(*c):
                la[i] = lb[j] = next(free)
            ra, rb = [], []
            for i in range(len(a)):
                if i not in la:
                    la[i] = next(free)
                    ra.append(la[i])
            for i in range(len(b)):
                if i not in lb:
                    lb[i] = next(free)
                    rb.append(lb[i])
            spec = "".join(la[i] for i in range(len(a))) + "," + "".join(
                lb[i] for i in range(len(b))) + "->" + "".join(bt + ra + rb)
            acc = {"bf16": "f32", "f16": "f32", "u8": "i32"}.get(d, d)
            w = np.einsum(spec, wide(x), wide(y)).astype(NP[acc])
            jx = None if d == "u8" else lambda p, q: lax.dot_general(p, q, (
                (tuple(c[0]), tuple(c[1])),
                (tuple(t[0]), tuple(t[1]))), precision=lax.Precision.HIGHEST, preferred_element_type=NP[acc])
            emit("dot_general", f"{k}/{d}", [x, y], w, {"contract": c, "batch": t, "dtype": acc}, jx)
    for name, a, b, c, t in [("contract_extent", (2, 3), (4, 2), [[1], [0]], [[], []]),
                             ("batch_extent", (2, 3), (3, 3), [[1], [1]], [[0], [0]]),
                             ("twice", (2, 2), (2, 2), [[0, 0], [0, 1]], [[], []]),
                             ("both", (2, 2), (2, 2), [[0], [0]], [[0], [0]]),
                             ("range", (2,), (2,), [[1], [0]], [[], []]),
                             ("counts", (2, 2), (2, 2), [[0, 1], [0]], [[], []])]:
        fam.case("dot_general", f"error/{name}", [np.ones(a), np.ones(b)],
                 params={"contract": c, "batch": t, "dtype": "f64"}, expect="error")


ES = [("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ij,kj->ki", (2, 3), (4, 3)), ("i,i->", (4,), (4,)),
      ("i,i", (4,), (4,)), ("i,j->ij", (3,), (4,)), ("i,j->ji", (3,), (4,)), ("ii->i", (3, 3)), ("ii->", (3, 3)),
      ("ii", (3, 3)), ("ij->ji", (2, 3)), ("ba", (2, 3)), ("ij->", (2, 3)), ("ij->i", (2, 3)), ("ij->j", (2, 3)),
      ("bij,bjk->bik", (4, 2, 3), (4, 3, 2)), ("bij,jk->bik", (4, 2, 3), (3, 2)), ("bij,bij->b", (3, 2, 4), (3, 2, 4)),
      ("ijk,jil->kl", (2, 3, 4), (3, 2, 5)), ("ij,ij->ij", (2, 3), (2, 3)), ("ij,j->ij", (2, 3), (3,)),
      ("i,ij,j->", (2,), (2, 3), (3,)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
      ("ab,bc,cd,de->ae", (2, 3), (3, 2), (2, 4), (4, 2)), ("...ij,...jk->...ik", (5, 2, 3), (5, 3, 2)),
      ("...ij,jk->...ik", (2, 4, 2, 3), (3, 2)), ("...i->...", (2, 3, 4)), ("i...->...i", (2, 3, 4)),
      ("...,...->...", (2, 1, 3), (4, 1)), ("...ij->...ji", (2, 3)), ("iij->j", (3, 3, 2)), ("iji->ij", (2, 3, 2)),
      ("ij,ik,il->jkl", (2, 2), (2, 3), (2, 2)), ("ii,ij->j", (3, 3), (3, 2)), ("ij,jk->ik", (2, 0), (0, 3)),
      ("ij->i", (2, 0)), ("i->", (0,)), ("bij,bjk->bik", (0, 2, 3), (0, 3, 2)), (",i->i", (), (3,)), (",->", (), ()),
      ("->", ()), ("ij,kl->ijkl", (2, 2), (2, 3)), ("abcd,cdef->abef", (2, 3, 2, 2), (2, 2, 3, 2)),
      ("nhqd,nhkd->nhqk", (2, 2, 3, 4), (2, 2, 5, 4)), ("abcdefgh->hgfedcba", (2, 1, 2, 1, 2, 1, 1, 3)),
      ("ij, jk -> ik", (2, 3), (3, 2)), ("aB,Bc->ac", (2, 3), (3, 2)), ("Ab,bC", (2, 3), (3, 2))]


def einsums():
    for k, (spec, *shapes) in enumerate(ES):
        for d in dict.fromkeys(["f64", ["i32", "f32", "i64", "u32"][next(tick) % 4]]):
            g = fam.rng(f"einsum/{k}/{d}")
            xs = [ints(g, s, d) for s in shapes]
            w = np.asarray(np.einsum(spec, *[wide(x) for x in xs])).astype(NP[d])
            emit("einsum", f"{k}/{spec.replace(' ', '_')}/{d}", xs, w, {"spec": spec},
                 lambda *q: jnp.einsum(spec, *q, precision="highest"))
    for name, spec, *shapes in [("rank", "ijk->i", (2, 3)), ("extent", "ij,jk->ik", (2, 3), (4, 2)),
                                ("diagonal", "ii->i", (2, 3)), ("unknown_output", "ij->ik", (2, 3)),
                                ("repeated_output", "ij->ii", (2, 2)), ("operands", "ij,jk->ik", (2, 3)),
                                ("two_arrows", "ij->j->i", (2, 3)), ("letter", "i1->i", (2, 3)),
                                ("dots", "i..j->ij", (2, 3)), ("too_many", "i,i->i", (2,), (2,), (2,))]:
        fam.case("einsum", f"error/{name}", [np.ones(s) for s in shapes], params={"spec": spec}, expect="error")


def tensordots():
    for a, b, ax in [((2, 3), (3, 4), 1), ((2, 3, 4), (3, 4, 5), 2), ((2, 3), (4, 5), 0),
                     ((2, 3, 4), (4, 3, 2), [[1, 2], [1, 0]]), ((2, 3), (2, 4), [[0], [0]]),
                     ((2, 3, 4), (4, 2), [[-1], [0]]), ((3, 0), (0, 2), 1)]:
        g = fam.rng(f"tensordot/{a}/{b}")
        x, y = ints(g, a, "f64"), ints(g, b, "f64")
        emit("tensordot", f"{text(a)}_{text(b)}", [x, y], np.tensordot(x, y, ax), {"axes": ax},
             lambda p, q: jnp.tensordot(p, q, ax))
    for a, b in [((3,), (3,)), ((2, 3), (4, 3)), ((2, 3), (3,)), ((2, 0), (3, 0)), ((), (2, 3))]:
        g = fam.rng(f"inner/{a}/{b}")
        x, y = ints(g, a, "f64"), ints(g, b, "f64")
        emit("inner", f"{text(a)}_{text(b)}", [x, y], np.inner(x, y), None, jnp.inner)
        emit("outer", f"{text(a)}_{text(b)}", [x, y], np.outer(x, y), None, jnp.outer)


def rounded():
    for d, eps in (("f64", 2.0**-52), ("f32", 2.0**-23)):
        for n, k, m in ((4, 8, 3), (20, 100, 15), (8, 500, 8), (33, 40, 1)):
            g = fam.rng(f"rounded/{d}/{n}/{k}/{m}")
            x, y = g.standard_normal((n, k)).astype(NP[d]), g.standard_normal((k, m)).astype(NP[d])
            xl, yl = x.astype(np.longdouble), y.astype(np.longdouble)
            w = (xl @ yl).astype(NP[d])
            bound = float((np.abs(xl) @ np.abs(yl)).max()) * eps * max(4, k**0.5)
            emit("matmul_rounded", f"{d}/{n}x{k}x{m}", [x, y], w, None,
                 lambda p, q: jnp.matmul(p, q, precision="highest"), rtol(0.0, bound))


def special():
    nan, inf = np.nan, np.inf
    for d in ("f64", "f32"):
        for i, (x, y) in enumerate([([[1, nan], [0, 0]], [[1, 2], [3, 4]]), ([[0, 0]], [[inf], [1]]),
                                    ([[1, 1]], [[inf], [-inf]]), ([[inf, 1]], [[2], [3]]),
                                    ([[0.0, 1.0], [1.0, 0.0]], [[nan, 1], [2, inf]]), ([[-0.0]], [[1.0]])]):
            x, y = np.array(x, NP[d]), np.array(y, NP[d])
            w = np.zeros((x.shape[0], y.shape[1]), NP[d])
            with np.errstate(all="ignore"):
                for t in range(x.shape[1]):
                    w = w + x[:, t:t + 1] * y[t:t + 1]
            emit("matmul_special", f"{d}/{i}", [x, y], w, None, lambda p, q: jnp.matmul(p, q, precision="highest"))


def make():
    matmuls()
    dot_generals()
    einsums()
    tensordots()
    rounded()
    special()
