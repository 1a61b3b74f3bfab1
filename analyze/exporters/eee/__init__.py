"""A run as documents of Every Eval Ever: a model's aggregate, and a row for each of its trials.

A function of the lake and the run's folder: no clock is read. Where the folder is elsewhere, nobody
knows what was asked, and an aggregate stands alone.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from analyze.exporters import Exporter, ExportText, RunExport
from analyze.exporters.eee.aggregate import LIBRARY, Origin, aggregate, files_of, has_scores
from analyze.exporters.eee.model_facts import AskedModel, asked_model, generation_config, model_info
from analyze.exporters.eee.names import Place, model_id_of, places_of
from analyze.exporters.eee.samples import SampleSource, read_scored, samples_of
from analyze.exporters.eee.scores import (
    Scored,
    Scores,
    rate_config,
    result,
    scores_of,
    uncertainty_of,
)
from analyze.exporters.eee.transcript import texts_of
from analyze.exporters.run_trials import import_record
from analyze.query.run_ref import run_folder
from analyze.show.trace_file import cases_of
from analyze.stats.rates import case_rate
from analyze.summary.summarize import read_inventory, summary_of
from schemas.errors import AnalyzeError
from schemas.formats.report_v2_instance import read_time
from schemas.run.config import read_config
from schemas.run.layout import is_planned

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from schemas.formats.report_v2 import EvaluationReport

RUN = """
select suite_title, is_imported, benchlake_version, started_at_ms from stg_runs where run_id = ?
"""

NOTHING = "nothing has a score: no trial has a verdict, and no judge and no other tool gave any"


def _of_run(wanted: RunExport) -> list[ExportText]:
    """Return the files of each chosen model.

    Raises:
        AnalyzeError: none of them has a score.
        SchemaError: the run's config is there and cannot be read.
        ViewError: the lake cannot be read.
    """
    session, run_id = wanted.session, wanted.run_id
    folder = run_folder(session, run_id)
    rows = session.rows(RUN, [run_id])
    title, is_imported, version, started_at_ms = rows[0] if rows else ("", False, None, None)
    config = read_config(folder) if folder is not None and is_planned(folder) else None
    inventory = None if folder is None else read_inventory(folder)
    asked = {
        one.model_id: asked_model(
            one.model_id, (one.provider, one.model, one.thinking_level), config, inventory
        )
        for one in wanted.models
    }
    named = [(model_id, one.name) for model_id, one in asked.items()]
    places = places_of(wanted.models[0].suite_id, named, started_at_ms)
    summaries = {one.model_id: one for one in summary_of(session, run_id, folder).models}
    cases = cases_of(folder, {case.case_id for one in wanted.models for case in one.cases})
    generations = {
        name: generation_config(one, config, _tools(cases)) for name, one in asked.items()
    }
    origin = _origin(run_id, title, folder if is_imported else None, version, is_imported)
    documents, texts = [], []
    for model in wanted.chosen:
        place = places[model.model_id]
        trials = read_scored(session, run_id, model.model_id)
        scored = Scored(session, run_id, model.model_id, place, folder)
        scores = scores_of(scored, summaries.get(model.model_id), len(trials))
        source = SampleSource(
            place=place,
            folder=folder,
            cases=cases,
            is_imported=is_imported,
            sample_ids={case.case_id: case.instance_id for case in model.cases},
            noted=scores.by_trial,
        )
        info = model_info(asked[model.model_id])
        samples, how = samples_of(trials, source), generations[model.model_id]
        document = aggregate(place, origin, info, scores, generation=how, samples=samples)
        documents.append(document)
        texts += files_of(model.model_id, place, document, samples)
    _require_scores(documents)
    return texts


def _tools(cases: Mapping[str, Mapping[str, JsonValue]]) -> tuple[str, ...]:
    """Return the names of all tools that cases offer, sorted."""
    found: set[str] = set()
    for case in cases.values():
        context: Any = case.get("context")
        try:
            found |= {str(name) for name in context["llm_probe"]["tools"]}
        except (LookupError, TypeError):
            continue
    return tuple(sorted(found))


def _origin(
    run_id: str, title: str, folder: Path | None, version: str | None, is_imported: bool
) -> Origin:
    """Return where a run comes from; of an imported one its folder says it."""
    details = {"run_id": run_id}
    if not is_imported:
        return Origin(title, LIBRARY, version, details)
    record = import_record(folder)
    if record is None:
        return Origin(title, "unknown", None, details)
    details |= {
        "source_name": record.source_name,
        "imported_by": f"{LIBRARY} {record.benchlake_version}",
    }
    return Origin(title, record.source_format, None, details)


def _of_report(report: EvaluationReport, _: object) -> list[ExportText]:
    """Return the aggregate of a report, which does not say what was asked and so has no rows.

    Raises:
        AnalyzeError: no instance has a verdict.
    """
    started = read_time(report.start_time)
    if started is not None and started.tzinfo is None:
        started = started.replace(tzinfo=UTC)
    at_ms = None if started is None else int(started.timestamp() * 1000)
    name = report.model_name_or_path
    place = Place(report.dataset, model_id_of(name, ""), at_ms)
    verdicts = [one.resolved for one in report.instances if one.status in {"resolved", "fail"}]
    rate = case_rate([*map(int, verdicts)], [1] * len(verdicts), [None] * len(verdicts))
    scores = Scores()
    if rate.rate is not None:
        uncertainty, more = uncertainty_of(rate.interval, rate.n_trials)
        counts = {
            "n_instances": len(report.instances),
            "n_resolved": rate.n_hits,
            "n_without_verdict": len(report.instances) - rate.n_trials,
        }
        config = rate_config("Resolved among instances with a verdict")
        extra = {"details": texts_of(counts | more), "uncertainty": uncertainty}
        scores.results.append(result(place, "resolved_rate", rate.rate, config, extra))
    unknown = AskedModel("", "", name, None)
    origin = Origin(report.dataset, "unknown", None, {"run_id": report.run_id})
    document = aggregate(place, origin, model_info(unknown), scores)
    _require_scores([document])
    return files_of("", place, document)


def _require_scores(documents: list[dict[str, JsonValue]]) -> None:
    if not has_scores(documents):
        raise AnalyzeError(NOTHING)


EXPORTER = Exporter((".json",), _of_run, _of_report, is_tree=True)
