"""The functions of the families autodiff and batch in NumPy, written from their descriptions."""
import numpy as np

from checks import special
from checks.random import keys, unit

f64 = np.float64


def put(x, i, u, how, drop=True):
    out, n = x.copy(), len(x)
    u = np.broadcast_to(u, i.shape + x.shape[1:])
    for k, v in zip(i.tolist(), u):
        k = k + n if k < 0 else k
        if 0 <= k < n:
            out[k] = v if how == "set" else out[k] + v if how == "add" else out[k] * v if how == "mul" else np.maximum(
                out[k], v)
    return out


def take(x, i, mode, fill=0.0):
    n = len(x)
    v = np.where(i < 0, i + n, i)
    y = x[np.clip(v, 0, n - 1)]
    return y if mode == "clip" else np.where(((v >= 0) & (v < n)).reshape(v.shape + (1,) * (x.ndim - 1)), y, fill)


def start(i, n, size):
    return min(max(int(i) + n if i < 0 else int(i), 0), n - size)


def window(x, i, size=2):
    s = start(i, len(x), size)
    return x[s:s + size]


def overwrite(x, u, i):
    s, out = start(i, len(x), len(u)), x.copy()
    out[s:s + len(u)] = u
    return out


def segments(x, i, n):
    out = np.zeros((n,) + x.shape[1:])
    for k, v in zip(i.tolist(), x):
        if 0 <= k < n:
            out[k] += v
    return out


def fold(step, carry, rows):
    ys = []
    for r in rows:
        carry, y = step(carry, r)
        ys.append(y)
    return carry, np.stack(ys)


def backwards(c, a):
    ys = [None] * len(a)
    for t in range(len(a) - 1, -1, -1):
        ys[t] = c
        c = c * a[t] + np.sin(c)
    return c, np.stack(ys)


def leapfrog(x, v, k):
    for _ in range(7):
        v = v - k * x * 0.05
        x = x + v * 0.1
        v = v - k * x * 0.05
    return x, v


def newton(a):
    x = 1.0
    while abs(x * x - a) > 1e-13 * a:
        x = (x + a / x) / 2
    return f64(x)


def repeat_while(x, test, step):
    while test(x):
        x = step(x)
    return x


def times(x, n, step):
    for k in range(n):
        x = step(x, k)
    return x


def scan_cond(c, x):
    for t in x:
        c = c * t if t > 0 else c + t
    return f64(c)


def scan_gather(x, i):
    s = 1.0
    for t in i:
        s = x[t] * s + 1
    return f64(s)


def lj(r):
    e = 0.0
    for i in range(len(r)):
        for j in range(i + 1, len(r)):
            d = ((r[i] - r[j])**2).sum()
            e += 4 * (d**-6 - d**-3)
    return f64(e)


def lj_neighbours(r, nb):
    e = 0.0
    for i in range(len(r)):
        for j in nb[i]:
            if j >= 0:
                d = ((r[i] - r[j])**2).sum()
                if d < 6.25:
                    e += 2 * (d**-6 - d**-3)
    return f64(e)


def pad_79(x):
    y = np.full((1 + 2 + (x.shape[0] - 1) * 2 + 1, x.shape[1]), 7.0)
    y[1:1 + 2 * x.shape[0] - 1:2] = x
    return y[:, 1:]


def logsumexp(x):
    most = x.max(1, keepdims=True)
    return (most + np.log(np.exp(x - most).sum(1, keepdims=True)))[:, 0]


def softmax(x):
    return np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)


def join(x, y):
    return np.stack([np.concatenate([x, 2 * y]), 3 * np.concatenate([x, 2 * y])])


def by_key(x, y):
    return (np.sort(x, -1), np.take_along_axis(y, np.argsort(x, -1, kind="stable"), -1))


