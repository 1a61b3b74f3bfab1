"""Files as other tools really leave them: the same value wherever an import is looked at.

Each goes through the commands that people type: import, runs, summarize, show, report, an export.
"""

import csv
import json

import pytest

from analyze.report.first_screen import standings
from schemas.output.report import RunReport
from tests.analyze.importers.test_imports_sf_bench import given, instance, report
from tests.support.analyze_cli import call
from tests.support.pae_tree import MODELS, RUN_ID, full_tree

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("warm_engines", "built_once")]

LIMITS = {"mistral:7b": 30_030, "phi:latest": 30_030, "qwen3:4b": 120_100}

PUBLISHED = {
    "gemma2:9b": ("P0+",),
    "mistral:7b": ("P0+", "P3-", "P0!", "P1!!", "P2!!", "P3!", "P4!", "P5!", "P10!"),
    "phi:latest": ("P0!", "P1!", "P2!", "P3!", "P10!"),
    "qwen2.5:14b": ("P0++", "P1-"),
    "qwen3:4b": (
        "P0+++", "P2+", "P3++", "P4+", "P8+", "P9+", "P1!!", "P2!", "P4!", "P5!!", "P6!!", "P7!!",
        "P8!", "P9!", "P10!!",
    ),
}  # fmt: skip
"""Models of the published rows: a prompt with + for each answer that passed, - for each that did
not, ! for each request that ran into the time limit. P10 has no validator."""

COLUMNS = (
    "model", "prompt_id", "e2e_ms", "success", "objective_pass", "input_tokens", "output_tokens",
    "failure_type",
)  # fmt: skip


def published_rows():
    for model, prompts in PUBLISHED.items():
        for text in prompts:
            prompt = text.rstrip("+-!")
            for mark in text[len(prompt) :]:
                late = mark == "!"
                yield {
                    "model": model, "prompt_id": prompt,
                    "e2e_ms": LIMITS[model] if late else 23_407, "success": not late,
                    "objective_pass": None if prompt == "P10" else mark == "+",
                    "input_tokens": None if late else 26, "output_tokens": None if late else 7,
                    "failure_type": "exception" if late else None,
                }  # fmt: skip


def write_csv(path, rows, columns=COLUMNS):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rates(run_id):
    """Return (passed, strict, coverage) of each model, the same everywhere; summary and report."""
    listed = json.loads(call("runs", "--json").out)
    (run,) = (one for one in listed if one["run_id"] == run_id)
    summary = json.loads(call("summarize", run_id, "--json").out)["models"]
    shown = json.loads(call("show", run_id, "--json").out)["summary"]["models"]
    page = json.loads(call("report", f"runs/{run_id}", "--format", "json").out)
    names = ("passed_rate", "score_strict", "coverage")
    places = [
        {one["model_id"]: tuple(one[name] for name in names) for one in found}
        for found in (run["by_model"], summary, shown, page["summary"]["models"], page["answer"])
    ]
    sql = json.loads(
        call(
            "sql", "--format", "json",
            f"select provider, model_id, {', '.join(names)} from model_summary "
            f"where run_id = '{run_id}'",
        ).out
    )  # fmt: skip
    places.append({one["model_id"]: tuple(one[name] for name in names) for one in sql})
    first = places[0]
    for other in places[1:]:
        assert other == {name: pytest.approx(values) for name, values in first.items()}
    return first, {one["model_id"]: one for one in summary}, RunReport.model_validate(page)


def texts(run_id, monkeypatch):
    """Return what each command prints of a run, by command."""
    monkeypatch.setenv("COLUMNS", "240")
    return {
        "runs": call("runs").out,
        "summarize": call("summarize", run_id).out,
        "show": call("show", run_id).out,
        "markdown": call("report", f"runs/{run_id}", "--format", "md").out,
    }


