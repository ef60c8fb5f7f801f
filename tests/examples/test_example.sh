#!/bin/sh
# test_example.sh FOLDER PROGRAM PITH: an example prints what expected.txt in its folder says, and what it
# writes can be read by the pith command.
set -eu
here=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
PITH_DEVICE=host "$2" >printed
diff "$here/expected.txt" printed
for file in *.json *.jsonl; do
    [ ! -e "$file" ] || "$3" log "$file" >/dev/null
done
[ ! -e heat.jsonl ] || "$3" plot heat.jsonl | grep -q mean_v
