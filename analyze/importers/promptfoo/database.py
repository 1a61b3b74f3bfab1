"""The database of promptfoo, read without a trace beside it: each evaluation is written out.

What is written to it meanwhile is not seen. Keys of providers, which it keeps as they are, are left
out of what is written.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from analyze.importers.base import NotImportable
from analyze.importers.lenient import free, object_in, text, value_of
from analyze.importers.promptfoo.files import Eval, Row, columns_of, without_secrets
from schemas.base import error
from schemas.errors import ConfigError, Problem

DATABASES = frozenset({".db", ".sqlite", ".sqlite3"})

DATABASE_MAGIC = b"SQLite format 3\0"

AS_IT_STANDS = "mode=ro&immutable=1"

COLUMNS = {
    "id": "id", "created_at": "createdAt", "prompt_idx": "promptIdx", "test_idx": "testIdx",
    "test_case": "testCase", "prompt": "prompt", "prompt_id": "promptId", "provider": "provider",
    "latency_ms": "latencyMs", "cost": "cost", "response": "response", "error": "error",
    "success": "success", "score": "score", "grading_result": "gradingResult",
    "named_scores": "namedScores", "metadata": "metadata", "failure_reason": "failureReason",
}  # fmt: skip
"""Of the table of rows, and what they are called in an export."""

OF_JSON = frozenset(
    {"test_case", "prompt", "provider", "response", "grading_result", "named_scores", "metadata"}
)


def is_database(path: Path) -> bool:
    """Return whether a file is a database that holds evaluations; nothing is raised."""
    try:
        with path.open("rb") as file:
            if file.read(len(DATABASE_MAGIC)) != DATABASE_MAGIC:
                return False
        with closing(_opened(path)) as base:
            return _has_tables(base)
    except (OSError, sqlite3.Error):
        return False


def _opened(path: Path) -> sqlite3.Connection:
    """Open a database for reading, and leave nothing beside it.

    SQLite makes files for the log of writes where there are none, so a database that nobody writes
    to is read as it stands. Of one that was copied with its log alone, a copy is read.
    """
    path = path.resolve()
    log, shared = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    if not log.is_file() or not log.stat().st_size:
        return _connected(path, AS_IT_STANDS)
    if shared.is_file():
        return _connected(path, "mode=ro", AS_IT_STANDS)
    with tempfile.TemporaryDirectory() as made:  # the copy stays as long as it is open
        copy = Path(made) / path.name
        shutil.copyfile(path, copy)
        shutil.copyfile(log, Path(made) / log.name)
        return _connected(copy, "mode=ro")


def _connected(path: Path, *modes: str) -> sqlite3.Connection:
    """Open a database by the first mode in which it can be read."""
    place = quote(str(path))
    for mode in modes:
        base = sqlite3.connect(f"file:{place}?{mode}", uri=True)
        base.text_factory = lambda raw: raw.decode("utf-8", "replace")
        try:
            base.execute("select count(*) from sqlite_master").fetchall()
        except sqlite3.OperationalError:
            base.close()
            continue
        return base
    message = "cannot be opened"
    raise sqlite3.OperationalError(message)


def _has_tables(base: sqlite3.Connection) -> bool:
    found = base.execute("select name from sqlite_master where type = 'table'").fetchall()
    return {"evals", "eval_results"} <= {name for (name,) in found}


def read_database(path: Path, folder: Path, *, is_one: bool = False) -> Iterator[Eval]:
    """Yield every evaluation of a database, oldest first; its files are there until the next one.

    Args:
        path: of the database; what is written meanwhile is not seen.
        folder: takes the rows of each.
        is_one: more than one is an error.

    Raises:
        NotImportable: it is no database of promptfoo.
        ConfigError: it holds more than one, and one is wanted.
        OSError: a file cannot be written.
    """
    try:
        with closing(_opened(path)) as base:
            if not _has_tables(base):
                message = "has no tables `evals` and `eval_results`, as promptfoo.db has"
                raise NotImportable([(path, error("not_recognised", "", message))])
            base.execute("begin")
            names = base.execute("select rowid from evals order by created_at, id").fetchall()
            if is_one and len(names) > 1:
                what = f"one run id for the {len(names)} evaluations of a database"
                advice = "export one of them: promptfoo export eval ID -o out.json"
                raise ConfigError([Problem(path, what, "--run-id", advice=advice)])
            for n, (rowid,) in enumerate(names):
                place = folder / str(n)
                yield _written_out(base, rowid, place)
                shutil.rmtree(place)
    except sqlite3.Error as exc:
        message = f"is no database that can be read: {exc}"
        raise NotImportable([(path, error("not_readable", "", message))]) from None


def _written_out(base: sqlite3.Connection, rowid: int, folder: Path) -> Eval:
    """Write an evaluation's rows and the rest of it into a folder."""
    folder.mkdir()
    cursor = base.execute("select * from evals where rowid = ?", (rowid,))
    names = [one[0] for one in cursor.description]
    stored = dict(zip(names, cursor.fetchone(), strict=True))
    eval_id = text(_plain(stored.get("id")))
    summary = object_in(_json(stored.get("results")))
    old_rows = summary.pop("results", None)
    head = object_in(summary.pop("table", None), "head")
    prompts = _json(stored.get("prompts")) or head.get("prompts")
    header = {
        "evalId": eval_id,
        "createdAt": _plain(stored.get("created_at")),
        "description": _plain(stored.get("description")),
        "config": without_secrets(_json(stored.get("config"))),
        "runtimeOptions": _json(stored.get("runtime_options")),
        **{name: value for name, value in summary.items() if name != "prompts"},
    }
    rows_path, head_path = folder / "rows.jsonl", folder / "eval.json"
    n_rows = 0
    with rows_path.open("wb") as file:
        for row in _stored_rows(base, stored.get("id")):
            file.write(_line(row))
            n_rows += 1
        if not n_rows and isinstance(old_rows, list):  # from before rows had a table
            file.writelines(map(_line, old_rows))
    head_path.write_bytes(_line(header | {"prompts": prompts}))
    files = {"eval.json": head_path, "rows.jsonl": rows_path}

    def raw_rows() -> Iterator[bytes]:
        with rows_path.open("rb") as lines:
            yield from lines

    return Eval(eval_id, eval_id, header, columns_of(prompts), files, raw_rows)


def _line(value: object) -> bytes:
    return json.dumps(free(value), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _stored_rows(base: sqlite3.Connection, eval_id: object) -> Iterator[Row]:
    cursor = base.execute(
        "select * from eval_results where eval_id = ? order by test_idx, prompt_idx, id",
        (eval_id,),
    )
    names = [one[0] for one in cursor.description]
    for stored in cursor:
        values = dict(zip(names, stored, strict=True))
        row = {
            there: _json(values[name]) if name in OF_JSON else _plain(values[name])
            for name, there in COLUMNS.items()
            if name in values
        }
        test = object_in(row.get("testCase"))
        yield row | {"vars": test.get("vars"), "success": values.get("success") == 1}


def _plain(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _json(value: object) -> Any:
    """Return the JSON in a cell; None for what is none."""
    if not isinstance(value, str | bytes):
        return None
    try:
        return value_of(value.encode() if isinstance(value, str) else value)
    except ValueError:
        return None
