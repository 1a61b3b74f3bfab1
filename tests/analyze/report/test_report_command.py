"""`analyze report` as people and pipelines use it: where it goes, in which form, over what."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from analyze.api import open_history
from analyze.commands.report import KB
from analyze.report.build import MAX_TRANSCRIPT_BYTES
from analyze.report.file import MARKER, MAX_MARKER_OFFSET
from analyze.report.html.page import render_html
from analyze.report.markdown import MAX_PAGE_BYTES, report_markdown
from schemas.output.report import RunReport
from schemas.output.report_trials import Flip
from tests.support.analyze_cli import call, process
from tests.support.histories import HOSTILE, imported, lake_only
from tests.support.interpreter import run_without
from tests.support.nights import Nights
from tests.support.paths import ROOT, SAMPLES
from tests.support.two_nights import night

pytestmark = pytest.mark.usefixtures("no_library", "warm_engines")

SHORT = [3, 2, 3, 0, 3]
STEADY = [3, 3, 2, 3, 0, 3, 1, 3, 3, 3] * 4
DROPPED = [1, 3, 0, 2, 0, 1, 1, 1, 3, 0] * 4


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Return the samples, in a folder of runs that tests only add pages to."""
    runs = tmp_path_factory.mktemp("reported") / "runs"
    shutil.copytree(SAMPLES, runs, ignore=shutil.ignore_patterns("lake"))
    return runs


