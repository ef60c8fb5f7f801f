"""The functions of the family autodiff, in JAX: what each computes, and how."""
import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
from jax import lax

sp = jax.scipy.special

# JAX, mpmath or None, ranges of the operands.
ELEMENT = {
    "neg": (jnp.negative, lambda x: -x, [(-3, 3)]),
    "abs": (jnp.abs, abs, [(-3, 3)]),
    "sign": (jnp.sign, mp.sign, [(-3, 3)]),
    "floor": (jnp.floor, mp.floor, [(-3, 3)]),
    "round_half_even": (jnp.round, None, [(-3, 3)]),
    "square": (jnp.square, lambda x: x * x, [(-3, 3)]),
    "reciprocal": (jnp.reciprocal, lambda x: 1 / x, [(0.3, 4)]),
    "sqrt": (jnp.sqrt, mp.sqrt, [(0.1, 9)]),
    "rsqrt": (lax.rsqrt, lambda x: 1 / mp.sqrt(x), [(0.1, 9)]),
    "cbrt": (jnp.cbrt, lambda x: mp.cbrt(x), [(0.1, 9)]),
    "exp": (jnp.exp, mp.exp, [(-4, 4)]),
    "exp2": (jnp.exp2, lambda x: mp.power(2, x), [(-4, 4)]),
    "expm1": (jnp.expm1, mp.expm1, [(-2, 2)]),
    "log": (jnp.log, mp.log, [(0.1, 9)]),
    "log2": (jnp.log2, lambda x: mp.log(x, 2), [(0.1, 9)]),
    "log10": (jnp.log10, mp.log10, [(0.1, 9)]),
    "log1p": (jnp.log1p, mp.log1p, [(-0.8, 5)]),
    "sin": (jnp.sin, mp.sin, [(-7, 7)]),
    "cos": (jnp.cos, mp.cos, [(-7, 7)]),
    "tan": (jnp.tan, mp.tan, [(-1.4, 1.4)]),
    "asin": (jnp.arcsin, mp.asin, [(-0.95, 0.95)]),
    "acos": (jnp.arccos, mp.acos, [(-0.95, 0.95)]),
    "atan": (jnp.arctan, mp.atan, [(-4, 4)]),
    "sinh": (jnp.sinh, mp.sinh, [(-3, 3)]),
    "cosh": (jnp.cosh, mp.cosh, [(-3, 3)]),
    "tanh": (jnp.tanh, mp.tanh, [(-3, 3)]),
    "asinh": (jnp.arcsinh, mp.asinh, [(-4, 4)]),
    "acosh": (jnp.arccosh, mp.acosh, [(1.2, 6)]),
    "atanh": (jnp.arctanh, mp.atanh, [(-0.9, 0.9)]),
    "erf": (sp.erf, mp.erf, [(-2, 2)]),
    "erfc": (sp.erfc, mp.erfc, [(-2, 3)]),
    "erf_inv": (sp.erfinv, mp.erfinv, [(-0.9, 0.9)]),
    "lgamma": (sp.gammaln, lambda x: mp.loggamma(x), [(0.3, 8)]),
    "digamma": (sp.digamma, mp.digamma, [(0.5, 8)]),
    "logistic": (jax.nn.sigmoid, lambda x: 1 / (1 + mp.exp(-x)), [(-5, 5)]),
    "integer_power_3": (lambda x: x**3, lambda x: x**3, [(-2, 2)]),
    "integer_power_-2": (lambda x: x**-2, lambda x: x**-2, [(0.5, 3)]),
    "softplus": (jax.nn.softplus, lambda x: mp.log(1 + mp.exp(x)), [(-5, 5)]),
    "add": (jnp.add, lambda x, y: x + y, [(-3, 3)] * 2),
    "sub": (jnp.subtract, lambda x, y: x - y, [(-3, 3)] * 2),
    "mul": (jnp.multiply, lambda x, y: x * y, [(-3, 3)] * 2),
    "div": (jnp.divide, lambda x, y: x / y, [(-3, 3), (0.4, 3)]),
    "power": (jnp.power, mp.power, [(0.3, 3), (-2, 3)]),
    "atan2": (jnp.arctan2, mp.atan2, [(-3, 3), (0.3, 3)]),
    "hypot": (jnp.hypot, mp.hypot, [(-3, 3)] * 2),
    "max": (jnp.maximum, max, [(-3, 3)] * 2),
    "min": (jnp.minimum, min, [(-3, 3)] * 2),
    "remainder": (jnp.remainder, lambda x, y: x - y * mp.floor(x / y), [(-5, 5), (0.7, 3)]),
    "logaddexp": (jnp.logaddexp, lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), [(-3, 3)] * 2),
    "clip": (lambda x, a, b: jnp.clip(x, a, b), lambda x, a, b: min(max(x, a), b), [(-3, 3), (-1.5, -0.5), (0.5, 1.5)]),
    "fma": (lambda x, y, z: x * y + z, lambda x, y, z: x * y + z, [(-2, 2)] * 3),
}