FORWARD = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "round_half_even": np.rint,
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": special.erf,
    "erfc": special.erfc,
    "erf_inv": special.erf_inv,
    "lgamma": special.lgamma,
    "digamma": special.digamma,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "integer_power_3": lambda x: x**3,
    "integer_power_-2": lambda x: x**-2,
    "softplus": lambda x: np.log1p(np.exp(x)),
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "power": np.power,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "max": np.maximum,
    "min": np.minimum,
    "remainder": np.remainder,
    "logaddexp": np.logaddexp,
    "clip": np.clip,
    "fma": lambda x, y, z: x * y + z,
    "gather": lambda x, i: x[i],
    "gather_fill": lambda x, i: take(x, i, "fill"),
    "gather_clip": lambda x, i: take(x, i, "clip"),
    "gather_pairs": lambda x, i, j: x[i, j],
    "scatter_set": lambda x, i, u: put(x, i, u, "set"),
    "scatter_add": lambda x, i, u: put(x, i, u, "add"),
    "scatter_mul": lambda x, i, u: put(x, i, u, "mul"),
    "segment_sum": lambda x, i: segments(x, i, 4),
    "sum_axis": lambda x: x.sum(1),
    "mean_all": lambda x: x.mean(),
    "max_axis": lambda x: x.max(1),
    "min_all": lambda x: x.min(),
    "prod_axis": lambda x: x.prod(1),
    "logsumexp": logsumexp,
    "norm_rows": lambda x: np.sqrt((x * x).sum(1)),
    "variance": lambda x: (x * x).mean() - x.mean()**2,
    "where": lambda c, x, y: np.where(c, x, y * y),
    "cumsum": lambda x: np.cumsum(x, 0),
    "cumsum_reverse": lambda x: np.cumsum(x[:, ::-1], 1)[:, ::-1],
    "cumprod": lambda x: np.cumprod(x, 0),
    "cummax": lambda x: np.maximum.accumulate(x, 0),
    "cumlogsumexp": lambda x: np.logaddexp.accumulate(x, 0),
    "sort": lambda x: np.sort(x, 1),
    "sort_by_key": by_key,
    "top_k_values": lambda x: -np.sort(-x, 1)[:, :2],
    "matvec": lambda a, v: a @ v,
    "matmul": lambda a, b: a @ b,
    "matmul_batch": lambda a, b: a @ b,
    "einsum_three": lambda x, a, y: x @ a @ y,
    "move": lambda x: np.ravel(x[::-1].T)[::2],
    "pad": pad_79,
    "join": join,
    "broadcast": lambda x, y: x[:, None] * y[None] + 1,
    "roll": lambda x: np.roll(x, 2, 0) * x,
    "dynamic_slice": window,
    "dynamic_update": overwrite,
    "scan_tanh": lambda w, h, x: fold(lambda c, t: (np.tanh(w @ c + t),) * 2, h, x),
    "scan_reverse": backwards,
    "leapfrog": leapfrog,
    "cond": lambda p, x, y: np.sin(x) * y if p else x + y**2,
    "switch": lambda i, x: [x, x**2, np.exp(x)][min(max(int(i), 0), 2)],
    "while_newton": newton,
    "while_doubling": lambda x: repeat_while(x, lambda v: v.sum() < 100, lambda v: v * 2 + 0.1),
    "fori": lambda x: times(x, 5, lambda v, k: np.sin(v) + 0.3 * v * k),
    "scan_cond": scan_cond,
    "scan_gather": scan_gather,
    "stop_gradient": lambda x: x**3,
    "safe_sqrt": lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1)), 0),
    "cast_f32": lambda x: (x.astype(np.float32) * np.float32(3)).astype(f64),
    "softmax": softmax,
    "cross_entropy": lambda x, l: -np.log(softmax(x))[np.arange(len(l)), l].mean(),
    "lj_energy": lj,
    "lj_neighbours": lj_neighbours,
    "spring_energy": lambda r, p, k: (k / 2 * (np.linalg.norm(r[p[:, 0]] - r[p[:, 1]], axis=1) - 1)**2).sum(),
    "mlp": lambda a, b, x, y: ((np.tanh(x @ a) @ b - y)**2).mean(),
    "quadratic": lambda x, a: x @ a @ x / 2 + np.sin(x).sum(),
}


