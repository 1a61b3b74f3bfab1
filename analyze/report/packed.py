"""Transcripts as a page embeds them: lines of JSON, deflated, as base64.

The first line has the order of models and cases, and names the places of the arrays that follow:
each further line is one trial, `TRIAL`, in which each turn is a `PART`. A text stands where it
comes first, and wherever it comes again the number of it in that order: what many trials share, as
a prompt, costs once. Arrays lose what is empty at their end.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from schemas.output.report_trials import Transcript
from schemas.run.model_names import id_of

PART = {
    "kind": "text",
    "name": "text",
    "text": "text",
    "after_ms": "value",
    "is_error": "value",
    "n_left_out": "value",
    "agent": "text",
    "cost_usd": "value",
}
"""Field to kind, in the order of the array; here and below."""

TRIAL = {
    "anchor": "text",
    "run_id": "text",
    "model_id": "text",
    "model": "text",
    "case_id": "text",
    "repetition": "value",
    "why": "text",
    "is_baseline": "value",
    "verdict": "text",
    "passed": "value",
    "reason": "text",
    "expected": "text",
    "tags": "texts",
    "e2e_ms": "value",
    "cost_usd": "value",
    "command": "text",
    "facts": "rows",
    "judged": "texts",
    "parts": "parts",
    "failure_type": "text",
    "tools": "texts",
    "missing": "text",
    "n_parts_left_out": "value",
}

SLACK_BYTES = 40_000
"""That the compressor may hold back; nearer to the end than this the size is taken exactly."""


def deflater() -> zlib._Compress:
    """Return what makes raw deflate, as small as it gets."""
    return zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)


def as_base64(content: bytes) -> str:
    """Return bytes as a page holds them."""
    return base64.b64encode(content).decode("ascii")


class PackedTrials:
    """Transcripts that are added one by one, with the bytes that a page would embed of them."""

    def __init__(
        self,
        visible: Callable[[str], str] = str,
        *,
        models: Sequence[str] = (),
        cases: Sequence[str] = (),
    ) -> None:
        """Begin without a trial.

        Args:
            visible: what becomes of every text before it is packed.
            models: ids of them in the order of the page.
            cases: the same of cases.
        """
        self._visible = visible
        self._places: dict[str, int] = {}
        self._compressor = deflater()
        self._done: list[bytes] = []
        self._size = 0
        order = {"models": [*map(visible, models)], "cases": [*map(visible, cases)]}
        self._write(order | {"trial": [*TRIAL.items()], "part": [*PART.items()]})

    def add(self, anchor: str, one: Transcript) -> None:
        """Add a trial under the id that links to it name."""
        named = {"anchor": anchor, "model_id": id_of(one.model_id), "model": one.model_id}
        self._write(self._array(TRIAL, vars(one) | named))

    def room(self, most_bytes: int) -> int:
        """Return the bytes that are left of so many of a page; far from the end some less."""
        left = most_bytes - embedded_bytes(self._size + SLACK_BYTES)
        if left > 0:
            return left
        rest = len(self._compressor.copy().flush())
        return most_bytes - embedded_bytes(self._size + rest)

    def embedded(self) -> str:
        """Return all of it as base64; nothing can be added afterwards."""
        self._take(self._compressor.flush())
        return as_base64(b"".join(self._done))

    def _write(self, line: object) -> None:
        self._take(self._compressor.compress(orjson.dumps(line) + b"\n"))

    def _take(self, piece: bytes) -> None:
        self._done.append(piece)
        self._size += len(piece)

    def _array(self, places: Mapping[str, str], values: Mapping[str, Any]) -> list[object]:
        found = [self._packed(kind, values[name]) for name, kind in places.items()]
        while found and _is_empty(found[-1]):
            found.pop()
        return found

    def _packed(self, kind: str, value: Any) -> object:
        match kind:
            case "text":
                return self._text(value)
            case "texts":
                return [self._text(text) for text in value]
            case "rows":
                return [[self._text(text) for text in row] for row in value]
            case "parts":
                return [self._array(PART, vars(part)) for part in value]
            case _:
                return value

    def _text(self, text: str | None) -> str | int | None:
        if not text:
            return None
        place = self._places.get(text)
        if place is None:
            self._places[text] = len(self._places)
            return self._visible(text)
        return place


def _is_empty(value: object) -> bool:
    """Return whether a value says nothing; a time of 0 is a time."""
    return value is None or value is False or value == []


def embedded_bytes(n_deflated: int) -> int:
    """Return the length of so many bytes as base64."""
    return -(-n_deflated // 3) * 4
