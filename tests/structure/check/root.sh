#!/bin/sh
# root.sh ROOT: the root of the repository has the files that belong there, and none that a program
# left when it ran there.
set -eu
cd "$1"
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 77

strays=$(git ls-files --cached --others --exclude-standard | grep -v / |
    grep -vxE '\.[a-z-]+|CMakeLists\.txt|CMakePresets\.json|LICENSE|[A-Z]+\.md' || true)
if [ -n "$strays" ]; then
    printf '%s\n' "$strays"
    echo "root: the files above do not belong there"
    exit 1
fi
echo "root: no strays"
