"""`analyze import` as people call it, and what the other commands make of imported runs."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from analyze.importers.base import STAGING
from analyze.importers.openclaw_bench import import_openclaw_bench
from analyze.query.session import open_session
from schemas.run.import_record import load_import_record
from tests.analyze.importers.test_imports_sf_bench import INSTANCES, given, instance, report
from tests.analyze.importers.test_imports_swebench import REPORT, predictions
from tests.schemas.lake.test_imported import RECORD
from tests.support.analyze_cli import call, forked
from tests.support.disk import mounted_disk
from tests.support.paths import ROOT


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working directory of every call."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def older(runs, name="20260213_101112", n=2, **fields):
    """A run folder of the older tool, with a file of its own beside the log."""
    folder = runs / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "results.jsonl").open("a") as log:
        log.writelines(json.dumps(RECORD | fields) + "\n" for _ in range(n))
    (folder / "config.json").write_text('{"timeout_s": 30}')
    (folder / "resources_a_before.txt").write_text("mem")
    return folder


def many(n_passed, run_id):
    instances = (
        instance(f"t-{n}", "resolved" if n < n_passed else "fail", start_time=None)
        for n in range(60)
    )
    return report(*instances, run_id=run_id)


def n_trials(here):
    with open_session(here / "runs") as session:
        return session.rows("select count(*) from trials")[0][0]


def contents(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_an_import_says_what_it_made_and_what_to_type_next(here):
    given(here, report())

    done = forked("import", "sf-bench", "report.json", cwd=here)

    assert (done.code, done.err) == (0, "")
    first, *warnings, last = done.out.splitlines()
    assert first == "runs/anthropic-claude-20260127_100000: 4 results, 1 without a result"
    assert warnings == [
        "  warning: /instances/0/resolved: by its score and components the instance is not "
        "resolved; the report says it is"
    ]
    assert last == "  analyze show anthropic-claude-20260127_100000"
    shown = forked(*last.split()[1:], cwd=here)
    assert shown.code == 0
    assert "suite     sf_bench_verified: verified" in shown.out
    assert "flow-2" in shown.out


def test_the_same_import_again_says_that_it_is_there(here):
    given(here, report())
    call("import", "sf-bench", "report.json")

    done = call("import", "sf-bench", "report.json")

    assert done.code == 0
    assert "it was there already, and nothing was written" in done.out


def test_json_has_everything(here):
    given(here, report(*INSTANCES, start_time="?", created_at="?"))

    (document,) = json.loads(call("import", "sf-bench", ".", "--json", "--runs", "elsewhere").out)

    assert (document["run_id"], document["run_dir"]) == (
        "anthropic-claude-20260127_100000", "elsewhere/anthropic-claude-20260127_100000",
    )  # fmt: skip
    assert (document["n_trials"], document["n_unfinished"], document["is_new"]) == (4, 1, True)
    assert "no_time" in {finding["code"] for finding in document["findings"]}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("sf-bench", "report.json", "--predictions", "p"),
            "`--predictions`: sf-bench has no such",
        ),
        (("openclaw-bench", ".", "--suite", "s", "--model", "m"), "`--model`: openclaw-bench has"),
        (("pae", ".", "--logs", "x"), "allowed: swebench"),
        (("sf-bench", "report.json", "--suite", "Not An Id"), "`--suite`: not an id"),
        (("sf-bench", "report.json", "--run-id", "../x"), "not a run id"),
        (("sf-bench", "nowhere.json"), "nowhere.json: is not there"),
        (("openclaw-bench", "nowhere"), "there is no such folder"),
        (("openclaw-bench", "report.json"), "has no rows; counts and rates alone are no results"),
        (("openclaw-bench", "notes.md"), "is a file, and a folder is needed"),
        (
            ("sf-bench", "report.json", "--runs", "report.json"),
            "`--runs`: is there and is no folder",
        ),
        (("openclaw-bench", "."), "neither has it a results.jsonl of the older tool"),
    ],
)
def test_mistakes_of_the_command_line_are_named_and_nothing_is_made(here, words, said):
    given(here, report())
    given(here, "text", "notes.md")

    done = call("import", *words)

    assert done.code == 2
    assert said in done.err
    assert not (here / "runs").exists()


def test_a_file_that_is_none_is_refused_with_every_problem_on_a_line(here):
    given(here, report(instance("a", status="x\x1b[31m"), instance("b", "resolved", resolved=3)))

    done = forked("import", "sf-bench", "report.json", cwd=here)

    assert (done.code, done.out) == (2, "")
    assert not (here / "runs").exists()
    lines = done.err.splitlines()
    assert len(lines) >= 2
    assert all(line.startswith("error: report.json: /instances/") for line in lines)
    assert "\x1b" not in done.err


def test_a_folder_that_cannot_be_read_or_written_is_one_line(here):
    given(here, report())
    (here / "runs").write_text("a file")

    done = forked("import", "sf-bench", "report.json", cwd=here)

    assert done.code in {1, 2}
    assert done.err.startswith("error: ")
    assert len(done.err.splitlines()) == 1


def test_a_full_disk_is_told_in_a_line_and_nothing_stays(here):
    given(here, report(*(instance(f"t-{n}", solution_patch="x" * 5_000) for n in range(1_000))))
    with mounted_disk(here / "disk") as disk:
        done = forked("import", "sf-bench", "report.json", "--runs", disk.folder, cwd=here)

        assert done.code == 1
        assert "No space left on device" in done.err
        assert len(done.err.splitlines()) == 1
        assert list(disk.folder.iterdir()) == []


def test_suite_and_run_id_are_what_they_are_said_to_be(here):
    given(here, REPORT, "m.r.json")

    done = call("import", "swebench", "m.r.json", "--suite", "verified", "--run-id", "first")

    assert done.code == 0
    record = load_import_record(here / "runs" / "first")
    assert (record.suite_id, record.run_id) == ("verified", "first")


def test_a_report_of_the_harness_goes_in_and_comes_out_again(here):
    path = here / "acme__m.r.json"
    path.write_text(json.dumps(REPORT, indent=4) + "\n")
    handed_in = predictions(here, *REPORT["submitted_ids"], model="acme/m")

    assert call("import", "swebench", path, "--predictions", handed_in).code == 0
    done = call("export", "swebench", "acme__m.r", "-o", "out.json")

    assert done.code == 0
    assert (here / "out.json").read_text() == path.read_text()


def test_two_imports_are_compared_once_unknown_contents_are_allowed(here):
    for name, n_passed in (("base", 50), ("worse", 20)):
        given(here, many(n_passed, name))
        call("import", "sf-bench", "report.json")

    refused = call("compare", "base", "worse")
    assert refused.code == 3
    assert "--allow case" in refused.out
    assert call("compare", "base", "worse", "--allow", "case").code == 1
    assert call("compare", "base", "base", "--allow", "case").code in {0, 2}
    judged = json.loads(call("compare", "base", "worse", "--allow", "case", "--json").out)
    assert judged["groups"][0]["verdict"] == "regressed"


def test_a_gate_judges_an_import_against_an_earlier_one(here):
    for name, n_passed in (("base", 50), ("worse", 20), ("same", 50)):
        given(here, many(n_passed, name))
        call("import", "sf-bench", "report.json")

    assert call("gate", "worse", "--baseline", "base").code == 3
    assert call("gate", "worse", "--baseline", "base", "--allow", "case").code == 1
    assert call("gate", "same", "--baseline", "base", "--allow", "case").code == 0


def test_no_gate_says_that_an_import_can_be_resumed(here):
    for name, status in (("base", "resolved"), ("torn", "error")):
        instances = (instance(f"t-{n}", "resolved" if n % 2 else status) for n in range(20))
        given(here, report(*instances, run_id=name))
        call("import", "sf-bench", "report.json")

    for form in ("table", "md"):
        words = ("torn", "--baseline", "base", "--allow", "case", "--format", form)
        judged = call("gate", *words)
        assert judged.code == 3
        assert "50.0 % of the trials have a verdict" in judged.out
        assert "--resume" not in judged.out


def test_an_import_is_listed_labelled_and_summarized(here):
    given(here, report())
    call("import", "sf-bench", "report.json", "--run-id", "imp")

    assert call("label", "imp", "baseline").code == 0
    assert "imported" in call("runs").out
    assert call("show", "label:baseline").code == 0
    assert call("show", "imp", "apex-2").code == 0
    before = contents(here / "runs" / "imp")
    assert call("summarize", "imp").code == 0
    kept = contents(here / "runs" / "imp")
    assert {path: kept[path] for path in before} == before


def test_a_run_of_the_older_tool_is_taken_over_unchanged(here):
    source = older(here / "theirs")

    done = call("import", "openclaw-bench", "theirs/20260213_101112")

    assert done.code == 0
    assert done.out.startswith("runs/20260213_101112: 2 results\n")
    target = here / "runs" / "20260213_101112"
    assert contents(target) == contents(source)
    assert target.stat().st_mode == source.stat().st_mode
    assert n_trials(here) == 2


def test_no_run_is_called_like_the_lake(here):
    done = call("import", "openclaw-bench", older(here / "theirs", "lake"))

    assert done.code == 2
    assert not (here / "runs" / "lake").exists()


def test_a_run_whose_length_nobody_told_shows_none(here):
    given(here, report(instance("apex-1", "resolved", duration_seconds=None)))
    call("import", "sf-bench", "report.json", "--run-id", "r")

    assert "0ms" not in call("runs").out + call("show", "r").out


def test_an_answer_that_nobody_kept_is_not_called_empty(here):
    given(here, report(instance("apex-1", "resolved", solution_patch=None)))
    call("import", "sf-bench", "report.json", "--run-id", "r")
    with open_session(here / "runs") as session:
        ((case, model),) = session.rows("select case_id, model_id from trials where passed limit 1")

    page = call("show", "r", case, model).out

    assert "No text of an answer is kept." in page
    assert "was empty" not in page


def test_events_are_no_results_and_a_torn_line_is_told(here):
    folder = older(here / "theirs", n=3)
    event = {"record_type": "event", "event": "ollama_stop", "tag": "a_pre", "ok": True}
    with (folder / "results.jsonl").open("a") as log:
        log.write(json.dumps(event) + "\n" + json.dumps(RECORD)[:40])

    done = call("import", "openclaw-bench", folder)

    assert done.out.startswith(f"runs/{folder.name}: 3 results\n")
    assert "warning: results.jsonl ends in a torn line of 40 bytes" in done.out
    assert n_trials(here) == 3
    again = json.loads(call("import", "openclaw-bench", folder, "--json").out)
    assert [one["n_trials"] for one in again] == [3]


def test_every_run_in_a_folder_of_runs_is_taken_over(here):
    for name in ("a", "b", "c"):
        older(here / "theirs", name)
    (here / "theirs" / "notes").mkdir()
    (here / "theirs" / "README").write_text("x")

    assert len(json.loads(call("import", "openclaw-bench", "theirs", "--json").out)) == 3
    done = call("import", "openclaw-bench", "theirs", "--run-id", "x")

    assert done.code == 2
    assert "--run-id names one run, and there are 3" in done.err
    again = json.loads(call("import", "openclaw-bench", "theirs", "--json").out)
    assert [one["is_new"] for one in again] == [False] * 3


def test_a_run_that_went_on_is_brought_up_to_date(here):
    source = older(here / "theirs", "a")
    call("import", "openclaw-bench", source)
    assert call("runs").code == 0
    older(here / "theirs", "a", n=3)
    (source / "summary.json").write_text("{}")

    (document,) = json.loads(call("import", "openclaw-bench", source, "--json").out)

    assert (document["n_trials"], document["is_new"]) == (5, True)
    assert contents(here / "runs" / "a") == contents(source)
    assert n_trials(here) == 5


def test_another_run_by_the_same_name_is_refused_until_it_gets_its_own(here):
    call("import", "openclaw-bench", older(here / "theirs", "a"))
    other = older(here / "others", "a", prompt_id="P7")
    before = contents(here / "runs" / "a")

    done = call("import", "openclaw-bench", other)

    assert done.code == 2
    assert "--run-id NAME gives it another name" in done.err
    assert contents(here / "runs" / "a") == before
    assert call("import", "openclaw-bench", other, "--run-id", "b").code == 0


def test_rows_whose_folder_is_gone_are_kept_from_another_run_of_the_older_tool(here):
    source = older(here / "theirs", "a")
    call("import", "openclaw-bench", source)
    call("runs")
    shutil.rmtree(here / "runs" / "a")
    call("runs")

    refused = call("import", "openclaw-bench", older(here / "others", "a", prompt_id="P7"))
    assert refused.code == 2
    assert "whose folder is gone" in refused.err
    older(here / "theirs", "a", n=1)
    assert call("import", "openclaw-bench", source).code == 0
    assert n_trials(here) == 3


def test_runs_that_are_there_already_are_left_alone(here):
    folder = older(here / "runs", "a")
    before = contents(folder)

    (document,) = json.loads(call("import", "openclaw-bench", "runs", "--json").out)

    assert not document["is_new"]
    assert contents(folder) == before


def test_a_run_of_ours_is_not_taken_for_one_of_the_older_tool(here):
    given(here, report())
    call("import", "sf-bench", "report.json", "--run-id", "imp")

    done = call("import", "openclaw-bench", "runs/imp", "--runs", "other")

    assert done.code == 2
    assert "not one of the older tool" in done.err


def test_links_and_pipes_beside_a_log_keep_nothing_from_it(here):
    source = older(here / "theirs", "a")
    os.mkfifo(source / "pipe")
    (source / "loop").symlink_to(source)
    (source / "gone").symlink_to(here / "nothing")

    (written,) = import_openclaw_bench(source, here / "runs")

    names = {path.name for path in written.run_dir.iterdir()}
    assert names == {"results.jsonl", "config.json", "resources_a_before.txt"}


def test_what_a_killed_import_left_is_seen_by_nobody_and_cleared_away(here):
    code = (
        "import sys, time; from pathlib import Path\n"
        "from analyze.importers.base import one_import\n"
        "with one_import(Path('runs')) as staging:\n"
        "    (staging / 'results.jsonl').write_text('{')\n"
        "    print(flush=True); time.sleep(60)\n"
    )
    (here / "runs").mkdir()
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=here, stdout=subprocess.PIPE, env=env
    ) as killed:
        killed.stdout.readline()
        killed.send_signal(signal.SIGKILL)
    assert len(list((here / "runs").glob(f"{STAGING}*"))) == 1
    assert "no runs" in call("runs").out + call("runs").err

    given(here, report())
    assert call("import", "sf-bench", "report.json").code == 0

    assert not list((here / "runs").glob(f"{STAGING}*"))


def test_two_imports_at_once_wait_for_each_other(here):
    given(here, report())
    (here / "runs").mkdir()
    handle = os.open(here / "runs", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    command = [sys.executable, "-m", "analyze", "import", "sf-bench", "report.json"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    both = [
        subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, text=True, env=env)
        for _ in range(2)
    ]
    time.sleep(0.3)
    assert not list((here / "runs").iterdir())
    os.close(handle)

    outputs = [process.communicate(timeout=60)[0] for process in both]

    assert [process.returncode for process in both] == [0, 0]
    assert sorted("was there already" in text for text in outputs) == [False, True]


def test_a_deleted_import_is_made_again(here):
    given(here, report())
    call("import", "sf-bench", "report.json", "--run-id", "imp")
    call("runs")
    shutil.rmtree(here / "runs" / "imp")
    call("runs")

    assert call("import", "sf-bench", "report.json", "--run-id", "imp").code == 0

    assert call("show", "imp").code == 0
