#!/bin/sh
# site.sh ROOT: scripts/docs renders the manual and every public header, without a warning. 77 where its
# packages are missing.
set -eu
root=$1
command -v doxygen >/dev/null && /usr/bin/python3 -c 'import breathe, furo, myst_parser, sphinx' 2>/dev/null || {
    echo "SKIPPED: scripts/packages docs installs what is missing"
    exit 77
}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$root/scripts/docs" "$out/html"
for page in index start/tutorial concepts/scopes reference/api/array internals/find-a-file examples/pendulum/pendulum search; do
    [ -s "$out/html/$page.html" ] || { echo "no page $page"; exit 1; }
done
grep -rhoE 'id="c\.pith_[a-z0-9_]+"' "$out/html/reference/api" | sed 's/.*c\.//; s/"//' | sort -u >"$out/documented"
"$root/scripts/api" --list "$root" | grep -vE '^kernel_(macros|types|checked)\.h' | cut -f 2 | sort -u >"$out/exported"
lacks=$(comm -13 "$out/documented" "$out/exported")
[ -z "$lacks" ] || { echo "the reference lacks" $lacks; exit 1; }
grep -q pith_matmul "$out/html/searchindex.js" || { echo "the search does not find pith_matmul"; exit 1; }
if grep -rhoE '(src|href)="(https?:)?//[^"]*\.(js|css|woff2?)"' "$out/html"; then
    echo "the pages above load from the network"
    exit 1
fi
echo "site: $(find "$out/html" -name '*.html' | wc -l) pages"
