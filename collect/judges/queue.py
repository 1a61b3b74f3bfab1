"""Trials on their way to their judges: places, each read again when its turn comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from collect.config.evaluation import LoadedEvaluation, ResolvedJudge
from collect.config.resolved import LoadedCase
from collect.console.judging_report import JudgeWork, JudgingReport
from collect.judges.asking import Purse
from collect.judges.earlier import Earlier
from collect.judges.judging import Judging
from collect.judges.panel import Panel
from collect.judges.prompt import system_prompt_of
from collect.limits import Share
from collect.run_folder.latest_records import LinePlace
from collect.run_folder.log import RunLog

WORKERS_PER_SLOT = 2
"""Trials whose questions are ready, or wait for a retry, for each one that is being asked."""


Job = TypeVar("Job")
OneJob_contra = TypeVar("OneJob_contra", contravariant=True)
Report = TypeVar("Report", bound=JudgeWork)
Report_co = TypeVar("Report_co", bound=JudgeWork, covariant=True)


class Judge(Protocol[OneJob_contra, Report_co]):
    """Does one job."""

    @property
    def report(self) -> Report_co:
        """What came of all that it did."""

    async def judge(self, job: OneJob_contra) -> None:
        """Do it.

        Raises:
            CollectError: the disk is full.
        """


class JudgingQueue(Generic[Job, Report]):
    """Judges trials as they are added; lean, since all it holds is where they stand.

    Args:
        judge: judges one of them.
        panel: whom it asks; open.
        progress: is told how many of how many are begun.
    """

    def __init__(
        self,
        judge: Judge[Job, Report],
        panel: Panel,
        progress: Callable[[int, int], None] = lambda _begun, _all: None,
    ) -> None:
        self._judge, self._panel = judge, panel
        self._progress = progress
        self._jobs: asyncio.Queue[Job | None] = asyncio.Queue()
        self._n_added = self._n_begun = 0
        self._tasks: list[asyncio.Task[None]] = []

    def add(self, job: Job) -> None:
        """Take in a trial, by where it stands."""
        self._n_added += 1
        self._jobs.put_nowait(job)

    def start(self) -> None:
        """Begin to ask; again does nothing."""
        if self._tasks:
            return
        slots = sum(judge.model.max_concurrency for judge in self._panel.judges)
        self._tasks = [asyncio.create_task(self._work()) for _ in range(WORKERS_PER_SLOT * slots)]

    def stop(self, reason: str) -> None:
        """Ask nobody any more; who was asked may answer."""
        self._panel.stop(reason)

    def cancel(self) -> None:
        """End what is being asked as well."""
        for task in self._tasks:
            task.cancel()

    async def ended(self) -> None:
        """Wait until nothing is being asked, however it ended."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def drain(self) -> Report:
        """Wait until all that was added is judged, or nobody is asked any more.

        Raises:
            CollectError: the disk is full.
        """
        self.start()
        for _ in self._tasks:
            self._jobs.put_nowait(None)
        ends = await asyncio.gather(*self._tasks, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                raise end
        report = self._judge.report
        left = self._n_added - report.n_trials
        report.n_trials += left
        report.n_open += left
        reasons = [f"judge `{name}`: {why}" for name, why in self._panel.given_up.items()]
        report.stopped = self._panel.stop_reason or "; ".join(reasons) or None
        return report

    async def _work(self) -> None:
        while (job := await self._jobs.get()) is not None:
            if self._panel.stop_reason is not None:
                return
            self._n_begun += 1
            self._progress(self._n_begun, self._n_added)
            await self._judge.judge(job)


@dataclass(frozen=True)
class JudgedBy:
    """By whom trials are judged, and who pays."""

    evaluation: LoadedEvaluation
    """With its judges as they are written down, and their prices."""
    judges: tuple[ResolvedJudge, ...]
    """The same as they can be asked now."""
    purse: Purse
    share: Share = field(default_factory=Share)
    """The part of the judges' limits that this process has."""


@asynccontextmanager
async def opened_queue(
    by: JudgedBy,
    system_prompt: str,
    say: Callable[[str], None],
    judge_of: Callable[[Panel], Judge[Job, Report]],
    progress: Callable[[int, int], None] = lambda _begun, _all: None,
) -> AsyncIterator[JudgingQueue[Job, Report]]:
    """Give a queue to the judges of a profile; what is not drained in the end is left.

    Args:
        by: whom to ask.
        system_prompt: of all of them.
        say: told what people should know.
        judge_of: makes of a panel what does the jobs.
        progress: is told how many of how many jobs are begun.
    """
    panel = Panel(by.judges, system_prompt, by.purse, say, by.share)
    async with panel:
        queue = JudgingQueue(judge_of(panel), panel, progress)
        try:
            yield queue
        finally:
            queue.cancel()
            await queue.ended()


def opened_judging(
    by: JudgedBy,
    log: RunLog,
    cases: Mapping[str, LoadedCase],
    earlier: Earlier,
    say: Callable[[str], None],
    *,
    force: bool = False,
    progress: Callable[[int, int], None] = lambda _begun, _all: None,
) -> AbstractAsyncContextManager[JudgingQueue[LinePlace, JudgingReport]]:
    """Give a queue of trials that are scored.

    Args:
        by: whom to ask.
        log: of the run, locked.
        cases: as they were asked, with the expectations and the rubric of now.
        earlier: what is known of the run's records.
        say: told what people should know.
        force: answers that are there are asked for again.
        progress: is told how many of how many trials are begun.
    """

    def judging(panel: Panel) -> Judging:
        return Judging(by.evaluation, panel, log, cases, earlier, force=force)

    return opened_queue(by, system_prompt_of(by.evaluation), say, judging, progress)
