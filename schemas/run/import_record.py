"""Run folders of other tools: those of an earlier one as it wrote them, and those with import.json.

The earlier tool's have a results.jsonl with its 23 fields only (D-A10). The others were made of
another tool's files: the record says where they come from, results.jsonl has lines of ours, and the
unchanged originals are below `source/`; no config.json and no plan.jsonl, since nobody planned it
here. Fields that the other tool did not write are null in its lines: above all `case_hash`, so
comparisons need `--allow case`.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, Field, JsonValue, create_model

from schemas.base import SCHEMA_VERSION, EpochMillis, Positive, Record, Sha256, Slug, read_stored
from schemas.run.layout import IMPORT_FILE, LOG
from schemas.run.result import Result

SOURCE_FOLDER = "source"

N_DOCUMENT_FIELDS = 23
"""Fields of the older tool; the others are ours."""

LATER_FIELDS = {"tool_calls": (), "tool_call_count": 0, "tool_use_success": False}
"""Fields of it that its first version did not write yet."""


class UnfinishedTrial(Record):
    """A trial that the source knows of and has no result for: planned, and missing."""

    model_id: Slug
    case_id: Slug
    repetition: Positive
    provider: str
    model: str
    thinking_level: str | None = None
    prompt_id: str
    prompt_name: str | None = None


VERDICTS = "pass"
"""Name of a headline that is of the verdicts of rows, where no score has that name."""


class Headline(Record):
    """A number that the other tool shows for a run, as its file has it."""

    model_id: Slug
    name: str = Field(
        description="Of the score, as in `scores` of the run's rows; `pass`: of their verdicts."
    )
    metric: str = Field(description="What the tool computes of it, as `accuracy` or `mean`.")
    value: float | None
    stderr: float | None = None
    tag: str | None = Field(
        default=None, description="Of the cases that have this tag; null: of all."
    )
    is_computed: bool = Field(
        default=False, description="By us as the tool would, since its file does not have it."
    )


class ImportRecord(Record):
    """One imported run."""

    schema_version: Positive = SCHEMA_VERSION
    run_id: str
    source_format: Slug = Field(description="Name of the importer.")
    source_name: str = Field(description="Name of the file or folder that was given.")
    source_sha256: Sha256 = Field(description="Of the names and contents of all its files.")
    files: dict[str, Sha256] = Field(description="Of each original, by its path below source/.")
    benchlake_version: str = Field(description="That imported it.")
    suite_id: Slug
    suite_title: str
    started_at_ms: EpochMillis | None = Field(description="By the source's own times.")
    unfinished: tuple[UnfinishedTrial, ...] = ()
    scorable: bool = Field(default=True, description="Trials without a result could have one.")
    headlines: tuple[Headline, ...] = ()
    leftover: dict[str, JsonValue] = Field(
        default_factory=dict, description="What else the source says, for writing it back."
    )


def load_import_record(run_dir: Path) -> ImportRecord:
    """Return the record of an imported run; as `read_stored`."""
    return read_stored(ImportRecord, run_dir / IMPORT_FILE)


def _document_result() -> type[BaseModel]:
    fields: dict[str, Any] = {
        name: (info.annotation, info)
        for name, info in list(Result.model_fields.items())[:N_DOCUMENT_FIELDS]
        if name not in LATER_FIELDS
    }
    for name, default in LATER_FIELDS.items():
        info = Result.model_fields[name]
        fields[name] = (Annotated[info.annotation, info], default)
    return create_model("DocumentResult", __base__=Record, **fields)


DocumentResult = _document_result()


def is_document_line(content: object) -> bool:
    """Return whether a line's content is a record of an earlier tool rather than ours."""
    return (
        isinstance(content, dict)
        and content.get("record_type") in {"result", "event"}
        and "case_id" not in content
        and "schema_version" not in content
    )


def is_imported(run_dir: Path) -> bool:
    """Return whether a folder is another tool's (D-A10), or made of another tool's files."""
    if (run_dir / "plan.jsonl").exists():
        return False
    if (run_dir / IMPORT_FILE).exists():
        return True
    if not (run_dir / LOG).is_file():  # a pipe would be waited for
        return False
    with contextlib.suppress(OSError, ValueError, TypeError):
        if "schema_version" in orjson.loads((run_dir / "config.json").read_bytes()):
            return False
    try:
        with (run_dir / LOG).open("rb") as log:
            for line in log:
                with contextlib.suppress(ValueError):
                    return is_document_line(orjson.loads(line))
    except OSError:
        return False
    return False
