"""The functions of the family batch, in JAX: what each computes, and how."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def climb(x, limit):
    return lax.while_loop(lambda s: s[0] < limit, lambda s: (s[0] * 2 + 1, s[1] + 1), (x, jnp.int64(0)))


def collatz(n):
    def step(state):
        n, count = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

    return lax.while_loop(lambda s: s[0] != 1, step, (n, jnp.int64(0)))[1]


def top_k(x):
    values, places = lax.top_k(x, 2)
    return values, places.astype(np.int64)


# Functions to map: what each computes, and the function.
F = {
    "mul_add": ("x*y + 1", lambda x, y: x * y + 1),
    "matvec": ("A v", lambda a, v: a @ v),
    "matmul": ("A B", lambda a, b: a @ b),
    "outer": ("x[:, none]*y[none, :]", lambda x, y: x[:, None] * y[None, :]),
    "sum_0": ("sum over axis 0", lambda x: x.sum(0)),
    "max_and_argmax": ("outputs max, argmax (i64) of a vector", lambda x: (x.max(), jnp.argmax(x).astype(np.int64))),
    "sort": ("last axis", lambda x: jnp.sort(x, -1)),
    "argsort": ("last axis, i64", lambda x: jnp.argsort(x, -1).astype(np.int64)),
    "cumsum_reverse": ("axis 0, reverse", lambda x: lax.cumsum(x, 0, reverse=True)),
    "gather": ("x[i], i in range or negative", lambda x, i: x[i]),
    "gather_fill": ("x[i], out of range gives -1", lambda x, i: x.at[i].get(mode="fill", fill_value=-1)),
    "scatter_add": ("x with u added at i, out of range dropped", lambda x, i, u: x.at[i].add(u, mode="drop")),
    "scatter_set": ("x with u set at i, no index twice", lambda x, i, u: x.at[i].set(u)),
    "dynamic_slice": ("2 elements of x from the clamped start i", lambda x, i: lax.dynamic_slice_in_dim(x, i, 2)),
    "dynamic_update": ("u written into x at the clamped start i",
                       lambda x, u, i: lax.dynamic_update_slice_in_dim(x, u, i, 0)),
    "where": ("where(c, x, y)", lambda c, x, y: jnp.where(c, x, y)),
    "transpose_flip": ("reverse(transpose(x)) on axis 0", lambda x: x.T[::-1]),
    "concat": ("concatenate(x, y)", lambda x, y: jnp.concatenate([x, y])),
    "pad": ("9 before, 2 times 9 after", lambda x: jnp.pad(x, (1, 2), constant_values=9)),
    "reshape": ("(2, 3) to (3, 2)", lambda x: x.reshape(3, 2)),
    "searchsorted": ("left; i64", lambda a, v: jnp.searchsorted(a, v).astype(np.int64)),
    "segment_sum": ("3 segments", lambda x, i: jax.ops.segment_sum(x, i, 3)),
    "cond": ("if p: 2x, else x + 100 (p may be batched: both are computed and selected)",
             lambda p, x: lax.cond(p, lambda v: v * 2, lambda v: v + 100, x)),
    "switch": ("branch i clamped: x, -x, x*x",
               lambda i, x: lax.switch(i, [lambda v: v, lambda v: -v, lambda v: v * v], x)),
    "while": ("while x < limit: x = 2x + 1, k += 1, from k = 0; outputs x, k (i64); each element stops on its own",
              climb),
    "collatz": ("n (i64): steps to 1", collatz),
    "fori": ("n times x = x + i (i from 0), n may be batched", lambda n, x: lax.fori_loop(0, n, lambda i, v: v + i, x)),
    "scan": ("c = c*2 + t over t in xs; outputs the last c, all c",
             lambda c, xs: lax.scan(lambda c, t: ((c * 2 + t),) * 2, c, xs)),
    "grad_quadratic": ("gradient of sum(a x x) for x", lambda a, x: jax.grad(lambda v: (a * v * v).sum())(x)),
    "constant": ("7 whatever x; an output that does not depend on the batch", lambda x: jnp.float64(7)),
    "uniform": ("f32 (3) drawn from the key u32[2], threefry, partitionable",
                lambda k: jax.random.uniform(jax.random.wrap_key_data(k), (3,), np.float32)),
    "split": ("two keys u32[2, 2] from a key u32[2], threefry, partitionable",
              lambda k: jax.random.key_data(jax.random.split(jax.random.wrap_key_data(k)))),
    "tree": ("x, y to (x + y, x - y): two outputs", lambda x, y: (x + y, x - y)),
    "top_k": ("the 2 largest: values, positions (i64)", top_k),
    "einsum": ("ij,jk,k->i", lambda a, b, c: jnp.einsum("ij,jk,k->i", a, b, c)),
    "cummax": ("axis 0", lambda x: lax.cummax(x, 0)),
    "broadcast": ("to (2, 3)", lambda x: jnp.broadcast_to(x, (2, 3))),
    "all_axes": ("sum of all", lambda x: x.sum()),
    "reduce_keep": ("mean over axis 1, kept", lambda x: x.mean(1, keepdims=True)),
}

# Functions for vectorize: the signature, and the function.
VEC = {
    "matvec": ("(m,n),(n)->(m)", lambda a, v: a @ v),
    "matmul": ("(m,n),(n,p)->(m,p)", lambda a, b: a @ b),
    "dot": ("(n),(n)->()", lambda x, y: x @ y),
    "scalar": ("(),()->()", lambda x, y: x * y + 1),
    "normalize": ("(n)->(n)", lambda x: x / x.sum()),
    "sum_and_shift": ("(n)->(),(n)", lambda x: (x.sum(), x - x[0])),
    "cross": ("(3),(3)->(3)", lambda x, y: jnp.cross(x, y)),
    "no_input_core": ("(),(n)->(n)", lambda s, x: s * x),
    "flatten": ("(m,n)->(m)", lambda x: x.sum(1)),
    "outer": ("(m),(n)->(m,n)", lambda x, y: x[:, None] * y),
    "grow": ("(n)->(k)", lambda x: jnp.concatenate([x, x])),
    "convolve": ("(n),(m)->(k)", lambda x, y: jnp.convolve(x, y)),
    "trace": ("(n,n)->()", lambda a: jnp.trace(a)),
    "excluded": ("(n)->(n); argument 1 is excluded (given whole, a scalar power)", lambda x, p: x**p),
    "three": ("(),(),(n)->(n)", lambda a, b, x: a * x + b),
}
