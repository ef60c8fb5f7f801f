#!/bin/bash
# mpi.sh NAME LIBRARY PROGRAM OWN PITH LAUNCHER...: a program of ranks under the launcher of an MPI. LAUNCHER ends
# with the option that takes the number of ranks. LIBRARY is the name that pith gives the MPI. OWN is a program that
# uses MPI itself, PITH the pith command.
set -eu
name=$1 library=$2 program=$3 own=$4 pith=$5
shift 5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
export PITH_MESH_TIMEOUT=200 MESH_FOLDER="$work"

complain() {
    echo "$name: $1"
    sed 's/^/    /' "$work/out" "$work/err"
    bad=1
}

# Run with $1 ranks; the exit code in $code.
launch() {
    code=0
    ranks=$1
    shift
    timeout 240 "${launcher[@]}" "$ranks" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
}
launcher=("$@")

# ---- Processes that do not come to the start or to the end, meanwhile ----

# leave_waiting HOW SECONDS: processes that wait for rank 1 of 3, in $work/HOW, with the exit code
leave_waiting() {
    code=0
    PITH_MESH_TIMEOUT=$2 timeout 120 "${launcher[@]}" 3 "$program" "$1" >"$work/$1" 2>&1 </dev/null || code=$?
    echo "exit code $code" >>"$work/$1"
}
leave_waiting late 1 &
leave_waiting stay 1 &
leave_waiting suspend 4 &

# ---- What works ----

for ranks in 2 3; do # the cases on 1 are mesh/collective_alone
    launch $ranks "$program" cases
    [ $code -eq 0 ] || complain "cases on $ranks ranks: exit code $code"
    grep -q "^$ranks ranks of $library [0-9]" "$work/out" || complain "not $ranks ranks of $library"
done
for what in settings fork; do
    launch 2 "$program" $what
    [ $code -eq 0 ] || complain "$what: exit code $code"
done
for what in axes short; do
    launch 4 "$program" $what
    [ $code -eq 0 ] || complain "$what: exit code $code"
done
launch 3 "$program" parts "$work"
[ $code -eq 0 ] || complain "parts of a checkpoint: exit code $code"
grep -q '"shard":"x"' "$work/state.json" || complain "no checkpoint of many ranks"
launch 4 "$own"
[ $code -eq 0 ] || complain "communicators of the program: exit code $code"
launch 2 "$pith" mesh
[ $code -eq 0 ] || complain "pith mesh: exit code $code"
grep -q "^2 ranks on 1 node, mpi: $library [0-9]" "$work/out" && grep -q '^agreement .* us, raw .* us' "$work/out" &&
    [ "$(grep -c 'MiB\|KiB\|  8 B' "$work/out")" -ge 5 ] || complain "pith mesh: not its table"
! grep -q "$(printf '\033')" "$work/out" || complain "pith mesh: colours, without --color"
# ranks that share an affinity mask divide its cores, also if the launcher does not tell how many they are
launch 2 sh -c 'unset OMPI_COMM_WORLD_LOCAL_SIZE MPI_LOCALNRANKS; taskset -pc "0-$(($(nproc --all) - 1))" $$ >/dev/null
    exec "$0" mesh --no-times' "$pith"
[ $code -eq 0 ] && [ "$(awk '$1 ~ /^[01]$/ && ($5 * 2 <= $4 || $4 == 1)' "$work/out" | wc -l)" -eq 2 ] ||
    complain "pith mesh: threads of ranks on the same cores"
# settings that differ
launch 2 sh -c '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ] || export PITH_JIT=off PITH_ISA=base
    exec "$0" mesh --no-times' "$pith"
[ $code -eq 1 ] && grep -q '^differs: rank 1 has PITH_JIT off, rank 0 has it not set$' "$work/out" &&
    grep -q '^differs: rank 1 has PITH_ISA base, rank 0 has it not set$' "$work/out" ||
    complain "pith mesh of ranks with other settings"
# a rank that has an invalid setting tells the others at once
launch 2 sh -c '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ] || export PITH_THREADS=x; exec "$0" mesh' "$pith"
[ $code -ne 0 ] && grep -q 'PITH_THREADS is "x"' "$work/err" && ! grep -q 'not all' "$work/err" ||
    complain "pith mesh of a failed rank"

# ---- Ranks that do not come ----

# lose HOW LINE: rank 1 is lost; the job ends, with an exit code other than 0, and says who it
# waited for.
lose() {
    launch 3 "$program" "$1"
    [ $code -ne 0 ] && [ $code -ne 124 ] || complain "$1: exit code $code"
    cat "$work/out" "$work/err" | grep -qE "$2" || complain "$1: no line \"$2\""
}
lose exit 'pith: rank 1: exits without pith_close after collective [0-9]+ \(pith_agree, mpi_program.c:'
lose more 'pith: rank 1: 16 bytes came from rank 0, expected 24'
lose longer 'pith: rank 1: 16 bytes came from rank 0, expected 16016'
export PITH_MESH_TIMEOUT=1
lose hang 'pith: rank 1: in user code since collective [0-9]+ \(pith_agree, mpi_program.c:[0-9]+\), [0-9]+ s; ranks 0, 2 wait in '
lose stop 'pith: rank 1: in user code since collective [0-9]+ \(pith_agree, mpi_program.c:[0-9]+\), [1-9][0-9]* s; '
export PITH_MESH_TIMEOUT=200
# the launcher may be faster than pith to tell these
lose _exit 'pith: rank 1: its process ended|BAD TERMINATION|exiting improperly'
lose kill 'pith: rank 1: its process ended|BAD TERMINATION|signal 9'
! grep -qE 'its process ended.*; rank(s 0-2| 1) wait' "$work/err" || complain "kill: a process that has ended waits"

wait
# says HOW LINE CODE: what came of those in the background
says() {
    grep -qE "$2" "$work/$1" && grep -qE "exit code $3\$" "$work/$1" && return
    : >"$work/out"
    cp "$work/$1" "$work/err"
    complain "$1: no line \"$2\""
}
says late 'pith: rank [02]: waits in pith_mesh_open \(mpi_program.c:[0-9]+\), [0-9]+ s: not all 3 processes of the job have come' '[1-9].*'
says stay 'pith: rank [02]: MPI_Finalize waits for a process of this job for longer than [0-9]+ s' '[1-9].*'
says suspend '' 0

[ $bad -eq 0 ] || exit 1
echo "$name: as it must be"
