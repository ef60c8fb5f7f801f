#!/bin/sh
# machine_paths.sh ROOT: no file names a path that exists on one machine only.
#
# Allowed are the paths that every system of our kind has: /dev, /proc, /sys, /etc, /usr, /bin,
# and a bare /tmp (the default of TMPDIR).
set -eu
cd "$1"

files() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard
    else
        find . \( -name build -o -name .git \) -prune -o -type f -print0
    fi
}
# The pattern is put together here so that this file does not match itself.
homes='home|root|work|mnt|media|Users|opt|srv|data|scratch'
found=$(files | xargs -0 grep -nIE \
    "(^|[^A-Za-z0-9_.~/}*-])/(($homes)(/|\$|[\"' :)])|(tmp|var/tmp)/[A-Za-z0-9])" 2>/dev/null |
    cut -c1-160 || true)
if [ -n "$found" ]; then
    printf '%s\n' "$found"
    echo "machine paths: the lines above name a path of a machine"
    exit 1
fi
echo "machine paths: none"
