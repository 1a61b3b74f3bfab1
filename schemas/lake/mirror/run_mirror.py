"""A run that is followed: what its logs and its plan have that the lake does not hold yet.

The collector's child runs it while a run goes on, the analysis for whatever was not mirrored.
Running it twice changes nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from schemas.errors import LogLost
from schemas.lake.footer import parts_of
from schemas.lake.layout import NO_COVERAGE, LakeFile, month_of, require_own_lake
from schemas.lake.log_coverage import EVALUATION_TABLES, NO_STEP_TEXTS, RESULT_TABLES
from schemas.lake.mirror.log_mirror import LogMirror
from schemas.lake.recover import Look, drop_older_layout, remove_cut_batches
from schemas.lake.rows.lines import EvaluationRows, RunRows, planned_run
from schemas.lake.rows.tables import RECORD_KEY
from schemas.lake.transaction import lock_run
from schemas.lake.writer import LakeWriter
from schemas.run.config import RunConfig, config_of


class RunMirror:
    """The state of mirroring one run: how far its logs are in the lake.

    One process at a time mirrors a run; the lock is the process's own and ends with it.

    Args:
        run_dir: the run's folder.
        lake: where its rows go.
        wait_s: seconds to wait for another process that mirrors the run.
        is_growing: results are being written, so a log of them that is shorter than what the lake
            holds of it is refused; else it is left as it is, and so are the lake's rows.
        look: returns the parts of a run, for a caller who knows them; by default files are asked.
        with_text: texts of steps go into the lake; by default as they did before.
        lock: a handle that holds the run's lock already.

    Raises:
        MirrorBusy: another process holds the lock.
        LogLost: the log of results does not hold what the lake took from it.
    """

    def __init__(
        self,
        run_dir: Path,
        lake: Path,
        *,
        wait_s: float = 0.0,
        is_growing: bool = False,
        look: Look | None = None,
        lock: int | None = None,
        with_text: bool | None = None,
    ) -> None:
        self._lock = lock_run(run_dir, lake, wait_s) if lock is None else lock
        try:
            self._begin(run_dir, lake, is_growing, look, with_text)
        except BaseException:
            self.close()
            raise

    def _begin(
        self,
        run_dir: Path,
        lake: Path,
        is_growing: bool,
        look: Look | None,
        with_text: bool | None,
    ) -> None:
        """Find out how far the lake is, and put right what a crash may have left there."""
        config = config_of(run_dir)
        self.run_dir = run_dir
        self.lost: list[str] = []
        """Why evaluations are not read: the log of them does not hold what the lake does."""
        self._head: list[LakeFile] = []
        self._look: Look = look or (lambda table, run_id: parts_of(lake, table, run_id))
        self._writer = LakeWriter(lake, config.run_id, month_of(config.started_at_ms))
        require_own_lake(lake)
        self._writer.drop_unfinished()
        log = run_dir / RESULT_TABLES.name
        was_changed = drop_older_layout(lake, config.run_id, log, self._look)
        known = None if was_changed else look
        done = remove_cut_batches(lake, config.run_id, log, is_growing=is_growing, look=known)
        self._results = LogMirror(run_dir, RESULT_TABLES, self._writer, done)
        self._evaluations = self._begin_evaluations(run_dir, known)
        if with_text is None:
            is_bare = self._look("steps", config.run_id) and not self._look(
                "step_texts", config.run_id
            )
            with_text = not is_bare and not (lake / NO_STEP_TEXTS).exists()
        self._seal_plan(config, with_text=with_text)
        if done.end:
            self._rows.remember(self._results.sealed_rows("results", RECORD_KEY))

    def _begin_evaluations(self, run_dir: Path, look: Look | None) -> LogMirror:
        """Find out how far the evaluations are; a log of them that was replaced stops no results.

        The lake's rows may be all that is left of the old one, and nobody reads on in another.
        """
        log, lake, run_id = run_dir / EVALUATION_TABLES.name, self._writer.lake, self._writer.run_id
        covered = NO_COVERAGE
        try:
            covered = remove_cut_batches(
                lake, run_id, log, EVALUATION_TABLES, is_growing=True, look=look
            )
        except LogLost as exc:
            self.lost.append(str(exc))
        return LogMirror(run_dir, EVALUATION_TABLES, self._writer, covered)

    @property
    def logs(self) -> tuple[LogMirror, ...]:
        """Return the logs that are read."""
        return (self._results,) if self.lost else (self._results, self._evaluations)

    @property
    def n_lines(self) -> int:
        """Return how many lines of results were read, by earlier mirrors as well."""
        return self._results.n_lines

    @property
    def n_bytes(self) -> int:
        """Return how many bytes these are."""
        return self._results.n_bytes

    @property
    def problems(self) -> list[str]:
        """Return why lines were skipped, a sentence each."""
        return [problem for log in self.logs for problem in log.problems]

    @property
    def sealed(self) -> list[LakeFile]:
        """Return the files that were made."""
        return [*self._head, *(file for log in self.logs for file in log.sealed)]

    def skipped_before(self) -> list[str]:
        """Return why lines that are read already are in no table, from the lines themselves."""
        problems = self._results.skipped_before(RunRows(self._writer.run_id, self._rows.planned))
        if not self.lost:
            problems += self._evaluations.skipped_before(self._looks)
        return problems

    def close(self) -> None:
        """Give the lock back; rows that were not sealed are read again by the next mirror."""
        os.close(self._lock)

    def _seal_plan(self, config: RunConfig, *, with_text: bool) -> None:
        """Seal the plan and the run itself, as far as they are not in the lake."""
        self._rows, head = planned_run(self.run_dir, config, with_text=with_text)
        self._looks = EvaluationRows(config.run_id, self._rows.planned)
        missing = {
            table: rows for table, rows in head.items() if not self._look(table, config.run_id)
        }
        if missing:
            self._head += self._writer.seal_batch(missing, NO_COVERAGE)

    def step(self) -> int:
        """Read whole lines that are new, seal full batches, and return how many were read.

        Raises:
            OSError: a batch cannot be written. Nothing is lost: the next step tries again before
                it reads on.
        """
        n_lines = self._results.step(self._rows)
        return n_lines if self.lost else n_lines + self._evaluations.step(self._looks)

    def seal(self) -> None:
        """Seal all that was read.

        Raises:
            OSError: the lake cannot be written, the disk is full; the rows stay to be sealed.
        """
        for log in self.logs:
            log.seal()
