"""`analyze alias`: lets a case that was renamed keep its history."""

from __future__ import annotations

from typing import Annotated

import typer

from analyze.cli_options import RUNS, JsonOption, NoSyncOption, RunsOption


def alias(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="Suite of the case.")],
    old: Annotated[
        str | None, typer.Argument(metavar="OLD", help="Id that older runs wrote.")
    ] = None,
    new: Annotated[str | None, typer.Argument(metavar="NEW", help="Id of the case now.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take an alias back.")] = False,
    runs: RunsOption = RUNS,
    no_sync: NoSyncOption = False,
    json: JsonOption = False,
) -> None:
    """Join a case that was renamed with its old id, or list such.

    Without ids what is joined is listed, and what could be. Every comparison and every history
    then has one case, under the newest id. What runs wrote stays as it is.

    Example: analyze alias nightly sums/old_name sums/new_name
    """
    from analyze.aliases import alias_lines, join_cases, list_aliases, separate_cases
    from analyze.query.session import open_session

    if (old is None) != (new is None) or (undo and new is None):
        what = "name both ids, the old one first: `analyze alias SUITE OLD NEW`"
        raise typer.BadParameter(what)
    with open_session(runs, sync=not no_sync) as session:
        lines = []
        if old is not None and new is not None and undo:
            separate_cases(session, suite, old, new)
            lines = [f"`{old}` stands for itself again"]
        elif old is not None and new is not None:
            is_new = join_cases(session, suite, old, new)
            lines = [f"`{old}` is `{new}` now" if is_new else f"`{old}` was `{new}` already"]
        if json or not lines:
            found = list_aliases(session, suite)
            lines = [found.model_dump_json(indent=2)] if json else list(alias_lines(found))
    typer.echo("\n".join(lines))
