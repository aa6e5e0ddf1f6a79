"""The programs: a file each, with a row in `catalog.py`."""
