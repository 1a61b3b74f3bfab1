"""Seeded traces of coding agents: the events of one trajectory, on its own clock."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

Event = dict[str, Any]


class Call(NamedTuple):
    """A tool call with the template of its result ($x fields are filled anew at each result)."""

    tool: str
    args: dict[str, str]
    out: str
    status: str = "success"
    code: int | None = None


def _words(text: str) -> list[str]:
    return text.split()


WORDS = _words(
    "parser invoice router kernel ticket widget orchid matrix planner budget window cookie "
    "socket loader writer sorter mixer tunnel harbor pillow rocket signal thread vector "
    "wallet yellow zipper anchor basket candle forest garden hammer island jungle kettle "
    "ladder mirror needle orange pepper quartz ribbon silver"
)
PAIRS = [f"{a}_{b}" for a in WORDS for b in WORDS if a != b]
MANNERS = _words(
    "missing unsorted truncated duplicated stale empty rounded swapped shifted quoted "
    "trimmed unstable"
)
# templates of calls: @a @b @c are chosen once for each call, $fields at each result
SHELL = tuple(
    Call("exec_shell", {"command": run}, out, "error" if code else "success", code)
    for run, out, code in (
        (
            "pytest -q -k @a",
            "$ts session pid=$pid\ntmpdir $tmp\n"
            "FAILED test_@a: @b was @m, @c kept\n1 failed in $durs",
            1,
        ),
        (
            "npm run build:@a",
            "$clk worker $pid\nerror: module @b has no export named @c\ntook $durs",
            2,
        ),
        (
            "python -m @a.cli check",
            'File "$tmp/cli.py", line $n\nTypeError: <@b object at $hex> is not a @c',
            1,
        ),
        (
            "docker logs @a-@b",
            "container $cid\n$ts @b worker pid $pid waits for @c\n$ts @b gave up after $durs",
            0,
        ),
        (
            "curl -s localhost:8080/@a/health",
            '{"state": "@m", "part": "@b", "request": "$sha", "took_s": $dur}',
            0,
        ),
        (
            "make -C @a",
            "make: Entering directory '$tmp'\nlinker: undefined symbol @b_@c at $hex\nmake: failed",
            2,
        ),
        (
            "cargo test @a",
            "running tests of @a\npanicked at line $n: @b is @m\nthread id $pid, elapsed $durs",
            101,
        ),
        ("git -C @a status --short", "", 0),
        ("ls @a/@b", "@b.toml\n@c.py\nREADME\n", 0),
    )
)
VOLATILE = SHELL[:7]
READS = tuple(
    Call("read_file", {"path": "/repo/src/@a.py"}, "def @b() -> str:\n    return '@c'\n" * k)
    for k in (1, 1, 2, 2, 3, 4, 6, 8, 16, 150)
)  # the last is longer than 4,096 bytes
OTHERS = (
    Call("grep", {"pattern": "@a", "path": "/repo/src"}, "/repo/src/@b.py:$n: use @a as @c"),
    Call(
        "edit_file",
        {"path": "/repo/@a.py", "old": "@b", "new": "@c"},
        "error: old text was not found",
        "error",
    ),
    Call("edit_file", {"path": "/repo/@a.py", "old": "@b", "new": "@c"}, "edited at $clk"),
    Call("write_file", {"path": "/repo/@a.py", "content": "@b = 1\n"}, "file written in $dur s"),
    Call(
        "web_search",
        {"query": "why is @a @m"},
        "results ($dur seconds)\nThe @b guide\nAll about @c",
    ),
)
RETRY_TEXTS = (
    "429 Too Many Requests",
    "Error: 429 Too Many Requests, retry after $n s",
    "503 Service Unavailable",
)
SAYINGS = (
    "Let me look again.",
    "I will check the @a next.",
    "The @a still looks @m.",
    "Now the @a and the @b.",
)


def refused(rng: random.Random, call: Call) -> Call:
    """The same call, refused with a 429 or 503."""
    return call._replace(
        out=rng.choice(RETRY_TEXTS), status="error", code=22 if call.tool == "exec_shell" else None
    )


class Track:
    """Builds the events of one trajectory on its own clock."""

    def __init__(self, rng: random.Random, name: str, start: int, style: dict[str, Any]) -> None:
        self.rng, self.name, self.t, self.style = rng, name, start, style
        self.items: list[tuple[int, Event]] = []
        self.calls, self.context, self.cut = 0, 2000 + rng.randrange(3000), False
        self.say("system", "You are a coding agent." if name == "main" else "You are a sub-agent.")
        self.say("user", self.words("Please mend the @a so that the @b is no longer @m."))

    def emit(self, kind: str, **fields: Any) -> None:
        """Append an event at the present time, with its trajectory (which main may leave out)."""
        if self.name != "main" or self.style["show_main"]:
            fields["trajectory"] = self.name
        self.items.append((self.t, {"event_type": kind, **fields}))

    def say(self, role: str, content: str, name: str | None = None) -> None:
        """Append a message."""
        self.emit("message", role=role, content=content, **({"name": name} if name else {}))

    def words(self, text: str) -> str:
        """Fill @a @b @c (names not yet used) and @m; the same mark gets the same word."""
        for mark in ("@a", "@b", "@c"):
            if mark in text:
                text = text.replace(mark, self.style["names"].pop())
        return text.replace("@m", self.rng.choice(MANNERS))

    def fill(self, text: str) -> str:
        """Fill the volatile fields of a result."""
        rng, vary, now = (
            self.rng,
            self.style["vary"],
            datetime.fromtimestamp(self.t / 1000, UTC),
        )

        def some(k: int, of: str = "0123456789abcdef") -> str:
            return "".join(rng.choice(of) for _ in range(k))

        make: dict[str, Callable[[], str]] = {
            "ts": lambda: now.strftime(self.style["stamp"]),
            "clk": lambda: now.strftime("%H:%M:%S"),
            "dur": lambda: f"{rng.uniform(0.1, 400.0 if vary and rng.random() < 0.5 else 9.9):.2f}",
            "pid": lambda: str(
                rng.randrange(10000, 99999) // (10 ** rng.randrange(4) if vary else 1)
            ),
            "n": lambda: str(rng.randrange(100, 999) // (10 ** rng.randrange(3) if vary else 1)),
            "tmp": lambda: (
                f"/tmp/pytest-of-dev/pytest-{rng.randrange(100, 999)}/tmp"
                + some(8, "kmqxyz0123456789_")
            ),
            "hex": lambda: "0x7f" + some(10),
            "sha": lambda: f"{rng.randrange(10)}{some(39)}",
            "cid": lambda: f"{rng.randrange(10)}{some(11)}",
        }
        return re.sub(r"\$(ts|clk|dur|pid|n|tmp|hex|sha|cid)", lambda found: make[found[1]](), text)

    def reply(self) -> None:
        """Append the provider_reply event that opens an answer of the model."""
        out = self.rng.randint(30, 600)
        self.t += (took := self.rng.randint(700, 9000))
        self.context += out + self.rng.randint(20, 900)
        self.emit(
            "runner",
            name="provider_reply",
            at_ms=self.t,
            detail={
                "usage": {"input_tokens": self.context, "output_tokens": out},
                "e2e_ms": took,
                "cost_usd": round(self.context * 3e-6 + out * 15e-6, 6),
            },
        )

    def turn(self, *calls: Call, cut: bool = False, text: float | None = None) -> None:
        """One answer with calls and their results, in any order; cut: one call gets none."""
        rng, pending = self.rng, []
        self.reply()
        if rng.random() < (self.style["text"] if text is None else text):
            self.say(
                "assistant", self.words(rng.choice(SAYINGS)), rng.choice((None, None, "reasoning"))
            )
        for i, call in enumerate(calls):
            call_id = f"call_{i}" if self.style["reuse"] else f"toolu_{rng.getrandbits(64):016x}"
            self.emit(
                "tool_call",
                tool_name=call.tool,
                call_id=call_id,
                raw_arguments=json.dumps(call.args),
                parsed_arguments=dict(call.args),
                at_ms=self.t,
            )
            self.calls, self.t = self.calls + 1, self.t + rng.randrange(3)
            pending.append((call, call_id))
        for call, call_id in rng.sample(pending, len(pending) - cut):
            self.t += (took := rng.randint(4, 4000))
            code = {"exit_code": call.code} if call.code is not None and self.style["codes"] else {}
            self.emit(
                "tool_result",
                call_id=call_id,
                output=self.fill(call.out),
                status=call.status,
                **code,
                duration_ms=took,
                at_ms=self.t,
            )

    def finish(self) -> None:
        """A last answer without calls."""
        self.reply()
        self.say("assistant", self.words("Done: it was the @a, which fed the @b."))

    def compaction(self) -> None:
        """Append a compaction mark."""
        self.emit("runner", name="compaction", detail={})
        self.context = 3000

    def fresh(self, templates: tuple[Call, ...]) -> Call:
        """A call made from one of the templates; its arguments occur nowhere else in the trace."""
        call = self.rng.choice(templates)
        args, out = json.loads(self.words(json.dumps([call.args, call.out])))
        return call._replace(args=args, out=out)

    def call(self) -> Call:
        """A fresh call of any tool but the waiting one."""
        return self.fresh(self.rng.choice((SHELL, READS, OTHERS)))

    def filler(self, low: int, high: int) -> None:
        """Ordinary work: fresh calls, now and then parallel ones or one retried after a refusal."""
        for _ in range(self.rng.randint(low, high)):
            call = self.call()
            if self.rng.random() < 0.04:
                self.turn(refused(self.rng, call))
            self.turn(call, *[self.call() for _ in range(self.rng.randint(-6, 2))])
