"""The names of docs/evaluation-reports.md work as it writes them, and load nothing before."""

import json
import re
import shlex
import subprocess
import sys

import pytest

import analyze
import schemas
from tests.support.interpreter import run_without
from tests.support.paths import ROOT

# The examples leave the file to the interpreter to close.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

PAGE = (ROOT / "docs" / "evaluation-reports.md").read_text(encoding="utf-8")
ONE_LINERS = dict(re.findall(r"^\| ([^|]+) \| `(python -c [^`]+)` \|$", PAGE, re.MULTILINE))

INSTANCE = {
    "instance_id": "lwc-component-001",
    "model_name": "anthropic/claude-3.5-sonnet",
    "status": "resolved",
    "resolved": True,
    "validation": {"deployment_status": "pass", "deployment_points": 10, "total_score": 10},
    "duration_seconds": 245.3,
}
REPORT = {
    "schema_version": "2.0",
    "run_id": "claude-sonnet-4.5-20251229",
    "model_name": "anthropic/claude-3.5-sonnet",
    "dataset": "verified",
    "config": {"tasks_file": "data/tasks/verified.json", "max_workers": 2},
    "instances": [INSTANCE],
    "summary": {"total_instances": 12, "resolved_instances": 5, "resolve_rate": 41.67},
    "start_time": "2025-12-29T14:30:00Z",
}
OLD = {
    "model_name": "gemini-2.5-flash",
    "instances": [{"instance_id": "a", "status": "resolved", "resolved": True, "score": 90}],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "report.json").write_text(json.dumps(REPORT))
    (tmp_path / "v1_results.json").write_text(json.dumps(OLD))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_here(what, capsys):
    _, _, code = shlex.split(ONE_LINERS[what])
    exec(compile(code, what, "exec"), {})
    return capsys.readouterr().out


def test_the_page_has_a_line_for_every_example_of_the_document():
    assert set(ONE_LINERS) == {
        "load a report",
        "Markdown of it",
        "both files",
        "validate",
        "say what is wrong",
        "convert v1",
    }


def test_a_report_is_loaded_and_shown(folder, capsys):
    assert run_here("load a report", capsys) == ""
    shown = run_here("Markdown of it", capsys)
    assert "anthropic/claude-3.5-sonnet" in shown
    assert "lwc-component-001" in shown


def test_both_files_are_written(folder, capsys):
    run_here("both files", capsys)
    assert json.loads((folder / "out" / "report.json").read_text())["schema_version"] == "2.0"
    assert (folder / "out" / "summary.md").read_text().startswith("# ")


def test_validation_says_true_and_what_it_minds(folder, capsys):
    assert run_here("validate", capsys) == "True\n"
    assert "percent_rate" in run_here("say what is wrong", capsys)


def test_the_older_schema_is_converted(folder, capsys):
    report = json.loads(run_here("convert v1", capsys))
    assert report["model_name_or_path"] == "gemini-2.5-flash"
    assert report["resolved_ids"] == ["a"]


def test_a_line_of_the_page_works_as_a_command(folder):
    _, _, code = shlex.split(ONE_LINERS["validate"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


@pytest.mark.parametrize("package", [schemas, analyze], ids=["schemas", "analyze"])
def test_every_name_is_there_and_others_are_not(package):
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Report'"):
        package.Report  # noqa: B018


def test_a_package_loads_no_record_before_it_is_asked():
    run_without("import schemas, analyze", "pydantic")
