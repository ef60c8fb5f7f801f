"""Write jax_derivatives.def: derivatives by JAX of the functions of jax_operations.h and jax_loops.h, at operands,
tangents and cotangents that both sides make by the same rules.

    JAX_ENABLE_X64=1 python3 jax_derivatives.py > jax_derivatives.def

A case is a function, its parameters, the shapes of its operands and their kind; then the tangent of the value, the
gradients of the operands and the derivatives of these gradients along the tangents.
"""
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)
INF, NAN = math.inf, math.nan


# ---- Operands: the same rules are in test_derive_jax.c ----

def element(kind, i, k):
    """Element i of operand k."""
    if kind == "ties":  # eleven numbers, among them 0
        return ((i * 7 + 3 + 2 * k) % 11 - 5) / 4
    if kind == "positive":
        return (1 + (i * 3 + k) % 5) / 2
    if kind == "distinct":
        return ((i * 37 + 11 * k) % 101 - 50.5) / 16
    raise ValueError(kind)


def operand(kind, shape, k):
    return np.array([element(kind, i, k) for i in range(math.prod(shape))]).reshape(shape)


def tangent(shape, k):
    n = math.prod(shape)
    return np.array([((i * 5 + 1 + k) % 7 - 3.5) / 2 for i in range(n)]).reshape(shape)


def cotangent(shape):
    n = math.prod(shape)
    return np.array([((i * 3 + 2) % 9 - 4.5) / 4 for i in range(n)]).reshape(shape)


# ---- Elementwise functions ----

def points(*values):
    return np.array(values, float)


SPECIAL = (0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.5, -2.0, 3.0)
BOUNDED = (0.0, -0.0, 0.5, -0.75, NAN, 0.25)  # -1 to 1
ABOVE = (0.5, 1.0, 2.0, INF, NAN, 5.0)  # above 0
# JAX's abs has the slope 1 at 0 and NaN, ours 0 and NaN.
UNARY = {
    "neg": (jnp.negative, SPECIAL), "abs": (jnp.abs, SPECIAL[2:4] + SPECIAL[5:]), "sign": (jnp.sign, SPECIAL),
    "square": (jnp.square, SPECIAL), "floor": (jnp.floor, SPECIAL), "ceil": (jnp.ceil, SPECIAL),
    "round": (jnp.round, SPECIAL), "trunc": (jnp.trunc, SPECIAL),
    "reciprocal": (jnp.reciprocal, (INF, -INF, NAN, 1.0, -1.0, 0.5, -2.0)),
    "sqrt": (jnp.sqrt, (0.0,) + ABOVE), "rsqrt": (lax.rsqrt, ABOVE), "cbrt": (jnp.cbrt, (1.0, -1.0, 8.0, -0.5, NAN)),
    "exp": (jnp.exp, SPECIAL), "exp2": (jnp.exp2, SPECIAL), "expm1": (jnp.expm1, SPECIAL),
    "log": (jnp.log, (0.0,) + ABOVE), "log2": (jnp.log2, ABOVE), "log10": (jnp.log10, ABOVE),
    "log1p": (jnp.log1p, (0.0, -0.5) + ABOVE),
    "sin": (jnp.sin, SPECIAL), "cos": (jnp.cos, SPECIAL), "tan": (jnp.tan, (0.0, -0.0, NAN, 1.0, -1.0, 0.5)),
    "asin": (jnp.arcsin, BOUNDED), "acos": (jnp.arccos, BOUNDED), "atan": (jnp.arctan, SPECIAL[:2] + SPECIAL[4:]),
    "sinh": (jnp.sinh, SPECIAL), "cosh": (jnp.cosh, SPECIAL), "tanh": (jnp.tanh, SPECIAL),
    "asinh": (jnp.arcsinh, SPECIAL[:2] + SPECIAL[4:]), "acosh": (jnp.arccosh, (1.5, 2.0, 5.0, NAN)),
    "atanh": (jnp.arctanh, BOUNDED),
    "erf": (jax.scipy.special.erf, SPECIAL[:2] + SPECIAL[4:]), "erfc": (jax.scipy.special.erfc, SPECIAL[:2] + SPECIAL[4:]),
    "erf_inv": (jax.scipy.special.erfinv, BOUNDED),
    "lgamma": (jax.scipy.special.gammaln, (0.5, 1.0, 2.0, 5.0, -0.5, -2.5, NAN)),
    "digamma": (jax.scipy.special.digamma, (0.5, 1.0, 2.0, 5.0, NAN)),
    "tgamma": (jax.scipy.special.gamma, (0.5, 1.0, 2.0, 4.0)),
    "logistic": (jax.nn.sigmoid, SPECIAL),
}
PAIRS = [(a, b) for a in (0.0, -0.0, 1.0, -2.0, 3.0) for b in (0.0, 1.0, -2.0, 3.0)]
NONZERO = [(a, b) for a in (0.0, 1.0, -2.0, 3.0, 5.5) for b in (1.0, -2.0, 3.0, -0.75)]
# JAX's hypot has no second derivatives where both have one magnitude.
APART = [(a, b) for a, b in NONZERO if abs(a) != abs(b)]
INFINITE = [(INF, 1.0), (1.0, INF), (-INF, 2.0), (2.0, -INF), (NAN, 1.0), (1.0, NAN)]
# power: b is a whole number where a is not positive
POWERS = [(2.0, 3.0), (2.0, 0.0), (3.0, -2.0), (0.5, 0.5), (1.0, 2.0), (0.0, 2.0), (0.0, 3.0)]
BINARY = {
    "add": (jnp.add, PAIRS + INFINITE), "sub": (jnp.subtract, PAIRS + INFINITE), "mul": (jnp.multiply, PAIRS + INFINITE),
    "div": (jnp.divide, NONZERO), "maximum": (jnp.maximum, PAIRS + INFINITE), "minimum": (jnp.minimum, PAIRS + INFINITE),
    "atan2": (jnp.arctan2, NONZERO), "hypot": (jnp.hypot, APART), "logaddexp": (jnp.logaddexp, PAIRS),
    "copysign": (jnp.copysign, NONZERO[4:]), "fmod": (lax.rem, NONZERO), "remainder": (jnp.remainder, NONZERO),
    "pow": (jnp.power, POWERS),
}


