"""A run that goes on, made of its folder, which may be somebody else's.

So it is checked first: whether it would still ask the weights and CLIs that it was planned with,
which hosts it may send keys to, and whether it names executables by path.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from collect.config import LoadedCase, ResolvedModel
from collect.config.embedded import engine, relocate_models
from collect.config.endpoints import PROVIDERS, key_problem, refuse_unusable_keys
from collect.config.evaluation import LoadedEvaluation
from collect.config.models import refuse_too_few_files
from collect.config.project_files import project_of
from collect.config.runners import RUNNERS
from collect.config.tools.web_search import web_search_problems
from collect.config.unsupported import reserved
from collect.execute.agents import stored_agents
from collect.execute.budget import refuse_unpriced
from collect.execute.evaluation import hooks_problem, judge_hash_of, judging_of, of_project
from collect.execute.spec import RunRequest, RunSpec
from collect.execute.tools import RunTools, still_locked_in, tools_of
from collect.inventory.model_builds import look_up
from collect.plan.changes import newest_first
from collect.plan.plan import sizes_of
from collect.run_folder.log import RunLog, is_begun, resume_command
from collect.run_folder.stored_inputs import CASES_FILE, models_of, read_cases, verified_trials
from schemas.config.prices import Price
from schemas.config.project import LoadedProject, load_project_file
from schemas.errors import ConfigError, NotResumable, Problem, nearest, printable
from schemas.run.config import RunConfig, load_run_config
from schemas.run.result import Event
from schemas.run.trace import now_ms

DIGITS = 12
"""Of a digest that people compare; `ollama list` shows as many."""


def folder_of(request: RunRequest) -> Path:
    """Return the folder of the run that is to be completed.

    Raises:
        NotResumable: there is no such run.
    """
    runs_dir, run = request.runs_dir, request.resume or "latest"
    run_dir = runs_dir / (latest(runs_dir) if run == "latest" else run)
    if not run_dir.is_dir():
        raise NotResumable(run_dir, _no_such_run(run, runs_dir))
    return run_dir


def latest(runs_dir: Path) -> str:
    """Return the run that started last.

    Raises:
        NotResumable: there is none.
    """
    for run_dir in newest_first(runs_dir):
        if is_begun(run_dir):
            return run_dir.name
    raise NotResumable(runs_dir / "latest", "there are no runs; make one with `collect run`")


def _no_such_run(run: str, runs_dir: Path) -> str:
    known = [run_dir.name for run_dir in newest_first(runs_dir)]
    if not known:
        return f"there are no runs in {runs_dir}; make one with `collect run`"
    near = nearest(run, known)
    hint = f"did you mean `{near}`?" if near else f"the newest of {len(known):,} is `{known[0]}`"
    return f"there is no such run in {runs_dir}; {hint}"


def stored_spec(log: RunLog, request: RunRequest, note: Callable[[str], None]) -> RunSpec:
    """Return a run as its folder has it, once nothing stands in the way of going on.

    Servers and CLIs are asked for their builds; what cannot be told is a warning and an event.

    Args:
        log: of the run, locked.
        request: whose cost limit and price stand in place of the run's own.
        note: says what people should know.

    Raises:
        NotResumable: the folder does not hold what the run was made of, or a model would be
            another one.
        ConfigError: a limited cost cannot be known, a key would go to a host that it is not for, a
            model cannot be served, or a runner is not there.
    """
    run_dir = log.run_dir
    spec, again = _read_spec(run_dir, request)
    for kind in {case.runner_type for case in spec.cases.values()}:
        RUNNERS[kind]  # of a package that may not be here
    refuse_foreign_hosts(spec.models, request.allowed_hosts)
    refuse_unusable_keys(spec.models)
    if spec.has_embedded:
        from collect.local.servers import refuse_unservable_again  # noqa: PLC0415 - few serve one

        refuse_unservable_again(run_dir, spec.models, note)
    refuse_too_few_files(spec.models, spec.policy.max_concurrency, spec.n_planned)
    refuse_foreign_executables(run_dir, spec.models, again)
    if spec.max_cost_usd is not None:
        refuse_unpriced(spec.asked_models)
    unsure = refuse_other_builds(run_dir, spec.models, again)
    for model_id, what in unsure.items():
        event, at_ms = "build_unknown", now_ms()
        log.append(
            Event(run_id=run_dir.name, event=event, at_ms=at_ms, model_id=model_id, detail=what)
        )
    return replace(spec, warnings=tuple(unsure.values()))


def _read_spec(run_dir: Path, request: RunRequest) -> tuple[RunSpec, str]:
    """Return the run of a folder, and the command of a new run that takes its answers over.

    A cost limit counts the earlier part of the run in; without one it is as before.
    """
    assumed = request.price_on(datetime.now(tz=UTC).date())
    try:
        config = load_run_config(run_dir / "config.json")
        suite, profile = config.suite_path, config.run_profile_path
        new = ["collect", "run", "--suite", suite, "--run-profile", profile, "--reuse"]
        again = shlex.join(new)
        return _spec_of(run_dir, config, request, assumed, again), again
    except (OSError, ValueError) as exc:  # pydantic's are ValueErrors
        why = f"config.json or plan.jsonl is missing or damaged ({type(exc).__name__})"
        raise NotResumable(
            run_dir, f"{why}; a new run with --reuse takes over its answers"
        ) from exc


def _spec_of(
    run_dir: Path, config: RunConfig, request: RunRequest, assumed: Price | None, again: str
) -> RunSpec:
    cases = read_cases(run_dir / CASES_FILE)
    for case in cases.values():
        if case.checks and case.folder is not None and not case.folder.is_dir():
            why = f"the folder of case `{case.case_id}` is not at {case.folder}"
            raise NotResumable(run_dir, f"{why}; move the run back, or start one with --reuse")
    models = tuple(
        model if model.price else replace(model, price=assumed)
        for model in relocate_models(models_of(config), run_dir)
    )
    for model in config.models:
        for option, reason in reserved(model.request_options).items():
            why = f"request option `{option}` of model `{model.model_id}` {reason}"
            raise NotResumable(run_dir, f"{why}; take it out and start a new run")
    tools = _tools_of(run_dir, config, request, cases)
    agents = stored_agents(config, run_dir, project_of(Path(config.suite_path)), again)
    is_unsafe = request.unsafe_no_sandbox
    here = _require_evaluation(run_dir, config, cases, is_unsafe=is_unsafe)
    sizes = sizes_of(verified_trials(run_dir, models, cases, tools.fingerprint, again))
    limit = request.max_cost_usd
    return RunSpec(
        request=request,
        suite_id=config.suite_id,
        run_profile_id=config.run_profile_id,
        models=models,
        cases=cases,
        policy=config.execution_policy,
        sizes=sizes,
        thresholds=config.thresholds,
        max_cost_usd=config.max_cost_usd if limit is None else limit,
        reuse=config.reuse,
        tools=tools,
        agents=agents,
        evaluation=config.evaluation,
        judging=judging_of(here, load_project_file(Path.cwd()).prices, assumed),
        keep_workspaces=config.keep_workspaces,
        workspaces_mb=config.workspaces_mb,
    )


def _require_evaluation(
    run_dir: Path, config: RunConfig, cases: Mapping[str, LoadedCase], *, is_unsafe: bool
) -> LoadedEvaluation | None:
    """Return the evaluation profile of a run; refuse one that is not here, or cannot be used.

    Raises:
        NotResumable: the profile is not here, or another one by now.
        ConfigError: hooks cannot run here.
    """
    stored = config.evaluation
    if stored is None:
        return None
    here = of_project(stored, Path.cwd())
    policy = None if here is None else here.profile.security_policy
    # a run of before there were judges has no hash of them
    judges_otherwise = config.judge_hash is not None and (judge_hash_of(here) != config.judge_hash)
    if policy != stored.security_policy or judges_otherwise:
        why = (
            f"its evaluation profile `{stored.evaluation_profile_id}` is not here as it was, and a "
            "run folder, which may be somebody else's, permits nothing by itself; put it back, or "
            "start a new run with --reuse"
        )
        raise NotResumable(run_dir, why)
    if (problem := hooks_problem(cases.values(), stored, is_unsafe=is_unsafe)) is not None:
        raise ConfigError([problem])
    return here


def _tools_of(
    run_dir: Path, config: RunConfig, request: RunRequest, cases: Mapping[str, LoadedCase]
) -> RunTools:
    """Return what the run's tools are given: its own sandbox, and the search of this project.

    Raises:
        ConfigError: the sandbox does not hold here, or nothing may be searched.
    """
    command = resume_command(run_dir)
    is_unsafe = request.unsafe_no_sandbox
    sandbox = still_locked_in(config.sandbox, cases.values(), is_unsafe=is_unsafe, again=command)
    tools = tools_of(
        cases.values(), LoadedProject(), sandbox, (config.suite_id, config.suite_title)
    )
    if "web_search" not in tools.names:
        return tools
    project = load_project_file(Path.cwd())
    hosts = frozenset(host.lower() for host in (*request.allowed_hosts, *project.allowed_hosts))
    if problems := web_search_problems(project, hosts, tuple(cases.values())):
        raise ConfigError(problems)
    return replace(tools, search=project.web_search)


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
