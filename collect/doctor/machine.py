"""Can times be trusted: the order of the history, and the latencies of a run made now?"""

from __future__ import annotations

import asyncio
import os
import time
from datetime import UTC
from email.utils import parsedate_to_datetime

from collect.config.endpoints import host_of
from collect.doctor.context import Scene
from collect.doctor.findings import Details, found
from collect.doctor.probe import Visit
from collect.inventory.subprocesses import output_of
from schemas.errors import counted
from schemas.output.doctor import DoctorCheck

MOST_SKEW_S = 5.0
"""History is ordered by the time at which runs began."""

COARSE_S = 0.001
SYNCHRONISED = ("timedatectl", "show", "--property=NTPSynchronized", "--value")


async def check_clock(scene: Scene) -> list[DoctorCheck]:
    """Return findings on the wall clock, the clock of latencies, and the load."""
    visits, synchronised = await asyncio.gather(
        asyncio.gather(*(scene.visit_of(place) for place in scene.visits)),
        output_of(*SYNCHRONISED, timeout_s=5.0),
    )
    return [_wall(visits, synchronised.text.strip()), _resolution(), *_load()]


def _wall(visits: list[Visit], synchronised: str) -> DoctorCheck:
    """Compare our clock with those of servers, whose header has whole seconds."""
    skews = {
        host_of(one.place.base_url): skew for one in visits if (skew := _skew(one)) is not None
    }
    kept = {"yes": True, "no": False}.get(synchronised)
    details: Details = {
        "skew_s": {host: round(skew, 1) for host, skew in skews.items()},
        "ntp": kept,
    }
    host = max(skews, key=lambda one: abs(skews[one]), default=None)
    if host is not None and abs(skews[host]) > MOST_SKEW_S:
        ahead = "ahead of" if skews[host] > 0 else "behind"
        text = f"{_duration(abs(skews[host]))} {ahead} {host}: history may be in the wrong order"
        advice = "set the clock of the one that is wrong: sudo timedatectl set-ntp true"
        return found("clock", "wall clock", "warn", text, advice, details=details)
    if kept is False:
        text = "is not kept in step with any other"
        advice = "sudo timedatectl set-ntp true"
        return found("clock", "wall clock", "warn", text, advice, details=details)
    if host is not None:
        text = f"within {MOST_SKEW_S:g} s of {', '.join(skews)}"
        return found("clock", "wall clock", "ok", text, details=details)
    if kept:
        return found(
            "clock", "wall clock", "ok", "kept in step with a time server", details=details
        )
    text = "nothing to compare it with: no server said what time it is"
    return found("clock", "wall clock", "skip", text, details=details)


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} s"


def _skew(visit: Visit) -> float | None:
    """Return how far we are ahead of a server in seconds; negative: behind."""
    date = visit.listing.headers.get("date")
    if date is None:
        return None
    try:
        theirs = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return None
    if theirs.tzinfo is None:
        theirs = theirs.replace(tzinfo=UTC)
    return visit.listing.wall_s - (theirs.timestamp() + 0.5)


def _resolution() -> DoctorCheck:
    clock = time.get_clock_info("perf_counter")
    details: Details = {"resolution_s": clock.resolution, "monotonic": clock.monotonic}
    if clock.resolution > COARSE_S:
        text = f"moves in steps of {1000 * clock.resolution:g} ms"
        advice = "measure on another machine"
        return found("clock", "latency clock", "warn", text, advice, details=details)
    text = f"steps of {1e9 * clock.resolution:.3g} ns"
    return found("clock", "latency clock", "ok", text, details=details)


def _load() -> list[DoctorCheck]:
    try:
        load = os.getloadavg()[0]
    except OSError:
        return []
    cores = _cores()
    details: Details = {"load": round(load, 2), "cores": cores}
    text = f"{load:.1f} on {counted(cores, 'core')}"
    if load > cores:
        text += ": latencies measured now are not comparable"
        advice = "wait until other work has ended: top -o %CPU"
        return [found("clock", "load", "warn", text, advice, details=details)]
    return [found("clock", "load", "ok", text, details=details)]


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
