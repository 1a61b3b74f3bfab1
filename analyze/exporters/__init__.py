"""What leaves the lake in the format of another tool, one file a format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from schemas.registry import Registry

if TYPE_CHECKING:
    from analyze.exporters.majority import FoldedModel
    from analyze.query.session import Session
    from schemas.formats.report_v2 import EvaluationReport
    from schemas.formats.swebench import Style


class ExportText(NamedTuple):
    """One file of an export."""

    model_id: str
    """Empty for that of a report, which is of one model."""
    name: str
    text: str | bytes
    """Bytes of a format that is no text."""


@dataclass(frozen=True)
class RunExport:
    """A run that somebody wants in another format."""

    session: Session
    run_id: str
    models: Sequence[FoldedModel]
    """Every model of the run, ordered by model_id: names of files differ among all of them."""
    chosen: Sequence[FoldedModel]
    """Those of them that are wanted."""
    style: Style | None = None
    """That was asked for."""


@dataclass(frozen=True)
class Exporter:
    """A format that can be written."""

    suffixes: tuple[str, ...]
    """How the name of a file ends, unless a folder of that name is there. Of several files of a
    model the first whose name ends as the wanted one goes there, else the first."""
    of_run: Callable[[RunExport], list[ExportText]]
    """Returns the files of the chosen models, in their order."""
    of_report: Callable[[EvaluationReport, Style | None], list[ExportText]]
    """Returns the files of one report v2."""
    has_styles: bool = False
    """Takes `--style`."""
    is_folder: bool = False
    """Each model is a folder of files, in the run's own one by default; else it is a file."""
    is_tree: bool = False
    """Its files rely on each other: all are written, at their names below the wanted folder."""


EXPORTERS = Registry(
    "exporters",
    Exporter,
    {
        "report-v2": "analyze.exporters.report_v2:EXPORTER",
        "swebench": "analyze.exporters.swebench:EXPORTER",
        "predictions": "analyze.exporters.predictions:EXPORTER",
        "inspect": "analyze.exporters.inspect:EXPORTER",
        "junit": "analyze.exporters.junit:EXPORTER",
        "eee": "analyze.exporters.eee:EXPORTER",
    },
)
"""Formats by the name that `analyze export` has for them; a new one is a file and a line."""
