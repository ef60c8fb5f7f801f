"""The cases of one family while they are made."""
import collections
import hashlib
from importlib.metadata import version

import numpy as np

from archive import Archive
from common import EXACT, NAME


class Options:
    """What `make` was asked for. Set before a family is imported."""
    seed = ""  # varies the random inputs
    only = None  # a set of operations whose cases are kept, or None for all


class Family:
    """`ops` describes each operation; `modules` are those whose versions the archive records."""

    def __init__(self, name, ops, modules, **notes):
        self.name, self.ops, self.notes = name, ops, notes
        self.made_with = {module: version(module) for module in modules}
        self.cases, self.names = [], set()
        self.differs = collections.Counter()  # where a second judge differs, printed by `make -v`

    def rng(self, name):
        """A generator for one group of inputs: it depends on the seed and the names alone."""
        digest = hashlib.sha256(f"{Options.seed}|{self.name}/{name}".encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "little"))

    def wants(self, op):
        """Whether cases of this operation are kept; a generator may skip expensive work otherwise."""
        return Options.only is None or op in Options.only

    def case(self, op, tag, ins=(), outs=(), params=None, tol=EXACT, alt=None, care=None, frac=None, expect=None,
             **keys):
        """Add a case. `expect="error"`: the call is refused. README.md states the other keys."""
        name = f"{op}/{tag}"
        if name in self.names:
            raise ValueError(f"{self.name}: two cases are named {name}")
        if op not in self.ops:
            raise ValueError(f"{self.name}: operation {op} has no description")
        self.names.add(name)
        if not self.wants(op):
            return
        ident = f"case{len(self.cases) + 1:04d}"
        case, arrays = {"id": ident, "name": name, "op": op}, {}
        if params:
            case["params"] = params
        case["in"] = put(arrays, f"{ident}.in", ins, always=True)
        if expect is not None:
            case["expect"] = expect
        elif len(outs):
            case["out"] = put(arrays, f"{ident}.out", outs)
            case["tol"] = tol
            for key, some in (("alt", alt), ("care", care), ("frac", frac)):
                if some is not None:
                    case[key] = put(arrays, f"{ident}.{key}", some)
        case.update(keys)
        self.cases.append((case, arrays))

    def archive(self):
        used = {case["op"] for case, _ in self.cases}
        ops = {op: about for op, about in self.ops.items() if op in used}
        result = Archive({"format": 1, "family": self.name, "made_with": self.made_with, "ops": ops, **self.notes})
        for case, arrays in self.cases:
            result.add(case, arrays)
        return result


def put(arrays, stem, some, always=False):
    """Name the tensors of one key: with a number if there are several, or always."""
    names = []
    for number, a in enumerate(some):
        a = np.asarray(a)
        name = f"{stem}{number}" if always or len(some) > 1 else stem
        arrays[name] = (NAME[a.dtype], a)
        names.append(name)
    return names
