#!/bin/sh
# test_melt.sh CASE MELT PITH DATA: the melt as its users run it. DATA is a folder with LAMMPS's input and output.
set -eu
. "$(dirname "$0")/melt_table.sh"
case=$1 melt=$2 pith=$3 data=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# refused TEXT COMMAND...: the command fails, with one line on stderr that has the text, besides those of growth.
refused() {
    text=$1
    shift
    if "$@" >out 2>all; then fail "not refused: $*"; fi
    grep -v '^melt: step [0-9]*: \.lists\..* new [0-9]*' all >err || true
    grep -qF -- "$text" err || fail "expected '$text' in: $(cat err)"
    [ "$(wc -l <err)" -eq 1 ] || fail "more than one line: $(cat err)"
}

# same A B: the two checkpoints hold the same state.
same() {
    "$pith" diff "$1" "$2" >diff.txt || fail "$1 and $2 differ: $(cat diff.txt)"
}

# final STEPS FILE OPTIONS...: run that many steps and save the last state.
final() {
    steps=$1 file=$2
    shift 2
    "$melt" --steps "$steps" --save "$file" --device host "$@" >run.txt
}

# python_with_ase: prints the first python3 on PATH, or else Debian's, that has ase.
python_with_ase() (
    IFS=:
    for folder in $PATH /usr/bin; do
        "$folder/python3" -c 'import ase.io' 2>/dev/null || continue
        echo "$folder/python3"
        return 0
    done
    return 1
)

# grew SLOT...: err has a line for each, and no other.
grew() {
    [ "$(wc -l <err)" -eq $# ] || fail "expected growth of $*: $(cat err)"
    for slot in "$@"; do
        grep -qE "^melt: step [0-9]+: \.lists\.$slot: .*have [0-9]+, need [0-9]+.*[0-9]+" err || fail "no growth of $slot: $(cat err)"
    done
    [ "$(sort -u err | wc -l)" -eq $# ] || fail "something grew twice: $(cat err)"
}

# same_but_room A B: two checkpoints hold the same bits, but for the room that lists and cells may have.
same_but_room() {
    "$pith" diff --bits "$1" "$2" >diff.txt || true
    grep -E '^ *[~+-]? *\.' diff.txt | grep -vE '\.lists\.(max_cells|max_neighbours|neighbour)\b' >others.txt || true
    [ ! -s others.txt ] || fail "$1 and $2 differ: $(cat diff.txt)"
}

# alike A B: two checkpoints hold the same bits, and have other room.
alike() {
    same_but_room "$1" "$2"
    grep -q 'max_cells' diff.txt || fail "$1 and $2 have the same room: $(cat diff.txt)"
}

# same_table A B: two runs printed the same rows.
same_table() {
    grep -v Performance "$1" >table-a
    grep -v Performance "$2" >table-b
    cmp table-a table-b || fail "the tables differ"
}

# A data file of n^3 cubes, as a LAMMPS user writes it, from lines of the head on.
write_head() {
    printf 'small\n\n%s\n1 atom types\n\n0 %s xlo xhi\n0 %s ylo yhi\n0 %s zlo zhi\n\n' "$1" "$2" "$2" "$2"
}

# A data file of 216 atoms on a cubic lattice that is a little off, so that they move.
small_data() {
    awk 'BEGIN {
        print "lattice\n\n216 atoms\n1 atom types\n\n0 6.4 xlo xhi\n0 6.4 ylo yhi\n0 6.4 zlo zhi\n\nAtoms\n"
        for (i = 0; i < 216; i++)
            print i + 1, 1, (i % 6) * 1.06 + (i % 7) * 0.01, int(i / 6) % 6 * 1.06 + (i % 5) * 0.01, int(i / 36) * 1.06 + (i % 11) * 0.01
    }' >small.data
}

case $case in
lammps) # the thermodynamic table agrees with LAMMPS for 50 steps, later its averages do
    "$melt" --data "$data/melt-4000.data" --steps 250 --thermo 1 --device host >got.txt
    awk -v limit=1e-8 '
        function off(a, b) { d = a - b; if (d < 0) d = -d; if (b < 0) b = -b; return d / b }
        FNR == NR { if ($1 ~ /^[0-9]+$/) for (i = 2; i <= 6; i++) ref[$1, i] = $i; next }
        $1 ~ /^[0-9]+$/ {
            rows++
            for (i = 2; i <= 6; i++) {
                if ($1 <= 50 && off($i, ref[$1, i]) > limit) { print "step", $1, "column", i, $i, ref[$1, i]; bad = 1 }
                if ($1 > 100) { mine[i] += $i; theirs[i] += ref[$1, i] }
            }
        }
        END {
            if (rows != 251) { print rows, "rows"; bad = 1 }
            for (i = 2; i <= 5; i++) if (off(mine[i], theirs[i]) > 0.01) { print "average of column", i; bad = 1 }
            exit bad
        }' "$data/melt-4000.thermo" got.txt || fail "the table differs from LAMMPS's"
    ;;
