"""Runs as evaluation reports v2: cases folded by majority, and both files of make_run_report."""

import json

import pytest

from analyze.exporters.majority import fold
from analyze.exporters.predictions import predictions_of_folded
from analyze.exporters.report_v2 import generate_markdown_summary, make_run_report, reports_of_run
from analyze.exporters.swebench import of_folded, swebench_report
from analyze.importers.sf_bench import import_sf_bench
from analyze.query.session import open_session
from schemas.errors import AnalyzeError, RunNotFound, SchemaError
from schemas.formats.report_v2 import EvaluationReport, report_json
from schemas.formats.report_v2_problems import schema_problems
from tests.support.histories import HOSTILE, imported, lake_only
from tests.support.mirrored import mirror_run
from tests.support.run_rows import sha, trace

pytestmark = pytest.mark.usefixtures("warm_engines")

WHOLE = "x" * 70_000


def folded(run, model_id="m1"):
    """Return the cases of one model by id, from a written run."""
    run.write()
    with open_session(run.runs_dir) as session:
        (model,) = [one for one in fold(session, run.run_id) if one.model_id == model_id]
    return {case.instance_id: case for case in model.cases}


def reports(runs_dir, run_id):
    with open_session(runs_dir) as session:
        return reports_of_run(session, run_id)


def case_of(run, name, *verdicts):
    """Plan a case with a repetition a verdict; None is one without a result, a text a failure."""
    for n, verdict in enumerate(verdicts, 1):
        trial = run.plan(name, n)
        if isinstance(verdict, str):
            run.result(trial, failure_type=verdict, error_message=f"said {verdict} {n}")
        elif verdict is not None:
            run.result(trial, passed=verdict, violation=None if verdict else f"not_exact {n}")


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        ((True, True, False), "resolved"),
        ((True, False, False), "fail"),
        ((True, False), "fail"),
        ((True, None, None), "resolved"),
        ((True, "http_500", "http_500"), "resolved"),
        (("http_500", None), "error"),
        ((None, None), "skipped"),
        ((True, "empty_response", "empty_response"), "fail"),
    ],
)
def test_the_majority_of_verdicts_decides(run, verdicts, status):
    case_of(run, "c", *verdicts)

    case = folded(run)["c"]

    assert (case.status, case.resolved) == (status, status == "resolved")
    assert [one.repetition for one in case.repetitions] == list(range(1, len(verdicts) + 1))


def test_the_first_trial_with_the_verdict_stands_for_the_case(run):
    case_of(run, "c", True, False, False)

    case = folded(run)["c"]

    assert (case.answer, case.violation) == ("answer 1", "not_exact 2")
    assert (case.error_type, case.error_message) == (None, "not_exact 2")


def test_without_any_verdict_the_last_result_stands_for_the_case(run):
    case_of(run, "c", "http_500", "http_429", None)

    case = folded(run)["c"]

    assert (case.error_type, case.error_message) == ("http_429", "said http_429 2")
    assert [one.status for one in case.repetitions][-1] == "missing"


@pytest.mark.parametrize("validator", [None, "noop"])
def test_a_case_that_nothing_judges_is_skipped_and_no_error(run, validator):
    plan = {"validator_type": validator, "is_scorable": False}
    run.result(run.plan("c", 1, **plan), passed=None, raw_output="an answer")
    run.result(run.plan("c", 2, **plan), failure_type="http_500")  # another repetition answered
    run.result(run.plan("lost", **plan), failure_type="http_500")
    run.result(run.plan("judged"), passed=True)

    cases = folded(run)

    assert (cases["c"].status, cases["c"].error_type) == ("skipped", None)
    assert cases["c"].error_message == "not judged: the case has no check"
    assert (cases["lost"].status, cases["lost"].error_type) == ("error", "http_500")
    with open_session(run.runs_dir) as session:
        (model,) = fold(session, run.run_id)
    harness_report = swebench_report(of_folded(model), style=5)
    assert (harness_report.error_ids, harness_report.incomplete_ids) == (("lost",), ("c",))
    assert harness_report.resolved_ids == ("judged",)
    handed_in = {one.instance_id: one.model_patch for one in predictions_of_folded(model)}
    assert handed_in["c"] == "an answer"  # whoever judges it elsewhere has it


def test_a_case_that_could_not_be_judged_is_an_error_that_says_so(run):
    run.result(run.plan("c"), passed=None)

    case = folded(run)["c"]

    assert (case.status, case.error_type) == ("error", "no_verdict")


