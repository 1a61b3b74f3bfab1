"""How fast this machine is now: two jobs that have nothing to do with us.

Budgets in seconds are meant for a quiet machine of two cores on which these jobs took REFERENCE;
they are judged multiplied by how much longer the jobs take here and now.
"""

from __future__ import annotations

import math
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass

import zstandard

REFERENCE_PASS_S, REFERENCE_PASS_CPU_S = 0.012, 0.011
REFERENCE_ZSTD_S, REFERENCE_ZSTD_CPU_S = 0.66, 0.65
"""Medians on the two-core reference machine at its quietest: wall and CPU."""

ROUNDS = 3
PASSES = 5
"""How often `python -c pass` is started in a round."""

MB = 1_000_000


@dataclass(frozen=True)
class Calibration:
    """Medians of both jobs, in seconds of wall and of CPU."""

    pass_s: float
    pass_cpu_s: float
    zstd_s: float
    zstd_cpu_s: float

    @property
    def wall_factor(self) -> float:
        """By how much a budget in seconds of wall is stretched."""
        return math.sqrt(self.pass_s / REFERENCE_PASS_S * self.zstd_s / REFERENCE_ZSTD_S)

    @property
    def cpu_factor(self) -> float:
        """By how much a budget in seconds of CPU is stretched."""
        starts = self.pass_cpu_s / REFERENCE_PASS_CPU_S
        return math.sqrt(starts * self.zstd_cpu_s / REFERENCE_ZSTD_CPU_S)

    def text(self) -> str:
        """Return one line for people."""
        return (
            f"calibration: python -c pass {self.pass_s * 1000:.0f} ms (reference "
            f"{REFERENCE_PASS_S * 1000:.0f}), zstd of 100 MB {self.zstd_s:.2f} s (reference "
            f"{REFERENCE_ZSTD_S:.2f}); budgets in seconds x {self.wall_factor:.2f}, "
            f"in CPU x {self.cpu_factor:.2f}"
        )


def calibrate() -> Calibration:
    """Measure both jobs, alternating."""
    data = _data()
    compressor = zstandard.ZstdCompressor(level=3)
    passes: list[tuple[float, float]] = []
    zstds: list[tuple[float, float]] = []
    for number in range(ROUNDS + 1):
        starts = [_timed(resource.RUSAGE_CHILDREN, _start_python) for _ in range(PASSES)]
        packed = _timed(resource.RUSAGE_SELF, lambda: compressor.compress(data))
        if number:  # the first round warms the caches
            passes += starts
            zstds.append(packed)
    (pass_s, pass_cpu_s), (zstd_s, zstd_cpu_s) = _medians(passes), _medians(zstds)
    return Calibration(pass_s, pass_cpu_s, zstd_s, zstd_cpu_s)


def between(before: Calibration, after: Calibration) -> Calibration:
    """Return the mean of a calibration before the work and one after it."""
    pairs = zip(astuple(before), astuple(after), strict=True)
    return Calibration(*(statistics.mean(pair) for pair in pairs))


def _start_python() -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def _timed(who: int, job: Callable[[], object]) -> tuple[float, float]:
    began, cpu = time.perf_counter(), _cpu(who)
    job()
    return time.perf_counter() - began, _cpu(who) - cpu


def _medians(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(wall for wall, _ in pairs), statistics.median(cpu for _, cpu in pairs)


def _cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _data() -> bytes:
    """Return 100 MB that compress like records do: 10 MB of words and numbers, repeated."""
    chance = random.Random(7)
    words = [f"w{chance.randrange(10**6):x}" for _ in range(5000)]
    lines = []
    size = 0
    while size < 10 * MB:
        chosen = " ".join(chance.choices(words, k=12))
        lines.append(f'{{"id":{chance.randrange(10**9)},"text":"{chosen}"}}\n')
        size += len(lines[-1])
    return ("".join(lines).encode() * 10)[: 100 * MB]