single) # f32 follows f64 at first, and conserves energy
    "$melt" --precision single --steps 200 --thermo 10 --device host >got.txt
    awk '$1 == 0 { e = $5; p = $3 } $1 ~ /^[0-9]+$/ { d = $5 - e; if (d < -0.02 || d > 0.02) exit 1 }
         END { d = p + 6.773368053; exit !(d < 1e-5 && d > -1e-5) }' got.txt || fail "$(cat got.txt)"
    ;;
output) # the table, the last line, --steps 0
    "$melt" --steps 250 --thermo 100 --initial-capacity 4096 --device host --threads 1 >got.txt 2>err
    [ ! -s err ] || fail "stderr is no terminal: $(cat err)"
    head -n 1 got.txt | grep -Eq '^ *Step +Temp +PotEng +KinEng +TotEng +Press *$' || fail "$(head -n 1 got.txt)"
    awk 'NR > 1 && $1 ~ /^[0-9]+$/ { printf "%s ", $1 }' got.txt >steps
    [ "$(cat steps)" = "0 100 200 250 " ] || fail "rows of steps $(cat steps)"
    tail -n 1 got.txt | grep -Eq '^Performance: [0-9]+\.[0-9][0-9] M atom-steps/s \(4000 atoms, 250 steps, [0-9]+\.[0-9]{3} s, host, 1 thread\)$' ||
        fail "$(tail -n 1 got.txt)"
    "$melt" --steps 0 --device host >got.txt
    [ "$(grep -cE '^ +[0-9]' got.txt)" -eq 1 ] || fail "--steps 0 prints: $(cat got.txt)"
    ;;
resume) # run(n) is run(k), save, resume, run(n-k), bit for bit, for every k
    final 24 straight.json
    for k in 0 1 2 3 5 8 12 16 19 23; do
        final $k part.json
        "$melt" --resume part.json --steps $((24 - k)) --thermo 1000 --save whole.json --device host >run.txt
        same straight.json whole.json
        grep -Eq "^ +24 " run.txt || fail "the Step column does not go on: $(cat run.txt)"
    done
    "$melt" --resume straight.json --steps 100 --save-every 10 --save every.json --device host >/dev/null
    final 124 straight.json
    same straight.json every.json
    ;;
threads) # nothing depends on the number of threads
    for precision in double single; do
        final 120 one.json --threads 1 --precision $precision
        for threads in 2 3 8; do
            final 120 many.json --threads $threads --precision $precision
            same one.json many.json
        done
    done
    PITH_ISA=base final 30 plain.json
    final 30 best.json
    same plain.json best.json
    PITH_HOST_ASYNC=1 final 30 later.json
    same later.json best.json
    ;;
growth) # lists and cells that start too small grow, once each, and nothing else shows it
    for precision in double single; do
        final 40 ample.json --initial-capacity 4096 --precision $precision 2>err
        [ ! -s err ] || fail "ample room grew: $(cat err)"
        cp run.txt ample.txt
        for start in 1 8 100; do
            final 40 grown.json --initial-capacity $start --precision $precision 2>err
            grew max_cells max_neighbours
            alike ample.json grown.json
            same_table ample.txt run.txt
        done
    done
    # on any number of threads, and with work that is put off
    PITH_HOST_ASYNC=1 final 40 later.json --initial-capacity 1 --precision single 2>err
    same grown.json later.json
    final 40 many.json --initial-capacity 1 --precision single --threads 3 2>err
    same grown.json many.json
    ;;
