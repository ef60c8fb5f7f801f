"""vmap and vectorize. The judge is JAX, which agrees with loops over the batch."""
import jax
import jax.numpy as jnp
import numpy as np

from common import NP, VALUE, agree, bits, rtol
from families.batch_functions import VEC, F
from family import Family

jax.config.update("jax_enable_x64", True)
np.seterr(all="ignore")
OPS = {name: "vmap of: " + about for name, (about, _) in F.items()}
for name, (signature, _) in VEC.items():
    about = f"jnp.vectorize, signature {signature}. Loop dimensions broadcast from the right, as in NumPy's gufuncs"
    OPS["vectorize_" + name] = about
fam = Family("batch", OPS, ("jax", "numpy"),
             vmap="params.levels, outermost first: each {in_axes: one number or null for each input, out_axes: one for "
                  "each output (null: an unbatched output)}. The last level is applied to the function first",
             vectorize="params.signature, params.excluded (positions)")


def data(g, d, shape, lo=-9, hi=10):
    if d == "bool":
        return g.integers(0, 2, shape).astype(bool)
    return np.asarray(g.integers(lo, hi, shape)).astype(NP[d])


def by_loop(f, args, level):
    ia, oa = level["in_axes"], level["out_axes"]
    n = next(a.shape[i] for a, i in zip(args, ia) if i is not None)
    outs = [
        jax.tree.leaves(f(*[jnp.asarray(a if i is None else np.take(a, k, axis=i)) for a, i in zip(args, ia)]))
        for k in range(n)
    ]
    return [
        np.asarray(outs[0][j]) if o is None else np.stack([np.asarray(r[j]) for r in outs], axis=o)
        for j, o in enumerate(oa)
    ]


def vmapped(f, levels):
    for L in reversed(levels):
        f = jax.vmap(lambda *a, f=f: tuple(jax.tree.leaves(f(*a))), in_axes=tuple(L["in_axes"]),
                     out_axes=tuple(L["out_axes"]))
    return f


def looped(f, levels):
    for L in reversed(levels):
        f = (lambda f, L: lambda *a: by_loop(f, [np.asarray(x) for x in a], L))(f, L)
    return f


used = {}


def emit(name, args, levels, **extra):
    """A case of vmap at one or several levels; `used` numbers the cases of each function."""
    f = F[name][1]
    J = [jnp.asarray(a) for a in args]
    got = [np.asarray(v) for v in vmapped(f, levels)(*J)]
    want = looped(f, levels)(*args)
    for a, b in zip(got, want):
        agree(a, np.asarray(b), rtol(1e-14, 1e-14), what=f"vmap {name} {levels}")
    k = used[name] = used.get(name, -1) + 1
    axes = "_".join(f"{L['in_axes']}to{L['out_axes']}" for L in levels).replace(" ", "").replace("None", "n")
    fam.case(name, f"{k}/{axes}", args, got, {"levels": levels},
             tol=rtol(1e-13, 1e-13) if name in ("grad_quadratic", "reduce_keep") else VALUE, **extra)


def L(i, o):
    return {"in_axes": list(i), "out_axes": list(o)}


# One sequence of draws for the family: calls that are added change all later inputs.
g = fam.rng("data")


def f(*s):
    return data(g, "f64", s)


def i(*s, lo=0, hi=3):
    return data(g, "i32", s, lo, hi)


