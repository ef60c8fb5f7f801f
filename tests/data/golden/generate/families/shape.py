"""Operations that move elements: slices, pads, permutations, joins, on ranks 0 to 8 and empty extents.

The judge is NumPy; JAX agrees, except where a note says so.
"""
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from common import EXACT, NP, agree, dt, text
from family import Family

jax.config.update("jax_enable_x64", True)
OPS = {
    "slice": "params.slices, one [start, stop, step] for each axis, null where left out, as in Python: "
             "negative counts from the end, out of range is clamped, a negative step walks back",
    "pad": "inputs x, value (scalar); params.config, one [low, high, interior] for each axis: interior "
           "copies of value between neighbours, then low and high edges; negative low or high cut elements "
           "off (lax.pad)",
    "pad_mode": "params.widths, [low, high] for each axis; params.mode edge, reflect, symmetric or wrap "
                "(numpy.pad)",
    "reverse": "params.axes",
    "transpose": "params.permutation; axis i of the result is axis permutation[i] of x",
    "concatenate": "params.axis (may be negative); inputs of one dtype",
    "stack": "params.axis (may be negative), of the result",
    "broadcast_to": "params.shape",
    "broadcast_add": "inputs x, y of one dtype, added after broadcasting from the right",
    "reshape": "params.shape; one -1 is worked out",
    "squeeze": "params.axes (null: all of extent 1)",
    "expand_dims": "params.axes, of the result",
    "repeat": "params.axis, params.repeats (a number, or one for each element)",
    "tile": "params.repeats",
    "roll": "params.axes, params.shifts",
    "split": "params.axis, params.at (positions); several outputs",
    "iota": "params.shape, params.axis, params.dtype; the index along the axis",
    "arange": "params.start, stop, step, dtype; start + i*step",
    "linspace": "params.start, stop, count, endpoint, dtype",
    "eye": "params.rows, columns, diagonal, dtype",
    "tril": "last two axes; params.diagonal; zero above it",
    "triu": "last two axes; params.diagonal; zero below it",
    "diagonal": "last two axes; params.offset",
    "movedim": "params.source, params.destination",
}
fam = Family("shape", OPS, ("numpy", "jax"))
TYPES = ["f64", "i32", "u8", "bool", "i16", "bf16", "f32", "i64", "u16", "f16", "i8", "u64", "u32"]
tick = itertools.count()


def fill(shape, d=None):
    d = d or TYPES[next(tick) % len(TYPES)]
    n = int(np.prod(shape))
    v = np.arange(n) % (2 if d == "bool" else 120)
    return ((v * 7 + 1) % 2 == 1 if d == "bool" else v).astype(NP[d]).reshape(shape)


def other(than):
    d = TYPES[next(tick) % len(TYPES)]
    return d if d != than else other(than)


def emit(op, tag, ins, want, params=None, jx=None, tol=EXACT, **extra):
    want = want if isinstance(want, (list, tuple)) else [want]
    if jx is not None:
        got = jx()
        for g, w in zip(got if isinstance(got, (list, tuple)) else [got], want):
            agree(np.array(g), np.array(w), tol, what=f"{op} {tag}")
    fam.case(op, tag, ins, [np.array(w) for w in want], params, tol=tol, **extra)


def error(op, tag, ins=(), params=None, **extra):
    fam.case(op, "error/" + tag, ins, params=params, expect="error", **extra)


# slice
N = None
SL = [((10,), [s])
      for s in [[N, N, N], [2, 7, N], [N, N, 2], [1, N, 3], [N, N, -1], [7, 2, -1], [7, 2, -2], [-3, N, N], [N, -3, N],
                [-20, 20, N], [20, N, N], [5, 5, N], [7, 2, N], [2, 7, -1], [N, N, 11], [N, N, -11], [-1, -11, -1],
                [9, N, -3], [0, N, -1], [N, 0, -1], [-11, N, 1], [100, -100, -4], [3, -100, -1], [2**40, N, -1],
                [-2**40, 2**40, 3]]]
SL += [((0,), [s]) for s in [[N, N, N], [N, N, -1], [0, 5, 2], [-1, N, N]]] + [((1,), [[N, N, -1]]), ((), [])]
SL += [((4, 5), [[1, 3, N], [N, N, -2]]), ((4, 5), [[N, N, N], [4, 0, -1]]), ((4, 5), [[3, 1, N], [N, N, N]]),
       ((3, 4, 5), [[N, N, 2], [N, N, N], [1, 4, N]]), ((3, 4, 5), [[-1, N, -1], [1, 2, N], [N, N, -3]]),
       ((2, 0, 3), [[N, N, -1], [N, N, N], [1, N, N]]), ((2, 3, 2, 3), [[N, N, -1], [1, N, N], [N, N, N], [N, N, 2]]),
       ((2, 1, 2, 1, 2, 1, 2, 3), [[N, N, -1], [N, N, N]] * 3 + [[1, N, N], [N, N, -2]]),
       ((300, 7), [[5, 290, 7], [N, N, -3]])]


