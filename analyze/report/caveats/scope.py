"""Doubts about what the run stands for: a part of a plan or suite, older answers, some costs.

Doubts about the size of a run: too few cases, asked once, or asked again for nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from analyze.gate.rules import LEAST_CASES
from analyze.render.numbers import whole
from analyze.report.caveats.facts import ModelFacts, RunDoubtFacts
from analyze.report.caveats.words import ids_of, names_of, query_of, share, some
from analyze.report.sections.answer import n_cases_of
from schemas.errors import counted
from schemas.output.report import Doubt
from schemas.run.config import Narrowed


def shard(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield that the run is a part of one plan (D-F4)."""
    asked = facts.asked
    group = asked.run.asked.run_group
    if group is None:
        return
    rows = asked.session.rows(
        "select run_id from stg_runs where run_group = ? and run_id <> ? order by run_id",
        [group, asked.run_id],
    )
    others = [run_id for (run_id,) in rows]
    which = facts.config.narrowed.shard if facts.config else None
    here = f"other parts here: {some(others)}" if others else "no other part of it is here"
    yield Doubt(
        code="shard",
        is_serious=False,
        model_ids=(),
        sentence=f"This is {f'part {which}' if which else 'a part'} of one plan; {here}. Its "
        "numbers are of its own part, while a comparison takes all parts together.",
        command=asked.command("runs", "--suite", asked.run.asked.suite_id),
    )


def narrowed(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield that flags made the run smaller than its suite."""
    asked, config = facts.asked, facts.config
    flags = list(_flags(config.narrowed)) if config else []
    if config is None and asked.run.asked.is_narrowed and asked.run.asked.run_group is None:
        flags = ["flags that only its folder knows"]
    if flags:
        n_cases = n_cases_of(asked.session, asked.run_id)
        yield Doubt(
            code="narrowed",
            is_serious=False,
            model_ids=(),
            sentence=f"The run is smaller than its suite ({some(flags)}): "
            f"{counted(n_cases, 'case')}. Its rates stand for these, and not for the suite.",
            command=asked.command("runs", "--suite", asked.run.asked.suite_id),
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
    asked = facts.asked
    if not asked.run.asked.is_imported:
        return
    query = "select count(*) from stg_plans where run_id = ? and case_hash is null"
    ((n_unknown,),) = asked.session.rows(query, [asked.run_id])
    unknown = (
        f" What its cases asked is not known for {whole(n_unknown)} of "
        f"{counted(asked.run.came.n_planned, 'trial')}, so a comparison needs --allow case."
        if n_unknown
        else ""
    )
    yield Doubt(
        code="imported",
        is_serious=False,
        model_ids=(),
        sentence="Another tool made this run: verdicts, times and costs are as that tool wrote "
        f"them.{unknown}",
        command=asked.command("show", asked.run_id),
    )


def reused(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield answers of older runs; serious where they are the baseline's own."""
    old = [one for one in facts.models if one.reused_from]
    if not old:
        return
    runs: Counter[str] = Counter()
    for one in old:
        runs.update(one.reused_from)
    n_shared = sum(n for run_id, n in runs.items() if run_id in facts.asked.baseline)
    told = some([f"{whole(n)} of {run_id}" for run_id, n in runs.most_common()])
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
        sentence=f"{share(runs.total(), facts.asked.run.came.n_total, 'results')} are answers "
        f"of older runs: {told}. Their verdicts count, their times and costs do not.{shared}",
        command=query_of(
            facts.asked,
            "select model_id, reused_from_run_id, count(*) as n_trials from results",
            rest="group by all order by all",
        ),
    )


def unknown_cost(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield costs that are known in part; a run without any cost has no money in its report."""
    if not any(one.group.n_cost_known for one in facts.models):
        return
    unsure = [one for one in facts.models if one.group.n_cost_known < one.n_measured]
    if unsure:
        told = some(
            [f"{one.name} {share(one.group.n_cost_known, one.n_measured)}" for one in unsure]
        )
        n_unknown = sum(one.n_measured - one.group.n_cost_known for one in unsure)
        yield Doubt(
            code="unknown_cost",
            is_serious=False,
            model_ids=ids_of(unsure),
            sentence=f"What {counted(n_unknown, 'trial')} cost is not known; it is of {told}. Sums "
            "are the least that was paid.",
            command=query_of(
                facts.asked,
                "select model_id, coalesce(failure_type, 'success') as came_to, count(*) as "
                "n_trials from results",
                "cost_usd is null and reused_from_run_id is null",
                "group by all order by all",
            ),
        )


def few_cases(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield models with verdicts on fewer cases than a gate judges (D-I1)."""
    few = [one for one in facts.models if 0 < one.verdicts.n_units < LEAST_CASES]
    if few:
        told = some([f"{one.name} {whole(one.verdicts.n_units)}" for one in few])
        is_clustered = any(one.verdicts.n_clusters is not None for one in few)
        units = "clusters of cases" if is_clustered else "cases"
        yield Doubt(
            code="few_cases",
            is_serious=True,
            model_ids=ids_of(few),
            sentence=f"Fewer than {LEAST_CASES} {units} have a verdict: {told}. So few can show no "
            "change, and a single one turns the rate.",
            command=facts.asked.command("power", "--run", facts.asked.run_id),
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
            command=facts.asked.command("power", "--run", facts.asked.run_id, "--repetitions", "3"),
        )


def identical_repetitions(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield models whose repetitions say nothing, since all of them are the same (S21)."""
    same = [one for one in facts.models if one.group.repetitions_identical]
    if same:
        counts = {one.group.repetitions for one in same}
        number = whole(max(counts)) if len(counts) == 1 else "several"
        told = _of(facts, same, f"{number} repetitions of a case gave the same answer")
        yield Doubt(
            code="identical_repetitions",
            is_serious=False,
            model_ids=ids_of(same),
            sentence=f"{told} byte for byte, in at least 95 % of the cases: they count as one for "
            "pass@k, and asking more often shows nothing new; more cases do.",
            command=query_of(
                facts.asked,
                "select model_id, case_id, count(*) as n_trials, "
                "count(distinct output_hash) as n_answers from results",
                rest="group by all order by all",
            ),
        )


def _of(facts: RunDoubtFacts, models: Sequence[ModelFacts], told: str) -> str:
    """Return what a sentence about models begins with: their names, unless it is about all."""
    if len(models) < len(facts.models):
        return f"{names_of(models)}: {told}"
    return told[0].upper() + told[1:]
