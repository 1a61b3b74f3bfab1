"""Every kind of check on everything that a file may be, and what a trial's paths lead to."""

import os
import shutil
from dataclasses import replace

import pytest

from collect.checks.declarative import check_hash, named_outside, run_check
from collect.checks.left import CannotLook, Trial
from schemas.config.checks import CHECKS, DeterministicCheck
from tests.support.left import leave

STATES = {
    "present": lambda path: path.write_text("x marks the spot"),
    "absent": lambda path: None,
    "empty": lambda path: path.write_text(""),
    "folder": lambda path: path.mkdir(),
    "link": lambda path: (path.with_name("other.md").write_text("x"), path.symlink_to("other.md")),
    "link_out": lambda path: path.symlink_to("/etc/passwd"),
    "large": lambda path: path.write_text("x" * 8_000_001),
    "too_large_to_keep": lambda path: os.truncate(path, 10**10) if path.touch() is None else None,
    "binary": lambda path: path.write_bytes(b"x\xff\x00"),
    "pipe": os.mkfifo,
}

P, F = "passed", "failed"

ROWS = """
    kind                     present absent empty folder link link_out large too_large_to_keep binary pipe
    file_exists              P       F      P     F      P    F        P     P                 P      F
    path_exists              P       F      P     P      P    F        P     P                 P      F
    file_contains            P       F      F     F      P    F        F     F                 F      F
    workspace_file           P       F      P     F      P    F        P     P                 P      F
    workspace_file_contains  P       F      F     F      P    F        F     F                 F      F
    output_artifact          P       F      P     F      P    F        P     P                 P      F
    final_response           P       F      F     F      P    F        F     F                 F      F
    tool_call_count          P       P      P     P      P    P        P     P                 P      P
    status_is                P       P      P     P      P    P        P     P                 P      P
"""  # noqa: E501 - a table
(_, *NAMES), *CELLS = (line.split() for line in ROWS.strip().splitlines())
OUTCOMES = {"P": P, "F": F}
TABLE = {
    name: dict(zip(NAMES, map(OUTCOMES.__getitem__, cells), strict=True)) for name, *cells in CELLS
}

CHECKED = {
    "file_exists": {"kind": "file_exists", "path": "sub/report.md"},
    "path_exists": {"kind": "path_exists", "path": "/workspace/sub/report.md"},
    "file_contains": {"kind": "file_contains", "path": "sub/report.md", "text": "x"},
    "workspace_file": {
        "kind": "openclaw_workspace_file_present", "relative_path": "./sub//report.md"},
    "workspace_file_contains": {
        "kind": "openclaw_workspace_file_present", "relative_path": "sub/report.md",
        "contains_all": ["X"]},
    "output_artifact": {
        "kind": "output_artifact_present", "artifact_type": "openclaw_key_output",
        "artifact_id": "sub_report_md", "uri": "file:///workspace/sub/report.md"},
    "final_response": {"kind": "final_response_present"},
    "tool_call_count": {"kind": "tool_call_count", "count": 0},
    "status_is": {"kind": "status_is", "status": "success"},
}  # fmt: skip


def made(fields, check_id="c", **more):
    return DeterministicCheck.model_validate({"check_id": check_id, "declarative": fields} | more)


def test_the_table_has_every_kind_and_every_state():
    assert {CHECKED[name]["kind"] for name in TABLE} == set(CHECKS.own)
    assert all(row.keys() == STATES.keys() for row in TABLE.values())


@pytest.fixture(scope="module", params=STATES)
def left(request, tmp_path_factory):
    """What a trial has left whose file is in some state, as the real snapshot keeps it."""
    folder = tmp_path_factory.mktemp("trial")
    files = folder / "live"
    (files / "sub").mkdir(parents=True)
    STATES[request.param](files / "sub" / "report.md")
    return request.param, leave(files, folder / "left")


