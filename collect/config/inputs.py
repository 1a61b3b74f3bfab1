"""The one door: suite and run profile in, everything a run needs out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from collect.config.cases import CaseFile, find_cases
from collect.config.loaded import LoadedCase, ResolvedModel
from collect.config.models import resolve_models
from collect.config.problems import parse
from collect.config.project import project_of, resolve
from collect.config.prompts import load_prompt_list
from collect.config.selection import select_cases, unknown_ids, without_excluded
from collect.config.source import Source, read_yaml
from schemas.errors import ConfigError, Problem
from schemas.run_profile import RunProfile
from schemas.suite import Suite

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
    config_files: dict[str, str]
    """sha256 of each file that was read, by path."""
    allowed_hosts: tuple[str, ...]
    warnings: tuple[str, ...]


def load_inputs(
    suite_ref: str,
    profile_ref: str,
    *,
    working_dir: Path,
    allowed_hosts: Iterable[str] = (),
) -> RunInputs:
    """Load a suite, its cases and a run profile, given as ids or paths.

    Raises:
        ConfigError: all problems of all files involved.
    """
    hosts = frozenset(host.lower() for host in allowed_hosts)
    problems: list[Problem] = []
    suite_source, suite = _load(Suite, suite_ref, "suite", working_dir, problems)
    profile_source, profile = _load(RunProfile, profile_ref, "run profile", working_dir, problems)
    if suite is None or profile is None or suite_source is None or profile_source is None:
        raise ConfigError(problems)
    _same_name(suite_source, "suite_id", suite.suite_id, problems)
    _same_name(profile_source, "run_profile_id", profile.run_profile_id, problems)
    models, wrong, warnings = resolve_models(suite, profile, suite_source, hosts)
    problems += wrong
    files = {str(source.path): source.sha256 for source in (suite_source, profile_source)}
    cases: list[LoadedCase] = []
    try:
        cases, more = _cases(suite, suite_source, files)
        warnings += more
    except ConfigError as exc:
        problems += exc.problems
    problems += _seeds(models, cases, profile_source)
    if problems:
        raise ConfigError(problems)
    return RunInputs(
        suite=suite,
        suite_path=suite_source.path,
        profile=profile,
        profile_path=profile_source.path,
        cases=tuple(cases),
        models=tuple(models),
        config_files=files,
        allowed_hosts=tuple(sorted(hosts)),
        warnings=tuple(warnings),
    )


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


def _same_name(source: Source, key: str, found: str, problems: list[Problem]) -> None:
    """An id is how people and the command line name a file, so both must agree."""
    if source.path.stem != found:
        what = f"differs from the file's name `{source.path.stem}`"
        problems.append(Problem(source.path, what, key, source.line_of((key,)), found=f"`{found}`"))


def _cases(
    suite: Suite, source: Source, files: dict[str, str]
) -> tuple[list[LoadedCase], list[str]]:
    """Return the suite's cases: those of the project it selects, then those of its lists."""
    project = project_of(source.path)
    selection = suite.case_selection
    lists_only = bool(suite.prompt_lists) and "case_selection" not in suite.model_fields_set
    found = find_cases(project) if project else []
    chosen: list[CaseFile] = []
    warnings: list[str] = []
    if not lists_only:
        chosen, warnings = select_cases(found, selection, source)
        files |= {str(file.path): file.sha256 or "" for file in chosen}
    prompts: list[LoadedCase] = []
    for reference in suite.prompt_lists:
        path = source.path.parent / reference
        loaded, digest = load_prompt_list(path, prefixed=len(suite.prompt_lists) > 1)
        prompts += loaded
        files[str(path)] = digest
    known = {file.case_id for file in found} | {prompt.case_id for prompt in prompts}
    problems = unknown_ids(selection, known, source)
    cases = [file.case for file in chosen if file.case is not None]
    cases += without_excluded(prompts, selection)
    problems += _clashes(cases, source)
    if not cases and not problems:
        where = project / "configs" / "cases" if project else "no project"
        what = f"the suite selects no case (looked in {where})"
        key = "case_selection"
        problems.append(Problem(source.path, what, key, source.line_of((key,))))
    if problems:
        raise ConfigError(problems)
    return cases, warnings


def _clashes(cases: list[LoadedCase], source: Source) -> list[Problem]:
    counts = Counter(case.case_id for case in cases)
    return [
        Problem(source.path, f"{count} cases have the case_id `{case_id}`", "prompt_lists")
        for case_id, count in counts.items()
        if count > 1
    ]


def _seeds(models: list[ResolvedModel], cases: list[LoadedCase], profile: Source) -> list[Problem]:
    """A seed per repetition needs a seed to count from."""
    without = [
        model.model_id
        for model in models
        for case in cases[:1]
        if model.setting("seed_per_repetition", case) and model.setting("seed", case) is None
    ]
    return [
        Problem(profile.path, f"`seed_per_repetition` needs a `seed` (model `{model_id}`)")
        for model_id in without
    ]
