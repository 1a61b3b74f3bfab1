"""The cases and models of a run as stored in its folder, which `--resume` uses.

Later changes of the YAML files have no effect. cases.jsonl.zst holds one loaded case a line,
without secrets. A run is resumed only when all of it still has the fingerprints of its plan.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import zstandard
from pydantic import BaseModel, JsonValue, TypeAdapter

from collect.config import LoadedCase, ResolvedModel
from collect.config.endpoints import host_of, is_loopback
from collect.config.resolved import SAME_IN_CONFIG
from collect.plan.fingerprint import SettingsParts, case_hash, model_parts
from schemas.config.case import CaseContext, Expectations, Rubric
from schemas.config.checks import DeterministicCheck
from schemas.config.validators import Validator
from schemas.errors import NotResumable
from schemas.io.files import write_chunks
from schemas.redact import may_hold_secret, redact_json
from schemas.run.config import FINGERPRINT_VERSION, PART_DIGITS, PlannedTrial, RunConfig

CASES_FILE = "cases.jsonl.zst"
MAX_CASE_BYTES = 1 << 30
"""Of all cases of a run, unfolded; a few bytes of a file that somebody made may say far more."""

CHUNK_BYTES = 1 << 12
"""That are unfolded at once: up to 130 MB."""

MAX_NAMED_CASES = 3
"""Cases named in a refusal; of more, only how many there are."""

_PAIRS = ("attachments", "hooks", "unevaluable")
_TUPLES = ("messages", "turns", "expected_tool_calls", "tags")
_FIELDS = {
    field.name: field.default if field.default_factory is MISSING else field.default_factory()
    for field in fields(LoadedCase)
    if field.name != "unbuilt"
}
"""Name and default; what has its default is left out. What needs the unbuilt never runs."""


@cache
def _records() -> Mapping[str, TypeAdapter[Any]]:
    """Return how the fields of a loaded case that are records are read; the others are JSON."""
    return {
        "validator": TypeAdapter(Validator | None),
        "checks": TypeAdapter(tuple[DeterministicCheck, ...]),
        "expectations": TypeAdapter(Expectations | None),
        "rubric": TypeAdapter(Rubric | None),
        "context": TypeAdapter(CaseContext),
    }


def write_cases(path: Path, cases: Iterable[LoadedCase], advice: str) -> None:
    """Write the cases of a run into its folder.

    Raises:
        CollectError: the disk is full; ends with `advice`.
    """
    write_chunks(path, _compressed(_line(case, path.parent) for case in cases), advice)


def read_cases(path: Path) -> dict[str, LoadedCase]:
    """Return the cases of a run by case_id.

    Raises:
        NotResumable: the file is not there, or is not what was written.
    """
    try:
        lines = _decompressed(path.read_bytes()).splitlines()
        cases = [_case(orjson.loads(line), path.parent) for line in lines]
    except FileNotFoundError as exc:
        why = f"it has no {path.name}; an earlier benchlake made it"
        raise NotResumable(path.parent, why) from exc
    except (KeyError, TypeError) as exc:
        why = f"{path.name} lacks what this version of benchlake needs: another version wrote it"
        raise NotResumable(path.parent, why) from exc
    except (zstandard.ZstdError, ValueError, AttributeError) as exc:
        raise NotResumable(path.parent, f"{path.name} is damaged") from exc
    return {case.case_id: case for case in cases}


def _compressed(lines: Iterable[bytes]) -> Iterator[bytes]:
    stream = zstandard.ZstdCompressor(level=3).compressobj()
    for line in lines:
        yield stream.compress(line)
    yield stream.flush()


def _decompressed(content: bytes) -> bytes:
    stream = zstandard.ZstdDecompressor().decompressobj()
    text = bytearray()
    for begin in range(0, len(content), CHUNK_BYTES):
        if stream.eof:
            break
        text += stream.decompress(content[begin : begin + CHUNK_BYTES])
        if len(text) > MAX_CASE_BYTES:
            message = "unfolds to more than any run has"
            raise ValueError(message)
    if not stream.eof:
        message = "cut off"
        raise ValueError(message)
    return bytes(text)


def _line(case: LoadedCase, run_dir: Path) -> bytes:
    kept = {
        name: value
        for name, default in _FIELDS.items()
        if (value := getattr(case, name)) is not default
    }
    if case.folder is not None:
        kept["folder"] = os.path.relpath(case.folder, run_dir)
    line = orjson.dumps(kept, default=_dumped)
    if may_hold_secret(line.decode()):
        line = orjson.dumps(redact_json(orjson.loads(line)))
    return line + b"\n"


def _dumped(record: object) -> JsonValue:
    if isinstance(record, BaseModel):
        return record.model_dump(mode="json")
    raise TypeError


def _case(kept: dict[str, Any], run_dir: Path) -> LoadedCase:
    for name, adapter in _records().items():
        if name in kept:
            kept[name] = adapter.validate_json(orjson.dumps(kept[name]))
    for name in _PAIRS:
        if name in kept:
            kept[name] = tuple(tuple(pair) for pair in kept[name])
    for name in _TUPLES:
        if name in kept:
            kept[name] = tuple(kept[name])
    if "folder" in kept:
        kept["folder"] = Path(os.path.normpath(run_dir.absolute() / kept["folder"]))
    return LoadedCase(**{name: value for name, value in kept.items() if name in _FIELDS})


def models_of(config: RunConfig) -> tuple[ResolvedModel, ...]:
    """Return the models of a run as its config.json has them."""
    return tuple(
        ResolvedModel(
            **{name: getattr(model, name) for name in SAME_IN_CONFIG},
            request_options=model.request_options,
            settings=model.settings,
            is_loopback=is_loopback(host_of(model.base_url)),
        )
        for model in config.models
    )


ToolsOf = Callable[[LoadedCase], str | None]
"""The hash of a case's tools, with what they are given here."""


