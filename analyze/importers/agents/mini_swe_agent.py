"""Runs of mini-swe-agent: a folder of trajectories, an instance each, or one trajectory alone.

Whether a patch is right is said elsewhere, by the harness of the benchmark: no trial has a verdict.
What was submitted is the answer. `preds.json` names the instances that were done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from analyze.importers import Importer, ImportRequest
from analyze.importers.agents.trial import (
    MAX_MESSAGE_CHARS,
    UNKNOWN,
    AgentTrial,
    cost_of,
    is_answer,
    own_entries,
    traced_of,
)
from analyze.importers.base import Traced, Written, new_record, run_id_of, write_run
from analyze.importers.defaults import file_moment, slugs_of
from analyze.importers.detect import head_of
from analyze.importers.originals import SourceChanged, files_below
from schemas.base import Finding, warning
from schemas.errors import ConfigError, Problem, counted
from schemas.formats.agent_logs.lines import epoch, fields, members, usd
from schemas.formats.agent_logs.log import AgentLog, json_object, string
from schemas.formats.agent_logs.mini_swe_agent import read
from schemas.run.import_record import UnfinishedTrial

PROVIDER = "mini-swe-agent"
SUFFIX = ".traj.json"
PREDICTIONS = "preds.json"

MAX_FILE_BYTES = 1 << 28
MAX_PREDICTIONS = 100_000

OF_BATCH = "swebench"
"""Suite of a folder that was made instance by instance, as of the harness' own reports."""

FAILURES = {
    "LimitsExceeded": "limit_exceeded",
    "CostLimitExceeded": "limit_exceeded",
    "StepLimitExceeded": "limit_exceeded",
    "ContextWindowExceededError": "limit_exceeded",
    "TimeExceeded": "timeout",
    "RepeatedFormatError": "agent_error",
    "FormatError": "agent_error",
    "AuthenticationError": "http_401",
    "PermissionDeniedError": "http_403",
    "NotFoundError": "http_404",
    "RateLimitError": "http_429",
    "BadRequestError": "http_400",
    "UnsupportedParamsError": "http_400",
    "InternalServerError": "http_500",
    "BadGatewayError": "http_502",
    "ServiceUnavailableError": "http_503",
    "APIConnectionError": "connection_error",
    "APIError": "invalid_response",
    "CalledProcessError": "container_error",
    "TimeoutExpired": "container_error",
}
"""Failures by `exit_status`, which is the name of what was raised; any other is an `exception`."""

SUBMITTED = "Submitted"

UNENDED = "unended"
"""Code of a trajectory that says of no end: it was cut off, or goes on."""


class _Files(NamedTuple):
    """A run's files."""

    trajectories: dict[str, Path]
    """By the name that each has below `source/`."""
    others: dict[str, Path]
    findings: tuple[Finding, ...]


class _Seen(NamedTuple):
    """What a trajectory says of its trial."""

    name: str
    instance_id: str
    model: str
    began_ms: int | None


def import_mini_swe_agent(asked: ImportRequest) -> Written:
    """Make a run folder of trajectories.

    Args:
        asked: whose path is a trajectory, or a folder of some.

    Raises:
        ConfigError: there is no trajectory, or another run has the name.
        SourceChanged: a file was written to meanwhile.
        OSError: a file cannot be read, or the run not be written.
    """
    path = asked.path
    files = _files(path)
    notes = list(files.findings)
    predicted = _predictions(files.others.get(PREDICTIONS), notes)
    seen, lost = _survey(files, predicted, notes)
    if not seen and not lost and not predicted:
        what = "is no trajectory of mini-swe-agent" if path.is_file() else "holds no trajectory"
        raise ConfigError([Problem(path, what, allowed=f"<instance>/<instance>{SUFFIX}")])
    name = path.resolve().name.removesuffix(SUFFIX)
    is_batch = path.is_dir()
    suite_id = asked.suite_id or (OF_BATCH if is_batch else PROVIDER)
    sources = files.others | {one.name: files.trajectories[one.name] for one in seen} | lost
    ids = {one.instance_id for one in seen} | set(predicted) | set(map(_stem, lost))
    models = {one.model for one in seen} | set(predicted.values()) | {UNKNOWN}
    names = _Names(slugs_of(ids), slugs_of(models))
    done = {one.instance_id for one in seen}
    fallback = next((one.model for one in seen), UNKNOWN)
    left = {_stem(one): fallback for one in lost} | predicted
    record = new_record(
        sources=sources,
        run_id=asked.run_id or run_id_of(f"{PROVIDER}_{name}"),
        source_format=PROVIDER,
        source_name=path.resolve().name,
        suite_id=suite_id,
        suite_title=suite_id,
        started_at_ms=min((one.began_ms for one in seen if one.began_ms), default=None),
        unfinished=tuple(
            UnfinishedTrial(**names.of(one, model))
            for one, model in sorted(left.items())
            if one not in done
        ),
        scorable=False,
    )
    place = {"run_id": record.run_id, "suite_id": suite_id}
    results = _results(files, seen, names, place)
    return write_run(asked.runs_dir, record, results, sources, tuple(notes))


