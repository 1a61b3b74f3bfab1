"""Runs one whole process and measures it from outside: wall, CPU of itself apart from its children,
peak memory of both.

Linux only, since it reads /proc: a process that has ended but is not yet waited for still shows its
own CPU time apart from that of its children, which no portable call does. Ticks are 10 ms. Peak
memory is the kernel's own high-water mark, read every 20 ms.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

POLL_MS = 20
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Watched:
    """What one process took; times of day are `time.monotonic_ns`."""

    exit_code: int
    output: str
    started_ns: int
    ended_ns: int
    cpu_s: float
    children_cpu_s: float
    peak_mb: float
    child_peak_mb: float

    @property
    def wall_s(self) -> float:
        """Seconds from start to exit."""
        return (self.ended_ns - self.started_ns) / 1e9


def watch(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    poll_ms: float = POLL_MS,
    on_poll: Callable[[], None] | None = None,
    timeout_s: float = 900,
) -> Watched:
    """Run a command to its end.

    Args:
        command: the program and its arguments.
        cwd: where it runs.
        env: its whole environment; None for ours.
        poll_ms: how often memory is read.
        on_poll: called at every poll, and once more at the end.
        timeout_s: after which it is killed, with all its children.
    """
    with tempfile.TemporaryFile() as output:
        started_ns = time.monotonic_ns()
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        peaks: dict[int, float] = {}
        poller = select.poll()
        ended = os.pidfd_open(process.pid)
        poller.register(ended, select.POLLIN)
        try:
            while not poller.poll(poll_ms):
                _note_peaks(process.pid, peaks)
                if on_poll is not None:
                    on_poll()
                if time.monotonic_ns() - started_ns > timeout_s * 1e9:
                    process.kill()
            ended_ns = time.monotonic_ns()
            own_s, children_s = _cpu_of_ended(process.pid)
        finally:
            os.close(ended)
            process.kill()  # an interrupt of ours ends it too; one that has ended does not mind
            exit_code = process.wait()
        if on_poll is not None:
            on_poll()
        output.seek(0)
        text = output.read().decode(errors="replace")
    own_peak = peaks.pop(process.pid, 0.0)
    child_peak = max(peaks.values(), default=0.0)
    return Watched(exit_code, text, started_ns, ended_ns, own_s, children_s, own_peak, child_peak)


def _cpu_of_ended(pid: int) -> tuple[float, float]:
    """Return CPU seconds of a process that was not waited for yet, and of its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own_user, own_system, user, system = map(int, fields[11:15])
    return (own_user + own_system) * TICK_S, (user + system) * TICK_S


def _note_peaks(pid: int, peaks: dict[int, float]) -> None:
    for one in (pid, *_children_of(pid)):
        with contextlib.suppress(OSError):  # it ended in between
            for line in Path(f"/proc/{one}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    peaks[one] = max(peaks.get(one, 0.0), int(line.split()[1]) * 1024 / 1e6)
                    break


def _children_of(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.scandir(f"/proc/{pid}/task"):
            found += map(int, Path(task.path, "children").read_text().split())
    return found
