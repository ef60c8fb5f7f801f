"""The products of bench_product.c by numpy, jax and torch, in GFLOP/s."""
import bench

SQUARES, BATCHES = (64, 128, 256, 512, 1024, 2048), ((100000, 3), (100000, 4), (10000, 16))


def works(shape, dtype, subscripts, threads):
    """What each peer multiplies: two stacks of matrices, or two matrices."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import torch
    jax.config.update("jax_enable_x64", True)
    torch.set_num_threads(threads)
    x, y = (np.random.default_rng(k).random(shape).astype(dtype) - 0.5 for k in (0, 1))
    jx, jy, tx, ty = jnp.asarray(x), jnp.asarray(y), torch.from_numpy(x), torch.from_numpy(y)
    if subscripts:
        einsum = jax.jit(lambda a, b: jnp.einsum(subscripts, a, b))
        return {"numpy": lambda: np.einsum(subscripts, x, y, optimize=True),
                "jax": lambda: einsum(jx, jy).block_until_ready(),
                "torch": lambda: torch.einsum(subscripts, tx, ty)}
    matmul = jax.jit(jnp.matmul)
    return {"numpy": lambda: x @ y, "jax": lambda: matmul(jx, jy).block_until_ready(), "torch": lambda: tx @ ty}


def row(name, shape, dtype, threads, subscripts=None):
    if not bench.wanted(name):
        return
    operations = 2 * shape[-1]
    for extent in shape:
        operations *= extent
    peers = works(shape, dtype, subscripts, threads)
    bench.print_row(name, "GFLOP/s", {k: operations / bench.median_seconds(w) / 1e9 for k, w in peers.items()})


def measure(threads):
    """The peers in this process, which runs on as many processors as the rows have threads."""
    for dtype, short in (("float64", "f64"), ("float32", "f32")):
        for n in SQUARES:
            row(f"product/matmul/{short}/{n}/{threads}", (n, n), dtype, threads)
        if threads == 1:
            for batch, n in BATCHES:
                row(f"product/batch/{short}/{batch}x{n}", (batch, n, n), dtype, threads)
    if threads == 1:
        row("product/einsum/f64/64x64", (64, 64, 64), "float64", threads, "bij,bjk->bik")


bench.by_threads(measure)