class _Names(NamedTuple):
    """Ids of instances and models."""

    cases: Mapping[str, str]
    models: Mapping[str, str]

    def of(self, instance_id: str, model: str) -> dict[str, Any]:
        return {
            "provider": PROVIDER,
            "model": model,
            "model_id": self.models[model],
            "case_id": self.cases[instance_id],
            "repetition": 1,
            "prompt_id": instance_id,
        }


def _files(path: Path) -> _Files:
    if not path.exists():
        raise ConfigError([Problem(path, "is not there")])
    if path.is_file():
        return _Files({path.name: path}, {}, ())
    below = files_below(path)
    trajectories = {name: one for name, one in below.files.items() if name.endswith(SUFFIX)}
    kept = re.compile(rf"{PREDICTIONS}|minisweagent\.log|exit_statuses_[\d.]+\.yaml")
    others = {name: one for name, one in below.files.items() if kept.fullmatch(name)}
    return _Files(trajectories, others, below.findings)


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(SUFFIX)


def _predictions(path: Path | None, notes: list[Finding]) -> dict[str, str]:
    """Return the model of each instance that was done."""
    if path is None:
        return {}
    known = json_object(path.read_bytes()) if path.stat().st_size <= MAX_FILE_BYTES else None
    if known is None or len(known) > MAX_PREDICTIONS:
        message = f"{PREDICTIONS}: is no object of predictions"
        notes.append(warning("predictions_unread", "", message))
        return {}
    named = {name: string(fields(one).get("model_name_or_path")) for name, one in known.items()}
    return {name: model or UNKNOWN for name, model in named.items() if name}


def _survey(
    files: _Files, predicted: Mapping[str, str], notes: list[Finding]
) -> tuple[list[_Seen], dict[str, Path]]:
    """Return the trials, and the files of which none can be made."""
    seen: dict[str, _Seen] = {}
    lost: dict[str, Path] = {}
    for name, path in files.trajectories.items():
        document = _document(path)
        if document is None:
            notes.append(warning("unread", "", f"{name}: is no trajectory that can be read"))
            if len(files.trajectories) > 1 or files.others:
                lost[name] = path
            continue
        own = string(document.get("instance_id")) or _stem(name)
        if own in seen:
            what = f"{name}: is of the instance {own!a:.80} as {seen[own].name!a:.80}, which counts"
            notes.append(warning("twice", "", what))
            continue
        model = _model(document) or predicted.get(own, UNKNOWN)
        seen[own] = _Seen(name, own, model, _began(document))
    unended = [one.instance_id for one in seen.values() if one.instance_id in predicted]
    if predicted and len(unended) < len(seen):
        n_more = counted(len(seen) - len(unended), "trajectory is", "trajectories are")
        notes.append(warning("not_predicted", "", f"{n_more} not in {PREDICTIONS}"))
    return list(seen.values()), lost


def _document(path: Path) -> dict[str, Any] | None:
    if path.stat().st_size > MAX_FILE_BYTES:
        return None
    document = json_object(path.read_bytes())
    if document is None or not isinstance(document.get("messages"), list):
        return None
    return document if isinstance(document.get("info"), dict) else None


