#!/bin/sh
# Print a new directory in memory, which whoever calls this removes; print nothing where there is no room for one.
#
# Tests write and sync many small files. On a disk each takes milliseconds.
set -eu

in_memory=/dev/shm
least_kilobytes=4194304

[ -d "$in_memory" ] && [ -w "$in_memory" ] || exit 0
room=$(df -Pk "$in_memory" | awk 'NR == 2 { print $4 }')
free=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
[ "$room" -ge "$least_kilobytes" ] && [ "$free" -ge "$least_kilobytes" ] || exit 0
made=$(mktemp -d "$in_memory/penstock-XXXXXX")
chmod 1777 "$made" # as /tmp: a server of a test may run as another user
# Libraries of Spark's JVM are unpacked there and loaded, which a file system may forbid.
printf '#!/bin/sh\n' >"$made/run"
chmod +x "$made/run"
if "$made/run" 2>/dev/null; then
    rm "$made/run"
    echo "$made"
else
    rm -r "$made"
fi
