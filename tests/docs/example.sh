#!/bin/sh
# example.sh PAGE PROGRAM [BEGIN]: the page's C program, which was compiled as PROGRAM, prints what
# the page says it does: the text behind "It prints:" that follows its block, whose first line is BEGIN
# (```c).
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk -v begin="${3:-\`\`\`c}" '$0 == begin { armed = 1 } /^It prints.*:$/ && armed { next_text = 1; armed = 0 }
     /^```$/ { printing = 0 } printing { print }
     /^```text/ && next_text { printing = 1; next_text = 0 }' "$1" >"$folder/expected"
[ -s "$folder/expected" ] || { echo "$1 does not say what its program prints"; exit 1; }
cd "$folder"
PITH_DEVICE=host "$2" >printed
diff expected printed
