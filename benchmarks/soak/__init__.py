"""A live job over hours, restarted again and again: memory, descriptors, files and latency over time.

    python -m benchmarks.soak --hours 2 --restart-minutes 5 --plot build/soak.svg

A feed writes a file a second and never waits. The job counts and adds per key, exactly once, and is stopped by SIGTERM and
SIGKILL in turn. What is visible in its sink is looked at several times a second: the latency of a record is the
time from the moment that is written in it to the moment at which its result is seen. In the end all results are
compared with a replay of the input.
"""
