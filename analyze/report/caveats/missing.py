"""Doubts about verdicts that are not there: never run, failed for other reasons, no check."""

from __future__ import annotations

from collections.abc import Iterator

from analyze.comparison.verdict import ROUNDING
from analyze.render.numbers import percent, whole
from analyze.report.caveats.facts import ModelFacts, RunDoubtFacts
from analyze.report.caveats.words import (
    ids_of,
    names_of,
    query_of,
    resume_of,
    share,
    some,
)
from schemas.errors import counted
from schemas.output.report import Doubt


def no_verdict(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield models without a passed rate: by the suite, or because nothing came of them."""
    unjudged = [one for one in facts.models if one.group.n_scorable == 0]
    silent = [one for one in facts.models if one.group.n_scorable and not one.verdicts.n_trials]
    command = facts.asked.command("show", facts.asked.run_id)
    if silent:
        told = some([f"{one.name} 0 of {whole(one.group.n_scorable)}" for one in silent])
        yield Doubt(
            code="no_verdict",
            is_serious=True,
            model_ids=ids_of(silent),
            sentence=f"No trial has a verdict: {told}. There is no passed rate.",
            command=command,
        )
    if unjudged:
        is_all = len(unjudged) == len(facts.models)
        of = "" if is_all else f" of {names_of(unjudged)}"
        yield Doubt(
            code="no_verdict",
            is_serious=False,
            model_ids=() if is_all else ids_of(unjudged),
            sentence=f"No case{of} has a check that could give a verdict: there are answers, "
            "times and costs, and no passed rate.",
            command=command,
        )


def missing_trials(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield planned trials without a result; serious where they alone are too many."""
    short = [one for one in facts.models if one.n_missing]
    if not short:
        return
    least = facts.asked.limits.thresholds.min_coverage
    n_missing, came = sum(one.n_missing for one in short), facts.asked.run.came
    told = some([f"{one.name} {share(one.n_missing, one.group.n_planned)}" for one in short])
    why = f" The run was stopped: {facts.stopped}." if facts.stopped else ""
    yield Doubt(
        code="missing_trials",
        is_serious=any(
            _is_too_many(one.n_missing_scorable, one.group.n_scorable, least) for one in short
        ),
        model_ids=ids_of(short),
        sentence=f"{whole(n_missing)} of {counted(came.n_planned, 'planned trial')} "
        f"{'has' if n_missing == 1 else 'have'} no result: "
        f"{told}; what is missing need not be like what is there.{why}",
        command=resume_of(facts.asked) or facts.asked.command("show", facts.asked.run_id),
    )


def coverage(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield models of which too few trials have a verdict, with what their rate can be (S5)."""
    least = facts.asked.limits.thresholds.min_coverage
    short = [
        one
        for one in facts.models
        if one.verdicts.n_trials
        and one.group.coverage is not None
        and one.group.coverage < least - ROUNDING
    ]
    if short:
        yield Doubt(
            code="coverage",
            is_serious=True,
            model_ids=ids_of(short),
            sentence=f"Fewer than {percent(least)} % of the trials that can get a verdict have "
            f"one: {some([_covered(one) for one in short])}. Whatever the others would have come "
            f"to, the passed rate lies between {some([_bounds(one) for one in short])}. So few are "
            "not compared.",
            command=facts.asked.command("show", facts.asked.run_id),
        )


def _covered(one: ModelFacts) -> str:
    return f"{one.name} {share(one.verdicts.n_trials, one.group.n_scorable)}"


def _bounds(one: ModelFacts) -> str:
    """Return the rate with the others counted as failed, and as passed (Manski 2003)."""
    strict = one.group.score_strict or 0.0
    upper = min(strict + 1 - one.verdicts.n_trials / one.group.n_scorable, 1.0)
    return f"{percent(strict)} and {percent(upper)} % ({one.name})"


def infrastructure(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield failures that are not the models', with whose they are (D-A6)."""
    hit = [one for one in facts.models if one.outside]
    if not hit:
        return
    least = facts.asked.limits.thresholds.min_coverage
    n_outside = sum(kind.n_trials for one in hit for kind in one.outside)
    yield Doubt(
        code="infrastructure",
        is_serious=any(
            _is_too_many(sum(kind.n_scorable for kind in one.outside), one.group.n_scorable, least)
            for one in hit
        ),
        model_ids=ids_of(hit),
        sentence=f"{share(n_outside, facts.asked.run.came.n_total, 'results')} failed for "
        f"reasons outside the model: {some([_failed(one) for one in hit], '; ')}. They have no "
        "verdict and count neither for a model nor against it.",
        command=query_of(
            facts.asked,
            "select model_id, case_id, repetition, failure_type, cause, error_message "
            "from failures",
            "not counts_against_model",
        ),
    )


def _failed(one: ModelFacts) -> str:
    kinds = some([f"{whole(k.n_trials)} {k.failure_type} ({k.cause})" for k in one.outside])
    return f"{one.name} {kinds}" + (f", stopped: {one.stopped}" if one.stopped else "")


def _is_too_many(lost: int, of: int, least: float) -> bool:
    """Return whether so many verdicts were lost that the others are too few."""
    return of > 0 and 1 - lost / of < least - ROUNDING
