"""Write jax_jacobians.def: Jacobians and Hessians by JAX of the functions of test_jacobian_jax.c.

    JAX_ENABLE_X64=1 python3 jax_jacobians.py > jax_jacobians.def

A case is a function, the shape of its operand, and the Jacobian; a Hessian is the Jacobian of the gradient. Element i
of an operand is ((7 i + 3) mod 11 - 5) / 4 + 0.0625.
"""
import math

import jax
import jax.numpy as jnp
from jax import lax

jax.config.update("jax_enable_x64", True)


def operand(shape):
    return jnp.array([((i * 7 + 3) % 11 - 5) / 4 + 0.0625 for i in range(math.prod(shape))]).reshape(shape)


def mixed(x):
    return jnp.sin(x) * x.sum() + (x * x)[::-1]


def products(x):
    return jnp.tanh(x) @ x.T


def recurrence(x):
    return lax.scan(lambda c, t: (jnp.cos(c) * t + c,) * 2, jnp.float64(0.5), x)[1]


def below(x):
    """Doubled until the sum of squares exceeds 40."""
    return lax.while_loop(lambda y: (y * y).sum() < 40, lambda y: y * 2 + jnp.sin(y), x)


def chosen(x):
    return lax.cond(x[0] > 0, jnp.exp, lambda y: y * y * y, x) + jnp.where(x > 0.25, x, 0)


def moved(x):
    return jnp.concatenate([jnp.sort(x), jnp.cumsum(x)[:2] * x.max(), x.at[1].set(x[0] * x[2])])


def norms(x):
    return jnp.log(jnp.exp(x * x).sum())


def volume(x):
    return jnp.prod(x) + (x[:-1] * jnp.sin(x[1:])).sum()


def numbers(a):
    return f"N({a.size}, " + ", ".join(repr(float(v)) for v in a.ravel()) + ")"


def case(name, f, shape, derivative):
    text = f'CASE("{name}", {f.__name__}, S({", ".join(map(str, shape))}), {numbers(derivative(f)(operand(shape)))})'
    words, line = text.split(" "), ""
    for word in words:
        if len(line) + len(word) > 100:
            print(line)
            line = "     "
        line += (" " if line.strip() else "") + word
    print(line)


print("/* Jacobians and Hessians of the functions of test_jacobian_jax.c, made by jax_jacobians.py:")
print(" * CASE(kind, function, shape of the operand, derivatives). */")
for f, shape in ((mixed, (4,)), (products, (2, 3)), (recurrence, (5,)), (below, (3,)), (chosen, (4,)), (moved, (4,))):
    case("jacobian", f, shape, jax.jacfwd)
for f, shape in ((norms, (4,)), (volume, (5,)), (norms, (2, 2))):
    case("hessian", f, shape, jax.hessian)
