"""A shared lake: a Delta table for each table of a lake, to which whole runs are added.

A run is one commit in each table, its row in `runs` last: whoever reads takes from the other tables
what belongs to the pushes that `runs` names, and so whole runs only.

Before it adds rows a writer reads the table's application transaction by the very snapshot that it
commits on: a commit that lost a race, was cut off or whose answer was lost is looked up again, so
that rows are there once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from analyze.share.said import (
    SharedFileDamaged,
    SharedLakeBusy,
    ShareFailed,
    is_final,
    is_of_a_file,
    without_panics,
)
from analyze.share.shared_runs import MONTH, PUSH, SharedRun, in_order, read_rows, runs_in
from schemas.io.shared_url import Location

Answer = TypeVar("Answer")

MAX_RACES = 200
"""Commits that others came before."""

MAX_STANDSTILLS = 8
"""Commits that were refused although nobody else's came: by a server that takes none."""

MAX_REBASES = 3
"""Commits of others on which the library puts one of ours by itself."""

MAX_FAILURES = 3
"""Answers that were errors, each after what the library tried again by itself."""

PAUSE_S = 0.4
"""The most that is waited after a race, times how often it was lost, up to ten."""

UNHARMED = "nothing of it is half there; the same command again goes on"


RowsOfPush = Callable[[SharedRun | None], pa.Table | None]


