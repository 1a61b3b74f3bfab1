"""The aggregate of one model: who ran what, how it was asked, and the scores it came to.

Beside it lie its rows, whose checksum and number it tells; an aggregate without rows names none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from analyze.exporters import ExportText
from analyze.exporters.eee.names import Place
from analyze.exporters.eee.samples import VERSION, Samples
from analyze.exporters.eee.scores import Scores
from analyze.exporters.eee.transcript import texts_of
from schemas.redact import json_escape, redact_json, spelled

NOT_SAID = "unspecified"
"""Organization of whoever exports: a lake knows none."""

LIBRARY = "benchlake"

ROWS = "_samples.jsonl"
"""Ends the name of the file with the rows."""


@dataclass(frozen=True)
class Origin:
    """The run, or report, that an aggregate is of."""

    title: str
    library: str
    """What made the evaluation: ours, or the tool that a run was imported from."""
    version: str | None
    details: Mapping[str, Any]


def aggregate(
    place: Place,
    origin: Origin,
    info: Mapping[str, JsonValue],
    scores: Scores,
    *,
    generation: Mapping[str, JsonValue] | None = None,
    samples: Samples | None = None,
) -> dict[str, JsonValue]:
    """Return the aggregate of one model.

    Args:
        place: of the evaluation.
        origin: what it was taken from.
        info: the `model_info`.
        scores: that were given.
        generation: the settings in force; None where nobody wrote them down.
        samples: its rows; None: there can be none.
    """
    how: dict[str, JsonValue] = {} if generation is None else {"generation_config": {**generation}}
    more = {**origin.details, **{f"left_out.{name}": why for name, why in scores.left_out.items()}}
    if samples is not None:
        more |= {"n_samples": samples.n_rows, "n_without_input": samples.n_without_input}
    document: dict[str, JsonValue] = {
        "schema_version": VERSION,
        "evaluation_id": place.evaluation_id,
        "evaluation_timestamp": place.timestamp,
        "retrieved_timestamp": place.timestamp,
        "source_metadata": {
            "source_name": origin.title,
            "source_type": "evaluation_run",
            "source_organization_name": NOT_SAID,
            "evaluator_relationship": "other",
            "additional_details": {**texts_of(more)},
        },
        "eval_library": {"name": origin.library, "version": origin.version or "unknown"},
        "model_info": {**info},
        "evaluation_results": [{**one, **how} for one in scores.results],
    }
    if samples is not None and samples.n_rows:
        document["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": f"{place.stem}{ROWS}",
            "hash_algorithm": "sha256",
            "checksum": samples.checksum,
            "total_rows": samples.n_rows,
        }
    return document


def files_of(
    model_id: str, place: Place, document: Mapping[str, JsonValue], samples: Samples | None = None
) -> list[ExportText]:
    """Return the aggregate as a file, and its rows as another one where there are any.

    Args:
        model_id: whose files they are.
        place: of the evaluation.
        document: the aggregate.
        samples: its rows; None: there can be none.
    """
    files = [ExportText(model_id, f"{place.stem}.json", json_document(document))]
    if samples is not None and samples.n_rows:
        files.append(ExportText(model_id, f"{place.stem}{ROWS}", samples.text))
    return files


def json_document(value: Mapping[str, JsonValue]) -> str:
    """Return a document of several lines, as `json_line` does one of a line."""
    text = json.dumps(redact_json({**value}), ensure_ascii=False, indent=2, allow_nan=False)
    return "\n".join(spelled(line, json_escape) for line in text.split("\n")) + "\n"


def has_scores(documents: Sequence[Mapping[str, JsonValue]]) -> bool:
    """Return whether any of several aggregates has something to say."""
    return any(one["evaluation_results"] for one in documents)
