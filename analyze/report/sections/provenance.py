"""Where the numbers of a report come from: machine, versions, models, files, and how to go on."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from analyze.comparison.evidence.outcomes import RunFacts, read_facts
from analyze.report.sections import ReportContext
from analyze.report.sections.answer import config_of_run
from analyze.summary.summarize import read_inventory
from schemas.errors import runs_flag
from schemas.output.report import ModelProvenance, Provenance
from schemas.output.summary import GroupSummary
from schemas.run.config import RunConfig, RunModel
from schemas.run.inventory import ConfigCommit, Inventory


def provenance_of(context: ReportContext) -> Provenance:
    """Return where the numbers of a run come from; what only its folder knows is null without it.

    Raises:
        SchemaError: the run's config is there and cannot be read.
        ViewError: the lake cannot be read.
    """
    config = config_of_run(context.folder)
    inventory = read_inventory(context.folder) if context.folder is not None else None
    commit = inventory.config_commit if inventory else None
    if not isinstance(commit, ConfigCommit):
        commit = None
    return Provenance(
        host=inventory.host if inventory else None,
        versions=_versions(inventory, context.run.asked.benchlake_version),
        models=_models(context, config),
        suite_path=config.suite_path if config else None,
        config_files=dict(sorted(config.config_files.items())) if config else {},
        config_commit=commit.commit if commit else None,
        is_config_dirty=commit.is_dirty if commit else None,
        warnings=config.warnings if config else (),
        limits=context.limits,
        commands=_commands(context),
    )


def _versions(inventory: Inventory | None, benchlake: str | None) -> dict[str, str]:
    """Return versions by name; a command that gave no answer has none."""
    found = {} if benchlake is None else {"benchlake": benchlake}
    if inventory is not None:
        known = {name: text for name, text in inventory.versions.items() if isinstance(text, str)}
        found |= inventory.packages | known
    return dict(sorted(found.items()))


def _models(context: ReportContext, config: RunConfig | None) -> tuple[ModelProvenance, ...]:
    run_id, groups = context.run_id, context.summary.models
    keys = [(run_id, group.model_id) for group in groups]
    facts = read_facts(context.session, [run_id], keys)
    asked_for = {model.model_id: model for model in config.models} if config else {}
    return tuple(_model(group, facts[run_id, group.model_id], asked_for) for group in groups)


def _model(
    group: GroupSummary, facts: RunFacts, asked_for: Mapping[str, RunModel]
) -> ModelProvenance:
    model = asked_for.get(group.model_id)
    return ModelProvenance(
        model_id=group.model_id,
        provider=group.provider,
        model=group.model,
        thinking_level=group.thinking_level,
        base_url=model.base_url if model else None,
        served_models=facts.served_models,
        served_providers=facts.served_providers,
        model_build=model.model_build if model else None,
        harness_version=model.harness_version if model else None,
        routing=", ".join(facts.routing) or (model.routing if model else None),
        settings=_settings(model) if model else {},
    )


def _settings(model: RunModel) -> dict[str, str]:
    """Return what somebody set, as JSON; defaults are not in it."""
    found = {
        name: json.dumps(setting.value)
        for name, setting in model.settings.items()
        if setting.origin != "default"
    }
    if model.request_options:
        found["request_options"] = json.dumps(model.request_options)
    return dict(sorted(found.items()))


def _commands(context: ReportContext) -> tuple[str, ...]:
    """Return what makes this report again, then what goes deeper."""
    base = ",".join(context.baseline)
    where = runs_flag(context.session.runs_dir)[1:]  # `report` takes the folder by itself
    report = ["report", *where, "--run", context.run_id, "--baseline", base or "none"]
    commands = [shlex.join(["analyze", *report]), context.command("show", context.run_id)]
    if base:
        commands.append(context.command("compare", base, context.run_id, "--by", "cell"))
    suite = ["--suite", context.run.asked.suite_id]
    return (*commands, context.command("regressions", *suite), context.command("runs", *suite))
