"""`analyze label`: gives runs names that people use, and takes them away."""

from __future__ import annotations

from typing import Annotated

import typer

from analyze.cli_options import RUNS, NoSyncOption, RunArgument, RunsOption


def label(
    run: RunArgument,
    name: Annotated[list[str], typer.Argument(metavar="NAME", help="Labels, such as `base`.")],
    runs: RunsOption = RUNS,
    no_sync: NoSyncOption = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take these labels away.")] = False,
) -> None:
    """Give a run labels. `label:NAME` then means the newest run with that label.

    Example: analyze label latest base
    """
    from analyze.lake.labels import changed_labels
    from analyze.lake.labels import label as set_labels
    from analyze.query.run_ref import known_runs, resolve_run, runs_dir_of
    from analyze.query.session import open_session
    from analyze.render.text import line_of

    runs_dir = runs_dir_of(runs, run)
    with open_session(runs_dir, sync=not no_sync) as session:
        run_id = resolve_run(session, run)
        (labels,) = (known.labels for known in known_runs(session) if known.run_id == run_id)
    wanted = changed_labels(run_id, labels, name, remove=remove)
    if wanted != labels:
        set_labels(runs_dir, run_id, wanted)
    typer.echo(f"{run_id}: {line_of(', '.join(wanted)) or 'no labels'}")
