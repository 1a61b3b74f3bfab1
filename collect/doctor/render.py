"""The findings as people read them: a line each, below the heading of their area."""

from __future__ import annotations

import shlex
from itertools import groupby

from rich.console import Console
from rich.text import Text

from collect.doctor.context import Scene
from schemas.errors import counted
from schemas.output.doctor import DoctorCheck, DoctorReport, State

MARKS: dict[State, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "warn": ("warn", "yellow"),
    "fail": ("FAIL", "bold red"),
    "skip": ("skip", "dim"),
}
"""What stands before a line, and how a terminal shows it."""

WIDEST = 40
"""Characters of a subject that others of its area are aligned to."""


def show(report: DoctorReport, scene: Scene, again: str, console: Console) -> None:
    """Print every finding, then how many were bad and the next command."""
    for area, group in groupby(report.checks, key=lambda check: check.area):
        checks = list(group)
        width = min(max(len(check.subject) for check in checks), WIDEST)
        console.print(Text(area, style="bold"), soft_wrap=True)
        for check in checks:
            for line in _lines(check, width):
                console.print(line, soft_wrap=True)
    for text in closing(report, scene, again):
        console.print(Text(text), soft_wrap=True)


def _lines(check: DoctorCheck, width: int) -> list[Text]:
    word, style = MARKS[check.state]
    line = (
        Text("  ").append(f"{word:<4}", style).append(f"  {check.subject:<{width}}  {check.found}")
    )
    if check.advice is None:
        return [line]
    return [line, Text(" " * (width + 10)).append(f"→ {check.advice}")]


def closing(report: DoctorReport, scene: Scene, again: str) -> list[str]:
    """Return the summary and the command that comes next."""
    failed = sum(check.state == "fail" for check in report.checks)
    warnings = [check for check in report.checks if check.state == "warn"]
    checks, warned = counted(len(report.checks), "check"), counted(len(warnings), "warning")
    told = f"{checks}: {failed} failed, {warned}"
    return [told, f"next: {_next(report, scene, again)}"]


def _next(report: DoctorReport, scene: Scene, again: str) -> str:
    good = next((suite for suite in scene.suites if not suite.problems), None)
    if not report.ok:
        return f"mend what failed, then {again}"
    if good is None:
        return "collect init DIR, or collect demo, which needs no server and no key"
    name = shlex.quote(good.name)
    return f"collect plan --suite {name} --run-profile ID"
