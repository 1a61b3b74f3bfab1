"""Shifts of a history as Markdown: the same sentences, names from outside as text only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyze.aliases.render import rename_lines
from analyze.comparison.document import limits_line
from analyze.regressions.document import (
    command,
    details,
    entry_line,
    everything,
    headline,
    is_alert,
    skipped_lines,
    summary,
    to_paste,
)
from analyze.summary.summary_table import as_text
from schemas.output.regressions import CellShift, Regressions, Shift


def regressions_markdown(found: Regressions, options: Sequence[str]) -> str:
    """Return everything that was found, what is worse and unknown first.

    Args:
        found: what to tell.
        options: of the commands to look; see `look_options`.
    """
    every = everything(found)
    alerts = [one for one in every if is_alert(one)]
    others = [one for one in every if not is_alert(one)]
    blocks = [
        ["# Level shifts"],
        [as_text(summary(found))],
        *(list(_section(one, options)) for one in alerts),
        list(_list("Better, or acknowledged", [headline(one) for one in others])),
        list(_list("Acknowledged, and no such shift", [entry_line(one) for one in found.unused])),
        list(_list("Not judged", skipped_lines(found.skipped))),
        list(_list("Renamed, and not joined", list(rename_lines(found.renames)))),
        [as_text(f"Limits: {limits_line(found.limits)}")],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _section(one: Shift | CellShift, options: Sequence[str]) -> Iterator[str]:
    yield f"## {as_text(headline(one))}"
    yield ""
    for line in (*details(one), f"look: {command(one, options)}"):
        yield f"- {as_text(line)}"
    yield ""
    yield "To silence it:"
    yield ""
    yield "```toml"
    yield from to_paste(one)
    yield "```"


def _list(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"## {title}"
        yield ""
        yield from (f"- {as_text(line)}" for line in lines)
