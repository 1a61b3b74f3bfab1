"""Runs a user's query: guarded, for a limited time, again when files were moved under it.

The engine runs in a thread of its own, so that Ctrl-C and a time limit act at once: it checks for
signals only between its tasks, and one function may keep a task busy for long. So the main thread
only waits, tells the engine to stop, and ends the process when the engine does not.
"""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import duckdb

from analyze.lake.raw_tables import connect
from analyze.lake.repair import retry_while_moving, settle
from analyze.query.catalog import EVERYTHING, named_by, prepare
from analyze.sql.guard import check_query, first_line, lock
from schemas.errors import (
    AnalyzeError,
    QueryFailed,
    QueryTooLong,
    ViewNotFound,
    nearest,
    printable,
)
from schemas.lake import lake_of

if TYPE_CHECKING:
    import pyarrow as pa

Outcome = TypeVar("Outcome")
Result = TypeVar("Result")

NUDGE_S = 0.05
"""Between two requests to stop: one that comes between two queries stops nothing."""

GRACE_S = 3.0
"""For the engine to stop; longer, and it is in a function that hears nothing."""

ROWS_AT_ONCE = 2048
"""Rows that the engine hands over together."""

AS_TEXT = re.compile(r"TIME|DATE|INTERVAL|BLOB|UNION")
"""Types that Python has no exact value for; the engine's own text of them is taken."""

MISSING = re.compile(r'(?:Table|View) with name "?(?P<name>[^"\s]+)"? does not exist')
MISSING_FILE = re.compile(r"(?:Table|View) with name (?P<path>.*[/.].*) does not exist")
NO_COLUMN = re.compile(
    r'(?:Referenced column|column named|Values list .* have a column named) "(?P<name>[^"]+)"'
)
CANDIDATES = re.compile(r"Candidate bindings: (?P<names>[^\n]+)")
FORBIDDEN_FILE = re.compile(r'Cannot access (?:file|directory) "(?P<path>[^"]*)"')
COMMENTS = re.compile(r"\bcomment\b", re.IGNORECASE)


class InThread(Generic[Outcome]):
    """Work in a thread of its own, so that whoever waits hears of Ctrl-C and keeps to a time."""

    def __init__(self, work: Callable[[], Outcome]) -> None:
        self.done = threading.Event()
        self._work = work
        self._results: list[Outcome] = []
        self._errors: list[BaseException] = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as exc:  # noqa: BLE001 - raised again where it is waited for
            self._errors.append(exc)
        finally:
            self.done.set()

    def is_done_by(self, deadline: float) -> bool:
        """Wait until a moment of the monotonic clock; return whether it is done."""
        return self.done.wait(min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX))

    def result(self) -> Outcome:
        """Return what it came to once it is done; raises what the work raised."""
        if self._errors:
            raise self._errors[0]
        return self._results[0]


def watched(
    engine: duckdb.DuckDBPyConnection,
    work: Callable[[], Outcome],
    deadline: float,
    stuck: Callable[[bool], None] | None = None,
) -> Outcome:
    """Return what work on an engine returns.

    Args:
        engine: what the work waits for.
        work: runs in a thread of its own.
        deadline: moment of the monotonic clock at which the engine is stopped.
        stuck: is told when the engine does not stop, and whether that was Ctrl-C; it ends the
            process. Without it the work is waited for.

    Raises:
        InterruptException: it was stopped at its deadline.
        KeyboardInterrupt: Ctrl-C.
    """
    working = InThread(work)
    is_interrupted = False
    try:
        while not working.is_done_by(deadline):
            if time.monotonic() >= deadline:
                break
    except KeyboardInterrupt:
        is_interrupted = True
    asked_at = time.monotonic()
    while not working.done.is_set():
        engine.interrupt()
        try:
            working.done.wait(NUDGE_S)
        except KeyboardInterrupt:
            is_interrupted = True
        if stuck is not None and time.monotonic() > asked_at + GRACE_S:
            stuck(is_interrupted)
    if is_interrupted:
        raise KeyboardInterrupt
    return working.result()


@dataclass(frozen=True)
class Column:
    """One column of an answer: a name of its own, and the engine's name of its type."""

    name: str
    type: str

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        return (
            self.type.startswith(("DECIMAL", "DOUBLE", "FLOAT"))
            or self.type.endswith("INT")
            or (self.type in {"BIGINT", "INTEGER"})
        )


class Answered(Protocol):
    """What a query returned, whichever engine was asked."""

    columns: tuple[Column, ...]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows; dates, times and bytes as the engine writes them."""

    def batches(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the rows as Arrow batches, and their schema; each name comes once."""


