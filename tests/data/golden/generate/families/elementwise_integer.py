"""Elementwise operations on integers and bool, and those of three operands."""
import jax.numpy as jnp
import numpy as np
from jax import lax

from common import (EXACT, FLOATS, INTS, NP, SIGNED, VALUE, agree, bits, pairs, specials)
from families.elementwise import (binary, bool_of, clz, emit, fam, logical_shift, popcount, trunc_div, trunc_rem,
                                  unary, wrap)


def integers():
    """All integer dtypes."""
    for d in INTS:
        w = NP[d].itemsize * 8
        for op, f, jx in [("neg", np.negative, jnp.negative), ("abs", np.abs, jnp.abs), ("sign", np.sign, jnp.sign),
                          ("bitwise_not", np.invert, jnp.invert), ("population_count", popcount, lax.population_count),
                          ("count_leading_zeros", clz, lax.clz)]:
            unary(op, d, wrap(f), EXACT, jx)
        for op, f, jx in [("add", np.add, jnp.add), ("sub", np.subtract, jnp.subtract),
                          ("mul", np.multiply, jnp.multiply), ("min", np.minimum, jnp.minimum),
                          ("max", np.maximum, jnp.maximum), ("bitwise_and", np.bitwise_and, jnp.bitwise_and),
                          ("bitwise_or", np.bitwise_or, jnp.bitwise_or),
                          ("bitwise_xor", np.bitwise_xor, jnp.bitwise_xor), ("lt", bool_of(np.less), jnp.less),
                          ("ge", bool_of(np.greater_equal), jnp.greater_equal), ("eq", bool_of(np.equal), jnp.equal)]:
            binary(op, d, f if op in ("lt", "ge", "eq") else wrap(f), EXACT, jx, parts=2)
        for op, f, jx in [("floor_divide", np.floor_divide, jnp.floor_divide),
                          ("remainder", np.remainder, jnp.remainder), ("trunc_divide", trunc_div, lax.div),
                          ("trunc_remainder", trunc_rem, lax.rem)]:
            binary(op, d, wrap(f), EXACT, jx, only=lambda a, b: b != 0, parts=2)
        s = specials(d)
        z = np.zeros_like(s)
        for of, f, jx in [("floor_divide", np.floor_divide, jnp.floor_divide),
                          ("remainder", np.remainder, jnp.remainder),
                          ("trunc_divide", lambda a, b: np.zeros_like(a), lax.div),
                          ("trunc_remainder", np.fmod, lax.rem)]:
            fam.case("divide_by_zero", f"{of}/{d}", [s, z], [f(s, z).astype(NP[d])], {"of": of},
                     alt=[np.asarray(jx(jnp.asarray(s), jnp.asarray(z)))], informative=True)
        counts = np.arange(w).astype(NP[d])
        x, y = pairs(s, counts)
        for op, f, jx in [("shift_left", np.left_shift, jnp.left_shift),
                          ("shift_right", np.right_shift, jnp.right_shift),
                          ("shift_right_logical", logical_shift, lax.shift_right_logical)]:
            for k in range(2):
                emit(op, f"{d}/special_{k}", [x[k::2], y[k::2]], f(x[k::2], y[k::2]), EXACT, jx)
        t = np.iinfo(NP[d])
        wide = {w, w + 1, min(2 * w, t.max), t.max} | ({-1, -w, t.min} if d in SIGNED else set())
        wide = np.array(sorted(wide), NP[d])
        x, y = pairs(s, wide)
        for of, f, jx in [("shift_left", np.left_shift, jnp.left_shift),
                          ("shift_right", np.right_shift, jnp.right_shift)]:
            out = f(x, y)
            agree(np.asarray(jx(jnp.asarray(x), jnp.asarray(y))), out, EXACT, what=f"wide {of} {d}")
            fam.case("shift_wide", f"{of}/{d}", [x, y], [out], {"of": of}, informative=True)
        x, y = pairs(s, np.array([0, 1, 2, 3, 5, 10, 31, 63, 100], NP[d]))
        for k in range(2):
            emit("power", f"{d}/special_{k}", [x[k::2], y[k::2]], np.power(x[k::2], y[k::2]), EXACT, jnp.power)
        if d in SIGNED:
            x, y = pairs(s[s != 0], np.array([-1, -2, -3], NP[d]))
            want = np.array([1 if b == 1 or (b == -1 and e % 2 == 0) else -1 if b == -1 else 0 for b, e in zip(x, y)],
                            NP[d])
            fam.case("power_negative", d, [x, y], [want], alt=[np.asarray(jnp.power(x, y))], informative=True)


def comparisons_of_integers():
    """Comparisons and logic of integers."""
    for d in ["i32", "i64", "u32"]:
        for op, f, jx in [("ne", np.not_equal, jnp.not_equal), ("le", np.less_equal, jnp.less_equal),
                          ("gt", np.greater, jnp.greater), ("logical_and", np.logical_and, jnp.logical_and),
                          ("logical_or", np.logical_or, jnp.logical_or)]:
            binary(op, d, f, EXACT, jx, parts=2)
        unary("logical_not", d, np.logical_not, EXACT, jnp.logical_not)


def truth_values():
    """bool."""
    x, y = pairs(specials("bool"), specials("bool"))
    for op, f, jx in [("bitwise_and", np.bitwise_and, jnp.bitwise_and), ("bitwise_or", np.bitwise_or, jnp.bitwise_or),
                      ("bitwise_xor", np.bitwise_xor, jnp.bitwise_xor), ("eq", np.equal, jnp.equal),
                      ("ne", np.not_equal, jnp.not_equal), ("lt", np.less, jnp.less),
                      ("le", np.less_equal, jnp.less_equal), ("min", np.minimum, jnp.minimum),
                      ("max", np.maximum, jnp.maximum), ("logical_and", np.logical_and, jnp.logical_and),
                      ("logical_or", np.logical_or, jnp.logical_or), ("logical_xor", np.logical_xor, jnp.logical_xor)]:
        emit(op, "bool", [x, y], f(x, y), EXACT, jx)
    b = np.array([False, True])
    emit("bitwise_not", "bool", [b], ~b, EXACT, jnp.invert)
    emit("logical_not", "bool", [b], ~b, EXACT, jnp.logical_not)


def three_operands():
    """clip and where."""
    for d in ["f16", "f32", "f64", "i32", "i64", "u32", "u8"]:
        s = specials(d)
        s = s[::4] if d in FLOATS else s[::2]
        x, lo, hi = (a.ravel().copy() for a in np.meshgrid(s, s, s, indexing="ij"))
        for k in range(4):
            a = (x[k::4], lo[k::4], hi[k::4])
            want = np.minimum(np.maximum(a[0], a[1]), a[2])
            agree(np.clip(*a), want, VALUE, what="clip")
            emit("clip", f"{d}/special_{k}", list(a), want, VALUE, jnp.clip)
    for d in ["bool", "i8", "u16", "i32", "u64", "f16", "bf16", "f32", "f64"]:
        for k in range(2):
            g = fam.rng(f"where/{d}/{k}")
            c, x, y = g.integers(0, 2, 200).astype(bool), bits(g, d, 200), bits(g, d, 200)
            emit("where", f"{d}/{k}", [c, x, y], np.where(c, x, y), EXACT, jnp.where)


def make():
    integers()
    comparisons_of_integers()
    truth_values()
    three_operands()
