"""What judges said: scores, preferences, and how often each judge could be used."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev

from analyze.report.judge_tables import judge_tables
from analyze.report.sections import ReportContext, Section, query
from analyze.stats.intervals import mean_rate, wilson_shrunk
from analyze.stats.paired_means import t_quantile
from schemas.base import Interval, same_fields
from schemas.output.report import RunReport
from schemas.output.report_judged import JudgeAnswers, JudgedParts, JudgedScore, ModelPreference
from schemas.run.judgement import MAX_SCORE

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
    from analyze.judges.report import trust_of  # noqa: PLC0415 - numpy and more, for judges alone

    answers = context.session.rows(query("judge_answers"), [context.run_id])
    judges = (
        JudgeAnswers(**dict(zip(JudgeAnswers.model_fields, row, strict=True))) for row in answers
    )
    return JudgedParts(
        scores=tuple(sorted(_scores_of(context), key=lambda one: _place(context, one))),
        preferences=tuple(_preferences_of(context)),
        judges=tuple(judges),
        **same_fields(trust_of(context.session, [context.run_id]), "agreement variance drift"),
    )


def _place(context: ReportContext, score: JudgedScore) -> tuple[bool, str, int]:
    """Return where a score stands: the run's own profiles first, then by profile and result."""
    last = len(context.places)
    place = context.places.get(score.model_id, last)
    return not score.is_own, score.evaluation_profile_id, place


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


def _parts(report: RunReport) -> dict[str, object] | None:
    found = report.judged
    if found is None:
        return None
    return {"tables": [table for table in judge_tables(found) if table.rows]}


JUDGED = Section("Judges", show=_parts, read=judged_of)
