"""Peak memory of a system: its driver, its JVM and its workers.

Sampled while the system runs. `driver` is the process that leads the session, `jvm` its largest
Java process, `workers` are the other Python processes. What these start for a moment (`chmod`,
helpers of the JVM) is none of them.
"""

from __future__ import annotations

import threading

from benchmarks.measuring.processes import ProcessMemory, members, memory_of

SAMPLE_SECONDS = 0.25

_JAVA = "java"
_PYTHON = "python"


class MemoryWatch:
    """Samples the processes of a session in a thread, while it is not paused."""

    def __init__(self, session: int) -> None:
        self._session = session
        self._peaks = {
            "driver": 0,
            "jvm": 0,
            "workers": 0,
            "largest_worker": 0,
            "largest_worker_anonymous": 0,
        }
        self._running = threading.Event()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="penstock-bench-memory", daemon=True)
        self._running.set()
        self._thread.start()

    def pause(self) -> None:
        """Sample once more, then no more until `resume`."""
        self._running.clear()
        self._sample()

    def resume(self) -> None:
        """Go on sampling."""
        self._running.set()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        self._running.set()
        self._thread.join()

    def peaks(self) -> dict[str, int]:
        """Return bytes by role.

        Returns:
            `driver` and `jvm`: largest resident size. `workers`: largest sum over the workers
            there were at one moment; forked workers share pages, so it is an upper bound.
            `largest_worker`: largest resident size of a single worker.
            `largest_worker_anonymous`: the same without pages of memory-mapped files, which
            the kernel can take back.
        """
        with self._lock:
            return dict(self._peaks)

    def _run(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            self._running.wait()
            self._sample()

    def _sample(self) -> None:
        processes = [memory for pid in members(self._session) if (memory := memory_of(pid))]
        found = peaks_of(processes, self._session)
        with self._lock:
            self._peaks = {name: max(size, found[name]) for name, size in self._peaks.items()}


def peaks_of(processes: list[ProcessMemory], driver: int) -> dict[str, int]:
    """Return the sizes of one sample by role.

    Args:
        processes: All processes of a session.
        driver: Process id of the driver.
    """
    others = [process for process in processes if process.pid != driver]
    workers = [process for process in others if process.name.startswith(_PYTHON)]

    def largest(sizes: list[int]) -> int:
        return max(sizes, default=0)

    return {
        "driver": largest([p.peak_bytes for p in processes if p.pid == driver]),
        "jvm": largest([p.peak_bytes for p in others if p.name == _JAVA]),
        "workers": sum(p.resident_bytes for p in workers),
        "largest_worker": largest([p.peak_bytes for p in workers]),
        "largest_worker_anonymous": largest([p.anonymous_bytes for p in workers]),
    }
