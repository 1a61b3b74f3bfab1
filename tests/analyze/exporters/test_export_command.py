"""`analyze export`: files of other tools from runs and reports, and nothing replaced unasked."""

import json

import pytest

from analyze.exporters.report_v2 import make_run_report
from analyze.exporters.swebench import HarnessInstance, swebench_json, swebench_report
from analyze.importers.swebench import import_swebench
from schemas.formats.report_v2 import EvaluationReport
from schemas.formats.swebench import SwebenchReport
from tests.support.analyze_cli import call, forked
from tests.support.histories import imported, lake_only
from tests.support.mirrored import mirror_run

pytestmark = pytest.mark.usefixtures("warm_engines")


@pytest.fixture
def asked(new_run, tmp_path, monkeypatch):
    """A run of two models on three cases, read from the folder above its own."""
    run = new_run()
    for model_id, model in (("m1", "acme/one"), ("m2", "two")):
        for n, case in enumerate(("c1", "c2", "c3")):
            run.result(run.plan(case, model_id=model_id, model=model), passed=n != 1)
        run.plan("c4", model_id=model_id, model=model)
    run.write()
    monkeypatch.chdir(tmp_path)
    return run


@pytest.fixture
def report(asked, tmp_path):
    """The report of the first model, as a file."""
    make_run_report(asked.path, tmp_path / "made")
    return tmp_path / "made" / "m1" / "report.json"


def export(*args):
    done = call("export", *args)
    return done.code, done.out.splitlines(), done.err


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_reports_go_into_the_folder_of_the_run_and_are_made_again(asked, tmp_path):
    code, out, _ = export("report-v2", "run-1")

    reports = tmp_path / "runs" / "run-1" / "reports"
    assert code == 0
    assert out == [f"runs/run-1/reports/{name}" for name in (
        "m1/report.json", "m1/summary.md", "m2/report.json", "m2/summary.md",
    )]  # fmt: skip
    assert files(reports) == {line.split("reports/")[1] for line in out}
    data = json.loads((reports / "m1" / "report.json").read_text())
    assert EvaluationReport(**data).resolved_ids == ("c1", "c3")
    before = (reports / "m1" / "summary.md").read_bytes()
    assert export("report-v2", "latest")[0] == 0
    assert (reports / "m1" / "summary.md").read_bytes() == before


def test_one_model_goes_into_the_folder_that_is_named(asked, tmp_path):
    for wanted in ("m2", "two"):
        code, _, _ = export("report-v2", "run-1", "--model", wanted, "-o", tmp_path / wanted)

        assert code == 0
        assert files(tmp_path / wanted) == {"report.json", "summary.md"}


def test_several_models_get_a_folder_each_there(asked, tmp_path):
    assert export("report-v2", "run-1", "-o", tmp_path / "out")[0] == 0

    assert files(tmp_path / "out") == {
        f"{model}/{name}" for model in ("m1", "m2") for name in ("report.json", "summary.md")
    }


def test_nothing_elsewhere_is_replaced_unasked(asked, tmp_path):
    there = tmp_path / "out" / "m2" / "summary.md"
    there.parent.mkdir(parents=True)
    there.write_text("mine")

    code, out, err = export("report-v2", "run-1", "-o", tmp_path / "out")

    assert (code, out) == (2, [])
    assert "out/m2/summary.md is there" in err
    assert "--force" in err
    assert files(tmp_path / "out") == {"m2/summary.md"}
    assert export("report-v2", "run-1", "-o", tmp_path / "out", "--force")[0] == 0
    assert there.read_text() != "mine"


def test_the_harness_reports_are_called_as_it_calls_them(asked, tmp_path):
    code, out, _ = export("swebench", "run-1")

    assert (code, out) == (0, ["acme__one.run-1.json", "two.run-1.json"])
    found = SwebenchReport(**json.loads((tmp_path / out[0]).read_text()))
    assert (found.resolved_ids, found.unresolved_ids) == (("c1", "c3"), ("c2",))
    assert (found.incomplete_ids, found.infra_failure_ids) == (("c4",), ())
    assert export("swebench", "run-1")[0] == 2


def test_style_4_has_no_failure_tiers(asked, tmp_path):
    export("swebench", "run-1", "--style", "4", "--model", "m1", "-o", tmp_path / "r.json")

    data = json.loads((tmp_path / "r.json").read_text())
    assert "infra_failure_ids" not in data
    assert data["schema_version"] == 2


