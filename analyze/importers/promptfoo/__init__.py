"""Evaluations of promptfoo: a test with a column of its table is a trial, a repeat a repetition.

Errors of a provider are trials without a verdict, as are rows whose grader broke and those without
any assertion; promptfoo's own counts of all of them stand in the headlines. An answer from its
cache is no draw of its own, and is marked as taken from an older run.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from analyze.importers import Importer, ImportRequest, base
from analyze.importers.base import Written
from analyze.importers.defaults import file_moment, moment_of, slug_of
from analyze.importers.detect import head_of
from analyze.importers.lenient import free, object_in, whole
from analyze.importers.originals import digest_of, hashes_of
from analyze.importers.promptfoo.columns import (
    Tally,
    case_of,
    headlines_of,
    names_of,
    place_of,
    title_of,
)
from analyze.importers.promptfoo.database import DATABASES, is_database, read_database
from analyze.importers.promptfoo.files import Eval, read_export, read_lines, without_secrets
from analyze.importers.promptfoo.row import (
    MAX_EPOCH_MS,
    is_cached,
    is_stripped,
    traced_of,
    verdict_of,
)
from schemas.base import Finding, warning
from schemas.errors import ConfigError, Problem, counted
from schemas.redact import redact, redact_json

FORMAT = "promptfoo"

LEFTOVER = (
    "evalId", "version", "metadata", "runtimeOptions", "stats", "description", "shareableUrl",
)  # fmt: skip
"""Of an evaluation, that are kept beside its trials."""

OF_CONFIG = ("description", "providers", "prompts", "defaultTest", "tags", "evaluateOptions")
"""Of its configuration; the tests are in the rows."""


class _Source:
    """An evaluation as trials."""

    def __init__(self, found: Eval, path: Path, asked: ImportRequest) -> None:
        self.found = found
        self.names = names_of((row for _, row in found.rows()), found.prompts)
        self.suite_title = self._title(path)
        self.suite_id = asked.suite_id or slug_of(self.suite_title)
        self.started_at_ms = self._began()
        self.default_ms = file_moment(path) if self.started_at_ms is None else self.started_at_ms
        self.run_id = asked.run_id or base.run_id_of(found.eval_id or self._unnamed(path))
        self.tallies: dict[Any, Tally] = {}
        self.seen: Counter[str] = Counter()
        self._count()

    def _title(self, path: Path) -> str:
        """Return the description of the evaluation, or else the name of its file."""
        config = object_in(self.found.header, "config")
        for said in (config.get("description"), self.found.header.get("description")):
            if isinstance(said, str) and said.strip():
                return redact(said.strip())
        return FORMAT if path.suffix in DATABASES else redact(path.stem)

    def _unnamed(self, path: Path) -> str:
        digest = digest_of(hashes_of(self.found.files))
        return f"{path.stem}_{digest[:8]}"

    def _began(self) -> int | None:
        header = self.found.header
        created = whole(header.get("createdAt"), MAX_EPOCH_MS)
        if created is not None and created > 10**11:
            return created
        for said in (
            object_in(header, "metadata").get("evaluationCreatedAt"),
            header.get("timestamp"),
            header.get("createdAt"),
        ):
            if (at_ms := moment_of(said)) is not None:
                return at_ms
        return None

    def _count(self) -> None:
        for _, row in self.found.rows():
            verdict = verdict_of(row)
            column = self.names.columns[place_of(row)]
            self.tallies.setdefault(column, Tally()).add(verdict.outcome, row)
            self.seen["row"] += 1
            self.seen["unasserted"] += verdict.is_unasserted
            self.seen["broken"] += verdict.is_broken
            self.seen["cached"] += is_cached(row)
            self.seen["stripped"] += is_stripped(row)

    def lines(self) -> Iterator[base.Traced]:
        """Yield the trials; the rows of one column and case are its repetitions, in their order."""
        repetitions: Counter[tuple[str, str]] = Counter()
        for _, row in self.found.rows():
            model_id = self.names.model_ids[self.names.columns[place_of(row)]]
            case_id = case_of(row, self.names)
            repetitions[model_id, case_id] += 1
            names = {
                "run_id": self.run_id,
                "suite_id": self.suite_id,
                "model_id": model_id,
                "case_id": case_id,
                "repetition": repetitions[model_id, case_id],
                "prompt_id": case_id,
                "prompt_name": redact(title_of(row))[:200],
            }
            yield traced_of(row, names, self.default_ms)

    def leftover(self) -> dict[str, JsonValue]:
        header = self.found.header
        kept = {name: header[name] for name in LEFTOVER if header.get(name) is not None}
        config = object_in(header, "config")
        kept["config"] = without_secrets({one: config[one] for one in OF_CONFIG if one in config})
        found = redact_json(free(kept))
        return found if isinstance(found, dict) else {}

    def findings(self) -> Iterator[Finding]:
        yield from self.found.findings
        said = {
            "unasserted": "without any assertion; they pass there, and have no verdict here",
            "broken": "failed only since a grader or an assertion's code broke; there they are "
            "failures, and have no verdict here",
            "cached": "answered from promptfoo's cache; they are no draws of this run",
            "stripped": "without the text of a prompt or an answer, which PROMPTFOO_STRIP_* took",
        }
        for name, what in said.items():
            if n := self.seen[name]:
                rows = counted(n, "row", "rows")
                yield warning(f"rows_{name}", "/results", f"{rows} of {self.seen['row']:,} {what}")


def _import(found: Eval, path: Path, asked: ImportRequest) -> Written:
    source = _Source(found, path, asked)
    record = base.new_record(
        sources=found.files,
        run_id=source.run_id,
        source_format=FORMAT,
        source_name=path.resolve().name,
        suite_id=source.suite_id,
        suite_title=source.suite_title[:200],
        started_at_ms=source.started_at_ms,
        headlines=tuple(headlines_of(found, source.names, source.tallies)),
        leftover=source.leftover(),
    )
    findings = tuple(source.findings())
    return base.write_run(asked.runs_dir, record, source.lines(), found.files, findings)


def import_promptfoo(asked: ImportRequest) -> list[Written]:
    """Make a run folder of each evaluation in a file.

    Raises:
        ConfigError: there is no such file, it has no rows, or another run has the name.
        NotImportable: it is none of promptfoo's.
        OSError: it cannot be read, or a run not written.
    """
    path = asked.path
    if not path.is_file():
        what = "is no file" if path.exists() else "is not there"
        allowed = "out.json, out.jsonl or promptfoo.db"
        raise ConfigError([Problem(path, what, allowed=allowed)])
    if path.suffix.lower() in DATABASES:
        return _database(asked)
    found = read_lines(path) if path.suffix.lower() == ".jsonl" else read_export(path)
    return [_import(found, path, asked)]


def _database(asked: ImportRequest) -> list[Written]:
    is_one = asked.run_id is not None
    with tempfile.TemporaryDirectory() as folder:
        evals = read_database(asked.path, Path(folder), is_one=is_one)
        written = [
            _import(one, asked.path, asked)
            for one in evals
            if next(one.rows(), None) is not None  # one that was stopped at once has none
        ]
    if not written:
        what = "has no evaluation with a row, so there is nothing to import"
        raise ConfigError([Problem(asked.path, what)])
    return written


def _detect(path: Path) -> bool:
    """Return whether a file is an export or the database of evaluations."""
    suffix = path.suffix.lower()
    if suffix in DATABASES:
        return path.is_file() and is_database(path)
    head = head_of(path)
    if suffix == ".jsonl":
        line = head.split(b"\n", 1)[0]
        return all(one in line for one in (b'"provider"', b'"success"', b'"prompt"'))
    if suffix != ".json" or b'"results"' not in head:
        return False
    marks = (b'"evalId"', b'"promptIdx"', b'"promptId"', b'"gradingResult"', b'"testPassCount"')
    return any(one in head for one in marks) and b'"provider"' in head


IMPORTER = Importer(frozenset({"--suite", "--run-id"}), import_promptfoo, _detect)