def clip(p, x, low, high):
    return jnp.clip(x, low, high)


# ---- Functions of shapes: p are the parameters, which are integers ----

def axes_of(p):
    return tuple(p) if p else None


def index_of(p):
    return np.array(p, np.int64)


MODES = {0: "fill", 1: "clip", 2: "wrap"}


def take(p, x):
    """p: axis, mode, indices."""
    return jnp.take(x, index_of(p[2:]), axis=p[0], mode=MODES[p[1]], fill_value=0.0)


def along(p, x):
    """Indices along axis p[0]: (i * 3 + 1) mod its extent, in p[1] places."""
    shape = list(x.shape)
    shape[p[0]] = p[1]
    at = (np.arange(math.prod(shape)).reshape(shape) * 3 + 1) % x.shape[p[0]]
    return jnp.take_along_axis(x, at, axis=p[0])


def scatter(which):
    def f(p, x, u):
        at = x.at[index_of(p)]
        return {"set": at.set, "add": at.add, "mul": at.multiply, "min": at.min, "max": at.max}[which](
            u, mode="drop", unique_indices=which == "mul")
    return f


def segment(which):
    def f(p, x):
        ids = index_of(p[1:])
        if which == "prod":  # JAX has no derivative of products of segments
            rows = [np.flatnonzero(ids == k) for k in range(p[0])]
            return jnp.stack([jnp.prod(x[r], axis=0) for r in rows])
        of = {"sum": jax.ops.segment_sum, "max": jax.ops.segment_max, "min": jax.ops.segment_min}[which]
        return of(x, ids, p[0])
    return f


def slices(p, x):
    """p: start, limit, step of each axis."""
    return x[tuple(slice(*p[k:k + 3]) for k in range(0, len(p), 3))]


def pad(p, x, v):
    """p: low, high, interior of each axis."""
    return lax.pad(x, v, [tuple(p[k:k + 3]) for k in range(0, len(p), 3)])


def dot_general(p, x, y):
    """p: the numbers of contracted and of batch axes, then those of x and of y in turn."""
    c, b = p[0], p[1]
    rest = p[2:]
    return lax.dot_general(x, y, ((rest[0:2 * c:2], rest[1:2 * c:2]), (rest[2 * c::2], rest[2 * c + 1::2])))


def dynamic_slice(p, x):
    n = x.ndim
    return lax.dynamic_slice(x, p[:n], p[n:])


