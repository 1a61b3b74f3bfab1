"""The lake's tables and sealed files: columns, what a file says about itself, where a run is.

`runs/lake/<table>/month=YYYY-MM/<run_id>-<writer>-<seq>.parquet`. A file is written under a
temporary name and renamed when it is whole, so a plain glob never meets half a file. Each names
the stretches of a log that it covers, one a run and batch: the next mirror goes on where
they end. A compaction puts the stretches of several runs into one file.

Lists of values become Arrow columns without a dict for each row. The table `runs` says what a run
was, for whoever has the lake and not its folder. schemas/json/lake.json, every raw table and
column, is made from these tables and the models.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import msgspec
import orjson
import pyarrow as pa
from pydantic import BeforeValidator, Field

from schemas.base import SCHEMA_VERSION, Count, EpochMillis, Record, Usd
from schemas.config.project import Thresholds
from schemas.failures import AvailabilityStatus, Cause, TrialStatus
from schemas.io.arrow import arrow_schema
from schemas.lake.footer import LAYOUT, PREFIX
from schemas.lake.layout import ALIASES, RECORDED, Part
from schemas.run.alias import AliasRow
from schemas.run.config import Narrowed, PlannedTrial, RunConfig
from schemas.run.evaluation import Evaluation, EvaluationColumns
from schemas.run.judgement import JudgeIteration, Judgement
from schemas.run.preference import PairIteration, Preference
from schemas.run.result import OUTPUT_FIELDS, TRIAL_KEY, Event, LakeColumns, Result
from schemas.run.step import Step, StepText

Labels = Annotated[dict[str, str], BeforeValidator(dict)]
"""By model_id; Arrow returns a map as pairs."""

Columns = dict[str, list[Any]]
"""Values by the name of the field, one for each row."""

SCALARS: dict[pa.DataType, str] = {
    pa.string(): "VARCHAR",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
}


class RunRow(Record):
    """One run as its lake knows it; a run that was given other labels has several rows."""

    run_id: str = Field(description="Name of the run's folder.")
    suite_id: str = Field(description="Suite the run was made from; `imported`: by another tool.")
    suite_title: str = Field(description="Title of the suite.")
    started_at_ms: EpochMillis | None = Field(
        description="Wall clock at the run's start; null: an imported run without results."
    )
    run_profile_id: str | None = Field(description="Run profile; null for an imported run.")
    benchlake_version: str | None = Field(description="That made it; null for an imported run.")
    n_planned: Count = Field(description="Trials of the plan.")
    run_group: str | None = Field(description="The same for all shards of one plan.")
    labels: tuple[str, ...] = Field(description="Names that people gave the run.")
    is_imported: bool = Field(description="Made by another tool: no plan, no hashes.")
    is_narrowed: bool = Field(description="Flags made it smaller than its suite.")
    max_cost_usd: Usd | None = Field(description="What the run may cost; null: no limit.")
    evaluation_profile_id: str | None = Field(
        default=None,
        description="Evaluation profile of the run, by which judges have a say in its verdicts; "
        "null: none.",
    )
    judge_hash: str | None = Field(
        default=None,
        description="Of judges, their prompt and aggregation; null: no judge decides a verdict.",
    )
    machine: str | None = Field(
        default=None, description="Cores and memory of the machine that collected; null: not known."
    )
    model_labels: Labels | None = Field(
        default=None,
        description="Names for people, by model_id, of the models that have one; null: not known, "
        "as of an imported run.",
    )
    recorded_at_ms: EpochMillis = Field(
        description="When this row was made; of a run's rows the one with the highest counts."
    )


def machine_of(run_dir: Path) -> str | None:
    """Return `4 cores, 16 GiB`; None when the run's inventory does not say it."""
    try:
        host = json.loads((run_dir / "inventory.json").read_bytes())["host"]
        return f"{host['cpu_count']:d} cores, {host['memory_bytes'] / 2**30:.0f} GiB"
    except (OSError, ValueError, KeyError, TypeError):
        return None


def run_row(config: RunConfig, run_dir: Path) -> RunRow:
    """Return the row of a run of ours, as it was at its start."""
    shared = {name: value for name, value in config if name in RunRow.model_fields}
    return RunRow(
        **shared,
        is_imported=False,
        is_narrowed=config.narrowed != Narrowed(),
        evaluation_profile_id=None
        if config.evaluation is None
        else config.evaluation.evaluation_profile_id,
        machine=machine_of(run_dir),
        model_labels={model.model_id: model.label for model in config.models if model.label},
        recorded_at_ms=config.started_at_ms,
    )


def _nullable(schema: pa.Schema, *names: str) -> pa.Schema:
    """Return the columns, those named nullable: an earlier tool, or file, does not have them."""
    return pa.schema(
        [field.with_nullable(field.nullable or field.name in names) for field in schema]
    )


TABLES: Mapping[str, pa.Schema] = {
    "results": _nullable(arrow_schema(Result, LakeColumns, drop=OUTPUT_FIELDS), "scores"),
    "outputs": arrow_schema(Result, LakeColumns, only=(*TRIAL_KEY, *OUTPUT_FIELDS, "record_no")),
    "events": _nullable(
        arrow_schema(Event, LakeColumns, drop=("output_hash", "supersedes")), "at_ms"
    ),
    "plans": _nullable(
        arrow_schema(PlannedTrial), "case_hash", "run_fingerprint", "fingerprint_parts"
    ),
    "runs": arrow_schema(RunRow),
    "evaluations": arrow_schema(Evaluation, EvaluationColumns),
    "judge_iterations": arrow_schema(JudgeIteration, EvaluationColumns),
    "judgements": arrow_schema(Judgement, EvaluationColumns),
    "pair_iterations": arrow_schema(PairIteration, EvaluationColumns),
    "preferences": arrow_schema(Preference, EvaluationColumns),
    "steps": arrow_schema(Step),
    "step_texts": arrow_schema(StepText),
}
"""Every table of the lake and its columns; `month` comes from the folder's name."""

