"""Reports of the SWE-bench harness.

The same instances give the report that `swebench.harness.reporting.make_run_report` writes, byte by
byte; the tests let the installed package write its own and compare.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import JsonValue

from analyze.exporters import Exporter, ExportText, RunExport
from analyze.exporters.run_trials import imported_extras
from analyze.query.run_ref import run_folder
from schemas.errors import AnalyzeError
from schemas.formats.report_v2 import EvaluationReport, InstanceClass, class_of, has_patches
from schemas.formats.report_v2_instance import InstanceStatus
from schemas.formats.swebench import FAILURE_TIERS, Style, SwebenchReport
from schemas.redact import spelled

if TYPE_CHECKING:
    from analyze.exporters.majority import FoldedModel

HarnessOutcome = Literal[
    "resolved", "unresolved", "empty_patch", "error", "unreadable", "incomplete"
]
"""`unreadable`: evaluated, with a report that cannot be read. `incomplete`: nothing handed in."""

UNREADABLE = "unreadable_report"
"""The `error_type` of a v2 instance whose own report the harness could not read."""


class HarnessInstance(NamedTuple):
    """What became of one instance of the data set."""

    instance_id: str
    outcome: HarnessOutcome
    failure_reason: str | None = None
    """Of `FAILURE_TIERS`; it counts where the outcome is unresolved, error or unreadable."""
    is_infra: bool = False
    """What evaluated it called the reason likely infrastructure, whatever swebench 5.0 says."""


OF_CONTAINERS = ("unstopped_instances", "unstopped_containers", "unremoved_images")
"""What only the harness' own machine knows: written back as an imported report had it."""

UNNAMED, UNKNOWN = "unnamed", "unknown_fields"
"""Keys of what is left over of an imported report: how many instances it counts beyond those that
its lists name, and fields that swebench 5.0 does not have."""


def swebench_report(
    instances: Iterable[HarnessInstance],
    *,
    style: Style,
    outside: Iterable[str] = (),
    leftover: Mapping[str, Any] = MappingProxyType({}),
) -> SwebenchReport:
    """Return the harness' report of instances.

    A failure reason that swebench 5.0 does not know is counted as ambiguous, unless an imported
    report called it a fault of the environment.

    Args:
        instances: the whole data set, each instance once.
        style: 5 with the reasons of likely infrastructure failures, 4 without.
        outside: ids of predictions that are not in the data set.
        leftover: of an imported report, what no instance says (`schemas.run.import_record`).

    Raises:
        ValueError: an instance stands there twice, or what is left over is not as it was imported.
    """
    known: dict[str, HarnessInstance] = {}
    for one in instances:
        if one.instance_id in known:
            message = f"instance {one.instance_id!r} stands there twice"
            raise ValueError(message)
        known[one.instance_id] = one

    def ids(*outcomes: HarnessOutcome) -> tuple[str, ...]:
        return tuple(sorted(one.instance_id for one in known.values() if one.outcome in outcomes))

    completed = ids("resolved", "unresolved", "unreadable")
    incomplete = ids("incomplete")
    empty = ids("empty_patch")
    beyond = set(outside) - known.keys()
    submitted = tuple(sorted((known.keys() - set(incomplete)) | beyond))
    resolved, unresolved = ids("resolved"), ids("unresolved")
    errors = ids("error", "unreadable")
    reasons = {name: known[name].failure_reason for name in sorted((*unresolved, *errors))}
    failure_reasons = {name: reason for name, reason in reasons.items() if reason is not None}
    infra = tuple(name for name in failure_reasons if _is_infra(known[name]))
    ambiguous = tuple(name for name in failure_reasons if not _is_infra(known[name]))
    unnamed, unknown = leftover.get(UNNAMED), leftover.get(UNKNOWN)
    more = dict(unknown) if isinstance(unknown, dict) else {}
    return SwebenchReport.model_validate(
        more
        | {
            "total_instances": len(known) + (unnamed if isinstance(unnamed, int) else 0),
            "submitted_instances": len(submitted),
            "completed_instances": len(completed),
            "resolved_instances": len(resolved),
            "unresolved_instances": len(unresolved),
            "infra_failure_instances": len(infra) if style == 5 else None,
            "ambiguous_failure_instances": len(ambiguous) if style == 5 else None,
            "empty_patch_instances": len(empty),
            "error_instances": len(errors),
            "completed_ids": completed,
            "incomplete_ids": incomplete,
            "empty_patch_ids": empty,
            "submitted_ids": submitted,
            "resolved_ids": resolved,
            "unresolved_ids": unresolved,
            "infra_failure_ids": infra if style == 5 else None,
            "ambiguous_failure_ids": ambiguous if style == 5 else None,
            "failure_reasons": failure_reasons if style == 5 else None,
            "error_ids": errors,
            "schema_version": 2,
        }
        | {name: leftover[name] for name in OF_CONTAINERS if name in leftover}
    )


