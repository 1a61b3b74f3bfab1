"""The append-only run folder: every line is one write, nothing is ever rewritten."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import orjson
import zstandard
from pydantic import BaseModel

from collect.redact import redact_json
from schemas.artifact import Artifact
from schemas.errors import CollectError, RunExists
from schemas.inventory import Inventory
from schemas.result import Event, Result
from schemas.run_config import RunConfig
from schemas.trial import PlannedTrial


def free_run_id(runs_dir: Path, now: datetime) -> str:
    """Return `YYYYMMDD_HHMMSS` in UTC, with a suffix when a run has that name already."""
    stem = now.astimezone(UTC).strftime("%Y%m%d_%H%M%S")
    run_id, number = stem, 1
    while (runs_dir / run_id).exists():
        number += 1
        run_id = f"{stem}_{number}"
    return run_id


class RunLog:
    """One run's folder, open for appending.

    Raises:
        RunExists: the folder is there already.
    """

    def __init__(self, run_dir: Path) -> None:
        if run_dir.exists():
            raise RunExists(run_dir)
        try:
            run_dir.mkdir(parents=True)
        except OSError as exc:
            message = f"{run_dir} cannot be made: {exc.strerror}; choose another --runs"
            raise CollectError(message) from exc
        self.run_dir = run_dir
        (run_dir / "artifacts").mkdir()
        self._results = _open_append(run_dir / "results.jsonl")
        self._artifacts: dict[str, int] = {}

    def begin(self, config: RunConfig, inventory: Inventory, plan: Iterable[PlannedTrial]) -> None:
        """Write what is known before the first request."""
        _write_new(self.run_dir / "config.json", _pretty(config))
        _write_new(self.run_dir / "inventory.json", _pretty(inventory))
        _write_new(
            self.run_dir / "plan.jsonl",
            b"".join(trial.model_dump_json().encode() + b"\n" for trial in plan),
        )

    def append(self, line: Result | Event) -> None:
        """Append one line; it can be read as soon as this returns."""
        path = self.run_dir / "results.jsonl"
        _write_all(self._results, line.model_dump_json().encode() + b"\n", path)

    def append_artifact(self, model_id: str, frame: bytes) -> str:
        """Append one trace as a frame of its own and return `file#offset`."""
        name = f"artifacts/{model_id}.jsonl.zst"
        if model_id not in self._artifacts:
            self._artifacts[model_id] = _open_append(self.run_dir / name)
        handle = self._artifacts[model_id]
        offset = os.lseek(handle, 0, os.SEEK_END)
        _write_all(handle, frame, self.run_dir / name)
        return f"{name}#{offset}"

    def write_text(self, name: str, text: str) -> None:
        """Write one new file of the run."""
        (self.run_dir / name).write_text(text, encoding="utf-8")

    def sync(self) -> None:
        """Make what was appended survive a power cut."""
        os.fsync(self._results)

    def close(self) -> None:
        """Sync and close every file."""
        for handle in (self._results, *self._artifacts.values()):
            os.fsync(handle)
            os.close(handle)


def _open_append(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def artifact_frame(artifact: Artifact) -> bytes:
    """Return a trace as one compressed frame, without secrets."""
    line = orjson.dumps(redact_json(artifact.model_dump(mode="json")))
    return zstandard.ZstdCompressor(level=3).compress(line + b"\n")


def _write_all(handle: int, line: bytes, path: Path) -> None:
    """One write a line; what a full disk cut off is taken back, so that no line is torn.

    Raises:
        CollectError: the file cannot be written; everything before is kept.
    """
    size = os.lseek(handle, 0, os.SEEK_END)
    try:
        written = os.write(handle, line)
        while written < len(line):
            written += os.write(handle, line[written:])
    except OSError as exc:
        with contextlib.suppress(OSError):
            os.ftruncate(handle, size)
        message = (
            f"{path} cannot be written: {exc.strerror}; what was finished is kept, "
            f"see it with `analyze summarize {path.parents[0]}`"
        )
        raise CollectError(message) from exc


def _pretty(record: BaseModel) -> bytes:
    return record.model_dump_json(indent=2).encode() + b"\n"


def _write_new(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
