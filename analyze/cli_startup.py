"""Commands whose values are plain (text, numbers, paths, choices) read them without pydantic.

Typer builds a pydantic adapter for each value, which takes longer than most queries; a command
that answers in a quarter of a second cannot afford it. What is not plain goes Typer's own way.
"""

from __future__ import annotations

from pathlib import Path
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