compress) # a box that shrinks outgrows its lists in the middle of a run
    shrinking='--compress 0.15 --thermo 1'
    # shellcheck disable=SC2086 # a list of options
    final 250 ample.json --initial-capacity 4096 $shrinking 2>err
    [ ! -s err ] || fail "ample room grew: $(cat err)"
    cp run.txt ample.txt
    # shellcheck disable=SC2086
    final 250 grown.json $shrinking 2>err
    grew max_cells max_neighbours max_neighbours
    grep -q '^melt: step 0: .lists.max_neighbours: ' err && grep -q '^melt: step [1-9][0-9]*: .lists.max_neighbours: ' err || fail "nothing grew after the start: $(cat err)"
    alike ample.json grown.json
    same_table ample.txt run.txt
    # saved before and after lists grew, and resumed
    for k in 20 200; do
        # shellcheck disable=SC2086
        final $k part.json $shrinking 2>err
        "$melt" --resume part.json --steps $((250 - k)) --save whole.json --device host >run.txt 2>err
        same grown.json whole.json
    done
    # lists are made anew in time: wider ones, made less often, give the same forces
    for skin in 0.2 0.6; do
        "$melt" --compress 0.15 --thermo 1 --skin $skin --steps 40 --device host >skin-$skin.txt 2>err
    done
    awk 'function off(a, b) { d = a - b; if (d < 0) d = -d; if (b < 0) b = -b; return d / b }
         FNR == NR { if ($1 ~ /^[0-9]+$/) for (i = 2; i <= 6; i++) ref[$1, i] = $i; next }
         $1 ~ /^[0-9]+$/ { rows++; for (i = 2; i <= 6; i++) if (off($i, ref[$1, i]) > 1e-8) { print; bad = 1 } }
         END { exit bad || rows != 41 }' skin-0.2.txt skin-0.6.txt || fail "the skin changes what a shrinking box does"
    # a denser restart: what was enough for a dilute gas
    awk 'BEGIN {
        print "gas\n\n1000 atoms\n1 atom types\n\n0 20 xlo xhi\n0 20 ylo yhi\n0 20 zlo zhi\n\nAtoms\n"
        for (i = 0; i < 1000; i++)
            print i + 1, 1, (i % 10) * 2 + (i % 7) * 0.01, int(i / 10) % 10 * 2 + (i % 5) * 0.01, int(i / 100) * 2 + (i % 11) * 0.01
    }' >gas.data
    for start in 8 4096; do
        final 5 gas-$start.json --data gas.data --initial-capacity $start 2>err
        "$melt" --resume gas-$start.json --compress 1 --steps 120 --save dense-$start.json --device host >run.txt 2>err
        [ $start -ne 8 ] || grew max_neighbours
    done
    alike dense-4096.json dense-8.json
    ;;
fixed) # without growth an overflow is an error, never a wrong force, and what was saved stays
    refused ".lists.max_cells: " "$melt" --fixed-capacity --initial-capacity 8 --steps 10 --save no.json --device host
    grep -qE 'have 8, need [0-9]+' err || fail "have and need are missing: $(cat err)"
    [ ! -e no.json ] || fail "a failed run left a checkpoint"
    final 10 now.json --compress 0.15 2>err
    refused ".lists.max_neighbours: " "$melt" --resume now.json --fixed-capacity --steps 1000 --save-every 1 --save now.json --device host
    grep -qE '^melt: .*step [0-9]+: .*have 128, need [0-9]+' err || fail "$(cat err)"
    failed=$(sed 's/.*step \([0-9]*\): .*/\1/' err)
    step=$("$pith" show --no-stats now.json | sed -n 's/.*step \([0-9]*\).*/\1/p' | head -n 1)
    [ "$step" -eq $((failed - 1)) ] || fail "step $failed failed, and step $step is saved"
    "$pith" verify now.json >/dev/null || fail "what was saved is damaged"
    "$melt" --resume now.json --steps 5 --save then.json --device host >run.txt 2>err || fail "$(cat err)"
    grew max_neighbours
    refused "step 1: melt_fold: the check" "$melt" --dt 1e300 --steps 3 --initial-capacity 4096 --save no.json --device host # atoms are lost
    [ ! -e no.json ] || fail "a failed run left a checkpoint"
    ;;
