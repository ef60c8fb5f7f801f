#!/bin/sh
# quoted.sh PAGE FILE...: each line of C that a page quotes is a line of the files.
set -eu
page=$1
shift
awk '/^```/ { quoting = $0 == "```c"; next } quoting && NF' "$page" | while IFS= read -r line; do
    grep -qxF -- "$line" "$@" || {
        echo "$page quotes a line that is in none of $*: $line"
        exit 1
    }
done
