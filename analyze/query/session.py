"""The lake of one folder of runs, open for reading while collectors write and a sync compacts.

Brings in what is new, creates the views that a question needs, and asks again when a file was
moved away while it was read.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from analyze.lake.overlay import RAW_TABLES, literal
from analyze.lake.raw_tables import connect, declared, engine_errors, fill
from analyze.lake.repair import (
    interruptible,
    list_settled,
    on_stderr,
    retry_while_moving,
    settle,
)
from analyze.query.catalog import EVERYTHING, NAMES, create_views, named_by, read_view, select_of
from schemas.errors import ConfigError, Problem, ViewError, display_path
from schemas.lake import ALIASES, lake_of, live_files

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from analyze.contracts.base import ViewRow

    Column = np.ndarray[Any, np.dtype[Any]]

MEMORY_MB = 600
"""What the engine holds before it goes to disk: with all around it less than a gigabyte."""

Row = TypeVar("Row", bound="ViewRow")
Answer = TypeVar("Answer")


class Session:
    """The lake of one folder of runs, open for reading; a context manager.

    Attributes:
        runs_dir: the folder that holds the runs.
        lake: where their rows are.
        repairs: damaged files are set aside; else they are left out.
        evaluation_profile: whose judges have a say in verdicts; None: those of each run's own.
    """

    def __init__(
        self,
        runs_dir: Path,
        *,
        threads: int | None = None,
        as_written: bool = False,
        repairs: bool = False,
        evaluation_profile: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        """Open the lake.

        Args:
            runs_dir: the folder that holds the runs.
            threads: of the engine; by default one a core.
            as_written: each case has the id that its run wrote; by default its newest one.
            repairs: a file that turns out to be damaged is set aside and its rows are made again;
                by default it is left out.
            evaluation_profile: whose judges have a say in verdicts; by default those of each run's
                own.
            progress: takes a line for the user about such a file; by default standard error.
        """
        self.runs_dir = runs_dir
        self.lake = lake_of(runs_dir)
        self._as_written = as_written
        self._threads = threads
        self.repairs = repairs
        self.evaluation_profile = evaluation_profile
        self._tell = progress
        self._engine = self._opened()
        self._there: set[str] = set()
        self._files: dict[str, list[Path]] = {}
        self._months: Collection[str] | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; nothing can be asked any more."""
        self._engine.close()

    def _opened(self) -> duckdb.DuckDBPyConnection:
        engine = connect(threads=self._threads)
        spill = Path(tempfile.gettempdir()) / f"benchlake-{os.getpid()}"  # the engine's to remove
        engine.execute(f"set temp_directory = {literal(spill)}").fetchall()
        engine.execute(f"set memory_limit = '{MEMORY_MB}MB'").fetchall()
        return engine

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection, with every view on it; a question asked here is not asked again."""
        self._need(EVERYTHING)
        return self._engine

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query.

        Raises:
            ViewError: it failed; gives the engine's words.
        """
        return self._ask(sql, lambda: self._engine.execute(sql, list(parameters)).fetchall())

    def read(
        self, contract: type[Row], where: str = "", parameters: Sequence[object] = ()
    ) -> list[Row]:
        """Return the rows of a view as declared records, in the contract's order.

        Args:
            contract: the record of the view.
            where: a condition in SQL, with `?` for each parameter; by default every row.
            parameters: values of the condition.

        Raises:
            ViewError: the view failed while it was read.
        """
        text = f"{contract.view} {where}"
        return self._ask(text, lambda: read_view(self._engine, contract, where, parameters))

    def arrow(self, sql: str, parameters: Sequence[object] = ()) -> pa.Table:
        """Return the rows of a query as an Arrow table.

        Raises:
            ViewError: it failed; gives the engine's words.
        """
        return self._ask(
            sql, lambda: self._engine.sql(sql, params=list(parameters)).to_arrow_table()
        )

    def arrays(self, sql: str, parameters: Sequence[object] = ()) -> dict[str, Column]:
        """Return the columns of a query as arrays by name; one with nulls is a masked array.

        For millions of rows of numbers: as records they would be a hundred times the size.

        Raises:
            ViewError: it failed; gives the engine's words.
        """
        return self._ask(sql, lambda: self._engine.execute(sql, list(parameters)).fetchnumpy())

    def once(self, view: str) -> str:
        """Return what to select from, for the one question about a view.

        To create the view would take as long as to plan that question.
        """
        return f"({select_of(view)})"

    @property
    def has_aliases(self) -> bool:
        """Whether any case ever got another id."""
        return bool(live_files(self.lake, ALIASES))

    @contextmanager
    def as_written(self) -> Iterator[Session]:
        """Open the same lake with the ids that each run wrote: for what is of one run alone."""
        if self._as_written or not self.has_aliases:
            yield self
            return
        written = Session(
            self.runs_dir,
            as_written=True,
            repairs=self.repairs,
            evaluation_profile=self.evaluation_profile,
            progress=self._tell,
        )
        with written:
            yield written

    @contextmanager
    def only_months(self, months: Collection[str] | None) -> Iterator[None]:
        """Open files of these months alone, for questions about runs that began in them.

        All rows of a run lie in the month of its start (`2026-02`). Nothing changes where the
        results are open already, since to open them is what takes the time; None: all months.
        """
        if months is None or "raw_results" in self._there:
            yield
            return
        self._months = months
        try:
            yield
        finally:
            self._months = None
            self._forget()

    def _need(self, needed: Collection[str]) -> None:
        """Create what a question needs and is not there yet."""
        missing = set(needed) - self._there
        if missing:
            tables = [table for table in RAW_TABLES if f"raw_{table}" in missing]
            if views := missing & NAMES.keys():
                with declared(self._engine, tables):
                    create_views(self._engine, described=False, only=views)
            look = partial(
                fill,
                months=self._months,
                as_written=self._as_written,
                evaluation_profile=self.evaluation_profile,
            )

            def list_files() -> None:
                for table in tables:
                    self._files[table] = look(self._engine, self.lake, [table])

            list_settled(self.lake, list_files, writes=self.repairs, progress=self._tell)
            self._there |= missing

    def _ask(self, text: str, question: Callable[[], Answer]) -> Answer:
        """Return the answer to a question, asked again while files are moved under it.

        Args:
            text: names every view that the question reads.
            question: asks the engine.
        """
        needed = named_by(text)

        def attempt(files: list[Path]) -> Answer:
            try:
                with interruptible():
                    self._need(needed)
                    with engine_errors("query"):
                        return question()
            except ViewError:
                files += chain.from_iterable(self._files.values())
                self._forget()
                raise

        return retry_while_moving(self.lake, attempt, self._settle)

    def _settle(self) -> bool:
        """Put damaged files out of the way; return whether there were any."""
        is_settled = settle(self.lake, writes=self.repairs, progress=self._tell)
        self._engine.close()  # it may be unfit after an error of its own
        self._engine = self._opened()
        self._there.clear()
        self._files.clear()
        return is_settled

    def _forget(self) -> None:
        """Forget which files were live; the next question lists them again."""
        self._there -= {f"raw_{table}" for table in RAW_TABLES}
        self._files.clear()


