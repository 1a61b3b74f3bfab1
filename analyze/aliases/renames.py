"""Cases with the content of one that is gone: found by case_hash, joined by nobody yet."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.lake.content_ids import ASKED, AskedId, alike, asked_ids
from schemas.errors import runs_flag
from schemas.run.alias import Rename

if TYPE_CHECKING:
    from analyze.query.session import Session


def renames_among(asked: Iterable[AskedId], runs_dir: Path) -> tuple[Rename, ...]:
    """Return which id follows which with the same content, in order of suite and new id.

    Args:
        asked: ids with the places of their runs, or of the sides of a comparison.
        runs_dir: where the runs are, for the commands.
    """
    found = {
        (after.suite_id, after.case_id, before.case_id)
        for ids in alike(asked)
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

    Args:
        session: the open lake.
        suite: only this one.

    Raises:
        ViewError: the lake cannot be read.
    """
    rows = session.rows(ASKED.replace("$suite", "?"), [suite, suite])
    return renames_among(asked_ids(rows), session.runs_dir)
