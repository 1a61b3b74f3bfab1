"""Logs of Codex 0.171.0, as it left them beside a scripted endpoint, become entries."""

import json

import pytest

from tests.support.agent_logs import SAMPLES, brief, log_of, main_of, noted, read, tokens

SESSION = "codex-0.171.0-session.jsonl"
PRINTED = ("codex-0.171.0-printed-1.jsonl", "codex-0.171.0-printed-2.jsonl")
SERVED = (515, 200, 65)
"""What the endpoint counted: answers of 101 to 105 tokens in, 40 cached, and 11 to 15 out."""


@pytest.fixture
def model(project):
    project.case()
    return project.load().models[0]


def lines_of(name):
    return [json.loads(one) for one in (SAMPLES / name).read_text().splitlines()]


def raw(lines):
    return "\n".join(json.dumps(one) for one in lines).encode()


def test_a_session_has_each_answer_with_its_own_tokens():
    entries = main_of(log_of("codex", SESSION))

    assert [brief(one) for one in entries] == [
        ("system", "<skills_instructions"),
        ("system", "<environment_context"),
        ("user", "Make a report. <<thi"),
        ("assistant", "Step 1.", ["exec_command"], (101, 40, 11)),
        ("tool_result", "Chunk ID: ec0a6b\nWal", 0, False),
        ("assistant", "", ["exec_command"], (102, 40, 12)),
        ("tool_result", "Chunk ID: 3373c3\nWal", 3, True),
        ("assistant", "The report is writte", (103, 40, 13)),
        ("user", "Add a line. <<tool a"),
        ("assistant", "Step 1.", ["apply_patch"], (104, 40, 14)),
        ("tool_result", "unsupported custom t", None, False),
        ("assistant", "One more line.", (105, 40, 15)),
    ]
    first = entries[3]
    assert (first.reasoning, first.response_id) == ("I shall write it.", "resp_1")
    assert first.usage["reasoning_tokens"] == 3
    assert first.calls[0].arguments == {"cmd": "echo by the agent > report.md"}
    assert first.calls[0].call_id == entries[4].call_id == "call_1_0"
    assert (first.at_ms, entries[4].duration_ms) == (1795740702809, 0)
    assert tokens(entries) == SERVED


def test_what_was_printed_counts_over_the_whole_session():
    entries = main_of(log_of("codex", *PRINTED))

    assert [brief(one) for one in entries] == [
        ("system", "Model metadata for `"),
        ("assistant", "Step 1.", ["command_execution"]),
        ("tool_result", "", 0, False),
        ("assistant", "", ["command_execution"]),
        ("tool_result", "cat: missing.md: No ", 3, True),
        ("assistant", "The report is writte", (306, 120, 36)),
        ("system", "Model metadata for `"),
        ("assistant", "Step 1."),
        ("assistant", "One more line.", (209, 80, 29)),
    ]
    assert tokens(entries) == SERVED
    assert entries[1].calls[0].call_id == entries[2].call_id


@pytest.mark.parametrize("names", [(SESSION, *PRINTED), (*PRINTED, SESSION)])
def test_what_stands_in_both_counts_once(names):
    assert tokens(main_of(log_of("codex", *names))) == SERVED


def test_older_sessions_tell_of_tokens_by_events_alone():
    lines = [one for one in lines_of(SESSION) if one["type"] != "token_usage_record"]
    at = next(n for n, one in enumerate(lines) if one["payload"].get("type") == "token_count")
    lines.insert(at + 1, lines[at])  # as it does when limits change

    entries = main_of(read("codex", {"s.jsonl": raw(lines)}))

    answers = [brief(one)[-1] for one in entries if one.kind == "assistant"]
    assert answers == [(101, 40, 11), (102, 40, 12), (103, 40, 13), (104, 40, 14), (105, 40, 15)]


