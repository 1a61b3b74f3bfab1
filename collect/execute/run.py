"""One run, from nothing or from where it was cut off, to its report: what `run` and `demo` call.

A run folder may be somebody else's. So a run that goes on is checked first: whether it would still
ask the weights and CLIs that it was planned with, which hosts it may send keys to, and whether it
names executables by path.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from collect.config import ResolvedModel, RunInputs
from collect.config.embedded import engine, stored_beside
from collect.config.endpoints import PROVIDERS, key_problem
from collect.console.progress import RunReport, Screen
from collect.execute.job import Job, job_of, run_config_of
from collect.execute.pipeline import Interrupts, Run
from collect.inventory.inventory import Stocktaking
from collect.inventory.model_builds import look_up, with_builds
from collect.plan.plan import plan_trials
from collect.run_folder.finished import FinishedTrials
from collect.run_folder.log import RunLog, resume_command
from collect.run_folder.reuse import take_over
from schemas.config.project import load_project_file
from schemas.errors import ConfigError, Interrupted, NotResumable, Problem, counted, printable

if TYPE_CHECKING:
    from collect.local.servers import Servers

GARBAGE_EVERY = 50_000
"""New objects between two looks for cycles, which hold up the loop: a trial leaves hardly any."""

DIGITS = 12
"""Of a digest that people compare; `ollama list` shows as many."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says about a run, whatever it is made of."""

    runs_dir: Path
    run_id: str | None = None
    """The folder's name; None for the time in UTC."""
    labels: tuple[str, ...] = ()
    max_cost_usd: float | None = None
    assume_price: str | None = None
    reuse: bool = False
    """Take answers of earlier runs where nothing that matters has changed (D-F2)."""
    allowed_hosts: tuple[str, ...] = ()
    """That may get a key of their own in a run that goes on, beside those of benchlake.yaml."""
    as_json: bool = False
    with_page: bool = False
    """Make the report of it when it has ended."""
    again: str | None = None
    """The command that goes on after a run that is not complete; None: the one that resumes it."""


def run(
    inputs: RunInputs,
    open_log: Callable[[], RunLog],
    screen: Screen,
    options: Options,
    meanwhile: Callable[[], object],
) -> RunReport:
    """Make one new run and return its report.

    The folder is made once nothing stands in the way; `meanwhile` is done while files are sealed.

    Raises:
        RunExists: the folder is there already.
        Interrupted: Ctrl-C before the first request.
        LocalModelError: an embedded model cannot be served.
    """
    with _serving(inputs.models, screen) as servers:

        async def whole(interrupts: Interrupts) -> RunReport:
            async with Stocktaking(inputs) as stock:
                builds = await look_up(inputs.models)
                made_of = with_builds(inputs, builds)
                inventory = await stock.first(builds)
                log = open_log()
                job = job_of(made_of, log.run_dir.name, options.max_cost_usd, reuse=options.reuse)
                stored = replace(made_of, models=stored_beside(made_of.models, log.run_dir))
                config = run_config_of(stored, job, options.labels)
                inventory = inventory.model_copy(update={"run_id": job.run_id})
                log.begin(config, inventory, made_of.cases, plan_trials(made_of, job.run_id))
                stock.complete_in(log.run_dir)
                return await _executed(job, log, screen, interrupts, meanwhile, servers=servers)

        return _on_loop(whole)


def resume(job: Job, log: RunLog, screen: Screen, meanwhile: Callable[[], object]) -> RunReport:
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

    The log of a run that goes on is closed when a server does not start: nobody else does it.
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
    import uvloop  # noqa: PLC0415 - only a run needs it

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
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(listening())
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def refuse_foreign_executables(run_dir: Path, models: Iterable[ResolvedModel], again: str) -> None:
    """A run folder may be somebody else's: what it names by path is not run.

    Raises:
        NotResumable: a model's command is a path.
    """
    for model in models:
        command = model.executable
        if command is not None and ("/" in command or "\\" in command):
            why = (
                f"model `{model.model_id}` runs `{printable(command)}`, and a run folder, which "
                "may be somebody else's, cannot say which file is run; name it by its command on "
                f"PATH, or `{again}` starts a new run from your own suite"
            )
            raise NotResumable(run_dir, why)


def refuse_other_builds(
    run_dir: Path, models: Iterable[ResolvedModel], again: str
) -> dict[str, str]:
    """Ask servers and CLIs again, and compare with what the run was planned with.

    What was known and cannot be found out now is no reason to stop: a server that is not up yet
    would end every run that is resumed too early, and its trials fail by themselves.

    Returns:
        By model_id, what cannot be told to be the same, in words.

    Raises:
        NotResumable: a model's weights or CLI are others by now.
    """
    stored = [model for model in models if _comparable_build(model) is not None]
    unknown = [_forgotten(model) for model in stored]
    if not stored:
        return {}
    builds = asyncio.run(look_up(unknown))
    changed, unsure = [], {}
    for was, model in zip(stored, unknown, strict=True):
        old, new = _comparable_build(was), _comparable_build(builds.of(model))
        what = f"{'the weights' if was.executable is None else f'`{was.executable}`'} of model"
        if new is None:
            open_question = f"{what} `{was.model_id}` cannot be checked (planned with {old})"
            missing = builds.warning(model)
            unsure[was.model_id] = f"{open_question}; {missing}" if missing else open_question
        elif new != old:
            changed.append(f"{what} `{was.model_id}` ({old}, now {new})")
    if changed:
        why = (
            f"{', '.join(changed)} changed since it was planned; "
            f"`{again}` starts a new run and takes over what is still the same"
        )
        raise NotResumable(run_dir, why)
    return unsure


def _forgotten(model: ResolvedModel) -> ResolvedModel:
    """Return a stored model without what is to be found out again."""
    embedded = model.embedded
    if embedded is not None:
        embedded = embedded.model_copy(update={"engine": engine()})
    return replace(model, model_build=None, harness_version=None, embedded=embedded)


def _comparable_build(model: ResolvedModel) -> str | None:
    """Return what can be asked for again, as people compare it; None when there is nothing."""
    if model.executable is not None:
        return model.harness_version
    if model.embedded is not None:
        engine = model.embedded.engine
        return model.model_build and f"{model.model_build[:DIGITS]} served by {engine}"
    is_asked = PROVIDERS[model.provider].may_be_ollama and model.model_build is not None
    return (model.model_build or "")[:DIGITS] if is_asked else None


def refuse_foreign_hosts(models: Iterable[ResolvedModel], allowed: Iterable[str]) -> None:
    """Apply D-H4 to a stored run, by what is allowed here and now.

    Hosts of benchlake.yaml are added to those named on the command line.

    Raises:
        ConfigError: a key would go to a host that it is not for.
    """
    project = load_project_file(Path.cwd())
    hosts = frozenset(host.lower() for host in (*allowed, *project.allowed_hosts))
    problems = []
    for model in models:
        named = model.api_key_env
        own = None if named == PROVIDERS[model.provider].api_key_env else named
        if what := key_problem(PROVIDERS[model.provider], model.base_url, own, hosts):
            problems.append(Problem(None, f"model `{model.model_id}`: {what}"))
    if problems:
        raise ConfigError(problems)
