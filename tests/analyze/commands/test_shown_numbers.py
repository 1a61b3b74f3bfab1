"""What people read: one rounding for tables and charts, true sentences, no plural of one."""

import json
import re

import pytest

from analyze.api import frame
from analyze.charts.comparison import comparison
from analyze.charts.drawing import specs_of
from analyze.charts.failures import latency, timeouts_of
from analyze.charts.frontier import frontier
from analyze.charts.history import history
from analyze.charts.leaderboard import leaderboard
from analyze.comparison.document import ratio_word
from analyze.render.numbers import in_cases, percent
from analyze.report.html.page import sections_of
from analyze.report.markdown import report_markdown
from analyze.report.sections.comparison import compared_models
from analyze.report.sections.cost_frontier import frontier as frontier_table
from analyze.report.sections.history import history as history_table
from analyze.report.sections.leaderboard import leaderboard as leaderboard_table
from schemas.errors import counted
from schemas.output.report import RunReport
from tests.support.analyze_cli import call
from tests.support.nights import Nights
from tests.support.run_builder import DAY_MS

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("warm_engines")]

SIXTEENTHS = {"m": 1 / 16, "n": 5 / 8}
"""Of 16 cases: 6.25 and 62.5 %, which two ways to round would show as two numbers."""

ONE_OF_MANY = re.compile(
    r"(?<![\d.,/])1 (?:more |other |further |planned |scorable |small |new |open |serious )?"
    r"(?:cases|clusters|trials|runs|models|repetitions|rows|files|cells|shifts|doubts|results|"
    r"verdicts|problems|warnings|errors|answers|cores|suites|characters|turns|bytes)\b"
)


def report_json(runs_dir, *options):
    done = call("report", runs_dir, "--format", "json", *options)
    assert done.code == 0, done.err
    return RunReport.model_validate_json(done.out)


def texts_of(chart, *names):
    """Return the texts that the first data set with these columns holds, a tuple a row."""
    rows = [row for data in chart.to_dict()["datasets"].values() for row in data]
    found = []
    for row in rows:
        columns = [row.get(name) for name in names]
        if all(isinstance(column, list) for column in columns):  # a run with all of its models
            found += list(zip(*columns, strict=True))
        elif None not in columns:
            found.append(tuple(columns))
    return found


@pytest.fixture
def sixteenths(tmp_path, new_run):
    """Return the folder of two runs of 16 cases: 1 of them passes with m, 10 with n."""
    for number in range(2):
        run = new_run(f"run-{number}", day=number)
        cases = [f"c{case:02d}" for case in range(16)]

        def outcome(trial, cases=cases):
            case = cases.index(trial.case_id)
            passed = case < 16 * SIXTEENTHS[trial.model_id]
            return {"passed": passed, "e2e_ms": 400 + case, "cost_usd": 0.0123456,
                    "cost_source": "computed"}  # fmt: skip

        run.night(cases, outcome, models={name: {"model": f"acme/{name}"} for name in SIXTEENTHS})
    return run.runs_dir


