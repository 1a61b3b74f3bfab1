"""The commands of `analyze`, one a file; each imports what it needs when it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from schemas.registry import Registry

if TYPE_CHECKING:
    from schemas.base import Record
    from schemas.config.known_issues import KnownFile
    from schemas.run.model_names import ModelNames


@dataclass(frozen=True)
class Command:
    """A command of `analyze`."""

    panel: str
    """Of the help page, that it stands in."""
    function: str
    """`module:function`; Typer reads its options, and help its docstring."""


PANELS = {
    "Look": ("runs", "show", "report", "chart", "sql", "views", "open:open_database"),
    "Judge": ("compare", "gate", "regressions", "flaky", "power", "tiers", "route"),
    "Exchange": ("import:import_runs", "export", "migrate", "validate"),
    "Keep": ("sync", "summarize", "label", "alias"),
}
"""Commands in the order of the help page, with the function where Python has taken the name."""

COMMANDS = Registry(
    "commands",
    Command,
    {
        name: Command(panel, f"analyze.commands.{name}:{function or name}")
        for panel, names in PANELS.items()
        for name, _, function in (one.partition(":") for one in names)
    },
)


def known_in(path: Path | None) -> KnownFile | None:
    """Return what a file of known things says; None where none is named."""
    if path is None:
        return None
    from analyze.gate.known_issues import read_known  # loads YAML

    return read_known(path)


def print_record(
    found: Record,
    form: str,
    names: ModelNames,
    markdown: Callable[[Any], str],
    lines: Callable[[Any, int], Iterable[str]],
) -> None:
    """Print what a command found.

    Args:
        found: the record; as JSON it is printed as it is.
        form: `json`, `md` or `table`.
        names: of models, for people.
        markdown: makes a page of it.
        lines: makes lines of it for so many columns of a terminal.
    """
    from analyze.render.text import record_json, screen_width
    from schemas.run.model_names import with_names

    if form == "json":
        typer.echo(record_json(found))
    elif form == "md":
        typer.echo(markdown(with_names(found, names)), nl=False)
    else:
        typer.echo("\n".join(lines(with_names(found, names), screen_width())))
