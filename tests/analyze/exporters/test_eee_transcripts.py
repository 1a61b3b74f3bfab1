"""What was said in a trial: which words were input, what the answer was, whose turn was whose."""

import pytest

from analyze.exporters.eee.transcript import transcript_of
from schemas.run.trace import Artifact
from tests.support.run_rows import trace


def said(role, content, **fields):
    return "message", {"role": role, "content": content} | fields


def traced(*events, **fields):
    return Artifact.model_validate(trace("r", "m", "c", 1, *events, **fields))


DIALOGUE = (said("user", "1?"), said("assistant", "1"), said("user", "2?"), said("assistant", "2"))


@pytest.mark.parametrize(
    ("runner", "interaction", "raw"),
    [
        ("llm_probe", "single_turn", "user: 1?\n\nassistant: 1\n\nuser: 2?"),
        ("inspect", "multi_turn", "1?"),
        ("agent", "agentic", "1?"),
    ],
)
def test_earlier_answers_are_input_where_one_request_was_made(runner, interaction, raw):
    found = transcript_of({}, traced(*DIALOGUE), "", runner)

    assert (found.interaction, found.raw_input) == (interaction, raw)
    assert [one["content"] for one in found.messages] == ["1?", "1", "2?", "2"]


def test_a_stored_case_says_what_its_input_was():
    case = {"messages": [{"role": "user", "content": "1?"}], "turns": [{"content": "2?"}]}

    found = transcript_of(case, traced(*DIALOGUE), "", "self_check")

    assert (found.interaction, found.raw_input) == ("multi_turn", "user: 1?\n\nuser: 2?")


def test_an_agent_without_a_trace_has_its_input_and_its_answer():
    found = transcript_of(
        {"messages": [{"role": "user", "content": "Do."}]}, None, "Done.", "command"
    )

    assert (found.interaction, found.is_whole, found.tool_calls) == ("agentic", False, None)
    assert [(one["role"], one["content"]) for one in found.messages] == [
        ("user", "Do."), ("assistant", "Done."),
    ]  # fmt: skip


def test_nothing_is_made_of_what_nobody_kept():
    found = transcript_of({}, None, "Done.", "llm_probe")

    assert (found.raw_input, found.answer) == (None, "Done.")


def test_arguments_are_texts_and_copied_context_is_told_once():
    call = {"call_id": "1", "tool_name": "add", "raw_arguments": "{}",
            "parsed_arguments": {"n": 1, "to": "x", "all": [True]}}  # fmt: skip
    copied = said("user", "again", is_copied_context=True)

    found = transcript_of(
        {}, traced(said("user", "Go."), copied, ("tool_call", call)), "", "llm_probe"
    )

    assert [one["content"] for one in found.messages] == ["Go.", None]
    (made,) = found.messages[1]["tool_calls"]
    assert made["arguments"] == {"n": "1", "to": "x", "all": "[true]"}


def test_a_final_text_that_no_message_has_is_the_last_message():
    final = ("final_output", {"content": "42"})

    found = transcript_of({}, traced(*DIALOGUE, final), "cut", "inspect")

    assert (found.answer, found.messages[-1]) == (
        "42", {"turn_idx": 4, "role": "assistant", "content": "42"},
    )  # fmt: skip
