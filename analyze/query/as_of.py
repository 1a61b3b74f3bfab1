"""A lake in memory that is read as it was when a run had ended: that run and those before it.

For many questions of the same kind about run after run: to open the files and to plan the views
over them takes most of the time of each. So what every question reads is a table, once, and a
window of it is what the views see.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from analyze.lake.overlay import RAW_TABLES, literal
from analyze.query.catalog import EVERYTHING
from analyze.query.session import Session
from schemas.lake import lake_columns

TEXTS = frozenset({"outputs", "step_texts"})
"""Raw tables of what was said, which is most of a lake."""

HELD_VIEWS = (
    "stg_deciding_profiles",
    "stg_runs",
    "stg_plans",
    "stg_results",
    "trials",
    "int_run_models",
    "int_failures",
    "int_case_passes",
    "int_pass_counts",
    "int_tool_counts",
    "int_checks",
    "int_case_outcomes",
    "run_summary",
    "model_summary",
    "failure_summary",
    "latency_histogram",
    "cost_quality",
)
"""Views that are tables as well, in reading order; each row of them follows from its run alone."""

PLACES = """
create or replace table held_places as
select run_id, row_number() over (order by suite_id, started_at_ms nulls first, run_id) as place,
    first_value(run_id) over (
        partition by suite_id order by started_at_ms nulls first, run_id
    ) as first_run_id
from stg_runs
"""
"""Runs of one suite in a row, in the order of `runs.run_no`."""

WINDOW = "place between getvariable('first_place') and getvariable('last_place')"

ALL = (0, 2**62)


class AsOfSession(Session):
    """The lake as of one run after another; a context manager.

    Every view shows the runs of one suite from its first to the one that `stand_at` names.
    """

    def __init__(
        self,
        runs_dir: Path,
        *,
        texts_of: Collection[str] | None = None,
        threads: int | None = None,
        evaluation_profile: str | None = None,
    ) -> None:
        """Open the lake; it is read with the first question.

        Args:
            runs_dir: the folder that holds the runs.
            texts_of: only these runs have their texts; None: all.
            threads: of the engine; by default one a core.
            evaluation_profile: as `Session` takes it.
        """
        super().__init__(runs_dir, threads=threads, evaluation_profile=evaluation_profile)
        self._texts_of = None if texts_of is None else sorted(texts_of)
        self._is_held = False
        self._run_id: str | None = None
        self._answers: dict[tuple[str, str], list[tuple[Any, ...]]] = {}

    def stand_at(self, run_id: str) -> None:
        """Let every view show this run and those of its suite before it, and no others.

        Raises:
            ViewError: the lake cannot be read.
        """
        self._run_id = run_id
        self._answers.clear()
        super().rows("select 1 from stg_runs limit 1")  # the lake is held from now on
        self._open_window()

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; what was asked of this run before is not asked again.

        Raises:
            ViewError: it failed; gives the engine's words.
        """
        key = sql, repr(parameters)
        if key not in self._answers:
            self._answers[key] = super().rows(sql, parameters)
        return list(self._answers[key])

    def once(self, view: str) -> str:
        """Return the view itself, which is there."""
        return view

    @contextmanager
    def only_months(self, months: Collection[str] | None) -> Iterator[None]:
        """Change nothing: all that is asked for is open already."""
        del months
        yield

    def _need(self, needed: Collection[str]) -> None:
        del needed
        if not self._is_held:
            self._there.clear()  # views of an attempt before may stand on what it held
            super()._need(EVERYTHING)
            self._hold()
            self._is_held = True
            self._open_window()

    def _forget(self) -> None:
        super()._forget()
        self._is_held = False

    def _hold(self) -> None:
        self._set_window(*ALL)
        self._engine.execute(PLACES).fetchall()
        for table in RAW_TABLES:
            has_runs = any(column.name == "run_id" for column in lake_columns()[table])
            among = ""
            if table in TEXTS and self._texts_of is not None:
                among = f"where run_id in ({', '.join(map(literal, self._texts_of)) or 'null'})"
            self._keep(f"raw_{table}", among, has_runs=has_runs)
        for view in HELD_VIEWS:
            self._keep(view, "", has_runs=True)

    def _keep(self, name: str, among: str, *, has_runs: bool) -> None:
        """Put a table in the place of a view, of which the view shows the window."""
        held = f"held_{name}"
        if has_runs:
            kept = (
                f"select found.*, places.place from (select * from {name} {among}) as found "  # noqa: S608
                "inner join held_places as places using (run_id) order by places.place"
            )
            shown = f"select * exclude (place) from {held} where {WINDOW}"  # noqa: S608
        else:
            kept, shown = f"select * from {name}", f"select * from {held}"  # noqa: S608
        self._engine.execute(f"create or replace table {held} as {kept}").fetchall()
        self._engine.execute(f"create or replace view {name} as {shown}").fetchall()

    def _open_window(self) -> None:
        if self._run_id is None:
            self._set_window(*ALL)
            return
        found = self._engine.execute(
            "select first.place, this.place from held_places as this "
            "inner join held_places as first on this.first_run_id = first.run_id "
            "where this.run_id = ?",
            [self._run_id],
        ).fetchall()
        self._set_window(*(found[0] if found else (1, 0)))

    def _set_window(self, first: int, last: int) -> None:
        self._engine.execute(f"set variable first_place = {first:d}::bigint").fetchall()
        self._engine.execute(f"set variable last_place = {last:d}::bigint").fetchall()
