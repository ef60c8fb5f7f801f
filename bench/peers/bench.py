"""What the peers in Python share: medians, and rows of JSON for bench/run."""
import json
import statistics
import sys
import time

ONLY = sys.argv[2] if len(sys.argv) > 2 and sys.argv[1] == "--only" else None


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
