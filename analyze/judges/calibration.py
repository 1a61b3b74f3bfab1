"""How judges stand to labels of people, and pass rates that are corrected with them: S23.

Verdicts of the judge are its scores at the threshold of its profile, and a label that is a score is
one at the same threshold. Beside every figure stands what a judge would reach that always says the
same, and beside every corrected rate the one by the labels alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from analyze.judges.agreement import CodedUnit, alpha_of, mean_with_limits, verdict_agreement
from analyze.judges.correction import (
    MIN_LABELS,
    Confusion,
    CorrectedRate,
    LabelledCase,
    low_of_sum,
    ppi,
    rogan_gladen,
)
from analyze.judges.labels import Labels
from analyze.judges.opinions import Opinion, RunKey, TrialKey
from analyze.stats.intervals import wilson_shrunk
from schemas.base import Interval
from schemas.output.judges import AgreementOf, Calibration, Labelling, RateWithLimits

if TYPE_CHECKING:
    from analyze.query.session import Session

IDENTITIES = """
select
    said.evaluation_profile_id,
    said.judge_run_id,
    list_sort(list(distinct found.judge_hash) filter (where found.judge_hash is not null)),
    list_sort(list(distinct said.served_model) filter (where said.served_model is not null))
from judge_iterations as said
inner join judgements as found
    on said.run_id = found.run_id
    and said.record_no = found.record_no
    and said.evaluation_profile_id = found.evaluation_profile_id
where
    list_contains(?, said.run_id)
    and (?::varchar is null or ? in (said.model_id, said.model))
    and said.is_current
    and found.is_current
