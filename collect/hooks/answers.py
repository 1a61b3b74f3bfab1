"""From what came of a hook's process to the result of a check.

A hook is code of the user's that reads what a model wrote: whatever comes back is checked, and what
is no verdict is an error that carries one of `REASONS`, never a failure of the model's (D-A9).
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from collect.sandbox.base import Completed, Output
from schemas.config.checks import DeterministicCheck
from schemas.config.sandbox import SandboxLimits
from schemas.redact import redact, redact_json
from schemas.run.result import CheckResult, cut

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "hooks_disabled": "no evaluation profile in force allows hooks",
        "sandbox_missing": "nothing here can lock it in",
        "hook_not_found": "its file, module or callable is not there",
        "hook_changed": "its file is another one than when the case was loaded",
        "hook_import_failed": "it cannot be loaded",
        "hook_raised": "it raised an exception",
        "hook_wrong_type": "it takes or returns what a hook does not",
        "hook_not_finite": "a number in its answer is NaN or infinite",
        "hook_answer_too_large": "its answer has more than 32 KB",
        "hook_timed_out": "it took longer than it may",
        "hook_exceeded_memory": "it took more memory than it may",
        "hook_exceeded_processes": "it began more processes than it may",
        "hook_exceeded_output": "it printed more than it may",
        "hook_exceeded_workspace": "it wrote more than it may",
        "hook_exited": "its process ended before it answered",
        "hook_no_answer": "what came in place of its answer is none",
        "case_too_large": "the folder of its case is too large to be copied",
    }
)
"""Every reason of an outcome `error` of a hook, and what it means."""

FROM_INSIDE = frozenset(
    name
    for name in REASONS
    if name.startswith("hook_") and name not in {"hook_changed", "hook_timed_out"}
)
"""Those that the process of a hook may give."""

LIMITS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "time": ("hook_timed_out", "command_seconds"),
        "memory": ("hook_exceeded_memory", "memory_mb"),
        "processes": ("hook_exceeded_processes", "processes"),
        "output": ("hook_exceeded_output", "output_mb"),
        "workspace": ("hook_exceeded_workspace", "workspace_mb"),
    }
)
"""What ended a command: the reason, and the field of the limits."""

MAX_ANSWER_BYTES = 32_768
MAX_MESSAGE_BYTES = 4_000
MAX_PRINTED_BYTES = 2_000
"""Of the end of what a hook printed."""

FIELDS: Mapping[str, type | tuple[type, ...]] = MappingProxyType(
    {
        "passed": bool,
        "message": (str, type(None)),
        "metadata": (dict, type(None)),
        "outputs": (dict, type(None)),
    }
)
"""Of an answer, and what may stand there."""


class NoAnswer(ValueError):
    """What a process wrote is not the answer of a hook."""


def result_of(check: DeterministicCheck, done: Completed, limits: SandboxLimits) -> CheckResult:
    """Return what a hook found, or why it found nothing."""
    if (ended := _ended(done, limits)) is not None:
        return error_of(check, *ended, printed=done.stderr)
    try:
        content = _content(done.stdout)
    except NoAnswer as exc:
        return error_of(check, "hook_no_answer", f"it gave no answer: {exc}", printed=done.stderr)
    if "error" in content:
        return error_of(check, content["error"], content["message"], printed=done.stderr)
    is_passed = content["passed"]
    text = None if content.get("message") is None else _bounded(content["message"])
    if not is_passed:
        about = (check.description or "").strip().removesuffix(".")
        text = ": ".join(part for part in (about, text) if part) or None
    said = {name: content.get(name) for name in ("metadata", "outputs")}
    said = {name: redact_json(value) for name, value in said.items() if value is not None}
    return CheckResult(
        check_id=check.check_id,
        kind=check.kind,
        outcome="passed" if is_passed else "failed",
        message=text,
        dimensions=check.dimensions,
        detail=json.dumps(said, ensure_ascii=False) if said else None,
    )


def error_of(
    check: DeterministicCheck, reason: str, message: str, *, printed: Output | None = None
) -> CheckResult:
    """Return that a hook could not look, and why.

    Args:
        check: the hook's.
        reason: one of `REASONS`.
        message: a sentence of ours, or what the hook raised.
        printed: what it printed, whose end goes into the message.
    """
    text = _bounded(message)
    if printed is not None and (said := printed.data.decode("utf-8", "replace").strip()):
        raw = redact(said).encode()
        text += f"\nit printed: {raw[-MAX_PRINTED_BYTES:].decode(errors='ignore')}"
    return CheckResult(
        check_id=check.check_id,
        kind=check.kind,
        outcome="error",
        message=text,
        reason=reason,
        dimensions=check.dimensions,
    )


def _bounded(text: str) -> str:
    """Return a text without secrets and not too long; in this order, since half a key is none."""
    return cut(redact(text), MAX_MESSAGE_BYTES)[0]


def _ended(done: Completed, limits: SandboxLimits) -> tuple[str, str] | None:
    """Return the reason and a sentence where a process did not end by itself; None: it did."""
    if (limit := LIMITS.get(done.ended_by)) is not None:
        reason, name = limit
        return reason, f"{REASONS[reason]}: {name} is {getattr(limits, name):,}"
    cpu_ms = done.cpu_ms or 0
    if done.signal == signal.SIGKILL and cpu_ms >= limits.cpu_seconds * 1000:
        return "hook_timed_out", f"it took longer than it may: cpu_seconds is {limits.cpu_seconds}"
    if done.exit_code == 0 and done.stdout.produced:
        return None
    how = f"signal {done.signal}" if done.exit_code is None else f"code {done.exit_code}"
    return "hook_exited", f"its process ended before it answered: {how}"


def _content(stdout: Output) -> dict[str, Any]:
    """Return an answer whose every part is what it must be.

    Raises:
        NoAnswer: it is none.
    """
    if stdout.produced > MAX_ANSWER_BYTES or stdout.cut_at is not None:
        message = f"{stdout.produced:,} bytes"
        raise NoAnswer(message)
    try:
        content = json.loads(
            stdout.data, parse_constant=_refused, object_pairs_hook=_without_doubles
        )
    except (ValueError, RecursionError) as exc:
        message = f"no JSON ({type(exc).__name__})"
        raise NoAnswer(message) from exc
    if not isinstance(content, dict):
        message = "no JSON object"
        raise NoAnswer(message)
    if "error" in content:
        words = (content["error"], content.get("message"))
        is_known = all(isinstance(word, str) for word in words) and words[0] in FROM_INSIDE
        fields = {"error", "message"}
    else:
        is_known = "passed" in content and all(
            isinstance(value, FIELDS.get(name, ())) for name, value in content.items()
        )
        fields = set(FIELDS)
    if not is_known or content.keys() - fields:
        message = "an object with other fields"
        raise NoAnswer(message)
    return content


def _refused(constant: str) -> NoReturn:
    raise NoAnswer(constant)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        message = "a key stands there twice"
        raise NoAnswer(message)
    return content
