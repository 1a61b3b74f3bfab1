"""`analyze alias`: joins two ids of a case, takes that back, lists what is joined in a suite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from analyze.aliases.renames import find_renames
from analyze.query.run_ref import MOST_NAMED, require_suite
from schemas.errors import AnalyzeError, ConfigError, Problem, nearest
from schemas.run.alias import Alias, Aliases

if TYPE_CHECKING:
    from analyze.query.session import Session


def join_cases(session: Session, suite_id: str, old: str, new: str) -> bool:
    """Let an id stand for an older one of the same case; return whether it did not yet.

    Args:
        session: the open lake.
        suite_id: of both.
        old: the id that runs wrote before.
        new: the id since.

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
    with _disk_errors(session):
        from analyze.lake.aliases import Join, join  # noqa: PLC0415 - loads pyarrow

        return join(session.lake, suite_id, [Join(old, new)], "person") > 0


def take_cases_apart(session: Session, suite_id: str, old: str, new: str) -> None:
    """Let an id stand for itself again.

    Raises:
        ConfigError: it is not joined to that id; names what it is joined to.
        LakeBusy: another process rewrites the lake.
        AnalyzeError: the lake cannot be written.
    """
    require_suite(session, suite_id)
    from analyze.lake.aliases import read_aliases, take_back  # noqa: PLC0415 - as above

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
    with _disk_errors(session):
        take_back(session.lake, suite_id, old)


@contextmanager
def _disk_errors(session: Session) -> Iterator[None]:
    """Turn what the disk refuses into an error of ours."""
    try:
        yield
    except OSError as exc:
        message = (
            f"{exc.filename or session.lake}: {exc.strerror}; nothing was joined or taken apart"
        )
        raise AnalyzeError(message) from exc


def list_aliases(session: Session, suite_id: str) -> Aliases:
    """Return what is joined in a suite, and what could be.

    Raises:
        ConfigError: there is no such suite.
        ViewError: the lake cannot be read.
    """
    from analyze.lake.aliases import read_aliases  # noqa: PLC0415 - as above

    require_suite(session, suite_id)
    joined = [
        (row.old_case_id, row.joined_to, row.case_id, row)
        for (suite, _), row in sorted(read_aliases(session.lake).items())
        if suite == suite_id
    ]
    with session.as_written() as written:
        return Aliases(
            suite_id=suite_id,
            aliases=tuple(
                Alias(
                    old_case_id=old,
                    joined_to=joined_to,
                    case_id=newest,
                    origin=row.origin,
                    recorded_at_ms=row.recorded_at_ms,
                    apart_in=tuple(_runs_with_both(written, suite_id, old, newest)),
                )
                for old, joined_to, newest, row in joined
                if joined_to is not None and newest is not None
            ),
            renames=find_renames(session, suite_id),
        )


def _require_ids(session: Session, suite_id: str, case_ids: list[str]) -> None:
    rows = session.rows("select distinct case_id from stg_plans where suite_id = ?", [suite_id])
    there = sorted(case_id for (case_id,) in rows)
    problems = [
        Problem(
            None,
            f"no run of suite `{suite_id}` asked a case `{case_id}`",
            allowed=None if (near := nearest(case_id, there)) else _some(there),
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


def _runs_with_both(session: Session, suite_id: str, old: str, new: str) -> list[str]:
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
    return [run_id for (run_id,) in rows]


def _some(names: list[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
