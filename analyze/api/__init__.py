"""History as a value for notebooks and scripts: queries, frames, summaries and transcripts.

Every time is in ms (whole, Int64), every point in time in ms since 1970-01-01 UTC, every cost in
USD, every rate between 0 and 1. Verdicts are typed records, and `frame` makes frames of them.

For one run, its summary, its pages as text and its report are those of the commands of the same
names, as records where there are some.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.api.verdicts import Verdicts, known_of
from analyze.query.catalog import NAMES, grain_of, sql_of
from analyze.query.frames import frame, frame_of_table
from analyze.query.run_ref import resolve_run, run_folder
from analyze.query.session import (
    Session,
    check_evaluation_profile,
    open_session,
    sync_new_runs,
)
from analyze.spark import MARTS, register
from schemas.errors import ConfigError, Problem, ViewNotFound, counted, nearest
from schemas.output.summary import RunSummary
from schemas.run.layout import MARKS

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from schemas.config.known_issues import KnownFile
    from schemas.output.comparison import ThresholdsUsed
    from schemas.output.report import RunReport

__all__ = ["MARTS", "TIMEOUT_S", "History", "frame", "open_history", "spark"]

PAGE_WIDTH = 100
"""Columns of a page outside a terminal."""

TIMEOUT_S = 300.0


class Pages:
    """The part of a history that tells of one run; `History` is one."""

    _session: Session

    def summary(self, run: str = "latest") -> RunSummary:
        """Return what a run came to: what summary.json holds.

        Args:
            run: a run id, a path to its folder, `latest`, `previous` or `label:NAME`.

        Raises:
            RunNotFound: there is none; names the nearest.
        """
        from analyze.summary.summarize import summary_of  # noqa: PLC0415 - loads numpy

        run_id = resolve_run(self._session, run)
        return summary_of(self._session, run_id, run_folder(self._session, run_id))

    def show(
        self,
        run: str,
        case: str | None = None,
        model: str | None = None,
        repetition: int | None = None,
    ) -> str:
        """Return a page as text: a run, every trial of a case, or what was said in trials.

        Args:
            run: a run id, a path to its folder, `latest`, `previous` or `label:NAME`.
            case: a case_id.
            model: a model_id, model string or label.
            repetition: from 1; without it every one.

        Raises:
            RunNotFound: there is no such run.
            ConfigError: no such case, model or repetition in it; names the nearest.
        """
        from analyze.show.show import show  # noqa: PLC0415

        page = show(self._session, run, case, model, repetition, width=PAGE_WIDTH)
        return "\n".join(page.lines)

    def report(
        self,
        run: str = "latest",
        *,
        baseline: str | None = None,
        transcript_bytes: int | None = None,
        known: Path | KnownFile | None = None,
        limits: ThresholdsUsed | None = None,
    ) -> RunReport:
        """Return everything that a report of a run shows, as typed parts.

        Args:
            run: a run id, a path to its folder, `latest`, `previous` or `label:NAME`.
            baseline: what `compare` takes as its base, or `none`; by default the run of the suite
                before.
            transcript_bytes: of transcripts, as a page embeds them; by default 2,150 KB.
            known: shifts that are acknowledged.
            limits: thresholds, and where they are from.

        Raises:
            RunNotFound: there is no such run; names the nearest.
            ConfigError: the baseline means nothing, or the run itself.
        """
        from analyze.query.thresholds import limits_in_force  # noqa: PLC0415 - loads pydantic
        from analyze.report.build import MAX_TRANSCRIPT_BYTES, build_report  # noqa: PLC0415 - loads all

        return build_report(
            self._session,
            resolve_run(self._session, run),
            baseline=baseline,
            limits=limits or limits_in_force(Path.cwd()),
            transcript_bytes=MAX_TRANSCRIPT_BYTES if transcript_bytes is None else transcript_bytes,
            known=known_of(known),
        )


def open_history(
    path: str | Path = ".", *, sync: bool = True, evaluation_profile: str | None = None
) -> History:
    """Open every run ever made in a project.

    Args:
        path: the folder of the runs, or a project that holds it as `runs/`.
        sync: bring in what runs have written since the last time.
        evaluation_profile: whose judges have a say in verdicts; by default those of each run's own.

    Raises:
        ConfigError: there are no runs, or the profile decides nothing in them.
        AnalyzeError: the lake cannot be read.

    Example:
        >>> with open_history() as history:  # doctest: +SKIP
        ...     history.model_summary.filter(pl.col("passed_rate") > 0.8).collect()
    """
    return History(
        open_session(_runs_dir(Path(path)), sync=sync, evaluation_profile=evaluation_profile)
    )


def spark(
    session: SparkSession,
    runs: str | Path = "runs",
    lake: str | None = None,
    *,
    sync: bool = True,
    evaluation_profile: str | None = None,
    kept: bool = False,
) -> tuple[str, ...]:
    """Create every table and view of a lake as temporary views in a session of Spark.

    Nothing is copied, and nothing computed before it is asked for. Every worker has to see the
    files by the same paths; those that a compaction replaces are gone ten minutes later, and later
    runs are not seen: call it again then.

    Args:
        session: of Spark; its own views of these names are replaced.
        runs: the folder of the runs, or a project that holds it as `runs/`.
        lake: URL of a shared lake, which is read in the place of a folder of runs, where it is.
        sync: bring in what runs have written since the last time.
        evaluation_profile: whose judges have a say in verdicts; by default those of each run's own.
        kept: what marts stand on is computed now and kept by the session, so that many questions
            are planned quickly.

    Returns:
        The names of the marts, the views that are made to be read.

    Raises:
        ConfigError: there are no runs, the profile decides nothing in them, or the URL is none.
        AnalyzeError: the lake cannot be read.

    Example:
        >>> marts = spark(session, "runs")  # doctest: +SKIP
        >>> session.table("model_summary").where("passed_rate > 0.8").show()  # doctest: +SKIP
    """
    if lake is not None:
        from analyze.share import open_shared  # noqa: PLC0415 - few have its library

        shared = open_shared(lake)
        return register(session, shared, evaluation_profile=evaluation_profile, kept=kept)
    folder = _runs_dir(Path(runs))
    sync_new_runs(folder, sync=sync)
    check_evaluation_profile(folder, evaluation_profile)
    return register(session, folder, evaluation_profile=evaluation_profile, kept=kept)


class History(Verdicts, Pages):
    """The lake of one folder of runs; a context manager.

    Every view is an attribute: `history.model_summary` is its lazy frame.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> History:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the lake; nothing can be asked any more."""
        self._session.close()

    @property
    def path(self) -> Path:
        """The folder of the runs."""
        return self._session.runs_dir

    @property
    def views(self) -> tuple[str, ...]:
        """The names of all views, in the order in which they build on each other."""
        return tuple(NAMES)

    @property
    def runs(self) -> pl.LazyFrame:
        """Every run: when it started (ms since 1970), what was asked, its labels."""
        return self.view("runs")

    def sql(
        self, query: str, parameters: Sequence[object] = (), *, timeout_s: float = TIMEOUT_S
    ) -> pl.DataFrame:
        """Return the rows of a query over the views and the raw tables; whole numbers as Int64.

        Args:
            query: one statement that reads, such as `select`; nothing else is let through.
            parameters: a value for each `?`.
            timeout_s: seconds that the query may take.

        Raises:
            QueryRefused: it would do more than read the lake.
            QueryFailed: it has a mistake in it.
            QueryTooLong: it was stopped.
        """
        import pyarrow as pa  # noqa: PLC0415 - costs more than opening

        from analyze.sql.ask import Answer, ask  # noqa: PLC0415
        from analyze.sql.guard import bind  # noqa: PLC0415

        def table_of(answer: Answer) -> pa.Table:
            schema, batches = answer.batches()
            return pa.Table.from_batches(batches, schema)

        sql, repairs = bind(query, parameters), self._session.repairs
        return frame_of_table(
            ask(
                self.path,
                sql,
                table_of,
                timeout_s=timeout_s,
                repairs=repairs,
                evaluation_profile=self._session.evaluation_profile,
            )
        )

    def view(self, name: str) -> pl.LazyFrame:
        """Return a view as a lazy frame; it is read when this is called.

        Args:
            name: of a view; `views` has them all.

        Raises:
            ViewNotFound: there is no such view; names the nearest.
        """
        if name not in NAMES:
            raise ViewNotFound(name, NAMES)
        return frame_of_table(self._session.arrow(f"select * from {name}")).lazy()  # noqa: S608

    def __getattr__(self, name: str) -> pl.LazyFrame:
        if name.startswith("_") or name not in NAMES:
            near = nearest(name, (*NAMES, *dir(type(self))))
            hint = f"; did you mean `{near}`?" if near else ""
            message = f"no view or method `{name}`{hint}"
            raise AttributeError(message)
        return self.view(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *NAMES})

    def __repr__(self) -> str:
        ((n_runs, first, last),) = self._session.rows(
            "select count(*), min(started_at_ms), max(started_at_ms) from stg_runs"
        )
        from analyze.render.numbers import moment  # noqa: PLC0415

        span = f", {moment(first)} to {moment(last)} UTC" if first is not None else ""
        runs = counted(n_runs, "run")
        return f"History of {runs} in {self.path}{span}; marts: {', '.join(MARTS)}"

    def _repr_html_(self) -> str:
        head = html.escape(repr(self).partition("; marts")[0])
        rows = "".join(
            f"<tr><td><code>{html.escape(name)}</code></td>"
            f"<td style='text-align:left'>{html.escape(grain_of(sql_of(NAMES[name])))}</td></tr>"
            for name in MARTS
        )
        return f"<p>{head}</p><table>{rows}</table>"


def _runs_dir(path: Path) -> Path:
    """Return the folder of the runs: `path` itself, or `runs` inside it."""
    inside = path / "runs"
    if _holds_runs(inside) or (inside.is_dir() and not _holds_runs(path)):
        return inside
    if _holds_runs(path):
        return path
    what = f"{path} holds no runs, and no `runs` that does"
    raise ConfigError([Problem(None, what, advice="make one with `collect demo`")])


def _holds_runs(path: Path) -> bool:
    return (path / "lake").is_dir() or any(
        next(path.glob(f"*/{mark}"), None) is not None for mark in MARKS
    )
