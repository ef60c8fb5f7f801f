"""Structures of trees: flatten_up_to, equality, transposition, prefixes, composition."""
import re

import jax.tree_util as tu
from jax._src.tree_util import broadcast_prefix, prefix_errors

from families.tree import TREES, Atoms, Other, Point, S, Sim, emit, first_line, show, sim, structure


def upto(tag, st, t):
    emit("flatten_up_to", tag, {"structure": structure(S(st)), "tree": show(t)},
         lambda: {"subtrees": [show(v) for v in S(st).flatten_up_to(t)]})


def flattens_up_to():
    upto("leaf", 0, {"a": 1})
    upto("list", [0, 0], [(1, 2), {"a": 3}])
    upto("list_short", [0, 0], [1])
    upto("list_long", [0, 0], [1, 2, 3])
    upto("tuple_list", (0, 0), [1, 2])
    upto("dict", {"a": 0, "b": 0}, {"b": [1], "a": None})
    upto("dict_missing", {"a": 0, "b": 0}, {"a": 1})
    upto("dict_extra", {"a": 0}, {"a": 1, "b": 2})
    upto("none_none", [None, 0], [None, 1])
    upto("none_leaf", [None, 0], [5, 1])
    upto("none_empty", [None], [[]])
    upto("leaf_none", [0], [None])
    upto("empty", [], [])
    upto("empty_more", [], [1])
    upto("empty_dict_none", {}, None)
    upto("nested", {"a": (0, [0])}, {"a": ({"k": 1}, [[2, 3]])})
    upto("nested_bad", {"a": (0, [0])}, {"a": (1, (2,))})
    upto("record", Atoms(0, 0, 3), Atoms([1], 2, 3))
    upto("record_static", Atoms(0, 0, 3), Atoms([1], 2, 4))
    upto("record_dict", Atoms(0, 0, 3), {"position": 1, "velocity": 2})
    upto("named", Point(0, 0), Point(1, [2]))
    upto("named_tuple", Point(0, 0), (1, 2))
    upto("tuple_named", (0, 0), Point(1, 2))


def equal(tag, a, b):
    def run():
        x, y = S(a), S(b)
        assert (x != y) or hash(x) == hash(y)
        return {"equal": x == y}

    emit("equal", tag, {"a": show(a), "b": show(b)}, run)


nan = float("nan")


def equalities():
    equal("same", [1, 2], [3, 4])
    equal("leaf_values_do_not_matter", [1], ["x"])
    equal("list_tuple", [1], (1,))
    equal("length", [1], [1, 2])
    equal("none_leaf", [None], [1])
    equal("none_empty", None, [])
    equal("empty_kinds", [], ())
    equal("empty_dict_list", {}, [])
    equal("dict_order", {"a": 1, "b": 2}, {"b": 1, "a": 2})
    equal("dict_keys", {"a": 1}, {"b": 1})
    equal("dict_int_str", {1: 1}, {"1": 1})
    equal("nested", {"a": [1, (2,)]}, {"a": [5, (6,)]})
    equal("nested_differs", {"a": [1, (2,)]}, {"a": [5, [6]]})
    equal("record", Atoms(1, 2, 3), Atoms(4, 5, 3))
    equal("record_static", Atoms(1, 2, 3), Atoms(1, 2, 4))
    equal("record_static_int_float", Atoms(1, 2, 1), Atoms(1, 2, 1.0))
    equal("record_static_true_one", Atoms(1, 2, True), Atoms(1, 2, 1))
    equal("record_static_zero_minus_zero", Atoms(1, 2, 0.0), Atoms(1, 2, -0.0))
    equal("record_static_string", Sim(1, 2, 1.0, "a"), Sim(1, 2, 1.0, "b"))
    equal("record_types", Atoms(1, 2), Sim(1, 2))
    equal("record_child_shape", Atoms([1], 2), Atoms((1,), 2))
    equal("named_tuple", Point(1, 2), (1, 2))
    equal("named_other", Point(1, 2), Other(1, 2))
    equal("leaf_none", 1, None)
    equal("leaf_tree", 1, [1])


def transpose(tag, outer, inner, t):
    emit("transpose", tag,
         {"outer": structure(S(outer)), "inner": None if inner is Ellipsis else structure(S(inner)), "tree": show(t)},
         lambda: {"tree": show(tu.tree_transpose(S(outer), None if inner is Ellipsis else S(inner), t))})


def transposes():
    transpose("dict_of_pair", {"a": 0, "b": 0}, (0, 0), {"a": (1, 2), "b": (3, 4)})
    transpose("list_of_dict", [0, 0, 0], {"x": 0, "y": 0}, [{"x": 1, "y": 2}, {"x": 3, "y": 4}, {"y": 5, "x": 6}])
    transpose("inner_worked_out", [0, 0], ..., [{"x": 1}, {"x": 2}])
    transpose("inner_leaf", [0, 0], 0, [1, 2])
    transpose("outer_leaf", 0, [0, 0], [1, 2])
    transpose("mismatch", [0, 0], (0, 0), [(1, 2), (3,)])
    transpose("outer_mismatch", [0, 0], (0, 0), [(1, 2)])
    transpose("outer_kind", [0, 0], (0, 0), ((1, 2), (3, 4)))
    transpose("subtree_below_inner", [0, 0], (0, 0), [([1], 2), (3, 4)])
    transpose("inner_empty", [0, 0], (), [(), ()])
    transpose("outer_empty", [], (0, 0), [])
    transpose("none_in_inner", [0, 0], (0, None), [(1, None), (2, None)])
    transpose("record", Atoms(0, 0, 3), [0, 0], Atoms([1, 2], [3, 4], 3))
    transpose("record_inner", [0, 0], Atoms(0, 0, 3), [Atoms(1, 2, 3), Atoms(3, 4, 3)])
    transpose("record_static", [0, 0], Atoms(0, 0, 3), [Atoms(1, 2, 3), Atoms(3, 4, 9)])
    transpose("nested", {"a": [0], "b": 0}, (0, {"c": 0}), {"a": [(1, {"c": 2})], "b": (3, {"c": 4})})
    transpose("worked_out_mismatch", [0, 0], ..., [(1, 2), [3, 4]])