def dynamic_update(p, x, u):
    return lax.dynamic_update_slice(x, u, p)


def cumulative(f):
    return lambda p, x: f(x, axis=p[0], reverse=bool(p[1]))


def norm(p, x):
    return jnp.sqrt(jnp.sum(x * x, axis=axes_of(p)))


OPERATIONS = {
    "sum": lambda p, x: jnp.sum(x, axes_of(p)), "prod": lambda p, x: jnp.prod(x, axes_of(p)),
    "max": lambda p, x: jnp.max(x, axes_of(p)), "min": lambda p, x: jnp.min(x, axes_of(p)),
    "mean": lambda p, x: jnp.mean(x, axes_of(p)), "var": lambda p, x: jnp.var(x, axes_of(p)),
    "std": lambda p, x: jnp.std(x, axes_of(p)), "norm": norm,
    "logsumexp": lambda p, x: jax.scipy.special.logsumexp(x, axes_of(p)),
    "cumsum": cumulative(lax.cumsum), "cumprod": cumulative(lax.cumprod), "cummax": cumulative(lax.cummax),
    "cummin": cumulative(lax.cummin), "cumlogsumexp": cumulative(lax.cumlogsumexp),
    "sort": lambda p, x: jnp.sort(x, p[0], descending=bool(p[1]), stable=True),
    "top_k": lambda p, x: lax.top_k(x, p[0])[0], "take": take, "take_along": along,
    "scatter_set": scatter("set"), "scatter_add": scatter("add"), "scatter_mul": scatter("mul"),
    "scatter_min": scatter("min"), "scatter_max": scatter("max"),
    "segment_sum": segment("sum"), "segment_prod": segment("prod"), "segment_max": segment("max"),
    "segment_min": segment("min"),
    "slice": slices, "pad": pad, "flip": lambda p, x: jnp.flip(x, tuple(p)),
    "transpose": lambda p, x: jnp.transpose(x, p), "reshape": lambda p, x: x.reshape(p),
    "broadcast": lambda p, x: jnp.broadcast_to(x, p), "concatenate": lambda p, x, y: jnp.concatenate([x, y], p[0]),
    "stack": lambda p, x, y: jnp.stack([x, y], p[0]), "roll": lambda p, x: jnp.roll(x, p[0], p[1]),
    "tile": lambda p, x: jnp.tile(x, p), "repeat": lambda p, x: jnp.repeat(x, p[0], p[1]),
    "diff": lambda p, x: jnp.diff(x, p[0], p[1]), "tril": lambda p, x: jnp.tril(x, p[0]),
    "dot_general": dot_general, "matmul": lambda p, x, y: jnp.matmul(x, y),
    "dynamic_slice": dynamic_slice, "dynamic_update": dynamic_update, "clip": clip,
    "where": lambda p, x, y: jnp.where(x < y, x * y, x + y),
    "mul_sum": lambda p, x, y: (x * y).sum(), "div_all": lambda p, x, y: x / (y * y + 1),
    "cholesky": lambda p, x: jnp.linalg.cholesky(x @ x.T + 4 * jnp.eye(p[0])),
    "solve_triangular": lambda p, x, y: jax.scipy.linalg.solve_triangular(
        jnp.tril(x) + 4 * jnp.eye(p[0]), y, lower=True, trans=p[1]),
}


# ---- Branches and loops ----

def cond_step(c, t):
    return lax.cond(t > 0, lambda c, t: c * t, lambda c, t: c + t, c, t)


def chosen(p, x):
    return lax.cond(p[0] == 1, lambda x: jnp.sin(x) * x, lambda x: x * x * x, x)


def safe(p, x):
    """Infinite slopes in the branch that is not taken."""
    return lax.cond(jnp.sum(x) > 100, lambda x: jnp.sqrt(x - 100), lambda x: x * 2, x)


def nested(p, x):
    def inner(x):
        return lax.cond(x[0] > 0, lambda x: jnp.exp(x), lambda x: x * x, x)
    return lax.cond(jnp.sum(x) > p[0], inner, lambda x: lax.cond(x[1] > 0, jnp.tanh, inner, x), x)


def switched(p, x):
    """The index is clamped. A branch passes on its operand, and one does not depend on it."""
    return lax.switch(p[0], [lambda x: x, lambda x: jnp.full_like(x, 3.0), jnp.sin, lambda x: x[::-1] * x], x)


