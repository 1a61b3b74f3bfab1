"""What Apache Otava and ruptures make of series, asked after every night.

Runs in an environment of their own, as `changepoints.py` starts it: reads {name: [[value, ...],
...]}, writes {detector: {name: [[[first run, told in run], ...], ...]}} and seconds by detector.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import ruptures
from otava.analysis import compute_change_points

FIRST_LOOK = 6
NEAR = 3
"""Runs from an earlier alert within which another one is the same news."""

Detector = Callable[[Sequence[float]], list[int]]


def otava(max_pvalue: float) -> Detector:
    """Return Otava as it analyses a series, with no least magnitude."""

    def found(values: Sequence[float]) -> list[int]:
        points, _ = compute_change_points(list(values), max_pvalue=max_pvalue)
        return [int(point.index) for point in points]

    return found


def pelt(values: Sequence[float]) -> list[int]:
    """Return the breaks of PELT with cost l2, at least three runs each, penalty 3 ln(T) s^2.

    s^2 is half the mean square of the steps from run to run, which breaks hardly change; the
    linear kernel is the cost l2, written in C.
    """
    signal = np.asarray(values)[:, None]
    noise = float(np.square(np.diff(signal[:, 0])).mean()) / 2
    if noise == 0:
        return []
    penalty = 3 * math.log(len(signal)) * noise
    search = ruptures.KernelCPD(kernel="linear", min_size=3).fit(signal)
    return [int(end) for end in search.predict(pen=penalty)[:-1]]


DETECTORS: dict[str, Detector] = {"otava": otava(1e-4), "pelt": pelt}


def alerts_of(values: Sequence[float], detector: Detector) -> list[tuple[int, int]]:
    """Return (first run, told in run) of every alert that a look each night would bring."""
    alerts: list[tuple[int, int]] = []
    for length in range(FIRST_LOOK, len(values) + 1):
        for first in detector(values[:length]):
            if all(abs(first - earlier) > NEAR for earlier, _ in alerts):
                alerts.append((first, length - 1))
    return alerts


def main() -> None:
    """Ask every detector about every series."""
    logging.disable(logging.CRITICAL)
    asked: dict[str, list[list[float]]] = json.load(sys.stdin)
    alerts, seconds = {}, {}
    for name, detector in DETECTORS.items():
        began = time.perf_counter()
        alerts[name] = {
            kind: [alerts_of(values, detector) for values in series]
            for kind, series in asked.items()
        }
        seconds[name] = time.perf_counter() - began
    json.dump({"alerts": alerts, "seconds": seconds}, sys.stdout)


if __name__ == "__main__":
    main()
