"""The older report in what somebody names, and what a migration did with its every field.

Somebody names a file, or a folder that the older tool filled. Of a folder a report.json of schema
v2 comes first, then the one file of the whole run (`evaluation_*.json`), then the files of single
results, then summary.json. Of a migration each field is told as mapped, defaulted or carried over,
as text and as JSON.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from analyze.render.text import safe
from schemas.base import Finding, error
from schemas.errors import MAX_SHOWN_PROBLEMS, ConfigError, Problem, counted, display_path
from schemas.formats.migration.ledger import Moved
from schemas.formats.migration.migrate import Migration
from schemas.formats.report_v1 import LOOKED_FOR, is_result, is_v2, shape_of
from schemas.io.json_text import read_json_text

REPORT_FILE = "report.json"
SUMMARY_FILE = "summary.json"
RUN_FILES = "evaluation_*.json"

MAX_MOVES = 20
"""Lines of each kind of move; all of them are in the JSON."""

SHAPES = {
    "flat": "a flat report",
    "run_file": "a run file",
    "statistics": "a file of statistics and results",
    "task_files": "results of single tasks",
    "v2": "a report of schema v2 already, copied as it is",
}

TITLES = (
    ("mapped", "mapped to fields of v2"),
    ("defaulted", "not told, so set to a default"),
    ("carried", "without a place in v2, kept in environment.migrated_from"),
)


class Located(NamedTuple):
    """A finding in one of several files."""

    path: Path
    finding: Finding


class Parsed(NamedTuple):
    """A file and the value in it."""

    path: Path
    content: bytes
    value: object
    findings: tuple[Finding, ...]

    @property
    def is_readable(self) -> bool:
        """Whether it could be read as JSON, if not strictly."""
        return self.value is not None or not self.findings


@dataclass(frozen=True)
class OldReport:
    """An older report, from one file or from the files of its results."""

    value: object
    """Parsed JSON; of single results a list, in the order of their files."""
    files: tuple[Parsed, ...]
    is_list: bool
    """The value is a list with the value of each file."""
    others: tuple[Path, ...] = ()
    """Files of JSON in the folder that are no part of it."""
    model_name: str | None = None
    """By the name of the folder, which is the model's with `-` for `/`."""

    @property
    def is_readable(self) -> bool:
        """Whether every file could be read as JSON, if not strictly."""
        return all(file.is_readable for file in self.files)

    @property
    def findings(self) -> list[Located]:
        """What is wrong with the text of the files."""
        return [Located(file.path, one) for file in self.files for one in file.findings]

    def located(self, findings: Iterable[Finding]) -> list[Located]:
        """Return findings on the value, each with its file and its place in there."""
        return [self._in_file(one) for one in findings]

    def _in_file(self, finding: Finding) -> Located:
        if not self.is_list:
            return Located(self.files[0].path, finding)
        _, number, *rest = [*finding.pointer.split("/"), ""]
        if not number:
            return Located(self.files[0].path.parent, finding)
        inner = "/".join(["", *rest[:-1]]) if rest[:-1] else ""
        where = finding.model_copy(update={"pointer": inner})
        return Located(self.files[int(number)].path, where)

    def modified_at(self) -> datetime:
        """Return when the oldest of its files was last changed."""
        seconds = min(file.path.stat().st_mtime for file in self.files)
        return datetime.fromtimestamp(seconds, UTC)


def find_report(path: Path) -> OldReport | list[Located]:
    """Return the older report that a path holds, or why there is none.

    Raises:
        ConfigError: there is nothing, it cannot be read, or it holds several.
    """
    try:
        if path.is_dir():
            return _of_folder(path)
        if not path.is_file():
            raise ConfigError([Problem(path, "is not there")])
        parsed = _parsed(path)
    except OSError as exc:
        where = Path(exc.filename) if exc.filename else path
        raise ConfigError([Problem(where, f"cannot be read: {exc.strerror}")]) from exc
    return OldReport(parsed.value, (parsed,), is_list=False)


