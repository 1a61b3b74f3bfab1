"""Lines of results.jsonl from dicts rather than from records, for sources with very many trials.

A record costs more to make than the line that is made of it. Whoever hands in dicts sees to it that
each value fits its field; `tests` read what was written by the declaration.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from schemas.failures import classify
from schemas.redact import may_hold_secret, redact, redact_json
from schemas.run.result import MAX_RAW_OUTPUT_BYTES, Result, cut
from schemas.run.trace import artifact_frame

BLANK: dict[str, Any] = {
    name: None if info.is_required() else info.default for name, info in Result.model_fields.items()
} | {
    "availability_status": "ok",
    "success": True,
    "raw_output": "",
    "tool_calls": (),
    "tool_call_count": 0,
    "tool_use_success": False,
    "runner_type": "llm_probe",
    "status": "success",
    "attempt_count": 1,
    "checks_passed": 0,
    "checks_failed": 0,
    "checks_errored": 0,
    "checks": (),
    "expected_tools": (),
    "tags": (),
    "raw_output_truncated": False,
}
"""Of every field that a line has, in their order; null, or what stands for nothing known."""

FREE_TEXTS = (
    "violation", "raw_output", "parsed_output", "tool_calls", "error_code", "error_message",
    "served_model", "served_provider", "finish_reason",
)  # fmt: skip
"""Fields of which secrets are taken out, as a collector does; all others are ids and names."""

PLACE = b',"artifact_path":null,'


class Packed(NamedTuple):
    """A line and its trace as bytes; only the trace's place is not known yet."""

    model_id: str
    head: bytes
    """Of the line, up to that place."""
    tail: bytes
    frame: bytes | None
    """The whole trace; None: there is none."""

    def line(self, place: str | None) -> bytes:
        """Return the whole line.

        Args:
            place: `file#offset` of the trace.
        """
        said = b"null" if place is None else b'"%s"' % place.encode()
        return b'%s,"artifact_path":%s,%s\n' % (self.head, said, self.tail)


def fields_of(failure_type: str | None, known: dict[str, Any]) -> dict[str, Any]:
    """Return all fields of a trial's line; success and both statuses follow from the failure.

    Args:
        failure_type: one of `schemas.failures`; None: the model answered.
        known: what the source says, by field.
    """
    fields = BLANK.copy()
    fields["requested_model"] = known.get("model")
    fields.update(known)
    if failure_type is not None:
        kind = classify(failure_type)
        fields["failure_type"] = failure_type
        fields["success"] = False
        fields["status"] = kind.status
        fields["availability_status"] = kind.availability_status
    return fields


def packed(fields: dict[str, Any], artifact: dict[str, Any] | None) -> Packed:
    """Return a trial as it will be written: without secrets, its answer cut to size.

    Args:
        fields: of `fields_of`, each fit for its place.
        artifact: the trace as `schemas.run.trace.Artifact` declares it.
    """
    text = fields["raw_output"]
    if len(text) * 4 > MAX_RAW_OUTPUT_BYTES:
        fields["raw_output"], fields["raw_output_truncated"] = cut(redact(text))
    line = orjson.dumps(fields)
    if may_hold_secret(line.decode()):
        fields |= {name: redact_json(fields[name]) for name in FREE_TEXTS}
        line = orjson.dumps(fields)
    head, _, tail = line.rpartition(PLACE)
    frame = None if artifact is None else artifact_frame(artifact)
    return Packed(fields["model_id"], head, tail, frame)
