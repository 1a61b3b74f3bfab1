"""Prompt lists in the older JSON form: an array, or one object a line.

A file is cut into its entries, and each is parsed alone: a file of a few megabytes can unfold into
gigabytes when it is parsed whole (`[[],[],[],…`); cut first, the memory is that of one entry, and
every entry knows its line.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import from_json

from collect.config.cases import wire_message
from collect.config.resolved import LoadedCase, WireMessage
from schemas.base import bounded_slug, slim, slugify
from schemas.config.case import Prompt
from schemas.errors import ConfigError, Problem
from schemas.io.validation import problems_of
from schemas.io.yaml import MAX_DEPTH, MAX_PROBLEMS, Source, read_bytes

TOKEN = re.compile(rb'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"?[^"\[\]{}]*+)++|[\[\]{}]', re.DOTALL)
"""A row of strings, even torn ones, or a bracket; possessive, so that no text makes it slow."""

FILLED = re.compile(rb"[^ \t\r\n]")
MAX_ENTRY_BYTES = 2_000_000
TOO_LONG = f"one prompt has at most {MAX_ENTRY_BYTES:,} bytes"

SPACE = b" \t\r\n"
CHUNK = 1 << 20

MAX_LIST_BYTES = 64_000_000
MAX_ENTRIES = 100_000


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
        if at - start > MAX_ENTRY_BYTES:
            raise _list_error(path, TOO_LONG, line)
        text = raw[start:at]
        if _is_too_deep(text):
            raise _list_error(path, f"is nested deeper than {MAX_DEPTH}", line)
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
        raise _list_error(path, "should be a valid array: prompt lists are `[{id, prompt, …}]`", 1)
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
                raise _list_error(path, what, line)
            start = at
        if depth > 1 and token.end() - start > MAX_ENTRY_BYTES:
            raise _list_error(path, TOO_LONG, line)
        if first in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise _list_error(path, f"is nested deeper than {MAX_DEPTH}", line)
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
        raise _list_error(
            path, "is not valid JSON: the array does not end where the file does", line
        )


def _check_text(path: Path, raw: bytes) -> None:
    """Check that the bytes are UTF-8, a piece at a time: whole, the text takes up to four times."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for at in range(0, len(raw), CHUNK):
        try:
            decoder.decode(raw[at : at + CHUNK], final=at + CHUNK >= len(raw))
        except UnicodeDecodeError as exc:
            line = raw.count(b"\n", 0, at + exc.start) + 1
            raise _list_error(path, "is not UTF-8 text", line) from exc
    if (at := raw.find(b"\0")) >= 0:
        raise _list_error(path, "holds a NUL byte", raw.count(b"\n", 0, at) + 1)


def _list_error(path: Path, what: str, line: int) -> ConfigError:
    return ConfigError([Problem(path, what, line=line)])


def load_prompt_lists(
    folder: Path, references: Sequence[str]
) -> tuple[list[LoadedCase], dict[str, str], list[Problem]]:
    """Return the prompts of a suite's lists, the sha256 of each file by path, and problems.

    An id that an earlier list has is told from it by a prefix; no other id changes with a list
    that is added behind the others.
    """
    cases: list[LoadedCase] = []
    taken: set[str] = set()
    files: dict[str, str] = {}
    problems: list[Problem] = []
    for number, reference in enumerate(references, start=1):
        path = folder / reference
        if str(path) in files:
            problems.append(Problem(path, "is named twice in `prompt_lists`"))
            continue
        files[str(path)] = ""
        try:
            loaded, files[str(path)] = load_prompt_list(path, taken)
        except ConfigError as exc:
            problems += exc.problems
            continue
        cases += loaded
        if number < len(references):
            taken.update(case.case_id for case in loaded)
        if len(cases) > MAX_ENTRIES:
            what = f"the suite's lists hold more than {MAX_ENTRIES:,} prompts together"
            return cases, files, [*problems, Problem(path, what)]
    return cases, files, problems


def load_prompt_list(
    path: Path, taken: AbstractSet[str] = frozenset()
) -> tuple[list[LoadedCase], str]:
    """Return a list's prompts as cases, in the list's order, and the file's sha256.

    Args:
        path: a .json array or a .jsonl file.
        taken: case_ids of the lists before it; one of these gets `<list stem>--` put before it.

    Raises:
        ConfigError: every entry that is wrong, with its number (JSON) or line (JSONL).
    """
    raw = read_bytes(path, MAX_LIST_BYTES)
    prefix = f"{slugify(path.stem)}--"
    cases: dict[str, LoadedCase] = {}
    problems = []
    for number, prompt in enumerate(_parse(path, raw)):
        if prompt.validator is not None:
            slim(prompt.validator)
        slug = bounded_slug(slugify(prompt.id), prompt.id)
        case_id = slug if slug != prompt.id else prompt.id  # one text for both
        if case_id in taken:
            case_id = bounded_slug(prefix + slug, prefix + prompt.id)
        if case_id in cases or case_id in taken:
            other = f"`{cases[case_id].prompt_id}`" if case_id in cases else "one of another list"
            what = f"id becomes case_id `{case_id}`, as {other} does"
            problems.append(Problem(path, what, key=f"[{number}].id", found=prompt.id))
        cases[case_id] = LoadedCase(
            case_id=case_id,
            prompt_id=prompt.id,
            prompt_name=prompt.name,
            messages=_messages(prompt),
            validator=prompt.validator,
            expected_tool_calls=prompt.expected_tool_calls,
            tags=(prompt.variant,) if prompt.variant else (),
            cluster=prompt.cluster,
        )
    if problems:
        raise ConfigError(problems)
    return list(cases.values()), hashlib.sha256(raw).hexdigest()


def _messages(prompt: Prompt) -> tuple[WireMessage, ...]:
    if prompt.prompt is not None:
        return (WireMessage(role="user", content=prompt.prompt),)
    return tuple(wire_message(message) for message in prompt.messages)


def _parse(path: Path, raw: bytes) -> Iterator[Prompt]:
    """Yield the prompts of a list; what is wrong is raised at the end, all of it together."""
    problems: list[Problem] = []
    pieces = json_lines(path, raw) if path.suffix == ".jsonl" else json_objects(path, raw)
    for number, (line, piece) in enumerate(pieces):
        if number == MAX_ENTRIES:
            problems.append(Problem(path, f"holds more than {MAX_ENTRIES:,} prompts", line=line))
            break
        try:
            yield Prompt.model_validate_json(piece, strict=True)
        except ValidationError as exc:
            problems += _explain(exc, path, piece, number, line)
        if len(problems) >= MAX_PROBLEMS:
            break
    if problems:
        raise ConfigError(problems)


def _explain(
    exc: ValidationError, path: Path, piece: bytes, number: int, line: int
) -> list[Problem]:
    first = exc.errors(include_url=False)[0]
    if first["type"] == "json_invalid":
        what = f"is not valid JSON: {first['ctx']['error']}"
        return [Problem(path, what, f"[{number}]", line)]
    content = from_json(piece)  # the parser that took it: others refuse numbers beyond a double
    found = problems_of(exc, Prompt, Source(path, content, ""))
    return [
        replace(problem, key=f"[{number}]" + f".{problem.key}" * bool(problem.key), line=line)
        for problem in found
    ]
