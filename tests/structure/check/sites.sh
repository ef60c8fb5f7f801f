#!/bin/sh
# sites.sh ROOT: every exported function that takes a scope first gives its call site: the macros of the
# headers are those that scripts/api writes.
set -eu
"$(dirname "$0")/../../../scripts/api" --check "$1"
echo "sites: every function gives its call"