def slices():
    for shape, sl in SL:
        x = fill(shape)
        t = tuple(slice(*s) for s in sl)
        emit("slice", f"{text(shape)}/{sl}/{dt(x)}", [x], x[t], {"slices": sl}, lambda: jnp.asarray(x)[t])
    error("slice", "zero_step", [fill((4,))], {"slices": [[N, N, 0]]})
    error("slice", "too_many_axes", [fill((4,))], {"slices": [[N, N, N], [N, N, N]]})


def padded(x, v, config):
    """lax.pad by hand, axis by axis."""
    for axis, (low, high, inner) in enumerate(config):
        x = np.moveaxis(x, axis, 0)
        if inner and len(x) > 1:
            spread = np.full(((len(x) - 1) * (inner + 1) + 1,) + x.shape[1:], v)
            spread[::inner + 1] = x
            x = spread
        before, after = (np.full((max(n, 0),) + x.shape[1:], v) for n in (low, high))
        x = np.concatenate([before, x, after])
        x = np.moveaxis(x[max(-low, 0):len(x) - max(-high, 0)], 0, axis)
    return np.array(x).astype(v.dtype)


def pads():
    for shape, conf in [((5,), [[2, 1, 0]]), ((5,), [[0, 0, 2]]), ((5,), [[1, 3, 1]]), ((5,), [[-1, -2, 0]]),
                        ((5,), [[-2, 3, 1]]), ((5,), [[-3, -3, 1]]), ((5,), [[-2, -3, 0]]), ((5,), [[-7, 4, 0]]),
                        ((5,), [[4, -7, 0]]), ((0,), [[2, 3, 0]]), ((0,), [[2, 3, 5]]), ((1,), [[0, 0, 4]]), ((), []),
                        ((3, 4), [[1, 0, 0], [0, 2, 1]]), ((3, 4), [[-1, 1, 2], [1, -1, 0]]),
                        ((3, 4), [[0, 0, 0], [0, 0, 0]]), ((2, 0, 3), [[1, 1, 0], [0, 2, 1], [0, 0, 0]]),
                        ((2, 3, 2), [[0, 1, 1], [-1, 0, 0], [1, 1, 0]]),
                        ((2, 1, 2, 1, 2, 1, 1, 2), [[0, 0, 0], [1, 0, 0]] * 4)]:
        for d in ("f64", other("f64")):
            x = fill(shape, d)
            v = np.array(1 if d == "bool" else np.nan if d == "f64" and len(shape) % 2 else 99).astype(NP[d])
            want = np.asarray(lax.pad(x, v, [tuple(c) for c in conf]))
            agree(want, padded(x, v, conf), what=f"pad {shape} {conf}")
            emit("pad", f"{text(shape)}/{conf}/{d}", [x, v], want, {"config": conf})
    error("pad", "negative_interior", [fill((4,), "f64"), np.float64(0)], {"config": [[0, 0, -1]]})
    error("pad", "negative_result", [fill((4,), "f64"), np.float64(0)], {"config": [[-3, -3, 0]]})
    error("pad", "rank", [fill((4,), "f64"), np.float64(0)], {"config": [[0, 0, 0], [0, 0, 0]]})
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        for shape, w in [((5,), [[2, 3]]), ((5,), [[0, 4]]), ((3, 4), [[1, 2], [3, 0]]),
                         ((2, 3, 2), [[1, 1], [0, 2], [1, 0]]), ((3,), [[7, 8]]), ((1,), [[2, 2]])]:
            x = fill(shape, "f64")
            emit("pad_mode", f"{mode}/{text(shape)}/{w}", [x], np.pad(x, w, mode=mode), {"widths": w, "mode": mode},
                 lambda: jnp.pad(x, w, mode=mode))


# reverse, transpose, movedim
SHAPES = [(), (6,), (0,), (3, 4), (3, 0), (2, 3, 4), (2, 1, 3), (2, 3, 2, 3), (1, 2, 3, 1, 2), (2, 1, 2, 2, 1, 2),
          (2, 2, 1, 2, 1, 2, 2), (2, 1, 2, 2, 1, 2, 1, 3), (1, 0, 2, 1, 1, 2, 1, 1)]


