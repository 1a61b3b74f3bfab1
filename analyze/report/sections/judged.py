"""What judges said: scores, preferences, and how often each judge could be used."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean, stdev

from analyze.render.numbers import percent, percent_range, score, usd, whole
from analyze.report.sections import ReportContext, Section, query
from analyze.report.table import MODEL, Cell, Column, Table, number
from analyze.stats.intervals import mean_rate, wilson_shrunk
from analyze.stats.paired_means import t_quantile
from schemas.base import Interval, Record
from schemas.output.report import RunReport
from schemas.output.report_judged import JudgeAnswers, JudgedParts, JudgedScore, ModelPreference
from schemas.run.judgement import MAX_SCORE

FAILURES = ("refusal", "invalid", "truncated", "no_response", "judge_down")

ANY_WORD = """
select 1 from stg_judge_iterations where run_id = $1
union all
select 1 from stg_preferences where run_id = $1
limit 1
"""

RIVALS = ("model_id", "evaluation_profile_id", "other_run_id", "other_model_id")
"""Columns of a row of `preferred_models` that tell it apart."""

PREFERENCE_COUNTS = (
    *("n_compared", "n_won", "n_tied", "n_lost", "n_identical", "n_cannot_say", "n_failed"),
    *("n_comparisons", "n_flips_to_first", "n_flips_to_second", "n_longer_won", "n_shorter_won"),
)
"""What it counts, in its order."""


def judged_of(context: ReportContext) -> JudgedParts | None:
    """Return what judges said of a run; None: nobody was asked.

    Raises:
        ViewError: the lake cannot be read.
    """
    if not context.session.rows(ANY_WORD, [context.run_id]):
        return None
    answers = context.session.rows(query("judge_answers"), [context.run_id])
    judges = (
        JudgeAnswers(**dict(zip(JudgeAnswers.model_fields, row, strict=True))) for row in answers
    )
    return JudgedParts(
        scores=tuple(_scores_of(context)),
        preferences=tuple(_preferences_of(context)),
        judges=tuple(judges),
    )


def _scores_of(context: ReportContext) -> Iterator[JudgedScore]:
    for row in context.session.rows(query("judged_scores"), [context.run_id]):
        model_id, profile, is_own, decides, n_judged, n_failed, units, n_decided, n_passed, soft = (
            row
        )
        mean, low, high = mean_score(units or ())
        yield JudgedScore(
            model_id=model_id,
            evaluation_profile_id=profile,
            is_own=is_own,
            decides=decides,
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


def _preferences_of(context: ReportContext) -> Iterator[ModelPreference]:
    for row in context.session.rows(query("preferred_models"), [context.run_id]):
        *key, points, n_trials = row[:6]
        share, interval = mean_preference(points or (), n_trials or ())
        counts = zip(PREFERENCE_COUNTS, row[6:], strict=True)
        yield ModelPreference(
            **dict(zip(RIVALS, key, strict=True)),
            **dict(counts),
            n_units=len(points or ()),
            share=share,
            share_ci95=interval,
        )


def mean_preference(
    points: Sequence[float], n_trials: Sequence[int]
) -> tuple[float | None, Interval | None]:
    """Return the mean preference over units, and its interval.

    The interval is that of a rate, which is never without width: a t interval has none where all
    are won. A tie only makes the points of trials differ less than those of a rate do.

    Args:
        points: of each unit, 1 for each trial that won, 1/2 for one that tied.
        n_trials: of each unit, trials with an outcome; at least one.
    """
    if not points:
        return None, None
    rates = [sum_ / n for sum_, n in zip(points, n_trials, strict=True)]
    return mean_rate(rates), wilson_shrunk(points, n_trials)


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


def _preferences(found: JudgedParts) -> Table:
    columns = (
        MODEL,
        Column("against", "other_model_id", meaning="Model and run that it is held against."),
        Column("profile", "evaluation_profile_id", meaning="Evaluation profile, by its id."),
        _column(ModelPreference, "compared", "n_compared"),
        _column(ModelPreference, "won", "n_won"),
        _column(ModelPreference, "tied", "n_tied"),
        _column(ModelPreference, "lost", "n_lost"),
        Column(
            "no outcome",
            "n_failed",
            is_number=True,
            meaning="Of those compared, where no judge can say, or no answers could be used.",
        ),
        _column(ModelPreference, "preferred %", "share"),
        _column(ModelPreference, "95 %", "share_ci95"),
        Column(
            "by place",
            "n_flips_to_first",
            is_number=True,
            meaning="Questions answered in both orders for whatever stood first, or second: ties.",
        ),
        Column(
            "to the longer",
            "n_longer_won",
            is_number=True,
            meaning="Of trials won or lost, those that went to the longer answer.",
        ),
    )
    rows = [
        [
            Cell(one.model_id),
            Cell(one.other_model_id, below=one.other_run_id),
            Cell(one.evaluation_profile_id),
            number(whole(one.n_compared), one.n_compared),
            number(whole(one.n_won), one.n_won),
            replace(
                number(whole(one.n_tied), one.n_tied),
                note=f"{whole(one.n_identical)} left the same" if one.n_identical else "",
            ),
            number(whole(one.n_lost), one.n_lost),
            _without_outcome(one),
            number(percent(one.share), one.share),
            number(*_limits(one)),
            _by_place(one),
            _to_the_longer(one),
        ]
        for one in found.preferences
    ]
    return Table("judged-preferences", "Preferences, asked in both orders", columns, rows)


def _without_outcome(one: ModelPreference) -> Cell:
    n = one.n_cannot_say + one.n_failed
    parts = f"{whole(one.n_cannot_say)} cannot be said, {whole(one.n_failed)} failed" if n else ""
    return replace(number(whole(n), n), note=parts)


def _limits(one: ModelPreference) -> tuple[str, float | None]:
    found = one.share_ci95
    if found is None:
        return "", None
    return percent_range(found.low, found.high, one.share), found.low


def _by_place(one: ModelPreference) -> Cell:
    n = one.n_flips_to_first + one.n_flips_to_second
    first, second = whole(one.n_flips_to_first), whole(one.n_flips_to_second)
    places = f"{first} for the first, {second} for the second" if n else ""
    return replace(number(f"{whole(n)} of {whole(one.n_comparisons)}", n), note=places)


def _to_the_longer(one: ModelPreference) -> Cell:
    n = one.n_longer_won + one.n_shorter_won
    return number(f"{whole(one.n_longer_won)} of {whole(n)}" if n else "", one.n_longer_won)


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
            Cell(one.evaluation_profile_id, below=_standing(one)),
            number(whole(one.n_judged), one.n_judged),
            number(whole(one.n_failed), one.n_failed),
            number(score(one.score), one.score),
            number(_interval(one), one.score_low),
            number(*_share(one.n_passed, one.n_decided)),
            number(score(one.soft_score), one.soft_score),
        ]
        for one in found.scores
    ]
    return Table("judged-scores", "Scores, on 0-10", columns, rows)


def _standing(one: JudgedScore) -> str:
    parts = ("the run's own" * one.is_own, "decides verdicts" * one.decides)
    return ", ".join(filter(None, parts))


def _share(n_passed: int, n_decided: int) -> tuple[str, float | None]:
    if not n_decided:
        return "", None
    return percent(n_passed / n_decided), n_passed / n_decided


def _interval(one: JudgedScore) -> str:
    if one.score_low is None or one.score_high is None:
        return ""
    return f"{score(one.score_low)} – {score(one.score_high)}"


def _judges(found: JudgedParts) -> Table:
    columns = (
        Column("judge", "judge_id", meaning="Judge of the profile, by its id."),
        Column("profile", "evaluation_profile_id", meaning="Evaluation profile, by its id."),
        _column(JudgeAnswers, "question", "question", is_number=False),
        _column(JudgeAnswers, "asked", "n_asked"),
        _column(JudgeAnswers, "answered", "n_answered"),
        *(_column(JudgeAnswers, name.replace("_", " "), f"n_{name}") for name in FAILURES),
        _column(JudgeAnswers, "USD", "cost_usd"),
    )
    rows = [
        [
            Cell(one.judge_id),
            Cell(one.evaluation_profile_id),
            Cell(one.question),
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
    tables = [_scores(found), _preferences(found), _judges(found)]
    return {"tables": [table for table in tables if table.rows]}


JUDGED = Section("Judges", show=_parts, read=judged_of)
