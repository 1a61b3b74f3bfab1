"""`analyze search`: a text in steps of all trials, and in the answers of those without steps."""

import json

import pytest

from analyze.steps.search import quoted
from tests.support.analyze_cli import call
from tests.support.run_builder import RunBuilder
from tests.support.run_rows import trace

pytestmark = pytest.mark.usefixtures("warm_engines")

EVENTS = (
    ("message", {"role": "user", "content": "Where is Ümlaut?"}),
    ("tool_call", {"call_id": "1", "tool_name": "grep", "raw_arguments": '{"of": "a.b\\\\E["}'}),
    ("tool_result", {"call_id": "1", "status": "error",
                     "output": "x" * 5_000 + " Permission\n denied \x1b[2J" + "y" * 5_000}),
    ("message", {"role": "assistant", "content": "Nobody may look: permission denied."}),
)  # fmt: skip


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory):
    runs = tmp_path_factory.mktemp("search") / "runs"
    for run_id, case_id in (("r1", "disk"), ("r2", "other")):
        run = RunBuilder(runs, run_id)
        trial = run.plan(case_id)
        (path,) = run.write_traces(trace(run.run_id, "m1", case_id, 1, *EVENTS))
        said = "Nobody may look: permission denied."
        run.result(trial, artifact_path=path, tool_ms=5, raw_output=said)
        run.result(run.plan("plain"), raw_output="It says: Permission Denied!")
        run.result(run.plan("twice"), failure_type="timeout", raw_output="an old word")
        run.result(run.plan("twice"), raw_output="a new word")
        run.write()
    return runs


@pytest.fixture
def found(runs_dir):
    """Return the hits of a search, as JSON."""
    return lambda *args: json.loads(call("search", *args, "--json", "--runs", runs_dir).out)


def test_a_text_is_found_in_steps_and_in_answers_of_trials_without_them(found):
    rows = found("permission denied")

    places = [(row["run_id"], row["case_id"], row["step_no"], row["kind"]) for row in rows]
    assert places == [
        (run_id, *place)
        for run_id, case_id in (("r1", "disk"), ("r2", "other"))
        for place in sorted([(case_id, 4, "message"), ("plain", None, "answer")])
    ]
    assert rows[0]["excerpt"] == "Nobody may look: permission denied."
    assert rows[0]["position"] == len("Nobody may look: ") + 1


@pytest.mark.parametrize(
    ("args", "n"),
    [
        (("Permission Denied",), 2),
        (("PERMISSION",), 0),
        (("ümlaut",), 2),
        (("permission\n denied",), 2),
        ((r"permission\s+denied", "--regex"), 6),
        (("permission.denied",), 0),
        (("a.b\\\\E[",), 2),
        (("permission", "--run", "r2"), 3),
        (("permission", "--run", "r2", "--case", "plain"), 1),
        (("permission", "--case", "disk", "--model", "m1"), 2),
        (("new word",), 2),
        (("old word",), 0),
        (("'; drop table steps --",), 0),
    ],
    ids=str,
)
def test_what_is_found(found, args, n):
    assert len(found(*args)) == n


def test_a_hit_is_shown_with_what_stands_around_it(found, runs_dir):
    (row,) = found(r"permission\s+denied", "--regex", "--run", "r1", "--case", "disk")[:1]
    out = call("search", r"permission\s", "--regex", "--run", "r1", "--runs", runs_dir).out

    assert row["excerpt"].startswith("x" * 59 + " Permission\n denied \x1b[2Jyyy")
    assert len(row["excerpt"]) == 200
    assert "\x1b" not in out
    assert "xxx Permission denied \\x1b[2Jyyy" in out
    assert out.splitlines()[-1] == "3 rows"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("(", "--regex"), "missing )"),
        (("x", "--run", "latestt"), "did you mean `latest`"),
        (("x", "--case", "disc"), "no run has a case `disc`"),
        (("x", "--case", "disc", "--run", "r1"), "run `r1` has no case `disc`"),
        (("x", "--model", "m2"), "no run asked model `m2`"),
        (("",), "is empty"),
        (("x", "--json", "--format", "csv"), "exclude each other"),
    ],
    ids=str,
)
def test_what_cannot_be_searched_is_said(runs_dir, args, words):
    done = call("search", *args, "--runs", runs_dir)

    assert done.code == 2
    assert words in done.err


@pytest.mark.parametrize("text", ["a", "\\", "\\E", "\\Q", "a\\Eb\\Q", ".*", "\n", "é\\E\\E"])
def test_a_quoted_text_matches_itself_alone(found, runs_dir, text):
    assert call(
        "sql", f"select regexp_matches(x, y) and not regexp_matches('zzz', y) from "
        f"(select '{text}' as x, '{quoted(text)}' as y)", "--format", "csv", "--runs", runs_dir,
    ).out.splitlines()[-1] == "true"  # fmt: skip