@pytest.mark.parametrize("name", TABLE)
def test_every_kind_on_everything_that_a_file_may_be(left, name):
    state, folder = left
    trial = Trial(left=folder, has_workspace=True, expected_artifact=("sub/report.md",))

    found = run_check(made(CHECKED[name]), trial)

    assert found.outcome == TABLE[name][state], found.message
    assert (found.message is None) == (found.outcome == "passed")
    assert found.reason is None
    assert found.dimensions == CHECKS[found.kind].dimensions


def test_what_is_said_of_a_file_names_it_and_why(left):
    state, folder = left
    trial = Trial(left=folder, has_workspace=True)

    found = run_check(made(CHECKED["file_contains"] | {"text": "absent"}), trial)

    said = {
        "present": "does not hold the text",
        "absent": "there is no sub/report.md",
        "empty": "does not hold the text",
        "folder": "is a folder",
        "link": "does not hold the text",
        "link_out": "leads out of the workspace",
        "large": "larger than 8,000,000 bytes",
        "too_large_to_keep": "too large to be kept",
        "binary": "no text",
        "pipe": "is a pipe",
    }[state]
    assert said in found.message
    assert "sub/report.md" in found.message


@pytest.fixture
def trial(tmp_path):
    files = tmp_path / "live"
    files.mkdir()
    (files / "same.txt").write_text("the trial's")
    case = tmp_path / "case"
    case.mkdir()
    (case / "same.txt").write_text("the case's")
    (case / "only.txt").write_text("the case's")
    (tmp_path / "secret.txt").write_text("secret")
    (case / "out.txt").symlink_to(tmp_path / "secret.txt")
    folder = leave(files, tmp_path / "left", tmp={"a.txt": "in tmp"}, home={"b": "at home"})
    return Trial(left=folder, folder=case, has_workspace=True)


@pytest.mark.parametrize(
    ("path", "text", "outcome"),
    [
        ("same.txt", "the trial's", P),
        ("same.txt", "the case's", F),
        ("only.txt", "the case's", P),
        ("out.txt", "secret", F),
        ("/workspace/same.txt", "the trial's", P),
        ("/workspace/only.txt", "the case's", F),
        ("/tmp/a.txt", "in tmp", P),
        ("/tmp/../tmp/a.txt", "in tmp", F),
        ("/home/agent/b", "at home", P),
        ("/tmp/secret.txt", "", F),
        ("/etc/hostname", "", F),
    ],
)
def test_a_path_is_looked_up_where_the_trial_saw_it_and_never_on_the_host(
    trial, path, text, outcome
):
    found = run_check(made({"kind": "file_contains", "path": path, "text": text}), trial)

    assert found.outcome == outcome, found.message


def test_the_files_that_were_thrown_away_leave_a_check_open(trial):
    fields = {"kind": "file_exists", "path": "same.txt"}
    shutil.rmtree(trial.left / "workspace")
    later = replace(trial)

    found = run_check(made(fields), later)

    assert (found.outcome, found.reason) == ("error", "workspace_not_kept")
    assert "--keep-workspaces all" in found.message
    present = made({"kind": "openclaw_workspace_file_present", "relative_path": "same.txt"})
    assert run_check(present, later).outcome == P, "what changed is written down in any case"
    (trial.left / "workspace.json").write_text("{")
    broken = run_check(made(fields), replace(trial))
    assert (broken.outcome, broken.reason) == ("error", "workspace_not_kept")


@pytest.mark.parametrize(
    ("text", "word", "outcome"),
    [
        ("Café au lait", "CAFE", P),
        ("Straße", "STRASSE", P),
        ("\ufb01le", "file", P),
        ("naïve", "naïve", P),
        ("Cafe", "coffee", F),
        ("a  b", "a b", F),
    ],
)
def test_words_are_compared_without_case_and_accents(tmp_path, text, word, outcome):
    files = tmp_path / "live"
    files.mkdir()
    (files / "a.txt").write_text(text)
    trial = Trial(left=leave(files, tmp_path / "left"), has_workspace=True)

    for name in ("contains_all", "contains_any"):
        fields = {"kind": "openclaw_workspace_file_present", "relative_path": "a.txt"}
        assert run_check(made(fields | {name: [word]}), trial).outcome == outcome
    exact = fields | {"contains": word}
    assert run_check(made(exact), trial).outcome == (P if word in text else F)


