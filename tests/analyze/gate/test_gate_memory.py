"""A gate does not forget: a drop stays red until its level is back or somebody acknowledges it."""

import re
from functools import lru_cache

import pytest
from junitparser import JUnitXml

from analyze.api import open_history
from analyze.gate.decide import with_open_shifts
from analyze.gate.document import gate_document
from analyze.gate.rules import judge
from analyze.report.html.page import render_html
from analyze.report.markdown import report_markdown
from schemas.output.regressions import GateResult, OpenShift
from schemas.output.report import REPORT_VERSION
from tests.support.analyze_cli import call, on_screen
from tests.support.gates import RULES, comparison, difference, group, night, ratio
from tests.support.nights import Nights

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("warm_engines")]

DROPPED, MENDED, LAST = 9, 16, 24
"""First night of the lower level, first of the old one again, and the last of all."""

OUTAGE = 13

ENTRY = """schema_version = 1
[[acknowledged]]
suite_id = "smoke"
model_id = "good"
metric = "passed_rate"
first_run = "night-09"
direction = "down"
reason = "the provider moved to a smaller model; we stay"
author = "ann"
"""


@pytest.fixture(scope="module")
def nights(shared_run):
    """Nights of which some dropped by 30 points, with an outage among them; only looked at."""
    for number in range(1, LAST + 1):
        is_low = DROPPED <= number < MENDED
        failing = 10 if number == OUTAGE else 0
        night(
            shared_run, number, n_cases=20, reps=1, bad=8 if is_low else 2, failing=failing,
            e2e_ms=800 if is_low else 400,
        )  # fmt: skip
    return shared_run("any").runs_dir


@pytest.fixture
def gate(nights):
    """Return the command of one night over these."""
    return lambda number, *args: call("gate", f"night-{number:02d}", *args, "--runs", nights)


@pytest.fixture(scope="module")
def history(nights):
    with open_history(nights) as history:
        yield history


@pytest.fixture(scope="module")
def answer(history):
    """Return what it says as a record; the same question is asked once."""
    return lru_cache(lambda number, **asked: history.gate(f"night-{number:02d}", **asked))


@pytest.fixture(scope="module")
def entry(tmp_path_factory):
    """The file that acknowledges the drop."""
    path = tmp_path_factory.mktemp("known") / "known.toml"
    path.write_text(ENTRY)
    return path


@pytest.fixture(scope="module")
def report(history):
    return history.report("night-15")


@pytest.mark.parametrize("baseline", ["history", "previous"])
def test_wrong_7_an_unmended_drop_stays_red_on_every_later_night(answer, baseline):
    """It was red at first, and green from the fourth night on, or the second."""
    said = [answer(n, baseline=baseline).exit_code for n in (DROPPED, 11, 12, 15)]

    assert said == [1, 1, 1, 1]


def test_wrong_7_a_mended_drop_is_green_within_a_week_and_for_good(answer):
    said = {n: answer(n, baseline="history") for n in (16, 18, 21, 22, LAST)}

    assert [n for n in said if said[n].exit_code] == [16, 18, 21]
    assert all(line.by_open_shift for n in (16, 18, 21) for line in said[n].lines)
    assert "-30.0 points since night-09 (9 runs, now 90.0 %); against" in said[18].lines[0].why
    assert said[22].open_shifts == ()


@pytest.mark.parametrize("option", ["known", "quarantine"])
def test_wrong_7_an_acknowledged_drop_is_green(answer, gate, entry, tmp_path, option):
    done = gate(15, "--baseline", "history", f"--{option}", entry, "--json")
    result = GateResult.model_validate_json(done.out)
    assert (done.code, result.exit_code, result.open_shifts) == (0, 0, ())
    result = answer(15, baseline="previous", **{option: entry})
    assert (result.exit_code, result.open_shifts) == (0, ())
    other = tmp_path / "other.toml"
    other.write_text(ENTRY.replace('"good"', '"other"'))
    assert answer(15, **{option: other}).exit_code == 1