def scan_sum(p, x, y):
    """p: reverse. The carry is passed on; the output moves."""
    carry, out = lax.scan(lambda c, row: (c * row + jnp.sin(c), c * 2), x, y, reverse=bool(p[0]))
    return jnp.concatenate([carry[None], out])


def scan_constant(p, x, y):
    """A constant of the loop moves, and an integer is carried."""
    def step(c, row):
        a, i = c
        return (a + x * row * i, i + 1), a * x
    (a, _), out = lax.scan(step, (jnp.zeros_like(x), 1), y)
    return jnp.concatenate([a[None], out])


def scan_fixpoint(p, x, y):
    """A carry moves from the third iteration on."""
    def step(c, row):
        a, b, d = c
        return (b, d, d * row + x), a
    z = jnp.zeros_like(x)
    (a, b, d), out = lax.scan(step, (z, z, z), y)
    return jnp.concatenate([jnp.stack([a, b, d]), out])


def scan_forward(p, x, y):
    """Rows and the carry are handed on as they are."""
    carry, (rows, same) = lax.scan(lambda c, row: (c, (row, c)), x, y)
    return jnp.concatenate([carry[None], rows, same])


def scan_scan(p, x, y):
    def outer(c, row):
        inner, _ = lax.scan(lambda a, _: (jnp.sin(a) * row, None), c, None, length=p[0])
        return inner, inner * c
    carry, out = lax.scan(outer, x, y)
    return jnp.concatenate([carry[None], out])


def scan_cond(p, x, y):
    carry, _ = lax.scan(lambda c, row: (cond_step(c, row[0]), None), x, y)
    return carry


def scan_gradient(p, x, y):
    """Descent by gradients."""
    def loss(a, row):
        return jnp.sum((a * row - 1) ** 2)
    return lax.scan(lambda a, row: (a - 0.125 * jax.grad(loss)(a, row), None), x, y)[0]


def counted(p, x):
    """p: lower and upper."""
    return lax.fori_loop(p[0], p[1], lambda i, a: jnp.sin(a) + 0.25 * a * i, x)


def while_newton(p, x):
    return lax.while_loop(lambda c: c[0] < p[0], lambda c: (c[0] + 1, (c[1] + x * x / c[1]) / 2), (0, jnp.ones_like(x)))[1]


def while_growing(p, x):
    """The tangents that are not 0 grow in number."""
    def body(c):
        a, b, d, i = c
        return b, d, x * d, i + 1
    z = jnp.ones_like(x)
    a, b, d, _ = lax.while_loop(lambda c: c[3] < p[0], body, (z, z, z, 0))
    return jnp.concatenate([a, b, d])


def while_until(p, x):
    """The number of iterations depends on the operand."""
    return lax.while_loop(lambda a: jnp.sum(a) < 100, lambda a: a * 2 + 1, x)


@jax.custom_jvp
def bump(x):
    return x * jnp.exp(-x * x)


@bump.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return bump(x), 3 * t * (jnp.exp(-x * x) - 2 * x * bump(x))  # three times the slope


@jax.custom_vjp
def clipped(x):
    return x * x


clipped.defvjp(lambda x: (x * x, x), lambda x, g: (jnp.clip(g, -0.5, 0.5) * 2 * x,))


def rule_loop(p, x):
    return lax.fori_loop(0, p[0], lambda i, a: bump(a) + a, x)


def rule_branch(p, x):
    return lax.cond(p[0] == 1, lambda x: bump(jnp.sin(x)), lambda x: x, x)


def rule_clip(p, x):
    return lax.fori_loop(0, p[0], lambda i, a: clipped(a) * 0.5, x)


def remat_loop(p, x):
    return lax.fori_loop(0, p[0], lambda i, a: jax.checkpoint(lambda a: jnp.sin(jnp.cumsum(a)) * a)(a), x)


def remat_rule(p, x):
    return jax.checkpoint(lambda x: bump(jnp.cumsum(bump(x))))(x)


LOOPS = {f.__name__: f for f in (
    chosen, safe, nested, switched, scan_sum, scan_constant, scan_fixpoint, scan_forward, scan_scan, scan_cond,
    scan_gradient, counted, while_newton, while_growing, while_until, rule_loop, rule_branch, rule_clip, remat_loop,
    remat_rule)}
