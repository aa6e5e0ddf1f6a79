"""Build the site into build/site/html, without network.

python -m tools.site.build
"""

from __future__ import annotations

import shutil
import subprocess
import sys

from tools.site.pages import TOP, write_pages


def main() -> int:
    """Write the pages and make HTML of them; a link that leads nowhere is an error."""
    write_pages(TOP / "build" / "site" / "pages")
    # The tool keeps what it made from pages that are gone.
    shutil.rmtree(TOP / "build" / "site" / "html", ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    return subprocess.run(command, cwd=TOP, check=False).returncode  # noqa: S603 - of this environment


if __name__ == "__main__":
    sys.exit(main())
