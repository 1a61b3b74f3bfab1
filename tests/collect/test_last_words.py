"""The last words of a run name what stands; a look-up that is slow or fails costs nothing."""

import asyncio
import time

import pytest

from analyze.regressions import after_run
from analyze.session import open_session
from collect import closing, mirror
from collect.child import MirrorChild
from collect.progress import RunReport
from schemas.thresholds import Thresholds
from tests.nights import Nights


@pytest.fixture
def run_dir(tmp_path):
    """The run of the last night of a drop that nobody mended; every night is in the lake."""
    nights = Nights(tmp_path / "runs", n_cases=8, repetitions=1)
    nights.add(7, rates={"m": 1.0})
    last = nights.add(4, rates={"m": 0.0})[-1]
    open_session(nights.runs_dir).close()
    return nights.runs_dir / last


def test_the_mirror_leaves_what_stands_as_its_last_words(run_dir, capsys):
    async def run():
        child = await MirrorChild.start(run_dir)
        return await child.finish(), await child.last_words()

    trouble, words = asyncio.run(run())
    report = RunReport("r", str(run_dir), planned=8, present=8, open_shifts=words)
    closing.show(report, "again", "", Thresholds())

    assert trouble is None
    assert len(words) == 1
    assert words[0].startswith(
        "open shift: smoke / m, pass rate: 100.0 -> 0.0 % passed (-100.0 points) since night-008 "
        "(4 runs; first seen in night-010); analyze regressions --suite smoke --model m "
    )
    assert "since night-008" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("look", [lambda _: time.sleep(30), lambda _: 1 / 0], ids=["slow", "fails"])
def test_a_look_that_is_slow_or_fails_is_silent(run_dir, monkeypatch, capsys, look):
    monkeypatch.setattr(after_run, "open_after_run", look)
    monkeypatch.setattr(mirror, "LONGEST_LOOK_S", 0.05)
    began = time.monotonic()
    mirror._tell_open_shifts(run_dir)

    assert time.monotonic() - began < 5
    assert capsys.readouterr() == ("", "")


def test_more_than_a_few_are_counted(run_dir, monkeypatch):
    (found,) = after_run.find_open_shifts(
        open_session(run_dir.parent), [run_dir.name], limits=Thresholds(), metrics=["passed_rate"]
    )
    monkeypatch.setattr(after_run, "find_open_shifts", lambda *_, **__: [found] * 7)
    lines = after_run.open_after_run(run_dir)

    assert len(lines) == 6
    assert lines[-1] == "and 2 more open shifts: analyze runs"


def test_the_first_runs_of_a_suite_say_nothing(tmp_path):
    nights = Nights(tmp_path / "runs", n_cases=5, repetitions=1)
    (only,) = nights.add(rates={"m": 0.0})
    open_session(nights.runs_dir).close()

    assert after_run.open_after_run(nights.runs_dir / only) == []