def test_the_level_before_is_the_baseline_while_a_shift_stands(answer, entry):
    before = tuple(f"night-{n:02d}" for n in range(2, DROPPED))
    assert answer(15, baseline="history").comparison.base.run_ids == before
    assert answer(15, baseline="last:3").comparison.base.run_ids == before[-3:]

    since = answer(15, baseline="history", known=entry).comparison.base.run_ids
    assert since == tuple(f"night-{n:02d}" for n in (9, 10, 11, 12, 14))


def test_a_shift_is_told_with_its_first_run_its_size_and_what_to_do(answer, gate):
    (shift,) = answer(15).open_shifts
    line = answer(15).lines[0]
    done = gate(15)
    screen = " ".join(done.out.split())

    assert (shift.first_run, shift.last_run_before, shift.n_runs) == ("night-09", "night-08", 6)
    assert (shift.before, shift.size, shift.is_tolerated) == pytest.approx((0.9, -0.3, False))
    assert (line.outcome, line.by_open_shift) == ("failed", True)
    assert done.code == 1
    assert "recovered nor acknowledged: -30.0 points since night-09 (6 runs); against" in screen
    assert "smoke / good, pass rate: 90.0 -> 60.0 % passed (-30.0 points) since night-09" in screen
    assert "analyze regressions --suite smoke --model good --since night-09 --runs " in screen
    assert "--confirm" not in screen  # a fresh run would not change it
    assert "no fresh run clears an open shift: mend what broke, or acknowledge it in a" in screen


def test_the_command_that_is_told_prints_the_entry(answer):
    command = answer(15).open_shifts[0].command.split()
    shown = call(*command[1:])

    assert shown.code == 1
    assert 'first_run = "night-09"' in shown.out


def test_a_tolerated_shift_is_named_and_passes(answer, gate):
    result = answer(15, max_drop=0.3)

    assert (result.exit_code, [one.is_tolerated for one in result.open_shifts]) == (0, [True])
    assert "named only: --max-drop tolerates it" in " ".join(
        gate(15, "--max-drop", "0.3").out.split()
    )
    assert answer(15, max_drop=0.29).exit_code == 1


def open_shift(metric="passed_rate", **fields):
    """A shift of the model of `tests.support.gates`."""
    base = {
        "series": {
            "suite_id": "s", "model_id": "m", "metric": metric, "provider": "p", "model": "real",
            "thinking_level": None,
        },
        "first_run": "night-09", "first_started_at_ms": None, "last_run_before": "night-08",
        "seen_in": "night-11", "n_runs": 6, "before": 400.0, "after": 800.0,
        "now": 800.0, "size": 2.0,
        "command": "analyze regressions --suite s --model m --since night-09",
    }  # fmt: skip
    return OpenShift.model_validate(base | fields)


def test_a_time_that_shifted_is_named_and_fails_nothing():
    rules = RULES.model_copy(update={"metrics": ("e2e_ms",)})
    judged = judge(comparison(group(difference(), ratios=(ratio(),))), rules)
    result = with_open_shifts(judged, [open_shift("e2e_ms")])
    screen = on_screen(gate_document(result))

    assert (result.exit_code, result.schema_version) == (0, 2)
    assert "s / m, time: 400 -> 800 ms (x 2.00) since night-09 (6 runs;" in screen
    assert "named only: shifts of times and costs fail nothing" in screen


def test_a_model_that_nothing_is_compared_of_fails_by_its_shift():
    rate = {"before": 0.9, "after": 0.7, "now": 0.7, "size": -0.2, "is_tolerated": False}
    result = with_open_shifts(judge(comparison(), RULES), [open_shift(**rate)])

    assert result.exit_code == 1
    assert [(line.model_id, line.by_open_shift) for line in result.lines] == [("m", True)]


def test_a_fresh_run_that_passes_does_not_clear_a_shift():
    rate = {"before": 0.9, "after": 0.7, "now": 0.7, "size": -0.2, "is_tolerated": False}
    failed = comparison(group(difference(-0.1, 0.05, q=0.01)))
    judged = judge(failed, RULES, comparison(group(difference()), candidate="fresh"))
    result = with_open_shifts(judged, [open_shift(**rate)])

    assert (judged.exit_code, result.exit_code) == (0, 1)
    assert "fresh does not confirm this" in result.lines[0].why


