"""`analyze steps`: what happened in trials, chosen by case, tool, errors and a condition in SQL."""

import csv
import io
import json

import pytest

from tests.support.analyze_cli import call
from tests.support.run_builder import RunBuilder
from tests.support.run_rows import trace

pytestmark = pytest.mark.usefixtures("warm_engines")

EVENTS = (
    ("message", {"role": "user", "content": "How full is it?"}),
    ("runner", {"name": "provider_reply", "detail": {
        "e2e_ms": 300, "usage": {"input_tokens": 7, "usage_counts": "cumulative",
                                 "usage_cached": "beside", "cached_input_tokens": 2},
    }}),
    ("tool_call", {"call_id": "1", "tool_name": "df", "raw_arguments": '{"path": "/"}'}),
    ("tool_result", {"call_id": "1", "status": "error", "output": "no \x1b[2J such path"}),
    ("runner", {"name": "provider_reply", "detail": {
        "e2e_ms": 200, "usage": {"input_tokens": 17, "usage_counts": "cumulative",
                                 "usage_cached": "beside", "cached_input_tokens": 12},
    }}),
    ("message", {"role": "assistant", "content": "x" * 70_000}),
)  # fmt: skip


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory):
    run = RunBuilder(tmp_path_factory.mktemp("steps") / "runs")
    for case_id in ("disk", "other"):
        trial = run.plan(case_id)
        (path,) = run.write_traces(trace(run.run_id, "m1", case_id, 1, *EVENTS))
        run.result(trial, artifact_path=path, tool_ms=5)
    run.write()
    return run.runs_dir


@pytest.fixture
def asked(runs_dir):
    """Return what `analyze steps latest` prints."""
    return lambda *args: call("steps", "latest", *args, "--runs", runs_dir)


def test_a_case_is_told_step_by_step(asked):
    out = asked("disk").out

    lines = out.splitlines()
    assert len(lines) == 9
    assert "disk" in lines[2]
    assert "other" not in out
    assert "How full is it?" in lines[2]
    assert "no \\x1b[2J such path" in lines[5]
    assert "tool_error" in lines[5]
    assert lines[-1] == "5 rows"


def test_programs_get_every_column_and_the_whole_text(asked):
    (row,) = json.loads(asked("disk", "--where", "turn_no = 2", "--json").out)

    assert (row["kind"], row["role"], row["input_tokens"]) == ("message", "assistant", 20)
    assert (row["produced_bytes"], len(row["text"]), row["text_truncated"]) == (
        70_000, 65_536, True,
    )  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(asked("--tool", "df", "--format", "csv").out)))
    assert [one["kind"] for one in rows] == ["tool_call", "tool_result"] * 2


@pytest.mark.parametrize(
    ("args", "n"),
    [
        ((), 10),
        (("--errors",), 2),
        (("--tool", "df"), 4),
        (("disk", "--tool", "df", "--errors"), 1),
        (("--model", "m1"), 10),
        (("--model", "llama3.2:3b", "--errors"), 2),
        (("--where", "text like '%full%'"), 2),
        (("--where", "kind = 'tool_call' or is_error -- and no more"), 4),
        (("--where", "false"), 0),
    ],
    ids=str,
)
def test_each_choice_narrows(asked, args, n):
    assert len(json.loads(asked(*args, "--json").out)) == n


def test_a_table_says_how_many_it_does_not_show(asked):
    out = asked("--max-rows", "3").out

    assert "3 rows shown of 10; --max-rows 0 shows all" in out
    assert len(asked("--max-rows", "0").out.splitlines()) == 14


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("dsk",), "has no case `dsk`; did you mean `disk`?"),
        (("--tool", "dff"), "no step of run `run-1` is of a tool `dff`; did you mean `df`?"),
        (("--model", "m2"), "did not ask model `m2`; allowed: m1"),
        (("--where", "knd = 'x'"), "there is no column `knd`; did you mean `kind`?"),
        (("--where", "true) limit 1; drop table steps; --"), "cannot be read"),
        (("--where", "(select count(*) from read_csv('/etc/passwd')) > 0"), "is not let through"),
        (("--where", "1 ="), "cannot be read"),
        (("--where", " "), "`--where` is empty"),
        (("--json", "--format", "csv"), "exclude each other"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_said(asked, args, said):
    done = asked(*args)

    assert done.code == 2
    assert said in " ".join(done.err.split())
    assert done.out == ""


def test_a_run_without_steps_has_none(tmp_path):
    run = RunBuilder(tmp_path / "runs").night(["a"])
    done = call("steps", "run-1", "--runs", run.runs_dir)

    assert (done.code, done.out.splitlines()[-1]) == (0, "0 rows")