SMOOTH = [
    "square", "reciprocal", "sqrt", "exp", "log", "sin", "cos", "tan", "asin", "atan", "sinh", "tanh", "erf",
    "logistic", "lgamma", "expm1", "log1p", "integer_power_3", "rsqrt", "cbrt"
]


def join(x, y):
    row = jnp.concatenate([x, 2 * y])
    return jnp.stack([row, 3 * row])


def scan_tanh(w, h, x):
    return lax.scan(lambda c, t: (jnp.tanh(w @ c + t),) * 2, h, x)


def scan_cond(c, x):
    return lax.scan(lambda c, t: (lax.cond(t > 0, lambda: c * t, lambda: c + t), None), c, x)[0]


def leapfrog(x, v, k):
    def step(state, _):
        x, v = state
        half = v - k * x * 0.05
        x = x + half * 0.1
        return (x, half - k * x * 0.05), None

    return lax.scan(step, (x, v), None, length=7)[0]


def newton(a):
    def far(state):
        x, a = state
        return jnp.abs(x**2 - a) > 1e-13 * a

    return lax.while_loop(far, lambda s: ((s[0] + s[1] / s[0]) / 2, s[1]), (jnp.ones_like(a), a))[0]


def safe_sqrt(x):
    return jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0)


def cross_entropy(x, label):
    return -jnp.take_along_axis(jax.nn.log_softmax(x, 1), label[:, None], 1).mean()


def lj_energy(r):
    i, j = jnp.triu_indices(r.shape[0], 1)
    d2 = ((r[i] - r[j])**2).sum(1)
    return 4 * (d2**-6 - d2**-3).sum()


def lj_neighbours(r, nb):
    other = r.at[jnp.where(nb < 0, r.shape[0], nb)].get(mode="fill", fill_value=1e3)
    d2 = jnp.where(nb >= 0, ((r[:, None] - other)**2).sum(-1), 1.0)
    inside = (nb >= 0) & (d2 < 6.25)
    return 0.5 * jnp.where(inside, 4 * (d2**-6 - d2**-3), 0).sum()


def spring_energy(r, p, k):
    distance = jnp.sqrt(((r[p[:, 0]] - r[p[:, 1]])**2).sum(1))
    return (k / 2 * (distance - 1)**2).sum()