def test_a_drop_that_stands_and_is_seen_tonight_too_is_no_matter_of_a_fresh_run():
    rate = {"before": 0.9, "after": 0.7, "now": 0.7, "size": -0.2, "is_tolerated": False}
    judged = judge(comparison(group(difference(-0.1, 0.05, q=0.01))), RULES)
    result = with_open_shifts(judged, [open_shift(**rate)])
    screen = on_screen(gate_document(result))

    assert [line.by_open_shift for line in result.lines] == [False]
    assert "a fresh run tells" not in screen
    assert "no fresh run clears an open shift" in screen
    assert "a fresh run tells" in on_screen(gate_document(judged))


def test_an_outage_does_not_hide_a_shift(answer):
    result = answer(OUTAGE)

    assert result.exit_code == 1
    assert result.lines[0].by_open_shift
    assert "only 50.0 % of the trials have a verdict" in result.lines[0].why


def test_markdown_and_junit_name_it(gate, tmp_path):
    page = gate(15, "--format", "md", "--junit", tmp_path / "gate.xml").out
    suite = next(iter(JUnitXml.fromfile(tmp_path / "gate.xml")))
    (case,) = list(suite)

    assert "### Open shifts, until the level is back or a file for --known acknowledges" in page
    assert "since night-09" in page
    assert case.result[0].type == "open_shift"
    assert "analyze regressions --suite smoke --model good --since night-09" in case.system_out


def test_nothing_that_follows_changes_what_a_night_said(answer):
    assert (
        answer(11).open_shifts[0].first_run
        == answer(18, baseline="history").open_shifts[0].first_run
    )
    assert answer(10).open_shifts == ()


def test_a_report_and_the_library_name_it_unless_it_is_acknowledged(
    nights, history, answer, report, entry
):
    path = entry
    asked = ("report", nights, "--run", "night-15", "--format", "md")
    markdown, output = report_markdown(report), call(*asked, "--known", path).out

    assert "## Open shifts" in markdown
    assert "analyze regressions --suite smoke --model good --since night-09" in markdown
    headline = next(line for line in markdown.splitlines() if " fell " in line)
    assert re.match(r"\W*good fell [\d.]+ points since night\W+09; ", headline), headline
    assert "smoke / good, pass rate: " not in output
    shift = next(line for line in output.splitlines() if "pass rate fell from" in line)
    assert "(known to " in shift.replace("\\", "")
    acknowledged = history.report("night-15", known=path)
    gates = [answer(15, known=known).exit_code for known in (None, path)]
    assert answer(15, quarantine=path).exit_code == 0
    assert "night-09" in [one.first_run for one in report.open_shifts]
    assert acknowledged.schema_version == REPORT_VERSION
    assert [o for o in acknowledged.open_shifts if o.series.metric == "passed_rate"] == []
    assert gates == [1, 0]


def test_the_page_shows_it_first_and_as_text(report):
    hostile = "<script>alert(1)</script>"
    series = report.open_shifts[0].series.model_copy(update={"model_id": hostile})
    shifts = (report.open_shifts[0].model_copy(update={"series": series}),) * 5
    page = render_html(report.model_copy(update={"open_shifts": shifts}), {}, lambda: "")

    assert page.index("neither recovered nor acknowledged") < page.index('class="standings')
    assert "<summary>2 more</summary>" in page
    assert hostile not in page


def test_a_list_of_runs_ends_with_what_stands_at_the_newest(tmp_path):
    nights = Nights(tmp_path / "runs", n_cases=8, repetitions=1)
    nights.add(7, rates={"m": 1.0, "n": 1.0})
    nights.add(4, rates={"m": 0.0, "n": 1.0})
    path = tmp_path / "known.toml"
    path.write_text(ENTRY.replace('"good"', '"m"').replace("night-09", "night-008"))
    runs = ("runs", "--runs", nights.runs_dir)
    listing = call(*runs, "--limit", "1").out

    assert "\n\nopen shifts, until the level is back or a file for --known" in listing
    assert "smoke / m, pass rate: 100.0 -> 0.0 % passed (-100.0 points) since" in listing
    assert "--suite smoke --model m --since night-008" in listing.splitlines()[-1]
    assert "open shifts" not in call(*runs, "--known", path).out
    assert "open shifts" not in call(*runs, "--model", "n").out
