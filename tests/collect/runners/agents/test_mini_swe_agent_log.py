"""Trajectories of mini-swe-agent 2.4.6, as it left them beside a scripted endpoint."""

import pytest

from tests.support.agent_logs import brief, log_of, main_of, noted, tokens

SUBMITTED = "mini-swe-agent-2.4.6-submitted.json"


@pytest.fixture
def model(project):
    project.case()
    return project.load().models[0]


def test_a_trajectory_is_what_was_served_and_done():
    entries = main_of(log_of("mini-swe-agent", SUBMITTED))

    assert [brief(one) for one in entries] == [
        ("system", "You are a helpful as"),
        ("user", "Please solve this is"),
        ("assistant", "Step 1.", ["bash"], (101, 40, 11)),
        ("tool_result", "", 0, False),
        ("assistant", "", ["bash", "bash"], (102, 40, 12)),
        ("tool_result", "cat: missing.md: No ", 3, True),
        ("tool_result", "report.md\n", 0, False),
        ("assistant", "Step 3.", ["bash"], (103, 40, 13)),
        ("tool_result", "action was not execu", None, True),
    ]
    first = entries[2]
    assert (first.response_id, first.served_model, first.finish_reason, first.at_ms) == (
        "chatcmpl-1", "served-m", "tool_calls", 1795740832846,
    )  # fmt: skip
    assert first.calls[0].arguments == {"command": "echo by the agent > report.md"}
    assert first.cost_usd is None
    assert tokens(entries) == (306, 120, 36)


def test_what_was_killed_has_what_was_done():
    entries = main_of(log_of("mini-swe-agent", "mini-swe-agent-2.4.6-killed.json"))

    assert [brief(one) for one in entries[2:]] == [
        ("assistant", "Step 1.", ["bash"], (104, 40, 14)),
        ("tool_result", "", 0, False),
    ]


def test_a_refusal_is_an_error():
    entries = main_of(log_of("mini-swe-agent", "mini-swe-agent-2.4.6-refused.json"))

    assert [one.kind for one in entries] == ["system", "user", "error"]
    assert entries[-1].error.startswith("litellm.AuthenticationError")


def test_answers_that_could_not_be_followed_are_answers():
    entries = main_of(log_of("mini-swe-agent", "mini-swe-agent-2.4.6-unfollowed.json"))

    assert [brief(one) for one in entries[4:]] == [
        ("assistant", "No tool call here.", (114, 40, 24)),
        ("system", "Tool call error:\n\n<e"),
        ("assistant", "No tool call here.", (115, 40, 25)),
        ("system", "Tool call error:\n\n<e"),
        ("assistant", "No tool call here.", (116, 40, 26)),
        ("system", "Tool call error:\n\n<e"),
        ("error", "RepeatedFormatError"),
    ]


def test_the_steps_have_the_tokens_of_the_answers(model):
    _, rows = noted(log_of("mini-swe-agent", SUBMITTED), model)

    assert sum(one["input_tokens"] or 0 for one in rows) == 306
    assert sum(one["output_tokens"] or 0 for one in rows) == 36
