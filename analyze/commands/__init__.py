"""The commands of `analyze`, one a file; each imports what it needs when it runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from schemas.errors import counted, display_path
from schemas.registry import Registry

if TYPE_CHECKING:
    from analyze.query.session import Session
    from analyze.render.document import Document
    from analyze.site.build import BuiltSite
    from schemas.config.known_issues import KnownFile
    from schemas.output.report import RunReport
    from schemas.run.model_names import ModelNames


@dataclass(frozen=True)
class Command:
    """A command of `analyze`."""

    panel: str
    """Of the help page, that it stands in."""
    function: str
    """`module:function`; Typer reads its options, and help its docstring."""
    reads_shared: bool = False
    """It reads a lake and changes none: it has `--lake` for a shared one."""


BUILDERS = ("analyze.report.build", "analyze.query.thresholds")
"""What takes long to load for a report in any form."""

PAINTERS = (*BUILDERS, "polars", "analyze.charts.drawing", "analyze.report.html.page")
"""What takes long to load for a page."""

PANELS = {
    "Look": (
        "runs",
        "show",
        "steps",
        "search",
        "report",
        "chart",
        "sql",
        "spark-sql",
        "views",
        "open:open_database",
        "iceberg",
    ),
    "Judge": ("compare", "gate", "regressions", "flaky", "power", "tiers", "route", "judges"),
    "Exchange": ("look", "import:import_runs", "export", "push", "pull", "migrate", "validate"),
    "Keep": ("sync", "summarize", "label", "label-next", "alias"),
}
"""Commands in the order of the help page, with the function where Python has taken the name."""

READERS = frozenset(
    name.partition(":")[0]
    for name in (*PANELS["Look"], *PANELS["Judge"], "export", "label-next")
    if name not in {"iceberg", "spark-sql", "views"}
)
"""Those that read a lake and change none, a shared one as a copy, which Spark does without."""

COMMANDS = Registry(
    "commands",
    Command,
    {
        name: Command(
            panel,
            f"analyze.commands.{module}:{function or module}",
            reads_shared=name in READERS,
        )
        for panel, names in PANELS.items()
        for name, _, function in (one.partition(":") for one in names)
        for module in (name.replace("-", "_"),)
    },
)


def known_in(path: Path | None) -> KnownFile | None:
    """Return what a file of known things says; None where none is named."""
    if path is None:
        return None
    from analyze.gate.known_issues import read_known  # loads YAML

    return read_known(path)


def print_document(
    found: Any,
    form: str,
    document: Callable[[Any], Document],
    names: ModelNames | None = None,
    json: Callable[[Any], str] | None = None,
) -> None:
    """Print what a command found.

    Args:
        found: that.
        form: `json`, `md`, `html` or `table`.
        document: makes that of it which people are told.
        names: of models, for them.
        json: makes that of it which programs are told, where it is no record itself.
    """
    if form == "json":
        from analyze.render.text import record_json

        typer.echo((json or record_json)(found))
        return
    from schemas.run.model_names import with_names

    shown = document(with_names(found, names) if names else found)
    if form == "md":
        from analyze.render.markdown import markdown_page

        typer.echo(markdown_page(shown), nl=False)
    elif form == "html":
        from analyze.render.html import html_page

        typer.echo(html_page(shown), nl=False)
    else:
        from analyze.render.screen import screen_lines
        from analyze.render.text import screen_width

        typer.echo("\n".join(screen_lines(shown, screen_width())))


def names_for(form: str, session: Session) -> ModelNames:
    """Return the names of models that a form shows; in JSON they have their ids."""
    from analyze.query.run_ref import read_names
    from schemas.run.model_names import NO_NAMES

    return NO_NAMES if form == "json" else read_names(session)


def bundle_for(form: str) -> AbstractContextManager[Callable[[], str] | None]:
    """Return what fetches the library of the charts meanwhile; nothing where none are drawn."""
    if form != "html":
        return nullcontext()
    from analyze.report.html.chart_bundle import bundle_meanwhile

    return bundle_meanwhile()


def text_of(report: RunReport, form: str, bundle: Callable[[], str] | None) -> str:
    """Return a report as `html`, `md` or `json`.

    Args:
        report: with the names that people are shown.
        form: one of these.
        bundle: gives the library of the charts; None where none are drawn.
    """
    if bundle is not None:
        from analyze.charts.drawing import config_of_report, specs_of
        from analyze.report.html.page import render_html

        charts = {"config": config_of_report(), "specs": specs_of(report)}
        return render_html(report, charts, bundle)
    if form == "md":
        from analyze.report.markdown import report_markdown

        return report_markdown(report)
    from analyze.render.text import record_json

    return record_json(report) + "\n"


def print_site(built: BuiltSite) -> None:
    """Print where a site is and what was done.

    Raises:
        Exit: 1, a run has no page.
    """
    typer.echo(display_path(built.index))
    done = (
        f"{counted(built.n_written, 'page')} written, {built.n_unchanged:,} unchanged, "
        f"{built.n_removed:,} removed"
    )
    typer.echo(done, err=True)
    for made in built.problems:
        typer.echo(f"no page of run {made.run_id}: {made.problem}", err=True)
    if built.problems:
        raise typer.Exit(1)
