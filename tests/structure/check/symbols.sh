#!/bin/sh
# symbols.sh ROOT NM LIBRARY: what a library exports is what the headers declare.
#
# Shared: exactly the PITH_API functions. Static: global names begin with pith_ or, internal ones,
# with pithp_, vector forms have the names the vector ABI gives them (those that nvcc and the sanitizers make themselves aside).
set -eu
root=$1 nm=$2 library=$3
declared=$(mktemp)
defined=$(mktemp)
trap 'rm -f "$declared" "$defined"' EXIT

case $library in
    *.a)
        "$nm" -g --defined-only "$library" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$defined"
        other=$(grep -vE '^(pithp?_|_ZGV[a-z]N[0-9]+v+_pithp_|__odr_asan\.pith|__cudaRegister|__fatbinwrap_|__nv_|_Z[0-9]+__device_stub__|_ZN?[0-9]*__nv)' "$defined" || true)
        if [ -n "$other" ]; then
            printf '%s\n' "$other"
            echo "symbols: the names above do not begin with pith_ or pithp_"
            exit 1
        fi
        ;;
    *)
        "$nm" -D --defined-only "$library" | awk 'NF == 3 { print $3 }' | sort -u >"$defined"
        "$(dirname "$0")/../../../scripts/api" --list "$root" | cut -f 2 | sort -u >"$declared"
        if ! diff "$declared" "$defined"; then
            echo "symbols: < is declared but not exported, > is exported but not declared"
            exit 1
        fi
        ;;
esac
count=$(wc -l <"$defined")
[ "$count" -gt 0 ] || { echo "symbols: $library defines none"; exit 1; }
echo "symbols: $count, all ours"
