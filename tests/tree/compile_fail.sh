#!/bin/sh
# compile_fail.sh FILE COMPILER [OPTIONS...]: the mistakes of FILE do not compile.
#
# A case of FILE is what stands under `#if CASE == n`, with the text that some message must contain
# in a comment behind it. Case 0 is free of mistakes and must compile.
set -eu
file=$1
shift
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT

"$@" -DCASE=0 -fsyntax-only "$file" || { echo "case 0 does not compile"; exit 1; }
count=0
failed=0
while IFS='|' read -r number text; do
    count=$((count + 1))
    if "$@" "-DCASE=$number" -fsyntax-only "$file" > "$out/messages" 2>&1; then
        echo "case $number compiles: $text"
        failed=1
    elif ! grep -qE "$text" "$out/messages"; then
        echo "case $number: no message has \"$text\":"
        cat "$out/messages"
        failed=1
    fi
done << CASES
$(sed -n 's:^#if CASE == \([1-9][0-9]*\) /\* \(.*\) \*/$:\1|\2:p' "$file")
CASES
[ "$count" -ge 5 ] || { echo "only $count cases were read"; exit 1; }
[ "$failed" = 0 ] && echo "$count mistakes do not compile"
