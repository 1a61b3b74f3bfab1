"""`analyze iceberg`: the lake's files in a catalog of Iceberg."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyze.cli_options import RUNS, JsonOption, NoSyncOption, RunsOption
from schemas.errors import ConfigError, Problem, counted


def iceberg(
    runs: RunsOption = RUNS,
    catalog: Annotated[
        Path | None,
        typer.Option("--catalog", metavar="FILE", help="Default: DIR/lake/iceberg/catalog.db."),
    ] = None,
    no_sync: NoSyncOption = False,
    json: JsonOption = False,
) -> None:
    """Register the lake's files as tables of Iceberg.

    For engines that read those. The catalog is a file of SQLite. Nothing is copied. Files that were
    compacted since the last time are taken out in the commit that brings those in their place: run
    it again after new runs. Needs pip install 'benchlake[iceberg]'. A shared lake is pulled first.

    Example: analyze iceberg
    """
    from analyze.iceberg import require_iceberg

    require_iceberg()
    import json as text
    from dataclasses import asdict

    from analyze.iceberg.catalog import NAMESPACE, catalog_file, register_lake
    from analyze.query.ensure_synced import require_folder
    from analyze.query.session import sync_new_runs
    from schemas.lake import lake_of

    require_folder(runs)
    if catalog is not None and catalog.is_dir():
        raise ConfigError([Problem(catalog, "is a folder; --catalog names a file")])
    sync_new_runs(runs, sync=not no_sync)
    path = catalog or catalog_file(lake_of(runs))
    tables = register_lake(lake_of(runs), path)
    uri = f"sqlite:///{path.absolute()}"
    if json:
        facts = {"catalog": str(path), "uri": uri, "namespace": NAMESPACE}
        typer.echo(text.dumps(facts | {"tables": [asdict(one) for one in tables]}))
        return
    n_files, n_rows = sum(one.n_files for one in tables), sum(one.n_rows for one in tables)
    n_added, n_removed = sum(one.n_added for one in tables), sum(one.n_removed for one in tables)
    held = f"{counted(n_files, 'file')} with {counted(n_rows, 'row')}"
    typer.echo(f"{path}: {counted(len(tables), 'table')}, {held}")
    typer.echo(f"{counted(n_added, 'file')} registered, {counted(n_removed, 'file')} taken out")
    typer.echo(f'Read it:  SqlCatalog("{NAMESPACE}", uri="{uri}")')
