"""What a run is executed from: the same for a new run and for one that goes on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from collect.config import LoadedCase, ResolvedModel, RunInputs
from collect.config.embedded import read_beside
from collect.config.unsupported import reserved
from collect.plan.plan import PlanSize, planned_sizes, sizes_of, trial_of
from collect.run_folder.stored_inputs import CASES_FILE, models_of, read_cases, verify_stored
from schemas.config.prices import Price
from schemas.config.project import Thresholds
from schemas.config.run_profile import ExecutionPolicy
from schemas.errors import NotResumable
from schemas.run.config import load_run_config


@dataclass(frozen=True, slots=True)
class Job:
    """One run's models, cases and rules; its trials are in plan.jsonl."""

    run_id: str
    models: tuple[ResolvedModel, ...]
    cases: Mapping[str, LoadedCase]
    policy: ExecutionPolicy
    sizes: Mapping[str, PlanSize]
    """Of each model's part of the plan."""
    thresholds: Thresholds
    warnings: tuple[str, ...] = ()
    max_cost_usd: float | None = None
    reuse: bool = False
    """Answers of earlier runs are taken over before anything is asked."""
    again: str = ""
    """The command that starts a new run and takes over what is the same; of a stored job."""

    @property
    def n_planned(self) -> int:
        """Trials of the plan."""
        return sum(size.n_planned for size in self.sizes.values())


def job_of(
    inputs: RunInputs, run_id: str, max_cost_usd: float | None, *, reuse: bool = False
) -> Job:
    """Return a new run's job."""
    return Job(
        run_id=run_id,
        models=inputs.models,
        cases={case.case_id: case for case in inputs.cases},
        policy=inputs.profile.execution_policy,
        sizes=planned_sizes(inputs),
        thresholds=inputs.project.thresholds,
        warnings=inputs.warnings,
        max_cost_usd=max_cost_usd,
        reuse=reuse,
    )


def stored_job(run_dir: Path, max_cost_usd: float | None, assumed: Price | None = None) -> Job:
    """Return the job of a run as its folder has it, to be gone on with.

    Args:
        run_dir: the run's folder.
        max_cost_usd: what the whole run may cost, its earlier part included; None: as before.
        assumed: the price of models that have none.

    Raises:
        NotResumable: the folder does not hold what the run was made from.
    """
    try:
        return _stored_job(run_dir, max_cost_usd, assumed)
    except (OSError, ValueError) as exc:  # pydantic's are ValueErrors
        why = f"config.json or plan.jsonl is missing or damaged ({type(exc).__name__})"
        raise NotResumable(
            run_dir, f"{why}; a new run with --reuse takes over its answers"
        ) from exc


def _stored_job(run_dir: Path, max_cost_usd: float | None, assumed: Price | None) -> Job:
    config = load_run_config(run_dir / "config.json")
    cases = read_cases(run_dir / CASES_FILE)
    for case in cases.values():
        if case.checks and case.folder is not None and not case.folder.is_dir():
            why = f"the folder of case `{case.case_id}` is not at {case.folder}"
            raise NotResumable(run_dir, f"{why}; move the run back, or start one with --reuse")
    models = tuple(
        model if model.price else replace(model, price=assumed)
        for model in read_beside(models_of(config), run_dir)
    )
    for model in config.models:
        for option, reason in reserved(model.request_options).items():
            why = f"request option `{option}` of model `{model.model_id}` {reason}"
            raise NotResumable(run_dir, f"{why}; take it out and start a new run")
    suite, profile = config.suite_path, config.run_profile_path
    again = shlex.join(["collect", "run", "--suite", suite, "--run-profile", profile, "--reuse"])
    verify_stored(run_dir, models, cases, again)
    with (run_dir / "plan.jsonl").open("rb") as plan:
        sizes = sizes_of(map(trial_of, plan))
    return Job(
        run_id=config.run_id,
        models=models,
        cases=cases,
        policy=config.execution_policy,
        sizes=sizes,
        thresholds=config.thresholds,
        max_cost_usd=config.max_cost_usd if max_cost_usd is None else max_cost_usd,
        reuse=config.reuse,
        again=again,
    )
