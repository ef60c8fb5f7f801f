"""Saving and loading 1 GiB in 100 arrays by numpy.savez, safetensors, torch.save and h5py, each with fsync."""
import os
import statistics
import time

import bench

import numpy

try:
    import safetensors.numpy
except ImportError:
    safetensors = None
try:
    import torch
except ImportError:
    torch = None
try:
    import h5py
except ImportError:
    h5py = None

FOLDER = os.environ.get("BENCH_DIR", ".")
COUNT = 2**30 // 100 // 8
ARRAYS = {f"leaf{i}": numpy.arange(COUNT) + i + 0.5 for i in range(100)}
BYTES = COUNT * 8 * 100


def sync(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def save_npz(path):
    numpy.savez(path, **ARRAYS)
    sync(path)


def load_npz(path):
    with numpy.load(path) as file:
        return {name: file[name] for name in file.files}


def save_safetensors(path):
    safetensors.numpy.save_file(ARRAYS, path)
    sync(path)


def save_torch(path):
    torch.save({name: torch.from_numpy(array) for name, array in ARRAYS.items()}, path)
    sync(path)


def save_h5(path):
    with h5py.File(path, "w") as file:
        for name, array in ARRAYS.items():
            file[name] = array
    sync(path)


def load_h5(path):
    with h5py.File(path, "r") as file:
        return {name: file[name][...] for name in file}


peers = [("savez", os.path.join(FOLDER, "peer.npz"), save_npz, load_npz)]
if safetensors:
    peers.append(("safetensors", os.path.join(FOLDER, "peer.safetensors"), save_safetensors,
                  lambda path: safetensors.numpy.load_file(path)))
if torch:
    peers.append(("torch.save", os.path.join(FOLDER, "peer.pt"), save_torch, torch.load))
if h5py:
    peers.append(("h5py", os.path.join(FOLDER, "peer.h5"), save_h5, load_h5))

results = {"checkpoint/save/1GiB": {}, "checkpoint/load/1GiB": {}}
for name, path, save, load in peers:
    for row, work in (("checkpoint/save/1GiB", save), ("checkpoint/load/1GiB", load)):
        if row.endswith("load/1GiB") and not os.path.exists(path):
            save(path)
        if not bench.wanted(row):
            continue
        samples = []
        for _ in range(3):
            start = time.perf_counter()
            work(path)
            samples.append(time.perf_counter() - start)
        results[row][name] = BYTES / statistics.median(samples) / 1e9
for row, values in results.items():
    if values:
        bench.print_row(row, "GB/s", values)
