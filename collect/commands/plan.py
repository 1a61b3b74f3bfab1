"""`collect plan`: what a run would do, before anything is sent to a model."""

from __future__ import annotations

import asyncio
import math
import os
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from collect.config import ResolvedModel, RunInputs
from collect.config.evaluation import hooked
from collect.config.tools import needs_sandbox
from collect.execute.evaluation import evaluation_of, with_judge_prices
from collect.inventory.model_builds import look_up, with_builds
from collect.plan import previous_runs
from collect.plan.changes import PlanChanges, changes_since, earlier_plan
from collect.plan.estimate import ModelEstimate, estimate
from collect.plan.plan import make_plan, sizes_of
from collect.sandbox.base import UNLOCKED
from schemas.config.project import LoadedProject
from schemas.errors import counted, printable
from schemas.errors import display_path as shown_path
from schemas.run.config import Narrowed, PlannedTrial
from schemas.run.model_names import ModelNames, with_id, with_names

if TYPE_CHECKING:
    from analyze.stats.power.planning import PowerPlan
    from collect.judges.estimate import JudgeEstimate

PREVIEW_RUN_ID = "plan"

ESTIMATED = (
    *("model_id", "input_tokens", "output_tokens_low", "output_tokens_high"),
    *("cost_low_nano_usd", "cost_high_nano_usd"),
)
"""What is printed of an estimate."""

ASKED = (
    *("model_id", "provider", "model", "base_url", "model_build", "harness_version"),
    *("thinking_level", "routing"),
)
"""What is printed of a model as it stands."""


@dataclass(frozen=True)
class Preview:
    """A plan and all that can be said of it before anything is sent to a model."""

    inputs: RunInputs
    trials: tuple[PlannedTrial, ...]
    estimates: tuple[ModelEstimate, ...]
    changes: PlanChanges
    powers: tuple[PowerPlan, ...]
    """What it can show of each model."""
    judges: tuple[JudgeEstimate, ...] = ()
    """What its judges may cost."""


def preview(inputs: RunInputs, runs_dir: Path) -> Preview:
    """Return the plan with its estimates and what is new since the last run of the suite.

    Servers and CLIs are asked which build of a model they have, as a run asks; no model is.
    """
    inputs = with_builds(inputs, asyncio.run(look_up(inputs.models)))
    trials = make_plan(inputs, PREVIEW_RUN_ID)
    news = changes_since(earlier_plan(runs_dir, inputs.suite.suite_id), trials)
    if inputs.narrowed != Narrowed():
        news = replace(news, removed=())  # left out by a flag, not gone from the suite
    today = datetime.now(tz=UTC).date()
    warnings = (*inputs.warnings, *_tight_limits(inputs, runs_dir, news.since))
    inputs = replace(inputs, warnings=warnings)
    history = previous_runs.tokens_seen(runs_dir / news.since, trials) if news.since else None
    estimates = estimate(inputs, trials, inputs.project.prices, on_date=today, history=history)
    sizes = sizes_of(trials)
    runs = previous_runs.previous_outcomes(runs_dir, inputs.suite.suite_id, sizes)
    powers = previous_runs.powers_of(sizes, runs, inputs.project.thresholds)
    judges = _judges(inputs, trials, today)
    return Preview(inputs, trials, estimates, news, powers, judges)


def _judges(
    inputs: RunInputs, trials: tuple[PlannedTrial, ...], today: date
) -> tuple[JudgeEstimate, ...]:
    """Return what the judges of a run may cost; nothing where there are none."""
    found = inputs.evaluation
    if found is None or not found.has_judges:
        return ()
    from collect.judges.estimate import estimate_judges  # noqa: PLC0415 - few runs have judges

    priced = with_judge_prices(found, inputs.project.prices, None, today)
    return estimate_judges(priced, inputs.cases, trials)


def _tight_limits(inputs: RunInputs, runs_dir: Path, since: str | None) -> list[str]:
    """Warn where the last run's p95 is above half of a model's time limit (D-E6)."""
    if since is None:
        return []
    try:
        groups = orjson.loads((runs_dir / since / "summary.json").read_bytes())["models"]
        slow = {group["model_id"]: _p95_of(group["latency_ms"]) for group in groups}
    except (OSError, ValueError, KeyError, TypeError):
        return []
    warnings = []
    for model in inputs.models:
        limit = model.settings["timeout_seconds"].value
        p95 = slow.get(model.model_id, 0.0)
        if isinstance(limit, int | float) and p95 > 500 * limit:
            was = f"{p95 / 1000:.1f} s"
            above = "more than half of"
            if math.isinf(p95):
                was, above = "beyond the time limit", "now"
            warnings.append(
                f"model `{model.model_id}`: p95 was {was} in run {since}, {above} "
                f"timeout_seconds {limit:g}: expect time-outs, or raise it"
            )
    return warnings


