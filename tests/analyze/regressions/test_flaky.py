"""Flaky cells: which trials count, and what is said of them."""

import json
import random

import pytest

from analyze.query.session import open_session
from analyze.regressions.flaky import find_flaky
from analyze.stats.rates import flip_limits, flip_rate
from schemas.config.known_issues import KnownFile, Quarantined
from schemas.config.project import Thresholds
from schemas.output.comparison import ThresholdsUsed
from schemas.output.regressions import Flaky
from schemas.run.config import FingerprintParts
from tests.support.analyze_cli import call
from tests.support.nights import Nights
from tests.support.run_builder import STARTED_AT_MS

pytestmark = pytest.mark.usefixtures("warm_engines")

LIMITS = ThresholdsUsed(thresholds=Thresholds(), path=None, sha256=None)


@pytest.fixture
def write(new_run):
    """Writes a run of one case from its verdicts."""
    number = 0

    def a_run(verdicts, *, parts=None, reused=False, case_id="c1", **fields):
        nonlocal number
        number += 1
        run = new_run(f"run-{number:02d}", STARTED_AT_MS + number * 1000)
        same = {"reused_from_run_id": "run-01" if reused else None} | fields
        outcomes = [{"passed": passed} | same for passed in verdicts]
        return run.night({case_id: outcomes}, plan={"fingerprint_parts": parts} if parts else None)

    return a_run


def flaky_in(runs_dir, **options):
    with open_session(runs_dir) as session:
        return find_flaky(session, limits=LIMITS, **options)


def test_three_of_ten_is_flaky_with_the_limits_of_its_trials(write):
    write([True, False, False, False, False])
    run = write([True, False, True, False, False])
    found = flaky_in(run.runs_dir)
    (cell,) = found.cells
    assert (cell.n_passed, cell.n_trials, cell.n_runs) == (3, 10, 2)
    assert (cell.first_run, cell.last_run) == ("run-01", "run-02")
    assert cell.flip_rate == flip_rate(3, 10) == pytest.approx(0.4667, abs=1e-4)
    assert (cell.low, cell.high) == flip_limits(3, 10)
    assert cell.steadiness == "flaky"
    assert (found.n_cells, found.n_flaky, found.n_steady, found.n_unknown) == (1, 1, 0, 0)


def test_fewer_than_five_trials_have_no_limits(write):
    run = write([True, False, True])
    (cell,) = flaky_in(run.runs_dir).cells
    assert (cell.low, cell.high, cell.steadiness) == (None, None, "unknown")
    assert cell.flip_rate is not None


def test_only_trials_under_the_newest_fingerprint_count(write):
    new = FingerprintParts(case="1" * 16, settings="2" * 16, endpoint="3" * 16, harness="4" * 16)
    write([False] * 6)
    run = write([True] * 6, parts=new)
    (cell,) = flaky_in(run.runs_dir).cells
    assert (cell.n_passed, cell.n_trials, cell.first_run) == (6, 6, "run-02")


def test_another_content_of_the_case_is_another_cell(write):
    write([False] * 6)
    run = write([True] * 5)
    for name in ("plan.jsonl", "results.jsonl"):
        text = (run.path / name).read_text()
        case_hash = json.loads(text.splitlines()[0])["case_hash"]
        (run.path / name).write_text(text.replace(case_hash, "e" * 64))
    (cell,) = flaky_in(run.runs_dir).cells
    assert (cell.n_passed, cell.n_trials) == (5, 5)


def test_reused_answers_are_no_trials(write):
    write([True, False, True, False, True])
    run = write([True, False, True, False, True], reused=True)
    (cell,) = flaky_in(run.runs_dir).cells
    assert (cell.n_trials, cell.last_run) == (5, "run-01")


