"""A run as Every Eval Ever: scores of the summary, a row a trial, names that stay."""

import json
import time

import pytest

from analyze.exporters.report_v2 import make_run_report
from analyze.importers import IMPORTERS, ImportRequest
from schemas.redact import MARK
from tests.support import promptfoo_files
from tests.support.analyze_cli import call
from tests.support.exported_eee import PROMPT, export, imports, judged, mixed, write_cases
from tests.support.histories import lake_only

pytestmark = pytest.mark.usefixtures("warm_engines")

KEY = "sk-abcdefghijklmnopqrst123456"


@pytest.fixture(autouse=True)
def _above_the_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "out"


def maps_of_details(value):
    """Every map of which the format says that it holds texts alone."""
    if isinstance(value, list):
        for one in value:
            yield from maps_of_details(one)
    if isinstance(value, dict):
        for name, one in value.items():
            if name in {"details", "additional_details", "metadata", "arguments"} and one:
                yield one
            yield from maps_of_details(one)


def test_the_score_is_that_of_the_summary_and_the_mean_of_the_rows(new_run, root):
    run = mixed(new_run)

    found = export("run-1", root)

    summaries = {one.model_id: one for one in run.summary().models}
    assert found.keys() == summaries.keys() == {"calm", "wild"}
    for model_id, one in found.items():
        summary, result = summaries[model_id], one.results["pass_rate"]
        score = result["score_details"]
        assert score["score"] == summary.passed_rate
        correct = [row["evaluation"]["is_correct"] for row in one.rows]
        assert sum(correct) / len(correct) == pytest.approx(score["score"])
        interval = score["uncertainty"]["confidence_interval"]
        assert (interval["lower"], interval["upper"], interval["method"]) == (
            summary.passed_ci95.low, summary.passed_ci95.high, summary.passed_ci95.method,
        )  # fmt: skip
        assert score["uncertainty"]["num_samples"] == len(correct) == 7
        assert float(score["details"]["score_strict"]) == summary.score_strict
        assert float(score["details"]["coverage"]) == summary.coverage
        counts = {name: score["details"][name] for name in ("n_missing", "n_without_verdict")}
        assert counts == {"n_missing": "1", "n_without_verdict": "3"}
        assert {row["evaluation_id"] for row in one.rows} == {one.aggregate["evaluation_id"]}
        assert {row["evaluation_result_id"] for row in one.rows} == {result["evaluation_result_id"]}


def test_a_trial_without_a_verdict_is_no_row_and_a_failure_that_counts_is_a_wrong_one(
    new_run, root
):
    mixed(new_run)

    one = export("run-1", root)["calm"]

    assert {row["metadata"]["case_id"] for row in one.rows} == {"mostly", "late", "tool"}
    late = one.row("late")
    assert late["evaluation"] == {"score": 0.0, "is_correct": False}
    assert (late["error"], late["metadata"]["failure_type"]) == ("timeout", "timeout")
    assert late["answer_attribution"] == []
    right, wrong = one.row("mostly", 1), one.row("mostly", 2)
    assert (right["error"], wrong["error"]) == (None, None)
    assert (right["evaluation"]["score"], wrong["evaluation"]["score"]) == (1.0, 0.0)
    assert right["input"] == {"raw": "Say mostly.", "reference": ["yes", "ja"]}
    assert right["sample_hash"] == wrong["sample_hash"] != late["sample_hash"]
    assert right["token_usage"]["total_tokens"] == 30
    assert right["performance"]["generation_time_ms"] == 300


def test_tools_make_a_trial_agentic_with_every_message_in_order(new_run, root):
    mixed(new_run)

    row = export("run-1", root)["wild"].row("tool")

    assert (row["interaction_type"], row["output"]) == ("agentic", None)
    said = row["messages"]
    assert [one["turn_idx"] for one in said] == [0, 1, 2, 3]
    assert [one["role"] for one in said] == ["user", "assistant", "tool", "assistant"]
    assert said[1]["reasoning_trace"] == "I look."
    assert said[1]["tool_calls"] == [
        {"id": "1", "name": "df", "arguments": {"raw": '{"path": "/"}'}}
    ]
    assert said[2]["tool_call_id"] == ["1"]
    assert json.loads(said[2]["content"]) == {"error": "no such path"}
    assert said[3]["content"] == "It is half full."
    (answer,) = row["answer_attribution"]
    assert (answer["turn_idx"], answer["source"]) == (3, "messages[3].content")
    assert row["evaluation"] == {
        "score": 1.0, "is_correct": True, "num_turns": 2, "tool_calls_count": 1,
    }  # fmt: skip


