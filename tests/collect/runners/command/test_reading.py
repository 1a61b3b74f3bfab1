"""What is read of an agent by configuration: its answer, its tokens, its log; hostile ones too."""

import json

import pytest

from collect.runners.command import reading
from collect.runners.command.reading import answer_in, documents, log_files, usage_in, value_at
from collect.sandbox.base import Folders
from schemas.config.command_agent import AnswerSource, DeclaredUsage
from tests.support.hostile_traces import STRANGE


@pytest.fixture
def folders(tmp_path):
    made = Folders(tmp_path / "workspace", tmp_path / "home", tmp_path / "tmp")
    for one in (made.workspace, made.home, made.tmp):
        one.mkdir()
    return made


@pytest.mark.parametrize(
    ("path", "found"),
    [("a.b", 1), ("c.0", 2), ("c.-1", 3), ("c.2", None), ("c.-3", None), ("c.x", None),
     ("a.b.c", None), ("d", None), ("e", ""), ("c.1.0", None)],
)  # fmt: skip
def test_a_value_is_where_its_path_leads(path, found):
    assert value_at({"a": {"b": 1}, "c": [2, 3], "e": ""}, path) == found


def test_the_last_object_comes_first():
    text = 'log line\n{"a": 1}\n{torn\n[1]\n {"a": 2}\n'

    assert list(documents(text)) == [{"a": 2}, {"a": 1}]
    assert list(documents('{\n "a": 3\n}')) == [{"a": 3}]


@pytest.mark.parametrize("place", ["a.txt", "/workspace/a.txt", "/home/agent/a.txt", "/tmp/a.txt"])
def test_an_answer_is_a_file_where_the_agent_sees_it(folders, place):
    at = {"/home": folders.home, "/tmp/": folders.tmp}.get(place[:5], folders.workspace)
    (at / "a.txt").write_text("x")

    assert answer_in(AnswerSource(source="file", path=place), "", folders) == ("x", "")


def test_an_answer_that_is_not_there_is_said(folders):
    (folders.workspace / "out").symlink_to("/etc/passwd")
    asked = AnswerSource(source="file", path="no.txt")
    assert answer_in(asked, "", folders) == ("", "no answer: no file no.txt")
    text, why = answer_in(AnswerSource(source="file", path="out"), "", folders)
    assert (text, "leads out" in why) == ("", True)
    asked = AnswerSource(source="json", path="r.t")
    assert answer_in(asked, '{"r": {"t": 1}}\nx', folders) == (
        "", "no answer: nothing on stdout has a text at `r.t`",
    )  # fmt: skip
    assert answer_in(AnswerSource(), "  said \n", folders) == ("said", "")


def test_every_count_is_read_where_it_stands():
    names = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens",
             "reasoning_tokens", "cost_usd")  # fmt: skip
    paths = {name: f"u.{number}" for number, name in enumerate(names)}
    declared = DeclaredUsage(source="file", path="u.json", counts="delta", cached="beside", **paths)
    outputs = [json.dumps({"u": [10, 2, 3, 4, 1, 0.5]}), "nothing", json.dumps({"u": [1, 1]})]

    usage, cost = usage_in(declared, outputs)

    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == (18, 3, 1)
    assert (usage.cached_input_tokens, usage.cache_write_tokens, cost) == (3, 4, 0.5)
    assert usage.source == "agent"


@pytest.mark.parametrize("value", STRANGE, ids=repr)
def test_counts_that_are_none_are_not_taken(value):
    declared = DeclaredUsage(input_tokens="i", output_tokens="o", counts="delta", cached="inside")
    try:
        output = json.dumps({"i": value, "o": value})
    except (TypeError, ValueError):
        output = "{"

    found = usage_in(declared, [output])

    assert found is None or found[0].input_tokens >= 0


def test_a_log_is_found_by_patterns_and_bounded(folders, monkeypatch):
    for name in ("a.log", "x/b.log", "x/y/c.log", "x/d.txt"):
        (folders.home / name).parent.mkdir(parents=True, exist_ok=True)
        (folders.home / name).write_text(name)
    (folders.home / "out.log").symlink_to("/etc/passwd")

    def names(*paths):
        found, notes = log_files(paths, folders)
        return list(found), notes

    assert names("/home/agent/*.log") == (
        ["/home/agent/a.log"], ["out.log leads out of the workspace"],
    )  # fmt: skip
    assert names("/home/agent/x/**/*.log")[0] == ["/home/agent/x/b.log", "/home/agent/x/y/c.log"]
    assert names("/workspace/**") == ([], [])
    monkeypatch.setattr(reading, "MAX_LOG_BYTES", 6)
    found, notes = names("/home/agent/x/**")
    assert found == ["/home/agent/x/b.log"][: len(found)]
    assert "is larger than" in notes[0]
    monkeypatch.setattr(reading, "MAX_LOG_FILES", 1)
    monkeypatch.setattr(reading, "MAX_LOG_BYTES", 600)
    assert names("/home/agent/x/**")[1] == ["only 1 files of the log are read"]
