#!/bin/sh
# cufft.sh DOCS INCLUDE LIBRARY_FOLDER NVCC: the CUDA example of a page compiles and links with
# nvcc, cuFFT and the library. NVCC may be empty. 77 where there is no nvcc or no cuFFT.
set -eu
docs=$1 include=$2 library=$3
nvcc=${4:-}
[ -x "$nvcc" ] || { echo "SKIPPED: no nvcc"; exit 77; }
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
awk '/^```$/ { printing = 0 } printing { print } $0 == "```cuda" { printing = 1 }' "$docs" > "$out/example.cu"
[ -s "$out/example.cu" ] || { echo "no example in $docs"; exit 1; }
echo '#include <cufft.h>' > "$out/probe.cu"
"$nvcc" -c "$out/probe.cu" -o "$out/probe.o" 2> /dev/null || { echo "SKIPPED: no cuFFT"; exit 77; }
"$nvcc" -std=c++20 --Werror=all-warnings -I"$include" -c "$out/example.cu" -o "$out/example.o"
echo 'int main() { return 0; }' > "$out/main.cu"
"$nvcc" "$out/main.cu" "$out/example.o" -L"$library" -lpith -lcufft -Xlinker -rpath="$library" -o "$out/example" || {
    ls "$(dirname "$nvcc")"/../lib*/libcufft* > /dev/null 2>&1 && exit 1
    echo "compiled; not linked: no libcufft"
}
