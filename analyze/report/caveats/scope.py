"""Doubts about what the run stands for: a part of a plan or suite, older answers, some costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from analyze.parts.reported_run import n_cases_of
from analyze.render.numbers import whole
from analyze.report.caveats.facts import RunDoubtFacts
from analyze.report.caveats.words import ids_of, query_of, share, some
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
