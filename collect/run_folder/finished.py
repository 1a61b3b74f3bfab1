"""What a run has already, trial by trial, so that a resumed one asks for the rest only.

The latest record of a trial counts (D-A3). A success is final; a failure is when asking
again would not help. Lean: a million trials fit in memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from collect.console.progress import RunReport
from schemas.failures import SKIPPED_ON_REQUEST, is_open, known_failure
from schemas.run.result import loose_content_of


class Latest(NamedTuple):
    """What a trial's latest record says; equal ones are one object."""

    status: str
    is_ok: bool
    is_success: bool
    is_passed: bool
    is_final: bool
    """Asking again would not help."""
    failed_outside: bool
    """Failed for a reason that is not the model's."""


Part = tuple[str, int]
"""(model_id, repetition)."""


class FinishedTrials:
    """The trials that a results.jsonl holds.

    Lines that cannot be read, events and unknown records are passed over.
    """

    def __init__(self, log: Path) -> None:
        self._latest: dict[Part, dict[str, Latest]] = {}
        self._costs: dict[Part, dict[str, float]] = {}
        self.spent_usd = 0.0
        """What this run has paid for, records that a later one replaced included."""
        self.elapsed_ms = 0
        """The run's own time so far, of all its sessions."""
        known: dict[tuple[Any, ...], Latest] = {}
        names: dict[str, str] = {}
        with log.open("rb") as file:
            for line in file:
                row = _result(line)
                if row is None:
                    continue
                model_id, case_id = row["model_id"], row["case_id"]
                part = names.setdefault(model_id, model_id), row["repetition"]
                case_id = names.setdefault(case_id, case_id)
                facts = (
                    row.get("status"),
                    row.get("availability_status"),
                    row.get("success"),
                    row.get("passed"),
                    row.get("failure_type"),
                )
                try:
                    latest = known.get(facts)
                except TypeError:  # a list or an object among them: no record, for no reader
                    continue
                if latest is None:
                    latest = known[facts] = _latest(*facts)
                self._latest.setdefault(part, {})[case_id] = latest
                is_reused = row.get("reused_from_run_id") is not None
                elapsed_ms = row.get("elapsed_ms")
                if not is_reused and isinstance(elapsed_ms, int):
                    self.elapsed_ms = max(self.elapsed_ms, elapsed_ms)
                self._set_cost(part, case_id, None if is_reused else row.get("cost_usd"))

    def _set_cost(self, part: Part, case_id: str, cost: object) -> None:
        if isinstance(cost, int | float):
            self.spent_usd += cost
            self._costs.setdefault(part, {})[case_id] = cost
        elif part in self._costs:
            self._costs[part].pop(case_id, None)

    def __len__(self) -> int:
        return sum(len(cases) for cases in self._latest.values())

    def is_final(self, model_id: str, case_id: str, repetition: int) -> bool:
        """Return whether a trial need not be asked again."""
        latest = self._latest.get((model_id, repetition), {}).get(case_id)
        return latest is not None and latest.is_final

    def replace(self, model_id: str, case_id: str, repetition: int) -> None:
        """Forget a trial: a newer record of it is written and counted elsewhere."""
        self._latest.get((model_id, repetition), {}).pop(case_id, None)

    def count_into(self, report: RunReport, *, final: bool) -> int:
        """Count trials into a run's report.

        Args:
            report: is changed.
            final: the final ones, at the start of a resumed run; or the others, at its end, when
                those that were tried again are replaced.

        Returns:
            How many of them failed for a reason that is not the model's.
        """
        outside = 0
        for part, cases in self._latest.items():
            costs = self._costs.get(part, {})
            for case_id, latest in cases.items():
                if latest.is_final is not final:
                    continue
                outside += latest.failed_outside
                report.present += 1
                report.n_open += not latest.is_final
                report.ok += latest.is_ok
                report.success += latest.is_success
                report.passed += latest.is_passed
                report.by_status[latest.status] = report.by_status.get(latest.status, 0) + 1
                if (cost := costs.get(case_id)) is not None:
                    report.add_cost(cost)
        return outside


def _result(line: bytes) -> dict[str, Any] | None:
    """Return a line's result, or None when it is something else."""
    row = loose_content_of(line)
    if row is None or row.get("record_type") != "result":
        return None
    named = isinstance(row.get("model_id"), str) and isinstance(row.get("case_id"), str)
    return row if named and type(row.get("repetition")) is int else None


def _latest(
    status: object, availability: object, success: object, passed: object, failure_type: object
) -> Latest:
    failure = None if success is True else known_failure(failure_type)
    return Latest(
        status=str(status),
        is_ok=availability == "ok",
        is_success=success is True,
        is_passed=passed is True,
        is_final=success is True or passed is True or not is_open(str(failure_type)),
        failed_outside=success is not True
        and failure_type != SKIPPED_ON_REQUEST
        and (failure is None or not failure.counts_against_model),
    )