@pytest.mark.parametrize(("reps", "n_runs"), [(3, 20), (7, 12), (50, 2), (60, 1)])
def test_the_newest_fifty_trials_count_the_last_repetitions_of_the_oldest_run(write, reps, n_runs):
    dice = random.Random(reps)
    verdicts = [[dice.random() < 0.7 for _ in range(reps)] for _ in range(n_runs)]
    for one in verdicts:
        run = write(one)
    (cell,) = flaky_in(run.runs_dir).cells
    newest = [passed for one in verdicts for passed in one][-50:]
    assert (cell.n_trials, cell.n_passed) == (50, sum(newest))
    assert cell.n_runs == -(-50 // reps)


def test_trials_before_the_last_shift_of_the_series_do_not_count(tmp_path):
    nights = Nights(tmp_path / "runs")
    nights.add(8, rates={"m": 1.0})
    nights.add(6, rates={"m": 0.3})
    cells = flaky_in(nights.runs_dir).cells
    assert {cell.first_run for cell in cells} == {"night-009"}
    assert {cell.n_trials for cell in cells} == {18}


def test_a_cell_that_broke_is_counted_since_and_its_first_bad_run_is_named(tmp_path):
    nights = Nights(tmp_path / "runs", n_cases=25)
    nights.add(8, rates={"m": 1.0})
    nights.add(8, rates={"m": 1.0}, cases={"case-03": 0.0})
    cells = {cell.case_id: cell for cell in flaky_in(nights.runs_dir).cells}
    broken = cells["case-03"]
    assert (broken.first_bad_run, broken.first_run) == ("night-009", "night-009")
    assert (broken.n_passed, broken.n_trials) == (0, 24)
    assert cells["case-04"].first_bad_run is None
    assert cells["case-04"].n_trials == 48


def test_a_quarantined_case_is_marked_for_the_models_it_names(tmp_path):
    nights = Nights(tmp_path / "runs", n_cases=2)
    nights.add(2, rates={"m": 0.5, "other": 0.5})
    one = {"suite_id": "smoke", "reason": "flaky", "author": "ann"}
    known = KnownFile(
        schema_version=1,
        quarantined=(
            Quarantined(case_id="case-00", **one),
            Quarantined(case_id="case-01", model_id="m", **one),
        ),
    )
    marked = {
        (cell.model_id, cell.case_id)
        for cell in flaky_in(nights.runs_dir, known=known).cells
        if cell.quarantined
    }
    assert marked == {("m", "case-00"), ("m", "case-01"), ("other", "case-00")}


def test_the_command_lists_flaky_ones_and_with_all_every_cell(tmp_path):
    nights = Nights(tmp_path / "runs", n_cases=3, repetitions=5)
    nights.add(10, rates={"m": 1.0}, cases={"case-01": 0.5})
    done = call("flaky", "--runs", nights.runs_dir, columns=80)
    assert done.code == 0
    first, _, titles, *lines = done.out.splitlines()
    assert first == "3 cells (a case with a model): 1 flaky, 2 steady, 0 unknown"
    assert titles.split()[:5] == ["suite", "model", "case", "passed", "flip%"]
    assert lines[0].startswith("smoke  m      case-01  ")
    assert "case-02" not in done.out
    every = call("flaky", "--runs", nights.runs_dir, "--all", columns=80).out
    assert "case-02   50/50    0.0  [0.0, 9.3]    steady" in every
    assert max(map(len, every.splitlines())) <= 80


def test_the_command_speaks_json_and_markdown(tmp_path):
    nights = Nights(tmp_path / "runs", n_cases=2)
    nights.add(4, rates={"m": 0.5})
    out = call("flaky", "--runs", nights.runs_dir, "--format", "json").out
    assert Flaky.model_validate_json(out) == flaky_in(nights.runs_dir)
    markdown = call("flaky", "--runs", nights.runs_dir, "--format", "md").out
    assert markdown.startswith("# Flaky cases\n\n2 cells (a case with a model): ")
    assert "| smoke | m | case-0" in markdown


def test_the_thresholds_in_force_are_named_in_every_form(tmp_path, monkeypatch):
    nights = Nights(tmp_path / "runs", n_cases=3, repetitions=5)
    nights.add(10, rates={"m": 1.0}, cases={"case-01": 0.5})
    (tmp_path / "benchlake.yaml").write_text(
        "schema_version: 1\nthresholds: {pass_rate_margin: 0.3}\n"
    )
    monkeypatch.chdir(tmp_path)
    text, page, document = (
        call("flaky", "--runs", nights.runs_dir, "--format", form, columns=300).out
        for form in ("table", "md", "json")
    )

    assert "limits: margin 30.0 points" in text
    assert "benchlake.yaml" in text
    assert "Limits: margin 30.0 points" in page
    assert json.loads(document)["limits"]["thresholds"]["pass_rate_margin"] == 0.3


def test_without_trials_it_says_so(tmp_path):
    (tmp_path / "runs").mkdir()
    done = call("flaky", "--runs", tmp_path / "runs")
    assert done.code == 0
    assert done.out.startswith("no case has a trial that counts yet, ")
    assert "`collect run`" in done.out
