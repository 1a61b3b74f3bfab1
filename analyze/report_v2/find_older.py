"""Finds the older report in what somebody names: a file, or a folder that the older tool filled.

Of a folder a report.json of schema v2 comes first, then the one file of the whole run
(`evaluation_*.json`), then the files of single results, then summary.json.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from schemas.base import Finding, error
from schemas.errors import ConfigError, Problem
from schemas.formats.report_v1 import LOOKED_FOR, is_result, is_v2, shape_of
from schemas.io.json_text import read_json_text

REPORT_FILE = "report.json"
SUMMARY_FILE = "summary.json"
RUN_FILES = "evaluation_*.json"


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
