"""Events of a trace to steps: turns, calls, errors, and what nobody should write into a trace."""

import hashlib
import json
import time

import pytest

from schemas.io.normal_text import normal_text
from schemas.lake.rows.tool_effects import act_of
from schemas.lake.rows.trace_steps import steps_of
from tests.support.run_rows import trace


def made(*events):
    """Return the steps of events `(event_type, fields)`, which are 0.4 s apart."""
    written = trace("r", "m", "c", 1, *events)["trace"]
    return whole(json.loads(json.dumps(written)), "artifacts/m.jsonl.zst#0", ("asked", "served"))


def whole(*given):
    """Return the steps of a trace that is one part."""
    (steps,) = steps_of(*given)
    return steps


def reply(**detail):
    return "runner", {"name": "provider_reply", "detail": detail}


def said(content, role="assistant", **fields):
    return "message", {"role": role, "content": content, **fields}


def call(name="exec_shell", call_id="1", **arguments):
    raw = json.dumps(arguments)
    return "tool_call", {"call_id": call_id, "tool_name": name, "raw_arguments": raw}


def result(output="ok", call_id="1", status="success", **fields):
    return "tool_result", {"call_id": call_id, "status": status, "output": output, **fields}


def of(steps, *names):
    return [tuple(row[name] for name in names) for row in steps.rows]


def test_an_answer_has_the_facts_of_its_reply():
    usage = {"input_tokens": 9, "output_tokens": 4, "usage_cached": "inside"}
    facts = {"e2e_ms": 300, "served_model": "s-1", "cost_usd": 0.25, "cost_source": "provider"}
    steps = made(said("Do.", "user"), reply(usage=usage, **facts), said("Well."))

    (user, answer) = steps.rows
    assert (user["turn_no"], answer["turn_no"]) == (0, 1)
    assert (answer["input_tokens"], answer["output_tokens"], answer["reasoning_tokens"]) == (
        9, 4, None,
    )  # fmt: skip
    assert (answer["served_model"], answer["requested_model"]) == ("s-1", "asked")
    assert (answer["cost_usd"], answer["cost_source"]) == (0.25, "provider")
    assert (answer["ended_at_ms"], answer["duration_ms"]) == (1_400, 300)
    assert answer["started_at_ms"] == 1_100
    assert [text for _, text, _ in steps.texts] == ["Do.", "Well."]


def test_an_answer_of_calls_alone_is_a_message_of_no_length():
    steps = made(reply(e2e_ms=7), call(), result(), reply(e2e_ms=8), said("Done."))

    assert of(steps, "kind", "turn_no", "duration_ms", "produced_bytes") == [
        ("message", 1, 7, 0),
        ("tool_call", 1, None, 2),
        ("tool_result", 1, None, 2),
        ("message", 2, 8, 5),
    ]


def test_turns_of_a_runner_that_notes_no_reply_are_told_by_what_follows_on_what():
    steps = made(
        said("Do.", "user"), said("hm", name="reasoning"), said("I look."), call(call_id="1"),
        call(call_id="2"), result(call_id="1"), result(call_id="2"), call(call_id="3"),
        result(call_id="3"), said("Done."), said("More."),
    )  # fmt: skip

    assert [row["turn_no"] for row in steps.rows] == [0, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4]
    assert steps.rows[1]["kind"] == "reasoning"


def test_a_conversation_that_is_given_has_no_turns():
    steps = made(said("a", "user"), said("b"), said("c", "user"), reply(), said("d"))

    assert of(steps, "turn_no", "served_model") == [(0, None)] * 3 + [(1, "served")]


def test_a_final_output_stands_for_an_answer_that_nobody_noted():
    alone = made(said("Do.", "user"), ("final_output", {"content": "It is."}))
    final_answer = made(
        said("Do.", "user"), said("It is."), ("final_output", {"content": "It is."})
    )

    assert of(alone, "kind", "role", "turn_no") == of(final_answer, "kind", "role", "turn_no")
    assert alone.texts[1][1] == "It is."


