"""What a hook is given of a trial has the shape that hooks were first written for."""

import dataclasses
import typing

import pytest

from collect.hooks.artifact import (
    EVENT_FIELDS,
    HookError,
    HookSubject,
    OutputArtifact,
    artifact_of,
)
from collect.hooks.child import Fields, with_attributes
from schemas.failures import TrialStatus
from schemas.run.trace import TraceEvent
from tests.support.judged import FACTS
from tests.support.pae_tree import run

NOW_MS = 1_772_366_400_250


def made(**facts):
    return artifact_of(HookSubject(**{**FACTS, **facts}), "/workspace")


def keys(value):
    return {name: keys(inner) for name, inner in value.items()} if isinstance(value, dict) else None


def test_it_has_every_field_of_the_older_tool():
    older = run("m", "c", 1)
    ours = made(tool_names=("exec_shell",))

    for part, fields in keys(older).items():
        if fields is None:
            assert part in ours
            continue
        missing = set(fields) - set(ours[part])
        assert missing == set(), part
    assert set(ours) == set(older)
    normalized = set(older["usage"]["normalized"])
    assert set(ours["usage"]["normalized"]) == normalized
    parameters = older["request"]["execution_parameters"]
    assert list(ours["request"]["execution_parameters"]) == list(parameters)


def test_times_are_utc_and_seconds():
    timing = made(started_at_ms=NOW_MS, ended_at_ms=NOW_MS + 6_267)["timing"]

    assert timing == {
        "queued_at": "2026-03-01T12:00:00.250Z",
        "started_at": "2026-03-01T12:00:00.250Z",
        "completed_at": "2026-03-01T12:00:06.517Z",
        "duration_seconds": 6.267,
    }
    assert set(made()["timing"].values()) == {None}
    set_back = made(started_at_ms=NOW_MS, ended_at_ms=NOW_MS - 5)["timing"]
    assert set_back["duration_seconds"] == 0


def test_a_measured_duration_counts_more_than_two_clocks():
    timing = made(started_at_ms=NOW_MS, ended_at_ms=NOW_MS, duration_ms=1_500, queued_at_ms=0)

    assert timing["timing"]["duration_seconds"] == 1.5
    assert timing["timing"]["queued_at"] == "1970-01-01T00:00:00.000Z"


def test_tokens_are_added_up_where_both_are_known():
    both = made(input_tokens=3, output_tokens=4)["usage"]["normalized"]
    one = made(input_tokens=3)["usage"]["normalized"]
    nothing = made(input_tokens=0, output_tokens=0)["usage"]["normalized"]

    assert (both["total_tokens"], one["total_tokens"], nothing["total_tokens"]) == (7, None, 0)


@pytest.mark.parametrize("status", typing.get_args(TrialStatus))
def test_an_error_is_there_exactly_where_there_is_no_success(status):
    error = HookError(code="http_500", message="no", error_type="x", retryable=True)
    own = made(status=status)["error"]
    given = made(status=status, error=error)["error"]

    assert (own is None, given is None) == (status == "success",) * 2
    if status != "success":
        assert own["code"] == status
        assert given == {
            "code": "http_500", "message": "no", "error_type": "x", "retryable": True,
            "provider_code": None, "metadata": {},
        }  # fmt: skip


def test_every_kind_of_event_has_its_place():
    kinds = typing.get_args(typing.get_args(TraceEvent)[0])
    assert {kind.model_fields["event_type"].default for kind in kinds} == set(EVENT_FIELDS)
    for kind in kinds:
        assert set(EVENT_FIELDS[kind.model_fields["event_type"].default]) <= set(kind.model_fields)


def test_a_trace_is_numbered_anew_and_what_we_know_more_is_metadata():
    events = [
        {"sequence": 5, "at_ms": 9, "event_type": "tool_call", "call_id": "1", "tool_name": "t",
         "raw_arguments": "{}"},
        {"sequence": 7, "at_ms": 9, "event_type": "tool_result", "call_id": "1",
         "status": "error", "output": "x", "exit_code": 1, "shown": None},
    ]  # fmt: skip

    call, result = made(trace=events)["trace"]

    assert call == {
        "sequence": 0, "event_type": "tool_call", "timestamp": None, "call_id": "1",
        "tool_name": "t", "raw_arguments": "{}", "parsed_arguments": None,
        "metadata": {"at_ms": 9},
    }  # fmt: skip
    assert result["sequence"] == 1
    assert result["metadata"] == {"at_ms": 9, "exit_code": 1}


def test_a_file_has_an_address_inside():
    output = OutputArtifact(artifact_id="a", artifact_type="file", path="deep/a b.txt", byte_size=3)
    (found,) = made(output_artifacts=[output])["output_artifacts"]

    assert found["uri"] == "file:///workspace/deep/a%20b.txt"
    assert found["metadata"] == {"workspace_relative_path": "deep/a b.txt"}


def test_every_fact_of_a_subject_reaches_the_hook():
    """Where its files are is not told by their paths here."""
    elsewhere = {"snapshot", "case_folder", "hook_hashes"}
    for field in dataclasses.fields(HookSubject):
        if field.name in elsewhere:
            continue
        value = {
            "settings": {"temperature": 0.5}, "trace": [{"event_type": "final_output"}],
            "output_artifacts": [OutputArtifact(artifact_id="a", artifact_type="b", path="c")],
            "error": HookError(code="x", message="y"), "tool_names": ["x"],
        }.get(field.name, {"k": 1} if "metadata" in field.name else 7)  # fmt: skip
        base = {"status": "failed"}
        changed = {**base, "status": "invalid"} if field.name == "status" else {
            **base, field.name: value}  # fmt: skip

        assert made(**changed) != made(**base), field.name


def test_fields_say_what_there_is():
    fields = with_attributes({"a": [{"b": 1}]})

    assert (fields.a[0].b, type(fields.a[0])) == (1, Fields)
    with pytest.raises(AttributeError, match="no field 'c'; there are: a"):
        _ = fields.c
