"""Where runs are: finds a run's folder, keeps the lake complete, opens the lake for reading.

Knows files and the engine, and nothing about what a column means: that begins in the views.
A database file is never made; every connection lives in memory and reads sealed Parquet files.
"""

from __future__ import annotations

import errno
from pathlib import Path

import duckdb
import orjson
from pydantic import ValidationError

from schemas.errors import AnalyzeError, RunNotFound, SchemaError, ViewError
from schemas.lake import TABLES, Coverage, covered_until, live_files, read_lake_file
from schemas.mirror import MirrorBusy, mirror_run
from schemas.run_config import RunConfig, load_run_config

READ_ONLY = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""Reasons to read a lake as it is instead of giving up."""

RAW_TABLES = ("results", "plans", "outputs", "events")
"""Tables of the lake that the views can read, each as `raw_<table>`."""


def find_run(runs_dir: Path, run: str) -> Path:
    """Return the folder of a run.

    Args:
        runs_dir: the folder that holds the runs.
        run: a run id, a path to a run's folder, or `latest` (by the start of the run).

    Raises:
        RunNotFound: there is none; the message names what is near.
    """
    folders = {path.parent.name: path.parent for path in runs_dir.glob("*/config.json")}
    if run == "latest" and folders:
        return max(folders.values(), key=lambda folder: (_started_at_ms(folder), folder.name))
    if run in folders:
        return folders[run]
    if (Path(run) / "config.json").is_file():
        return Path(run).resolve()
    raise RunNotFound(run, runs_dir, folders)


def _started_at_ms(run_dir: Path) -> int:
    """Return the start of a run; 0 when its config cannot be read, so that it is never latest."""
    try:
        return int(orjson.loads((run_dir / "config.json").read_bytes())["started_at_ms"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def read_config(run_dir: Path) -> RunConfig:
    """Return what a run was asked to do.

    Raises:
        SchemaError: config.json is missing or does not fit its declaration.
    """
    path = run_dir / "config.json"
    try:
        return load_run_config(path)
    except OSError as exc:
        message = f"{path}: cannot be read ({exc.strerror})"
        raise SchemaError(message) from exc
    except ValidationError as exc:
        raise _misfit(path, exc) from exc


def _misfit(path: Path, exc: ValidationError) -> SchemaError:
    first = exc.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return SchemaError(f"{path}: `{where}`: {first['msg']}")


def bring_into_lake(run_dir: Path, lake: Path) -> list[str]:
    """Mirror what the lake does not hold of a run yet, and return what is missing from it.

    The lines that could not be read are found by their absence, so they are reported every time
    and not only by the process that happened to mirror them.

    Raises:
        SchemaError: the folder is no complete run.
    """
    config = read_config(run_dir)
    problems: list[str] = []
    try:
        problems = mirror_run(run_dir, lake)
    except MirrorBusy as exc:
        problems = [f"{exc}; what is sealed so far is read"]
    except ValidationError as exc:
        raise _misfit(run_dir / "plan.jsonl", exc) from exc
    except FileNotFoundError as exc:
        message = f"{exc.filename}: is missing, so this is no complete run"
        raise SchemaError(message) from exc
    except OSError as exc:
        if exc.errno not in READ_ONLY:
            message = f"{exc.filename or lake}: {exc.strerror}; nothing of the run itself is lost"
            raise AnalyzeError(message) from exc
        problems = [f"{lake}: cannot be written ({exc.strerror}); what is sealed so far is read"]
    covered = covered_until(
        read_lake_file(path) for path in live_files(lake, "results", config.run_id)
    )
    log = run_dir / "results.jsonl"
    size = log.stat().st_size if log.exists() else 0
    if covered.end == 0 < size and problems:
        message = "; ".join(
            [*problems, f"nothing of {log} is in the lake, so nothing is summed up"]
        )
        raise AnalyzeError(message)
    if size < covered.end:
        problems.append(
            f"{log}: is {covered.end - size} bytes shorter than what the lake holds of it; "
            "the lake's rows are used"
        )
    problems += _skipped_lines(log, lake, config.run_id, covered, problems)
    rest = size - covered.end
    if rest > 0:
        problems.append(f"{log}: the last {rest} bytes are a torn line or not mirrored yet")
    return problems


def _skipped_lines(
    log: Path, lake: Path, run_id: str, covered: Coverage, told: list[str]
) -> list[str]:
    """Return a problem for each covered line that is in no table, unless it was told already."""
    connection = open_lake(lake, run_id)
    rows = connection.execute(
        "select n from range(1, ?) as lines (n) where n not in ("
        "select record_no from raw_results union all select record_no from raw_events) order by n",
        [covered.lines_after + 1],
    ).fetchall()
    connection.close()
    known = {problem.removeprefix(f"{log}:").partition(":")[0] for problem in told}
    return [
        f"{log}:{number}: was skipped when the run was mirrored"
        for (number,) in rows
        if str(number) not in known
    ]


def open_lake(
    lake: Path, run_id: str | None = None, *, threads: int | None = None
) -> duckdb.DuckDBPyConnection:
    """Return an in-memory connection on which the lake's tables are `raw_results` and so on.

    Args:
        lake: the lake's folder; it need not exist.
        run_id: read the files of this run only.
        threads: of the engine; by default one a core.

    Raises:
        UnknownVersion: a newer benchlake wrote one of the files.
        ViewError: a file cannot be read.
    """
    connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": False})
    if threads is not None:
        connection.execute(f"set threads = {threads:d}").fetchall()
    for table in RAW_TABLES:
        _register(connection, table, live_files(lake, table, run_id))
    return connection


def _register(connection: duckdb.DuckDBPyConnection, table: str, files: list[Path]) -> None:
    name = f"raw_{table}"
    if not files:
        connection.register(name, TABLES[table].empty_table())
        return
    for path in files:
        read_lake_file(path)  # refuses a newer version by name
    # A view takes no parameters, so the paths stand in its text, as literals.
    paths = ", ".join("'" + str(path).replace("'", "''") + "'" for path in files)
    try:
        connection.execute(
            f"create view {name} as from "
            f"read_parquet([{paths}], hive_partitioning = false, union_by_name = true)"
        ).fetchall()
    except duckdb.Error as exc:
        raise ViewError(name, str(exc)) from exc
