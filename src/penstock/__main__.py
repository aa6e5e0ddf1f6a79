"""`python -m penstock`: the command line without its script on the path."""

from __future__ import annotations

import sys
from importlib import import_module

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # A random.py of the current directory would hide the standard module from the command.
        sys.path.append(sys.path.pop(0))
    import_module("penstock.cli.main").main()
