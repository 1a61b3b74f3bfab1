"""Strict reading of JSON that somebody else wrote: what is wrong with it comes back as findings.

Python's own reader takes the last of two equal keys in silence, and NaN for a number; both would
change what a document says.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from schemas.finding import Finding, error
from schemas.json_values import MOST_DIGITS, MOST_FOUND, Trail, place, shown

BOM = b"\xef\xbb\xbf"


def read_json_text(content: bytes) -> tuple[object, tuple[Finding, ...]]:
    """Return the value of a JSON text, and what is wrong with the text.

    Of two equal keys the last one counts, NaN and Infinity stay what they are, and both are
    errors all the same.

    Args:
        content: UTF-8, with or without a byte order mark.

    Returns:
        None for the value where it cannot be read at all; then there is an error.
    """
    if not content.strip():
        return None, (error("not_json", "", "the file is empty", line=1),)
    try:
        text = content.removeprefix(BOM).decode()
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        message = f"byte {exc.start + 1:,} is not UTF-8 text"
        return None, (error("not_json", "", message, line=line),)
    notes = _Notes()
    try:
        value = json.loads(text, object_pairs_hook=notes.object_of, parse_constant=notes.constant)
    except json.JSONDecodeError as exc:
        message = f"no JSON from column {exc.colno:,} on: {exc.msg}"
        return None, (error("not_json", "", message, line=exc.lineno),)
    except RecursionError:
        return None, (error("too_deep", "", "lists and objects are nested too deeply to be read"),)
    except ValueError:
        message = f"a whole number has more than {MOST_DIGITS:,} digits"
        return None, (error("not_json_number", "", message),)
    return value, tuple(notes.findings(value))


class _Notes:
    """What the reader came upon; the place is looked up afterwards, for what is rare."""

    def __init__(self) -> None:
        self._twice: list[tuple[dict[str, Any], str]] = []
        self._constants: dict[str, int] = {}

    def object_of(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs) and len(self._twice) < MOST_FOUND:
            counts = Counter(key for key, _ in pairs)
            again = [key for key, count in counts.items() if count > 1]
            self._twice += [(made, key) for key in again]
            del self._twice[MOST_FOUND:]
        return made

    def constant(self, word: str) -> float:
        self._constants[word] = self._constants.get(word, 0) + 1
        return float(word)

    def findings(self, document: object) -> list[Finding]:
        """Return errors for equal keys, each at its object, and one for each word."""
        found = [
            error("not_json_number", "", f"{word} stands {count:,} times; JSON has no such number")
            if count > 1
            else error("not_json_number", "", f"{word} is no number that JSON has")
            for word, count in self._constants.items()
        ]
        trails = _trails(document, {id(made) for made, _ in self._twice})
        for made, key in self._twice:
            message = f"the key {shown(key)} stands there more than once"
            found.append(error("duplicate_key", place(trails.get(id(made))), message))
        return found


def _trails(document: object, wanted: set[int]) -> dict[int, Trail]:
    """Return where objects stand; those that an equal key has replaced stand nowhere."""
    found: dict[int, Trail] = {}
    stack: list[tuple[Any, Trail]] = [(document, None)] if wanted else []
    while stack:
        node, trail = stack.pop()
        if id(node) in wanted:
            found[id(node)] = trail
        inner = node.items() if isinstance(node, dict) else enumerate(node)
        stack += [(one, (trail, key)) for key, one in inner if isinstance(one, dict | list)]
    return found
