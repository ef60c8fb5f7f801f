#!/bin/sh
# accuracy_docs.sh ROOT ACCURACY: docs/reference/accuracy.md states the bounds that the program holds functions
# to, and so does array_elementwise.h.
set -eu
stated=$(sed -n 's/^| `\(pith_[a-z0-9_]*\)` | \([0-9.]*\) | \([0-9.]*\) |.*/\1 \2 \3/p' "$1/docs/reference/accuracy.md")
held=$("$2" --bounds)
[ -n "$stated" ] && [ "$stated" = "$held" ] || {
    echo "docs/reference/accuracy.md states:" "$stated"
    echo "held:" "$held"
    exit 1
}
stated=$(sed -n 's/^| `\([a-z0-9_]*\)` of `\.fast_math` | \([0-9.]*\) | \([0-9.]*\) |.*/fast_\1 \2 \3/p' "$1/docs/reference/accuracy.md")
fast=$("$2" --fast-bounds)
[ -n "$stated" ] && [ "$stated" = "$fast" ] || {
    echo "docs/reference/accuracy.md states of .fast_math:" "$stated"
    echo "held:" "$fast"
    exit 1
}
header=$(tr '\n' ' ' <"$1/include/pith/array_elementwise.h" | sed 's/ \* / /g; s/  */ /g')
echo "$held" | while read -r name f32 f64; do
    printf '%s' "$header" |
        grep -q "$f32 ulp (f32), $f64 ulp (f64)[^/]* \*/ PITH_API const pith_array [* ]*$name(" || {
        echo "array_elementwise.h: $name: expected $f32 ulp (f32), $f64 ulp (f64)"
        exit 1
    }
done
