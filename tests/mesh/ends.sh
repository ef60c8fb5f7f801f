#!/bin/bash
# ends.sh NAME PROGRAM LAUNCHER...: jobs of which one rank is lost, in every phase, under the launcher of an MPI.
# LAUNCHER ends with the option that takes the number of ranks. Each job ends, with an exit code other than 0, and
# each rank, or the launcher, says what has happened.
set -eu
name=$1 program=$2
shift 2
launcher=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The launcher, or MPI, may be faster than pith.
told='BAD TERMINATION|exiting improperly|exited on signal|non-zero exit code|process manager error|Fatal error in internal'

# lose LINES RANKS PHASE HOW [OTHERS]: at least so many ranks print a line.
lose() {
    lines=$1 ranks=$2 id=$3-$4-$2${5:+-$5}
    shift 2
    code=0
    mkdir "$work/$id"
    case $2 in
    stop | loop | sleep) timeout=2 ;;
    *) timeout=200 ;;
    esac
    MESH_FOLDER=$work/$id PITH_MESH_TIMEOUT=$timeout timeout 60 "${launcher[@]}" "$ranks" "$program" "$@" \
        >"$work/$id/out" 2>&1 </dev/null || code=$?
    said=$(grep -oE '^pith: rank [0-9]+:' "$work/$id/out" | sort -u | wc -l)
    if [ $code -eq 0 ] || [ $code -eq 124 ]; then
        echo "exit code $code" >"$work/$id/wrong"
    elif [ "$name-${3:-}" = mpich-heavy ] && [ $code -ne 70 ]; then # lost by Hydra
        echo "exit code $code, expected 70" >"$work/$id/wrong"
    elif [ "$said" -lt "$lines" ] && ! { [ $timeout -eq 200 ] && grep -qE "$told" "$work/$id/out"; }; then
        echo "$said lines of $ranks ranks, expected $lines" >"$work/$id/wrong"
    fi
}

# Four jobs at a time: most of them wait.
jobs() {
    running=0
    while read -r case; do
        [ -n "$case" ] || continue
        [ $running -lt 4 ] || wait -n
        # shellcheck disable=SC2086
        lose $case &
        running=$((running + 1))
        [ $running -le 4 ] || running=4
    done
    wait
}

# At the start and the end a rank that is lost says nothing, nor do ranks that are stopped.
jobs <<'CASES'
1 2 before exit
2 3 before stop
1 2 joining _exit0
1 2 joining stop
2 2 agree _exit0
2 2 user exit compute
0 2 halo _exit0 stop
2 2 halo _exit0 heavy
3 3 eager kill
3 3 eager stop
2 2 compiled abort
2 2 rows kill
3 3 rows loop
2 2 big segv
2 2 halo _exit
3 3 route stop
2 2 shard exit
3 3 save kill
2 2 background stop
2 2 load _exit0
2 2 callback loop sleep
2 2 fix exit
3 3 run loop
1 2 close stop
1 2 closed _exit0 sleep
1 2 closed stop
1 2 finalize kill sleep
CASES

bad=0
for wrong in "$work"/*/wrong; do
    [ -e "$wrong" ] || continue
    folder=${wrong%/wrong}
    echo "$name: ${folder##*/}: $(cat "$wrong")"
    sed 's/^/    /' "$folder/out" | tail -30
    bad=1
done
[ $bad -eq 0 ] || exit 1
echo "$name: every job ends"
