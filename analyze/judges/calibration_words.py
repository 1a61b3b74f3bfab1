"""A calibration in sentences; the corrected rate never without that of the labels alone."""

from __future__ import annotations

from collections.abc import Iterator

from analyze.judges.correction import MIN_LABELS
from analyze.render.numbers import percent, score, signed_score, whole
from schemas.base import Interval
from schemas.errors import counted
from schemas.output.judges import Calibration, Labelling, RateWithLimits

MIN_TRUSTED = 30
"""Labels below which a calibration is shown and decides nothing (S23)."""


def labelling_words(found: Labelling) -> str:
    """Return what a file of labels holds."""
    text = f"labels of {counted(found.n_trials, 'trial')} in {found.path}"
    if found.annotators != ("",):
        text += f" by {counted(len(found.annotators), 'annotator')}"
    if found.agreement is not None:
        text += f", who agree with alpha {found.agreement:.2f}"
    if found.same is not None:
        kappa = "" if found.kappa is None else f"kappa {score(found.kappa)}, "
        many = counted(found.n_shared, "trial")
        text += (
            f"; of {many} that several labelled they say the same on {percent(found.same)} % "
            f"({kappa}AC1 {score(found.ac1)}; {percent(found.pass_share)} % of these labels pass)"
        )
    return text


def calibration_words(one: Calibration) -> Iterator[str]:
    """Yield how one judge stands to the labels."""
    who = one.evaluation_profile_id + (f"/{one.judge_run_id}" if one.judge_run_id else "")
    if not one.n_labels:
        yield f"{who}: no label is of a trial that it has scored"
        return
    yield from _verdict_words(who, one)
    if one.bias is not None and one.mean_absolute_error is not None:
        limits = ""
        if one.bias.low is not None and one.bias.high is not None:
            limits = f" (95 % {signed_score(one.bias.low)} to {signed_score(one.bias.high)})"
        yield (
            f"{who}: {signed_score(one.bias.mean)} points{limits} beside people's scores on "
            f"average, and {score(one.mean_absolute_error)} points off"
        )
    yield from _caveats(who, one)


def _verdict_words(who: str, one: Calibration) -> Iterator[str]:
    if one.accuracy is None:
        yield (
            f"{who}: its trials have no one pass_threshold, so its verdicts cannot be held "
            "against labels"
        )
        return
    parts = []
    if one.sensitivity is not None:
        limits = _limits(one.sensitivity_ci95)
        parts.append(f"passes {percent(one.sensitivity)} %{limits} of what people pass")
    if one.specificity is not None:
        parts.append(
            f"fails {percent(one.specificity)} %{_limits(one.specificity_ci95)} of what they fail"
        )
    yield (
        f"{who} against {counted(one.n_labels, 'label')}: it {' and '.join(parts)}; right on "
        f"{percent(one.accuracy)} %, where always the same answer is on "
        f"{percent(one.constant_accuracy)} %"
    )
    text = (
        f"{who}: {percent(one.label_rate)} %{_limits(one.label_ci95)} pass by the labels alone; "
        f"the judge passes {percent(one.judge_rate)} % of {counted(one.n_judged, 'trial')}"
    )
    corrected = [
        f"{percent(rate.estimate)} %{_limits(rate)} by {name}"
        for name, rate in (("PPI++", one.ppi), ("Rogan-Gladen", one.rogan_gladen))
        if rate is not None
    ]
    if corrected:
        text += f", corrected {' and '.join(corrected)}"
    elif one.n_units < MIN_LABELS:
        text += (
            f"; that is corrected from labels of {MIN_LABELS} cases on, here are "
            f"{whole(one.n_units)}"
        )
    yield text


def _caveats(who: str, one: Calibration) -> Iterator[str]:
    if one.n_labels < MIN_TRUSTED:
        yield f"{who}: fewer than {MIN_TRUSTED} labels say little, and decide nothing"
    if len(one.judge_hashes) > 1:
        yield (
            f"{who}: judged in {whole(len(one.judge_hashes))} ways, and a calibration is of one: "
            "`collect evaluate RUN` judges all in the way of now"
        )
    if len(one.served_models) > 1 and one.judge_run_id is not None:
        yield f"{who}: answered by {', '.join(one.served_models)}"
    if one.n_unjudged:
        many = counted(one.n_unjudged, "labelled trial has", "labelled trials have")
        yield f"{who}: {many} no score"
    if one.n_undecided:
        yield f"{who}: annotators are evenly divided about {counted(one.n_undecided, 'trial')}"


def _limits(found: Interval | RateWithLimits | None) -> str:
    return "" if found is None else f" (95 % {percent(found.low)} to {percent(found.high)})"
