#!/bin/sh
# headers.sh ROOT LANGUAGE COMPILER...: each public header compiles alone, twice in one file, with
# the full set of warnings as errors, and <pith/pith.h> gives all of them. So does a list of the
# specs of shard.h.
# pith/mpi.h needs an MPI, so that tests of src/mesh compile it.
# LANGUAGE is c (C17), c++ (C++17) or cuda (nvcc, C++17). nvcc takes the better part of a second to start, so that
# it compiles the headers together: alone they are C++ as any other.
set -eu
root=$1 language=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

warnings='-Wall -Wextra -Wpedantic -Werror -Wconversion -Wsign-conversion -Wshadow -Wswitch-enum -Wvla
    -Wformat=2 -Wcast-align -Wdouble-promotion -Wpointer-arith -Wundef'
case $language in
    c)
        suffix=c
        options="-std=c17 -fsyntax-only -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition $warnings"
        ;;
    c++) suffix=cc options="-std=c++17 -fsyntax-only $warnings" ;;
    cuda) suffix=cu options="--std=c++17 --ptx -o $work/alone.ptx --Werror=all-warnings -Xcompiler=-Wall,-Wextra" ;;
    *) echo "headers: unknown language $language"; exit 2 ;;
esac
case $("$1" --version 2>/dev/null) in *clang*) options="$options -Wdocumentation" ;; esac

bad=0 count=0
for header in "$root"/include/pith/*.h; do
    name=pith/$(basename "$header")
    [ "$name" != pith/mpi.h ] || continue
    count=$((count + 1))
    printf '#include <%s>\n#include <%s>\nextern int pith_header_was_read;\n' "$name" "$name" \
        >"$work/alone.$suffix"
    if [ $language = cuda ]; then
        cat "$work/alone.$suffix" >>"$work/together.$suffix"
    else
        # shellcheck disable=SC2086 # lists of options
        "$@" $options -I "$root/include" "$work/alone.$suffix" || {
            echo "headers: <$name> does not compile alone as $language"
            bad=1
        }
    fi
    if grep -q '^PITH_API' "$header" && [ "$(grep -c '^PITH_BEGIN' "$header")$(grep -c '^PITH_END' "$header")" != 11 ]; then
        echo "headers: <$name> does not open and close C linkage once (PITH_BEGIN, PITH_END)"
        bad=1
    fi
    [ "$name" = pith/pith.h ] || grep -qE "^# *include <$name>" "$root"/include/pith/*.h || {
        echo "headers: nothing that <pith/pith.h> includes gives <$name>"
        bad=1
    }
done
if [ $language = cuda ]; then
    # shellcheck disable=SC2086 # lists of options
    "$@" $options -I "$root/include" "$work/together.$suffix" || {
        echo "headers: they do not compile as $language"
        bad=1
    }
fi

# Lists of specs may leave out last members.
cat >"$work/lists.$suffix" <<'END'
#include <pith/pith.h>
int pith_lists_were_read(void);
static int rows_of(const pith_shard_spec *list) {
    return list[0].axes == NULL && list[1].rows == NULL && list[2].rows && !list[3].path;
}
int pith_lists_were_read(void) {
    return rows_of(PITH_SPECS({""}, {".a", "x;y"}, {".b", "x", "count"}));
}
END
list_compiles() { # MORE COMPILER...: with more options
    more=$1
    shift
    # shellcheck disable=SC2086 # lists of options
    "$@" $options $more -I "$root/include" "$work/lists.$suffix" || {
        echo "headers: PITH_SPECS does not compile as $language $more"
        bad=1
    }
}
if [ -f "$root/include/pith/shard.h" ]; then
    list_compiles '' "$@"
    [ "$language" != c++ ] || list_compiles -std=c++20 "$@"
fi
[ $bad -eq 0 ] || exit 1
[ $language = cuda ] && alone=together || alone=alone
echo "headers: $count compile $alone as $language"
