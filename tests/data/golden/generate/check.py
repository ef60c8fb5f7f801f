#!/usr/bin/env python3
"""Evaluate golden cases from their archives alone, with NumPy and plain Python, and compare as README.md says.

check.py [--folder FOLDER] [FAMILY...]

Cases of bf16 also need ml_dtypes. Status 0: every case passes; 1: some fail; 77: there is no NumPy or no zstd.
"""
import argparse
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

try:
    import numpy as np
except ImportError:
    print("check: SKIPPED, no NumPy here")
    sys.exit(77)

import archive  # noqa: E402
from checks import autodiff, batch, elementwise, identities, index, order, product, random, reduce, shape, tree  # noqa: E402
from checks.values import Refused  # noqa: E402
from common import rtol, same  # noqa: E402
from families import FAMILIES  # noqa: E402

EVALUATE = {
    "elementwise": elementwise.elementwise,
    "transcendental": elementwise.transcendental,
    "cast": elementwise.cast,
    "reduce": reduce.evaluate,
    "index": index.evaluate,
    "shape": shape.evaluate,
    "order": order.evaluate,
    "random": random.evaluate,
    "product": product.evaluate,
    "identities": identities.evaluate,
    "batch": batch.evaluate,
}
# Functions for which this checker is less accurate than the archive: its relative error, and its absolute one at roots.
ROUGH = {"erfc": (1e-12, 0), "logistic": (1e-12, 0), "digamma": (1e-9, 1e-9), "lgamma": (1e-9, 1e-9),
         "logaddexp": (1e-12, 1e-12), "polygamma": (1e-10, 1e-300)}


def tolerance(family, case):
    """The tolerance of the case, wider for functions of ROUGH."""
    if family != "transcendental" or case["op"] not in ROUGH:
        return case["tol"]
    relative, absolute = ROUGH[case["op"]]
    if "/f32/" in case["name"]:  # one step among subnormals, where there are no roots
        return rtol(1e-6, 1e-6 if absolute else 1.5e-45)
    return rtol(relative, absolute or 1e-323)


def passes(family, case, arrays, got):
    """Whether results agree with `out`, or with `alt`, where `care` is true."""
    got = got if isinstance(got, (tuple, list)) else (got,)
    if len(got) != len(case["out"]):
        return False
    tol = tolerance(family, case)
    for k, g in enumerate(map(np.asarray, got)):
        want = arrays["out"][k]
        if g.dtype != want.dtype or g.shape != want.shape:
            return False
        ok = same(g, want, tol)
        if "alt" in case:
            ok = ok | same(g, arrays["alt"][k], tol)
        if "care" in case:
            ok = ok | ~arrays["care"][k]
        if not np.all(ok):
            return False
    return True


def judge(family, case, arrays):
    """True, False, or None if the case is not evaluated."""
    if family == "tree":
        return tree.check(case)
    if any(a is None for some in arrays.values() for a in some):
        return None  # bf16 without ml_dtypes
    if family == "autodiff":
        return autodiff.check(case, arrays["in"], arrays.get("out", []))
    refused = case.get("expect") == "error"
    try:
        got = EVALUATE[family](case["op"], case.get("params", {}), *arrays["in"])
    except Refused:
        return refused
    return None if got is None else not refused and passes(family, case, arrays, got)


def check(folder, family):
    """The names of the cases that fail; prints a line of counts."""
    stored = archive.read(folder, family)
    count = {"passed": 0, "failed": 0, "informative": 0, "skipped": 0}
    failed, seen = [], set()
    for case in stored.cases:
        names = archive.tensor_names(case)
        assert all(name.startswith(case["id"] + ".") for name in names), case["name"]
        assert case["op"] in stored.head["ops"] and case["name"] not in seen, case["name"]
        seen.add(case["name"])
        arrays = {key: [stored.array(name) for name in case[key]] for key in archive.TENSOR_KEYS if key in case}
        ok = judge(family, case, arrays)
        how = "skipped" if ok is None else "passed" if ok else "informative" if case.get("informative") else "failed"
        count[how] += 1
        if how == "failed":
            failed.append(case["name"])
    print(f"{family}: " + ", ".join(f"{n} {how}" for how, n in count.items()), flush=True)
    for name in failed[:20]:
        print("   failed:", name)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--folder", default=archive.FOLDER, help=f"default: {archive.FOLDER}")
    args = parser.parse_args()
    if not shutil.which("zstd"):
        print("check: SKIPPED, no zstd here")
        return 77
    np.seterr(all="ignore")
    stored = [family for family in FAMILIES if os.path.exists(archive.path_of(args.folder, family))]
    failed = [name for family in args.family or stored for name in check(args.folder, family)]
    return 1 if failed or not stored else 0


if __name__ == "__main__":
    sys.exit(main())
