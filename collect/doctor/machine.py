"""Checks of this machine: its clocks and load, its disks, its Python and packages.

Can times be trusted: the order of the history, and the latencies of a run made now? Is there room,
and may we write, where runs are kept and where temporary files go? Which Python and which packages
run this, and is the embedded model there?
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import tempfile
import time
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from collect.config.embedded import ENGINE, usable_cores
from collect.config.endpoints import host_of
from collect.doctor.context import Details, Finding, Scene, and_more
from collect.doctor.probe import Visit, run_in_thread
from collect.inventory.git import output_of
from collect.inventory.inventory import installed_version
from collect.local.weights import SIZE_BYTES, find_weights
from schemas.errors import counted, display_path

MAX_SKEW_S = 5.0
"""History is ordered by the time at which runs began."""

COARSE_S = 0.001
SYNCHRONISED = ("timedatectl", "show", "--property=NTPSynchronized", "--value")

FOLDER_TIMEOUT_S = 5.0
"""Of the look at one folder."""

WARN_BYTES = 1_000_000_000
FAIL_BYTES = 100_000_000
WARN_FILES = 10_000
"""A run writes dozens of files, the cases of its agents more."""

SHOWN = ("benchlake", "httpx", "pydantic", "pyarrow", "duckdb")
"""Packages whose versions are told."""


async def check_clock(scene: Scene) -> list[Finding]:
    """Return findings on the wall clock, the clock of latencies, and the load."""
    visits, synchronised = await asyncio.gather(
        asyncio.gather(*(scene.visit_of(place) for place in scene.visits)),
        output_of(*SYNCHRONISED, timeout_s=5.0),
    )
    return [_wall(visits, synchronised.text.strip()), _resolution(), *_load()]


def _wall(visits: list[Visit], synchronised: str) -> Finding:
    """Compare our clock with those of servers, whose header has whole seconds."""
    skews = {
        host_of(one.address.base_url): skew for one in visits if (skew := _skew(one)) is not None
    }
    kept = {"yes": True, "no": False}.get(synchronised)
    details: Details = {
        "skew_s": {host: round(skew, 1) for host, skew in skews.items()},
        "ntp": kept,
    }
    host = max(skews, key=lambda one: abs(skews[one]), default=None)
    finding = partial(Finding, "wall clock", details=details)
    mend = "sudo timedatectl set-ntp true"
    if host is not None and abs(skews[host]) > MAX_SKEW_S:
        ahead = "ahead of" if skews[host] > 0 else "behind"
        text = f"{_duration(abs(skews[host]))} {ahead} {host}: history may be in the wrong order"
        return finding("warn", text, f"set the clock of the one that is wrong: {mend}")
    if kept is False:
        return finding("warn", "is not kept in step with any other", mend)
    if host is not None:
        return finding("ok", f"within {MAX_SKEW_S:g} s of {', '.join(skews)}")
    if kept:
        return finding("ok", "kept in step with a time server")
    return finding("skip", "nothing to compare it with: no server said what time it is")


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


def _resolution() -> Finding:
    clock = time.get_clock_info("perf_counter")
    details: Details = {"resolution_s": clock.resolution, "monotonic": clock.monotonic}
    if clock.resolution > COARSE_S:
        text = f"moves in steps of {1000 * clock.resolution:g} ms"
        return Finding("latency clock", "warn", text, "measure on another machine", details)
    text = f"steps of {1e9 * clock.resolution:.3g} ns"
    return Finding("latency clock", "ok", text, details=details)


def _load() -> list[Finding]:
    try:
        load = os.getloadavg()[0]
    except OSError:
        return []
    cores = usable_cores()
    details: Details = {"load": round(load, 2), "cores": cores}
    text = f"{load:.1f} on {counted(cores, 'core')}"
    if load > cores:
        text += ": latencies measured now are not comparable"
        advice = "wait until other work has ended: top -o %CPU"
        return [Finding("load", "warn", text, advice, details=details)]
    return [Finding("load", "ok", text, details=details)]


async def check_disk(scene: Scene) -> list[Finding]:
    """Return a finding for the folder of runs and one for temporary files."""
    places = (
        ("runs", scene.runs_dir, "another place: --runs DIR"),
        ("temporary files", Path(tempfile.gettempdir()), "another place: TMPDIR=DIR"),
    )
    return list(await asyncio.gather(*(_in_time(*place) for place in places)))


async def _in_time(subject: str, folder: Path, elsewhere: str) -> Finding:
    """Return a finding for a folder, also when it lies on a drive that has gone away."""
    try:
        async with asyncio.timeout(FOLDER_TIMEOUT_S):
            return await run_in_thread(lambda: _folder(subject, folder, elsewhere))
    except TimeoutError:
        text = f"{folder} does not answer within {FOLDER_TIMEOUT_S:g} s"
        return Finding(subject, "fail", text, f"is it on a network drive? {elsewhere}")


def _folder(subject: str, folder: Path, elsewhere: str) -> Finding:
    """Return a finding for a folder; one that is not there yet is made in the nearest that is."""
    there, name = folder.absolute(), display_path(folder.absolute())
    details: Details = {"path": str(folder)}
    finding = partial(Finding, subject, details=details)
    try:
        while not there.exists() and there != there.parent:
            there = there.parent
    except OSError as exc:  # a folder on the way that is closed to us, a name too long
        return finding("fail", f"{name} cannot be looked at: {exc.strerror}", elsewhere)
    if not there.is_dir():
        return finding("fail", f"{name}: {display_path(there)} is a file", elsewhere)
    try:
        with tempfile.NamedTemporaryFile(dir=there, prefix=".doctor-") as file:
            file.write(b"x" * 4096)
            file.flush()
    except OSError as exc:
        advice = f"its owner may: ls -ld {there}; or {elsewhere}"
        return finding("fail", f"{name} cannot be written: {exc.strerror}", advice)
    space = os.statvfs(there)
    free = space.f_bavail * space.f_frsize
    files = space.f_favail if space.f_files else None  # some file systems count none
    details |= {"free_bytes": free, "free_files": files}
    text = f"{name}: {_size(free)} free"
    advice = f"make room, or {elsewhere}"
    if free < FAIL_BYTES or files == 0:
        text += "" if files else ", and no further file can be made"
        return finding("fail", text, advice)
    if files is not None and files < WARN_FILES:
        return finding("warn", f"{text}, but only {files:,} files", advice)
    return finding("warn", text, advice) if free < WARN_BYTES else finding("ok", text)


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


async def check_packages(scene: Scene) -> list[Finding]:
    """Return findings on Python, our packages, the event loop and the embedded model."""
    versions = {name: installed_version(name) for name in SHOWN}
    missing = [name for name, one in versions.items() if one is None]
    checks = [Finding("python", "ok", f"{platform.python_version()} at {sys.executable}")]
    if missing:
        text = f"not installed: {', '.join(missing)}"
        advice = f"{sys.executable} -m pip install --upgrade benchlake"
        checks.append(Finding("versions", "fail", text, advice))
    else:
        text = ", ".join(f"{name} {one}" for name, one in versions.items())
        checks.append(Finding("versions", "ok", text, details=dict(versions)))
    return [*checks, _loop(), _embedded(scene)]


def _loop() -> Finding:
    if (uvloop := installed_version("uvloop")) is not None:
        return Finding("event loop", "ok", f"uvloop {uvloop}", details={"version": uvloop})
    text = "uvloop is not installed: stamps of hundreds of requests at once come later"
    return Finding("event loop", "warn", text, "pip install uvloop")


def _embedded(scene: Scene) -> Finding:
    users = scene.embedded()
    if find_spec(ENGINE) is None:
        advice = "pip install 'benchlake[local]'"
        if users:
            text = f"its engine is not installed; needed by {and_more([name for name, _ in users])}"
            return Finding("embedded model", "fail", text, advice)
        text = "not installed; `provider: embedded` and `collect demo` need it"
        return Finding("embedded model", "skip", text, advice)
    engine = installed_version(ENGINE)
    text = f"engine {engine} and weights are there"
    if find_weights() is None:
        megabytes = SIZE_BYTES // 1_000_000
        text = f"engine {engine}; its weights ({megabytes} MB) are fetched at the first run"
    return Finding("embedded model", "ok", text, details={"version": engine})
