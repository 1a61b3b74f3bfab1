"""Doubts about the size of a run: too few cases, asked once, or asked again for nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyze.gate.rules import LEAST_CASES
from analyze.render.numbers import whole
from analyze.report.caveats.facts import ModelFacts, RunDoubtFacts
from analyze.report.caveats.words import ids_of, names_of, query_of, some
from schemas.output.report import Doubt


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
