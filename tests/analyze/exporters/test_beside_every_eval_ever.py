"""What Every Eval Ever itself says of an export: its schemas, and the gate of its data store."""

import json

import pytest

from analyze.exporters.report_v2 import make_run_report
from tests.support.analyze_cli import call
from tests.support.exported_eee import export, imports, judged, mixed
from tests.support.histories import everything
from tests.support.real_every_eval_ever import real_every_eval_ever
from tests.support.run_builder import STARTED_AT_MS

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("warm_engines")]


@pytest.fixture
def real(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return real_every_eval_ever()


def test_runs_of_every_kind_have_no_problem_and_no_warning(new_run, real, tmp_path):
    mixed(new_run)
    judged(new_run)
    runs = ["run-1", "judged", *(one.name for one in imports(tmp_path, tmp_path / "runs").values())]

    for run in runs:
        found = export(run, tmp_path / "out" / run)

        assert all(one.rows for one in found.values()), run
        assert real.problems(tmp_path / "out" / run) == {}, run


def test_a_history_as_people_have_it_has_no_problem(new_run, real, tmp_path):
    runs = everything(new_run, STARTED_AT_MS)
    exported = set()
    for run_id in [*(one.run_id for one in runs.values()), "20251020_elsewhere", "20250101_000000"]:
        root = tmp_path / "out" / run_id
        if call("export", "eee", run_id, "-o", root).code == 0:
            exported.add(run_id)
            assert real.problems(root) == {}, run_id

    assert exported == {
        "20251101_080000", "20251025_080000", "20251102_090000", "20251020_elsewhere",
        "20250101_000000",
    }  # fmt: skip


def test_a_report_v2_and_models_with_hostile_names_have_no_problem(new_run, real, tmp_path):
    run = new_run()
    names = (
        "../../x",
        "CON",
        "acme/llama3:8b",
        "模型/😀" * 80,
        "a\\b",
        "data/unknown",
        "bad\x1b[31m",
    )
    for n, model in enumerate(names):
        run.result(run.plan(model_id=f"m{n}", model=model), passed=True)
    run.result(run.plan(model_id="down"), failure_type="http_503")
    run.write()
    make_run_report(run.path, tmp_path / "made")

    export("run-1", tmp_path / "out")
    export(tmp_path / "made" / "m0" / "report.json", tmp_path / "report")

    assert real.problems(tmp_path / "out") == real.problems(tmp_path / "report") == {}


def test_the_judgement_is_a_real_one(new_run, real, tmp_path):
    mixed(new_run)
    export("run-1", tmp_path / "out", "--model", "calm")
    (path,) = (tmp_path / "out").rglob("*.json")
    document = json.loads(path.read_text())
    document["evaluation_results"][0]["score_details"]["score"] = 2.0
    document["model_info"]["additional_details"]["n"] = 1
    path.write_text(json.dumps(document))

    (said,) = real.problems(tmp_path / "out").values()

    assert any("outside" in str(one) for one in said)
    assert any("is not of type 'string'" in str(one) for one in said)
