"""Ids that one content was asked under, known by its case_hash."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from analyze.lake.raw_tables import read_sql

ASKED = read_sql("lake/asked_ids.sql")
"""Every id of a content that has several, with the places of its runs in order of time.

`$suite` is a suite_id, or null for all.
"""


class CaseIdUse(NamedTuple):
    """An id that was asked with one content, and in which runs."""

    suite_id: str
    case_hash: str
    case_id: str
    run_positions: frozenset[int]
    """Of the runs, in order of time."""

    @property
    def last(self) -> int:
        """Place of the last run."""
        return max(self.run_positions)


def same_content(asked: Iterable[CaseIdUse]) -> Iterator[list[CaseIdUse]]:
    """Yield the ids of each content that no run asked side by side, the one asked last at the end.

    Of ids that one run asked nobody can say which of them goes on: they are cases of their own.
    """
    groups: defaultdict[tuple[str, str], list[CaseIdUse]] = defaultdict(list)
    for one in asked:
        groups[one.suite_id, one.case_hash].append(one)
    for ids in groups.values():
        n_places = len(frozenset().union(*(one.run_positions for one in ids)))
        if len(ids) > 1 and n_places == sum(len(one.run_positions) for one in ids):
            yield sorted(ids, key=lambda one: one.last)


def asked_ids(rows: Iterable[tuple[str, str, str, list[int]]]) -> Iterator[CaseIdUse]:
    """Yield the rows of ASKED."""
    for suite_id, case_hash, case_id, places in rows:
        yield CaseIdUse(suite_id, case_hash, case_id, frozenset(places))
