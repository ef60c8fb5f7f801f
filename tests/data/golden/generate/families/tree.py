"""Trees as JAX's tree_util treats them, in JSON: flatten, paths, unflatten, map, and predicates for leaves.

The judge is JAX. The structures of trees are in tree_structure.py.
"""
import collections
import dataclasses

import jax.tree_util as tu

from family import Family

NODE = ('{"kind": "leaf", "value": v} | {"kind": "none"} | {"kind": "list", "items": [...]} | {"kind": '
        '"tuple", "items": [...]} | {"kind": "dict", "items": [[key, tree], ...] in the order of '
        'insertion} | '
        '{"kind": "record", "type": name, "fields": [[name, tree], ...], "static": [[name, value], ...]} '
        '| {"kind": "named_tuple", "type": name, "items": [[name, tree], ...]}')
OPS = {
    "flatten": "params.tree, params.is_leaf -> expect.leaves in order, expect.structure (the tree with leaves "
               "'*'), count, paths (jax.tree_util.keystr) and paths_simple (keystr with simple and separator "
               "'/')",
    "unflatten": "params.structure, params.leaves (values) -> expect.tree, or error",
    "map": "params.trees, params.is_leaf (asked of the first tree); f packs its arguments in a list: {kind: "
           "leaf, value: [trees...]} -> expect.tree, or error",
    "flatten_up_to": "params.structure, params.tree -> expect.subtrees at the leaves of the structure, or error",
    "equal": "params.a, params.b, trees -> expect.equal: do their structures compare equal (then their hashes "
             "do too)",
    "transpose": "params.outer, params.inner (structures; inner null: worked out), params.tree (outer of inner) "
                 "-> expect.tree (inner of outer), or error",
    "broadcast_prefix":
        "params.prefix, params.tree -> expect.leaves: each leaf of the prefix repeated for the leaves of "
        "the subtree under it, or error",
    "prefix_errors": "params.prefix, params.tree -> expect.paths: keystr of each place where the prefix does not fit "
                     "(messages are informative)",
    "compose": "params.outer, params.inner -> expect.structure: every leaf of outer replaced by inner",
    "children": "params.structure -> expect.structures of the direct children, count and nodes",
    "reduce": "params.tree -> expect.value: leaves folded by 'a then b' from the left into one string, start ''",
    "map_with_path": "params.tree -> expect.tree with each leaf replaced by its keystr",
    "all_leaves": "params.values -> expect.value: true if none of them is a container (none counts as one)",
    "is_leaf_structure": "params.tree -> expect.value: is the structure a single leaf",
}
fam = Family(
    "tree", OPS, ("jax",), node=NODE,
    is_leaf="named predicates: never, list, tuple, dict, none, record, pair (a tuple of two), has_x (a dict "
                     "with key x), all")


@dataclasses.dataclass
class Atoms:
    position: object
    velocity: object
    count: object = 0


@dataclasses.dataclass
class Sim:
    atoms: object
    box: object
    cutoff: object = 1.0
    name: object = "s"


tu.register_dataclass(Atoms, ["position", "velocity"], ["count"])
tu.register_dataclass(Sim, ["atoms", "box"], ["cutoff", "name"])
Point = collections.namedtuple("Point", ["x", "y"])
Other = collections.namedtuple("Other", ["x", "y"])
RECORD = {"Atoms": (Atoms, ["position", "velocity"], ["count"]), "Sim": (Sim, ["atoms", "box"], ["cutoff", "name"])}
NAMED = {"Point": Point, "Other": Other}


def show(t):
    if t is None:
        return {"kind": "none"}
    if isinstance(t, tuple) and hasattr(t, "_fields"):
        return {"kind": "named_tuple", "type": type(t).__name__, "items": [[f, show(v)] for f, v in zip(t._fields, t)]}
    if isinstance(t, (list, tuple)):
        return {"kind": "list" if isinstance(t, list) else "tuple", "items": [show(v) for v in t]}
    if isinstance(t, dict):
        return {"kind": "dict", "items": [[k, show(v)] for k, v in t.items()]}
    if type(t).__name__ in RECORD:
        _, d, s = RECORD[type(t).__name__]
        return {
            "kind": "record", "type": type(t).__name__, "fields": [[f, show(getattr(t, f))] for f in d],
            "static": [[f, getattr(t, f)] for f in s]
        }
    if isinstance(t, Packed):
        return {"kind": "leaf", "value": [show(v) for v in t.args]}
    return {"kind": "leaf", "value": t}


class Packed:
    def __init__(self, *args):
        self.args = args


P = {
    "never": None,
    "list": lambda t: isinstance(t, list),
    "tuple": lambda t: type(t) is tuple,
    "dict": lambda t: isinstance(t, dict),
    "none": lambda t: t is None,
    "record": lambda t: type(t).__name__ in RECORD,
    "pair": lambda t: type(t) is tuple and len(t) == 2,
    "has_x": lambda t: isinstance(t, dict) and "x" in t,
    "all": lambda t: True,
}


