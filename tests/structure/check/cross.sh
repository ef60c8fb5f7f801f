#!/bin/sh
# cross.sh ROOT CMAKE CC JOBS: the library compiles for aarch64 where that cross compiler is. No
# foreign libraries but its C library are needed, since none is linked: the headers of ours are lent to it.
set -eu
root=$1 cmake=$2 cc=$3 jobs=$4
cross=aarch64-linux-gnu-gcc
command -v $cross >/dev/null || { echo "cross: SKIPPED, no $cross here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The compiler comes without a C library, whose headers ours includes and which CMake tries it with.
printf '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n' |
    $cross -x c -o "$work/hello" - 2>/dev/null || {
    echo "cross: SKIPPED, no C library for $cross here (libc6-dev-arm64-cross has one)"
    exit 77
}

mkdir "$work/include"
for header in jansson.h xxhash.h zstd.h sleef.h; do
    echo "#include <$header>" | "$cc" -M -x c - | tr ' ' '\n' | grep "/${header%.h}" | while read -r file; do
        ln -sf "$file" "$work/include/"
    done
done
# That it compiles is the question, not how fast the code is: optimise little, whatever a room asks for.
printf '#!/bin/sh\nexec %s "$@" -O1\n' $cross >"$work/cc"
chmod +x "$work/cc"
cat >"$work/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER $work/cc)
set(CMAKE_C_FLAGS_INIT "-idirafter $work/include")
END
quietly() { "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; echo "cross: failed"; exit 1; }; }
quietly "$cmake" -S "$root" -B "$work/build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$work/toolchain.cmake" \
    -DCMAKE_BUILD_TYPE=Debug -DPITH_CUDA=OFF -DPITH_TESTS=OFF -DPITH_BENCH=OFF -DPITH_EXAMPLES=OFF
quietly "$cmake" --build "$work/build" --target pith -j "$jobs"
aarch64-linux-gnu-objdump -f "$work/build/lib/libpith.a" | grep -q 'architecture: aarch64' ||
    { echo "cross: the archive holds no aarch64 objects"; exit 1; }
echo "cross: libpith.a for aarch64"
