"""`RUNS/aliases.jsonl`: what people said of renamed cases, beside the runs, to be committed.

One line a row, only ever added to. The lake's table of aliases is made from it and can be made
again. Rows that stand in the lake alone, as earlier versions wrote them, are carried over once.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from schemas.errors import display_path, printable
from schemas.io.files import write_whole
from schemas.lake.layout import ALIASES, live_paths, strays

if TYPE_CHECKING:
    from schemas.run.alias import AliasRow

ALIASES_FILE = "aliases.jsonl"

SEEN = "manifest/aliases.json"
"""Of the lake: size and time of that file, and of the files made from it, as they were last."""

FileStats = dict[str, list[int]]


def alias_file(lake: Path) -> Path:
    """Return the file that belongs to a lake."""
    return lake.parent / ALIASES_FILE


def is_in_lake(lake: Path) -> bool:
    """Return whether the file and the lake's table say the same, as far as a stat a file tells."""
    now = _file_stats(lake)
    return not strays(lake, ALIASES) and now == _read_noted_stats(lake)


def note_in_lake(lake: Path) -> None:
    """Note that the file and the lake's table say the same.

    Raises:
        OSError: the lake cannot be written.
    """
    if (now := _file_stats(lake)) != _read_noted_stats(lake):
        write_whole(lake / SEEN, orjson.dumps(now))


def _file_stats(lake: Path) -> FileStats:
    paths = {ALIASES_FILE: alias_file(lake)} | live_paths(lake, ALIASES)
    stats = {}
    for name, path in paths.items():
        try:
            facts = path.stat()
        except OSError:
            continue
        stats[name] = [facts.st_size, facts.st_mtime_ns]
    return stats


def _read_noted_stats(lake: Path) -> Any:
    try:
        return orjson.loads((lake / SEEN).read_bytes())
    except (OSError, ValueError):
        return {}


def read_file(lake: Path) -> tuple[list[AliasRow], list[str]]:
    """Return the rows of the file, and what is wrong with other lines of it, a sentence each.

    Raises:
        OSError: it is there and cannot be read.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - to look for news needs neither

    from schemas.run.alias import AliasRow  # noqa: PLC0415

    path = alias_file(lake)
    rows, problems = [], []
    for number, line in enumerate(_lines(path), 1):
        try:
            rows.append(AliasRow.model_validate_json(line))
        except ValidationError as exc:
            first = exc.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            why = printable(f"`{where}`: {first['msg']}" if where else first["msg"])
            problems.append(
                f"{display_path(path)}:{number}: is no alias ({why}); the line is passed over"
            )
    return rows, problems


def append(lake: Path, rows: Iterable[AliasRow]) -> None:
    """Add rows to the file: all of them or none; the caller holds the lake's lock.

    Raises:
        OSError: it cannot be written, and is as before.
    """
    path = alias_file(lake)
    lines = [*_lines(path), *(row.model_dump_json().encode() for row in rows)]
    write_whole(path, b"".join(line + b"\n" for line in lines))


def _lines(path: Path) -> list[bytes]:
    """Return the lines that are not empty."""
    if not path.is_file():  # a pipe would be waited for
        return []
    return [line for line in path.read_bytes().splitlines() if line.strip()]
