"""Ids that stand for older ids of the same case: joins them, takes them apart, tells of them.

A rename is a new case with the content of one that is gone: found by its case_hash, and not yet
joined. `CaseIds` holds every id that a case of a suite ever had, to look up names from outside the
lake. The lines are printed by `analyze alias` and by every other command that names a rename.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from analyze.lake.content_ids import ASKED, CaseIdUse, asked_ids, same_content
from analyze.query.ensure_synced import disk_errors
from analyze.query.run_ref import MAX_NAMED, require_suite
from analyze.render.numbers import moment, whole
from analyze.render.text import UNLIMITED, Column, line_of, table
from schemas.base import same_fields
from schemas.errors import ConfigError, Problem, nearest, runs_flag
from schemas.lake import Join, join, read_aliases, remove_alias
from schemas.run.alias import Alias, Aliases, Rename

if TYPE_CHECKING:
    from analyze.query.session import Session
    from schemas.config.known_issues import Acknowledged, KnownFile, Quarantined

Entry = TypeVar("Entry", "Acknowledged", "Quarantined")

MAX_RENAMES = 5
"""Renames that a command names which is about something else."""

COLUMNS = (Column("old id"), Column("case"), Column("since"), Column("by"), Column("not in"))

UNCHANGED = "nothing was joined or taken apart"

BY = {"person": "a person", "prompt_list": "its prompt list"}


def renames_among(asked: Iterable[CaseIdUse], runs_dir: Path) -> tuple[Rename, ...]:
    """Return which id follows which with the same content, in order of suite and new id.

    Args:
        asked: ids with the places of their runs, or of the sides of a comparison.
        runs_dir: where the runs are, for the commands.
    """
    found = {
        (after.suite_id, after.case_id, before.case_id)
        for ids in same_content(asked)
        for before, after in pairwise(ids)
    }
    return tuple(
        Rename(
            suite_id=suite_id,
            old_case_id=old,
            case_id=new,
            command=shlex.join(["analyze", "alias", suite_id, old, new, *runs_flag(runs_dir)]),
        )
        for suite_id, new, old in sorted(found)
    )


def find_renames(session: Session, suite: str | None = None) -> tuple[Rename, ...]:
    """Return the renames in the history of a suite, or of all, that are joined to nothing.

    Raises:
        ViewError: the lake cannot be read.
    """
    rows = session.rows(ASKED.replace("$suite", "?"), [suite, suite])
    return renames_among(asked_ids(rows), session.runs_dir)


def join_cases(session: Session, suite_id: str, old: str, new: str) -> bool:
    """Let an id stand for an older one of the same case; return whether it did not yet.

    Raises:
        ConfigError: there is no such suite or id, a run asked both, or they never had the same
            content: two cases.
        LakeBusy: another process rewrites the lake.
        AnalyzeError: the lake cannot be written.
    """
    require_suite(session, suite_id)
    with session.as_written() as written:
        _require_ids(written, suite_id, [old, new])
        if old != new:
            _require_one_case(written, suite_id, old, new)
    with disk_errors(session.lake, UNCHANGED):
        return join(session.lake, suite_id, [Join(old, new)], "person") > 0


def separate_cases(session: Session, suite_id: str, old: str, new: str) -> None:
    """Let an id stand for itself again.

    Raises:
        ConfigError: it is not joined to that id; names what it is joined to.
        LakeBusy: another process rewrites the lake.
        AnalyzeError: the lake cannot be written.
    """
    require_suite(session, suite_id)
    row = read_aliases(session.lake).get((suite_id, old))
    if row is None or new not in (row.joined_to, row.case_id):
        is_to = None if row is None else row.joined_to
        problem = Problem(
            None,
            f"`{old}` is not joined to `{new}` in suite `{suite_id}`",
            found=f"joined to `{is_to}`" if is_to else "joined to none",
            advice=f"`analyze alias {suite_id}` lists what is joined",
        )
        raise ConfigError([problem])
    with disk_errors(session.lake, UNCHANGED):
        remove_alias(session.lake, suite_id, old)


def list_aliases(session: Session, suite_id: str) -> Aliases:
    """Return what is joined in a suite, and what could be.

    Raises:
        ConfigError: there is no such suite.
        ViewError: the lake cannot be read.
    """
    require_suite(session, suite_id)
    known = sorted(read_aliases(session.lake).items())
    rows = [row for (suite, _), row in known if suite == suite_id]
    with session.as_written() as written:
        return Aliases(
            suite_id=suite_id,
            aliases=tuple(
                Alias(
                    **same_fields(row, "old_case_id joined_to case_id origin recorded_at_ms"),
                    apart_in=_runs_with_both(written, suite_id, row.old_case_id, row.case_id),
                )
                for row in rows
                if row.joined_to is not None and row.case_id is not None
            ),
            renames=find_renames(session, suite_id),
        )


def _require_ids(session: Session, suite_id: str, case_ids: list[str]) -> None:
    rows = session.rows("select distinct case_id from stg_plans where suite_id = ?", [suite_id])
    there = sorted(case_id for (case_id,) in rows)
    some = ", ".join(there[:MAX_NAMED]) + (", …" if len(there) > MAX_NAMED else "")
    problems = [
        Problem(
            None,
            f"no run of suite `{suite_id}` asked a case `{case_id}`",
            allowed=None if (near := nearest(case_id, there)) else some,
            nearest=near,
        )
        for case_id in case_ids
        if case_id not in there
    ]
    if problems:
        raise ConfigError(problems)


def _require_one_case(session: Session, suite_id: str, old: str, new: str) -> None:
    if both := _runs_with_both(session, suite_id, old, new):
        what = f"run `{both[0]}` asked both `{old}` and `{new}`: they are two cases"
        raise ConfigError([Problem(None, what)])
    ((n_same,),) = session.rows(
        """
        select count(*)
        from (
            select case_hash from stg_plans where suite_id = ? and case_id = ?
            intersect
            select case_hash from stg_plans where suite_id = ? and case_id = ?
        ) as same
        where case_hash is not null
        """,
        [suite_id, old, suite_id, new],
    )
    if not n_same:
        what = (
            f"`{old}` and `{new}` never had the same content (case_hash), and a case whose content "
            "changed is another case"
        )
        advice = "keep the id when only the content changes; `--allow case` compares both"
        raise ConfigError([Problem(None, what, advice=advice)])


def _runs_with_both(session: Session, suite_id: str, old: str, new: str) -> tuple[str, ...]:
    rows = session.rows(
        """
        select run_id
        from stg_plans
        where suite_id = ? and case_id in (?, ?)
        group by run_id
        having count(distinct case_id) = 2
        order by run_id
        """,
        [suite_id, old, new],
    )
    return tuple(run_id for (run_id,) in rows)


@dataclass(frozen=True)
class CaseIds:
    """Which id stands for which older one."""

    newest: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(suite_id, old id) to the newest id of the case."""

    def newest_of(self, suite_id: str, case_id: str) -> str:
        """Return the newest id of a case; its own where it was never joined."""
        return self.newest.get((suite_id, case_id), case_id)

    def all_of(self, suite_id: str, case_id: str) -> list[str]:
        """Return every id of a case, the newest first."""
        newest = self.newest_of(suite_id, case_id)
        ends = self.newest.items()
        older = (old for (suite, old), end in ends if (suite, end) == (suite_id, newest))
        return [newest, *sorted(older)]

    def with_newest_ids(self, known: KnownFile | None) -> KnownFile | None:
        """Return a file of known things with each case under its newest id."""
        if known is None or not self.newest:
            return known
        return known.model_copy(
            update={
                "acknowledged": self._named(known.acknowledged),
                "quarantined": self._named(known.quarantined),
            }
        )

    def _named(self, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        return tuple(
            entry
            if entry.case_id is None
            else entry.model_copy(update={"case_id": self.newest_of(entry.suite_id, entry.case_id)})
            for entry in entries
        )


def read_ids(session: Session) -> CaseIds:
    """Return the ids of a lake; a lake without aliases is not asked.

    Raises:
        ViewError: the lake cannot be read.
    """
    if not session.has_aliases:
        return CaseIds()
    rows = session.rows("select suite_id, old_case_id, case_id from case_aliases")
    return CaseIds({(suite_id, old): newest for suite_id, old, newest in rows})


def rename_lines(renames: Sequence[Rename]) -> Iterator[str]:
    """Yield a sentence for each of the first renames, and one for the rest of each suite."""
    for one in renames[:MAX_RENAMES]:
        yield _rename(one)
    if rest := renames[MAX_RENAMES:]:
        suites = sorted({one.suite_id for one in rest})
        more = "1 more case" if len(rest) == 1 else f"{whole(len(rest))} more cases"
        lists = " and ".join(f"`analyze alias {suite}`" for suite in suites)
        yield f"{more} with the content of one that is gone: {lists} lists them"


def alias_lines(found: Aliases) -> Iterator[str]:
    """Yield the aliases of a suite as a table, and below it what is joined to nothing."""
    if found.aliases:
        yield from table(
            COLUMNS,
            [
                [
                    line_of(one.old_case_id),
                    line_of(one.case_id),
                    moment(one.recorded_at_ms),
                    BY[one.origin],
                    line_of(", ".join(one.apart_in)),
                ]
                for one in found.aliases
            ],
            UNLIMITED,
        )
    else:
        yield line_of(f"no case of suite `{found.suite_id}` is joined to another")
    if any(one.apart_in for one in found.aliases):
        yield "not in: these runs asked both ids, which are two cases there"
    for one in found.renames:
        yield line_of(_rename(one))


def _rename(one: Rename) -> str:
    return (
        f"case `{one.case_id}` has the content of `{one.old_case_id}`, which is gone: "
        f"`{one.command}` joins them"
    )
