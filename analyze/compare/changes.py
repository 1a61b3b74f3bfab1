"""Single cases on both sides: which passed less or more often, and how to see the answers.

A case alone has no verdict; the list says where to look, not what is proven.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from analyze.comparison.pairing import PairedCase, PairedGroup, Pooled
from schemas.errors import runs_flag
from schemas.output.comparison import CaseChange


def changes_of(groups: Sequence[PairedGroup], runs_dir: Path) -> tuple[CaseChange, ...]:
    """Return every case whose passed rate changed, worst first.

    Args:
        groups: models with their cases.
        runs_dir: where the runs are, for the commands.
    """
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
            model_id=group.base_key.model_id,
            candidate_model_id=group.candidate_key.model_id,
            base_passed=base.n_passed,
            base_scored=base.n_scored,
            candidate_passed=candidate.n_passed,
            candidate_scored=candidate.n_scored,
            difference=candidate.n_passed / candidate.n_scored - base.n_passed / base.n_scored,
            flip=_flip(case),
            commands=(
                _command(case.base, case, group.base_key.model_id, option),
                _command(case.candidate, case, group.candidate_key.model_id, option),
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
