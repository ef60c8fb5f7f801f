#!/bin/sh
# node_cuda.sh SOURCE INCLUDE LIBRARY_FOLDER NVCC: a C++ source that declares nodes compiles as CUDA with
# nvcc and works with the library. NVCC may be empty. 77 where there is no nvcc.
set -eu
source=$1 include=$2 library=$3
nvcc=${4:-}
[ -n "$nvcc" ] || nvcc=$(command -v nvcc || true)
[ -n "$nvcc" ] || for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    if [ -x "$folder/bin/nvcc" ]; then nvcc=$folder/bin/nvcc; break; fi
done
[ -n "$nvcc" ] || { echo "SKIPPED: no nvcc"; exit 77; }
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
"$nvcc" -std=c++20 --Werror=all-warnings -I"$include" -x cu "$source" \
    -L"$library" -lpith -Xlinker -rpath="$library" -o "$out/nodes"
"$out/nodes"
