"""All that can be said of the judges of some runs, put together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from analyze.judges.agreement import agreement_between, agreement_within
from analyze.judges.calibration import calibrations, labelling, planned_trials
from analyze.judges.drift import drifts, read_rejudged
from analyze.judges.effects import length_effects, place_effects, scores_of, self_preferences
from analyze.judges.labels import read_labels
from analyze.judges.noise import ranks, spreads, variance_splits
from analyze.judges.opinions import read_opinions, read_pairs
from schemas.errors import ConfigError, Problem, nearest
from schemas.output.judges import Agreement, JudgeDrift, JudgesReport, VarianceSplit

if TYPE_CHECKING:
    from analyze.query.session import Session


class JudgeTrust(NamedTuple):
    """What a report of a run has of it."""

    agreement: tuple[Agreement, ...]
    variance: tuple[VarianceSplit, ...]
    drift: tuple[JudgeDrift, ...]


def trust_of(session: Session, run_ids: Sequence[str]) -> JudgeTrust:
    """Return how far the judges of runs can be believed, in short.

    Raises:
        ViewError: the lake cannot be read.
    """
    opinions = read_opinions(session, run_ids)
    aggregates = read_opinions(session, run_ids, of="judge_run")
    return JudgeTrust(
        (*agreement_within(opinions), *agreement_between(aggregates)),
        tuple(one for one in variance_splits(opinions) if one.judge_sd is not None),
        tuple(drifts(read_rejudged(session, run_ids))),
    )


def judges_report(
    session: Session,
    run_ids: Sequence[str],
    profile: str | None = None,
    labels: Path | None = None,
    *,
    model: str | None = None,
) -> JudgesReport:
    """Return how far the judges of runs can be believed.

    Args:
        session: the open lake.
        run_ids: whose trials; those of all runs together, each a trial of its own.
        profile: only judges of this evaluation profile.
        labels: CSV file of what people say of trials.
        model: only what they said of this one, by its model_id or model string.

    Raises:
        ConfigError: no judge of that profile has said anything about these runs or that model, or a
            label is wrong.
        ViewError: the lake cannot be read.
    """
    if profile is not None:
        _require_known(session, run_ids, profile)
    opinions = read_opinions(session, run_ids, profile, model=model)
    pairs = read_pairs(session, run_ids, profile, model)
    if model is not None and not opinions and not pairs:
        raise not_judged(session, run_ids, model)
    aggregates = read_opinions(session, run_ids, profile, model=model, of="judge_run")
    scored = scores_of(aggregates)
    ordered = list(ranks(scored))
    found = None
    if labels is not None:
        found = read_labels(labels, run_ids, planned_trials(session, run_ids))
        if model is not None:
            found = found.of(planned_trials(session, run_ids, model))
            if not found.by_trial:
                what = f"holds no label of `{model}`"
                raise ConfigError([Problem(labels, what, key="--model")])
    finals = read_opinions(session, run_ids, profile, model=model, of="profile") if found else []
    return JudgesReport(
        run_ids=tuple(run_ids),
        agreement=(*agreement_within(opinions), *agreement_between(aggregates)),
        variance=tuple(variance_splits(opinions)),
        spread=tuple(spreads(opinions)),
        places=tuple(place_effects(pairs)),
        lengths=tuple(length_effects(scored)),
        self_preference=tuple(self_preferences(scored)),
        ranks=tuple(one for one, _ in ordered),
        reversals=tuple(one for _, some in ordered for one in some),
        drift=tuple(drifts(read_rejudged(session, run_ids, profile, model))),
        labels=None if found is None or labels is None else labelling(labels, found),
        calibration=()
        if found is None
        else tuple(calibrations(session, run_ids, found, finals, aggregates, model=model)),
    )


PROFILES = """
select distinct evaluation_profile_id from stg_judge_iterations where list_contains($1, run_id)
union
select distinct evaluation_profile_id from stg_pair_iterations where list_contains($1, run_id)
order by evaluation_profile_id
"""


def not_judged(session: Session, run_ids: Sequence[str], model: str) -> ConfigError:
    """Return the error that no judge has said anything about a model; names those that were."""
    judged = sorted({one.trial.model_id for one in read_opinions(session, run_ids)})
    message = (
        f"no judge has said anything about {', '.join(run_ids)} and this model (collect evaluate "
        "RUN --evaluation-profile ID asks one)"
    )
    return ConfigError(
        [
            Problem(
                None,
                message,
                key="--model",
                found=f"`{model}`",
                allowed=", ".join(judged) or None,
                nearest=nearest(model, judged),
            )
        ]
    )


def _require_known(session: Session, run_ids: Sequence[str], profile: str) -> None:
    known = [name for (name,) in session.rows(PROFILES, [list(run_ids)])]
    if profile not in known:
        there = f"; there is {', '.join(known)}" if known else ""
        message = (
            f"evaluation profile {profile}: no judge of it has said anything about "
            f"{', '.join(run_ids)}{there}. To ask one: "
            f"collect evaluate RUN --evaluation-profile {profile}"
        )
        raise ConfigError([Problem(None, message)])
