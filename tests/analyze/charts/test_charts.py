"""Charts of real runs: what they show, that text stays text, and what the command refuses."""

import contextlib
import html
import json
import re
import shutil
from functools import cache
from typing import get_args

import altair as alt
import polars as pl
import pytest
import vl_convert

from analyze.api import frame, open_history
from analyze.charts import CHARTS
from analyze.charts.axes import Point, folded, placements, shortened, ticks_of
from analyze.charts.drawing import config_of_report, specs_of
from analyze.charts.failures import failures, latency, matrix
from analyze.charts.frontier import frontier
from analyze.charts.history import history
from analyze.charts.judges import judges
from analyze.charts.leaderboard import leaderboard
from analyze.charts.theme import DARK, LIGHT, config_of, with_origin
from analyze.commands.chart import Name
from schemas.config.project import Thresholds
from schemas.output.comparison import ThresholdsUsed
from schemas.output.judges import VarianceSplit
from schemas.output.regressions import Regressions, Series, Shift
from schemas.output.report import (
    FailureCount,
    FrontierPoint,
    HistoryPoint,
    LatencyBin,
    Provenance,
    RunReport,
)
from schemas.output.report_judged import JudgedParts
from tests.support.analyze_cli import call
from tests.support.paths import ROOT

pytestmark = pytest.mark.usefixtures("warm_engines")

GREEDY, SAMPLED = "SmolLM2 135M, greedy", "SmolLM2 135M, sampled"
"""Labels of `careful` and `playful` in the samples."""

LIMITS = ThresholdsUsed(thresholds=Thresholds(), path=None, sha256=None)
HOSTILE = '<script>alert(1)</script>"]{{7*7}}\u202e'


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    runs = tmp_path_factory.mktemp("charts") / "runs"
    shutil.copytree(ROOT / "data" / "samples" / "runs", runs, ignore=shutil.ignore_patterns("lake"))
    return runs


