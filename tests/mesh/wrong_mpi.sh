#!/bin/bash
# wrong_mpi.sh PROGRAM MPI OWN LAUNCHER...: a program that has loaded an MPI (the file MPI), and one that uses that MPI
# itself (OWN), under the launcher of another: every rank refuses, and none runs alone.
set -eu
program=$1 mpi=$2 own=$3
shift 3
out=$("$@" 2 env LD_PRELOAD="$mpi" "$program" join 2>&1 </dev/null) && { echo "$out"; echo "wrong_mpi: no error"; exit 1; }
said=$(echo "$out" | grep -c 'error: PITH_E_UNSUPPORTED: pith_mesh_open: .* started 2 processes .* finds 1: the program needs the launcher of its MPI') || true
[ "$said" -eq 2 ] || { echo "$out"; echo "wrong_mpi: $said of 2 ranks refuse"; exit 1; }
out=$("$@" 2 "$own" 2>&1 </dev/null) && { echo "$out"; echo "wrong_mpi: no error of $own"; exit 1; }
said=$(echo "$out" | grep -c ' started 2 processes .* finds 1: the program needs the launcher of its MPI') || true
[ "$said" -ge 2 ] || { echo "$out"; echo "wrong_mpi: $said of 2 ranks of $own refuse"; exit 1; }
echo "wrong_mpi: both ranks refuse"
