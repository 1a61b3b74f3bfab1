"""The words that doubts share: lists that stay short, and commands that can be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from analyze.render.numbers import percent, whole
from analyze.report.caveats.facts import ModelFacts
from analyze.report.context import Asked
from schemas.errors import runs_flag

QUOTE = '"'

ACTED_ON = frozenset('"$`\\!')
"""What a shell acts on between double quotes; without it a query in them stays easy to read."""

MOST_TOLD = 3
"""Models, or other things, that a sentence tells apart; the rest is counted."""


def some(texts: Sequence[str], between: str = ", ") -> str:
    """Return the first of several texts; past a number of them, how many more there are."""
    more = len(texts) - MOST_TOLD
    return between.join(texts[:MOST_TOLD]) + (f" and {whole(more)} more" if more > 0 else "")


def names_of(models: Sequence[ModelFacts]) -> str:
    """Return the names of models, as far as a sentence takes them."""
    return some([one.name for one in models])


def ids_of(models: Sequence[ModelFacts]) -> tuple[str, ...]:
    """Return the names of models, all of them."""
    return tuple(one.model_id for one in models)


def share(part: int, of: int, what: str = "") -> str:
    """Return a part of a number that is not 0: `17 of 24 (70.8 %)`, `6 of 48 results (12.5 %)`."""
    return f"{whole(part)} of {whole(of)}{f' {what}' if what else ''} ({percent(part / of)} %)"


def query_of(asked: Asked, select: str, where: str = "", rest: str = "") -> str:
    """Return the command that asks the lake about the trials of the run.

    Args:
        asked: the run.
        select: columns and the view they are of.
        where: which rows of the run; all unless given.
        rest: how they are grouped and ordered.
    """
    run_id = asked.run_id.replace("'", "''")
    also = f" and {where}" if where else ""
    sql = f"{select} where run_id = '{run_id}'{also} {rest}".rstrip()
    is_plain = sql.isprintable() and not ACTED_ON.intersection(sql)
    return f"{asked.command('sql')} {f'{QUOTE}{sql}{QUOTE}' if is_plain else shlex.quote(sql)}"


def resume_of(asked: Asked) -> str | None:
    """Return the command that completes the run; None where it cannot be completed here."""
    if asked.folder is None or asked.run.asked.is_imported:
        return None
    words = ["collect", "run", "--resume", asked.run_id]
    return shlex.join([*words, *runs_flag(asked.session.runs_dir)])


def compare_of(asked: Asked, *options: str) -> str:
    """Return the command that compares the run with its baseline."""
    return asked.command("compare", ",".join(asked.baseline), asked.run_id, *options)
