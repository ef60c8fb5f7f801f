#!/bin/bash
# test_melt_ranks.sh MELT DATA LAUNCHER...: the melt in bricks, one a rank, beside the melt as a whole: the same bytes.
# DATA: a folder with melt-4000.data. LAUNCHER ends with the option that takes the number of ranks.
set -eu
. "$(dirname "$0")/melt_table.sh"
melt=$1
data=$2/melt-4000.data
shift 2
launcher=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PITH_MESH_TIMEOUT=200
usual=(--thermo 5 --device host --threads 1)

# whole NAME OPTIONS...: the melt without bricks; its table is NAME.txt, its log NAME.jsonl.
whole() {
    name=$1
    shift
    "$melt" "${usual[@]}" --log "$name.jsonl" "$@" >"$name.txt" 2>err || fail "$name: $(cat err)"
}

# ranks NAME N OPTIONS...: the same on N ranks.
ranks() {
    name=$1 n=$2
    shift 2
    timeout 300 "${launcher[@]}" "$n" "$melt" "${usual[@]}" --log "$name.jsonl" "$@" </dev/null >"$name.txt" 2>err ||
        fail "$name: $n ranks $*: $(cat err)"
    [ "$(grep -c Performance "$name.txt")" -eq 1 ] || fail "$name: $n ranks print $(cat "$name.txt")"
}

rows() { grep -v Performance "$1"; }
# A brick has fewer cells than the box.
logged() { sed 's/,"max_cells":[0-9]*//' "$1"; }

# same_table A B FROM: the rows of B are those of A from the step on.
same_table() {
    rows "$1.txt" | awk -v from="$3" 'NR == 1 || $1 >= from' | diff - <(rows "$2.txt") >diff ||
        fail "the tables of $1 and $2 differ: $(head -5 diff)"
}
same_log() { diff <(logged "$1.jsonl") <(logged "$2.jsonl") >diff || fail "the logs of $1 and $2 differ: $(head -5 diff)"; }

# The same bytes on every number of ranks, over moves of atoms between bricks; capacities grow on the way.
whole start --steps 50
for n in 1 2 3 4 5 8; do
    ranks on$n $n --ranks --steps 50
    same_table start on$n 0
    same_log start on$n
    grep -q "(4000 atoms, 50 steps, .* $n rank.* atoms" on$n.txt || fail "$n ranks print: $(cat on$n.txt)"
done
ranks grown 2 --steps 1
grep -q 'capacity .*ghosts.max_send is too small' err || fail "no growth: $(cat err)"
whole single --steps 30 --precision single --data "$data"
ranks single3 3 --steps 30 --precision single --data "$data"
same_table single single3 0

# A long run, in which most atoms change their bricks, and one that starts with room for nothing.
whole long --steps 200
ranks long4 4 --steps 200
same_table long long4 0
same_log long long4
ranks tiny 3 --steps 50 --initial-capacity 2
same_table start tiny 0
grep -q 'capacity .max_cells is too small: have 2' err || fail "no growth from 2: $(cat err)"
# Enough room that does not grow, and a status file
ranks fixed 3 --steps 50 --initial-capacity 2000 --fixed-capacity --status status.json
same_table start fixed 0
! grep 'too small' err || fail "room of 2000 grows"
grep -q '"step":50,.*"outcome":"finished"' status.json || fail "the status: $(cat status.json)"

