"""What the peers in Python share: medians, and rows of JSON for bench/run."""
import json
import os
import statistics
import subprocess
import sys
import time

ONLY = sys.argv[2] if len(sys.argv) > 2 and sys.argv[1] == "--only" else None


# The device of rows that a GPU can run as well, and how much larger they are there.
DEVICE, SCALE = os.environ.get("BENCH_DEVICE", "host"), int(os.environ.get("BENCH_SCALE", "1"))
if DEVICE == "host":
    os.environ["JAX_PLATFORMS"] = "cpu"


def of_torch(x):
    """An array of NumPy as one of torch, on the device."""
    import torch
    x = torch.from_numpy(x)
    return x if DEVICE == "host" else x.cuda()


def until_done(work):
    """The work of torch, and the wait for it on a GPU."""
    if DEVICE == "host":
        return work
    import torch

    def waits():
        work()
        torch.cuda.synchronize()
    return waits


def one_processor():
    if DEVICE == "host":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])


def wanted(row):
    return ONLY is None or row.startswith(ONLY)


def median_seconds(work, repeats=7, least=0.005):
    """The median time of one call, in samples of at least `least` seconds."""
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            work()
        if time.perf_counter() - start > least:
            break
        calls *= 2
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        samples.append((time.perf_counter() - start) / calls)
    return statistics.median(samples)


def print_row(row, unit, peers):
    print(json.dumps({"row": row, "unit": unit, "peers": peers}), flush=True)


def by_threads(measure):
    """Call measure(threads) for one and for two, each in a process that has as many processors: JAX takes those that
    it sees when it starts."""
    if DEVICE != "host":
        measure(1)
        return
    if "BENCH_THREADS" in os.environ:
        measure(int(os.environ["BENCH_THREADS"]))
        return
    for count in (1, 2):
        allowed = sorted(os.sched_getaffinity(0))[:count]
        subprocess.run([sys.executable, *sys.argv], check=True, env={**os.environ, "BENCH_THREADS": str(count)},
                       preexec_fn=lambda: os.sched_setaffinity(0, allowed))
