#!/bin/sh
# secure.sh PROGRAM: a program that runs with rights its caller lacks ignores the caller's environment
# and runs no compiler. PROGRAM is copied, given to another user and marked setuid; users who cannot do
# that mark it setgid with a group of theirs.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -m 777 "$work/bin" "$work/seen" "$work/home"
for name in cc gcc clang; do
    printf '#!/bin/sh\n: >"%s/seen/ran"\nexit 1\n' "$work" >"$work/bin/$name"
    chmod 755 "$work/bin/$name"
done
cp "$1" "$work/plain"
cp "$1" "$work/secure"

fail() { echo "secure: $1"; cat "$work/out" "$work/err"; exit 1; }
start() { # PROGRAM [NAME=VALUE...]: what the caller sets
    program=$1
    shift
    env -u PITH_CC -u PITH_ISA -u PITH_HOST_MEMORY PATH="$work/bin:$PATH" PITH_JIT=wait PITH_LOG=debug \
        PITH_CACHE_DIR="$work/home/cache" HOME="$work/home" XDG_CACHE_HOME="$work/home/xdg" \
        TMPDIR="$work/home" "$@" "$program" >"$work/out" 2>"$work/err" || fail "$program fails"
}

# Without more rights the compiler of the caller runs: the fault that is looked for would show.
start "$work/plain" PITH_DEVICE=host
grep -q '^value: 40$' "$work/out" || fail "the plain program computes something else"
[ -e "$work/seen/ran" ] || fail "the plain program does not run the caller's compiler"
rm -rf "$work/seen/ran" "$work/home"
mkdir -m 777 "$work/home"

other=$(id -G | tr ' ' '\n' | grep -vx "$(id -g)" | head -n 1)
if [ "$(id -u)" = 0 ] && chown 65534 "$work/secure" 2>/dev/null; then
    chmod 4755 "$work/secure"
elif [ -n "$other" ] && chgrp "$other" "$work/secure" 2>/dev/null; then
    chmod 2755 "$work/secure"
fi
start "$work/secure"
if ! grep -q '^secure: 1$' "$work/out"; then
    echo "secure: SKIPPED, no program can be given another user's rights here"
    exit 77
fi
check() { # what a secure program prints whatever its caller sets
    grep -q '^device: host$' "$work/out" || fail "$1: the environment chose the device"
    grep -q '^value: 40$' "$work/out" || fail "$1: the program computes something else"
    [ "$(grep -c '^log [1-3]' "$work/out")" = 1 ] || fail "$1: not one line of log beside debug"
    grep -q '^log 2: .*setuid.*nothing is compiled' "$work/out" || fail "$1: the log does not say why"
    [ ! -e "$work/seen/ran" ] || fail "$1: the caller's compiler ran"
    [ -z "$(ls -A "$work/home")" ] || fail "$1: files were made where the environment says"
    [ ! -s "$work/err" ] || { cat "$work/err"; fail "$1: something is written to stderr"; }
}
check "a compiler in PATH"
for setting in PITH_CC="$work/bin/cc" PITH_DEVICE=nonsense PITH_THREADS=none PITH_ISA=none PITH_HOST_MEMORY=1 \
    PITH_HOST_ASYNC=none PITH_JIT=none PITH_JIT=eager PITH_CUDA_GRAPH=none PITH_LOG=none GCC_EXEC_PREFIX="$work/bin/" \
    COMPILER_PATH="$work/bin"; do
    start "$work/secure" "$setting"
    check "$setting"
done
echo "secure: the caller's environment counts for nothing"