def test_an_export_again_is_the_same_and_replaces_nothing_unasked(new_run, root, tmp_path):
    mixed(new_run)
    export("run-1", root)

    again = call("export", "eee", "run-1", "-o", root)
    other = export("run-1", tmp_path / "other", "--model", "wild")

    assert again.code != 0
    assert "is there" in again.err
    assert call("export", "eee", "run-1", "-o", root, "--force").code == 0
    for path in (tmp_path / "other").rglob("*.json*"):
        twin = root / path.relative_to(tmp_path / "other")
        assert twin.read_bytes() == path.read_bytes()
    assert other.keys() == {"wild"}


def test_without_the_folder_there_is_the_score_and_no_row(new_run, root, tmp_path):
    run = mixed(new_run)
    whole = export("run-1", root)["calm"]
    lake_only(run)

    alone = export("run-1", tmp_path / "alone")["calm"]

    assert alone.rows == []
    assert (alone.details["n_samples"], alone.details["n_without_input"]) == ("0", "7")
    known, rest = (one.results["pass_rate"]["score_details"] for one in (whole, alone))
    assert known == rest
    assert alone.aggregate["model_info"]["additional_details"]["deployment_type"] == "unknown"
    assert whole.aggregate["model_info"]["additional_details"]["deployment_type"] == "self_deployed"


def test_judges_are_a_score_with_their_prompt_and_stand_in_the_rows(new_run, root):
    judged(new_run)

    (one,) = export("judged", root).values()

    result = one.results["judge_score/strict"]
    assert result["score_details"]["score"] == 6.25
    assert result["score_details"]["uncertainty"] == {"num_samples": 2}
    assert result["score_details"]["details"]["n_without_score"] == "1"
    config = result["metric_config"]
    assert (config["min_score"], config["max_score"]) == (0.0, 10.0)
    scoring = config["llm_scoring"]
    assert scoring["input_prompt"] == PROMPT
    assert "aggregation_method" not in scoring
    (judge,) = scoring["judges"]
    assert judge["model_info"]["name"] == "judge-1"
    assert judge["additional_details"] == {"judge_id": "judge", "n_answers": "4"}
    scores = {row["metadata"]["case_id"]: row["metadata"] for row in one.rows}
    assert scores["b"]["judge_score.strict"] == "4.5"
    assert "judge_score.strict" not in scores["c"]


def test_an_imported_run_has_the_scores_and_the_library_of_its_tool(tmp_path, root):
    folders = imports(tmp_path, tmp_path / "runs")

    ((model_id, one),) = export(folders["lm-eval"].name, root).items()

    assert model_id == "acme_tiny"
    assert one.aggregate["eval_library"] == {"name": "lm-eval", "version": "unknown"}
    assert one.aggregate["model_info"]["id"] == "acme/tiny"
    scores = {name: each["score_details"]["score"] for name, each in one.results.items()}
    assert scores == {
        "pass_rate": 0.5, "score/exact_match,loose": 1.0, "score/exact_match,strict": 0.5,
    }  # fmt: skip
    assert [row["input"]["reference"] for row in one.rows] == [["4"], ["4"]]
    assert one.rows[0]["input"]["raw"] == "Q: q0\nA:"
    assert [row["metadata"]["score.exact_match,strict"] for row in one.rows] == ["1.0", "0.0"]


def test_maps_of_details_hold_texts_alone(new_run, root, tmp_path):
    runs = ["run-1", "judged", *(one.name for one in imports(tmp_path, tmp_path / "runs").values())]
    mixed(new_run)
    judged(new_run)

    found = [one for run in runs for one in export(run, root / run).values()]

    maps = list(maps_of_details([[one.aggregate, one.rows] for one in found]))
    assert len(maps) > 40
    assert {type(value) for one in maps for value in one.values()} == {str}


def test_hostile_text_is_one_line_and_shows_no_key(new_run, root):
    run = new_run()
    said = f"a\u2028b\x1b[31m\u202e {KEY} \x00 NaN"
    run.result(run.plan(), raw_output=said, passed=False, violation=said)
    write_cases(run)

    (one,) = export("run-1", root).values()

    (path,) = root.rglob("*.jsonl")
    text = path.read_text("utf-8")
    assert text.count("\n") == len(text.splitlines()) == 1
    assert text.removesuffix("\n").isprintable()
    assert one.rows[0]["output"]["raw"] == [said.replace(KEY, MARK)]


@pytest.mark.parametrize(
    "model",
    [
        "../../../evil", "..", "/", "a/../../b", "/etc/passwd", "CON", "acme/NUL.txt", "data/data",
        "unknown", "a\\b", "x" * 5000, "/".join("y" * 99 for _ in range(50)), "模型/😀" * 80,
        "acme/llama3:8b", " ", "bad\x1b[31m\u202emodel", KEY,
    ],
)  # fmt: skip
def test_no_name_of_a_model_leads_out_of_the_folder(new_run, root, tmp_path, model):
    run = new_run()
    run.result(run.plan(model=model), passed=True)
    write_cases(run)

    (one,) = export("run-1", root).values()

    data, suite, developer, name, file = one.path.split("/")
    assert (data, suite) == ("data", "smoke")
    assert not {developer, name} & {"", ".", "..", "data", "unknown"}
    assert max(len(part.encode()) for part in (developer, name, file)) < 200
    assert {path.name for path in tmp_path.iterdir()} == {"out", "runs"}
    assert one.aggregate["model_info"]["name"] == model.replace(KEY, MARK)
    own = one.aggregate["model_info"]["id"].replace(":", "_").split("/")
    assert (own[0], "_".join(own[1:])) == (developer, name)
    assert KEY not in one.path