def arithmetic():
    for a, b, lv in [((4,), (4,), L((0, 0), (0,))), ((4,), (), L((0, None), (0,))), ((4, 3), (3, 4), L((0, 1), (0,))),
                     ((4, 3), (3, 4), L((0, 1), (1,))), ((3, 4), (4,), L((1, 0), (0,))),
                     ((3, 4), (3, 4), L((-1, -1), (-1,))), ((2, 3, 4), (4,), L((2, 0), (1,))),
                     ((4, 3), (3,), L((0, None), (-1,))), ((0, 3), (3,), L((0, None), (0,))),
                     ((1, 3), (1, 3), L((0, 0), (0,))), ((4,), (4, 2, 3), L((0, 0), (2,)))]:
        if 0 not in a:
            emit("mul_add", [f(*a), f(*b)], [lv])
        else:
            x, y = f(*a), f(*b)
            fam.case("mul_add", "zero_extent", [x, y], [np.asarray(jax.vmap(F["mul_add"][1], (0, None))(x, y))],
                     {"levels": [lv]}, tol=VALUE)
    for a, b, lv in [((5, 2, 3), (5, 3), L((0, 0), (0,))), ((2, 3), (5, 3), L((None, 0), (0,))),
                     ((2, 5, 3), (3,), L((1, None), (1,))), ((5, 2, 3), (3, 5), L((0, 1), (-1,))),
                     ((2, 3, 5), (3, 5), L((2, 1), (0,)))]:
        emit("matvec", [f(*a), f(*b)], [lv])
    for a, b, lv in [((5, 2, 3), (5, 3, 4), [L((0, 0), (0,))]), ((2, 3), (3, 4, 5), [L((None, 2), (2,))]),
                     ((2, 5, 3), (3, 4), [L((1, None), (1,))]),
                     ((6, 2, 5, 3), (3, 4, 5), [L((0, None), (0,)), L((1, 2), (0,))]),
                     ((6, 2, 3), (5, 3, 4), [L((0, None), (0,)), L((None, 0), (0,))]),
                     ((6, 2, 3), (5, 3, 4), [L((None, 0), (1,)), L((0, None), (2,))])]:
        emit("matmul", [f(*a), f(*b)], lv)
    emit("outer", [f(4, 3), f(2)], [L((0, None), (0,))])
    emit("outer", [f(4, 3), f(2, 4)], [L((0, 1), (2,))])
    emit("outer", [f(3), f(5, 4, 2)], [L((None, 0), (0,)), L((None, 0), (1,))])


def reductions():
    for s, lv in [((4, 3, 2), L((0,), (0,))), ((3, 4, 2), L((1,), (0,))), ((3, 2, 4), L((2,), (1,))),
                  ((3, 2, 4), L((-1,), (0,)))]:
        emit("sum_0", [f(*s)], [lv])
        emit("all_axes", [f(*s)], [L(lv["in_axes"], (0,))])
        emit("reduce_keep", [f(*s)], [lv])
    for s, lv in [((4, 6), L((0,), (0, 0))), ((6, 4), L((1,), (0, 0)))]:
        emit("max_and_argmax", [f(*s)], [lv])
    for name in ("sort", "argsort", "cumsum_reverse", "cummax"):
        emit(name, [f(4, 6)], [L((0,), (0,))])
        emit(name, [f(6, 4)], [L((1,), (1,))])
        emit(name, [f(2, 3, 5)], [L((0,), (0,)), L((0,), (1,))])
    emit("top_k", [f(4, 6)], [L((0,), (0, 1))])
    emit("top_k", [f(6, 4)], [L((1,), (0, 0))])


def gathers_and_scatters():
    for name in ("gather", "gather_fill"):
        lo, hi = (-3, 3) if name == "gather" else (-8, 8)
        emit(name, [f(4, 3), i(4, 5, lo=lo, hi=hi)], [L((0, 0), (0,))])
        emit(name, [f(3), i(4, 5, lo=lo, hi=hi)], [L((None, 0), (0,))])
        emit(name, [f(4, 3), i(5, lo=lo, hi=hi)], [L((0, None), (1,))])
        emit(name, [f(3, 4), i(5, 4, lo=lo, hi=hi)], [L((1, 1), (0,))])
        emit(name, [f(4, 3, 2), i(4, lo=lo, hi=hi)], [L((0, 0), (0,))])
        emit(name, [f(2, 4, 3), i(2, 5, lo=lo, hi=hi)], [L((0, 0), (0,)), L((0, None), (1,))])
    emit("scatter_add", [f(4, 3), i(4, 5, lo=-5, hi=6), f(4, 5)], [L((0, 0, 0), (0,))])
    emit("scatter_add", [f(3), i(4, 5, lo=-5, hi=6), f(4, 5)], [L((None, 0, 0), (0,))])
    emit("scatter_add", [f(4, 3), i(5, lo=-5, hi=6), f(5)], [L((0, None, None), (1,))])
    emit("scatter_add", [f(3, 4), i(5, 4), f(4, 5)], [L((1, 1, 0), (0,))])
    emit("scatter_add", [f(3), i(5), f(4, 5)], [L((None, None, 0), (0,))])
    perm = np.stack([g.permutation(6)[:3] for _ in range(4)]).astype(np.int32)
    emit("scatter_set", [f(4, 6), perm, f(4, 3)], [L((0, 0, 0), (0,))])
    emit("scatter_set", [f(6), perm, f(3)], [L((None, 0, None), (0,))])


