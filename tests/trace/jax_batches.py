"""Write jax_batches.def: batches by JAX of the functions of jax_operations.h, jax_loops.h and jax_batched.h.

    JAX_ENABLE_X64=1 python3 jax_batches.py > jax_batches.def

A case is a function, its parameters, the shapes of its operands with their batch axes, and their kind, as in
jax_derivatives.py, which makes the operands. Then the axes of the operands and of the value by level, the outermost
first ("0,n|1,0": n is shared); then the value of the batch. Of loops, branches and functions of jax_batched.h also
its tangent and the gradients of the operands.
"""
import itertools

import jax
import jax.numpy as jnp
from jax import lax

import jax_derivatives as of

# ---- Functions of numbers that a batch may have: jax_batched.h ----


def number(y):
    return jnp.floor(y).astype(jnp.int64)


def taken_at(p, x, y):
    """Rows of x at the numbers y; NaN and others out of range are 0."""
    return jnp.take(x, number(y), axis=p[0], mode="fill", fill_value=0.0)


def added_at(p, x, u, y):
    return x.at[number(y)].add(u, mode="drop")


def set_at(p, x, u, y):
    """All numbers differ."""
    return x.at[number(y[0]) + jnp.arange(u.shape[0]) * 2].set(u, mode="drop")


def sliced_at(p, x, y):
    return lax.dynamic_slice(x, list(number(y)), p)


def updated_at(p, x, u, y):
    return lax.dynamic_update_slice(x, u, list(number(y)))


def segments_at(p, x, y):
    return jax.ops.segment_sum(x, number(y), p[0])


def searched(p, x, y):
    return jnp.searchsorted(jnp.sort(x), y).astype(y.dtype)


def chosen_by(p, x, y):
    """The root of negative numbers in the branch that an entry does not take."""
    return lax.cond(jnp.sum(y) > 0, lambda x, y: jnp.sin(x) * y, lambda x, y: x * x - y, x, y)


def rooted(p, x):
    return lax.cond(jnp.sum(x) > 0, lambda x: jnp.sqrt(jnp.sum(x)) + x, lambda x: 1 / (1 - jnp.sum(x)) * x, x)


def switched_by(p, x, y):
    return lax.switch(number(y), [lambda x: x, jnp.sin, lambda x: x[::-1] * x, lambda x: jnp.full_like(x, 2.0)], x)


def counted_by(p, x, y):
    return lax.fori_loop(0, number(y), lambda i, a: jnp.sin(a) + a * 0.5, x)


def halved(p, x, y):
    """Halved until the sum of squares is at most that of y."""
    return lax.while_loop(lambda a: jnp.sum(a * a) > jnp.sum(y * y) + 0.5, lambda a: a * 0.5, x)


def loop_in_branch(p, x, y):
    return lax.cond(y > 0, lambda x: lax.while_loop(lambda a: jnp.sum(a * a) > 0.5, lambda a: a * 0.5, x), lambda x: -x, x)


def branch_in_loop(p, x, y):
    def body(i, a):
        return lax.cond(jnp.sum(a) > jnp.sum(y), lambda a: a * 0.25, lambda a: a + y, a)
    return lax.fori_loop(0, p[0], body, x)


def summed_rows(p, x, y):
    """The carry is shared or batched, and so are the rows."""
    carry, rows = lax.scan(lambda c, t: (c * t + jnp.sin(t), c + t), x, y, reverse=bool(p[0]))
    return jnp.concatenate([carry[None], rows])


def gradient_of(p, x, y):
    return jax.grad(lambda x: jnp.sum(jnp.sin(x) * y * x))(x)


NEW = {f.__name__: f for f in (taken_at, added_at, set_at, sliced_at, updated_at, segments_at, searched, chosen_by, rooted,
                               switched_by, counted_by, halved, loop_in_branch, branch_in_loop, summed_rows, gradient_of)}
# JAX has no reverse mode of loops whose number of iterations is known at run time alone.
FORWARD_ONLY = of.FORWARD_ONLY | {"counted_by", "halved", "loop_in_branch"}


def new_cases():
    for p, x, y in (((0,), (4,), (5,)), ((1,), (2, 4), (3,)), ((0,), (4, 2), ()), ((0,), (3,), (0,)), ((0,), (3,), (2, 2))):
        yield "taken_at", p, [x, y], "ties"
    for x, u, y in (((4,), (5,), (5,)), ((4, 2), (3, 2), (3,)), ((4,), (0,), (0,))):
        yield "added_at", (), [x, u, y], "ties"
    yield "set_at", (), [(7,), (3,), (1,)], "ties"
    yield "set_at", (), [(5, 2), (2, 2), (1,)], "ties"
    for p, x in (((2,), (5,)), ((2, 2), (3, 4)), ((1, 3), (4, 3)), ((), ())):
        yield "sliced_at", p, [x, (len(x),)], "ties"
    for x, u in (((5,), (2,)), ((3, 4), (2, 2)), ((), ())):
        yield "updated_at", (), [x, u, (len(x),)], "ties"
    yield "segments_at", (3,), [(6,), (6,)], "ties"
    yield "segments_at", (2,), [(4, 2), (4,)], "ties"
    yield "searched", (), [(6,), (4,)], "distinct"
    yield "searched", (), [(1,), ()], "distinct"
    for name in ("chosen_by", "gradient_of", "halved"):
        yield name, (), [(3,), (3,)], "ties"
        yield name, (), [(2, 2), ()], "ties"
    yield "rooted", (), [(3,)], "ties"
    yield "rooted", (), [()], "distinct"
    for name in ("switched_by", "counted_by", "loop_in_branch"):
        yield name, (), [(3,), ()], "ties"
    for n in (0, 1, 5):
        yield "branch_in_loop", (n,), [(3,), (3,)], "ties"
    for p in (0, 1):
        yield "summed_rows", (p,), [(2,), (4, 2)], "ties"
        yield "summed_rows", (p,), [(), (3,)], "ties"


