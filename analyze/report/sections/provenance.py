"""Where the numbers of a report come from: machine, versions, models, files, and how to go on."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from analyze.comparison.document import limits_line
from analyze.comparison.evidence.outcomes import RunFacts, read_facts
from analyze.query.thresholds import MAX_HASH_CHARS
from analyze.report.first_screen import run_facts
from analyze.report.sections import ReportContext, Section
from analyze.report.sections.answer import config_of_run
from analyze.report.table import MODEL, Cell, Column, Table, model_settings
from analyze.summary.summarize import read_inventory
from schemas.errors import counted, runs_flag
from schemas.output.report import ModelProvenance, Provenance, RunReport
from schemas.output.summary import GroupSummary
from schemas.run.config import RunConfig, RunModel
from schemas.run.inventory import ConfigCommit, Inventory

MAX_FILES = 20
MAX_BASE_RUNS = 20


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
        versions=_versions(inventory, context.run.row.benchlake_version),
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
    suite = ["--suite", context.run.row.suite_id]
    return (*commands, context.command("regressions", *suite), context.command("runs", *suite))


def served(models: tuple[ModelProvenance, ...]) -> Table | None:
    """Return exactly which model answered; None where nothing is known of any."""
    if not models:
        return None
    columns = (
        MODEL,
        Column("served as", "served_models"),
        Column("upstream", "served_providers"),
        Column("routing", "routing"),
        Column("endpoint", "base_url"),
        Column("build", "model_build"),
        Column("harness", "harness_version"),
        Column("settings that are not defaults", "settings"),
    )
    rows = [_served(one) for one in models]
    return Table("served", "Which model answered", columns, rows)


def _served(one: ModelProvenance) -> list[Cell]:
    build = one.model_build or ""
    return [
        Cell(one.model_id, below=model_settings(one)),
        Cell(", ".join(one.served_models)),
        Cell(", ".join(one.served_providers)),
        Cell(one.routing or ""),
        Cell(one.base_url or "", look="code"),
        Cell(build[:MAX_HASH_CHARS], look="code", note=build),
        Cell(one.harness_version or ""),
        Cell(", ".join(f"{name}={value}" for name, value in one.settings.items()), look="code"),
    ]


def config_files(provenance: Provenance) -> Table | None:
    """Return the files that were read, with the beginning of their sha256; None without one."""
    if not provenance.config_files:
        return None
    columns = (Column("file", "path"), Column("sha256", "sha256"))
    rows = [
        [Cell(path), Cell(digest[:MAX_HASH_CHARS], look="code")]
        for path, digest in list(provenance.config_files.items())[:MAX_FILES]
    ]
    n_more = len(provenance.config_files) - MAX_FILES
    more = f"{counted(n_more, 'more file')}, in config.json." if n_more > 0 else ""
    return Table("files", "Files that were read", columns, rows, more)


def _parts(report: RunReport) -> dict[str, object]:
    found = report.provenance
    return {
        "run": run_facts(report.run),
        "baseline": [run_facts(run) for run in report.baseline[:MAX_BASE_RUNS]],
        "found": found,
        "limits": limits_line(found.limits),
        "served": served(found.models),
        "files": config_files(found),
    }


PROVENANCE = Section("Provenance", show=_parts, read=provenance_of)