def test_a_final_output_is_the_text_of_a_reply_that_came_without_one():
    final = "final_output", {"content": "It is."}
    alone = made(said("Do.", "user"), reply(e2e_ms=3), final)
    after_calls = made(reply(), call(), result(), reply(), final)
    silent = made(reply(), call(), result(), reply(), ("final_output", {"content": ""}))

    assert of(alone, "kind", "turn_no", "duration_ms", "produced_bytes")[1:] == [
        ("message", 1, 3, 6)
    ]
    assert of(after_calls, "kind", "turn_no", "produced_bytes")[3:] == [("message", 2, 6)]
    assert of(silent, "kind", "turn_no", "produced_bytes")[3:] == [("message", 2, 0)]


def test_an_agent_that_another_one_started_does_not_answer_for_it():
    inner = said("Found.")[1] | {"trajectory": "main/search"}
    steps = made(("message", inner), ("final_output", {"content": "It is."}))

    assert of(steps, "trajectory", "turn_no") == [("main/search", 1), ("main", 1)]


def test_an_answer_of_calls_alone_says_where_its_reply_stood():
    steps = made(("runner", reply()[1] | {"source": "agent-7.jsonl#12"}), call(), result())

    assert [row["source"] for row in steps.rows] == [
        "agent-7.jsonl#12", "artifacts/m.jsonl.zst#0", "artifacts/m.jsonl.zst#0",
    ]  # fmt: skip


def test_a_cost_is_counted_along_where_no_tokens_are_known():
    usage = {"usage_cached": "inside", "usage_counts": "cumulative"}
    (row,) = made(reply(cost_usd=0.5, usage=usage)).rows

    assert (row["cost_usd"], row["usage_counts"], row["usage_cached"]) == (0.5, "cumulative", None)


@pytest.mark.parametrize(
    ("fields", "error_class"),
    [
        ({}, None),
        ({"exit_code": 0, "ended_by": "exit"}, None),
        ({"exit_code": 2, "ended_by": "exit"}, "exit_code"),
        ({"status": "error", "ended_by": "memory"}, "memory"),
        ({"status": "error", "output": {"error": "HTTP 429: slow down"}}, "rate_limited"),
        ({"status": "error", "output": "503 Service Unavailable"}, "unavailable"),
        ({"status": "error", "output": "no such file: 4290"}, "tool_error"),
        ({"output": "HTTP 429"}, None),
    ],
    ids=str,
)
def test_what_a_result_failed_of(fields, error_class):
    (row,) = made(result(**fields)).rows

    assert (row["is_error"], row["error_class"]) == (error_class is not None, error_class)


def test_a_result_is_known_by_what_was_kept_and_shows_what_was_read():
    kept = {"stdout": "x" * 90}
    steps = made(
        call("mcp__files__Read", path="./a/b.txt"),
        result(kept, shown="xx…", produced_bytes=900, shown_bytes=5, truncated=True),
    )
    (asked, got) = steps.rows

    text = json.dumps(kept, separators=(",", ":"))
    assert got["result_hash"] == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert (got["tool"], got["produced_bytes"], got["stored_bytes"], got["shown_bytes"]) == (
        "mcp__files__Read", 900, len(text), 5,
    )  # fmt: skip
    assert got["truncated"] is True
    assert steps.texts[1][1] == "xx…"
    assert asked["effect"] == "read"
    assert asked["target_hash"] == hashlib.sha256(b"a/b.txt").hexdigest()[:16]


