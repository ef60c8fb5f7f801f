"""Archives of golden cases: read, write, and replace the cases of some operations. README.md states the format."""
import io
import json
import os
import subprocess
import tarfile

import numpy as np

from common import NP

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # tests/data/golden
BEFORE_CASES = ',\n "cases": [\n'
TENSOR_KEYS = ("in", "out", "alt", "care", "frac")


class Archive:
    """One family: `head`, the rows of `cases` as text, and tensors as (dtype, shape, bytes)."""

    def __init__(self, head, rows=(), tensors=None):
        self.head, self.rows, self.tensors = head, list(rows), dict(tensors or {})

    @property
    def cases(self):
        return [json.loads(row) for row in self.rows]

    def array(self, name):
        """A tensor as an array, or None if its dtype needs a module that is not installed."""
        dtype, shape, data = self.tensors[name]
        kind = NP.get(dtype.lower())
        return None if kind is None else np.frombuffer(data, kind).reshape(shape)

    def add(self, case, arrays):
        """Append a case whose tensors are `arrays`, NumPy arrays by name."""
        self.rows.append(json.dumps(case, separators=(",", ":"), ensure_ascii=True, allow_nan=False))
        for name, (dtype, a) in arrays.items():
            self.tensors[name] = (dtype.upper(), list(a.shape), np.ascontiguousarray(a).tobytes())


def path_of(folder, family):
    return os.path.join(folder, f"{family}.tar.zst")


# ---- Reading ----


def read(folder, family):
    packed = path_of(folder, family)
    raw = subprocess.run(["zstd", "-dcq", packed], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        members = {m.name: tar.extractfile(m).read() for m in tar.getmembers()}
    before, _, rest = members[f"{family}.json"].decode().partition(BEFORE_CASES)
    rows = [row.rstrip(",") for row in rest.removesuffix("\n]}\n").split("\n")]
    return Archive(json.loads(before + "}"), rows, tensors_of(members.get(f"{family}.safetensors", b"")))


def tensors_of(data):
    if not data:
        return {}
    size = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, one in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = one["data_offsets"]
            tensors[name] = (one["dtype"], one["shape"], data[8 + size + begin:8 + size + end])
    return tensors


# ---- Writing ----


def item_size(dtype):
    return 1 if dtype == "BOOL" else int(dtype.lstrip("BFIU")) // 8


def safetensors(tensors):
    """The tensor file; wider elements come first, so that each tensor is aligned to its elements."""
    header, blobs, at = {"__metadata__": {"format": "golden-1"}}, [], 0
    for name in sorted(tensors, key=lambda n: (-item_size(tensors[n][0]), n)):
        dtype, shape, data = tensors[name]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        blobs.append(data)
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(blobs)


def write(folder, archive):
    """Write an archive; returns its path."""
    family = archive.head["family"]
    text = json.dumps(archive.head, indent=1)[:-2] + BEFORE_CASES + ",\n".join(archive.rows) + "\n]}\n"
    json.loads(text)
    members = [(f"{family}.json", text.encode())]
    if archive.tensors:
        members.append((f"{family}.safetensors", safetensors(archive.tensors)))
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    packed = subprocess.run(["zstd", "-q", "--ultra", "-22", "-c", "-T1"], input=raw.getvalue(),
                            stdout=subprocess.PIPE, check=True).stdout
    path = path_of(folder, family)
    with open(path, "wb") as out:
        out.write(packed)
    return path


# ---- Replacing ----


def replace(old, new, ops):
    """`old` with the cases of `ops` taken from `new`. All other cases and tensors keep their bytes."""
    head = {key: value for key, value in old.head.items() if key != "side"}
    head["ops"] = {**old.head["ops"], **{op: new.head["ops"][op] for op in ops}}
    head["remade"] = {**old.head.get("remade", {}), **{op: new.head["made_with"] for op in ops}}
    for key, value in new.head.items():  # notes by operation, such as anchors
        if isinstance(value, dict) and key not in ("made_with", "ops"):
            head[key] = {**head.get(key, {}), **value}
    result = Archive(head)
    last = 0
    for row in old.rows:
        case = json.loads(row)
        last = max(last, int(case["id"].removeprefix("case")))
        if case["op"] not in ops:
            result.rows.append(row)
            for name in tensor_names(case):
                result.tensors[name] = old.tensors[name]
    for number, row in enumerate(new.rows, last + 1):
        rename(result, json.loads(row), new.tensors, f"case{number:04d}")
    return result


def tensor_names(case):
    return [name for key in TENSOR_KEYS for name in case.get(key, [])]


def rename(result, case, tensors, ident):
    """Add a case to `result` under another id, which its tensors' names begin with."""
    before = case["id"]
    case["id"] = ident
    for key in TENSOR_KEYS:
        if key in case:
            names = case[key]
            case[key] = [ident + name.removeprefix(before) for name in names]
            result.tensors.update(zip(case[key], (tensors[name] for name in names)))
    result.add(case, {})
