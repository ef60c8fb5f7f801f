#!/bin/bash
# nccl.sh PROGRAM LAUNCHER...: the cases of ranks on GPUs that NCCL connects, call by call, in graphs and task by
# task, without NCCL, and the end of a job that loses a rank. LAUNCHER ends with the option that takes the number of
# ranks. On one GPU two ranks share it, each a host of its own for NCCL, which refuses two ranks of a host with one GPU:
# slow, and by sockets. Without a GPU it is skipped, with the reason.
set -u
program=$1
shift
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
if [ "$gpus" -lt 1 ]; then
    echo "skipped: nvidia-smi lists no GPU"
    exit 77
fi
as_host=()
if [ "$gpus" -eq 1 ]; then
    export MESH_SHARE=1 NCCL_SOCKET_IFNAME=lo
    as_host=(sh -c 'NCCL_HOSTID=rank${PMI_RANK:-$OMPI_COMM_WORLD_RANK} exec "$0" "$@"')
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MESH_DEVICE=cuda MESH_FOLDER="$work" PITH_MESH_TIMEOUT=120
bad=0

# run NAME RANKS ARGUMENTS...: the exit code in $code.
run() {
    name=$1 ranks=$2 code=0
    shift 2
    timeout 500 "${launcher[@]}" "$ranks" ${as_host[@]+"${as_host[@]}"} "$program" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
    if [ $code -eq 77 ] || grep -q 'NCCL is not found\|2.27.0 or newer is needed' "$work/err"; then
        grep -h 'skipped\|NCCL is' "$work/err" | head -1
        exit 77
    fi
}
complain() {
    echo "$name: $1"
    sed 's/^/    /' "$work/out" "$work/err" | tail -60
    bad=1
}
launcher=("$@")

for ranks in 2 $([ "$gpus" -gt 2 ] && echo "$gpus"); do
    PITH_JIT=off run "call by call" "$ranks" devices
    [ $code -eq 0 ] || complain "exit code $code on $ranks ranks"
    PITH_JIT=wait run "graphs" "$ranks" devices
    [ $code -eq 0 ] || complain "exit code $code on $ranks ranks"
    PITH_JIT=wait PITH_CUDA_GRAPH=drive run "task by task" "$ranks" devices
    [ $code -eq 0 ] || complain "exit code $code on $ranks ranks"
done
PITH_JIT=wait run "two axes" 4 axes
[ $code -eq 0 ] || complain "exit code $code"
PITH_NCCL=off run "without NCCL" 2 cases
[ $code -eq 0 ] || complain "exit code $code"
PITH_MESH_TIMEOUT=10 run "a rank that is killed" 2 kill
[ $code -ne 0 ] && [ $code -ne 124 ] || complain "exit code $code"
[ $bad -eq 0 ] && echo "passed on $gpus GPU$([ "$gpus" -eq 1 ] || echo s)"
exit $bad
