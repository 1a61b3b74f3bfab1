"""What keeps a report's numbers from being taken at face value.

What to distrust in a report: every reason there is, with its numbers and what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import get_args

from analyze.report.caveats import requests, scope
from analyze.report.caveats.baseline import changed_with_it, not_comparable, skipped_history
from analyze.report.caveats.facts import RunDoubtFacts, doubt_facts
from analyze.report.sections import ReportContext
from schemas.output.regressions import Regressions
from schemas.output.report import Doubt, DoubtCode

CODES: tuple[DoubtCode, ...] = get_args(DoubtCode)

OF_THE_RUN: tuple[Callable[[RunDoubtFacts], Iterator[Doubt]], ...] = (
    scope.no_verdict,
    scope.missing_trials,
    scope.coverage,
    scope.infrastructure,
    scope.few_cases,
    scope.one_repetition,
    scope.identical_repetitions,
    requests.unpinned_routing,
    requests.served_model,
    requests.late_client,
    requests.timeouts,
    requests.truncated,
    scope.reused,
    scope.other_profile,
    scope.shard,
    scope.narrowed,
    scope.imported,
    scope.unknown_cost,
)
"""Each looks for one reason."""


def doubts_of(context: ReportContext, shifts: Regressions | None) -> tuple[Doubt, ...]:
    """Return every reason to distrust a number of a report, serious ones first.

    Args:
        context: the run, its summary and its baseline.
        shifts: of the history of its suite; None without one.

    Raises:
        SchemaError: the config of a run is there and cannot be read.
        ViewError: the lake cannot be read.
    """
    facts = doubt_facts(context)
    found = [doubt for look in OF_THE_RUN for doubt in look(facts)]
    found += [
        *not_comparable(context),
        *changed_with_it(context),
        *skipped_history(context, shifts),
    ]
    return tuple(sorted(found, key=lambda one: (not one.is_serious, CODES.index(one.code))))
