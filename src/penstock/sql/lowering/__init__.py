"""From relations to operators of a DataStream program."""
