"""Events of OpenCode 1.18.33, as it printed them beside a scripted endpoint, become entries."""

import pytest

from tests.support.agent_logs import brief, log_of, main_of, noted, tokens

PRINTED = ("opencode-1.18.33-printed-1.jsonl", "opencode-1.18.33-printed-2.jsonl")


@pytest.fixture
def model(project):
    project.case()
    return project.load().models[0]


def test_two_turns_are_the_answers_that_were_served():
    entries = main_of(log_of("opencode", *PRINTED))

    assert [brief(one) for one in entries] == [
        ("assistant", "Step 1.", ["write"], (102, 40, 12)),
        ("tool_result", "Wrote file successfu", None, False),
        ("assistant", "", ["bash", "read"], (103, 40, 13)),
        ("tool_result", "File not found: /wor", None, True),
        ("tool_result", "cat: missing.md: No ", 3, True),
        ("assistant", "The report is writte", (104, 40, 14)),
        ("assistant", "Step 1.", ["bash"], (105, 40, 15)),
        ("tool_result", "more", 0, False),
        ("assistant", "One more line.", (106, 40, 16)),
    ]
    first, wrote = entries[:2]
    assert first.usage["reasoning_tokens"] == 3
    assert (first.at_ms, wrote.at_ms, wrote.duration_ms) == (1795740738414, 1795740738457, 27)
    assert first.calls[0].arguments["content"] == "by the agent\n"
    assert tokens(entries) == (520, 200, 70)


def test_thoughts_are_kept_where_they_are_printed():
    entries = main_of(log_of("opencode", "opencode-1.18.33-thinking.jsonl"))

    assert {one.reasoning for one in entries if one.kind == "assistant"} == {"I shall write it."}


def test_a_step_that_was_cut_off_before_anything_came_is_none():
    entries = main_of(log_of("opencode", "opencode-1.18.33-killed.jsonl"))

    assert [brief(one) for one in entries] == [
        ("assistant", "Step 1.", ["bash"], (108, 40, 18)),
        ("tool_result", "(no output)", 0, False),
    ]


def test_a_refusal_is_an_error():
    (entry,) = main_of(log_of("opencode", "opencode-1.18.33-refused.jsonl"))

    assert (entry.kind, entry.error) == ("error", "scripted")


def test_the_steps_have_the_tokens_of_the_answers(model):
    _, rows = noted(log_of("opencode", *PRINTED), model)

    assert sum(one["input_tokens"] or 0 for one in rows) == 520
    assert sum(one["output_tokens"] or 0 for one in rows) == 70
