"""What a gate, a list of runs and a report say of models that the newest run did not ask."""

import pytest
from junitparser import JUnitXml

from analyze.api import open_history
from analyze.gate.document import gate_document
from analyze.gate.known_issues import read_known
from analyze.query.session import open_session
from analyze.regressions.open_shifts import find_open_shifts
from analyze.report.html.page import render_html
from analyze.report.markdown import report_markdown
from schemas.config.project import Thresholds
from tests.support.analyze_cli import call, on_screen
from tests.support.nights import Nights

pytestmark = pytest.mark.usefixtures("warm_engines")

UNKNOWN = """schema_version = 1
[[acknowledged]]
suite_id = "smoke"
model_id = "kept"
metric = "passed_rate"
first_run = "night-004"
direction = "down"
reason = "we expected more"
author = "ann"

[[acknowledged]]
suite_id = "smoke"
model_id = "left"
metric = "passed_rate"
first_run = "night-013"
direction = "down"
reason = "is to come"
author = "ann"

[[acknowledged]]
suite_id = "smoke"
model_id = "left"
metric = "passed_rate"
first_run = "nowhere"
direction = "down"
reason = "misspelt"
author = "ann"

[[acknowledged]]
suite_id = "typo"
model_id = "left"
metric = "passed_rate"
first_run = "night-004"
direction = "down"
reason = "another suite"
author = "ann"
"""


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """A model that dropped and was asked no more, and a suite that ran since; only looked at."""
    made = Nights(tmp_path_factory.mktemp("nights") / "runs", n_cases=8, repetitions=1)
    made.add(7, rates={"kept": 1.0, "left": 1.0})
    made.add(4, rates={"kept": 1.0, "left": 0.0})
    made.add(2, rates={"kept": 1.0})
    made.add(2, rates={"kept": 1.0}, suite_id="younger")
    return made.runs_dir


@pytest.fixture(scope="module")
def history(nights):
    with open_history(nights) as history:
        yield history


@pytest.mark.parametrize("baseline", ["history", "previous"])
def test_a_model_that_is_not_asked_is_named_and_fails_nothing(history, baseline):
    result = history.gate("night-012", baseline=baseline)
    (shift,) = result.open_shifts

    assert result.exit_code == 0
    assert [line.model_id for line in result.lines] == ["kept"]
    assert (shift.series.model_id, shift.first_run) == ("left", "night-008")
    assert (shift.last_asked_in, shift.is_tolerated, shift.n_runs) == ("night-011", None, 4)


def test_every_form_says_when_it_was_last_asked(nights, tmp_path):
    words = "last asked in night-011, so a gate of a later run names it and fails nothing"
    args = ("night-013", "--junit", tmp_path / "g.xml", "--runs", nights)
    done = call("gate", *args, columns=400)
    tests = {case.classname: case for case in next(iter(JUnitXml.fromfile(tmp_path / "g.xml")))}

    assert done.code == 0
    assert words in done.out
    assert "no fresh run clears" not in done.out
    assert (tests["left"].result[0].type, tests["kept"].result) == ("open_shift", [])
    assert words in tests["left"].system_out


def test_to_ask_for_the_model_judges_its_newest_run(history):
    result = history.gate(model="left")

    assert result.comparison.candidate.run_ids == ("night-011",)
    assert result.exit_code == 1
    assert result.open_shifts[0].last_asked_in is None
    assert history.gate("night-012", model="kept").open_shifts == ()


def test_a_list_names_it_however_few_runs_are_listed(nights):
    listing = call("runs", "--runs", nights, "--limit", "1").out
    assert "smoke / left, pass rate: 100.0 -> 0.0 % passed" in listing
    assert "last asked in night-011" in " ".join(listing.split())
    assert "open shifts" not in call("runs", "--runs", nights, "--suite", "younger").out


def test_an_entry_that_fits_no_shift_is_named_by_each(nights, history, tmp_path):
    path = tmp_path / "known.toml"
    path.write_text(UNKNOWN)
    report = history.report("night-013", known=path)
    result = history.gate("night-013", known=path)
    outputs = {
        "gate": on_screen(gate_document(result)),
        "gate of an older run": on_screen(gate_document(history.gate("night-012", known=path))),
        "runs": call("runs", "--runs", nights, "--known", path).out,
        "report": report_markdown(report),
        "page": render_html(report, {}, lambda: ""),
    }

    assert [one.first_run for one in result.unused_shifts] == ["night-004", "night-013", "nowhere"]
    for name, out in outputs.items():
        flat = " ".join(out.replace("\\", "").split())
        assert "no such shift" in flat, name
        assert "left: pass rate fell since nowhere (ann: misspelt)" in flat, name
        assert "last asked in night-011" in flat, name
        is_whole = name != "gate of an older run"  # what follows may show the shift
        assert ("smoke / kept: pass rate fell since night-004 (ann:" in flat) == is_whole, name
        assert "another suite" not in flat, name


def test_an_entry_of_a_shift_is_of_use_although_its_level_is_back(tmp_path):
    nights = Nights(tmp_path / "runs", n_cases=8, repetitions=1)
    nights.add(7, rates={"left": 1.0})
    nights.add(5, rates={"left": 0.0})
    nights.add(8, rates={"left": 1.0})
    path = tmp_path / "known.toml"
    path.write_text(UNKNOWN.replace("night-013", "night-008").replace("kept", "left"))
    with open_history(nights.runs_dir) as history:
        result = history.gate(known=path)

    assert result.open_shifts == ()
    assert [one.first_run for one in result.unused_shifts] == ["night-004", "nowhere"]


def test_more_runs_than_are_looked_at_call_no_entry_wrong(nights, tmp_path):
    path = tmp_path / "known.toml"
    path.write_text(UNKNOWN)
    asked = {"limits": Thresholds(), "known": read_known(path), "last": 12}
    with open_session(nights) as session:
        cut = find_open_shifts(session, ["night-013"], **asked)
    assert [one.first_run for one in cut.unused] == ["nowhere"]