def open_session(
    runs_dir: Path,
    *,
    sync: bool = True,
    threads: int | None = None,
    evaluation_profile: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Session:
    """Return the lake of a folder of runs, open for reading, with all that is new in it.

    Args:
        runs_dir: the folder that holds the runs.
        sync: look for news first, and bring them in.
        threads: of the engine; by default one a core.
        evaluation_profile: whose judges have a say in verdicts; by default those of each run's own.
        progress: takes a line for the user; by default it goes to standard error.

    Raises:
        ConfigError: no judge of that profile decides anything in these runs.
        AnalyzeError: the lake cannot be read.
    """
    sync_new_runs(runs_dir, sync=sync, progress=progress)
    check_evaluation_profile(runs_dir, evaluation_profile)
    return Session(
        runs_dir,
        threads=threads,
        repairs=sync,
        evaluation_profile=evaluation_profile,
        progress=progress,
    )


def check_evaluation_profile(runs_dir: Path, asked: str | None) -> None:
    """Refuse an evaluation profile that decides nothing in the runs of a folder.

    Raises:
        ConfigError: no run was judged by it, or it had no threshold; says what to do.
    """
    if asked is None:
        return
    with Session(runs_dir, threads=1) as session:
        said = dict(
            session.rows(
                "select evaluation_profile_id, count(pass_threshold) "
                "from stg_judgements group by evaluation_profile_id order by evaluation_profile_id"
            )
        )
    require_deciding(said, asked, display_path(runs_dir))


def require_deciding(said: Mapping[str, int], asked: str, place: str) -> None:
    """Refuse an evaluation profile that decides nothing.

    Args:
        said: how many judgements with a threshold there are, by evaluation profile.
        asked: the profile.
        place: where they are, for people.

    Raises:
        ConfigError: no run was judged by it, or it had no threshold; says what to do.
    """
    again = f"collect evaluate RUN --evaluation-profile {asked}"
    if asked not in said:
        known = f"; there is {', '.join(said)}" if said else ""
        message = f"no run in {place} was judged by it{known}. To judge one: {again}"
    elif not said[asked]:
        message = f"it has no pass_threshold, so its judges decide nothing. Set one, then: {again}"
    else:
        return
    raise ConfigError([Problem(None, f"evaluation profile {asked}: {message}")])


def sync_new_runs(
    runs_dir: Path, *, sync: bool = True, progress: Callable[[str], None] | None = None
) -> None:
    """Bring what runs have written since into the lake; says in one line what went wrong.

    Args:
        runs_dir: the folder that holds the runs.
        sync: without it only a folder that is not there is told.
        progress: takes a line for the user; by default it goes to standard error.
    """
    say = progress or on_stderr
    if not runs_dir.is_dir():
        say(f"warning: there is no folder {runs_dir}, so every table is empty; --runs names it")
    elif sync:
        from analyze.query.ensure_synced import sync_changes  # noqa: PLC0415 - not needed by `--no-sync`

        sync_changes(runs_dir, say)
