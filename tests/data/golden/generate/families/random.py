"""Random numbers from counters, with both settings of jax_threefry_partitionable.

The judge is JAX. Bits, uniform, bernoulli, randint and permutation are also computed by random_reference.py.
"""
import itertools
import math
import subprocess
import sys
from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np

from common import EXACT, FLOATS, INTS, NP, SIGNED, UNSIGNED, agree, bits, nearest, rtol, text, ulp
from families import random_reference as ref
from families.random_reference import key_of
from family import Family

jax.config.update("jax_enable_x64", True)
np.seterr(all="ignore")

PART = "params.partitionable: the setting jax_threefry_partitionable. Input: key u32[2]. "
OPS = {
    "threefry2x32": "inputs key u32[2], x0, x1; outputs y0, y1: 20 rounds on each pair (Random123's threefry2x32)",
    "seed": "params.seed, a decimal string; out u32[2]: the high and the low word of the 64-bit two's complement seed. "
            "params.x64 false: JAX without 64-bit types keeps the low word, and the high word is 0 (informative)",
    "split": PART + "params.shape; out u32[shape..., 2]. Partitionable: key i is threefry2x32(key, high word of i, low "
                    "word of i). Otherwise: threefry2x32 on iota(2n) cut into two halves, x0 and x1; the results are "
                    "joined and reshaped",
    "fold_in": "input key; params.data in 0..2**32-1; out u32[2] = threefry2x32(key, (0, data)) in both settings",
    "bits": PART + "params.shape, params.dtype. Partitionable: (y0, y1) = threefry2x32(key, high, low word of the flat "
                   "index); u64 is y0 << 32 | y1, u32 is y0 ^ y1, u16 and u8 are the low bits of y0 ^ y1. Otherwise: n "
                   "words from threefry2x32 on iota(n), padded with one 0 if n is odd and cut into halves; u64 from 2n "
                   "words, high words first; u16 and u8 from the low end of the words",
    "uniform": PART + "params.shape, params.dtype; [0, 1): the top mantissa bits of bits(as wide as dtype; bf16: 8 "
                      "bits) under the exponent of 1, minus 1",
    "uniform_range": PART + "as uniform; params.minval, maxval: max(minval, u*(maxval - minval) + minval)",
    "normal": PART + "sqrt(2)*erf_inv(u), u = uniform_range from nextafter(-1, 0) to 1; out is the correctly rounded "
                     "value, alt is JAX's",
    "randint": PART + "params.minval, maxval (decimal strings), params.dtype; [minval, maxval); k1, k2 = split; span = "
                      "maxval - minval (1 if empty); m = (2**(w/2) % span)**2 % span; ((bits(k1) % span)*m + bits(k2) "
                      "% span) % span + minval, all in unsigned w bits; 8- and 16-bit types draw in 32 bits and are "
                      "cut; maxval may be one more than the greatest value of the type",
    "permutation": PART + "params.n: of range(n), i64; with an input x: of its slices along params.axis; "
                          "ceil(3 ln(n)/ln(2**32-1)) rounds, each: key, sub = split(key); stable sort by bits(sub) u32",
    "permutation_independent": PART + "input x; params.axis; each slice along the axis is shuffled separately, as "
                                      "permutation does with bits of the shape of x",
    "choice": PART + "params.n, shape, replace; i64. With replacement: randint(0, n, i64); without: permutation, cut",
    "choice_weighted": PART + "inputs key, p (of any sum); params.shape, replace. With replacement: searchsorted("
                              "cumsum p, total*(1 - uniform), left); without: the greatest of gumbel + log p, as top_k",
    "bernoulli": PART + "inputs key, p; params.shape; uniform of p's dtype < p",
    "exponential": PART + "-log1p(-uniform)",
    "gumbel": PART + "-log(-log(u)), u = uniform_range(least normal, 1)",
    "categorical": PART + "input logits; params.axis, shape; argmax of logits plus gumbel, whose shape is that of the "
                          "logits with shape before it",
    "truncated_normal": PART + "params.lower, upper; clamped to the open interval",
    "uniform_batch": PART + "input keys u32[n, 2]; each key draws params.shape",
    "key_chain": PART + "params.length; each step: key, sub = split(key); out the subs u32[length, 2] and the last key",
}
fam = Family("random", OPS, ("jax", "numpy", "mpmath"),
             default_partitionable=bool(jax.config.jax_threefry_partitionable))
SEEDS = [0, 1, 42, 2**31, 2**32 - 1, 2**63, -1, 123456789012345]
MORE_SEEDS = [2**32, 2**32 + 1, 2**63 - 1, -2**63, -2**31, -2, 7, 0xDEADBEEFCAFEF00D]
tick = itertools.count()


