"""`python -m benchmarks.coded_hour`."""

import sys

from benchmarks.coded_hour.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
