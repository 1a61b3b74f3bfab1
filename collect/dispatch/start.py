"""From a request to the run folders of all shards, and to what makes them."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from collect.config import RunInputs
from collect.console.progress import Screen
from collect.dispatch.executors import Executor, Workplace, open_executor
from collect.dispatch.record import DispatchRecord
from collect.execute.collector import begun, reuse_answers
from collect.execute.evaluation import of_project
from collect.execute.spec import RunRequest, RunSpec, group_of, inputs_of, new_spec
from collect.execute.stored_run import latest, refuse_foreign_executables
from collect.inventory.inventory import Stocktaking
from collect.inventory.model_builds import look_up, with_builds
from collect.plan.narrow import narrow
from collect.plan.plan import Hashes
from collect.run_folder.finished import FinishedTrials
from collect.run_folder.stored_inputs import CASES_FILE, read_cases
from schemas.errors import ConfigError, NotResumable, Problem
from schemas.run.config import RunConfig, load_run_config
from schemas.run.dispatch import DispatchPlan, dispatch_file
from schemas.run.layout import LOG
from schemas.run.trace import now_ms

SHARD = re.compile(r"(?P<dispatch_id>.+)-\d+-of-\d+")
"""The run id of a shard."""

MAX_SHARDS = 1_000


class Dispatch:
    """A run in several shards whose folders are there, and where they are to be made."""

    def __init__(self, record: DispatchRecord, executor: Executor, config: RunConfig) -> None:
        self.record = record
        self.executor = executor
        self.config = config
        """Of its first shard."""


def dispatch_of(request: RunRequest) -> str | None:
    """Return the run in several shards that a request goes on with; None: it names another one."""
    if request.resume is None:
        return None
    run = request.resume
    if run == "latest" and (found := SHARD.fullmatch(latest(request.runs_dir))):
        run = found["dispatch_id"]
    return run if dispatch_file(request.runs_dir, run).is_file() else None


def started(request: RunRequest, screen: Screen) -> Dispatch:
    """Write down a new run in several shards; nothing is asked yet.

    Raises:
        ConfigError: something that it needs is not there, or its limits cannot be divided.
        RunExists: the run id is taken.
    """
    assert request.executor is not None
    if request.narrowed.shard is not None:
        what = "--shard is one part of a plan; --processes and --executor make all of them"
        raise ConfigError([Problem(None, what)])
    inputs = inputs_of(request, Path.cwd())
    whole = new_spec(inputs, request, screen.note)
    refuse_alone(whole)
    files = [*map(Path, inputs.config_files)]
    files += (case.folder for case in inputs.cases if case.folder is not None)
    executor = open_executor(request.executor, _workplace(request, files, whole, screen.note))
    try:
        n_shards = request.n_shards or executor.n_places
        refuse_too_many(whole, n_shards)
        dispatch_id = request.run_id or _free_id(request.runs_dir)
        names = shard_ids(dispatch_id, n_shards)
        specs = [
            _spec_of(inputs, request, name, f"{number}/{n_shards}")
            for number, name in enumerate(names, 1)
        ]
        _begin_all(specs, screen.note)
        executor.prepare(specs)
        plan = DispatchPlan(
            dispatch_id=dispatch_id,
            run_group=specs[0].run_group,
            started_at_ms=now_ms(),
            benchlake_version=version("benchlake"),
            executor=request.executor,
            address=request.address,
            shards=names,
            n_planned=whole.n_planned,
            max_cost_usd=request.max_cost_usd,
        )
        record = DispatchRecord.create(request.runs_dir, plan)
        return Dispatch(record, executor, _config(request.runs_dir / names[0]))
    except BaseException:
        asyncio.run(executor.close())
        raise


def gone_on_with(request: RunRequest, dispatch_id: str, screen: Screen) -> Dispatch:
    """Open a run in several shards again.

    Raises:
        NotResumable: its record, or a shard's folder, is not there.
        RunBusy: another coordinator has it.
        ConfigError: its executor cannot be reached.
    """
    record = DispatchRecord.reopen(request.runs_dir, dispatch_id)
    try:
        plan = record.plan
        for name in plan.shards:
            if not (request.runs_dir / name).is_dir():
                raise NotResumable(record.path, f"the folder of its shard `{name}` is gone")
        first = request.runs_dir / plan.shards[0]
        config = _config(first)
        cases = read_cases(first / CASES_FILE).values()
        folders = (case.folder for case in cases if case.folder is not None)
        files = (*(Path(name).absolute() for name in config.config_files), *folders)
        workplace = Workplace(
            runs_dir=request.runs_dir,
            files=files,
            keys=_names([*(model.api_key_env for model in config.models), *_judge_keys(config)]),
            address=request.address or plan.address,
            note=screen.note,
        )
        return Dispatch(record, open_executor(request.executor or plan.executor, workplace), config)
    except BaseException:
        record.close()
        raise


def refuse_alone(spec: RunSpec) -> None:
    """Refuse what one process alone can make.

    Raises:
        ConfigError: a model is served by the run itself, or is run by the path of its command.
    """
    for model in spec.asked_models:
        if model.embedded is not None:
            what = f"model `{model.model_id}` is served by the process that asks it"
            advice = "leave --processes and --executor out"
            raise ConfigError([Problem(None, what, advice=advice)])
    try:
        refuse_foreign_executables(spec.request.runs_dir, spec.models, "collect run")
    except NotResumable as exc:
        what = "a model's command is a path, which another process does not run"
        advice = "name it by its command on PATH"
        raise ConfigError([Problem(None, what, advice=advice)]) from exc


def refuse_too_many(spec: RunSpec, n_shards: int) -> None:
    """Refuse more shards than a limit, or the plan, can be divided into.

    Raises:
        ConfigError: names every limit that is smaller.
    """
    limits = {"trials of the plan": spec.n_planned, "shards that a run may have": MAX_SHARDS}
    limits["max_concurrency of the run profile"] = spec.policy.max_concurrency
    for model in spec.asked_models:
        limits[f"max_concurrency of `{model.model_id}`"] = model.max_concurrency
    problems = [
        Problem(
            None,
            f"{n_shards} shards cannot share {name}",
            found=f"`{limit}`",
            advice=f"at most --shards {limit}, or --processes {limit}"
            + ("; or raise it" if name.startswith("max_concurrency") else ""),
        )
        for name, limit in limits.items()
        if limit < n_shards
    ]
    if problems:
        raise ConfigError(problems)


def shard_ids(dispatch_id: str, n_shards: int) -> tuple[str, ...]:
    """Return the run id of each shard; sorted by name they stand in their order."""
    digits = len(str(n_shards))
    return tuple(
        f"{dispatch_id}-{number:0{digits}}-of-{n_shards}" for number in range(1, n_shards + 1)
    )


def _spec_of(inputs: RunInputs, request: RunRequest, name: str, shard: str) -> RunSpec:
    """Return one shard's run; of the money a part of its own, for when it is completed alone."""
    n_shards = int(shard.partition("/")[2])
    cost = request.max_cost_usd
    own = replace(
        request, run_id=name, max_cost_usd=None if cost is None else cost / n_shards, resume=None
    )
    part = narrow(inputs, inputs.narrowed.model_copy(update={"shard": shard}))
    return new_spec(part, own, lambda _: None)


