"""Gathers and scatters, updates of slices, dynamic slices, take_along_axis."""
import jax.numpy as jnp
import numpy as np
from jax import lax

from common import NP, UNSIGNED, VALUE, agree
from families.index import ITYPES, TICK, TYPES, default_fill, fam, gather, indices, jax_index, plan, scatter, values

I0, I1, I2 = ({"array": k} for k in range(3))
WHOLE = {"slice": [None, None, None]}
# Shape of x, entries of the index, shapes of the index arrays.
FORMS = [((7,), [I0], [(5,)]), ((7,), [I0], [(2, 3)]), ((7,), [I0], [()]), ((7,), [I0], [(0,)]), ((9,), [I0], [(40,)]),
         ((5, 3), [I0], [(6,)]), ((5, 3), [I0], [(2, 2)]), ((5, 3), [WHOLE, I0], [(4,)]),
         ((5, 3), [I0, I1], [(6,), (6,)]), ((5, 4), [I0, I1], [(3, 1), (1, 4)]),
         ((5, 4), [I0, {"slice": [1, 3, None]}], [(4,)]), ((5, 4), [{"slice": [None, None, 2]}, I0], [(3,)]),
         ((3, 4, 2), [I0], [(5,)]), ((3, 4, 2), [WHOLE, I0, I1], [(5,), (5,)]),
         ((3, 4, 2), [I0, WHOLE, I1], [(3,), (3,)]), ((3, 4, 2), [I0, I1, I2], [(7,), (7,), (7,)]),
         ((3, 4, 2), [{"int": 1}, WHOLE, I0], [(3,)]), ((2, 3, 4, 2), [WHOLE, I0], [(2, 2)]),
         ((2, 3, 4, 2), [WHOLE, WHOLE, I0, I1], [(6,), (6,)]), ((300,), [I0], [(64,)]),
         ((2, 1, 2, 1, 3, 1, 2, 2), [WHOLE] * 4 + [I0], [(4,)]), ((4, 0), [I0], [(3,)]),]


def updated(x, index, arrays, how):
    """JAX's method that updates x at the index."""
    return getattr(jnp.asarray(x).at[jax_index(index, arrays)], {"mul": "multiply"}.get(how, how))


def arrays_of(g, shape, index, shapes, mode, itype):
    axes = {e["array"]: a for a, e in enumerate(index) if "array" in e}
    kind = "negative" if mode == "promise_in_bounds" else "outside"
    return [indices(g, shape[axes[j]], s, kind, itype) for j, s in enumerate(shapes)]


