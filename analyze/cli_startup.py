"""What lets a command answer at once: plain values without pydantic, imports beside the engine.

Typer builds a pydantic adapter for each value, which takes longer than most queries; a command that
answers in a quarter of a second cannot afford it. Text, numbers, paths and choices are read here,
what is not plain goes Typer's own way.

Where loading the records takes as long as reading the rows, both are done at once: the engine runs
without Python's lock, on a second core.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand

from schemas.command_group import SectionedGroup


class LeanCommand(TyperCommand):
    """A command that reads plain values itself: `app.command(cls=LeanCommand)`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return every parameter of the command, `--help` included."""
        return _lean(super().get_params(ctx))


class LeanGroup(SectionedGroup):
    """A group of commands that reads its own plain values itself: `Typer(cls=LeanGroup)`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return every parameter of the group, `--help` included."""
        return _lean(super().get_params(ctx))


def _lean(params: list[Any]) -> list[Any]:
    for param in params:
        kind = _plain_kind(param)
        if kind is not None and "process_value" not in vars(param):
            # set on the object, since Typer lets no other class of parameter in
            setattr(param, "process_value", _reader(param, kind))  # noqa: B010
    return params


def _plain_kind(param: Any) -> Any:
    """Return the type of a parameter with one plain value, or with texts; None for any other."""
    kind = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    if kind == list[str] and param.multiple:
        return kind
    is_plain = kind in {bool, str, int, float, Path} or get_origin(kind) is Literal
    return kind if is_plain and param.nargs == 1 and not param.multiple else None


def _reader(param: Any, kind: Any) -> Any:
    def read(ctx: typer.Context, value: Any) -> Any:
        if (param.required and value is None) or (param.callback is not None and value):
            return type(param).process_value(param, ctx, value)
        if value is None or kind is bool:
            return value
        if kind == list[str]:
            return list(value) or None
        if get_origin(kind) is Literal:
            choices = get_args(kind)
            if value not in choices:
                what = f"{value!r} is not one of {', '.join(map(repr, choices))}."
                raise typer.BadParameter(what, ctx=ctx, param=param)
            return value
        try:
            read_value = kind(value)
        except ValueError:
            what = f"{value!r} is not a valid {'integer' if kind is int else kind.__name__}."
            raise typer.BadParameter(what, ctx=ctx, param=param) from None
        least = getattr(param, "min", None)
        if least is not None and not read_value >= least:
            what = f"{value} is below {least}."
            raise typer.BadParameter(what, ctx=ctx, param=param)
        most = getattr(param, "max", None)
        if most is not None and not read_value <= most:
            what = f"{value} is above {most}."
            raise typer.BadParameter(what, ctx=ctx, param=param)
        return read_value

    return read


@contextmanager
def imported_meanwhile(*modules: str) -> Iterator[None]:
    """Import modules in another thread; they are there when the block ends.

    Whoever imports one of them earlier waits for it. What fails to load is loaded again when the
    block ends, and raises there if it fails again: it may have met a module that the other thread
    was still loading, as altair does with the pandas that pyarrow looks for.
    Ctrl-C waits until they are loaded: within an import of the main thread it can leave Python's
    own lock taken, for which the other thread would wait for ever.
    """
    interrupt = _LateInterrupt()
    failed: list[str] = []

    def load() -> None:
        try:
            for module in modules:
                try:
                    import_module(module)
                except Exception:  # noqa: BLE001 - whatever it is, it is raised at the second try
                    failed.append(module)
        finally:
            interrupt.let_through()

    thread = Thread(target=load, name="imports", daemon=True)
    with interrupt:
        thread.start()
        try:
            yield
        finally:
            thread.join()
    for module in failed:
        import_module(module)


class _LateInterrupt:
    """Holds Ctrl-C back until it is let through; nothing where somebody else listens for it."""

    def __init__(self) -> None:
        self._is_held = True
        self._came = False
        self._listens = False
        self._tell_ignored = sys.unraisablehook

    def __enter__(self) -> None:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._take)
            self._listens = True
            self._tell_ignored, sys.unraisablehook = sys.unraisablehook, self._ignored

    def __exit__(self, *_: object) -> None:
        if self._listens:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.unraisablehook = self._tell_ignored
            if self._came:
                raise KeyboardInterrupt

    def let_through(self) -> None:
        """Interrupt the main thread when somebody wanted that; called from another one."""
        self._is_held = False
        if self._came:
            _thread.interrupt_main()

    def _take(self, *_: object) -> None:
        self._came = True
        if not self._is_held:
            raise KeyboardInterrupt

    def _ignored(self, what: sys.UnraisableHookArgs) -> None:
        """Pass over a Ctrl-C that came where nothing can be raised: it is raised at the end."""
        if what.exc_type is not KeyboardInterrupt:
            self._tell_ignored(what)
