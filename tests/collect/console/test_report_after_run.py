"""`collect run --report`: a page when the run has ended, and a run that is kept without one."""

import json
import os
import signal

import psutil
import pytest

from collect.console.progress import RunReport
from collect.execute.mirror_process import add_page
from tests.support import kept_run

RUN = ("run", "--suite", "s", "--run-profile", "p", "--run-id", "r")

INSTEAD = """
import os, signal, sys, time
if sys.orig_argv[1:5] == ["-P", "-m", "analyze", "report"]:
    {what}
"""
"""As sitecustomize.py: something else happens where the report would be made."""

MADE = "open(os.path.join(sys.orig_argv[-1], 'report.html'), 'w').close(); os._exit(0)"

SLOW = (
    "signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "open({begun!r}, 'w').write(str(os.getpid())); time.sleep(100)"
)


@pytest.fixture
def ready(project, endpoint):
    """A project of one case and an endpoint that answers."""
    project.case()
    project.model(base_url=endpoint.base_url)
    return project


@pytest.fixture
def instead(tmp_path):
    """Return the environment in which a line of Python runs instead of the report."""

    def made(what):
        folder = tmp_path / "instead"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(INSTEAD.format(what=what))
        return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}

    return made


def test_the_path_of_the_report_comes_last(ready):
    done = kept_run.collect(ready.root, *RUN, "--report")

    assert done.returncode == 0, done.stderr
    *_, before, last = done.stdout.splitlines()
    assert (before, last) == ("runs/r/summary.md", "runs/r/report.html")
    page = (ready.root / last).read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "real-m" in page or ">m<" in page


def test_without_the_flag_there_is_none(ready):
    done = kept_run.collect_log(ready.root, *RUN, "--json")

    assert json.loads(done.stdout)["report_path"] is None
    assert not (ready.root / "runs" / "r" / "report.html").exists()


def test_json_names_the_report_in_its_one_object(ready, instead):
    done = kept_run.collect_log(ready.root, *RUN, "--report", "--json", **instead(MADE))

    assert json.loads(done.stdout)["report_path"] == "runs/r/report.html"
    assert (ready.root / "runs" / "r" / "report.html").exists()


def test_a_resumed_run_is_reported_as_well(ready, instead):
    kept_run.collect_log(ready.root, *RUN)
    done = kept_run.collect(ready.root, "run", "--resume", "latest", "--report", **instead(MADE))

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "runs/r/report.html"


def test_a_report_that_fails_changes_nothing_of_the_run(ready, instead):
    environment = instead("os._exit(7)")
    done = kept_run.collect(ready.root, *RUN, "--report", **environment)

    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "runs/r/summary.md"
    assert done.stderr.splitlines()[-1] == (
        "no report: `analyze report` ended with code 7; the run is kept, and this makes one: "
        "analyze report runs/r"
    )


def test_what_makes_the_report_gets_no_keys(ready, instead, tmp_path):
    names = tmp_path / "told"
    what = f"open({str(names)!r}, 'w').write(repr(sorted(os.environ))); os._exit(0)"
    environment = instead(what) | {"OTHER_API_KEY": "sk-1234567890123456"}
    kept_run.collect_log(ready.root, *RUN, "--report", **environment)

    assert "PATH" in names.read_text()
    assert "OTHER_API_KEY" not in names.read_text()


def test_ctrl_c_during_the_report_ends_it_and_keeps_the_run(ready, instead, tmp_path):
    begun = tmp_path / "begun"
    process = kept_run.begin(ready.root, *RUN, "--report", **instead(SLOW.format(begun=str(begun))))
    kept_run.wait_for(lambda: begun.exists() and begun.read_text())

    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "Traceback" not in err
    assert "no report: interrupted; the run is kept, and this makes one: analyze report" in err
    assert out.splitlines()[-1] == "runs/r/summary.md"
    assert not psutil.pid_exists(int(begun.read_text()))
    kept_run.assert_fits_together(ready.root / "runs" / "r")


def test_only_the_collector_interrupted_ends_the_report_too(ready, instead, tmp_path):
    begun = tmp_path / "begun"
    slow = instead(SLOW.format(begun=str(begun)))
    process = kept_run.begin(ready.root, *RUN, "--report", "--json", **slow)
    kept_run.wait_for(lambda: begun.exists() and begun.read_text())

    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    assert json.loads(out)["report_path"] is None
    assert json.loads(out)["exit_code"] == 130
    assert not psutil.pid_exists(int(begun.read_text()))


def test_an_interrupted_run_gets_the_command_instead(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    report = RunReport("r", "runs/r", planned=2, exit_code=130)
    add_page(report)

    assert (report.report_path, report.exit_code) == (None, 130)
    assert capsys.readouterr().err == (
        "no report: the run was interrupted; the run is kept, and this makes one: "
        "analyze report runs/r\n"
    )
