#!/bin/sh
# phrases.sh ROOT: the words of code and manual are plain English: none of these phrases, also across the lines
# of a comment.
set -eu
cd "$1"
find $(ls -d src include tests tools examples bench scripts cmake docs README.md CONTRIBUTING.md 2>/dev/null) -type f \
    \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' -o -name '*.def' -o -name '*.md' -o -name '*.py' \
    -o -path 'scripts/*' \) -not -path '*/_build/*' -exec awk '
    BEGIN {
        count = split("that is none|as ever |of no account|nobody|somebody|behind the last|so many |is told|" \
            "suffice never|what is missing|for that which|comes to pass|goes on to|whoever|has its home", phrase, "|")
    }
    FNR == 1 { before = "" }
    {
        line = tolower($0)
        gsub(/^[ \t]*(\/\*+|\*+|#|\/\/)?[ \t]*/, "", line)
        text = before " " line " "
        for (i = 1; i <= count; i++)
            if (index(text, phrase[i]) && !index(before " ", phrase[i])) {
                printf "%s:%d: \"%s\"\n", FILENAME, FNR, phrase[i]
                bad = 1
            }
        before = line
    }
    END { exit bad }' {} + || {
    echo "phrases: say the above in plain English, see docs/internals/style.md"
    exit 1
}
echo "phrases: none of the old dialect"
