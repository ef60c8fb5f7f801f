#!/bin/sh
# test_example.sh FOLDER PROGRAM PITH: an example prints what expected.txt in its folder says, and what it
# writes can be read by the pith command. A program with data in its folder, measured.json, reads them.
set -eu
here=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
program=$2 pith=$3 data=$here/measured.json
[ -e "$data" ] || data=
PITH_DEVICE=host "$program" ${data:+"$data"} >printed
diff "$here/expected.txt" printed
for file in *.json *.jsonl; do
    [ ! -e "$file" ] || "$pith" log "$file" >/dev/null
done
[ ! -e heat.jsonl ] || "$pith" plot heat.jsonl | grep -q mean_v
[ ! -e fit.jsonl ] || "$pith" plot fit.jsonl | grep -q fitted
