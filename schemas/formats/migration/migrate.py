"""Turns reports of schemas before v2 into v2: nothing is dropped, and no guess is silent.

What has no place in v2 is kept in `environment.migrated_from`. The same document gives the same
report. A document with a mistake gives none: every mistake is told, each with its place.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from schemas.base import Finding, error, pointer
from schemas.errors import NotMigratable, counted, plural
from schemas.formats.migration.functional import (
    contradictions,
    counted_totals,
    functional_of,
    stored_total,
)
from schemas.formats.migration.header import HeaderReader
from schemas.formats.migration.instances import InstanceReader, Instances
from schemas.formats.migration.ledger import KEPT, Ledger, Moved, is_number, mismatch
from schemas.formats.report_v1 import (
    LOOKED_FOR,
    V1Shape,
    entries_of,
    is_old_version,
    is_result,
    is_v2,
    shape_of,
)
from schemas.formats.report_v2 import EvaluationReport, ReportSummary
from schemas.io.json_text import described, excerpt, value_problems

KEPT_KEY = "migrated_from"

AMBIGUOUS = "resolve_rate"
"""Stored as a fraction by some and in percent by others; the counts beside it say as much."""

FUNCTIONAL = "functional_validation"
MAX_EXTRA_DEPTH = 3
"""Levels that a value can lie deeper in the report than in the older document."""

MAX_NAMES = 12
"""Fields that are named of a document that is none of ours."""


def assembled(
    shape: V1Shape, header: dict[str, Any], found: Instances, fields: dict[str, Any], ledger: Ledger
) -> dict[str, Any]:
    """Return a report of v2 as plain JSON values that share nothing with the older document.

    It is entered that the `fields`, which have no place in v2, are kept.
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
    _enter(fields, ledger, counted_totals(found.words, len(found.instances)), report.summary)
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


@dataclass(frozen=True)
class Migration:
    """A report of v2 and the account of what became of the older document."""

    report: dict[str, Any]
    """Plain JSON values: a report of schema v2."""
    shape: V1Shape | Literal["v2"]
    mapped: tuple[Moved, ...] = ()
    defaulted: tuple[Moved, ...] = ()
    """Fields of v2 that the older document does not tell."""
    carried: tuple[Moved, ...] = ()
    """What has no place in v2 and is kept in `environment.migrated_from`."""


def migrate_v1_to_v2(data: Any, now: datetime | None = None) -> dict[str, Any]:
    """Return the report of schema v2 for one of an older schema; a report of v2 stays as it is.

    Args:
        data: parsed JSON: an object, or a list of the results of single tasks.
        now: the start of a report that names no time; without it such a report says 1970.

    Raises:
        NotMigratable: it is none of the known shapes, or has mistakes; carries every one.
    """
    return migration_of(data, now).report


def migration_of(
    data: object, now: datetime | None = None, *, model_name: str | None = None
) -> Migration:
    """Return what `migrate_v1_to_v2` makes of a document, with the account of it.

    Args:
        data: parsed JSON; it is never changed.
        now: as in `migrate_v1_to_v2`.
        model_name: the model, where the report does not name it.

    Raises:
        NotMigratable: it is none of the known shapes, or has mistakes; carries every one.
    """
    if is_v2(data):
        return Migration(data, "v2")  # type: ignore[arg-type] # an object, since it has a version
    shape = shape_of(data)
    if shape is None:
        raise _unrecognised(data)
    findings = _unfit(data)
    if any(one.code == "too_deep" for one in findings):
        raise _refused(findings)
    findings += _contradictory(data, shape)
    base, entries = entries_of(data, shape)
    if not isinstance(entries, list):
        message = f"a list is needed, {described(entries)} stands there"
        raise _refused([*findings, error("wrong_type", base, message)])
    ledger = Ledger()
    fields = dict(data) if isinstance(data, dict) else {}
    fields.pop(base[1:], None)
    functional = functional_of(fields.get(FUNCTIONAL))
    reader = InstanceReader(base, ledger, functional.entries, lenient=shape == "flat")
    found = reader.read(entries)
    if functional.originals:
        ids = found.kept.keys()
        fields[FUNCTIONAL] = [one for key, one in functional.originals.items() if key not in ids]
    head = HeaderReader(fields, ledger)
    header = head.read(shape, found.instances, now, model_name)
    places = {one.pointer for one in findings}
    more = [*head.findings, *functional.findings, *found.findings]
    findings += [one for one in more if one.pointer not in places]
    if findings:
        raise _refused(findings)
    report = assembled(shape, header, found, fields, ledger)
    return Migration(
        report=report,
        shape=shape,
        mapped=ledger.moves("mapped"),
        defaulted=ledger.moves("defaulted"),
        carried=ledger.moves("carried"),
    )


def _unfit(data: object) -> list[Finding]:
    """Return what JSON cannot carry, with the depth that a value has in the report in mind."""
    nested = data
    for _ in range(MAX_EXTRA_DEPTH):
        nested = [nested]
    prefix = "/0" * MAX_EXTRA_DEPTH
    return [
        one.model_copy(update={"pointer": one.pointer.removeprefix(prefix)})
        for one in value_problems(nested)
    ]


def _contradictory(data: Any, shape: V1Shape) -> list[Finding]:
    """Return what makes a document ambiguous: another report than the one that is read."""
    if not isinstance(data, dict):
        return []
    found = []
    if not is_old_version(data):
        message = mismatch(data["schema_version"], "1.0, or none")
        found.append(error("unsupported_version", "/schema_version", message))
    if data.get("instances") and isinstance(data.get("results"), list) and data["results"]:
        message = "`instances` and `results` both hold something; which is the report?"
        found.append(error("ambiguous_shape", "/results", message))
    claimed = max(map(stored_total, (data, data.get("statistics"), data.get("summary"))))
    place, entries = entries_of(data, shape)
    if entries == [] and claimed > 0:
        results = f"{excerpt(claimed)} {plural(claimed, 'result')}"
        message = f"the file counts {results} and holds none of them"
        found.append(error("count_contradicts", place, message))
    return found


def _refused(findings: list[Finding]) -> NotMigratable:
    first, n_more = findings[0], len(findings) - 1
    more = f", and {n_more:,} more mistakes" if n_more > 1 else ", and one more mistake" * n_more
    message = f"{first.pointer or 'the document'}: {first.message}{more}"
    return NotMigratable(f"the report cannot be migrated: {message}", findings)


def _unrecognised(data: object) -> NotMigratable:
    message = f"no report of an older schema; looked for {LOOKED_FOR}; found {_document_text(data)}"
    return NotMigratable(message, [error("not_recognised", "", message)])


def _document_text(data: object) -> str:
    """Return in words what a document is that is no report."""
    if isinstance(data, list):
        return f"a list of {counted(len(data), 'value')}, none of them the result of a task"
    if not isinstance(data, dict):
        return described(data)
    if is_result(data):
        return "the result of one task alone"
    names = ", ".join(excerpt(key) for key in list(data)[:MAX_NAMES])
    more = f" and {len(data) - MAX_NAMES:,} more" if len(data) > MAX_NAMES else ""
    return f"an object with the fields {names}{more}" if names else "an object without a field"