@pytest.fixture(scope="module")
def report_of(runs):
    """Return a function that makes a report of models by their names, with a history if asked."""
    with open_history(runs) as lake:
        summary, compared = lake.summary("night_10_setting"), lake.compare("night_02", "night_01")
    group, model = compared.groups[0], summary.models[0]

    def make(names, runs=1):
        bins = ((0, 5, 1), (800, 850, 3), (850, 900, 30), (950, 1000, 2), (1000, 1500, 1))
        causes = (("timeout", "model"), ("http_500", "provider"), ("of_theirs", None))
        levels = [(run, 0.8 if run < runs // 2 else 0.6) for run in range(runs)]
        return RunReport.model_construct(
            summary=summary.model_copy(
                update={"models": tuple(model.model_copy(update={"model_id": n}) for n in names)}
            ),
            comparison=compared.model_copy(update={"groups": tuple(
                group.model_copy(update={
                    "candidate_model_id": name,
                    "candidate": group.candidate.model_copy(update={"model_id": name}),
                }) for name in names
            )}),
            history=tuple(
                HistoryPoint(
                    run_id=f"run-{run}", started_at_ms=1_760_000_000_000 + run * 86_400_000,
                    model_id=name, passed_rate=level / (at % 3 + 1), low=level / 7, high=0.9,
                    coverage=1.0, n_scored=30, e2e_ms_p50=None, is_this_run=run == runs - 1,
                )
                for run, level in levels if runs > 1 for at, name in enumerate(names)
            ),
            shifts=shifts_of(names[0], f"run-{runs // 2}"),
            provenance=Provenance.model_construct(limits=LIMITS),
            thresholds=LIMITS.thresholds,
            latency=tuple(
                LatencyBin(
                    model_id=name, metric=metric, bin_from_ms=low, bin_to_ms=high, n_trials=n
                )
                for name in names for metric in ("e2e_ms", "ttft_ms") for low, high, n in bins
            ),
            frontier=tuple(
                FrontierPoint(
                    model_id=name, n_scored=30, passed_rate=1 / (at + 1), low=0.1, high=1.0,
                    cost_usd_per_scored=0.001 / (at + 1), cost_low=0.0, cost_high=0.0011,
                    e2e_ms_mean=900.0 + at, e2e_ms_low=800.0, e2e_ms_high=1100.0,
                    is_on_frontier=True, is_on_time_frontier=at == 0,
                )
                for at, name in enumerate(names)
            ),
            failures=tuple(
                FailureCount(model_id=name, failure_type=kind, cause=cause, n_trials=3,
                             counts_against_model=cause == "model")
                for name in names for kind, cause in causes
            ),
            judged=JudgedParts(scores=(), preferences=(), judges=(), variance=tuple(
                VarianceSplit(
                    evaluation_profile_id="strict", judge_run_id="main", judge_id="main",
                    model_id=name, n_cases=9, n_trials=18, n_scores=36, case_sd=0.8, agent_sd=0.0,
                    judge_sd=0.6 / (at + 1),
                )
                for at, name in enumerate(names)
            )),
        )  # fmt: skip

    return make


def shifts_of(name, first_run):
    """Return regressions with one shift of the passed rate, for the worse."""
    series = Series(suite_id="s", model_id=name, metric="passed_rate", provider="p", model="m",
                    thinking_level=None)  # fmt: skip
    shift = Shift(
        series=series, method="scan", direction="down", is_worse=True, first_run=first_run,
        first_started_at_ms=None, last_run_before="b", seen_in="c", n_before=6, n_after=6,
        n_cases=9, before=0.8, after=0.6, size=-0.2, low=-0.3, high=-0.1, p=0.001, changed=(),
        together=(), cells=(), warnings=(), acknowledged=None,
    )  # fmt: skip
    return Regressions(limits=LIMITS, since=None, n_runs=12, n_series=1, n_cells=0,
                       shifts=(shift,), cell_shifts=(), skipped=(), unused=())  # fmt: skip


@pytest.fixture(scope="module")
def draw(runs, tmp_path_factory):
    """Draw a chart by the command and return the picture's text; the same is drawn once."""
    folder = tmp_path_factory.mktemp("drawn")

    @cache
    def command(name, run="night_10_setting", *options):
        with contextlib.chdir(folder):
            done = call("chart", name, run, "-o", "chart.svg", "--force", "--runs", runs, *options)
        assert done.err == ""
        assert done.out == "chart.svg\n"
        return (folder / "chart.svg").read_text(encoding="utf-8")

    return command


def said(picture):
    """Return the texts of an SVG."""
    lines = re.findall(r"<(?:text|tspan)[^>]*>([^<]*)</(?:text|tspan)>", picture)
    return [html.unescape(line) for line in lines]


def ticks(picture):
    """Return the amounts along the axis of a cost."""
    return [float(text[1:]) for text in said(picture) if re.fullmatch(r"\$[0-9.]+", text)]


def box_of(point, side):
    """Return from where to where a name goes: left, top, right, bottom."""
    length, x, y = 6.5 * len(point.name), point.x + side.dx, point.y + side.dy
    left = {"left": x, "center": x - length / 2, "right": x - length}[side.align]
    return left, y - 5, left + length, y + 5


def models_of(names):
    """Return the frame of a summary with one rate known best, the others without an interval."""
    rest = [None] * (len(names) - 1)
    return pl.DataFrame(
        {
            "model_id": names, "passed_rate": [0.5 / (at + 1) for at in range(len(names))],
            "passed_ci95_low": [0.3, *rest], "passed_ci95_high": [0.7, *rest],
            "passed_ci95_n_trials": [9, *rest],
        }
    )  # fmt: skip


def points_of(names, costs=None, best=()):
    """Return the frame of a frontier."""
    known = costs or [0.001 * 1.3**at for at in range(len(names))]
    return pl.DataFrame(
        {
            "model_id": names, "passed_rate": [0.2 + at % 7 / 10 for at in range(len(names))],
            "low": None, "high": None, "cost_usd_per_scored": known, "cost_low": None,
            "cost_high": None, "is_on_frontier": [name in best for name in names],
        },
        schema_overrides=dict.fromkeys(("low", "high", "cost_low", "cost_high"), pl.Float64),
    )  # fmt: skip


def expressions_of(spec):
    """Yield every text of a spec that is evaluated."""
    if isinstance(spec, dict):
        for name, value in spec.items():
            if name in {"expr", "labelExpr", "filter", "calculate", "test"}:
                yield str(value)
            yield from expressions_of(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from expressions_of(value)


def svg_of(chart):
    return vl_convert.vegalite_to_svg(json.loads(chart.to_json()))


def test_the_command_knows_every_chart():
    assert set(get_args(Name)) == set(CHARTS)


@pytest.mark.parametrize("name", [name for name in CHARTS if name not in {"comparison", "judges"}])
def test_a_chart_names_every_model_of_the_run(draw, name):
    texts = said(draw(name, "night_07_outage" if name == "failures" else "night_10_setting"))

    assert {GREEDY, SAMPLED} <= set(texts)


def test_the_leaderboard_has_the_best_model_first_and_its_rate(draw):
    texts = said(draw("leaderboard"))

    assert texts.index(GREEDY) < texts.index(SAMPLED)
    assert {"87.5 %", "83.3 %"} <= set(texts)


def test_the_matrix_counts_repetitions_and_begins_with_the_hardest_case(draw):
    texts = said(draw("matrix"))

    assert texts.count("0/3") == 2
    assert texts.count("2/3") == 1
    assert texts.index("search_file") < texts.index("list_files") < texts.index("exact_word")


def test_the_bounds_of_tiers_are_those_of_the_run(draw, runs):
    path = runs / "night_03_prompt" / "config.json"
    config = json.loads(path.read_text())
    config["thresholds"]["tier_1_from"] = 0.93
    path.write_text(json.dumps(config))

    assert any("tier 1 from 93.0 %" in text for text in said(draw("tiers", "night_03_prompt")))
    assert any("tier 1 from 80.0 %" in text for text in said(draw("tiers", "night_01")))


def test_a_comparison_says_its_verdict(draw):
    texts = said(draw("comparison", "night_02", "--baseline", "night_01"))

    assert {"inconclusive", "unchanged"} & set(texts)


def test_a_model_that_cannot_be_compared_is_not_drawn_beside_the_baseline(runs, report_of):
    with open_history(runs) as lake:
        outage = lake.compare("night_01", "night_07_outage")
    compared = [group for group in outage.groups if group.difference is not None]
    assert {group.verdict for group in compared} == {"not_comparable"}
    one = compared[0].model_copy(update={"verdict": "inconclusive"})
    mixed = outage.model_copy(update={"groups": (one, compared[1])})

    assert "comparison" not in specs_of(report_of(["m"]).model_copy(update={"comparison": outage}))
    drawn = specs_of(report_of(["m"]).model_copy(update={"comparison": mixed}))["comparison"]
    rows = [row for rows in drawn["datasets"].values() for row in rows if "verdict" in row]
    assert {row["candidate_model_id"] for row in rows} == {one.candidate_model_id}


def test_the_baseline_is_the_one_that_is_named(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ("chart", "comparison", "night_02", "-o", "c.svg", "--runs", runs, "--baseline")

    assert "nosuch" in call(*asked, "nosuch").err
    assert "can be compared with the baseline" in call(*asked, "older_tool").err


def test_a_lake_is_drawn_as_it_is_when_asked(tmp_path, monkeypatch, runs):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(runs / "night_01", tmp_path / "runs" / "night_01")

    assert call("chart", "tiers", "-o", "t.svg", "--no-sync").code == 2
    assert call("chart", "tiers", "-o", "t.svg").code == 0


def test_a_picture_can_be_pixels(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert call("chart", "tiers", "night_01", "-o", "t.PNG", "--runs", runs).code == 0
    assert (tmp_path / "t.PNG").read_bytes().startswith(b"\x89PNG")


def test_names_are_only_text():
    picture = svg_of(leaderboard(models_of([HOSTILE, "plain"])))

    assert "<script" not in picture
    assert any("alert(1)" in text for text in said(picture))


def test_a_cell_without_a_verdict_is_no_rate():
    cells = pl.DataFrame(
        {
            "case_id": ["a", "b"], "model_id": ["m", "m"], "n_planned": [2, 2],
            "n_scored": [0, 2], "n_passed": [0, 1], "passed_rate": [None, 0.5],
        }
    )  # fmt: skip
    texts = said(svg_of(matrix(cells)))

    assert {"–", "1/2"} <= set(texts)


def test_a_suite_too_long_for_a_picture_shows_its_hardest_cases():
    n = 6_000
    cells = pl.DataFrame(
        {
            "case_id": [f"case-{i}" for i in range(n)], "model_id": ["m"] * n, "n_planned": [1] * n,
            "n_scored": [1] * n, "n_passed": [int(i != 77) for i in range(n)],
            "passed_rate": [float(i != 77) for i in range(n)],
        }
    )  # fmt: skip
    texts = said(svg_of(matrix(cells)))

    assert texts.count("0/1") == 1
    assert texts.count("1/1") == 119
    assert any("120 of 6,000 cases" in text for text in texts)


def test_a_free_model_stands_at_zero_beside_the_others():
    texts = said(svg_of(frontier(points_of(["free", "paid"], costs=[0.0, 0.01]))))

    assert {"free", "paid", "$0", "$0.01"} <= set(texts)


def test_models_that_are_all_free_are_drawn_too():
    texts = said(svg_of(frontier(points_of(["one", "two"], costs=[0.0, 0.0]))))

    assert {"one", "two", "$0"} <= set(texts)


def test_an_interval_towards_zero_does_not_squeeze_the_points():
    points = points_of(["one", "two"], costs=[0.01, 0.02]).with_columns(cost_low=pl.lit(1e-12))

    assert min(ticks(svg_of(frontier(points)))) >= 0.002


def test_of_many_models_a_frontier_names_those_that_no_other_beats():
    names = [f"model-{number}" for number in range(30)]
    texts = said(svg_of(frontier(points_of(names, best=["model-3"]))))

    assert {"model-3"} == set(texts) & set(names)


def test_names_beside_points_never_cover_each_other_or_a_point():
    points = [Point(37.0 * n % 400, 53.0 * n % 260, f"model-{n}") for n in range(40)]
    there = [(point, side) for point, side in zip(points, placements(points, 400, 260), strict=True)
             if side]  # fmt: skip

    boxes = [box_of(*one) for one in there]
    assert len(boxes) > 10
    for at, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0
        assert right <= 400
        assert not any(left < p.x < right and top < p.y < bottom for p in points)
        for other in boxes[at + 1 :]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top


def test_a_long_name_is_broken_after_a_mark_and_keeps_every_character():
    name = "openrouter/some-provider/some-model-of-theirs-instruct-2026-11-22"
    lines = folded(name)

    assert "".join(lines) == name
    assert max(map(len, lines)) <= 20
    assert lines[0] == "openrouter/some-"
    assert folded("claude-opus-4.5") == ["claude-opus-4.5"]
    assert shortened(name, 18) == "openroute…26-11-22"
    lone = svg_of(leaderboard(models_of([name])))
    assert "".join(re.findall(r"<tspan[^>]*>([^<]*)</tspan>", lone)) == name


@pytest.mark.parametrize(("low", "high"), [(1, 7), (0.00002, 4), (95, 640), (1e-9, 1e9), (3, 1e4)])
def test_a_log_axis_has_a_few_round_ticks(low, high):
    ticks = ticks_of(low, high)

    assert 2 <= len(ticks) <= 10
    assert all(low <= tick <= high and f"{tick:e}"[0] in "125" for tick in ticks)
    assert all(float(f"{tick:.0e}") == tick for tick in ticks)


def test_a_bin_at_the_edge_of_a_place_lies_in_the_place_that_begins_there():
    starts = [(100, 150), (145, 150), (150, 200), (200, 250), (950, 1_000), (1_000, 1_500)]
    bins = pl.DataFrame(
        [
            {"model_id": "m", "metric": "e2e_ms", "bin_from_ms": low, "bin_to_ms": high,
             "n_trials": 1}
            for low, high in starts
        ]
    )  # fmt: skip

    rows = latency(bins).to_dict()["datasets"]

    (drawn,) = (found for found in rows.values() if "high" in found[0])
    assert [(row["from"], row["high"], row["n"]) for row in drawn] == [
        (100, 150, 2), (150, 200, 1), (200, 250, 1), (950, 1_000, 1), (1_000, 1_500, 1),
    ]  # fmt: skip


def test_a_latency_keeps_every_trial_when_it_joins_narrow_bins(report_of):
    spec = latency(frame(report_of(["one"]), "latency")).to_dict()
    (rows,) = spec["datasets"].values()

    assert sum(row["n"] for row in rows) == 37
    assert {(row["from"], row["high"]) for row in rows} >= {(0, 5), (800, 1000), (1000, 1500)}
    assert max(row["thick"] for row in rows) == 1


def test_a_single_bin_is_drawn(report_of):
    bins = frame(report_of(["one"]), "latency").head(1)

    assert "one" in said(svg_of(latency(bins)))


def test_a_history_says_where_a_level_shifted(report_of):
    report = report_of(["careful", "playful"], runs=12)
    texts = said(svg_of(history(frame(report, "history"), frame(report.shifts, "shifts"))))

    assert "▼ careful -20.0" in texts
    assert {"careful", "playful"} <= set(texts)
    assert any("bands are 95 % intervals" in text for text in texts)


def test_shifts_of_one_run_share_a_label_and_those_of_other_runs_are_left_out(report_of):
    report = report_of(["careful", "playful"], runs=12)
    shift = report.shifts.shifts[0]
    both = (
        shift,
        shift.model_copy(update={"series": shift.series.model_copy(
            update={"model_id": "playful"}), "is_worse": False}),
        shift.model_copy(update={"first_run": "older"}),
        shift.model_copy(update={"series": shift.series.model_copy(
            update={"metric": "e2e_ms"}), "first_run": "run-2"}),
    )  # fmt: skip
    shifts = frame(report.shifts.model_copy(update={"shifts": both}), "shifts")
    texts = said(svg_of(history(frame(report, "history"), shifts)))

    assert [text for text in texts if "▼" in text or "▲" in text] == ["▼▲ 2 models"]


def test_a_history_of_many_models_colours_the_one_that_shifted(report_of):
    names = [f"model-{number:02}" for number in range(20)]
    report = report_of(names, runs=10)
    texts = said(svg_of(history(frame(report, "history"), frame(report.shifts, "shifts"))))

    assert len(set(texts) & set(names)) == 6
    assert "model-00" in texts
    assert any("grey: 14 other models" in text for text in texts)


def test_a_run_of_unknown_coverage_is_not_hollow(report_of):
    points = frame(report_of(["one"], runs=3), "history")

    def hollow(coverage):
        drawn = svg_of(history(points.with_columns(coverage=pl.lit(coverage, pl.Float64))))
        return drawn.count(f'fill="{LIGHT["paper"]}" stroke')

    assert hollow(0.5) > hollow(1.0) == hollow(None)


def test_a_failure_of_another_tool_has_no_cause(report_of):
    texts = said(svg_of(failures(frame(report_of(["one"]), "failures"))))

    assert {"model", "provider", "unknown", "one", "9"} <= set(texts)


@pytest.mark.parametrize("most", [1, 2, 3, 6, 40])
def test_trials_without_a_success_are_counted_in_whole_numbers(report_of, most):
    counts = frame(report_of(["one"]), "failures").head(1).with_columns(n_trials=pl.lit(most))
    texts = said(svg_of(failures(counts)))
    marked = [text for text in texts if text.isdigit()][:-1]  # the last one is the sum

    assert len(set(marked)) == len(marked)
    assert "0" in marked


def test_scores_are_split_by_shares_of_their_variance_the_noisiest_judge_first(report_of):
    """0.8 and 0.6 are 64 and 36 %; 0.8 and 0.3 are 88 and 12 %."""
    report = report_of(["two", "one"])
    chart = judges(frame(report.judged, "variance"))

    said_first = "by the judge itself main on two 36.0 %; main on one 12.3 %"
    assert said_first in chart.to_dict()["description"]
    texts = said(svg_of(chart))
    assert {"main on one", "main on two", "cases", "the judge itself"} <= set(texts)
    drawn = [(bar["name"], bar["part"], round(bar["end"], 4)) for bar in _bars(chart)]
    assert ("main on two", "cases", 0.64) in drawn
    assert ("main on two", "the judge itself", 1.0) in drawn


def _bars(chart):
    (rows,) = chart.to_dict()["datasets"].values()
    return rows


def test_a_history_without_gaps_has_no_layer_of_nothing(report_of):
    points = frame(report_of(["one"], runs=3), "history").with_columns(coverage=pl.lit(1.0))

    assert "isValid(datum.coverage)" not in history(points).to_json()
    gaps = points.with_columns(coverage=pl.lit(0.5))
    assert "isValid(datum.coverage)" in history(gaps).to_json()


def test_no_line_leads_to_a_run_of_a_part_of_the_suite(report_of):
    points = frame(report_of(["one"], runs=4), "history")
    parts = points.with_columns(is_part=pl.col("is_this_run"))

    def length(frame):
        (line,) = re.findall(
            r'class="mark-line[^>]*><path[^>]* d="([^"]+)"', svg_of(history(frame))
        )
        return len(re.findall("[ML]", line))

    assert (length(points), length(parts)) == (4, 3)


def test_times_are_named_in_words_at_the_axis(draw):
    assert "answer time, log scale" in said(draw("latency"))
    assert "time to first token, log scale" in said(draw("ttft"))


def test_a_dark_picture_has_the_dark_colours_alone(draw):
    light, dark = draw("leaderboard"), draw("leaderboard", "night_10_setting", "--dark")

    for role in ("ink", "paper", "c0"):
        assert LIGHT[role] in light
        assert LIGHT[role] not in dark
        assert DARK[role] in dark


def test_a_report_has_a_spec_of_every_chart_that_has_something_to_show(report_of):
    assert set(specs_of(report_of(["one", "two"], runs=3))) == {
        "leaderboard", "comparison", "history", "latency", "ttft", "frontier_cost",
        "frontier_time", "tiers", "failures", "judges",
    }  # fmt: skip


@pytest.mark.parametrize("cost", [None, 0.0])
def test_a_chart_without_anything_to_show_is_left_out_and_a_cost_of_0_is_something(report_of, cost):
    of_one = report_of(["one"])
    frontier = (point.model_copy(update={"cost_usd_per_scored": cost}) for point in of_one.frontier)
    nothing = {"comparison": None, "latency": (), "failures": (), "judged": None}
    report = of_one.model_copy(update={**nothing, "frontier": tuple(frontier)})

    drawn = {"leaderboard", "frontier_time", "tiers"}
    assert set(specs_of(report)) == drawn | ({"frontier_cost"} if cost == 0 else set())


def test_specs_are_what_vega_lite_allows_and_leave_words_and_colours_to_the_page(report_of):
    config = config_of_report()
    for name, spec in specs_of(report_of(["one", "two"], runs=3)).items():
        alt.Chart.from_dict({**spec, "config": config}, validate=True)
        assert not {"$schema", "config", "title"} & set(spec)
        assert spec["width"] == "container"
        assert isinstance(spec["height"], int)
        assert "one" in spec["description"], name
        assert spec["description"].endswith(".")
        assert not re.search(r"#[0-9a-fA-F]{6}", json.dumps(spec))


def test_specs_of_a_hundred_runs_are_small(report_of):
    report = report_of(["model-one", "model-two", "model-three", "model-four"], runs=100)
    specs = specs_of(report)

    assert len(json.dumps(specs, separators=(",", ":"))) < 94_000
    numbers = re.findall(r"0\.0*([1-9][0-9]*)", json.dumps([x["datasets"] for x in specs.values()]))
    assert max(map(len, numbers)) == 5


def test_hostile_names_are_only_text_in_every_spec(report_of):
    names = [HOSTILE, "'+alert(1)+'", "\x1b[31m", "${alert(1)}", "=1+1", "a\u0000b\nc", "\\"]
    specs = specs_of(report_of(names, runs=3))

    assert len(specs) == 10
    for spec in specs.values():
        assert not any("alert(1)" in text for text in expressions_of(spec))
        assert json.dumps(spec, ensure_ascii=False).isprintable()
        assert "\\u00" not in json.dumps(spec, ensure_ascii=False).replace("\\\\", "")
        picture = vl_convert.vegalite_to_svg({**spec, "width": 300, "config": config_of(LIGHT)})
        assert "<script" not in picture


def test_the_example_of_the_page_draws(runs):
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "charts.md").read_text(), re.DOTALL
    )
    names = {}

    exec(code.replace("data/samples", str(runs)), names)

    assert "careful" in said(svg_of(names["best"]))
    assert "search_file" in said(svg_of(names["cases"]))


def test_what_cannot_be_drawn_is_one_sentence(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    none = call("chart", "frontier", "older_tool", "-o", "a.svg", "--runs", runs)
    assert (none.code, none.out) == (1, "")
    assert "no trial of it has a verdict and a known cost" in none.err

    kind = call("chart", "tiers", "-o", "a.pdf", "--runs", runs)
    assert kind.code == 2
    assert "ends in .svg or .png" in kind.err

    (tmp_path / "there.svg").write_text("mine")
    there = call("chart", "tiers", "night_01", "-o", "there.svg", "--runs", runs)
    assert there.code == 2
    assert "--force" in there.err
    assert (tmp_path / "there.svg").read_text() == "mine"

    (tmp_path / "link.svg").symlink_to("there.svg")
    assert call("chart", "tiers", "-o", "link.svg", "--force", "--runs", runs).code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.svg", "there.svg"]


def test_a_picture_says_which_run_it_is_of(draw):
    origin = re.compile(r"nightly · night_10_setting · 20\d\d-\d\d-\d\d \d\d:\d\d UTC")

    assert [one for one in said(draw("leaderboard")) if origin.fullmatch(one)]


@pytest.mark.parametrize(
    ("title", "words"),
    [
        (None, ["from"]),
        ("Plain", ["Plain", "from"]),
        (["Two", "lines"], ["Two", "lines", "from"]),
        (alt.TitleParams(text="T", subtitle="below"), ["T", "below", "from"]),
        (alt.TitleParams(text="T", subtitle=["a", "b"]), ["T", "a", "b", "from"]),
    ],
)
def test_a_chart_of_a_package_keeps_its_own_title_above_the_origin(title, words):
    bars = alt.Chart(pl.DataFrame({"x": [1]})).mark_bar().encode(x="x:Q")
    if title is not None:
        bars = bars.properties(title=title)

    texts = said(svg_of(with_origin(bars, "from")))

    assert [text for text in texts if text in {*words}] == words
