"""Doubts about what a run stands for, its size, and verdicts that are not there.

It may be a part of a plan or suite, have older answers or costs of some trials only; have too few
cases, asked once, or asked again for nothing; or lack verdicts, since trials were never run, failed
for other reasons, or have no check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from analyze.gate.rules import MIN_CASES
from analyze.render.numbers import percent, some, whole
from analyze.report.caveats.facts import (
    ModelFacts,
    RunDoubtFacts,
    ids_of,
    names_of,
    query_of,
    resume_of,
    share,
)
from analyze.report.sections.answer import n_cases_of
from analyze.stats.paired_rates import ROUNDING
from schemas.errors import counted
from schemas.output.report import Doubt
from schemas.run.config import Narrowed


def shard(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield that the run is a part of one plan (D-F4)."""
    context = facts.context
    group = context.run.row.run_group
    if group is None:
        return
    rows = context.session.rows(
        "select run_id from stg_runs where run_group = ? and run_id <> ? order by run_id",
        [group, context.run_id],
    )
    others = [run_id for (run_id,) in rows]
    part = facts.config.narrowed.shard if facts.config else None
    here = f"other parts here: {some(others)}" if others else "no other part of it is here"
    yield Doubt(
        code="shard",
        is_serious=False,
        model_ids=(),
        sentence=f"This is {f'part {part}' if part else 'a part'} of one plan; {here}. Its "
        "numbers are of its own part, while a comparison takes all parts together.",
        command=context.command("runs", "--suite", context.run.row.suite_id),
    )


