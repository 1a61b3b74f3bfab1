"""`collect plan`: what a run would do, before anything is sent."""

from __future__ import annotations

import os

import orjson

from collect.config import ResolvedModel, RunInputs
from collect.plan import make_plan
from schemas.trial import PlannedTrial

PREVIEW_RUN_ID = "plan"


def plan_json(inputs: RunInputs) -> str:
    """Return the plan as one JSON object: models with settings and origins, every trial."""
    trials = make_plan(inputs, PREVIEW_RUN_ID)
    return orjson.dumps(
        {
            "suite_id": inputs.suite.suite_id,
            "run_profile_id": inputs.profile.run_profile_id,
            "planned": len(trials),
            "models": [_model_json(model) for model in inputs.models],
            "cases": [case.case_id for case in inputs.cases],
            "repetitions": inputs.profile.execution_policy.run_repetitions,
            "warnings": list(inputs.warnings),
            "trials": [_trial_json(trial) for trial in trials],
        },
        option=orjson.OPT_INDENT_2,
    ).decode()


def _trial_json(trial: PlannedTrial) -> dict[str, object]:
    return trial.model_dump(mode="json", exclude={"run_id", "record_type"})


def _model_json(model: ResolvedModel) -> dict[str, object]:
    return {
        "model_id": model.model_id,
        "provider": model.provider,
        "model": model.model,
        "base_url": model.base_url,
        "thinking_level": model.thinking_level,
        "max_concurrency": model.max_concurrency,
        "api_key_env": model.api_key_env,
        "api_key_present": _key_present(model),
        "settings": {
            name: setting.model_dump(mode="json") for name, setting in model.settings.items()
        },
    }


def _key_present(model: ResolvedModel) -> bool | None:
    return None if model.api_key_env is None else bool(os.environ.get(model.api_key_env))


def plan_text(inputs: RunInputs) -> str:
    """Return the plan for people."""
    policy = inputs.profile.execution_policy
    trials = make_plan(inputs, PREVIEW_RUN_ID)
    lines = [
        f"suite {inputs.suite.suite_id} ({inputs.suite.title})",
        f"run profile {inputs.profile.run_profile_id} ({inputs.profile.title})",
        f"{len(inputs.models)} models x {len(inputs.cases)} cases x "
        f"{policy.run_repetitions} repetitions = {len(trials)} trials, "
        f"up to {policy.max_concurrency} at once",
        "",
    ]
    for model in inputs.models:
        lines += _model_text(model)
    lines += ["", "cases"]
    for case in inputs.cases:
        validator = "-" if case.validator is None else case.validator.type
        own = "".join(f" {name}={value}" for name, value in case.settings.items())
        tools = f" tools: {', '.join(case.expected_tools)}" if case.expected_tools else ""
        lines.append(f"  {case.case_id:<28} {validator:<16}{tools}{own}")
    lines += [f"warning: {warning}" for warning in inputs.warnings]
    return "\n".join(lines)


def _model_text(model: ResolvedModel) -> list[str]:
    key = "no key"
    if model.api_key_env is not None:
        state = "set" if _key_present(model) else "NOT SET"
        key = f"key from {model.api_key_env} ({state})"
    thinking = "" if model.thinking_level is None else f", thinking {model.thinking_level}"
    head = f"model {model.model_id}: {model.model} by {model.provider} at {model.base_url}, {key}"
    settings = [
        f"  {name:<20} {setting.value!s:<10} from {setting.origin}"
        for name, setting in sorted(model.settings.items())
    ]
    return [head + thinking, *settings]
