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

# An error is printed once, by rank 0, whatever it is; $1: a part of it.
refuse() {
    local text=$1 status=0
    shift
    (cd "$work" && timeout 240 "${launcher[@]}" 3 "$program" "$@" </dev/null) >"$work/err" 2>&1 || status=$?
    [ $status -ne 0 ] || complain "no error of $*"
    [ "$(grep -c "^$name: .*$text" "$work/err")" -eq 1 ] || complain "$*: not once: $text"
}

# The bits of all runs, whatever the number of ranks; what is printed, too.
ensemble() {
    refuse "3 ranks were started: --ranks shares" 1
    for ranks in 1 2 3 4; do
        launch $ranks $ranks --ranks
        diff "$folder/expected.txt" $ranks/printed || complain "$ranks ranks print something else"
        "$pith" diff 1/ensemble.json $ranks/ensemble.json >differs || complain "$ranks ranks: other bits: $(cat differs)"
    done
}

# The same fit on any number of ranks, also of a number that the data do not divide by, and continued on another one.
fit() {
    refuse "cannot open" --resume absent.json
    launch make 1 --make ../measured.json
    for ranks in 1 2 3 4; do
        launch $ranks $ranks ../measured.json
        diff 1/printed $ranks/printed || complain "$ranks ranks print something else"
        "$pith" diff --rtol 1e-9 1/fit.json $ranks/fit.json >differs || complain "$ranks ranks: other samples: $(cat differs)"
    done
    [ "$(grep -c sampling 1/printed)" -eq 3 ] || complain "no fit: $(cat 1/printed)"
    grep -q '"shard":"copy"' 4/fit.json || complain "4 ranks save no shards"
    for ranks in 1 2 4; do
        rm -rf stopped && launch stopped 3 --stop ../measured.json
        launch stopped $ranks --resume ../measured.json
        grep -v 'start\|trajectory' 1/printed | diff - stopped/printed || complain "3 ranks, then $ranks: another fit"
    done
}

$name
[ $bad -eq 0 ] || exit 1
echo "$name: as on one rank"