def test_failed_checks_are_the_message_of_a_case(run):
    check = {"check_id": "there", "kind": "file_exists", "outcome": "failed", "message": "no file"}
    run.result(run.plan("c"), passed=False, checks=(check,), checks_failed=1)

    assert folded(run)["c"].error_message == "there: no file"


def test_a_superseded_result_counts_for_nothing(run):
    trial = run.plan("c")
    run.result(trial, failure_type="http_500")
    run.result(trial, passed=True)

    assert folded(run)["c"].status == "resolved"


def test_a_case_is_called_by_its_prompt_unless_two_share_it(run):
    for n, name in enumerate(("P0", "P1")):
        run.result(run.plan(f"list--p{n}", prompt_id=name))
        run.result(run.plan(f"other--p{n}", model_id="m2", prompt_id="P0"))
    run.write()

    with open_session(run.runs_dir) as session:
        one, other = fold(session, run.run_id)

    assert [case.instance_id for case in one.cases] == ["P0", "P1"]
    assert [case.instance_id for case in other.cases] == ["other--p0", "other--p1"]


def test_a_cut_answer_is_whole_again_from_its_trace(run):
    trial = run.plan("c")
    (path,) = run.write_traces(trace("run-1", "m1", "c", 1, ("final_output", {"content": WHOLE})))
    run.result(trial, raw_output="x" * 65_536, raw_output_truncated=True, artifact_path=path)

    case = folded(run)["c"]

    assert (case.answer, case.answer_is_cut, case.log_path) == (WHOLE, False, path)


def test_a_cut_answer_without_a_trace_says_that_it_is_cut(run):
    run.result(run.plan("c"), raw_output="x", raw_output_truncated=True, artifact_path="gone#1")
    run.write()

    (instance,) = reports(run.runs_dir, "run-1")["m1"].instances

    assert instance.solution_patch == "x"
    assert instance.model_extra["solution_patch_truncated"] is True


def test_a_report_has_the_run_its_settings_and_its_inventory(run):
    case_of(run, "a", True)
    case_of(run, "b", None)
    run.write()

    report = reports(run.runs_dir, "run-1")["m1"]

    assert report.run_id == "llama3.2:3b-20251121_220000"
    assert (report.model_name, report.dataset) == ("llama3.2:3b", "smoke")
    assert (report.start_time, report.created_at) == ("2025-11-21T22:00:00.000Z",) * 2
    assert report.end_time == "2025-11-21T22:00:00.400Z"
    assert (report.config.tasks_file, report.config.max_workers) == ("smoke.yaml", 1)
    assert report.config.validation_mode == "benchlake"
    assert report.config.model_extra["benchlake_run_id"] == "run-1"
    assert report.environment["host"]["uname"] == "Linux"
    assert report.instances[0].duration_seconds == 0.4
    assert report.instances[1].status == "skipped"
    assert report.summary.avg_score is None


def test_every_report_of_a_run_is_valid_without_a_finding(run):
    case_of(run, "a", True, False, True)
    case_of(run, "b", False, "timeout", None)
    case_of(run, "c", "http_500", "http_500")
    case_of(run, "d", None, None)
    run.result(run.plan("e"), passed=False, raw_output="")
    run.write()

    for report in reports(run.runs_dir, "run-1").values():
        data = json.loads(report_json(report))
        assert schema_problems(data) == ()
        assert EvaluationReport(**data) == report
        assert data["empty_patch_ids"] == ["e"]
        assert data["instances"][1]["repetitions"][2]["status"] == "missing"


def test_models_of_one_name_have_reports_of_their_own_names(run):
    for model_id, model in (("m1", "a/b c"), ("m2", "a-b_c"), ("m3", "x/y")):
        run.result(run.plan("c", model_id=model_id, model=model))
    run.write()

    found = {name: one.run_id for name, one in reports(run.runs_dir, "run-1").items()}

    stamp = "20251121_220000"
    assert found == {
        "m1": f"a-b_c-m1-{stamp}", "m2": f"a-b_c-m2-{stamp}", "m3": f"x-y-{stamp}",
    }  # fmt: skip


def test_a_run_whose_folder_is_elsewhere_has_the_same_instances(run):
    case_of(run, "a", True, True)
    case_of(run, "b", False)
    run.write()
    here = reports(run.runs_dir, "run-1")["m1"]
    lake_only(run)

    there = reports(run.runs_dir, "run-1")["m1"]

    assert there.instances == here.instances
    assert (there.environment, there.config.tasks_file) == ({}, None)