def permutations():
    for shape in SHAPES:
        g, r = fam.rng(f"permute/{shape}"), len(shape)
        for k in range(1 if r < 2 else 4):
            x = fill(shape)
            p = [int(v) for v in (g.permutation(r) if k else range(r - 1, -1, -1))]
            emit("transpose", f"{text(shape)}/{p}/{k}/{dt(x)}", [x], x.transpose(p), {"permutation": p},
                 lambda: jnp.transpose(x, p))
            a = sorted(int(v) for v in g.choice(r, int(g.integers(1, r + 1)), False)) if r else []
            if k == 1:
                a = [v - r for v in a]
            emit("reverse", f"{text(shape)}/{a}/{k}/{dt(x)}", [x], np.flip(x, tuple(a)), {"axes": a},
                 lambda: jnp.flip(x, tuple(a)))
        if r:
            s, t = int(g.integers(-r, r)), int(g.integers(-r, r))
            emit("movedim", f"{text(shape)}/{s}_{t}", [x], np.moveaxis(x, s, t), {"source": s, "destination": t},
                 lambda: jnp.moveaxis(x, s, t))
    for shape, p in [((64, 48), [1, 0]), ((33, 5, 17), [2, 0, 1]), ((5, 33, 9), [0, 2, 1])]:
        for d in ("f64", "u8", "bf16", "f32"):
            x = fill(shape, d)
            emit("transpose", f"{text(shape)}/{p}/{d}", [x], x.transpose(p), {"permutation": p})
    error("transpose", "repeated", [fill((2, 3))], {"permutation": [0, 0]})
    error("transpose", "short", [fill((2, 3))], {"permutation": [0]})
    error("transpose", "range", [fill((2, 3))], {"permutation": [0, 2]})
    error("reverse", "range", [fill((2, 3))], {"axes": [2]})
    error("reverse", "repeated", [fill((2, 3))], {"axes": [0, -2]})


def joins():
    for shapes, axis in [([(3,), (4,)], 0), ([(3,), (0,), (2,)], 0), ([(0,), (0,)], 0), ([(2, 3), (4, 3), (1, 3)], 0),
                         ([(2, 3), (2, 1)], 1), ([(2, 3), (2, 1)], -1), ([(2, 0), (2, 3)], 1), ([(0, 3), (0, 3)], 0),
                         ([(0, 3), (0, 2)], 1), ([(2, 3, 2)] * 3, -2), ([(2, 3, 2)], 1),
                         ([(1, 2, 1, 2, 1, 1, 2, 3), (1, 2, 1, 2, 1, 1, 2, 1)], 7), ([(2, 1, 2)] * 12, 1),
                         ([(50, 3), (70, 3)], 0)]:
        for d in ("f64", other("f64")):
            xs = [(fill(s, d).astype(float) + 10 * i).astype(NP[d]) if d != "bool" else fill(s, d)
                  for i, s in enumerate(shapes)]
            emit("concatenate", f"{'_'.join(map(text, shapes))}/{axis}/{d}", xs, np.concatenate(xs, axis),
                 {"axis": axis}, lambda: jnp.concatenate(xs, axis))
    for shape, n, axis in [((), 3, 0), ((4,), 2, 0), ((4,), 2, 1), ((4,), 3, -1), ((2, 3), 3, 1), ((2, 3), 2, -3),
                           ((0, 2), 3, 0), ((2, 0), 2, 2), ((2, 3, 2), 1, 3), ((1, 2, 1, 2, 1, 1, 2), 3, 4),
                           ((3,), 20, 1)]:
        for d in ("f32", other("f32")):
            xs = [(fill(shape, d).astype(float) + 5 * i).astype(NP[d]) if d != "bool" else fill(shape, d)
                  for i in range(n)]
            emit("stack", f"{text(shape)}/{n}/{axis}/{d}", xs, np.stack(xs, axis), {"axis": axis},
                 lambda: jnp.stack(xs, axis))
    error("concatenate", "extent", [fill((2, 3), "f64"), fill((2, 4), "f64")], {"axis": 0})
    error("concatenate", "rank", [fill((2, 3), "f64"), fill((2,), "f64")], {"axis": 0})
    error("concatenate", "axis", [fill((2, 3), "f64"), fill((2, 3), "f64")], {"axis": 2})
    error("concatenate", "scalars", [fill((), "f64"), fill((), "f64")], {"axis": 0})
    error("concatenate", "none", [], {"axis": 0})
    error("stack", "shape", [fill((2, 3), "f64"), fill((3, 2), "f64")], {"axis": 0})
    error("stack", "axis", [fill((2,), "f64"), fill((2,), "f64")], {"axis": 2})
    for shape, axis, at in [((10,), 0, [3, 7]), ((10,), 0, [0, 10]), ((10,), 0, []), ((4, 6), 1, [1, 2, 5]),
                            ((4, 6), -2, [2]), ((0, 3), 1, [1]), ((2, 3, 4), 2, [2, 2])]:
        x = fill(shape)
        emit("split", f"{text(shape)}/{axis}/{at}/{dt(x)}", [x],
             [np.ascontiguousarray(v) for v in np.split(x, at, axis)], {"axis": axis, "at": at},
             lambda: jnp.split(x, np.array(at, int), axis))


def make():
    slices()
    pads()
    permutations()
    joins()
