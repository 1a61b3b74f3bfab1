"""A run folder that is imported again from a source that has more by now: an eval that went on.

Lines and traces are only appended, as a collector does, so nothing that was read before moves: what
a trial became is a newer line of it. The record of the import is replaced last. An import that is
killed meanwhile leaves an older record, by which the next one sees that there is work left: it cuts
off what is torn, finds the lines that are there already, and goes on.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from schemas.errors import ConfigError, Problem, counted
from schemas.io.files import sync_path
from schemas.run.import_record import SOURCE_FOLDER
from schemas.run.layout import IMPORT_FILE, LOG
from schemas.run.result import TRIAL_KEY
from schemas.run.trace import REFERENCE, frames_end, whole_frame

Trial = tuple[Any, ...]


class _Line(NamedTuple):
    """A result as it stands in a log."""

    trial: Trial
    content: dict[str, Any]
    frame: bytes | None
    digest: bytes
    """Of the line but for where its trace is, and of the trace."""


def grow(run_dir: Path, newer: Path, advice: str) -> int:
    """Bring a run folder up to a newer state of it, and return how many lines it got.

    Args:
        run_dir: the folder, of which only we write.
        newer: a whole folder of the same run by its newer source; what is taken over leaves it.
        advice: what to do if these are two runs.

    Raises:
        ConfigError: the newer state lacks trials that the older one has.
        OSError: a file cannot be read or written.
    """
    there = {line.trial: line.digest for line in _lines(run_dir)}
    here = {line.trial for line in _lines(newer)}
    if lost := there.keys() - here:
        what = (
            f"has {counted(len(lost), 'trial')} that the newer source lacks, "
            f"{'/'.join(map(str, min(lost, key=str)[1:]))} for one"
        )
        raise ConfigError([Problem(run_dir, what, advice=advice)])
    changed = (line for line in _lines(newer) if there.get(line.trial) != line.digest)
    n_lines = _append(run_dir, changed)
    _replace_originals(run_dir / SOURCE_FOLDER, newer / SOURCE_FOLDER)
    (newer / IMPORT_FILE).replace(run_dir / IMPORT_FILE)
    sync_path(run_dir)
    return n_lines


def _lines(run_dir: Path) -> Iterator[_Line]:
    """Yield the results of a log, each as often as it stands there."""
    opened: dict[str, BinaryIO] = {}
    try:
        with (run_dir / LOG).open("rb") as log:
            for raw in log:
                if not raw.endswith(b"\n"):
                    return
                content = orjson.loads(raw)
                if content["record_type"] != "result":
                    continue
                frame = _frame_of(run_dir, content.pop("artifact_path"), opened)
                parts = orjson.dumps(content), b"" if frame is None else frame
                digest = hashlib.sha256(b"\0".join(parts)).digest()
                yield _Line(tuple(content[one] for one in TRIAL_KEY), content, frame, digest)
    finally:
        for file in opened.values():
            file.close()


def _frame_of(run_dir: Path, place: str | None, opened: dict[str, BinaryIO]) -> bytes | None:
    match = REFERENCE.fullmatch(place or "")
    if match is None:
        return None
    if match[1] not in opened:
        opened[match[1]] = (run_dir / match[1]).open("rb")
    return whole_frame(opened[match[1]], int(match[2]))


def _append(run_dir: Path, lines: Iterator[_Line]) -> int:
    """Append lines and their traces, the traces first, and return how many there were."""
    files: dict[str, BinaryIO] = {}
    log_end, ends = _whole_ends(run_dir)
    added: list[bytes] = []
    try:
        for line in lines:
            place = None
            if line.frame is not None:
                name = f"artifacts/{line.content['model_id']}.jsonl.zst"
                if name not in files:
                    files[name] = _opened_at(run_dir / name, ends.get(name, 0))
                place = f"{name}#{files[name].tell()}"
                files[name].write(line.frame)
            added.append(orjson.dumps(line.content | {"artifact_path": place}) + b"\n")
    finally:
        for file in files.values():
            file.flush()
            os.fsync(file.fileno())
            file.close()
    with _opened_at(run_dir / LOG, log_end) as log:
        log.writelines(added)
        log.flush()
        os.fsync(log.fileno())
    return len(added)


def _whole_ends(run_dir: Path) -> tuple[int, dict[str, int]]:
    """Return where the last whole line ends, and the last whole trace of each file named."""
    end, last = 0, dict[str, int]()
    with (run_dir / LOG).open("rb") as log:
        for raw in log:
            if not raw.endswith(b"\n"):
                break
            end += len(raw)
            match = REFERENCE.fullmatch(orjson.loads(raw).get("artifact_path") or "")
            if match is not None:
                last[match[1]] = max(int(match[2]), last.get(match[1], 0))
    ends = {}
    for name, begin in last.items():
        with (run_dir / name).open("rb") as file:
            ends[name] = frames_end(file, begin)
    return end, ends


def _opened_at(path: Path, end: int) -> BinaryIO:
    """Return a file to append to, cut off where its last whole part ends."""
    path.parent.mkdir(exist_ok=True)
    file = path.open("r+b" if path.exists() else "x+b")
    file.truncate(end)
    file.seek(end)
    return file


def _replace_originals(target: Path, newer: Path) -> None:
    """Put each file in its place at once, then remove those that are no longer the source."""
    names = {path.relative_to(newer) for path in newer.rglob("*") if path.is_file()}
    for name in sorted(names):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (newer / name).replace(target / name)
        sync_path((target / name).parent)
    for path in target.rglob("*"):
        if path.is_file() and path.relative_to(target) not in names:
            path.unlink()