jit) # compiled or not, step by step or several at once: the same bits, also where lists grow
    for options in '--thermo 50' '--compress 0.15 --precision single'; do
        # shellcheck disable=SC2086
        {
            final 200 off.json $options --jit off 2>err-off
            final 200 on.json $options --jit on 2>err-on
            final 200 default.json $options 2>err-default
            final 200 loop.json $options --jit on --steps-per-launch 20 --thermo 100 2>err-loop
            final 200 odd.json $options --steps-per-launch 7 --thermo 33 2>err-odd
            (export PITH_JIT=eager && final 200 debug.json $options --jit on 2>err-debug)
        }
        cmp err-off err-on || fail "other repairs: $(cat err-on)"
        for way in on default loop odd debug; do
            "$pith" diff --bits off.json $way.json >diff.txt || fail "$way: $(cat diff.txt)"
        done
    done
    grep -q 'max_neighbours' err-loop || fail "nothing grew in a loop"
    [ "$(wc -l <err-loop)" -le "$(wc -l <err-off)" ] || fail "a loop is repaired more often: $(cat err-loop)"
    # rows of the table are at the same steps
    "$melt" --steps 200 --thermo 50 --jit off --device host >off.txt 2>err
    "$melt" --steps 200 --thermo 50 --jit on --steps-per-launch 25 --device host >on.txt 2>err
    same_table off.txt on.txt
    final 50 part.json --jit on --steps-per-launch 10 --thermo 50 2>err
    final 200 whole.json --jit off 2>err
    "$melt" --resume part.json --steps 150 --steps-per-launch 50 --jit on --save resumed.json --device host >run.txt 2>err
    "$pith" diff --bits whole.json resumed.json >diff.txt || fail "resumed: $(cat diff.txt)"
    grep -q '^"step":50,' part.json || fail "the step of a checkpoint counts launches"
    refused "--steps-per-launch: expected --jit on with it, got --jit off" "$melt" --steps-per-launch 3 --jit off
    # a signal ends a run with a checkpoint; resumed, it has the same bits
    final 300 undisturbed.json --jit on --steps-per-launch 20 2>err
    "$melt" --steps 300 --steps-per-launch 20 --save stopped.json --status status.json --device host >run.txt 2>err &
    child=$!
    while ! grep -q '"step":[1-9]' status.json 2>/dev/null && kill -0 $child 2>/dev/null; do sleep 0.01; done
    kill -TERM $child 2>/dev/null || true
    wait $child || fail "a signal is a failure: $(cat err)"
    step=$("$pith" show --no-stats stopped.json | sed -n 's/.*step \([0-9]*\).*/\1/p' | head -n 1)
    "$melt" --resume stopped.json --steps $((300 - step)) --steps-per-launch 20 --save stopped.json --device host >run.txt 2>err
    "$pith" diff --bits undisturbed.json stopped.json >diff.txt || fail "stopped at $step: $(cat diff.txt)"
    refused ".lists.max_neighbours: " "$melt" --jit on --compress 0.15 --steps 1000 --resume part.json --fixed-capacity --device host
    ;;
grad) # forces by reverse differentiation: the table of the kernel's, and the same bits in every way
    run="$melt --steps 250 --thermo 10 --device host"
    $run >kernel.txt 2>err
    $run --forces grad --save kept.json >grad.txt 2>err
    close_table kernel.txt grad.txt 1e-8
    $run --forces grad --recompute --save recomputed.json >recomputed.txt 2>err
    $run --forces grad --jit off --save off.json >off.txt 2>err
    $run --forces grad --initial-capacity 2 --save grown.json >grown.txt 2>err
    grew max_cells max_neighbours
    $run --forces grad --recompute --steps-per-launch 10 --threads 1 --initial-capacity 2 --save loop.json >loop.txt 2>err
    for way in recomputed off grown loop; do
        same_table grad.txt $way.txt
        "$pith" diff --bits kept.json $way.json >diff.txt || fail "$way: $(cat diff.txt)"
    done
    # a checkpoint goes on with either
    "$melt" --resume kept.json --steps 10 --thermo 1 --device host >kernel.txt
    "$melt" --resume kept.json --steps 10 --thermo 1 --forces grad --device host >grad.txt
    close_table kernel.txt grad.txt 1e-8
    "$melt" --precision single --forces grad --steps 100 --thermo 10 --device host >got.txt 2>err
    awk '$1 == 0 { e = $5 } $1 ~ /^[0-9]+$/ { d = $5 - e; if (d < -0.02 || d > 0.02) exit 1; n++ } END { exit n != 11 }' got.txt ||
        fail "$(cat got.txt)"
    refused "--forces: expected kernel or grad, got both" "$melt" --forces both
    refused "--recompute: expected --forces grad with it, got --forces kernel" "$melt" --recompute
    ;;