def test_an_answer_that_was_taken_over_has_neither_time_nor_cost(new_run, root):
    first = new_run("first")
    first.result(first.plan(), passed=True, cost_usd=0.25, cost_source="computed")
    first.write()
    later = new_run("later", day=1).take_over(first)
    write_cases(later)
    write_cases(first)

    (asked,) = export("first", root / "first").values()
    (taken,) = export("later", root / "later").values()

    assert asked.rows[0]["performance"]["additional_details"]["cost_usd"] == "0.250000000"
    assert taken.rows[0]["performance"] is None
    assert taken.rows[0]["metadata"]["reused_from_run_id"] == "first"
    assert asked.path != taken.path


def test_a_report_v2_is_a_rate_without_rows(new_run, root, tmp_path):
    run = mixed(new_run)
    make_run_report(run.path, tmp_path / "made")
    report = tmp_path / "made" / "calm" / "report.json"

    (one,) = export(report, root).values()

    rate = one.results["resolved_rate"]["score_details"]
    assert rate["score"] == pytest.approx(2 / 3)
    assert rate["details"]["n_without_verdict"] == "2"
    assert one.aggregate["retrieved_timestamp"] == str(run.started_at_ms // 1000)


def test_one_file_is_refused_where_several_rely_on_each_other(new_run, tmp_path):
    mixed(new_run)

    done = call("export", "eee", "run-1", "-o", tmp_path / "out.json", "--model", "calm")

    assert done.code != 0
    assert "name a folder" in done.err
    assert not (tmp_path / "out.json").exists()


def test_a_run_without_any_score_is_refused(new_run, root):
    run = new_run()
    run.result(run.plan(validator_type=None), passed=None)
    run.write()

    done = call("export", "eee", "run-1", "-o", root)

    assert done.code != 0
    assert "nothing has a score" in done.err
    assert not root.exists()


def test_of_two_judgements_the_newer_counts_and_a_judge_without_any_is_told(new_run, root):
    run = new_run()
    for case_id in ("a", "b"):
        run.result(run.plan(case_id), passed=True)
    run.judged(run.trials[0], 2)
    run.judged(run.trials[0], 6)
    run.judged(run.trials[1], "refusal", evaluation_profile_id="mild")
    write_cases(run)

    (one,) = export("run-1", root).values()

    assert one.results["judge_score/strict"]["score_details"]["score"] == 6.0
    assert one.row("a")["metadata"]["judge_score.strict"] == "6.0"
    assert "judge_score/mild" not in one.results
    assert one.details["left_out.judge_score/mild"] == "no answer of a judge could be used"


def test_numbers_of_other_tools_have_no_scale_and_a_direction_by_their_name_alone(tmp_path, root):
    named = [{"perplexity": 12.5, "part": 1, "huge": 1e308}, {"perplexity": 7.5, "huge": 1e308}]
    rows = [promptfoo_files.row(index=n, namedScores=one) for n, one in enumerate(named)]
    (tmp_path / "out.json").write_text(json.dumps(promptfoo_files.export(*rows)))
    IMPORTERS["promptfoo"].run(ImportRequest(tmp_path / "out.json", tmp_path / "runs"))

    (one,) = export("latest", root).values()

    configs = {name: each["metric_config"] for name, each in one.results.items()}
    assert configs["score/perplexity"]["lower_is_better"] is True
    assert configs["score/part"]["lower_is_better"] is False
    assert "not recorded" in configs["score/part"]["additional_details"]["lower_is_better"]
    assert not {"score_type", "min_score", "max_score"} & configs["score/part"].keys()
    assert one.results["score/perplexity"]["score_details"]["score"] == 10.0
    assert one.details["left_out.score/huge"] == "too large for a mean"


def test_a_time_without_a_zone_is_utc_wherever_it_is_read(new_run, root, tmp_path, monkeypatch):
    run = mixed(new_run)
    make_run_report(run.path, tmp_path / "made")
    path = tmp_path / "made" / "calm" / "report.json"
    path.write_text(path.read_text().replace("2025-11-21T22:00:00.000Z", "2025-11-21T22:00:00"))
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        (one,) = export(path, root).values()
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()

    assert one.aggregate["retrieved_timestamp"] == str(run.started_at_ms // 1000)
