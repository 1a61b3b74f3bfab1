"""What happened in a trial, step by step, as its artifact will say it."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from collect.providers.base import Outcome
from schemas.config.case import Role
from schemas.run.trace import now_ms

TraceObject = dict[str, JsonValue]
"""One event of `schemas.run.trace.TraceEvent`, as the JSON object it becomes."""


class Trace:
    """The events of a trial in the order they happened, in the shape of `schemas.run.trace`.

    Plain objects: a run makes thousands a second, and each is checked when it is read.
    """

    def __init__(self) -> None:
        self.events: list[TraceObject] = []
        self._moment: int | None = None
        self._marks: TraceObject = {}

    def stamp(self, moment: int | None = None, marks: TraceObject | None = None) -> None:
        """Give what is noted from here on another moment than now, in ms, and further fields."""
        self._moment, self._marks = moment, marks or {}

    def _note(self, event_type: str, **fields: JsonValue) -> None:
        stamp: TraceObject = {
            "sequence": len(self.events),
            "at_ms": now_ms() if self._moment is None else self._moment,
            "event_type": event_type,
        }
        self.events.append(stamp | self._marks | fields)

    def add(self, events: Iterable[TraceObject]) -> None:
        """Note events that have no place and no time yet."""
        for event in events:
            kind = str(event["event_type"])
            self._note(kind, **{name: one for name, one in event.items() if name != "event_type"})

    def message(self, role: Role, content: str, name: str | None = None) -> None:
        """Note a message that was sent or received."""
        self._note("message", role=role, content=content, name=name)

    def tool_call(self, call_id: str, name: str, arguments: str, **parsed: JsonValue) -> None:
        """Note a tool the model asked for; what was read of its arguments, where somebody did."""
        self._note("tool_call", call_id=call_id, tool_name=name, raw_arguments=arguments, **parsed)

    def runner(self, name: str, **detail: JsonValue) -> None:
        """Note what the runner did."""
        self._note("runner", name=name, detail=detail)

    def tool_result(
        self, call_id: str, output: JsonValue, *, is_error: bool = False, **facts: JsonValue
    ) -> None:
        """Note what a tool returned, and what is known of how."""
        status = "error" if is_error else "success"
        self._note("tool_result", call_id=call_id, status=status, output=output, **facts)

    def retry(self, attempt: int, outcome: Outcome, wait_s: float) -> None:
        """Note a wait before the next request."""
        self.runner(
            "retry_scheduled",
            attempt=attempt,
            failure_type=outcome.failure_type,
            error_message=outcome.error_message,
            wait_ms=round(wait_s * 1000),
        )

    def final_output(self, content: str) -> None:
        """Note the text the trial is judged by."""
        self._note("final_output", content=content)
