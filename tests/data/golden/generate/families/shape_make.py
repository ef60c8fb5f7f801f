"""Broadcasts, reshapes, repetitions, and arrays made from numbers. The judge is NumPy; JAX agrees."""
import jax.numpy as jnp
import numpy as np
from jax import lax

from common import NP, agree, dt, text, ulp
from families.shape import emit, error, fill, tick


def broadcasts_to():
    for shape, to in [((), (3,)), ((), ()), ((), (0,)), ((1,), (4,)), ((3,), (2, 3)), ((2, 1), (2, 5)),
                      ((1, 3), (4, 3)), ((1,), (0,)), ((2, 1, 3), (5, 2, 4, 3)), ((0, 1), (0, 3)), ((1, 1), (0, 0)),
                      ((2,), (1, 1, 1, 1, 1, 1, 3, 2)), ((1, 2, 1, 2, 1, 2, 1, 2), (2,) * 8), ((), (1,) * 8),
                      ((3, 1), (3, 0))]:
        x = fill(shape)
        emit("broadcast_to", f"{text(shape)}_{text(to)}/{dt(x)}", [x], np.broadcast_to(x, to), {"shape": list(to)},
             lambda: jnp.broadcast_to(x, to))
    for a, b in [((2, 3), (2, 4)), ((3,), (2,)), ((2,), (0,)), ((3, 1), (2,)), ((2, 2), (2,))]:
        error("broadcast_to", f"{text(a)}_{text(b)}", [fill(a)], {"shape": list(b)})


BC = [((), ()), ((), (3,)), ((3,), ()), ((3,), (1,)), ((1,), (0,)), ((0,), ()), ((2, 1), (1, 3)), ((2, 3), (3,)),
      ((3,), (2, 3)), ((4, 1, 3), (2, 1)), ((1, 1), (0, 5)), ((2, 0, 3), (3,)), ((2, 0, 3), (1, 1, 1)),
      ((5,), (2, 1, 4, 1)), ((2, 1, 3, 1), (1, 4, 1, 5)), ((2, 1, 2, 1, 2), (3, 1, 2, 1)),
      ((2, 1, 2, 1, 2, 1), (1, 2, 1, 2, 1, 2)), ((2, 2, 1, 1, 1, 2, 2), (1, 1, 2, 2, 1)),
      ((2, 1, 2, 1, 2, 1, 2, 1), (1, 2, 1, 2, 1, 2, 1, 2)), ((1,) * 8, (2, 1, 3, 1, 1, 2, 1, 2)),
      ((2, 1, 0, 1, 1, 1, 1, 1), (3, 1, 1, 2, 1, 2, 1)), ((64, 1), (1, 33)), ((7, 1, 9), (5, 1))]


def broadcasts():
    for a, b in BC:
        for d in ("f64", ["i32", "f32", "u8", "i64", "i16"][next(tick) % 5]):
            x, y = fill(a, d), (fill(b, d).astype(int) * 3).astype(NP[d])
            emit("broadcast_add", f"{text(a)}_{text(b)}/{d}", [x, y], np.add(x, y), None, lambda: jnp.add(x, y))
    for a, b in [((2,), (3,)), ((2, 3), (2,)), ((0,), (2,)), ((2, 1, 3), (2, 2)), ((4, 2), (3, 1, 3))]:
        error("broadcast_add", f"{text(a)}_{text(b)}", [fill(a, "f64"), fill(b, "f64")])


def reshapes():
    for shape, to in [((6,), [2, 3]), ((6,), [-1, 2]), ((2, 3), [3, 2]), ((2, 3), [-1]), ((), [1, 1]), ((1,), []),
                      ((0,), [0, 5]), ((0, 3), [0]), ((0, 3), [5, 0, 2]), ((2, 3, 4), [4, -1, 2]),
                      ((24,), [2, 1, 3, 1, 2, 1, 2, 1]), ((2, 0), [-1, 7]), ((2, 3, 4), [2, 12]), ((1,) * 8, [])]:
        x = fill(shape)
        emit("reshape", f"{text(shape)}/{to}/{dt(x)}", [x], x.reshape(to), {"shape": to}, lambda: jnp.reshape(x, to))
    for shape, to in [((6,), [4]), ((6,), [-1, 4]), ((6,), [-1, -1]), ((2, 0), [-1, 0]), ((0,), [1]), ((6,), [-2, -3]),
                      ((), [0])]:
        error("reshape", f"{text(shape)}_{to}", [fill(shape)], {"shape": to})


def extents_of_one():
    for shape, axes in [((1, 3, 1), None), ((1, 3, 1), [0]), ((1, 3, 1), [-1]), ((1, 1), [0, 1]), ((1, 0), [0]),
                        ((), None), ((3,), []), ((1,) * 8, None)]:
        x = fill(shape)
        emit("squeeze", f"{text(shape)}/{axes}", [x], np.squeeze(x, None if axes is None else tuple(axes)),
             {"axes": axes}, lambda: jnp.squeeze(x, None if axes is None else tuple(axes)))
    error("squeeze", "extent", [fill((1, 3))], {"axes": [1]})
    for shape, axes in [((), [0]), ((3,), [0]), ((3,), [1]), ((3,), [-1]), ((2, 3), [0, 2]), ((2, 3), [-1, 0]),
                        ((0,), [1]), ((2, 1), [0, 1, 2, 3, 4, 5])]:
        x = fill(shape)
        emit("expand_dims", f"{text(shape)}/{axes}", [x], np.expand_dims(x, tuple(axes)), {"axes": axes},
             lambda: jnp.expand_dims(x, tuple(axes)))
    error("expand_dims", "range", [fill((2,))], {"axes": [3]})
    error("expand_dims", "repeated", [fill((2,))], {"axes": [0, 0]})
    error("expand_dims", "rank_nine", [fill((1,) * 8)], {"axes": [0]},
          note="rank 9; for a library whose greatest rank is 8")


