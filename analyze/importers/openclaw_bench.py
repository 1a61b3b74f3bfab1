"""Run folders of the older tool, taken over unchanged: the lake reads them as they are.

An imported run that was continued since is updated; another run of its name is left alone. Rows
that were published without their run become a folder of the same shape. A log without any usable
line is refused, with the reasons, field by field.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from analyze.importers import Importer, ImportRequest
from analyze.importers.base import Written, one_import, refuse_lost_rows, run_id_of
from analyze.importers.detect import first_line_of
from analyze.importers.openclaw_rows import lines_of_rows
from analyze.importers.originals import files_below, hashes_of, is_file_within
from schemas.base import Finding, warning
from schemas.errors import ConfigError, Problem, counted
from schemas.io.files import sync_path
from schemas.lake import read_whole
from schemas.run.import_record import SOURCE_FOLDER, DocumentResult, is_document_line, is_imported
from schemas.run.layout import IMPORT_FILE, LOG, is_run_id, refuse_name
from schemas.run.result import LineError, content_of

MAX_VALUE_CHARS = 60
"""Characters of a value that a message shows."""

KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
"""Names that a JSON schema has for kinds of values, in words."""

CHUNK_BYTES = 2**20

ROWS = (".csv", ".json")
"""How the name of a file of published rows ends."""


def has_result(log: Path) -> bool:
    """Return whether any line of a log is a result.

    Raises:
        OSError: it cannot be read.
    """
    with log.open("rb") as lines:
        return any(line.endswith(b"\n") and _is_result(line) for line in lines)


def refuse_all(logs: Sequence[Path]) -> None:
    """Refuse logs of which not one line can be taken.

    Raises:
        ConfigError: always; names each field that is missing or wrong, where it first is.
    """
    raise ConfigError([problem for log in logs for problem in _problems(log)])


def _is_result(line: bytes) -> bool:
    try:
        if content_of(line).get("record_type") != "result":
            return False
        DocumentResult.model_validate_json(line, strict=True, extra="ignore")
    except (LineError, ValidationError):
        return False
    return True


def _problems(log: Path) -> Iterator[Problem]:
    yield Problem(log, "has no line that is a result, so there is nothing to import")
    known: set[tuple[object, ...]] = set()
    with log.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            for key, problem in _of_line(log, number, line):
                if key not in known:
                    known.add(key)
                    yield problem


def _of_line(log: Path, number: int, line: bytes) -> Iterator[tuple[tuple[object, ...], Problem]]:
    """Yield what is wrong with a line, each with a key that is the same on every line like it."""
    try:
        kind = content_of(line).get("record_type")
    except LineError as exc:
        yield ("json",), Problem(log, str(exc), line=number)
        return
    if kind == "event":
        return
    if kind != "result":
        problem = Problem(
            log, "is no kind of line", "record_type", number, _short(kind), "result or event"
        )
        yield ("record_type",), problem
    try:
        DocumentResult.model_validate_json(line, strict=True, extra="ignore")
    except ValidationError as exc:
        for one in exc.errors():
            field = str(one["loc"][0]) if one["loc"] else ""
            is_missing = one["type"] == "missing"
            what = "is missing" if is_missing else one["msg"]
            found = "nothing" if is_missing else _short(one["input"])
            yield (field, one["type"]), Problem(log, what, field, number, found, _allowed(field))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_VALUE_CHARS else text[:MAX_VALUE_CHARS] + "…"


def _allowed(field: str) -> str | None:
    """Return the kinds of values that a field may have, in words."""
    declared: dict[str, Any] = DocumentResult.model_json_schema()["properties"].get(field, {})
    if "enum" in declared:
        return ", ".join(map(str, declared["enum"]))
    if "const" in declared:
        return str(declared["const"])
    kinds = [one.get("type") for one in declared.get("anyOf", [declared])]
    words = [KINDS[kind] for kind in kinds if kind in KINDS]
    return " or ".join(words) or None


def import_openclaw_bench(
    path: Path, runs_dir: Path, *, run_id: str | None = None
) -> list[Written]:
    """Take over one run folder, each of the folders of runs, or a file of published rows.

    Args:
        path: a run folder, the `runs` folder around several, or a CSV or JSON file of rows.
        runs_dir: where runs are kept.
        run_id: what one run will be called; by default as its folder or file is.

    Raises:
        ConfigError: there is no such run, several share one name, another run has the name, or
            there is no result in any of them.
        OSError: a file cannot be read or written; what was taken over before stays.
    """
    if path.is_file() and path.suffix.lower() in ROWS:
        return [_of_rows(path.resolve(), runs_dir, run_id or run_id_of(path.stem))]
    folders = _runs_in(path)
    if run_id is not None and len(folders) > 1:
        what = f"--run-id names one run, and there are {len(folders):,} in {path}"
        raise ConfigError([Problem(None, what)])
    wrong = [one for one in folders if not is_run_id(run_id or one.name)]
    if wrong:
        allowed = "letters, digits and . _ - ( )"
        raise ConfigError([Problem(one, "its name is no run id", allowed=allowed) for one in wrong])
    for one in folders:
        refuse_name(run_id or one.name, one)
    empty = [one for one in folders if not has_result(one / LOG)]
    if len(empty) == len(folders):
        refuse_all([one / LOG for one in empty])
    written = [
        _taken_over(one, runs_dir / (run_id or one.name), runs_dir)
        for one in folders
        if one not in empty
    ]
    warnings = [
        warning("run_skipped", "", f"{one} has no result, and was left out") for one in empty
    ]
    first, *others = written
    return [replace(first, findings=(*first.findings, *warnings)), *others]


def _of_rows(path: Path, runs_dir: Path, run_id: str) -> Written:
    """Make a run folder of published rows.

    Raises:
        ConfigError: it is no file of rows, or another run has the name.
    """
    refuse_name(run_id)
    lines, target = lines_of_rows(path, run_id), runs_dir / run_id
    name = f"{SOURCE_FOLDER}/rows{path.suffix.lower()}"
    message = "times that a row does not name are those of the file"
    findings = (warning("no_time", "", message),)
    with one_import(runs_dir) as staging:
        if os.path.lexists(target):
            if _content(target / name) == path.read_bytes():
                return _written(target, is_new=False, findings=findings)
            what = "is there, and was not made of these rows"
            advice = "--run-id NAME gives it another name"
            raise ConfigError([Problem(target, what, advice=advice)])
        rows = staging / ".rows"
        rows.write_bytes(b"".join(lines))
        _copy({LOG: rows, name: path}, staging)
        rows.unlink()
        refuse_lost_rows(runs_dir, run_id, staging / LOG)
        staging.rename(target)
        sync_path(runs_dir)
    return _written(target, is_new=True, findings=findings)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _runs_in(path: Path) -> list[Path]:
    """Return the run folders that a path means."""
    if not path.is_dir():
        what = "is a file, and a folder is needed" if path.exists() else "there is no such folder"
        raise ConfigError([Problem(path, what)])
    path = path.resolve()
    if _has_log(path):
        if not _is_older(path):
            what = "is a run folder, and not one of the older tool: nothing has to be imported"
            raise ConfigError([Problem(path, what)])
        return [path]
    found = [one for one in sorted(path.iterdir()) if _has_log(one) and _is_older(one)]
    if not found:
        what = f"neither has it a {LOG} of the older tool, nor has a folder in it"
        raise ConfigError([Problem(path, what)])
    return found


def _has_log(folder: Path) -> bool:
    """Return whether a folder has a log.

    Raises:
        ConfigError: it is a link to elsewhere, which is not copied.
    """
    log = folder / LOG
    if not log.is_file():
        return False
    if not is_file_within(log, folder.resolve()):
        what = "is a link to elsewhere, and those are not followed; copy the folder with its files"
        raise ConfigError([Problem(log, what)])
    return True


def _is_older(folder: Path) -> bool:
    return is_imported(folder) and not (folder / IMPORT_FILE).exists()


def _taken_over(source: Path, target: Path, runs_dir: Path) -> Written:
    if target.resolve() == source.resolve():
        return _written(target, is_new=False)
    with one_import(runs_dir) as staging:
        below = files_below(source)
        _copy(below.files, staging)
        is_new = not os.path.lexists(target)
        if is_new:
            refuse_lost_rows(runs_dir, target.name, staging / LOG)
            staging.rename(target)
            sync_path(runs_dir)
        else:
            is_new = _bring_up_to_date(staging, target, [*below.files])
    return _written(target, is_new=is_new, findings=below.findings)


def _written(target: Path, *, is_new: bool, findings: tuple[Finding, ...] = ()) -> Written:
    """Return what a run has: results, which events are none of, and lines that are passed over."""
    whole = read_whole(target, imported=True)
    warnings = [warning("line_skipped", "", problem) for problem in whole.problems]
    if torn := whole.results.stat.size - whole.results.coverage.end:
        message = f"{LOG} ends in a torn line of {counted(torn, 'byte')}, which is left out"
        warnings.append(warning("torn_line", "", message))
    n_trials = whole.tables["results"].num_rows
    return Written(target, n_trials, is_new=is_new, findings=(*findings, *warnings))


def _copy(files: Mapping[str, Path], staging: Path) -> None:
    """Copy files to their names in a folder, with their times."""
    folders = {staging}
    for name, path in files.items():
        copy = staging / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        folders.add(copy.parent)
        shutil.copyfile(path, copy)
        facts = path.stat()
        os.utime(copy, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    for name in files:
        sync_path(staging / name)
    for folder in folders:
        sync_path(folder)


def _bring_up_to_date(staging: Path, target: Path, names: list[str]) -> bool:
    """Put what changed in the place of what was there, and return whether anything had.

    Raises:
        ConfigError: what was there is no earlier state of the same run.
    """
    if not _is_older(target) or not _begins_with(staging / LOG, target / LOG):
        what = "is another run than the one that is to be imported"
        raise ConfigError([Problem(target, what, advice="--run-id NAME gives it another name")])
    there = {name: target / name for name in names if (target / name).is_file()}
    new = hashes_of({name: staging / name for name in there})
    old = hashes_of(there)
    changed = [name for name in names if name not in old or new[name] != old[name]]
    for name in sorted(changed, key=lambda name: name == LOG):  # the log last: it is what counts
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (staging / name).replace(target / name)
    for folder in {(target / name).parent for name in changed}:
        sync_path(folder)
    return bool(changed)


def _begins_with(longer: Path, shorter: Path) -> bool:
    """Return whether a file has all the bytes of another one at its beginning."""
    if shorter.stat().st_size > longer.stat().st_size:
        return False
    with longer.open("rb") as one, shorter.open("rb") as other:
        while chunk := other.read(CHUNK_BYTES):
            if one.read(len(chunk)) != chunk:
                return False
    return True


def _run(asked: ImportRequest) -> list[Written]:
    return import_openclaw_bench(asked.path, asked.runs_dir, run_id=asked.run_id)


def _detect(path: Path) -> bool:
    """Return whether a folder is a run of the bench."""
    return path.is_dir() and is_document_line(first_line_of(path / LOG))


IMPORTER = Importer(frozenset({"--run-id"}), _run, _detect)
