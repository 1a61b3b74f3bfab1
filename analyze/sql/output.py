"""Prints or writes the answer to a user's query; nothing comes out of a query that fails.

In JSON, CSV and Parquet values are exact; what a form cannot say is null.

An answer as text: a table for a terminal, a table in Markdown.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO, TypedDict, cast, get_args

from analyze.render.text import Side, cells, fit, heads_apart, needed, padded, row_line, widths_of
from analyze.sql.ask import Answered, Column, ask
from schemas.errors import (
    EXIT_INTERRUPTED,
    AnalyzeError,
    QueryFailed,
    counted,
    display_path,
    printable,
)
from schemas.io.files import replacing
from schemas.redact import json_escape, spelled

NULL = "null"

MIN_COLUMN_WIDTH = 8
"""Columns are cut no narrower than this to fit a terminal; then rows become blocks of lines."""


def cell_text(value: Any) -> str:
    """Return a value as one line of text, its control characters spelled out."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list | dict | tuple):
        return spelled(json.dumps(value, ensure_ascii=False, default=str))
    return spelled(str(value))


def _number(value: float) -> str:
    """Return a float with at most 6 digits behind the point, and no zeros at the end."""
    if not math.isfinite(value) or (value and not 1e-4 <= abs(value) < 1e15):
        return f"{value:g}"
    text = f"{value:.6f}".rstrip("0")
    return f"{text}0" if text.endswith(".") else text


def table(
    columns: Sequence[Column], rows: Sequence[Sequence[Any]], *, width: int | None = None
) -> str:
    """Return rows as an aligned table, numbers to the right.

    Args:
        columns: of the rows.
        rows: their values.
        width: of the terminal; cells are cut so that a row fits into one line, and where that
            leaves too little of them each row becomes a block of lines. None: nothing is cut.
    """
    heads = [spelled(column.name) for column in columns]
    texts = [[cell_text(value) for value in row] for row in rows]
    widths = widths_of(heads, texts)
    if width is not None and needed(widths) > width:
        if needed([min(MIN_COLUMN_WIDTH, natural) for natural in widths]) > width:
            return _blocks(heads, texts, width)
        widths = _fitted(widths, width)
        if (cut_heads := heads_apart(heads, widths)) is None:
            return _blocks(heads, texts, width)
        heads = cut_heads
    sides: list[Side] = ["right" if column.is_number else "left" for column in columns]
    rule = "  ".join("-" * wide for wide in widths)
    lines = [row_line(heads, widths, sides), rule]
    lines += [row_line(row, widths, sides) for row in texts]
    return "".join(f"{line}\n" for line in lines)


