"""Traces as nobody should write them, made by hand; each has a name."""

from tests.support.hostile_traces import ARGUMENTS, STRANGE, TEXTS


def said(content="x", role="assistant", **fields):
    return {"event_type": "message", "role": role, "content": content, "at_ms": 9_000, **fields}


def call(call_id="1", raw='{"command": "ls"}', tool="bash", **fields):
    known = {"call_id": call_id, "tool_name": tool, "raw_arguments": raw}
    return {"event_type": "tool_call", "at_ms": 9_000, **known, **fields}


def result(call_id="1", output="ok", **fields):
    known = {"call_id": call_id, "status": "success", "output": output}
    return {"event_type": "tool_result", "at_ms": 9_000, **known, **fields}


def runner(name="provider_reply", at_ms=9_000, *, path="main", **detail):
    known = {"event_type": "runner", "at_ms": at_ms, "trajectory": path}
    return {**known, "name": name, "detail": detail}


def used(n_in, n_out=None, counts="cumulative", cached="inside", *, path="main", **detail):
    """Return a reply that says what was used."""
    usage = {"input_tokens": n_in, "output_tokens": n_out}
    usage |= {"usage_counts": counts, "usage_cached": cached}
    usage |= {name: detail.pop(name) for name in list(detail) if name.endswith("_tokens")}
    return runner(path=path, usage=usage, **detail)


FINAL = {"event_type": "final_output", "content": "It is."}
COPIED = {"is_copied_context": True, "trajectory": "main/a"}
DEEP = {"a": [[[[]]]]}
for _ in range(300):
    DEEP = {"a": DEEP}