def slices():
    emit("dynamic_slice", [f(4, 5), i(4, lo=-2, hi=7)], [L((0, 0), (0,))])
    emit("dynamic_slice", [f(5), i(4, lo=-2, hi=7)], [L((None, 0), (0,))])
    emit("dynamic_slice", [f(5, 4), np.int32(2)], [L((1, None), (1,))])
    emit("dynamic_update", [f(4, 5), f(2), i(4, lo=-2, hi=7)], [L((0, None, 0), (0,))])
    emit("dynamic_update", [f(5), f(4, 2), np.int32(9)], [L((None, 0, None), (0,))])
    emit("where", [data(g, "bool", (4,)), f(3), f(4, 3)], [L((0, None, 0), (0,))])
    emit("where", [data(g, "bool", (3,)), f(4, 3), f(3, 4)], [L((None, 0, 1), (1,))])
    emit("transpose_flip", [f(4, 2, 3)], [L((0,), (0,))])
    emit("transpose_flip", [f(2, 3, 4)], [L((2,), (1,))])
    emit("concat", [f(4, 2), f(3)], [L((0, None), (0,))])
    emit("concat", [f(4, 2), f(3, 4)], [L((0, 1), (1,))])
    emit("pad", [f(4, 3)], [L((0,), (0,))])
    emit("pad", [f(3, 4)], [L((1,), (1,))])
    emit("reshape", [f(4, 2, 3)], [L((0,), (0,))])
    emit("reshape", [f(2, 3, 4)], [L((2,), (0,))])
    emit("reshape", [f(2, 4, 3)], [L((1,), (2,))])
    emit("broadcast", [f(4, 3)], [L((0,), (0,))])
    emit("broadcast", [f(4)], [L((0,), (1,))])


