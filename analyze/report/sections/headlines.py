"""What another tool says of an imported run, beside what its rows say, and how sure that is.

A tool's headline is one number. What it does not say: of how many trials it is, how far it would
lie elsewhere with other cases, and how large a difference two such runs could show at all.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import stdev
from typing import NamedTuple

from analyze.render.numbers import percent, whole
from analyze.report.markdown_text import MAX_TEXT_CHARS, list_lines, plain
from analyze.report.sections import ReportContext, Section
from analyze.report.table import MODEL, Cell, Column, Table, number
from analyze.stats.intervals import wilson_shrunk
from analyze.stats.paired_means import t_quantile
from schemas.errors import counted
from schemas.output.report import RunReport
from schemas.output.report_headlines import ReportedHeadline
from schemas.run.import_record import VERDICTS, Headline, load_import_record
from schemas.run.layout import IMPORT_FILE

MEANS = frozenset({"accuracy", "mean", "mean weighted by size", "pass rate"})
"""Metrics that are the mean over cases, of each the mean over its repetitions."""

MAX_ROWS = 100
"""Of the table; JSON has all."""

NOTE = (
    "The interval is over cases like these; visible from: the difference that two such runs show "
    "in four of five."
)

Z_POWER = 0.8416212335729143
"""Of a power of 80 %."""

Name = tuple[str, str]
"""model_id and name of the score."""

SCORES = """
select t.model_id, s.score_name, t.case_id, c.cluster, s.score, t.tags
from scores as s
inner join trials as t
    on s.run_id = t.run_id and s.model_id = t.model_id
    and s.case_id = t.case_id and s.repetition = t.repetition
left join int_case_clusters as c on t.suite_id = c.suite_id and t.case_id = c.case_id
where s.run_id = ? order by s.record_no
"""

PASSED = """
select t.model_id, t.case_id, c.cluster, cast(t.passed as double), t.tags
from trials as t
left join int_case_clusters as c on t.suite_id = c.suite_id and t.case_id = c.case_id
where t.run_id = ? order by t.record_no
"""


class _Row(NamedTuple):
    """One score of one trial; None where there is none."""

    case_id: str
    cluster: str | None
    score: float | None
    tags: Sequence[str]


class _Scores:
    """One score of trials of one model."""

    def __init__(self, rows: Iterable[_Row]) -> None:
        cases: defaultdict[str, list[float]] = defaultdict(list)
        units: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for case_id, cluster, score, _ in rows:
            if score is None or not math.isfinite(score):
                continue
            if case_id not in cases:
                unit = ("case", case_id) if cluster is None else ("cluster", cluster)
                units[unit].append(case_id)
            cases[case_id].append(score)
        self.n_scored = sum(map(len, cases.values()))
        self.n_cases = len(cases)
        self._cases = cases
        self._units = list(units.values())

    @property
    def mean(self) -> float | None:
        """Return the mean over cases of the mean over repetitions."""
        if not self._cases:
            return None
        means = [math.fsum(scores) / len(scores) for scores in self._cases.values()]
        return math.fsum(means) / len(means)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the 95 % interval of the mean over clusters of cases.

        Of verdicts that of a rate, which has a width where all pass; else mean ± t(0.975, n - 1) ·
        s / √n (S27).
        """
        if len(self._units) < 2:
            return None
        if self._are_verdicts:
            sums = [[score for case in unit for score in self._cases[case]] for unit in self._units]
            found = wilson_shrunk([sum(one) for one in sums], [len(one) for one in sums])
            return None if found is None else (found.low, found.high)
        means, error = self._unit_means, self._error
        mean = math.fsum(means) / len(means)
        half = t_quantile(0.975, len(means) - 1) * error
        return mean - half, mean + half

    @property
    def smallest_difference(self) -> float | None:
        """Return the difference between two such runs that is shown in four cases of five.

        (t(0.975, 2n - 2) + z(0.8)) · √2 · s / √n, of runs within one night over other cases of the
        same kind (S27; Miller 2024); None where all units are alike, which tells nothing of others,
        and where verdicts are so few that it is more than there can be.
        """
        if len(self._units) < 2 or not (error := self._error):
            return None
        quantile = t_quantile(0.975, 2 * len(self._units) - 2)
        smallest = (quantile + Z_POWER) * math.sqrt(2) * error
        return None if self._are_verdicts and smallest > 1 else smallest

    @property
    def _are_verdicts(self) -> bool:
        return all(score in {0.0, 1.0} for scores in self._cases.values() for score in scores)

    @property
    def _unit_means(self) -> list[float]:
        found = []
        for unit in self._units:
            means = [math.fsum(self._cases[case]) / len(self._cases[case]) for case in unit]
            found.append(math.fsum(means) / len(means))
        return found

    @property
    def _error(self) -> float:
        means = self._unit_means
        return stdev(means) / math.sqrt(len(means))