def test_the_published_rows_of_the_older_bench(here, monkeypatch):
    rows = list(published_rows())
    assert len(rows) == 43
    write_csv(here / "rows_2026.csv", rows)

    done = call("import", "openclaw-bench", "rows_2026.csv")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("runs/rows_2026: 43 results\n")
    found, summary, page = rates("rows_2026")
    mistral, qwen = "openclaw-bench--mistral_7b", "openclaw-bench--qwen3_4b"
    assert found[mistral] == pytest.approx((1 / 10, 1 / 10, 1.0))
    assert found[qwen] == pytest.approx((9 / 21, 9 / 21, 1.0))
    assert found["openclaw-bench--phi_latest"] == pytest.approx((0.0, 0.0, 1.0))
    assert (summary[mistral]["n_timeout"], summary[qwen]["n_timeout"]) == (9, 14)
    for name, success in ((mistral, "18.2"), (qwen, "39.1")):
        assert f"{100 * summary[name]['success_rate']:.1f}" == success
        (of_page,) = (one for one in page.summary.models if one.model_id == name)
        assert of_page.success_rate == summary[name]["success_rate"]
    said = texts("rows_2026", monkeypatch)
    assert "| mistral:7b | 10.0 |" in said["summarize"]
    for place in ("summarize", "show"):
        assert all(number in said[place] for number in ("18.2", "39.1")), place
    assert "mistral_7b: passed% 10.0" in said["runs"]
    unranked = {one.model_id for one in page.answer if not one.is_ranked}
    best_for = {one.is_on_time_frontier for one in page.frontier if one.model_id in unranked}
    assert best_for <= {None}
    assert unranked == {
        "openclaw-bench--gemma2_9b", "openclaw-bench--qwen2_5_14b", "openclaw-bench--phi_latest",
    }  # fmt: skip
    assert "gemma2_9b is best" not in said["markdown"]
    again = call("import", "openclaw-bench", "rows_2026.csv")
    assert "it was there already" in again.out
    (here / "rows.json").write_text(json.dumps(rows))
    call("import", "openclaw-bench", "rows.json")
    logs = [
        [
            json.loads(line)
            for line in (here / "runs" / name / "results.jsonl").read_text().splitlines()
        ]
        for name in ("rows_2026", "rows")
    ]
    own = {"run_id", "started_at_ms", "ended_at_ms"}
    of_csv, of_json = [
        [{k: v for k, v in one.items() if k not in own} for one in log] for log in logs
    ]
    assert of_csv == of_json


