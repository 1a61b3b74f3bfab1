"""What answers about two trials come to: a line for each of them, and one for all.

A comparison is one iteration of a judge run in both orders. Who is preferred in both wins it; all
else is a tie, so that a judge that goes by the place prefers nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from collect.judges.asking import Asked
from collect.judges.judgement import VERSION, Place, combining, said_fields
from collect.judges.pairs.question import Choice, PairAnswer
from collect.plan.fingerprint import digest
from schemas.config.evaluation_profile import EvaluationProfile, JudgeRunConfig
from schemas.run.preference import (
    PairIteration,
    PairOrder,
    PairOutcome,
    PairRunOutcome,
    Preference,
    Preferred,
)

ORDERS: tuple[PairOrder, ...] = ("this_first", "other_first")

STANDS: Mapping[PairOrder, Mapping[Choice, Preferred]] = {
    "this_first": {"first": "this", "second": "other", "tie": "tie", "cannot_say": "cannot_say"},
    "other_first": {"first": "other", "second": "this", "tie": "tie", "cannot_say": "cannot_say"},
}
"""Whom a choice means in an order."""


@dataclass(frozen=True, slots=True)
class PairPlace(Place):
    """Which record of which trial is held against which."""

    other_run_id: str
    other_model_id: str
    other_result_no: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """One iteration of a judge run, with an answer in both orders."""

    outcome: PairOutcome | None
    """Of this trial; None: in some order the judge cannot say."""
    flip: PairOrder | None = None
    """In both orders for the same place; the order in which this trial was preferred."""


def compared(this_first: Preferred, other_first: Preferred) -> Comparison:
    """Return what the answers in both orders come to."""
    said = {this_first, other_first}
    if "cannot_say" in said:
        return Comparison(None)
    if said == {"this"}:
        return Comparison("won")
    if said == {"other"}:
        return Comparison("lost")
    if said == {"this", "other"}:
        return Comparison("tied", "this_first" if this_first == "this" else "other_first")
    return Comparison("tied")


def majority(outcomes: Iterable[PairOutcome | None]) -> PairOutcome | None:
    """Return won or lost where more say so than say the other, else tied; None: nobody can say."""
    said = [one for one in outcomes if one is not None]
    if not said:
        return None
    lead = said.count("won") - said.count("lost")
    return "won" if lead > 0 else "lost" if lead < 0 else "tied"


def pair_line(asked: Asked[PairAnswer], fields: Mapping[str, Any]) -> PairIteration:
    """Return the line of one judge that was asked once, in one order.

    Args:
        asked: what came of it.
        fields: of the place with its `pair_order`, and of `asked_fields`.
    """
    answer = asked.answer
    order: PairOrder = fields["pair_order"]
    return PairIteration(
        **fields,
        preferred=None if answer is None else STANDS[order][answer.choice],
        **said_fields(answer),
    )


def preference_line(
    place: PairPlace,
    profile: EvaluationProfile,
    iterations: Sequence[PairIteration],
    chars: tuple[int, int],
    *,
    is_identical: bool,
    at_ms: int,
) -> Preference:
    """Return the line of what all judges of a profile come to on two trials.

    Args:
        place: which two.
        profile: whose judge runs hold.
        iterations: of all its judge runs, in any order; none where nobody is asked.
        chars: of the final answer of this trial and of the other one.
        is_identical: both left the same.
        at_ms: wall clock.
    """
    used: list[Comparison] = []
    runs = []
    for run in profile.judge_runs if not is_identical else ():
        found = _comparisons(run, iterations)
        own = found[: run.sample_size]
        used += own
        runs.append(
            PairRunOutcome(
                judge_run_id=run.judge_run_id,
                judge_id=run.judge_id,
                n_successful=len(found),
                n_failed=run.repetitions - len(found),
                n_used=len(own),
                outcome=majority(one.outcome for one in own),
            )
        )
    questions: list[JsonValue] = [
        *sorted(f"{one.judge_run_id}:{one.pair_order}:{one.question_hash}" for one in iterations)
    ]
    has_said = is_identical or bool(used)
    return Preference(
        **place.fields,
        evaluated_at_ms=at_ms,
        evaluation_fingerprint=digest({"questions": questions, **combining(profile)}),
        status="success" if has_said else "failed",
        outcome="tied" if is_identical else majority(one.outcome for one in runs),
        is_identical=is_identical,
        n_comparisons=len(used),
        n_flips_to_first=sum(one.flip == "this_first" for one in used),
        n_flips_to_second=sum(one.flip == "other_first" for one in used),
        answer_chars=chars[0],
        other_answer_chars=chars[1],
        judge_runs=tuple(runs),
        benchlake_version=VERSION,
    )


def _comparisons(run: JudgeRunConfig, iterations: Iterable[PairIteration]) -> list[Comparison]:
    """Return the comparisons of a judge run that have an answer in both orders, in order."""
    said: dict[int, dict[PairOrder, Preferred]] = {}
    for one in iterations:
        if one.judge_run_id == run.judge_run_id and one.preferred is not None:
            said.setdefault(one.iteration, {})[one.pair_order] = one.preferred
    return [
        compared(both["this_first"], both["other_first"])
        for _, both in sorted(said.items())
        if len(both) == len(ORDERS)
    ]
