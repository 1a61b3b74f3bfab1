"""What is wrong with a file that holds one JSON document, by its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from analyze.validate.kinds import kind_of, unknown_kind
from schemas.base import DocumentKind, Finding, error, warning
from schemas.errors import NotMigratable
from schemas.io.json_text import BOM, read_json_text

Problems = Callable[[Any, bytes], Iterable[Finding]]


def document_problems(content: bytes) -> tuple[DocumentKind, tuple[Finding, ...]]:
    """Return the kind of a document, and every problem of it.

    Args:
        content: of the whole file.
    """
    value, told = read_json_text(content)
    if value is None and told:
        first, wrong = read_json_text(content.partition(b"\n")[0])
        is_other = isinstance(first, dict) and not wrong and kind_of(first) == "unknown"
        return "unknown", (unknown_kind(first, line=1),) if is_other else told
    kind = kind_of(value)
    if kind not in BY_KIND:
        return "unknown", (*told, unknown_kind(value))
    return kind, (*told, *BY_KIND[kind](value, content.removeprefix(BOM)))


def _report(value: object, _: bytes) -> Iterable[Finding]:
    from schemas.formats.report_v2_problems import schema_problems  # noqa: PLC0415 - not for every kind

    return schema_problems(value)


def _earlier_report(value: object, _: bytes) -> Iterable[Finding]:
    from schemas.formats.migration.migrate import migration_of  # noqa: PLC0415 - not for every kind

    try:
        migration_of(value)
    except NotMigratable as exc:
        findings = [one for one in exc.findings if isinstance(one, Finding)]
        return findings or (error("not_migratable", "", str(exc)),)
    message = "a report of an earlier schema; `analyze migrate FILE -o OUT` makes it one of today"
    return (warning("migrate", "", message),)


def _swebench(value: object, _: bytes) -> Iterable[Finding]:
    from schemas.formats.swebench_problems import swebench_problems  # noqa: PLC0415 - not for every kind

    return swebench_problems(value)


def _prediction_list(value: object, _: bytes) -> Iterable[Finding]:
    from schemas.formats.swebench_problems import prediction_problems  # noqa: PLC0415 - same

    return prediction_problems(value)


def _summary(value: dict[str, Any], text: bytes) -> Iterable[Finding]:
    from analyze.validate.run_summary import summary_problems  # noqa: PLC0415 - same

    return summary_problems(value, text)


BY_KIND: dict[DocumentKind, Problems] = {
    "report-v2": _report,
    "report-v1": _earlier_report,
    "swebench": _swebench,
    "predictions": _prediction_list,
    "summary": _summary,
}
"""Who knows what is wrong with a document of each kind; all others are files of lines."""
