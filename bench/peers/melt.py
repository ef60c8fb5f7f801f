"""The melt of examples/melt by jax-md, M atom-steps/s: forces are the gradient of the energy over lists of neighbours.

The rows are melt/4000/gradient/THREADS. Lists are made anew when an atom has moved half the skin. jax-md is measured
with the fastest of its three formats of lists. It has an environment of its own (.venv-jax-md), because it brings some
eighty packages with it."""
import time

import bench

STEPS, LAUNCH = 100, 20


def lattice(np, cells):
    constant = (4 / 0.8442) ** (1 / 3)
    corner = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    place = np.stack(np.meshgrid(*3 * [np.arange(cells)], indexing="ij"), -1).reshape(-1, 1, 3)
    velocity = np.random.default_rng(87287).normal(0, 1.2, (4 * cells**3, 3))
    return (place + corner).reshape(-1, 3) * constant, velocity - velocity.mean(0), cells * constant


def rate(jax, jax_md, cells, layout):
    """M atom-steps/s of jax-md with one format of lists."""
    import numpy as np
    jnp, partition, simulate = jax.numpy, jax_md.partition, jax_md.simulate
    position, velocity, box = lattice(np, cells)
    displacement, shift = jax_md.space.periodic(box)
    # r_onset close to the cutoff: the potential is truncated, as nearly as jax-md allows
    neighbours, energy = jax_md.energy.lennard_jones_neighbor_list(
        displacement, box, r_onset=2.4999, r_cutoff=2.5, dr_threshold=0.3, format=layout)
    initialize, step = simulate.nve(energy, shift, dt=0.005)
    nbrs = neighbours.allocate(jnp.array(position), extra_capacity=16)
    state = initialize(jax.random.PRNGKey(0), jnp.array(position), mass=1.0, kT=1.44, neighbor=nbrs)
    state = state.set(momentum=jnp.array(velocity))

    @jax.jit
    def run(state, nbrs):
        def one(_, carry):
            state, nbrs = carry
            nbrs = nbrs.update(state.position)
            return step(state, neighbor=nbrs), nbrs
        return jax.lax.fori_loop(0, LAUNCH, one, (state, nbrs))

    def steps(state, nbrs, count):
        for _ in range(count // LAUNCH):
            state, after = run(state, nbrs)
            if bool(after.did_buffer_overflow):
                raise RuntimeError("a list of neighbours has overflown")
            nbrs = after
        return jax.block_until_ready(state), nbrs

    state, nbrs = steps(state, nbrs, LAUNCH)
    start = time.perf_counter()
    state, nbrs = steps(state, nbrs, STEPS)
    seconds = time.perf_counter() - start
    if not bool(jnp.isfinite(state.position).all()):
        raise RuntimeError("a position is not finite")
    return len(position) * STEPS / seconds / 1e6


def measure(threads):
    row = f"melt/4000/gradient/{threads}"
    if not bench.wanted(row):
        return
    import jax
    jax.config.update("jax_enable_x64", True)
    import jax_md
    formats = jax_md.partition.NeighborListFormat
    rates = [rate(jax, jax_md, 10, layout) for layout in (formats.Dense, formats.Sparse, formats.OrderedSparse)]
    bench.print_row(row, "M atom-steps/s", {"jax-md": max(rates)})


bench.by_threads(measure)
