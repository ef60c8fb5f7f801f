#!/bin/bash
# parts.sh NAME PROGRAM PITH LAUNCHER...: checkpoints of ranks under the launcher of an MPI. LAUNCHER ends with the
# option that takes the number of ranks. PITH is the pith command.
set -eu
name=$1 program=$2 pith=$3
shift 3
launcher=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
export PITH_MESH_TIMEOUT=100

complain() {
    echo "$name: $1"
    sed 's/^/    /' "$work/out" "$work/err" | tail -40
    bad=1
}

# Run with $1 ranks; the exit code in $code.
launch() {
    code=0
    ranks=$1
    shift
    timeout 200 "${launcher[@]}" "$ranks" "$program" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
}

for what in full apart; do
    launch 3 $what "$work"
    [ $code -eq 0 ] || complain "$what: exit code $code"
done

# ---- The command, in one process ----

# expect TEXT COMMAND...: it succeeds and prints a line with the text.
expect() {
    text=$1
    shift
    "$pith" "$@" >"$work/out" 2>"$work/err" || complain "pith $*: exit code $?"
    grep -qF -- "$text" "$work/out" || complain "pith $*: no \"$text\""
}
# A copy of a checkpoint in a single file has the same values.
expect 'f64[40000,3] sharded "x", rows count' show "$work/full.json"
expect '3 parts of the mesh x=3' show "$work/full.json"
expect 'rank 2: full.' show --no-stats "$work/full.json"
expect '"shard":"x"' show --json --no-stats "$work/full.json"
expect 'intact' verify "$work/full.json"
mkdir "$work/lost" && cp "$work"/full.* "$work/lost" && rm "$work"/lost/full.*.r0001of0003*
"$pith" verify "$work/lost/full.json" >"$work/out" 2>"$work/err" && complain "pith verify without a part: exit code 0"
[ "$(grep -c 'damaged.*r0001of0003' "$work/out")" -eq 1 ] || complain "a lost part is not one line"
for end in json npz safetensors; do
    "$pith" convert "$work/full.json" "$work/copy.$end" 2>"$work/err" || complain "pith convert to $end"
    "$pith" convert "$work/copy.$end" "$work/back.json" 2>"$work/err" || complain "pith convert from $end"
    "$pith" diff "$work/full.json" "$work/back.json" >"$work/out" 2>&1 || complain "pith diff after $end"
done
"$pith" diff "$work/full.json" "$work/apart.json" >"$work/out" 2>&1 && complain "pith diff: no difference"

# ---- Runs that other numbers of ranks continue ----

# part RANKS FROM TO SIGNAL: the run continues from a step on RANKS ranks and ends at another, on each of them.
part() {
    if [ "$4" -ne 0 ]; then launch "$1" run "$work" "$3"; else launch "$1" run "$work"; fi
    [ $code -eq 0 ] || complain "run on $1 ranks from $2: exit code $code"
    [ "$(grep -c ": from $2 to $3, signal $4\$" "$work/out")" -eq "$1" ] || complain "run on $1 ranks: not from $2 to $3"
}
part 3 0 4 15
part 2 5 7 15 # the state of step 4 was shown before
part 1 8 9 15
part 4 10 12 0
"$pith" verify "$work"/run.*.json >"$work/out" 2>&1 || complain "pith verify"
[ "$(ls "$work" | grep -c '^run\.0[0-9]*\.json$')" -eq 2 ] || complain "not a series of two"

# ---- Saves that are killed ----

# One process is killed at a random moment of a save; the checkpoint is whole, on any number of ranks.
RANDOM=${PARTS_SEED:-7}
for ((k = 0; k < ${PARTS_KILLS:-6}; k++)); do
    : >"$work/saving"
    "${launcher[@]}" 3 "$program" save "$work" >>"$work/saving" 2>"$work/err" </dev/null &
    job=$!
    for ((i = 0; i < 400; i++)); do
        grep -q saving "$work/saving" && break
        sleep 0.05
    done
    sleep 0.$(printf %03d $((RANDOM % 300)))
    ranks=($(pgrep -f "$program save $work" | while read -r p; do
        [ "$(readlink "/proc/$p/exe")" != "$(readlink -f "$program")" ] || echo "$p"
    done))
    [ ${#ranks[@]} -ge 3 ] || complain "kill $k: ${#ranks[@]} ranks"
    kill -9 "${ranks[$((RANDOM % 3))]}"
    wait $job && complain "kill $k: exit code 0"
    launch $((1 + k % 4)) whole "$work"
    [ $code -eq 0 ] || complain "kill $k: the checkpoint is not whole"
    "$pith" verify "$work/killed.json" >"$work/out" 2>&1 || complain "kill $k: pith verify"
done

[ $bad -eq 0 ] || exit 1
echo "$name: as it must be"
