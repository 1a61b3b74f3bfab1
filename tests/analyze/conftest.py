"""What tests of analyze share: makers of run folders, and engines that are slow to begin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from analyze.lake.raw_tables import SETTINGS
from analyze.query.catalog import create_views
from analyze.query.session import Session
from analyze.report import build as build_module
from schemas.output.report import RunReport
from tests.support.open_lake import open_lake
from tests.support.run_builder import RunBuilder
from tests.support.warm_engines import kept_views


@pytest.fixture
def new_run(tmp_path: Path) -> Callable[..., RunBuilder]:
    """Return a maker of run folders in one folder of runs."""
    return lambda *args, **fields: RunBuilder(tmp_path / "runs", *args, **fields)


@pytest.fixture(scope="module")
def shared_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RunBuilder]:
    """Return a maker of run folders in a folder of runs that the tests of a file only read."""
    runs_dir = tmp_path_factory.mktemp("shared") / "runs"
    return lambda *args, **fields: RunBuilder(runs_dir, *args, **fields)


@pytest.fixture
def run(new_run: Callable[..., RunBuilder]) -> RunBuilder:
    return new_run()


@pytest.fixture(scope="module")
def empty_views(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with every view over a lake that holds nothing; a file's tests share it."""
    connection = open_lake(tmp_path_factory.mktemp("nothing") / "no-lake")
    create_views(connection)
    yield connection
    connection.close()


@pytest.fixture(scope="session")
def schemas_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Schema]:
    """The columns of every raw table and view, by its name."""
    with open_lake(tmp_path_factory.mktemp("empty") / "no-lake") as connection:
        create_views(connection, described=False)
        names = connection.sql("select view_name from duckdb_views() where not internal").fetchall()
        return {
            name: connection.sql(f"from {name} limit 0").to_arrow_table().schema.remove_metadata()
            for (name,) in names
        }


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """Give an engine one thread unless a test asks for more, which costs small lakes a sixth."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SETTINGS, "threads", "1")
        yield


@pytest.fixture(scope="module")
def warm_engines() -> Iterator[None]:
    """Let the sessions of a file take over the views of those before them."""
    with kept_views():
        yield


@pytest.fixture(scope="module")
def reports_built() -> dict[str, RunReport]:
    """Reports of a file's tests that `built_once` keeps, by all that was asked."""
    return {}


@pytest.fixture
def built_once(reports_built: dict[str, RunReport], monkeypatch: pytest.MonkeyPatch) -> None:
    """Build each report once: for tests of its forms and places, over runs that stay."""
    build = build_module.build_report

    def kept(session: Session, run_id: str, *, progress: Any = None, **asked: Any) -> RunReport:
        wanted = f"{session.runs_dir.resolve()} {run_id} {sorted(asked.items())}"
        if wanted not in reports_built:
            reports_built[wanted] = build(session, run_id, progress=progress, **asked)
        return reports_built[wanted]

    monkeypatch.setattr(build_module, "build_report", kept)


@pytest.fixture(scope="module")
def no_library() -> Iterator[None]:
    """Fetch a word in place of the charts' library, seconds each; a process of its own has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("analyze.report.html.chart_bundle.FETCH", "print('/* the library */')")
        patch.setattr("analyze.report.html.chart_bundle._keep", lambda _: None)
        yield