def collatz(n):
    k, n = 0, int(n)
    while n != 1:
        n, k = (n // 2 if n % 2 == 0 else 3 * n + 1), k + 1
    return np.int64(k)


def climb(x, limit):
    k = 0
    while x < limit:
        x, k = 2 * x + 1, k + 1
    return f64(x), np.int64(k)


def uniform3(key):
    return unit(key, "f32", 3, True)


def split2(key):
    return keys(key, 2, True)


BATCH = {
    "mul_add": lambda x, y: x * y + 1,
    "matvec": lambda a, v: a @ v,
    "matmul": lambda a, b: a @ b,
    "outer": lambda x, y: x[:, None] * y,
    "sum_0": lambda x: x.sum(0),
    "max_and_argmax": lambda x: (x.max(), np.int64(x.argmax())),
    "sort": lambda x: np.sort(x, -1),
    "argsort": lambda x: np.argsort(x, -1, kind="stable"),
    "cumsum_reverse": lambda x: np.cumsum(x[::-1], 0)[::-1],
    "gather": lambda x, i: x[i],
    "gather_fill": lambda x, i: take(x, i, "fill", -1),
    "scatter_add": lambda x, i, u: put(x, i, u, "add"),
    "scatter_set": lambda x, i, u: put(x, i, u, "set"),
    "dynamic_slice": window,
    "dynamic_update": overwrite,
    "where": lambda c, x, y: np.where(c, x, y),
    "transpose_flip": lambda x: x.T[::-1],
    "concat": lambda x, y: np.concatenate([x, y]),
    "pad": lambda x: np.pad(x, (1, 2), constant_values=9),
    "reshape": lambda x: x.reshape(3, 2),
    "searchsorted": lambda a, v: np.searchsorted(a, v),
    "segment_sum": lambda x, i: segments(x, i, 3),
    "cond": lambda p, x: x * 2 if p else x + 100,
    "switch": lambda i, x: [x, -x, x * x][min(max(int(i), 0), 2)],
    "while": climb,
    "collatz": collatz,
    "fori": lambda n, x: f64(times(x, int(n), lambda v, k: v + k)),
    "scan": lambda c, xs: fold(lambda c, t: (c * 2 + t,) * 2, c, xs),
    "grad_quadratic": lambda a, x: 2 * a * x,
    "constant": lambda x: f64(7),
    "uniform": uniform3,
    "split": split2,
    "tree": lambda x, y: (x + y, x - y),
    "top_k": lambda x: (-np.sort(-x)[:2], np.argsort(-x, kind="stable")[:2]),
    "einsum": lambda a, b, c: a @ b @ c,
    "cummax": lambda x: np.maximum.accumulate(x, 0),
    "broadcast": lambda x: np.broadcast_to(x, (2, 3)),
    "all_axes": lambda x: x.sum(),
    "reduce_keep": lambda x: x.mean(1, keepdims=True),
}
VECTOR = {
    "matvec": lambda a, v: a @ v,
    "matmul": lambda a, b: a @ b,
    "dot": lambda x, y: x @ y,
    "scalar": lambda x, y: x * y + 1,
    "normalize": lambda x: x / x.sum(),
    "sum_and_shift": lambda x: (x.sum(), x - x[0]),
    "cross": lambda x, y: np.cross(x, y),
    "no_input_core": lambda s, x: s * x,
    "flatten": lambda x: x.sum(1),
    "outer": lambda x, y: x[:, None] * y,
    "grow": lambda x: np.concatenate([x, x]),
    "convolve": np.convolve,
    "trace": np.trace,
    "excluded": lambda x, p: x**p,
    "three": lambda a, b, x: a * x + b,
}