RECORD_KEY = (*TRIAL_KEY[1:], "record_no")
"""Columns of a run's rows: a trial inside the run, and which record of it."""

TEXT_TABLES = frozenset({"outputs", "step_texts"})
"""Compressed lightly: text is what conversion costs."""


def file_facts(parts: Iterable[Part]) -> dict[str, bytes | str]:
    """Return what a file says about itself in its metadata: its parts flat."""
    stored = [
        {"run_id": part.run_id, **vars(part.coverage), "n_rows": part.n_rows} for part in parts
    ]
    return {
        PREFIX + "schema_version": str(SCHEMA_VERSION),
        PREFIX + "layout": str(LAYOUT),
        PREFIX + "parts": orjson.dumps(stored),
    }


HASH_TABLES = frozenset({"plans", "results"})
"""Most of what they hold are hashes, for which level 1 is 4 % smaller than level 3, and quicker."""


def compression_of(table: str) -> dict[str, Any]:
    """Return how the files of a table are compressed, as arguments of a Parquet writer."""
    is_dense = table in TEXT_TABLES or table in HASH_TABLES
    return {"compression": "zstd", "compression_level": 1 if is_dense else 3}


def arrays_of(columns: Mapping[str, Sequence[Any]], schema: pa.Schema) -> dict[str, pa.Array]:
    """Return the columns that a table has as Arrow arrays, by name."""
    return {name: _array(columns[name], schema.field(name).type) for name in schema.names}


def table_from(arrays: Mapping[str, pa.Array], schema: pa.Schema) -> pa.Table:
    """Return a table of arrays; what else there is is passed over."""
    return pa.Table.from_arrays([arrays[name] for name in schema.names], schema=schema)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    is_plain = not pa.types.is_nested(kind)
    if is_plain and values and values[0] is None and values.count(None) == len(values):
        return pa.nulls(len(values), kind)  # as many columns are, and counting is quick
    if pa.types.is_struct(kind):
        return _struct_array(values, kind)
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type) and any(values):
        # A field that a line left out is no key here, and null in the column: its default.
        return pa.array(msgspec.to_builtins(list(values)), kind)
    return pa.array(values, kind)


def _struct_array(values: Sequence[Any], kind: pa.StructType) -> pa.Array:
    if any(value is None for value in values):
        return pa.array([msgspec.to_builtins(value) for value in values], kind)
    parts = []
    for part in kind:
        found = map(attrgetter(part.name), values)
        inner = [None if value is msgspec.UNSET else value for value in found]
        parts.append(_array(inner, part.type))
    return pa.StructArray.from_arrays(parts, fields=list(kind))


class DecidingProfileRow(Record):
    """A row of `raw_deciding_profiles`: whose judges have a say in the verdicts of a run."""

    run_id: str = Field(description="Run that they have a say in.")
    evaluation_profile_id: str = Field(
        description="Whose judges they are: of the run's own profile, or of the one asked for."
    )
    judge_hash: str | None = Field(
        description="Of judges, their prompt and aggregation; null: a run that they never judged, "
        "or judged before this was kept."
    )


class FailureTypeRow(Record):
    """A row of `raw_failure_types`: what one failure_type means."""

    failure_type: str
    availability_status: AvailabilityStatus
    status: TrialStatus
    cause: Cause
    retryable: bool
    counts_against_model: bool


def lake_document() -> str:
    """Return lake.json: `{table: [{name, type, nullable, description, unit}]}`, as text.

    The columns of `thresholds`, a table of one row without a file, carry their `default` as well.
    """
    schemas = {
        **TABLES,
        RECORDED: TABLES["results"],
        ALIASES: arrow_schema(AliasRow),
        "deciding_profiles": arrow_schema(DecidingProfileRow),
        "thresholds": arrow_schema(Thresholds),
        "failure_types": arrow_schema(FailureTypeRow),
    }
    document = {table: [_column(field) for field in schema] for table, schema in schemas.items()}
    for column in document["thresholds"]:
        column["default"] = Thresholds.model_fields[column["name"]].default
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _column(field: pa.Field) -> dict[str, Any]:
    facts = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    return {
        "name": field.name,
        "type": duckdb_type(field.type),
        "nullable": field.nullable,
        "description": facts.get("description"),
        "unit": facts.get("unit"),
    }


def duckdb_type(kind: pa.DataType) -> str:
    """Return an Arrow type as DuckDB writes it."""
    if pa.types.is_list(kind):
        return f"{duckdb_type(kind.value_type)}[]"
    if pa.types.is_map(kind):
        return f"MAP({duckdb_type(kind.key_type)}, {duckdb_type(kind.item_type)})"
    if pa.types.is_struct(kind):
        parts = ", ".join(f'"{part.name}" {duckdb_type(part.type)}' for part in kind)
        return f"STRUCT({parts})"
    return SCALARS[kind]