# Compositions: what each computes, and the function.
C = {
    "gather": ("x[i], i with repeats and negatives", lambda x, i: x[i]),
    "gather_fill": ("x[i], out of range gives 0 and no gradient",
                    lambda x, i: x.at[i].get(mode="fill", fill_value=0.0)),
    "gather_clip": ("x[i], out of range goes to the nearest end", lambda x, i: x.at[i].get(mode="clip")),
    "gather_pairs": ("x[i, j]", lambda x, i, j: x[i, j]),
    "scatter_set": ("x with row i set to u, no row twice, out of range dropped",
                    lambda x, i, u: x.at[i].set(u, mode="drop")),
    "scatter_add": ("rows i of x plus u, repeats, out of range dropped", lambda x, i, u: x.at[i].add(u, mode="drop")),
    "scatter_mul": ("rows i of x times u, no row twice", lambda x, i, u: x.at[i].multiply(u, unique_indices=True)),
    "segment_sum": ("4 segments", lambda x, i: jax.ops.segment_sum(x, i, 4)),
    "sum_axis": ("sum over axis 1", lambda x: x.sum(1)),
    "mean_all": ("mean of all", lambda x: x.mean()),
    "max_axis": ("max over axis 1, no ties", lambda x: x.max(1)),
    "min_all": ("min of all, no ties", lambda x: x.min()),
    "prod_axis": ("product over axis 1, no zeros", lambda x: x.prod(1)),
    "logsumexp": ("log sum exp over axis 1", lambda x: sp.logsumexp(x, 1)),
    "norm_rows": ("sqrt of the sum of squares over axis 1", lambda x: jnp.sqrt((x * x).sum(1))),
    "variance": ("mean of squares minus square of the mean, over all", lambda x: (x * x).mean() - x.mean()**2),
    "where": ("where(c, x, y*y)", lambda c, x, y: jnp.where(c, x, y * y)),
    "cumsum": ("axis 0", lambda x: lax.cumsum(x, 0)),
    "cumsum_reverse": ("axis 1, reverse", lambda x: lax.cumsum(x, 1, reverse=True)),
    "cumprod": ("axis 0, no zeros", lambda x: lax.cumprod(x, 0)),
    "cummax": ("axis 0, no ties", lambda x: lax.cummax(x, 0)),
    "cumlogsumexp": ("axis 0", lambda x: lax.cumlogsumexp(x, 0)),
    "sort": ("along axis 1, no ties", lambda x: jnp.sort(x, 1)),
    "sort_by_key": ("y in the order of x, both sorted along the last axis: outputs x sorted, y permuted",
                    lambda x, y: tuple(lax.sort([x, y], num_keys=1))),
    "top_k_values": ("the 2 largest of each row", lambda x: lax.top_k(x, 2)[0]),
    "matvec": ("A v", lambda a, v: a @ v),
    "matmul": ("A B", lambda a, b: a @ b),
    "matmul_batch": ("A[b] B[b]; B without batch broadcasts", lambda a, b: a @ b),
    "einsum_three": ("i,ij,j-> ", lambda x, a, y: jnp.einsum("i,ij,j->", x, a, y)),
    "move": ("reverse axis 0, transpose, reshape to (-1), every second element", lambda x: x[::-1].T.reshape(-1)[::2]),
    "pad": ("pad with 7: (1, 2, 1) on axis 0, (-1, 0, 0) on axis 1",
            lambda x: lax.pad(x, jnp.asarray(7.0, x.dtype), ((1, 2, 1), (-1, 0, 0)))),
    "join": ("concatenate(x, 2y) on axis 0, then stack with itself times 3", join),
    "broadcast": ("x[:, none] * y[none, :] + 1", lambda x, y: x[:, None] * y[None, :] + 1),
    "roll": ("roll by 2 along axis 0, times x", lambda x: jnp.roll(x, 2, 0) * x),
    "dynamic_slice": ("2 rows of x from the clamped start i", lambda x, i: lax.dynamic_slice_in_dim(x, i, 2)),
    "dynamic_update": ("x with u written at the clamped start i",
                       lambda x, u, i: lax.dynamic_update_slice_in_dim(x, u, i, 0)),
    "scan_tanh": ("h = tanh(W h + x[t]) for each row x[t]; outputs the last h, all h stacked", scan_tanh),
    "scan_reverse": ("c = c*a[t] + sin(c), t from last to first; outputs the last c, the c before each step, at its t",
                     lambda c, a: lax.scan(lambda c, t: (c * t + jnp.sin(c), c), c, a, reverse=True)),
    "leapfrog": ("7 steps of v -= k*x*dt/2; x += v*dt; v -= k*x*dt/2 with dt = 0.1; outputs x, v", leapfrog),
    "cond": ("if p: sin(x)*y, else x + y**2",
             lambda p, x, y: lax.cond(p, lambda x, y: jnp.sin(x) * y, lambda x, y: x + y**2, x, y)),
    "switch": ("branch i (clamped to 0..2): x, x**2, exp(x)",
               lambda i, x: lax.switch(i, [lambda x: x, lambda x: x**2, jnp.exp], x)),
    "while_newton": ("x = 1; while |x*x - a| > 1e-13*a: x = (x + a/x)/2; scalar; jvp only", newton),
    "while_doubling": ("while sum x < 100: x = x*2 + 0.1; jvp only",
                       lambda x: lax.while_loop(lambda x: x.sum() < 100, lambda x: x * 2 + 0.1, x)),
    "fori": ("5 times x = sin(x) + 0.3*x*k, k the step from 0",
             lambda x: lax.fori_loop(0, 5, lambda k, x: jnp.sin(x) + 0.3 * x * k, x)),
    "scan_cond": ("for each t: c = c*x[t] if x[t] > 0 else c + x[t]; output the last c", scan_cond),
    "scan_gather": ("s = x[i[t]]*s + 1 over t from s = 1; output the last s",
                    lambda x, i: lax.scan(lambda s, t: (x[t] * s + 1, None), jnp.ones(()), i)[0]),
    "stop_gradient": ("x times x*x held constant", lambda x: x * lax.stop_gradient(x * x)),
    "safe_sqrt": ("where(x > 0, sqrt(where(x > 0, x, 1)), 0)", safe_sqrt),
    "cast_f32": ("x to f32, times 3, back to f64", lambda x: (x.astype(np.float32) * np.float32(3)).astype(np.float64)),
    "softmax": ("over axis 1", lambda x: jax.nn.softmax(x, 1)),
    "cross_entropy": ("-mean over rows of log softmax(x)[row, label]", cross_entropy),
    "lj_energy": ("positions (n, 3): sum over i < j of 4(r**-12 - r**-6)", lj_energy),
    "lj_neighbours": ("positions (n, 3), neighbours (n, m), -1 for none: half the sum over the neighbours of "
                      "4(r**-12 - r**-6), none for r > 2.5",
                      lj_neighbours),
    "spring_energy": ("positions (n, 3), pairs (m, 2), k (m): sum of k/2 (|r_i - r_j| - 1)**2", spring_energy),
    "mlp": ("mean of (tanh(x A) B - y)**2", lambda a, b, x, y: ((jnp.tanh(x @ a) @ b - y)**2).mean()),
    "quadratic": ("x' A x / 2 + sum sin x", lambda x, a: 0.5 * x @ a @ x + jnp.sin(x).sum()),
}