def test_failed_requests_limits_and_compactions_are_steps():
    failed = {"failure_type": "http_500", "error_message": "oh", "attempt": 1, "wait_ms": 90}
    steps = made(
        ("runner", {"name": "retry_scheduled", "detail": failed}),
        ("runner", {"name": "provider_error", "detail": failed | {"e2e_ms": 12}}),
        ("runner", {"name": "final_answer_forced", "detail": {"turns": 8}}),
        ("runner", {"name": "compaction", "detail": {"tokens": 5}}),
        ("runner", {"name": "limit", "detail": {"limit": "budget"}}),
        ("runner", {"name": "container_started", "detail": {}}),
    )

    assert of(steps, "kind", "is_error", "error_class", "wait_ms", "duration_ms") == [
        ("error", True, "http_500", 90, None),
        ("error", True, "http_500", 90, 12),
        ("limit", False, "max_turns", None, None),
        ("compaction", False, None, None, None),
        ("limit", False, "budget", None, None),
    ]


def test_agents_that_an_agent_started_have_turns_of_their_own():
    inner = {"trajectory": "main/search"}
    copied = inner | {"is_copied_context": True, "source": "agent-7.jsonl#12"}
    steps = made(
        reply(), call("Task"), ("message", said("Do.", "user")[1] | copied),
        ("runner", reply(e2e_ms=3)[1] | inner), ("message", said("Found.")[1] | inner),
        result(), reply(), said("Done."),
    )  # fmt: skip

    assert of(steps, "trajectory", "turn_no", "is_copied_context") == [
        ("main", 1, False),
        ("main", 1, False),
        ("main/search", 0, True),
        ("main/search", 1, False),
        ("main", 1, False),
        ("main", 2, False),
    ]
    assert steps.rows[2]["source"] == "agent-7.jsonl#12"


def test_a_long_text_is_cut_between_characters_and_hashed_whole():
    long = "é" * 40_000
    steps = made(said(long, "user"))
    ((_, text, is_cut),) = steps.texts

    assert (len(text.encode()), is_cut) == (65_536, True)
    assert steps.rows[0]["produced_bytes"] == 80_000
    assert steps.rows[0]["text_hash"] == hashlib.sha256(long.encode()).hexdigest()[:16]


HOSTILE = [None, True, -1, 2**70, 1.5, "", "x" * 5_000, [], {}, [[[]]], {"a": {"b": None}}]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:12])
def test_no_value_of_an_event_breaks_the_others(value):
    names = {name for _, fields in (call(), result(), said("")) for name in fields}
    names |= {"event_type", "name", "parsed_arguments", "shown", "duration_ms", "produced_bytes"}
    names |= {"truncated", "exit_code", "ended_by", "detail", "at_ms", "trajectory", "source"}
    names |= {"is_copied_context"}
    sound = [said("Do.", "user"), reply(usage={"input_tokens": 1}), call(a=1), result(), said("x")]
    for name in sorted(names):
        steps = made(*((kind, fields | {name: value}) for kind, fields in sound))
        assert steps.rows or name == "event_type"
    names_of_usage = "usage e2e_ms served_model cost_usd cost_source failure_type wait_ms"
    facts = dict.fromkeys(names_of_usage.split(), value)
    inside = {"usage": dict.fromkeys(("input_tokens", "usage_cached", "usage_counts"), value)}
    steps = made(reply(**facts), said("x"), reply(**inside), said("y"))
    assert [row["turn_no"] for row in steps.rows] == [1, 2]


def test_events_that_are_none_are_no_steps():
    assert whole([None, 5, "x", [], {}, {"event_type": "?"}], "a#0", (None, None)).rows == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("took 3.2 s", "took 14.55 s"),
        ("at 2026-01-02T03:04:05Z", "at 2025-11-12T13:14:15Z"),
        ("no /tmp/a/b.py", "no /home/x/y/z.txt"),
        ("object at 0x7f30c8e8", "object at 0x00ff12ab"),
        ("id 3f2a9c1b-77de-4a10-9f00-aabbccddee12", "id 00000000-77de-4a10-9f00-000000000000"),
        ("a  b\n\tc ", " a b c"),
    ],
)
def test_results_that_differ_in_numbers_times_paths_and_space_are_the_same(one, other):
    assert normal_text(one) == normal_text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("no such file", "permission denied"),
        ("Passed", "passed"),
        ("either/or", "neither/nor"),
        ("decade", "facade"),
        ("a b", "ab"),
    ],
)
def test_results_that_differ_in_words_are_not(one, other):
    assert normal_text(one) != normal_text(other)