FORWARD_ONLY = {"while_newton", "while_growing", "while_until"}
REVERSE_ONLY = {"rule_clip"}
FIRST_ONLY = {"rule_loop"}  # JAX forgets rules in loops once it has transposed them

# ---- Cases: (function, parameters, shapes, kind) ----

RANKS = [(), (5,), (2, 3), (2, 1, 3), (1, 2, 2, 2), (2, 1, 1, 2, 2), (1, 1, 2, 1, 2, 2), (2, 1, 1, 1, 2, 1, 2),
         (1, 2, 1, 1, 1, 2, 1, 2)]
EMPTY = [(0,), (2, 0), (0, 3), (2, 0, 3)]


def reductions():
    for op in ("sum", "max", "min", "prod", "mean"):
        for shape in RANKS:
            yield op, (), [shape], "ties"
        for shape, axes in (((2, 3, 4), (0,)), ((2, 3, 4), (1,)), ((2, 3, 4), (0, 2)), ((4, 1), (1,)), ((1, 12), (1,))):
            yield op, axes, [shape], "ties"
        for shape, axes in (((0, 3), (1,)), ((2, 0, 3), (0,))):
            yield op, axes, [shape], "ties"
    for op in ("sum", "prod"):
        yield op, (0,), [(0, 3)], "ties"
    for op in ("var", "std", "norm", "logsumexp"):
        for shape, axes in (((5,), ()), ((3, 4), (0,)), ((3, 4), (1,)), ((2, 3, 2), (0, 2))):
            yield op, axes, [shape], "distinct"


def cumulatives():
    for op in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        for shape, axis in (((5,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 2), 1), ((1, 4), 0), ((0, 3), 0), ((2, 0), 1)):
            for reverse in (0, 1):
                kind = "distinct" if op in ("cummax", "cummin") else "ties"
                yield op, (axis, reverse), [shape], kind


def orders():
    for shape, axis in (((7,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 3), 1), ((0,), 0), ((2, 0), 0)):
        yield "sort", (axis, 0), [shape], "distinct"
        yield "sort", (axis, 1), [shape], "distinct"
    yield "sort", (0, 0), [(13,)], "ties"
    for shape in ((6,), (3, 4)):
        for k in (1, 3):
            yield "top_k", (k,), [shape], "distinct"


