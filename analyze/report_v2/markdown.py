"""summary.md of an evaluation report v2: numbers first, then tasks by what became of them.

A function of the report alone: no clock, and nothing is counted again that the report says itself.
Names, messages and answers are shown as text and nothing else (D-H5). Instances stand with the best
score first. A report of somebody else may hold anything in fields of ours: what does not fit is
left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from analyze.render.markdown import as_text, markdown_rows
from analyze.render.numbers import duration, percent, percent_range, whole
from analyze.render.text import clipped
from analyze.report_v2.files import given_report
from analyze.stats.intervals import MIN_CASES, wilson
from schemas.errors import counted
from schemas.formats.report_v2 import EvaluationReport, ReportSummary
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

MAX_MESSAGE_CHARS = 500
"""Characters of a message; the report has all of them."""

MAX_REPETITIONS = 1_000_000
"""A number above it is no number of a repetition."""

VERDICTS = {True: "passed", False: "did not pass", None: "no verdict"}

NONE = "*None*"
"""Stands for an empty list of tasks."""

UNKNOWN = "unknown"


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
    if isinstance(repetitions, list) and (outcomes := list(_repetitions(repetitions))):
        yield f"- Repetitions: {'; '.join(outcomes)}"
    if instance.error_message or instance.error_type:
        said = ": ".join(filter(None, (instance.error_type, instance.error_message)))
        yield f"- Error: {short(said)}"


def _repetitions(repetitions: Sequence[Any]) -> Iterator[str]:
    for one in repetitions:
        if not isinstance(one, dict):
            continue
        number, passed = one.get("repetition"), one.get("passed")
        if type(number) is not int or not 0 < number < MAX_REPETITIONS:
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
    rows = [
        (
            COMPONENT_NAMES[name],
            status_of(validation, name),
            f"{score_text(getattr(validation, f'{name}_points'))} / {MAX_POINTS[name]}",
            short(getattr(validation, f"{name}_message") or ""),
        )
        for name in COMPONENTS
    ]
    return markdown_rows(("Component", "Status", "Points", "Message"), rows)


@lru_cache(maxsize=4096)
def short(text: str) -> str:
    """Return the beginning of a text from outside, as text that Markdown shows as it is."""
    return as_text(clipped(text, MAX_MESSAGE_CHARS))


def score_text(score: float) -> str:
    """Return a score or points: whole ones without decimals, others with one."""
    return f"{score:.0f}" if score == int(score) else f"{score:.1f}"


def generate_markdown_summary(report: EvaluationReport | Mapping[str, Any]) -> str:
    """Return a report as Markdown; the same report gives the same text.

    Args:
        report: a report, or the parsed JSON of its file.

    Raises:
        SchemaError: it is no report of schema 2.0.
    """
    known = given_report(report)
    blocks = [
        ["# Evaluation report"],
        _about(known),
        *_sections("Overall results", _overall(known), _partial(known)),
        *_sections("Scoring", _scoring(known.summary), _scored(known)),
        *_sections("Components", _components(known.summary)),
        *_sections("Performance", _performance(known.summary)),
        ["## Tasks"],
        *_tasks(known),
        ["## Details"],
        *(details(known.instances) if known.instances else [[NONE]]),
    ]
    text = "\n\n".join("\n".join(block) for block in blocks) + "\n"
    return text.encode("utf-8", "replace").decode("utf-8")  # without halves of characters


def _sections(title: str, *blocks: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield a heading with its blocks; nothing at all where all of them are empty."""
    there = [block for block in blocks if block]
    if there:
        yield [f"## {title}"]
        yield from there


def _about(report: EvaluationReport) -> list[str]:
    named = {
        "Model": report.model_name,
        "Data set": report.dataset,
        "Run": report.run_id,
        "Start": report.start_time,
        "End": report.end_time or UNKNOWN,
    }
    return [f"- {title}: {as_text(text)}" for title, text in named.items()]


