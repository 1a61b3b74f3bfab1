"""One run, new or gone on with, from its `RunSpec` to its report: what `run` and `demo` call."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from collect.config import RunInputs
from collect.config.embedded import with_relative_files
from collect.console.interrupts import Interrupts
from collect.console.progress import RunReport, Screen
from collect.execute.evaluation import taken_answers
from collect.execute.pipeline import Pipeline
from collect.execute.spec import Part, RunSpec, run_config_of
from collect.inventory.inventory import Stocktaking
from collect.inventory.model_builds import look_up, with_builds
from collect.plan.plan import Hashes, plan_trials, planned_cases
from collect.run_folder.finished import FinishedTrials
from collect.run_folder.log import RunLog, check_command, resume_command
from schemas.errors import Interrupted, counted
from schemas.lake import holds_run, lake_of, month_of
from schemas.run.inventory import Inventory

if TYPE_CHECKING:
    from collect.local.servers import Servers

GARBAGE_THRESHOLD = 50_000
"""New objects between two looks for cycles, which hold up the loop: a trial leaves hardly any."""


class Collector:
    """Makes one run.

    Args:
        spec: the run.
        screen: where people see how it goes.
        log: of a run that goes on, locked; None: the folder is made once nothing stands in the way.
        meanwhile: is done while the last files are sealed, when there is nothing else to do.
        part: what this process has of a run in several shards, of which it goes on with one.
    """

    def __init__(
        self,
        spec: RunSpec,
        screen: Screen,
        log: RunLog | None = None,
        *,
        meanwhile: Callable[[], object] = lambda: None,
        part: Part | None = None,
    ) -> None:
        self._spec = spec
        self._screen = screen
        self._log = log
        self._meanwhile = meanwhile
        self._part = part

    def run(self) -> RunReport:
        """Make the run and return the report of all of it.

        Raises:
            RunExists: the folder of a new run is there already.
            Interrupted: Ctrl-C before the first request.
            LocalModelError: an embedded model cannot be served.
        """
        with self._serving() as servers:
            return on_loop(partial(self._whole, servers))

    @contextmanager
    def _serving(self) -> Iterator[Servers | None]:
        """Serve the run's embedded models from before its loop until after it.

        The log of a run that goes on is closed when a server does not start: nobody else does it.
        """
        models = [model for model in self._spec.asked_models if model.embedded is not None]
        if not models:
            yield None
            return
        from collect.local.servers import Servers  # noqa: PLC0415 - few runs serve a model

        log = self._log
        with ExitStack() as stack:
            try:
                servers = stack.enter_context(Servers(models, self._screen.note))
            except BaseException as exc:
                if log is not None:
                    log.close()
                if isinstance(exc, KeyboardInterrupt):
                    raise Interrupted(None if log is None else resume_command(log.run_dir)) from exc
                raise
            yield servers

    async def _whole(self, servers: Servers | None, interrupts: Interrupts) -> RunReport:
        spec, log = self._spec, self._log
        async with AsyncExitStack() as stack:
            if log is None:
                assert spec.inputs is not None  # else there is a folder
                stock = await stack.enter_async_context(Stocktaking(spec.inputs))
                builds = await look_up(spec.inputs.models)
                spec, log = begun(spec, with_builds(spec.inputs, builds), await stock.first(builds))
                stock.complete_in(log.run_dir)
            return await self._executed(spec, log, servers, interrupts)

    async def _executed(
        self, spec: RunSpec, log: RunLog, servers: Servers | None, interrupts: Interrupts
    ) -> RunReport:
        results = log.run_dir / "results.jsonl"
        try:
            finished = FinishedTrials(results)
            if spec.reuse and self._part is None:
                await asyncio.to_thread(reuse_answers, spec, log, finished, self._screen.note)
                finished = FinishedTrials(results)
            if servers is not None:
                spec = replace(spec, models=servers.served(spec.models))
            pipeline = Pipeline(
                spec, log, self._screen, finished, self._meanwhile, servers=servers, part=self._part
            )
            return await pipeline(interrupts)
        except asyncio.CancelledError as exc:  # from here on there is something to go on with
            raise Interrupted(resume_command(log.run_dir)) from exc


def begun(
    spec: RunSpec, made_of: RunInputs, inventory: Inventory, hashes: Hashes | None = None
) -> tuple[RunSpec, RunLog]:
    """Make the folder of a new run and write down what is known before the first request.

    Args:
        spec: the run.
        made_of: its inputs, with the builds of its models.
        inventory: what it finds; the folder's name is put into it.
        hashes: of cases, for several folders of the same cases.

    Raises:
        RunExists: the folder is there already.
        CollectError: it cannot be made, or the disk is full.
    """
    log = _new_folder(spec)
    run_id = log.run_dir.name
    try:
        stored = replace(made_of, models=with_relative_files(made_of.models, log.run_dir))
        config = run_config_of(stored, spec, run_id)
        inventory = inventory.model_copy(update={"run_id": run_id})
        log.begin(config, inventory, planned_cases(made_of), plan_trials(made_of, run_id, hashes))
    except BaseException:
        log.close()
        raise
    return replace(spec, models=made_of.models, warnings=made_of.warnings), log


def _new_folder(spec: RunSpec) -> RunLog:
    runs_dir, run_id = spec.request.runs_dir, spec.request.run_id
    if run_id is not None:
        return RunLog.create(runs_dir / run_id)
    now = datetime.now(tz=UTC)
    months = (month_of(round(now.timestamp() * 1000)),)
    is_taken = partial(holds_run, lake_of(runs_dir), months=months)
    return RunLog.create_free(runs_dir, now, is_taken)


def reuse_answers(
    spec: RunSpec, log: RunLog, finished: FinishedTrials, note: Callable[[str], None]
) -> None:
    """Take answers of earlier runs over into a run's log (D-F2), and say how many."""
    from collect.run_folder.reuse import take_over  # noqa: PLC0415 - few ask for it

    answers = taken_answers(spec.judging, log)
    taken = take_over(log, finished.is_final, answers)
    of_all = f"of {counted(spec.n_planned, 'trial')}"
    are = "is" if taken.n_trials == 1 else "are"
    note(f"{taken.n_trials:,} {of_all} {are} taken from earlier runs")
    if answers is not None and answers.n_answers:
        many = counted(answers.n_answers, "answer of a judge", "answers of judges")
        note(f"{many} about them taken over with them")
    if taken.n_unchecked:
        has = counted(taken.n_unchecked, "trial has", "trials have")
        again = check_command(log.run_dir)
        note(f"{has} a check that could not look; `{again}` makes it, once the run ends")


Report = TypeVar("Report")


def on_loop(work: Callable[[Interrupts], Awaitable[Report]]) -> Report:
    """Run on the quickest loop there is, with Ctrl-C in our hands."""
    import uvloop  # noqa: PLC0415 - only a run needs it

    async def listening() -> Report:
        with Interrupts() as interrupts:
            try:
                return await work(interrupts)
            except asyncio.CancelledError as exc:
                raise Interrupted from exc

    before = gc.get_threshold()
    gc.freeze()  # modules and configuration stay: no look for cycles passes through them
    gc.set_threshold(GARBAGE_THRESHOLD, *before[1:])
    gc.enable()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(listening())
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
