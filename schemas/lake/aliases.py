"""Which id of a case stands for which older one: the lake's table, and the file it is made from.

`lake/aliases/month=YYYY-MM/*.parquet`, a small file for each time that somebody joined cases or
took it back. It belongs to no run, so neither a compaction nor a prune touches it.
`RUNS/aliases.jsonl` says the same, a line a row, beside the runs and to be committed: the table can
be made again from it. Rows that stand in the lake alone, as earlier versions wrote them, are
carried over once. Both are only ever added to, under the lake's lock.

To look whether both say the same loads nothing heavy.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from schemas.errors import ConfigError, Problem, counted, display_path, printable
from schemas.io.files import TEMPORARY, write_whole
from schemas.lake.footer import reading
from schemas.lake.layout import ALIASES, live_files, live_paths, month_of, strays
from schemas.lake.transaction import LOCK_WAIT_S, lake_lock

if TYPE_CHECKING:
    from schemas.run.alias import AliasOrigin, AliasRow

ALIASES_FILE = "aliases.jsonl"

SEEN = "manifest/aliases.json"
"""Of the lake: size and time of that file, and of the files made from it, as they were last."""

Known = Mapping[tuple[str, str], "AliasRow"]
"""(suite_id, old id) to the row that counts; those that were taken back are in it too."""


class Join(NamedTuple):
    """One id that is to stand for another one."""

    old: str
    new: str


def alias_file(lake: Path) -> Path:
    """Return the file that belongs to a lake."""
    return lake.parent / ALIASES_FILE


def are_aliases_in_lake(lake: Path) -> bool:
    """Return whether the file and the lake's table say the same, as far as a stat a file tells."""
    return not strays(lake, ALIASES) and _file_stats(lake) == _read_noted_stats(lake)


def _note_in_lake(lake: Path) -> None:
    """Note that the file and the lake's table say the same."""
    if (now := _file_stats(lake)) != _read_noted_stats(lake):
        write_whole(lake / SEEN, orjson.dumps(now))


def _file_stats(lake: Path) -> dict[str, list[int]]:
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


def _read_file(path: Path) -> tuple[list[AliasRow], list[str]]:
    """Return the rows of the file, and what is wrong with other lines of it, a sentence each.

    Raises:
        OSError: it is there and cannot be read.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - to look for news needs neither

    from schemas.run.alias import AliasRow  # noqa: PLC0415

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


def _append(path: Path, rows: Iterable[AliasRow]) -> None:
    """Add rows to the file: all of them or none."""
    lines = [*_lines(path), *(row.model_dump_json().encode() for row in rows)]
    write_whole(path, b"".join(line + b"\n" for line in lines))


def _lines(path: Path) -> list[bytes]:
    """Return the lines that are not empty."""
    if not path.is_file():  # a pipe would be waited for
        return []
    return [line for line in path.read_bytes().splitlines() if line.strip()]


def read_aliases(lake: Path) -> dict[tuple[str, str], AliasRow]:
    """Return the row that counts of every old id that ever was joined."""
    found: dict[tuple[str, str], AliasRow] = {}
    for row in _rows_in_lake(lake):
        key = row.suite_id, row.old_case_id
        if key not in found or found[key].recorded_at_ms < row.recorded_at_ms:
            found[key] = row
    return found


def _rows_in_lake(lake: Path) -> Iterator[AliasRow]:
    import pyarrow as pa  # noqa: PLC0415 - to look for news needs neither
    import pyarrow.parquet as pq  # noqa: PLC0415

    from schemas.io.arrow import record_of  # noqa: PLC0415
    from schemas.run.alias import AliasRow  # noqa: PLC0415

    for path in live_files(lake, ALIASES):
        with reading(path, pa.ArrowException), pq.ParquetFile(path) as file:
            rows = file.read().to_pylist()
        yield from (record_of(AliasRow, row) for row in rows)


def sync_aliases(lake: Path) -> list[str]:
    """Let the lake's table and `aliases.jsonl` say the same; return what is to be told.

    Raises:
        LakeBusy: another process rewrites the lake.
        DamagedFile: a file of the table cannot be read.
        OSError: the lake cannot be written.
    """
    if are_aliases_in_lake(lake):
        return []
    with lake_lock(lake, LOCK_WAIT_S):
        return _brought_together(lake)


def _brought_together(lake: Path) -> list[str]:
    """Do so; the caller holds the lake's lock."""
    in_lake, path = list(dict.fromkeys(_rows_in_lake(lake))), alias_file(lake)
    try:
        in_file, notes = _read_file(path)
        if missing := [row for row in in_lake if row not in set(in_file)]:
            _append(path, missing)
            n_rows = counted(len(missing), "alias row was", "alias rows were")
            notes.append(
                f"{n_rows} copied from the lake to {display_path(path)}: keep that file with the "
                "runs"
            )
    except OSError as exc:
        return [
            f"{display_path(path)}: {exc.strerror}; renamed cases are joined as the lake has them"
        ]
    months: dict[str, list[AliasRow]] = {}
    for row in dict.fromkeys(in_file):
        if row not in set(in_lake):
            months.setdefault(month_of(row.recorded_at_ms), []).append(row)
    for rows in months.values():
        _seal(lake, rows)
    _note_in_lake(lake)
    return notes


