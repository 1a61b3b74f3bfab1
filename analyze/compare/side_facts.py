"""What one model came to on one side: counts, rates and their bounds, over comparable cases.

A trial without a verdict is counted and named with its cause; the bounds say what it may be worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analyze.comparison.pairing import Pooled
from analyze.stats.case_rate import interval_of_units
from analyze.stats.identical import repetitions_identical
from analyze.stats.rates import (
    pass_at_k,
    pass_curve,
    pass_hat_k,
)
from schemas.output.comparison import SideFacts


def side_facts(
    model_id: str,
    run_ids: Sequence[str],
    served_models: Sequence[str],
    cases: Sequence[Pooled],
    *,
    causes: Mapping[str, int],
    cut_after: tuple[int, int] | None = None,
) -> SideFacts:
    """Return the facts of one side.

    Args:
        model_id: as this side has it.
        run_ids: runs that are in it, oldest first.
        served_models: names of models that its answers gave.
        cases: what each comparable case came to.
        causes: why trials have no verdict, counted.
        cut_after: fewest and most output tokens of an answer that was cut off.
    """
    passed = [case.counts.n_passed for case in cases]
    scored = [case.counts.n_scored for case in cases]
    n_passed, n_scored = sum(passed), sum(scored)
    n_scorable = sum(case.counts.n_scorable for case in cases)
    able = [case for case in cases if case.counts.n_scorable]
    n_timeout = sum(case.counts.n_timeout for case in able)
    m = [case.counts.n_independent for case in able]
    c = [case.counts.n_independent_passed for case in able]
    identical = repetitions_identical(
        sum(case.answers.is_repeated for case in cases),
        sum(case.answers.is_identical for case in cases),
    )
    return SideFacts(
        model_id=model_id,
        run_ids=tuple(run_ids),
        n_cases=len(cases),
        n_planned=sum(case.counts.n_planned for case in cases),
        n_scorable=n_scorable,
        n_total=sum(case.counts.n_total for case in cases),
        n_reused=sum(case.counts.n_reused for case in cases),
        n_scored=n_scored,
        n_passed=n_passed,
        n_timeout=n_timeout,
        n_truncated=sum(case.counts.n_truncated for case in cases),
        truncated_after=cut_after,
        passed_rate=_share(n_passed, n_scored),
        ci95=interval_of_units([case.cluster for case in cases], passed, scored),
        score_strict=_share(n_passed, n_scorable),
        score_upper=_share(n_passed + n_scorable - n_scored, n_scorable),
        score_available=_share(n_passed, n_scored),
        coverage=_share(n_scored, n_scorable),
        timeout_share=_share(n_timeout, n_scorable),
        causes=dict(sorted(causes.items())),
        served_models=tuple(served_models),
        pass_at_k=pass_curve(pass_at_k, m, c, identical=identical is True),
        pass_hat_k=pass_curve(pass_hat_k, m, c, identical=identical is True),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
