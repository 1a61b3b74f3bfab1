"""Logs of Claude Code 2.1.197, as it left them beside a scripted endpoint, become entries."""

import json

import pytest

from tests.support.agent_logs import SAMPLES, brief, log_of, main_of, noted, read, tokens

SESSION = "claude-2.1.197-session.jsonl"
PRINTED = ("claude-2.1.197-printed-1.jsonl", "claude-2.1.197-printed-2.jsonl")
SERVED = (515, 200, 65)
"""What the endpoint counted: answers of 101 to 105 tokens in, 40 cached, and 11 to 15 out."""


@pytest.fixture
def model(project):
    project.case()
    return project.load().models[0]


def line(kind, content, **fields):
    message = {"role": kind, "content": content} | fields.pop("message", {})
    return json.dumps({"type": kind, "message": message} | fields).encode()


def text(said):
    return [{"type": "text", "text": said}]


def test_a_session_has_each_answer_once_with_its_own_tokens():
    entries = main_of(log_of("claude", SESSION))

    assert [brief(one) for one in entries] == [
        ("user", "Make a report. <<thi"),
        ("assistant", "Step 1.", ["Bash"], (101, 40, 11)),
        ("tool_result", "(Bash completed with", None, False),
        ("assistant", "", ["Bash", "Read"], (102, 40, 12)),
        ("tool_result", "Exit code 3\ncat: mis", 3, True),
        ("tool_result", "1\tby the agent\n2\t", None, False),
        ("assistant", "The report is writte", (103, 40, 13)),
        ("user", "Add a line. <<tool E"),
        ("assistant", "Step 1.", ["Edit"], (104, 40, 14)),
        ("tool_result", "The file /workspace/", None, False),
        ("assistant", "One more line.", (105, 40, 15)),
    ]
    first = entries[1]
    assert (first.reasoning, first.response_id, first.served_model, first.finish_reason) == (
        "I shall write it.", "msg_1", "served-m", "tool_use",
    )  # fmt: skip
    assert first.usage["cache_write_tokens"] == 10
    assert first.calls[0].call_id == entries[2].call_id == "toolu_1_0"
    assert first.calls[0].arguments["command"] == "echo by the agent > report.md"
    assert (first.at_ms, first.source) == (1795740704272, f"{SESSION}#4")
    assert tokens(entries) == SERVED


def test_what_was_printed_has_the_output_of_a_turn_at_its_last_answer():
    entries = main_of(log_of("claude", *PRINTED))

    answers = [brief(one) for one in entries if one.kind == "assistant"]
    assert answers == [
        ("assistant", "Step 1.", ["Bash"], (101, 40, None)),
        ("assistant", "", ["Bash", "Read"], (102, 40, None)),
        ("assistant", "The report is writte", (103, 40, 36)),
        ("assistant", "Step 1.", ["Edit"], (104, 40, None)),
        ("assistant", "One more line.", (105, 40, 29)),
    ]
    assert tokens(entries) == SERVED


@pytest.mark.parametrize("names", [(SESSION, *PRINTED), (*PRINTED, SESSION)])
def test_what_stands_in_both_counts_once(names):
    entries = main_of(log_of("claude", *names))

    assert tokens(entries) == SERVED
    assert len([one for one in entries if one.kind == "tool_result"]) == 4


def test_partial_messages_say_what_each_answer_was():
    entries = main_of(log_of("claude", "claude-2.1.197-partial.jsonl"))

    answers = [brief(one)[-1] for one in entries if one.kind == "assistant"]
    assert answers == [(121, 40, 31), (122, 40, 32), (123, 40, 33)]


def test_a_session_that_was_killed_has_what_was_answered():
    entries = main_of(log_of("claude", "claude-2.1.197-killed.jsonl"))

    assert [brief(one) for one in entries] == [
        ("user", "Begin. <<tool Bash {"),
        ("assistant", "Step 1.", ["Bash"], (106, 40, 16)),
        ("tool_result", "(Bash completed with", None, False),
    ]


def test_each_refused_request_is_an_answer_that_never_came():
    entries = main_of(log_of("claude", "claude-2.1.197-refused.jsonl"))

    assert [(one.is_failed, one.error, one.usage) for one in entries] == [
        (True, "HTTP 401: authentication_failed", None),
        (True, "Failed to authenticate. API Error: 401 scripted", None),
    ]