def _begin_all(specs: list[RunSpec], note: Callable[[str], None]) -> None:
    """Make the folder of every shard, or none: nothing was asked yet, so nothing is lost."""
    made: list[Path] = []
    try:
        asyncio.run(_begin(specs, made, note))
    except BaseException:
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)
        raise


async def _begin(specs: list[RunSpec], made: list[Path], note: Callable[[str], None]) -> None:
    """Make the folder of every shard; what the machine has is looked up once."""
    first = specs[0].inputs
    assert first is not None
    async with Stocktaking(first) as stock:
        builds = await look_up(first.models)
        inventory = await stock.first(builds)
        hashes = Hashes()
        group = group_of(with_builds(first, builds), hashes)
        for number, spec in enumerate(specs):
            assert spec.inputs is not None
            made_of = with_builds(spec.inputs, builds)
            specs[number], log = begun(replace(spec, run_group=group), made_of, inventory, hashes)
            made.append(log.run_dir)
            try:
                if spec.reuse:
                    finished = FinishedTrials(log.run_dir / LOG)
                    await asyncio.to_thread(reuse_answers, spec, log, finished, note)
            finally:
                log.close()
            stock.complete_in(log.run_dir)


def _workplace(
    request: RunRequest, files: Iterable[Path], spec: RunSpec, note: Callable[[str], None]
) -> Workplace:
    keys = _names(model.api_key_env for model in spec.asked_models)
    return Workplace(request.runs_dir, files, keys, request.address, note)


def _names(keys: Iterable[str | None]) -> Sequence[str]:
    return sorted({key for key in keys if key is not None})


def _judge_keys(config: RunConfig) -> list[str | None]:
    found = None if config.evaluation is None else of_project(config.evaluation, Path.cwd())
    return [] if found is None else [judge.model.api_key_env for judge in found.judges]


def _config(run_dir: Path) -> RunConfig:
    try:
        return load_run_config(run_dir / "config.json")
    except (OSError, ValueError) as exc:  # pydantic's are ValueErrors
        why = f"config.json is missing or damaged ({type(exc).__name__})"
        raise NotResumable(run_dir, why) from exc


def _free_id(runs_dir: Path) -> str:
    """Return the time in UTC, as a run is called by default."""
    stem = datetime.now(tz=UTC).strftime("%Y%m%d_%H%M%S")
    return next(name for name in _candidates(stem) if not _is_taken(runs_dir, name))


def _candidates(stem: str) -> Iterator[str]:
    yield stem
    number = 2
    while True:
        yield f"{stem}_{number}"
        number += 1


def _is_taken(runs_dir: Path, name: str) -> bool:
    return dispatch_file(runs_dir, name).exists() or (runs_dir / name).exists()
