#!/bin/bash
# test_melt_ranks.sh MELT LAUNCHER...: the melt in bricks, one a rank, beside the melt as a whole. LAUNCHER ends with
# the option that takes the number of ranks.
set -eu
melt=$1
shift
launcher=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PITH_MESH_TIMEOUT=200

fail() {
    echo "FAILED: $*"
    exit 1
}

# ranks N OPTIONS...: the melt on N ranks.
ranks() {
    n=$1
    shift
    timeout 300 "${launcher[@]}" "$n" "$melt" --threads 1 "$@" </dev/null
}

# close_logs A B LIMIT: two logs have the same steps, and numbers that agree to LIMIT, relatively.
close_logs() {
    for log in "$1" "$2"; do
        sed -n 's/[{}",:]/ /g; /step/p' "$log" |
            awk '{ for (i = 1; i < NF; i++) if ($i ~ /^(step|Temp|PotEng|KinEng|TotEng|Press)$/) printf "%s ", $(i + 1); print "" }' >"$log.rows"
    done
    paste -d ' ' "$1.rows" "$2.rows" | awk -v limit="$3" '
        NF != 12 || $1 != $7 { print "row", NR, $0; bad = 1 }
        { for (i = 2; i <= 6; i++) { d = ($i - $(i + 6)) / $i; if (!(d < limit && -d < limit)) { print "step", $1, "column", i, $i, $(i + 6); bad = 1 } } }
        END { exit bad || NR != 11 }' || fail "the logs $1 and $2 differ"
}

# 50 steps: chaos has not made more of the rounding errors yet
"$melt" --steps 50 --thermo 5 --log whole.jsonl --device host --threads 1 >whole.txt 2>err || fail "$(cat err)"
"$melt" --ranks --steps 50 --thermo 5 --log 1.jsonl --device host --threads 1 >1.txt 2>err || fail "$(cat err)"
close_logs whole.jsonl 1.jsonl 1e-10
for n in 2 3 4 8; do
    ranks $n --steps 50 --thermo 5 --log $n.jsonl --device host >$n.txt 2>err || fail "$n ranks: $(cat err)"
    close_logs whole.jsonl $n.jsonl 1e-10
    [ "$(grep -c Performance $n.txt)" -eq 1 ] || fail "$n ranks print: $(cat $n.txt)"
    grep -q "(4000 atoms, 50 steps, .* $n ranks" $n.txt || fail "$n ranks print: $(cat $n.txt)"
done

# energy is conserved over many moves of atoms between bricks; capacities grow on the way
ranks 2 --steps 300 --thermo 50 --initial-capacity 8 --precision single --device host >long.txt 2>err || fail "$(cat err)"
grep -q 'capacity .*max_moved is too small' err || fail "no growth: $(cat err)"
awk '$1 == 0 { e = $5 } $1 ~ /^[0-9]+$/ { rows++; d = $5 - e; if (d < -0.03 || d > 0.03) exit 1 } END { exit rows != 7 }' long.txt || fail "$(cat long.txt)"

# refused TEXT N OPTIONS...: every rank ends with an error, and one says it.
refused() {
    text=$1
    shift
    if ranks "$@" --device host >out 2>err; then fail "not refused: $*"; fi
    [ "$(grep -cF -- "$text" err)" -eq 1 ] || fail "expected '$text' once in: $(cat err)"
}
refused 'expected at least cutoff + skin, 8.8' 2 --cutoff 8.5
refused 'a run on ranks has no --save' 2 --save x.json
refused 'fixed capacity' 2 --fixed-capacity

echo "the bricks give what the whole gives"
