"""Files of lm-evaluation-harness: a file of results, and one of samples for each of its tasks.

They lie in one folder and share the stamp in their names. Samples are a document and filter a line,
all documents of the first filter before those of the second; before 0.4.3 they were one JSON list.
A file of lines is read twice, and never held as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from analyze.importers.base import NotImportable
from analyze.importers.lenient import number, object_in, value_of, whole
from analyze.importers.originals import is_file_within
from schemas.base import Finding, error, warning
from schemas.errors import ConfigError, Problem

STAMP = re.compile(r"_(\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?)\.json")

MAX_RESULTS_BYTES = 1 << 28
"""Of a file of results; its numbers and configurations take a few MB at most."""

MAX_LIST_BYTES = 1 << 29
"""Of samples in one JSON list, which have to be held as a whole."""

MAX_REJECTED = 100
"""Rows of one file that are told one by one."""

MAX_DOC_ID = 2**40

NO_FILTER = "none"
"""Of rows from before rows named their filter."""

NOT_SCORES = frozenset(
    {
        "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
        "doc_hash", "prompt_hash", "target_hash",
    }
)  # fmt: skip

Row = dict[str, Any]


class Place(NamedTuple):
    """Where a row is: bytes of a file of lines, or its number in a list."""

    offset: int
    length: int


class Seen(NamedTuple):
    """What is kept of one document with one filter."""

    place: Place
    scores: dict[str, float | None]


@dataclass
class Samples:
    """The samples of one task."""

    path: Path
    docs: dict[int, dict[str, Seen]] = field(default_factory=dict)
    """By document and filter, both in the order of the file."""
    findings: list[Finding] = field(default_factory=list)
    rows: list[Any] | None = None
    """Where the file is one list."""

    def row(self, place: Place) -> Row:
        """Return a row again.

        Raises:
            OSError: the file cannot be read.
        """
        if self.rows is not None:
            return dict(self.rows[place.offset])
        with self.path.open("rb") as file:
            file.seek(place.offset)
            return dict(value_of(file.read(place.length)))

    def add(self, value: object, place: Place, line: int) -> None:
        """Take a row, or say why it is none."""
        row = value if isinstance(value, dict) else {}
        doc_id = whole(row.get("doc_id"), MAX_DOC_ID)
        name = row.get("filter", NO_FILTER)
        if doc_id is None or not isinstance(name, str):
            self.reject(line, "has no doc_id that is a whole number, or a filter that is no text")
        elif name in self.docs.setdefault(doc_id, {}):
            self.reject(line, f"document {doc_id} is there already with filter {name[:80]!r}")
        else:
            self.docs[doc_id][name] = Seen(place, scores_of(row))

    def reject(self, line: int, why: str) -> None:
        """Tell that a row is left out."""
        if len(self.findings) < MAX_REJECTED:
            message = f"{self.path.name}: {why}; the row is left out"
            self.findings.append(warning("row_left_out", "", message, line))


def scores_of(row: Row) -> dict[str, float | None]:
    """Return the numbers that one filter gave a document, by metric, in their order."""
    named = row.get("metrics")
    names = named if isinstance(named, list) else [one for one in row if one not in NOT_SCORES]
    return {
        name: number(row.get(name))
        for name in names
        if isinstance(name, str) and name not in NOT_SCORES
    }


def read_samples(path: Path) -> Samples:
    """Read the samples of a task.

    Raises:
        ConfigError: a list is larger than any that was written.
        OSError: the file cannot be read.
    """
    samples = Samples(path)
    with path.open("rb") as file:
        if file.read(1) == b"[":
            return _list(samples)
        file.seek(0)
        offset = 0
        for line_no, line in enumerate(file, 1):
            place = Place(offset, len(line))
            offset += len(line)
            if not line.strip():
                continue
            try:
                samples.add(value_of(line), place, line_no)
            except ValueError:
                samples.reject(line_no, "is no JSON")
    samples.docs = {doc_id: seen for doc_id, seen in samples.docs.items() if seen}
    return samples


def _list(samples: Samples) -> Samples:
    path = samples.path
    if path.stat().st_size > MAX_LIST_BYTES:
        allowed = f"lines, or a list of at most {MAX_LIST_BYTES >> 20} MB"
        raise ConfigError([Problem(path, "is one list that is too large", allowed=allowed)])
    try:
        rows = value_of(path.read_bytes())
    except ValueError as exc:
        samples.reject(1, f"is no JSON ({str(exc)[:80]})")
        return samples
    samples.rows = rows
    for number_, row in enumerate(rows):
        samples.add(row, Place(number_, 0), number_ + 1)
    samples.docs = {doc_id: seen for doc_id, seen in samples.docs.items() if seen}
    return samples


def read_results(path: Path) -> dict[str, Any]:
    """Return the object of a file of results.

    Raises:
        ConfigError: it is larger than any.
        NotImportable: it is no such file.
        OSError: it cannot be read.
    """
    if path.stat().st_size > MAX_RESULTS_BYTES:
        what = "is too large to be results"
        raise ConfigError([Problem(path, what, allowed=f"at most {MAX_RESULTS_BYTES >> 20} MB")])
    try:
        found = value_of(path.read_bytes())
    except ValueError as exc:
        raise NotImportable([(path, error("no_json", "", f"is no JSON: {exc!s:.200}"))]) from None
    results = found.get("results") if isinstance(found, dict) else None
    if not isinstance(results, dict) or not results:
        message = (
            "is no file of results: `results` has to be an object of at least one task, as in "
            "results_<time>.json of lm_eval"
        )
        raise NotImportable([(path, error("not_recognised", "/results", message))])
    if not all(isinstance(one, dict) for one in results.values()):
        message = "an entry is no object of metrics"
        raise NotImportable([(path, error("wrong_type", "/results", message))])
    return dict(found)


def results_files(path: Path) -> list[Path]:
    """Return the files of results at a place.

    Args:
        path: such a file, or a folder with some, or with a folder a model of them.

    Raises:
        ConfigError: there are none.
    """
    if path.is_file():
        return [path]
    root = path.resolve()
    if path.is_dir():
        found = [*path.glob("*.json"), *path.glob("*/*.json")]
        if named := sorted(
            one for one in found if is_results_name(one.name) and is_file_within(one, root)
        ):
            return named
    what = "there are no results of lm_eval" if path.exists() else "is not there"
    allowed = "results_<time>.json, or the folder it lies in"
    raise ConfigError([Problem(path, what, allowed=allowed)])


def is_results_name(name: str) -> bool:
    """Return whether a file can be one of results by its name."""
    is_json = name.endswith(".json") and not name.startswith("samples_")
    return is_json and (name.startswith("results") or STAMP.search(name) is not None)


def stamp_of(path: Path) -> str | None:
    """Return the time in the name of a file of results; None where it has none."""
    match = STAMP.search(path.name)
    return match[1] if match else None


def tasks_of(results: dict[str, Any]) -> list[str]:
    """Return the tasks whose documents were asked; groups are none."""
    counted = object_in(results, "n-samples")
    if named := [name for name in results["results"] if name in counted]:
        return named
    above = {name for name, below in object_in(results, "group_subtasks").items() if below}
    above |= object_in(results, "groups").keys()
    return [name for name in results["results"] if name not in above]


def samples_of(path: Path, tasks: list[str]) -> dict[str, Path]:
    """Return the files of samples beside results, by task.

    Names of files are looked for among those that are there, so that a task's name is no path.
    """
    folder = path.parent
    stamp = stamp_of(path)
    here = {one.name: one for one in _files(folder)}
    found = {}
    for task in tasks:
        for name in _names(task, stamp):
            if name in here:
                found[task] = here[name]
                break
    return found


def _names(task: str, stamp: str | None) -> Iterator[str]:
    end = f"_{stamp}" if stamp else ""
    for safe in dict.fromkeys((task, task.replace("/", "__"), task.replace("/", "_"))):
        yield f"samples_{safe}{end}.jsonl"
        yield f"samples_{safe}{end}.json"


def _files(folder: Path) -> list[Path]:
    root = folder.resolve()
    return [one for one in sorted(folder.glob("samples_*")) if is_file_within(one, root)]