def test_models_of_one_name_get_files_of_their_own(new_run, tmp_path, monkeypatch):
    run = new_run()
    for model_id in ("m1", "m2"):
        run.result(run.plan("c", model_id=model_id))
    run.write()
    monkeypatch.chdir(tmp_path)

    _, out, _ = export("predictions", "run-1")

    assert out == [f"llama3.2:3b-{name}.run-1.predictions.jsonl" for name in ("m1", "m2")]


def test_predictions_are_what_was_answered(asked, tmp_path):
    code, _, _ = export("predictions", "run-1", "--model", "m1", "-o", tmp_path / "p.jsonl")

    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert code == 0
    assert [line["instance_id"] for line in lines] == ["c1", "c2", "c3"]
    assert lines[0] == {
        "instance_id": "c1", "model_name_or_path": "acme/one", "model_patch": "answer 0",
    }  # fmt: skip


def test_a_report_gives_the_same_as_its_run(asked, report, tmp_path):
    for form in ("swebench", "predictions"):
        export(form, "run-1", "--model", "m1", "-o", tmp_path / "of_run")
        export(form, report, "-o", tmp_path / "of_report", "--force")
        assert (tmp_path / "of_report").read_text() == (tmp_path / "of_run").read_text()
        (tmp_path / "of_run").unlink()


def test_a_run_goes_before_a_file_of_its_name(asked, tmp_path):
    (tmp_path / "run-1").write_text("no report")

    assert export("swebench", "run-1")[0] == 0


def test_the_files_of_a_report_are_named_after_it(report, tmp_path):
    _, out, _ = export("swebench", report)

    assert out == ["acme__one.acme-one-20251121_220000.json"]


def test_a_report_alone_gets_its_summary(report, tmp_path):
    code, _, err = export("report-v2", report)
    assert code == 2
    assert "`--output`" in err

    assert export("report-v2", report, "-o", tmp_path / "out")[0] == 0
    for name in ("report.json", "summary.md"):
        assert (tmp_path / "out" / name).read_bytes() == (report.parent / name).read_bytes()


def test_a_folder_that_is_there_takes_the_file(asked, tmp_path):
    (tmp_path / "out").mkdir()

    _, out, _ = export("swebench", "run-1", "--model", "m2", "-o", tmp_path / "out")

    assert out == [str(tmp_path / "out" / "two.run-1.json")]


def test_paths_are_a_list_for_programs(asked):
    done = call("export", "swebench", "run-1", "--json")

    assert json.loads(done.out) == ["acme__one.run-1.json", "two.run-1.json"]


def test_a_run_without_its_folder_or_of_another_tool_needs_a_place(asked, tmp_path):
    imported(tmp_path / "runs", "old")
    lake_only(asked)

    for run_id, why in (("run-1", "is not here"), ("old", "was imported")):
        code, _, err = export("report-v2", run_id)
        assert code == 2
        assert why in err
        assert export("report-v2", run_id, "-o", tmp_path / run_id)[0] == 0
    assert files(tmp_path / "runs" / "old") == {"results.jsonl"}


def test_an_option_that_a_format_does_not_take_is_named(asked, report):
    for args, option in (
        (("report-v2", "run-1", "--style", "4"), "--style"),
        (("predictions", "run-1", "--style", "5"), "--style"),
        (("swebench", report, "--model", "m1"), "--model"),
    ):
        code, out, err = export(*args)
        assert (code, out) == (2, [])
        assert f"`{option}`" in err


def test_what_is_not_there_is_said_with_what_is_near(asked):
    assert "did you mean `run-1`" in export("swebench", "run-2")[2]
    code, _, err = export("swebench", "run-1", "--model", "m3")
    assert code == 2
    assert "allowed: acme/one, m1, m2, two" in err


def test_a_place_that_is_no_file_or_no_folder_is_refused_before_anything(asked, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "out" / "m2" / "summary.md").mkdir(parents=True)

    code, _, err = export("swebench", "run-1", "-o", tmp_path / "file")
    assert code == 2
    assert "is no folder" in err
    code, _, err = export("report-v2", "run-1", "-o", tmp_path / "out", "--force")
    assert code == 2
    assert "is no file" in err
    assert files(tmp_path / "out") == set()


def test_a_name_that_no_file_can_have_is_one_line(new_run, tmp_path, monkeypatch):
    run = new_run()
    run.result(run.plan("c", model="../m\x1b" + "x" * 300))
    run.write()
    monkeypatch.chdir(tmp_path)

    code, _, err = export("swebench", "run-1")

    assert code == 2
    assert "File name too long" in err
    assert "\x1b" not in err
    assert export("swebench", "run-1", "-o", tmp_path / "short.json")[0] == 0


def test_a_file_that_is_no_report_is_refused(tmp_path):
    path = tmp_path / "r.json"
    path.write_text('{"model": "x", "results": []}')

    code, _, err = export("swebench", path)

    assert code == 2
    assert "analyze migrate" in err