def S(t):
    return tu.tree_structure(t)


def structure(d):
    return show(tu.tree_unflatten(d, ["*"] * d.num_leaves))


# Cases in which a careful library may choose otherwise.
INFORMATIVE = {
    "transpose/outer_kind", "transpose/subtree_below_inner", "transpose/record_static", "transpose/worked_out_mismatch",
    "equal/record_static_int_float", "equal/record_static_true_one", "equal/record_static_zero_minus_zero",
    "map/record_static_int_float", "is_leaf_structure/none", "is_leaf_structure/empty"
}


def first_line(message):
    """Without the module of the records."""
    return message.split("\n")[0].replace(f"{__name__}.", "")


def emit(op, tag, params, run):
    """A case whose expectation is what `run` returns, or "error"."""
    keys = {"informative": True} if f"{op}/{tag}" in INFORMATIVE else {}
    try:
        want = run()
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        want, keys = "error", {"message": first_line(str(e))[:200], **keys}
    fam.case(op, tag, params=params, expect=want, **keys)


def flatten(tag, t, is_leaf="never"):
    def run():
        leaves, d = tu.tree_flatten(t, P[is_leaf])
        pl, d2 = tu.tree_flatten_with_path(t, P[is_leaf])
        assert d == d2 and len(pl) == len(leaves)
        return {
            "leaves": [show(v) for v in leaves], "structure": structure(d), "count": d.num_leaves,
            "paths": [tu.keystr(p) for p, _ in pl],
            "paths_simple": [tu.keystr(p, simple=True, separator="/") for p, _ in pl]
        }

    emit("flatten", tag, {"tree": show(t), "is_leaf": is_leaf}, run)


sim = Sim(Atoms([1, 2], (3, None), 5), {"b": 4, "a": 5}, 2.5, "melt")
deep = 7
for _ in range(60):
    deep = [deep]
TREES = {
    "leaf": 1,
    "none": None,
    "empty_list": [],
    "empty_tuple": (),
    "empty_dict": {},
    "list": [1, 2, 3],
    "tuple": (1, 2),
    "one_tuple": (1,),
    "dict_sorted": {"b": 1, "a": 2, "c": 3 },
    "dict_upper_first": {"b": 1, "B": 2, "a": 3, "_": 4, "1": 5, "10": 6, "2": 7 },
    "dict_int_keys": {10: 1, 9: 2, -1: 3 },
    "dict_unicode": {"\u00e9": 1, "z": 2, "e": 3, "\U0001d11e": 4, "\uff5e": 5 },
    "dict_empty_key": {"": 1, " ": 2, "a b": 3, "a/b": 4, "a.b": 5, "a'b": 6, 'a"b': 7, "a\nb": 8, "a\\b": 9 },
    "dict_prefix_keys": {"ab": 1, "a": 2, "abc": 3, "a1": 4 },
    "mixed_keys": {1: 1, "a": 2 },
    "nested": [1, (2, {"x": 3, "w": [4, None] }), [], {}],
    "none_inside": [None, 1, None, [None]],
    "only_empty": [[], (), {}, None, [[]]],
    "deep": deep,
    "dict_of_dict": {"b": {"d": 1, "c": 2 }, "a": {"f": 3, "e": 4 } },
    "named": Point(1, [2, 3]),
    "named_in_dict": {"p": Point({"k": 1}, None) },
    "record": Atoms(1, 2, 3),
    "record_tree": sim,
    "record_none": Atoms(None, None, 0),
    "record_in_list": [Atoms(1, (2,), 4), Atoms([], {"q": 1}, 9)],
    "same_leaf_twice": (lambda v: [v, v])(1),
    "string_leaf": ["abc", {"k": "v" }],
    "bool_leaf": [True, False],
    "tuple_in_list_in_tuple": ([(1,)], [(2, 3)]),
    "wide": list(range(30)),
    "dict_many": {f"k{i}": i for i in (3, 11, 2, 10, 1, 0, 20) },
}


def flattens():
    for tag, t in TREES.items():
        flatten(tag, t)
    for p in P:
        if p != "never":
            flatten(f"is_leaf_{p}", [1, (2, 3), {"x": [4], "y": None}, (5,), Atoms([6], None, 1), {"z": ()}], p)
    flatten("is_leaf_all_on_none", None, "all")
    flatten("is_leaf_none_nested", {"a": None, "b": [None, 1]}, "none")
    flatten("is_leaf_dict_root", {"a": 1}, "dict")
    flatten("is_leaf_record_root", sim, "record")
    flatten("is_leaf_pair_nested", ((1, 2), ((3, 4), 5)), "pair")
    flatten("is_leaf_list_empty", [[], [[]]], "never")
    flatten("is_leaf_list_inner", ([], [1], {"a": [[2]]}), "list")
    flatten("is_leaf_tuple_empty", [(), ((),)], "tuple")


