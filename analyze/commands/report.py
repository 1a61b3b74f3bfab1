"""`analyze report`: one run as a page that people open, as Markdown or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from analyze.cli_options import RUN_HELP, RUNS, EvaluationProfileOption, KnownOption, NoSyncOption
from analyze.commands import BUILDERS, PAINTERS, bundle_for, known_in, print_site, text_of
from schemas.errors import ConfigError, Problem, display_path

if TYPE_CHECKING:
    from schemas.config.known_issues import KnownFile

Form = Literal["html", "md", "json"]

MAKE_ONE = "make a run with `collect demo` or `collect run`"

KB = 1024


def report(
    runs: Annotated[
        Path, typer.Argument(metavar="RUNS", help="Where runs are kept, or a run's own folder.")
    ] = RUNS,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|FOLDER",
            help="Default: report.html in the run's folder; md and json go to standard output. "
            "A folder: a site, with an index and a page for each run.",
        ),
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help=f"{RUN_HELP} Default: `latest`.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="What it is compared with: a run, `previous`, `label:NAME`, `last:N` or `history` "
            "as `gate` has them, or `none`. Default: the run before of its suite.",
        ),
    ] = None,
    known: KnownOption = None,
    form: Annotated[
        Form | None, typer.Option("--format", help="Default: by the name of FILE, else html.")
    ] = None,
    transcripts: Annotated[
        int,
        typer.Option(
            min=0, metavar="KB", help="Of the page for transcripts, at most; 0 leaves them out."
        ),
    ] = 2150,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Replace FILE although it is no report of ours; in a folder its files stay.",
        ),
    ] = False,
    evaluation_profile: EvaluationProfileOption = None,
    no_sync: NoSyncOption = False,
) -> None:
    """Report one run: its models, what changed, what to distrust.

    A folder for --output gets a site of all runs, and the same command brings it up to date.

    Exit code 0 also when a model regressed: `analyze gate` is there to fail. 1: a site lacks
    the page of a run that could not be reported.

    Example: analyze report latest --baseline previous
    """
    from analyze.cli_startup import imported_meanwhile
    from analyze.query.run_ref import read_names, resolve_run, run_folder, runs_dir_of
    from analyze.query.session import open_session
    from analyze.render.progress import Progress
    from analyze.report.file import form_of, is_site, page_of, require_free, write_page
    from schemas.run.layout import is_run_folder
    from schemas.run.model_names import NO_NAMES, with_names

    if not runs.exists():
        raise _no_folder(runs)
    if output is not None and is_site(form, output):
        _refuse_run_options(runs, run, baseline)
        _site(runs, output, known_in(known), transcripts * KB, evaluation_profile, force, no_sync)
        return
    wanted = form_of(form, output)
    if output is not None:
        require_free(output, wanted, force=force)
    named = run or "latest"
    if is_run_folder(runs):
        if run is not None:
            message = f"{runs} is a run, and --run names another; one of them is enough"
            raise typer.BadParameter(message)
        named = str(runs.absolute())
    entries = known_in(known)
    modules = PAINTERS if wanted == "html" else BUILDERS
    with bundle_for(wanted) as bundle:
        with (
            imported_meanwhile(*modules),
            open_session(
                runs_dir_of(runs, named), sync=not no_sync, evaluation_profile=evaluation_profile
            ) as session,
            Progress() as progress,
        ):
            run_id = resolve_run(session, named)
            if wanted == "html" and output is None:
                output = page_of(run_id, run_folder(session, run_id))

            from analyze.query.thresholds import limits_in_force
            from analyze.report.build import build_report

            names = NO_NAMES if wanted == "json" else read_names(session)
            found = build_report(
                session,
                run_id,
                baseline=baseline,
                limits=limits_in_force(Path.cwd()),
                transcript_bytes=0 if wanted == "md" else transcripts * KB,
                known=entries,
                progress=progress,
                names=names,
            )
        found = with_names(found, names)
        text = text_of(found, wanted, bundle)
    if output is None:
        typer.echo(text, nl=False)
    else:
        typer.echo(write_page(output, text))


def _refuse_run_options(runs: Path, run: str | None, baseline: str | None) -> None:
    """Refuse what is of one run alone."""
    from schemas.run.layout import is_run_folder

    named = {"--run": run, "--baseline": baseline}
    alone = [option for option, value in named.items() if value is not None]
    if is_run_folder(runs):
        alone.insert(0, str(runs))
    if alone:
        message = (
            f"{alone[0]} is of one run, and a folder for --output asks for a site of all runs; "
            "for the one: -o report.html"
        )
        raise typer.BadParameter(message)


def _site(
    runs: Path,
    output: Path,
    known: KnownFile | None,
    transcript_bytes: int,
    evaluation_profile: str | None,
    force: bool,
    no_sync: bool,
) -> None:
    """Bring a site up to date, and say what was done."""
    from analyze.query.session import open_session
    from analyze.query.thresholds import limits_in_force
    from analyze.render.progress import Progress
    from analyze.report.html.chart_bundle import fetched_bundle
    from analyze.site.build import build_site
    from analyze.site.folder import SiteFolder
    from analyze.site.keys import PageSettings

    folder = SiteFolder(output, force=force)
    settings = PageSettings(
        runs, limits_in_force(Path.cwd()), transcript_bytes, known, evaluation_profile
    )
    with (
        open_session(runs, sync=not no_sync, evaluation_profile=evaluation_profile) as session,
        Progress() as progress,
    ):
        built = build_site(session, folder, settings, fetched_bundle, progress)
    print_site(built)


def _no_folder(runs: Path) -> ConfigError:
    """Return what to do about a folder that is not there; it may be meant as a run."""
    what = f"there is no folder {display_path(runs)}"
    is_name = len(runs.parts) == 1 and RUNS.is_dir()
    then = f"if it is a run: analyze report --run {display_path(runs)}" if is_name else MAKE_ONE
    return ConfigError([Problem(None, f"{what}; {then}", "RUNS")])
