"""What is kept of an agent beside the files of its trial: configuration, session, trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_letters, digits
from typing import Any, NamedTuple

import orjson

from collect.runners.agents.attempt import Attempt
from collect.runners.atif import trajectory_of
from collect.runners.trace import TraceObject
from schemas.redact import redact, redact_json

AGENT_FOLDER = "agent"
"""In the folder of what a trial has left."""

PRETTY = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS
MAX_PRETTY_BYTES = 1_000_000
"""Of a document that is indented: what is nested deeply grows by the depth."""

SAFE = frozenset(f"{ascii_letters}{digits}-._")
"""Each a byte of a file's name."""

MAX_LOG_BYTES = 4_000_000
"""Of what it printed on standard error; its end says more."""


class Ran(NamedTuple):
    """What ran."""

    name: str
    version: str
    model: str
    """As it was asked for."""


def keep_agent_files(
    target: Path,
    attempt: Attempt,
    files: Mapping[str, bytes],
    trace: Sequence[TraceObject],
    ran: Ran,
) -> None:
    """Write what is kept of an agent, without secrets.

    Its own files as they are given, `raw_session_trace.json` with what every turn printed, a log of
    standard error, and `trajectory.json` in ATIF.

    Raises:
        OSError: the disk is full.
    """
    folder = target / AGENT_FOLDER
    folder.mkdir(parents=True)
    if attempt.config:
        name = f"{ran.name}.json"
        _write_json(folder / _safe(name), _without(attempt.config, attempt.wire.password))
    turns = {"session_id": attempt.session_id, "turns": attempt.turns}
    _write_json(folder / "raw_session_trace.json", turns)
    log = "".join(str(turn["stderr"]) for turn in attempt.turns)[-MAX_LOG_BYTES:]
    (folder / _safe(f"{ran.name}.log")).write_text(redact(log), encoding="utf-8")
    for name, raw in files.items():
        text = redact(raw.decode("utf-8", "replace"))
        (folder / _safe(name)).write_text(text, encoding="utf-8")
    trajectory = trajectory_of(
        trace,
        agent_name=ran.name,
        agent_version=ran.version,
        model_name=ran.model,
        session_id=attempt.session_id,
    )
    _write_json(folder / "trajectory.json", trajectory)


def _safe(name: str) -> str:
    """Return a name that stays in its folder; the agent may have chosen it."""
    return "".join(one if one in SAFE else "_" for one in name)[:128]


def _without(config: dict[str, Any], password: str) -> dict[str, Any]:
    """Return a configuration without the password of its trial, which is of no use any more."""
    raw = orjson.dumps(config).replace(orjson.dumps(password), b'"the password of the trial"')
    found: dict[str, Any] = orjson.loads(raw)
    return found


def _write_json(path: Path, value: Any) -> None:
    value = redact_json(value)
    raw = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    if len(raw) <= MAX_PRETTY_BYTES:
        raw = orjson.dumps(value, option=PRETTY)
    path.write_bytes(raw + b"\n")
