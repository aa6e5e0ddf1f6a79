#!/bin/sh
# Create a virtual environment that holds exactly the pinned requirements, file for file.
#
#   make_venv.sh DIRECTORY REQUIREMENTS
#
# PYTHON names the interpreter; without it python3.11 is used, or else python3 if it is new enough.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
directory=$1
requirements=$2

# A name on the PATH is not enough: version managers put shims there that start nothing.
new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

python=
for candidate in ${PYTHON:-python3.11 python3}; do
    if new_enough "$candidate"; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "penstock: no Python 3.11 or newer among: ${PYTHON:-python3.11 python3}." >&2
    echo "  Install Python 3.11, or name one: make PYTHON=/path/to/python3" >&2
    exit 1
fi

# Debian keeps this part of the standard library in a package of its own.
if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    sh "$here/debian_install.sh" "$python cannot create environments" "python$version-venv"
fi

"$python" -m venv --clear "$directory"
"$directory/bin/python" -m pip install --disable-pip-version-check --quiet \
    --require-hashes -r "$requirements"
"$directory/bin/python" -m pip check --disable-pip-version-check >&2