seed) # velocities drawn with keys
    final 0 a.json --seed 7 2>err
    final 0 b.json --seed 7 2>err
    final 0 c.json --seed 8 2>err
    "$pith" diff --bits a.json b.json >diff.txt || fail "$(cat diff.txt)"
    ! "$pith" diff --bits a.json c.json >diff.txt || fail "another seed gives the same velocities"
    "$melt" --seed 7 --steps 0 --device host >got.txt 2>err
    awk '$1 == 0 { d = $2 - 1.44; exit !(d < 1e-12 && d > -1e-12) }' got.txt || fail "$(cat got.txt)"
    small_data
    "$melt" --data small.data --seed 1 --steps 0 --device host >got.txt 2>err
    awk '$1 == 0 { d = $2 - 1.44; exit !(d < 1e-12 && d > -1e-12) }' got.txt || fail "$(cat got.txt)"
    refused "--seed does not go with it" "$melt" --resume a.json --seed 1
    refused "--seed: expected a whole number" "$melt" --seed -1
    ;;
batch) # several melts as one state: rows and checkpoint of an entry are those of its own run
    write_fcc fcc.data
    again="$melt --device host --resume" melt="$melt --data fcc.data --device host --thermo 10" steps=40
    # as_alone FIRST OPTIONS...: a batch of seeds FIRST to FIRST + 3 against runs of each
    as_alone() {
        first=$1
        shift
        rm -f all*.json all*.jsonl all*.xyz
        $melt --batch 4 --seed "$first" --steps $steps --save all.json --log all.jsonl --dump all.xyz --dump-every 20 "$@" >all.txt 2>err
        [ "$(grep -cE '^ +[0-9]' all.txt)" -eq 20 ] || fail "rows: $(cat all.txt)"
        for k in 0 1 2 3; do
            $melt --seed $((first + k)) --steps $steps --save own.json --log own.jsonl --dump own.xyz --dump-every 20 "$@" >own.txt 2>err-$k
            grep -E '^ +[0-9]' own.txt >rows-a
            awk -v k=$k '$1 == k' all.txt | cut -c 12- >rows-b
            cmp rows-a rows-b || fail "entry $k of a batch ($*) has other rows"
            same_but_room own.json all-$k.json
            [ -s own.jsonl ] && same_log own.jsonl all-$k.jsonl || fail "entry $k of a batch ($*) has another log"
            [ "$(grep -c Lattice own.xyz)" -eq 3 ] && cmp own.xyz all-$k.xyz || fail "entry $k of a batch ($*) has another dump"
            [ "$room" = other ] || "$pith" diff --bits own.json all-$k.json >diff.txt || fail "entry $k ($*): $(cat diff.txt)"
        done
        ! "$pith" diff --bits all-0.json all-1.json >diff.txt || fail "all entries are alike"
    }
    # same_log A B: the rows of two logs are the same, but for the room that lists and cells may have
    same_log() {
        for file in "$1" "$2"; do
            if [ "$room" = other ]; then sed -E 's/"max_(cells|neighbours)":[0-9]+/"max_\1":0/' "$file"; else cat "$file"; fi >"$file.rows"
        done
        cmp "$1.rows" "$2.rows"
    }
    room=same
    as_alone 7 --initial-capacity 256
    as_alone 7 --initial-capacity 256 --precision single --threads 1 --steps-per-launch 7
    as_alone 7 --initial-capacity 256 --forces grad --steps-per-launch 20
    room=other # entries and runs of their own grow differently
    as_alone 2 --initial-capacity 2
    grew max_cells max_neighbours max_neighbours
    as_alone 2 --initial-capacity 2 --compress 0.05 --jit off
    # of four entries the second alone overflows: all have room after one more try
    as_alone 2 --initial-capacity 144
    grew max_neighbours
    [ ! -s err-0 ] && [ -s err-1 ] && [ ! -s err-2 ] && [ ! -s err-3 ] || fail "not one alone: $(cat err-?)"
    cmp err err-1 || fail "the batch grows differently"
    refused "fixed capacity is too small: have 144, need 152" $melt --batch 4 --seed 2 --initial-capacity 144 --fixed-capacity
    refused "(entry [1] of a batch)" $melt --batch 4 --seed 2 --dt 10 --initial-capacity 256
    # a checkpoint of the batch goes on, and so does one of an entry
    files="--log all.jsonl --dump all.xyz --dump-every 15 --thermo 10"
    $melt --batch 3 --steps 30 --save part.json $files >run.txt 2>err
    $melt --batch 3 --steps 45 $files >run.txt 2>err # of which resumed runs cut the end
    $again part.json --steps 30 --save resumed.json $files >run.txt 2>err
    $again part-1.json --steps 30 --save alone.json >run.txt 2>err
    $melt --batch 3 --steps 60 --save whole.json --log whole.jsonl --dump whole.xyz --dump-every 15 >run.txt 2>err
    for k in 0 1 2; do
        cmp whole-$k.jsonl all-$k.jsonl && cmp whole-$k.xyz all-$k.xyz || fail "resumed: files of entry $k"
    done
    [ ! -e all.jsonl ] && [ ! -e all.xyz ] || fail "a file of no entry"
    "$pith" diff --bits whole.json resumed.json >diff.txt || fail "resumed: $(cat diff.txt)"
    "$pith" diff --bits whole-1.json alone.json >diff.txt || fail "an entry resumed alone: $(cat diff.txt)"
    grep -q '^"step":60,' whole-1.json || fail "the checkpoint of an entry has no step"
    grep -q 'Performance: .*(96 atoms, 60 steps,' run.txt || fail "$(cat run.txt)"
    refused "--batch does not go with it" $again part.json --batch 3
    refused 'cannot open "missing/x-0.jsonl"' $melt --batch 3 --log missing/x.jsonl
    refused "missing/x-0.xyz: No such file" $melt --batch 3 --dump missing/x.xyz
    refused "--batch: expected a whole number from 1 to" $melt --batch 0
    ;;