def test_columns_that_are_missing_are_named_at_once_and_nothing_is_left(here):
    write_csv(here / "rows.csv", published_rows(), ("model", "e2e_ms", "input_tokens"))

    done = call("import", "openclaw-bench", "rows.csv")

    assert done.code == 2
    found = "found e2e_ms, input_tokens, model"
    assert done.err.splitlines() == [
        f"rows.csv: `prompt_id`: is missing; {found}; allowed: text",
        f"rows.csv: `success`: is missing; {found}; allowed: true or false",
        f"rows.csv: `objective_pass`: is missing; {found}; allowed: true or false, or empty",
        f"rows.csv: `failure_type`: is missing; {found}; allowed: text, or empty",
    ]
    assert [path.name for path in here.iterdir()] == ["rows.csv"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"success": "maybe"}, "rows.csv:2: `success`: is no value of this field; found maybe"),
        ({"e2e_ms": "-3"}, "rows.csv:2: `e2e_ms`"),
        ({"e2e_ms": "1.5"}, "rows.csv:2: `e2e_ms`"),
        ({"model": ""}, "rows.csv:2: `model`: is no value of this field; found nothing"),
        ({"e2e_ms": "9" * 30}, "rows.csv:2: `e2e_ms`"),
        ({"model": "\x1b[31m"}, None),
    ],
)
def test_a_row_that_does_not_fit_is_named_with_its_line(here, changed, said):
    write_csv(here / "rows.csv", [next(published_rows()) | changed])

    done = call("import", "openclaw-bench", "rows.csv")

    assert done.code == (0 if said is None else 2)
    assert said is None or said in done.err
    assert (here / "runs").exists() == (said is None)
    assert "\x1b" not in done.out + done.err


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", '{"models": {"m": {"success_rate": 18.2}}}', "has no rows"),
        ("a.json", "[]", "is missing"),
        ("a.json", "[1]", "has no rows"),
        ("a.json", "{torn", "is no JSON"),
        ("a.csv", "", "is missing"),
        ("a.csv", ",".join(COLUMNS) + "\n", "has no row"),
        ("a.csv", 'model,"torn\n', "is no CSV"),
        ("a.csv", b"\xff\xfe", "is not UTF-8"),
    ],
)
def test_files_without_rows_are_refused(here, name, content, said):
    (here / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    done = call("import", "openclaw-bench", name)

    assert done.code == 2
    assert said in done.err
    assert not (here / "runs").exists()


def test_a_log_of_which_no_line_is_taken_is_refused_with_every_field(here):
    folder = here / "theirs"
    folder.mkdir()
    line = {"record_type": "result", "run_id": "theirs", "model": 3, "success": "yes"}
    (folder / "results.jsonl").write_text(2 * (json.dumps(line) + "\n"))

    done = call("import", "openclaw-bench", "theirs")

    assert done.code == 2
    lines = done.err.splitlines()
    assert "has no line that is a result" in lines[0]
    at = "error: " + str(folder / "results.jsonl") + ":1: "
    places = [one.replace(str(here) + "/", "") for one in lines]
    named = " ".join(places)
    assert "`model`: Input should be a valid string; found 3; allowed: text" in named
    assert (
        '`success`: Input should be a valid boolean; found "yes"; allowed: true or false' in named
    )
    assert "`prompt_id`: is missing; found nothing; allowed: text" in named
    assert "`ttft_ms`: is missing; found nothing; allowed: a whole number or null" in named
    assert named.count("`prompt_id`") == 1, at
    assert not (here / "runs").exists()


def test_a_run_without_a_result_among_others_is_left_out_and_named(here):
    rows = list(published_rows())
    write_csv(here / "rows.csv", rows)
    call("import", "openclaw-bench", "rows.csv", "--runs", "theirs")
    (here / "theirs" / "empty").mkdir()
    event = {"record_type": "event", "event": "ollama_stop", "tag": "t", "ok": True}
    (here / "theirs" / "empty" / "results.jsonl").write_text(json.dumps(event) + "\n")

    done = call("import", "openclaw-bench", "theirs")

    assert done.code == 0
    assert "empty has no result, and was left out" in done.out
    assert sorted(one.name for one in (here / "runs").iterdir()) == ["rows"]


def test_a_report_with_one_error(here, monkeypatch):
    states = ["resolved"] * 5 + ["fail"] * 6 + ["error"]
    instances = (
        instance(f"t-{n:02d}", state, error_type="execution_error" if state == "error" else None)
        for n, state in enumerate(states)
    )
    given(here, report(*instances, run_id="r"))

    assert call("import", "sf-bench", "report.json").code == 0

    found, _, page = rates("r")
    assert found == {"anthropic_claude": pytest.approx((5 / 11, 5 / 12, 11 / 12))}
    assert not page.answer[0].is_ranked
    assert standings(page)[0].strict == "strict 41.7"
    said = texts("r", monkeypatch)
    assert "| anthropic/claude | 45.5 |" in said["summarize"]
    assert "| 41.7 | 91.7 | 11 |" in said["summarize"]
    for place in ("runs", "show"):
        assert "45.5 [" in said[place], place
        assert "], strict 41.7" in said[place], place
    assert "45.5, strict 41.7" in said["markdown"]
    call("export", "report-v2", "r", "-o", "v2")
    (path,) = (here / "v2").rglob("report.json")
    again = json.loads(path.read_text())
    assert again["summary"]["resolve_rate"] == pytest.approx(5 / 12)


def test_a_sample_of_a_report_counts_what_is_not_in_it(here, monkeypatch):
    one = instance("lwc-component-001", "resolved")
    totals = {"total_instances": 12, "resolved_instances": 5, "resolve_rate": 41.67}
    given(here, report(one, summary=totals, run_id="sample"))

    done = call("import", "sf-bench", "report.json")

    assert done.out.startswith("runs/sample: 1 result, 11 without a result\n")
    assert "the report holds 1 of the 12 instances that it counts" in done.out
    found, summary, page = rates("sample")
    assert found == {"anthropic_claude": pytest.approx((1.0, 1 / 12, 1 / 12))}
    assert summary["anthropic_claude"]["n_planned"] == 12
    assert page.run.n_planned == 12
    assert not page.answer[0].is_ranked
    said = texts("sample", monkeypatch)
    assert "| 100.0 |  | 8.3 | 8.3 | 1 |" in said["summarize"]
    assert all("100.0, strict 8.3" in said[place] for place in ("runs", "show", "markdown"))
    assert said["show"].count("not_in_the_report_01") == 1
    assert not any(" best" in text.partition("To distrust")[0] for text in said.values())


@pytest.mark.parametrize(
    ("lists", "named"),
    [
        ({"resolved_ids": ["a", "b", "c"]}, {"b", "c", "not_in_the_report_1"}),
        ({"unresolved_ids": ["x", "y", "z", "w"]}, {"w", "x", "y"}),
        ({"error_ids": ["not_in_the_report_1"]},
         {"not_in_the_report_1", "not_in_the_report_2", "not_in_the_report_3"}),
    ],
)  # fmt: skip
def test_instances_that_only_a_list_names_keep_their_names(here, lists, named):
    given(here, report(instance("a"), summary={"total_instances": 4}, run_id="r", **lists))

    assert call("import", "sf-bench", "report.json").code == 0

    planned = json.loads(
        call("sql", "--format", "json", "select prompt_id from stg_plans where case_id <> 'a'").out
    )
    assert {row["prompt_id"] for row in planned} == named


def test_a_report_that_counts_more_than_any_data_set_is_refused(here):
    given(here, report(instance("a"), summary={"total_instances": 10**9}))

    done = call("import", "sf-bench", "report.json")

    assert done.code == 2
    assert "`summary.total_instances`: counts 999,999,999 instances more than it holds" in done.err
    assert not (here / "runs").exists()


def test_an_old_run_file_that_was_cut_counts_what_it_once_held(here):
    results = [{"task_id": "a", "status": "PASS", "duration": 2.5}]
    old = {"model": "m", "timestamp": "2026-01-02T03:04:05", "tasks_file": "data/verified.json"}
    given(here, old | {"total_tasks": 12, "results": results})

    call("import", "sf-bench", "report.json", "--run-id", "r")

    (listed,) = json.loads(call("runs", "--json").out)
    assert (listed["passed_rate"], listed["score_strict"]) == (1.0, pytest.approx(1 / 12))


def test_outputs_of_personal_agent_eval(here, monkeypatch):
    full_tree(here / "outputs")

    assert call("import", "pae", "outputs").code == 0

    found, summary, page = rates(RUN_ID)
    assert found == {
        "alpha_1": pytest.approx((2 / 4, 2 / 4, 1.0)),
        "beta": pytest.approx((1 / 3, 1 / 4, 3 / 4)),
    }
    assert [summary[name]["model"] for name in MODELS] == list(MODELS.values())
    options = {
        (one["provider"], one["model"]): one["quality"]["rate"]
        for one in json.loads(call("route", "--json").out)["models"]
    }
    assert options == {
        ("openrouter", "acme/alpha-1"): 0.5,
        ("openrouter", "beta/large"): pytest.approx(1 / 3),
        ("openclaw", "acme/alpha-1"): None,
        ("openclaw", "beta/large"): None,
    }
    said = texts(RUN_ID, monkeypatch)
    assert "beta: passed% 33.3" in said["runs"]
    assert "strict 25.0" in said["runs"]
    assert "strict 25.0" in said["show"]
    assert not any(one.is_ranked for one in page.answer)
    trial = call("show", RUN_ID, "plain", "alpha_1", 1).out
    assert "evaluation judge_new: final score 9" in trial
    assert "Done." in call("show", RUN_ID, "agent", "alpha_1", 1).out
