"""Trials as rows of Every Eval Ever: one of each that has a verdict and whose input is known.

The format demands of every row a score and what was asked. A trial without a verdict is none that
failed, so it has no row; how many have none stands in the aggregate.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from analyze.exporters.eee.names import Place
from analyze.exporters.eee.transcript import Transcript, text_of, texts_of, transcript_of
from analyze.show.trace_file import read_trace
from schemas.redact import json_escape, redact_json, spelled
from schemas.run.trace import Artifact

if TYPE_CHECKING:
    from analyze.query.session import Session

VERSION = "0.3.0"
"""Of the format."""

PASS_RATE = "pass_rate"  # noqa: S105 - a metric
"""Last word of the result that the rows are of."""

METHODS = {
    "exact": "exact_match",
    "one_of": "exact_match",
    "regex_fullmatch": "regex",
    "regex_search": "regex",
}
"""How an answer is looked at, by the validator; any other way is `custom`."""


@dataclass(frozen=True)
class ScoredTrial:
    """One trial with a verdict."""

    case_id: str
    repetition: int
    prompt_id: str
    record_no: int
    passed: bool
    runner_type: str
    run_fingerprint: str | None
    validator_type: str | None
    failure_type: str | None
    violation: str | None
    finish_reason: str | None
    served_model: str | None
    is_measured: bool
    e2e_ms: int | None
    ttft_ms: int | None
    tool_ms: int | None
    input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cached_input_tokens: int | None
    cost_nano_usd: int | None
    cost_source: str | None
    artifact_path: str | None
    reused_from_run_id: str | None
    raw_output: str
    parsed_output: str | None
    error_message: str | None


TEXTS = ("raw_output", "parsed_output", "error_message")
SPECIAL = {"raw_output": "coalesce(outputs.raw_output, '')"}


def read_scored(session: Session, run_id: str, model_id: str) -> list[ScoredTrial]:
    """Return the trials of a model that have a verdict, by case and repetition.

    Raises:
        ViewError: the lake cannot be read.
    """
    names = [one.name for one in fields(ScoredTrial)]
    terms = [
        SPECIAL.get(name) or f"{'outputs' if name in TEXTS else 'trials'}.{name}" for name in names
    ]
    rows = session.rows(
        f"select {', '.join(terms)} from trials "  # noqa: S608 - names are our own
        "left join stg_outputs as outputs "
        "on trials.run_id = outputs.run_id and trials.record_no = outputs.record_no "
        "where trials.run_id = ? and trials.model_id = ? and trials.passed is not null "
        "order by trials.case_id, trials.repetition",
        [run_id, model_id],
    )
    return [ScoredTrial(*row) for row in rows]


@dataclass(frozen=True)
class SampleSource:
    """What the rows of one model are made of."""

    place: Place
    folder: Path | None
    """Of the run, with its traces; None where it is elsewhere."""
    cases: Mapping[str, Mapping[str, JsonValue]]
    """As they were stored, by case_id; those that nobody kept are absent."""
    is_imported: bool
    sample_ids: Mapping[str, str]
    """What each case is called outside."""
    noted: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """What else is said of a trial, by record_no: scores of judges and of other tools."""


@dataclass(frozen=True)
class Samples:
    """The rows of one model as the text of a file."""

    text: str
    n_rows: int
    n_without_input: int

    @property
    def checksum(self) -> str:
        """The sha256 of the file."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def samples_of(trials: list[ScoredTrial], source: SampleSource) -> Samples:
    """Return the rows of trials, in their order."""
    lines = []
    for trial in trials:
        row = _row(trial, source.cases.get(trial.case_id, {}), source)
        if row is not None:
            lines.append(json_line(row))
    return Samples("".join(lines), len(lines), len(trials) - len(lines))


def json_line(value: JsonValue) -> str:
    """Return a document on one line, without secrets and without what a terminal obeys (D-H5)."""
    text = json.dumps(redact_json(value), ensure_ascii=False, allow_nan=False)
    return spelled(text, json_escape) + "\n"