def next_key():
    return key_of(SEEDS[next(tick) % len(SEEDS)])


def wrap(k):
    return jax.random.wrap_key_data(jnp.asarray(k), impl="threefry2x32")


def data_of(keys):
    return np.asarray(jax.random.key_data(keys))


def emit(part, op, name, ins, outs, params=None, check=None, tol=EXACT, **keys):
    """A case of one setting; `check` is what the second judge finds."""
    if check is not None:
        agree(outs[0], check, tol, what=f"{op} {name}")
    setting = "part" if part else "original"
    fam.case(op, f"{setting}/{name}", ins, outs, {"partitionable": part, **(params or {})}, tol=tol, **keys)


# ---- Independent of the setting ----


def blocks():
    ones = (0xFFFFFFFF,) * 2
    known = [((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)), (ones, ones, (0x1CB996FC, 0xBB002BE7)),
             ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0))]
    for i, (k, c, y) in enumerate(known):
        got = ref.block(k, [c[0]], [c[1]])
        assert (int(got[0][0]), int(got[1][0])) == y, (i, got)
        ins = [np.array(k, np.uint32), np.array([c[0]], np.uint32), np.array([c[1]], np.uint32)]
        fam.case("threefry2x32", f"random123/{i}", ins, [np.array([v], np.uint32) for v in y])
    for i in range(4):
        g = fam.rng(f"block/{i}")
        k, a, b = bits(g, "u32", 2), bits(g, "u32", 50), bits(g, "u32", 50)
        fam.case("threefry2x32", f"any/{i}", [k, a, b], list(ref.block(k, a, b)))


def keys_without_x64(seeds):
    """JAX's keys without 64-bit types, which one process cannot have beside the others."""
    code = "import jax, sys; [print(*map(int, jax.random.key_data(jax.random.key(int(s))))) for s in sys.argv[1:]]"
    out = subprocess.run([sys.executable, "-W", "ignore", "-c", code, *map(str, seeds)], stdout=subprocess.PIPE,
                         text=True, check=True).stdout
    return dict(zip(seeds, (tuple(map(int, line.split())) for line in out.splitlines())))


def seeds():
    some = sorted(set(SEEDS + MORE_SEEDS))
    narrow = keys_without_x64([s for s in some if -2**63 <= s < 2**63])
    for s in some:
        got = data_of(jax.random.key(s if s < 2**63 else np.uint64(s)))
        agree(got, key_of(s), what=f"seed {s}")
        fam.case("seed", str(s), outs=[got], params={"seed": str(s), "x64": True})
        if s in narrow and narrow[s] != tuple(int(v) for v in got):
            fam.case("seed", f"{s}/x32", outs=[np.array(narrow[s], np.uint32)], params={"seed": str(s), "x64": False},
                     informative=True)


# ---- For each setting ----


def splits(part):
    for s in SEEDS:
        k = key_of(s)
        for n in range(1, 11):
            if s in (0, -1) or n in (1, 2, 3, 7):
                got = data_of(jax.random.split(wrap(k), n))
                emit(part, "split", f"{s}/{n}", [k], [got], {"shape": [n]}, ref.split(k, (n,), part))
        for d in (0, 1, 2, 1000, 2**31 - 1, 2**31, 2**32 - 1) if part else ():
            got = data_of(jax.random.fold_in(wrap(k), np.uint32(d)))
            agree(got, np.array([v[0] for v in ref.block(k, [0], [d])], np.uint32), what="fold_in")
            fam.case("fold_in", f"{s}/{d}", [k], [got], {"data": d})
    for shape in ((2, 3), (0,), (1, 1), (2, 0), (3, 1, 2), ()):
        k = key_of(42)
        got = data_of(jax.random.split(wrap(k), shape))
        emit(part, "split", f"shape/{text(shape)}", [k], [got], {"shape": list(shape)}, ref.split(k, shape, part))


def draws_of_bits(part):
    for d in UNSIGNED:
        for shape in ((), (1,), (2,), (3,), (5,), (7,), (8,), (0,), (3, 5), (2, 0, 3), (127,), (2, 3, 2), (33, 3),
                      (1, 2, 1, 3, 1, 2, 1, 1)):
            k = next_key()
            got = np.asarray(jax.random.bits(wrap(k), shape, NP[d]))
            emit(part, "bits", f"{d}/{text(shape)}", [k], [got], {"shape": list(shape), "dtype": d},
                 ref.bits(k, d, shape, part))


