"""One row of promptfoo as a line of ours, with its trace.

`success` is a verdict only where an assertion looked: a test without any passes there, and a grader
that broke fails. Of an answer from promptfoo's cache neither time nor tokens are of this run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

from analyze.importers.base import Traced
from analyze.importers.defaults import moment_of, result_of
from analyze.importers.lenient import free, number, object_in, text, value_of, whole
from analyze.importers.promptfoo.columns import model_of, provider_of
from analyze.importers.promptfoo.files import Row
from schemas.config.case import Role
from schemas.failures import classify
from schemas.run.result import CheckOutcome, CheckResult, Score
from schemas.run.trace import Artifact

NONE, ASSERT, ERROR = 0, 1, 2
"""Of `failureReason`."""

NAMED_REASONS = {"none": NONE, "assert": ASSERT, "error": ERROR}

CACHE = "promptfoo-cache"
"""Stands for the run that a cached answer was made in, which nobody knows."""

STRIPPED = re.compile(r"\[[a-z ]+ stripped\]")
"""What PROMPTFOO_STRIP_* leaves of a text."""

BROKEN = re.compile(
    r"Custom function threw error|Could not extract JSON|Python code execution failed|"
    r"Python assertion failed with|Ruby code execution failed|API (call )?error|"
    r"Remote grading failed|Failed to parse|Error: "
)
"""Begins the reason of an assertion that could not look; later versions mark some of them."""

HTTP = re.compile(r"(?:error|status|HTTP)[^0-9\n]{0,12}([45]\d\d)\b", re.IGNORECASE)

FAILURES = (
    (re.compile(r"timed? ?out|timeout|aborted", re.IGNORECASE), "timeout"),
    (re.compile(r"API key (is )?(not set|required|missing)", re.IGNORECASE), "api_key_missing"),
    (re.compile(r"ECONN|ENOTFOUND|EAI_AGAIN|fetch failed|socket hang up", re.IGNORECASE),
     "connection_error"),
)  # fmt: skip
"""By the text of the error, which is all there is."""

ROLES = frozenset(get_args(Role))
MAX_MESSAGES = 10_000
MAX_USD = 1e6
MAX_EPOCH_MS = 2**53


class Verdict(NamedTuple):
    """What a row says of its answer."""

    reason: int
    passed: bool | None
    checks: tuple[CheckResult, ...]
    is_unasserted: bool
    is_broken: bool
    """Only assertions that could not look stand against it."""

    @property
    def outcome(self) -> str:
        """What promptfoo counts it as."""
        return ("pass", "fail", "error")[self.reason]


def verdict_of(row: Row) -> Verdict:
    """Return the verdict of a row."""
    reason, grading = _reason(row), object_in(row.get("gradingResult"))
    checks = checks_of(grading)
    if reason == ERROR:
        return Verdict(reason, None, checks, False, False)
    if _is_unasserted(row, grading, checks):
        return Verdict(reason, None, checks, True, False)
    outcomes = {one.outcome for one in checks}
    is_broken = reason == ASSERT and (
        ("error" in outcomes and "failed" not in outcomes) or (not checks and _is_error(grading))
    )
    return Verdict(reason, None if is_broken else reason == NONE, checks, False, is_broken)


def _reason(row: Row) -> int:
    """Return why a row failed; before rows said it, one without any grading was an error."""
    said = row.get("failureReason")
    if isinstance(said, str):
        said = NAMED_REASONS.get(said.lower())
    if type(said) is int and said in {ASSERT, ERROR}:
        return said
    if row.get("success"):
        return NONE
    is_error = bool(row.get("error")) and not isinstance(row.get("gradingResult"), dict)
    return ERROR if is_error else ASSERT


def _is_unasserted(row: Row, grading: dict[str, Any], checks: tuple[CheckResult, ...]) -> bool:
    if checks or grading.get("assertion"):
        return False
    if text(grading.get("reason")) == "No assertions":
        return True
    test = row.get("testCase")
    return isinstance(test, dict) and not test.get("assert") and bool(row.get("success"))


def checks_of(grading: dict[str, Any]) -> tuple[CheckResult, ...]:
    """Return what each assertion found."""
    parts = grading.get("componentResults")
    every = [one for one in parts if isinstance(one, dict)] if isinstance(parts, list) else []
    return tuple(_check(n, one) for n, one in enumerate(every, 1))


def _check(number_: int, part: dict[str, Any]) -> CheckResult:
    assertion = object_in(part.get("assertion"))
    kind = text(assertion.get("type"))[:256] or "assertion"
    is_error = not part.get("pass") and _is_error(part)
    outcome: CheckOutcome = "error" if is_error else "passed" if part.get("pass") else "failed"
    return CheckResult(
        check_id=f"{number_}-{kind}",
        kind=kind,
        outcome=outcome,
        message=text(part.get("reason")) or None,
        reason="grader_error" if is_error else None,
    )


def _is_error(part: dict[str, Any]) -> bool:
    marked = object_in(part.get("metadata")).get("graderError") is True
    return marked or BROKEN.match(text(part.get("reason"))) is not None


def failure_of(message: str) -> str:
    """Return the failure_type of an error of a provider or of promptfoo itself."""
    if match := HTTP.search(message[:2_000]):
        return f"http_{match[1]}"
    return next((name for pattern, name in FAILURES if pattern.search(message)), "exception")


def is_cached(row: Row) -> bool:
    """Return whether an answer came from promptfoo's cache."""
    return object_in(row.get("response")).get("cached") is True


