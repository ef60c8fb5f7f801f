#!/bin/sh
# kernel_nvcc.sh ROOT NVCC: nvcc takes every kernel file, as CUDA and for callers, without a word.
set -eu
cd "$1"
if [ ! -x "$2" ]; then
    echo "kernel_nvcc: SKIPPED, there is no nvcc"
    exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

compile() { # source
    "$nvcc" --Werror all-warnings -std=c++17 -arch=sm_90 --fmad=false -Iinclude -Itests/gpu/kernels \
        -Iexamples/melt -Xcompiler -Wall,-Wextra -c "$1" -o "$out/object.o"
}
nvcc=$2

for kernels in plain.h real.h melt_kernels.h brick_kernels.h faulty.h; do
    reals="f32 f64"
    checked=
    case $kernels in
        plain.h) reals=none ;;
        faulty.h) reals=none checked="#define PITH_KERNEL_CHECKED 1" ;;
    esac
    for real in $reals; do
        { echo "#define PITH_KERNEL_PASS PITH_PASS_CUDA"
          echo "$checked"
          [ $real = none ] || echo "#define PITH_KERNEL_REAL $real"
          echo "#include \"$kernels\""; } > "$out/pass.cu"
        compile "$out/pass.cu"
    done
    echo "#include \"$kernels\"" > "$out/caller.cu"
    compile "$out/caller.cu"
    echo "kernel_nvcc: $kernels"
done
