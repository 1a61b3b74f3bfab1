"""A run as the two data frames that Inspect's `evals_df` and `samples_df` make of its logs.

Columns and their order are those of the tool, as far as the lake knows them; an imported log brings
what its head says along. Both frames are of all chosen models together, joined by `eval_id`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from analyze.exporters import Exporter, ExportText, RunExport
from analyze.exporters.inspect.evals import evals_of
from analyze.exporters.inspect.samples import samples_of
from analyze.query.run_ref import run_folder
from schemas.errors import ConfigError, Problem
from schemas.formats.report_v2 import EvaluationReport

EVALS, SAMPLES = "evals.parquet", "samples.parquet"

Columns = Mapping[str, Sequence[Any]]


def _parquet(columns: Columns) -> bytes:
    """Return a file; a column without any value is one of texts, as the tool has it."""
    import pyarrow as pa  # noqa: PLC0415 - only who exports needs it
    import pyarrow.parquet as pq  # noqa: PLC0415

    arrays = {name: pa.array(values) for name, values in columns.items()}
    known = {
        name: one.cast(pa.string()) if pa.types.is_null(one.type) else one
        for name, one in arrays.items()
    }
    content = io.BytesIO()
    pq.write_table(pa.table(known), content, compression="zstd")
    return content.getvalue()


def _of_run(wanted: RunExport) -> list[ExportText]:
    folder = run_folder(wanted.session, wanted.run_id)
    evals = evals_of(wanted, folder)
    samples = samples_of(
        wanted, dict(zip(evals["model_id"], evals["eval_id"], strict=True)), folder
    )
    return [
        ExportText("", EVALS, _parquet(evals)),
        ExportText("", SAMPLES, _parquet(samples)),
    ]


def _of_report(_: EvaluationReport, __: object) -> NoReturn:
    what = "a report holds no samples; name the run that it is of, as `analyze runs` lists it"
    raise ConfigError([Problem(None, what, key="RUN|REPORT")])


EXPORTER = Exporter((".parquet",), _of_run, _of_report, is_tree=True)
