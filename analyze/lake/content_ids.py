"""Ids that one content was asked under, known by its case_hash.

What prompt lists were called before is joined by them: `<list>--<id>` in every suite with several
lists. Today an id gets this prefix only where two lists share the id. The history of a case that
lost its prefix continues by itself: the case_hash links it to the old id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

import orjson

from analyze.lake.overlay import read_sql
from analyze.lake.raw_tables import connect, fill
from schemas.base import slugify
from schemas.lake import Join, join, lake_of

ASKED = read_sql("lake/asked_ids.sql")
"""Every id of a content that has several, with the places of its runs in order of time.

`$suite` is a suite_id, or null for all.
"""

LIST_SUFFIXES = (".json", ".jsonl")

SEPARATOR = "--"

ANY_PREFIX = "select 1 from raw_plans where suite_id = ? and ({}) limit 1"


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


def join_prefixed(runs_dir: Path, run_ids: Iterable[str]) -> int:
    """Join the ids that lost a prefix in the suites of new runs; return how many there were.

    Raises:
        ViewError: the lake cannot be read.
        LakeBusy: another process rewrites it.
        OSError: it cannot be written.
    """
    stems: defaultdict[str, set[str]] = defaultdict(set)
    for run_id in run_ids:
        for suite_id, stem in _lists_of(runs_dir / run_id / "config.json"):
            stems[suite_id].add(stem)
    if not stems:
        return 0
    lake, n_joined = lake_of(runs_dir), 0
    with connect() as connection:
        fill(connection, lake, ["plans", "runs"])
        for suite_id, of_suite in sorted(stems.items()):
            prefixes = [stem + SEPARATOR for stem in sorted(of_suite)]
            any_prefix = ANY_PREFIX.format(" or ".join(["starts_with(case_id, ?)"] * len(prefixes)))
            if not connection.execute(any_prefix, [suite_id, *prefixes]).fetchall():
                continue  # as in almost every suite, and told in a twentieth of the time
            rows = connection.execute(ASKED, {"suite": suite_id}).fetchall()
            if joins := list(_prefixed(asked_ids(rows), prefixes)):
                n_joined += join(lake, suite_id, joins, "prompt_list")
    return n_joined


def _lists_of(config: Path) -> Iterator[tuple[str, str]]:
    """Yield the suite of a run with the prefix of each prompt list that it read."""
    try:
        if not config.is_file():  # a pipe would be waited for
            return
        said = orjson.loads(config.read_bytes())
        suite_id, files = str(said["suite_id"]), list(said["config_files"])
    except (OSError, ValueError, KeyError, TypeError):
        return  # of another tool, or broken: the sync says so
    for name in files:
        path = PurePath(str(name))
        if path.suffix in LIST_SUFFIXES:
            yield suite_id, slugify(path.stem)


def _prefixed(asked: Iterable[CaseIdUse], prefixes: Sequence[str]) -> Iterator[Join]:
    """Yield each id with a prefix and the same id without it, where that was asked later."""
    for ids in same_content(asked):
        place = {one.case_id: number for number, one in enumerate(ids)}
        for one in ids:
            for prefix in prefixes:
                new = one.case_id.removeprefix(prefix)
                if new != one.case_id and place.get(new, -1) > place[one.case_id]:
                    yield Join(one.case_id, new)