# Saved on P, continued on Q: neither may be seen in a row. Step 27 is between two rebuilds.
for pair in 1:3 2:3 3:2 4:1 2:2; do
    p=${pair%:*} q=${pair#*:}
    ranks go$p$q $p --ranks --steps 27 --save "$p$q.json"
    ranks gone$p$q $q --ranks --steps 23 --resume "$p$q.json" --log go$p$q.jsonl
    same_log start go$p$q
    rows start.txt | tail -n 4 | diff - <(rows gone$p$q.txt | tail -n 4) || fail "resumed on $pair"
done

# A box that shrinks, seeds, dumps, loops of steps, and a data file of which each rank keeps a slice
options=(--steps 20 --compress 0.2 --seed 7 --steps-per-launch 4 --dump-every 10 --data "$data")
whole shrunk "${options[@]}" --dump whole.xyz
ranks shrunk3 3 "${options[@]}" --dump ranks.xyz
same_table shrunk shrunk3 0
cmp whole.xyz ranks.xyz || fail "the dumps differ"

# Forces by reverse differentiation: the gradient with respect to ghosts returns to their owners. The table of the
# kernel's; values of the energy that are computed again are the same bits.
for n in 1 2 4; do
    ranks grad$n $n --ranks --steps 50 --forces grad
    close_table start.txt grad$n.txt 1e-8
done
ranks again2 2 --steps 50 --forces grad --recompute
same_table grad2 again2 0

# A batch: ranks share its melts. Rows, files and checkpoints are those of one process, also of a batch that goes on
# on another number of ranks, or was saved by one process.
write_fcc fcc.data
batch=(--data fcc.data --batch 6 --dump-every 10)
whole few --steps 40 "${batch[@]}" --dump few.xyz --save few.json
mkdir on3 on2
ranks on3/few 3 --steps 20 "${batch[@]}" --dump on3/few.xyz --save on3/few.json --status status.json
[ "$(grep -cE '^ +[0-5] +(0|5|10|15|20) ' on3/few.txt)" -eq 30 ] || fail "rows of a batch: $(cat on3/few.txt)"
cp on3/few-* on2
ranks on2/few 2 --steps 20 --resume on3/few.json --dump-every 10 --dump on2/few.xyz --save on2/few.json
grep -q '(192 atoms, 20 steps, .* 2 ranks' on2/few.txt || fail "2 ranks print: $(cat on2/few.txt)"
diff <(rows few.txt | tail -n 24) <(rows on2/few.txt | tail -n 24) >diff || fail "rows of a batch on ranks: $(head -5 diff)"
for k in 0 1 2 3 4 5; do
    cmp few-$k.jsonl on2/few-$k.jsonl && cmp few-$k.xyz on2/few-$k.xyz || fail "files of entry $k on ranks"
    sed 's/[.][0-9a-f]*[.]safetensors//' few-$k.json >one.txt
    sed 's/[.][0-9a-f]*[.]safetensors//' on2/few-$k.json | cmp - one.txt || fail "the checkpoint of entry $k on ranks"
done
"$melt" --device host --steps 5 "${batch[@]:0:4}" --save early.json >out 2>err
ranks late 3 --steps 35 --resume early.json
diff <(rows few.txt | tail -n 6) <(rows late.txt | tail -n 6) >diff || fail "a batch of one process goes on on 3: $(head -5 diff)"

# children PID: the ranks of a launcher.
children() { ps -o pid= --ppid "$1"; }
# wait_for FILE: a checkpoint is there, and not yet the end of the job.
wait_for() {
    for _ in $(seq 3000); do
        [ ! -e "$1" ] || return 0
        kill -0 "$job" || fail "the job ended early: $(cat err)"
        sleep 0.1
    done
    fail "no $1"
}
# begin N OPTIONS...: a long job in the background, whose ranks are the launcher's children.
begin() {
    n=$1
    shift
    "${launcher[@]}" "$n" "$melt" "${usual[@]}" --steps 1000000 --save-every 5 "$@" </dev/null >out 2>err &
    job=$!
}

# A signal to one rank ends all with a checkpoint of one step.
begin 2 --save stop.json --log stop.jsonl
wait_for stop.json
kill -TERM "$(children $job | tail -n 1)"
wait $job || fail "SIGTERM: $(cat err)"
[ "$(grep -c 'signal 15 .* stopped after step' err)" -eq 1 ] || fail "SIGTERM: $(cat err)"
step=$(sed -n 's/.*stopped after step //p' err)
whole stopped --steps $((step + 10))
ranks resumed 3 --steps 10 --resume stop.json --log stop.jsonl
diff <(rows stopped.txt | tail -n 1) <(rows resumed.txt | tail -n 1) || fail "after a signal"
same_log stopped stop

# A rank that is killed ends the job; its last checkpoint goes on, here on another number of ranks.
begin 3 --save kill.json --log kill.jsonl
wait_for kill.json
kill -KILL "$(children $job | tail -n 1)"
! wait $job || fail "a killed rank is no error"
ranks revived 2 --steps 10 --resume kill.json --log kill.jsonl
step=$(awk '$1 ~ /^[0-9]+$/ { print $1; exit }' revived.txt)
whole unhurt --steps $((step + 10))
same_table unhurt revived "$step"
same_log unhurt kill

# Half of the box is empty. Cuts that move give every rank its part of the atoms, and the same rows; where bricks
# would be thinner than the reach, cuts stop.
awk '/xlo xhi/ { $2 = 2 * $2 } { print }' "$data" >half.data
whole half --steps 40 --data half.data
ranks half2 2 --steps 40 --data half.data
ranks half2b 2 --steps 40 --data half.data --balance
ranks half8b 8 --steps 40 --data half.data --balance
for name in half2 half2b half8b; do same_table half $name 0; done
least() { sed -n 's/.* ranks of \([0-9]*\) to .*/\1/p' "$1.txt"; }
[ "$(least half2)" -lt 200 ] || fail "the box is not half empty: $(cat half2.txt)"
[ "$(least half2b)" -gt 1900 ] || fail "2 bricks are not balanced: $(cat half2b.txt)"
[ "$(least half8b)" -gt 430 ] || fail "8 bricks are not balanced: $(cat half8b.txt)"

# A drop in a corner of a box eight times as large: most bricks are empty, or move a long way.
awk '/[xyz]lo [xyz]hi/ { $2 = 2 * $2 } { print }' "$data" >drop.data
whole drop --steps 40 --data drop.data
ranks drop5 5 --steps 40 --data drop.data
ranks drop8b 8 --steps 40 --data drop.data --balance --initial-capacity 2
for name in drop5 drop8b; do same_table drop $name 0; done
[ "$(least drop5)" -eq 0 ] || fail "no brick is empty: $(cat drop5.txt)"
[ "$(least drop8b)" -gt 400 ] || fail "the drop is not balanced: $(cat drop8b.txt)"

# refused TEXT N OPTIONS...: every rank ends with an error, and one says it.
refused() {
    text=$1 n=$2
    shift 2
    if timeout 300 "${launcher[@]}" "$n" "$melt" "${usual[@]}" "$@" </dev/null >out 2>err; then fail "not refused: $*"; fi
    [ "$(grep -cF -- "$text" err)" -eq 1 ] || fail "expected '$text' once in: $(cat err)"
}
refused 'expected at least cutoff + skin, 8.8' 2 --cutoff 8.5
refused 'a brick is 2.39' 7
refused 'the number of ranks, which is 3, got 4' 3 --batch 4 --data fcc.data
refused 'for the bricks of one melt' 2 --batch 2 --balance
mkdir bad-1.xyz # of the second rank alone
refused 'bad-1.xyz: Is a directory' 2 --batch 2 --data fcc.data --steps 10 --dump bad.xyz
refused 'need 1400; --fixed-capacity' 2 --fixed-capacity
refused 'nothing.json' 2 --resume nothing.json
"$melt" --steps 1 --device host --save whole.json >out 2>&1
refused 'whole.json' 2 --resume whole.json
awk '/^Velocities/ { last = 1 } { if (last && $1 == 4000) $2 = "x"; print }' "$data" >wrong.data
refused 'Velocities: expected 4 numbers' 2 --data wrong.data
if "$melt" --balance --steps 1 >out 2>err; then fail "--balance without ranks"; fi
grep -q -- '--balance is for ranks' err || fail "$(cat err)"

# Without a plugin there are no ranks, and every process says so.
if PITH_MPI=/absent.so timeout 300 "${launcher[@]}" 2 "$melt" --steps 1 --ranks </dev/null >out 2>err; then
    fail "ran without a plugin"
fi
[ "$(grep -c 'there is no plugin for its MPI: PITH_MPI: /absent.so' err)" -eq 2 ] || fail "$(cat err)"

echo "the bricks give what the whole gives"
