"""One document of a task as a line of ours, with its trace.

Its requests and all their repeats are one trial, since the harness makes one score of them. What is
scored by likelihood wrote nothing: the choice that was likeliest stands for an answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

from analyze.importers.base import Traced
from analyze.importers.defaults import result_of
from analyze.importers.lenient import free, number, object_in, text, value_of
from analyze.importers.lm_eval.files import Row, Samples, Seen
from analyze.importers.lm_eval.verdict import Deciding
from schemas.config.case import Role
from schemas.redact import redact_json
from schemas.run.result import Score
from schemas.run.trace import Artifact

ROLES = frozenset(get_args(Role))

MAX_MESSAGES = 10_000
"""Of one document, in its trace."""


class Request(NamedTuple):
    """What was asked of the model, and all that it answered."""

    arguments: list[Any]
    answers: list[Any]

    @property
    def likelihoods(self) -> list[tuple[float, bool]]:
        """Log-likelihood and whether it was the greedy answer; empty for a generation."""
        found = []
        for one in self.answers:
            if not isinstance(one, list) or len(one) != 2:
                return []
            value = one[0]
            if isinstance(value, str):
                try:
                    value = float(value)
                except ValueError:
                    return []
            if (logprob := number(value)) is None:
                return []
            found.append((logprob, str(one[1]) == "True"))
        return found


def requests_of(row: Row) -> list[Request]:
    """Return the requests of a document in their order."""
    asked = row.get("arguments")
    if isinstance(asked, dict):
        each = [list(one.values()) if isinstance(one, dict) else [one] for one in asked.values()]
    elif isinstance(asked, list):
        each = [one if isinstance(one, list) else [one] for one in asked]
    else:
        each = []
    given = row.get("resps")
    listed = given if isinstance(given, list) else []
    answers = [one if isinstance(one, list) else [one] for one in listed]
    n = max(len(each), len(answers))
    each += [[] for _ in range(n - len(each))]
    answers += [[] for _ in range(n - len(answers))]
    return [Request(*one) for one in zip(each, answers, strict=True)]


def answer_of(requests: list[Request]) -> str:
    """Return the first generated text, or the text of the likeliest choice."""
    if not requests:
        return ""
    if not requests[0].likelihoods:
        return text(requests[0].answers[0]) if requests[0].answers else ""
    choices = [
        (request.likelihoods[0], request.arguments)
        for request in requests
        if request.likelihoods and len(request.arguments) >= 2 and request.arguments[0] != ""
    ]
    if not choices:
        return ""
    if len(choices) == 1:
        (_, is_greedy), arguments = choices[0]
        return text(arguments[1]) if is_greedy else ""
    _, likeliest = max(choices, key=lambda one: one[0][0])
    continues = {text(arguments[1]) for _, arguments in choices}
    return text(likeliest[1 if len(continues) > 1 else 0])


def trace_of(requests: list[Request], answer: str, at_ms: int) -> Any:
    """Return what was asked and answered as events; all of them stand at one time."""
    events = [*_events(requests), {"event_type": "final_output", "content": answer}]
    return tuple({"sequence": n, "at_ms": at_ms} | event for n, event in enumerate(events))


def _events(requests: list[Request]) -> Iterator[dict[str, Any]]:
    said: object = None
    for request in requests[:MAX_MESSAGES]:
        context = request.arguments[0] if request.arguments else None
        if context != said:
            said = context
            yield from _messages(context)
        if chances := request.likelihoods:
            choice = request.arguments[1] if len(request.arguments) > 1 else None
            logprob, is_greedy = chances[0]
            detail = {"choice": free(choice), "logprob": logprob, "is_greedy": is_greedy}
            yield {"event_type": "runner", "name": "loglikelihood", "detail": detail}
            continue
        for one in request.answers[:MAX_MESSAGES]:
            yield {"event_type": "message", "role": "assistant", "content": text(one)}


def _messages(context: object) -> Iterator[dict[str, Any]]:
    """Yield a prompt as messages: of a chat it is a list of one text, which is JSON."""
    first = context[0] if isinstance(context, list) and len(context) == 1 else None
    if isinstance(first, str):
        try:
            context = value_of(first.encode())
        except ValueError:
            context = first
    chat = context if isinstance(context, list) else []
    if chat and all(text(object_in(one).get("role")) in ROLES for one in chat):
        for one in chat[:MAX_MESSAGES]:
            content = text(one.get("content"))
            yield {"event_type": "message", "role": one["role"], "content": content}
    elif context is not None:
        yield {"event_type": "message", "role": "user", "content": text(context)}


HASHES = ("doc_hash", "prompt_hash", "target_hash")


class Place(NamedTuple):
    """What all lines of one task have in common."""

    fields: dict[str, Any]
    """Of the line."""
    version: str
    """Of the task, and its number of shots."""
    at_ms: int
    deciding: Deciding
    scores: list[tuple[str, str]]
    """Metrics and filters, in the order of the results."""


def traced_of(place: Place, samples: Samples, doc_id: int, names: dict[str, Any]) -> Traced:
    """Return the line and the trace of one document.

    Args:
        place: of the task.
        samples: of the task.
        doc_id: of the document.
        names: case_id and prompt_id.

    Raises:
        OSError: its file cannot be read.
    """
    filters, deciding = samples.docs[doc_id], place.deciding
    seen = filters.get(deciding.filter) or next(iter(filters.values()))
    row = samples.row(seen.place)
    requests = requests_of(row)
    answer = answer_of(requests)
    value = seen.scores.get(deciding.metric) if deciding.filter in filters else None
    passed = deciding.passed(value)
    key = {name: place.fields[name] for name in ("run_id", "model_id")}
    result = result_of(
        **place.fields,
        **names,
        repetition=1,
        started_at_ms=place.at_ms,
        ended_at_ms=place.at_ms,
        objective_pass=passed,
        passed=passed,
        case_hash=_case_hash(place, row),
        violation=f"{deciding.name} is {value:g}"
        if passed is False and value is not None
        else None,
        raw_output=answer,
        parsed_output=free(
            {
                "filter": row.get("filter"),
                "filtered_resps": row.get("filtered_resps"),
                "target": row.get("target"),
            }
        ),
        attempt_count=sum(max(1, len(one.answers)) for one in requests),
        scores=_scores(place.scores, filters),
    )
    artifact = Artifact(
        **key,
        case_id=names["case_id"],
        repetition=1,
        wall_ms=0,
        request=_settings(requests),
        trace=trace_of(requests, answer, place.at_ms),
        turns=None,
    )
    return Traced(result, artifact)


def _case_hash(place: Place, row: Row) -> str | None:
    """Return what tells a document from a changed one: the harness' hashes, and what judges it."""
    hashes = [row.get(name) for name in HASHES]
    if not all(isinstance(one, str) and one for one in hashes):
        return None
    parts = (place.version, place.deciding.name, *map(str, hashes))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _scores(listed: list[tuple[str, str]], filters: dict[str, Seen]) -> tuple[Score, ...]:
    here = [(metric, name) for name, one in filters.items() for metric in one.scores]
    order = list(dict.fromkeys([*(one for one in listed if one in set(here)), *here]))
    return tuple(
        Score(name=f"{metric},{name}", value=filters[name].scores[metric]) for metric, name in order
    )


def _settings(requests: list[Request]) -> dict[str, Any]:
    """Return the settings of a generation."""
    arguments = requests[0].arguments if requests else []
    settings = arguments[1] if len(arguments) > 1 else None
    found = free(settings) if isinstance(settings, dict) else {}
    return dict(redact_json(found)) if isinstance(found, dict) else {}  # type: ignore[arg-type]
