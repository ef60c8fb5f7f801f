#!/bin/sh
# node_cuda.sh SOURCES INCLUDE LIBRARY_FOLDER NVCC [FILE]: nodes declared in a .cu file (nodes_cuda.cu)
# compile with nvcc and work with the library. NVCC may be empty. 77 where there is no nvcc.
set -eu
sources=$1 include=$2 library=$3
nvcc=${4:-}
[ -n "$nvcc" ] || nvcc=$(command -v nvcc || true)
[ -n "$nvcc" ] || for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    if [ -x "$folder/bin/nvcc" ]; then nvcc=$folder/bin/nvcc; break; fi
done
[ -n "$nvcc" ] || { echo "SKIPPED: no nvcc"; exit 77; }
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
"$nvcc" -std=c++20 --Werror=all-warnings -I"$include" -I"$sources" -x cu "$sources/${5:-nodes_cuda.cu}" \
    -L"$library" -lpith -Xlinker -rpath="$library" -o "$out/nodes"
"$out/nodes"