HAND_MADE = {
    "nothing": [],
    "no events": [None, 5, "x", [], {}, [{}], True],
    "kinds of no name": [{"event_type": one} for one in (None, 5, [], {}, "Message", "x" * 500)],
    "roles of no name": [said(role=one) for one in (None, 5, [], "", "judge", "ASSISTANT")],
    "a message of nothing": [said(""), said(None), said(5), said([]), said({"text": "x"})],
    "flags that are numbers": [said(is_copied_context=one) for one in (1, 0, "true", None, [])],
    "numbers that are flags": [result(exit_code=True, duration_ms=True, shown_bytes=False)],
    "numbers that are words": [result(exit_code="1", duration_ms="5", produced_bytes="9")],
    "numbers with a point": [result(exit_code=1.0, duration_ms=1.5, produced_bytes=2.0)],
    "numbers that are none": [result(exit_code=float("nan"), duration_ms=float("inf"))],
    "huge numbers": [result(exit_code=2**70, duration_ms=2**41, at_ms=2**60, shown_bytes=2**40)],
    "numbers below nothing": [result(exit_code=-1, duration_ms=-1, produced_bytes=-1, at_ms=-1)],
    "exit codes at their borders": [
        result(exit_code=one) for one in (2**31, 2**31 + 1, -(2**31), -(2**31) - 1, 0, 255)
    ],
    "a cost that is none": [
        runner(cost_usd=one, cost_source="provider")
        for one in (True, -1, 1e6, 1e6 + 1, float("nan"), float("inf"), "1", 0, -0.0, 2**70)
    ],
    "who computed no cost": [runner(cost_source="provider"), runner(cost_usd=1, cost_source="me")],
    "tokens that are none": [used(one, one) for one in (True, -1, 1.5, "5", None, 2**40, 2**70)],
    "usage that is none": [runner(usage=one) for one in (None, 5, [], "x", {})],
    "a detail that is none": [runner() | {"detail": one} for one in (None, 5, [], "x")],
    "began before time did": [runner(at_ms=5, e2e_ms=9), result(at_ms=3, duration_ms=8)],
    "two calls of one id": [call("1", tool="a"), call("1", tool="b"), result("1"), result("1")],
    "a result before its call": [result("7"), call("7"), result("7")],
    "a result without a call": [result("9"), result(None), result(""), result(5)],
    "a call without a result": [call("1"), call(None), call(""), call(5), said("Well.")],
    "a call of no tool": [call(tool=one) for one in (None, "", 5, [], "t" * 300)],
    "arguments that are none": [call(raw=one) for one in (None, 5, {}, *ARGUMENTS)],
    "arguments that were read": [call(parsed_arguments=one, tool="Read") for one in STRANGE],
    "paths of one file": [
        call(raw=f'{{"path": "{one}"}}', tool="write_file")
        for one in ("a", "./a", "/workspace/a", "/workspace/./a/.", "", ".", "/workspace/", "//a")
    ],
    "agents in agents": [
        runner(path=path) if turn else said(trajectory=path)
        for path in ("main", "main/a", "main/a/b", "main/a/b/c")
        for turn in (0, 1, 1)
    ],
    "agents in turn": [
        event | {"trajectory": path}
        for _ in range(3)
        for event in (runner(), said("r", name="reasoning"), call(), result())
        for path in ("main/a", "main/b", "main")
    ],
    "agents without replies beside one with": [
        runner(),
        call(),
        said("a", trajectory="main/a"),
        call(trajectory="main/a"),
        result(),
    ],
    "trajectories of no name": [said(trajectory=one) for one in (None, 5, "", [], "m" * 500, "é")],
    "one id in two trajectories": [
        call("1", tool="a"),
        call("1", tool="b", trajectory="main/a"),
        result("1"),
        result("1", trajectory="main/a"),
    ],
    "counts that fall and begin again": [used(10, 5), used(30, 9), used(4, 2), used(9, 2)],
    "a count that is not said, and falls": [used(30, 5), used(None, 9), used(4, 12), used(9, 13)],
    "a count that stands": [used(10, 5), used(10, 5), used(10, 6)],
    "a count that is not said": [used(10, 5), used(None, 9), used(35, None), used(40, 20)],
    "counts along two trajectories": [
        used(n * (1 + len(path)), n, path=path) for n in (1, 2, 3) for path in ("main", "main/a")
    ],
    "counts along and of one answer": [
        used(10),
        used(7, counts="delta"),
        used(15),
        used(1, 1, "?"),
    ],
    "a cost along, without tokens": [used(None, cost_usd=one) for one in (0.5, 0.75, 0.25)],
    "cached beside": [
        used(3, 1, "delta", "beside", cached_input_tokens=20, cache_write_tokens=4),
        used(3, 1, "delta", "beside"),
        used(None, 1, "delta", "beside", cached_input_tokens=2),
    ],
    "cached beside, counted along": [
        used(3 * n, n, cached="beside", cached_input_tokens=20 * n, cost_usd=0.1 * n)
        for n in (1, 2, 3)
    ],
    "a failed request counted along": [
        used(10, 1),
        runner("provider_error", usage={"input_tokens": 15, "usage_counts": "cumulative"}),
        used(20, 2),
    ],
    "copied context": [
        used(9, 2, path="main/a") | COPIED,
        said() | COPIED,
        call() | COPIED,
        result() | COPIED,
        used(12, 3, path="main/a"),
        said(trajectory="main/a"),
    ],
    "copied message of a reply that was not": [runner(path="main/a"), said() | COPIED],
    "a message of a copied reply": [
        used(5, path="main/a", cost_usd=1) | COPIED,
        said(trajectory="main/a"),
    ],
    "texts at their border": [said("x" * n) for n in (65_535, 65_536, 65_537)],
    "texts cut inside a character": [said("x" * n + "𝄞" * 9) for n in range(65_530, 65_537)],
    "what was read is longer than what is kept": [result(output="a", shown="é" * 40_000)],
    "what was read is nothing": [result(shown=""), result(shown=None), result(shown=5)],
    "all kinds of output": [result(output=one) for one in [*STRANGE, *TEXTS]],
    "output of a result without any": [{"event_type": "tool_result"}],
    "output that is nested deeply": [result(output=DEEP)],
    "what a tool said of its error": [result(output=one, status="error") for one in TEXTS],
    "an error said in time and too late": [
        result(output="x" * n + " HTTP 429", status="error") for n in (991, 992)
    ],
    "what a command said of its error": [
        result(output=one, exit_code=code, status=status)
        for one in (
            "429 Too Many Requests",
            "HTTP/1.1 503 Service Temporarily Unavailable",
            "curl: (22) The requested URL returned error: 503",
            "429 is the answer\ntoo many requests",
            "file.py:429: rate limit",
            "took 1.429 s, x429, 4290, :429, é:503",
        )
        for code in (0, 22)
        for status in ("success", "error")
    ],
    "calls that wait": [call(is_polling=one) for one in (True, 1, "true", None, False)],
    "states of no name": [result(status=one) for one in (None, 5, "ERROR", [], "failed")],
    "ended by": [
        result(ended_by=one, exit_code=0) for one in ("", None, "exit", "memory", 5, "e" * 300)
    ],
    "failed requests": [
        runner("retry_scheduled", failure_type="http_500", error_message="oh", wait_ms=80),
        runner("provider_error", failure_type=None, error_message=5, wait_ms=1.5, e2e_ms=12),
        runner(),
        said("Well."),
        runner("retry_scheduled", failure_type="f" * 300),
    ],
    "marks": [
        runner(name, **detail)
        for name in ("compaction", "limit", "error", "final_answer_forced", "container_started", "")
        for detail in ({}, {"limit": "budget"}, {"limit": 5, "failure_type": "x"}, {"limit": ""})
    ],
    "an answer of calls alone": [
        runner(e2e_ms=7),
        call(),
        result(),
        runner(e2e_ms=8),
        said("Done."),
    ],
    "two replies in a row": [runner(e2e_ms=1), runner(e2e_ms=2), said("x"), said("y")],
    "reasoning alone": [
        runner(),
        said("hm", name="reasoning"),
        runner(),
        said("", name="reasoning"),
    ],
    "reasoning of others": [said(name="reasoning", role="user"), said(name="Reasoning")],
    "several messages of a turn": [said("a"), said("b"), call(), call("2"), said("c"), result()],
    "reasoning between calls": [call(), said("hm", name="reasoning"), call(), said("x"), call()],
    "a final output alone": [FINAL],
    "a final output of reasoning": [FINAL | {"name": "reasoning"}, said("x", "user")],
    "a final output and a reply": [said("Do.", "user"), runner(e2e_ms=3), FINAL],
    "a final output after calls": [runner(), call(), result(), runner(), FINAL],
    "a final output beside its message": [runner(), said("It is."), FINAL],
    "a final output of nothing": [
        runner(),
        call(),
        FINAL | {"content": ""},
        FINAL | {"content": 5},
    ],
    "a final output of another agent": [
        said(trajectory="main/a"),
        FINAL | {"trajectory": "main/a"},
    ],
    "several final outputs": [FINAL, FINAL | {"content": "No."}],
    "a conversation that was given": [
        said("a", "user"),
        said("b"),
        said("c", "user"),
        runner(),
        said(),
    ],
    "times that fall": [
        said(at_ms=9),
        said(at_ms=5, ended_at_ms=1),
        said(at_ms=None, ended_at_ms=7),
    ],
    "sources": [said(source=one) for one in (None, "", 5, "s" * 2_000, "a#1")],
    "a reply with a source": [
        runner() | {"source": "a#1"},
        call(source="a#2"),
        runner() | {"source": "b"},
    ],
    "controls and directions": [
        said("\x1b[2J\a\b\0"),
        call(tool="\x1b]0;x\a"),
        said("\u202e\u2028"),
    ],
    "keys of an event that are none of ours": [
        said(step_no=7, run_id="x", kind="limit", turn_no=9)
    ],
    "a thousand calls": [call(str(n)) for n in range(1_000)]
    + [result(str(n)) for n in range(1_000)],
}
"""By what is hostile about them."""
