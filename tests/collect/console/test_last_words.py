"""The last words of a run name what stands; a look-up that is slow or fails costs nothing."""

import asyncio
import shutil
import time
from dataclasses import replace

import pytest

from analyze import mirror
from analyze.query.session import open_session
from analyze.regressions import open_shifts
from collect.console import run_summary
from collect.console.progress import RunReport
from collect.execute.mirror_process import MirrorChild
from schemas.config.project import Thresholds
from tests.support.analyze_cli import call
from tests.support.forked_mirror import forked_mirrors
from tests.support.nights import Nights


@pytest.fixture
def run_dir(tmp_path):
    """The run of the last night of a drop that nobody mended; every night is in the lake."""
    nights = Nights(tmp_path / "runs", n_cases=8, repetitions=1)
    nights.add(7, rates={"m": 1.0})
    last = nights.add(4, rates={"m": 0.0})[-1]
    open_session(nights.runs_dir).close()
    return nights.runs_dir / last


def test_the_mirror_leaves_what_stands_as_its_last_words(run_dir, capsys):
    words = asyncio.run(_mirrored(run_dir))
    report = RunReport("r", str(run_dir), planned=8, present=8, open_shifts=words)
    run_summary.show(report, "again", "", Thresholds())

    assert len(words) == 1
    assert words[0].startswith(
        "open shift: smoke / m, pass rate: 100.0 -> 0.0 % passed (-100.0 points) since night-008 "
        "(4 runs; first seen in night-010); analyze regressions --suite smoke --model m "
    )
    assert "since night-008" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("look", [lambda _: time.sleep(60), lambda _: 1 / 0], ids=["slow", "fails"])
def test_a_look_that_is_slow_or_fails_is_silent(run_dir, monkeypatch, capsys, look):
    monkeypatch.setattr(open_shifts, "open_after_run", look)
    monkeypatch.setattr(mirror, "MAX_LOOK_S", 0.05)
    began = time.monotonic()
    mirror._tell_open_shifts(run_dir)

    assert time.monotonic() - began < 30
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("facts", "how", "then"),
    [
        ({"present": 7}, {}, "next: again"),
        ({"n_open": 1, "exit_code": 1}, {}, "next: again"),
        ({"exit_code": 1}, {}, "next: analyze show {run}"),
        ({}, {"is_first": True}, "next: analyze report {run}"),
        ({}, {"is_first": True, "with_page": True}, None),
        ({}, {"is_first": False}, "next: analyze compare previous {name} --runs {runs}"),
        ({"is_summed_up": False}, {}, "next: analyze summarize {run}"),
    ],
)
def test_the_last_line_is_the_one_command_that_fits(run_dir, capsys, facts, how, then):
    report = RunReport("r", str(run_dir), **({"planned": 8, "present": 8, "success": 8} | facts))

    run_summary.show(report, "again", "", Thresholds(), **how)

    lines = capsys.readouterr().out.splitlines()
    names = {"run": run_dir, "name": run_dir.name, "runs": run_dir.parent}
    found = [line for line in lines if line.startswith("next: ")]
    assert found == ([] if then is None else [then.format(**names)])
    assert then is None or lines[-1] == found[0]
    if then is not None and "analyze" in then and "report" not in then:
        assert call(*found[0].split()[2:]).code in {0, 1}, "a command that can be given"


def test_more_than_a_few_are_counted(run_dir, monkeypatch):
    found = open_shifts.find_open_shifts(
        open_session(run_dir.parent), [run_dir.name], limits=Thresholds(), metrics=["passed_rate"]
    )
    many = replace(found, shifts=found.shifts * 7)
    monkeypatch.setattr(open_shifts, "find_open_shifts", lambda *_, **__: many)
    lines = open_shifts.open_after_run(run_dir)

    assert len(lines) == 6
    assert lines[-1] == f"and 2 more open shifts: analyze runs --runs {run_dir.parent}"


def test_runs_that_the_lake_lacks_are_told_with_the_command_that_brings_them(run_dir):
    shutil.rmtree(run_dir.parent / "lake")
    asyncio.run(_mirrored(run_dir))
    (line,) = open_shifts.open_after_run(run_dir)

    assert line.startswith("10 other runs are not in the lake yet, so open shifts may be missing")
    command = line.partition("open: ")[2]
    assert "smoke / m, pass rate: 100.0 -> 0.0 % passed" in call(*command.split()[1:]).out
    (line,) = open_shifts.open_after_run(run_dir)
    assert line.startswith("open shift: smoke / m, pass rate")


async def _mirrored(run_dir):
    with forked_mirrors():
        child = await MirrorChild.start(run_dir)
        assert await child.finish() is None
        return await child.last_words()


def test_the_first_runs_of_a_suite_say_nothing(tmp_path):
    nights = Nights(tmp_path / "runs", n_cases=5, repetitions=1)
    (only,) = nights.add(rates={"m": 0.0})
    open_session(nights.runs_dir).close()

    assert open_shifts.open_after_run(nights.runs_dir / only) == []
