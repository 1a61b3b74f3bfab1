"""Each fact of a run has one value, wherever people and programs read it.

The facts are a model's passed rate with its interval, its strict rate, its coverage and its median
time; a place shows some of them. Each place is read as it is printed, and held to summary.json.
"""

import json
import re
import shutil

import pytest

from analyze.render.numbers import percent, whole
from tests.support.analyze_cli import call
from tests.support.nights import Nights
from tests.support.paths import SAMPLES

pytestmark = [
    pytest.mark.peers,
    pytest.mark.usefixtures("no_library", "warm_engines", "built_once"),
]

OTHER = r"(?:,? ?case mean [\d.]+:?)? ?"
LIMITS = OTHER + r"\\?\[([\d.]+), ([\d.]+)\\?\]"
"""Of an interval, which says so where it is of the mean over cases and that is another rate."""


def sample(name):
    def made(runs_dir):
        shutil.copytree(SAMPLES / name, runs_dir / name)
        return name

    made.__name__ = name
    return made


def clustered(runs_dir):
    return Nights(runs_dir, 20, 2).add(1, rates={"good": 0.9, "poor": 0.6}, clusters=4)[-1]


def with_holes(runs_dir):
    return Nights(runs_dir, 30, 3, seed=3).add(1, rates={"good": 0.9, "poor": 0.6}, lost=0.08)[-1]


def asked_once(runs_dir):
    return Nights(runs_dir, 16, 1).add(1, rates={"good": 0.9, "poor": 0.0625})[-1]


LABELS = {"SmolLM2 135M, greedy": "careful", "SmolLM2 135M, sampled": "playful"}
"""What people read in place of the ids of the samples' models."""

HISTORIES = (
    sample("night_04_context"), sample("night_07_outage"), sample("night_09_reused"),
    clustered, with_holes, asked_once,
)  # fmt: skip


def asked(*words):
    done = call(*words, columns=200)
    assert done.code == 0, done.err
    return done.out


def of_records(records):
    """Return what each model's record says, as people read numbers; only what it has."""
    return {one["model_id"]: _facts(one) for one in records}


def _facts(one):
    interval = one.get("passed_ci95", one)
    found = {
        "passed": one["passed_rate"],
        "low": None if interval is None else interval.get("low"),
        "high": None if interval is None else interval.get("high"),
        "strict": one["score_strict"],
        "coverage": one["coverage"],
    }
    shown = {name: percent(value) for name, value in found.items() if value is not None}
    p50 = one.get("e2e_ms_p50", (one.get("latency_ms") or {}).get("p50"))
    return shown | ({} if p50 is None else {"p50": whole(p50)})


def of_lines(text, pattern, *names):
    """Return what the lines of a text say that a pattern finds; the first group is the model."""
    for label, model_id in LABELS.items():
        for known in (f"{label} (smollm2-135m)", f"{label} ({model_id})", label):
            text = text.replace(known, model_id)
    found = {}
    for model_id, *values in re.findall(pattern, text, re.MULTILINE | re.DOTALL):
        pairs = zip(names, values, strict=True)
        found[model_id] = {name: value for name, value in pairs if value not in {"", "–"}}
    return found


def places(at, run_id):
    """Yield each place with what it says of each model."""
    report = ("report", at, "--run", run_id, "--baseline", "none")
    markdown = asked("summarize", at / run_id)
    yield "summary.md", of_lines(
        markdown,
        rf"^\| (?:[^|]*[(/])?([\w-]+)\)? \| ([\d.]+) \| {LIMITS} \| ([\d.]*) \| ([\d.]+) \|",
        "passed", "low", "high", "strict", "coverage",
    )  # fmt: skip
    (run,) = json.loads(asked("runs", "--runs", at, "--json"))
    yield "runs --json", of_records(run["by_model"])
    yield "runs", of_lines(
        asked("runs", "--runs", at),
        rf"^ +([\w-]+): passed% ([\d.]+){LIMITS}(?:, strict ([\d.]+))?",
        "passed", "low", "high", "strict",
    )  # fmt: skip
    text = asked("show", run_id, "--runs", at)
    yield "show", of_lines(
        text, rf"^([\w-]+) \([^)]*\) +\d+/\d+ +([\d.]+){LIMITS} +([\d.]+) +([\d,]+|–) ",
        "passed", "low", "high", "coverage", "p50",
    )  # fmt: skip
    yield "show, strict", of_lines(text, r"^([\w-]+), strict ([\d.]+) %", "strict")
    yield "report, JSON", of_records(json.loads(asked(*report, "--format", "json"))["answer"])
    yield "report, Markdown", of_lines(
        asked(*report, "--format", "md"),
        rf"^\| ([\w-]+) \| ([\d.]+)(?:, strict ([\d.]+))? \|{OTHER}([\d.]+) to ([\d.]+) "
        r"\|[^|]*\| ([\d.]+) \| ([\d,]+) \|",
        "passed", "strict", "low", "high", "coverage", "p50",
    )  # fmt: skip
    page = at / "page.html"
    asked(*report, "-o", page)
    html = page.read_text()
    yield "page, first screen", of_lines(
        html,
        r'<p class="who"><bdi>([\w-]+)</bdi>.*?<b>([\d.]+)</b><small> %</small></span>'
        rf'<small class="ci">{OTHER}([\d.]+) to ([\d.]+)</small>'
        r'(?:<small class="ci">strict ([\d.]+) %</small>)?',
        "passed", "low", "high", "strict",
    )  # fmt: skip
    yield "page, leaderboard", of_lines(
        html,
        rf'<th scope="row"><bdi>([\w-]+)</bdi><small>[^<]*</small></th>'
        rf'<td class="n(?: lead)?">([\d.]+)</td>'
        rf'<td class="n range">{LIMITS}</td><td class="n">([\d.]+)</td><td class="n">[\d.]+</td>'
        rf'<td class="n">([\d.]+)</td>',
        "passed", "low", "high", "strict", "coverage",
    )  # fmt: skip
    yield "page, chart", of_lines(
        html,
        rf'"model_id":"([\w-]+)","passed_rate":[\d.]+,"passed_ci95_low"[^}}]*'
        rf'"rate_text":"([\d.]+) %","limits_text":"{LIMITS}"',
        "passed", "low", "high",
    )  # fmt: skip
    query = f"select * from model_summary where run_id = '{run_id}'"
    yield "SQL", of_records(json.loads(asked("sql", "--runs", at, "--json", query)))


@pytest.mark.parametrize("make", HISTORIES, ids=lambda make: make.__name__)
def test_a_fact_has_one_value_wherever_it_is_read(tmp_path, make):
    at = tmp_path / "runs"
    at.mkdir()
    run_id = make(at)
    wanted = of_records(json.loads(asked("summarize", at / run_id, "--json"))["models"])
    judged = {name for name, known in wanted.items() if "low" in known}
    assert wanted

    n_read = 0
    for place, said in places(at, run_id):
        incomplete = {name for name in judged if wanted[name]["coverage"] != "100.0"}
        assert said.keys() >= (incomplete if place == "show, strict" else judged), place
        for model_id, known in said.items():
            for fact, value in known.items():
                n_read += 1
                assert (place, model_id, fact, value) == (
                    place, model_id, fact, wanted[model_id][fact],
                )  # fmt: skip
            if model_id in incomplete and place not in {"show", "page, chart"}:
                assert "strict" in known, f"{place}: the strict rate of {model_id} is not there"
    assert n_read >= 40 * bool(judged)