data) # data files: what is read, and what is refused with its line
    { write_head '2 atoms' 6; printf 'Atoms\n\n2 1 1.5 0 0 0 0 0\n1 1 -0.5 0 0\n'; } >two.data
    "$melt" --data two.data --steps 0 --device host >got.txt
    # r = 2: 4 (2^-12 - 2^-6), half of it per atom
    awk '$1 == 0 { d = $3 + 0.03076171875; exit !(d < 1e-12 && d > -1e-12) }' got.txt || fail "$(cat got.txt)"
    refused "missing.data: No such file" "$melt" --data missing.data --device host
    { write_head '2 atoms' 6; printf 'Atoms # full\n\n'; } >bad.data
    refused "bad.data:10: atom style full; expected atomic" "$melt" --data bad.data --device host
    { write_head '2 atoms' 6; printf 'Atoms\n\n1 1 0 0 0\n1 1 1 1 1\n'; } >bad.data
    refused "bad.data:13: Atoms: atom 1 comes twice" "$melt" --data bad.data --device host
    { write_head '2 atoms' 6; printf 'Atoms\n\n1 1 0 0 0\n2 1 1 nan 1\n'; } >bad.data
    refused "bad.data:13: Atoms: '2 1 1 nan 1' has a number that is not finite" "$melt" --data bad.data --device host
    { write_head '2 atoms' 6; printf 'Atoms\n\n1 1 0 0 0\n'; } >bad.data
    refused "ends inside the section Atoms" "$melt" --data bad.data --device host
    { write_head '33554432 atoms' 6; printf 'Atoms\n\n1 1 0 0 0\n'; } >bad.data
    refused "bad.data:10: the file is too short for 33554432 atoms" "$melt" --data bad.data --device host
    # a long line is one line: what a comment says is no data
    long=$(printf '%5000s' x)
    { write_head '2 atoms' 6; printf 'Atoms\n\n2 1 1.5 0 0 # %s\n1 1 0 0 0\n' "$long"; } | sed "1s/\$/$long 5 atoms/" >long.data
    "$melt" --data long.data --steps 0 --device host >got.txt || fail "$(cat got.txt)"
    { write_head '2 atoms' 6; printf 'Bonds\n\n1 1 1 2\n'; } >bad.data
    refused "bad.data:10: the section 'Bonds' is not supported" "$melt" --data bad.data --device host
    printf 'tilted\n\n1 atoms\n1 atom types\n0 6 xlo xhi\n0 6 ylo yhi\n0 6 zlo zhi\n1 0 0 xy xz yz\n' >bad.data
    refused "bad.data:8: the box is tilted" "$melt" --data bad.data --device host
    printf 'two\n\n1 atoms\n2 atom types\n' >bad.data
    refused "bad.data:4: expected 1 atom type" "$melt" --data bad.data --device host
    : >bad.data
    refused "the file is empty" "$melt" --data bad.data --device host
    refused "Is a directory" "$melt" --data . --device host
    ;;