def _p95_of(latency: dict[str, Any]) -> float:
    """Return the p95 in ms; infinity where so many trials timed out that it lies among them."""
    return math.inf if "p95" in latency.get("beyond_limit", ()) else latency["p95"] or 0.0


def plan_json(shown: Preview) -> str:
    """Return the plan as one JSON object: models with settings and origins, every trial."""
    inputs, project = shown.inputs, shown.inputs.project
    return orjson.dumps(
        {
            "suite_id": inputs.suite.suite_id,
            "run_profile_id": inputs.profile.run_profile_id,
            "project_file": None if project.path is None else str(project.path),
            "project_file_sha256": project.sha256,
            "planned": len(shown.trials),
            "models": [_model_json(model) for model in inputs.models],
            "cases": [case.case_id for case in inputs.cases],
            "repetitions": inputs.profile.execution_policy.run_repetitions,
            "sandbox": _sandbox_json(inputs),
            "evaluation": _evaluation_json(inputs),
            "warnings": list(inputs.warnings),
            "estimates": [
                {name: getattr(one, name) for name in ESTIMATED} for one in shown.estimates
            ],
            "judge_estimates": [asdict(one) for one in shown.judges],
            "smallest_detectable_drop": previous_runs.detectable_drop(shown.powers),
            "power": previous_runs.powers_json(shown.powers),
            "since_run_id": shown.changes.since,
            "gone": [list(key) for key in shown.changes.removed],
            "trials": [
                trial.model_dump(mode="json", exclude={"run_id", "record_type"})
                | {"news": news.kind, "why": list(news.reasons)}
                for trial, news in zip(shown.trials, shown.changes.trials, strict=True)
            ],
        },
        option=orjson.OPT_INDENT_2,
    ).decode()


def _sandbox_json(inputs: RunInputs) -> dict[str, object] | None:
    """Return where commands would be locked in, and for which cases; None: nothing needs it."""
    if inputs.sandbox is None:
        return None
    cases = [case.case_id for case in inputs.cases if needs_sandbox(case)]
    return {
        **inputs.sandbox.model_dump(mode="json"),
        "version": inputs.sandbox_version,
        "cases": cases,
    }


def _sandbox_text(inputs: RunInputs) -> list[str]:
    if (sandbox := inputs.sandbox) is None:
        return []
    n_cases = sum(map(needs_sandbox, inputs.cases))
    used_for = f"for the tools of {counted(n_cases, 'case')}"
    if sandbox.backend == UNLOCKED:
        return [f"NO SANDBOX: commands of a model run on this machine, {used_for}"]
    limits = sandbox.limits
    inside = "" if sandbox.image is None else f" in {sandbox.image}"
    return [
        f"sandbox {inputs.sandbox_version}{inside} holds here, {used_for}: a command has "
        f"{limits.command_seconds:,} s, {limits.memory_mb:,} MB of memory, "
        f"{counted(limits.processes, 'process', 'processes')}"
    ]


def _evaluation_json(inputs: RunInputs) -> dict[str, object] | None:
    """Return the evaluation profile, and the cases whose hooks it lets run; None: there is none."""
    if (evaluation := evaluation_of(inputs.evaluation, inputs.profile.sandbox.limits)) is None:
        return None
    cases = [case.case_id for case in hooked(inputs.cases)]
    return {**evaluation.model_dump(mode="json"), "hooked_cases": cases}


def _evaluation_text(inputs: RunInputs) -> list[str]:
    if (evaluation := evaluation_of(inputs.evaluation, inputs.profile.sandbox.limits)) is None:
        return []
    policy = evaluation.security_policy
    n_hooked = len(hooked(inputs.cases))
    hooks = "no hook runs"
    if n_hooked:
        network = "with" if policy.network_access == "allow" else "without"
        hooks = f"hooks of {counted(n_hooked, 'case')} run in a sandbox {network} network"
    redacts = "secrets" if policy.redact_secrets else "the values of our own keys only"
    return [f"evaluation profile {evaluation.evaluation_profile_id}: {hooks}; {redacts} redacted"]


def _model_json(model: ResolvedModel) -> dict[str, object]:
    return {
        **{name: getattr(model, name) for name in ASKED},
        "not_applied": list(model.not_applied),
        "embedded": None if model.embedded is None else model.embedded.model_dump(mode="json"),
        "max_concurrency": model.max_concurrency,
        "api_key_env": model.api_key_env,
        "api_key_present": _key_present(model),
        "settings": {
            name: setting.model_dump(mode="json") for name, setting in model.settings.items()
        },
    }


