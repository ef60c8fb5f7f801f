#!/bin/bash
# test_example_ranks.sh NAME FOLDER PROGRAM PITH LAUNCHER...: an example on ranks gives the results of one process.
# LAUNCHER ends with the option that takes the number of ranks.
set -eu
name=$1 folder=$(cd "$2" && pwd) program=$3 pith=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
launcher=("$@")
export PITH_DEVICE=host PITH_THREADS=1 PITH_MESH_TIMEOUT=100
bad=0

complain() {
    echo "$name: $1"
    [ ! -e "$work/err" ] || sed 's/^/    /' "$work/err"
    bad=1
}

# Run in a folder of its own, $1, with $2 ranks.
launch() {
    mkdir -p "$1"
    local in=$1 ranks=$2
    shift 2
    (cd "$in" && timeout 240 "${launcher[@]}" "$ranks" "$program" "$@" </dev/null) >"$in/printed" 2>"$work/err" ||
        complain "$ranks ranks: exit code $?"
}

# The bits of all runs, whatever the number of ranks; what is printed, too.
ensemble() {
    for ranks in 1 2 3 4; do
        launch $ranks $ranks --ranks
        diff "$folder/expected.txt" $ranks/printed || complain "$ranks ranks print something else"
        "$pith" diff 1/ensemble.json $ranks/ensemble.json >differs || complain "$ranks ranks: other bits: $(cat differs)"
    done
}

$name
[ $bad -eq 0 ] || exit 1
echo "$name: as on one rank"
