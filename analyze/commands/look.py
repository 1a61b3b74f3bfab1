"""`analyze look`: another tool's results answered where they lie, with no configuration."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from analyze.cli_options import RUNS
from analyze.commands import BUILDERS, PAINTERS, bundle_for, print_site, text_of
from schemas.errors import ConfigError, Problem, counted, display_path, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from analyze.look.imported import Look
    from analyze.render.progress import Progress
    from analyze.site.build import BuiltSite
    from analyze.site.folder import SiteFolder
    from schemas.output.report import RunReport

Form = Literal["html", "md", "json"]

TRANSCRIPT_BYTES = 2150 * 1024
"""Of the page."""

MAX_NAMED = 20
"""Runs that are listed; of the others those alone that have errors."""

MAX_FINDINGS = 5
"""Of each import, that are printed."""


def look(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A file or folder that another tool wrote.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|FOLDER",
            help="Default: a page, or of several runs a site, in the folder for temporary files; "
            "md and json go to standard output. A folder: a site, with an index and a page for "
            "each run.",
        ),
    ] = None,
    form: Annotated[
        Form | None, typer.Option("--format", help="Default: by the name of FILE, else html.")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="One of several that are there. Default: all of them; the newest where one page "
            "is asked for.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Replace FILE although it is no report of ours; in a folder its files stay.",
        ),
    ] = False,
) -> None:
    """Report another tool's results where they lie.

    What is there is recognised; the report has the tool's own numbers, and what these do not say.
    Nothing is kept of it and nothing is written beside the data: `analyze import PATH` keeps it.

    Example: analyze look logs/
    """
    from analyze.cli_startup import imported_meanwhile
    from analyze.look.imported import looked_at
    from analyze.query.ensure_synced import disk_errors
    from analyze.render.progress import Progress
    from analyze.report.file import NAME, form_of, is_site, require_free, write_page
    from analyze.site.folder import LOOK, SiteFolder

    folder: SiteFolder | None = None
    wanted = "html"
    if output is not None and is_site(form, output):
        if run is not None:
            message = (
                "--run is of one run, and a folder for --output asks for a site of all runs; "
                "for the one: -o report.html"
            )
            raise typer.BadParameter(message)
        folder = SiteFolder(output, force=force, holds=LOOK)
    else:
        wanted = form_of(form, output)
        if output is not None:
            require_free(output, wanted, force=force)
    modules = PAINTERS if wanted == "html" else BUILDERS
    built: BuiltSite | None = None
    with ExitStack() as stack:
        bundle = stack.enter_context(bundle_for(wanted))
        progress = stack.enter_context(Progress())
        with (
            imported_meanwhile(*modules),
            disk_errors(path, "nothing was kept"),
            looked_at(path, partial(progress, "looks at files")) as found,
        ):
            is_many = len(found.run_ids) > 1
            if folder is None and output is None and run is None and wanted == "html" and is_many:
                folder = SiteFolder(_new_folder(), holds=LOOK)
            if folder is not None and bundle is not None:
                _tell(found, None, path)
                built = _site_of(found, folder, bundle, progress)
            else:
                shown = _report_of(found, run, wanted, progress)
                _tell(found, shown.run.run_id, path)
        if built is None:
            text = text_of(shown, wanted, bundle)
    if built is not None:
        print_site(built)
        return
    if output is None and wanted == "html":
        output = _new_folder() / NAME
    if output is None:
        typer.echo(text, nl=False)
    else:
        typer.echo(write_page(output, text))


def _site_of(
    found: Look, folder: SiteFolder, bundle: Callable[[], str], progress: Progress
) -> BuiltSite:
    """Make a site of all runs that were found."""
    from analyze.query.session import open_session
    from analyze.query.thresholds import limits_in_force
    from analyze.site.build import build_site
    from analyze.site.keys import PageSettings

    limits = limits_in_force(Path.cwd())
    settings = PageSettings(found.runs_dir, limits, TRANSCRIPT_BYTES, None, None, RUNS)
    with open_session(found.runs_dir, progress=lambda _: None) as session:
        return build_site(session, folder, settings, bundle, progress)


def _report_of(found: Look, run: str | None, form: str, progress: Progress) -> RunReport:
    """Return the report of one of the runs that were found, with names for people."""
    from analyze.query.run_ref import read_names, resolve_run
    from analyze.query.session import open_session
    from analyze.query.thresholds import limits_in_force
    from analyze.report.build import build_report
    from analyze.report.kept import kept_in
    from schemas.run.model_names import NO_NAMES, with_names

    if run is not None and run not in found.run_ids:
        near, there = nearest(run, found.run_ids), ", ".join(found.run_ids[:MAX_NAMED])
        raise ConfigError([Problem(None, "no such run", "--run", None, run, there, near)])
    with open_session(found.runs_dir, progress=lambda _: None) as session:
        run_id = resolve_run(session, run or "latest")
        names = NO_NAMES if form == "json" else read_names(session)
        report = build_report(
            session,
            run_id,
            baseline=None,
            limits=limits_in_force(Path.cwd()),
            transcript_bytes=0 if form == "md" else TRANSCRIPT_BYTES,
            progress=progress,
            names=names,
        )
    return kept_in(with_names(report, names), found.runs_dir, RUNS)


def _tell(found: Look, chosen: str | None, path: Path) -> None:
    """Say on standard error what was found, what of it is shown, and how to keep it."""
    from analyze.render.text import line_of

    named = [
        (one, written)
        for place, (one, written) in enumerate(found.written)
        if place < MAX_NAMED or any(found.severity == "error" for found in written.findings)
    ]
    for one, written in named:
        what = f"{written.run_dir.name}: {counted(written.n_trials, 'result')} of {one.format}"
        typer.echo(line_of(f"{what}, {display_path(one.path)}"), err=True)
        for finding in written.findings[:MAX_FINDINGS]:
            typer.echo(line_of(f"  {finding.severity}: {finding.message}"), err=True)
        if (more := len(written.findings) - MAX_FINDINGS) > 0:
            typer.echo(f"  and {more:,} more; `analyze import` lists them", err=True)
    if (more := len(found.written) - len(named)) > 0:
        typer.echo(f"and {counted(more, 'more run')}; `analyze import` lists them", err=True)
    for one, reason in found.refused:
        typer.echo(line_of(f"{display_path(one.path)} was left out: {reason}"), err=True)
    if chosen is not None and len(found.run_ids) > 1:
        others = f"{len(found.run_ids):,} runs; this is {chosen}, --run names another one"
        typer.echo(line_of(others), err=True)
    typer.echo(f"keep it: {shlex.join(['analyze', 'import', display_path(path)])}", err=True)


def _new_folder() -> Path:
    """Return where a page or a site goes that nobody named a place for."""
    import tempfile

    from analyze.look.imported import PREFIX

    return Path(tempfile.mkdtemp(prefix=PREFIX))