def test_charts_say_the_numbers_of_their_tables(sixteenths):
    report = report_json(sixteenths, "--run", "run-1")
    rates = {"m": "6.2", "n": "62.5"}

    table = leaderboard_table(report.summary, report.answer)
    shown = {row[0].text: (f"{row[1].text} %", row[2].text) for row in table.rows}
    drawn = texts_of(
        leaderboard(frame(report.summary, "models")), "model_id", "rate_text", "limits_text"
    )
    assert {name: rest for name, *rest in map(list, drawn)} == {
        n: list(s) for n, s in shown.items()
    }
    assert {name: rate for name, (rate, _) in shown.items()} == {
        name: f"{rate} %" for name, rate in rates.items()
    }

    points = frontier_table(report.frontier)
    columns = ("model_id", "rate_text", "limits_text", "x_text", "x_limits_text")
    drawn = texts_of(frontier(frame(report, "frontier")), *columns)
    assert set(drawn) == {
        (row[0].text, f"{row[1].text} %", row[2].text, row[3].text, row[4].text)
        for row in points.rows
    }
    drawn = texts_of(frontier(frame(report, "frontier"), "time"), *columns)
    assert set(drawn) == {
        (row[0].text, f"{row[1].text} %", row[2].text, row[6].text, row[7].text)
        for row in points.rows
    }

    runs = history_table(report.history, "")
    names = [column.title.removesuffix(" %") for column in runs.columns[2:]]
    shown = {
        (name, f"{cell.text} %", cell.below)
        for row in runs.rows
        for name, cell in zip(names, row[2:], strict=True)
    }
    drawn = texts_of(history(frame(report, "history")), "model", "rate_text", "limits_text")
    assert set(drawn) == shown

    groups = compared_models(report.comparison)
    titles = [column.title for column in groups.columns]
    at, limits = titles.index("points"), titles.index("95 %")
    drawn = texts_of(
        comparison(frame(report.comparison, "groups")), "candidate_model_id", "difference_text",
        "limits_text",
    )  # fmt: skip
    assert set(drawn) == {(row[0].text, row[at].text, row[limits].text) for row in groups.rows}

    description = leaderboard(frame(report.summary, "models")).to_dict()["description"]

    assert "n 62.5 %" in description
    assert "m 6.2 %" in description


def test_an_interval_of_a_case_mean_is_drawn_with_a_tick_and_said(new_run):
    for number in range(2):
        run = new_run(f"run-{number}", day=number)
        same = {"cost_usd": 0.0, "cost_source": "computed", "e2e_ms": 9}
        others = {f"c{case}": [{"passed": True} | same] for case in range(1, 8)}
        run.night({"c0": [{"passed": False} | same] * 12} | others)
    report = report_json(run.runs_dir, "--run", "run-1")
    (answer,) = report.answer
    assert percent(answer.passed_rate) == "36.8"  # 7 of 19 trials
    assert percent(answer.estimate) == "87.5"  # 7 of 8 cases

    for chart, rate in (
        (frontier(frame(report, "frontier"), "time"), "passed_rate"),
        (frontier(frame(report, "frontier"), "cost"), "passed_rate"),
        (history(frame(report, "history")), "rate"),
    ):
        spec = chart.to_dict()
        marks = [layer["mark"]["type"] for layer in spec["layer"]]
        assert "tick" in marks, marks
        points = [layer for layer in spec["layer"] if layer["mark"]["type"] == "point"]
        assert points[0]["encoding"]["y"]["field"] == rate
        ((limits,),) = set(texts_of(chart, "limits_text"))
        assert limits.startswith("case mean 87.5 [")


def test_time_outs_stand_beyond_the_scale(new_run):
    run = new_run("run-0")
    for model_id, n_late in (("slow", 3), ("quick", 0), ("never", 6)):
        for case in range(6):
            late = {"failure_type": "timeout", "passed": False} if case < n_late else {}
            run.result(run.plan(f"c{case}", 1, model_id), **({"e2e_ms": 900} | late))
    run.write()
    report = report_json(run.runs_dir)

    late = timeouts_of(report.summary, "e2e_ms")
    assert late == {"slow": 3, "quick": 0, "never": 6}
    chart = latency(frame(report, "latency"), "e2e_ms", late)
    assert set(texts_of(chart, "model_id", "label")) == {
        ("slow", "3 timed out"), ("never", "6 timed out"),
    }  # fmt: skip
    description = chart.to_dict()["description"]
    assert (
        "beyond the time limit: never 6; slow 3" in description or "slow 3; never 6" in description
    )
    without = latency(frame(report, "latency"), "e2e_ms").to_dict()
    assert "beyond" not in json.dumps(without)