def verified_trials(
    run_dir: Path,
    models: Sequence[ResolvedModel],
    cases: Mapping[str, LoadedCase],
    tools: ToolsOf,
    again: str,
) -> Iterator[PlannedTrial]:
    """Yield a run's plan, if stored cases and models are still what it was made with.

    It is refused once all of it is read, so whoever reads on keeps nothing of it before.

    Raises:
        NotResumable: names the cases, or the parts of the fingerprint, that differ.
    """
    planned = _Planned(models, cases, tools)
    changed: dict[str, None] = {}
    with (run_dir / "plan.jsonl").open("rb") as plan:
        for line in plan:
            trial = PlannedTrial.model_validate_json(line)
            changed |= dict.fromkeys(planned.changes(trial))
            yield trial
    if changed:
        names = list(changed)
        more = f" and {len(names) - MAX_NAMED_CASES} more" if len(names) > MAX_NAMED_CASES else ""
        why = (
            f"{', '.join(names[:MAX_NAMED_CASES])}{more} changed since it was planned; "
            f"`{again}` starts a new run and takes over what is still the same"
        )
        raise NotResumable(run_dir, why)


class _Planned:
    """What the stored cases and models would be planned as today."""

    def __init__(
        self,
        models: Sequence[ResolvedModel],
        cases: Mapping[str, LoadedCase],
        tools: ToolsOf,
    ) -> None:
        self._models = {model.model_id: model for model in models}
        self._ends = {model.model_id: model_parts(model) for model in models}
        self._cases = cases
        self._hashes = {case_id: case_hash(case) for case_id, case in cases.items()}
        self._tools = {case_id: tools(case) for case_id, case in cases.items()}
        self._settings = SettingsParts()

    def changes(self, trial: PlannedTrial) -> Iterator[str]:
        """Yield what differs from one line of the plan, in words."""
        model_id, case_id, was = trial.model_id, trial.case_id, trial.fingerprint_parts
        model, case = self._models.get(model_id), self._cases.get(case_id)
        if trial.fingerprint_version != FINGERPRINT_VERSION:
            yield "the version of fingerprints"
        if model is None:
            yield f"model `{model_id}`"
        if case is None or self._hashes[case_id] != trial.case_hash:
            yield f"case `{case_id}`"
        if model is None or case is None:
            return
        endpoint, harness = self._ends[model_id]
        if _part(harness) != was.harness:
            cli = "" if model.harness_version is None else f", or `{model.executable}`"
            yield f"the major version of benchlake{cli}"
        if _part(endpoint) != was.endpoint:
            yield f"the endpoint of model `{model_id}`"
        if _part(model.model_build) != was.model_build:
            yield f"the weights of model `{model_id}`"
        if _part(self._tools[case_id]) != was.tools:
            yield f"the tools of case `{case_id}`"
        if _part(self._settings.of(model, case, trial.repetition)) != was.settings:
            yield f"the settings of model `{model_id}` for case `{case_id}`"


def _part(whole: str | None) -> str | None:
    """Return what a plan keeps of a hash."""
    return None if whole is None else whole[:PART_DIGITS]