def uniforms(part):
    for d in FLOATS:
        for shape in ((), (1,), (4,), (5,), (0,), (3, 5), (257,), (2, 3, 2)):
            k = next_key()
            got = np.asarray(jax.random.uniform(wrap(k), shape, NP[d]))
            emit(part, "uniform", f"{d}/{text(shape)}", [k], [got], {"shape": list(shape), "dtype": d},
                 ref.uniform(k, d, shape, part))
        if d not in ("f32", "f64"):
            continue
        for low, high in ((-1.0, 1.0), (0.1, 0.7), (-3.0, 5.0), (2.0, 2.0), (5.0, 1.0), (0.0, 1e30), (-1e-3, 0.0)):
            k = next_key()
            got = np.asarray(jax.random.uniform(wrap(k), (40,), NP[d], low, high))
            emit(part, "uniform_range", f"{d}/{low}_{high}", [k], [got],
                 {"shape": [40], "dtype": d, "minval": low, "maxval": high},
                 tol=ulp(1, float(max(abs(low), abs(high)) * np.finfo(NP[d]).eps)))


def quantile(u, d):
    """sqrt(2)*erf_inv(u), correctly rounded."""
    with mp.workprec(200):
        v = mp.sqrt(2) * mp.erfinv(mp.mpf(float(u)))
        return NP[d].type(0) if v == 0 else nearest(Fraction(*mp.libmp.to_rational(v._mpf_)), d)


def normals(part):
    for d in ("f32", "f64"):
        low, one = np.nextafter(NP[d].type(-1), NP[d].type(0)), NP[d].type(1)
        for shape in ((), (1,), (5,), (3, 4), (0,), (101,), (2, 3, 5), (1000,)):
            k = next_key()
            u = np.asarray(jax.random.uniform(wrap(k), shape, NP[d], low, one))
            z = np.asarray(jax.random.normal(wrap(k), shape, NP[d]))
            true = np.array([quantile(v, d) for v in u.ravel()], NP[d]).reshape(shape)
            agree(z, true, rtol(2e-5 if d == "f32" else 1e-9, 0), what=f"normal {d} {shape}")
            p = {"shape": list(shape), "dtype": d}
            emit(part, "uniform_range", f"{d}/open/{text(shape)}", [k], [u], {**p, "minval": float(low), "maxval": 1.0})
            emit(part, "normal", f"{d}/{text(shape)}", [k], [true], p, tol=ulp(16), alt=[z])


