"""import.json: where a run folder comes from that was made of another tool's files.

Such a folder has this record, results.jsonl with lines of ours, and the unchanged originals below
`source/`; no config.json and no plan.jsonl, since nobody planned it here. Fields that the other
tool did not write are null in its lines: above all `case_hash`, so comparisons need `--allow case`.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, JsonValue

from schemas.base import SCHEMA_VERSION, EpochMillis, Positive, Record, Sha256, Slug, read_stored
from schemas.run.layout import IMPORT_FILE

SOURCE_FOLDER = "source"


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
    leftover: dict[str, JsonValue] = Field(
        default_factory=dict, description="What else the source says, for writing it back."
    )


def load_import_record(run_dir: Path) -> ImportRecord:
    """Return the record of an imported run; as `read_stored`."""
    return read_stored(ImportRecord, run_dir / IMPORT_FILE)