def test_an_instance_that_stands_twice_is_one_line(report, tmp_path):
    data = json.loads(report.read_text())
    data["instances"] *= 2
    report.write_text(json.dumps(data))

    code, _, err = export("swebench", report)

    assert code == 2
    assert "/instances/4/instance_id" in err


def test_a_run_that_planned_nothing_is_one_line(run, tmp_path, monkeypatch):
    run.write()
    monkeypatch.chdir(tmp_path)

    code, _, err = export("swebench", "run-1")

    assert code == 1
    assert "planned nothing" in err


def test_a_lake_is_read_as_it_is_when_asked(asked, tmp_path):
    assert export("swebench", "run-1", "--no-sync")[0] == 2
    mirror_run(asked.path, asked.lake)

    assert export("swebench", "run-1", "--no-sync")[0] == 0


def test_the_command_works_as_a_process(asked, tmp_path):
    done = forked("export", "report-v2", "run-1", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")

    unknown = forked("export", "csv", "run-1", cwd=tmp_path)
    assert unknown.code == 2
    assert "predictions" in unknown.err


@pytest.mark.parametrize("style", [4, 5])
def test_an_imported_report_of_the_harness_is_written_back_as_it_was(tmp_path, monkeypatch, style):
    instances = [
        HarnessInstance("a__1", "resolved"),
        HarnessInstance("b__2", "unresolved", "out_of_memory"),
        HarnessInstance("B__2", "unresolved", "no_tests_collected"),
        HarnessInstance("c__3", "empty_patch"),
        HarnessInstance("d__4", "error"),
        HarnessInstance("e__5", "unreadable"),
        HarnessInstance("f__6", "incomplete"),
    ]
    report = swebench_report(instances, style=style, outside=["x__9"])
    cleaned = {"unstopped_instances": 1, "unstopped_containers": ["b__2"], "unremoved_images": []}
    text = swebench_json(SwebenchReport.model_validate(report.model_dump() | cleaned))
    (tmp_path / "acme__m.night.json").write_text(text)
    run = import_swebench(tmp_path / "acme__m.night.json", tmp_path / "runs").run_dir.name
    monkeypatch.chdir(tmp_path)

    assert export("swebench", run, "-o", "again.json")[0] == 0

    assert (tmp_path / "again.json").read_text() == text


def test_a_file_gets_the_one_document_that_comes_out(asked, report, tmp_path):
    texts = {name: (report.parent / name).read_text() for name in ("report.json", "summary.md")}
    one = ("run-1", "--model", "m1")

    for name, text in (("x.json", texts["report.json"]), ("x.md", texts["summary.md"])):
        assert export("report-v2", *one, "-o", name) == (0, [name], "")
        assert json_or_text(tmp_path / name) == json_or_text(text)
    assert export("report-v2", report, "-o", "y.json")[:2] == (0, ["y.json"])
    assert (tmp_path / "y.json").read_text() == texts["report.json"]
    assert export("report-v2", *one, "-o", "x.json")[0] == 2
    (tmp_path / "folder.json").mkdir()
    assert export("report-v2", *one, "-o", "folder.json")[0] == 0
    assert files(tmp_path / "folder.json") == {"report.json", "summary.md"}


def json_or_text(what):
    """Return a report or a summary without the moment at which it was made."""
    text = what if isinstance(what, str) else what.read_text()
    if text.startswith("{"):
        return {key: value for key, value in json.loads(text).items() if not key.endswith("_at")}
    return [line for line in text.splitlines() if "enerated" not in line]


@pytest.mark.parametrize("form", ["report-v2", "swebench", "predictions"])
def test_a_document_goes_to_standard_output(asked, tmp_path, form):
    code, out, err = export(form, "run-1", "--model", "m1", "-o", "-")

    assert (code, err) == (0, "")
    assert json.loads(out[0] if form == "predictions" else "\n".join(out))
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    assert not (tmp_path / "runs" / "run-1" / "reports").exists()
    assert export(form, "run-1", "--model", "m1", "-o", "-", "--json")[0] == 2


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("report-v2", "x.json"),
        ("report-v2", "-"),
        ("swebench", "x.json"),
        ("predictions", "x.jsonl"),
    ],
)
def test_one_file_for_several_documents_is_refused_with_the_models(asked, tmp_path, form, name):
    code, out, err = export(form, "run-1", "-o", name)

    assert (code, out) == (2, [])
    assert "2 documents come out, one a model" in err
    assert "--model" in err
    assert "m1, m2" in err
    assert not (tmp_path / name).exists()
