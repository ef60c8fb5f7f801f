#!/usr/bin/env python3
"""`make --only` must leave all other cases as they are: make two operations of a deterministic family again in a copy.

Status 77: NumPy, ml_dtypes or zstd is missing.
"""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
OPS = ("bincount", "scatter_max")
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)


def contents(archive, stored):
    """By name: the row of each case, and the case with its tensors in place of their names and without its id."""
    rows, cases = {}, {}
    for row in stored.rows:
        case = json.loads(row)
        tensors = [stored.tensors[name] for name in archive.tensor_names(case)]
        rows[case["name"]] = (row, tensors)
        plain = {key: value for key, value in case.items() if key not in ("id", *archive.TENSOR_KEYS)}
        cases[case["name"]] = (plain, tensors)
    return rows, cases


def main():
    missing = [m for m in ("numpy", "ml_dtypes") if not importlib.util.find_spec(m)]
    if missing or not shutil.which("zstd"):
        print("test_replace: SKIPPED, missing:", *(missing or ["zstd"]))
        return 77
    import archive
    old = archive.read(archive.FOLDER, "identities")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(archive.path_of(archive.FOLDER, "identities"), folder)
        command = [sys.executable, os.path.join(HERE, "make"), "identities", "--only", ",".join(OPS), "--into", folder]
        subprocess.run(command, check=True)
        new = archive.read(folder, "identities")
    old_rows, old_cases = contents(archive, old)
    new_rows, new_cases = contents(archive, new)
    assert len(new.rows) == len(old.rows) and len(new.tensors) == len(old.tensors)
    assert old_cases == new_cases, "the generator makes other cases than the archive holds"
    for name, row in old_rows.items():
        assert (new_rows[name] == row) == (not name.startswith(OPS)), name
    assert set(new.head["remade"]) == set(OPS) and new.head["ops"] == old.head["ops"]
    print(f"test_replace: {len(old_rows)} cases, those of {' and '.join(OPS)} made again, all others unchanged")
    return 0


if __name__ == "__main__":
    sys.exit(main())
