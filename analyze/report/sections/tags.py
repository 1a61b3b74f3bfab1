"""The rate of each model by tag: where a model is good, with how sure that is.

A case counts for each of its tags, so that the rows of a model are not independent of each other
and hold no test. A tag that every case has says nothing beside the leaderboard and is left out.
"""

from __future__ import annotations

from collections import defaultdict

from analyze.comparison.evidence.outcomes import CaseOutcome
from analyze.render.numbers import limits_of, percent, whole
from analyze.report.sections import ReportContext, Section
from analyze.report.table import Cell, Column, Table, number
from analyze.stats.rates import case_rate
from schemas.errors import counted
from schemas.output.report import RunReport, TagRate

MAX_ROWS = 300
"""Of the table; JSON has all."""


def tags_of(context: ReportContext) -> tuple[TagRate, ...]:
    """Return the rate of each tag with each model: tags by name, models in the summary's order.

    Raises:
        ViewError: the lake cannot be read.
    """
    places = {group.model_id: place for place, group in enumerate(context.summary.models)}
    cells: defaultdict[tuple[str, str], list[CaseOutcome]] = defaultdict(list)
    cases: defaultdict[str, set[object]] = defaultdict(set)
    for row in context.outcomes:
        for tag in {*row.tags}:
            cells[tag, row.key.model_id].append(row)
            cases[tag].add(row.case)
    n_cases = len({row.case for row in context.outcomes})
    order = sorted(
        ((tag, model_id) for tag, model_id in cells if len(cases[tag]) < n_cases),
        key=lambda key: (key[0], places.get(key[1], len(places)), key[1]),
    )
    return tuple(_tag_rate(tag, model_id, cells[tag, model_id]) for tag, model_id in order)


def _tag_rate(tag: str, model_id: str, rows: list[CaseOutcome]) -> TagRate:
    found = case_rate(
        [row.counts.n_passed for row in rows],
        [row.counts.n_scored for row in rows],
        [row.cluster for row in rows],
    )
    return TagRate(
        tag=tag,
        model_id=model_id,
        n_cases=found.n_cases,
        n_scored=found.n_trials,
        passed_rate=found.rate,
        passed_ci95=found.interval,
    )


def tags(report: RunReport) -> Table:
    """Return each tag with each model, the tag first."""
    columns = (
        Column("tag", "tag"),
        Column("model", "model_id"),
        Column("passed %", "passed_rate", is_number=True),
        Column("95 %", "passed_ci95"),
        Column("cases", "n_cases", is_number=True),
        Column("verdicts", "n_scored", is_number=True),
    )
    rows = [
        [
            Cell(one.tag),
            Cell(one.model_id),
            number(percent(one.passed_rate), look="lead"),
            Cell(limits_of(one.passed_rate, one.passed_ci95), look="n range"),
            number(whole(one.n_cases), one.n_cases),
            number(whole(one.n_scored), one.n_scored),
        ]
        for one in report.tags[:MAX_ROWS]
    ]
    n_more = len(report.tags) - MAX_ROWS
    more = f"{counted(n_more, 'more row')}." if n_more > 0 else ""
    return Table("tags", "Rates by tag", columns, rows, more)


TAGS = Section("Tags", show=tags, read=tags_of)
