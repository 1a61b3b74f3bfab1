"""Groups of commands: help in sections, and `--version`.

Typer draws sections ("help panels") with rich alone, which takes longer to load than `--help` may.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup


def version_of(command: str) -> str:
    """Return the line that `--version` prints."""
    from importlib.metadata import version  # noqa: PLC0415 - reads files, for this line alone

    return f"{command} {version('benchlake')}"


def _print_version(ctx: typer.Context, asked: bool) -> None:
    if asked:
        typer.echo(version_of(ctx.info_name or "benchlake"))
        raise typer.Exit


VersionOption = Annotated[
    bool,
    typer.Option(
        "--version", is_eager=True, callback=_print_version, help="Print the version and exit."
    ),
]


class SectionedGroup(TyperGroup):
    """A group whose help lists its commands by section: `Typer(cls=SectionedGroup)`.

    A command's section is what `app.command(rich_help_panel=…)` says; sections and commands stand
    in the order in which they were added.
    """

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each section with its commands and the first sentence of each, in equal columns."""
        sections: dict[str, list[tuple[str, str]]] = {}
        names = self.list_commands(ctx)
        width = max(map(len, names), default=0)
        limit = formatter.width - 6 - width
        for name in names:
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                section = getattr(command, "rich_help_panel", None) or "Commands"
                text = command.get_short_help_str(limit)
                sections.setdefault(section, []).append((name.ljust(width), text))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl(rows)