@pytest.mark.parametrize(
    ("n_cases", "clusters", "reason"),
    [
        (1, None, "a single case says nothing about other cases"),
        (6, 6, "6 cases in 1 cluster say nothing about other clusters"),
    ],
)
def test_a_single_unit_has_one_reason_everywhere(tmp_path, n_cases, clusters, reason):
    nights = Nights(tmp_path / "runs", n_cases=n_cases, repetitions=4)
    nights.add(2, rates={"m": 0.5}, clusters=clusters)
    why = f"{reason}: there is no interval and no test"

    compared = call("compare", "previous", "latest", "--runs", nights.runs_dir)
    gated = call("gate", "--runs", nights.runs_dir)
    report = report_json(nights.runs_dir)
    paged = report_markdown(report)

    for output in (compared.out, gated.out):
        assert why in " ".join(output.split())
    (answer,) = report.answer
    assert (answer.change, answer.change_why) == ("inconclusive", why)
    assert f"inconclusive: {why}" in paged
    assert (answer.n_cases, answer.n_clusters) == (n_cases, 1 if clusters else None)
    assert f"in {in_cases(n_cases, answer.n_clusters)}" in paged
    (group,) = report.comparison.groups
    assert (group.n_cases, group.n_clusters) == (n_cases, 1 if clusters else None)
    few = next(doubt for doubt in report.doubts if doubt.code == "few_cases")
    assert few.sentence.startswith("Fewer than 5 " + ("clusters of " if clusters else "") + "cases")


def test_route_counts_what_would_settle_it_in_clusters(tmp_path):
    nights = Nights(tmp_path / "runs", n_cases=12, repetitions=2)
    nights.add(rates={"m": 1.0}, clusters=12)

    done = call("route", "--runs", nights.runs_dir, "--min-quality", "0.8")
    reply = call("route", "--runs", nights.runs_dir, "--min-quality", "0.8", "--json")

    assert "12 cases in 1 cluster" in done.out
    more = json.loads(reply.out)["models"][0]["reasons"][1]["more_cases"]
    assert more == 15  # 16 units that all pass are above 80 %
    assert "insufficient data: 15 more clusters of cases" in done.out


def test_answers_that_were_taken_over_have_one_sentence(tmp_path):
    nights = Nights(tmp_path / "runs", n_cases=8, repetitions=2)
    (first,) = nights.add(rates={"m": 0.9})
    nights.copy(first)
    why = "candidate: every answer was taken over from an older run, so nothing of it is tested"

    compared = " ".join(
        call("compare", "previous", "latest", "--runs", nights.runs_dir).out.split()
    )
    gated = " ".join(call("gate", "--runs", nights.runs_dir).out.split())
    report = report_json(nights.runs_dir)

    assert compared.count("every answer was taken") == gated.count("every answer was taken") == 1
    assert why in compared
    assert why in gated
    assert report.answer[0].change_why == why
    assert "fewer than two cases" not in report_markdown(report)


def test_a_ratio_barred_by_coverage_is_not_said_to_rest_on_too_few(tmp_path):
    nights = Nights(tmp_path / "runs", n_cases=20, repetitions=2)
    nights.add(rates={"m": 0.9})
    nights.add(rates={"m": 0.9}, lost=0.5)

    (group,) = report_json(nights.runs_dir).comparison.groups

    assert group.verdict == "not_comparable"
    for ratio in group.ratios:
        if ratio.n_cases >= 5:
            assert ratio.verdict == "not_comparable"
            assert ratio_word(ratio) == "not comparable"


@pytest.mark.parametrize(
    ("base", "candidate", "verdict", "reason", "code"),
    [
        (0.0, 0.0, "unchanged", "nothing was paid on either side", 0),
        (0.0, 0.01, "not_comparable", "every trial of the base cost 0", 3),
    ],
)
def test_a_cost_of_0_is_known(new_run, base, candidate, verdict, reason, code):
    for number, cost in enumerate((base, candidate)):
        run = new_run(f"run-{number}", day=number)
        paid = {"cost_usd": cost, "cost_source": "computed", "e2e_ms": 90}
        run.night([f"c{case}" for case in range(8)], paid)

    report = report_json(run.runs_dir)
    gated = call("gate", "--runs", run.runs_dir, "--metric", "cost_usd")
    shown = call("show", "run-1", "--runs", run.runs_dir)
    routed = call("route", "--runs", run.runs_dir)

    (group,) = report.comparison.groups
    ratio = next(one for one in group.ratios if one.metric == "cost_usd")
    assert (ratio.verdict, ratio.n_cases, ratio.ratio) == (verdict, 8, None)
    assert ratio.reason.startswith(reason)
    assert (ratio.left_out_base, ratio.left_out_candidate) == (0, 0)
    assert reason in " ".join(gated.out.split())
    assert gated.code == code
    assert "unknown" not in shown.out
    assert "cost unknown" not in routed.out
    assert set(specs_of(report)) >= {"frontier_cost"}


