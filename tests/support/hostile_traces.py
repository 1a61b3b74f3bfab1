"""Traces as nobody should write them, any number by a seed."""

import random

BIG = 2**40

STRANGE = [
    None, True, False, 0, 1, -1, 7, BIG, BIG + 1, 2**53, 2**53 + 1, 2**31, -(2**31), 2**63, 1.5,
    1e16, 1e-7, -0.0, 1e300, "", " ", "x", "main", "exit", "7", "é" * 300, "\x1b[31mred", "a\0b",
    "\u202e", [], [1], {}, {"a": None}, [[[]]], {"path": "/workspace/./a/./b"}, {"command": "ls"},
]  # fmt: skip
"""Values for any place of an event."""

PATHS = [None, None, None, "main", "main/a", "main/b", "main/a/c", "", 5, "other", "m" * 300]

TEXTS = [
    "", "", "ok", "Done.", "a  b\n\tc ", "no such file: /tmp/a/b.py, line 12", "é" * 40_000,
    "x" * 65_536, "x" * 65_537, "HTTP 429: slow down", "503 service UNAVAILABLE", "42900 50300",
    "rate-limited", "returned error: 503", "503 - service unavailable", "a.py:429: no 1.503",
    "at 2026-01-02T03:04:05Z 0x7f30c8e8 deadbeef1-", "\\\\srv\\a\\b//c d1.,2Z",
    "\u2028\u00a0\x1c\x85 zero", "𝄞" * 1_024 + "ab", "é" * 2_047 + "a1", "1Z2TZ 3:4:Z 5--6 a_1.2",
    "/a//b///c/ /a /", "//a/b and/or x/y/z \\a\\b/c", "1234567g 1234567-g -1234567 0xabcdefg",
]  # fmt: skip

ARGUMENTS = [
    "", "{", "[]", "null", '{"path": "/workspace/a.txt"}', '{"file_path": "./b/./c", "path": 5}',
    '{"command": "ls | tee x"}', '{"command": ["git", 5, "commit"]}', '{"path": ""}',
    '{"path": "\\ud800"}', '{"path": NaN}', '{"path": 1e999}', "[" * 2_000, '{"a": 1, "a": 2}',
    '{"command": "cat a > b"}', '{"cmd": "pytest -q"}', '{"path": "é/\U0001d11e"}',
]  # fmt: skip

TOOLS = ["exec_shell", "bash", "Read", "mcp__x__write_file", "str_replace_editor", "fetch", "?", ""]


class HostileTraces:
    """Makes traces by a seed: sound events for the most part, strange values in any place.

    Args:
        seed: the same one gives the same traces.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)

    def trace(self, n_events):
        """Return the events of a trace."""
        return [self._event() for _ in range(n_events)]

    def _event(self):
        draw = self.random
        if draw.random() < 0.03:
            return draw.choice(STRANGE)
        makers = (
            self._message, self._message, self._call, self._call, self._result, self._result,
            self._runner, self._runner, self._runner, self._final, self._unknown,
        )  # fmt: skip
        event = {"at_ms": 1_000 * draw.randrange(1_000), **draw.choice(makers)()}
        if (path := draw.choice(PATHS)) is not None:
            event["trajectory"] = path
        if draw.random() < 0.15:
            event["is_copied_context"] = draw.choice([True, True, False, 1, "true"])
        if draw.random() < 0.1:
            event["source"] = draw.choice(["agent.jsonl#7", "s" * 2_000, "", 5])
        if draw.random() < 0.1:
            event["ended_at_ms"] = draw.choice(STRANGE)
        return self._harmed(event)

    def _harmed(self, event):
        """Give one place of some events a strange value, or take it away."""
        draw = self.random
        if event and draw.random() < 0.2:
            event[draw.choice(sorted(event))] = draw.choice(STRANGE)
        if event and draw.random() < 0.05:
            del event[draw.choice(sorted(event))]
        return event

    def _message(self):
        draw = self.random
        event = {"event_type": "message", "content": draw.choice(TEXTS)}
        event["role"] = draw.choice(["assistant"] * 4 + ["user", "system", "tool", "judge", ""])
        if draw.random() < 0.3:
            event["name"] = draw.choice(["reasoning", "reasoning", "bob"])
        return event

    def _call(self):
        draw = self.random
        event = {"event_type": "tool_call", "call_id": draw.choice(["1", "2", "3", ""])}
        event |= {"tool_name": draw.choice(TOOLS), "raw_arguments": draw.choice(ARGUMENTS)}
        if draw.random() < 0.2:
            event["parsed_arguments"] = draw.choice(STRANGE)
        if draw.random() < 0.1:
            event["is_polling"] = draw.choice([True, 1, "true"])
        return event

    def _result(self):
        draw = self.random
        event = {"event_type": "tool_result", "call_id": draw.choice(["1", "2", "3", "9"])}
        event["status"] = draw.choice(["success", "success", "error"])
        event["output"] = draw.choice([*TEXTS, *STRANGE, {"error": draw.choice(TEXTS)}])
        more = {
            "shown": draw.choice(TEXTS), "exit_code": draw.choice([0, 0, 1, -9, 2**31, 2**31 + 1]),
            "ended_by": draw.choice(["exit", "exit", "memory", "time"]), "duration_ms": 12,
            "produced_bytes": 9_000, "stored_bytes": 900, "shown_bytes": 90,
            "truncated": draw.choice([True, False, 1]),
        }  # fmt: skip
        return event | {name: more[name] for name in more if draw.random() < 0.4}

    def _runner(self):
        draw = self.random
        names = ["provider_reply"] * 6 + ["provider_error", "retry_scheduled", "compaction"]
        names += ["final_answer_forced", "limit", "error", "container_started"]
        detail = self._facts()
        detail |= draw.choice([{}, {"limit": "budget"}, {"limit": 0, "failure_type": "http_500"}])
        if draw.random() < 0.3:
            detail |= {"failure_type": "timeout", "error_message": draw.choice(TEXTS), "wait_ms": 5}
        return {"event_type": "runner", "name": draw.choice(names), "detail": detail}

    def _facts(self):
        draw = self.random
        names = ["input", "cached_input", "cache_write", "output", "reasoning"]
        usage = {f"{one}_tokens": draw.randrange(90) for one in names if draw.random() < 0.7}
        usage["usage_cached"] = draw.choice(["inside", "beside", "?"])
        usage["usage_counts"] = draw.choice(["delta", "cumulative", "cumulative", None])
        facts = {"usage": self._harmed(usage), "e2e_ms": draw.randrange(5_000_000)}
        facts |= {"cost_usd": draw.randrange(10**9) / 1e9, "cost_source": "provider"}
        facts["served_model"] = draw.choice(["s-1", "s-2", None])
        return self._harmed({name: facts[name] for name in facts if draw.random() < 0.7})

    def _final(self):
        return {"event_type": "final_output", "content": self.random.choice(TEXTS)}

    def _unknown(self):
        return {"event_type": self.random.choice(["", "?", "reply", "tool"]), "content": "x"}
