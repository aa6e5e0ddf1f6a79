"""Checks of the machine: addresses and ports, clock, open files, memory."""

from __future__ import annotations

import os
import resource
import socket
import time
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.cli.doctor.finding import Finding, Situation, fail, ok, warn

_GIB = 1 << 30
LOOPBACK = "127.0.0.1"
"""Address of the driver in jobs that make their own session."""

LEAST_MEMORY_BYTES = 3 * _GIB
"""2 GiB for the heap of the driver's JVM, and one for it and Python."""

LITTLE_MEMORY_BYTES = 6 * _GIB
"""Less is a warning."""

LEAST_FILES = 1024
"""Least number of files that a process must be able to open; less is a failure."""

FEW_FILES = 4096
"""Less is a warning: sockets, shuffle files and copies of state are open at the same time."""

_CGROUPS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
_SECONDS = 5.0
_LISTEN_SECONDS = 0.1
_MOST_DRIFT_SECONDS = 0.05
_EARLIEST = 1_704_067_200  # 2024-01-01; a clock before it was never set


def ports(_: Situation) -> Finding:
    """Check that a socket of this machine can be opened and reached: Spark talks to Python so."""
    try:
        with socket.create_server((LOOPBACK, 0)) as server:
            server.settimeout(_SECONDS)
            address = server.getsockname()
            with socket.create_connection(address, timeout=_SECONDS) as client:
                taken, _peer = server.accept()
                with taken:
                    client.sendall(b"x")
                    taken.settimeout(_SECONDS)
                    taken.recv(1)
    except OSError as cause:
        return fail(
            "ports",
            f"a port of {LOOPBACK} cannot be opened and reached: {cause}",
            f"Let processes of this user open ports of {LOOPBACK}: look at the firewall, and at `ip addr`.",
        )
    return ok("ports", f"{LOOPBACK} can be reached")


def host_name(situation: Situation) -> Finding:
    """Check that the name of this machine has an address: Spark looks it up when it starts."""
    name = socket.gethostname()
    try:
        address = socket.gethostbyname(name)
    except OSError as cause:
        if "SPARK_LOCAL_IP" in situation.environ:
            return ok("host name", f"{name} has no address, and SPARK_LOCAL_IP is set")
        return warn(
            "host name",
            f"{name} has no address: {cause}",
            f"Add it to /etc/hosts, or set SPARK_LOCAL_IP={LOOPBACK}.",
        )
    return ok("host name", f"{name} is {address}")


def clock(situation: Situation) -> Finding:
    """Check that the clock is set, goes evenly, and has the configured time zone."""
    wall, steady = time.time(), time.monotonic()
    time.sleep(_LISTEN_SECONDS)
    drift = (time.time() - wall) - (time.monotonic() - steady)
    fix = "Synchronise the clock of this machine, with chrony or systemd-timesyncd."
    now = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(wall))
    if wall < _EARLIEST:
        return fail("clock", f"it is {now}: the clock was never set", fix)
    if abs(drift) > _MOST_DRIFT_SECONDS:
        return warn("clock", f"the clock moved by {drift:+.2f} s within {_LISTEN_SECONDS} s", fix)
    zone = situation.environ.get("TZ", "").removeprefix(":")
    if "/" in zone and not zone.startswith("/") and not _is_zone(zone):
        return warn(
            "clock",
            f"there is no time zone TZ={zone}; processes take UTC",
            "Install tzdata, or set TZ to a zone such as Europe/Berlin.",
        )
    return ok("clock", now)


def open_files(_: Situation) -> Finding:
    """Check how many files a process may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return ok("open files", "no limit")
    fix = (
        f"Raise the limit: ulimit -n {FEW_FILES}, LimitNOFILE= of a unit, --ulimit of a container."
    )
    text = f"{soft:,} at most, may be raised to {hard:,}"
    if soft < LEAST_FILES:
        return fail("open files", text, fix)
    if soft < FEW_FILES:
        return warn("open files", text, fix)
    return ok("open files", f"{soft:,} at most")


def memory(_: Situation) -> Finding:
    """Check the memory of the machine, or of the container."""
    size = memory_bytes()
    fix = "Give it more memory, or a smaller heap: -D spark.driver.memory=1g"
    text = f"{size / _GIB:.1f} GiB, {os.cpu_count()} cores"
    if size < LEAST_MEMORY_BYTES:
        return fail("memory", text, fix)
    if size < LITTLE_MEMORY_BYTES:
        return warn("memory", text, fix)
    return ok("memory", text)


def memory_bytes() -> int:
    """Return the memory that processes here may use: that of the machine, or less in a container."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [path.read_text(encoding="ascii").strip() for path in _CGROUPS if path.exists()]
    return min([whole, *(int(limit) for limit in limits if limit.isdecimal())])


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
