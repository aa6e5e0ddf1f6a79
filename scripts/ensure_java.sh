#!/bin/sh
# Make sure Spark finds a Java runtime of version 17 or newer.
#
# Spark starts $JAVA_HOME/bin/java if JAVA_HOME is set, otherwise the java on the PATH; so does
# this script.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

# Prints the major version of the java Spark would start, or 0: "17.0.15" is 17, "1.8.0_402" is 1.
java_major() {
    java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    version=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9][0-9]*\).*/\1/p' | head -n 1) || :
    echo "${version:-0}"
}

if [ "$(java_major)" -ge 17 ]; then
    exit 0
fi
if [ -n "${JAVA_HOME:-}" ]; then
    echo "penstock: JAVA_HOME is $JAVA_HOME, which has no Java 17 or newer." >&2
    echo "  Set it to one that has, or unset it." >&2
    exit 1
fi
# Debian 12 has 17, Debian 13 has 21.
package=openjdk-17-jre-headless
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
    apt-get update -qq >&2 || :
    apt-cache show "$package" >/dev/null 2>&1 || package=openjdk-21-jre-headless
fi
sh "$here/debian_install.sh" "Spark needs a Java runtime, version 17 or newer" "$package"
if [ "$(java_major)" -lt 17 ]; then
    echo "penstock: $package is installed, but java on the PATH is older than 17." >&2
    echo "  Set JAVA_HOME to the new one, see update-alternatives --list java." >&2
    exit 1
fi
