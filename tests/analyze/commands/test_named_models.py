"""Models are shown by their labels, asked for by id or label, and programs get ids alone."""

import json
import re

import pyarrow.parquet as pq
import pytest

from analyze.query.run_ref import read_names
from analyze.query.session import open_session
from analyze.regressions.open_shifts import open_after_run
from analyze.report.build import build_report
from analyze.report.html.page import render_html
from schemas.run.model_names import with_names
from tests.support.analyze_cli import call
from tests.support.packed_trials import trials_of
from tests.support.report_context import limits_of
from tests.support.run_builder import RunBuilder

N_NIGHTS = 7
N_CASES = 6
FALLS = 4
"""Night with which one model falls."""

LARGE = "Alpha Large"
HOSTILE = "<b>Evil</b>|\x1b[31m\u202e*x*\n" + "z" * 10_000
SHOWN_HOSTILE = "<b>Evil</b>| [31m *x* " + "z" * 57 + "…"

LABELS = {
    "zz_alpha": LARGE,
    "zz_one": "Twin",
    "zz_two": "Twin",
    "zz_odd": "zz_plain",
    "zz_evil": HOSTILE,
}
"""zz_plain has none, and zz_odd is called as if it were that one."""

MODELS = (*LABELS, "zz_plain")
NAMES = {
    "zz_alpha": LARGE,
    "zz_one": "Twin (zz_one)",
    "zz_two": "Twin (zz_two)",
    "zz_odd": "zz_plain (zz_odd)",
    "zz_plain": "zz_plain",
}

SHOWN_ID = re.compile(r"(?<![(\w])zz_(alpha|one|two|odd|evil)\b")
"""An id that is not in brackets behind a name."""


pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("warm_engines")]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Nights of one suite; the first one calls a model otherwise."""
    runs_dir = tmp_path_factory.mktemp("named") / "runs"
    for number in range(N_NIGHTS):
        run = RunBuilder(runs_dir, f"night_{number}", day=number)
        run.labels = LABELS | ({"zz_alpha": "An older name"} if number == 0 else {})

        def outcome(trial, number=number):
            fell = trial.model_id == "zz_alpha" and number >= FALLS
            case = int(trial.case_id.removeprefix("case_"))
            return not fell and (case + trial.repetition) % 5 > 0

        models = {
            name: {"model": f"acme/{name.removeprefix('zz_')}", "provider": "openrouter"}
            for name in MODELS
        }
        run.night([f"case_{n}" for n in range(N_CASES)], outcome, models=models, repetitions=2)
    open_session(runs_dir).close()
    return runs_dir


@pytest.fixture
def asked(runs):
    """Return a command over these runs."""
    return lambda command, *args, **more: call(command, *args, "--runs", runs, "--no-sync", **more)


def words(out):
    """Return a text without commands and what can be pasted, which hold ids."""
    kept = [line for line in out.splitlines() if "analyze " not in line and " = " not in line]
    return "\n".join(kept)


TEXTS = {
    "compare": ("compare", "night_0", "latest"),
    "compare-cases": ("compare", "night_3", "night_4", "--by", "cell"),
    "compare-md": ("compare", "night_0", "latest", "--format", "md"),
    "gate": ("gate", "latest"),
    "gate-md": ("gate", "latest", "--format", "md"),
    "regressions": ("regressions",),
    "regressions-md": ("regressions", "--format", "md"),
    "flaky": ("flaky", "--all"),
    "flaky-md": ("flaky", "--all", "--format", "md"),
    "power": ("power",),
}


@pytest.mark.parametrize("name", TEXTS)
def test_people_read_names(asked, name):
    done = asked(*TEXTS[name])
    said = words(done.out)

    assert not SHOWN_ID.search(said), said
    assert "An older name" not in done.out
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out
    assert LARGE in done.out
    assert max(map(len, done.out.splitlines())) < 2_000


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "night_0", "latest"),
        ("gate", "latest"),
        ("regressions",),
        ("flaky", "--all"),
        ("power",),
        ("runs",),
        ("show", "latest"),
    ],
    ids=lambda words: words[0],
)
def test_programs_read_ids(asked, words):
    done = asked(*words, "--json")

    assert "zz_alpha" in done.out
    assert LARGE not in done.out
    assert "Twin" not in done.out


def test_exports_and_tables_of_sql_have_ids(asked, tmp_path):
    asked("gate", "latest", "--junit", tmp_path / "gate.xml")
    asked("export", "predictions", "latest", "-o", tmp_path / "out")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    sql = asked("sql", "select distinct model_id from results", "--format", "csv").out

    assert len(files) > len(MODELS)
    assert not any(LARGE in path.read_text() for path in files)
    assert "zz_alpha" in sql
    assert LARGE not in sql


def test_sql_has_the_label_beside_the_id(asked):
    query = "select model_id, model_label, n_runs from models order by model_id"
    rows = {row["model_id"]: row for row in json.loads(asked("sql", query, "--json").out)}

    assert rows["zz_alpha"] == {"model_id": "zz_alpha", "model_label": LARGE, "n_runs": N_NIGHTS}
    assert rows["zz_plain"]["model_label"] is None


def test_names_of_a_gate_and_its_shifts(asked):
    out = asked("gate", "latest", columns=10_000).out

    assert f"smoke / {LARGE}, pass rate" in out
    assert "--model zz_alpha" in out, "a command has the id"


def test_what_is_pasted_has_the_id(asked):
    out = asked("regressions").out

    assert 'model_id = "zz_alpha"' in out
    assert "--model zz_alpha" in out
    assert f"smoke / {LARGE}: pass rate fell" in out


@pytest.mark.parametrize("columns", [10_000, 80])
def test_lists_of_runs_and_pages_say_the_id_too(asked, columns):
    listed = " ".join(asked("runs", "--limit", "1", columns=columns).out.split())
    page = " ".join(asked("show", "latest", columns=columns).out.split())

    assert f"{LARGE} (zz_alpha)" in listed
    assert "Twin (zz_one)" in listed
    assert LARGE in page
    assert "zz_alpha · openrouter acme/alpha" in page
    assert "Twin (zz_one) (openrouter acme/one)" in page or columns == 80


def test_pages_of_a_case_and_of_a_trial_say_names(asked):
    case = asked("show", "latest", "case_1", columns=10_000).out
    trial = asked("show", "latest", "case_1", LARGE, "1").out

    assert LARGE in case
    assert "analyze show night_6 case_1 zz_alpha" in case
    assert trial.startswith(f"case_1 · {LARGE} · repetition 1 · run night_6\n")
    assert "zz_alpha · openrouter · acme/alpha" in trial


def test_a_report_in_markdown_has_names_with_their_ids(runs):
    out = call("report", runs, "--format", "md", "--no-sync").out

    assert f"| {LARGE} (zz\\_alpha) |" in out or f"| {LARGE} (zz_alpha) |" in out
    assert "| Twin (zz" in out
    assert "<b>" not in out
    assert "An older name" not in out


def test_a_page_has_names_and_its_places_have_ids(runs):
    with open_session(runs, sync=False) as session:
        names = read_names(session)
        found = build_report(session, "night_6", baseline=None, limits=limits_of(), names=names)
    page = render_html(with_names(found, names), {})

    assert LARGE in page
    assert "zz_alpha · openrouter · acme/alpha" in page
    (one, *_) = [one for one in trials_of(page) if one["model_id"] == "zz_alpha"]
    assert re.fullmatch(r"trial-zz_alpha-case_\d-\d", one["anchor"])
    assert one["model"] == LARGE
    assert "<b>Evil" not in page
    assert "&lt;b&gt;Evil" in page
    assert "\u202e" not in page


def test_a_report_in_json_has_ids_alone(runs):
    out = call("report", runs, "--format", "json", "--no-sync").out

    assert "zz_alpha" in out
    assert LARGE not in out
    assert "Twin" not in out


def test_doubts_of_a_report_name_models(new_run):
    run = new_run()
    run.labels = {"zz_alpha": LARGE}
    for model_id in ("zz_alpha", "zz_plain"):
        for case in range(6):
            run.result(run.plan(f"case_{case}", 1, model_id), e2e_ms=400)
    trial = run.plan("case_7", 1, "zz_alpha")
    run.result(trial, failure_type="http_503")
    run.write()
    texts = [call("report", run.runs_dir, "--format", form).out for form in ("md", "json")]

    assert f"{LARGE} 1 http" in texts[0]
    assert "zz_alpha 1 http_503" in texts[1]


def test_charts_are_drawn_with_names(asked, tmp_path):
    done = asked("chart", "leaderboard", "-o", tmp_path / "board.svg")
    svg = (tmp_path / "board.svg").read_text()

    assert done.code == 0, done.err
    assert LARGE in svg
    assert "zz_alpha" not in svg


def test_a_summary_calls_models_as_its_own_run_did(runs, asked):
    asked("summarize", "night_0", "latest")
    first, last = ((runs / name / "summary.md").read_text() for name in ("night_0", "night_6"))

    assert "| An older name (acme/alpha) |" in first
    assert f"| {LARGE} (acme/alpha) |" in last
    assert LARGE not in (runs / "night_6" / "summary.json").read_text()


def test_the_last_words_of_a_run_name_models(runs):
    (line,) = open_after_run(runs / "night_6")

    assert line.startswith(f"open shift: smoke / {LARGE}, pass rate: ")
    assert "--model zz_alpha" in line


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "night_3", "night_4"),
        ("gate", "latest"),
        ("regressions",),
        ("flaky",),
        ("power",),
        ("runs",),
    ],
    ids=lambda words: words[0],
)
def test_a_model_is_asked_for_by_its_label(asked, words):
    by_label, by_id = (asked(*words, "--model", one) for one in (LARGE, "zz_alpha"))

    assert by_label == by_id
    assert by_label.code in {0, 1}, by_label.err


def test_two_models_are_compared_by_their_labels(asked):
    done = asked("compare", "latest", "--model", LARGE, "--against", "Twin (zz_one)", "--json")

    assert json.loads(done.out)["base"]["model"] == "zz_alpha"
    assert json.loads(done.out)["candidate"]["model"] == "zz_one"


def test_an_id_goes_before_a_label(asked):
    done = asked("compare", "night_3", "night_4", "--model", "zz_plain", "--json")

    assert [group["model_id"] for group in json.loads(done.out)["groups"]] == ["zz_plain"]


@pytest.mark.parametrize("command", ["gate", "regressions", "runs"])
def test_a_label_of_several_models_is_refused_with_their_ids(asked, command):
    done = asked(command, "--model", "Twin")

    assert done.code == 2
    assert "label of several models" in done.err
    assert "`zz_one`, `zz_two`" in done.err


def test_an_unknown_model_is_answered_with_ids_and_labels(asked):
    done = asked("regressions", "--model", "Alpha Larg")
    other = asked("gate", "latest", "--model", "nothing like it")

    assert done.code == other.code == 2
    assert "did you mean `Alpha Large`?" in done.err
    assert "zz_alpha (Alpha Large)" in done.err
    assert "zz_alpha (Alpha Large)" in other.err


def test_a_lake_from_before_labels_has_ids(new_run):
    run = new_run()
    run.labels = {"m1": LARGE}
    run.result(run.plan())
    run.summary()
    (path,) = (run.lake / "runs").rglob("*.parquet")
    with_labels = call("runs", "--runs", run.runs_dir, "--no-sync").out
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["model_labels"]), path)
    before = call("runs", "--runs", run.runs_dir, "--no-sync").out
    call("label", "run-1", "base", "--runs", run.runs_dir, "--no-sync")
    after = call("runs", "--runs", run.runs_dir, "--no-sync").out

    assert f"{LARGE} (m1)" in with_labels
    assert LARGE not in before + after
    assert " m1 " in before
    assert "base" in after


def test_a_run_that_is_labelled_anew_keeps_the_names_of_its_models(new_run):
    run = new_run()
    run.labels = {"m1": LARGE}
    run.result(run.plan())
    run.summary()
    call("label", "run-1", "base", "--runs", run.runs_dir)
    out = call("runs", "--runs", run.runs_dir).out

    assert f"{LARGE} (m1)" in out
    assert "base" in out
