"""A `.json` log: whole in memory while it is small, else found sample by sample in the file.

JSON as objects takes six times its size and more, so of a large log only the places of its samples
are kept.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analyze.importers.inspect.values import Json, loads, rows
from schemas.errors import ConfigError, Problem

MAX_WHOLE_BYTES = 1 << 26

TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{},:]', re.DOTALL)
"""Texts as a whole, so that what is in them counts for nothing; possessive."""

OPENS, CLOSES = frozenset(b"[{"), frozenset(b"]}")


class JsonDocument:
    """An object, one list of which may be large.

    Args:
        path: of the file.
        name: key of the list.

    Raises:
        ConfigError: it is no JSON object.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path, name: str, most: int = MAX_WHOLE_BYTES) -> None:
        self._path = path
        self._items: list[Any] | None = None
        self._spans: list[tuple[int, int]] = []
        try:
            if path.stat().st_size <= most:
                self.rest = self._object(loads(path.read_bytes()))
                """Of the object, all but the list."""
                self._items = rows(self.rest.pop(name, None))
            else:
                self.rest = self._object(self._split(name))
                self.rest.pop(name, None)
        except ValueError as exc:
            raise ConfigError([Problem(path, f"is no JSON: {exc}")]) from None

    def _object(self, found: Any) -> Json:
        if not isinstance(found, dict):
            what = "is no log of Inspect: it is no JSON object"
            raise ConfigError([Problem(self._path, what)])
        return found

    def items(self) -> Iterator[Any]:
        """Yield each item of the list."""
        if self._items is not None:
            yield from self._items
        else:
            yield from map(self.item, range(len(self._spans)))

    def item(self, place: int) -> Any:
        """Return an item; None where it is no JSON.

        Raises:
            OSError: the file cannot be read.
        """
        if self._items is not None:
            return self._items[place]
        begin, end = self._spans[place]
        with self._path.open("rb") as file:
            file.seek(begin)
            try:
                return loads(file.read(end - begin))
            except ValueError:
                return None

    def _split(self, name: str) -> Any:
        """Note where each item is, and return the document without them."""
        key = f'"{name}"'.encode()
        with (
            self._path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw,
        ):
            begin, end = self._list_in(raw, key)
            return loads(raw[:begin] + raw[end:])

    def _list_in(self, raw: mmap.mmap, key: bytes) -> tuple[int, int]:
        """Return where the inside of the list begins and ends."""
        depth, last, is_ours = 0, b"", False
        begin = item = 0
        for match in TOKEN.finditer(raw):
            token = match[0]
            first = token[0]
            if first in OPENS:
                depth += 1
                if depth == 2 and last == key and first == ord("["):
                    is_ours, begin, item = True, match.end(), match.end()
            elif first in CLOSES:
                depth -= 1
                if is_ours and depth == 1:
                    self._note(raw, item, match.start())
                    return begin, match.start()
            elif first == ord(",") and is_ours and depth == 2:
                self._note(raw, item, match.start())
                item = match.end()
            if depth == 1 and first == ord('"'):
                last = token
        return len(raw), len(raw)

    def _note(self, raw: mmap.mmap, begin: int, end: int) -> None:
        if raw[begin:end].strip():
            self._spans.append((begin, end))
