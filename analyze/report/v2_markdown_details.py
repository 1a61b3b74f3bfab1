"""Each instance of an evaluation report as Markdown, the best score first.

A report of somebody else may hold anything in fields of ours: what does not fit is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from analyze.render.numbers import duration
from analyze.summary.summary_table import as_text
from schemas.formats.report_v2_instance import (
    COMPONENTS,
    MAX_POINTS,
    Component,
    InstanceResult,
    ValidationBreakdown,
    is_scored,
    status_of,
)

COMPONENT_NAMES: dict[Component, str] = {
    "deployment": "Deployment",
    "unit_test": "Unit tests",
    "functional": "Functional",
    "bulk": "Bulk",
    "no_tweaks": "No tweaks",
}

LONGEST = 500
"""Characters of a message; the report has all of them."""

MOST_REPETITIONS = 1_000_000
"""A number above it is no number of a repetition."""

VERDICTS = {True: "passed", False: "did not pass", None: "no verdict"}

CUT = "…"


def details(instances: Iterable[InstanceResult]) -> Iterator[list[str]]:
    """Yield the blocks of every instance, by score and then by id; unscored ones come last."""
    for one in sorted(instances, key=_order):
        yield [f"### {as_text(one.instance_id)}: {one.status}"]
        if facts := list(_facts(one)):
            yield facts
        if is_scored(one.validation):
            yield _component_table(one.validation)


def _order(instance: InstanceResult) -> tuple[float, str]:
    score = instance.validation.total_score
    return float("inf") if score is None else -score, instance.instance_id


def _facts(instance: InstanceResult) -> Iterator[str]:
    score, seconds = instance.validation.total_score, instance.duration_seconds
    if instance.resolved != (instance.status == "resolved"):
        yield f"- Verdict: {'resolved' if instance.resolved else 'not resolved'}"
    if score is not None:
        yield f"- Score: {score_text(score)} / 100"
    if seconds is not None:
        yield f"- Duration: {duration(1000 * seconds)}"
    repetitions = (instance.model_extra or {}).get("repetitions")
    if isinstance(repetitions, list) and (told := list(_repetitions(repetitions))):
        yield f"- Repetitions: {'; '.join(told)}"
    if instance.error_message or instance.error_type:
        said = ": ".join(filter(None, (instance.error_type, instance.error_message)))
        yield f"- Error: {short(said)}"


def _repetitions(repetitions: Sequence[Any]) -> Iterator[str]:
    for one in repetitions:
        if not isinstance(one, dict):
            continue
        number, passed = one.get("repetition"), one.get("passed")
        if type(number) is not int or not 0 < number < MOST_REPETITIONS:
            continue
        if not (passed is None or isinstance(passed, bool)):
            continue
        failure = one.get("failure_type")
        if one.get("status") == "missing":
            yield f"{number} missing"
        else:
            why = f" ({short(failure)})" if isinstance(failure, str) else ""
            yield f"{number} {VERDICTS[passed]}{why}"


def _component_table(validation: ValidationBreakdown) -> list[str]:
    rows = []
    for name in COMPONENTS:
        earned = getattr(validation, f"{name}_points")
        message = getattr(validation, f"{name}_message")
        rows.append(
            (
                COMPONENT_NAMES[name],
                status_of(validation, name),
                f"{score_text(earned)} / {MAX_POINTS[name]}",
                short(message or ""),
            )
        )
    return markdown_rows(("Component", "Status", "Points", "Message"), rows)


@lru_cache(maxsize=4096)
def short(text: str) -> str:
    """Return the beginning of a text from outside, as text that Markdown shows as it is."""
    return as_text(text if len(text) <= LONGEST else text[:LONGEST] + CUT)


def score_text(score: float) -> str:
    """Return a score or points: whole ones without decimals, others with one."""
    return f"{score:.0f}" if score == int(score) else f"{score:.1f}"


def markdown_rows(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table of cells that are safe already; nothing at all without rows."""
    if not rows:
        return []
    return ["| " + " | ".join(line) + " |" for line in (titles, ["---"] * len(titles), *rows)]
