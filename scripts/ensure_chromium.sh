#!/bin/sh
# Make sure there is a Chromium for what looks at pages in a browser.
#
# Without one these tests are skipped and say so: the package needs no browser.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done
# Without a font Debian's Chromium draws boxes in place of letters.
sh "$here/debian_install.sh" "the tests of pages need a browser" chromium fonts-dejavu-core