def test_route_says_which_repetitions_count_once(new_run):
    run = new_run("run-0")
    for case in range(10):
        for repetition in range(1, 5):
            run.result(run.plan(f"c{case}", repetition), passed=case > 0, raw_output=f"same {case}")
    run.write()

    output = call("route", "--runs", run.runs_dir).out
    (model,) = json.loads(call("route", "--runs", run.runs_dir, "--json").out)["models"]

    assert "of 10 trials in 10 cases (30 further repetitions gave the same bytes" in output
    assert (model["quality"]["n_trials"], model["quality"]["n_identical"]) == (10, 30)


def test_page_markdown_and_json_have_the_same_shifts(tmp_path):
    nights = Nights(tmp_path / "runs", n_cases=30, repetitions=1, seed=3)
    for rate in (1.0, 0.2, 1.0):
        nights.add(4, rates={"m": rate})

    report = report_json(nights.runs_dir)
    paged = report_markdown(report)
    html = str(next(one.parts["shifts"] for one in sections_of(report) if one.id == "history"))

    moves = [("fell" if one.is_worse else "rose") for one in report.shifts.shifts]
    assert sorted(moves) == ["fell", "rose"]
    for one in report.shifts.shifts:
        word = "fell" if one.is_worse else "rose"
        line = re.compile(rf"{'' if one.is_worse else '.better. '}smoke / m: pass rate {word} from")
        assert line.search(paged.replace("\\", "")), paged
        assert line.search(html)


def test_a_run_that_was_resumed_took_the_time_it_was_at_work(new_run):
    run = new_run("run-0")
    start = run.started_at_ms
    for case, at in ((0, 0), (1, 60_000), (2, 2 * DAY_MS), (3, 2 * DAY_MS + 30_000)):
        run.result(run.plan(f"c{case}"), passed=True, started_at_ms=start + at,
                   ended_at_ms=start + at + 30_000, e2e_ms=30_000)  # fmt: skip
    run.write()

    (listed,) = json.loads(call("runs", "--runs", run.runs_dir, "--json").out)

    assert listed["took_ms"] == 90_000 + 60_000
    assert listed["wall_clock_ms"] == 2 * DAY_MS + 60_000
    for output in (
        call("runs", "--runs", run.runs_dir).out,
        call("show", "run-0", "--runs", run.runs_dir).out,
    ):
        assert "2m30s" in output
        assert "2d00h" not in output


def test_one_of_a_thing_is_no_plural(new_run):
    for number in range(2):
        run = new_run(f"run-{number}", day=number)
        run.result(run.plan("c0"), passed=number == 0, e2e_ms=90)
        run.write()
    shown = run.runs_dir

    for words in (
        ("sync",), ("runs",), ("show", "run-1"), ("compare", "previous", "latest"), ("gate",),
        ("route", "--need", "tool_use"), ("power", "--suite", "smoke", "--cases", "1"),
        ("regressions",), ("report", "--format", "json"),
    ):  # fmt: skip
        done = call(*words, *([shown] if words[0] == "report" else ["--runs", shown]))
        said = done.out + done.err
        assert done.code in {0, 1, 3}, (words, said)
        assert not ONE_OF_MANY.findall(said), (words, ONE_OF_MANY.findall(said))
    report = RunReport.model_validate_json(done.out)
    assert not ONE_OF_MANY.findall(report_markdown(report))
    assert not ONE_OF_MANY.findall(str(sections_of(report)))


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ("case",), "0 cases"), (1, ("case",), "1 case"), (2, ("case",), "2 cases"),
        (1_200, ("case",), "1,200 cases"), (1, ("is", "are"), "1 is"), (2, ("is", "are"), "2 are"),
    ],
)  # fmt: skip
def test_things_are_counted_in_words(number, words, text):
    assert counted(number, *words) == text
