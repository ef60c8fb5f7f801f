"""Sums over two ranks by mpi4py and, in compiled functions, by mpi4jax, in microseconds, for bench_collective's rows:
mpirun -np 2 python bench/peers/ranks.py [--only ROW].

Both ranks make the same number of calls, which no clock decides. mpi4py reduces arrays of NumPy in place, without
Python objects. A function of mpi4jax has a chain of sums, as the step of pith; only whole calls are timed."""
import os
import statistics
import sys
import time

os.environ["JAX_PLATFORMS"] = "cpu"
import numpy
from mpi4py import MPI

sys.path.insert(0, os.path.dirname(__file__))
from bench import print_row, wanted

WORLD, SAMPLES, CHAIN = MPI.COMM_WORLD, 9, 16
SIZES = (64, 512, 4096, 32768, 65536, 262144, 2097152, 16777216)


def calls_of(size):
    return 3 if size > 1 << 22 else 10 if size > 1 << 20 else 60 if size > 1 << 16 else 400


def microseconds(work, calls):
    samples = []
    for sample in range(-1, SAMPLES):
        WORLD.Barrier()
        start = time.perf_counter()
        for _ in range(calls):
            work()
        if sample >= 0:
            samples.append(1e6 * (time.perf_counter() - start) / calls)
    return statistics.median(samples)


def by_mpi4py(size):
    own = numpy.ones(size // 8)
    total = numpy.zeros_like(own)
    return microseconds(lambda: WORLD.Allreduce(own, total), calls_of(size))


def by_mpi4jax(size):
    import jax
    import mpi4jax
    jax.config.update("jax_enable_x64", True)
    chain = CHAIN if size <= 1 << 16 else 4

    @jax.jit
    def step(x):
        for _ in range(chain):
            x = mpi4jax.allreduce(x, op=MPI.SUM)
            x = x[0] if isinstance(x, tuple) else x
        return x
    x = jax.numpy.ones(size // 8)
    step(x).block_until_ready()
    return microseconds(lambda: step(x).block_until_ready(), 1 + calls_of(size) // chain) / chain


def main():
    peers = {"mpi4py": by_mpi4py}
    try:
        import mpi4jax  # noqa: F401, whether it is there
        peers["mpi4jax"] = by_mpi4jax
    except ImportError as e:
        if WORLD.rank == 0:
            print(f"bench: mpi4jax is skipped: {e}", file=sys.stderr)
    for size in SIZES:
        row = f"ranks/psum/{size}"
        if not wanted(row):
            continue
        times = {name: measure(size) for name, measure in peers.items()}
        if WORLD.rank == 0:
            print_row(row, "us", times)


if __name__ == "__main__":
    if WORLD.size != 2:
        sys.exit("bench: ranks.py takes 2 ranks")
    main()
