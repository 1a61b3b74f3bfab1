"""Hostile files end in exit code 2 and a clear message: no traceback, no hang, no full memory."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest

from tests.hostile.corpus import CORPUS
from tests.support.paths import TESTS
from tests.support.project import Project

MEASURED = TESTS / "hostile" / "measured.py"
SECONDS = 10
"""Wall clock; the promise is 2 s, and a busy machine is no reason to fail."""

PEAK = 300_000_000
ALONE = CORPUS[::45]
"""These run as a process of their own too, from the first import to the exit code."""


@dataclass(frozen=True)
class Outcome:
    code: int
    said: str
    seconds: float
    peak: int


def environment(**more):
    return {k: v for k, v in os.environ.items() if not k.endswith("_BASE_URL")} | more


def built(entry, folder):
    (folder / "project").mkdir()
    project = Project(folder / "project")
    entry.build(project)
    return project


def in_forks(entries, folders):
    """Run entries one after another, each in a fork of one process that has all imported."""
    jobs = [
        {
            "cwd": str(built(entry, folder).root),
            "argv": entry.command,
            "said": str(folder / "said"),
            "peak": str(folder / "peak"),
        }
        for entry, folder in zip(entries, folders, strict=True)
    ]
    done = subprocess.run(
        [sys.executable, "-P", MEASURED],
        input=json.dumps(jobs),
        env=environment(PYTHONPATH=str(MEASURED.parents[2])),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=200,
    )
    outcomes = {}
    for entry, folder, line in zip(entries, folders, done.stdout.splitlines(), strict=True):
        said = (folder / "said").read_text(encoding="utf-8", errors="replace")
        peak = folder / "peak"
        outcomes[entry.name] = Outcome(
            **json.loads(line), said=said, peak=int(peak.read_text()) if peak.exists() else 0
        )
    return outcomes


def alone(entry, folder):
    """Run one entry as a process of its own."""
    project = built(entry, folder)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-P", MEASURED, *entry.command],
        cwd=project.root,
        env=environment(BENCHLAKE_PEAK=str(folder / "peak")),
        capture_output=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    seconds = time.monotonic() - began
    said = (done.stdout + done.stderr).decode(errors="replace")
    return Outcome(done.returncode, said, seconds, int((folder / "peak").read_text()))


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    """Run the selected entries."""
    wanted = [
        item.callspec.params["entry"]
        for item in request.session.items
        if getattr(item, "originalname", "") == "test_a_hostile_project_is_refused"
    ]
    return in_forks(wanted, [tmp_path_factory.mktemp("hostile") for _ in wanted])


def check(entry, outcome):
    assert entry.says in outcome.said
    assert outcome.code == 2, outcome.said
    assert "Traceback" not in outcome.said
    assert outcome.seconds < SECONDS
    assert 0 < outcome.peak < PEAK
    assert len(outcome.said) < 100_000, "nobody reads this"
    assert "\x1b" not in outcome.said, "moves the cursor of a terminal"


@pytest.mark.parametrize("entry", CORPUS, ids=lambda entry: entry.name.replace(" ", "-"))
def test_a_hostile_project_is_refused(entry, outcomes):
    check(entry, outcomes[entry.name])


@pytest.mark.parametrize("entry", ALONE, ids=lambda entry: entry.name.replace(" ", "-"))
def test_the_real_command_line_refuses_it_too(entry, tmp_path):
    check(entry, alone(entry, tmp_path))


def test_every_entry_has_a_name_of_its_own():
    assert len({entry.name for entry in CORPUS}) == len(CORPUS) >= 60
