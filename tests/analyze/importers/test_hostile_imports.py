"""Imports of what nobody should trust: secrets in texts, links to elsewhere, files without end."""

import json
import os
import shutil

import pytest
import zstandard

from analyze.exporters.report_v2 import make_run_report
from analyze.importers.openclaw_bench import import_openclaw_bench
from analyze.importers.originals import files_below
from analyze.importers.pae import import_pae
from analyze.importers.sf_bench import import_sf_bench
from analyze.importers.swebench import import_swebench
from schemas.errors import ConfigError
from schemas.redact import MARK
from schemas.run.import_record import SOURCE_FOLDER
from tests.analyze.importers.test_imports_sf_bench import BREAKDOWN, instance, report
from tests.analyze.importers.test_imports_swebench import REPORT
from tests.schemas.lake.test_imported import RECORD
from tests.support.analyze_cli import call, forked
from tests.support.pae_tree import Tree, failed, final, message, runner, tool

KEY = "sk-abcdefghijklmnopqrst123456"
LONG = f"{KEY} " * 8_000


@pytest.fixture
def runs_dir(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def outside(tmp_path):
    """A file that nobody gave to an importer."""
    path = tmp_path / "private.json"
    path.write_text("{}")
    return path


def texts_of(run_dir):
    """What an import wrote itself, traces as text."""
    for path in run_dir.rglob("*"):
        if path.is_file() and SOURCE_FOLDER not in path.relative_to(run_dir).parts:
            with path.open("rb") as file:
                if path.suffix == ".zst":
                    reader = zstandard.ZstdDecompressor().stream_reader(
                        file, read_across_frames=True
                    )
                    yield path.name, reader.read().decode()
                else:
                    yield path.name, file.read().decode()


def assert_kept_from_all_but_the_original(written, original):
    texts = dict(texts_of(written.run_dir))
    assert [name for name, text in texts.items() if KEY in text] == []
    assert any(name.endswith(".zst") and MARK in text for name, text in texts.items())
    assert MARK in texts["results.jsonl"]
    copies = [path.read_bytes() for path in (written.run_dir / SOURCE_FOLDER).rglob("*.json*")]
    assert KEY.encode() in original.read_bytes()
    assert original.read_bytes() in copies


def test_secrets_of_an_evaluation_report_stay_in_the_original_alone(tmp_path, runs_dir):
    path = tmp_path / "report.json"
    validation = BREAKDOWN | {"functional_message": f"key {KEY}", "extra": {KEY: [KEY]}}
    instances = (
        instance("a", validation=validation, error_message=f"with {KEY}", solution_patch=LONG),
        instance("b", "error", error_type=f"refused {KEY}", error_message=KEY),
        instance("c", "skipped", error_message=KEY),
    )
    path.write_text(json.dumps(report(*instances)))

    assert_kept_from_all_but_the_original(import_sf_bench(path, runs_dir), path)


def test_secrets_of_a_patch_stay_in_the_original_alone(tmp_path, runs_dir):
    path, predictions = tmp_path / "m.r.json", tmp_path / "p.jsonl"
    reasons = REPORT["failure_reasons"] | {"d__d-4": f"no module {KEY}"}
    path.write_text(json.dumps(REPORT | {"failure_reasons": reasons}))
    lines = (
        {"instance_id": name, "model_name_or_path": "m", "model_patch": LONG}
        for name in REPORT["submitted_ids"]
    )
    predictions.write_text("".join(json.dumps(line) + "\n" for line in lines))

    written = import_swebench(path, runs_dir, predictions=predictions)

    assert_kept_from_all_but_the_original(written, predictions)


def test_secrets_of_a_trace_stay_in_the_original_alone(tmp_path, runs_dir):
    tree = Tree(tmp_path / "outputs")
    tree.run(
        "m", "told", 1, message("user", KEY, reasoning=KEY), runner("attempt", header=KEY),
        *tool("call", f"tool {KEY}", {"key": KEY}, {KEY: KEY}), final(KEY),
    )  # fmt: skip
    tree.run("m", "failed", 1, **failed("failed", f"code {KEY}", f"Bearer {KEY}"))

    (written,) = import_pae(tree.root, runs_dir)

    assert_kept_from_all_but_the_original(written, tree.place("m", "told"))


def test_a_log_that_links_out_of_the_logs_is_neither_read_nor_copied(tmp_path, runs_dir, outside):
    path = tmp_path / "m.r.json"
    path.write_text(json.dumps(REPORT))
    logs = tmp_path / "logs" / "r" / "m"
    for name in ("a__a-1", "b__b-2"):
        (logs / name).mkdir(parents=True)
        (logs / name / "run_instance.log").write_text("begun")
    (logs / "a__a-1" / "report.json").symlink_to(outside)
    (logs / "b__b-2" / "report.json").symlink_to("/dev/zero")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "report.json").write_text('{"c__c-3": {"resolved": true}}')
    (logs / "c__c-3").symlink_to(elsewhere)

    written = import_swebench(path, runs_dir, logs=tmp_path / "logs")

    copies = (written.run_dir / SOURCE_FOLDER).rglob("*")
    assert [one.name for one in copies if one.is_file()] == ["report.json"]