options) # the command line
    "$melt" --help | grep -q -- '--initial-capacity N' || fail "--help"
    refused "--steps: expected a whole number" "$melt" --steps x
    refused "--dt: expected a number above 0" "$melt" --dt -1
    refused "--precision: expected double or single" "$melt" --precision half
    refused "--frobnicate: expected an option" "$melt" --frobnicate 1
    refused "--save-every: expected --save FILE with it" "$melt" --save-every 5
    refused "--dump-every: expected --dump FILE with it" "$melt" --dump-every 5
    refused "--threads: expected a whole number from 1 to 1024, got 4294967297" "$melt" --threads 4294967297
    refused "--initial-capacity: expected a whole number from 1 to" "$melt" --initial-capacity 9223372036854775807
    refused "--compress: expected a number, got nan" "$melt" --compress nan
    refused "--initial-capacity does not go with it" "$melt" --resume a.json --initial-capacity 8
    refused "--steps: expected a whole number" "$melt" --steps 99999999999999999999
    refused "--steps: expected a whole number from 0 to 1000000000000000, got nothing" "$melt" --steps
    refused "--save: expected a file name, got nothing" "$melt" --save ''
    refused "--skin: expected a number above 0, got 0" "$melt" --skin 0
    refused "--dt: expected a number above 0, got nan" "$melt" --dt nan
    refused "--device: expected host or cuda, got gpu" "$melt" --device gpu
    refused "cutoff + skin is 100.3, expected less than the box, 16.796 wide" "$melt" --cutoff 100 --device host
    if ! "$melt" --steps 0 --device cuda >out 2>err; then # without a device: why
        grep -q '^melt: device cuda: ' err && [ "$(wc -l <err)" -eq 1 ] || fail "--device cuda: $(cat err)"
    fi
    refused "does not go with it" "$melt" --resume a.json --cutoff 3
    refused "none.json" "$melt" --resume none.json --device host
    ;;
progress) # a bar where stderr is a terminal; it leaves no trace and does not get in the way of the table
    command -v script >/dev/null || { echo "SKIPPED: there is no script(1)"; exit 77; }
    script -qec "$melt --steps 600 --thermo 200 --device host --threads 1" /dev/null >seen
    tr '\r' '\n' <seen >lines
    grep -q '% \[#*\.*\] [0-9]*/600 .* steps/s .* left' lines || fail "no bar: $(cat lines)"
    sed 's/\x1b\[K//g' lines | awk '$1 ~ /^[0-9]+$/ && NF == 6 { printf "%s ", $1 }' >steps
    [ "$(cat steps)" = "0 200 400 600 " ] || fail "rows of steps $(cat steps)"
    script -qec "$melt --steps 200 --compress 0.2 --device host --threads 1" /dev/null >grown
    tr '\r' '\n' <grown | sed 's/\x1b\[K//g' | grep -q '^melt: step [1-9][0-9]*: .lists' || fail "growth is not on a line of its own: $(cat grown)"
    shown=$(grep -c '/600 ' lines) hidden=$(grep -o '^.\[K' lines | wc -l)
    [ "$hidden" -le $((shown + 1)) ] || fail "the bar is shown $shown times and cleared $hidden times"
    ;;