def indices():
    for mode, at in ((0, (0, 2, 2, -1, 9, -9)), (1, (0, 2, 2, 9)), (2, (0, 2, 2, -1, 9, -9))):
        yield "take", (0, mode) + at, [(4,)], "ties"
        yield "take", (0, mode) + at, [(4, 3)], "ties"
        yield "take", (1, mode) + at, [(2, 4, 2)], "ties"
        yield "take", (0, mode), [(4, 2)], "ties"
    for shape, axis, n in (((5,), 0, 7), ((3, 4), 1, 2), ((3, 4), 0, 5), ((2, 3, 2), 1, 3), ((3, 2), 0, 0)):
        yield "take_along", (axis, n), [shape], "ties"
    for op in ("scatter_set", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"):
        apart, repeated = (2, 0, 9, -1), (2, 0, 2, 9, 0)
        for at in (apart, repeated):
            if at is repeated and op in ("scatter_set", "scatter_mul"):
                continue  # JAX leaves the first undefined and refuses the second
            n = len(at)
            yield op, at, [(4,), (n,)], "ties"
            yield op, at, [(4, 2), (n, 2)], "ties"
        yield op, (), [(4, 2), (0, 2)], "ties"
    for op in ("segment_sum", "segment_prod", "segment_max", "segment_min"):
        yield op, (3, 0, 2, 0, 2, 2), [(5,)], "distinct"
        yield op, (2, 1, 0, 1), [(3, 2)], "distinct"
        if op != "segment_prod":
            yield op, (2, 1, 1, 1), [(3,)], "ties"


def shapes():
    for shape, p in (((6,), (1, 5, 2)), ((6,), (5, 1, -2)), ((3, 4), (0, 3, 2, 3, 0, -1)), ((3, 4), (1, 1, 1, 0, 4, 1)),
                     ((2, 3, 2), (0, 2, 1, 2, 0, -1, 0, 1, 1))):
        yield "slice", p, [shape], "ties"
    for shape, p in (((3,), (1, 2, 0)), ((3,), (-1, 1, 2)), ((2, 3), (1, 0, 1, -1, -1, 0)), ((0, 2), (1, 1, 0, 0, 1, 0)),
                     ((4,), (-1, -1, 0)), ((), ())):
        yield "pad", p, [shape, ()], "ties"
    for shape, p in (((4,), (0,)), ((2, 3), (0, 1)), ((2, 3, 2), (1,)), ((0, 2), (0,))):
        yield "flip", p, [shape], "ties"
    for shape, p in (((2, 3), (1, 0)), ((2, 3, 2), (2, 0, 1)), ((1, 2, 1, 3), (3, 1, 2, 0)),
                     ((1, 2, 1, 1, 1, 2, 1, 2), (7, 6, 5, 4, 3, 2, 1, 0))):
        yield "transpose", p, [shape], "ties"
    for shape, p in (((2, 3), (6,)), ((6,), (1, 3, 2)), ((), (1, 1)), ((1, 1), ()), ((0, 3), (3, 0)),
                     ((2, 2, 2), (1, 2, 1, 2, 1, 2, 1, 1))):
        yield "reshape", p, [shape], "ties"
    for shape, p in (((), (2, 3)), ((3,), (2, 3)), ((2, 1), (2, 3)), ((1, 3), (2, 2, 3)), ((1,), (0,)), ((0,), (2, 0)),
                     ((1, 2), (1, 2, 1, 1, 1, 2, 3, 2))):
        yield "broadcast", p, [shape], "ties"
    for a, b, axis in (((2,), (3,), 0), ((2, 3), (1, 3), 0), ((2, 1), (2, 3), 1), ((0, 2), (2, 2), 0), ((0,), (0,), 0)):
        yield "concatenate", (axis,), [a, b], "ties"
    for shape, axis in (((3,), 0), ((3,), 1), ((2, 2), 1), ((), 0)):
        yield "stack", (axis,), [shape, shape], "ties"
    for shape, p in (((5,), (2, 0)), ((2, 3), (-1, 1)), ((2, 3), (7, 0)), ((0, 2), (1, 0))):
        yield "roll", p, [shape], "ties"
    yield "tile", (2, 2), [(2, 1)], "ties"
    yield "tile", (3,), [(2,)], "ties"
    yield "repeat", (2, 0), [(2, 2)], "ties"
    yield "repeat", (3, 1), [(2, 2)], "ties"
    for shape, p in (((5,), (1, 0)), ((5,), (2, 0)), ((2, 4), (1, 1)), ((1, 3), (1, 0))):
        yield "diff", p, [shape], "ties"
    for k in (-1, 0, 1):
        yield "tril", (k,), [(3, 4)], "ties"
    for shape, p in (((5,), (1, 3)), ((5,), (9, 2)), ((3, 4), (1, -5, 2, 2)), ((3, 4), (0, 2, 3, 0)), ((), ())):
        yield "dynamic_slice", p, [shape], "ties"
    for a, b, p in (((5,), (2,), (1,)), ((5,), (2,), (9,)), ((3, 4), (2, 2), (-7, 1)), ((3, 4), (0, 4), (0, 0)), ((), (), ())):
        yield "dynamic_update", p, [a, b], "ties"


def products():
    for a, b in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((2, 2, 3), (2, 3, 2)), ((2, 1, 2, 3), (3, 2)),
                 ((1, 3), (2, 3, 1)), ((0, 3), (3, 2)), ((2, 0), (0, 2)), ((1, 1), (1, 1))):
        yield "matmul", (), [a, b], "ties"
    for p, a, b in (((1, 0, 0, 0), (3, 2), (3, 4)), ((1, 1, 2, 1, 0, 0), (2, 2, 3), (2, 3, 2)), ((0, 0), (2,), (3,)),
                    ((2, 0, 0, 1, 1, 0), (2, 3), (3, 2)), ((0, 1, 0, 0), (3,), (3, 2)), ((1, 2, 2, 2, 0, 1, 1, 0), (2, 3, 2), (3, 2, 2))):
        yield "dot_general", p, [a, b], "ties"
    for shapes_ in ([(3,), ()], [(), (3,)], [(2, 1), (3,)], [(2, 1, 3), (2, 1)], [(0, 1), (3,)], [(1, 1, 2, 1, 1, 1, 2, 1), (2,)]):
        for op in ("mul_sum", "div_all", "where"):
            yield op, (), shapes_, "ties"
    for s in ([(3,), (), ()], [(2, 3), (3,), (2, 1)], [(), (2,), (2,)]):
        yield "clip", (), s, "ties"
    yield "cholesky", (3,), [(3, 3)], "distinct"
    yield "cholesky", (1,), [(1, 1)], "distinct"
    for trans in (0, 1):
        yield "solve_triangular", (3, trans), [(3, 3), (3, 2)], "distinct"


