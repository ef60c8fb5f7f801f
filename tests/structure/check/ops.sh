#!/bin/sh
# ops.sh ROOT: the number of a primitive says nothing. No code compares primitives by order or computes with their
# numbers; traits of src/program/op/primitives.def answer what a primitive is. The counts of kinds of rows may be used.
set -eu
cd "$1"
places="src tests"
for more in bench tools examples; do [ ! -d $more ] || places="$places $more"; done
find $places -name '*.[ch]' -o -name '*.cu' -o -name '*.cpp' | sort | xargs awk '
    function look(text, pattern,    at) {
        while (match(text, pattern)) {
            at = substr(text, RSTART, RLENGTH)
            if (!seen[file, at]++) printf "%s: %s\n", file, at
            bad = 1
            text = substr(text, RSTART + RLENGTH)
        }
    }
    # A comparison or sum may go over several lines: a file is one text.
    function check() {
        gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", all)
        gsub(/PITHP_(ELEMENTWISE|LOWERED|PRIMITIVE)_COUNT/, "0", all)
        gsub(/[ \t]+/, " ", all)
        look(all, "[A-Za-z_0-9.>)]+ ?[^<>=][<>]=? ?(\\([a-z_ ]+\\) ?)?PITHP_OP_[A-Z][A-Z_0-9]*")
        look(all, "[A-Za-z_0-9.>)]+ ?[-+]=? ?(\\([a-z_ ]+\\) ?)?PITHP_OP_[A-Z][A-Z_0-9]*")
        look(all, "PITHP_OP_[A-Z][A-Z_0-9]* ?([<>]=? ?[^<>=]|[-+])[^,;]?[A-Za-z_0-9]*")
        look(all, "[.>]primitive ?([<>]=?|[-+]) ?[A-Za-z1-9(][A-Za-z_0-9]*")
    }
    FNR == 1 { if (file != "") check(); file = FILENAME; all = "" }
    { sub(/[ \t]*\\$/, ""); all = all " " $0 }
    END { check(); exit bad }' || {
    echo "ops: ask pithp_op_has, or pithp_ops[p].combine, instead of the number of a primitive"
    exit 1
}
echo "ops: no code depends on the number of a primitive"
