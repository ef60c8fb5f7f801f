# Sourced by the tests of the melt.

fail() {
    echo "FAILED: $*"
    exit 1
}

# close_table A B LIMIT: two runs printed the same steps, and numbers that agree to LIMIT, relatively.
close_table() {
    awk -v limit="$3" '
        function off(a, b) { d = a - b; if (d < 0) d = -d; if (b < 0) b = -b; return b ? d / b : d }
        FNR == NR { if ($1 ~ /^[0-9]+$/) { expected++; for (i = 2; i <= 6; i++) ref[$1, i] = $i } next }
        $1 ~ /^[0-9]+$/ {
            rows++
            for (i = 2; i <= 6; i++)
                if (!(($1, i) in ref) || off($i, ref[$1, i]) > limit) { print "step", $1, "column", i, $i, ref[$1, i]; bad = 1 }
        }
        END { exit bad || rows != expected || !rows }' "$1" "$2" || fail "the tables $1 and $2 differ"
}

# write_fcc FILE: data of 32 atoms.
write_fcc() {
    awk 'BEGIN {
        print "fcc\n\n32 atoms\n1 atom types\n\n0 3.36 xlo xhi\n0 3.36 ylo yhi\n0 3.36 zlo zhi\n\nAtoms\n"
        for (i = 0; i < 32; i++) {
            b = i % 4; x = int(i / 4) % 2; y = int(i / 8) % 2; z = int(i / 16)
            print i + 1, 1, 1.68 * x + 0.84 * (b == 1 || b == 2), 1.68 * y + 0.84 * (b == 1 || b == 3), 1.68 * z + 0.84 * (b > 1)
        }
    }' >"$1"
}
