"""An agent's log as a trial: a line of what it all came to, and the trace of every step.

A sum of which one part is unknown is unknown. What was taken over from another session is in the
trace, marked as such, and in no sum. No request was timed, so there is no latency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analyze.importers.base import Traced
from analyze.importers.defaults import result_of
from schemas.base import MAX_QUANTITY
from schemas.formats.agent_logs.events import trace_of
from schemas.formats.agent_logs.log import MAIN, AgentLog, Entry
from schemas.redact import redact
from schemas.run.trace import Artifact

AGENT = "command"
"""Runner of an agent by its command line."""

UNKNOWN = "unknown"
"""Model of a trial whose files name none."""

TOKENS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens")

OF_TOOL = ("<", "# AGENTS.md instructions")
"""Begins what a tool says in the user's name."""

MAX_NAME_CHARS = 120
MAX_MESSAGE_CHARS = 2_000


@dataclass(frozen=True, kw_only=True)
class AgentTrial:
    """A trial of an agent, as its files tell of it."""

    run_id: str
    suite_id: str
    provider: str
    """Name of the tool that wrote the files."""
    model: str
    model_id: str
    case_id: str
    prompt_id: str
    """As the tool calls it."""
    log: AgentLog
    written_at_ms: int
    """When its file was last written, for logs without times."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the line."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """What is known of how the agent ran."""


def traced_of(trial: AgentTrial) -> Traced:
    """Return the line and the trace of a trial."""
    own = list(own_entries(trial.log))
    times = [one.at_ms for one in own if one.at_ms]
    began = min(times, default=trial.written_at_ms)
    ended = max(times, default=trial.written_at_ms)
    place: dict[str, Any] = {
        "run_id": trial.run_id,
        "model_id": trial.model_id,
        "case_id": trial.case_id,
        "repetition": 1,
    }
    tools = tuple(dict.fromkeys(one.name[:256] for one in trial.log.calls if one.name))
    answers = [one for one in own if is_answer(one)]
    cost = cost_of(answers)
    last = next((one for one in reversed(own_main(trial.log)) if is_answer(one)), None)
    facts: dict[str, Any] = {
        "raw_output": last_text(trial.log),
        "requested_model": next((one.requested_model for one in own if one.requested_model), None),
        "served_model": next((one.served_model for one in own if one.served_model), None),
        "finish_reason": None if last is None else last.finish_reason,
        "cost_usd": cost,
        "cost_source": None if cost is None else "provider",
        **{name: tokens_of(answers, name) for name in TOKENS},
        **trial.facts,
    }
    result = result_of(
        **place,
        suite_id=trial.suite_id,
        provider=trial.provider,
        model=trial.model,
        prompt_id=trial.prompt_id,
        prompt_name=title_of(trial.log),
        runner_type=AGENT,
        started_at_ms=began,
        ended_at_ms=ended,
        tool_calls=tools,
        tool_call_count=len(tools),
        tool_call_source="api" if tools else None,
        tool_ms=_tool_ms(own),
        token_source=trial.provider,
        **facts,
    )
    artifact = Artifact(
        **place,
        wall_ms=min(ended - began, MAX_QUANTITY),
        request=dict(trial.request),
        trace=trace_of(trial.log, began),
        turns=len(answers),
    )
    return Traced(result, artifact)


def own_entries(log: AgentLog) -> Iterator[Entry]:
    """Yield the entries of every trajectory that were not taken over from elsewhere."""
    for trajectory in log.trajectories:
        yield from (one for one in trajectory.entries if not one.is_copied)


def own_main(log: AgentLog) -> list[Entry]:
    """Return what the agent itself did, without what was taken over from elsewhere."""
    main = next((one.entries for one in log.trajectories if one.path == MAIN), ())
    return [one for one in main if not one.is_copied]


def is_answer(entry: Entry) -> bool:
    """Return whether a model has said it."""
    return entry.kind == "assistant" and not entry.is_failed


def last_text(log: AgentLog) -> str:
    """Return the last text that the agent itself has said in this session."""
    said = (one.text for one in reversed(own_main(log)) if is_answer(one))
    return next((text for text in said if text.strip()), "")


def title_of(log: AgentLog) -> str | None:
    """Return the first line that a user has said, and that no tool has said in their name."""
    for entry in own_main(log):
        text = entry.text.strip()
        if entry.kind == "user" and text and not text.startswith(OF_TOOL):
            return redact(text.splitlines()[0])[:MAX_NAME_CHARS]
    return None


def tokens_of(answers: Sequence[Entry], name: str) -> int | None:
    """Return the sum of a count over answers; None where one of them does not tell it."""
    return _sum(answers, lambda one: None if one.usage is None else one.usage.get(name))


def cost_of(answers: Sequence[Entry]) -> float | None:
    """Return the sum of what answers have cost in USD; None where one of them does not tell it."""
    costs = [one.cost_usd for one in answers]
    known = [one for one in costs if one is not None]
    total = sum(known)
    return total if known and len(known) == len(costs) and total <= 1e6 else None


def _sum(answers: Sequence[Entry], count: Callable[[Entry], int | None]) -> int | None:
    counts = [count(one) for one in answers]
    known = [one for one in counts if one is not None]
    total = sum(known)
    return total if known and len(known) == len(counts) and total <= MAX_QUANTITY else None


def _tool_ms(own: Sequence[Entry]) -> int | None:
    return _sum([one for one in own if one.kind == "tool_result"], lambda one: one.duration_ms)
