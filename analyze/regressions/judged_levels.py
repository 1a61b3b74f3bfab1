"""Whether judges or the model moved a level that judges have a say in.

Answers of runs before a shift that were judged again since show what the judges moved by; what
runs since score beside them is the model's (`analyze.comparison.judge_drift`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from analyze.comparison.evidence.judged import AskedAgain, CaseScores, read_scores
from analyze.comparison.evidence.outcomes import CaseKey
from analyze.comparison.judge_drift import Rejudged, ask_again, score_drift
from schemas.output.score_drift import JudgedLevel

if TYPE_CHECKING:
    from analyze.query.session import Session
    from analyze.regressions.detect import FoundShift
    from analyze.regressions.points import Point
    from schemas.output.score_drift import ScoreDrift

ByRun = dict[str, dict[CaseKey, CaseScores]]
"""Scores by one profile of a model, by run_id and case."""

MAX_RUNS = 10
"""Points next to a shift on either side that are looked at."""


def judged_levels(
    session: Session,
    found: FoundShift,
    clusters: Mapping[tuple[str, str], str],
    alpha: float,
) -> Iterator[JudgedLevel]:
    """Yield what each profile says that has a say in a level on either side of its shift.

    Args:
        session: the open lake.
        found: a shift of a pass rate.
        clusters: by suite_id and case_id.
        alpha: two-sided chance of a false alarm.

    Raises:
        ViewError: the lake cannot be read.
    """
    shift, places = found.shift, found.places
    before = places[places <= shift.last_before][-min(shift.n_before, MAX_RUNS) :]
    since = places[places >= shift.at][: shift.n_after][-MAX_RUNS:]
    points = [found.points[place] for place in (*before, *since)]
    scores = read_scores(session, sorted(run_id for one in points for run_id in one.run_ids))
    if not scores:
        return
    deciding: defaultdict[str, ByRun] = defaultdict(dict)
    for (run_id, model_id, case), by_profile in scores.items():
        if model_id == found.model_id:
            for profile, one in by_profile.items():
                if one.decides:
                    deciding[profile].setdefault(run_id, {})[case] = one
    level = [found.points[place] for place in since]
    for profile, by_run in sorted(deciding.items()):
        drift = _drift(by_run, level, clusters, alpha)
        is_known = drift is not None and drift.cause != "not_known"
        yield JudgedLevel(
            evaluation_profile_id=profile,
            drift=drift,
            next_command=None
            if is_known
            else ask_again(
                found.last_before.run_ids[-1], profile, found.model_id, session.runs_dir
            ),
        )


def _drift(
    by_run: ByRun, level: Sequence[Point], clusters: Mapping[tuple[str, str], str], alpha: float
) -> ScoreDrift | None:
    """Return what answers judged again say; the runs of a level that were not are the model's."""
    fresh = [
        by_run[run_id]
        for point in level
        for run_id in point.run_ids
        if run_id in by_run and not any(one.again for one in by_run[run_id].values())
    ]
    if not fresh:
        return None
    judged_ms = min(max(one.last_ms for one in cases.values()) for cases in fresh)
    again: defaultdict[CaseKey, list[AskedAgain]] = defaultdict(list)
    for cases in by_run.values():
        for case, one in cases.items():
            if one.again and one.again.first_ms < judged_ms:
                again[case].append(one.again)
    of_model: defaultdict[CaseKey, list[CaseScores]] = defaultdict(list)
    for cases in fresh:
        for case, one in cases.items():
            of_model[case].append(one)
    return score_drift(
        [
            Rejudged(
                clusters.get((case.suite_id, case.case_id)),
                AskedAgain.total_of(again[case]),
                CaseScores.total_of(of_model[case]),
            )
            for case in sorted(again.keys() & of_model.keys())
        ],
        alpha,
    )