group by grouping sets (
    (said.evaluation_profile_id), (said.evaluation_profile_id, said.judge_run_id)
)
"""
"""Ways to judge and models that answered, of each judge run and of all of a profile."""


def labelling(path: Path, labels: Labels) -> Labelling:
    """Return what a file of labels holds, and how far its annotators agree."""
    units = [
        CodedUnit(str(trial), said) for trial, said in labels.by_trial.items() if len(said) > 1
    ]
    of: AgreementOf = "pass" if labels.kind == "verdict" else "score"
    shared = verdict_agreement(list(labels.by_trial.values())) if of == "pass" else None
    return Labelling(
        **({} if shared is None else asdict(shared)),
        path=str(path),
        kind=labels.kind,
        n_trials=len(labels.by_trial),
        annotators=tuple(labels.annotators),
        agreement=alpha_of(units, of) if units else None,
    )


def calibrations(
    session: Session,
    run_ids: Sequence[str],
    labels: Labels,
    judgements: Sequence[Opinion],
    judge_runs: Sequence[Opinion],
    *,
    model: str | None = None,
) -> Iterator[Calibration]:
    """Yield how each profile, and each of its judge runs where there are several, stands to labels.

    Args:
        session: the open lake.
        run_ids: whose trials.
        labels: of people.
        judgements: what all judges of a profile come to, one a trial.
        judge_runs: what each judge run comes to.
        model: that all of these are about; None: several.

    Raises:
        ViewError: the lake cannot be read.
    """
    identities = {
        (profile, judge_run_id): (tuple(hashes or ()), tuple(models or ()))
        for profile, judge_run_id, hashes, models in session.rows(
            IDENTITIES, [list(run_ids), model, model]
        )
    }
    groups: defaultdict[tuple[str, str | None], list[Opinion]] = defaultdict(list)
    for one in judgements:
        groups[one.by.evaluation_profile_id, None].append(one)
    runs: defaultdict[str, set[RunKey]] = defaultdict(set)
    for one in judge_runs:
        runs[one.by.evaluation_profile_id].add(one.by)
    for one in judge_runs:
        if len(runs[one.by.evaluation_profile_id]) > 1:
            groups[one.by.evaluation_profile_id, one.by.judge_run_id].append(one)
    for (profile, judge_run_id), opinions in groups.items():
        hashes, models = identities.get((profile, judge_run_id), ((), ()))
        yield calibration(opinions, labels).model_copy(
            update={
                "evaluation_profile_id": profile,
                "judge_run_id": judge_run_id,
                "judge_hashes": hashes,
                "served_models": models,
            }
        )


def calibration(opinions: Sequence[Opinion], labels: Labels) -> Calibration:
    """Return how opinions, one a trial, stand to labels; without a word on whose they are."""
    by_trial = {one.trial: one for one in opinions}
    merged = {trial: _merged(said, labels) for trial, said in labels.by_trial.items()}
    known = {trial: label for trial, label in merged.items() if label is not None}
    both = [(by_trial[trial], label) for trial, label in known.items() if trial in by_trial]
    thresholds = {one.threshold for one in opinions}
    threshold = next(iter(thresholds)) if len(thresholds) == 1 else None
    is_score = labels.kind == "score"
    found = _verdicts(both, threshold, is_score=is_score, opinions=opinions)
    apart: defaultdict[str, list[float]] = defaultdict(list)
    if is_score:
        for one, label in both:
            apart[one.unit].append(one.score - label)
    every = [value for some in apart.values() for value in some]
    return Calibration(
        evaluation_profile_id="",
        judge_run_id=None,
        judge_hashes=(),
        served_models=(),
        pass_threshold=threshold,
        n_labels=len(both),
        n_units=len({one.unit for one, _ in both}),
        n_unjudged=sum(trial not in by_trial for trial in known),
        n_undecided=len(merged) - len(known),
        n_judged=len(by_trial),
        **found,
        bias=mean_with_limits([fmean(some) for some in apart.values()]) if apart else None,
        mean_absolute_error=fmean(map(abs, every)) if every else None,
    )


def _merged(said: Mapping[str, float], labels: Labels) -> float | None:
    """Return what annotators say together: the mean of scores, the majority of verdicts."""
    mean = fmean(said.values())
    if labels.kind == "score":
        return mean
    return None if mean == 0.5 else float(mean > 0.5)


def _verdicts(
    both: Sequence[tuple[Opinion, float]],
    threshold: float | None,
    *,
    is_score: bool,
    opinions: Sequence[Opinion],
) -> dict[str, object]:
    """Return all that is said of verdicts, as fields; nulls where there are none."""
    names = (
        *("n_pass_pass", "n_pass_fail", "n_fail_pass", "n_fail_fail", "sensitivity"),
        *(
            "sensitivity_ci95",
            "specificity",
            "specificity_ci95",
            "youden",
            "youden_low",
            "accuracy",
            "constant_accuracy",
        ),
        *("label_rate", "label_ci95", "judge_rate", "ppi", "rogan_gladen"),
    )
    if threshold is None or not both:
        return dict.fromkeys(names)
    pairs = [
        (one.unit, label >= threshold if is_score else label == 1, one.score >= threshold)
        for one, label in both
    ]
    table = Confusion(
        sum(label and verdict for _, label, verdict in pairs),
        sum(label and not verdict for _, label, verdict in pairs),
        sum(verdict and not label for _, label, verdict in pairs),
        sum(not label and not verdict for _, label, verdict in pairs),
    )
    seen = _rate((unit, verdict) for unit, label, verdict in pairs if label)
    spared = _rate((unit, not verdict) for unit, label, verdict in pairs if not label)
    people = _rate((unit, label) for unit, label, _ in pairs)
    judged = [(one.unit, one.score >= threshold) for one in opinions]
    judge_rate = fmean(verdict for _, verdict in judged)
    ours, rogan = _corrected(pairs, judged, table, judge_rate)
    values = (
        *(table.true_pass, table.false_fail, table.false_pass, table.true_fail),
        *(*seen, *spared, *_youden(seen, spared), (table.true_pass + table.true_fail) / table.n),
        *(max(table.n_passed, table.n_failed) / table.n, *people, judge_rate, ours, rogan),
    )
    return dict(zip(names, values, strict=True))


def _youden(*rates: tuple[float | None, Interval | None]) -> tuple[float | None, float | None]:
    """Return sensitivity + specificity - 1 and its lower 95 % limit, by cases."""
    (seen, seen_ci95), (spared, spared_ci95) = rates
    if seen is None or spared is None or seen_ci95 is None or spared_ci95 is None:
        return None, None
    return seen + spared - 1, low_of_sum([(seen, seen_ci95.low), (spared, spared_ci95.low)]) - 1


def _rate(hits: Iterable[tuple[str, bool]]) -> tuple[float | None, Interval | None]:
    """Return the mean over cases of the share of hits, and its interval."""
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for unit, is_hit in hits:
        sums[unit][0] += is_hit
        sums[unit][1] += 1
    if not sums:
        return None, None
    rate = fmean(k / m for k, m in sums.values())
    return rate, wilson_shrunk([k for k, _ in sums.values()], [m for _, m in sums.values()])


def _corrected(
    pairs: Sequence[tuple[str, bool, bool]],
    judged: Sequence[tuple[str, bool]],
    table: Confusion,
    judge_rate: float,
) -> tuple[RateWithLimits | None, RateWithLimits | None]:
    """Return both corrected rates; cases are what is drawn, so few of them correct nothing."""
    labelled: defaultdict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for unit, label, verdict in pairs:
        labelled[unit].append((label, verdict))
    others: defaultdict[str, list[bool]] = defaultdict(list)
    for unit, verdict in judged:
        if unit not in labelled:
            others[unit].append(verdict)
    if len(labelled) < MIN_LABELS:
        return None, None
    cases = [
        LabelledCase(fmean(label for label, _ in some), fmean(verdict for _, verdict in some))
        for some in labelled.values()
    ]
    ours = ppi(cases, [fmean(some) for some in others.values()]) if len(others) > 1 else None
    rogan = rogan_gladen(table, len(judged), judge_rate) if table.n == len(labelled) else None
    return _limits(ours), _limits(rogan)


def _limits(found: CorrectedRate | None) -> RateWithLimits | None:
    if found is None:
        return None
    return RateWithLimits(estimate=found.estimate, low=found.low, high=found.high)


def planned_trials(
    session: Session, run_ids: Sequence[str], model: str | None = None
) -> set[TrialKey]:
    """Return the trials that runs planned, of one model where it is named.

    Raises:
        ViewError: the lake cannot be read.
    """
    rows = session.rows(
        "select run_id, model_id, case_id, repetition from stg_plans "
        "where list_contains(?, run_id) and (?::varchar is null or ? in (model_id, model))",
        [list(run_ids), model, model],
    )
    return {TrialKey(*row) for row in rows}