def _of_folder(folder: Path) -> OldReport | list[Located]:
    paths = sorted(one for one in folder.glob("*.json") if one.is_file())
    others = {one.name: one for one in paths}
    if REPORT_FILE in others:
        report = _parsed(others[REPORT_FILE])
        if is_v2(report.value):
            return _one(report, folder, others)
    runs = [one for one in paths if one.match(RUN_FILES)]
    if len(runs) > 1:
        names = ", ".join(one.name for one in runs)
        raise ConfigError([Problem(folder, "holds several runs; name one of them", found=names)])
    if runs:
        return _one(_parsed(runs[0]), folder, others)
    read = [_parsed(one) for one in paths if one.name not in {REPORT_FILE, SUMMARY_FILE}]
    results = [one for one in read if is_result(one.value) or not one.is_readable]
    if results:
        for one in results:
            del others[one.path.name]
        values = [one.value for one in results]
        name = folder.resolve().name
        return OldReport(values, tuple(results), True, tuple(others.values()), name)
    if SUMMARY_FILE in others:
        summary = _parsed(others[SUMMARY_FILE])
        if shape_of(summary.value) is not None:
            return _one(summary, folder, others)
    message = f"no report of an older schema in this folder; looked for {LOOKED_FOR}"
    return [Located(folder, error("not_recognised", "", message))]


def _one(file: Parsed, folder: Path, others: dict[str, Path]) -> OldReport:
    rest = tuple(one for one in others.values() if one != file.path)
    name = folder.resolve().name
    return OldReport(file.value, (file,), is_list=False, others=rest, model_name=name)


def _parsed(path: Path) -> Parsed:
    content = path.read_bytes()
    return Parsed(path, content, *read_json_text(content))


def migration_lines(
    source: OldReport, migration: Migration, output: Path, time: str | None
) -> Iterator[str]:
    """Yield what was read and written, then each kind of move with its count.

    Args:
        source: what was migrated.
        migration: what became of it.
        output: the file that was written.
        time: the modification time that stands in for a start; None where the report has its own.
    """
    source_name = safe(_name(source))
    instances = migration.report.get("instances")
    n = len(instances) if isinstance(instances, list) else 0
    yield f"{source_name}: {SHAPES[migration.shape]}; {counted(n, 'instance')}"
    yield f"{safe(display_path(output))}: written"
    if time is not None:
        yield f"no start is told: {time} is when the file was last changed"
    for path in source.others[:MAX_MOVES]:
        yield f"{safe(display_path(path))}: passed over, it is no part of this report"
    if (more := len(source.others) - MAX_MOVES) > 0:
        yield f"and {counted(more, 'more file')} passed over"
    if migration.shape == "v2":
        return
    for kind, title in TITLES:
        yield from _moves(title, getattr(migration, kind))
    yield ""
    yield f"analyze import sf-bench {safe(shlex.quote(display_path(output)))}  makes a run of it"


def _moves(title: str, moves: Sequence[Moved]) -> Iterator[str]:
    yield ""
    yield f"{title}: {counted(len(moves), 'field')}"
    for move in moves[:MAX_MOVES]:
        place = move.pointer if move.pointer == move.target else f"{move.pointer} → {move.target}"
        yield "  " + safe(f"{place} ({move.note})" if move.note else place)
    if (more := len(moves) - MAX_MOVES) > 0:
        yield f"  and {more:,} more; --json prints all"


def migration_json(source: OldReport, migration: Migration, output: Path, time: str | None) -> str:
    """Return the same as JSON, with every move; arguments as for `migration_lines`."""
    moves = {kind: [one._asdict() for one in getattr(migration, kind)] for kind, _ in TITLES}
    return _json(
        {
            "source": _name(source),
            "output": str(output),
            "shape": migration.shape,
            "modified_at": time,
            "passed_over": [str(path) for path in source.others],
            **moves,
            "findings": [],
        }
    )


def refusal_lines(findings: Sequence[Located]) -> Iterator[str]:
    """Yield each mistake of a document that gives no report as `path pointer: sentence`."""
    for path, one in findings[:MAX_SHOWN_PROBLEMS]:
        line = "" if one.line is None else f":{one.line}"
        place = f" {safe(one.pointer)}" if one.pointer else ""
        yield f"{safe(display_path(path))}{line}{place}: {safe(one.message)}"
    if (more := len(findings) - MAX_SHOWN_PROBLEMS) > 0:
        yield f"and {more:,} more mistakes"


def refusal_json(path: Path, findings: Sequence[Located]) -> str:
    """Return every mistake as JSON, each with its file; nothing was written."""
    entries = [{"path": str(where), **one.model_dump(mode="json")} for where, one in findings]
    return _json({"source": str(path), "output": None, "findings": entries})


def _name(source: OldReport) -> str:
    first = source.files[0].path
    return display_path(first.parent if source.is_list else first)


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2)
