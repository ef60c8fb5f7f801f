#!/bin/sh
# documented.sh ROOT: every exported function has a doc comment of its own, and clang finds no fault in the
# comments of the headers.
set -eu
left=$("$(dirname "$0")/../../../scripts/api" --undocumented "$1")
[ -z "$left" ] || {
    printf '%s\n' "$left"
    echo "documented: the functions above have no doc comment of their own"
    exit 1
}
clang=$(command -v clang clang-14 | head -1) || clang=
if [ -n "$clang" ]; then
    cd "$1"
    for header in include/pith/*.h; do
        [ "$header" != include/pith/mpi.h ] || continue # needs an MPI
        "$clang" -Wdocumentation -Werror=documentation -fsyntax-only -x c -std=c17 -Iinclude \
            -Wno-pragma-once-outside-header "$header" || exit 1
    done
    echo "documented: every function, and clang finds no fault"
else
    echo "documented: every function (no clang to look into the comments)"
fi
