"""One trial as text for people: how it ended and why, what was said, what it took.

Pure: row, text and trace in, lines out. Everything a model, a server or a user wrote stands moved
in and without anything that a terminal obeys.

What a judge of another tool said (final score, dimensions, checks) an import keeps in
`parsed_output`; no threshold was applied to it, and it decides no verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from analyze.render.numbers import duration, moment, usd, whole
from analyze.render.text import clipped, facts, line_of, lines_of
from analyze.show.judgements import ShownJudgement, judgement_lines
from analyze.show.preferences import ShownPreference, preference_lines
from analyze.show.trace_file import NoTrace
from analyze.show.trial_rows import ShownTrial, TrialText
from schemas.errors import counted
from schemas.run.model_names import hidden_id
from schemas.run.trace import (
    Artifact,
    FinalOutputEvent,
    MessageEvent,
    RunnerEvent,
    ToolCallEvent,
    ToolResultEvent,
    TraceEvent,
)

INDENT = "    "

MAX_EVALUATIONS = 20

RESULT_FACTS = ToolResultEvent.model_fields.keys() - {
    *("sequence", "at_ms", "event_type", "call_id", "status", "output", "shown")
}

OUTCOMES = {"passed": "passed", "failed": "failed", "error": "could not run"}

VERDICTS = {True: "passed", False: "did not pass", None: "no verdict"}

MAX_JUDGED_CHARS = 200
"""Characters of an answer beside what was expected; the whole of it stands in the transcript."""


def trace_lines(artifact: Artifact) -> Iterator[str]:
    """Yield every event: how long after the first one, what it is, and what it holds.

    Where all events have one time, as in a trace that came without times, none is told.
    """
    events = sorted(artifact.trace, key=lambda event: event.sequence)
    begin = events[0].at_ms if events else 0
    has_times = any(event.at_ms != begin for event in events)
    said = None
    for event in events:
        at = f"+{duration(max(event.at_ms - begin, 0))}  " if has_times else ""
        if isinstance(event, FinalOutputEvent) and event.content == said:
            yield f"{at}final output: the message above"
            continue
        title, text = _title_and_text(event)
        yield f"{at}{title}"
        yield from indented(lines_of(text) if text else ())
        if isinstance(event, MessageEvent):
            said = event.content


def indented(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines moved in, so that no text from outside can look like a line of ours."""
    return ((INDENT + line).rstrip() for line in lines)


