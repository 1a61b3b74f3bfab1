"""JSON that somebody else wrote, read strictly: what is wrong with it comes back as findings.

Python's own reader takes the last of two equal keys in silence, and NaN for a number; both would
change what a document says. A parsed value is looked through as well, for what no file of ours may
hold; the walk keeps its own stack, so that nesting of any depth is a finding and never an
exception.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from schemas.base import Finding, error, pointer

MAX_DEPTH = 200
"""Objects and lists inside one another; readers of JSON give up at a few hundred."""

MAX_DIGITS = 4_300
"""Of a whole number; Python neither reads nor writes longer ones."""

MAX_FINDINGS = 1_000
"""Findings of one kind in one document; who mends those runs the check again."""

MAX_KEY_CHARS = 200
"""Characters of a key that a pointer repeats."""

_MAX_BITS = 14_284
_MAX_SHOWN_CHARS = 60
Trail = tuple[Any, Any] | None
"""A place in a document: the trail of what holds it, and the key or index there."""

BOM = b"\xef\xbb\xbf"


def value_problems(document: object) -> list[Finding]:
    """Return what JSON cannot carry: NaN, lone surrogates, huge numbers, depth, other objects.

    Nesting beyond 200 levels ends the walk; it is then the last finding.
    """
    if not isinstance(document, _CONTAINERS):
        return list(_of_leaf(document, None))
    found: list[Finding] = []
    stack: list[tuple[Iterator[tuple[Any, Any]], Trail]] = [(_pairs(document, None, found), None)]
    while stack:
        pairs, trail = stack[-1]
        for key, value in pairs:
            kind = type(value)
            if (
                (kind is str and value.isascii())
                or (kind is float and value - value == 0)
                or value is None
                or kind is bool
                or (kind is int and -_SMALL < value < _SMALL)
            ):
                continue
            inner: Trail = (trail, key)
            if isinstance(value, _CONTAINERS):
                if len(stack) == MAX_DEPTH:
                    message = f"lists and objects are nested deeper than {MAX_DEPTH} levels"
                    return [*found, error("too_deep", place(inner), message)]
                if value:
                    stack.append((_pairs(value, inner, found), inner))
                    break
            elif len(found) < MAX_FINDINGS:
                found += _of_leaf(value, inner)
        else:
            stack.pop()
    if len(found) >= MAX_FINDINGS:
        message = f"{MAX_FINDINGS:,} values that JSON cannot carry are named, and no more of them"
        found.append(error("bad_value", "", message))
    return found


def _pairs(node: Any, trail: Trail, found: list[Finding]) -> Iterator[tuple[Any, Any]]:
    """Return keys or indexes with their values, and note what is wrong with the keys."""
    if not isinstance(node, dict):
        return enumerate(node)
    for key in node:
        if not (type(key) is str and key.isascii()) and len(found) < MAX_FINDINGS:
            found += _of_key(key, trail)
    return iter(node.items())


_CONTAINERS = (dict, list, tuple)
_SMALL = 2**63


def _of_leaf(value: object, trail: Trail) -> Iterator[Finding]:
    where = place(trail)
    if isinstance(value, str):
        if not is_unicode(value):
            message = f"{excerpt(value)} holds half of a surrogate pair, which is no character"
            yield error("bad_value", where, message)
    elif isinstance(value, float):
        if value - value != 0:
            yield error("bad_value", where, f"{value} is no number that JSON can carry")
    elif isinstance(value, int):
        if value.bit_length() > _MAX_BITS:
            message = f"a whole number of more than {MAX_DIGITS:,} digits"
            yield error("bad_value", where, message)
    elif value is not None:
        message = f"a Python object ({type(value).__name__}), which JSON does not have"
        yield error("wrong_type", where, message)


def _of_key(key: object, trail: Trail) -> Iterator[Finding]:
    if not isinstance(key, str):
        message = f"a key is {described(key)}; keys of an object are text"
        yield error("wrong_type", place(trail), message)
    elif not is_unicode(key):
        message = f"the key {excerpt(key)} holds half of a surrogate pair, which is no character"
        yield error("bad_value", place(trail), message)


def is_unicode(text: str) -> bool:
    """Return whether text can be written as UTF-8: no lone surrogate is in it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def place(trail: Trail) -> str:
    """Return the pointer of a trail; long keys are cut, and lone surrogates escaped."""
    parts: list[str | int] = []
    while trail is not None:
        trail, key = trail
        parts.append(key_part(key))
    return pointer(*reversed(parts))


def key_part(key: object) -> str | int:
    """Return a key or an index as it stands in pointers; what is neither as its kind."""
    if isinstance(key, str):
        if len(key) <= MAX_KEY_CHARS and key.isascii():
            return key
        return key[:MAX_KEY_CHARS].encode("utf-8", "backslashreplace").decode()
    return key if type(key) is int and abs(key) < _SMALL else f"({type(key).__name__})"


def described(value: object) -> str:
    """Return what kind of JSON value something is, and its beginning: `the text "abc"`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        return f"the text {excerpt(value)}"
    return f"the number {excerpt(value)}" if isinstance(value, int | float) else "no JSON value"


def excerpt(value: object) -> str:
    """Return the beginning of a text, or a number, as ASCII on one line."""
    if isinstance(value, str):
        more = "..." if len(value) > _MAX_SHOWN_CHARS else ""
        return json.dumps(value[:_MAX_SHOWN_CHARS]) + more
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return f"of more than {MAX_DIGITS:,} digits"
    text = str(value)
    return text if len(text) <= _MAX_SHOWN_CHARS else text[:_MAX_SHOWN_CHARS] + "..."


def read_json_text(content: bytes) -> tuple[object, tuple[Finding, ...]]:
    """Return the value of a JSON text, and what is wrong with the text.

    Of two equal keys the last one counts, NaN and Infinity stay what they are, and both are
    errors all the same; so is a value that cannot be read at all, which is None. A byte order mark
    is passed over.
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
        message = f"a whole number has more than {MAX_DIGITS:,} digits"
        return None, (error("not_json_number", "", message),)
    return value, tuple(notes.findings(value))


class _Notes:
    """What the reader came upon; the place is looked up afterwards, for what is rare."""

    def __init__(self) -> None:
        self._twice: list[tuple[dict[str, Any], str]] = []
        self._constants: dict[str, int] = {}

    def object_of(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs) and len(self._twice) < MAX_FINDINGS:
            counts = Counter(key for key, _ in pairs)
            again = [key for key, count in counts.items() if count > 1]
            self._twice += [(made, key) for key in again]
            del self._twice[MAX_FINDINGS:]
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
            message = f"the key {excerpt(key)} stands there more than once"
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
