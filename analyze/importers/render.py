"""What an import made, in words and as JSON: runs, what was not understood, what is next."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyze.render.numbers import whole
from analyze.render.text import line_of
from schemas.base import Finding
from schemas.errors import counted, runs_flag, shown

if TYPE_CHECKING:
    from analyze.importers.base import Written

MOST_SHOWN = 20
"""Findings of one run that are printed; `--json` has all."""


def import_text(written: Sequence[Written], *, as_json: bool) -> str:
    """Return what an import did.

    Args:
        written: a run each.
        as_json: a list of objects instead of text.
    """
    if as_json:
        return json.dumps([_object(one) for one in written], indent=2) + "\n"
    return "".join(f"{line}\n" for one in written for line in _lines(one))


def _object(one: Written) -> dict[str, Any]:
    return {
        "run_id": one.run_dir.name,
        "run_dir": str(one.run_dir),
        "n_trials": one.n_trials,
        "n_unfinished": one.n_unfinished,
        "is_new": one.is_new,
        "findings": [finding.model_dump() for finding in one.findings],
    }


def _lines(one: Written) -> Iterator[str]:
    also = f", {whole(one.n_unfinished)} without a result" if one.n_unfinished else ""
    there = "" if one.is_new else "; it was there already, and nothing was written"
    folder = line_of(shown(one.run_dir.absolute()))
    yield f"{folder}: {counted(one.n_trials, 'result')}{also}{there}"
    for finding in one.findings[:MOST_SHOWN]:
        yield f"  {line_of(_finding_text(finding))}"
    if (more := len(one.findings) - MOST_SHOWN) > 0:
        yield f"  and {whole(more)} more; --json lists them"
    yield f"  {_next(one.run_dir)}"


def _finding_text(finding: Finding) -> str:
    line = "" if finding.line is None else f"line {finding.line}: "
    where = f"{finding.pointer}: " if finding.pointer else ""
    return f"{finding.severity}: {line}{where}{finding.message}"


def _next(run_dir: Path) -> str:
    words = ["analyze", "show", run_dir.name, *runs_flag(run_dir.parent)]
    return line_of(" ".join(map(shlex.quote, words)))