def _overall(report: EvaluationReport) -> list[str]:
    said = report.summary
    counts = {
        "Total": said.total_instances,
        "Submitted": said.instances_submitted,
        "Completed": said.instances_completed,
        "Resolved": said.resolved_instances,
        "Unresolved": said.instances_unresolved,
        "Empty patch": said.instances_empty_patch,
        "Error": said.error_instances,
    }
    rows = [(title, UNKNOWN if n is None else whole(n)) for title, n in counts.items()]
    rate = said.resolve_rate
    resolved, judged = said.resolved_instances, said.instances_completed
    if judged is not None:
        judged += said.instances_empty_patch or 0
    passed = UNKNOWN if resolved is None or not judged else f"{percent(resolved / judged)} %"
    interval = _interval(resolved, judged)
    rows = [("Passed, of those with a verdict", passed), ("95 % interval of it", interval), *rows]
    if judged != said.total_instances or rate is None:
        strict = UNKNOWN if rate is None else f"{percent(rate)} %"
        rows.append(("Resolve rate, of all (strict)", strict))
        rows.append(
            ("95 % interval of the resolve rate", _interval(resolved, said.total_instances))
        )
    return markdown_rows(("Instances", "Value"), rows)


def _interval(resolved: int | None, total: int | None) -> str:
    """Return the 95 % interval of a share of instances, each of which is one draw."""
    if resolved is None or total is None or total < MIN_CASES or resolved > total:
        return UNKNOWN
    limits = percent_range(*wilson(resolved / total, total))
    return f"{limits} % (Wilson 1927, {whole(total)} instances)".replace("[", r"\[").replace(
        "]", r"\]"
    )


def _partial(report: EvaluationReport) -> list[str]:
    """Return a sentence where the numbers are not about the instances that are here."""
    here, total = len(report.instances), report.summary.total_instances
    if total is None or total == here:
        return []
    are = "is" if here == 1 else "are"
    sentence = (
        f"{whole(here)} of {counted(total, 'instance')} {are} in this report"
        if here < total
        else f"{counted(here, 'instance')} {are} here, and its summary counts {whole(total)}"
    )
    return [f"{sentence}; the numbers are those of its summary."]


def _scoring(said: ReportSummary) -> list[str]:
    scores = {
        "Average score": (said.avg_score, 100),
        "Average functional score": (said.avg_functional_score, MAX_POINTS["functional"]),
        "Median score": (said.median_score, 100),
        "Lowest score": (said.min_score, 100),
        "Highest score": (said.max_score, 100),
    }
    rows = [
        (title, f"{score_text(score)} / {most}")
        for title, (score, most) in scores.items()
        if score is not None
    ]
    return markdown_rows(("Score", "Value"), rows)


def _scored(report: EvaluationReport) -> list[str]:
    """Return a sentence where the scores are those of some instances only."""
    n = len(report.instances)
    n_scored = sum(one.validation.total_score is not None for one in report.instances)
    if n_scored in {0, n} or n != report.summary.total_instances:
        return []
    have = "has" if n_scored == 1 else "have"
    sentence = f"{whole(n_scored)} of {counted(n, 'instance')} {have} a score"
    if report.summary.avg_functional_score is None:
        return [f"{sentence}."]
    return [f"{sentence}; the functional average and the pass rates below are over all of them."]


def _components(said: ReportSummary) -> list[str]:
    rates = {name: getattr(said, f"{name}_pass_rate") for name in COMPONENTS}
    rows = [
        (COMPONENT_NAMES[name], f"{percent(rate)} %", str(MAX_POINTS[name]))
        for name, rate in rates.items()
        if rate is not None
    ]
    return markdown_rows(("Component", "Pass rate", "Points"), rows)


def _performance(said: ReportSummary) -> list[str]:
    times = {
        "Average duration": said.avg_duration_seconds,
        "Total duration": said.total_duration_seconds,
    }
    rows = [
        (title, UNKNOWN if seconds is None else duration(1000 * seconds))
        for title, seconds in times.items()
    ]
    return markdown_rows(("Time", "Value"), rows)


def _tasks(report: EvaluationReport) -> Iterator[list[str]]:
    skipped = sorted(one.instance_id for one in report.instances if one.status == "skipped")
    lists: dict[str, Iterable[str]] = {
        "Resolved": report.resolved_ids,
        "Unresolved": report.unresolved_ids,
        "Empty patch": report.empty_patch_ids,
        "Error": report.error_ids,
        "Skipped": skipped,
    }
    for title, given in lists.items():
        ids = list(given)
        yield [f"### {title} ({whole(len(ids))})"]
        yield [f"- {as_text(name)}" for name in ids] or [NONE]