def narrowed(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield that flags made the run smaller than its suite."""
    context, config = facts.context, facts.config
    flags = list(_flags(config.narrowed)) if config else []
    if config is None and context.run.row.is_narrowed and context.run.row.run_group is None:
        flags = ["flags that only its folder knows"]
    if flags:
        n_cases = n_cases_of(context.session, context.run_id)
        yield Doubt(
            code="narrowed",
            is_serious=False,
            model_ids=(),
            sentence=f"The run is smaller than its suite ({some(flags)}): "
            f"{counted(n_cases, 'case')}. Its rates stand for these, and not for the suite.",
            command=context.command("runs", "--suite", context.run.row.suite_id),
        )


def _flags(said: Narrowed) -> Iterator[str]:
    """Yield the flags that made it smaller; a shard is told apart."""
    yield from (f"--case {one}" for one in said.cases)
    yield from (f"--tag {one}" for one in said.tags)
    yield from (f"--model {one}" for one in said.models)
    if said.max_trials is not None:
        yield f"--max-trials {said.max_trials}"


def imported(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield that another tool made the run, and what it does not say of its cases."""
    context = facts.context
    if not context.run.row.is_imported:
        return
    query = "select count(*) from stg_plans where run_id = ? and case_hash is null"
    ((n_unknown,),) = context.session.rows(query, [context.run_id])
    unknown = (
        f" What its cases asked is not known for {whole(n_unknown)} of "
        f"{counted(context.run.summary.n_planned, 'trial')}, so a comparison needs --allow case."
        if n_unknown
        else ""
    )
    yield Doubt(
        code="imported",
        is_serious=False,
        model_ids=(),
        sentence="Another tool made this run: verdicts, times and costs are as that tool wrote "
        f"them.{unknown}",
        command=context.command("show", context.run_id),
    )


def reused(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield answers of older runs; serious where they are the baseline's own."""
    old = [one for one in facts.models if one.reused_from]
    if not old:
        return
    runs: Counter[str] = Counter()
    for one in old:
        runs.update(one.reused_from)
    n_shared = sum(n for run_id, n in runs.items() if run_id in facts.context.baseline)
    listing = some([f"{whole(n)} of {run_id}" for run_id, n in runs.most_common()])
    shared = (
        f" {counted(n_shared, 'of them is', 'of them are')} the baseline's own, which cannot "
        "differ from it."
        if n_shared
        else ""
    )
    yield Doubt(
        code="reused",
        is_serious=bool(n_shared),
        model_ids=ids_of(old),
        sentence=f"{share(runs.total(), facts.context.run.summary.n_total, 'results')} are answers "
        f"of older runs: {listing}. Their verdicts count, their times and costs do not.{shared}",
        command=query_of(
            facts.context,
            "select model_id, reused_from_run_id, count(*) as n_trials from results",
            rest="group by all order by all",
        ),
    )


def other_profile(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield that judges of another evaluation profile than the run's own decide."""
    asked = facts.context.session.evaluation_profile
    (described,) = facts.context.session.rows(
        "select evaluation_profile_id, deciding_profile_id from runs where run_id = ?",
        [facts.context.run_id],
    )
    own, deciding = described
    if asked is None or asked == own:
        return
    remark = "there is none of its own" if own is None else f"its own is {own}"
    yield Doubt(
        code="other_profile",
        is_serious=False,
        model_ids=(),
        sentence=f"Verdicts are those with the judges of evaluation profile {asked}, which was "
        f"asked for; {remark}."
        if deciding is not None
        else f"Evaluation profile {asked} was asked for and judged this run without a threshold: "
        "its judges have no say in verdicts.",
        command=facts.context.command("report", facts.context.run_id),
    )


def unknown_cost(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield costs that are known in part; a run without any cost has no money in its report."""
    if not any(one.group.n_cost_known for one in facts.models):
        return
    unsure = [one for one in facts.models if one.group.n_cost_known < one.n_measured]
    if unsure:
        listing = some(
            [f"{one.name} {share(one.group.n_cost_known, one.n_measured)}" for one in unsure]
        )
        n_unknown = sum(one.n_measured - one.group.n_cost_known for one in unsure)
        yield Doubt(
            code="unknown_cost",
            is_serious=False,
            model_ids=ids_of(unsure),
            sentence=f"The cost of {counted(n_unknown, 'trial')} is not known; it is known of "
            f"{listing}. Sums are the least that was paid.",
            command=query_of(
                facts.context,
                "select model_id, coalesce(failure_type, 'success') as came_to, count(*) as "
                "n_trials from results",
                "cost_usd is null and reused_from_run_id is null",
                "group by all order by all",
            ),
        )


def few_cases(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield models with verdicts on fewer cases than a gate judges (D-I1)."""
    few = [one for one in facts.models if 0 < one.verdicts.n_units < MIN_CASES]
    if few:
        listing = some([f"{one.name} {whole(one.verdicts.n_units)}" for one in few])
        is_clustered = any(one.verdicts.n_clusters is not None for one in few)
        units = "clusters of cases" if is_clustered else "cases"
        yield Doubt(
            code="few_cases",
            is_serious=True,
            model_ids=ids_of(few),
            sentence=f"Fewer than {MIN_CASES} {units} have a verdict: {listing}. So few can show "
            "no change, and a single one turns the rate.",
            command=facts.context.command("power", "--run", facts.context.run_id),
        )


def one_repetition(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield models that were asked each case once."""
    once = [one for one in facts.models if one.group.repetitions == 1 and one.verdicts.n_trials]
    if once:
        yield Doubt(
            code="one_repetition",
            is_serious=False,
            model_ids=ids_of(once),
            sentence=f"{_of(facts, once, 'each case was asked once')}: whether the same verdict "
            "would come again is not known, so a case that flipped may be chance.",
            command=facts.context.command(
                "power", "--run", facts.context.run_id, "--repetitions", "3"
            ),
        )


def identical_repetitions(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield models whose repetitions say nothing, since all of them are the same (S21)."""
    same = [one for one in facts.models if one.group.repetitions_identical]
    if same:
        counts = {one.group.repetitions for one in same}
        number = whole(max(counts)) if len(counts) == 1 else "several"
        fact = _of(facts, same, f"{number} repetitions of a case gave the same answer")
        yield Doubt(
            code="identical_repetitions",
            is_serious=False,
            model_ids=ids_of(same),
            sentence=f"{fact} byte for byte, in at least 95 % of the cases: they count as one for "
            "pass@k, and asking more often shows nothing new; only more cases do.",
            command=query_of(
                facts.context,
                "select model_id, case_id, count(*) as n_trials, "
                "count(distinct output_hash) as n_answers from results",
                rest="group by all order by all",
            ),
        )


def _of(facts: RunDoubtFacts, models: Sequence[ModelFacts], fact: str) -> str:
    """Return what a sentence about models begins with: their names, unless it is about all."""
    if len(models) < len(facts.models):
        return f"{names_of(models)}: {fact}"
    return fact[0].upper() + fact[1:]


def no_verdict(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield models without a passed rate: by the suite, or because nothing came of them."""
    unjudged = [one for one in facts.models if one.group.n_scorable == 0]
    silent = [one for one in facts.models if one.group.n_scorable and not one.verdicts.n_trials]
    command = facts.context.command("show", facts.context.run_id)
    if silent:
        listing = some([f"{one.name} ({counted(one.group.n_scorable, 'trial')})" for one in silent])
        yield Doubt(
            code="no_verdict",
            is_serious=True,
            model_ids=ids_of(silent),
            sentence=f"No verdict at all, and so no passed rate: {listing}.",
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
    least = facts.context.limits.thresholds.min_coverage
    n_missing, came = sum(one.n_missing for one in short), facts.context.run.summary
    listing = some([f"{one.name} {share(one.n_missing, one.group.n_planned)}" for one in short])
    why = f" The run was stopped: {facts.stopped}." if facts.stopped else ""
    yield Doubt(
        code="missing_trials",
        is_serious=any(
            _is_too_many(one.n_missing_scorable, one.group.n_scorable, least) for one in short
        ),
        model_ids=ids_of(short),
        sentence=f"{whole(n_missing)} of {counted(came.n_planned, 'planned trial')} "
        f"{'has' if n_missing == 1 else 'have'} no result: "
        f"{listing}; what is missing need not be like what is there.{why}",
        command=resume_of(facts.context) or facts.context.command("show", facts.context.run_id),
    )


def coverage(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield models of which too few trials have a verdict, with what their rate can be (S5)."""
    least = facts.context.limits.thresholds.min_coverage
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
            command=facts.context.command("show", facts.context.run_id),
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
    least = facts.context.limits.thresholds.min_coverage
    n_outside = sum(kind.n_trials for one in hit for kind in one.outside)
    yield Doubt(
        code="infrastructure",
        is_serious=any(
            _is_too_many(sum(kind.n_scorable for kind in one.outside), one.group.n_scorable, least)
            for one in hit
        ),
        model_ids=ids_of(hit),
        sentence=f"{share(n_outside, facts.context.run.summary.n_total, 'results')} failed for "
        f"reasons outside the model: {some([_failed(one) for one in hit], '; ')}. They have no "
        "verdict and count neither for a model nor against it.",
        command=query_of(
            facts.context,
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
