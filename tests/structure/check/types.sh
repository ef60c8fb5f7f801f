#!/bin/sh
# types.sh ROOT: no type of the library is defined in two files: typedefs, structs, unions and enums that begin
# with pith_ or pithp_.
set -eu
cd "$1"

find src include/pith -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \) |
    sort | xargs awk '
function define(kind, name) {
    if (name !~ /^pithp?_/) return
    count++
    if (!((kind, name) in file)) file[kind, name] = FILENAME
    else if (file[kind, name] != FILENAME) {
        print kind " " name " is defined in " file[kind, name] " and in " FILENAME
        bad = 1
    }
}
# The name that a typedef defines: the last word, or that of a pointer to a function.
function name_of(text) {
    gsub(/__attribute__ *\(\(.*\)\)/, "", text)
    gsub(/\[[^]]*\]/, "", text)
    if (match(text, /\( *\* *[A-Za-z_0-9]+ *\)/)) {
        text = substr(text, RSTART, RLENGTH)
        gsub(/[(*) ]/, "", text)
        return text
    }
    sub(/[ \t;]+$/, "", text)
    sub(/^.*[^A-Za-z_0-9]/, "", text)
    return text
}
FNR == 1 { comment = depth = 0; text = "" }
{
    line = $0
    gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
    if (comment) {
        if (!sub(/^.*\*\//, "", line)) next
        comment = 0
    }
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", line)
    sub(/\/\/.*$/, "", line)
    if (sub(/\/\*.*$/, "", line)) comment = 1
    if (line ~ /^(typedef +)?(struct|union|enum) +[A-Za-z_0-9]+ *\{/) {
        tag = line
        sub(/^(typedef +)?(struct|union|enum) +/, "", tag)
        sub(/[^A-Za-z_0-9].*$/, "", tag)
        define("struct", tag)
    }
    if (text == "" && line !~ /^[ \t]*typedef[ \t]/) next
    # The members of what is defined do not count.
    while (match(line, /[{};]/)) {
        c = substr(line, RSTART, 1)
        if (!depth) text = text " " substr(line, 1, RSTART - 1)
        line = substr(line, RSTART + 1)
        if (c == "{") depth++
        else if (c == "}") depth--
        else if (!depth) {
            define("type", name_of(text))
            text = ""
            if (line !~ /^[ \t]*typedef[ \t]/) next
        }
    }
    if (!depth) text = text " " line
}
END {
    if (!count) { print "no types found"; bad = 1 }
    exit bad
}' || { echo "types: one name, one type"; exit 1; }
echo "types: each is defined once"
