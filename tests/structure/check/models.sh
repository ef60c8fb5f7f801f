#!/bin/sh
# models.sh ROOT: every test that docs/internals/models.md names exists, and every row names one or a plan.
#
# Rows of its tables are: | name there | name here | test | ; the test column holds `suite::name`
# or a ctest name `room/name`, one or several in backticks, or says "planned: <room>".
set -eu
rooms=$(cd "$(dirname "$0")/../../../src" && pwd)/rooms
cd "$1"
tests=$(mktemp)
trap 'rm -f "$tests"' EXIT

find tests \( -name '*.c' -o -name '*.cc' -o -name '*.cu' \) -exec sed -n \
    's/^\(Test\|BOTH\)(\([A-Za-z0-9_]*\), *\([A-Za-z0-9_]*\).*/\2::\3/p' {} + >"$tests"
find tests -name CMakeLists.txt | while read -r list; do
    room=$(basename "$(dirname "$list")")
    sed -n -e "s/^ *pith_test(\([A-Za-z0-9_]*\).*/$room\/\1/p" \
        -e 's/^ *add_test(NAME \([a-z0-9_/]*\).*/\1/p' \
        -e 's/^ *structure_check(\([a-z0-9_]*\).*/structure\/\1/p' "$list"
done >>"$tests"

awk -F '|' -v tests="$tests" -v rooms="$rooms" '
BEGIN {
    while ((getline name < tests) > 0) known[name] = 1
    while ((getline line <rooms) > 0)
        if (line ~ /^[a-z]+ [0-9]+$/) { sub(/ .*/, "", line); room[line] = 1 }
}
/^\|/ && $2 !~ /^[ ]*(-+|Name|name)/ {
    rows++
    if (NF < 5) { printf "%s:%d: a row needs three columns\n", FILENAME, FNR; bad = 1; next }
    cell = $(NF - 1); found = 0
    while (match(cell, /`[^`]*`/)) {
        name = substr(cell, RSTART + 1, RLENGTH - 2); cell = substr(cell, RSTART + RLENGTH)
        found = 1; named++
        if (!(name in known)) { printf "%s:%d: no such test: %s\n", FILENAME, FNR, name; bad = 1 }
    }
    if (match(cell, /planned: [a-z]+/)) {
        split(substr(cell, RSTART, RLENGTH), word, " "); found = 1
        if (!(word[2] in room)) { printf "%s:%d: no such room: %s\n", FILENAME, FNR, word[2]; bad = 1 }
    }
    if (!found && $0 !~ /not taken/) { printf "%s:%d: neither a test nor a plan\n", FILENAME, FNR; bad = 1 }
}
END {
    if (!rows) { print "the page has no rows"; bad = 1 }
    exit bad
}' docs/internals/models.md || { echo "models: the page and the tests disagree"; exit 1; }
echo "models: every named test exists"
