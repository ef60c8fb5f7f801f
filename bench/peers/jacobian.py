"""The rows of bench_jacobian.c by JAX, on one processor."""
import bench

bench.one_processor()

try:
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None

LINEAR, VARIABLES = 64, 30


def rosenbrock(x):
    a, b = x[:-1], x[1:]
    return jnp.sum(100 * (b - a * a) ** 2 + (1 - a) ** 2)


def rows():
    m = jnp.array([(k * 37 + 11) % 101 / 16 - 3 for k in range(LINEAR * LINEAR)]).reshape(LINEAR, LINEAR)
    x = jnp.array([k % 7 / 4 - 0.5 for k in range(VARIABLES)])
    forward, reverse = (jax.jit(of(lambda v: m @ v)) for of in (jax.jacfwd, jax.jacrev))
    hessian = jax.jit(jax.hessian(rosenbrock))
    for row, f, at in (("jacobian/linear forward", forward, m[0]), ("jacobian/linear reverse", reverse, m[0]),
                       ("jacobian/hessian", hessian, x)):
        if bench.wanted(row):
            bench.print_row(row, "us", {"jax": bench.median_seconds(lambda: f(at).block_until_ready()) * 1e6})


if jax:
    rows()
