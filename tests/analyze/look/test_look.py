"""Another tool's results are recognised and answered where they lie, and nothing stays of it."""

import json
import os
import shutil
import stat

import pytest

from analyze.importers import IMPORTERS, ImportRequest
from analyze.importers.detect import detect
from tests.support.analyze_cli import call
from tests.support.inspect_logs import header, members, sample, write_eval
from tests.support.paths import ROOT, SAMPLES

REPORT = {
    "total_instances": 4, "submitted_instances": 3, "completed_instances": 2,
    "resolved_instances": 1, "unresolved_instances": 1, "empty_patch_instances": 1,
    "error_instances": 0, "completed_ids": ["a", "b"], "incomplete_ids": ["d"],
    "empty_patch_ids": ["c"], "submitted_ids": ["a", "b", "c"], "resolved_ids": ["a"],
    "unresolved_ids": ["b"], "error_ids": [], "schema_version": 2,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a report of the SWE-bench harness, two folders down, beside other files."""
    monkeypatch.chdir(tmp_path)
    below = tmp_path / "logs" / "deep"
    below.mkdir(parents=True)
    (below / "model.run1.json").write_text(json.dumps(REPORT))
    (below / "notes.json").write_text("[1, 2]")
    (below / "half.json").write_text('{"resolved_ids": [')
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "broken.eval").write_bytes(b"PK\x03\x04")
    (tmp_path / "logs" / "picture.png").write_bytes(b"\x89PNG" + bytes(1000))
    return tmp_path / "logs"


def looks_left(tmp_path):
    return [path.name for path in tmp_path.glob("benchlake-look-*")]


def everything_in(folder):
    return sorted((str(path), path.stat().st_mtime_ns) for path in folder.rglob("*"))


def test_what_is_there_is_found_whatever_lies_around_it(folder):
    (found,) = detect(folder)

    assert (found.path.name, found.format) == ("model.run1.json", "swebench")
    assert detect(found.path) == [found]
    assert detect(folder / "picture.png") == []


def test_beside_logs_of_one_tool_those_of_others_are_found(folder):
    for name in ("a.eval", "b/c.eval", "deep/d.eval"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        write_eval(path, members(sample("s"), head=header(eval={"eval_id": name})))
    (folder / "b" / "model.run2.json").write_text(json.dumps(REPORT))

    found = detect(folder)
    done = call("import", folder)

    assert [(one.format, one.path.name) for one in found] == [
        ("inspect", "logs"), ("swebench", "model.run2.json"), ("swebench", "model.run1.json"),
    ]  # fmt: skip
    assert done.code == 0, done.err
    assert len(list((folder.parent / "runs").iterdir())) == 5


def test_what_an_import_keeps_is_no_find_of_its_own(folder):
    IMPORTERS["swebench"].run(ImportRequest(folder / "deep" / "model.run1.json", folder / "runs"))

    assert [one.path.name for one in detect(folder)] == ["model.run1.json"]


def test_links_pipes_and_what_nobody_may_read_are_passed_over(folder, tmp_path):
    (folder / "round").symlink_to(folder)
    (folder / "gone.json").symlink_to(tmp_path / "nowhere")
    os.mkfifo(folder / "pipe.json")
    shut = folder / "shut"
    shut.mkdir()
    shut.chmod(stat.S_IWUSR)

    assert len(detect(folder)) == 1
    shut.chmod(stat.S_IRWXU)


def test_each_format_knows_its_own_and_no_other(tmp_path):
    assert [one.format for one in detect(SAMPLES)] == ["openclaw-bench"]
    assert detect(ROOT / "docs") == []


@pytest.mark.parametrize("form", ["md", "json"])
def test_the_answer_is_that_of_the_import_and_nothing_stays(folder, tmp_path, monkeypatch, form):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = everything_in(folder)

    done = call("look", folder, "--format", form)

    assert done.code == 0, done.err
    assert everything_in(folder) == before
    assert looks_left(tmp_path) == []
    assert str(tmp_path / "benchlake-look-") not in done.out
    assert "model.run1: 3 results of swebench" in done.err
    assert "keep it: analyze import" in done.err
    if form == "json":
        report = json.loads(done.out)
        assert report["summary"]["models"][0]["n_scorable"] == 4
        assert "analyze show model.run1" in report["provenance"]["commands"]
    else:
        assert "strict 25.0 %" in done.out


def test_a_page_goes_where_it_is_told_or_to_a_folder_of_its_own(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    page = tmp_path / "answer.html"

    assert call("look", folder, "-o", page).code == 0
    assert "benchlake" in page.read_text()
    done = call("look", folder)

    made = tmp_path / looks_left(tmp_path)[0] / "report.html"
    assert done.out.strip().endswith("report.html")
    assert made.is_file()
    shutil.rmtree(made.parent)


def test_of_several_one_that_cannot_be_read_does_not_hide_the_others(folder):
    wrong = REPORT | {"resolved_ids": ["nobody"], "schema_version": 7}
    (folder / "wrong.run1.json").write_text(json.dumps(wrong))

    done = call("look", folder, "--format", "md")
    kept = call("import", folder)

    assert done.code == 0
    assert "wrong.run1.json was left out: " in done.err
    assert (kept.code, "wrong.run1.json was left out: " in kept.err) == (1, True)
    assert [path.name for path in (folder.parent / "runs").iterdir()] == ["model.run1"]


@pytest.fixture
def many(folder):
    """A folder with three reports."""
    for n, resolved in enumerate((["a", "b"], []), 2):
        unresolved = sorted({"a", "b"} - set(resolved))
        other = REPORT | {
            "resolved_ids": resolved, "resolved_instances": len(resolved),
            "unresolved_ids": unresolved, "unresolved_instances": len(unresolved),
        }  # fmt: skip
        (folder / f"model.run{n}.json").write_text(json.dumps(other))
    return folder


def test_several_runs_are_a_site_whose_commands_go_by_the_kept_runs(many, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = everything_in(many)

    done = call("look", many)

    index = tmp_path / looks_left(tmp_path)[0] / "index.html"
    pages = sorted(index.parent.glob("runs/*.html"))
    assert (done.code, done.out.strip()) == (0, str(index.relative_to(tmp_path)))
    assert [page.name for page in pages] == [f"model.run{n}.html" for n in (1, 2, 3)]
    assert all(f"runs/{page.name}" in index.read_text() for page in pages)
    assert everything_in(many) == before
    assert looks_left(tmp_path) == [index.parent.name]
    for page in pages:
        text = page.read_text()
        assert f"analyze show {page.stem}" in text
        assert "benchlake-look-" not in text


def test_a_site_goes_where_it_is_told_and_in_no_place_of_another(many, tmp_path):
    shutil.copytree(SAMPLES / "night_01", tmp_path / "runs" / "night_01")
    assert call("report", "runs", "-o", "mine").code == 0
    before = everything_in(tmp_path / "mine")

    refused = call("look", many, "-o", "mine")
    made = call("look", many, "-o", "theirs")
    (many / "model.run2.json").unlink()
    again = call("look", many, "-o", "theirs")
    other = call("report", "runs", "-o", "theirs")

    assert (refused.code, everything_in(tmp_path / "mine")) == (2, before)
    assert "holds no site of another tool's results" in refused.err.replace("\n", " ")
    assert (made.code, made.out) == (0, "theirs/index.html\n")
    assert "3 pages written" in made.err
    assert "1 removed" in again.err
    assert (other.code, "holds no site of runs" in other.err.replace("\n", " ")) == (2, True)
    assert len(list((tmp_path / "theirs" / "runs").iterdir())) == 2


def test_one_of_several_is_a_page(many, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    done = call("look", many, "--run", "model.run2")
    newest = call("look", many, "-o", "one.html")

    (made,) = looks_left(tmp_path)
    assert done.out.strip() == f"{made}/report.html"
    assert "3 runs; this is model.run2, --run names another one" in done.err
    assert newest.out == "one.html\n"
    assert (tmp_path / "one.html").is_file()


def test_of_very_many_runs_some_are_named(folder):
    for n in range(2, 31):
        shutil.copy(folder / "deep" / "model.run1.json", folder / f"model.run{n}.json")

    done = call("look", folder, "--format", "md")

    assert done.err.count("results of swebench") == 20
    assert "and 10 more runs; `analyze import` lists them" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["look", "logs", "--run", "model.run1", "-o", "site"], "--run is of one run"),
        (["look", "nowhere"], "nowhere: is not there"),
        (["look", "logs/picture.png"], "holds nothing that is known here; allowed: results of"),
        (["look", "logs", "--run", "model.run"], "found model.run; allowed: model.run1; did you"),
        (["look", "broken/broken.eval"], "broken/broken.eval: is no whole .eval file"),
        (["import", "logs/deep/half.json"], "half.json"),
        (["import", "swe", "logs"], "no such format; found swe"),
        (["import", "swebench"], "swebench is a format"),
        (["import", "logs", "--logs", "logs", "--suite", "Upper"], "not an id"),
    ],
)
def test_a_mistake_is_said_in_a_sentence(folder, words, said):
    done = call(*words)

    assert done.code == 2
    assert said in done.err
    assert not (folder.parent / "runs").exists()


def test_runs_of_ours_are_named_as_such(tmp_path):
    shutil.copytree(SAMPLES / "night_01", tmp_path / "runs" / "night_01")

    done = call("look", tmp_path / "runs")

    assert done.code == 2
    assert "holds runs of benchlake, which need no import" in done.err
    assert f"analyze report {tmp_path / 'runs'}" in done.err.replace("\n", "")
