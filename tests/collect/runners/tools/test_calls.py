"""Calls as servers and models really write them: what is read of each, and what is sent back."""

import json

import pytest

from collect.config.tools import TOOLS
from collect.providers.base import ToolCall
from collect.runners.tools.base import ToolResult, bounded, cut_middle, shown_text, stored_output
from collect.runners.tools.calls import misfit, parsed_calls

PATH = {"path": "a.txt"}
TWO = '{"path": "a"}{"path": "b"}'


def parsed(*arguments, ids=None):
    ids = ids or [f"id{number}" for number in range(len(arguments))]
    calls = [ToolCall(one, "read_file", raw) for one, raw in zip(ids, arguments, strict=True)]
    return parsed_calls(calls, 1, set())


def test_a_call_is_sent_back_as_the_model_wrote_it():
    raw = '{ "path" :"a.txt"}'

    (call,) = parsed(raw)

    assert (call.arguments, call.raw, call.repair, call.problem) == (PATH, raw, None, None)
    assert call.wire == {"call_id": "id0", "name": "read_file", "arguments": raw}


@pytest.mark.parametrize("raw", [TWO, '{"path": "a"}\n {"path": "b"}'])
def test_arguments_of_two_calls_in_one_are_two_calls(raw):
    first, second = parsed(raw)

    assert (first.arguments, second.arguments) == ({"path": "a"}, {"path": "b"})
    assert (first.repair, second.repair) == ("split", "split")
    assert first.call_id != second.call_id
    assert json.loads(second.wire["arguments"]) == {"path": "b"}


def test_arguments_that_are_json_inside_a_json_text_are_read():
    (call,) = parsed(json.dumps(json.dumps(PATH)))

    assert (call.arguments, call.repair) == (PATH, "unquoted")
    assert json.loads(call.wire["arguments"]) == PATH


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ('{"path": "a', "the arguments are not valid JSON: "),
        ("{path: a}", "the arguments are not valid JSON: "),
        ('{"path": "a"} and more', "the arguments are not valid JSON: "),
        ('{"path": NaN}', "the arguments are not valid JSON: NaN is no JSON"),
        ('{"path": "\\ud800"}', "the arguments are not valid JSON: "),
        ('{"path": ' + "9" * 5_000 + "}", "the arguments are not valid JSON: "),
        ("[" * 100_000, "the arguments are not valid JSON: nested too deeply"),
        ("", "the arguments are empty"),
        ("  \n", "the arguments are empty"),
        ("null", "the arguments are no JSON object (found NoneType)"),
        ('["a"]', "the arguments are no JSON object (found list)"),
        ('{"path": "a"}["b"]', "the arguments are no JSON object (found dict, list)"),
        ('"not json inside"', "the arguments are not valid JSON: "),
        ("{}" * 2_000_000, "the arguments are more than 32 JSON values"),
    ],
    ids=lambda value: value[:20],
)  # fmt: skip
def test_what_is_no_object_stays_as_it_is_and_is_said(raw, problem):
    (call,) = parsed(raw)

    assert call.arguments is None
    assert call.problem.startswith(problem)
    assert call.raw == raw
    assert json.loads(call.wire["arguments"]) == {"malformed_arguments": raw}


@pytest.mark.parametrize(
    "ids", [["", ""], ["same", "same"], ["", "call_1_1"], ["call_1_2", ""], ["call_2_1", ""]]
)
def test_every_call_has_an_id_of_its_own(ids):
    taken = set()
    calls = [ToolCall(one, "read_file", '{"path": "a"}') for one in ids]

    found = [one.call_id for turn in (1, 2) for one in parsed_calls(calls, turn, taken)]

    assert len(set(found)) == 4
    assert all(found)
    assert set(found) == taken


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("read_file", {"path": "a"}, None),
        ("read_file", {}, "`path` is missing"),
        ("read_file", {"path": 3}, "`path` must be of the type string"),
        ("read_file", {"path": None}, "`path` must be of the type string"),
        ("read_file", {"path": "a", "mode": "r"}, "`mode` is no parameter; there are: path"),
        ("write_file", {"path": "a"}, "`content` is missing"),
    ],
)
def test_arguments_are_held_to_the_schema(name, arguments, problem):
    assert misfit(arguments, TOOLS[name].parameters) == problem


def test_a_boolean_is_no_number():
    parameters = {"properties": {"n": {"type": "integer"}}}

    assert misfit({"n": True}, parameters) == "`n` must be of the type integer"
    assert misfit({"n": 1, "more": 2}, parameters) is None


# ---- three sizes


def test_a_long_text_keeps_its_beginning_and_its_end():
    text = "begin" + "é" * 5_000 + "end"

    cut = cut_middle(text, 1_000)

    assert len(cut.encode()) <= 1_000
    assert cut.startswith("begin")
    assert cut.endswith("end")
    assert "of 10,008 bytes left out" in cut


@pytest.mark.parametrize("size", [0, 1, 100, 16_000, 17_000, 70_000, 1_000_000])
@pytest.mark.parametrize("letter", ["x", '"', "\x01", "é", "𝄞"])
def test_what_is_shown_and_kept_has_its_limit_whatever_is_in_it(size, letter):
    output = {"command": "c", "returncode": 0, "stdout": letter * size, "stderr": "short"}
    result = ToolResult(output=output, produced_bytes=size)

    shown, stored = shown_text(result), stored_output(result)

    assert len(shown.encode()) <= 16_384
    assert len(json.dumps(stored, ensure_ascii=False).encode()) <= 66_000
    message = json.loads(shown)
    assert message["status"] == "success"
    assert message["output"]["stderr"] == "short", "a short text is not cut for a long one"
    if size <= 100:
        assert message["output"] == output == stored


def test_many_texts_share_what_there_is():
    output = {str(number): "x" * 9_000 for number in range(20)}

    assert len(json.dumps(bounded(output, 4_000))) <= 4_400


@pytest.mark.parametrize(
    "output",
    [
        {"rows": [f"row {number}" for number in range(50_000)]},
        {"page": {"text": "x" * 100_000}, "note": "y" * 100_000},
        {"k" * 100_000: "v"},
    ],
    ids=["list", "nested", "name"],
)
def test_what_is_long_by_more_than_its_texts_has_its_limit_too(output):
    result = ToolResult(output=output)

    shown, stored = shown_text(result), stored_output(result)

    assert len(shown.encode()) <= 16_384
    assert len(json.dumps(stored)) <= 65_536
    assert "bytes left out" in json.loads(shown)["output"]["json"]
