#!/bin/bash
# test_pith_pages.sh PITH MANUAL: the man page, the completions of shells and the page of the manual,
# all of which the command prints or must agree with.
set -eu
pith=$1 manual=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$(dirname "$pith"):$PATH
cd "$work"

fail() {
    echo "FAILED: $*"
    exit 1
}

# the page of the manual has what --help prints
"$pith" --help >help
awk '/^```/ { if (inside && text == want) found = 1; inside = !inside; text = ""; next }
     FILENAME == ARGV[1] { want = want $0 "\n"; next }
     inside { text = text $0 "\n" } END { exit !found }' help "$manual" ||
    fail "$manual does not hold what pith --help prints: $(cat help)"

# every verb and option stands on every page
verbs=$(sed -n 's/^  pith \([a-z]*\) .*/\1/p' help)
[ "$(echo "$verbs" | wc -w)" -ge 4 ] || fail "verbs: $verbs"
"$pith" --man >pith.1
for shell in bash zsh fish; do "$pith" --completion $shell >completion.$shell; done
for verb in $verbs; do
    "$pith" "$verb" --help >one
    grep -q "^usage: pith $verb " one || fail "pith $verb --help"
    grep -q "^Exit codes:" one || fail "pith $verb --help: no exit codes"
    for option in $(sed -n 's/^  \(-., \)\{0,1\}--\([a-z-]*\).*/\2/p' one); do
        for shell in bash zsh fish; do
            grep -q -e "--$option" -e "-l $option " completion.$shell || fail "$shell: --$option of $verb"
        done
        grep -q "$(printf %s "$option" | sed 's/-/\\\\-/g')" pith.1 || fail "man page: --$option of $verb"
    done
done
if command -v man >/dev/null; then
    LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l ./pith.1 >page 2>warnings || fail "man: $(cat warnings)"
    [ ! -s warnings ] || fail "man: $(cat warnings)"
    grep -q '^EXIT STATUS' page || fail "$(cat page)"
fi

# what bash completes
complete_bash() { # words, the last of which is being typed
    bash -c 'source ./completion.bash
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        compopt() { :; }
        _pith
        printf "%s " "${COMPREPLY[@]}"' bash "$@"
}
touch a.json b.txt 'c d.json'
mkdir folder
[ "$(complete_bash pith sh)" = "show " ] || fail "$(complete_bash pith sh)"
[ "$(complete_bash pith diff --rt)" = "--rtol " ] || fail "$(complete_bash pith diff --rt)"
[ "$(complete_bash pith plot -o)" = "-o " ] || fail "$(complete_bash pith plot -o)"
[ "$(complete_bash pith show --color n)" = "never " ] || fail "$(complete_bash pith show --color n)"
[ "$(complete_bash pith show a)" = "a.json " ] || fail "$(complete_bash pith show a)"
[ "$(complete_bash pith show b)" = " " ] || fail "$(complete_bash pith show b)"
complete_bash pith verify '' | grep -q folder || fail "no folders"
checked=bash
if command -v zsh >/dev/null; then
    zsh -n completion.zsh || fail "zsh"
    checked="$checked, zsh"
fi
if command -v fish >/dev/null; then
    export HOME=$work
    fish -n completion.fish || fail "fish"
    [ "$(fish --no-config -c 'source completion.fish; complete -C "pith di"' | cut -f 1)" = diff ] || fail "fish: pith di"
    [ "$(fish --no-config -c 'source completion.fish; complete -C "pith diff --rt"' | cut -f 1)" = --rtol ] || fail "fish: --rt"
    fish --no-config -c 'source completion.fish; complete -C "pith show "' | grep -q '^a.json' || fail "fish: files"
    checked="$checked, fish"
fi
# colours on a terminal alone
printf '{"step":1,"x":1}\n{"step":2,"x":3}\n' >run.jsonl
if command -v script >/dev/null; then
    colour=$(printf '\033[36m')
    export TERM=xterm
    unset NO_COLOR
    script -qec "pith plot run.jsonl" /dev/null | grep -qF "$colour" || fail "no colours on a terminal"
    NO_COLOR=1 script -qec "pith plot run.jsonl" /dev/null | grep -qF "$colour" && fail "colours in spite of NO_COLOR"
    TERM=dumb script -qec "pith plot run.jsonl" /dev/null | grep -qF "$colour" && fail "colours on a dumb terminal"
    checked="$checked, a terminal"
fi
pith plot run.jsonl | grep -qF "$(printf '\033')" && fail "colours where there is no terminal"
echo "pith pages: passed ($checked)"