def alias_rows(lake: Path) -> list[AliasRow]:
    """Return every row that a lake has, those that count no longer too."""
    return list(dict.fromkeys(_rows_in_lake(lake)))


def add_alias_rows(lake: Path, rows: Iterable[AliasRow]) -> int:
    """Add the rows of another lake that this one does not have, and return how many.

    Raises:
        LakeBusy: another process rewrites the lake.
        OSError: the lake cannot be written.
    """
    with lake_lock(lake, LOCK_WAIT_S):
        _brought_together(lake)
        known = set(_rows_in_lake(lake))
        if missing := [row for row in dict.fromkeys(rows) if row not in known]:
            _append(alias_file(lake), missing)
            _brought_together(lake)
    return len(missing)


def join(lake: Path, suite_id: str, joins: Sequence[Join], origin: AliasOrigin) -> int:
    """Let ids of a suite stand for older ones; return how many were not joined so already.

    A prompt list joins only what nobody ever joined or took back: people have the last word.

    Raises:
        ConfigError: a person's alias would make an id stand for two, or for itself.
        LakeBusy: another process rewrites the lake.
        OSError: the lake cannot be written.
    """
    with _changing(lake, suite_id) as (known, edges):
        n_before = len(edges)
        for one in joins:
            end_of_old, end_of_new = _end(edges, one.old), _end(edges, one.new)
            if one.old in edges and end_of_old == end_of_new:
                continue
            is_free = one.old not in edges and end_of_new != one.old
            if origin == "person" and not is_free:
                raise _refused(edges, one, suite_id)
            if is_free and (origin == "person" or (suite_id, one.old) not in known):
                edges[one.old] = one.new, origin
    return len(edges) - n_before


def remove_alias(lake: Path, suite_id: str, old: str) -> None:
    """Let an id stand for itself again, and those that were joined to it end there.

    Raises:
        LakeBusy: another process rewrites the lake.
        OSError: the lake cannot be written.
    """
    with _changing(lake, suite_id) as (_, edges):
        edges.pop(old, None)


Edges = dict[str, tuple[str, "AliasOrigin"]]
"""Old id to the id it was joined to, and by whom."""


@contextmanager
def _changing(lake: Path, suite_id: str) -> Iterator[tuple[Known, Edges]]:
    """Yield the rows of a lake, and of a suite what is joined; writes what was changed in that."""
    with lake_lock(lake, LOCK_WAIT_S):
        _brought_together(lake)
        known = read_aliases(lake)
        edges = {
            old: (row.joined_to, row.origin)
            for (suite, old), row in known.items()
            if suite == suite_id and row.joined_to is not None
        }
        yield known, edges
        _write(lake, known, suite_id, edges)


def _end(edges: Edges, case_id: str) -> str:
    while case_id in edges:
        case_id = edges[case_id][0]
    return case_id


def _refused(edges: Edges, join: Join, suite_id: str) -> ConfigError:
    if join.old == join.new:
        return ConfigError([Problem(None, f"`{join.old}` is one id, and needs no alias")])
    if join.old in edges:
        first, what = join.old, f"`{join.old}` is joined to `{edges[join.old][0]}` already"
    else:
        first, what = join.new, f"`{join.old}` would stand for itself: `{join.new}` leads to it"
    undo = f"analyze alias {suite_id} {first} {edges[first][0]} --undo"
    return ConfigError([Problem(None, f"{what}; to take that back: `{undo}`")])


def _write(lake: Path, known: Known, suite_id: str, edges: Edges) -> None:
    """Add a row for each old id of a suite for which something is another than before."""
    from schemas.run.alias import AliasRow  # noqa: PLC0415 - as above

    newest = max((row.recorded_at_ms for row in known.values()), default=0)
    stamp = max(time.time_ns() // 1_000_000, newest + 1)
    old_ids = {old for suite, old in known if suite == suite_id} | edges.keys()
    rows = []
    for old in sorted(old_ids):
        before = known.get((suite_id, old))
        joined_to, origin = edges.get(old, (None, before.origin if before else "person"))
        end = None if joined_to is None else _end(edges, joined_to)
        if before is None or (before.joined_to, before.case_id) != (joined_to, end):
            rows.append(
                AliasRow(
                    suite_id=suite_id,
                    old_case_id=old,
                    joined_to=joined_to,
                    case_id=end,
                    origin=origin,
                    recorded_at_ms=stamp,
                )
            )
    if rows:
        sealed = _seal(lake, rows)
        try:
            _append(alias_file(lake), rows)
        except BaseException:
            sealed.unlink(missing_ok=True)
            raise
        _note_in_lake(lake)


def _seal(lake: Path, rows: Iterable[AliasRow]) -> Path:
    """Write rows as one file, which is whole or not there, and return it."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    from schemas.io.arrow import arrow_schema  # noqa: PLC0415
    from schemas.lake.writer import seal_files  # noqa: PLC0415
    from schemas.run.alias import AliasRow  # noqa: PLC0415

    content = [row.model_dump() for row in rows]
    table = pa.Table.from_pylist(content, schema=arrow_schema(AliasRow))
    month, token = month_of(content[0]["recorded_at_ms"]), uuid.uuid4().hex[:12]
    names = f"{TEMPORARY}{token}", f"alias-{token}.parquet"
    return seal_files(lake, month, {ALIASES: ([table], ())}, names)[0].path
