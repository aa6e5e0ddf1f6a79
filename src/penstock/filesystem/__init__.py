"""Stores of whole objects: what they can do, and the one of Amazon S3.

Files of mounted file systems are not here: those that the job replaces are `penstock.wire.atomic_file`, and a sink
opens its files itself.
"""