def test_only_the_beginning_of_a_result_is_compared():
    assert normal_text("é" * 2_048 + "a") == normal_text("é" * 2_048 + "b")
    assert normal_text("é" * 2_047 + "a") != normal_text("é" * 2_047 + "b")


@pytest.mark.parametrize(
    "part", ["/", "a-", "a", "1.", "1", "/a", "\\", "0x", "-", ".", "1T", " ", "a/"], ids=repr
)
def test_no_text_takes_much_longer_than_another(part):
    def seconds(text):
        began = time.perf_counter()
        for _ in range(20):
            normal_text(text)
        return time.perf_counter() - began

    usual = min(seconds("no file /tmp/a.py, line 12: error 0x7f30c8e8\n" * 90) for _ in range(3))
    hostile = min(seconds((part * 4_096)[:4_095] + "!") for _ in range(3))
    assert hostile < 10 * usual


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("ls -la && cat x", "read"),
        ("cd src; grep -r foo . | head", "read"),
        ("echo hi > out.txt", "write"),
        ("echo hi 2>/dev/null", "read"),
        ("cat x 2>&1", "read"),
        ("sed -i s/a/b/ f", "write"),
        ("sed -n 1,5p f", "read"),
        ("python -m pytest -q", "check"),
        ("FOO=1 sudo make test", "check"),
        ("cargo test --all", "check"),
        ("python build.py", "run"),
        ("git status", "read"),
        ("git commit -m x", "write"),
        ("curl http://x", "search"),
        ("mkdir a && python a.py", "write"),
        ("sed --in-place s/a/b/ f", "write"),
        ("sed -Ei s/a/b/ f", "write"),
        ("sed -e s/a/b/ -e s/c/d/ -i f", "write"),
        ("sed -e s/a/i/ -n f", "read"),
        ("find . -name '*.py'", "read"),
        ("find . -name '*.pyc' -delete", "write"),
        ("find . -exec touch x \\;", "run"),
        ("git branch -a", "read"),
        ("git branch -D old", "write"),
        ("git branch", "read"),
        ("git remote add o u", "write"),
        ("git remote -v", "read"),
        ("echo `rm x`", "write"),
        ("source x.sh", "run"),
        ("curl -s http://x", "search"),
        ("curl -sLo a http://x", "write"),
        ("wget http://x", "write"),
        ("wget -qO- http://x", "search"),
        ("sort -u f", "read"),
        ("sort -o f f", "write"),
        ("uv pip install pytest", "run"),
        ("poetry add pytest", "run"),
        ("ruff check .", "check"),
        ("ruff format .", "write"),
        ("npx eslint --fix .", "run"),
        ("eslint --fix .", "write"),
        ("cargo fmt", "write"),
        ("for f in *.py; do cat ${f}; done", "read"),
        ("if grep -q x f; then echo $(date); fi", "read"),
        ("", None),
    ],
)
def test_what_a_command_does(command, effect):
    assert act_of("exec_shell", {"command": command}).effect == effect


@pytest.mark.parametrize(
    ("tool", "arguments", "act"),
    [
        ("write_file", {"path": "/workspace/a.txt"}, ("write", "a.txt")),
        ("Edit", {"file_path": "./a.txt"}, ("write", "a.txt")),
        ("mcp__x__read_file", {"path": "b"}, ("read", "b")),
        ("str_replace_editor", {"command": "view", "path": "b"}, ("read", "b")),
        ("str_replace_editor", {"command": "create", "path": "b"}, ("write", "b")),
        ("web_search", {"query": "x", "path": "y"}, ("search", None)),
        ("bash", {"command": ["ls", "-l"]}, ("read", None)),
        ("bash", [1, 2], (None, None)),
        ("ponder", {}, (None, None)),
    ],
)
def test_what_a_call_does(tool, arguments, act):
    assert act_of(tool, arguments) == act