def test_links_out_of_the_outputs_are_left_out_and_told(tmp_path, runs_dir, outside):
    tree = Tree(tmp_path / "outputs", repetitions=1)
    tree.run("m", "a", 1, final("Hi"))
    tree.place("m", "a", 2).symlink_to(outside)
    tree.place("m", "a", 3).symlink_to(tree.place("m", "a", 1))
    (tree.folder / "etc").symlink_to("/etc")
    (tree.folder.parent / "run_profile_ffffff").symlink_to(tmp_path)

    (written,) = import_pae(tree.root, runs_dir)

    assert written.n_trials == 2
    (finding,) = [one for one in written.findings if one.code == "left_out"]
    assert "2 left out, 'etc' for one" in finding.message
    names = {path.name for path in (written.run_dir / SOURCE_FOLDER).rglob("run_?.json")}
    assert names == {"run_1.json", "run_3.json"}


def test_links_out_of_a_run_of_the_older_tool_are_left_out_and_told(tmp_path, runs_dir, outside):
    folder = tmp_path / "theirs" / "a"
    folder.mkdir(parents=True)
    (folder / "results.jsonl").write_text(json.dumps(RECORD) + "\n")
    (folder / "notes.json").symlink_to(outside)

    (written,) = import_openclaw_bench(folder, runs_dir)

    assert [one.code for one in written.findings] == ["left_out"]
    assert [path.name for path in written.run_dir.iterdir()] == ["results.jsonl"]
    (folder / "results.jsonl").rename(tmp_path / "log")
    (folder / "results.jsonl").symlink_to(tmp_path / "log")
    with pytest.raises(ConfigError, match="is a link to elsewhere"):
        import_openclaw_bench(folder, runs_dir, run_id="b")


def test_a_folder_that_cannot_be_read_is_no_empty_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        files_below(tmp_path / "gone")


@pytest.mark.parametrize("name", ["results.jsonl", "config.json", "import.json"])
def test_a_pipe_in_a_folder_of_runs_is_told_and_not_waited_for(tmp_path, runs_dir, name):
    (runs_dir / "odd").mkdir(parents=True)
    (runs_dir / "odd" / "config.json").write_text("{}")
    (runs_dir / "odd" / name).unlink(missing_ok=True)
    os.mkfifo(runs_dir / "odd" / name)
    (tmp_path / "report.json").write_text(json.dumps(report(instance("a"))))
    call("import", "sf-bench", tmp_path / "report.json", "--run-id", "ok", "--runs", runs_dir)

    done = forked("sync", cwd=tmp_path)

    assert done.code == 0
    assert f"odd/{name}: is no regular file" in done.out
    assert "1 row of 1 run" in done.out


def unread(path):
    """Return the facts of a file but for when it was looked at."""
    facts = path.lstat()
    return facts.st_ino, facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "link to a file", "link to nothing"])
def test_what_is_no_file_is_never_replaced_by_a_report(tmp_path, kind):
    given, place = tmp_path / "given.json", tmp_path / "out" / "report.json"
    given.write_text(json.dumps(report(instance("a"))))
    place.parent.mkdir()
    target = place if kind == "pipe" else tmp_path / "target"
    if "pipe" in kind:
        os.mkfifo(target)
    elif kind == "link to a file":
        target.write_text("kept")
    if target != place:
        place.symlink_to(target)
    before = unread(place)

    for words in (("migrate", given), ("export", "swebench", given)):
        assert call(*words, "-o", place).code == 2
        assert call(*words, "-o", place, "--force").code == 2
    with pytest.raises(ConfigError, match="is no regular file"):
        make_run_report(given, place.parent)

    assert unread(place) == before
    assert [path.name for path in place.parent.iterdir()] == ["report.json"]
    shutil.rmtree(place.parent)


def test_a_run_that_was_pruned_and_is_imported_anew_is_in_the_lake_again(tmp_path, runs_dir):
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report(instance("a"))))
    words = ("import", "sf-bench", path, "--run-id", "r", "--runs", runs_dir)
    call(*words)
    call("sync", "--runs", runs_dir)
    assert call("sync", "--prune", "r", "--runs", runs_dir).code == 0
    assert call("show", "r", "--runs", runs_dir).code == 2
    shutil.rmtree(runs_dir / "r")

    assert call(*words).code == 0

    assert call("show", "r", "--runs", runs_dir).code == 0


def test_what_only_looks_like_the_rest_of_an_import_is_removed_and_not_what_it_leads_to(
    tmp_path, runs_dir, outside
):
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report(instance("a"))))
    runs_dir.mkdir()
    (runs_dir / ".importing-1").symlink_to(tmp_path)
    (runs_dir / ".importing-2").write_text("x")

    assert import_sf_bench(path, runs_dir, run_id="r").is_new

    assert [one.name for one in runs_dir.iterdir()] == ["r"]
    assert outside.exists()
