"""One JSON file of personal_agent_eval, read leniently: what is not as it should be is noted.

Its files are written in place without a lock, so a killed campaign leaves halves of them; a value
that no column of ours can hold becomes null, and the note says where it stands.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from analyze.imports.moments import moment_of
from schemas.base import MOST, Finding, error, pointer, warning
from schemas.errors import printable
from schemas.io.json_text import described, read_json_text

MOST_BYTES = 1 << 28
"""Of one file; a larger one is no record of a trial."""

SHORT_BYTES = 4_000
"""Kept of a name or a message."""


class Document:
    """The object in one file.

    Args:
        name: of the file below the folder of all outputs.
        data: what is in it.
        notes: takes what is found wrong.
    """

    def __init__(self, name: str, data: dict[str, Any], notes: list[Finding]) -> None:
        self.name = name
        self.data = data
        self._notes = notes

    def at(self, *keys: str) -> Any:
        """Return the value at a path of keys; None where there is none."""
        value: Any = self.data
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def text(self, *keys: str) -> str | None:
        """Return a text, at most 4,000 bytes of it; None for an empty one."""
        value = self.at(*keys)
        if value is None or isinstance(value, str):
            return (value or "").encode()[:SHORT_BYTES].decode(errors="ignore") or None
        self._unusable("a text", keys, value)
        return None

    def whole(self, *keys: str, least: int = 0, most: int = MOST) -> int | None:
        """Return a whole number from `least` to `most`."""
        value = self.at(*keys)
        if type(value) is int and least <= value <= most:
            return value
        if value is not None:
            self._unusable(f"a whole number from {least} to {most}", keys, value)
        return None

    def number(self, *keys: str, least: float = 0, most: float) -> float | None:
        """Return a number from `least` to `most`."""
        value = self.at(*keys)
        if type(value) in {int, float} and least <= value <= most:
            return float(value)
        if value is not None:
            self._unusable(f"a number from {least:g} to {most:g}", keys, value)
        return None

    def moment_ms(self, *keys: str) -> int | None:
        """Return a time in ms since the epoch; one without a zone is UTC."""
        value = self.at(*keys)
        if value is None:
            return None
        if (moment := moment_of(value)) is not None:
            return moment
        self._unusable("a time after 1970 in ISO 8601", keys, value)
        return None

    def note(self, code: str, message: str, *keys: str) -> None:
        """Note something that is not as it should be."""
        self._notes.append(warning(code, pointer(*keys), f"{self.name}: {message}"))

    def _unusable(self, wanted: str, keys: tuple[str, ...], value: object) -> None:
        self.note("bad_value", f"is {described(value)}, not {wanted}; taken as unknown", *keys)


def load(path: Path, name: str, notes: list[Finding]) -> Document | None:
    """Return the object in a file; None, with a note, where there is none that can be read."""
    data, where = None, ""
    try:
        if path.stat().st_size > MOST_BYTES:
            code, why = "too_large", f"is larger than {MOST_BYTES >> 20} MB"
        else:
            content = path.read_bytes()
            data, found = read_json_text(content)
            code, why = "wrong_type", f"is {described(data)}, not an object"
            for first in (one for one in found if one.severity == "error"):
                data, code, why, where = None, first.code, first.message, first.pointer
                break
            if isinstance(data, dict) and b"\\ud" in content.lower():
                data = _characters(data)
    except OSError as exc:
        code, why = "not_readable", f"cannot be read ({exc.strerror})"
    except RecursionError:
        code, why, data = "too_deep", "is nested too deeply", None
    if isinstance(data, dict):
        return Document(name, data, notes)
    notes.append(error(code, where, f"{printable(name)}: {why}; passed over"))
    return None


def _characters(data: dict[str, Any]) -> Any:
    """Return the same with `?` for every half of a surrogate pair, which is no character."""
    text = json.dumps(data, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "replace"))
