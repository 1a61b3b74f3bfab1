"""`collect doctor`: what would keep a run from working, found before it is made.

Every check looks at one area; all run at once, and what one finds never keeps another from saying
what it found. People read a line for each finding, below the heading of its area.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Awaitable, Callable, Iterable
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.text import Text

from collect.config.project_files import find_project
from collect.doctor.config import check_judges, check_keys, check_models, check_suites
from collect.doctor.context import (
    Finding,
    InspectedProfile,
    InspectedSuite,
    Scene,
    cleaned,
    inspect_profiles,
    inspect_suites,
    say_waiting,
)
from collect.doctor.endpoints import check_endpoints
from collect.doctor.machine import check_clock, check_disk, check_packages
from collect.doctor.openclaw import check_profiles
from collect.doctor.probe import Address, usual_places, visit
from collect.doctor.tools import check_commands, check_containers, check_sandbox
from schemas.config.project import LoadedProject, load_project_file
from schemas.errors import EXIT_BAD_NEWS, EXIT_INTERRUPTED, EXIT_OK, counted
from schemas.output.doctor import Area, DoctorCheck, DoctorReport, State

MARKS: dict[State, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "warn": ("warn", "yellow"),
    "fail": ("FAIL", "bold red"),
    "skip": ("skip", "dim"),
}
"""What stands before a line, and how a terminal shows it."""

MAX_SUBJECT_CHARS = 40
"""Characters of a subject that others of its area are aligned to."""

Check = Callable[[Scene], Awaitable[list[Finding]]]

CHECKS: tuple[tuple[Area, Check], ...] = (
    ("suites", check_suites),
    ("judges", check_judges),
    ("keys", check_keys),
    ("endpoints", check_endpoints),
    ("models", check_models),
    ("commands", check_commands),
    ("sandbox", check_sandbox),
    ("containers", check_containers),
    ("containers", check_profiles),
    ("disk", check_disk),
    ("clock", check_clock),
    ("packages", check_packages),
)
"""In the order of the output; a new one is a file and a line here."""

CHECK_TIMEOUT_S = 10.0
"""Of one check."""


def show(report: DoctorReport, scene: Scene, again: str, console: Console) -> None:
    """Print every finding, then how many were bad and the next command."""
    for area, group in groupby(report.checks, key=lambda check: check.area):
        checks = list(group)
        width = min(max(len(check.subject) for check in checks), MAX_SUBJECT_CHARS)
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
    summary = f"{checks}: {failed} failed, {warned}"
    return [summary, f"next: {_next(report, scene, again)}"]


def _next(report: DoctorReport, scene: Scene, again: str) -> str:
    good = next((suite for suite in scene.suites if not suite.problems), None)
    if not report.ok:
        return f"mend what failed, then {again}"
    if good is None:
        return "collect init DIR, or collect demo, which needs no server and no key"
    name = shlex.quote(good.name)
    return f"collect plan --suite {name} --run-profile ID"


def run_doctor(
    suite: str | None,
    evaluation_profile: str | None,
    runs_dir: Path,
    allowed_hosts: Iterable[str],
    *,
    as_json: bool,
    again: str,
) -> int:
    """Look at everything, print what was found, and return the exit code.

    Without a name, every suite and every evaluation profile of the project around is looked at.

    Raises:
        ConfigError: what was named, or benchlake.yaml, does not load.
    """
    project = load_project_file(Path.cwd())
    hosts = frozenset(host.lower() for host in (*allowed_hosts, *project.allowed_hosts))
    suites = inspect_suites(suite, Path.cwd(), project, hosts)
    is_all = suite is None and evaluation_profile is None
    profiles = inspect_profiles(evaluation_profile, Path.cwd(), hosts, is_all=is_all)
    has_project = not is_all or find_project(Path.cwd()) is not None
    try:
        scene, report = asyncio.run(
            _look(
                suites,
                profiles,
                project,
                hosts,
                runs_dir=runs_dir,
                has_project=has_project,
                is_for_people=not as_json,
            )
        )
    except KeyboardInterrupt:
        sys.stderr.write(f"interrupted; {again} looks once more\n")
        return EXIT_INTERRUPTED
    if as_json:
        sys.stdout.write(report.model_dump_json(indent=2) + "\n")
    else:
        console = Console(file=sys.stdout, highlight=False)
        show(report, scene, again, console)
    return EXIT_OK if report.ok else EXIT_BAD_NEWS


async def _look(
    suites: tuple[InspectedSuite, ...],
    profiles: tuple[InspectedProfile, ...],
    project: LoadedProject,
    hosts: frozenset[str],
    *,
    runs_dir: Path,
    has_project: bool,
    is_for_people: bool,
) -> tuple[Scene, DoctorReport]:
    """Run every check and return what they found, without keys."""
    models = [model for suite in suites for model in suite.models]
    models += [judge for profile in profiles for judge in profile.judges]
    asked = (model for model in models if model.embedded is None)
    places = tuple(dict.fromkeys(map(Address.of, asked)))
    if not models:
        places = usual_places()
    visits = {place: asyncio.create_task(visit(place)) for place in places}
    scene = Scene(suites, profiles, has_project, runs_dir, visits, project, hosts, is_for_people)
    waiting = asyncio.create_task(say_waiting(len(places)))
    areas = await asyncio.gather(*(_limited(check, scene) for _, check in CHECKS))
    for task in (waiting, *visits.values()):
        task.cancel()
    await asyncio.gather(waiting, *visits.values(), return_exceptions=True)
    secrets = tuple(secret for place in places for secret in place.secrets)
    checks = tuple(
        cleaned(area, finding, secrets)
        for (area, _), findings in zip(CHECKS, areas, strict=True)
        for finding in findings
    )
    ok = not any(check.state == "fail" for check in checks)
    return scene, DoctorReport(checks=checks, ok=ok)


async def _limited(check: Check, scene: Scene) -> list[Finding]:
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            return await check(scene)
    except TimeoutError:
        text = f"not finished within {CHECK_TIMEOUT_S:g} s"
        return [Finding("–", "warn", text, "run it again when the machine is less busy")]
