"""Sessions of Claude Code as runs: a project a run, a session a trial."""

import json
import shutil

import pytest

from analyze.importers.detect import detect
from schemas.errors import ConfigError
from schemas.run.import_record import load_import_record
from tests.support.agent_logs import SAMPLES
from tests.support.agent_sessions import (
    Claude,
    at_ms,
    imported,
    lines,
    put,
    rows_of,
    steps_of,
    text,
    texts_of,
    use,
)

FORM = "claude-code"
A, B = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"


@pytest.fixture
def runs_dir(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def project(tmp_path):
    return tmp_path / "projects" / "-home-me-proj"


def session(name=A, prefix="u"):
    """A session with a call, its result, and an answer over two lines."""
    claude = Claude(name, prefix)
    return [
        {"type": "summary", "summary": "Made a report", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        claude.user("<command-name>/clear</command-name>"),
        claude.user("Make a report.\nPlease."),
        claude.answer("m1", {"type": "thinking", "thinking": "Hm."}, stop=None, out=1),
        claude.answer("m1", text("I write."), stop=None, out=1),
        claude.answer("m1", use("c1", "Bash", command="ls"), stop="tool_use", out=20),
        claude.result("c1", "Exit code 2\nno", is_error=True, toolUseResult={"durationMs": 120}),
        claude.answer("m2", text("Done."), out=5),
    ]


def only(written):
    (run,) = written
    (row,) = rows_of(run).values()
    return row


def test_a_session_is_a_trial_without_a_verdict(project, runs_dir):
    put(project / f"{A}.jsonl", *session())

    (run,) = imported(FORM, project, runs_dir)
    row = only([run])

    assert (run.run_dir.name, run.n_trials, run.findings) == ("claude-code_home-me-proj", 1, ())
    assert (row["suite_id"], row["case_id"], row["model"], row["model_id"]) == (
        "home-me-proj", A, "opus", "opus",
    )  # fmt: skip
    assert (row["passed"], row["objective_pass"], row["e2e_ms"], row["status"]) == (
        None, None, None, "success",
    )  # fmt: skip
    assert (row["input_tokens"], row["cached_input_tokens"], row["output_tokens"]) == (100, 80, 25)
    assert (row["started_at_ms"], row["ended_at_ms"]) == (at_ms(1), at_ms(7))
    assert (row["raw_output"], row["prompt_name"], row["tool_calls"], row["tool_ms"]) == (
        "Done.", "Make a report.", ["Bash"], 120,
    )  # fmt: skip
    assert (row["cost_usd"], row["requested_model"], row["served_model"]) == (None, None, "opus")
    record = load_import_record(run.run_dir)
    assert (record.scorable, record.suite_title, record.started_at_ms) == (
        False, "-home-me-proj", at_ms(1),
    )  # fmt: skip


def test_its_messages_and_calls_are_steps(project, runs_dir):
    put(project / f"{A}.jsonl", *session())
    imported(FORM, project, runs_dir)

    assert texts_of(runs_dir) == [
        ("message", "<command-name>/clear</command-name>"),
        ("message", "Make a report.\nPlease."),
        ("reasoning", "Hm."),
        ("message", "I write."),
        ("tool_call", '{"command":"ls"}'),
        ("tool_result", "Exit code 2\nno"),
        ("message", "Done."),
    ]
    facts = "tool, is_error, exit_code, duration_ms, output_tokens, turn_no"
    assert steps_of(runs_dir, facts, "kind <> 'reasoning' AND turn_no > 0") == [
        (None, False, None, None, 20, 1),
        ("Bash", False, None, None, None, 1),
        ("Bash", True, 2, 120, None, 1),
        (None, False, None, None, 5, 2),
    ]


def test_the_same_import_again_changes_nothing(project, runs_dir):
    put(project / f"{A}.jsonl", *session())
    imported(FORM, project, runs_dir)
    before = {p: p.read_bytes() for p in runs_dir.rglob("*") if p.is_file()}

    (again,) = imported(FORM, project, runs_dir)

    assert (again.is_new, again.n_trials) == (False, 1)
    assert {p: p.read_bytes() for p in runs_dir.rglob("*") if p.is_file()} == before


def test_a_session_that_went_on_is_the_same_trial_of_the_same_run(project, tmp_path):
    path = put(project / f"{A}.jsonl", *session())
    (before,) = imported(FORM, project, tmp_path / "before")
    later = Claude(A, "v")
    later.n = 60
    with path.open("a") as file:
        file.write(lines(later.user("More."), later.answer("m3", text("More."), model="haiku")))

    (after,) = imported(FORM, project, tmp_path / "after")

    names = ("run_id", "suite_id", "case_id", "model_id", "model", "repetition", "started_at_ms")
    facts = [{name: only([run])[name] for name in names} for run in (before, after)]
    assert facts[0] == facts[1]
    assert only([after])["output_tokens"] == only([before])["output_tokens"] + 10


def test_several_models_are_named_by_the_first_and_all_stand_in_the_steps(project, runs_dir):
    claude = Claude(A)
    put(project / f"{A}.jsonl", claude.user("Hi"), claude.answer("m1", text("1"), model="opus"),
        claude.answer("m2", text("2"), model="haiku"))  # fmt: skip

    row = only(imported(FORM, project, runs_dir))

    assert row["model"] == "opus"
    assert steps_of(runs_dir, "served_model", "role = 'assistant'") == [("opus",), ("haiku",)]


@pytest.mark.parametrize("place", ["agent-x1.jsonl", f"{A}/subagents/agent-x1.jsonl"])
def test_an_agent_that_it_started_has_steps_of_its_own(project, runs_dir, place):
    inner = Claude(A, "i")
    put(project / f"{A}.jsonl", *session())
    put(project / place, inner.user("Look.", isSidechain=True, agentId="x1"),
        inner.answer("m9", text("Seen."), model="haiku", agentId="x1"))  # fmt: skip

    row = only(imported(FORM, project, runs_dir))

    assert (row["model"], row["input_tokens"], row["output_tokens"]) == ("opus", 150, 35)
    assert texts_of(runs_dir, "trajectory = 'main/x1'") == [
        ("message", "Look."), ("message", "Seen."),
    ]  # fmt: skip


def test_sidechains_in_the_same_file_are_no_part_of_the_main_one(project, runs_dir):
    claude = Claude(A)
    put(project / f"{A}.jsonl", claude.user("Hi"), claude.user("Look.", isSidechain=True),
        claude.answer("s1", text("Seen."), isSidechain=True),
        claude.answer("m1", text("Bye.")))  # fmt: skip

    row = only(imported(FORM, project, runs_dir))

    assert (row["raw_output"], row["output_tokens"]) == ("Bye.", 20)
    assert texts_of(runs_dir, "trajectory = 'main/sidechain'") == [
        ("message", "Look."), ("message", "Seen."),
    ]  # fmt: skip


@pytest.mark.parametrize("names", ["the_old_one", "the_new_one", "forked_from"])
def test_what_a_resumed_session_repeats_counts_once(project, runs_dir, names):
    first = session()
    put(project / f"{A}.jsonl", *first)
    copies = first[2:]
    if names == "the_new_one":
        copies = [one | {"sessionId": B} for one in copies]
    elif names == "forked_from":
        copies = [
            one | {"sessionId": B, "uuid": f"b{one['uuid']}",
                   "forkedFrom": {"sessionId": A, "messageUuid": one["uuid"]}}
            for one in copies
        ]  # fmt: skip
    later = Claude(B, "v")
    later.n = 60
    own = [later.user("Go on."), later.answer("m3", text("Gone on."), out=9)]
    put(project / f"{B}.jsonl", *copies, *own)

    (run,) = imported(FORM, project, runs_dir)
    rows = rows_of(run)

    assert [rows[one]["output_tokens"] for one in (A, B)] == [25, 9]
    assert (rows[B]["started_at_ms"], rows[B]["prompt_name"]) == (at_ms(61), "Go on.")
    copied = steps_of(runs_dir, "kind", f"case_id = '{B}' AND is_copied_context")
    assert len(copied) == 7


def test_a_session_that_goes_on_after_it_was_forked_keeps_what_is_its_own(project, runs_dir):
    first, claude, later = session(), Claude(A, "w"), Claude(B, "v")
    claude.n, later.n = 120, 60
    put(project / f"{A}.jsonl", *first, claude.user("On."), claude.answer("m4", text("On."), out=7))
    put(project / f"{B}.jsonl", *first[2:], later.user("Fork."),
        later.answer("m3", text("Forked."), out=9))  # fmt: skip

    (run,) = imported(FORM, project, runs_dir)

    assert [rows_of(run)[one]["output_tokens"] for one in (A, B)] == [32, 9]


def test_an_error_of_the_server_at_the_end_is_the_trials_failure(project, runs_dir):
    claude = Claude(A)
    said = [text('API Error: 529 {"type":"error"}')]
    message = {"id": "e", "model": "<synthetic>", "content": said, "usage": {"output_tokens": 0}}
    error = claude.line("assistant", isApiErrorMessage=True, message=message)
    put(project / f"{A}.jsonl", claude.user("Hi"), claude.answer("m1", text("Ho")), error)

    row = only(imported(FORM, project, runs_dir))

    assert (row["failure_type"], row["http_status"], row["status"]) == (
        "http_529", 529, "provider_error",
    )  # fmt: skip
    assert (row["output_tokens"], row["raw_output"]) == (10, "Ho")
    assert steps_of(runs_dir, "kind", "is_error") == [("error",)]


def test_an_error_that_was_recovered_from_is_a_step_alone(project, runs_dir):
    claude = Claude(A)
    message = {"id": "e", "model": "<synthetic>", "content": [text("No")]}
    error = claude.line("assistant", isApiErrorMessage=True, message=message)
    put(project / f"{A}.jsonl", error, claude.answer("m1", text("Ho")))

    assert only(imported(FORM, project, runs_dir))["failure_type"] is None


def test_a_compaction_is_a_step_and_its_summary_no_message_of_a_user(project, runs_dir):
    claude = Claude(A)
    bound = claude.line("system", subtype="compact_boundary", content="Conversation compacted",
                        compactMetadata={"trigger": "auto", "preTokens": 155_000})  # fmt: skip
    summary = claude.user("The story so far.", isCompactSummary=True)
    meta = claude.user("Caveat: local", isMeta=True)
    put(project / f"{A}.jsonl", claude.user("Hi"), bound, summary, meta,
        claude.answer("m1", text("Ho")))  # fmt: skip
    imported(FORM, project, runs_dir)

    (compaction,) = [json.loads(one) for kind, one in texts_of(runs_dir) if kind == "compaction"]
    assert compaction == {"summary": "The story so far.", "tokens_before": 155_000}
    assert steps_of(runs_dir, "role", "role IS NOT NULL") == [
        ("user",),
        ("system",),
        ("assistant",),
    ]


def test_pictures_are_named_where_they_stood(project, runs_dir):
    claude = Claude(A)
    picture = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    put(project / f"{A}.jsonl", claude.user([text("See"), picture]),
        claude.answer("m1", use("c1", "Read", file_path="a.png"), stop="tool_use"),
        claude.result("c1", [picture]), claude.answer("m2", text("A cat.")))  # fmt: skip
    imported(FORM, project, runs_dir)

    texts = [one for _, one in texts_of(runs_dir)]
    assert (texts[0], texts[2]) == ("See\n[image]", '{"file_path":"a.png"}')
    assert "[image]" in texts
    assert "AAAA" not in "".join(one or "" for one in texts)


def test_output_that_was_never_counted_is_not_guessed(project, runs_dir):
    claude = Claude(A)
    put(project / f"{A}.jsonl", claude.user("Hi"), claude.answer("m1", text("Ho"), stop=None),
        claude.answer("m2", text("Hi"), out=5))  # fmt: skip

    (run,) = imported(FORM, project, runs_dir)

    row = only([run])
    assert (row["input_tokens"], row["output_tokens"]) == (100, None)
    assert [one.code for one in run.findings] == ["tokens_untold"]
    assert steps_of(runs_dir, "output_tokens", "role = 'assistant'") == [(None,), (5,)]


def test_costs_of_older_versions_are_added_up(project, runs_dir):
    claude = Claude(A)
    put(project / f"{A}.jsonl", claude.answer("m1", text("1"), costUSD=0.25),
        claude.answer("m2", text("2"), costUSD=0.5))  # fmt: skip

    row = only(imported(FORM, project, runs_dir))

    assert (row["cost_usd"], row["cost_source"]) == (0.75, "provider")


def test_a_torn_last_line_costs_that_line_alone(project, runs_dir):
    put(project / f"{A}.jsonl", text=lines(*session())[:-30])

    (run,) = imported(FORM, project, runs_dir)

    assert [one.code for one in run.findings] == ["torn_line"]
    assert only([run])["output_tokens"] == 20


def test_lines_in_the_middle_that_are_none_are_told(project, runs_dir):
    put(project / f"{A}.jsonl", text="{oops\n" + lines(*session()))

    (run,) = imported(FORM, project, runs_dir)

    assert [one.code for one in run.findings] == ["lines_unread"]
    assert only([run])["output_tokens"] == 25


def test_sessions_without_an_answer_and_other_files_are_told_and_left_out(project, runs_dir):
    put(project / f"{A}.jsonl", *session())
    put(project / f"{B}.jsonl", Claude(B).user("Hi"))
    put(project / "notes.jsonl", {"a": 1})

    (run,) = imported(FORM, project, runs_dir)

    assert (run.n_trials, sorted(one.code for one in run.findings)) == (
        1, ["no_answer", "no_session"],
    )  # fmt: skip
    assert not (run.run_dir / "source" / "notes.jsonl").exists()


def test_every_project_is_a_run_and_one_file_is_too(project, runs_dir, tmp_path):
    put(project / f"{A}.jsonl", *session())
    put(project.parent / "-srv-x" / f"{B}.jsonl", *session(B))
    put(project.parent / "-empty" / "agent-1.jsonl", Claude(B).user("Hi"))

    written = imported(FORM, project.parent, runs_dir)
    (alone,) = imported(FORM, project / f"{A}.jsonl", runs_dir)

    names = ["claude-code_home-me-proj", "claude-code_srv-x"]
    assert [one.run_dir.name for one in written] == names
    assert alone.run_dir.name == f"claude-code_home-me-proj_{A[:8]}"
    found = detect(tmp_path / "projects")
    assert [(one.path.name, one.format) for one in found][-2:] == [
        ("-home-me-proj", FORM), ("-srv-x", FORM),
    ]  # fmt: skip
    with pytest.raises(ConfigError, match="2 projects"):
        imported(FORM, project.parent, runs_dir, run_id="one")


@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl", "{}\n"), ("a.jsonl", ""), ("a.txt", "x")]
)
def test_what_is_no_session_is_refused_in_a_sentence(tmp_path, runs_dir, name, content):
    (tmp_path / "x").mkdir()
    path = tmp_path / "x" / name
    path.write_text(content)

    for one, what in ((path, "is no session"), (path.parent, "holds no session"),
                      (tmp_path / "no", "not there")):  # fmt: skip
        with pytest.raises(ConfigError, match=what):
            imported(FORM, one, runs_dir)
    assert not runs_dir.exists()
    assert detect(path.parent) == []


def test_real_sessions_have_the_tokens_that_were_served(project, runs_dir):
    name = "51efecaa-d1f0-4ea1-9a3c-28eba4155f7c"
    inner = project / name / "subagents"
    inner.mkdir(parents=True)
    shutil.copy(SAMPLES / "claude-2.1.197-parent.jsonl", project / f"{name}.jsonl")
    shutil.copy(SAMPLES / "claude-2.1.197-started.jsonl", inner / "agent-a0bbf22755092f6e3.jsonl")

    row = only(imported(FORM, project, runs_dir))

    assert (row["input_tokens"], row["cached_input_tokens"], row["output_tokens"]) == (410, 160, 50)
    assert (row["tool_calls"], row["raw_output"]) == (["Agent", "Bash"], "It has looked.")