class SharedLake:
    """A shared lake, open for reading and adding."""

    def __init__(self, location: Location) -> None:
        self.location = location

    def runs(self, from_month: str | None = None) -> dict[str, SharedRun]:
        """Return every run by its id; of several pushes of one that with the highest number.

        Args:
            from_month: such as `2026-02`: runs that began before it are left out, and their files
                are not read; None: all.

        Raises:
            ShareFailed: it cannot be read.
        """
        table = self.table("runs")
        return {} if table is None else self.asking(lambda: runs_in(table, from_month))

    def rows(self, name: str, pushes: Collection[str], months: Collection[str]) -> pa.Table | None:
        """Return the rows of some pushes, those of each together in their order.

        Files of other months are not read. None where there is no such table.

        Raises:
            ShareFailed: it cannot be read.
        """
        table = self.table(name)
        if table is None:
            return None
        field = pa.dataset.field
        wanted = field(MONTH).isin(sorted(months)) & field(PUSH).isin(sorted(pushes))

        return in_order(self.asking(lambda: read_rows(table, wanted)))

    def all_rows(self, name: str) -> list[dict[str, Any]]:
        """Return every row of a table; none where there is no such table.

        Raises:
            ShareFailed: it cannot be read.
        """
        table = self.table(name)
        if table is None:
            return []
        rows: list[dict[str, Any]] = self.asking(
            lambda: table.to_pyarrow_dataset().to_table().to_pylist()
        )
        return rows

    def add(self, name: str, rows: pa.Table, transactions: Mapping[str, str]) -> None:
        """Add rows to a table, which is made where there is none; once, whoever adds the same.

        Args:
            name: of the table.
            rows: of some pushes, with `MONTH`, `PUSH` and `ROW`.
            transactions: by push what names its rows; another process may be adding the same.

        Raises:
            ShareFailed: they could not be added.
        """

        def attempt(table: deltalake.DeltaTable) -> None:
            missing = {
                push: one
                for push, one in transactions.items()
                if table.transaction_version(one) is None
            }
            if missing:
                is_missing = pc.is_in(rows.column(PUSH), pa.array(missing, pa.string()))
                _write(table, rows.filter(is_missing), dict.fromkeys(missing.values(), 1))

        self._committed(lambda: self._open_or_make(name, rows.schema), attempt)

    def add_runs(self, rows: Mapping[tuple[str, str], RowsOfPush]) -> list[SharedRun]:
        """Add the rows of pushes to `runs`, after all their other rows; once, as `add`.

        Args:
            rows: gives them, by run_id and push, for what is there of the run at that moment; None:
                the push may not take the place of that.

        Returns:
            What stays in the place of pushes that may not.

        Raises:
            ShareFailed: they could not be added.
        """
        kept: list[SharedRun] = []

        def attempt(table: deltalake.DeltaTable) -> None:
            kept.clear()
            there, numbers, parts = runs_in(table), {}, []
            for (run_id, push), of_push in rows.items():
                before = there.get(run_id)
                if before is not None and (push == before.push or push in before.older):
                    continue
                own = of_push(before)
                if own is not None:
                    numbers[run_id] = 1 if before is None else before.push_no + 1
                    parts.append(own)
                elif before is not None:
                    kept.append(before)
            if parts:
                _write(table, pa.concat_tables(parts), numbers)

        some = next(iter(rows.values()))(None)
        assert some is not None  # what takes nobody's place may be added
        schema = some.schema
        self._committed(lambda: self._open_or_make("runs", schema), attempt)
        return kept

    def changed(
        self,
        name: str,
        attempt: Callable[[deltalake.DeltaTable], Answer],
        max_races: int = MAX_RACES,
    ) -> Answer | None:
        """Change a table, again where others were first; return what the attempt did.

        Args:
            name: of the table; None is returned where there is none.
            attempt: given a snapshot of its own each time.
            max_races: how many others may be first.

        Raises:
            ShareFailed: it could not be changed; `SharedLakeBusy` where others were always first.
        """
        if self.table(name) is None:
            return None
        return self._committed(lambda: self._open(name), attempt, max_races)

    def _committed(
        self,
        opened: Callable[[], deltalake.DeltaTable],
        attempt: Callable[[deltalake.DeltaTable], Answer],
        max_races: int = MAX_RACES,
    ) -> Answer:
        """Go on until an attempt was no error; each has a snapshot of its own.

        A race is lost where another commit is there afterwards; a server that takes none is one
        that fails.
        """
        n_races = n_failures = 0
        seen = -1
        while True:
            is_moving = False
            try:
                table = opened()
                is_moving, seen = table.version() > seen, table.version()
                return attempt(table)
            except CommitFailedError as exc:
                n_races += is_moving
                n_failures += not is_moving
                if n_races > max_races:
                    raise SharedLakeBusy(self.location, exc, UNHARMED) from exc
                if n_failures >= MAX_STANDSTILLS:
                    raise ShareFailed(self.location, exc, UNHARMED) from exc
            except (DeltaError, OSError) as exc:
                n_failures += 1
                if n_failures >= MAX_FAILURES or is_final(exc):
                    raise ShareFailed(self.location, exc, UNHARMED) from exc
            time.sleep(random.random() * PAUSE_S * min(n_races + n_failures, 10) / 10)  # noqa: S311

    def table(self, name: str) -> deltalake.DeltaTable | None:
        """Return a table as it is now; None where there is none."""

        def opened() -> deltalake.DeltaTable | None:
            try:
                return self._open(name)
            except TableNotFoundError:
                return None

        return self.asking(opened)

    def _open(self, name: str) -> deltalake.DeltaTable:
        return deltalake.DeltaTable(
            self.location.table(name), storage_options=self.location.options
        )

    def _open_or_make(self, name: str, schema: pa.Schema) -> deltalake.DeltaTable:
        try:
            return self._open(name)
        except TableNotFoundError:
            deltalake.DeltaTable.create(
                self.location.table(name),
                _nullable(schema),
                mode="ignore",
                partition_by=[MONTH],
                storage_options=self.location.options,
            )
            return self._open(name)

    def asking(self, ask: Callable[[], Answer]) -> Answer:
        """Return what a question about its tables says.

        Raises:
            ShareFailed: it cannot be read; `SharedFileDamaged` where a file is not what it was.
        """
        try:
            return ask()
        except (pa.ArrowException, DeltaError, OSError) as exc:
            if is_of_a_file(exc):
                raise SharedFileDamaged(self.location, exc, "nothing of it was read") from exc
            raise ShareFailed(self.location, exc, "nothing was read") from exc


def _write(table: deltalake.DeltaTable, rows: pa.Table, transactions: Mapping[str, int]) -> None:
    plain = _nullable(rows.schema)
    known = {field.name for field in table.schema().fields}
    properties = deltalake.CommitProperties(
        app_transactions=[deltalake.Transaction(*one) for one in transactions.items()],
        max_commit_retries=MAX_REBASES,
    )
    with without_panics():
        deltalake.write_deltalake(
            table,
            rows.cast(plain),
            mode="append",
            schema_mode=None if known == set(plain.names) else "merge",
            commit_properties=properties,
        )


def _nullable(schema: pa.Schema) -> pa.Schema:
    """Return columns that may be null: a later benchlake may leave one out."""
    return pa.schema([pa.field(field.name, field.type) for field in schema])