def prefix(tag, p, t):
    emit("broadcast_prefix", tag, {"prefix": show(p), "tree": show(t)},
         lambda: {"leaves": [show(v) for v in broadcast_prefix(p, t)]})

    def run():
        out = prefix_errors(p, t)
        msgs = [str(e("X")) for e in out]
        paths = []
        for m in msgs:
            k = re.search(r"at key path\s+X?([^\n]*)", m)
            paths.append((k.group(1).strip() if k else ""))
        return {"paths": paths, "messages": [first_line(m)[:160] for m in msgs]}

    emit("prefix_errors", tag, {"prefix": show(p), "tree": show(t)}, run)


def prefixes():
    prefix("leaf", 0, [1, {"a": 2}])
    prefix("list", [7, 8], [1, (2, 3)])
    prefix("same", [7, (8,)], [1, (2,)])
    prefix("none_for_leaf", [None, 8], [1, 2])
    prefix("none_for_none", [None, 8], [None, 2])
    prefix("leaf_for_none", [7, 8], [None, 2])
    prefix("leaf_for_empty", [7, 8], [[], 2])
    prefix("short", [7], [1, 2])
    prefix("long", [7, 8], [1])
    prefix("kind", (7, 8), [1, 2])
    prefix("dict", {"b": 7, "a": 8}, {"a": [1, 2], "b": 3})
    prefix("dict_keys", {"a": 7}, {"a": 1, "b": 2})
    prefix("nested_error", {"a": [7, (8, 9)]}, {"a": [1, [2, 3]]})
    prefix("two_errors", [(1,), {"a": 2}], [[1], {"b": 2}])
    prefix("record", Atoms(7, 8, 3), Atoms([1, 2], 3, 3))
    prefix("record_static", Atoms(7, 8, 3), Atoms([1, 2], 3, 4))
    prefix("tree_for_leaf", [[7]], [1])
    prefix("empty_for_leaf", [[]], [1])
    prefix("none_root", None, [1])
    prefix("named", Point(7, 8), Point([1], 2))
    prefix("named_for_tuple", Point(7, 8), (1, 2))


def structures():
    for tag, (a, b) in {
            "leaf_list": (0, [0, 0]), "list_leaf": ([0, 0], 0), "list_pair": ([0, 0], (0, 0)),
            "dict_list": ({"b": 0, "a": 0}, [0]), "none": ([None, 0], [0]), "inner_none": ([0, 0], None),
            "inner_empty": ([0], []), "record": (Atoms(0, 0, 3), Point(0, 0))
    }.items():
        emit("compose", tag, {"outer": structure(S(a)), "inner": structure(S(b))},
             lambda: {"structure": structure(S(a).compose(S(b)))})
    for tag, t in {
            "list": [0, (0, 0)], "dict": {"b": 0, "a": [0]}, "leaf": 0, "none": None, "empty": [], "record": sim,
            "named": Point(0, (0,)), "nested": [[0, [0]], {}]
    }.items():
        emit(
            "children", tag, {"structure": structure(S(t))}, lambda:
            {"structures": [structure(c) for c in S(t).children()], "count": S(t).num_leaves, "nodes": S(t).num_nodes})


def whole_trees():
    for tag, t in {
            "list": ["a", "b", "c"], "dict": {"z": "a", "b": "b"}, "nested": {"k": ["x", ("y", None)], "a": "w"},
            "empty": [], "none": None, "leaf": "q", "record": Atoms("p", ["q", "r"], 1)
    }.items():
        emit("reduce", tag, {"tree": show(t)}, lambda: {"value": tu.tree_reduce(lambda a, b: a + b, t, "")})
    for tag in ("nested", "record_tree", "dict_empty_key", "named_in_dict", "dict_int_keys", "leaf", "only_empty"):
        emit("map_with_path", tag, {"tree": show(TREES[tag])},
             lambda: {"tree": show(tu.tree_map_with_path(lambda p, v: tu.keystr(p), TREES[tag]))})
    for tag, v in {"leaves": [1, "a", 2.5], "with_none": [1, None], "with_list": [1, []], "empty": []}.items():
        emit("all_leaves", tag, {"values": [show(x) for x in v]}, lambda: {"value": tu.all_leaves(v)})
    for tag, t in {"leaf": 1, "none": None, "list": [1], "empty": []}.items():
        emit("is_leaf_structure", tag, {"tree": show(t)}, lambda: {"value": tu.treedef_is_leaf(S(t))})


def make():
    flattens_up_to()
    equalities()
    transposes()
    prefixes()
    structures()
    whole_trees()