STARTED = "p/subagents/agent-a0bbf22755092f6e3.jsonl"


def test_an_agent_that_was_started_has_a_path_of_its_own():
    files = {
        "p.jsonl": (SAMPLES / "claude-2.1.197-parent.jsonl").read_bytes(),
        STARTED: (SAMPLES / "claude-2.1.197-started.jsonl").read_bytes(),
        "p/subagents/agent-a0bbf22755092f6e3.meta.json": b'{"agentType": "general-purpose"}',
        "turn-1.out": (SAMPLES / "claude-2.1.197-started-printed.jsonl").read_bytes(),
    }

    log = read("claude", files)

    main, started = log.trajectories
    assert (main.path, started.path) == ("main", "main/a0bbf22755092f6e3")
    assert [brief(one) for one in started.entries] == [
        ("user", "Look around. ((tool "),
        ("assistant", "Step 1.", ["Bash"], (102, 40, 12)),
        ("tool_result", "inner.md", None, False),
        ("assistant", "Nothing is here.", (103, 40, 13)),
    ]
    assert [brief(one)[-1] for one in main.entries if one.kind == "assistant"] == [
        (101, 40, 11), (104, 40, 14),
    ]  # fmt: skip
    assert [one.duration_ms for one in main.entries if one.kind == "tool_result"] == [243]


def test_what_a_parent_repeats_of_an_agent_counts_once():
    started = (SAMPLES / "claude-2.1.197-started.jsonl").read_bytes()
    parent = (SAMPLES / "claude-2.1.197-parent.jsonl").read_bytes() + started

    log = read("claude", {"p.jsonl": parent, STARTED: started})

    assert [tokens(one.entries) for one in log.trajectories] == [(205, 80, 25), (205, 80, 25)]


def test_what_is_printed_of_an_agent_has_the_same_path():
    log = log_of("claude", "claude-2.1.197-started-printed.jsonl")

    main, started = log.trajectories
    assert started.path == "main/a0bbf22755092f6e3"
    assert tokens(main.entries) == (205, 80, 25)


def test_a_fork_has_taken_over_what_was_before_it():
    entries = main_of(log_of("claude", "claude-2.1.197-forked.jsonl"))

    assert [one.is_copied for one in entries] == [True] * 9 + [False] * 2
    assert tokens(entries) == (110, 40, 20)


def test_what_a_fork_took_over_counts_where_it_happened():
    forked = (SAMPLES / "claude-2.1.197-forked.jsonl").read_bytes()
    lines = forked.splitlines()[3:17]

    entries = main_of(read("claude", {"a.jsonl": forked, "b.jsonl": b"\n".join(lines)}))

    assert tokens(entries) == (105 + 106 + 107 + 109 + 110, 200, 15 + 16 + 17 + 19 + 20)


def test_a_compaction_has_its_summary():
    entries = main_of(log_of("claude", "claude-2.1.197-compacted-printed.jsonl"))

    assert [(one.kind, one.tokens_before) for one in entries] == [
        ("compaction", 130), ("system", None),
    ]  # fmt: skip
    assert "The report is written." in entries[0].text


def test_a_limit_of_turns_is_an_error():
    entries = main_of(log_of("claude", "claude-2.1.197-limit.jsonl"))

    assert brief(entries[-1]) == ("error", "Reached maximum numb")


def test_a_block_that_grows_is_kept_as_it_was_last():
    said = [
        line("assistant", text(part), message={"id": "m", "usage": {"output_tokens": n}})
        for n, part in enumerate(["On", "One", "One", "Two"])
    ]

    (entry,) = main_of(read("claude", {"a": b"\n".join(said)}))

    assert entry.text == "One\nTwo"


def test_the_steps_of_a_session_have_its_tokens(model):
    _, rows = noted(log_of("claude", SESSION), model)

    answered = [one for one in rows if one["role"] == "assistant" or one["kind"] == "tool_call"]
    assert sum(one["input_tokens"] or 0 for one in answered) == 515
    assert sum(one["output_tokens"] or 0 for one in answered) == 65
    failed = next(one for one in rows if one["exit_code"] == 3)
    assert (failed["tool"], failed["is_error"]) == ("Bash", True)