def searches_and_control():
    emit("searchsorted", [np.sort(f(4, 6), 1), f(5)], [L((0, None), (0,))])
    emit("searchsorted", [np.sort(f(6)), f(4, 5)], [L((None, 0), (0,))])
    emit("segment_sum", [f(4, 5), i(4, 5, lo=-1, hi=4)], [L((0, 0), (0,))])
    emit("segment_sum", [f(4, 5, 2), i(5)], [L((0, None), (0,))])
    emit("segment_sum", [f(5), i(4, 5)], [L((None, 0), (0,))])
    emit("cond", [np.array([True, False, True, False]), f(4)], [L((0, 0), (0,))])
    emit("cond", [np.bool_(True), f(4)], [L((None, 0), (0,))])
    emit("cond", [np.array([True, False]), f(3)], [L((0, None), (0,))])
    emit("switch", [i(5, lo=-1, hi=5), f(5)], [L((0, 0), (0,))])
    emit("switch", [i(5, lo=-1, hi=5), f(2)], [L((0, None), (1,))])
    emit("while", [data(g, "f64", (5,), 0, 10), np.float64(40)], [L((0, None), (0, 0))])
    emit("while", [data(g, "f64", (5,), 0, 10), data(g, "f64", (5,), 0, 100)], [L((0, 0), (0, 0))])
    emit("while", [np.float64(1), data(g, "f64", (5,), 0, 1000)], [L((None, 0), (0, 0))])
    emit("while", [np.array([100.0, 200.0]), np.float64(5)], [L((0, None), (0, 0))])
    emit("collatz", [np.array([1, 2, 3, 7, 27, 6], np.int64)], [L((0,), (0,))])
    emit("collatz", [np.array([[9, 4], [1, 5]], np.int64)], [L((0,), (0,)), L((0,), (0,))])
    emit("fori", [i(5, lo=0, hi=7), f(5)], [L((0, 0), (0,))])
    emit("fori", [np.int32(4), f(5)], [L((None, 0), (0,))])
    emit("fori", [i(3, lo=-2, hi=5), np.float64(1)], [L((0, None), (0,))])
    emit("scan", [f(4), f(6)], [L((0, None), (0, 0))])
    emit("scan", [np.float64(1), f(4, 6)], [L((None, 0), (0, 1))])
    emit("scan", [f(4), f(6, 4)], [L((0, 1), (0, 0))])
    emit("scan", [f(2, 3), f(5, 3, 2)], [L((0, 2), (0, 2)), L((0, 1), (0, 1))])
    emit("grad_quadratic", [f(4, 3), f(3)], [L((0, None), (0,))])
    emit("grad_quadratic", [f(3), f(4, 3)], [L((None, 0), (1,))])
    emit("constant", [f(4)], [L((0,), (0,))])
    emit("constant", [f(4)], [L((0,), (None,))])


def keys_and_levels():
    keys = bits(g, "u32", 10).reshape(5, 2)
    emit("uniform", [keys], [L((0,), (0,))])
    emit("uniform", [keys.T.copy()], [L((1,), (1,))])
    emit("split", [keys], [L((0,), (0,))])
    emit("split", [keys], [L((0,), (1,))])
    emit("tree", [f(4), f(4, 3)], [L((0, 0), (0, 1))])
    emit("tree", [f(3), f(4, 3)], [L((None, 0), (1, 0))])
    emit("einsum", [f(5, 2, 3), f(3, 4), f(4, 5)], [L((0, None, 1), (0,))])
    emit("einsum", [f(2, 3), f(5, 3, 4), f(4)], [L((None, 0, None), (1,))])
    emit("mul_add", [f(2, 3, 4), f(4, 2)], [L((0, 1), (0,)), L((0, None), (0,)), L((0, 0), (0,))])
    emit("mul_add", [f(2, 3), f(3)], [L((0, None), (0,)), L((0, 0), (0,))])
    emit("mul_add", [f(4), f(3)], [L((0, None), (0,)), L((None, 0), (0,))])
    emit("mul_add", [f(4), f(3)], [L((None, 0), (0,)), L((0, None), (0,))])


def refusals():
    for tag, args, lv in [("extents", [f(4), f(3)], L((0, 0), (0,))), ("axis_range", [f(4), f(4)], L((0, 1), (0,))),
                          ("none_mapped", [f(4), f(4)], L((None, None), (0,))),
                          ("out_axis_range", [f(4), f(4)], L((0, 0), (2,))),
                          ("scalar_mapped", [f(4), np.float64(1)], L((0, 0), (0,))),
                          ("batched_output_none", [f(4), f(4)], L((0, 0), (None,)))]:
        try:
            vmapped(F["mul_add"][1], [lv])(*args)
            raise AssertionError(tag)
        except (ValueError, TypeError):
            fam.case("mul_add", f"error/{tag}", args, params={"levels": [lv]}, expect="error")


