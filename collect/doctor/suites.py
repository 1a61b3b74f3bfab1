"""Do the suites load, and would `collect run` take every case of them?"""

from __future__ import annotations

import shlex

from collect.doctor.context import LookedAt, Scene
from collect.doctor.findings import Details, found
from schemas.errors import counted, shown
from schemas.output.doctor import DoctorCheck


async def check_suites(scene: Scene) -> list[DoctorCheck]:
    """Return a finding for each suite."""
    if not scene.suites:
        where = "this project has no suite" if scene.has_project else "no project here or above"
        return [found("suites", "–", "skip", f"{where}: only the machine was looked at")]
    return [_suite(suite) for suite in scene.suites]


def _suite(suite: LookedAt) -> DoctorCheck:
    if suite.problems:
        first, count = suite.problems[0], len(suite.problems)
        text = f"does not load: {first}"
        if count > 1:
            text += f" (and {count - 1} more)"
        validate = f"collect validate {shlex.quote(shown(suite.path))}"
        return found("suites", suite.name, "fail", text, f"{validate} shows every problem")
    details: Details = {"models": len(suite.models), "cases": len(suite.cases)}
    told = f"{counted(len(suite.models), 'model')}, {counted(len(suite.cases), 'case')}"
    if suite.refused:
        text = f"`collect run` refuses it: {suite.refused[0]}"
        if len(suite.refused) > 1:
            text += f" (and {len(suite.refused) - 1} more)"
        advice = "leave such cases out with `exclude_case_ids` or `exclude_tags`"
        return found("suites", suite.name, "fail", text, advice, details=details)
    return found("suites", suite.name, "ok", told, details=details)
