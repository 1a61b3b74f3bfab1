"""What a run leaves out of its verdicts is named before it runs, so that nobody looks for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from collect.checks.evaluable import HINDRANCES
from collect.config.resolved import LoadedCase
from collect.config.unsupported import JUDGING, of_case, words_of

NAMED = 3
"""Cases named in a warning; of more, only how many there are."""


def warnings_of(cases: Sequence[LoadedCase]) -> list[str]:
    """Return a warning for each reason why cases will have no verdict, or one of a part of them.

    Args:
        cases: of a run.
    """
    texts: dict[str, list[str]] = {}
    for case in cases:
        for text in _reasons(case):
            texts.setdefault(text, []).append(case.case_id)
    return [f"{_named(ids)}: {text}" for text, ids in texts.items()]


def _reasons(case: LoadedCase) -> Iterable[str]:
    if case.unavailable is not None:
        yield f"skipped, no model is asked: {case.unavailable}"
        return
    for check_id, reason in case.unevaluable:
        yield f"no verdict, since check `{check_id}` cannot be made: {HINDRANCES[reason]}"
    has_own = case.validator is not None or case.checks
    only_judge = not has_own and (case.expectations is not None or case.rubric is not None)
    if only_judge:
        yield "no verdict yet, since only a judge could give one; the answers are kept for it"
    yield from words_of([one for one in of_case(case) if not (only_judge and one[1] == JUDGING)])


def _named(case_ids: Sequence[str]) -> str:
    first = ", ".join(f"`{case_id}`" for case_id in case_ids[:NAMED])
    more = len(case_ids) - NAMED
    return ("case " if len(case_ids) == 1 else "cases ") + first + f" and {more} more" * (more > 0)
