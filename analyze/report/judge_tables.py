"""Tables of what judges said: scores, preferences, and how far each judge can be believed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from analyze.render.numbers import (
    percent,
    percent_range,
    score,
    signed_score,
    usd,
    whole,
)
from analyze.report.table import MODEL, Cell, Column, Table, number
from schemas.base import Record
from schemas.output.judges import Agreement, JudgeDrift, MeanWithLimits, VarianceSplit
from schemas.output.report_judged import JudgeAnswers, JudgedParts, JudgedScore, ModelPreference

FAILURES = ("refusal", "invalid", "truncated", "no_response", "judge_down")

PROFILE = Column("profile", "evaluation_profile_id", meaning="Evaluation profile, by its id.")

JUDGE_RUN = Column("judge run", "judge_run_id", meaning="Judge run of the profile, by its id.")

SAID_OF = {"score": "scores", "expectations": "expectations", "pass": "passes"}


def judge_tables(found: JudgedParts) -> Iterator[Table]:
    """Yield the tables of a run's judges; one without rows has nothing to say."""
    yield _scores(found)
    yield _preferences(found)
    yield _judges(found)
    yield _agreement(found)
    yield _variance(found)
    yield _drift(found)


def _preferences(found: JudgedParts) -> Table:
    columns = (
        MODEL,
        Column("against", "other_model_id", meaning="Model and run that it is held against."),
        PROFILE,
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
        PROFILE,
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
        PROFILE,
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


def _agreement(found: JudgedParts) -> Table:
    columns = (
        Column("judge runs", "judge_run_ids", meaning="One with itself, or several together."),
        PROFILE,
        _column(Agreement, "of", "of", is_number=False),
        _column(Agreement, "trials", "n_units"),
        _column(Agreement, "alpha", "alpha"),
        _column(Agreement, "95 %", "alpha_low"),
        _column(Agreement, "apart", "mean_absolute_difference"),
        _column(Agreement, "bias", "bias"),
    )
    rows = [
        [
            Cell(", ".join(one.judge_run_ids), below=_scope(one)),
            Cell(one.evaluation_profile_id),
            Cell(SAID_OF[one.of]),
            number(whole(one.n_units), one.n_units),
            number(score(one.alpha), one.alpha),
            number(_between(one.alpha_low, one.alpha_high), one.alpha_low),
            number(score(one.mean_absolute_difference), one.mean_absolute_difference),
            _mean(one.bias),
        ]
        for one in found.agreement
    ]
    return Table("judges-agreement", "How far judges agree", columns, rows)


def _scope(one: Agreement) -> str:
    return "with itself" if one.scope == "within" else "with each other"


def _variance(found: JudgedParts) -> Table:
    columns = (
        JUDGE_RUN,
        PROFILE,
        MODEL,
        _column(VarianceSplit, "trials", "n_trials"),
        _column(VarianceSplit, "scores", "n_scores"),
        _column(VarianceSplit, "sd of cases", "case_sd"),
        _column(VarianceSplit, "sd of trials", "agent_sd"),
        _column(VarianceSplit, "sd of the judge", "judge_sd"),
    )
    rows = [
        [
            Cell(one.judge_run_id),
            Cell(one.evaluation_profile_id),
            Cell(one.model_id),
            number(whole(one.n_trials), one.n_trials),
            number(whole(one.n_scores), one.n_scores),
            *(number(score(sd), sd) for sd in (one.case_sd, one.agent_sd, one.judge_sd)),
        ]
        for one in found.variance
    ]
    return Table("judges-variance", "Where scores vary, in points", columns, rows)


def _drift(found: JudgedParts) -> Table:
    columns = (
        JUDGE_RUN,
        PROFILE,
        _column(JudgeDrift, "answers", "n_trials"),
        _column(JudgeDrift, "last - first", "difference"),
        _column(JudgeDrift, "verdict", "verdict", is_number=False),
    )
    rows = [
        [
            Cell(one.judge_run_id),
            Cell(one.evaluation_profile_id),
            number(whole(one.n_trials), one.n_trials),
            _mean(one.difference),
            Cell(one.verdict.replace("_", " ")),
        ]
        for one in found.drift
    ]
    return Table("judges-drift", "Judged again, the same answers", columns, rows)


def _mean(found: MeanWithLimits | None) -> Cell:
    """Return a mean difference, with its limits below it."""
    if found is None:
        return number(score(None), None)
    limits = ""
    if found.low is not None and found.high is not None:
        limits = f"{signed_score(found.low)} to {signed_score(found.high)}"
    return replace(number(signed_score(found.mean), found.mean), below=limits)


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.2f} – {high:.2f}"
