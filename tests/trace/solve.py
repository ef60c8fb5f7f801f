"""Write solve.def: derivatives of Cholesky factors and triangular solves by JAX, of
f(a, b) = sum(w * op(a, b)). Elements of a, b, w and of the direction are fractions by a formula that the test has too.

    python3 solve.py > solve.def
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular

jax.config.update("jax_enable_x64", True)

# operation, upper, transposed, unit diagonal, shapes of a and b
CASES = [("FACTOR", upper, 0, 0, shape, (1, 1)) for upper in (0, 1) for shape in ((4, 4), (2, 3, 3), (1, 1))]
CASES += [("SOLVE", upper, transpose, unit, (2, 4, 4), (2, 4, 3))
          for upper in (0, 1) for transpose in (0, 1) for unit in (0, 1)]
CASES += [("SOLVE", 0, 0, 0, (4, 4), (2, 4, 3)), ("SOLVE", 1, 1, 0, (2, 4, 4), (4, 3)),
          ("SOLVE", 1, 0, 0, (2, 1, 3, 3), (4, 3, 2)), ("SOLVE", 0, 0, 0, (1, 3, 3), (2, 3, 1))]
CASES += [("BOTH", upper, 0, 0, (2, 4, 4), (2, 4, 3)) for upper in (0, 1)]


def elements(shape, seed):
    i = np.arange(np.prod(shape), dtype=np.int64)
    return ((i * i * 7 + i * 11 + seed * 13) % 31 / 16 - 1).reshape(shape)


def matrix(shape, seed):
    return elements(shape, seed) / 2 + 4 * np.eye(shape[-1])


def flip(x):
    return jnp.swapaxes(x, -1, -2)


def operation(case, a, b):
    op, upper, transpose, unit, _, _ = case
    if op == "FACTOR":  # one triangle is read
        half = flip(a) if upper else a
        lower = jax.lax.linalg.cholesky(jnp.tril(half) + flip(jnp.tril(half, -1)), symmetrize_input=False)
        return flip(lower) if upper else lower
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = jnp.broadcast_to(a, batch + a.shape[-2:]).reshape((-1,) + a.shape[-2:])
    b = jnp.broadcast_to(b, batch + b.shape[-2:])
    flat = b.reshape((-1,) + b.shape[-2:])
    if op == "SOLVE":
        x = [solve_triangular(p, q, trans=transpose, lower=not upper, unit_diagonal=bool(unit)) for p, q in zip(a, flat)]
    else:
        x = [cho_solve((p, not upper), q) for p, q in zip(a, flat)]
    return jnp.stack(x).reshape(b.shape)


def show(values):
    numbers = [float(x).hex() for x in np.asarray(values).ravel()]
    return "NUMBERS(" + ", ".join(numbers) + ")"


print("/* Derivatives of Cholesky factors and solves, made by solve.py with JAX. CASE(operation, upper, transposed, unit")
print(" * diagonal, rank and shape of a, of b, gradients of a and b, tangent, products of the Hessian for a and b). */")
for case in CASES:
    a, b = matrix(case[4], 1), elements(case[5], 2)
    da, db = elements(case[4], 3), elements(case[5], 4)

    def f(a, b):
        x = operation(case, a, b)
        return jnp.sum(elements(x.shape, 5) * x)

    gradient = jax.grad(f, (0, 1))
    _, tangent = jax.jvp(f, (a, b), (da, db))
    (ga, gb), (ha, hb) = jax.jvp(gradient, (a, b), (da, db))
    op, *flags, of_a, of_b = case
    shapes = ", ".join(f"{len(x)}, SHAPE({', '.join(map(str, x))})" for x in (of_a, of_b))
    print(f"CASE({op}, {', '.join(map(str, flags))}, {shapes},")
    print("     " + ",\n     ".join(show(x) for x in (ga, gb, [tangent], ha, hb)) + ")")
