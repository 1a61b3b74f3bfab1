"""Whatever stands in an agent's log becomes events that readers take, and never an exception."""

import json

import pytest

from collect.config.runners import TRACE_FORMATS
from tests.support.agent_logs import SAMPLES, log_of, noted, read, spoiled
from tests.support.hostile_strings import MEGABYTE

FORMS = ("claude", "codex", "opencode", "mini-swe-agent")
NAMES = sorted(path.name for path in SAMPLES.iterdir())


@pytest.fixture
def model(project):
    project.case()
    return project.load().models[0]


def form_of(name):
    return next(one for one in FORMS if name.startswith(one))


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_shows_no_place_and_nobody_of_where_it_was_made(name):
    raw = (SAMPLES / name).read_text()

    assert len(raw.encode()) < 60_000
    assert not any(one in raw for one in ("/tmp/", "/root/", "/opt/", "/work/"))
    assert log_of(form_of(name), name).trajectories


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_becomes_events_that_readers_take(model, name):
    events, _ = noted(log_of(form_of(name), name), model)

    assert [one["sequence"] for one in events] == [*range(len(events))]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(8))
def test_strange_values_in_any_place_are_passed_over(model, name, seed):
    raw = spoiled((SAMPLES / name).read_bytes(), seed)

    events, _ = noted(read(form_of(name), {name: raw, "again.jsonl": raw}), model)

    assert [one["sequence"] for one in events] == [*range(len(events))]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"\xff\xfe", b"[]", b"null", b"[" * 100_000, b'{"a":' * 1_000, b"\n" * 10_000],
    ids=lambda raw: str(raw[:8]),
)
def test_what_is_no_log_is_noted(model, form, raw):
    log = read(form, {"a": raw, "b": raw})

    assert bool(log.notes) == bool(raw.strip() or form == "mini-swe-agent")
    noted(log, model)


@pytest.mark.parametrize("name", [one for one in NAMES if one.endswith(".jsonl")])
def test_a_torn_line_is_noted_and_the_others_are_read(name):
    lines = (SAMPLES / name).read_bytes().splitlines()
    torn = b"\n".join([*lines, lines[-1][:-9]])

    log = read(form_of(name), {name: torn})

    assert log.notes == (f"{name}: 1 lines are no JSON objects",)
    assert log.trajectories == log_of(form_of(name), name).trajectories


LONG = {
    "claude": {"type": "assistant", "message": {"id": "m", "content": MEGABYTE}},
    "codex": {"type": "item.completed", "item": {"type": "agent_message", "text": MEGABYTE}},
    "opencode": {"type": "text", "part": {"messageID": "m", "text": MEGABYTE}},
    "mini-swe-agent": {"messages": [{"role": "assistant", "content": MEGABYTE}]},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_line_of_megabytes_is_a_text(form):
    (main,) = read(form, {"a": json.dumps(LONG[form]).encode()}).trajectories

    assert [one.text for one in main.entries] == [MEGABYTE]


DEEP = {
    "codex": {"type": "response_item", "payload": {"type": "function_call", "arguments": "?"}},
    "mini-swe-agent": {
        "messages": [{"role": "assistant", "tool_calls": [{"function": {"arguments": "?"}}]}]
    },
}


@pytest.mark.parametrize("form", DEEP)
def test_arguments_that_no_trace_can_hold_stay_text(model, form):
    spelled = '{"a":' * 300 + "1" + "}" * 300

    log = read(form, {"a": json.dumps(DEEP[form]).replace('"?"', json.dumps(spelled)).encode()})

    events, _ = noted(log, model)
    (call,) = (one for one in events if one["event_type"] == "tool_call")
    assert call["parsed_arguments"] == spelled


MANY = {
    "claude": {"type": "assistant", "message": {"id": "m", "content": "x"}},
    "codex": {"type": "item.completed", "item": {"id": "i", "type": "command_execution"}},
    "opencode": {"type": "tool_use", "part": {"messageID": "m", "state": {}}},
}


@pytest.mark.peers
@pytest.mark.timeout(60)  # by looking at all before each: minutes
@pytest.mark.parametrize("form", MANY)
def test_very_many_lines_are_read_in_one_go(form):
    line = json.dumps(MANY[form]).encode()

    assert read(form, {"a": b"\n".join([line] * 100_000)}).trajectories


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_known_by_its_name(form):
    assert form in TRACE_FORMATS
