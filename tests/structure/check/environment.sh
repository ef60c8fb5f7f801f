#!/bin/sh
# environment.sh ROOT: the library reads the environment through src/base/environment.c alone, which
# gives nothing in setuid programs.
set -eu
cd "$1"
found=$(grep -rnE '(^|[^a-z_])(secure_)?getenv(_r)? *\(' src --include='*.c' --include='*.h' --include='*.cu' --include='*.cuh' |
    grep -v '^src/base/environment\.c:' || true)
[ -z "$found" ] || { echo "$found"; echo "environment: use pithp_environment (src/base/environment.h)"; exit 1; }
echo "environment: read in one place"
