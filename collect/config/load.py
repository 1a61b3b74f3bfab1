"""The one door: suite and run profile in, everything a run needs out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from collect.config import unsupported
from collect.config.agents import LoadedAgent, agent_fingerprint, assign_agents, load_agents
from collect.config.cases import find_cases
from collect.config.evaluation import LoadedEvaluation, by_policy, load_evaluation_profile
from collect.config.models import resolve_models, too_many_at_once
from collect.config.project_files import is_path, name_problems, problem_at, resolve
from collect.config.resolved import LoadedCase, ResolvedModel
from collect.config.select import suite_cases
from collect.config.tools.web_search import web_search_problems
from schemas.config.project import LoadedProject, load_project_file
from schemas.config.run_profile import RunProfile
from schemas.config.suite import Suite
from schemas.errors import ConfigError, Problem
from schemas.io.validation import parse
from schemas.io.yaml import Source, read_yaml
from schemas.redact import redact
from schemas.run.config import Narrowed, RunCommands, RunOpenClaw, RunSandbox

MAX_TRIALS = 1_000_000
"""A plan is written before anything runs, and read again by every analysis."""

Kind = TypeVar("Kind", Suite, RunProfile)


@dataclass(frozen=True)
class RunInputs:
    """What a run is made from; nothing in it is looked up again later."""

    suite: Suite
    suite_path: Path
    profile: RunProfile
    profile_path: Path
    cases: tuple[LoadedCase, ...]
    models: tuple[ResolvedModel, ...]
    agents: Mapping[str, str]
    """case_id to agent_id, for cases of agents."""
    agent_fingerprints: Mapping[str, str]
    """agent_id to the hash of what can change the agent's behaviour."""
    loaded_agents: Mapping[str, LoadedAgent]
    """By agent_id, those that its cases run with."""
    project: LoadedProject
    config_files: dict[str, str]
    """sha256 of each file that was read, by path."""
    allowed_hosts: tuple[str, ...]
    warnings: tuple[str, ...]
    narrowed: Narrowed = field(default_factory=Narrowed)
    """Which part of the plan the run makes."""
    sandbox: RunSandbox | None = None
    """Where commands are locked in; None: no case needs it, or it was not looked at yet."""
    sandbox_version: str | None = None
    openclaw: RunOpenClaw | None = None
    """How its agents run; None: no case has one, or it was not looked at yet."""
    agent: RunCommands | None = None
    """The same of agents by configuration."""
    evaluation: LoadedEvaluation | None = None

    def is_scorable(self, case: LoadedCase) -> bool:
        """Return whether a trial of a case can get a verdict here: by itself, or by a judge.

        Not by a judge alone where one of its checks cannot look.
        """
        is_judged = self.evaluation is not None and self.evaluation.decides
        return case.is_scorable or (is_judged and not case.unevaluable)

    """What decides how trials are evaluated; None: deterministic checks alone, without hooks."""
    skip_unevaluable: bool = False
    """What this version cannot do is left out, and nothing is refused for it."""