def some(cases, wanted):
    return [c for c in cases if c[3] and c[0] in wanted]


def old_cases():
    """Those of jax_derivatives.py, of elementwise functions and reductions some that stand for the others."""
    for name in ("sin", "sqrt", "floor", "lgamma"):
        yield name, (), [(3,)], "positive"
        yield name, (), [()], "positive"
    for name in ("add", "atan2", "pow"):
        for shapes in ([(3,), ()], [(2, 1), (3,)], [(), (2, 2)]):
            yield name, (), shapes, "positive"
    yield from some(of.reductions(), ("sum", "max", "prod", "logsumexp", "var"))
    yield from some(of.cumulatives(), ("cumsum", "cumprod", "cummax", "cumlogsumexp"))
    for cases in (of.orders, of.indices, of.shapes, of.products, of.loops):
        yield from some(cases(), of.OPERATIONS.keys() | of.LOOPS.keys())


# ---- Batch axes ----

turn = itertools.count()


def levels_of(shapes):
    """For each case some ways in which operands are mapped, with axes in turn."""
    count = len(shapes)
    ways = [w for w in itertools.product((True, False), repeat=count) if any(w)]
    if count == 3:
        ways = [ways[0], ways[next(turn) % 6 + 1]]
    for way in ways:
        yield [[next(turn) % (len(s) + 1) if m else None for s, m in zip(shapes, way)]]
    if count == 2 and next(turn) % 3 == 0:
        yield [[0, None], [None, 0]]
        yield [[1 if shapes[0] else 0, 0], [0, None]]


def insert(shape, axis, size):
    return shape if axis is None else shape[:axis] + (size,) + shape[axis:]


def axes_text(levels):
    return "|".join(",".join("n" if a is None else str(a) for a in level) for level in levels)


def case(name, p, f, shapes, kind, levels):
    sizes = [(3, 2, 1)[next(turn) % 3], 2]
    own = lambda *xs: f(list(p), *xs)
    rank = len(jax.eval_shape(own, *[jnp.zeros(s) for s in shapes]).shape)
    if max([rank, *map(len, shapes)]) + len(levels) > 8:
        return
    outs, g = [], own
    for k, level in enumerate(reversed(levels)):  # the innermost first
        shapes = [insert(s, a, sizes[k]) for s, a in zip(shapes, level)]
        out = next(turn) % (rank + 1)
        rank += 1
        outs.insert(0, out - rank if next(turn) % 2 else out)
        g = jax.vmap(g, tuple(level), outs[0])
    xs = [jnp.asarray(of.operand(kind, s, k)) for k, s in enumerate(shapes)]
    value = g(*xs)
    tangent, gradients = None, None
    if name in NEW or name in of.LOOPS:
        ts = [jnp.asarray(of.tangent(x.shape, k)) for k, x in enumerate(xs)]
        if name not in of.REVERSE_ONLY:
            tangent = jax.jvp(g, xs, ts)[1]
        if name not in FORWARD_ONLY:
            gradients = jax.vjp(g, *xs)[1](jnp.asarray(of.cotangent(value.shape)))
    lists = [of.numbers([value]), of.numbers([] if tangent is None else [tangent]), of.numbers(gradients or [])]
    print(f'CASE("{name}", "{" ".join(map(str, p))}", "{";".join(",".join(map(str, s)) for s in shapes)}", "{kind}", '
          f'"{axes_text(levels)}", "{axes_text([[o] for o in outs])}",\n     ' + ",\n     ".join(lists) + ")")


def main():
    print("/* Batches of the functions of jax_operations.h, jax_loops.h and jax_batched.h, made by jax_batches.py:")
    print(" * CASE(function, parameters, shapes, kind of operands, axes of operands, of the value; value, tangent, gradients). */")
    for name, p, shapes, kind in itertools.chain(old_cases(), new_cases()):
        f = NEW.get(name) or of.OPERATIONS.get(name) or of.LOOPS.get(name)
        plain = of.UNARY.get(name) or of.BINARY.get(name)
        for levels in levels_of(shapes):
            case(name, p, f or (lambda p, *xs: plain[0](*xs)), shapes, kind, levels)


main()