def _began(document: Mapping[str, Any]) -> int | None:
    """Return the first time that a message has, in ms since 1970; None: none has one."""
    found = (
        epoch(fields(one.get("extra")).get("timestamp"), unit_ms=1000)
        for one in members(document["messages"])
    )
    return min((at for at in found if at), default=None)


def _model(document: Mapping[str, Any]) -> str:
    """Return the model that was asked, else the first that answered; empty: none is named."""
    config = fields(fields(document.get("info")).get("config"))
    responses = (fields(fields(one.get("extra")).get("response")) for one in
                 members(document["messages"]))  # fmt: skip
    answered = next((name for one in responses if (name := string(one.get("model")))), "")
    return string(fields(config.get("model")).get("model_name")) or answered


def _results(
    files: _Files, seen: list[_Seen], names: _Names, place: Mapping[str, str]
) -> Iterator[Traced]:
    """Yield every trial, one after the other in memory."""
    for one in seen:
        path = files.trajectories[one.name]
        document = _document(path)
        if document is None:
            raise SourceChanged(path)
        log = read({one.name: orjson.dumps(document)})
        known = {key: value for key, value in names.of(one.instance_id, one.model).items()
                 if key != "repetition"}  # fmt: skip
        yield traced_of(
            AgentTrial(
                **place,
                **known,
                log=log,
                written_at_ms=file_moment(path),
                facts=_facts(document, log),
                request=_request(document),
            )
        )


def _facts(document: Mapping[str, Any], log: AgentLog) -> dict[str, Any]:
    """Return how the agent ended, with what, and what it has cost."""
    info = fields(document.get("info"))
    status, patch = string(info.get("exit_status")), string(info.get("submission"))
    failure: str | None = FAILURES.get(status, "exception")
    if status == SUBMITTED:
        failure = None if patch.strip() else "empty_response"
    last_error = next(
        (one.error for one in reversed(list(own_entries(log))) if one.kind == "error"), ""
    )
    message = string(info.get("exception_str")) or last_error
    spent = usd(fields(info.get("model_stats")).get("instance_cost")) or None
    cost = spent or cost_of([one for one in own_entries(log) if is_answer(one)])
    return {
        "raw_output": patch,
        "failure_type": failure,
        "error_code": None if status == SUBMITTED else status[:256] or UNENDED,
        "error_message": message[:MAX_MESSAGE_CHARS] or None if failure else None,
        "http_status": int(failure[5:]) if failure and failure.startswith("http_") else None,
        "cost_usd": cost,
        "cost_source": None if cost is None else "provider",
    }


def _request(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of the agent: its version, and what it was set to."""
    info = fields(document.get("info"))
    known = {
        "mini_version": info.get("mini_version"),
        "trajectory_format": document.get("trajectory_format"),
        "config": info.get("config"),
        "model_stats": info.get("model_stats"),
    }
    return {name: value for name, value in known.items() if value is not None}


def _run(asked: ImportRequest) -> list[Written]:
    """Make a run of a trajectory or a folder of them, or of each such folder in one.

    Raises:
        ConfigError: there is none, or several and one name for them.
    """
    path, runs = asked.path, []
    if path.is_dir() and not _detect(path) and not any(path.glob(f"*{SUFFIX}")):
        runs = sorted(one for one in path.iterdir() if one.is_dir() and _detect(one))
    if asked.run_id is not None and len(runs) > 1:
        what = f"--run-id names one run, and there are {len(runs)} folders of them; give one"
        raise ConfigError([Problem(path, what)])
    return [import_mini_swe_agent(replace(asked, path=one)) for one in runs or [path]]


def _detect(path: Path) -> bool:
    """Return whether a file is a trajectory, or a folder holds some, each in one of its own."""
    if path.is_file():
        head = head_of(path)
        return path.name.endswith(SUFFIX) and b'"info"' in head
    try:
        return next(path.glob(f"*/*{SUFFIX}"), None) is not None
    except OSError:
        return False


IMPORTER = Importer(frozenset({"--suite", "--run-id"}), _run, _detect)