def load_inputs(
    suite_ref: str,
    profile_ref: str,
    *,
    working_dir: Path,
    allowed_hosts: Iterable[str] = (),
    evaluation_ref: str | None = None,
) -> RunInputs:
    """Load a suite, its cases, a run profile and an evaluation profile, given as ids or paths.

    Raises:
        ConfigError: all problems of all files involved.
    """
    problems: list[Problem] = []
    written: LoadedProject | None = None
    try:
        written = load_project_file(working_dir)
    except ConfigError as exc:
        problems += exc.problems
    project = written or LoadedProject()
    hosts = frozenset(host.lower() for host in (*allowed_hosts, *project.allowed_hosts))
    suite_source, suite = _load(Suite, suite_ref, "suite", working_dir, problems)
    profile_source, profile = _load(RunProfile, profile_ref, "run profile", working_dir, problems)
    if suite is None or profile is None or suite_source is None or profile_source is None:
        raise ConfigError(problems)
    problems += name_problems(suite_source, "suite_id", suite.suite_id)
    if not is_path(profile_ref):  # a path finds it, whatever it calls itself
        problems += name_problems(profile_source, "run_profile_id", profile.run_profile_id)
    evaluation = _evaluation(evaluation_ref, working_dir, hosts, problems)
    models, wrong, warnings = resolve_models(suite, profile, suite_source, hosts)
    problems += [*wrong, *too_many_at_once(profile, profile_source)]
    warnings += unsupported.greedy_models(models, profile, profile_source)
    files = {str(source.path): source.sha256 for source in (suite_source, profile_source)}
    if project.path is not None and project.sha256 is not None:
        files[str(project.path)] = project.sha256
    taken = suite_cases(suite, suite_source, find_cases)
    cases, files = taken.cases, files | taken.files
    if evaluation is not None:
        warnings += evaluation.warnings
        files |= evaluation.files
        cases = by_policy(cases, evaluation.profile.security_policy)
    warnings += taken.warnings
    problems += taken.problems
    has_tools = any(case.context.llm_probe.tools for case in cases)
    kinds = frozenset(case.runner_type for case in cases)
    warnings += unsupported.warnings_at(
        suite_source, unsupported.of_suite(suite, kinds, has_tools=has_tools)
    )
    warnings += unsupported.warnings_at(
        profile_source, unsupported.of_profile(profile, kinds, has_tools=has_tools)
    )
    if written is not None:
        problems += web_search_problems(written, hosts, cases)
    problems += _seeds(models, cases, profile_source)
    repetitions = profile.execution_policy.run_repetitions
    planned = len(models) * len(cases) * repetitions
    if planned > MAX_TRIALS:
        key = ("execution_policy", "run_repetitions")
        what, most = f"the plan would have {planned:,} trials", f"{MAX_TRIALS:,}"
        problems.append(problem_at(profile_source, key, what, allowed=most))
    agents, wrong = assign_agents(suite, profile, cases, suite_source, profile_source)
    loaded, more_wrong = load_agents(agents, cases, suite_source, profile_source)
    problems += [*wrong, *more_wrong]
    if problems:
        raise ConfigError(problems)
    return RunInputs(
        suite=suite,
        suite_path=suite_source.path,
        profile=profile,
        profile_path=profile_source.path,
        cases=cases,
        models=tuple(models),
        agents=agents,
        agent_fingerprints={name: agent_fingerprint(one) for name, one in loaded.items()},
        loaded_agents=loaded,
        project=project,
        config_files=files,
        allowed_hosts=tuple(sorted(hosts)),
        warnings=tuple(warnings),
        evaluation=evaluation,
    )


def runnable(inputs: RunInputs, *, skip_unevaluable: bool = False) -> RunInputs:
    """Return what can be run, and refuse the rest by name before anything is spent.

    With `skip_unevaluable`, what this version cannot do is left out, and each is warned of.

    Returns:
        The inputs, with a warning for what will have no verdict and what nothing reads.

    Raises:
        ConfigError: every place of a selected case that needs something not built, unless it is
            skipped, or that a selected model's transport cannot send.
    """
    problems = unsupported.unsendable(inputs.models, inputs.cases)
    problems += unsupported.unlimited(inputs.models, inputs.cases)
    if not skip_unevaluable:
        problems += [one.problem for case in inputs.cases for one in case.unbuilt]
    if problems:
        raise ConfigError(problems)
    has_judges = inputs.evaluation is not None and inputs.evaluation.has_judges
    unread = unsupported.warnings_of(inputs.cases, has_judges=has_judges)
    warnings = map(redact, (*inputs.warnings, *unread))
    return replace(inputs, warnings=tuple(warnings), skip_unevaluable=skip_unevaluable)


def _load(
    model: type[Kind], reference: str, kind: str, working_dir: Path, problems: list[Problem]
) -> tuple[Source | None, Kind | None]:
    source = None
    try:
        source = read_yaml(resolve(reference, kind, working_dir))
        return source, parse(model, source)
    except ConfigError as exc:
        problems += exc.problems
        return source, None


def _evaluation(
    reference: str | None, working_dir: Path, hosts: frozenset[str], problems: list[Problem]
) -> LoadedEvaluation | None:
    if reference is None:
        return None
    try:
        return load_evaluation_profile(reference, working_dir, allowed_hosts=hosts)
    except ConfigError as exc:
        problems += exc.problems
        return None


def _seeds(
    models: Sequence[ResolvedModel], cases: Sequence[LoadedCase], profile: Source
) -> list[Problem]:
    """A seed per repetition needs a seed to count from."""
    return [
        Problem(profile.path, f"`seed_per_repetition` needs a `seed` (model `{model.model_id}`)")
        for model in models
        if any(
            model.setting("seed_per_repetition", case) and model.setting("seed", case) is None
            for case in cases
        )
    ]