def vec(name, shapes, excluded=(), args=None, **extra):
    sig, fn = VEC[name]
    sig = sig.split(";")[0]
    args = args or [data(g, "f64", s, 1, 10) for s in shapes]
    v = jnp.vectorize(fn, signature=sig, excluded=frozenset(excluded))
    got = [np.asarray(t) for t in jax.tree.leaves(v(*args))]
    want = jax.tree.leaves(
        np.vectorize(lambda *a: jax.tree.map(np.asarray, fn(*a)), signature=sig, excluded=set(excluded))(*args)) if all(
            np.prod(a.shape) for a in args) else got
    for a, b in zip(got, want):
        agree(a, np.asarray(b), rtol(1e-14), what=f"vectorize {name} {shapes}")
    k = used["v" + name] = used.get("v" + name, -1) + 1
    fam.case("vectorize_" + name, f"{k}/" + "_".join("x".join(map(str, np.shape(a))) or "scalar" for a in args), args,
             got, {"signature": sig, "excluded": list(excluded)}, tol=rtol(1e-14), **extra)


def vectorized():
    for s in [((2, 3), (3,)), ((5, 2, 3), (3,)), ((2, 3), (5, 3)), ((5, 2, 3), (5, 3)), ((4, 1, 2, 3), (5, 3)),
              ((1, 2, 3), (6, 3)), ((0, 2, 3), (3,)), ((5, 2, 0), (0,))]:
        vec("matvec", s)
    for s in [((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((6, 1, 2, 3), (5, 3, 4)), ((2, 2), (2, 2))]:
        vec("matmul", s)
    for s in [((3,), (3,)), ((4, 3), (3,)), ((4, 1, 3), (5, 3)), ((2, 3), (2, 3)), ((0, 3), (3,))]:
        vec("dot", s)
    for s in [((), ()), ((3,), ()), ((4, 1), (3,)), ((2, 3), (2, 3)), ((2, 1, 2, 1), (3, 1, 2))]:
        vec("scalar", s)
    for s in [((3,),), ((4, 3),), ((2, 4, 3),)]:
        vec("normalize", s)
        vec("sum_and_shift", s)
        vec("grow", s)
    for s in [((3,), (3,)), ((5, 3), (3,)), ((2, 1, 3), (4, 3))]:
        vec("cross", s)
        vec("no_input_core", (s[0][:-1], s[1]))
        vec("outer", s)
        vec("convolve", (s[0], s[1]))
    for s in [((3, 3),), ((4, 3, 3),)]:
        vec("trace", s)
        vec("flatten", s)
    vec("excluded", None, (1,), [data(g, "f64", (4, 3), 1, 5), np.float64(2)])
    vec("excluded", None, (1,), [data(g, "f64", (3,), 1, 5), np.float64(3)])
    for s in [((), (), (3,)), ((4,), (), (3,)), ((4,), (2, 1), (3,)), ((2, 1), (4,), (2, 4, 3))]:
        vec("three", s)


def vectorize_refusals():
    for name, s in [("matvec", ((2, 3), (4,))), ("matvec", ((3,), (3,))), ("matvec", ((5, 2, 3), (4, 3))),
                    ("dot", ((3,), (4,))), ("cross", ((4,), (4,))), ("cross", ((2,), (3,))), ("trace", ((2, 3),)),
                    ("scalar", ((2,), (3,)))]:
        args = [np.ones(t) for t in s]
        try:
            jnp.vectorize(VEC[name][1], signature=VEC[name][0])(*args)
            raise AssertionError((name, s))
        except (ValueError, TypeError):
            fam.case("vectorize_" + name, "error/" + "_".join("x".join(map(str, t)) for t in s), args,
                     params={"signature": VEC[name][0], "excluded": []}, expect="error")
    for bad in ["(m,n),(n)", "(m,n),(n)->(m", "m,n->m", "(m n)->(m)", "(m,n)->(m)->(n)", "(1a)->(a)"]:
        try:
            jnp.vectorize(lambda *a: a[0], signature=bad)(np.ones((2, 2)), np.ones(2))
            raise AssertionError(bad)
        except (ValueError, TypeError):
            fam.case("vectorize_matvec", "error/signature_" + bad, [np.ones((2, 2)), np.ones(2)],
                     params={"signature": bad, "excluded": []}, expect="error")


def make():
    arithmetic()
    reductions()
    gathers_and_scatters()
    slices()
    searches_and_control()
    keys_and_levels()
    refusals()
    vectorized()
    vectorize_refusals()
