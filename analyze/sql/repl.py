"""The prompt of `analyze sql`: one question after the other, in a terminal or from a pipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb

from analyze.sql.output import OutputOptions, print_answer
from schemas.errors import EXIT_OK, BenchError

HELP = """\
A query ends with `;` and may go over several lines. Ctrl-C ends a query, Ctrl-D the prompt.
  .views         every view and table, with what one row of it is
  .schema NAME   the columns of one, with what they mean
  .help          this
  .quit          leave
"""

MAX_HISTORY_LINES = 1000
"""Lines that are remembered."""


def run_prompt(runs_dir: Path, options: OutputOptions) -> int:
    """Answer queries from standard input until it ends; return the exit code."""
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        _remember()
        sys.stdout.write("Queries end with `;`. `.views` lists what there is, `.help` the rest.\n")
    exit_code = EXIT_OK
    for text in _questions(is_terminal=is_terminal):
        try:
            if text.startswith("."):
                if not _command(text):
                    break
            else:
                print_answer(runs_dir, text, options)
        except BenchError as exc:
            sys.stdout.flush()
            sys.stderr.write(f"error: {exc}\n")
            exit_code = EXIT_OK if is_terminal else exc.exit_code
        except KeyboardInterrupt:
            if not is_terminal:
                raise
            sys.stderr.write("interrupted\n")
    return exit_code


def _questions(*, is_terminal: bool) -> Iterator[str]:
    """Yield each whole query and each command."""
    kept = ""
    while True:
        try:
            line = _line("   ...> " if kept else "analyze> ", is_terminal=is_terminal)
        except KeyboardInterrupt:
            if not is_terminal:
                raise
            kept = ""
            sys.stdout.write("\n")
            continue
        if line is None:
            break
        if not kept and line.lstrip().startswith("."):
            yield line.strip()
            continue
        kept += line + "\n"
        if not kept.strip():
            kept = ""
        elif _is_whole(kept):
            yield from _statements(kept)
            kept = ""
    if is_terminal:
        sys.stdout.write("\n")
    if kept.strip():
        yield from _statements(kept)


def _line(prompt: str, *, is_terminal: bool) -> str | None:
    """Return the next line; None when there is no more."""
    if not is_terminal:
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None
    try:
        return input(prompt)
    except EOFError:
        return None


def _is_whole(text: str) -> bool:
    """Return whether a text ends with a `;` that is part of no string and no comment."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.rstrip().endswith(";")
    tokens = duckdb.tokenize(text)
    if not tokens:
        return False
    place, kind = tokens[-1]
    return kind == duckdb.token_type.operator and text[place:].strip() == ";"


def _statements(text: str) -> list[str]:
    """Return each statement of a text; the text itself where the engine cannot read it."""
    try:
        text.encode()
        return [statement.query.strip() for statement in duckdb.extract_statements(text)]
    except (duckdb.Error, UnicodeEncodeError):
        return [text]


def _command(text: str) -> bool:
    """Run a command of the prompt; return whether the prompt goes on."""
    from analyze.query.dictionary import page_text, views_text  # noqa: PLC0415 - brings the models

    name, _, argument = text.partition(" ")
    argument = argument.strip(" ;")
    if name in {".quit", ".exit"}:
        return False
    if name == ".views" or (name == ".schema" and not argument):
        sys.stdout.write(views_text())
    elif name == ".schema":
        sys.stdout.write(page_text(argument))
    else:
        sys.stdout.write(HELP)
    return True


def _remember() -> None:
    """Let the arrow keys bring back what was asked before, in earlier sessions too."""
    try:
        import atexit  # noqa: PLC0415 - for terminals only
        import readline  # noqa: PLC0415

        from platformdirs import user_state_path  # noqa: PLC0415
    except ImportError:
        return
    path = user_state_path("benchlake") / "sql_history"
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            readline.read_history_file(path)
    readline.set_history_length(MAX_HISTORY_LINES)

    def write() -> None:
        with contextlib.suppress(OSError):
            readline.write_history_file(path)

    atexit.register(write)
