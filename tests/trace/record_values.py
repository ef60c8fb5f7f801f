"""Writes record_values.def: values and derivatives by JAX of a loop whose length is found on the way.

JAX differentiates the iterations that the loop has made, one after the other:

    python tests/trace/record_values.py > tests/trace/record_values.def
"""
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

STARTS = [([0.3, -0.7, 0.2], 1.3), ([2.0, 1.0, -3.0], 1.1), ([9.0, 0.0, 0.5], 2.0), ([0.01, 0.02, 0.03], 1.25)]
DIRECTION = jnp.array([1.0, -0.5, 0.25])


def step(x, a):
    return x * (a + 0.1 * jnp.sin(x)) + 0.01 * jnp.roll(x, 1)


def length(x, a):
    n = 0
    while jnp.sum(x * x) < 40.0:
        x = step(x, a)
        n += 1
    return n


def numbers(values):
    return "{" + ", ".join(repr(float(v)) for v in values) + "}"


print("/* By record_values.py: start, a, iterations, value, gradient by x and by a, product of the\n"
      " * Hessian by x with {1, -0.5, 0.25}. */")
for start, a in STARTS:
    x = jnp.array(start)
    n = length(x, a)

    def value(x, a):
        for _ in range(n):
            x = step(x, a)
        return jnp.sum(jnp.exp(-0.1 * x) * x)

    by_x, by_a = jax.grad(value, (0, 1))(x, a)
    product = jax.jvp(lambda x: jax.grad(value)(x, a), (x,), (DIRECTION,))[1]
    print(f"{{{numbers(start)}, {a!r}, {n}, {float(value(x, a))!r}, {numbers(by_x)}, "
          f"{float(by_a)!r}, {numbers(product)}}},")
