"""What stored trials are evaluated by: the checks of now, and the profile that lets hooks run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from collect.checks.declarative import SANDBOX_MISSING, hindrance
from collect.config import LoadedCase
from collect.config.cases import find_cases
from collect.config.evaluation import by_policy, disabled, hooked, load_evaluation_profile
from collect.config.project_files import resolve
from collect.config.select import suite_cases
from collect.execute.evaluation import evaluation_of, hooks_problem, of_project
from collect.execute.stored_run import latest
from collect.plan.changes import newest_first
from collect.plan.fingerprint import case_hash
from collect.run_folder.stored_inputs import CASES_FILE, read_cases
from schemas.config.project import load_project_file
from schemas.config.sandbox import DEFAULT_SANDBOX
from schemas.config.suite import Suite
from schemas.errors import ConfigError, Problem, RunNotFound, nearest
from schemas.io.validation import parse
from schemas.io.yaml import read_yaml
from schemas.run.config import RunConfig, RunEvaluation, load_run_config
from schemas.run.layout import is_run_folder

MAX_LISTED = 10
"""Names that an error lists."""


@dataclass(frozen=True)
class StoredRequest:
    """What somebody asks for: the words of the command line, not yet looked up."""

    runs_dir: Path
    run: str
    suite: str | None = None
    """By id or path; None: the run's own."""
    evaluation_profile: str | None = None
    cases: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    force: bool = False
    """What is as it was is done again."""
    as_json: bool = False


@dataclass(frozen=True)
class CheckRequest(StoredRequest):
    """Of checks."""

    unsafe_no_sandbox: bool = False


@dataclass(frozen=True)
class EvaluateRequest(StoredRequest):
    """Of judgements."""

    max_cost_usd: float | None = None
    """Of what judges are asked now."""
    assume_price: str | None = None
    """US dollars per million tokens, `IN/OUT`, of judges without a price."""
    against: str | None = None
    """A run whose trials those of this one are held against; None: they are scored."""
    against_model: str | None = None


@dataclass(frozen=True)
class Inputs:
    """What stored trials are evaluated by."""

    config: RunConfig
    stored: Mapping[str, LoadedCase]
    """The cases as they were asked."""
    cases: Mapping[str, LoadedCase]
    """The same with the checks of now."""
    evaluation: RunEvaluation | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class StoredCases:
    """The cases of a stored run: as they were asked, and with what is said of them now."""

    run_dir: Path
    config: RunConfig
    stored: Mapping[str, LoadedCase]
    cases: Mapping[str, LoadedCase]
    notes: tuple[str, ...]


def load_cases(request: StoredRequest, working_dir: Path, *, left_out: str) -> StoredCases:
    """Return the cases of a stored run that are asked for.

    Args:
        request: names the run, and what of it.
        working_dir: where the project is.
        left_out: what is said of cases that the suite does not take any more.

    Raises:
        RunNotFound: there is no such run.
        NotResumable: it does not say what it was made of.
        ConfigError: suite or case are wrong or not there.
    """
    run_dir = folder_of(request.runs_dir, request.run)
    config = load_run_config(run_dir / "config.json")
    stored = read_cases(run_dir / CASES_FILE)
    now = _cases_of(request, run_dir, config, working_dir)
    require_known("--case", request.cases, stored)
    require_known("--model", request.models, {model.model_id for model in config.models})
    kept = {
        case_id: was
        for case_id, was in stored.items()
        if not request.cases or case_id in request.cases
    }
    gone = [case_id for case_id in kept if case_id not in now]
    other = []
    cases: dict[str, LoadedCase] = {}
    for case_id, was in kept.items():
        if (new := now.get(case_id)) is None:
            continue
        cases[case_id] = replace(
            was,
            checks=new.checks,
            hooks=new.hooks,
            expectations=new.expectations,
            rubric=new.rubric,
            folder=new.folder,
            context=new.context,
            unevaluable=_unevaluable(was, new),
        )
        if case_hash(cases[case_id]) != case_hash(new):
            other.append(case_id)
    notes = (
        *noted(gone, f"the suite does not take it any more, so {left_out}"),
        *noted(other, "asks something else by now: its stored answers are looked at as they are"),
    )
    return StoredCases(run_dir, config, stored, cases, notes)