def _row(
    trial: ScoredTrial, case: Mapping[str, JsonValue], source: SampleSource
) -> dict[str, JsonValue] | None:
    found = read_trace(source.folder, trial.artifact_path)
    trace = found if isinstance(found, Artifact) else None
    said = transcript_of(case, trace, trial.raw_output, trial.runner_type)
    if said.raw_input is None:
        return None
    given = redact_json({"raw": said.raw_input, "reference": [*_references(trial, case, source)]})
    is_single = said.interaction == "single_turn"
    output: dict[str, JsonValue] = {"raw": [said.answer]}
    if said.reasoning:
        output["reasoning_trace"] = [*said.reasoning]
    return {
        "schema_version": VERSION,
        "evaluation_id": source.place.evaluation_id,
        "model_id": source.place.model,
        "evaluation_name": source.place.suite,
        "evaluation_result_id": f"{source.place.evaluation_id}/{PASS_RATE}",
        "sample_id": source.sample_ids.get(trial.case_id, trial.prompt_id),
        "sample_hash": hashlib.sha256(text_of(given).encode()).hexdigest(),
        "interaction_type": said.interaction,
        "input": given,
        "output": output if is_single else None,
        "messages": None if is_single else [*said.messages],
        "answer_attribution": [*_attribution(trial, said, is_imported=source.is_imported)],
        "evaluation": {"score": float(trial.passed), "is_correct": trial.passed, **_counts(said)},
        "token_usage": _tokens(trial),
        "performance": _performance(trial, is_single=is_single),
        "error": _error(trial),
        "metadata": {**_metadata(trial, trace, said), **source.noted.get(trial.record_no, {})},
    }


def _references(
    trial: ScoredTrial, case: Mapping[str, JsonValue], source: SampleSource
) -> Iterator[str]:
    """Yield the answers that are right, where the case or another tool names any."""
    validator = case.get("validator")
    if isinstance(validator, dict):
        if validator.get("type") in {"exact", "number"}:
            yield text_of(validator.get("value"))
        elif validator.get("type") == "one_of":
            values = validator.get("values")
            yield from map(text_of, values if isinstance(values, list) else ())
    elif source.is_imported and trial.parsed_output is not None:
        parsed = json.loads(trial.parsed_output)
        if isinstance(parsed, dict) and parsed.get("target") is not None:
            yield text_of(parsed["target"])


def _attribution(
    trial: ScoredTrial, said: Transcript, *, is_imported: bool
) -> Iterator[dict[str, JsonValue]]:
    """Yield where the value that was judged stands; nothing of a trial without an answer."""
    if not said.answer:
        return
    is_single = said.interaction == "single_turn"
    places = [one["turn_idx"] for one in said.messages if one["role"] == "assistant"]
    place = 0 if is_single or not places else places[-1]
    value = said.answer
    if trial.parsed_output is not None and not is_imported:
        parsed = json.loads(trial.parsed_output)
        value = said.answer if parsed is None else text_of(parsed)
    yield {
        "turn_idx": place,
        "source": "output.raw" if is_single else f"messages[{place}].content",
        "extracted_value": value,
        "extraction_method": METHODS.get(trial.validator_type or "", "custom"),
        "is_terminal": True,
    }


def _counts(said: Transcript) -> dict[str, JsonValue]:
    if said.interaction == "single_turn" or not said.is_whole:
        return {}
    answers = sum(one["role"] == "assistant" for one in said.messages)
    return {"num_turns": max(answers, 1), "tool_calls_count": said.tool_calls}


def _error(trial: ScoredTrial) -> str | None:
    if trial.failure_type is None:
        return None
    return ": ".join(filter(None, (trial.failure_type, trial.error_message)))


def _tokens(trial: ScoredTrial) -> dict[str, JsonValue] | None:
    if trial.input_tokens is None or trial.output_tokens is None:
        return None
    return {
        "input_tokens": trial.input_tokens,
        "output_tokens": trial.output_tokens,
        "total_tokens": trial.input_tokens + trial.output_tokens,
        "input_tokens_cache_read": trial.cached_input_tokens,
        "reasoning_tokens": trial.reasoning_tokens,
    }


def _performance(trial: ScoredTrial, *, is_single: bool) -> dict[str, JsonValue] | None:
    """Return times and cost; nothing of an answer that was taken over from another run."""
    if not trial.is_measured:
        return None
    e2e_ms, ttft_ms = trial.e2e_ms, trial.ttft_ms
    is_known = is_single and e2e_ms is not None and ttft_ms is not None and e2e_ms >= ttft_ms
    more = {"cost_source": trial.cost_source, "tool_ms": trial.tool_ms}
    if trial.cost_nano_usd is not None:
        more["cost_usd"] = f"{Decimal(trial.cost_nano_usd).scaleb(-9):f}"
    return {
        "latency_ms": e2e_ms,
        "time_to_first_token_ms": ttft_ms,
        "generation_time_ms": (e2e_ms or 0) - (ttft_ms or 0) if is_known else None,
        "additional_details": {**texts_of(more)},
    }


def _metadata(trial: ScoredTrial, trace: Artifact | None, said: Transcript) -> dict[str, str]:
    return texts_of(
        {
            "case_id": trial.case_id,
            "repetition": trial.repetition,
            "seed": None if trace is None else trace.request.get("seed"),
            "fingerprint": trial.run_fingerprint,
            "failure_type": trial.failure_type,
            "violation": trial.violation,
            "finish_reason": trial.finish_reason,
            "served_model": trial.served_model,
            "reused_from_run_id": trial.reused_from_run_id,
            "transcript": None if said.is_whole else "input and answer only",
        }
    )
