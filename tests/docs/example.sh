#!/bin/sh
# example.sh PAGE PROGRAM [BEGIN [LAUNCHER...]]: the page's C program, which was compiled as PROGRAM, prints
# what the page says it does: the text behind "It prints:" that follows its block, whose first line is BEGIN
# (```c). With LAUNCHER, which ends with the option of the number of ranks, on 2, 3 and 4 ranks.
set -eu
page=$1 program=$2 begin=${3:-\`\`\`c}
shift $(($# < 3 ? $# : 3))
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk -v begin="$begin" '$0 == begin { armed = 1 } /^It prints.*:$/ && armed { next_text = 1; armed = 0 }
     /^```$/ { printing = 0 } printing { print }
     /^```text/ && next_text { printing = 1; next_text = 0 }' "$page" >"$folder/expected"
[ -s "$folder/expected" ] || { echo "$page does not say what its program prints"; exit 1; }
cd "$folder"
export PITH_DEVICE=host
if [ $# -eq 0 ]; then
    "$program" >printed
    diff expected printed
else
    for ranks in 2 3 4; do
        "$@" $ranks "$program" >printed
        diff expected printed || { echo "on $ranks ranks"; exit 1; }
    done
fi
