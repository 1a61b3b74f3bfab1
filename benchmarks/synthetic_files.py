"""Writes synthetic rows to disk: as the monthly files of a lake, or as the logs of a collector."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from synthetic_rows import Shape, digest, served_name, thinking_level, transport

from schemas.config.run_profile import ExecutionPolicy
from schemas.lake.layout import Coverage, Part
from schemas.lake.rewrite import MAX_GROUP_ROWS
from schemas.lake.rows.tables import TABLES, compression_of, file_facts
from schemas.run.config import PlannedTrial, RunConfig, RunModel
from schemas.run.result import Result

PLAN_DEFAULTS = {
    name: field.default
    for name, field in PlannedTrial.model_fields.items()
    if not field.is_required()
}

Block = Mapping[str, pa.Table]


@dataclass(frozen=True)
class Month:
    """The runs that began in one month, and their tables in blocks of some."""

    name: str
    runs: Sequence[int]
    blocks: Iterable[Block]


def write_lake(lake: Path, shape: Shape, months: Iterable[Month]) -> None:
    """Write one file per table and month, as compaction leaves them."""
    for month in months:
        writers: dict[str, pq.ParquetWriter] = {}
        try:
            for block in month.blocks:
                for name, table in block.items():
                    if name not in writers:
                        writers[name] = _writer(lake, name, shape, month)
                    writers[name].write_table(table, row_group_size=MAX_GROUP_ROWS)
        finally:
            for writer in writers.values():
                writer.close()


def _writer(lake: Path, name: str, shape: Shape, month: Month) -> pq.ParquetWriter:
    folder = lake / name / f"month={month.name}"
    folder.mkdir(parents=True)
    n = 1 if name == "runs" else shape.rows_per_run
    covered = Coverage(0, n, 0, n)
    parts = [Part(shape.run_id(run), covered, n) for run in month.runs]
    schema = TABLES[name].with_metadata(file_facts(parts))
    path = folder / f"synthetic-{digest(name, month.name)[:12]}-000001.parquet"
    return pq.ParquetWriter(path, schema, **compression_of(name))


def write_logs(runs_dir: Path, shape: Shape, months: Iterable[Month]) -> None:
    """Write config.json, plan.jsonl and results.jsonl of every run."""
    config = _config(shape)
    for month in months:
        for block in month.blocks:
            for number, run in enumerate(block["runs"].to_pylist()):
                part = number * shape.rows_per_run, shape.rows_per_run
                results = _lines_of_results(block, part)
                plans = _lines_of_plan(block["plans"].slice(*part))
                _write_run(runs_dir, config | _begun(run), results, plans)


def _write_run(
    runs_dir: Path,
    config: dict[str, Any],
    results: list[dict[str, Any]],
    plans: Iterator[dict[str, Any]],
) -> None:
    folder = runs_dir / config["run_id"]
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(orjson.dumps(config, option=orjson.OPT_INDENT_2))
    for name, lines in (("plan.jsonl", plans), ("results.jsonl", results)):
        raw = b"".join(orjson.dumps(line) + b"\n" for line in lines)
        (folder / name).write_bytes(raw)
    at_s = results[-1]["ended_at_ms"] / 1000
    os.utime(folder / "results.jsonl", (at_s, at_s))


def _begun(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what config.json says of one run alone."""
    return {name: run[name] for name in ("run_id", "started_at_ms", "labels")}


def _lines_of_results(block: Block, part: tuple[int, int]) -> list[dict[str, Any]]:
    rows = block["results"].slice(*part).to_pylist()
    texts = block["outputs"].slice(*part).to_pylist()
    names = Result.model_fields
    return [
        {name: row[name] if name in row else text[name] for name in names}
        for row, text in zip(rows, texts, strict=True)
    ]


def _lines_of_plan(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the lines as a collector writes them: without what has its default."""
    for row in table.to_pylist():
        parts = {name: value for name, value in row["fingerprint_parts"].items() if value}
        kept = {
            name: value
            for name, value in row.items()
            if name not in PLAN_DEFAULTS or not _is_default(value, PLAN_DEFAULTS[name])
        }
        yield {"record_type": "trial"} | kept | {"fingerprint_parts": parts}


def _is_default(value: object, default: object) -> bool:
    return (tuple(value) if isinstance(value, list) else value) == default


def _config(shape: Shape) -> dict[str, Any]:
    """Return a config.json that fits every run but for its name and its start."""
    models = tuple(
        RunModel(
            model_id=shape.model_id(number),
            label=None,
            provider=transport(number),
            model=served_name(number),
            thinking_level=thinking_level(number),
            base_url="http://127.0.0.1:8000/v1",
            api_key_env=None,
            max_concurrency=1,
            request_options={},
            resource_tag=f"model_{number}",
            settings={},
        )
        for number in range(shape.n_models)
    )
    config = RunConfig(
        run_id="night",
        started_at_ms=0,
        benchlake_version="0.1.0",
        suite_id="nightly",
        suite_title="Every night",
        suite_path="configs/suites/nightly.yaml",
        run_profile_id="standard",
        run_profile_path="configs/run_profiles/standard.yaml",
        execution_policy=ExecutionPolicy(run_repetitions=shape.repetitions),
        models=models,
        case_settings={},
        n_planned=shape.rows_per_run,
        config_files={},
        allowed_hosts=(),
        warnings=(),
    )
    return config.model_dump(mode="json")