def json_text(value: JsonValue) -> str:
    """Return any JSON value on one line; text stays text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _title_and_text(event: TraceEvent) -> tuple[str, str]:
    match event:
        case MessageEvent():
            name = "" if event.name is None else f" ({line_of(event.name)})"
            return f"{event.role}{name}", event.content
        case ToolCallEvent():
            title = f"tool call  {line_of(event.tool_name)}  [{line_of(event.call_id)}]"
            mended = "" if event.repair is None else f"  {line_of(event.repair)}"
            return f"{title}{mended}", event.raw_arguments
        case ToolResultEvent():
            return _tool_result(event)
        case RunnerEvent():
            return _runner(event), ""
        case FinalOutputEvent():
            return "final output" if event.content else "final output: empty", event.content


def _tool_result(event: ToolResultEvent) -> tuple[str, str]:
    """Return a result with how it ended, and its text: what is kept, then what the model read."""
    known = event.model_dump(exclude_none=True, include=RESULT_FACTS)
    facts = (f"{name} {line_of(json_text(value))}" for name, value in known.items())
    title = "  ".join([f"tool result  {event.status}  [{line_of(event.call_id)}]", *facts])
    text = json_text(event.output)
    return title, text if event.shown is None else f"{text}\nthe model read:\n{event.shown}"


def _runner(event: RunnerEvent) -> str:
    """Return what the runner did: its name, then what it noted, without what it did not know."""
    words = [
        f"{line_of(name)} {line_of(json_text(value))}"
        for name, value in event.detail.items()
        if value is not None
    ]
    return "  ".join([line_of(event.name), *words])


def score_lines(parsed_output: str | None) -> Iterator[str]:
    """Yield the evaluations of an imported trial; nothing where it has none.

    Args:
        parsed_output: of the trial, as JSON.
    """
    found = _evaluations(parsed_output)
    for one in found[:MAX_EVALUATIONS]:
        yield from _lines(one)
    if (more := len(found) - MAX_EVALUATIONS) > 0:
        yield f"and {counted(more, 'more evaluation')}"


def _evaluations(parsed_output: str | None) -> list[Mapping[str, Any]]:
    try:
        parsed = json.loads(parsed_output or "null")
    except (ValueError, RecursionError):
        return []
    rows = parsed.get("evaluations") if isinstance(parsed, dict) else None
    inside = rows if isinstance(rows, list) else []
    return [one for one in inside if isinstance(one, dict) and "final_score" in one]


def _lines(one: Mapping[str, Any]) -> Iterator[str]:
    score = _number(one["final_score"])
    said = "not scored" if score is None else f"final score {score}"
    yield line_of(f"evaluation {one.get('evaluation_profile_id') or 'unnamed'}: {said}")
    dimensions = one.get("final_dimensions")
    if isinstance(dimensions, dict):
        known = {name: _number(value) for name, value in sorted(dimensions.items())}
        if scores := ", ".join(f"{name} {value}" for name, value in known.items() if value):
            yield f"  dimensions  {line_of(scores)}"
    checks = one.get("deterministic")
    if isinstance(checks, dict):
        counts = {OUTCOMES[name]: checks.get(name) for name in OUTCOMES}
        summary = ", ".join(f"{n:,} {word}" for word, n in counts.items() if isinstance(n, int))
        yield f"  checks      {summary}"


def _number(value: Any) -> str | None:
    """Return a score as it was said, without digits that mean nothing."""
    is_score = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:.5g}" if is_score else None


@dataclass(frozen=True)
class TrialPage:
    """All that is known of one trial."""

    trial: ShownTrial
    text: TrialText
    trace: Artifact | NoTrace
    validator: Mapping[str, JsonValue] | None
    """As the case has it; None where nobody kept it."""
    judgements: Sequence[ShownJudgement] = ()
    """What judges said of it, by evaluation profile."""
    preferences: Sequence[ShownPreference] = ()
    """What they prefer, by evaluation profile and other trial."""


def transcript_lines(page: TrialPage) -> Iterator[str]:
    """Yield the page of one trial."""
    trial = page.trial
    yield line_of(
        f"{trial.case_id} · {trial.model_id} · repetition {trial.repetition} · run {trial.run_id}"
    )
    yield ""
    yield from facts(facts_of(page))
    if trial.is_missing:
        yield ""
        yield "This trial was planned and has no result."
        return
    if judged := list(judged_lines(page)):
        yield ""
        yield "Judged"
        yield from indented(judged)
    yield ""
    yield from _conversation(page)


def facts_of(page: TrialPage) -> Iterator[tuple[str, str]]:
    """Yield what is known of a trial as name and value; what is not known has an empty value."""
    trial = page.trial
    yield "verdict", verdict_of(trial)
    yield "model", model_of(trial)
    if trial.prompt_name and trial.prompt_name != trial.case_id:
        yield "case", line_of(trial.prompt_name)
    yield "served by", line_of(" · ".join(filter(None, (trial.served_provider, _served(trial)))))
    yield "failure", failure_of(trial)
    yield "message", line_of(page.text.error_message or "")
    yield "started", f"{moment(trial.started_at_ms)} UTC" if trial.started_at_ms else ""
    yield "time", _times(page)
    yield "tokens", _tokens(trial)
    yield "cost", _cost(trial)
    yield "tools", _tools(trial)
    yield "finish", line_of(trial.finish_reason or "")
    yield "requests", _requests(page)
    if isinstance(page.trace, Artifact):
        yield "turns", "" if page.trace.turns is None else whole(page.trace.turns)
        phases = (f"{line_of(name)} {duration(ms)}" for name, ms in page.trace.phases.items())
        yield "phases", ", ".join(phases)
        yield "workspace", line_of(page.trace.workspace or "")
    reused = trial.reused_from_run_id
    yield "reused", "" if reused is None else f"from run {line_of(reused)}"
    yield "trace", line_of(trial.artifact_path or "")


def verdict_of(trial: ShownTrial) -> str:
    """Return the verdict in words, with how the trial ended where there is none."""
    if trial.is_missing:
        return "missing"
    words = VERDICTS[trial.passed]
    if trial.passed is None and trial.is_success and not trial.is_scorable:
        return f"{words}: the case has nothing to judge by"
    return words


def failure_of(trial: ShownTrial) -> str:
    """Return how a trial failed and whose that is; nothing for a success."""
    if trial.failure_type is None:
        return ""
    code = trial.error_code
    extra = f" ({code})" if code and code != trial.failure_type else ""
    cause = f", cause: {trial.cause}" if trial.cause else ""
    return line_of(f"{trial.failure_type}{extra}{cause}, {trial.availability_status}")


def model_of(trial: ShownTrial) -> str:
    """Return the model as it was asked for."""
    level = f" · thinking {trial.thinking_level}" if trial.thinking_level else ""
    model_id = f"{hidden} · " if (hidden := hidden_id(trial.model_id)) else ""
    return line_of(f"{model_id}{trial.provider} · {trial.model}{level}")


def _served(trial: ShownTrial) -> str:
    return "" if trial.served_model in {None, trial.model} else trial.served_model or ""


def _times(page: TrialPage) -> str:
    trial, trace = page.trial, page.trace
    wall = trace.wall_ms if isinstance(trace, Artifact) else None
    parts = (
        ("", trial.e2e_ms, " for the answer"),
        ("first token after ", trial.ttft_ms, ""),
        ("", trial.tool_ms, " for tools"),
        ("", wall, " with waits and retries"),
        ("our own loop late by ", trial.clock_late_ms or None, ""),
    )
    return ", ".join(f"{a}{duration(ms)}{b}" for a, ms, b in parts if ms is not None)


def _tokens(trial: ShownTrial) -> str:
    parts = (
        (trial.input_tokens, "in"),
        (trial.cached_input_tokens, "of them cached"),
        (trial.output_tokens, "out"),
        (trial.reasoning_tokens, "of them reasoning"),
    )
    return ", ".join(f"{whole(number)} {name}" for number, name in parts if number is not None)


def _cost(trial: ShownTrial) -> str:
    if trial.is_missing:
        return ""
    if trial.cost_usd is None:
        return "unknown"
    who = "named by the provider" if trial.cost_source == "provider" else "computed from prices"
    return f"{usd(trial.cost_usd)} USD, {who}"


def _tools(trial: ShownTrial) -> str:
    called = ", ".join(trial.tool_calls or ())
    wanted = ", ".join(trial.expected_tools)
    if not called and not wanted:
        return ""
    source = f" (seen in the {trial.tool_call_source})" if trial.tool_call_source else ""
    expected = f"; expected: {wanted}" if wanted else ""
    return line_of(f"called: {called or 'none'}{source}{expected}")


def _requests(page: TrialPage) -> str:
    trial, n_records = page.trial, page.text.n_records
    if trial.attempt_count is None:
        return ""
    status = "" if trial.http_status is None else f", the last one HTTP {trial.http_status}"
    again = f"; the last of {n_records} records of this trial" if n_records > 1 else ""
    return f"{whole(trial.attempt_count)}{status}{again}"


def judged_lines(page: TrialPage) -> Iterator[str]:
    """Yield what was expected and what came, where the case or its checks tell."""
    yield from _judged(page)
    yield from map(_check, page.trial.checks or ())
    yield from score_lines(page.text.parsed_output)
    yield from judgement_lines(page.judgements)
    yield from preference_lines(page.preferences)


def _judged(page: TrialPage) -> Iterator[str]:
    trial = page.trial
    if trial.validator_type in {None, "noop"}:
        if trial.violation:  # of an imported run: another tool judged
            yield f"why  {line_of(trial.violation)}"
        return
    yield f"validator {trial.validator_type}: {VERDICTS[trial.objective_pass]}"
    if page.validator is not None:
        rules = {name: value for name, value in page.validator.items() if name != "type"}
        yield f"  expected  {line_of(json.dumps(rules, ensure_ascii=False))}"
    if trial.objective_pass is False:
        got = json.dumps(
            clipped(page.text.raw_output.strip(), MAX_JUDGED_CHARS), ensure_ascii=False
        )
        yield f"  got       {line_of(got)}"
        if trial.violation:
            yield f"  why       {line_of(trial.violation)}"
    if page.text.parsed_output not in {None, "null"}:
        yield f"  parsed    {line_of(clipped(page.text.parsed_output or '', MAX_JUDGED_CHARS))}"


def _check(check: Mapping[str, str | None]) -> str:
    reason = f", {check['reason']}" if check["reason"] else ""
    message = f": {check['message']}" if check["message"] else ""
    head = f"check {check['check_id']} ({check['kind']})"
    return line_of(f"{head}: {check['outcome']}{reason}{message}")


def _conversation(page: TrialPage) -> Iterator[str]:
    trace = page.trace
    if isinstance(trace, Artifact):
        yield "Transcript"
        if trace.request:
            request = json.dumps(trace.request, ensure_ascii=False)
            yield from indented([line_of(f"request {request}")])
        yield from trace_lines(trace)
        if trace.usage is not None:
            yield f"usage  {line_of(json.dumps(trace.usage, ensure_ascii=False))}"
        return
    yield f"No transcript: {line_of(trace.reason)}."
    if page.text.raw_output:
        cut = ", its first 64 KB" if page.trial.raw_output_truncated else ""
        yield f"Answer, as the lake has it{cut}:"
        yield from indented(lines_of(page.text.raw_output))
    elif page.trial.failure_type == "empty_response":
        yield "The answer was empty."
    else:
        yield "No text of an answer is kept."
