"""One run, from nothing or from where it was cut off, to its report: what `run` and `demo` call."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from collect.config import ResolvedModel, RunInputs
from collect.config.embedded import stored_beside
from collect.console.progress import RunReport, Screen
from collect.execute.job import Job, job_of
from collect.execute.pipeline import Run
from collect.execute.run_config import run_config_of, tags_of
from collect.execute.signals import Interrupts
from collect.inventory.inventory import Stocktaking
from collect.inventory.model_builds import look_up, with_builds
from collect.plan.plan import plan_trials
from collect.run_folder.finished import FinishedTrials
from collect.run_folder.log import RunLog, resume_command
from collect.run_folder.reuse import take_over
from schemas.errors import Interrupted, counted

if TYPE_CHECKING:
    from collect.local.servers import Servers

GARBAGE_EVERY = 50_000
"""New objects between two looks for cycles, which hold up the loop: a trial leaves hardly any."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line adds to a run."""

    labels: tuple[str, ...] = ()
    max_cost_usd: float | None = None
    reuse: bool = False
    """Take answers of earlier runs where nothing that matters has changed (D-F2)."""


NO_OPTIONS = Options()


def run(
    inputs: RunInputs,
    open_log: Callable[[], RunLog],
    screen: Screen,
    options: Options = NO_OPTIONS,
    meanwhile: Callable[[], object] = lambda: None,
) -> RunReport:
    """Make one new run and return its report.

    Args:
        inputs: what it is made of.
        open_log: makes its folder, once nothing stands in the way.
        screen: is told how it goes.
        options: what the command line adds.
        meanwhile: done while the last files are sealed.

    Raises:
        RunExists: the folder is there already.
        Interrupted: Ctrl-C before the first request.
        LocalModelError: an embedded model cannot be served.
    """

    async def whole(interrupts: Interrupts, servers: Servers | None) -> RunReport:
        async with Stocktaking(inputs) as stock:
            builds = await look_up(inputs.models)
            made_of = with_builds(inputs, builds)
            inventory = await stock.first(builds)
            log = open_log()
            job = job_of(made_of, log.run_dir.name, options.max_cost_usd, reuse=options.reuse)
            config = run_config_of(
                replace(made_of, models=stored_beside(made_of.models, log.run_dir)),
                job.run_id,
                tags_of(job.models),
                job.n_planned,
                options.labels,
                reuse=options.reuse,
                max_cost_usd=options.max_cost_usd,
            )
            inventory = inventory.model_copy(update={"run_id": job.run_id})
            log.begin(config, inventory, made_of.cases, plan_trials(made_of, job.run_id))
            stock.complete_in(log.run_dir)
            return await _executed(job, log, screen, interrupts, meanwhile, servers=servers)

    with _serving(inputs.models, screen) as servers:
        return _on_loop(lambda interrupts: whole(interrupts, servers))


def resume(
    job: Job, log: RunLog, screen: Screen, meanwhile: Callable[[], object] = lambda: None
) -> RunReport:
    """Complete a run and return the report of all of it."""
    with _serving(job.models, screen, log) as servers:
        return _on_loop(
            lambda interrupts: _executed(job, log, screen, interrupts, meanwhile, servers=servers)
        )


@contextmanager
def _serving(
    models: Iterable[ResolvedModel], screen: Screen, log: RunLog | None = None
) -> Iterator[Servers | None]:
    """Serve the run's embedded models from before its loop until after it.

    Args:
        models: of the run.
        screen: is told what is waited for.
        log: of a run that goes on, which nobody else closes when a server does not start.
    """
    models = [model for model in models if model.embedded is not None]
    if not models:
        yield None
        return
    from collect.local.servers import Servers  # noqa: PLC0415 - few runs serve a model

    with ExitStack() as stack:
        try:
            servers = stack.enter_context(Servers(models, screen.note))
        except BaseException as exc:
            if log is not None:
                log.close()
            if isinstance(exc, KeyboardInterrupt):
                raise Interrupted(None if log is None else resume_command(log.run_dir)) from exc
            raise
        yield servers


async def _executed(
    job: Job,
    log: RunLog,
    screen: Screen,
    interrupts: Interrupts,
    meanwhile: Callable[[], object],
    *,
    servers: Servers | None,
) -> RunReport:
    results = log.run_dir / "results.jsonl"
    try:
        finished = FinishedTrials(results)
        if job.reuse:
            taken = await asyncio.to_thread(take_over, log, finished.is_final)
            of_all = f"of {counted(job.n_planned, 'trial')}"
            are = "is" if taken == 1 else "are"
            screen.note(f"{taken:,} {of_all} {are} taken from earlier runs")
            finished = FinishedTrials(results)
        if servers is not None:
            job = replace(job, models=servers.served(job.models))
        return await Run(job, log, screen, finished, meanwhile, servers=servers)(interrupts)
    except asyncio.CancelledError as exc:  # from here on there is something to go on with
        raise Interrupted(resume_command(log.run_dir)) from exc


def _on_loop(work: Callable[[Interrupts], Awaitable[RunReport]]) -> RunReport:
    """Run on the quickest loop there is, with Ctrl-C in our hands."""

    async def listening() -> RunReport:
        with Interrupts() as interrupts:
            try:
                return await work(interrupts)
            except asyncio.CancelledError as exc:
                raise Interrupted from exc

    before = gc.get_threshold()
    gc.freeze()  # modules and configuration stay: no look for cycles passes through them
    gc.set_threshold(GARBAGE_EVERY, *before[1:])
    gc.enable()
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(listening())
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop  # noqa: PLC0415 - there is none on Windows

    return uvloop.new_event_loop
