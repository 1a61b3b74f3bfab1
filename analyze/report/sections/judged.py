"""What judges said: scores by model, and how often each judge could be used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from analyze.render.numbers import percent, usd, whole
from analyze.report.sections import ReportContext, Section, query
from analyze.report.table import MODEL, Cell, Column, Table, number
from analyze.stats.paired_means import t_quantile
from schemas.base import Record
from schemas.output.report import RunReport
from schemas.output.report_judged import JudgeAnswers, JudgedParts, JudgedScore
from schemas.run.judgement import MAX_SCORE

FAILURES = ("refusal", "invalid", "truncated", "no_response", "judge_down")


def judged_of(context: ReportContext) -> JudgedParts | None:
    """Return what judges said of a run; None: nobody was asked.

    Raises:
        ViewError: the lake cannot be read.
    """
    any_answer = "select 1 from stg_judge_iterations where run_id = ? limit 1"
    if not context.session.rows(any_answer, [context.run_id]):
        return None
    scores = []
    for row in context.session.rows(query("judged_scores"), [context.run_id]):
        model_id, profile, is_own, n_judged, n_failed, units, n_decided, n_passed, soft = row
        mean, low, high = mean_score(units or ())
        scores.append(
            JudgedScore(
                model_id=model_id,
                evaluation_profile_id=profile,
                is_own=is_own,
                n_judged=n_judged,
                n_failed=n_failed,
                n_units=len(units or ()),
                score=mean,
                score_low=low,
                score_high=high,
                n_decided=n_decided,
                n_passed=n_passed,
                soft_score=soft,
            )
        )
    answers = context.session.rows(query("judge_answers"), [context.run_id])
    judges = (
        JudgeAnswers(**dict(zip(JudgeAnswers.model_fields, row, strict=True))) for row in answers
    )
    return JudgedParts(scores=tuple(scores), judges=tuple(judges))


def mean_score(units: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Return the mean of the scores of units, and its 95 % interval within 0 to 10 (S9).

    mean ± t(0.975, n - 1) · s / √n; no interval below two units.
    """
    if not units:
        return None, None, None
    mean = fmean(units)
    if len(units) < 2:
        return mean, None, None
    error = t_quantile(0.975, len(units) - 1) * stdev(units) / math.sqrt(len(units))
    return mean, max(0.0, mean - error), min(MAX_SCORE, mean + error)


def _column(record: type[Record], title: str, field: str, *, is_number: bool = True) -> Column:
    meaning = record.model_fields[field].description or ""
    return Column(title, field, is_number=is_number, meaning=meaning)


def _scores(found: JudgedParts) -> Table:
    columns = (
        MODEL,
        Column("profile", "evaluation_profile_id", meaning="Evaluation profile, by its id."),
        _column(JudgedScore, "judged", "n_judged"),
        _column(JudgedScore, "unusable", "n_failed"),
        _column(JudgedScore, "score", "score"),
        _column(JudgedScore, "95 % of score", "score_low"),
        _column(JudgedScore, "passed %", "n_passed"),
        _column(JudgedScore, "soft score", "soft_score"),
    )
    rows = [
        [
            Cell(one.model_id),
            Cell(one.evaluation_profile_id, note="the run's own" if one.is_own else ""),
            number(whole(one.n_judged), one.n_judged),
            number(whole(one.n_failed), one.n_failed),
            number(_score(one.score), one.score),
            number(_interval(one), one.score_low),
            number(*_share(one.n_passed, one.n_decided)),
            number(_score(one.soft_score), one.soft_score),
        ]
        for one in found.scores
    ]
    return Table("judged-scores", "Scores, on 0-10", columns, rows)


def _share(n_passed: int, n_decided: int) -> tuple[str, float | None]:
    if not n_decided:
        return "", None
    return percent(n_passed / n_decided), n_passed / n_decided


def _interval(one: JudgedScore) -> str:
    if one.score_low is None or one.score_high is None:
        return ""
    return f"{_score(one.score_low)} – {_score(one.score_high)}"


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.2f}"


def _judges(found: JudgedParts) -> Table:
    columns = (
        Column("judge", "judge_id", meaning="Judge of the profile, by its id."),
        Column("profile", "evaluation_profile_id", meaning="Evaluation profile, by its id."),
        _column(JudgeAnswers, "asked", "n_asked"),
        _column(JudgeAnswers, "answered", "n_answered"),
        *(_column(JudgeAnswers, name.replace("_", " "), f"n_{name}") for name in FAILURES),
        _column(JudgeAnswers, "USD", "cost_usd"),
    )
    rows = [
        [
            Cell(one.judge_id),
            Cell(one.evaluation_profile_id),
            number(whole(one.n_asked), one.n_asked),
            number(whole(one.n_answered), one.n_answered),
            *(number(whole(n), n) for n in (getattr(one, f"n_{name}") for name in FAILURES)),
            number(usd(one.cost_usd), one.cost_usd),
        ]
        for one in found.judges
    ]
    return Table("judges", "Answers of judges", columns, rows)


def _parts(report: RunReport) -> dict[str, object] | None:
    found = report.judged
    if found is None:
        return None
    tables = [_scores(found), _judges(found)]
    return {"tables": [table for table in tables if table.rows]}


JUDGED = Section("Judges", show=_parts, read=judged_of)
