"""The family tree: a plain walk over trees as JSON objects, whose grammar is the note `node` of the archive."""
from checks.values import Refused

PREDICATES = {
    "never": lambda t: False,
    "list": lambda t: t["kind"] == "list",
    "tuple": lambda t: t["kind"] == "tuple",
    "dict": lambda t: t["kind"] == "dict",
    "none": lambda t: t["kind"] == "none",
    "record": lambda t: t["kind"] == "record",
    "pair": lambda t: t["kind"] == "tuple" and len(t["items"]) == 2,
    "has_x": lambda t: t["kind"] == "dict" and any(k == "x" for k, _ in t["items"]),
    "all": lambda t: True
}


def kids(t):
    """(key for the path, simple key, child) in flatten order."""
    k = t["kind"]
    if k in ("leaf", "none"):
        return []
    if k in ("list", "tuple"):
        return [(f"[{i}]", str(i), v) for i, v in enumerate(t["items"])]
    if k == "dict":
        try:
            return [(f"[{key!r}]", str(key), v) for key, v in sorted(t["items"], key=lambda e: e[0])]
        except TypeError:
            raise Refused("keys")
    return [("." + n, n, v) for n, v in t["fields" if k == "record" else "items"]]


def label(t):
    k = t["kind"]
    if k == "dict":
        return (k, tuple((type(e[0]).__name__, e[0]) for e in sorted(t["items"], key=lambda e: e[0])))
    if k == "record":
        return (k, t["type"], tuple(map(tuple, t["static"])))
    return (k, t["type"], len(t["items"])) if k == "named_tuple" else (k, len(t.get("items", [])))


def rebuild(t, children):
    k = t["kind"]
    if k in ("list", "tuple"):
        return {"kind": k, "items": children}
    if k == "dict":
        return {"kind": k, "items": [[n[0], c] for n, c in zip(sorted(t["items"], key=lambda e: e[0]), children)]}
    if k == "record":
        return {**t, "fields": [[f[0], c] for f, c in zip(t["fields"], children)]}
    return {**t, "items": [[f[0], c] for f, c in zip(t["items"], children)]} if k == "named_tuple" else t


def flatten(t, leaf, path="", simple=()):
    """[(path, simple path, leaf)], structure"""
    if leaf(t) or t["kind"] == "leaf":
        return [(path, "/".join(simple), t)], {"kind": "leaf", "value": "*"}
    out, subs = [], []
    for p, s, v in kids(t):
        o, d = flatten(v, leaf, path + p, simple + (s,))
        out += o
        subs.append(d)
    return out, rebuild(t, subs)


def unflatten(d, it):
    if d["kind"] == "leaf":
        try:
            return next(it)
        except StopIteration:
            raise Refused("few")
    return rebuild(d, [unflatten(v, it) for _, _, v in kids(d)])


def upto(d, t):
    if d["kind"] == "leaf":
        return [t]
    if d["kind"] != t["kind"] or label(d) != label(t):
        raise Refused("structure")
    return [x for (_, _, a), (_, _, b) in zip(kids(d), kids(t)) for x in upto(a, b)]


def errors(p, t, path=""):
    if p["kind"] == "leaf":
        return []
    if p["kind"] != t["kind"] or label(p) != label(t):
        return [path]
    return [e for (k, _, a), (_, _, b) in zip(kids(p), kids(t)) for e in errors(a, b, path + k)]


def nodes(d):
    return 1 + sum(nodes(v) for _, _, v in kids(d))


never = PREDICATES["never"]


def structure(t):
    return flatten(t, never)[1]


def leaves(t):
    return [v for _, _, v in flatten(t, never)[0]]


def leaf(v):
    return {"kind": "leaf", "value": v}


def exact(d, values):
    it = iter(values)
    out = unflatten(d, it)
    if next(it, it) is not it:
        raise Refused("many")
    return out


def evaluate(op, p):
    if op == "flatten":
        out, d = flatten(p["tree"], PREDICATES[p["is_leaf"]])
        return {
            "leaves": [v for _, _, v in out], "structure": d, "count": len(out), "paths": [a for a, _, _ in out],
            "paths_simple": [b for _, b, _ in out]
        }
    if op == "unflatten":
        return {"tree": exact(p["structure"], [leaf(v) for v in p["leaves"]])}
    if op == "map":
        first, d = flatten(p["trees"][0], PREDICATES[p["is_leaf"]])
        rest = [upto(d, t) for t in p["trees"][1:]]
        return {"tree": exact(d, [leaf([v] + [r[i] for r in rest]) for i, (_, _, v) in enumerate(first)])}
    if op == "flatten_up_to":
        return {"subtrees": upto(p["structure"], p["tree"])}
    if op == "equal":
        return {"equal": structure(p["a"]) == structure(p["b"])}
    if op == "transpose":
        outer, inner = p["outer"], p["inner"]
        n = len(leaves(outer))
        flat = upto(outer, p["tree"])
        inner = inner or structure(flat[0])
        m = len(leaves(inner))
        rows = [upto(inner, v) for v in flat]
        if not rows:
            raise Refused("empty")
        return {"tree": exact(inner, [exact(outer, [rows[i][j] for i in range(n)]) for j in range(m)])}
    if op == "broadcast_prefix":
        if errors(p["prefix"], p["tree"]):
            raise Refused("prefix")
        subs = upto(structure(p["prefix"]), p["tree"])
        return {"leaves": [v for v, t in zip(leaves(p["prefix"]), subs) for _ in leaves(t)]}
    if op == "prefix_errors":
        return {"paths": errors(p["prefix"], p["tree"])}
    if op == "compose":
        return {"structure": exact(p["outer"], [p["inner"]] * len(leaves(p["outer"])))}
    if op == "children":
        d = p["structure"]
        return {"structures": [v for _, _, v in kids(d)], "count": len(leaves(d)), "nodes": nodes(d)}
    if op == "reduce":
        return {"value": "".join(v["value"] for v in leaves(p["tree"]))}
    if op == "map_with_path":
        out, d = flatten(p["tree"], never)
        return {"tree": exact(d, [leaf(a) for a, _, _ in out])}
    if op == "all_leaves":
        return {"value": all(v["kind"] == "leaf" for v in p["values"])}
    return {"value": nodes(structure(p["tree"])) == 1}


def check(c):
    want = c["expect"]
    try:
        got = evaluate(c["op"], c["params"])
    except Refused:
        return want == "error"
    return want != "error" and all(got.get(k) == v for k, v in want.items() if k != "messages")
