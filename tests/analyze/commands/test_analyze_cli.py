"""The `analyze` command as a user meets it: in a process of its own where that is the point."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import analyze.cli
from schemas.errors import AnalyzeError
from tests.support.interpreter import run_without
from tests.support.paths import ROOT

SCRIPT = "from analyze.cli import main\nmain()\n"
"""What an installed console script does; its own folder comes first on the path."""


@pytest.fixture
def command(tmp_path):
    """Return a runner of the console script; keyword: the folder it is called from."""
    script = tmp_path / "bin" / "analyze"
    script.parent.mkdir()
    script.write_text(SCRIPT)

    def call(*args, cwd=tmp_path, python=(str(script),)):
        return subprocess.run(
            [sys.executable, "-W", "error", *python, *args],
            cwd=cwd,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    return call


@pytest.fixture
def within(tmp_path, monkeypatch, capsys):
    """Return a runner of the same entry in this process, with the same keyword."""

    def call(*args, cwd=tmp_path):
        monkeypatch.chdir(cwd)
        monkeypatch.setattr("sys.argv", ["analyze", *args])
        capsys.readouterr()
        code = None
        try:
            analyze.cli.main()
        except SystemExit as ended:
            code = ended.code
        return subprocess.CompletedProcess(args, code or 0, *capsys.readouterr())

    return call


@pytest.fixture
def finished(run):
    for n in range(3):
        run.result(run.plan(f"c{n}"))
    run.write()
    return run


def test_summarize_prints_the_table_then_the_paths(within, finished):
    done = within("summarize", "run-1")

    assert (done.returncode, done.stderr) == (0, "")
    written = (finished.path / "summary.md").read_text(encoding="utf-8")
    assert done.stdout == written + "runs/run-1/summary.json\nruns/run-1/summary.md\n"


def test_json_is_the_file_and_nothing_else(command, finished):
    done = command("summarize", "latest", "--json", "--runs", str(finished.runs_dir), cwd="/")

    assert done.returncode == 0
    assert done.stdout == (finished.path / "summary.json").read_text(encoding="utf-8")
    assert json.loads(done.stdout)["models"][0]["n_success"] == 3
    assert done.stderr.splitlines() == [
        str(finished.path / "summary.json"),
        str(finished.path / "summary.md"),
    ]


def test_json_holds_nothing_that_a_terminal_obeys(within, run):
    name = "a\x9b31m\u202e\u2028b"
    run.result(run.plan(model=name))
    run.write()

    said = within("summarize", "--json").stdout

    assert all(char.isprintable() or char == "\n" for char in said)
    assert json.loads(said)["models"][0]["model"] == name


def test_folders_of_the_users_own_do_not_shadow_ours(command, finished, tmp_path):
    for name in ("schemas", "collect", "analyze"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong one')\n")

    assert command("summarize", "run-1").returncode == 0
    assert command("summarize", "run-1", python=("-P", "-m", "analyze")).returncode == 0


def test_a_run_can_be_named_by_its_folder(within, finished):
    done = within("summarize", ".", cwd=finished.path)

    assert done.returncode == 0
    assert str(finished.path / "summary.json") in done.stdout
    assert (finished.runs_dir / "lake" / "results").is_dir()


def test_unknown_run_is_a_usage_error_that_names_the_nearest(within, finished):
    done = within("summarize", "run-2")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: no run `run-2` in runs; did you mean `run-1`? allowed: a run id, a path, `latest`, "
        "`previous`, `label:NAME`\n"
    )


def test_skipped_lines_are_a_warning_of_one_line(within, finished):
    finished.lines[1:1] = [b"broken\n"] * 30
    finished.write()

    done = within("summarize", "run-1")

    assert done.returncode == 0
    (warning,) = done.stderr.splitlines()
    assert warning.startswith("warning: ")
    assert "results.jsonl:2" in warning


def test_without_a_name_the_latest_run_is_summed_up(within, finished, new_run):
    later = new_run("run-2", finished.started_at_ms + 1000)
    later.result(later.plan())
    later.write()

    done = within("summarize")

    assert done.returncode == 0
    assert "Run: run-2" in done.stdout
    assert not (finished.path / "summary.json").exists()


def test_several_runs_are_a_list(within, finished, new_run):
    later = new_run("run-2", finished.started_at_ms + 1000)
    later.result(later.plan())
    later.write()

    done = within("summarize", "all", "--json")

    assert done.returncode == 0
    assert [summary["run_id"] for summary in json.loads(done.stdout)] == ["run-1", "run-2"]
    assert json.loads((later.path / "summary.json").read_text())["run_id"] == "run-2"
    assert (
        json.loads(within("summarize", "run-2", "run-1", "run-2", "--json").stdout)[0]["run_id"]
        == "run-2"
    )


def test_a_run_that_is_only_in_the_lake_is_printed_and_nothing_is_written(within, finished):
    within("sync")
    shutil.rmtree(finished.path)

    done = within("summarize", "run-1")

    assert (done.returncode, done.stderr) == (0, "")
    assert "Run: run-1" in done.stdout
    assert "summary.json" not in done.stdout
    assert not finished.path.exists()


def test_sync_says_what_it_did(within, finished):
    first, again = within("sync"), within("sync", "--json")

    assert first.stdout == "3 rows of 1 run brought into the lake\n"
    assert json.loads(again.stdout)["n_rows"] == 0
    assert within("sync").stdout == "nothing new\n"


def test_sync_lists_every_problem(within, finished):
    finished.lines[1:1] = [b"broken\n"] * 3
    finished.write()

    done = within("sync")

    assert done.returncode == 0
    assert [f":{number}" in done.stdout for number in (2, 3, 4)] == [True] * 3


def test_a_pruned_run_stays_out_until_it_is_named(within, finished):
    within("sync")

    pruned = within("sync", "--prune", "run-1")
    rows = "select count(*) as n from raw_results"

    assert pruned.returncode == 0
    assert "rows removed" in pruned.stdout
    assert json.loads(within("sql", "--json", rows).stdout) == [{"n": 0}]
    assert (finished.path / "results.jsonl").exists()
    assert within("sync", "run-1").returncode == 0
    assert json.loads(within("sql", "--json", rows).stdout) == [{"n": 3}]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--prune",), "--prune needs the runs"),
        (("--prune", "run-9"), "did you mean `run-1`?"),
        (("run-9",), "did you mean `run-1`?"),
        (("--runs", "nowhere"), "there is no such folder"),
    ],
)
def test_sync_names_what_is_wrong(within, finished, args, said):
    within("sync")

    done = within("sync", *args)

    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_help_loads_no_engine():
    code = (
        "from analyze.cli import app_for\ntry: app_for([])(['--help'])\nexcept SystemExit: pass\n"
    )
    done = run_without(code, "duckdb", "pyarrow", "pydantic", "numpy", "polars", "altair")

    assert done.stderr == ""
    assert "summarize" in done.stdout


def test_help_is_the_page_of_all_commands_and_reads_the_options_of_none():
    whole, listed = (analyze.cli.app_for(words) for words in ([], ["--help"]))
    pages = {CliRunner().invoke(app, ["--help"]).output for app in (whole, listed)}

    assert len(pages) == 1
    assert "summarize" in pages.pop()
    assert all(command.params for command in get_command(whole).commands.values())
    assert not any(command.params for command in get_command(listed).commands.values())


def test_without_arguments_there_is_help(command):
    done = command()

    assert "Usage" in done.stdout + done.stderr
    assert "summarize" in done.stdout + done.stderr


def test_folder_that_cannot_be_written_still_shows_the_table(finished, monkeypatch, capsys):
    def refuse(*_):
        message = "no writing here"
        raise AnalyzeError(message)

    monkeypatch.setattr("analyze.summary.summarize.write_files", refuse)
    monkeypatch.setattr(
        "sys.argv", ["analyze", "summarize", "run-1", "--runs", str(finished.runs_dir)]
    )

    with pytest.raises(SystemExit) as ended:
        analyze.cli.main()

    out, err = capsys.readouterr()
    assert ended.value.code == 1
    assert out.startswith("# Benchmark summary\n")
    assert err == "error: no writing here\n"