class Answer:
    """What a query returned, to be read once, from front to back."""

    def __init__(self, engine: duckdb.DuckDBPyConnection, sql: str, deadline: float) -> None:
        self._engine = engine
        self._deadline = deadline
        self._sql = sql
        engine.execute(sql)
        self.columns = _columns(engine)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows; dates, times and bytes as the engine writes them."""
        if any(AS_TEXT.search(column.type) for column in self.columns):
            self._engine.execute(_with_texts(self._sql, self.columns))
        while chunk := self._engine.fetchmany(ROWS_AT_ONCE):
            if time.monotonic() > self._deadline:
                raise duckdb.InterruptException
            yield from chunk

    def batches(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the rows as Arrow batches, and their schema; each name comes once."""
        self._engine.abort()  # of what told the columns
        reader = self._engine.sql(self._sql).to_arrow_reader(ROWS_AT_ONCE * 16)
        names = [column.name for column in self.columns]
        schema = reader.schema
        for place, name in enumerate(names):
            schema = schema.set(place, schema.field(place).with_name(name))
        return schema, self._read(reader, names)

    def _read(self, reader: pa.RecordBatchReader, names: list[str]) -> Iterator[pa.RecordBatch]:
        while True:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            except OSError as exc:  # Arrow's word for every error of the engine
                said = str(exc)
                if time.monotonic() > self._deadline:
                    raise duckdb.InterruptException from exc
                if said.startswith("INTERRUPT"):
                    raise KeyboardInterrupt from exc
                kind = duckdb.IOException if said.startswith("IO Error") else duckdb.Error
                raise kind(said) from exc
            yield batch.rename_columns(names)


def ask(
    runs_dir: Path,
    sql: str,
    use: Callable[[Answer], Result],
    *,
    timeout_s: float,
    stuck: Callable[[AnalyzeError | KeyboardInterrupt], None] | None = None,
    repairs: bool = False,
    evaluation_profile: str | None = None,
) -> Result:
    """Return what `use` makes of the answer to a user's query.

    Args:
        runs_dir: the folder that holds the runs; only its lake is read.
        sql: what the user wrote.
        use: reads the answer; called again from the start when files were moved meanwhile.
        timeout_s: seconds that the query may take.
        stuck: is told why the process has to end, when the engine does not stop: it is in a
            function that hears nothing. Without it the engine is waited for.
        repairs: a damaged file of the lake is set aside; by default it is left out.
        evaluation_profile: whose judges have a say in verdicts; by default those of each run's own.

    Raises:
        QueryRefused: it would do more than read the lake.
        QueryFailed: it has a mistake in it.
        QueryTooLong: it was stopped.
        ViewError: the lake cannot be read.
    """
    lake = lake_of(runs_dir)
    deadline = time.monotonic() + timeout_s

    def attempt(files: list[Path]) -> Result:
        with TemporaryDirectory(prefix="benchlake-") as temporary, connect() as engine:

            def leave(is_interrupted: bool) -> None:
                assert stuck is not None
                shutil.rmtree(temporary, ignore_errors=True)
                stuck(KeyboardInterrupt() if is_interrupted else QueryTooLong(timeout_s))

            try:
                check_query(engine, sql)
                described = COMMENTS.search(sql) is not None
                files += prepare(
                    engine,
                    lake,
                    named_by(sql),
                    evaluation_profile=evaluation_profile,
                    described=described,
                )
                lock(engine, files, Path(temporary))
                return watched(
                    engine, lambda: use(Answer(engine, sql, deadline)), deadline, stuck and leave
                )
            except duckdb.InterruptException as exc:
                raise QueryTooLong(timeout_s) from exc
            except duckdb.Error as exc:
                raise failure(exc) from exc

    return retry_while_moving(lake, attempt, partial(settle, lake, writes=repairs))


def failure(exc: duckdb.Error) -> AnalyzeError:
    """Return what the engine says about a query, as one sentence with the nearest name."""
    text = str(exc)
    found = FORBIDDEN_FILE.search(text) or MISSING_FILE.search(text)
    if found:
        path = printable(found["path"])
        return QueryFailed(f"`{path}` is not in the lake; a query reads its tables and views only")
    if found := MISSING.search(text):
        return ViewNotFound(found["name"], EVERYTHING)
    if (found := NO_COLUMN.search(text)) and (others := CANDIDATES.search(text)):
        names = [name.strip(' "') for name in others["names"].split(",")]
        near = nearest(found["name"].rpartition(".")[2], names)
        hint = f"did you mean `{near}`?" if near else f"near are {', '.join(names)}"
        return QueryFailed(f"there is no column `{printable(found['name'])}`; {printable(hint)}")
    return QueryFailed(f"the query failed: {first_line(exc)}")


def _columns(engine: duckdb.DuckDBPyConnection) -> tuple[Column, ...]:
    """Return the columns of what was executed, each with a name of its own."""
    described = engine.description or ()
    names = own_names([name for name, *_ in described])
    return tuple(
        Column(own, str(kind)) for own, (_, kind, *_) in zip(names, described, strict=True)
    )


def own_names(names: Sequence[str]) -> list[str]:
    """Return a name of its own for each column: one that comes again gets a number.

    No other column loses its own name to that number.
    """
    kept = set(names)
    taken: dict[str, None] = {}
    for name in names:
        own, number = name, 1
        while own in taken or (number > 1 and own in kept):
            number += 1
            own = f"{name}_{number}"
        taken[own] = None
    return list(taken)


def _with_texts(sql: str, columns: tuple[Column, ...]) -> str:
    """Return a query for the same rows, with text where Python has no exact value."""
    names = ", ".join(f"c{number}" for number in range(len(columns)))
    terms = ", ".join(
        f"cast(c{number} as varchar)" if AS_TEXT.search(column.type) else f"c{number}"
        for number, column in enumerate(columns)
    )
    bare = sql.strip().rstrip(";")
    return f"select {terms} from (\n{bare}\n) as answer ({names})"  # noqa: S608 - checked before
