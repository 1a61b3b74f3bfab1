"""`analyze regressions` on histories of which it is known what happened: told soon, or never."""

import json
import math
import random
import shutil

import pytest

from tests.support.analyze_cli import call
from tests.support.nights import Nights

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("warm_engines")]


def regressions(nights, *arguments):
    done = call("regressions", "--json", "--runs", nights.runs_dir, *arguments)
    return json.loads(done.out)


def shifts_of(found, metric):
    return [one for one in found["shifts"] if one["series"]["metric"] == metric]


@pytest.fixture
def nights(tmp_path):
    """An empty history of one suite."""
    return Nights(tmp_path / "runs")


def timed(nights, n, e2e_ms, dice):
    """Add nights on each of which the server is a little slower or quicker."""
    return [
        nights.add(rates={"m": 0.9}, e2e_ms=e2e_ms * math.exp(dice.gauss(0, 0.08)))[0]
        for _ in range(n)
    ]


@pytest.mark.parametrize("before", [4, 6])
def test_wrong_2_a_hundredfold_time_after_a_few_nights_is_told_at_its_first_run(nights, before):
    dice = random.Random(before)
    timed(nights, before, 400, dice)
    slow = timed(nights, 4, 40_000, dice)

    (shift,) = shifts_of(regressions(nights), "e2e_ms")

    assert (shift["first_run"], shift["method"], shift["is_worse"]) == (slow[0], "t_scan", True)
    assert shift["seen_in"] == slow[2], "three runs confirm it"
    assert shift["low"] < 100 < shift["high"]
    assert 85 < shift["size"] < 115


def test_wrong_6_nights_that_copy_earlier_answers_are_no_level(nights):
    """A fresh night a week, copied on the other six: copies scatter less than nights do."""
    nights.repetitions = 1
    rates = {f"m{number}": 0.7 for number in range(12)}
    for _ in range(6):
        (fresh,) = nights.add(rates=rates)
        nights.copy(fresh, 6)

    found = regressions(nights)

    assert (found["shifts"], found["cell_shifts"]) == ([], [])
    why = "36 of 42 runs left out: all their answers were taken over from earlier runs"
    assert [one["why"] for one in found["skipped"] if one["metric"] is None] == [why] * 12


def test_a_drop_between_copies_is_told_of_the_fresh_nights(nights):
    nights.repetitions = 3
    for rate in (0.95, 0.4):
        for _ in range(5):
            (fresh,) = nights.add(rates={"m": rate})
            nights.copy(fresh, 2)

    (shift,) = shifts_of(regressions(nights), "passed_rate")

    assert (shift["last_run_before"], shift["first_run"]) == ("night-013", "night-016")
    assert (shift["n_before"], shift["n_after"]) == (5, 5)


@pytest.mark.parametrize("sizes", [(10, 12), (12, 10), (10, 12, 10)])
def test_a_block_of_hard_cases_that_enters_or_leaves_is_no_shift(nights, sizes):
    dice = random.Random(5)
    hard = {"case-10": 0.0, "case-11": 0.0}
    for size in sizes:
        nights.n_cases = size
        for _ in range(8):
            slow = 400 * math.exp(dice.gauss(0, 0.08))
            nights.add(rates={"m": 0.9}, cases=hard, e2e_ms=slow)

    found = regressions(nights)

    assert found["shifts"] == []
    assert not [one for one in found["skipped"] if "since its cases changed" in one["why"]]


def test_a_drop_at_the_night_on_which_cases_enter_has_its_own_size(nights):
    nights.add(8, rates={"m": 1.0})
    nights.n_cases = 12
    nights.add(8, rates={"m": 0.5}, cases={"case-10": 0.0, "case-11": 0.0})

    (shift,) = shifts_of(regressions(nights), "passed_rate")

    assert (shift["first_run"], shift["before"], shift["n_cases"]) == ("night-009", 1.0, 10)
    assert shift["after"] == pytest.approx(0.5, abs=0.1)
    assert shift["low"] < -0.5 < shift["high"]


def test_repetitions_of_the_same_bytes_are_one_trial(nights):
    """Six of ten pass, on other nights eight: 18 to 24 of 30 were far; 6 to 8 of 10 are near."""
    for n_passed in (8, 8, 8, 6, 6, 6):
        rates = {f"case-{place:02d}": float(place < n_passed) for place in range(10)}
        nights.add(rates={"m": 0.0}, cases=rates)
    apart = shifts_of(regressions(nights), "passed_rate")
    for results in nights.runs_dir.glob("*/results.jsonl"):
        lines = [json.loads(line) for line in results.read_text().splitlines()]
        same = [json.dumps(line | {"raw_output": "answer"}) + "\n" for line in lines]
        results.write_text("".join(same))
    shutil.rmtree(nights.runs_dir / "lake")  # a sync leaves edited logs alone

    found = regressions(nights)

    assert (len(apart), shifts_of(found, "passed_rate")) == (1, [])


def acknowledged(found, tmp_path, first_run):
    (shift,) = shifts_of(found, "passed_rate")
    known = tmp_path / "known.toml"
    known.write_text(
        "schema_version = 1\n[[acknowledged]]\n"
        f'suite_id = "smoke"\nmodel_id = "m"\nmetric = "passed_rate"\nfirst_run = "{first_run}"\n'
        f'direction = "{shift["direction"]}"\nreason = "known"\nauthor = "ann"\n'
    )
    return known


@pytest.mark.parametrize(
    ("first_run", "is_silent"),
    [("night-007", False), ("night-008", True), ("night-012", True), ("night-013", True),
     ("night-014", False), ("night-010", False)],
)  # fmt: skip
def test_an_acknowledgement_follows_its_shift_by_one_run_of_the_series(
    nights, tmp_path, first_run, is_silent
):
    """An outage and copies in between are no runs of the series."""
    nights.add(8, rates={"m": 1.0})
    nights.add(2, rates={"m": 1.0}, lost=0.6)
    nights.copy("night-008")
    nights.add(6, rates={"m": 0.5})
    known = acknowledged(regressions(nights), tmp_path, first_run)

    found = regressions(nights, "--known", known)

    assert [one["acknowledged"] is not None for one in shifts_of(found, "passed_rate")] == [
        is_silent
    ]
    assert bool(found["unused"]) is not is_silent


def test_the_document_says_its_version(nights):
    nights.add(1, rates={"m": 0.9})

    assert regressions(nights)["schema_version"] == 2
