"""Files of evaluation reports v2: read strictly, written whole, and never half of one.

A report comes as a record, or as the parsed JSON of its file; what is no report is refused with
what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from os.path import lexists
from pathlib import Path

from schemas.base import is_valid
from schemas.errors import (
    AnalyzeError,
    ConfigError,
    NotOurFile,
    Problem,
    SchemaError,
    counted,
    display_path,
    printable,
)
from schemas.formats.report_v2 import EvaluationReport, report_json
from schemas.formats.report_v2_problems import schema_problems
from schemas.io.files import write_whole
from schemas.io.json_text import read_json_text

JSON_FILE = "report.json"
MARKDOWN_FILE = "summary.md"

MAX_NAMED_PROBLEMS = 20
"""Problems that a message names; `analyze validate` has all of them."""


def given_report(report: object) -> EvaluationReport:
    """Return a report as a record, with what is absent and follows filled in.

    Raises:
        SchemaError: it is no valid report of schema 2.0; names what is wrong, and where. No
            number is shown of a report that contradicts itself.
    """
    if isinstance(report, EvaluationReport):
        return report
    errors = [one for one in schema_problems(report) if one.severity == "error"]
    if errors:
        lines = [f"{one.pointer or '/'}: {one.message}" for one in errors[:MAX_NAMED_PROBLEMS]]
        if (more := len(errors) - MAX_NAMED_PROBLEMS) > 0:
            lines.append(f"and {counted(more, 'more error')}")
        lines.append(
            "so this is no valid evaluation report of schema 2.0; `analyze validate FILE` tells "
            "every problem, and `analyze migrate FILE -o OUT` makes such a report of an older one"
        )
        raise SchemaError("\n".join(map(printable, lines)))
    return EvaluationReport.model_validate(report)


def read_report(path: Path) -> EvaluationReport:
    """Return the report that a file holds.

    Raises:
        SchemaError: it is no report of schema 2.0; names what is wrong, and where.
        AnalyzeError: the file cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as exc:
        message = f"{display_path(path)}: cannot be read ({exc.strerror})"
        raise AnalyzeError(message) from exc
    value, findings = read_json_text(content)
    if not is_valid(findings):
        raise SchemaError("\n".join(f"{display_path(path)}: {one.message}" for one in findings))
    try:
        return given_report(value)
    except SchemaError as exc:
        raise SchemaError(
            "\n".join(f"{display_path(path)}: {line}" for line in str(exc).split("\n"))
        ) from exc


def report_text(report: EvaluationReport) -> str:
    """Return the text of report.json.

    Raises:
        SchemaError: a field that we do not know holds what JSON cannot.
    """
    try:
        return report_json(report)
    except (TypeError, ValueError, RecursionError) as exc:
        message = f"the report cannot be written as JSON: {exc}"
        raise SchemaError(message) from exc


def write_texts(texts: Mapping[Path, str | bytes], *, replace: bool) -> None:
    """Write every file, each whole or not at all.

    Args:
        texts: by path.
        replace: also those that are there.

    Raises:
        ConfigError: a link, a pipe, a device or a folder is there, and nobody's to replace;
            nothing was written.
        NotOurFile: a file is there; nothing was written.
        AnalyzeError: one cannot be written.
    """
    there = [path for path in texts if lexists(path)]
    others = [path for path in there if path.is_symlink() or not path.is_file()]
    if others:
        what = "is there and is no regular file; name another place"
        raise ConfigError([Problem(path, what) for path in others])
    if there and not replace:
        raise NotOurFile(there[0], "left as it is")
    for path, text in texts.items():
        try:
            write_whole(path, text.encode() if isinstance(text, str) else text)
        except OSError as exc:
            message = f"{display_path(path)}: cannot be written ({exc.strerror})"
            raise AnalyzeError(message) from exc