# At points where the derivative is a convention: JAX's.
V = {
    "convention_max_tie": ("max(x, y): x, y get half each where they are equal; where one is nan both get 0",
                           jnp.maximum),
    "convention_min_tie": ("as for max", jnp.minimum),
    "convention_maximum_0": ("max(x, 0), 0 a constant: 1/2 at 0", lambda x: jnp.maximum(x, 0.0)),
    "convention_relu": ("jax.nn.relu: 0 at 0", jax.nn.relu),
    "convention_reduce_max": ("max over axis 1: equal ones share", lambda x: x.max(1)),
    "convention_reduce_min": ("min over axis 1: equal ones share", lambda x: x.min(1)),
    "convention_abs": ("1 at 0 and at -0 in this JAX (0 in older ones)", jnp.abs),
    "convention_sqrt": ("inf at 0, nan below", jnp.sqrt),
    "convention_power": ("x**y at x = 0; nan for x at (0, 0)", jnp.power),
    "convention_clip": ("clip(x, -1, 1) at the bounds", lambda x: jnp.clip(x, -1.0, 1.0)),
    "convention_prod": ("product over axis 1 with one zero and two zeros: exact", lambda x: x.prod(1)),
    "convention_sort": ("ties keep their order, and the gradient follows it", lambda x: jnp.sort(x, 1)),
    "convention_cummax": ("the gradient at ties along axis 1; how ties share follows the order in which JAX combines",
                          lambda x: lax.cummax(x, 1)),
    "convention_norm": ("sqrt(sum x*x) over axis 1 at 0: nan", lambda x: jnp.sqrt((x * x).sum(1))),
    "convention_where_nan": ("where(x > 0, log(x), 0): in reverse mode nan leaks through the branch not taken at x "
                             "= 0, in forward mode not",
                             lambda x: jnp.where(x > 0, jnp.log(x), 0.0)),
    "convention_atan2": ("at (0, 0) and on the axes", jnp.arctan2),
    "convention_logaddexp": ("with -inf and equal operands", jnp.logaddexp),
    "convention_floor": ("0 everywhere", jnp.floor),
    "convention_cumprod": ("over axis 1 with zeros: exact", lambda x: lax.cumprod(x, 1)),
    "convention_scatter_max": ("x with rows i replaced by max(x, u): where several are the greatest they share",
                               lambda x, i, u: x.at[i].max(u)),
    "convention_remainder": ("x % y on multiples of y", jnp.remainder),
}

FORMULA = {
    "integer_power_3": "x**3",
    "integer_power_-2": "x**-2",
    "softplus": "log(1 + exp(x))",
    "logistic": "1/(1 + exp(-x))",
    "fma": "x*y + z",
    "clip": "x, low, high: min(max(x, low), high), also for the bounds",
    "remainder": "x - y*floor(x/y)",
    "lgamma": "log |gamma(x)|",
    "digamma": "derivative of lgamma",
    "erf_inv": "inverse of erf",
    "logaddexp": "log(exp(x) + exp(y))",
    "atan2": "operands y, x",
    "rsqrt": "1/sqrt(x)",
    "log1p": "log(1 + x)",
    "expm1": "exp(x) - 1"
}