def load(request: CheckRequest, working_dir: Path) -> tuple[Path, Inputs]:
    """Return the folder of the run, and what the checks of its trials are made by.

    Raises:
        RunNotFound: there is no such run.
        NotResumable: it does not say what it was made of.
        ConfigError: suite, case or evaluation profile are wrong or not there, or hooks cannot run.
    """
    found = load_cases(request, working_dir, left_out="its checks are not made again")
    evaluation, missing = _evaluation(request, found.config, working_dir)
    cases = dict(found.cases)
    if evaluation is not None:
        able = by_policy(cases.values(), evaluation.security_policy)
        cases = {case.case_id: case for case in able}
    is_unsafe = request.unsafe_no_sandbox
    problem = hooks_problem(cases.values(), evaluation, is_unsafe=is_unsafe)
    if problem is not None:
        cases |= {case.case_id: disabled(case, SANDBOX_MISSING) for case in hooked(cases.values())}
    notes = (*missing, *(() if problem is None else (str(problem),)), *found.notes)
    return found.run_dir, Inputs(found.config, found.stored, cases, evaluation, notes)


def folder_of(runs_dir: Path, run: str) -> Path:
    """Return the folder of a run, which is also found by its path.

    Raises:
        RunNotFound: there is no such run.
    """
    path = Path(run)
    if len(path.parts) > 1 and is_run_folder(path):
        return path
    known = [run_dir.name for run_dir in newest_first(runs_dir)]
    if run == "latest" and known:
        return runs_dir / latest(runs_dir)
    if run not in known:
        raise RunNotFound(run, runs_dir, known, ("latest",))
    return runs_dir / run


def _unevaluable(was: LoadedCase, new: LoadedCase) -> tuple[tuple[str, str], ...]:
    """Return the checks that cannot look at answers of a case as it was asked, and why."""
    found = dict(new.unevaluable)
    for check in new.checks:
        if check.declarative is not None:
            found.pop(check.check_id, None)
            reason = hindrance(check, new.folder, has_workspace=was.has_workspace)
            if reason is not None:
                found[check.check_id] = reason
    return tuple(found.items())


def _evaluation(
    request: CheckRequest, config: RunConfig, working_dir: Path
) -> tuple[RunEvaluation | None, tuple[str, ...]]:
    """Return the profile that is named, else the run's own as this project has it; and a note."""
    stored, named = config.evaluation, request.evaluation_profile
    if named is not None:
        limits = DEFAULT_SANDBOX.limits if config.sandbox is None else config.sandbox.limits
        hosts = load_project_file(working_dir).allowed_hosts
        found = load_evaluation_profile(named, working_dir, allowed_hosts=hosts)
        return evaluation_of(found, limits if stored is None else stored.limits), ()
    if stored is None:
        return None, ()
    here = evaluation_of(of_project(stored, working_dir), stored.limits)
    if here is None:
        name = stored.evaluation_profile_id
        what = f"evaluation profile `{name}` of the run is not in this project: hooks stay off"
        return None, (f"{what}; --evaluation-profile names one",)
    return here, ()


def _cases_of(
    request: StoredRequest, run_dir: Path, config: RunConfig, working_dir: Path
) -> Mapping[str, LoadedCase]:
    reference = request.suite or config.suite_path
    if request.suite is None and _is_below(working_dir / reference, run_dir.parent):
        what = f"the suite of the run lies among the runs, at {reference}"
        advice = "a run folder may be somebody else's and permits nothing; --suite names a suite"
        raise ConfigError([Problem(None, what, "--suite", advice=advice)])
    try:
        source = read_yaml(resolve(reference, "suite", working_dir))
    except ConfigError as exc:
        if request.suite is not None:
            raise
        advice = "--suite names the suite whose checks are to be made"
        what = f"the suite of the run is not at {reference}, as seen from {working_dir}"
        raise ConfigError([Problem(None, what, "--suite", advice=advice)]) from exc
    taken = suite_cases(parse(Suite, source), source, find_cases)
    if taken.problems:
        raise ConfigError(taken.problems)
    return {case.case_id: case for case in taken.cases}


def _is_below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def require_known(flag: str, named: tuple[str, ...], known: Collection[str]) -> None:
    """Raise ConfigError where something is named that is not known."""
    problems = [
        Problem(
            None,
            f"{flag}: the run has no such one",
            found=f"`{name}`",
            allowed=", ".join(sorted(known)[:MAX_LISTED]),
            nearest=nearest(name, list(known)),
        )
        for name in named
        if name not in known
    ]
    if problems:
        raise ConfigError(problems)


def noted(case_ids: list[str], what: str) -> Iterator[str]:
    """Yield one note about some cases, if there are any."""
    if case_ids:
        more = f" and {len(case_ids) - 3} more" if len(case_ids) > 3 else ""
        yield f"case {', '.join(f'`{one}`' for one in case_ids[:3])}{more}: {what}"