def gathers(form, shape, index, shapes):
    for mode in ("fill", "clip", "promise_in_bounds", "drop"):
        k = next(TICK)
        d, it = TYPES[k % len(TYPES)], ITYPES[(k // 2) % len(ITYPES)]
        g = fam.rng(f"gather/{form}/{mode}")
        x = values(g, d, shape)
        arrays = arrays_of(g, shape, index, shapes, mode, it)
        p, fill = {"index": index, "mode": mode}, {}
        if mode in ("fill", "drop") and k % 3 == 0:
            p["fill"] = fill["fill_value"] = 77 if d != "bool" else False
        got = np.asarray(jnp.asarray(x).at[jax_index(index, arrays)].get(mode=mode, **fill))
        want = gather(x, index, arrays, mode, p.get("fill"))
        agree(got, want, what=f"gather {form} {mode}")
        fam.case("gather", f"form{form}/{mode}/{d}/{it}", [x] + arrays, [want], p)


def scatters(form, shape, index, shapes, how):
    types = [t for t in TYPES if not (t == "bool" and how != "set")]
    for mode in ("drop", "clip", "fill", "promise_in_bounds"):
        k = next(TICK)
        if how in ("mul", "min", "max") and k % 2 and mode in ("fill", "promise_in_bounds"):
            continue
        d, it = types[k % len(types)], ITYPES[k % len(ITYPES)]
        g = fam.rng(f"scatter/{how}/{form}/{mode}")
        x = values(g, d, shape)
        arrays = arrays_of(g, shape, index, shapes, mode, it)
        full = plan(x, index, arrays)[0].shape
        u = values(g, d, full if k % 4 else () if k % 8 else (1,) * len(full))
        if how == "mul":
            u = (np.abs(u.astype(int)) % 3 - (1 if d not in UNSIGNED else 0)).astype(NP[d])
        if d in ("bf16", "f16", "i8"):  # small enough to be exact
            x = (x.astype(float) / 5).round().astype(NP[d])
            u = (u.astype(float) / (5 if how != "mul" else 1)).round().astype(NP[d])
        want, care = scatter(x, index, arrays, u, how, mode)
        if d in ("bf16", "f16") and want.size and np.abs(want.astype(float)).max() > 200:
            u = np.ones_like(u)
            want, care = scatter(x, index, arrays, u, how, mode)
        got = np.asarray(updated(x, index, arrays, how)(u, mode=mode))
        agree(got, want, VALUE, where=care, what=f"scatter {how} {form} {mode} {d}")
        fam.case(f"scatter_{how}", f"form{form}/{mode}/{d}/{it}", [x] + arrays + [u], [want],
                 {"index": index, "mode": mode}, tol=VALUE, **({} if care.all() else {"care": [care]}))


def gathers_and_scatters():
    for form, (shape, index, shapes) in enumerate(FORMS):
        gathers(form, shape, index, shapes)
        for how in ("set", "add", "mul", "min", "max"):
            scatters(form, shape, index, shapes, how)


def odd(tag, n, idx, note=None):
    """Index types narrower than the axis, or of 64 bits; with a note, JAX fails and the loop is the only judge."""
    x = np.arange(n, dtype=np.float64) + 1
    for mode in ("fill", "clip"):
        w = gather(x, [{"array": 0}], [idx], mode)
        if note is None:
            agree(np.asarray(jnp.asarray(x).at[idx].get(mode=mode)), w, what=tag)
        fam.case("gather", f"{tag}/{mode}", [x, idx], [w], {"index": [{"array": 0}], "mode": mode},
                 **({"note": note} if note else {}))
    for mode in ("drop", "clip"):
        u = np.arange(1, idx.size + 1, dtype=np.float64) * 1000
        w, _ = scatter(x, [{"array": 0}], [idx], u, "add", mode)
        fam.case("scatter_add", f"{tag}/{mode}", [x, idx, u], [w], {"index": [{"array": 0}], "mode": mode},
                 **({"note": note} if note else {}))


def odd_index_types():
    """Index types narrower than the axis or wider than 32 bits. Where JAX fails, the loops are the only judge."""
    wraps = "JAX cuts such indices to 32 bits and reads or writes a wrong element"
    odd("wide_i64", 6, np.array([2**32 + 1, 2**40, -2**32 + 5, 2**63 - 1, -2**63, 2**31, 3, -1], np.int64), wraps)
    odd("wide_i64_large_axis", 300, np.array([2**32 + 1, 2**32 + 299, -2**32, 299, -300, -301], np.int64), wraps)
    odd("wide_u64", 6, np.array([2**32 + 2, 2**63, 2**64 - 1, 5, 6], np.uint64), wraps)
    odd("top_u32", 6, np.array([2**32 - 1, 2**31, 2**31 + 3, 5, 6, 0], np.uint32),
        "in clip mode JAX takes u32 indices from 2**31 on for negative ones and gives element 0")
    narrow = "JAX refuses, or adds the extent within 8 bits"
    odd("narrow_i8", 200, np.array([-1, -100, -128, 100, 127], np.int8), narrow)
    odd("narrow_i8_300", 300, np.array([-1, -128, 127, 0], np.int8), narrow)
    odd("narrow_u8", 200, np.array([255, 199, 200, 3], np.uint8))
    odd("narrow_u8_300", 300, np.array([255, 199, 0], np.uint8))


def special_updates():
    """NaN and infinities in updates."""
    for d in ("f32", "f64"):
        nan, inf = np.nan, np.inf
        x = np.array([1, nan, -0.0, inf, -inf, 2], NP[d])
        i = np.array([0, 1, 2, 3, 4, 5, 0, 5], np.int32)
        u = np.array([nan, 1, 0.0, -inf, 3, inf, 5, nan], NP[d])
        for how in ("add", "mul", "min", "max"):
            got = np.asarray(getattr(jnp.asarray(x).at[i], {"mul": "multiply"}.get(how, how))(u))
            w, _ = scatter(x, [{"array": 0}], [i], u, how, "drop")
            agree(got, w, VALUE, what="nan scatter")
            fam.case(f"scatter_{how}", f"special/{d}", [x, i, u], [w], {"index": [{"array": 0}], "mode": "drop"},
                     tol=VALUE)


def many_updates():
    """One element is updated many times."""
    for d in ("i32", "f64", "u8"):
        for how in ("add", "mul", "min", "max"):
            g = fam.rng(f"many/{how}/{d}")
            i = g.integers(-3, 6, 500).astype(np.int32)
            x = values(g, d, (3, 2))
            u = np.ones((500, 2), NP[d]) if how in ("add", "mul") else values(g, d, (500, 2))
            if how == "mul":
                u[g.integers(0, 500, 4)] = 2
            w, _ = scatter(x, [{"array": 0}], [i], u, how, "drop")
            agree(np.asarray(getattr(jnp.asarray(x).at[i], {"mul": "multiply"}.get(how, how))(u, mode="drop")), w,
                  what="many")
            fam.case(f"scatter_{how}", f"many/{d}", [x, i, u], [w], {"index": [{"array": 0}], "mode": "drop"})


def refusals():
    for how in ("set", "add", "mul", "min", "max"):
        x, u = np.arange(12, dtype=np.float64).reshape(4, 3), np.ones((3, 3))
        for v in (4, -5):
            fam.case(f"scatter_{how}", f"raise/{v}", [x, np.array([0, v, 1], np.int32), u],
                     params={"index": [{"array": 0}], "mode": "raise"}, expect="error")
        i = np.array([0, -4, 3], np.int32)
        w, care = scatter(x, [{"array": 0}], [i], u, how, "drop")
        fam.case(f"scatter_{how}", "raise/inside", [x, i, u], [w], {"index": [{"array": 0}], "mode": "raise"},
                 care=[care])
        fam.case(f"scatter_{how}", "bad_update_shape", [x, i, np.ones((2, 3))],
                 params={"index": [{"array": 0}], "mode": "drop"}, expect="error")
        fam.case(f"scatter_{how}", "too_many_entries", [np.arange(3.0), i, i, np.ones(3)],
                 params={"index": [{"array": 0}, {"array": 1}], "mode": "drop"}, expect="error")


def slice_updates():
    for k, (shape, sl) in enumerate([((7,), [[1, 5, 2]]), ((7,), [[None, None, -1]]), ((7,), [[-3, None, None]]),
                                     ((7,), [[5, 2, None]]), ((5, 4), [[1, None, None], [None, None, -2]]),
                                     ((5, 4), [[None, None, 3]]), ((3, 4, 2), [[None, None, None], [-1, -4, -1]]),
                                     ((2, 0, 3), [[0, 1, None]])]):
        for how in ("set", "add", "mul", "min", "max"):
            d = ["f64", "i32", "u8", "f32"][k % 4]
            g = fam.rng(f"slice/{how}/{k}")
            x, index = values(g, d, shape), [{"slice": s} for s in sl]
            t = x[tuple(slice(*s) for s in sl)].shape
            u = values(g, d, t if k % 2 else t[-1:])
            w, _ = scatter(x, index, [], u, how, "drop")
            agree(
                np.asarray(
                    getattr(jnp.asarray(x).at[tuple(slice(*s) for s in sl)], {"mul": "multiply"}.get(how, how))(u)), w,
                VALUE, what="slice update")
            fam.case(f"scatter_{how}", f"slice{k}/{d}", [x, u], [w], {"index": index, "mode": "drop"}, tol=VALUE)


def dynamic_slices():
    for k, (shape, sizes) in enumerate([((7,), (3,)), ((7,), (7,)), ((7,), (0,)), ((5, 4), (2, 3)), ((5, 4), (5, 1)),
                                        ((3, 4, 2), (1, 2, 2)), ((2, 1, 3, 1, 2), (1, 1, 2, 1, 1)), ((), ()),
                                        ((0, 3), (0, 2))]):
        for j in range(4):
            d, it = TYPES[(k + j) % len(TYPES)], ["i32", "i64", "u32", "i32"][j]
            g = fam.rng(f"dynamic/{k}/{j}")
            x = values(g, d, shape)
            s = np.array([g.integers(0, n + 1) if j == 0 else g.integers(-2 * n - 2, 2 * n + 3) for n in shape],
                         np.int64)
            if it == "u32":
                s = np.abs(s)
                if len(s):
                    s[0] = 2**32 - 1
            s = s.astype(NP[it])
            eff = [min(max(int(v) + n if v < 0 else int(v), 0), n - z) for v, n, z in zip(s, shape, sizes)]
            w = x[tuple(slice(e, e + z) for e, z in zip(eff, sizes))]
            st = [np.asarray(v) for v in s]
            agree(np.asarray(lax.dynamic_slice(x, st, sizes)), w, what=f"dynamic_slice {shape} {s} {sizes}")
            fam.case("dynamic_slice", f"{k}/{j}/{d}/{it}", [x, s], [w], {"sizes": list(sizes)})
            u = values(g, d, sizes)
            w = x.copy()
            w[tuple(slice(e, e + z) for e, z in zip(eff, sizes))] = u
            agree(np.asarray(lax.dynamic_update_slice(x, u, st)), w, what="dynamic_update_slice")
            fam.case("dynamic_update_slice", f"{k}/{j}/{d}/{it}", [x, u, s], [w])
    x = np.arange(6.0).reshape(2, 3)
    fam.case("dynamic_slice", "too_large", [x, np.array([0, 0], np.int32)], params={"sizes": [2, 4]}, expect="error")
    fam.case("dynamic_slice", "starts_short", [x, np.array([0], np.int32)], params={"sizes": [1, 1]}, expect="error")
    fam.case("dynamic_update_slice", "too_large", [x, np.zeros((3, 1)), np.array([0, 0], np.int32)], expect="error")
    fam.case("dynamic_update_slice", "other_dtype", [x, np.zeros(
        (1, 1), np.float32), np.array([0, 0], np.int32)], expect="error")


def takes_along_axis():
    for k, (shape, ishape, axis) in enumerate([((7,), (4,), 0), ((5, 3), (2, 3), 0), ((5, 3), (5, 6), 1),
                                               ((3, 4, 2), (3, 1, 2), 1), ((3, 4, 2), (3, 4, 5), -1),
                                               ((5, 3), (1, 3), 0), ((4, 3), (0, 3), 0), ((5, 3), (2, 1), 0)]):
        for mode in ("fill", "clip"):
            d = TYPES[(2 * k + (mode == "clip")) % len(TYPES)]
            g = fam.rng(f"along/{k}/{mode}")
            x, i = values(g, d, shape), indices(g, shape[axis], ishape, "outside", ITYPES[k % 3])
            got = np.asarray(jnp.take_along_axis(x, i, axis, mode=mode))
            n = shape[axis]
            a = np.where(i < 0, i.astype(np.int64) + n, i)
            full = [max(s, t) for s, t in zip(shape, ishape)]
            full[axis] = ishape[axis]
            xb = np.broadcast_to(x, [n if t == axis % len(shape) else full[t] for t in range(len(shape))])
            ab = np.broadcast_to(a, full)
            w = np.take_along_axis(xb, np.clip(ab, 0, n - 1), axis)
            if mode == "fill":
                w = np.where((ab >= 0) & (ab < n), w, default_fill(d))
            agree(got, w, what=f"along {k} {mode}")
            fam.case("take_along_axis", f"{k}/{mode}/{d}", [x, i], [w], {"axis": axis, "mode": mode})


def make():
    gathers_and_scatters()
    odd_index_types()
    special_updates()
    many_updates()
    refusals()
    slice_updates()
    dynamic_slices()
    takes_along_axis()