def is_stripped(row: Row) -> bool:
    """Return whether a text was taken out when the file was written."""
    answer, asked = object_in(row.get("response")).get("output"), _prompt(row)
    return any(isinstance(one, str) and STRIPPED.fullmatch(one) for one in (answer, asked))


def _prompt(row: Row) -> object:
    prompt = row.get("prompt")
    return prompt.get("raw") if isinstance(prompt, dict) else prompt


def answer_of(row: Row) -> str:
    """Return the answer of a row; nothing where it was taken out."""
    answer = text(object_in(row.get("response")).get("output"))
    return "" if STRIPPED.fullmatch(answer) else answer


def began_at(row: Row, default_ms: int) -> int:
    """Return when a row was made, which a database says, to the second."""
    made = row.get("createdAt")
    if (at_ms := whole(made, MAX_EPOCH_MS)) is not None:
        return at_ms if at_ms > 10**11 else at_ms * 1000
    found = moment_of(made)
    return default_ms if found is None else found


def traced_of(row: Row, names: dict[str, Any], default_ms: int) -> Traced:
    """Return the line and the trace of a row.

    Args:
        row: as the file has it.
        names: run_id, suite_id, model_id, case_id, repetition, prompt_id and prompt_name.
        default_ms: when the evaluation began.
    """
    verdict = verdict_of(row)
    provider, model = model_of(provider_of(row)[0])
    took = whole(row.get("latencyMs"))
    began = began_at(row, default_ms)
    said = text(row.get("error")) or text(object_in(row.get("response")).get("error"))
    failure = failure_of(said) if verdict.reason == ERROR else None
    against = failure is not None and classify(failure).counts_against_model
    response = object_in(row.get("response"))
    answer = answer_of(row)
    cached = is_cached(row)
    result = result_of(
        failure_type=failure,
        **names,
        provider=provider,
        model=model,
        started_at_ms=began,
        ended_at_ms=min(began + (took or 0), MAX_EPOCH_MS),
        e2e_ms=None if cached or failure else took,
        objective_pass=verdict.passed,
        passed=False if against else verdict.passed,
        violation=_violation(row) if verdict.passed is False else None,
        raw_output=answer,
        checks=verdict.checks,
        error_message=said or None if failure else None,
        http_status=int(failure[5:]) if failure and failure.startswith("http_") else None,
        finish_reason=text(response.get("finishReason")) or None,
        reused_from_run_id=CACHE if cached else None,
        scores=_scores(row, verdict),
        **({} if cached else _usage(row)),
    )
    artifact = Artifact(
        **{name: names[name] for name in ("run_id", "model_id", "case_id", "repetition")},
        wall_ms=took or 0,
        request={"model": model},
        usage=free(row.get("tokenUsage") or response.get("tokenUsage")),
        trace=_trace(row, answer, began),
    )
    return Traced(result, artifact)


def _violation(row: Row) -> str | None:
    grading = object_in(row.get("gradingResult"))
    return text(grading.get("reason")) or text(row.get("error")) or None


def _scores(row: Row, verdict: Verdict) -> tuple[Score, ...]:
    score = None if verdict.reason == ERROR else number(row.get("score"))
    named = object_in(row.get("namedScores"))
    if not named:
        named = object_in(row.get("gradingResult"), "namedScores")
    return (
        Score(name="score", value=score),
        *(Score(name=name, value=number(value)) for name, value in named.items()),
    )


def _usage(row: Row) -> dict[str, Any]:
    """Return tokens and cost; zeros alone are what promptfoo writes where nobody counted."""
    response = object_in(row.get("response"))
    usage = object_in(row.get("tokenUsage")) or object_in(response.get("tokenUsage"))
    parts = object_in(usage.get("completionDetails"))
    asked, said = whole(usage.get("prompt")), whole(usage.get("completion"))
    if not asked and not said:
        asked = said = None
    cache = whole(parts.get("cacheReadInputTokens")) or None
    thought = whole(parts.get("reasoning")) or None
    cost = number(response.get("cost"))
    if cost is None:
        cost = number(row.get("cost")) or None
    if cost is not None and not 0 <= cost <= MAX_USD:
        cost = None
    return {
        "input_tokens": asked,
        "output_tokens": said,
        "cached_input_tokens": cache if asked and cache and cache <= asked else None,
        "reasoning_tokens": thought if said and thought and thought <= said else None,
        "token_source": None if asked is None and said is None else "api",
        "cost_usd": cost,
        "cost_source": None if cost is None else "computed",
    }


def _trace(row: Row, answer: str, at_ms: int) -> Any:
    events = [*_asked(_prompt(row))]
    if answer:
        events.append({"event_type": "message", "role": "assistant", "content": answer})
    events.append({"event_type": "final_output", "content": answer})
    return tuple({"sequence": n, "at_ms": at_ms} | event for n, event in enumerate(events))


def _asked(prompt: object) -> Iterator[dict[str, Any]]:
    """Yield a prompt as messages: one of a chat is JSON, or lies there as such."""
    said = text(prompt)
    if not said or STRIPPED.fullmatch(said):
        return
    chat = prompt
    if said.lstrip().startswith("["):
        try:
            chat = value_of(said.encode("utf-8", "replace"))
        except ValueError:
            chat = None
    turns = chat if isinstance(chat, list) else []
    if turns and all(text(object_in(one).get("role")) in ROLES for one in turns):
        for one in turns[:MAX_MESSAGES]:
            content = text(one.get("content"))
            yield {"event_type": "message", "role": one["role"], "content": content}
        return
    yield {"event_type": "message", "role": "user", "content": said}
