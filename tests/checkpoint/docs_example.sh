#!/bin/sh
# docs_example.sh PAGE PROGRAM: the page's C program, which was compiled as PROGRAM, prints what
# the page says it does.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk '/^It prints:/ { next_text = 1 } /^```$/ { printing = 0 } printing { print }
     /^```text/ && next_text { printing = 1; next_text = 0 }' "$1" >"$folder/expected"
[ -s "$folder/expected" ] || { echo "$1 does not say what its program prints"; exit 1; }
cd "$folder"
PITH_DEVICE=host "$2" >printed
diff expected printed
