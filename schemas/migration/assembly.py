"""The report of v2 put together from what was read of an older one."""

from __future__ import annotations

import json
from typing import Any

from schemas.finding import pointer
from schemas.formats.migration.fields import is_number
from schemas.formats.migration.instances import Instances
from schemas.formats.migration.ledger import KEPT, Ledger
from schemas.formats.report_v1 import V1Shape
from schemas.formats.report_v2 import EvaluationReport
from schemas.migration.totals import contradictions, counted
from schemas.report_summary import ReportSummary

KEPT_KEY = "migrated_from"

AMBIGUOUS = "resolve_rate"
"""Stored as a fraction by some and in percent by others; the counts beside it say as much."""


def assembled(
    shape: V1Shape,
    header: dict[str, Any],
    found: Instances,
    fields: dict[str, Any],
    ledger: Ledger,
) -> dict[str, Any]:
    """Return a report of v2 as plain JSON values that share nothing with the older document.

    Args:
        shape: of the older document.
        header: fields of v2 before the instances.
        found: its instances.
        fields: top-level fields without a place in v2.
        ledger: where it is entered that they are kept.
    """
    environment: dict[str, Any] = {}
    if isinstance(given := fields.get("environment"), dict) and KEPT_KEY not in given:
        environment = fields.pop("environment")
        ledger.add("mapped", "/environment", "/environment")
    named = [
        one if one.get("model_name") is not None else one | {"model_name": header["model_name"]}
        for one in found.instances
    ]
    report = EvaluationReport.model_validate(
        header | {"instances": named, "summary": {}, "environment": None}
    )
    _enter(fields, ledger, counted(found.words, len(found.instances)), report.summary)
    kept = {
        "shape": shape,
        "defaulted": [move.target for move in ledger.moves("defaulted")],
        "fields": fields,
        "instances": {key: values for key, values in found.kept.items() if values},
    }
    document = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in report.model_dump().items()
    }
    document["environment"] = json.loads(json.dumps(environment | {KEPT_KEY: kept}))
    return document


def _enter(
    fields: dict[str, Any], ledger: Ledger, right: dict[str, float], summary: ReportSummary
) -> None:
    """Enter every field that is kept, and where its numbers contradict the instances."""
    counts = {name: value for name, value in summary if is_number(value) and name != AMBIGUOUS}
    notes = contradictions(fields, right)
    for key, value in fields.items():
        note = notes.get(key, "")
        if isinstance(value, dict) and key in {"statistics", "summary"}:
            inner = contradictions(value, counts if key == "summary" else right)
            note = "; ".join(f"{name} {sentence}" for name, sentence in inner.items())
        ledger.add("carried", pointer(key), f"{KEPT}/fields{pointer(key)}", note)
