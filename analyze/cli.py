"""The `analyze` command: one function a file in `commands`; errors become exit codes here.

What a command needs is imported inside it, and of the commands only the one that was asked for:
`--help` loads no engine and no models, and a query waits for nothing but its own.
"""

from __future__ import annotations

import atexit
import gc
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

import typer

from analyze.cli_options import RUNS, LakeOption
from analyze.cli_startup import LeanCommand, LeanGroup
from analyze.commands import COMMANDS
from schemas.command_group import VersionOption
from schemas.errors import (
    EXIT_BAD_NEWS,
    EXIT_INTERRUPTED,
    EXIT_OK,
    SHARED_COPIES,
    BenchError,
    file_error,
    printable,
)
from schemas.io.files import shortage_of, too_few_addresses
from schemas.io.standard_streams import closing_code, is_trouble_of_output, open_standard_streams
from schemas.registry import load_object


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the application, with the one command that the arguments name, else with all.

    The list of commands shows no options, and reading those of all takes longer than its rest.
    """
    app = typer.Typer(
        cls=LeanGroup, rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True
    )
    app.callback()(analyze)
    is_list = arguments[:1] == ["--help"]
    for name in [one for one in arguments[:1] if one in COMMANDS] or COMMANDS:
        command = COMMANDS[name]
        function = load_object(command.function)
        if command.reads_shared:
            function = _with_lake(function)
        add = app.command(
            name, cls=LeanCommand, help=function.__doc__, rich_help_panel=command.panel
        )
        add((lambda: None) if is_list else function)
    return app


def _with_lake(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes a shared lake in the place of a folder of runs."""

    def run(lake: str | None = None, **given: Any) -> None:
        if lake is not None:
            if given["runs"] != RUNS:
                message = "--lake and a folder of runs exclude each other"
                raise typer.BadParameter(message)
            given["runs"] = _replica_of(lake)
        function(**given)

    hints = get_type_hints(function, include_extras=True) | {"lake": LakeOption}
    signature = inspect.signature(function)
    option = inspect.Parameter("lake", inspect.Parameter.KEYWORD_ONLY, default=None)
    parameters = [
        one.replace(annotation=hints[one.name]) for one in (*signature.parameters.values(), option)
    ]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = hints
    run.__doc__ = function.__doc__
    return run


def _replica_of(url: str) -> Path:
    """Return the folder of runs that holds what a shared lake does."""
    from analyze.render.progress import Progress  # noqa: PLC0415 - of few commands
    from analyze.share.replica import replica_of  # noqa: PLC0415

    with Progress() as progress:
        folder, pulled = replica_of(url, progress.show)
    SHARED_COPIES[folder.absolute()] = url
    problems = pulled.refused if pulled.n_known else [f"there is no run in {url}"]
    for problem in problems:
        typer.echo(f"warning: {printable(problem)}", err=True)
    return folder


def __getattr__(name: str) -> typer.Typer:
    """Return `app`, the whole application, to those who ask for it; a command never does."""
    if name != "app":
        raise AttributeError(name)
    return app_for([])


def analyze(version: VersionOption = False) -> None:
    """Analyze the runs that `collect` made; never talks to a model.

    Example: analyze report latest
    """


def main() -> None:
    """Run the command; an error raised on purpose is one line and an exit code."""
    open_standard_streams()
    sys.exit(closing_code(_code()))


def _code() -> int:
    """Run the command and return its exit code."""
    is_help = len(sys.argv) == 1 or "--help" in sys.argv
    try:
        if not is_help and (lacking := too_few_addresses()) is not None:
            sys.stderr.write(f"error: {lacking}\n")
            return EXIT_BAD_NEWS
        app_for(sys.argv[1:])()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else EXIT_OK
    except BenchError as exc:
        text = shortage_of(exc)
        lines = (text or str(exc)).splitlines()
        sys.stderr.write("".join(f"error: {line}\n" for line in lines))
        return exc.exit_code if text is None else EXIT_BAD_NEWS
    except (OSError, MemoryError, ImportError, RuntimeError) as exc:
        if (text := shortage_of(exc)) is not None:
            sys.stderr.write(f"error: {text}\n")
            return EXIT_BAD_NEWS
        if not isinstance(exc, OSError):
            raise
        if is_trouble_of_output(exc):
            return EXIT_BAD_NEWS
        if (error := file_error(exc)) is None:
            raise
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return EXIT_INTERRUPTED
    return EXIT_OK


def process() -> NoReturn:
    """Run the command as a process of its own, and leave without taking the interpreter apart.

    Giving back every module one by one takes 0.05 s, an eighth of a comparison. What has to be done
    at the end is done: exit functions run, and output that cannot be written fails as ever.
    """
    gc.disable()  # a command leaves no cycles worth looking for, nor time for it at its end
    code = EXIT_OK
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else EXIT_OK
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    atexit._run_exitfuncs()
    os._exit(code)
