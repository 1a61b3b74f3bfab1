"""One trial's whole trace, read from artifacts/<model_id>.jsonl.zst at the place its result names.

One frame is read and never the whole file. A torn, missing or foreign trace is returned as a value
with a sentence: a lost trace must not hide its result.

What a case expects is the validator in cases.jsonl.zst, which is written for `--resume`; here it
only explains a verdict. A run made elsewhere or by an earlier benchlake has none, and then nothing
is said of what was expected.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json

from schemas.base import SCHEMA_VERSION
from schemas.errors import NotOwnFile
from schemas.io.own_files import open_own_file
from schemas.run.result import misfit
from schemas.run.trace import (
    MAX_TRACE_BYTES,
    REFERENCE,
    Artifact,
    TraceEvent,
    frame_content,
    has_too_many_values,
)

EVENT: TypeAdapter[TraceEvent] = TypeAdapter(TraceEvent)

CASES_FILE = "cases.jsonl.zst"

NAMED = re.compile(rb'"case_id"\s*:\s*("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True)
class NoTrace:
    """There is no trace to show, and why."""

    reason: str


@dataclass(frozen=True)
class Beginning(NoTrace):
    """A trace that is longer than was to be read: its turns up to there."""

    events: tuple[TraceEvent, ...]


def read_trace(run_dir: Path | None, reference: str | None) -> Artifact | NoTrace:
    """Return the trace that `file#offset` names.

    Args:
        run_dir: the run's folder; None when it is not here.
        reference: `artifact_path` of the result.
    """
    content = read_content(run_dir, reference, MAX_TRACE_BYTES)
    if isinstance(content, NoTrace):
        return content
    if len(content) > MAX_TRACE_BYTES or has_too_many_values(content):
        return _torn(reference)
    return _artifact(content, reference)


def read_beginning(
    run_dir: Path | None, reference: str | None, most_bytes: int
) -> Artifact | NoTrace:
    """Return the trace that `file#offset` names; a `Beginning` when it is longer than so much.

    Args:
        run_dir: the run's folder; None when it is not here.
        reference: `artifact_path` of the result.
        most_bytes: of its JSON that are read.
    """
    content = read_content(run_dir, reference, most_bytes)
    if isinstance(content, NoTrace):
        return content
    if len(content) > most_bytes:
        return _beginning(content, most_bytes)
    return _artifact(content, reference)


def read_content(run_dir: Path | None, reference: str | None, most_bytes: int) -> bytes | NoTrace:
    """Return what the frame holds; one byte more than `most_bytes` of a longer one."""
    if reference is None:
        return NoTrace("its result names no trace")
    if run_dir is None:
        return NoTrace("the folder of the run is not here, and its trace is there")
    match = REFERENCE.fullmatch(reference)
    if match is None:
        return NoTrace(f"its result names no trace of ours: {reference!r}")
    path = run_dir / match[1]
    try:
        if not path.is_file():
            return NoTrace(f"{match[1]} is not in the folder of the run")
        with open_own_file(run_dir, match[1]) as file:
            content = frame_content(file, int(match[2]), most_bytes)
    except NotOwnFile as exc:
        return NoTrace(str(exc))
    except OSError as exc:
        return NoTrace(f"{match[1]} cannot be read ({exc.strerror})")
    return _torn(reference) if content is None else content


def _torn(reference: str | None) -> NoTrace:
    file, _, offset = (reference or "").partition("#")
    return NoTrace(f"{file} is torn or holds no trace at byte {int(offset)}")


def _beginning(content: bytes, most_bytes: int) -> Beginning:
    """Return the turns that are whole in the beginning of a trace."""
    why = f"its trace is longer than the {most_bytes:,} bytes that a report reads of one"
    try:
        begun = from_json(content, allow_partial=True)
        listed = begun["trace"][:-1]  # the last one may be a part of itself
    except (ValueError, KeyError, TypeError):
        return Beginning(why, ())
    events: list[TraceEvent] = []
    for one in listed:
        try:
            events.append(EVENT.validate_python(one, extra="ignore"))
        except ValidationError:
            break
    return Beginning(why, tuple(events))


def _artifact(content: bytes, reference: str | None) -> Artifact | NoTrace:
    try:
        artifact = Artifact.model_validate_json(content, extra="ignore")
    except ValidationError as exc:
        return NoTrace(f"{reference} is no trace that can be read: {misfit(exc)}")
    if artifact.schema_version > SCHEMA_VERSION:
        return NoTrace(f"a newer benchlake wrote {reference}")
    return artifact


def validator_of(run_dir: Path | None, case_id: str) -> dict[str, JsonValue] | None:
    """Return the validator of a case as it was written; None where nobody kept it."""
    return validators_of(run_dir, {case_id}).get(case_id)


def validators_of(
    run_dir: Path | None, case_ids: Collection[str]
) -> dict[str, dict[str, JsonValue] | None]:
    """Return the validators of cases as they were written, by case_id; see `cases_of`."""
    found = {case_id: one.get("validator") for case_id, one in cases_of(run_dir, case_ids).items()}
    return {case_id: one if isinstance(one, dict) else None for case_id, one in found.items()}


def cases_of(run_dir: Path | None, case_ids: Collection[str]) -> dict[str, dict[str, JsonValue]]:
    """Return cases as they were written, by case_id; what nobody kept is absent.

    The file is read line by line and only as far as the last of the cases.
    """
    import zstandard  # noqa: PLC0415 - only who shows a trial needs it

    found: dict[str, dict[str, JsonValue]] = {}
    if run_dir is None or not case_ids:
        return found
    marks = {orjson.dumps(case_id) for case_id in case_ids}
    try:
        with (
            (run_dir / CASES_FILE).open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file) as content,
        ):
            for line in io.BufferedReader(content):
                if marks.isdisjoint(NAMED.findall(line)):
                    continue
                case = orjson.loads(line)
                case_id = case.get("case_id")
                if case_id in case_ids and case_id not in found:
                    found[case_id] = case
                    if len(found) == len(marks):
                        return found
    except (OSError, ValueError, AttributeError, TypeError, zstandard.ZstdError):
        return found
    return found
