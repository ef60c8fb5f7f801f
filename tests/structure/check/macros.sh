#!/bin/sh
# macros.sh ROOT: no macro of more than 50 lines defines code, because a debugger cannot step through it.
# A header that is included once per type can do the same. Lists X(...) hold no statements and may be long.
set -eu
cd "$1"
find src include -name '*.[ch]' -o -name '*.cu' -o -name '*.def' | sort | xargs awk -v most=50 '
    FNR == 1 { inside = 0 }
    !inside && /^[ \t]*#[ \t]*define[ \t].*\\$/ { inside = 1; first = FNR; code = 0; name = $0 }
    inside { code = code || /[{;]/ }
    inside && !/\\$/ {
        inside = 0
        if (code && FNR - first + 1 > most) {
            sub(/^[ \t]*#[ \t]*define[ \t]+/, "", name); sub(/[^A-Za-z0-9_].*/, "", name)
            printf "%s:%d: %s has %d lines\n", FILENAME, first, name, FNR - first + 1
            bad = 1
        }
    }
    END { exit bad }' || {
    echo "macros: the macros above define code in more than 50 lines; make them headers"
    exit 1
}
echo "macros: none defines code in more than 50 lines"
