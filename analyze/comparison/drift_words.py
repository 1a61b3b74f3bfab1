"""The sentences on whether a judge or the model moved scores."""

from __future__ import annotations

from collections.abc import Iterator

from analyze.render.numbers import signed_score
from schemas.errors import counted
from schemas.output.score_drift import Cause, ScoreDrift

CAUSES: dict[Cause, str] = {
    "judge": "likelier the judge has changed than the model",
    "model": "likelier the model has changed than the judge",
    "both": "the judge and the model have both changed",
    "not_known": "something has changed, and whether it is the judge or the model is not known",
}


def drift_notes(profile: str, drift: ScoreDrift | None, next_command: str | None) -> Iterator[str]:
    """Yield whether the judge or the model moved the scores of a profile, and how to find out."""
    if drift is not None and drift.difference is None:
        yield f"{profile} judged too few answers of the base again to say whether it has drifted"
    elif drift is not None:
        cause = "" if drift.cause is None else f": {CAUSES[drift.cause]}"
        few = ", too few to say more" if drift.verdict == "too_few" else ""
        yield (
            f"{profile}, asked again about {counted(drift.n_trials, 'answer')} of the base, gives "
            f"{signed_score(drift.difference)} ({limits_of_score(drift.low, drift.high)}){few}, "
            f"and the candidate {signed_score(drift.candidate_difference)} "
            f"({limits_of_score(drift.candidate_low, drift.candidate_high)}) beside that{cause}"
        )
    if next_command is not None:
        what = "" if drift is None else ", at one time with the other side"
        yield (
            f"whether {profile} or the model has changed is not known; to have answers judged "
            f"again{what}: {next_command}"
        )


def limits_of_score(low: float | None, high: float | None) -> str:
    """Return limits of a difference of scores: `-1.50 to -0.20`; empty: there are none."""
    if low is None or high is None:
        return ""
    return f"{signed_score(low)} to {signed_score(high)}"