def test_a_folder_of_an_older_tool_is_a_report_too(tmp_path):
    imported(tmp_path / "runs", "old")

    (report,) = reports(tmp_path / "runs", "old").values()

    assert [one.instance_id for one in report.instances] == ["P0", "P1"]
    assert [one.status for one in report.instances] == ["fail", "resolved"]
    assert schema_problems(json.loads(report_json(report))) == ()


def test_an_answer_that_looks_like_a_score_is_none(run):
    answer = {"validation": {"deployment_status": "pass", "total_score": 100}}
    run.result(run.plan("c", model="sf-bench"), parsed_output=answer)
    run.write()

    (instance,) = reports(run.runs_dir, "run-1")["m1"].instances

    assert instance.validation.total_score is None


def test_an_imported_report_comes_back_as_it_was(tmp_path):
    scored = {
        "deployment_status": "pass", "deployment_points": 10, "unit_test_status": "fail",
        "functional_status": "error", "functional_message": "none", "total_score": 10,
    }  # fmt: skip
    instances = [
        {"instance_id": "lwc-1", "status": "resolved", "solution_patch": "diff"},
        {"instance_id": "lwc-2", "status": "fail", "error_message": "no", "validation": scored},
        {"instance_id": "lwc-3", "status": "error", "error_type": "timeout", "error_message": "x"},
        {"instance_id": "LWC-4", "status": "error", "error_type": "execution_error"},
        {"instance_id": "lwc-5", "status": "skipped"},
    ]
    times = {"duration_seconds": 2.5, "start_time": "2025-12-29T14:30:15.000Z"}
    data = {
        "schema_version": "2.0", "run_id": "claude-20251229", "model_name": "a/b", "config": {},
        "dataset": "verified", "start_time": "2025-12-29T14:30:00.000Z", "summary": {},
        "instances": [one | (times if one["status"] != "skipped" else {}) for one in instances],
    }  # fmt: skip
    (tmp_path / "report.json").write_text(json.dumps(data))
    import_sf_bench(tmp_path / "report.json", tmp_path / "runs")

    (found,) = reports(tmp_path / "runs", "claude-20251229").values()

    given, by_id = EvaluationReport(**data), {one.instance_id: one for one in found.instances}
    for one in given.instances:
        same = set(type(one).model_fields) - {"end_time"}
        assert by_id[one.instance_id].model_dump(include=same) == one.model_dump(include=same)
    assert by_id["lwc-1"].end_time == "2025-12-29T14:30:17.500Z"
    assert found.summary == given.summary
    assert (found.run_id, found.dataset, found.start_time) == (
        given.run_id, given.dataset, given.start_time,
    )  # fmt: skip


def test_components_that_were_changed_by_hand_are_no_score(tmp_path):
    data = {
        "schema_version": "2.0", "run_id": "r", "model_name": "m", "dataset": "d", "config": {},
        "start_time": "2025-12-29T14:30:00Z", "summary": {},
        "instances": [{"instance_id": "a", "status": "fail", "validation": {"total_score": 50}}],
    }  # fmt: skip
    (tmp_path / "report.json").write_text(json.dumps(data))
    log = import_sf_bench(tmp_path / "report.json", tmp_path / "runs").run_dir / "results.jsonl"
    log.write_text(log.read_text().replace('"total_score":', '"total_score":"x","was":'))

    (found,) = reports(tmp_path / "runs", "r").values()

    assert found.instances[0].validation.total_score is None


def test_one_model_has_both_files_in_the_folder_itself(run, tmp_path, monkeypatch):
    case_of(run, "a", True)
    run.write()
    monkeypatch.chdir(tmp_path)

    paths = make_run_report("run-1", tmp_path / "out")

    assert paths == {
        "json": tmp_path / "out" / "report.json", "markdown": tmp_path / "out" / "summary.md",
    }  # fmt: skip
    data = json.loads(paths["json"].read_text())
    assert paths["markdown"].read_text("utf-8") == generate_markdown_summary(data)


def test_several_models_have_a_folder_each(run, tmp_path):
    for model_id in ("m1", "m2"):
        run.result(run.plan("c", model_id=model_id))
    run.write()

    paths = make_run_report(run.path, str(tmp_path / "out"), include_markdown=False)

    assert paths == {
        f"{name}/json": tmp_path / "out" / name / "report.json" for name in ("m1", "m2")
    }
    assert not list((tmp_path / "out").rglob("summary.md"))


