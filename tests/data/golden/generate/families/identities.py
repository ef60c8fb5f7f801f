"""Reductions, scans, segments, scatters and products: empty extents, limits of dtypes, NaN, and zeros.

The judge is NumPy. Where NumPy has no such operation (segments, cumlogsumexp), or no value (the least of no bools),
plain loops over NumPy scalars are the judge, with the identities of the table IDENTITY. Nothing here is random.
"""
import ml_dtypes
import numpy as np

from common import ALL, FLOATS, NP, VALUE, rtol
from family import Family

np.seterr(all="ignore")

NEAR = {"f16": 4e-3, "bf16": 2e-2, "f32": 1e-6, "f64": 1e-14}  # of functions that round on the way
REDUCTIONS = ("sum", "prod", "min", "max", "any", "all")
OPS = dict.fromkeys(
    (*REDUCTIONS, "argmin", "argmax", "count_nonzero", "mean", "var", "std", "logsumexp", *(f"{op}_with"
                                                                                            for op in REDUCTIONS),
     "cumsum", "cumprod", "cummin", "cummax", "cumlogsumexp", *(f"segment_{op}" for op in REDUCTIONS[:4]), "bincount",
     *(f"scatter_{op}" for op in ("set", "add", "mul", "min", "max", "and", "or")), "matmul"),
    "as the function of that name")
fam = Family("identities", OPS, ("numpy", "ml_dtypes"))


def case(op, tag, inputs, output, params=None, tolerance=VALUE):
    """output None: the call is refused."""
    if output is None:
        fam.case(op, tag, inputs, params=params, expect="error")
    else:
        fam.case(op, tag, inputs, [output], params, tol=tolerance)


# ---- Values ----


def least(d):
    return False if d == "bool" else -np.inf if d in FLOATS else np.iinfo(NP[d]).min


def greatest(d):
    return True if d == "bool" else np.inf if d in FLOATS else np.iinfo(NP[d]).max


IDENTITY = {"sum": lambda d: 0, "prod": lambda d: 1, "min": greatest, "max": least,}


def lines(d):
    """Lines of four elements: all the same extreme, and each special value at each place among others."""
    if d == "bool":
        rows = [[i >> k & 1 for k in range(4)] for i in range(16)]
    elif d in FLOATS:
        big, tiny = float(ml_dtypes.finfo(NP[d]).max), float(ml_dtypes.finfo(NP[d]).smallest_subnormal)
        same = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, big, -big, tiny]
        rows = [[x] * 4 for x in same]
        for x in (np.nan, np.inf, -np.inf, big, -big, -0.0):
            for k in range(4):
                rows.append([x if i == k else 1.0 for i in range(4)])
        rows += [[np.inf, -np.inf, 0, 1], [0.0, -0.0, 0.0, -0.0], [-0.0, 0.0, -0.0, 0.0], [np.inf, 0, np.nan, -np.inf]]
    else:
        low, high = np.iinfo(NP[d]).min, np.iinfo(NP[d]).max
        rows = [[x] * 4 for x in (0, 1, 2, low, high)]
        for x in (low, high, 0):
            for k in range(4):
                rows.append([x if i == k else 3 for i in range(4)])
        rows += [[low, high, low, high], [high, 1, 0, low]]
    return np.array(rows).astype(NP[d])