def loops():
    one = [(3,)]
    for p in (0, 1):
        yield "chosen", (p,), one, "ties"
        yield "rule_branch", (p,), one, "ties"
        yield "scan_sum", (p,), [(2,), (4, 2)], "ties"
    yield "safe", (), one, "ties"
    for p in (-9, 0, 9):
        yield "nested", (p,), one, "distinct"
    for p in (-3, 0, 1, 2, 3, 7):
        yield "switched", (p,), one, "ties"
    for op in ("scan_constant", "scan_fixpoint", "scan_forward", "scan_cond", "scan_gradient"):
        yield op, (), [(2,), (5, 2)], "ties"
        yield op, (), [(2,), (1, 2)], "ties"
        yield op, (), [(2,), (0, 2)], "ties"
        yield op, (), [(0,), (2, 0)], "ties" if op != "scan_cond" else None
    for n in (0, 1, 3):
        yield "scan_scan", (n,), [(2,), (3, 2)], "ties"
        yield "rule_loop", (n,), one, "ties"
        yield "rule_clip", (n,), one, "ties"
        yield "remat_loop", (n,), one, "ties"
    for p in ((0, 4), (2, 2), (-2, 1), (3, 0)):
        yield "counted", p, one, "ties"
    yield "counted", (0, 3), [()], "ties"
    for n in (0, 1, 4):
        yield "while_newton", (n,), one, "positive"
        yield "while_growing", (n,), one, "ties"
    yield "while_until", (), one, "positive"
    yield "remat_rule", (), one, "ties"


# ---- Writing ----

def text(x):
    x = float(x)
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "INFINITY" if x > 0 else "-INFINITY"
    return repr(x)[:-2] if x == int(x) and abs(x) < 1e6 else repr(x)


def numbers(arrays):
    flat = [text(v) for a in arrays for v in np.asarray(a).ravel()]
    return f"N({len(flat)}, {', '.join(flat) or '0'})"


def write(name, params, f, operands, kind, forward=True, reverse=True):
    xs = tuple(map(jnp.asarray, operands))
    ts = tuple(jnp.asarray(tangent(x.shape, k)) for k, x in enumerate(operands))
    shape = jax.eval_shape(f, *xs).shape
    c = jnp.asarray(cotangent(shape))
    pushed = jax.jvp(f, xs, ts)[1] if forward else None

    def pull(*xs):
        return jax.vjp(f, *xs)[1](c)
    pulled = pull(*xs) if reverse else None
    second = jax.jvp(pull, xs, ts)[1] if reverse and forward and name not in FIRST_ONLY else None
    lists = [numbers([pushed] if forward else []), numbers(pulled or []), numbers(second or [])]
    shapes_ = ";".join(",".join(map(str, x.shape)) for x in operands)
    given = numbers(operands) if kind == "given" else "N(0, 0)"
    print(f'CASE("{name}", "{" ".join(map(str, params))}", "{shapes_}", "{kind}", {given},\n     ' + ",\n     ".join(lists) + ")")


def main():
    print("/* Derivatives of the functions of jax_operations.h and jax_loops.h, made by jax_derivatives.py:")
    print(" * CASE(function, parameters, shapes, kind of operands, operands, tangent, gradients, second derivatives). */")
    for name, (f, at) in UNARY.items():
        write(name, (), f, [points(*at)], "given")
    for name, (f, at) in BINARY.items():
        write(name, (), f, [points(*a) for a in zip(*at)], "given")
    for some in (reductions, cumulatives, orders, indices, shapes, products, loops):
        for name, p, shapes_, kind in some():
            if kind is None:
                continue
            f = OPERATIONS.get(name) or LOOPS[name]
            write(name, p, lambda *xs, f=f, p=list(p): f(p, *xs), [operand(kind, s, k) for k, s in enumerate(shapes_)], kind,
                  name not in REVERSE_ONLY, name not in FORWARD_ONLY)


if __name__ == "__main__":
    main()
