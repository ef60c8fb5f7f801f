#!/bin/sh
# sites.sh ROOT: every exported function that takes a scope first can name its call site.
#
# Such a function needs a line `#define pith_x(s, ...) pith_x(PITH_AT(s), __VA_ARGS__)` in its
# header, under PITH_NO_SITES, or `#define pith_x(s, ...) PITH_FORM_(pith_x, s, ...)`, whose form
# gives the site. Those that cannot fail, or that are the mechanism, are listed here.
set -eu
cd "$1"

awk '
BEGIN {
    split("pith_call_site pith_clear pith_kernel_launch pith_scope_set_validation pith_numbers_begin pith_numbers_end pith_scope_close pith_scope_open_in", a, " ")
    for (i in a) exempt[a[i]] = 1
}
/^PITH_API / { declaration = ""; reading = 1 }
reading {
    declaration = declaration " " $0
    if ($0 ~ /;/) {
        reading = 0
        if (declaration ~ /\([ ]*pith_scope \*/) {
            name = declaration
            sub(/[ ]*\([ ]*pith_scope \*.*$/, "", name); sub(/^.*[ *]/, "", name)
            where[name] = FILENAME
        }
    }
}
/^#[ ]*define[ ]+pith_[a-z0-9_]+\(/ {
    macro = $0; sub(/^#[ ]*define[ ]+/, "", macro); sub(/\(.*$/, "", macro)
    text = $0
    while (text ~ /\\$/ && (getline more) > 0) { sub(/\\$/, "", text); text = text " " more }
    if (text ~ ("[^a-z0-9_]" macro "[ ]*\\([ ]*PITH_AT\\(") || text ~ ("PITH_[A-Z]+_\\(" macro ", s,"))
        sited[macro] = 1
}
END {
    for (name in where) {
        checked++
        if (!(name in sited) && !(name in exempt)) {
            printf "%s: %s has no line that gives its call site (PITH_AT)\n", where[name], name; bad = 1
        }
    }
    for (name in sited) if (!(name in where)) {
        printf "a call site is given to %s, which no header declares with a scope first\n", name; bad = 1
    }
    if (!checked) { print "no declaration was found: has their form changed?"; bad = 1 }
    exit bad
}' include/pith/*.h || { echo "sites: calls above lose their site"; exit 1; }
echo "sites: every maker names its call"