series) # killed and resumed, log and dump are those of a run that was never interrupted
    small_data
    steps=2000 thermo='--thermo 7 --dump-every 50 --device host --threads 1'
    # shellcheck disable=SC2086 # a list of options
    "$melt" --data small.data --steps $steps --log whole.jsonl --dump whole.xyz $thermo >run.txt
    # shellcheck disable=SC2086
    "$melt" --data small.data --steps 0 --save part.json --log part.jsonl --dump part.xyz $thermo >run.txt
    kills=0
    while :; do
        step=$("$pith" show --no-stats part.json | sed -n 's/.*step \([0-9]*\).*/\1/p' | head -n 1)
        # shellcheck disable=SC2086
        "$melt" --resume part.json --steps $((steps - step)) --save part.json --save-every 3 \
            --log part.jsonl --dump part.xyz $thermo >run.txt 2>err &
        child=$!
        [ $kills -ge 12 ] || { sleep "0.0$((1 + kills % 9))" && kill -9 $child 2>/dev/null || true; }
        status=0
        wait $child 2>/dev/null || status=$?
        case $status in
            0) break ;;
            137) kills=$((kills + 1)) ;;
            *) fail "the melt ended with $status: $(cat err)" ;;
        esac
    done
    [ $kills -ge 3 ] || fail "only $kills kills"
    cmp whole.jsonl part.jsonl || fail "the log differs after $kills kills"
    cmp whole.xyz part.xyz || fail "the dump differs after $kills kills"
    [ "$(wc -l <whole.jsonl)" -eq 286 ] || fail "$(wc -l <whole.jsonl) rows"
    [ "$(head -n 1 whole.jsonl | cut -c 1-17)" = '{"step":0,"Temp":' ] || fail "$(head -n 1 whole.jsonl)"
    # back to an earlier checkpoint: rows and frames behind it go
    cp part.json late.json
    "$melt" --data small.data --steps 500 --save early.json --device host >run.txt
    # shellcheck disable=SC2086
    "$melt" --resume early.json --steps 0 --log part.jsonl --dump part.xyz $thermo >run.txt
    [ "$(tail -n 1 part.jsonl | cut -c 1-12)" = '{"step":497,' ] || fail "$(tail -n 1 part.jsonl)"
    [ "$(grep -c Step= part.xyz)" -eq 11 ] || fail "$(grep Step= part.xyz)"
    # what is another's is left alone
    echo precious >other.txt
    refused 'other.txt" is not a log of a run: line 1' "$melt" --resume early.json --steps 1 --log other.txt --device host
    refused "other.txt is no dump of this program" "$melt" --resume early.json --steps 1 --dump other.txt --device host
    [ "$(cat other.txt)" = precious ] || fail "a file of another program was changed"
    # what cannot be written is told before the first step
    refused "nowhere/x.json" "$melt" --steps 1000000000 --save nowhere/x.json --device host
    refused "nowhere/x.jsonl" "$melt" --steps 1000000000 --log nowhere/x.jsonl --device host
    refused "nowhere/x.xyz" "$melt" --steps 1000000000 --dump nowhere/x.xyz --device host
    ;;
dump) # extended XYZ that ASE reads
    python=$(python_with_ase) || {
        if dpkg -s python3-ase >/dev/null 2>&1; then fail "python3-ase is installed, but no python3 has ase"; fi
        echo "SKIPPED: no python3 has ase"
        exit 77
    }
    "$melt" --steps 20 --dump out.xyz --dump-every 10 --device host >run.txt
    "$python" - <<'PY' || fail "ASE reads something else"
import ase.io
frames = ase.io.read("out.xyz", index=":")
assert len(frames) == 3 and all(len(f) == 4000 and f.pbc.all() for f in frames)
assert abs(frames[0].cell.lengths()[0] - 16.795961913825074) < 1e-9
assert frames[0].positions.shape == (4000, 3) and "velo" in frames[0].arrays
constant = (4 / 0.8442) ** (1 / 3)  # frames are in the order of the lattice, whatever the program sorts
second = frames[0].positions[1] - frames[0].positions[0]
assert abs(second - [constant / 2, constant / 2, 0]).max() < 1e-9
for a, b in zip(frames, frames[1:]):  # and stay in it: ten steps move an atom little
    moved = b.positions - a.positions
    moved -= 16.795961913825074 * (moved / 16.795961913825074).round()
    assert 0 < abs(moved).max() < 0.5
PY
    ;;
dump_text) # frames as text, without ASE
    "$melt" --steps 20 --dump out.xyz --dump-every 10 --device host >run.txt
    [ "$(grep -c '^4000$' out.xyz)" -eq 3 ] && [ "$(wc -l <out.xyz)" -eq 12006 ] || fail "not three frames"
    sed -n 2p out.xyz | grep -q 'Properties=species:S:1:pos:R:3:velo:R:3 pbc="T T T"' || fail "$(sed -n 2p out.xyz)"
    ;;
*)
    fail "no such case"
    ;;
esac
echo "melt $case: passed"
