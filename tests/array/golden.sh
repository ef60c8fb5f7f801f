#!/bin/sh
# golden.sh ROOT PROGRAM: a program of tests/data/golden/generate, by the first Python that has its modules.
set -eu
for modules in 'numpy, ml_dtypes' 'numpy'; do
    for python in python3 /usr/bin/python3 "$1/.venv/bin/python"; do
        "$python" -c "import $modules" 2>/dev/null || continue
        exec "$python" "$1/tests/data/golden/generate/$2"
    done
done
echo "golden: SKIPPED, no Python here has NumPy"
exit 77
