"""The answer of a report: how good each model is, how sure that is, and what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from analyze.parts.asked import Asked
from analyze.parts.verdict_counts import verdicts_of
from schemas.comparison import CaseChange, GroupComparison
from schemas.report_answer import ModelAnswer
from schemas.summary import GroupSummary


def answers_of(asked: Asked) -> tuple[ModelAnswer, ...]:
    """Return each model of a run, the best passed rate first and those without one last.

    Rates that cannot be compared are not put side by side: an outage is no worse model. So the
    difference is null where the verdict is `not_comparable`.
    """
    groups = asked.summary.models
    comparison = asked.comparison
    compared = {one.candidate_model_id: one for one in comparison.groups} if comparison else {}
    flips = _flips(comparison.cases if comparison else ())
    answers = [_answer(group, compared.get(group.model_id), flips, groups) for group in groups]
    return tuple(sorted(answers, key=lambda one: (-_known(one.passed_rate), one.model_id)))


def _known(rate: float | None) -> float:
    return -1.0 if rate is None else rate


def _answer(
    group: GroupSummary,
    compared: GroupComparison | None,
    flips: Mapping[tuple[str, str], int],
    groups: Iterable[GroupSummary],
) -> ModelAnswer:
    interval, verdicts = group.passed_ci95, verdicts_of(group)
    is_judged = compared is not None and compared.verdict != "not_comparable"
    found = compared.difference if compared is not None and is_judged else None
    return ModelAnswer(
        provider=group.provider,
        model=group.model,
        thinking_level=group.thinking_level,
        model_id=group.model_id,
        passed_rate=group.passed_rate,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        estimate=interval.estimate if interval else None,
        n_cases=verdicts.n_cases,
        n_scored=verdicts.n_trials,
        is_leading=_is_leading(group, groups),
        change=compared.verdict if compared else None,
        difference=found.difference if found else None,
        difference_low=found.low if found else None,
        difference_high=found.high if found else None,
        n_broke=flips.get((group.model_id, "broke"), 0),
        n_fixed=flips.get((group.model_id, "fixed"), 0),
    )


def _is_leading(group: GroupSummary, groups: Iterable[GroupSummary]) -> bool:
    rate = group.passed_rate
    if rate is None:
        return False
    return not any(
        other.passed_ci95.low > rate
        for other in groups
        if other is not group and other.passed_ci95 is not None
    )


def _flips(cases: Iterable[CaseChange]) -> Counter[tuple[str, str]]:
    return Counter((case.candidate_model_id, case.flip) for case in cases if case.flip is not None)
