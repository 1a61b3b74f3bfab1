"""The events of a sample as a trace of ours, or its messages where it has none.

A model event is an answer with its tokens and its time; what its input has beyond what was seen
before are messages. Agents that another one started, and scorers that ask a model, have a
trajectory of their own. Events that are none of these pass as nothing: the original has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from analyze.importers.defaults import moment_of
from analyze.importers.inspect.failures import message_of
from analyze.importers.inspect.samples import expanded
from analyze.importers.inspect.transcript import (
    calls_of,
    output_message,
    resolved,
    result_of_tool,
    said,
)
from analyze.importers.inspect.usage import tokens_of
from analyze.importers.inspect.values import Json, mapping, millis, plain, rows, usd, words

ROLES = frozenset({"system", "user", "assistant", "tool"})
SCORERS = frozenset({"scorer", "scorers"})
MAX_NESTED = 50
"""Events within events of tools and subtasks, as older logs have them."""

MAX_NAME = 256

Event = dict[str, Any]


class Trace:
    """The trace of one sample, and what is counted on the way.

    Args:
        sample: as it is in the log.
        start_ms: of it; the time of what has none.
    """

    def __init__(self, sample: Json, start_ms: int) -> None:
        self.events: list[Event] = []
        self.tools: dict[str, None] = {}
        """Names of those that were called, in order."""
        self.n_turns = 0
        self.model_ms: int | None = None
        self.tool_ms: int | None = None
        self._texts = mapping(sample.get("attachments"))
        self._pool = rows(mapping(sample.get("events_data")).get("messages"))
        self._now = start_ms
        self._spans: dict[str, Json] = {}
        self._paths: dict[str, str | None] = {}
        self._seen: dict[str | None, set[str]] = {}
        """Messages by trajectory."""
        self._scorers: set[str | None] = set()
        """Trajectories of scorers that ask a model, which are not of the trial's own time."""
        self._asked: set[str] = set()
        self._answered: set[str] = set()
        self._steps: list[Json] = []
        """Those that are open, of logs without spans."""
        events = rows(sample.get("events"))
        if any(isinstance(one, dict) and one.get("event") == "model" for one in events):
            self._take(events, 0)
        else:
            self._messages(rows(sample.get("messages")), None)

    def end(self, text: str, at_ms: int) -> list[Event]:
        """Return all events, with the final text, which was said at a time."""
        self._now = at_ms
        self._add("final_output", None, content=text)
        return self.events

    def _add(self, kind: str, path: str | None, **fields: Any) -> None:
        event = {"event_type": kind, "sequence": len(self.events), "at_ms": self._now, **fields}
        if path is not None:
            event["trajectory"] = path
        self.events.append(event)

    def _take(self, events: list[Any], depth: int) -> None:
        for event in events:
            if not isinstance(event, dict) or event.get("pending") is True:
                continue
            at_ms = moment_of(event.get("completed") or event.get("timestamp"))
            self._now = self._now if at_ms is None else at_ms
            kind = event.get("event")
            if kind == "model":
                self._model(event)
            elif kind == "tool":
                self._tool(event, depth)
            elif kind == "span_begin":
                self._spans[str(event.get("id"))] = event
            elif kind == "step":
                self._step(event)
            elif kind == "subtask" and depth < MAX_NESTED:
                self._take(rows(event.get("events")), depth + 1)
            elif kind in {"sample_limit", "error", "compaction"}:
                self._mark(kind, event)

    def _step(self, event: Json) -> None:
        if event.get("action") == "begin":
            self._steps.append(event)
        elif self._steps:
            self._steps.pop()

    def _mark(self, kind: str, event: Json) -> None:
        path = self._path(event)
        if kind == "sample_limit":
            name, detail = "limit", {"limit": event.get("type"), "message": event.get("message")}
        elif kind == "error":
            message = message_of(event.get("error"))
            name, detail = "error", {"failure_type": "exception", "error_message": message}
        else:
            name, detail = kind, {
                key: event.get(key) for key in ("type", "tokens_before", "tokens_after")
            }  # fmt: skip
        self._add("runner", path, name=name, detail=plain(resolved(detail, self._texts)))

    def _path(self, event: Json) -> str | None:
        """Return the trajectory of an event; None: the one that the sample began with."""
        span = event.get("span_id")
        if not isinstance(span, str):
            scoring = [one for one in self._steps if one.get("type") in SCORERS]
            return self._scorer_path(scoring[-1]) if scoring else None
        if span not in self._paths:
            self._paths[span] = self._path_of(span)
        return self._paths[span]

    def _path_of(self, span: str) -> str | None:
        chain: list[Json] = []
        at: Any = span
        while isinstance(at, str) and at in self._spans and len(chain) < MAX_NESTED:
            chain.append(self._spans[at])
            at = self._spans[at].get("parent_id")
        names: list[str] = []
        is_within = False
        for one in reversed(chain):
            kind = one.get("type")
            if kind == "scorer":
                return self._scorer_path(one)
            if kind == "agent" and is_within:
                names.append(_name(one))
            is_within = is_within or kind in {"agent", "tool", "handoff"}
        return "/".join(["main", *names])[:MAX_NAME] if names else None

    def _scorer_path(self, span: Json) -> str:
        path = f"main/{_name(span)}"
        self._scorers.add(path)
        return path

    def _model(self, event: Json) -> None:
        path = self._path(event)
        given = event.get("input_refs")
        asked = rows(event.get("input")) if given is None else expanded(given, self._pool)
        self._messages(asked, path)
        output = mapping(event.get("output"))
        if error := words(event.get("error")) or words(output.get("error")):
            detail = {"error_message": resolved(error, self._texts)}
            self._add("runner", path, name="provider_error", detail=detail)
            return
        took = millis(event.get("working_time"))
        took = millis(output.get("time")) if took is None else took
        if path is None:
            self.n_turns += 1
        if took is not None and event.get("cache") != "read" and path not in self._scorers:
            self.model_ms = took + (self.model_ms or 0)
        detail = {"served_model": words(output.get("model")), "e2e_ms": took}
        usage = mapping(output.get("usage"))
        if usage:
            counted = {name: n for name, n in tokens_of(usage)._asdict().items() if n is not None}
            detail["usage"] = counted | {"usage_cached": "inside", "usage_counts": "delta"}
            if (cost := usd(usage.get("total_cost"))) is not None:
                detail |= {"cost_usd": cost, "cost_source": "computed"}
        self._add("runner", path, name="provider_reply", detail=detail)
        self._assistant(output_message(output), path)

    def _messages(self, messages: list[Any], path: str | None) -> None:
        """Add what was not seen on a trajectory."""
        seen = self._seen.setdefault(path, set())
        for message in messages:
            if not isinstance(message, dict):
                continue
            key = _key(message)
            if key in seen:
                continue
            seen.add(key)
            role = message.get("role")
            if role == "tool":
                self._tool_message(message, path)
            elif role == "assistant":
                self._assistant(message, path)
            elif role in ROLES:
                text = said(resolved(message.get("content"), self._texts)).text
                self._add("message", path, role=role, content=text)

    def _assistant(self, message: Json, path: str | None) -> None:
        if not message:
            return
        self._seen.setdefault(path, set()).add(_key(message))
        content = said(resolved(message.get("content"), self._texts))
        if content.thought:
            self._add("message", path, role="assistant", content=content.thought, name="reasoning")
        calls = calls_of(message)
        if content.text or not (calls or content.thought):
            self._add("message", path, role="assistant", content=content.text)
        for call in calls:
            self._call(call, path)

    def _call(self, call: Json, path: str | None) -> None:
        call_id, tool = words(call.get("id")) or "", str(call["function"])[:MAX_NAME]
        if call_id in self._asked:
            return
        if call_id:
            self._asked.add(call_id)
        if path not in self._scorers:
            self.tools[tool] = None
        arguments = resolved(call.get("arguments"), self._texts)
        is_text = isinstance(arguments, str)
        parsed = None if is_text else plain(arguments)
        self._add(
            "tool_call", path,
            call_id=call_id,
            tool_name=tool,
            raw_arguments=arguments if is_text else orjson.dumps(parsed).decode(),
            parsed_arguments=parsed,
        )  # fmt: skip

    def _tool(self, event: Json, depth: int) -> None:
        path = self._path(event)
        if words(event.get("function")):
            self._call(event, path)
        if (nested := rows(event.get("events"))) and depth < MAX_NESTED:
            self._take(nested, depth + 1)
        took = millis(event.get("working_time"))
        if took is None:
            began, ended = moment_of(event.get("timestamp")), moment_of(event.get("completed"))
            took = max(0, ended - began) if began is not None and ended is not None else None
        if took is not None:
            self.tool_ms = took + (self.tool_ms or 0)
        self._result(event, event.get("result"), path, took)

    def _tool_message(self, message: Json, path: str | None) -> None:
        call_id = words(message.get("tool_call_id"))
        if call_id is None or call_id not in self._answered:
            facts = {"id": call_id, "error": message.get("error")}
            self._result(facts, message.get("content"), path, None)

    def _result(self, event: Json, result: Any, path: str | None, took: int | None) -> None:
        call_id = words(event.get("id")) or ""
        self._answered.add(call_id)
        error = mapping(event.get("error"))
        output = result_of_tool(resolved(result, self._texts))
        if error and not output:
            output = resolved(words(error.get("message")), self._texts) or ""
        fields: Json = {"call_id": call_id, "status": "error" if error else "success"}
        if error.get("type") == "timeout":
            fields["ended_by"] = "timeout"
        cut = rows(event.get("truncated"))
        if len(cut) == 2 and all(type(size) is int and size >= 0 for size in cut):
            fields |= {"produced_bytes": cut[0], "truncated": True}
        self._add("tool_result", path, **fields, output=output, duration_ms=took)


def _name(span: Json) -> str:
    return (words(span.get("name")) or "agent")[:MAX_NAME]


def _key(message: Json) -> str:
    """Return what tells a message from others: its id, else what it says."""
    if (found := words(message.get("id"))) is not None:
        return found
    parts: Iterator[Any] = (message.get(name) for name in ("role", "content", "tool_call_id"))
    return repr([*parts])