def long_lines(d, count):
    """As lines(d), repeated to `count` elements; the sums stay exact."""
    rows = lines(d)
    return np.tile(rows, (1, count // 4 + 1))[:, :count]


def wide(d, x):
    """Halves computed as f32, as NumPy's own are; bool counted in i64."""
    return x.astype(np.float32) if d in ("f16", "bf16") else x


# ---- Reductions ----


def reduced(op, d, x, axis):
    """NumPy's result in pith's dtype, or None where there is none."""
    own = NP[d]
    empty = x.shape[axis] == 0
    if op in ("any", "all"):
        return getattr(np, op)(x != 0, axis=axis)
    if op == "count_nonzero":
        return np.asarray(np.count_nonzero(x, axis=axis), np.int64)
    if op in ("argmin", "argmax"):
        return None if empty else np.asarray(getattr(np, op)(wide(d, x), axis=axis), np.int64)
    if op in ("min", "max"):
        if empty and x.size == 0 and np.delete(x.shape, axis).prod() > 0:
            return None
        if empty:
            return np.zeros(np.delete(x.shape, axis), own)
        return getattr(np, op)(wide(d, x), axis=axis).astype(own)
    if op in ("sum", "prod"):
        if d == "bool":
            return getattr(np, op)(x, axis=axis, dtype=np.int64)
        if d in FLOATS:  # accumulated in f64, rounded once
            return getattr(np, op)(x.astype(np.float64), axis=axis).astype(own)
        return getattr(np, op)(x, axis=axis, dtype=own)
    if op == "mean":
        return np.mean(x.astype(np.float64), axis=axis).astype(own)
    if op in ("var", "std"):
        return getattr(np, op)(wide(d, x), axis=axis).astype(own)
    assert op == "logsumexp"
    return np.logaddexp.reduce(x.astype(np.float64), axis=axis, initial=-np.inf).astype(own)


def tolerance_of(op, d):
    if op in ("mean", "var", "std", "logsumexp"):
        return rtol(NEAR[d], 0)
    return VALUE


def overflows(op, d):
    """Whether the extremes leave the range on the way, where roundings decide."""
    return op in ("mean", "var", "std", "prod")


def finite_lines(op, d, rows):
    if not overflows(op, d) or d not in FLOATS:
        return rows
    big = float(ml_dtypes.finfo(NP[d]).max)
    tiny = float(ml_dtypes.finfo(NP[d]).smallest_subnormal)
    kept = [not (np.abs(r.astype(np.float64)) == big).any() and not (r.astype(np.float64) == tiny).all() for r in rows]
    return rows[kept]


def reductions():
    for d in ALL:
        ops = ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "count_nonzero"]
        if d in FLOATS:
            ops += ["mean", "var", "std", "logsumexp"]
        for op in ops:
            tol = tolerance_of(op, d)
            for tag, shape, axis in (("none", (0,), 0), ("rows_of_none", (3, 0), 1), ("none_of_columns", (0, 3), 0),
                                     ("no_rows", (0, 3), 1)):
                x = np.zeros(shape, NP[d])
                case(op, f"{d}/{tag}", [x], reduced(op, d, x, axis), {"axes": [axis]}, tol)
            rows = finite_lines(op, d, lines(d))
            case(op, f"{d}/rows", [rows], reduced(op, d, rows, 1), {"axes": [1]}, tol)
            case(op, f"{d}/columns", [rows.T.copy()], reduced(op, d, rows.T, 0), {"axes": [0]}, tol)
            for count in (67, 4100):
                if op in ("var", "std", "logsumexp", "mean") and count > 100:
                    continue
                some = finite_lines(op, d, long_lines(d, count))
                if d == "f64" and op == "sum":  # of finite extremes the order decides
                    some = some[[not (np.isfinite(r) & (np.abs(r) > 1e300)).any() for r in some]]
                if count > 100:
                    some = some[::3]
                case(op, f"{d}/rows_of_{count}", [some], reduced(op, d, some, 1), {"axes": [1]}, tol)
                case(op, f"{d}/columns_of_{count}", [some.T.copy()], reduced(op, d, some.T, 0), {"axes": [0]}, tol)


def joined(op, a, b):
    """One step of a fold, in the dtype of both; NaN wins in min and max."""
    with np.errstate(all="ignore"):
        function = {
            "sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum, "any": np.logical_or,
            "all": np.logical_and, "and": np.bitwise_and, "or": np.bitwise_or
        }[op]
        return function(a, b)


def of_some():
    """where and initial."""
    for d in ALL:
        rows = lines(d)
        nothing, all_but_first = np.zeros(4, bool), np.array([False, True, True, True])
        for op in ("sum", "prod", "min", "max", "any", "all"):
            if op in ("sum", "prod"):  # initial is joined last, where the others may have left the range
                rows = finite_lines("prod", d, lines(d))
            own = np.dtype(bool) if op in ("any",
                                           "all") else np.dtype(np.int64) if d == "bool" and op in ("sum",
                                                                                                    "prod") else NP[d]
            starts = {"least": least(d), "greatest": greatest(d), "one": 1}
            for mask_name, mask in (("nothing", nothing), ("some", all_but_first)):
                kept = rows[:, mask]
                without = None if op in ("min", "max") else reduced(op, d, kept, 1)
                case(f"{op}_with", f"{d}/{mask_name}", [rows, mask], without, {"axes": [1], "where": 1})
                for start, value in starts.items():
                    first = np.array(value).astype(NP[d])
                    whole = np.concatenate([np.broadcast_to(first, (len(rows), 1)), kept], axis=1)
                    case(f"{op}_with", f"{d}/{mask_name}/{start}", [rows, mask, first],
                         reduced(op, d, whole, 1).astype(own), {"axes": [1], "where": 1, "initial": 2})
            if op in ("min", "max"):
                first = np.array(starts["one"]).astype(NP[d])
                case(f"{op}_with", f"{d}/none/one", [np.zeros((0, 3), NP[d]), first], np.broadcast_to(first, (3,)),
                     {"axes": [0], "initial": 1})


# ---- Scans ----


def scanned(op, d, x, axis):
    own = NP[d]
    if op in ("cumsum", "cumprod"):
        function = {"cumsum": np.cumsum, "cumprod": np.cumprod}[op]
        if d == "bool":
            return function(x, axis=axis, dtype=np.int64)
        if d in FLOATS:
            return function(x.astype(np.float64), axis=axis).astype(own)
        return function(x, axis=axis, dtype=own)
    if op in ("cummin", "cummax"):
        function = np.minimum if op == "cummin" else np.maximum
        return function.accumulate(wide(d, x), axis=axis).astype(own)
    return np.logaddexp.accumulate(x.astype(np.float64), axis=axis).astype(own)


def scans():
    for d in ALL:
        for op in ("cumsum", "cumprod", "cummin", "cummax") + (("cumlogsumexp",) if d in FLOATS else ()):
            tol = rtol(NEAR[d], 0) if op == "cumlogsumexp" else VALUE
            for tag, shape, axis in (("none", (0,), 0), ("rows_of_none", (3, 0), 1), ("none_of_columns", (0, 3), 0),
                                     ("no_rows", (0, 3), 1)):
                x = np.zeros(shape, NP[d])
                case(op, f"{d}/{tag}", [x], scanned(op, d, x, axis), {"axis": axis}, tol)
            rows = finite_lines("prod" if op == "cumprod" else "sum", d, lines(d))
            for reverse in (False, True):
                flip = (lambda a, axis: np.flip(a, axis)) if reverse else (lambda a, axis: a)
                tag = "reverse" if reverse else "forward"
                case(op, f"{d}/rows/{tag}", [rows], flip(scanned(op, d, flip(rows, 1), 1), 1),
                     {"axis": 1, "reverse": reverse}, tol)
                case(op, f"{d}/columns/{tag}", [rows.T.copy()], flip(scanned(op, d, flip(rows.T, 0), 0), 0),
                     {"axis": 0, "reverse": reverse}, tol)
            if op in ("cummin", "cummax"):  # beyond a block
                some = long_lines(d, 1000)[::3]
                case(op, f"{d}/rows_of_1000", [some], scanned(op, d, some, 1), {"axis": 1}, tol)


# ---- Segments and scatters ----


def fold_rows(op, start, rows, places, own):
    """Rows joined one after the other at their places, each step rounded to the dtype."""
    out = np.array(start, own)
    for row, place in zip(rows, places):
        if 0 <= place < len(out):
            a, b = out[place], row.astype(own)
            if own in (np.dtype(np.float16), NP["bf16"]):
                out[place] = joined(op, a.astype(np.float32), b.astype(np.float32)).astype(own)
            else:
                out[place] = joined(op, a, b)
    return out


def segments():
    for d in ALL:
        rows = lines(d)
        ids = np.array([(7 * i) % 11 - 1 for i in range(len(rows))], np.int32)  # -1 to 9: 6 and up are outside
        ids[ids == 2] = 3  # segment 2 has no rows
        for op in ("sum", "prod", "min", "max"):
            some = finite_lines("prod", d, rows) if op in ("sum", "prod") else rows
            own = np.dtype(np.int64) if d == "bool" and op in ("sum", "prod") else NP[d]
            start = np.broadcast_to(np.array(IDENTITY[op](d)).astype(own), (6, 4))
            places = ids[:len(some)]
            case(f"segment_{op}", f"{d}/rows", [some, places], fold_rows(op, start, some, places, own), {"segments": 6})
            by = np.argsort(places, kind="stable")
            case(f"segment_{op}", f"{d}/sorted", [some[by], places[by]], fold_rows(op, start, some[by], places[by],
                                                                                   own), {"segments": 6})
            flat = some[:, 0].copy()
            case(f"segment_{op}", f"{d}/numbers", [flat, places.astype(np.int64)],
                 fold_rows(op, start[:, 0], flat, places, own), {"segments": 6})
            case(f"segment_{op}", f"{d}/no_rows", [some[:0], places[:0]], start, {"segments": 6})
            case(f"segment_{op}", f"{d}/no_segments", [some, places], start[:0], {"segments": 0})
            case(f"segment_{op}", f"{d}/no_columns", [some[:, :0], places], start[:, :0], {"segments": 6})
    for d in ALL:
        case("bincount", f"{d}/none", [np.zeros(0, np.int32), np.zeros(0, NP[d])],
             np.zeros(4, np.int64 if d == "bool" else NP[d]), {"length": 4})


def scatters():
    index = {"index": [{"array": 0}]}
    for d in ALL:
        rows = lines(d)
        into = np.roll(rows, 1, axis=0)[:5].copy()
        places = np.array([(3 * i) % 7 for i in range(len(rows))], np.int32)  # 5 and 6 are outside
        for op in ("set", "add", "mul", "min", "max", "and", "or"):
            if (op in ("and", "or") and d in FLOATS) or (op in ("add", "mul") and d == "bool"):
                case(f"scatter_{op}", f"{d}/rows", [into, places, rows], None, index)
                continue
            some = finite_lines("prod", d, rows) if op in ("add", "mul") else rows
            base = np.ones_like(into) if op in ("add", "mul") and d in FLOATS else into
            if op == "set":
                want = base.copy()
                for row, place in zip(some, places):
                    if place < 5:
                        want[place] = row
            else:
                want = fold_rows({"add": "sum", "mul": "prod"}.get(op, op), base, some, places, NP[d])
            case(f"scatter_{op}", f"{d}/rows", [base, places[:len(some)], some], want, index)
            case(f"scatter_{op}", f"{d}/no_places", [base, places[:0], some[:0]], base, index)
            case(f"scatter_{op}", f"{d}/into_none", [base[:0], places[:len(some)], some], base[:0], index)
            case(f"scatter_{op}", f"{d}/no_columns", [base[:, :0], places[:len(some)], some[:, :0]], base[:, :0], index)


# ---- Products ----


def products():
    for d in ALL:
        if d == "bool":
            continue
        left, right = np.ones((2, 0), NP[d]), np.ones((0, 3), NP[d])
        case("matmul", f"{d}/of_nothing", [left, right], np.zeros((2, 3), NP[d]))
        case("matmul", f"{d}/no_rows", [right, np.ones((3, 2), NP[d])], np.zeros((0, 2), NP[d]))


def make():
    for section in (reductions, of_some, scans, segments, scatters, products):
        section()
