#!/bin/sh
# Install Debian packages, or say which command does.
#
#   debian_install.sh REASON PACKAGE...
#
# Exits 0 when the packages were installed, 1 when that is left to the user.
set -eu

reason=$1
shift

if ! command -v apt-get >/dev/null 2>&1; then
    echo "penstock: $reason. Install it with this system's package manager (Debian: $*)." >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "penstock: $reason. Run this once, then try again:" >&2
    echo "  sudo sh -c 'apt-get update && apt-get install -y $*'" >&2
    exit 1
fi
echo "penstock: $reason; installing $*" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >&2
apt-get install -y -qq --no-install-recommends "$@" >&2
