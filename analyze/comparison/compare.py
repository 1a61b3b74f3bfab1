"""Two sides of runs compared: what differs, then for each model what follows.

Reads the runs of both sides, and of the nights before them how much nights vary. One family of
tests a call, whatever is shown of it (S10).

A case alone has no verdict; the list of those that passed less or more often says where to look,
not what is proven.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from analyze.aliases import renames_among
from analyze.comparison.evidence.outcomes import CaseKey, CaseOutcome
from analyze.comparison.evidence.read import Evidence
from analyze.comparison.evidence.run_sets import ChosenSide
from analyze.comparison.model_result import figures_of, judged, mean_rate, paired_counts
from analyze.comparison.nights import candidate_model, nights_of
from analyze.comparison.pairing import PairedCase, PairedGroup, Pooled, common_cases, pair
from analyze.comparison.planned import model_runs
from analyze.comparison.scores import score_measures
from analyze.lake.content_ids import CaseIdUse
from analyze.stats.intervals import Clusters, n_clusters, unit_sums
from analyze.stats.paired_means import benjamini_hochberg
from analyze.stats.paired_rates import rate_difference
from analyze.stats.power.assumptions import MAX_RUNS
from schemas.errors import runs_flag
from schemas.output.comparison import (
    Axis,
    CaseChange,
    Comparison,
    ExcludedCase,
    PlainDifference,
    Side,
    ThresholdsUsed,
)
from schemas.run.alias import Rename

if TYPE_CHECKING:
    from schemas.config.known_issues import Quarantined

By = Literal["model", "cell", "tag"]
"""What is shown beside the models: nothing, every case that changed, or every tag."""


def changes_of(groups: Sequence[PairedGroup], runs_dir: Path) -> tuple[CaseChange, ...]:
    """Return every case whose passed rate changed, worst first."""
    option = runs_flag(runs_dir)
    found = [change for group in groups for change in _changes(group, option)]
    return tuple(
        sorted(found, key=lambda c: (c.difference, c.suite_id, c.case_id, c.candidate_model_id))
    )


def _changes(group: PairedGroup, option: Sequence[str]) -> Iterator[CaseChange]:
    for case in group.cases:
        base, candidate = case.base.counts, case.candidate.counts
        if not base.n_scored or not candidate.n_scored:
            continue
        if base.n_passed * candidate.n_scored == candidate.n_passed * base.n_scored:
            continue
        yield CaseChange(
            suite_id=case.case.suite_id,
            case_id=case.case.case_id,
            model_id=group.base.key.model_id,
            candidate_model_id=group.candidate.key.model_id,
            base_passed=base.n_passed,
            base_scored=base.n_scored,
            candidate_passed=candidate.n_passed,
            candidate_scored=candidate.n_scored,
            difference=candidate.n_passed / candidate.n_scored - base.n_passed / base.n_scored,
            flip=_flip(case),
            commands=(
                _command(case.base, case, group.base.key.model_id, option),
                _command(case.candidate, case, group.candidate.key.model_id, option),
            ),
        )


def _flip(case: PairedCase) -> Literal["broke", "fixed"] | None:
    """Return whether the majority of the verdicts changed; a tie is no majority."""
    before, after = (_majority(side) for side in (case.base, case.candidate))
    if before == 0 or after in {0, before}:
        return None
    return "fixed" if after > 0 else "broke"


def _majority(side: Pooled) -> int:
    """Return 1 where most passed, -1 where most failed, 0 at a tie."""
    twice, scored = 2 * side.counts.n_passed, side.counts.n_scored
    return (twice > scored) - (twice < scored)


def _command(side: Pooled, case: PairedCase, model_id: str, option: Sequence[str]) -> str:
    """Return the command that shows the answers of the newest run of a side."""
    words = ["analyze", "show", side.run_ids[-1], case.case.case_id, model_id]
    return shlex.join([*words, *option])


def compare(
    evidence: Evidence,
    *,
    limits: ThresholdsUsed,
    allow: Collection[Axis] = (),
    by: By = "model",
    min_coverage: float | None = None,
    without: Collection[Quarantined] = (),
) -> Comparison:
    """Return what a candidate is beside a base.

    Args:
        evidence: all that is read of both sides.
        limits: thresholds in force, and where they are from.
        allow: axes on which a difference keeps no case out.
        by: `tag` adds the differences of every tag; never changes a test.
        min_coverage: in place of that of the thresholds.
        without: cases that are not tested; each is listed as excluded.
    """
    base, candidate, rows, causes, runs_dir, past, cuts, last_runs, cells, scores = evidence
    first, second = set(base.run_ids), set(candidate.run_ids)
    pairing = pair(
        [row for row in rows if row.run_id in first],
        [row for row in rows if row.run_id in second],
        base,
        candidate,
        allow=allow,
    )
    groups, quarantined = _without(pairing.groups, without)
    history = model_runs(cells, last_runs[:MAX_RUNS])
    least = limits.thresholds.min_coverage if min_coverage is None else min_coverage
    differing = _differing(pairing.excluded)
    before = [
        figures_of(
            group,
            causes,
            cuts,
            min_coverage=least,
            differing=differing[group.candidate.key.model_id],
            nights=nights_of(
                group, rows, past, limits.thresholds, any_content="case" in pairing.allowed
            ),
            history=[
                run[candidate_model(group)] for run in history if candidate_model(group) in run
            ],
            scores=tuple(score_measures(group, scores, runs_dir, allowed=pairing.allowed)),
        )
        for group in groups
    ]
    qs = benjamini_hochberg([one.p for one in before])
    secondary = iter(benjamini_hochberg([p for model in before for p in model.secondary_p]))
    comparable = [one.group for one in before if not one.obstacles]
    return Comparison(
        base=_side(base),
        candidate=_side(candidate),
        allowed=pairing.allowed,
        limits=limits,
        axes=pairing.axes,
        excluded=(*pairing.excluded, *quarantined),
        unmatched=pairing.unmatched,
        next_command=None if groups else _of_two_models(rows, base, candidate, runs_dir),
        renames=_renames(rows, runs_dir, first, second),
        groups=tuple(
            judged(one, q, secondary, limits.thresholds) for one, q in zip(before, qs, strict=True)
        ),
        overall=_overall(comparable),
        tags=tuple(_by_tag(comparable)) if by == "tag" else (),
        cases=changes_of(groups, runs_dir),
    )


def _of_two_models(
    rows: Iterable[CaseOutcome], base: ChosenSide, candidate: ChosenSide, runs_dir: Path
) -> str | None:
    """Return the command that compares the first model of each side; None: one side has none."""
    words = ["analyze", "compare"]
    models = []
    for side in (base, candidate):
        words.append(",".join(side.run_ids))
        asked = (row.key.model_id for row in rows if row.run_id in side.run_ids)
        models.append(min(asked, default=None))
    if None in models:
        return None
    words += ["--model", str(models[0]), "--against", str(models[1])]
    return shlex.join([*words, *runs_flag(runs_dir)])


def _renames(
    rows: Iterable[CaseOutcome], runs_dir: Path, *sides: AbstractSet[str]
) -> tuple[Rename, ...]:
    """Return the cases of the candidate that have the content of one that only the base has."""
    asked: defaultdict[tuple[str, str, str], set[int]] = defaultdict(set)
    for row in rows:
        if row.case_hash is not None:
            key = row.case.suite_id, row.case_hash, row.case.case_id
            asked[key].update(n for n, run_ids in enumerate(sides) if row.run_id in run_ids)
    return renames_among(
        (CaseIdUse(*key, frozenset(places)) for key, places in asked.items()), runs_dir
    )


def _side(chosen: ChosenSide) -> Side:
    return Side(asked=chosen.asked, run_ids=chosen.run_ids, model=chosen.model)


def _differing(excluded: Iterable[ExcludedCase]) -> defaultdict[str, set[Axis]]:
    """Return the axes that keep cases out, by model."""
    axes: defaultdict[str, set[Axis]] = defaultdict(set)
    for case in excluded:
        axes[case.model_id].update(case.axes)
    return axes


def _without(
    groups: Sequence[PairedGroup], without: Collection[Quarantined]
) -> tuple[list[PairedGroup], list[ExcludedCase]]:
    """Return the models without the cases that are not to be tested, and those cases."""
    keys = {(entry.suite_id, entry.case_id, entry.model_id) for entry in without}
    kept, out = [], []
    for group in groups:
        models = (None, group.base.key.model_id, group.candidate.key.model_id)
        held = {
            case.case
            for case in group.cases
            if any((*case.case, model_id) in keys for model_id in models)
        }
        kept.append(replace(group, cases=tuple(c for c in group.cases if c.case not in held)))
        out += [
            ExcludedCase(
                model_id=group.candidate.key.model_id,
                suite_id=key.suite_id,
                case_id=key.case_id,
                reason="quarantined",
            )
            for key in sorted(held)
        ]
    return kept, out


def _overall(groups: Sequence[PairedGroup]) -> PlainDifference | None:
    """Return all models together: the case stays what is drawn, models are repetitions of it."""
    if len(groups) < 2:
        return None
    together: defaultdict[CaseKey, list[PairedCase]] = defaultdict(list)
    for group in groups:
        for case in common_cases(group.cases):
            together[case.case].append(case)
    sums = [list(map(sum, paired_counts(cases))) for cases in together.values()]
    clusters = [cases[0].cluster for cases in together.values()]
    columns = [list(column) for column in zip(*sums, strict=True)]
    return _plain("overall", None, clusters, unit_sums(clusters, *columns))


def _by_tag(groups: Sequence[PairedGroup]) -> list[PlainDifference]:
    """Return every tag with each model; a tag of a single case has no interval and is left out."""
    found = []
    for group in groups:
        tags = sorted({tag for case in group.cases for tag in case.tags})
        for tag in tags:
            cases = [case for case in group.cases if tag in case.tags]
            clusters = [case.cluster for case in common_cases(cases)]
            plain = _plain(tag, group.candidate.key.model_id, clusters, paired_counts(cases))
            found += [plain] if plain else []
    return sorted(found, key=lambda plain: (plain.name, plain.model_id or ""))


def _plain(
    name: str, model_id: str | None, clusters: Clusters, counts: Sequence[Sequence[int]]
) -> PlainDifference | None:
    if not counts or (found := rate_difference(*counts)) is None:
        return None
    k_a, m_a, k_b, m_b = counts
    return PlainDifference(
        name=name,
        model_id=model_id,
        n_cases=len(clusters),
        n_clusters=n_clusters(clusters),
        base_rate=mean_rate(k_a, m_a),
        candidate_rate=mean_rate(k_b, m_b),
        difference=found.difference,
        low=found.low,
        high=found.high,
    )
