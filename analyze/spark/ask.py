"""Runs a user's query on Spark: guarded, for a limited time, again when files were moved under it.

Spark stops only between its tasks, and plans for seconds without looking up: at a time limit and
at Ctrl-C its process is ended.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from analyze.lake.repair import retry_while_moving, settle
from analyze.query.catalog import EVERYTHING, named_by
from analyze.spark.files import StoredLake, stored_lake, stored_shared_lake
from analyze.spark.guard import check_query
from analyze.spark.session import LOST, OwnSpark, SparkFailed, first_line, lost, own_spark
from analyze.spark.views import create_views, require_profile
from analyze.sql.ask import AS_TEXT, GRACE_S, Column, InThread, own_names
from schemas.errors import (
    AnalyzeError,
    BenchError,
    DamagedFile,
    QueryFailed,
    QueryTooLong,
    ViewNotFound,
    nearest,
    printable,
)
from schemas.lake import lake_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from analyze.share.delta import SharedLake

Result = TypeVar("Result")

SHORT_TYPES = {"INT": "INTEGER", "STRING": "VARCHAR"}

ROWS_AT_ONCE = 2048

OF_A_FILE = re.compile(
    r"error while reading file (?:file:/*)?(?P<path>/\S+\.parquet)", re.IGNORECASE
)


class SparkAnswer:
    """What a query returned on Spark."""

    def __init__(self, frame: DataFrame) -> None:
        names = own_names(frame.columns)
        self._frame = frame.toDF(*names)
        types = [kind for _, kind in self._frame.dtypes]
        self.columns = tuple(map(Column, names, map(_type_name, types)))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows; dates, times and bytes as Spark writes them."""
        quoted = [f"`{column.name.replace('`', '``')}`" for column in self.columns]
        terms = [
            f"cast({name} as string) as {name}" if AS_TEXT.search(column.type) else name
            for name, column in zip(quoted, self.columns, strict=True)
        ]
        for batch in self._frame.selectExpr(*terms).toArrow().to_batches(ROWS_AT_ONCE):
            columns = [values.to_pylist(maps_as_pydicts="strict") for values in batch.columns]
            yield from zip(*columns, strict=True)

    def batches(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the rows as Arrow batches, and their schema; each name comes once."""
        table = self._frame.toArrow()
        return table.schema, iter(table.to_batches())


def _type_name(kind: str) -> str:
    """Return a type of Spark as DuckDB calls it, as far as they are one."""
    name = kind.upper()
    return SHORT_TYPES.get(name, name)


@dataclass(frozen=True)
class SparkAsker:
    """Where a question is asked; called as `analyze.sql.ask.ask` is."""

    master: str
    settings: Mapping[str, str] = field(default_factory=dict)
    shared: SharedLake | None = None
    """Read in the place of a folder of runs."""

    def __call__(
        self,
        runs_dir: Path,
        sql: str,
        use: Callable[[SparkAnswer], Result],
        *,
        timeout_s: float,
        stuck: Callable[[AnalyzeError | KeyboardInterrupt], None] | None = None,
        repairs: bool = False,
        evaluation_profile: str | None = None,
    ) -> Result:
        """Return what `use` makes of the answer to a user's query.

        Args:
            runs_dir: the folder that holds the runs.
            sql: what the user wrote.
            use: reads the answer; called again from the start when files were moved meanwhile.
            timeout_s: seconds from the start of Spark on.
            stuck: of no use here, since Spark is a process of its own.
            repairs: a damaged file of the lake is set aside; by default it is left out.
            evaluation_profile: whose judges have a say in verdicts; by default those of each run's
                own.

        Raises:
            QueryRefused: it would do more than read the lake.
            QueryFailed: it has a mistake in it.
            QueryTooLong: it was stopped.
            SparkFailed: Spark did not start, or was lost.
            ViewError: the lake cannot be read.
        """
        lake, deadline = lake_of(runs_dir), time.monotonic() + timeout_s
        del stuck
        with own_spark(self.master, self.settings) as spark:

            def work(files: list[Path]) -> Result:
                if self.shared is None:
                    stored = stored_lake(lake)
                    files += stored.listed
                else:
                    stored = stored_shared_lake(self.shared)
                return use(self._answer(spark, sql, stored, evaluation_profile))

            def attempt(files: list[Path]) -> Result:
                job = partial(_with_plain_errors, self.master, partial(work, files))
                return _watched(spark, job, deadline, timeout_s)

            return retry_while_moving(lake, attempt, partial(settle, lake, writes=repairs))

    def _answer(
        self, spark: OwnSpark, sql: str, stored: StoredLake, profile: str | None
    ) -> SparkAnswer:
        session = spark.session()
        check_query(session, sql)
        if profile is not None and self.shared is not None:
            require_profile(session, stored, profile, self.shared.location.url)
        create_views(session, stored, named_by(sql), evaluation_profile=profile)
        return SparkAnswer(session.sql(sql))


def _with_plain_errors(master: str, work: Callable[[], Result]) -> Result:
    """Return what work on Spark returns; its errors are sentences.

    They carry none of Spark's own along, whose text is asked of a process that has ended.
    """
    try:
        return work()
    except BenchError:
        raise
    except Exception as exc:
        if not type(exc).__module__.startswith(("pyspark.", "py4j.")) and not isinstance(
            exc, ConnectionError
        ):
            raise
        error = failure(exc, master)
    raise error


def _watched(
    spark: OwnSpark, work: Callable[[], Result], deadline: float, timeout_s: float
) -> Result:
    """Return what work on Spark returns, done in a thread; what takes too long is ended."""
    working = InThread(work)
    try:
        is_done = working.is_done_by(deadline)
    except KeyboardInterrupt:
        spark.kill()
        working.done.wait(GRACE_S)
        raise
    if not is_done:
        is_started = spark.is_started
        spark.kill()
        working.done.wait(GRACE_S)
        if not is_started:
            message = (
                f"{lost(spark.master)}: it did not start within {timeout_s:g} s; "
                "--timeout SECONDS waits longer"
            )
            raise SparkFailed(message)
        raise QueryTooLong(timeout_s)
    return working.result()


def failure(exc: Exception, master: str) -> BenchError:
    """Return what Spark says about a query, as one sentence with the nearest name."""
    condition = getattr(exc, "getCondition", lambda: None)() or ""
    facts = getattr(exc, "getMessageParameters", lambda: None)() or {}
    said = first_line(exc)
    if condition.startswith("TABLE_OR_VIEW_NOT_FOUND"):
        return ViewNotFound(facts.get("relationName", said).replace("`", ""), EVERYTHING)
    if condition.startswith("UNRESOLVED_COLUMN") and "objectName" in facts:
        name = facts["objectName"].replace("`", "").rpartition(".")[2]
        others = [one.strip(" `") for one in facts.get("proposal", "").split(",") if one.strip()]
        near = nearest(name, others)
        hint = (
            f"; did you mean `{near}`?"
            if near
            else f"; near are {', '.join(others)}" * bool(others)
        )
        return QueryFailed(f"there is no column `{printable(name)}`{printable(hint)}")
    if found := OF_A_FILE.search(str(exc)):
        return DamagedFile(Path(found["path"]), printable(f"Spark cannot read it ({said})"))
    if any(words in str(exc) for words in LOST) or isinstance(exc, ConnectionError):
        return SparkFailed(lost(master))
    return QueryFailed(f"the query failed: {printable(said)}")
