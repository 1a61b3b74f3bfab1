"""Whose nights a gate holds each metric against: those since that metric's own last level shift."""

import json
from functools import lru_cache

import pytest
from junitparser import JUnitXml

from analyze.api import open_history
from analyze.gate.document import gate_document
from analyze.render.markdown import markdown_page
from schemas.errors import ConfigError
from schemas.output.regressions import GateResult
from tests.support.analyze_cli import call, on_screen
from tests.support.gates import night
from tests.support.nights import Nights

pytestmark = pytest.mark.usefixtures("warm_engines")

SLOWER, LAST_SLOW = 9, 14
"""Nights from which on one of two models takes a hundred times as long."""

DROPPED, MENDED, QUICK, LAST = 22, 26, 31, 36
"""First night of a low pass rate and a slow server, of the old pass rate, and of the old time."""

ENTRY = """schema_version = 1
[[acknowledged]]
suite_id = "smoke"
model_id = "slow"
metric = "e2e_ms"
first_run = "night-009"
direction = "up"
reason = "it thinks now"
author = "ann"
"""

BOTH = ("passed_rate", "e2e_ms")


def names(*numbers):
    return tuple(f"night-{number:03d}" for number in numbers)


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Two suites in one folder of runs; only looked at."""
    made = Nights(tmp_path_factory.mktemp("nights") / "runs", n_cases=8, repetitions=1)
    rates = {"slow": 1.0, "same": 1.0}
    made.add(SLOWER - 1, rates=rates)
    made.add(LAST_SLOW - SLOWER + 1, rates=rates, e2e_ms={"slow": 40_000, "same": 400})
    made.add(DROPPED - LAST_SLOW - 1, rates={"m": 1.0}, suite_id="mirror")
    made.add(MENDED - DROPPED, rates={"m": 0.0}, suite_id="mirror", e2e_ms=1200)
    made.add(QUICK - MENDED, rates={"m": 1.0}, suite_id="mirror", e2e_ms=1200)
    made.add(LAST - QUICK, rates={"m": 1.0}, suite_id="mirror")
    made.add(rates={"m": 1.0}, suite_id="mirror", e2e_ms=800)
    return made.runs_dir


@pytest.fixture(scope="module")
def answer(nights):
    """Return what the gate of a night says as a record; the same question is asked once."""
    with open_history(nights) as history:

        @lru_cache
        def asked(number, metrics=("e2e_ms",), baseline="history", **more):
            return history.gate(*names(number), metrics=metrics, baseline=baseline, **more)

        yield asked


def of(result, model_id, metric="e2e_ms"):
    (line,) = (line for line in result.lines if (line.model_id, line.metric) == (model_id, metric))
    return line


def test_a_time_that_jumped_is_red_and_green_once_its_new_level_is_told(answer):
    said = {n: answer(n) for n in (SLOWER, 11, 12, LAST_SLOW)}

    assert {n: said[n].exit_code for n in said} == {SLOWER: 1, 11: 0, 12: 0, LAST_SLOW: 0}
    assert of(said[SLOWER], "slow").outcome == "failed"
    named = [n for n in said if [one.first_run for one in said[n].open_shifts] == ["night-009"]]
    assert named == [11, 12, LAST_SLOW]
    assert of(said[11], "slow").base_run_ids == names(*range(4, 11))
    assert of(said[12], "slow").base_run_ids == names(9, 10, 11)
    assert of(said[LAST_SLOW], "slow").base_run_ids == names(9, 10, 11, 12, 13)


def test_an_acknowledged_time_is_judged_alike_and_named_no_more(answer, tmp_path):
    path = tmp_path / "slow.toml"
    path.write_text(ENTRY)
    result = answer(12, known=path)

    assert (result.exit_code, result.open_shifts, result.unused_shifts) == (0, (), ())
    assert of(result, "slow").base_run_ids == names(9, 10, 11)
    assert answer(SLOWER, known=path).exit_code == 1


def test_the_last_three_are_three_of_the_level(nights):
    args = ("--metric", "e2e_ms", "--baseline", "last:3", "--json", "--runs", nights)
    done = call("gate", f"night-{LAST_SLOW:03d}", *args)

    assert done.code == 0
    result = GateResult.model_validate_json(done.out)
    assert of(result, "slow").base_run_ids == names(11, 12, 13)


def test_each_model_has_its_own_nights_and_each_line_says_which(answer, nights, tmp_path):
    args = ("--metric", "e2e_ms", "--baseline", "history")
    result = answer(12)
    assert of(result, "slow").base_run_ids == names(9, 10, 11)
    assert of(result, "same").base_run_ids == names(*range(5, 12))
    assert result.other_baselines == ()

    xml = tmp_path / "gate.xml"
    text = call("gate", "night-012", *args, "--runs", nights, "--junit", xml).out
    assert "baseline    of each line its own [history]\n" in text
    assert "\n  held against night-009, night-010, night-011 (3 runs)\n" in text
    assert "\n  held against night-005 to night-011 (7 runs)\n" in text
    markdown = markdown_page(gate_document(result))
    assert "| Held against |" in markdown
    assert "| night-005 to night-011 (7 runs) |" in markdown
    gate = {case.classname: case for case in next(iter(JUnitXml.fromfile(xml)))}
    assert "held against night-005 to night-011 (7 runs)" in gate["same"].system_out


def test_each_metric_has_its_own_nights(answer):
    result = answer(12, BOTH)
    (other,) = result.other_baselines

    assert result.exit_code == 0
    assert result.comparison.base.run_ids == names(*range(5, 12))
    assert [(line.model_id, line.metric) for line in result.lines] == [
        ("same", "passed_rate"), ("same", "e2e_ms"), ("slow", "passed_rate"), ("slow", "e2e_ms"),
    ]  # fmt: skip
    assert (other.metrics, other.confirmation) == (("e2e_ms",), None)
    assert of(result, "slow", "passed_rate").base_run_ids == names(*range(5, 12))
    assert of(result, "slow").base_run_ids == names(9, 10, 11)


def test_the_pass_rate_leads_however_the_metrics_are_named(answer):
    turned = answer(12, ("e2e_ms", "passed_rate"))

    assert turned.comparison == answer(12, BOTH).comparison
    assert [line.metric for line in turned.lines[:2]] == ["e2e_ms", "passed_rate"]


def test_one_baseline_is_said_once(answer):
    result = answer(8, BOTH)
    screen = on_screen(gate_document(result))

    assert result.other_baselines == ()
    assert "baseline    night-001 to night-007 (7 runs) [history]\n" in screen
    assert "held against" not in screen


def test_nights_of_another_time_are_no_baseline_after_the_pass_rate_recovered(answer):
    """Seven nights since the pass rate shifted back; the last two of its time alone are alike."""
    result = answer(LAST - 1, BOTH)
    assert of(result, "m", "passed_rate").base_run_ids == names(*range(28, 35))
    assert of(result, "m").base_run_ids == names(*range(QUICK, LAST - 1))
    assert [line.outcome for line in result.lines] == ["passed", "passed"]

    doubled = answer(LAST, BOTH)
    assert of(doubled, "m").base_run_ids == names(*range(QUICK, LAST))
    assert (of(doubled, "m").outcome, of(doubled, "m", "passed_rate").outcome) == (
        "failed",
        "passed",
    )


def test_while_a_pass_rate_stands_low_its_times_have_their_own_level(answer):
    result = answer(25, BOTH)

    assert result.exit_code == 1
    assert of(result, "m", "passed_rate").base_run_ids == names(*range(15, DROPPED))
    assert of(result, "m").base_run_ids == names(22, 23, 24)
    assert of(result, "m").outcome == "passed"


def test_tokens_have_levels_of_their_own_and_no_alerts(new_run, tmp_path):
    for number in range(1, 11):
        night(new_run, number, n_cases=8, reps=1, output_tokens=100 if number < 7 else 300)
    runs = ("--runs", tmp_path / "runs")
    args = ("--metric", "output_tokens", "--baseline", "history", "--json")
    said = {
        n: GateResult.model_validate_json(call("gate", f"night-{n:02d}", *args, *runs).out)
        for n in (7, 10)
    }

    assert [said[n].exit_code for n in said] == [1, 0]
    assert said[10].lines[0].base_run_ids == ("night-07", "night-08", "night-09")
    assert said[10].open_shifts == ()
    assert call("regressions", *runs).out.startswith("nothing shifted")


def test_a_metric_without_any_value_cannot_be_judged(answer):
    assert answer(12, ("cost_usd",)).exit_code == 3


def test_a_confirming_run_must_be_in_no_baseline(answer):
    with pytest.raises(ConfigError, match="night-010 is in the baseline already"):
        answer(12, BOTH, confirm="night-010")


def test_a_fresh_run_is_held_against_the_nights_of_each_metric(answer):
    result = answer(12, BOTH, confirm="night-013")
    (other,) = result.other_baselines

    assert all(line.confirmed for line in result.lines)
    assert other.confirmation.candidate.run_ids == names(13)
    assert other.confirmation.base == other.comparison.base


def test_what_was_stored_before_still_loads(answer):
    document = json.loads(answer(12, BOTH).model_dump_json())
    for name in ("other_baselines", "unused_shifts"):
        del document[name]
    for line in document["lines"]:
        del line["base_run_ids"]
    for shift in document["open_shifts"]:
        del shift["last_asked_in"]
    old = GateResult.model_validate(document)

    assert (old.other_baselines, old.lines[0].base_run_ids) == ((), ())


@pytest.mark.parametrize("baseline", ["history", "previous"])
def test_the_first_run_of_a_suite_cannot_be_judged_and_says_what_follows(
    nights, baseline, tmp_path
):
    xml = tmp_path / "gate.xml"
    args = ("gate", "night-001", "--baseline", baseline, "--runs", nights)
    done = call(*args, "--junit", xml)
    screen = " ".join(done.out.split())

    assert (done.code, done.err) == (3, "")
    assert screen.startswith("gate: cannot judge (2 cannot judge)")
    assert f"baseline no run yet [{baseline}]" in screen
    assert f"`{baseline}` means a run of suite `smoke` before `night-001`, and there is" in screen
    assert "nothing to compare it with yet; the gate of the next run is held against" in screen
    gate, *models = JUnitXml.fromfile(xml)
    assert [(case.name, case.classname) for case in gate] == [
        ("gate: passed_rate", "same"), ("gate: passed_rate", "slow"),
    ]  # fmt: skip
    assert {case.result[0].type for case in gate} == {"cannot_judge"}
    assert [len(list(suite)) for suite in models] == [8, 8]
    result = GateResult.model_validate_json(call(*args, "--json", "--model", "slow").out)
    assert [line.model_id for line in result.lines] == ["slow"]
    assert result.comparison.base.run_ids == ()
    assert "no run yet" in call(*args, "--format", "md").out


@pytest.mark.parametrize("base", ["history", "previous"])
def test_the_first_run_of_a_suite_has_nothing_to_be_compared_with(nights, base):
    done = call("compare", base, "night-001", "--runs", nights)

    assert done.code == 3
    assert f"`{base}` means a run of suite `smoke` before `night-001`, and there is" in done.err
    assert "the next run of this suite is compared with this one" in done.err


def compared_with(nights, number, *more):
    """The runs that the model of a night is compared with, by the word of the gate."""
    done = call("compare", "history", *names(number), "--json", "--runs", nights, *more)
    (group,) = json.loads(done.out)["groups"]
    return tuple(group["base"]["run_ids"])


def test_compare_and_report_hold_a_run_against_the_past_runs_of_the_gate(answer, nights, tmp_path):
    before = names(*range(15, DROPPED))
    form = ("--format", "json", "--baseline", "history")
    report = call("report", nights, "--run", *names(MENDED - 1), *form)
    path = tmp_path / "known.toml"
    entry = ENTRY.replace("smoke", "mirror").replace('"slow"', '"m"').replace('"up"', '"down"')
    path.write_text(entry.replace("e2e_ms", "passed_rate").replace("night-009", "night-022"))

    assert answer(MENDED - 1, ("passed_rate",)).lines[0].base_run_ids == before
    assert compared_with(nights, MENDED - 1) == before
    assert tuple(run["run_id"] for run in json.loads(report.out)["baseline"]) == before
    assert compared_with(nights, MENDED - 1, "--known", path) == names(22, 23, 24)
    with open_history(nights) as history:
        plain = history.compare("last:7", *names(12), model="slow", against="same")
    assert plain.base.run_ids == names(*range(5, 12))


def test_history_is_no_name_of_a_candidate(nights):
    done = call("compare", "night-001", "history", "--runs", nights)

    assert done.code == 2
    assert "`history`" in done.err


def test_compare_shows_what_a_gate_could_not_judge(new_run):
    for number in (1, 2, 3):
        run = new_run(f"r{number}", started_at_ms=number * 86_400_000)
        for case in range(6):
            run.result(run.plan(f"c{case}", validator_type=None), passed=None)
        run.write()

    done = call("compare", "last:2", "--runs", run.runs_dir, "--json")

    assert json.loads(done.out)["base"]["run_ids"] == ["r1", "r2"]
    refused = call("gate", "--baseline", "last:2", "--runs", run.runs_dir)
    assert "no run before `r3` can be its baseline" in refused.err
