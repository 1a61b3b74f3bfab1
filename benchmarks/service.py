"""What all connections of the endpoint share: how it answers, and the record of what it saw."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from alarm import Alarm
from answers import FaultPlan, Streamed, called, completion, json_answer, judged, whole
from quantiles import spread

MS = 1_000_000


@dataclass
class Record:
    """What happened since the last reset; times are `time.monotonic_ns`."""

    attempts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    log: list[tuple[str, int, int, str]] = field(default_factory=list)
    late_ns: list[int] = field(default_factory=list)
    requests: int = 0
    in_flight: int = 0
    in_flight_max: int = 0
    abandoned: int = 0
    connections: int = 0
    first_arrival_ns: int | None = None

    def summary(self) -> dict[str, Any]:
        """Return the counters; `lateness_ms` is the endpoint's own."""
        served = [ended - arrived for _, arrived, ended, outcome in self.log if outcome == "ok"]
        return {
            "requests": self.requests,
            "answered": len(served),
            "prompts": len(self.attempts),
            "faults": dict(self.faults),
            "in_flight_max": self.in_flight_max,
            "abandoned": self.abandoned,
            "connections": self.connections,
            "first_arrival_ns": self.first_arrival_ns,
            "last_finish_ns": max((ended for _, _, ended, _ in self.log), default=None),
            "service_ms": spread([ns / MS for ns in served]),
            "lateness_ms": spread([ns / MS for ns in self.late_ns]),
        }


class Service:
    """What is common to all connections."""

    def __init__(self, options: argparse.Namespace, alarm: Alarm) -> None:
        self.alarm = alarm
        self.tokens = options.tokens
        self.latency_ns = round(options.latency_ms * MS)
        self.ttft_ns = round(options.ttft_ms * MS)
        self.gap_ns = round(options.gap_ms * MS)
        self.plan = FaultPlan.parse(options.faults, options.seed)
        self.streamed = Streamed(options.tokens)
        self.retry_after = b""
        if options.retry_after is not None:
            self.retry_after = b"Retry-After: %d\r\n" % options.retry_after
        self.record = Record()

    def steps(self, path: bytes, body: dict[str, Any], prompt: str) -> list[tuple[int, bytes]]:
        """Return what is written how many nanoseconds after the request's arrival."""
        if path.startswith(b"/v1/completions"):
            asked = body["prompt"]
            prompts = [asked] if isinstance(asked, str) else [str(one) for one in asked]
            return [(self.latency_ns, completion(prompts, self.tokens))]
        if "tools" in body and body["messages"][-1]["role"] != "tool":
            return [(self.latency_ns, called(prompt))]
        if "response_format" in body:
            return [(self.latency_ns, judged(prompt))]
        if not body.get("stream"):
            return [(self.latency_ns, whole(prompt, self.tokens))]
        with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        parts = self.streamed.parts(prompt, with_usage=with_usage)
        if not self.gap_ns:
            return [(self.ttft_ns, b"".join(parts))]
        return [(self.ttft_ns + number * self.gap_ns, part) for number, part in enumerate(parts)]

    def spoil(self, fault: str, steps: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """Return the steps of a fault; after those of a reset or a cut the connection ends."""
        if fault == "429":
            body = b'{"error":{"message":"slow down","type":"requests","code":"rate_limit"}}'
            return [(0, json_answer(429, body, self.retry_after))]
        if fault == "500":
            body = b'{"error":{"message":"a passing fault","type":"server_error","code":null}}'
            return [(steps[0][0], json_answer(500, body))]
        if len(steps) > 1:  # in the middle of the stream
            return steps[: len(steps) // 2]
        when, answer = steps[0]
        return [(when // 2, b"")] if fault == "reset" else [(when, answer[: -len(answer) // 4])]