def test_all_and_any_are_what_they_say(tmp_path):
    files = tmp_path / "live"
    files.mkdir()
    (files / "a.txt").write_text("one two")
    trial = Trial(left=leave(files, tmp_path / "left"), has_workspace=True)
    base = {"kind": "openclaw_workspace_file_present", "relative_path": "a.txt"}

    def outcome(**fields):
        return run_check(made(base | fields), trial).outcome

    assert outcome(contains_all=["one", "two"]) == P
    assert outcome(contains_all=["one", "three"]) == F
    assert outcome(contains_any=["three", "two"]) == P
    assert outcome(contains_any=["three", "four"]) == F
    assert outcome(contains_all=["one"], contains_any=["four"]) == F


def test_a_final_response_is_looked_for_where_the_documents_say():
    check = made({"kind": "final_response_present"})
    assert run_check(check, Trial(final_text=" \n", last_message="said")).outcome == F
    with_files = Trial(final_text=" \n", last_message="said", has_workspace=True)
    assert run_check(check, with_files).outcome == P
    assert run_check(check, Trial(final_text=" \n", has_workspace=True)).outcome == F


def test_calls_that_nobody_knows_of_leave_the_check_open():
    found = run_check(made({"kind": "tool_call_count", "count": 0}), Trial(n_tool_calls=None))

    assert (found.outcome, found.reason) == ("error", "trace_lost")


def test_a_check_is_known_by_what_decides_it():
    one = made({"kind": "status_is", "status": "success"})
    assert check_hash(one) == check_hash(
        made({"kind": "status_is", "status": "success"}, "d", description="x", dimensions=["task"])
    )
    assert check_hash(one) != check_hash(made({"kind": "status_is", "status": "failed"}))
    hook = {"check_id": "h", "python_hook": {"path": "h.py", "callable_name": "f"}}
    hooked = DeterministicCheck.model_validate(hook)
    assert check_hash(hooked, "a" * 64) != check_hash(hooked, "b" * 64)


def test_paths_outside_the_workspace_are_known_before_the_trial():
    paths = ["/tmp/a", "/workspace/b", "c", "/home/agent/d", "/tmp/a"]
    checks = [made({"kind": "file_exists", "path": path}) for path in paths]

    assert named_outside((*checks, made({"kind": "final_response_present"}))) == (
        "/tmp/a", "/home/agent/d",
    )  # fmt: skip


def test_a_file_that_was_never_made_elsewhere_has_failed(tmp_path):
    files = tmp_path / "live"
    files.mkdir()
    (files / "report.md").write_text("x")
    trial = Trial(left=leave(files, tmp_path / "left"), has_workspace=True)

    for path in ("/tmp/x", "/home/agent/.conf/y", "/tmp"):
        found = run_check(made({"kind": "path_exists", "path": path}), trial)
        assert (found.outcome, found.message) == (F, f"there is no {path}")


def test_an_artifact_that_was_thrown_away_leaves_the_check_open(trial):
    shutil.rmtree(trial.left / "workspace")
    later = replace(trial, expected_artifact=("same.txt",))

    found = run_check(made({"kind": "output_artifact_present"}), later)

    assert (found.outcome, found.reason) == ("error", "workspace_not_kept")


def test_a_link_in_place_of_the_files_is_not_looked_into(trial, tmp_path):
    shutil.rmtree(trial.left / "workspace")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "same.txt").write_text("private")
    (trial.left / "workspace").symlink_to(tmp_path / "private")
    later = replace(trial)

    found = run_check(made({"kind": "file_exists", "path": "same.txt"}), later)

    assert (found.outcome, found.reason) == ("error", "workspace_not_kept")
    with pytest.raises(CannotLook):
        _ = later.snapshot


def test_two_checks_of_one_hook_are_two(trial):
    hook = {"python_hook": {"path": "h.py", "callable_name": "f"}}
    hashes = {
        check_hash(DeterministicCheck.model_validate({"check_id": name, **hook}), "a" * 64)
        for name in ("one", "two")
    }

    assert len(hashes) == 2
