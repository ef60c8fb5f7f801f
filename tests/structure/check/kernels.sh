#!/bin/sh
# kernels.sh ROOT CMAKE CC: pith_add_kernels in a project that has pith in a subfolder: its passes
# have their options, files of one name are two files, and mistakes are errors.
set -eu
root=$1 cmake=$2 cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

project=$work/'a project'
mkdir -p "$project/pith" "$project/one" "$project/two"
cp "$root/cmake/PithKernels.cmake" "$project/pith"
echo 'include(PithKernels.cmake)' >"$project/pith/CMakeLists.txt"
for kernel in one two; do
    echo "PITH_KERNEL($kernel, over(i, n), inout(real, x, \"[n]\")) { x[i] = 0; }" >"$project/$kernel/k.h"
done
touch "$project/empty.c" "$project/empty.cc"

# configure LANGUAGES ARGUMENTS: with pith_add_kernels(t ARGUMENTS)
configure() {
    rm -rf "$work/build"
    extension=c
    [ "$1" = C ] || extension=cc
    cat >"$project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES $1)
add_subdirectory(pith)
add_library(t STATIC empty.$extension)
pith_add_kernels(t $2)
END
    "$cmake" -S "$project" -B "$work/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
        -DCMAKE_SYSTEM_PROCESSOR=x86_64 -DCMAKE_SYSTEM_NAME=Linux >"$work/log" 2>&1
}
fail() {
    echo "kernels: $1"
    cat "$work/log"
    exit 1
}
refuses() { # text, LANGUAGES, ARGUMENTS
    ! configure "$2" "$3" || fail "was accepted: pith_add_kernels(t $3)"
    tr -s '\n ' ' ' <"$work/log" | grep -q "$1" || fail "does not say '$1'"
}

configure C 'one/k.h two/k.h REAL f32 f64 f32' || fail configure
commands=$work/build/compile_commands.json
for flag in march=x86-64-v3 march=x86-64-v4 prefer-vector-width=512; do
    [ "$(grep -c "command.*-m$flag\|command.*-$flag" "$commands")" = 4 ] || fail "passes without $flag"
done
[ "$(grep -c '"file": .*/kernels/t/' "$commands")" = 12 ] || fail "expected 2 files, 2 reals, 3 passes"
configure C 'one/k.h REAL f64 CHECKED ON' || fail configure
[ "$(grep -c '"file": .*/kernels/t/' "$commands")" = 1 ] || fail "a checked build has one pass"

refuses 'REAL takes f32 and f64, not f16' C 'one/k.h REAL f16'
refuses 'CHECKED without a value' C 'one/k.h CHECKED'
refuses 'REAL without a value' C 'one/k.h REAL'
refuses 'none/k.h does not exist' C 'none/k.h'
refuses 'no kernel file given' C ''
refuses 'need the language C' CXX one/k.h
echo "kernels: passes, options, names and mistakes of pith_add_kernels"