def repeats():
    for shape, rep, axis in [((3,), 2, 0), ((3,), 0, 0), ((3,), [1, 0, 4], 0), ((2, 3), 2, 1), ((2, 3), [2, 1], 0),
                             ((2, 3), [0, 0, 3], -1), ((0, 2), 3, 1), ((2, 1, 2), 3, 1)]:
        x = fill(shape)
        emit("repeat", f"{text(shape)}/{rep}/{axis}", [x], np.repeat(x, rep, axis), {"repeats": rep, "axis": axis},
             lambda: jnp.repeat(x, np.array(rep), axis))
    for shape, rep in [((3,), [2]), ((3,), [2, 2]), ((2, 3), [2]), ((2, 3), [0, 1]), ((), [3]), ((2, 1, 2), [1, 3, 2]),
                       ((0,), [4])]:
        x = fill(shape)
        emit("tile", f"{text(shape)}/{rep}", [x], np.tile(x, rep), {"repeats": rep}, lambda: jnp.tile(x, rep))
    for shape, sh, axes in [((5,), [2], [0]), ((5,), [-1], [0]), ((5,), [12], [0]),
                            ((5,), [-13], [0]), ((0,), [3], [0]), ((3, 4), [1, -2], [0, 1]), ((3, 4), [1, 1], [1, 1]),
                            ((2, 3, 2), [4], [-2]), ((3, 4), [0], [0])]:
        x = fill(shape)
        emit("roll", f"{text(shape)}/{sh}/{axes}", [x], np.roll(x, sh, axes), {"shifts": sh, "axes": axes},
             lambda: jnp.roll(x, sh, axes))


def makers():
    for shape, axis, d in [((5,), 0, "i32"), ((0,), 0, "f64"), ((2, 3), 0, "u8"), ((2, 3), 1, "f32"),
                           ((2, 3, 4), 1, "i64"), ((300,), 0, "i16"), ((2, 2, 2, 2, 2, 2, 2, 3), 7, "f16"),
                           ((3, 2), 0, "bf16"), ((300,), 0, "u8"), ((300,), 0, "bf16")]:
        w = np.asarray(lax.broadcasted_iota(NP[d], shape, axis))
        n = np.broadcast_to(np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(shape))]),
                            shape).astype(NP[d])
        agree(w, n, what=f"iota {shape} {d}")
        emit(
            "iota", f"{text(shape)}/{axis}/{d}", [], w, {"shape": list(shape), "axis": axis, "dtype": d},
            **({"note": "300 does not fit: integers wrap, bf16 rounds"}
               if shape == (300,) and d in ("u8", "bf16") else {}))
    for a, b, c, d in [(0, 5, 1, "i32"), (2, 11, 3, "i64"), (5, 0, -2, "i32"), (5, 5, 1, "f64"), (5, 0, 1, "i32"),
                       (0, 1, 0.25, "f64"), (-3, 3, 1.5, "f32"), (0, 2, 0.5, "bf16"), (7, -8, -5, "f64"),
                       (250, 256, 1, "u8")]:
        emit("arange", f"{a}_{b}_{c}/{d}", [], np.asarray(jnp.arange(a, b, c, dtype=NP[d])),
             {"start": a, "stop": b, "step": c, "dtype": d}, lambda: np.arange(a, b, c).astype(NP[d]))
    for a, b, n, e, d in [(0, 1, 5, True, "f64"), (0, 1, 5, False, "f64"), (-2, 2, 9, True, "f32"),
                          (3, 3, 4, True, "f64"), (0, 1, 1, True, "f64"), (0, 1, 0, True, "f64"),
                          (0, 1, 11, True, "f64"), (1, -1, 8, False, "f32"), (0, 10, 7, True, "f64")]:
        emit("linspace", f"{a}_{b}_{n}_{e}/{d}", [], np.linspace(a, b, n, endpoint=e, dtype=NP[d]),
             {"start": a, "stop": b, "count": n, "endpoint": e, "dtype": d},
             lambda: jnp.linspace(a, b, n, endpoint=e, dtype=NP[d]), tol=ulp(2))
    for n, m, k, d in [(3, 3, 0, "f64"), (2, 4, 1, "i32"), (4, 2, -1, "f32"), (3, 3, 5, "bool"), (0, 3, 0, "f64")]:
        emit("eye", f"{n}x{m}/{k}/{d}", [], np.eye(n, m, k, dtype=NP[d]),
             {"rows": n, "columns": m, "diagonal": k, "dtype": d}, lambda: jnp.eye(n, m, k, dtype=NP[d]))


def triangles():
    for shape, k in [((3, 4), 0), ((4, 3), 1), ((3, 3), -1), ((2, 3, 3), 0), ((3, 4), -5), ((3, 4), 5), ((0, 3), 0)]:
        x = (fill(shape, "f64") + 1)
        emit("tril", f"{text(shape)}/{k}", [x], np.tril(x, k), {"diagonal": k}, lambda: jnp.tril(x, k))
        emit("triu", f"{text(shape)}/{k}", [x], np.triu(x, k), {"diagonal": k}, lambda: jnp.triu(x, k))
        if abs(k) < 4:
            emit("diagonal", f"{text(shape)}/{k}", [x], np.diagonal(x, k, -2, -1), {"offset": k},
                 lambda: jnp.diagonal(x, k, -2, -1))


def make():
    broadcasts_to()
    broadcasts()
    reshapes()
    extents_of_one()
    repeats()
    makers()
    triangles()