def _is_infra(one: HarnessInstance) -> bool:
    tier = FAILURE_TIERS.get(one.failure_reason or "")
    return tier == "infra_failure" or (tier is None and one.is_infra)


def of_report(report: EvaluationReport) -> list[HarnessInstance]:
    """Return the instances of a v2 report as the harness would see them.

    One that was skipped is one that nothing was handed in for.
    """
    patches = has_patches(report.instances)
    found = []
    for one in report.instances:
        outcome = OUTCOMES[class_of(one, patches=patches)]
        if outcome == "error" and one.error_type == UNREADABLE:
            outcome = "unreadable"
        reason = one.error_type if one.error_type in FAILURE_TIERS else None
        found.append(HarnessInstance(one.instance_id, outcome, reason))
    return found


def of_folded(model: FoldedModel) -> list[HarnessInstance]:
    """Return the cases of one model of a run as the harness would see them.

    A case without a result is one that nothing was handed in for. In a run that was imported from
    the harness' own report, its own words stand.
    """
    own_words = model.provider == HARNESS
    patches = any((case.answer or "").strip() for case in model.cases)
    found = []
    for case in model.cases:
        outcome = FOLDED[case.status]
        if own_words and case.error_code in OWN_WORDS:
            outcome = OWN_WORDS[case.error_code]
        elif outcome == "unresolved" and patches and not (case.answer or "").strip():
            outcome = "empty_patch"
        reason = case.violation if own_words else None
        is_infra = own_words and case.error_type == INFRA
        found.append(HarnessInstance(case.instance_id, outcome, reason, is_infra))
    return found


HARNESS = "swebench"
"""Provider of trials that were imported from a report of the harness."""

OWN_WORDS: dict[str, HarnessOutcome] = {
    "unresolved": "unresolved",
    "empty_patch": "empty_patch",
    "error": "error",
    "unreadable": "unreadable",
}
"""What the `error_code` of such a trial says, where it was not resolved."""

INFRA = "container_error"
"""The failure of such a trial whose reason the report counts as likely infrastructure."""

FOLDED: dict[InstanceStatus, HarnessOutcome] = {
    "resolved": "resolved",
    "fail": "unresolved",
    "error": "error",
    "skipped": "incomplete",
}

OUTCOMES: dict[InstanceClass, HarnessOutcome] = {
    "resolved": "resolved",
    "unresolved": "unresolved",
    "empty_patch": "empty_patch",
    "error": "error",
    "skipped": "incomplete",
}


def swebench_json(report: SwebenchReport) -> str:
    """Return a report as the text of its file, as the harness prints it: four spaces, ASCII.

    Fields that are null are left out, as in style 4; fields that we do not know come last.
    """
    data = report.model_dump(exclude_none=True)
    return json.dumps(data, indent=4, allow_nan=False) + "\n"


def swebench_file_name(model: str, run_id: str) -> str:
    """Return the name of a report's file: `<model>.<run_id>.json`, a slash written `__`.

    What no terminal prints becomes `_`, since both may come from a file of somebody else.
    """
    return spelled(f"{model}.{run_id}.json".replace("/", "__"), lambda _: "_")


def file_names(models: Sequence[FoldedModel]) -> dict[str, str]:
    """Return the harness' name of each model's file; those that would be the same get an id."""
    names = {one.model_id: swebench_file_name(one.model, one.run_id) for one in models}
    taken = Counter(names.values())
    return {
        one.model_id: name
        if taken[name := names[one.model_id]] == 1
        else swebench_file_name(f"{one.model}-{one.model_id}", one.run_id)
        for one in models
    }


def _of_run(wanted: RunExport) -> list[ExportText]:
    """Return the reports; a run that was imported from one of the harness gives that one again."""
    names = file_names(wanted.models)
    left = imported_extras(run_folder(wanted.session, wanted.run_id))
    style = wanted.style or (4 if left.get("style") == 4 else 5)
    return [
        ExportText(one.model_id, names[one.model_id], _text(of_folded(one), style, left))
        for one in wanted.chosen
    ]


def _of_report(report: EvaluationReport, style: Style | None) -> list[ExportText]:
    name = swebench_file_name(report.model_name_or_path, report.run_id)
    return [ExportText("", name, _text(of_report(report), style or 5, {}))]


def _text(instances: Sequence[HarnessInstance], style: Style, left: dict[str, JsonValue]) -> str:
    """Return the harness' report, with what it said itself and no instance knows.

    Raises:
        AnalyzeError: an instance stands there twice.
    """
    ids = left.get("outside")
    outside = [one for one in ids if isinstance(one, str)] if isinstance(ids, list) else []
    try:
        return swebench_json(
            swebench_report(instances, style=style, outside=outside, leftover=left)
        )
    except ValueError as exc:
        raise AnalyzeError(str(exc)) from exc


EXPORTER = Exporter((".json",), _of_run, _of_report, has_styles=True)
