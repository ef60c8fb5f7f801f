#!/bin/sh
# layers.sh ROOT NM OBJECTS: no object file of a room needs a symbol that a room above it or beside it
# defines. OBJECTS lists the object files of the library, one a line: .../pith.dir/ROOM/....o
set -eu
nm=$2 objects=$3
rooms=$(cd "$(dirname "$0")/../../../src" && pwd)/rooms
symbols=$(mktemp)
trap 'rm -f "$symbols"' EXIT
tr '\n' '\0' <"$objects" | xargs -0 "$nm" -A -g >"$symbols" 2>/dev/null

# Twice: what is defined, then what is needed. Names that a compiler makes (sanitizers, nvcc) do not count.
awk '
FILENAME ~ /\/rooms$/ { if ($1 !~ /^#/ && $1 !~ /\// && NF == 2) rank[$1] = $2; next }
$NF !~ /^pithp?_/ { next }
{
    object = $1; sub(/:[^:]*$/, "", object); sub(/^.*\/pith\.dir\/(\.\/)?/, "", object)
    room = object; sub(/\/.*$/, "", room)
    undefined = $(NF - 1) ~ /^[Uw]$/
}
!(room in rank) { print object ": no room of src/rooms"; bad = 1; exit }
pass == 1 && !undefined { maker[$NF] = object; maker_room[$NF] = room; count++ }
pass == 2 && undefined && $NF in maker {
    to = maker_room[$NF]
    if (to != room && rank[to] >= rank[room]) {
        print object " needs " $NF " of " maker[$NF] ", a room " (rank[to] > rank[room] ? "above" : "beside")
        bad = 1
    }
}
END {
    if (!count) { print "no object defines a symbol"; bad = 1 }
    exit bad
}' "$rooms" pass=1 "$symbols" pass=2 "$symbols" || { echo "layers: these are not allowed"; exit 1; }
echo "layers: every symbol comes from below"