@pytest.fixture(scope="module")
def small(shared_run):
    """Return a folder of one short run, for tests of where a report goes."""
    return night(shared_run, 0, SHORT).runs_dir


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Return a folder of four short nights, the last of a part of the suite; only pages come."""
    made = Nights(tmp_path_factory.mktemp("nights") / "runs", n_cases=6, repetitions=2)
    made.add(3, rates={"careful": 0.9, "playful": 0.6})
    made.add(1, rates={"careful": 0.9, "playful": 0.6}, only=4)
    return made.runs_dir


@pytest.fixture(scope="module")
def third(samples):
    """Return the report of the third night of the samples, as Python gets it."""
    with open_history(samples.parent) as history:
        return history.report("night_03_prompt")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Stand in an empty folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def dropped(new_run):
    """Two nights with a real drop in between; returns the second."""
    night(new_run, 0, STEADY)
    return night(new_run, 1, DROPPED)


def parts(*args):
    """Return the typed parts that a command prints."""
    done = call("report", *args, "--format", "json")
    assert done.code == 0, done.err
    return RunReport.model_validate_json(done.out)


def test_without_options_the_page_of_the_newest_run_lies_beside_it(nights):
    done = call("report", nights)

    assert (done.code, done.err) == (0, "")
    path = nights / "night-004" / "report.html"
    assert done.out == f"{path}\n"
    assert MARKER in path.read_bytes()[:MAX_MARKER_OFFSET]
    again = path.read_bytes()
    assert call("report", nights).out == done.out
    assert path.read_bytes() == again


def test_a_run_that_is_named_gets_its_page_in_its_own_folder(nights):
    """And the history of a part of the suite says that it is one."""
    marks = []
    for run in ("night-003", "night-004"):
        done = call("report", nights, "--run", run)
        page = Path(done.out.strip()).read_text(encoding="utf-8")

        assert done.out == f"{nights / run / 'report.html'}\n"
        assert run in page
        marks.append("This run asked a part of the suite" in page)
    assert marks == [False, True]


@pytest.mark.parametrize("inside", [False, True])
def test_a_run_is_named_by_its_own_folder(nights, monkeypatch, inside):
    folder = nights / "night-001"
    (folder / "report.html").unlink(missing_ok=True)
    monkeypatch.chdir(folder if inside else nights)
    done = call("report", "." if inside else "night-001")

    assert done.code == 0, done.err
    assert done.out == ("report.html\n" if inside else "night-001/report.html\n")
    assert b"night-001" in (folder / "report.html").read_bytes()


def test_a_run_cannot_be_named_twice(samples):
    done = call("report", samples / "night_02", "--run", "night_03_prompt")

    assert done.code == 2
    assert "one of them is enough" in done.err


def test_a_run_that_stands_where_the_folder_does_is_told_how_it_is_named(samples, monkeypatch):
    monkeypatch.chdir(samples.parent)
    reply = call("report", "night_02", "--format", "md")

    assert reply.code == 2
    assert "there is no folder night_02" in reply.err
    assert "analyze report --run night_02" in reply.err
    assert "--runs" not in reply.err


def test_an_answer_that_came_slower_is_told_beside_the_passed_rate(new_run):
    times = {"careful": 9000, "playful": 560}
    night(new_run, 1, [3, 3, 2, 3, 0, 3], models=times)
    night(
        new_run, 2, [3, 3, 2, 3, 0, 3], models=times,
        result=lambda case, _, model: {"e2e_ms": times[model] + case},
    )  # fmt: skip
    with open_history(new_run("night_01").runs_dir) as history:
        report = history.report("night_02")
    out = report_markdown(report)
    page = render_html(report, {}, lambda: "")
    careful, playful = (line for line in out.splitlines() if line.startswith(("| ca", "| pl")))

    assert "inconclusive: 0.0 points" in careful
    assert "; slower: answer time x 22" in careful
    assert "slower" not in playful, "one night is half as slow again by chance"
    assert "slower: answer time x 22" in page
    assert "may be chance" not in careful


def test_commands_in_markdown_can_be_copied_and_hold_no_markup(third):
    typed = 'analyze sql "select count(*), `a``b` from x | y"'
    report = huge(third, "m")
    flip = Flip.model_construct(
        flip="broke", case_id="c", candidate_model_id="m", base_passed=3, base_scored=3,
        candidate_passed=0, candidate_scored=3, commands=(typed,),
    )  # fmt: skip
    doubt = report.doubts[0].model_copy(update={"command": typed})
    out = report_markdown(report.model_copy(update={"doubts": (doubt,), "flips": (flip,)}))

    assert f"(```{typed}```)" in out
    (row,) = [line for line in out.splitlines() if line.startswith("| broke |")]
    assert row.endswith(" | ```" + typed.replace("|", r"\|") + "``` |")


def test_a_run_that_is_not_there_is_a_mistake_of_the_command(samples, here):
    done = call("report", samples, "--run", "night_02x")
    assert done.code == 2
    assert "night_02" in done.err
    assert call("report", "nowhere").code == 2


def test_markdown_answers_first_and_ends_with_what_goes_deeper(dropped, here):
    """Exit code 0 also says that a model regressed."""
    done = call("report", dropped.runs_dir, "--format", "md")
    out = done.out
    assert done.code == 0
    assert "main regressed by 40.0 points" in out
    title, _, answer, *_ = out.splitlines()

    assert title == "# Report of night_01"
    assert answer.startswith(
        "**main regressed by 40.0 points since night_00; main passed 40.0 % of 120 trials"
    )
    assert "Baseline: night_00." in out
    (row,) = [line for line in out.splitlines() if line.startswith("| main |")]
    assert row.startswith("| main | 40.0 | ")
    assert "regressed by 40.0 points (95 % -50.1 to -27.4)" in row
    assert "## Flipped cases" in out
    assert "| broke | " in out
    assert out.index("## Flipped cases") < out.index("## Go deeper")
    assert "- `analyze report " in out


def test_markdown_stays_below_what_a_comment_holds_and_is_text_only(third):
    report = huge(
        third, "<img src=x onerror=alert(1)>" + HOSTILE + "|`[a](javascript:1)" + "é" * 3000
    )
    out = report_markdown(report)

    assert len(out.encode()) <= MAX_PAGE_BYTES
    assert len(out) < 65_536
    assert "<img" not in out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "does not fit here" in out
    assert out.rstrip().endswith("`analyze report`")


def huge(report, text):
    """Return a report with a text in every place, many times."""
    answer = report.answer[0].model_copy(update={"model_id": text, "model": text})
    doubt = report.doubts[0].model_copy(update={"sentence": text, "command": text})
    return report.model_copy(
        update={
            "run": report.run.model_copy(update={"run_id": text, "labels": (text,) * 50}),
            "baseline": (report.run.model_copy(update={"run_id": text}),),
            "answer": (answer,) * 100,
            "doubts": (doubt,) * 100,
            "provenance": report.provenance.model_copy(update={"commands": ("analyze report",)}),
        }
    )


def test_json_is_the_typed_parts_that_python_gets(samples, third):
    printed = parts(samples, "--run", "night_03_prompt")

    assert third == printed
    assert printed.run.run_id == "night_03_prompt"
    assert {answer.model_id for answer in printed.answer} == {"careful", "playful"}
    assert printed.transcripts.budget_bytes == MAX_TRANSCRIPT_BYTES == 2_150 * KB
    assert len(printed.history) > 2
    assert printed.glossary


def test_the_baseline_is_the_run_before_unless_another_is_named(samples, third, nights):
    runs = [one["run_id"] for one in json.loads(call("runs", "--runs", samples, "--json").out)]
    before = runs[runs.index("night_03_prompt") + 1]

    named = parts(nights, "--run", "night-003", "--baseline", "night-001")
    with open_history(nights, sync=False) as history:
        several = history.report("night-003", baseline="night-001,night-002")
        alone = history.report("night-003", baseline="none")

    assert [one.run_id for one in third.baseline] == [before]
    assert [one.run_id for one in named.baseline] == ["night-001"]
    assert named.comparison.base.run_ids == ("night-001",)
    assert [one.run_id for one in several.baseline] == ["night-001", "night-002"]
    assert (alone.baseline, alone.comparison, alone.flips) == ((), None, ())
    assert alone.answer[0].change is None


def test_bounds_of_tiers_are_those_in_force_when_the_run_was_made(new_run):
    run = night(new_run, 0, SHORT)
    run.config = {"thresholds": {"tier_1_from": 0.93}}
    run.write()

    assert parts(run.runs_dir).thresholds.tier_1_from == 0.93


def test_a_baseline_that_is_none_is_a_mistake_of_the_command(samples):
    for text in ("nosuch", "label:nosuch", "night_03_prompt", "last:0"):
        done = call("report", samples, "--run", "night_03_prompt", "--baseline", text)
        assert done.code == 2, text


def test_the_first_run_of_a_suite_stands_alone(new_run):
    runs_dir = night(new_run, 0, SHORT).runs_dir
    report = parts(runs_dir)

    assert report.baseline == ()
    assert report.comparison is None
    assert report.shifts is None
    assert report.history == ()
    out = report_markdown(report)
    assert "against" not in out
    assert "## Level shifts" not in out


def test_a_shard_of_the_same_plan_is_no_baseline(new_run):
    night(new_run, 0, SHORT)
    first, second = night(new_run, 1, SHORT), night(new_run, 2, SHORT)
    for run in (first, second):
        run.config = {"run_group": "one-plan"}
        run.write()
    report = parts(first.runs_dir, "--run", "night_02")

    assert [one.run_id for one in report.baseline] == ["night_00"]
    assert report.comparison.candidate.run_ids == ("night_01", "night_02")


@pytest.mark.parametrize(
    ("name", "beginning"), [("r.html", "<!doctype html>"), ("r.MD", "# Report"), ("r.json", "{\n")]
)
def test_the_name_of_a_file_chooses_the_form(small, here, built_once, name, beginning):
    done = call("report", small, "-o", name)

    assert (done.code, done.out) == (0, f"{name}\n")
    assert Path(name).read_text(encoding="utf-8").startswith(beginning)
    assert [path.name for path in here.iterdir()] == [name]


def test_the_format_goes_before_the_name(small, here, built_once):
    assert call("report", small, "-o", "notes.txt", "--format", "md").code == 0
    assert Path("notes.txt").read_text(encoding="utf-8").startswith("# Report")
    assert call("report", small, "-o", "page.html", "--format", "json").code == 0
    RunReport.model_validate_json(Path("page.html").read_bytes())


def test_a_name_that_says_nothing_is_refused(small, here):
    done = call("report", small, "-o", "report.pdf")

    assert done.code == 2
    assert ".html, .md or .json" in done.err
    assert list(here.iterdir()) == []


def test_only_a_page_of_ours_is_replaced(small, here, built_once):
    Path("ours.html").write_bytes(b"<!doctype html>\n<head>" + MARKER + b' 0">')
    Path("theirs.html").write_text("<!doctype html>")
    Path("notes.md").write_text("mine")

    assert call("report", small, "-o", "ours.html").code == 0
    for name in ("theirs.html", "notes.md"):
        before = Path(name).read_text()
        done = call("report", small, "-o", name)
        assert done.code == 2
        assert "--force replaces it" in done.err
        assert Path(name).read_text() == before
        assert call("report", small, "-o", name, "--force").code == 0
        assert Path(name).read_text(encoding="utf-8") != before


def test_links_and_folders_are_nobodys_to_replace(small, here):
    Path("kept.html").write_bytes(MARKER)
    Path("link.html").symlink_to("kept.html")
    Path("folder.html").mkdir()

    for name in ("link.html", "folder.html"):
        assert call("report", small, "-o", name, "--force").code == 2
    assert Path("kept.html").read_bytes() == MARKER


def test_a_run_without_a_folder_of_ours_needs_a_name_for_its_page(new_run, here):
    run = night(new_run, 0, SHORT)
    older = imported(run.runs_dir, "older")
    lake_only(run)

    for run_id in ("night_00", "older"):
        done = call("report", run.runs_dir, "--run", run_id)
        assert done.code == 2
        assert "such as -o report.html" in done.err
        assert call("report", run.runs_dir, "--run", run_id, "-o", f"{run_id}.html").code == 0
        assert MARKER in Path(f"{run_id}.html").read_bytes()
    assert [path.name for path in older.iterdir()] == ["results.jsonl"]


def test_what_cannot_be_written_is_said_and_leaves_nothing_behind(new_run):
    run = night(new_run, 0, SHORT)
    (run.path / "report.html" / "inside").mkdir(parents=True)
    done = call("report", run.runs_dir)

    assert done.code == 1
    assert "cannot be written" in done.err
    assert "-o names another place" in done.err
    assert list(run.path.glob(".tmp-*")) == []


def test_no_room_for_transcripts_leaves_them_out(small):
    report = parts(small, "--transcripts", "0")

    assert report.transcripts.shown == ()
    assert report.transcripts.budget_bytes == 0
    assert call("report", small, "--transcripts", "-1").code == 2


def test_a_lake_is_reported_as_it_is_when_asked(nights, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(nights / "night-001", tmp_path / "runs" / "night-001")

    assert call("report", "--no-sync").code == 2
    assert call("report").code == 0
    assert call("report", "--no-sync").code == 0


def test_the_page_holds_a_model_that_is_hostile_as_text(new_run, here):
    run = new_run("strange")
    run.result(run.plan(model=f"{HOSTILE}<script>alert(1)</script>", model_id="m"))
    run.write()
    assert call("report", run.runs_dir, "-o", "page.html").code == 0
    page = Path("page.html").read_text(encoding="utf-8")

    assert "<script>alert(1)" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_markdown_needs_nothing_that_draws(small, tmp_path):
    code = (
        "import sys\nfrom analyze.cli import main\n"
        f"sys.argv[1:] = ['report', {str(small)!r}, '--format', 'md']\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
    )
    run_without(code, "altair", "polars", "jinja2", "vl_convert", cwd=tmp_path)


def test_a_report_warns_of_nothing_by_the_way(samples, tmp_path):
    done = process("report", samples, "-o", "page.html", cwd=tmp_path)

    assert (done.code, done.out, done.err) == (0, "page.html\n", "")
    assert "vegaEmbed" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_ctrl_c_leaves_no_half_of_a_page_and_no_process(small, tmp_path):
    """The charts' library takes forever to come."""
    begun, modules = tmp_path / "begun", tmp_path / "modules"
    modules.mkdir()
    (modules / "vl_convert.py").write_text(
        "import os, time\nfrom pathlib import Path\n"
        "def javascript_bundle():\n"
        f"    Path({str(begun)!r}).write_text(str(os.getpid()))\n"
        "    time.sleep(100)\n"
    )
    working = tmp_path / "working"
    working.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "analyze", "report", str(small), "-o", "page.html"],
        cwd=working,
        env=os.environ
        | {"PYTHONPATH": f"{modules}{os.pathsep}{ROOT}", "BENCHLAKE_CACHE": str(tmp_path / "none")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as command:  # fmt: skip
        try:
            deadline = time.monotonic() + 60
            while not begun.exists():
                assert time.monotonic() < deadline
                time.sleep(0.02)
            command.send_signal(signal.SIGINT)
            out, err = command.communicate(timeout=60)
        finally:
            command.kill()

    assert (command.returncode, out) == (130, "")
    assert "Traceback" not in err, err
    assert list(working.iterdir()) == []
    assert not psutil.pid_exists(int(begun.read_text())), "the library is still being fetched"
