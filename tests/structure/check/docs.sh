#!/bin/sh
# docs.sh ROOT: links between our pages lead somewhere, and the manual's index names every page, and that of
# the environment every variable that is read.
set -eu
cd "$1"
bad=0
for page in *.md docs/*.md docs/*/*.md examples/*/*.md; do
    [ -f "$page" ] || continue
    folder=$(dirname "$page")
    for link in $(grep -oE '\]\([^)#: ]+(#[^)]*)?\)' "$page" | sed 's/^](//; s/[#)].*$//'); do
        [ -e "$folder/$link" ] || { echo "$page: no such file: $link"; bad=1; }
    done
    case $page in
        docs/index.md) ;;
        docs/*) grep -q "](${page#docs/})" docs/index.md || { echo "docs/index.md does not name $page"; bad=1; } ;;
    esac
done
for name in $(grep -rhoE '(getenv|environment|toolkit_open)\("[A-Z_]+"' src tools | sed 's/.*("//; s/"$//' | sort -u); do
    grep -qE "[\`$]$name[\`,/]" docs/reference/environment.md || { echo "docs/reference/environment.md does not name $name"; bad=1; }
done
[ $bad -eq 0 ] || exit 1
echo "docs: every link leads somewhere"