U = {
    "list": ([0, 0, 0], [7, 8, 9]),
    "few": ([0, 0, 0], [7, 8]),
    "many": ([0, 0], [7, 8, 9]),
    "leaf": (0, [5]),
    "leaf_none_given": (0, []),
    "none": (None, []),
    "none_extra": (None, [1]),
    "empty": ([], []),
    "empty_extra": ([], [1]),
    "dict": ({"b": 0, "a": 0 }, [1, 2]),
    "nested": ([0, {"y": 0, "x": (0, None) }], [1, 2, 3]),
    "record": (Atoms(0, [0, 0], 4), [1, 2, 3]),
    "named": (Point(0, 0), [1, 2]),
}


def unflattens():
    for tag, (t, leaves) in U.items():
        emit("unflatten", tag, {"structure": structure(S(t)), "leaves": leaves},
             lambda: {"tree": show(tu.tree_unflatten(S(t), leaves))})
    emit("unflatten", "container_as_leaf", {"structure": structure(S([0, 0])), "leaves": ["whole", "none"]},
         lambda: {"tree": show(tu.tree_unflatten(S([0, 0]), ["whole", "none"]))})


def tmap(tag, *trees, is_leaf="never"):
    emit("map", tag, {"trees": [show(t) for t in trees], "is_leaf": is_leaf},
         lambda: {"tree": show(tu.tree_map(Packed, *trees, is_leaf=P[is_leaf]))})


def maps():
    tmap("one", [1, {"a": 2}])
    tmap("two", [1, {"a": 2}], [3, {"a": 4}])
    tmap("three", (1, 2), (3, 4), (5, 6))
    tmap("none_stays", [None, 1])
    tmap("none_with_none", [None, 1], [None, 2])
    tmap("none_with_leaf", [None, 1], [2, 3])
    tmap("leaf_with_none", [1, 2], [None, 3])
    tmap("leaf_with_subtree", [1, 2], [(3, 4), {"a": 5}])
    tmap("subtree_with_leaf", [(1, 2)], [3])
    tmap("list_with_tuple", [1, 2], (1, 2))
    tmap("tuple_with_list", (1, 2), [1, 2])
    tmap("length", [1, 2], [1, 2, 3])
    tmap("length_shorter", [1, 2, 3], [1, 2])
    tmap("dict_same_other_order", {"a": 1, "b": 2}, {"b": 3, "a": 4})
    tmap("dict_missing", {"a": 1, "b": 2}, {"a": 1})
    tmap("dict_extra", {"a": 1}, {"a": 1, "b": 2})
    tmap("dict_other_key", {"a": 1}, {"b": 1})
    tmap("dict_int_string_key", {1: 1}, {"1": 1})
    tmap("empty_list_with_empty_list", [], [])
    tmap("empty_list_with_empty_tuple", [], ())
    tmap("empty_list_with_leaf", [], 1)
    tmap("empty_list_with_list", [], [1])
    tmap("leaf_with_empty", 1, [])
    tmap("root_leaf_with_tree", 1, {"a": [2]})
    tmap("none_with_empty", None, [])
    tmap("none_with_dict", None, {"a": 1})
    tmap("none_root", None, None)
    tmap("record", Atoms(1, 2, 3), Atoms(4, 5, 3))
    tmap("record_static_differs", Atoms(1, 2, 3), Atoms(4, 5, 6))
    tmap("record_with_tuple", Atoms(1, 2, 3), (1, 2))
    tmap("record_other_type", Atoms(1, 2), Sim(1, 2))
    tmap("record_leaf_with_record", [1], [Atoms(1, 2, 3)])
    tmap("record_static_int_float", Atoms(1, 2, 1), Atoms(3, 4, 1.0))
    tmap("named", Point(1, 2), Point(3, 4))
    tmap("named_with_tuple", Point(1, 2), (3, 4))
    tmap("tuple_with_named", (1, 2), Point(3, 4))
    tmap("named_other", Point(1, 2), Other(3, 4))
    tmap("is_leaf_none", [None, 1], [2, 3], is_leaf="none")
    tmap("is_leaf_none_alone", [None, 1], is_leaf="none")
    tmap("is_leaf_list_second_differs", {"a": [1, 2]}, {"a": [3]}, is_leaf="list")
    tmap("is_leaf_list_second_leaf", {"a": [1, 2]}, {"a": 3}, is_leaf="list")
    tmap("is_leaf_all", [1, 2], (3,), is_leaf="all")
    tmap("is_leaf_asked_of_first_only", [1, (2,)], [[9], (3,)], is_leaf="list")
    tmap("is_leaf_pair", [(1, 2), 3], [(4, 5, 6), 7], is_leaf="pair")
    tmap("third_differs", [1], [2], [3, 4])
    tmap("deep_mismatch", {"a": [{"b": (1, 2)}]}, {"a": [{"b": (1, 2, 3)}]})


def make():
    flattens()
    unflattens()
    maps()