def headlines_of(context: ReportContext) -> tuple[ReportedHeadline, ...]:
    """Return the headlines of the tool that made a run; none where that is not known here.

    Raises:
        SchemaError: the record of the import cannot be read.
        ViewError: the lake cannot be read.
    """
    if context.folder is None or not (context.folder / IMPORT_FILE).is_file():
        return ()
    said = load_import_record(context.folder).headlines
    if not said:
        return ()
    of_name: defaultdict[Name, list[_Row]] = defaultdict(list)
    for model_id, name, *row in context.session.rows(SCORES, [context.run_id]):
        of_name[model_id, name].append(_Row(*row))
    if any(one.name == VERDICTS and (one.model_id, VERDICTS) not in of_name for one in said):
        for model_id, *row in context.session.rows(PASSED, [context.run_id]):
            of_name[model_id, VERDICTS].append(_Row(*row))
    planned: defaultdict[str, list[Sequence[str]]] = defaultdict(list)
    for model_id, tags in context.session.rows(
        "select model_id, tags from planned_trials where run_id = ?", [context.run_id]
    ):
        planned[model_id].append(tags or ())
    return tuple(_headline(one, of_name, planned[one.model_id]) for one in said)


def _headline(
    said: Headline, rows: Mapping[Name, list[_Row]], planned: Sequence[Sequence[str]]
) -> ReportedHeadline:
    own = rows.get((said.model_id, said.name), [])
    found = _Scores(one for one in own if said.tag is None or said.tag in one.tags)
    is_mean = said.metric in MEANS
    return ReportedHeadline(
        model_id=said.model_id,
        name=said.name,
        metric=said.metric,
        tag=said.tag,
        value=said.value,
        stderr=said.stderr,
        own_value=found.mean if is_mean else None,
        ci95=found.interval if is_mean else None,
        n_cases=found.n_cases,
        n_scored=found.n_scored,
        n_trials=sum(said.tag is None or said.tag in tags for tags in planned),
        smallest_difference=found.smallest_difference if is_mean else None,
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


def _range(limits: tuple[float, float] | None) -> str:
    return "" if limits is None else f"{limits[0]:.3g} to {limits[1]:.3g}"


def headlines(report: RunReport) -> Table | None:
    """Return what the tool says beside what the rows say; None for a run of ours."""
    if not report.headlines:
        return None
    columns = (
        MODEL,
        Column("score", "name"),
        Column("as the tool says", "value", is_number=True),
        Column("± its error", "stderr", is_number=True),
        Column("of its rows", "own_value", is_number=True),
        Column("95 %", "ci95"),
        Column("scored %", "n_scored", is_number=True),
        Column("visible from", "smallest_difference", is_number=True),
    )
    rows = [_row(one) for one in report.headlines[:MAX_ROWS]]
    n_more = len(report.headlines) - MAX_ROWS
    more = f" {counted(n_more, 'more row')}." if n_more > 0 else ""
    note = NOTE if any(one.ci95 for one in report.headlines) else ""
    return Table("headlines", "What the tool says", columns, rows, f"{note}{more}".strip())


def _row(one: ReportedHeadline) -> list[Cell]:
    scored = f"{whole(one.n_scored)} of {counted(one.n_trials, 'trial')}"
    share = one.n_scored / one.n_trials if one.n_trials else None
    return [
        Cell(one.model_id),
        Cell(_what(one)),
        number(_number(one.value), one.value, look="lead"),
        number(_number(one.stderr), one.stderr),
        number(_number(one.own_value), one.own_value),
        Cell(_range(one.ci95), look="n range"),
        number(percent(share), share, note=scored),
        number(_short(one.smallest_difference), one.smallest_difference),
    ]


def _what(one: ReportedHeadline) -> str:
    return f"{one.name} {one.metric}" + ("" if one.tag is None else f" of {one.tag}")


def _lines(report: RunReport) -> Iterator[Sequence[str]]:
    if report.headlines:
        lines = [plain(sentence_of(one), 4 * MAX_TEXT_CHARS) for one in report.headlines]
        yield list_lines("What the tool says", lines)


def sentence_of(one: ReportedHeadline) -> str:
    """Return a headline with what it hides, in a sentence."""
    said = _number(one.value) or "nothing"
    error = "" if one.stderr is None else f" ± {_number(one.stderr)}"
    parts = [f"{_what(one)} of {one.model_id}: {said}{error}"]
    if one.own_value is not None:
        is_same = one.value is not None and math.isclose(one.own_value, one.value, rel_tol=1e-12)
        own = "the same" if is_same else _number(one.own_value)
        parts.append(f"of its rows {own}")
    if one.ci95 is not None:
        parts.append(f"{_range(one.ci95)} with other cases like these")
    if one.n_trials:
        parts.append(f"scored {whole(one.n_scored)} of {counted(one.n_trials, 'trial')}")
    if one.smallest_difference is not None:
        parts.append(f"two such runs show differences from {_short(one.smallest_difference)} on")
    return "; ".join(parts)


HEADLINES = Section("As the tool says", show=headlines, read=headlines_of, markdown=_lines)
