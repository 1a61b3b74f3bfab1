"""`analyze summarize`: what runs came to, as summary.json and summary.md."""

from __future__ import annotations

from typing import Annotated

import typer

from analyze.cli_options import (
    RUN_HELP,
    RUNS,
    EvaluationProfileOption,
    JsonOption,
    NoSyncOption,
    RunsOption,
)


def summarize(
    run: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN", help=f"{RUN_HELP} Or `all`. Default: `latest`."),
    ] = None,
    runs: RunsOption = RUNS,
    json: JsonOption = False,
    evaluation_profile: EvaluationProfileOption = None,
    no_sync: NoSyncOption = False,
) -> None:
    """Write summary.json and summary.md of runs; print the tables.

    A run whose folder is not here, or not by this tool, is printed only, as is what another
    evaluation profile than the run's own says. With --json paths go to
    standard error; several runs are one list.

    Example: analyze summarize latest
    """
    from analyze.query.run_ref import known_runs, read_names, resolve_run, run_folder, runs_dir_of
    from analyze.query.session import open_session
    from analyze.summary.summarize import (
        names_of_run,
        read_inventory,
        summary_json,
        summary_of,
        write_files,
    )
    from analyze.summary.summary_table import summary_markdown
    from schemas.run.layout import is_planned

    names = run or ["latest"]
    as_list = len(names) > 1 or names == ["all"]
    with open_session(
        runs_dir_of(runs, names[0]), sync=not no_sync, evaluation_profile=evaluation_profile
    ) as session:
        run_ids: dict[str, None] = {}
        for name in names:
            every = [known.run_id for known in reversed(known_runs(session))]
            run_ids |= dict.fromkeys(every if name == "all" else [resolve_run(session, name)])
        for place, run_id in enumerate(run_ids):
            folder = run_folder(session, run_id)
            is_ours = folder is not None and is_planned(folder)
            summary = summary_of(session, run_id, folder)
            if json and as_list:
                typer.echo(
                    ("," if place else "[") + "\n" + summary_json(summary).rstrip(), nl=False
                )
            elif json:
                typer.echo(summary_json(summary), nl=False)
            else:
                inventory = None if folder is None else read_inventory(folder)
                called = names_of_run(folder) if folder and is_ours else read_names(session)
                text = summary_markdown(summary, inventory, called)
                typer.echo(("\n" if place else "") + text, nl=False)
            if folder is not None and is_ours and evaluation_profile is None:
                for path in write_files(folder, summary):
                    typer.echo(path, err=json)
    if json and as_list:
        typer.echo("\n]" if run_ids else "[]")
