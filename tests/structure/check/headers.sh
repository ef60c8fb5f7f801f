#!/bin/sh
# headers.sh ROOT LANGUAGE COMPILER...: each public header compiles alone, twice in one file, with
# the full set of warnings as errors. LANGUAGE is c or c++.
set -eu
root=$1 language=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

warnings='-Wall -Wextra -Wpedantic -Werror -Wconversion -Wsign-conversion -Wshadow -Wswitch-enum -Wvla
    -Wformat=2 -Wcast-align -Wdouble-promotion -Wpointer-arith -Wundef'
case $language in
    c) options="-std=c17 -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition" suffix=c ;;
    c++) options="-std=c++17" suffix=cc ;;
    *) echo "headers: unknown language $language"; exit 2 ;;
esac
case $("$1" --version 2>/dev/null) in *clang*) options="$options -Wdocumentation" ;; esac

bad=0 count=0
for header in "$root"/include/pith/*.h; do
    name=pith/$(basename "$header")
    printf '#include <%s>\n#include <%s>\nextern int pith_header_was_read;\n' "$name" "$name" \
        >"$work/alone.$suffix"
    # shellcheck disable=SC2086 # lists of options
    "$@" $options $warnings -I "$root/include" -fsyntax-only "$work/alone.$suffix" || {
        echo "headers: <$name> does not compile alone as $language"
        bad=1
    }
    count=$((count + 1))
done
[ $bad -eq 0 ] || exit 1
echo "headers: $count compile alone as $language"
