"""What `analyze alias` says of a suite, and how every other command names a rename."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyze.render.numbers import moment, whole
from analyze.render.text import UNLIMITED, Column, line_of, table
from schemas.run.alias import Aliases, Rename

MOST_RENAMES = 5
"""Renames that a command names which is about something else."""

COLUMNS = (Column("old id"), Column("case"), Column("since"), Column("by"), Column("not in"))

BY = {"person": "a person", "prompt_list": "its prompt list"}


def rename_lines(renames: Sequence[Rename]) -> Iterator[str]:
    """Yield a sentence for each of the first renames, and one for the rest of each suite."""
    for one in renames[:MOST_RENAMES]:
        yield _rename(one)
    if rest := renames[MOST_RENAMES:]:
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
