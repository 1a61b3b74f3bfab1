"""A gate with the shifts that stand: while a drop is neither mended nor acknowledged, it fails."""

from __future__ import annotations

from collections.abc import Sequence

from analyze.gate.rules import EXIT_CODES, worst_of
from analyze.report.open_shift_words import open_size
from schemas.config.known_issues import Acknowledged
from schemas.output.gate import GateLine, GateResult
from schemas.output.regressions import OpenShift


def with_open_shifts(
    result: GateResult, opened: Sequence[OpenShift], unused: Sequence[Acknowledged] = ()
) -> GateResult:
    """Return a result that names the shifts which stand, and fails by those of the passed rate.

    A shift that is tolerated is named, and so is one of a time or a cost, or of a model that the
    candidate did not ask: none of them fails anything.

    Args:
        result: of the comparison alone.
        opened: the shifts that stand at the candidate, of what was asked; the oldest first.
        unused: entries of the file of known things that fit no shift.
    """
    failing = [one for one in opened if one.is_tolerated is False]
    by_model = {model_id: _of(model_id, failing) for model_id in _models(failing)}
    lines = [
        _failed(line, by_model[line.model_id])
        if line.metric == "passed_rate" and line.model_id in by_model
        else line
        for line in result.lines
    ]
    judged = {line.model_id for line in result.lines if line.metric == "passed_rate"}
    lines += [
        _failed(None, found) for model_id, found in by_model.items() if model_id not in judged
    ]
    outcome = worst_of([line.outcome for line in lines])
    return result.model_copy(
        update={
            "lines": tuple(lines),
            "outcome": outcome,
            "exit_code": EXIT_CODES[outcome],
            "open_shifts": tuple(opened),
            "unused_shifts": tuple(unused),
        }
    )


def _models(opened: Sequence[OpenShift]) -> list[str]:
    return list(dict.fromkeys(one.series.model_id for one in opened))


def _of(model_id: str, opened: Sequence[OpenShift]) -> list[OpenShift]:
    return [one for one in opened if one.series.model_id == model_id]


def _failed(line: GateLine | None, opened: Sequence[OpenShift]) -> GateLine:
    """Return a line as it stands beside shifts of its passed rate; None: there was none."""
    stands = " and ".join(map(open_size, opened))
    why = f"open shift, neither recovered nor acknowledged: {stands}"
    if line is None:
        return GateLine(
            model_id=opened[0].series.model_id,
            metric="passed_rate",
            outcome="failed",
            why=why,
            unseen=None,
            by_open_shift=True,
        )
    return line.model_copy(
        update={
            "outcome": "failed",
            "why": f"{why}; against the baseline: {line.why}",
            "by_open_shift": line.outcome != "failed",
        }
    )