def _key_present(model: ResolvedModel) -> bool | None:
    return None if model.api_key_env is None else bool(os.environ.get(model.api_key_env))


def plan_text(shown: Preview) -> str:
    """Return the plan for people."""
    inputs, names = shown.inputs, ModelNames.of_models(shown.inputs.models)
    policy = inputs.profile.execution_policy
    lines = [
        f"suite {inputs.suite.suite_id} ({inputs.suite.title})",
        f"run profile {inputs.profile.run_profile_id} ({inputs.profile.title})",
        f"{counted(len(inputs.models), 'model')} x {counted(len(inputs.cases), 'case')} x "
        f"{counted(policy.run_repetitions, 'repetition')}: "
        f"{counted(len(shown.trials), 'trial')}, "
        f"up to {policy.max_concurrency} at once",
        _project_text(inputs.project),
        *_sandbox_text(inputs),
        *_evaluation_text(inputs),
        "",
    ]
    for model in inputs.models:
        lines += _model_text(model, names)
        lines += [_estimate_text(one) for one in shown.estimates if one.model_id == model.model_id]
    lines += [one.text for one in shown.judges]
    lines += ["", "cases"]
    for case in inputs.cases:
        validator = "-" if case.validator is None else case.validator.type
        own = "".join(f" {name}={value}" for name, value in case.settings.items())
        tools = f" tools: {', '.join(case.expected_tools)}" if case.expected_tools else ""
        if offered := case.context.llm_probe.tools:
            tools += f" offers: {', '.join(offered)}"
        lines.append(f"  {case.case_id:<28} {validator:<16}{tools}{own}")
    lines += [
        "",
        *_news_text(shown.changes, names),
        "",
        *previous_runs.powers_text(with_names(shown.powers, names), inputs.project.thresholds),
    ]
    lines += [f"warning: {warning}" for warning in inputs.warnings]
    return "\n".join(printable(line) for line in lines)


def _project_text(project: LoadedProject) -> str:
    if project.path is None:
        return "no benchlake.yaml: packaged thresholds and prices"
    hosts = (
        f", may send keys to {', '.join(project.allowed_hosts)}" if project.allowed_hosts else ""
    )
    return f"project file {shown_path(project.path)} ({(project.sha256 or '')[:12]}){hosts}"


def _estimate_text(one: ModelEstimate) -> str:
    sent = "unknown" if one.input_tokens is None else f"about {one.input_tokens:,}"
    high = "no limit" if one.output_tokens_high is None else f"{one.output_tokens_high:,}"
    return f"  tokens in {sent}, out at most {high}; {one.cost_text}"


MAX_SHOWN_TRIALS = 20
"""Single trials named in the text; `--json` has them all."""


def _news_text(news: PlanChanges, names: ModelNames) -> list[str]:
    """Return what is new since the last run, and why, trial by trial where something changed."""
    if news.since is None:
        return ["no earlier run of this suite: every trial is new"]
    changed = [one for one in news.trials if one.kind != "same"]
    lines = [f"since run {news.since}: {news.summary()}"]
    for one in changed[:MAX_SHOWN_TRIALS]:
        model_id, case_id, repetition = one.key
        what = f"{names.of(model_id)} {case_id} {repetition}"
        lines.append(f"  {one.kind}: {what} ({', '.join(one.reasons)})")
    if len(changed) > MAX_SHOWN_TRIALS:
        lines.append(f"  and {len(changed) - MAX_SHOWN_TRIALS} more; --json names them all")
    return lines


def _model_text(model: ResolvedModel, names: ModelNames) -> list[str]:
    key = "no key"
    if model.api_key_env is not None:
        missing = "NOT SET" if model.key_required else "not set, not needed here"
        state = "set" if _key_present(model) else missing
        key = f"key from {model.api_key_env} ({state})"
    thinking = "" if model.thinking_level is None else f", thinking {model.thinking_level}"
    routing = "" if model.routing is None else f", routing {model.routing}"
    where = f"at {model.base_url}, {key}"
    if (served := model.embedded) is not None:
        threads = counted(served.threads, "thread")
        where = f"served by the run, {threads}, {served.context_tokens:,} tokens of context"
    head = f"model {with_id(names.of(model.model_id))}: {model.model} by {model.provider} {where}"
    settings = [
        f"  {name:<20} {setting.value!s:<10} from {setting.origin}"
        for name, setting in sorted(model.settings.items())
    ]
    left = [f"  {name:<20} not applied" for name in model.not_applied]
    return [head + thinking + routing, *settings, *left]
