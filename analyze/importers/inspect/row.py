"""One sample as a line of ours, with its trace.

`passed` is what the deciding scorer said, where all that it said in the log is 0 or 1; a limit
takes no score away, as the tool counts it too. A sample that ended in an error of anything but the
model, or was declared invalid, has no verdict.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from analyze.importers.defaults import moment_of
from analyze.importers.inspect.failures import failure_of, said_of
from analyze.importers.inspect.scores import number_of, scores_of, values_of
from analyze.importers.inspect.trace import Trace
from analyze.importers.inspect.transcript import output_message, resolved, said
from analyze.importers.inspect.usage import sum_of
from analyze.importers.inspect.values import Json, mapping, millis, plain, rows, whole, words
from analyze.importers.lines import Packed, fields_of, packed
from schemas.failures import classify
from schemas.redact import redact

MAX_EPOCHS = 100_000
MAX_VIOLATION_CHARS = 2_000
RUNNER = "inspect"

USAGES = ("model_usage", "role_usage", "model_fallbacks")


@dataclass(frozen=True)
class Place:
    """What all samples of a log share.

    Attributes:
        started_at_ms: of the log, for samples without a time.
        column: score that decides, by its name in the rows.
        is_verdict: all of its values in the log are 0 or 1.
    """

    run_id: str
    suite_id: str
    model_id: str
    provider: str
    model: str
    thinking_level: str | None
    started_at_ms: int
    request: Json
    column: str | None
    is_verdict: bool


@dataclass
class Notes:
    """What was met in samples and not understood, by how often.

    Attributes:
        values: scores that are no numbers, by the scorer.
    """

    values: Counter[str] = field(default_factory=Counter)
    shown: dict[str, str] = field(default_factory=dict)


def packed_of(
    sample: Json, case_id: str, key: tuple[str, int], place: Place, notes: Notes
) -> Packed:
    """Return the line and the trace of a sample.

    Args:
        sample: as it is in the log, or its summary.
        case_id: of it.
        key: its id there, and its epoch.
        place: of its log.
        notes: takes what was not understood.
    """
    began, ended, took = _times(sample, place.started_at_ms)
    failure = failure_of(sample)
    code, message = said_of(sample)
    output = mapping(sample.get("output"))
    texts = mapping(sample.get("attachments"))
    answer = said(resolved(output_message(output).get("content"), texts)).text
    answer = answer or _completion(output, texts)
    trace = Trace(sample, began)
    events = trace.end(answer, ended)
    scores = scores_of(sample)
    numbers = _numbers(scores, notes)
    verdict = _verdict(numbers, place, failure)
    usages = [one for one in mapping(sample.get("model_usage")).values() if isinstance(one, dict)]
    tokens, cost = sum_of(usages)
    tools = tuple(trace.tools)
    choices = rows(output.get("choices"))
    decided = mapping(scores.get((place.column or "").partition("/")[0]))
    answered = decided.get("answer")
    fields = fields_of(
        failure,
        {
            "run_id": place.run_id,
            "provider": place.provider,
            "model": place.model,
            "thinking_level": place.thinking_level,
            "prompt_id": key[0],
            "started_at_ms": began,
            "ended_at_ms": ended,
            "e2e_ms": trace.model_ms,
            "objective_pass": verdict if failure is None else None,
            "violation": _violation(decided, verdict),
            "input_tokens": tokens.input_tokens,
            "output_tokens": tokens.output_tokens,
            "raw_output": answer,
            "parsed_output": plain(resolved(answered, texts)),
            "tool_calls": tools,
            "tool_call_count": len(tools),
            "suite_id": place.suite_id,
            "case_id": case_id,
            "model_id": place.model_id,
            "repetition": key[1],
            "runner_type": RUNNER,
            "passed": verdict,
            "error_code": code,
            "error_message": message,
            "attempt_count": 1 + _n_retries(sample),
            "served_model": words(output.get("model")),
            "finish_reason": words(mapping(choices[0]).get("stop_reason")) if choices else None,
            "reasoning_tokens": tokens.reasoning_tokens,
            "cached_input_tokens": tokens.cached_input_tokens,
            "cost_usd": cost,
            "cost_source": None if cost is None else "computed",
            "token_source": "api" if usages else None,
            "tool_call_source": "api" if tools else None,
            "tool_ms": trace.tool_ms,
            "scores": [{"name": name, "value": number} for name, number in numbers.items()],
        },
    )
    usage = {name: sample[name] for name in USAGES if sample.get(name)}
    phases = {
        name: ms
        for name in ("total_time", "working_time")
        if (ms := millis(sample.get(name))) is not None
    }
    artifact = {
        "schema_version": fields["schema_version"],
        "run_id": place.run_id,
        "model_id": place.model_id,
        "case_id": case_id,
        "repetition": key[1],
        "wall_ms": took,
        "request": place.request,
        "usage": plain(usage) or None,
        "trace": events,
        "turns": whole(sample.get("turn_count")) or trace.n_turns or None,
        "phases": phases,
    }
    return packed(fields, artifact)


def _times(sample: Json, default_ms: int) -> tuple[int, int, int]:
    """Return when a sample began and ended, in ms since 1970, and how long it took."""
    began, ended = moment_of(sample.get("started_at")), moment_of(sample.get("completed_at"))
    took = millis(sample.get("total_time"))
    if began is None:
        began = default_ms if ended is None else max(0, ended - (took or 0))
    if ended is None:
        ended = began + (took or 0)
    ended = max(began, ended)
    return began, ended, ended - began if took is None else took


def _completion(output: Json, texts: Json) -> str:
    """Return the answer as logs also have it."""
    return words(resolved(output.get("completion"), texts)) or ""


def _numbers(scores: Json, notes: Notes) -> dict[str, float | None]:
    numbers: dict[str, float | None] = {}
    for name, value in values_of(scores):
        try:
            numbers[name] = number_of(value)
        except (ValueError, OverflowError):
            numbers[name] = None
            notes.values[name] += 1
            notes.shown.setdefault(name, f"{value!r:.60}")
    return numbers


def _verdict(numbers: dict[str, float | None], place: Place, failure: str | None) -> bool | None:
    if not place.is_verdict or place.column is None:
        return None
    against = failure is None or classify(failure).counts_against_model
    value = numbers.get(place.column)
    if not against:
        return None
    if value is not None:
        return value == 1
    return None if failure is None else False


def _violation(score: Json, verdict: bool | None) -> str | None:
    if verdict is not False:
        return None
    explanation = words(score.get("explanation"))
    return None if explanation is None else redact(explanation)[:MAX_VIOLATION_CHARS]


def _n_retries(sample: Json) -> int:
    """Return how many attempts were made before; a summary has their number alone."""
    retries = sample.get("error_retries")
    return (
        len(retries)
        if isinstance(retries, list)
        else min(whole(sample.get("retries")) or 0, MAX_EPOCHS)
    )
