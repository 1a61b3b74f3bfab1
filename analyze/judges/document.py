"""How far judges can be believed, as a document: sentences first, then the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyze.comparison.judge_drift import MARGIN
from analyze.judges.calibration_words import calibration_words, labelling_words
from analyze.render.document import Document, Items, Section, Table, paragraph
from analyze.render.numbers import DASH, moment, percent, score, signed_score, whole
from analyze.render.text import Column
from schemas.errors import counted
from schemas.output.judges import (
    Agreement,
    AgreementOf,
    CaseSpread,
    JudgeDrift,
    JudgesReport,
    LengthEffect,
    MeanWithLimits,
    OrderReversal,
    PlaceEffect,
    SelfPreference,
    VarianceSplit,
)

MAX_SPREAD = 10
"""Trials that are listed; `--json` has all."""

GOOD_ALPHA, FAIR_ALPHA = 0.8, 0.667
"""Krippendorff 2004: from 0.8 on conclusions may rest on it, from 0.667 on tentative ones."""

OF: dict[AgreementOf, str] = {"score": "scores", "expectations": "expectations", "pass": "passes"}

NONE = (
    "no judge has said anything about these runs yet: "
    "collect evaluate RUN --evaluation-profile ID asks one"
)

ONCE = (
    "each judge run was asked once about a trial, so how far it agrees with itself is not known; "
    "`repetitions` of a judge run in the evaluation profile asks again"
)

MEANING = (
    "alpha: agreement beyond chance; 1 is all of it. It is low where trials are alike, so look at "
    "the differences too. bias: later or second minus first, in points. case, agent and judge sd: "
    "where scores vary; what the judge adds is noise."
)


def judges_document(found: JudgesReport) -> Document:
    """Return it for people."""
    if not found.agreement and not found.variance and not found.places:
        return Document("Judges", [paragraph(NONE)])
    return Document(
        "Judges",
        [
            Section([Items(list(_of_labels(found)))]),
            Section([Items(list(_sentences(found)))]),
            Section([_agreement_table(found.agreement)]),
            Section([_variance_table(found.variance)]),
            Section([_spread_table(found.spread), *_more(found.spread)]),
            paragraph(MEANING),
        ],
    )


def _of_labels(found: JudgesReport) -> Iterator[str]:
    if found.labels is not None:
        yield labelling_words(found.labels)
    for one in found.calibration:
        yield from calibration_words(one)


def _sentences(found: JudgesReport) -> Iterator[str]:
    if found.variance and not any(one.scope == "within" for one in found.agreement):
        yield ONCE
    for one in found.agreement:
        if one.of == "score":
            yield _agreement_words(one)
    for drift in found.drift:
        yield _drift_words(drift)
    for place in found.places:
        yield _place_words(place)
    for length in found.lengths:
        if (said := _length_words(length)) is not None:
            yield said
    for own in found.self_preference:
        yield _self_words(own)
    for rank in found.ranks:
        n = sum(one.judge_run_ids == rank.judge_run_ids for one in found.reversals)
        if rank.tau is not None:
            yield (
                f"{' and '.join(rank.judge_run_ids)} order {whole(rank.n_models)} models with "
                f"Kendall's tau {rank.tau:.2f}, {counted(n, 'reversal')}"
            )
    for turned in found.reversals:
        yield _reversal_words(turned)


def _agreement_words(one: Agreement) -> str:
    if one.scope == "within":
        who = f"{one.judge_run_ids[0]} ({one.judge_ids[0]}) with itself"
    else:
        who = " and ".join(one.judge_run_ids)
    apart = (
        f"two scores of a trial differ by {score(one.mean_absolute_difference)} points, "
        f"{percent(one.within_one_point)} % of them by at most 1"
    )
    return f"{who}: {_alpha_words(one)} over {counted(one.n_units, 'trial')}; {apart}{_bias(one)}"


def _alpha_words(one: Agreement) -> str:
    if one.alpha is None:
        return "no score differs from any other, so agreement cannot be told from chance"
    word = (
        "agrees" if one.alpha >= GOOD_ALPHA else "agrees somewhat"
        if one.alpha >= FAIR_ALPHA else "hardly agrees"
    )  # fmt: skip
    return f"{word}, alpha {one.alpha:.2f}{_alpha_limits(one, ' (', ')')}"


def _alpha_limits(one: Agreement, before: str = "", after: str = "") -> str:
    if one.alpha_low is None or one.alpha_high is None:
        return ""
    return f"{before}{one.alpha_low:.2f} to {one.alpha_high:.2f}{after}"


def _bias(one: Agreement) -> str:
    if one.bias is None or one.bias.low is None or one.bias.high is None:
        return ""
    if one.bias.low <= 0 <= one.bias.high:
        return ""
    subject = "its last answer" if one.scope == "within" else one.judge_run_ids[1]
    than = "its first" if one.scope == "within" else one.judge_run_ids[0]
    how = "higher" if one.bias.mean > 0 else "lower"
    return f"; {subject} is {score(abs(one.bias.mean))} points {how} than {than}"


def _drift_words(one: JudgeDrift) -> str:
    who = (
        f"{one.judge_run_id} ({one.judge_id}), asked again about {counted(one.n_trials, 'answer')}"
    )
    found = f"{signed_score(one.difference.mean)} points{_limits(one.difference)}"
    when = f"from {moment(one.first_at_ms)} to {moment(one.last_at_ms)}"
    served = ""
    if one.first_models != one.last_models:
        served = f"; served by {', '.join(one.first_models)}, then {', '.join(one.last_models)}"
    word = {
        "drifted": f"has drifted by {found}",
        "unchanged": f"is the same within {MARGIN:g} points: {found}",
        "inconclusive": f"may have drifted: {found}",
        "too_few": f"gives {found}, too few to say more",
    }[one.verdict]
    return f"{who} {word}, {when}{served}"


def _place_words(one: PlaceEffect) -> str:
    flips = one.n_flips_to_first + one.n_flips_to_second
    limits = ""
    if one.flip_ci95 is not None:
        limits = f" (95 % {percent(one.flip_ci95.low)} to {percent(one.flip_ci95.high)})"
    leaning = "" if one.leans_to is None else f"; it leans to the {one.leans_to} place"
    return (
        f"{one.judge_run_id} ({one.judge_id}) goes by the place in {percent(one.flip_rate)} %"
        f"{limits} of pairs: {whole(flips)} of {counted(one.n_comparisons, 'comparison')}{leaning}"
    )


def _length_words(one: LengthEffect) -> str | None:
    if one.low is None or one.high is None or one.low <= 0 <= one.high:
        return None
    how = "more" if one.points_per_doubling > 0 else "less"
    return (
        f"{one.judge_run_id} ({one.judge_id}) gives {score(abs(one.points_per_doubling))} points "
        f"{how} to an answer twice as long of the same model to the same case (95 % "
        f"{signed_score(one.low)} to {signed_score(one.high)}); longer ones may be better"
    )


def _self_words(one: SelfPreference) -> str:
    found = one.difference
    limits = _limits(found)
    sure = found.low is not None and found.high is not None and not found.low <= 0 <= found.high
    tail = "" if sure else ", which may be chance"
    return (
        f"{one.judge_run_id} ({one.judge_id}) gives `{one.family}` models "
        f"{signed_score(found.mean)} points{limits} beyond what the other judges give them{tail}"
    )


def _reversal_words(one: OrderReversal) -> str:
    first, second = one.model_ids
    ours, theirs = one.differences
    better, worse = (second, first) if ours > 0 else (first, second)
    return (
        f"{one.judge_run_ids[0]} puts {better} above {worse} by {score(abs(ours))} points, "
        f"{one.judge_run_ids[1]} the other way by {score(abs(theirs))}"
    )


def _limits(found: MeanWithLimits) -> str:
    if found.low is None or found.high is None:
        return ""
    return f" (95 % {signed_score(found.low)} to {signed_score(found.high)})"


def _agreement_table(rows: Sequence[Agreement]) -> Table:
    columns = (
        Column("profile", least=6, is_name=True),
        Column("", least=6),
        Column("judge runs", least=8, is_name=True),
        Column("of"),
        Column("alpha", "right"),
        Column("95 % about"),
        Column("n", "right"),
        Column("bias", "right"),
        Column("95 %"),
        Column("apart", "right"),
        Column("≤ 1 %", "right"),
        Column("cannot say", "right"),
    )
    return Table(
        columns,
        [
            [
                one.evaluation_profile_id,
                one.scope,
                ", ".join(one.judge_run_ids),
                OF[one.of],
                DASH if one.alpha is None else f"{one.alpha:.2f}",
                _alpha_limits(one),
                whole(one.n_units),
                "" if one.bias is None else signed_score(one.bias.mean),
                "" if one.bias is None else _limits(one.bias).removeprefix(" (95 % ").rstrip(")"),
                "" if one.mean_absolute_difference is None else score(one.mean_absolute_difference),
                "" if one.within_one_point is None else percent(one.within_one_point),
                whole(one.n_cannot_say) if one.n_cannot_say else "",
            ]
            for one in rows
        ],
        ("cannot say", "95 %", "profile"),
    )


def _variance_table(rows: Sequence[VarianceSplit]) -> Table:
    columns = (
        Column("judge run", least=8, is_name=True),
        Column("model", least=8, is_name=True),
        Column("cases", "right"),
        Column("trials", "right"),
        Column("scores", "right"),
        Column("case sd", "right"),
        Column("agent sd", "right"),
        Column("judge sd", "right"),
    )
    return Table(
        columns,
        [
            [
                one.judge_run_id,
                one.model_id,
                whole(one.n_cases),
                whole(one.n_trials),
                whole(one.n_scores),
                _case_sd(one),
                score(one.agent_sd),
                score(one.judge_sd),
            ]
            for one in rows
        ],
    )


def _case_sd(one: VarianceSplit) -> str:
    """Return it; at most that, where the noise of agent and judge in it is not known."""
    if one.case_sd is None or one.agent_sd is not None:
        return score(one.case_sd)
    return f"≤ {score(one.case_sd)}"


def _spread_table(rows: Sequence[CaseSpread]) -> Table:
    columns = (
        Column("judge run", least=8, is_name=True),
        Column("of several minds", least=12, is_name=True),
        Column("model", least=8, is_name=True),
        Column("repetition", "right"),
        Column("scores"),
        Column("sd", "right"),
    )
    return Table(
        columns,
        [
            [
                one.judge_run_id,
                one.case_id,
                one.model_id,
                whole(one.repetition),
                f"{score(one.low)} to {score(one.high)}, {counted(one.n_answers, 'answer')}",
                score(one.sd),
            ]
            for one in rows[:MAX_SPREAD]
        ],
        ("repetition",),
    )


def _more(rows: Sequence[CaseSpread]) -> list[str]:
    n = len(rows) - MAX_SPREAD
    return [f"and {whole(n)} more: --json lists all"] if n > 0 else []
