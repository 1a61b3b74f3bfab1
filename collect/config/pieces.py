"""Cuts a JSON array or a JSONL file into its entries, so that each is parsed alone.

A file of a few megabytes can unfold into gigabytes when it is parsed whole (`[[],[],[],…`); cut
first, the memory is that of one entry, and every entry knows its line.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from schemas.errors import ConfigError, Problem
from schemas.io.yaml import MAX_DEPTH

TOKEN = re.compile(
    rb'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"?[^"\[\]{}]*+)++|[\[\]{}]',
    re.DOTALL,
)
"""A row of strings, even torn ones, or a bracket; possessive, so that no text makes it slow."""

FILLED = re.compile(rb"[^ \t\r\n]")
ENTRY_LIMIT = 2_000_000
TOO_LONG = f"one prompt has at most {ENTRY_LIMIT:,} bytes"

SPACE = b" \t\r\n"
CHUNK = 1 << 20


def json_lines(path: Path, raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (line, text) of every line that is not blank.

    Raises:
        ConfigError: the file is not UTF-8 text, or a line is nested too deeply.
    """
    _check_text(path, raw)
    raw = raw.removeprefix(codecs.BOM_UTF8)
    line, counted, at = 1, 0, 0
    while (filled := FILLED.search(raw, at)) is not None:
        start = raw.rfind(b"\n", at, filled.start()) + 1 or at
        line += raw.count(b"\n", counted, start)
        counted = start
        at = raw.find(b"\n", filled.start()) + 1 or len(raw)
        if at - start > ENTRY_LIMIT:
            raise _wrong(path, TOO_LONG, line)
        text = raw[start:at]
        if _is_too_deep(text):
            raise _wrong(path, f"is nested deeper than {MAX_DEPTH}", line)
        yield line, text


def _is_too_deep(text: bytes) -> bool:
    depth = 0
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return False
    for token in TOKEN.finditer(text):
        first = text[token.start()]
        depth += (first in b"[{") - (first in b"]}")
        if depth > MAX_DEPTH:
            return True
    return False


def json_objects(path: Path, raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (line, text) of every object of a JSON array.

    Raises:
        ConfigError: the file is not an array of objects.
    """
    _check_text(path, raw)
    raw = raw.removeprefix(codecs.BOM_UTF8)
    if not raw.lstrip(SPACE).startswith(b"["):
        raise _wrong(path, "should be a valid array: prompt lists are `[{id, prompt, …}]`", 1)
    depth = start = counted = number = 0
    end, line = raw.index(b"[") + 1, 1
    for token in TOKEN.finditer(raw, end - 1):
        at = token.start()
        first = raw[at : at + 1]
        if depth == 1 and (first in b'"{[' or raw[end:at].strip(SPACE)):
            line += raw.count(b"\n", counted, at)
            counted = at
            gap = raw[end:at].strip(SPACE)
            if first != b"{" or gap != (b"," if number else b""):
                ends = first in b"]}" and not gap.strip(b"," + SPACE)
                what = f"`[{number}]`: should be an object"
                what = "is not valid JSON: ends after a comma" if ends else what
                raise _wrong(path, what, line)
            start = at
        if depth > 1 and token.end() - start > ENTRY_LIMIT:
            raise _wrong(path, TOO_LONG, line)
        if first in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise _wrong(path, f"is nested deeper than {MAX_DEPTH}", line)
        elif first in b"]}":
            depth -= 1
            end = token.end()
            if depth == 1:
                yield line, raw[start:end]
                number += 1
            elif depth == 0:
                break
    if depth or first != b"]" or raw[end:].strip(SPACE):
        line = raw.count(b"\n") + 1 if depth else raw.count(b"\n", 0, end) + 1
        raise _wrong(path, "is not valid JSON: the array does not end where the file does", line)


def _check_text(path: Path, raw: bytes) -> None:
    """Check that the bytes are UTF-8, a piece at a time: whole, the text takes up to four times."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for at in range(0, len(raw), CHUNK):
        try:
            decoder.decode(raw[at : at + CHUNK], final=at + CHUNK >= len(raw))
        except UnicodeDecodeError as exc:
            line = raw.count(b"\n", 0, at + exc.start) + 1
            raise _wrong(path, "is not UTF-8 text", line) from exc
    if (at := raw.find(b"\0")) >= 0:
        raise _wrong(path, "holds a NUL byte", raw.count(b"\n", 0, at) + 1)


def _wrong(path: Path, what: str, line: int) -> ConfigError:
    return ConfigError([Problem(path, what, line=line)])