def _fitted(widths: Sequence[int], width: int) -> list[int]:
    """Return widths that fit: the widest columns give way until they do."""
    fitted = list(widths)
    while needed(fitted) > width:
        widest = max(fitted)
        second = max((wide for wide in fitted if wide < widest), default=MIN_COLUMN_WIDTH)
        places = [place for place, wide in enumerate(fitted) if wide == widest]
        over = needed(fitted) - width
        share = min(widest - second, -(-over // len(places)))
        for place in places:
            fitted[place] -= min(share, needed(fitted) - width)
    return fitted


def _blocks(heads: Sequence[str], texts: Sequence[Sequence[str]], width: int) -> str:
    """Return each row as a block of lines, one a column."""
    left = min(max(map(cells, heads)), width // 2)
    blocks = [
        "".join(
            f"{padded(head, left)}  {fit(text, width - left - 2)}".rstrip() + "\n"
            for head, text in zip(heads, row, strict=True)
        )
        for row in texts
    ]
    return ("-" * width + "\n").join(blocks)


def markdown(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as a table in Markdown; nothing in a cell is markup."""
    from analyze.render.markdown import as_text  # noqa: PLC0415 - brings the models along

    heads = [as_text(spelled(column.name)) for column in columns]
    rule = ["---:" if column.is_number else "---" for column in columns]
    body = [[as_text(cell_text(value)) for value in row] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in [heads, rule, *body])


FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""A spreadsheet takes a text that begins so, or with their full-width twins, for a formula."""

QUOTE = '"'
NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$')

Format = Literal["table", "json", "csv", "parquet", "md"]

BY_SUFFIX: dict[str, Format] = {f".{form}": form for form in get_args(Format) if form != "table"}
"""Format of an output file unless one is asked for."""

EOL = "\n"

MAX_MEMORY_BYTES = 2**24
"""Bytes of an answer that are kept in memory before it goes to a temporary file."""


def write_json(out: TextIO, columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> None:
    """Write one array with an object a row; integers and decimals keep every digit."""
    names = [json_text(column.name) for column in columns]
    before = "[\n  "
    for row in rows:
        pairs = (f"{name}: {json_text(value)}" for name, value in zip(names, row, strict=True))
        out.write(f"{before}{{{', '.join(pairs)}}}")
        before = ",\n  "
    out.write("[]\n" if before.startswith("[") else "\n]\n")


def json_text(value: Any) -> str:
    """Return a value as JSON: without NaN, and without characters that a terminal obeys."""
    if isinstance(value, str):
        return _json_string(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "null"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(json_text, value))}]"
    if isinstance(value, dict):
        pairs = (f"{_json_string(str(key))}: {json_text(kept)}" for key, kept in value.items())
        return f"{{{', '.join(pairs)}}}"
    if value is None or isinstance(value, bool | int):
        return json.dumps(value)
    return _json_string(str(value))


def _json_string(text: str) -> str:
    return spelled(json.dumps(text, ensure_ascii=False), json_escape)


def write_csv(out: TextIO, columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> None:
    """Write a line of names and a line a row; null is empty, an empty text is `""`.

    A text that a spreadsheet would run as a formula gets a `'` in front.
    """
    out.write(_csv_line(column.name for column in columns))
    out.writelines(map(_csv_line, rows))


def _csv_line(values: Iterable[Any]) -> str:
    return ",".join(map(_csv_cell, values)) + "\n"


def _csv_cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool | int | float | Decimal | list | tuple | dict):
        text = json_text(value)
    else:
        text = str(value)
        text = f"'{text}" if text.startswith(FORMULA) else text
    return f'"{text.replace(QUOTE, QUOTE * 2)}"' if not text or NEEDS_QUOTES.search(text) else text


def write_parquet(path: Path, answer: Answered) -> None:
    """Write a Parquet file with the engine's own types; a name that comes again gets a number.

    Raises:
        QueryFailed: a column has a type that Parquet has no form for.
    """
    import pyarrow as pa  # noqa: PLC0415 - costs more than most queries
    import pyarrow.parquet as pq  # noqa: PLC0415

    schema, batches = answer.batches()
    try:
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch)
    except pa.ArrowNotImplementedError as exc:
        types = ", ".join(f"`{column.name}` {column.type}" for column in answer.columns)
        message = f"Parquet has no form for a column of {types}; cast it to varchar"
        raise QueryFailed(printable(message)) from exc


class Asker(Protocol):
    """Asks a question: `analyze.sql.ask.ask`, or another engine's."""

    def __call__(
        self,
        runs_dir: Path,
        sql: str,
        use: Callable[[Answered], None],
        *,
        timeout_s: float,
        stuck: Callable[[AnalyzeError | KeyboardInterrupt], None] | None = None,
        repairs: bool = False,
        evaluation_profile: str | None = None,
    ) -> None:
        """Let `use` read the answer to a user's query."""


class AskOptions(TypedDict):
    """What `ask` takes beside the question."""

    timeout_s: float
    repairs: bool
    evaluation_profile: str | None


@dataclass(frozen=True)
class OutputOptions:
    """How an answer is wanted."""

    form: Format = "table"
    max_rows: int = 100
    """Rows of a table that are shown; 0: all."""
    timeout_s: float = 60.0
    repairs: bool = False
    """A damaged file of the lake is set aside; else it is left out."""
    evaluation_profile: str | None = None
    """Whose judges have a say in verdicts; None: those of each run's own."""

    @property
    def asked(self) -> AskOptions:
        """What `ask` takes of it."""
        return {
            "timeout_s": self.timeout_s,
            "repairs": self.repairs,
            "evaluation_profile": self.evaluation_profile,
        }


def print_answer(runs_dir: Path, sql: str, options: OutputOptions, asker: Asker = ask) -> None:
    """Print the answer to a query on standard output.

    Args:
        runs_dir: the folder that holds the runs.
        sql: what the user wrote.
        options: how the answer is wanted.
        asker: of the engine; by default DuckDB.

    Raises:
        AnalyzeError: the query was refused, has a mistake, or took too long.
    """
    if options.form == "parquet":
        with tempfile.TemporaryDirectory(prefix="benchlake-") as folder:
            path = Path(folder) / "answer.parquet"
            write_answer(runs_dir, sql, options, path, asker)
            with path.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    with tempfile.SpooledTemporaryFile(
        MAX_MEMORY_BYTES, "w+", encoding="utf-8", newline=""
    ) as spool:

        def use(answer: Answered) -> None:
            spool.seek(0)
            spool.truncate()
            _write(cast("TextIO", spool), answer, options, width)

        asker(runs_dir, sql, use, stuck=leave, **options.asked)
        spool.seek(0)
        if options.form == "csv" and sys.stdout.isatty():
            sys.stdout.writelines(f"{spelled(line.rstrip(EOL))}\n" for line in spool)
        else:
            shutil.copyfileobj(spool, sys.stdout)
        sys.stdout.flush()


def write_answer(
    runs_dir: Path, sql: str, options: OutputOptions, path: Path, asker: Asker = ask
) -> int:
    """Write the answer to a query into a file, whole or not at all; return its bytes.

    Args:
        runs_dir: the folder that holds the runs.
        sql: what the user wrote.
        options: how the answer is wanted.
        path: of the file.
        asker: of the engine; by default DuckDB.

    Raises:
        AnalyzeError: the query was refused, has a mistake, or took too long; or the file cannot
            be written.
    """
    with _replacing(path) as temporary:

        def use(answer: Answered) -> None:
            if options.form == "parquet":
                write_parquet(temporary, answer)
                return
            with temporary.open("w", encoding="utf-8", newline="") as out:
                _write(out, answer, options, None)

        def give_up(why: AnalyzeError | KeyboardInterrupt) -> None:
            temporary.unlink(missing_ok=True)
            leave(why)

        asker(runs_dir, sql, use, stuck=give_up, **options.asked)
        return temporary.stat().st_size


def leave(why: AnalyzeError | KeyboardInterrupt) -> None:
    """End the process at once, since the engine does not end its work."""
    if isinstance(why, AnalyzeError):
        sys.stderr.write(f"error: {why}\n")
        sys.stderr.flush()
        os._exit(why.exit_code)
    os._exit(EXIT_INTERRUPTED)


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Yield a name beside a file; what is there in the end takes the file's place.

    A link stays one, a file keeps who may read it; a pipe or a device is written to, not replaced.
    """
    real = path.resolve() if path.is_symlink() else path
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with tempfile.TemporaryDirectory(prefix="benchlake-") as folder:
                yield (temporary := Path(folder) / "answer")
                with temporary.open("rb") as whole, path.open("wb") as device:
                    shutil.copyfileobj(whole, device)
            return
        with replacing(real) as temporary:
            yield temporary
            if real.is_file():
                shutil.copymode(real, temporary)
    except OSError as exc:
        message = f"{display_path(path)}: cannot be written ({exc.strerror})"
        raise AnalyzeError(message) from exc


def _write(out: TextIO, answer: Answered, options: OutputOptions, width: int | None) -> None:
    rows = answer.rows()
    if options.form == "json":
        write_json(out, answer.columns, rows)
    elif options.form == "csv":
        write_csv(out, answer.columns, rows)
    elif options.form == "md":
        out.write(markdown(answer.columns, list(rows)))
    else:
        kept = list(itertools.islice(rows, options.max_rows or None))
        n_rows = len(kept) + sum(1 for _ in rows)
        out.write(table(answer.columns, kept, width=width))
        out.write(f"\n{_count(len(kept), n_rows)}\n")


def _count(n_shown: int, n_rows: int) -> str:
    if n_shown < n_rows:
        return f"{counted(n_shown, 'row')} shown of {n_rows:,}; --max-rows 0 shows all"
    return counted(n_rows, "row")