def test_the_same_input_gives_the_same_bytes_and_keeps_its_times(run, tmp_path):
    case_of(run, "a", True, False, None)
    run.write()
    first = make_run_report(run.path, tmp_path / "1")
    mirror_run(run.path, run.lake)
    data = json.loads(first["json"].read_text())

    for n, source in enumerate((run.path, first["json"], data, EvaluationReport(**data)), 2):
        again = make_run_report(source, tmp_path / str(n))
        assert [path.read_bytes() for path in again.values()] == [
            path.read_bytes() for path in first.values()
        ]
    assert data["end_time"] == "2025-11-21T22:00:01.400Z"


def test_a_report_without_an_end_gets_none(tmp_path):
    data = {
        "schema_version": "2.0", "run_id": "r", "model_name": "m", "dataset": "d", "config": {},
        "start_time": "2025-12-29T14:30:00", "instances": [], "summary": {},
    }  # fmt: skip
    paths = make_run_report(data, tmp_path)

    assert json.loads(paths["json"].read_text())["end_time"] is None


def test_hostile_names_and_answers_end_as_text(run, tmp_path):
    trial = run.plan("c", model=HOSTILE, prompt_name="<b>")
    run.result(trial, raw_output="\x1b[31m</script>", passed=False, violation="`x` | \u202e")
    run.write()

    paths = make_run_report(run.path, tmp_path / "out")

    assert paths["json"].read_bytes().isascii()
    assert "\x1b" not in paths["markdown"].read_text("utf-8")
    assert "\u202e" not in paths["markdown"].read_text("utf-8")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b'{"a": 1, "a": 2}', "more than once"),
        (b'{"schema_version": NaN}', "NaN"),
        (b"[" * 100_000, "deep"),
        (b'{"model": "x", "results": []}', "analyze migrate"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_a_file_that_is_no_report_is_refused_by_name(tmp_path, content, said):
    path = tmp_path / "r.json"
    path.write_bytes(content)

    with pytest.raises(SchemaError, match=said) as caught:
        make_run_report(path, tmp_path / "out")

    assert "r.json: " in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_field_that_json_cannot_hold_is_refused(tmp_path):
    data = {
        "schema_version": "2.0", "run_id": "r", "model_name": "m", "dataset": "d", "config": {},
        "start_time": "", "instances": [], "summary": {}, "mine": float("nan"),
    }  # fmt: skip
    with pytest.raises(SchemaError, match="/mine: nan is no number"):
        make_run_report(data, tmp_path / "out")
    with pytest.raises(SchemaError, match="cannot be written as JSON"):
        make_run_report(EvaluationReport(**data), tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_what_is_neither_a_file_nor_a_run_is_said(run, tmp_path, monkeypatch):
    run.write()
    monkeypatch.chdir(tmp_path)

    with pytest.raises(RunNotFound, match="did you mean `run-1`"):
        make_run_report("run-2", tmp_path / "out")


def test_a_run_that_planned_nothing_has_no_report(run, tmp_path):
    run.write()

    with pytest.raises(AnalyzeError, match="planned nothing"):
        make_run_report(run.path, tmp_path / "out")


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "out").write_text("a file")
    data = {
        "schema_version": "2.0", "run_id": "r", "model_name": "m", "dataset": "d", "config": {},
        "start_time": "", "instances": [], "summary": {},
    }  # fmt: skip
    with pytest.raises(AnalyzeError, match="cannot be written"):
        make_run_report(data, tmp_path / "out")


def test_a_report_has_what_judges_came_to_and_whose_decide(new_run):
    run = new_run()
    profile = {
        "evaluation_profile_id": "strict", "evaluation_profile_path": "e.yaml", "sha256": sha("e"),
        "security_policy": {}, "limits": {},
    }  # fmt: skip
    run.config |= {"evaluation": profile, "judge_hash": sha("judges")}
    for repetition, score in ((1, 9), (2, 2)):
        trial = run.plan("a", repetition)
        run.result(trial, passed=None, objective_pass=None)
        run.judged(trial, 4, threshold=5)  # superseded by what follows
        run.judged(trial, score, threshold=5)
    run.judged(trial, "refusal", evaluation_profile_id="kind")
    run.result(run.plan("b"), passed=True, objective_pass=True)
    run.write()

    (report,) = reports(run.runs_dir, "run-1").values()

    assert report.config.model_dump()["evaluation_profile_id"] == "strict"
    judged, other = (one.model_dump() for one in report.instances)
    keys = ("repetition", "evaluation_profile_id", "final_score", "passed")
    assert [tuple(one[key] for key in keys) for one in judged["judgements"]] == [
        (1, "strict", 9, True), (2, "kind", None, None), (2, "strict", 2, False),
    ]  # fmt: skip
    assert "judgements" not in other
    assert not list(schema_problems(json.loads(report_json(report))))
