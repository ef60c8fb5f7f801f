#!/bin/sh
# install.sh BUILD CONSUMER CMAKE CC CXX [FLAGS]: install a build into a temporary prefix, move it,
# and build and run a project outside the tree against it: find_package with each kind of library,
# and pkg-config, in C and in C++. FLAGS go to every compiler (a sanitizer's runtime).
set -eu
build=$1 consumer=$2 cmake=$3 cc=$4 cxx=$5 flags=${6:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "install: $1"
    [ ! -s "$work/log" ] || cat "$work/log"
    exit 1
}
quietly() { "$@" >"$work/log" 2>&1; }

# Over ranks of Open MPI: by the plugin that the project has built, by the installed one, and over a communicator of
# the program.
on_ranks() {
    mkdir "$work/$1/alone"
    cp "$work/$1/program_ranks" "$work/$1/alone"
    for program in program_ranks alone/program_ranks program_mpi; do
        [ -e "$work/$1/$program" ] || continue
        [ $program != program_mpi ] || ldd "$work/$1/$program" | grep -q 'libmpi.so.40' || continue
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
            quietly env -C "$work/$1" mpirun.openmpi --oversubscribe -np 2 "$work/$1/$program" || fail "$program on 2 ranks, $1"
        grep -q '2 ranks: sum 3' "$work/log" || fail "$program on 2 ranks, $1"
    done
}

quietly "$cmake" --install "$build" --prefix "$work/first" || fail "cmake --install"
mv "$work/first" "$work/prefix"
cp -r "$consumer" "$work/consumer"
has_ranks=$(find "$work/prefix" -name 'libpith_mpi-openmpi.so')
[ -z "$flags" ] && command -v mpirun.openmpi >/dev/null || has_ranks= # a sanitizer reports leaks of MPI
! grep -rl "$build" "$work/prefix" --include='*.cmake' --include='*.pc' --include='*.h' ||
    fail "the files above name the build folder"

for file in bin/pith bin/pith-formats share/man/man1/pith.1 share/bash-completion/completions/pith \
    share/zsh/site-functions/_pith share/fish/vendor_completions.d/pith.fish; do
    [ -s "$work/prefix/$file" ] || fail "$file is missing"
done

for kind in static shared; do
    quietly "$cmake" -S "$work/consumer" -B "$work/$kind" -G Ninja -DKIND=$kind \
        -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
        -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" || fail "configure, $kind"
    quietly "$cmake" --build "$work/$kind" || fail "build, $kind"
    ! command -v mpicc >/dev/null || ls "$work/$kind"/libpith_mpi-*.so >"$work/log" 2>&1 || fail "no plugin for MPI, $kind"
    for program in program_c program_cc program_kernels; do
        quietly "$work/$kind/$program" || fail "$program, $kind"
    done
    [ -z "$has_ranks" ] || on_ranks "$kind"
done

PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name pith.pc)")
export PKG_CONFIG_PATH
libraries=$(pkg-config --variable=libdir pith)
# shellcheck disable=SC2046,SC2086 # lists of flags
for static in '' --static; do
    rest=$(pkg-config $static --libs pith)
    [ -z "$static" ] || rest=$(printf '%s' "$rest" | sed 's/-lpith/-l:libpith.a/')
    quietly "$cc" -std=c17 $flags $(pkg-config --cflags pith) "$consumer/main.c" $rest -o "$work/pc_c" ||
        fail "C by pkg-config $static"
    quietly "$cxx" -std=c++20 $flags $(pkg-config --cflags pith) "$consumer/main.cc" $rest -o "$work/pc_cc" ||
        fail "C++ by pkg-config $static"
    for program in pc_c pc_cc; do
        LD_LIBRARY_PATH="$libraries" quietly "$work/$program" || fail "$program by pkg-config $static"
    done
done

# make alone, and what it says of mistakes
if command -v make >/dev/null; then
    pith=$work/prefix/bin/pith
    project="$work/a project" temporary="$work/it's temporary"
    mkdir "$temporary"
    cp -r "$consumer" "$project"
    for compiler in "$cc" $(command -v clang || true); do
        [ "$compiler" = "$cc" ] || [ -z "$flags" ] || continue # flags are those of the first
        for checked in '' 1; do
            TMPDIR=$temporary quietly make -B -C "$project" PITH="$pith" CC="$compiler" \
                CFLAGS="$flags -DTEXT='\"a \$\$(text)\"'" NVCC= PITH_KERNEL_CHECKED=$checked ||
                fail "make by $compiler, checked '$checked'"
            LD_LIBRARY_PATH="$libraries" quietly "$project/program_make" || fail "program_make"
        done
    done
    [ -z "$(ls "$temporary")" ] || fail "pith kernels left files in TMPDIR"
    refuses() { # text, command...
        text=$1
        shift
        ! quietly "$@" || fail "was accepted: $*"
        grep -q "$text" "$work/log" || fail "does not say '$text': $*"
    }
    echo 'PITH_KERNEL(k, over(i, n), in(f64, x, "[n]"), out(f64, y, "[n]")) { y[i] = z; }' |
        sed '1i #include <pith/kernel.h>' >"$work/wrong.h"
    mkdir "$work/a folder"
    export CC="$cc"
    refuses 'f32,f64, got "f16"' "$pith" kernels --real f16 -o "$work/a.a" "$consumer/square.h"
    refuses 'no C compiler: "no-such-cc"' env CC=no-such-cc "$pith" kernels -o "$work/a.a" "$consumer/square.h"
    refuses 'absent.h: No such file' "$pith" kernels -o "$work/a.a" "$work/absent.h"
    refuses 'wrong.h: the compiler failed (pass BASE)' "$pith" kernels -o "$work/a.a" "$work/wrong.h"
    refuses "'z' undeclared\|‘z’ undeclared\|undeclared identifier 'z'" "$pith" kernels -o "$work/a.a" "$work/wrong.h"
    [ ! -e "$work/a.a" ] || fail "an archive was made from a wrong file"
    refuses 'TMPDIR: no folder /nowhere/pith' env TMPDIR=/nowhere "$pith" kernels -o "$work/a.a" "$consumer/square.h"
    echo old >"$work/old.a"
    refuses 'old.a could not be made' env AR=false "$pith" kernels -o "$work/old.a" "$consumer/square.h"
    [ "$(cat "$work/old.a")" = old ] || fail "the old archive is gone"
    refuses 'a folder could not be made' "$pith" kernels -o "$work/a folder" "$consumer/square.h"
fi
echo "install: find_package, pkg-config and make, static and shared, in C and C++"
