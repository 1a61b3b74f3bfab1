"""Is there room, and may we write, where runs are kept and where temporary files go?"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from collect.doctor.beside import beside
from collect.doctor.context import Scene
from collect.doctor.findings import Details, found
from schemas.errors import shown
from schemas.output.doctor import DoctorCheck

LIMIT_S = 5.0
WARN_BYTES = 1_000_000_000
FAIL_BYTES = 100_000_000
WARN_FILES = 10_000
"""A run writes dozens of files, the cases of its agents more."""


async def check_disk(scene: Scene) -> list[DoctorCheck]:
    """Return a finding for the folder of runs and one for temporary files."""
    places = (
        ("runs", scene.runs_dir, "another place: --runs DIR"),
        ("temporary files", Path(tempfile.gettempdir()), "another place: TMPDIR=DIR"),
    )
    return list(await asyncio.gather(*(_in_time(*place) for place in places)))


async def _in_time(subject: str, folder: Path, elsewhere: str) -> DoctorCheck:
    """Return a finding for a folder, also when it lies on a drive that has gone away."""
    try:
        async with asyncio.timeout(LIMIT_S):
            return await beside(lambda: _folder(subject, folder, elsewhere))
    except TimeoutError:
        text = f"{folder} does not answer within {LIMIT_S:g} s"
        return found("disk", subject, "fail", text, f"is it on a network drive? {elsewhere}")


def _folder(subject: str, folder: Path, elsewhere: str) -> DoctorCheck:
    """Return a finding for a folder; one that is not there yet is made in the nearest that is."""
    there, name = folder.absolute(), shown(folder.absolute())
    try:
        while not there.exists() and there != there.parent:
            there = there.parent
    except OSError as exc:  # a folder on the way that is closed to us, a name too long
        text = f"{name} cannot be looked at: {exc.strerror}"
        return found("disk", subject, "fail", text, elsewhere, details={"path": str(folder)})
    if not there.is_dir():
        text = f"{name}: {shown(there)} is a file"
        return found("disk", subject, "fail", text, elsewhere, details={"path": str(folder)})
    try:
        with tempfile.NamedTemporaryFile(dir=there, prefix=".doctor-") as file:
            file.write(b"x" * 4096)
            file.flush()
    except OSError as exc:
        text = f"{name} cannot be written: {exc.strerror}"
        advice = f"its owner may: ls -ld {there}; or {elsewhere}"
        return found("disk", subject, "fail", text, advice, details={"path": str(folder)})
    space = os.statvfs(there)
    free = space.f_bavail * space.f_frsize
    files = space.f_favail if space.f_files else None  # some file systems count none
    details: Details = {"path": str(folder), "free_bytes": free, "free_files": files}
    text = f"{name}: {_size(free)} free"
    advice = f"make room, or {elsewhere}"
    if free < FAIL_BYTES or files == 0:
        text += "" if files else ", and no further file can be made"
        return found("disk", subject, "fail", text, advice, details=details)
    if files is not None and files < WARN_FILES:
        return found(
            "disk", subject, "warn", f"{text}, but only {files:,} files", advice, details=details
        )
    if free < WARN_BYTES:
        return found("disk", subject, "warn", text, advice, details=details)
    return found("disk", subject, "ok", text, details=details)


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