def ranges(d):
    t = np.iinfo(NP[d])
    some = [(0, 1), (0, 10), (t.min, t.max), (t.min, t.max + 1), (3, 3), (7, 2), (0, t.max + 1),
            (1, 2**(t.bits // 2 - 1) + 1)]
    return dict.fromkeys(some + ([(-5, 5), (t.min, 0)] if d in SIGNED else []))


def randints(part):
    shapes = [(11,), (), (3, 4), (0,), (6,), (25,)]
    for d in INTS:
        kind = np.uint64 if d == "u64" else np.int64
        t = np.iinfo(kind)
        for low, high in ranges(d):
            k, shape = next_key(), shapes[next(tick) % 6]
            want = ref.randint(k, low, high, d, shape, part)
            p = {"shape": list(shape), "dtype": d, "minval": str(low), "maxval": str(high)}
            name = f"{d}/{low}_{high}/{text(shape)}"
            if high > t.max:  # JAX has no number for one more than the greatest value of 64 bits
                emit(part, "randint", name, [k], [want], p, informative=True)
                continue
            a, b = jnp.asarray(np.array(low, kind)), jnp.asarray(np.array(high, kind))
            got = np.asarray(jax.random.randint(wrap(k), shape, a, b, NP[d]))
            emit(part, "randint", name, [k], [got], p, want)


def permutations(part):
    for n in (0, 1, 2, 3, 7, 10, 100, 1000, 1700):
        k = next_key()
        got = np.asarray(jax.random.permutation(wrap(k), n)).astype(np.int64)
        emit(part, "permutation", f"{n}", [k], [got], {"n": n}, ref.permutation(k, n, part))
    for shape, axis in (((5,), 0), ((4, 3), 0), ((4, 3), 1), ((2, 5, 2), -2), ((1, 4), 0), ((0, 3), 0), ((1700, 2), 0)):
        k, x = next_key(), np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
        got = np.asarray(jax.random.permutation(wrap(k), x, axis=axis))
        emit(part, "permutation", f"array/{text(shape)}/{axis}", [k, x], [got], {"axis": axis},
             np.take(x, ref.permutation(k, shape[axis], part), axis))
        if shape[axis] and len(shape) > 1 and x.size < 1000:
            got = np.asarray(jax.random.permutation(wrap(k), x, axis=axis, independent=True))
            emit(part, "permutation_independent", f"{text(shape)}/{axis}", [k, x], [got], {"axis": axis})


def choices(part):
    for n, shape, again in ((5, (), True), (5, (7,), True), (10, (2, 3), True), (5, (5,), False), (10, (3,), False),
                            (10, (2, 2), False), (100, (30,), True), (5, (0,), True)):
        k = next_key()
        if again:
            want = ref.randint(k, 0, n, "i64", shape, part)
        else:
            want = ref.permutation(k, n, part)[:math.prod(shape)].reshape(shape)
        got = np.asarray(jax.random.choice(wrap(k), n, shape, again)).astype(np.int64)
        emit(part, "choice", f"{n}/{text(shape)}/{again}", [k], [got], {"n": n, "shape": list(shape), "replace": again},
             want)


def draws_by_weight(part, d):
    weights = (([0.1, 0.2, 0.3, 0.4], (20,), True), ([1, 0, 3, 0], (12,), True), ([0.25] * 4, (4,), False),
               ([5, 1, 1, 1, 8, 2], (3,), False), ([0, 1], (5,), True))
    for i, (p, shape, again) in enumerate(weights):
        k, p = next_key(), np.array(p, NP[d])
        got = np.asarray(jax.random.choice(wrap(k), len(p), shape, again, p)).astype(np.int64)
        emit(part, "choice_weighted", f"{d}/{i}", [k, p], [got], {"shape": list(shape), "replace": again})
    chances = ((0.5, (30,)), (0.0, (9,)), (1.0, (9,)), (0.1, (4, 5)), (np.nan, (3,)), ([0.1, 0.5, 0.9], (4, 3)),
               ([[0.2], [0.8]], (2, 6)))
    for i, (p, shape) in enumerate(chances):
        k, p = next_key(), np.array(p, NP[d])
        got = np.asarray(jax.random.bernoulli(wrap(k), jnp.asarray(p), shape))
        emit(part, "bernoulli", f"{d}/{i}", [k, p], [got], {"shape": list(shape)}, ref.uniform(k, d, shape, part) < p)


def distributions(part, d):
    near = rtol(1e-5, 1e-6) if d == "f32" else rtol(1e-13, 1e-14)
    near_normal = rtol(2e-4, 1e-6) if d == "f32" else rtol(1e-9, 1e-12)
    logits = np.log(np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])).astype(NP[d])
    for shape in ((), (6,), (3, 5)):
        k, p, name = next_key(), {"shape": list(shape), "dtype": d}, f"{d}/{text(shape)}"
        u = ref.uniform(k, d, shape, part).astype(np.float64)
        got = np.asarray(jax.random.exponential(wrap(k), shape, NP[d]))
        emit(part, "exponential", name, [k], [got], p, (-np.log1p(-u)).astype(NP[d]), tol=near)
        got = np.asarray(jax.random.gumbel(wrap(k), shape, NP[d]))
        want = -np.log(-np.log(np.maximum(u, np.finfo(NP[d]).tiny)))
        emit(part, "gumbel", name, [k], [got], p, want.astype(NP[d]), tol=near)
        got = np.asarray(jax.random.truncated_normal(wrap(k), -1.5, 2.0, shape, NP[d]))
        emit(part, "truncated_normal", name, [k], [got], {**p, "lower": -1.5, "upper": 2.0}, tol=near_normal)
        got = np.asarray(jax.random.categorical(wrap(k), jnp.asarray(logits), axis=-1, shape=shape + (2,)))
        emit(part, "categorical", name, [k, logits], [got.astype(np.int64)], {"axis": -1, "shape": list(shape) + [2]})


def batches_and_chains(part):
    keys = np.stack([key_of(s) for s in (3, -9, 2**40, 0, 5)])
    for d, shape in (("f32", (3,)), ("f64", (2, 2)), ("f32", ())):
        got = np.asarray(jax.vmap(lambda k: jax.random.uniform(k, shape, NP[d]))(wrap(keys)))
        want = np.stack([ref.uniform(k, d, shape, part) for k in keys])
        emit(part, "uniform_batch", f"{d}/{text(shape)}", [keys], [got], {"shape": list(shape), "dtype": d}, want)
    for s, n in ((0, 1), (42, 5), (-1, 12)):
        start = k = key_of(s)
        subs = []
        for _ in range(n):
            k, sub = data_of(jax.random.split(wrap(k)))
            subs.append(sub)
        emit(part, "key_chain", f"{s}/{n}", [start], [np.stack(subs), k], {"length": n})


def make():
    blocks()
    seeds()
    for part in (True, False):
        with jax.threefry_partitionable(part):
            for section in (splits, draws_of_bits, uniforms, normals, randints, permutations, choices):
                section(part)
            for d in ("f64", "f32"):
                draws_by_weight(part, d)
                distributions(part, d)
            batches_and_chains(part)