def test_a_turn_that_was_killed_is_paid_by_the_next():
    session = main_of(log_of("codex", "codex-0.171.0-killed.jsonl"))
    names = ("codex-0.171.0-killed-printed-1.jsonl", "codex-0.171.0-killed-printed-2.jsonl")
    printed = main_of(log_of("codex", *names))

    assert tokens(session) == tokens(printed) == (106 + 108 + 109 + 110, 160, 16 + 18 + 19 + 20)
    assert brief(session[3])[-1] == (106, 40, 16)
    assert len({one.call_id for one in printed if one.kind == "tool_result"}) == 3


def test_a_refused_turn_is_an_error():
    (error,) = main_of(log_of("codex", "codex-0.171.0-refused.jsonl"))[3:]
    printed = main_of(log_of("codex", "codex-0.171.0-refused-printed.jsonl"))

    assert error.kind == "error"
    assert error.error.startswith("unexpected status 401 Unauthorized: scripted")
    assert [one.error[:24] for one in printed[1:]] == [
        "Reconnecting... 1/1 (une", "unexpected status 401 Un",
    ]  # fmt: skip


def test_a_compaction_is_between_the_answers_and_its_own_is_paid():
    entries = main_of(log_of("codex", "codex-0.171.0-compacted.jsonl"))

    assert [brief(one)[0::2] for one in entries[3:]][:4] == [
        ("assistant", ["exec_command"]),
        ("tool_result", 0),
        ("assistant", ["exec_command"]),
        ("compaction",),
    ]
    assert [one.usage["input_tokens"] for one in entries if one.usage] == [123, 124, 125, 126]


def test_sessions_that_another_one_started_have_paths_of_their_own():
    names = ("codex-0.171.0-parent.jsonl", "codex-0.171.0-started.jsonl")
    log = log_of("codex", *names, "codex-0.171.0-parent-printed.jsonl")

    main, started = log.trajectories
    assert (main.path, started.path) == ("main", "main/01a21a8c-d79e-7651-9a88-48c4f08fe37b")
    assert [brief(one) for one in started.entries[2:]] == [
        ("user", "Look around. ((tool "),
        ("assistant", "Step 1.", ["exec_command"], (103, 40, 13)),
        ("tool_result", "Wall time: 0.1 secon", None, False),
        ("system", "<turn_aborted>\nThe u"),
        ("error", "the turn was ended: "),
    ]
    assert tokens(main.entries) == (203, 80, 23)


def test_sessions_of_sessions_have_longer_paths():
    lines = lines_of("codex-0.171.0-started.jsonl")
    inner = json.loads(json.dumps(lines))
    inner[0]["payload"] |= {"id": "inner", "parent_thread_id": lines[0]["payload"]["id"]}
    ring = json.loads(json.dumps(lines))
    ring[0]["payload"] |= {"id": "ring", "parent_thread_id": "ring"}

    log = read("codex", {"a": raw(inner), "b": raw(lines), "c": raw(ring)})

    first = "main/01a21a8c-d79e-7651-9a88-48c4f08fe37b"
    assert [one.path for one in log.trajectories] == [
        f"{first}/inner", first, "/".join(["main", *["ring"] * 8]),
    ]  # fmt: skip


def test_a_fork_counts_what_it_did_itself():
    entries = main_of(log_of("codex", "codex-0.171.0-forked.jsonl"))

    assert [brief(one) for one in entries] == [
        ("user", "Fork it. <<say Forke"), ("assistant", "Forked.", (104, 40, 14)),
    ]  # fmt: skip


def test_the_steps_of_a_session_have_its_tokens(model):
    _, rows = noted(log_of("codex", SESSION), model)

    assert sum(one["input_tokens"] or 0 for one in rows) == 515
    assert sum(one["output_tokens"] or 0 for one in rows) == 65
    failed = next(one for one in rows if one["exit_code"] == 3)
    assert (failed["tool"], failed["is_error"]) == ("exec_command", True)
